//! Tests that facts about a backend, learned from its replies, are used in later runs. A fake server sends the replies
//! of a case, and each run is a new `coder` process.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use toolfence_kit::{Program, Project, Ran};

/// The next replies of the server with their finish reasons, in reverse order. If none is left, the server replies
/// "Nothing more.".
type Replies = Arc<Mutex<Vec<(String, &'static str)>>>;

/// A home folder, a project and a server.
struct Place {
    project: Project,
    url: String,
    replies: Replies,
    /// Whether the server lists its model, `listed`.
    lists: Arc<AtomicBool>,
}

impl Place {
    fn new() -> Place {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let replies = Replies::default();
        let (said, lists) = (replies.clone(), Arc::new(AtomicBool::new(true)));
        let tells = lists.clone();
        std::thread::spawn(move || listener.incoming().for_each(|stream| answer(stream.unwrap(), &said, &tells)));
        Place { project: Project::new(), url, replies, lists }
    }

    fn there(&self, name: &str) -> bool {
        self.project.at(name).exists()
    }

    fn profiles(&self) -> PathBuf {
        self.project.home.join("state/toolfence/profiles")
    }

    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.profiles()).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
    }

    fn coder(&self, args: &[&str]) -> Ran {
        Program::new(env!("CARGO_BIN_EXE_coder"), &self.project.home)
            .args(&["--base-url", &self.url])
            // Without `--model`, `coder` asks the server for its models.
            .args(if args.contains(&"--model") { &[] } else { &["--model", "default"] })
            .args(args)
            .run(&self.project.root, "")
    }

    /// Asks one question, which the model answers with these replies.
    fn asks(&self, args: &[&str], replies: &[(&str, &'static str)]) -> Ran {
        *self.replies.lock().unwrap() = replies.iter().rev().map(|(text, end)| ((*text).to_owned(), *end)).collect();
        let ran = self.coder(&[&["-p", "begin", "--yes"], args].concat());
        let said = self.replies.lock().unwrap().is_empty() && !ran.said().contains("Nothing more.");
        assert!(said, "all was asked for, and no more: {}", ran.said());
        ran
    }

    fn known(&self) -> Value {
        let ran = self.coder(&["config", "profile", "--json"]);
        serde_json::from_str::<Value>(&ran.out).unwrap()["profiles"].take()
    }
}

fn answer(mut stream: TcpStream, said: &Replies, lists: &AtomicBool) {
    let (mut request, mut buffer) = (Vec::new(), [0; 65536]);
    loop {
        let got = stream.read(&mut buffer).unwrap();
        request.extend_from_slice(&buffer[..got]);
        let text = String::from_utf8_lossy(&request).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if text.starts_with("get ") {
            let listed = if lists.load(Ordering::SeqCst) { r#"{"data":[{"id":"listed"}]}"# } else { "no" };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", listed.len());
            return drop(stream.write_all((head + listed).as_bytes()));
        }
        if got == 0 || length.is_some_and(|length: usize| body.len() >= length) {
            break;
        }
    }
    let (text, end) = said.lock().unwrap().pop().unwrap_or_else(|| ("Nothing more.".to_owned(), "stop"));
    let event = |delta: Value, end: Option<&str>| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "finish_reason": end, "delta": delta}]}))
    };
    let events = event(json!({"content": text}), None) + &event(json!({}), Some(end)) + "data: [DONE]\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(format!("{head}{events}").as_bytes()); // fails if the client closed the connection
}

fn write(name: &str) -> String {
    format!("```tool\n{{\"name\": \"write_file\", \"args\": {{\"path\": \"{name}\", \"content\": \"x\"}}}}\n```\n")
}

/// The reply is cut off before its closing tag. Only the profile shows that the call in it is reasoning; without the
/// profile the call would run.
#[test]
fn the_next_run_reads_reasoning_from_its_first_reply_on() {
    let place = Place::new();
    let thought = format!("I could write\n\n{}\nbut no.\n</think>\n\nIt is so.\n", write("thought.txt"));
    let first = place.asks(&[], &[(&thought, "stop")]);
    assert_eq!(first.status, 0, "{}", first.said());
    assert!(first.err.contains("its replies are read that way from now on"), "{}", first.err);
    let known = place.known();
    let reasoning = &known[0]["reasoning"];
    assert_eq!((&known[0]["base_url"], &known[0]["model"]), (&json!(place.url), &json!("default")));
    assert_eq!((&reasoning["value"], &reasoning["how"]), (&json!("opened"), &json!("closing_tag")), "{known}");

    let broken_off = write("ran.txt");
    let ran = place.asks(&[], &[(&broken_off, "length"), ("</think>\nI see.", "stop")]);
    assert!(!place.there("ran.txt") && !place.there("thought.txt"), "{}", ran.said());
    let whole = format!("Hm.\n{}</think>\n{}", write("thought.txt"), write("meant.txt"));
    let second = place.asks(&[], &[(&whole, "stop"), ("</think>\nDone.", "stop")]);
    assert!(place.there("meant.txt") && !place.there("thought.txt"), "{}", second.said());
    assert!(!second.err.contains("from now on"), "{}", second.err);

    // A setting overrides the profile, and each model has its own.
    place.asks(&["--reasoning", "unknown"], &[(&broken_off, "length"), ("Done.", "stop")]);
    assert!(place.there("ran.txt"));
    std::fs::remove_file(place.project.at("ran.txt")).unwrap();
    place.asks(&["--model", "other"], &[(&broken_off, "length"), ("Done.", "stop")]);
    assert!(place.there("ran.txt"));

    // A complete reply without a closing tag refutes the profile, whose file is then removed.
    place.asks(&[], &[("I think.\n", "stop"), ("Yes.\n", "stop")]);
    assert_eq!((place.known(), place.files("json").len()), (json!([]), 0));
}

#[test]
fn the_next_run_knows_the_dialect() {
    let hermes = "<tool_call>\n{\"name\": \"list_files\", \"arguments\": {}}\n</tool_call>";
    let llama = "<function=write_file>{\"path\": \"ran.txt\", \"content\": \"x\"}</function>";
    let place = Place::new();
    place.asks(&[], &[(hermes, "stop"), (hermes, "stop"), ("Two files.", "stop")]);
    assert_eq!(place.known(), json!([]), "two calls show nothing yet");
    place.asks(&[], &[(llama, "stop"), ("Done.", "stop")]);
    assert!(place.there("ran.txt"));
    std::fs::remove_file(place.project.at("ran.txt")).unwrap();

    place.asks(&[], &[(hermes, "stop"), (hermes, "stop"), (hermes, "stop"), ("None.", "stop")]);
    let known = place.known();
    assert_eq!((&known[0]["dialect"]["value"], &known[0]["dialect"]["how"]), (&json!("hermes"), &json!("three_calls")));
    let refused = place.asks(&[], &[(llama, "stop"), ("Well.", "stop")]);
    assert!(!place.there("ran.txt") && refused.err.contains("malformed_call"), "{}", refused.said());
    place.asks(&["--dialects", "all"], &[(llama, "stop"), ("Done.", "stop")]);
    assert!(place.there("ran.txt"), "an option counts over it");

    // Now another model has this name. Three calls in its dialect replace the known dialect, and until then only
    // read-only calls run.
    let looks = "<function=list_files>{}</function>";
    place.asks(&[], &[(looks, "stop"), (looks, "stop"), (looks, "stop"), ("None.", "stop")]);
    assert_eq!(place.known()[0]["dialect"]["value"], "llama");
}

#[test]
fn a_profile_is_shown_and_forgotten() {
    let place = Place::new();
    let nothing = place.coder(&["config", "profile"]);
    assert_eq!((nothing.status, nothing.out), (0, format!("there is no profile of default at {}\n", place.url)));
    for model in ["a", "b"] {
        place.asks(&["--model", model], &[("Hm.\n</think>\nYes.\n", "stop")]);
    }
    let shown = place.coder(&["config", "profile", "--model", "a"]).out;
    assert!(shown.contains("reasoning              opened") && shown.contains(" s ago"), "{shown}");
    let counts = |args: &[&str]| place.coder(&[&["config", "show", "--json", "--model", "a"], args].concat()).out;
    let profile = |out: &str| serde_json::from_str::<Value>(out).unwrap()["profile"].take();
    assert_eq!(profile(&counts(&[])), json!({"reasoning": "opened"}));
    assert_eq!(profile(&counts(&["--reasoning", "known"])), json!({}));
    let line = "reasoning is not set; learned from replies of this backend: opened";
    assert!(place.coder(&["config", "show", "--model", "a"]).out.contains(line));

    assert_eq!(place.coder(&["config", "profile", "--all"]).out.matches("reasoning              opened").count(), 2);
    assert_eq!(place.coder(&["config", "profile", "--forget", "--model", "a"]).status, 0);
    assert_eq!(place.coder(&["config", "profile", "--all"]).out.matches("reasoning              opened").count(), 1);
    assert!(place.coder(&["config", "profile", "--forget", "--all"]).out.contains("deleted the profile of b"));
    assert!(place.files("json").is_empty());
    let recorded = place.coder(&["config", "profile", "--backend", "replay"]);
    assert_eq!(recorded.status, 2, "{}", recorded.said());
}

/// `config show` finds the profile of the model that answered if no model was named.
#[test]
fn the_profile_of_an_unnamed_model_is_found() {
    let place = Place::new();
    // `config show` does not run `api_key_command`.
    let settings = "api_key_command = \"sh -c 'touch asked-for-the-key'\"\n";
    place.project.file_at_home("config/toolfence/config.toml", settings);
    let key = |program: Program| program.env("TOOLFENCE_API_KEY", "k");
    *place.replies.lock().unwrap() = vec![("Hm.\n</think>\nYes.\n".to_owned(), "stop")];
    let project = &place.project.root;
    let coder = || Program::new(env!("CARGO_BIN_EXE_coder"), &place.project.home);
    let ran = key(coder()).args(&["--base-url", &place.url, "-p", "begin"]).run(project, "");
    assert_eq!(ran.status, 0, "{}", ran.err);
    let shown = || coder().args(&["--base-url", &place.url, "config", "show"]).run(project, "").out;
    let line = "reasoning is not set; learned from replies of this backend: opened";
    assert!(shown().contains(line), "{}", shown());
    let found = coder().env("TOOLFENCE_LOCAL_SERVERS", &place.url).args(&["config", "show"]).run(project, "").out;
    assert!(found.contains(line), "the server that would be found: {found}");
    place.lists.store(false, Ordering::SeqCst);
    assert!(shown().contains(line), "the only one that is known of the server");
    assert!(!place.there("asked-for-the-key"));
    *place.replies.lock().unwrap() = vec![("Hm.\n</think>\nYes.\n".to_owned(), "stop")];
    key(coder()).args(&["--base-url", &place.url, "--model", "other", "-p", "begin"]).run(project, "");
    assert!(!shown().contains(line), "nobody knows which of two it is");
}

#[test]
fn a_damaged_profile_is_reported_once_and_learned_again() {
    let place = Place::new();
    place.asks(&[], &[("Hm.\n</think>\nYes.\n", "stop")]);
    let path = place.files("json").remove(0);
    std::fs::write(&path, "{\"v\":1,").unwrap();
    let count_warnings = |ran: &Ran| ran.err.matches("the profile of this backend cannot be read").count();
    let first = place.asks(&[], &[("Yes.\n", "stop")]);
    assert_eq!((first.status, count_warnings(&first)), (0, 1), "{}", first.err);
    assert_eq!(count_warnings(&place.asks(&[], &[("Yes.\n", "stop")])), 0);
    assert_eq!(place.files("broken").len(), 1, "it is kept for whoever wants to look");
    place.asks(&[], &[("Hm.\n</think>\nYes.\n", "stop")]);
    assert_eq!(place.known()[0]["reasoning"]["value"], "opened", "and learned anew");
    // If the profile cannot be saved, the run continues and reports it.
    let place = Place::new();
    std::fs::create_dir_all(place.profiles().parent().unwrap()).unwrap();
    std::fs::write(place.profiles(), "no folder").unwrap();
    let ran = place.asks(&[], &[("Hm.\n</think>\nYes.\n", "stop")]);
    assert!(ran.status == 0 && ran.err.contains("cannot be saved"), "{}", ran.said());
}

/// The password of a URL is sent to the server only.
#[test]
fn passwords_are_not_stored() {
    let place = Place::new();
    let url = place.url.replace("http://", "http://me:hidden@");
    *place.replies.lock().unwrap() = vec![("Hm.\n</think>\nYes.\n".to_owned(), "stop")];
    let project = &place.project.root;
    let coder = Program::new(env!("CARGO_BIN_EXE_coder"), &place.project.home);
    coder.args(&["--base-url", &url, "--model", "default", "-p", "begin"]).run(project, "");
    let kept = std::fs::read_to_string(only(&place.files("json"))).unwrap();
    assert!(!kept.contains("hidden") && !kept.contains("me:"), "{kept}");
    assert_eq!(place.known()[0]["reasoning"]["value"], "opened", "with the password or without, it is one server");
}

fn only(files: &[PathBuf]) -> &Path {
    assert_eq!(files.len(), 1);
    &files[0]
}
