//! Tests that the files in `tests/cases/compat`, written by an earlier version, can still be read: transcripts, an undo
//! history, a profile and a settings file. The README there describes them.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use toolfence_kit::{Project, Ran};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

/// The placeholder for the project's path in the files.
const ROOT: &str = "@ROOT@";

fn cases() -> PathBuf {
    toolfence_kit::root().join("tests/cases/compat")
}

/// Returns all files below a folder, recursively.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn coder(place: &Project, args: &[&str]) -> Ran {
    place.run(CODER, args, "")
}

/// Runs `coder`, requires success and returns the output.
fn output(place: &Project, args: &[&str]) -> String {
    let ran = coder(place, args);
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.said());
    ran.out
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Returns the state folder of a project. `coder` chooses its name, so this runs `coder` once to create it.
fn state_of_project(place: &Project) -> PathBuf {
    let replies = place.replies(&["Hello."]);
    output(place, &["--backend", "replay", "--replies", &replies, "-p", "Hello."]);
    let sessions = json_lines(&output(place, &["sessions", "--json"]));
    let path = PathBuf::from(sessions[0]["path"].as_str().unwrap());
    fs::remove_file(&path).unwrap();
    path.parent().unwrap().parent().unwrap().to_owned()
}

/// Copies a text file and replaces `ROOT` with the project's path.
fn copy(from: &Path, to: &Path, place: &Project) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let text = fs::read_to_string(from).unwrap();
    fs::write(to, text.replace(ROOT, place.root.to_str().unwrap())).unwrap();
}

/// A transcript and its expected content.
struct Conversation {
    file: &'static str,
    title: &'static str,
    turns: u64,
    cleared: bool,
    /// Texts of the user and the model, in order.
    words: &'static [&'static str],
    /// Additional texts in a Markdown or HTML export, such as calls and their results.
    shown: &'static [&'static str],
}

const CONVERSATIONS: [Conversation; 5] = [
    Conversation {
        file: "compaction",
        title: "Read the notes.",
        turns: 4, // the retried turn counts twice
        cleared: true,
        words: &[
            "Read the notes.",
            "I read.",
            "The mill is old.",
            "Where is the mill?",
            "By the river.",
            "Is it old?",
            "Very old.",
        ],
        shown: &["read_file", "Note 3: the river goes by the old mill."],
    },
    Conversation {
        file: "cut_off",
        title: "Write a poem.",
        turns: 1,
        cleared: false,
        words: &["Write a poem.", "I could not write it."],
        shown: &["write_file", "stitched", "The reply broke off inside this block"],
    },
    Conversation {
        file: "fork",
        title: "Write a poem.",
        turns: 2,
        cleared: false,
        words: &["Write a poem.", "Or a song?", "La la."],
        shown: &["curl http://song.example", "dot.png  69 bytes"],
    },
    Conversation {
        file: "images",
        title: "What is it?",
        turns: 1,
        cleared: false,
        words: &["What is it?", "A dot."],
        shown: &["dot.png"],
    },
    Conversation {
        file: "portuguese",
        title: "Onde fica o moinho? Anote em português.",
        turns: 1,
        cleared: false,
        words: &[
            "Onde fica o moinho? Anote em português.",
            "Vou anotar a posição.",
            "Pronto: anotei em `anotação.txt`.",
        ],
        shown: &["O moinho fica à beira do rio."],
    },
];

impl Conversation {
    fn text(&self) -> String {
        fs::read_to_string(cases().join(format!("{}.jsonl", self.file))).unwrap()
    }

    fn id(&self) -> String {
        json_lines(&self.text())[0]["session"]["id"].as_str().unwrap().to_owned()
    }
}

/// Creates a project that has all old conversations.
fn project_with_conversations() -> Project {
    let place = Project::new();
    let sessions = state_of_project(&place).join("sessions");
    for conversation in &CONVERSATIONS {
        let from = cases().join(format!("{}.jsonl", conversation.file));
        copy(&from, &sessions.join(format!("{}.jsonl", conversation.id())), &place);
    }
    place
}

#[test]
fn old_conversations_are_listed() {
    let place = project_with_conversations();
    let sessions = json_lines(&output(&place, &["sessions", "--json"]));
    assert_eq!(sessions.len(), CONVERSATIONS.len());
    for conversation in &CONVERSATIONS {
        let listed = sessions.iter().find(|session| session["id"] == conversation.id()).expect(conversation.file);
        let facts = ["title", "turns", "cleared"].map(|key| &listed[key]);
        assert_eq!(facts, [&json!(conversation.title), &json!(conversation.turns), &json!(conversation.cleared)]);
        let root = place.root.to_str().unwrap();
        assert_eq!(listed["root"], root);
        let fork = json!({"session": CONVERSATIONS[1].id(), "message": "1"});
        assert_eq!(listed["fork"], if conversation.file == "fork" { fork } else { Value::Null });
    }
    let found = json_lines(&output(&place, &["sessions", "--json", "--search", "moinho"]));
    assert_eq!((found.len(), &found[0]["id"]), (1, &json!(CONVERSATIONS[4].id())));
}

/// Asserts that a text contains all words in this order.
#[track_caller]
fn has_in_order(text: &str, words: &[&str]) {
    let mut rest = text;
    for word in words {
        let at = rest.find(word).unwrap_or_else(|| panic!("{word:?} is missing or too early in {text}"));
        rest = &rest[at + word.len()..];
    }
}

#[test]
fn old_conversations_are_exported() {
    let place = project_with_conversations();
    for conversation in &CONVERSATIONS {
        let id = conversation.id();
        let export = |format| output(&place, &["export", &id, "--format", format, "--outputs", "full", "--thoughts"]);
        for page in [export("md"), export("html").replace("<code>", "`").replace("</code>", "`")] {
            has_in_order(&page, conversation.words);
            for shown in conversation.shown {
                assert!(page.contains(shown), "{shown:?} is missing in {page}");
            }
        }
        let records = json_lines(&export("json"));
        assert!(records[0]["session"]["id"] == id);
        let said = records.iter().filter(|record| record["role"] == "user" || record["role"] == "assistant");
        let said: Vec<&str> = said.map(|record| record["content"].as_str().unwrap()).collect();
        has_in_order(&said.join("\n"), conversation.words);
    }
    let page = output(&place, &["export", &CONVERSATIONS[3].id(), "--format", "html"]);
    assert!(page.contains("<img alt=\"dot.png\" src=\"data:image/png;base64,iVBORw0KGgo"), "{page}");
}

/// Resuming sends the old messages unchanged, and the new answer is appended.
#[test]
fn old_conversations_are_resumed() {
    let place = project_with_conversations();
    for conversation in &CONVERSATIONS {
        let command = "sh -c 'cat > sent; echo So it is.'";
        let id = conversation.id();
        let answer = output(&place, &["--backend", "command", "--command", command, "resume", &id, "-p", "And now?"]);
        assert_eq!(answer.trim(), "So it is.");
        let sent = fs::read_to_string(place.home.join("sent")).unwrap();
        has_in_order(&sent, &[conversation.words, &["And now?"]].concat());
        let sessions = json_lines(&output(&place, &["sessions", "--json"]));
        let resumed = sessions.iter().find(|session| session["id"] == id).unwrap();
        assert_eq!(resumed["turns"], conversation.turns + 1);
    }
}

#[test]
fn old_calls_are_counted_and_audited() {
    let place = project_with_conversations();
    let stats: Value = serde_json::from_str(&output(&place, &["stats", "--json"])).unwrap();
    for (path, want) in [
        ("/sessions", 5),
        ("/turns", 8),
        ("/models/sees/input", 900),
        ("/tools/read_file/calls", 5),
        ("/tools/write_file/calls", 2),
        ("/tools/bash/failed", 1),
        ("/failures/malformed_call", 2),
        ("/failures/denied", 2),
        ("/repairs/stitched", 1),
        ("/repairs/trailing_comma", 1),
        ("/decisions/denied_by_nobody", 1),
    ] {
        assert_eq!(stats.pointer(path), Some(&json!(want)), "{path}: {stats}");
    }
    for (conversation, calls) in CONVERSATIONS.iter().zip([5, 3, 2, 0, 1]) {
        let lines = json_lines(&output(&place, &["audit", "--json", "--session", &conversation.id()]));
        let results = lines.iter().filter(|line| line["event"] == "result").count();
        assert_eq!(results, calls, "{}: {lines:?}", conversation.file);
    }
    let denied = output(&place, &["audit", "--denied"]);
    assert!(denied.contains("bash") && denied.contains("write_file"), "{denied}");
}

#[test]
fn an_old_undo_history_is_dropped_and_the_user_is_informed() {
    let place = Project::new();
    let undo = state_of_project(&place).join("undo");
    // Removes the history that `state_of_project` created.
    let _ = fs::remove_dir_all(&undo);
    let from = cases().join("undo");
    for file in files(&from) {
        copy(&file, &undo.join(file.strip_prefix(&from).unwrap()), &place);
    }
    let ran = place.run(CODER, &["undo"], "");
    assert_eq!(ran.status, 1, "{}", ran.said());
    assert!(ran.said().contains("an earlier version of this program recorded"), "{}", ran.said());
    assert_eq!(files(&undo.join("turns")).len(), 0);
    assert_eq!(files(&undo.join("objects")).len(), 0);
}

#[test]
fn an_old_profile_is_used() {
    let place = Project::new();
    let file = files(&cases().join("profiles")).remove(0);
    copy(&file, &place.home.join("state/toolfence/profiles").join(file.file_name().unwrap()), &place);
    let server = ["--base-url", "http://127.0.0.1:8089/v1", "--model", "small"];
    let printed = |args: &[&str]| -> Value {
        serde_json::from_str(&output(&place, &[&server, args, &["--json"]].concat())).unwrap()
    };
    let mut stored: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for fact in ["dialect", "reasoning", "grammar", "reasons_beside_grammar", "system"] {
        assert!(stored.get(fact).is_some(), "the profile has no {fact}");
    }
    // Old profiles can contain these facts, which later versions ignore.
    for fact in ["message_limit", "manglings"] {
        assert!(stored.as_object_mut().unwrap().remove(fact).is_some(), "the profile has no {fact}");
    }
    assert_eq!(printed(&["config", "profile"])["profiles"], json!([stored]));
    let counts = json!({"dialects": "hermes", "reasoning": "known", "grammar": "grammar"});
    assert_eq!(printed(&["config", "show"])["profile"], counts);
}

/// Keys in `settings.toml` that later versions ignore.
const REMOVED: [&str; 3] = ["command_retries", "sandbox.git_hooks", "sandbox.git_writable"];

/// A new key must be added to `settings.toml` and `settings.json` with a value other than its default.
#[test]
fn every_key_of_old_settings_is_used() {
    let place = Project::new();
    let defaults: Value = serde_json::from_str(&output(&place, &["config", "show", "--json"])).unwrap();
    let folder = place.home.join("config/toolfence");
    copy(&cases().join("settings.toml"), &folder.join("config.toml"), &place);
    for certificate in ["ca.pem", "client.pem"] {
        let from = toolfence_kit::root().join("tests/data/tls").join(certificate);
        fs::copy(from, folder.join(certificate)).unwrap();
    }
    let shown: Value = serde_json::from_str(&output(&place, &["config", "show", "--json"])).unwrap();
    let listed: Value = serde_json::from_str(&fs::read_to_string(cases().join("settings.json")).unwrap()).unwrap();
    let (values, defaults) = (shown["values"].as_array().unwrap(), defaults["values"].as_array().unwrap());
    let mut found = 0;
    for (value, default) in values.iter().zip(defaults) {
        let key = value["key"].as_str().unwrap();
        let list = value["items"].as_array();
        let taken = list
            .map_or_else(|| value["value"].clone(), |items| items.iter().map(|item| item["value"].clone()).collect());
        // The file does not have this newer key.
        let Some(expected) = listed.get(key) else { continue };
        assert_eq!(*expected, taken, "{key}");
        found += 1;
        let unset = &default[if list.is_some() { "items" } else { "value" }];
        assert_ne!(&taken, unset, "{key} has its default in the file");
        let mut origins = list.into_iter().flatten().chain([value]).filter_map(|value| value.get("origin"));
        assert!(origins.all(|origin| origin["layer"] == "user"), "{key} is not taken from the file: {value}");
    }
    let expected = listed.as_object().unwrap().keys().filter(|key| !REMOVED.contains(&key.as_str()));
    assert_eq!((found, &shown["notes"]), (expected.count(), &json!([])));
}

#[test]
fn the_files_name_no_machine_and_hold_no_secret() {
    let redactor = toolfence_agent::redact::Redactor::new();
    for file in files(&cases()) {
        let text = fs::read_to_string(&file).unwrap();
        for path in ["/tmp", "/home/", "/root", "/var/", "/Users/", "/private/"] {
            assert!(!text.contains(path), "{path} in {}", file.display());
        }
        // Check only transcripts, because the redactor would change names of settings keys that look like secrets.
        if file.extension().is_some_and(|ending| ending == "jsonl") {
            assert_eq!(redactor.text(&text), text, "{}", file.display());
        }
    }
}
