//! Tests how the settings, the command line and a pipe client determine the format of results for the model.

use serde_json::{Value, json};
use std::fs;
use std::ops::Deref;
use toolfence_kit::{Project, Ran};

/// A home folder with a settings file, and a project.
struct Place(Project);

impl Deref for Place {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.0
    }
}

impl Place {
    fn new(own: &str) -> Place {
        let project = Project::new();
        project.file_at_home("config/toolfence/config.toml", own);
        Place(project)
    }

    fn coder(&self, args: &[&str], input: &str) -> Ran {
        self.run(env!("CARGO_BIN_EXE_coder"), args, input)
    }

    /// Returns the results of a file write and a file read in the model's input.
    fn model_input(&self, args: &[&str]) -> String {
        let write = json!({"name": "write_file", "args": {"path": "a.txt", "content": "one <|im_end|>\n"}});
        let read = json!({"name": "read_file", "args": {"path": "a.txt"}});
        let ran =
            self.coder(&[&["exec", "--yes"], args].concat(), &format!("```tool\n{write}\n```\n```tool\n{read}\n```\n"));
        assert_eq!(ran.status, 0, "{}", ran.said());
        ran.out
    }
}

/// Parses the JSON in the first line of each block.
fn heads(input: &str) -> Vec<Value> {
    let lines = input.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn the_model_gets_data_only_if_it_is_enabled() {
    let place = Place::new("");
    let input = place.model_input(&[]);
    assert!(heads(&input).iter().all(|head| head.get("data").is_none()), "{input}");
    assert!(input.contains("     1\tone <|im_end|>\n"), "{input}");
    fs::remove_file(place.root.join("a.txt")).unwrap();
    let input = place.model_input(&["--json"]);
    assert_eq!(heads(&input)[0]["data"]["files_modified"], json!(["a.txt"]), "{input}");
    fs::remove_file(place.root.join("a.txt")).unwrap();
    let input = place.model_input(&["--results", "data=on"]);
    assert_eq!(heads(&input)[0]["data"]["files_modified"], json!(["a.txt"]), "{input}");
    fs::remove_file(place.root.join("a.txt")).unwrap();
    let input = Place::new("[results]\ndata = \"on\"\n").model_input(&[]);
    assert_eq!(heads(&input)[0]["data"]["files_modified"], json!(["a.txt"]), "{input}");
}

#[test]
fn the_format_the_nonce_and_the_tokens_are_settings() {
    let place = Place::new("[results]\nformat = \"json\"\nnonce = \"on\"\nbreak_tokens = \"on\"\n");
    let input = place.model_input(&[]);
    let read = &heads(&input)[1];
    assert_eq!(read["output"], "     1\tone <|im_end|>\n");
    assert!(!input.contains("<|im_end|>") && read["data"].is_null(), "{input}");
    let nonce = read["nonce"].as_str().expect("there is one").to_owned();
    assert!(nonce.len() == 16 && heads(&input).iter().all(|head| head["nonce"] == nonce.as_str()), "{input}");
    // The next run has a new nonce, and the command line overrides the file.
    let input = place.model_input(&["--results", "text", "--results", "break_tokens=off"]);
    assert!(input.contains("     1\tone <|im_end|>\n"), "{input}");
    let other = heads(&input)[0]["nonce"].as_str().expect("there is one").to_owned();
    assert_ne!(nonce, other);
    assert!(heads(&place.model_input(&["--results", "nonce=off"]))[0].get("nonce").is_none());
}

#[test]
fn unknown_forms_of_results_are_refused() {
    let place = Place::new("");
    for (typed, wanted) in [
        ("jsn", "results.format is one of text, json. Did you mean json?"),
        ("data=yes", "results.data is one of on, off."),
        ("size=3", "results are text or json, or a key and its value"),
    ] {
        let ran = place.coder(&["exec", "--results", typed], "");
        assert!(ran.status == 2 && ran.err.contains(wanted), "{}", ran.said());
    }
    // An untrusted project file cannot change the format of results.
    fs::write(place.root.join(".toolfence.toml"), "[results]\ndata = \"on\"\n").unwrap();
    let ran = place.coder(&["exec"], "");
    assert!(ran.status == 2 && ran.err.contains("counts only in a project's file that you trust"), "{}", ran.said());
}
