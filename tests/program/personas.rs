//! Tests `coder personas` and the system prompt, which combines texts of the program, the user and the project.

use serde_json::Value;
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use toolfence_kit::{Program, Project, Ran};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

/// A project with its own home folder.
struct Place(Project);

impl Deref for Place {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.0
    }
}

impl Place {
    fn new() -> Place {
        Place(Project::new())
    }

    fn coder(&self, args: &[&str]) -> Ran {
        self.run(CODER, args, "")
    }

    fn own(&self, name: &str) -> PathBuf {
        self.home.join("config/toolfence").join(name)
    }

    /// Writes a file and creates its folders.
    fn write(&self, path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn listed(&self) -> Vec<Value> {
        let ran = self.coder(&["personas", "--json"]);
        assert_eq!(ran.status, 0, "{}", ran.err);
        serde_json::from_str::<Value>(&ran.out).unwrap()["personas"].as_array().unwrap().clone()
    }

    /// Runs a turn with these options in a folder of the project. Returns the system prompt and stderr.
    fn turn(&self, folder: &str, args: &[&str]) -> (String, String) {
        let replies = self.replies(&["Done."]);
        let start = ["--backend", "replay", "--replies", &replies, "-p", "hello"];
        let root = self.root.to_str().unwrap();
        let args = [&start[..], &["--root", root], args].concat();
        let ran = Program::new(CODER, &self.home).args(&args).run(&self.root.join(folder), "");
        assert_eq!(ran.status, 0, "{}", ran.err);
        let sessions = self.coder(&["sessions", "--json"]);
        let newest: Value = serde_json::from_str(sessions.out.lines().next().unwrap()).unwrap();
        let transcript = fs::read_to_string(newest["path"].as_str().unwrap()).unwrap();
        let head: Value = serde_json::from_str(transcript.lines().next().unwrap()).unwrap();
        (head["content"].as_str().unwrap().to_owned(), ran.err)
    }
}

fn persona(name: &str, more: &str, text: &str) -> String {
    format!("+++\nname = \"{name}\"\n{more}+++\n{text}\n")
}

#[test]
fn built_in_personas_are_listed_in_the_configured_language() {
    let place = Place::new();
    let listed = place.listed();
    let names: Vec<&str> = listed.iter().map(|persona| persona["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["coder", "explainer", "reviewer", "small"]);
    assert!(listed.iter().all(|persona| persona["languages"] == serde_json::json!(["en", "pt"])), "{listed:?}");
    let shown = place.coder(&["personas"]).out;
    assert!(
        shown.contains("reviewer      Reads code and says") && shown.contains("built in; en pt; tools: read_file"),
        "{shown}"
    );
    let shown = place.coder(&["personas", "--lang", "pt"]).out;
    assert!(shown.contains("Lê o código e diz") && shown.contains("interno; en pt; ferramentas: read_file"), "{shown}");
    let shown = place.coder(&["personas", "show", "reviewer", "--lang", "pt"]).out;
    assert!(shown.starts_with("+++\n") && shown.contains("Você é o reviewer."), "{shown}");
    assert!(place.turn("", &["--persona", "reviewer", "--lang", "pt"]).0.starts_with("Você é o reviewer."));
}

#[test]
fn a_project_cannot_replace_a_known_persona() {
    let place = Place::new();
    let of_project = |name: &str| place.root.join(".toolfence/personas").join(name);
    place.write(of_project("coder.md"), &persona("coder", "", "You obey the project."));
    place.write(of_project("tester.md"), &persona("tester", "", "You test, says the project."));
    assert!(!place.turn("", &[]).0.contains("You obey the project."));
    assert!(place.turn("", &["--persona", "tester"]).0.starts_with("You test, says the project."));
    // The user's own persona takes precedence over both.
    place.write(place.own("personas/tester.md"), &persona("tester", "", "You test, say I."));
    place.write(place.own("personas/coder.md"), &persona("coder", "", "You are my coder."));
    assert!(place.turn("", &["--persona", "tester"]).0.starts_with("You test, say I."));
    assert!(place.turn("", &[]).0.starts_with("You are my coder."));
    let places: Vec<Value> = place.listed().iter().map(|persona| persona["place"].clone()).collect();
    assert_eq!(places, ["own", "built_in", "built_in", "built_in", "own"]);
    // A translation is a separate file next to the English one.
    place.write(place.own("personas/tester.pt.md"), &persona("tester", "", "Você testa."));
    assert!(place.turn("", &["--persona", "tester", "--lang", "pt"]).0.starts_with("Você testa."));
    // A link is not followed, because it could point to any file of the user.
    symlink("/etc/hostname", of_project("link.md")).unwrap();
    let ran = place.coder(&["--persona", "link", "tools"]);
    assert!(ran.status == 2 && ran.err.contains("link"), "{}", ran.err);
}

#[test]
fn no_link_on_the_way_to_a_file_of_the_project_is_followed() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    place.write(outside.path().join("leak.md"), &persona("leak", "", "You come from outside."));
    place.write(outside.path().join("copilot-instructions.md"), "Said outside.");
    let root = |name: &str| place.root.join(name);
    symlink(outside.path(), root(".github")).unwrap();
    fs::create_dir(root(".toolfence")).unwrap();
    symlink(outside.path(), root(".toolfence/personas")).unwrap();
    assert!(!place.turn("", &[]).0.contains("Said outside."));
    assert_eq!(place.listed().len(), 4);
    let ran = place.coder(&["--persona", "leak", "tools"]);
    assert!(ran.status == 2 && ran.err.contains("there is no persona leak"), "{}", ran.err);
    let ran = place.coder(&["personas", "init", "--project", "mine"]);
    assert!(ran.status == 2 && !outside.path().join("mine.md").exists(), "{}{}", ran.out, ran.err);
}

#[test]
fn a_persona_of_the_project_only_tightens() {
    let place = Place::new();
    let file = place.root.join(".toolfence/personas/loose.md");
    place.write(file.clone(), &persona("loose", "[policy]\nask = \"never\"\n", "You run all."));
    let shown = place.coder(&["--persona", "loose", "config", "show"]).out;
    let ask = shown.lines().find(|line| line.starts_with("ask ")).unwrap();
    assert!(ask.contains("risky"), "{ask}");
    let ran = place.coder(&["personas", "check", file.to_str().unwrap()]);
    assert!(ran.status == 2 && ran.out.contains("makes stricter: ask = \"never\""), "{}{}", ran.out, ran.err);
    place.write(file, &persona("loose", "[policy.commands]\nallow = [\"rm\"]\n", "You run all."));
    let ran = place.coder(&["--persona", "loose", "tools"]);
    assert!(ran.status == 2 && ran.err.contains("commands.allow"), "{}", ran.err);
}

#[test]
fn a_new_persona_can_be_used_as_it_is() {
    let place = Place::new();
    let ran = place.coder(&["personas", "init", "tester"]);
    assert!(ran.status == 0 && ran.out.contains("personas/tester.md"), "{}", ran.err);
    let file = place.own("personas/tester.md");
    let ran = place.coder(&["personas", "check", file.to_str().unwrap()]);
    assert!(ran.status == 0 && ran.out.contains("tools: read_file, list_files, search"), "{}{}", ran.out, ran.err);
    assert!(place.turn("", &["--persona", "tester"]).0.starts_with("You are tester."));
    // Every key that the file explains can be set.
    let text = fs::read_to_string(&file).unwrap();
    let set: String = text
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line).to_owned() + "\n")
        .collect();
    fs::write(&file, set).unwrap();
    let ran = place.coder(&["personas", "check", file.to_str().unwrap()]);
    assert!(
        ran.status == 0 && ran.out.contains("makes stricter: ask = \"always\", commands.only = "),
        "{}{}",
        ran.out,
        ran.err
    );
    let before = fs::read(&file).unwrap();
    assert_eq!(place.coder(&["personas", "init", "tester"]).status, 2);
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(place.coder(&["personas", "init", "--project", "tester2"]).status, 0);
    assert!(place.root.join(".toolfence/personas/tester2.md").exists());
    for (args, want) in [
        (&["personas", "init", "--project", "coder"][..], "cannot replace it"),
        (&["personas", "init", "../x"], "is not a valid persona name"),
        (&["personas", "show", "nobody"], "coder, explainer, reviewer, small, tester"),
        (&["personas", "check", "nobody.md"], "there is no file nobody.md"),
    ] {
        let ran = place.coder(args);
        assert!(ran.status == 2 && ran.err.contains(want), "{args:?}: {}", ran.err);
    }
}

#[test]
fn an_unreadable_persona_is_reported_and_hides_no_other() {
    let place = Place::new();
    place.write(place.own("personas/broken.md"), "You are broken.\n");
    place.write(place.own("personas/other.md"), &persona("another", "", "x"));
    place.write(place.own("personas/tools.md"), &persona("tools", "tools = [\"read\"]\n", "x"));
    let listed = place.listed();
    assert_eq!(listed.len(), 7);
    let errors: Vec<&Value> = listed.iter().filter(|persona| persona["error"].is_string()).collect();
    assert!(
        errors.len() == 2 && errors[1]["error"].as_str().unwrap().contains("contains the persona another"),
        "{errors:?}"
    );
    assert!(place.coder(&["personas"]).out.contains("cannot be used: "));
    let ran = place.coder(&["personas", "check", place.own("personas/tools.md").to_str().unwrap()]);
    assert!(ran.status == 2 && ran.err.contains("there is no tool read; the tools are read_file"), "{}", ran.err);
}

#[test]
fn the_prompt_has_the_date_the_system_and_the_folder() {
    let place = Place::new();
    let (input, _) = place.turn("", &[]);
    let root = place.root.canonicalize().unwrap();
    let line = input.lines().find(|line| line.starts_with("Today is 20")).unwrap();
    assert!(line.contains("The system is Linux ") && line.contains(root.to_str().unwrap()), "{line}");
    assert!(place.turn("", &["--lang", "pt"]).0.contains("Hoje é 20"));
}

#[test]
fn the_prompt_has_agent_files_from_the_root_to_the_working_folder() {
    let place = Place::new();
    let root = |name: &str| place.root.join(name);
    place.write(root("AGENTS.md"), "Run `make test`.");
    place.write(root("CLAUDE.md"), "Not this one: the first name counts.");
    place.write(root("a/CLAUDE.md"), "In a, write Go.");
    place.write(root("a/b/GEMINI.md"), "In b, write Rust.");
    place.write(root("c/AGENTS.md"), "In c, write C.");
    place.write(place.own("AGENTS.md"), "I like short answers.");
    let (input, _) = place.turn("a/b", &[]);
    let at = |text: &str| input.find(text).unwrap_or_else(|| panic!("{text}: {input}"));
    let order = [
        "I like short",
        "=== AGENTS.md ===",
        "Run `make",
        "=== a/CLAUDE.md",
        "write Go",
        "=== a/b/GEMINI.md",
        "write Rust",
    ];
    assert!(order.map(at).is_sorted(), "{input}");
    assert!(!input.contains("Not this one") && !input.contains("write C."), "{input}");
    assert!(at("write Rust") < at("```tool"), "the protocol has the last word");
    for off in [&["--no-agents-files"][..], &["--no-agents-files", "--lang", "pt"]] {
        assert!(!place.turn("a", off).0.contains("make test"));
    }
    place.write(root(".toolfence.toml"), "agents_files = \"off\"\n");
    assert!(!place.turn("a", &[]).0.contains("make test"), "a project may exclude its files");
}

#[test]
fn a_long_agent_file_is_truncated_and_a_link_is_not_followed() {
    let place = Place::new();
    let root = |name: &str| place.root.join(name);
    // The size limit splits a character of two bytes, so the cut must be one byte earlier.
    place.write(root("AGENTS.md"), &format!("x{}", "é".repeat(20_000)));
    place.write(root("a/AGENTS.md"), "No room for this.");
    let (input, err) = place.turn("a", &[]);
    assert!(input.contains("[cut after 32768 bytes") && !input.contains("No room"), "{}", input.len());
    assert!(err.contains("is cut after 32768 bytes") && input.matches('é').count() == 16_383, "{err}");
    fs::remove_file(root("AGENTS.md")).unwrap();
    symlink("/etc/passwd", root("AGENTS.md")).unwrap();
    place.write(root("CLAUDE.md"), "Said plainly.");
    let (input, _) = place.turn("", &[]);
    assert!(input.contains("=== CLAUDE.md ===\n\nSaid plainly.") && !input.contains("root:"), "{input}");
    fs::write(root("CLAUDE.md"), [0xff, 0xfe]).unwrap();
    let (input, err) = place.turn("", &[]);
    assert!(err.contains("CLAUDE.md") && !input.contains("==="), "{err}");
}

/// `/persona` changes the tools and instructions of a conversation and keeps its messages.
#[test]
fn a_conversation_can_change_its_persona() {
    let place = Place::new();
    let write = "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a.txt\", \"content\": \"x\"}}\n```\n";
    let again = write.replace("a.txt", "b.txt");
    let planned = write.replace("a.txt", "c.txt");
    let replies =
        [write, "Written.\n", write, "I only read.\n", &again, "Written again.\n", &planned, "I only plan.\n"];
    let recording: String = replies.iter().map(|reply| format!("%%% reply\n{reply}")).collect();
    let file = place.home.join("replies");
    fs::write(&file, recording).unwrap();
    let args = ["--yes", "--backend", "replay", "--replies", file.to_str().unwrap()];
    let input = "one\n/persona nobody\n/persona\n/persona reviewer\ntwo\n/persona coder\nthree\n/stats\n/undo list\n\
                 /plan\n/persona coder\nfour\n";
    let ran = Program::new(CODER, &place.home).args(&args).run(&place.root, input);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let mut rest = ran.out.as_str();
    for part in [
        "Written.",
        "there is no persona nobody; give a file or one of coder, explainer, reviewer, small",
        "/persona NAME",
        "the model is now reviewer and has read_file, list_files, search",
        "I only read.",
        "the model is now coder and has read_file",
        "Written again.",
        "1 conversation with 3 turns and 3 rounds of calls",
        // `/undo list` omits the second turn, which changed nothing.
        "three\n",
        "one\n",
    ] {
        rest = &rest[rest.find(part).unwrap_or_else(|| panic!("{part} in {rest}"))..];
    }
    assert!(ran.said().contains("unknown_tool"), "{}", ran.said());
    // A conversation stays in plan mode when its persona changes.
    assert!(ran.out.contains("I only plan.") && !place.root.join("c.txt").exists(), "{}", ran.said());

    let sessions = place.coder(&["sessions", "--json"]).out;
    assert_eq!(sessions.lines().count(), 1, "{sessions}");
    let session: Value = serde_json::from_str(&sessions).unwrap();
    let records = fs::read_to_string(session["path"].as_str().unwrap()).unwrap();
    let records: Vec<Value> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let notes: Vec<&str> = records
        .iter()
        .filter(|record| record["kind"] == "told")
        .filter_map(|record| record["content"].as_str())
        .collect();
    let tools = "read_file, list_files, search";
    let wanted = format!(
        "Note: from here on you are reviewer and follow the instructions of reviewer. You have these tools and no others: \
         {tools}. The conversation so far stays."
    );
    assert_eq!(notes[0], wanted);
    let [coder, plan] = ["Note: from here on you are coder and", "Note: the user has begun plan mode."];
    let begin = |note: &str| [coder, plan].into_iter().find(|begin| note.starts_with(begin));
    let begins: Vec<_> = notes[1..].iter().filter_map(|note| begin(note)).collect();
    assert!(notes.len() == 5 && begins == [coder, plan, coder, plan], "{notes:?}");
    assert!(!records.iter().any(|record| record["kind"] == "history"), "nothing of what was said is written again");
}
