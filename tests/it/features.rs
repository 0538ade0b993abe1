//! What people expect of an agent in a terminal, each on a real one.

use crate::conversation::{CTRL_D, ENTER, Place, answered};
use crate::terminal::slow_model;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use toolfence_kit::{Program, Screen};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

fn call(name: &str, args: &Value) -> String {
    format!("```tool\n{}\n```", json!({"name": name, "args": args}))
}

/// Answers a question, which throws away what comes before its last row.
fn say(screen: &Screen, question: &str, answer: &str) {
    screen.wait("question", |contents| contents.trim_end().lines().last().is_some_and(|row| row.starts_with(question)));
    screen.press(&format!("{answer}{ENTER}"));
}

/// A program that answers, and keeps what it was asked in the home folder.
fn asked_model(place: &Place) -> String {
    place.file_at_home("model.sh", "cat >>\"$HOME/asked\"; echo; echo Answered.\n");
    format!("sh {}", place.home.join("model.sh").display())
}

#[test]
fn sessions_resume_and_fork() {
    let place = Place::new(&["First.", "Second."]);
    let screen = place.talk(&[], &[]);
    screen.press(&format!("one{ENTER}"));
    answered(&screen, "First.");
    screen.press(&format!("/sessions{ENTER}"));
    let contents = screen.wait("list", |contents| contents.contains("1 turn") && contents.trim_end().ends_with("\n>"));
    let row = contents.lines().find(|row| row.contains("1 turn")).unwrap();
    let id = row.split_whitespace().next().unwrap().to_owned();
    assert!(row.ends_with("one"), "{contents}");
    screen.press(&format!("/fork{ENTER}"));
    answered(&screen, &format!("a copy of {id}"));
    screen.press(&format!("two{ENTER}"));
    answered(&screen, "Second.");
    screen.press(&format!("/resume {}{ENTER}", &id[..6]));
    answered(&screen, "1 turn so far");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
    let talks = place.written_down();
    assert_eq!(talks.matches("\"content\":\"one\"").count(), 2, "the fork has it too: {talks}");

    let screen = place.talk(&["--continue"], &[]);
    let contents = screen.contents();
    assert!(contents.contains("> two\n") && contents.contains("Second."), "{contents}");
}

#[test]
fn clear_and_compact() {
    let place = Place::new(&[]);
    let model = asked_model(&place);
    let args = ["--command", model.as_str()];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("remember this{ENTER}"));
    answered(&screen, "Answered.");
    screen.press(&format!("/compact{ENTER}"));
    answered(&screen, "nothing can be left out of this conversation");
    screen.press(&format!("/clear{ENTER}"));
    answered(&screen, "a new conversation");
    screen.press(&format!("what was it?{ENTER}"));
    screen.wait("second answer", |contents| contents.matches("Answered.").count() == 2);
    let asked = std::fs::read_to_string(place.home.join("asked")).unwrap();
    let count = |words: &str| asked.matches(words).count();
    assert_eq!(
        (count("remember this"), count("what was it?")),
        (1, 1),
        "the second request has nothing of the first: {asked}"
    );
}

#[test]
fn tokens_and_cost() {
    let place = Place::new(&["Counted."]);
    place.file_at_home("config/toolfence/config.toml", "[prices.replay]\ninput = 1000000\noutput = 1000000\n");
    let screen = place.talk(&["--stats"], &[]);
    screen.press(&format!("count{ENTER}"));
    let contents = screen.wait_for("cost 1");
    assert!(contents.contains("1 reply: 1"), "{contents}");
    screen.wait_for_last(">");
    screen.press(&format!("/stats{ENTER}"));
    let contents = screen.wait_for("1 conversation with 1 turn");
    let contents = if contents.contains("time of") { contents } else { screen.wait_for("time of") };
    assert_eq!(contents.replace('\n', " ").matches("; cost 1").count(), 2, "{contents}");
}

#[test]
fn project_instruction_files() {
    let place = Place::new(&[]);
    place.file("AGENTS.md", "Write every file in Esperanto.\n");
    let model = asked_model(&place);
    let args = ["--command", model.as_str()];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("/init{ENTER}"));
    answered(&screen, "Answered.");
    let asked = std::fs::read_to_string(place.home.join("asked")).unwrap();
    assert!(asked.contains("Write every file in Esperanto."), "{asked}");
    assert!(asked.rsplit("--- user ---").next().unwrap().contains("AGENTS.md"), "what /init says: {asked}");
}

/// Begins a PNG, whose rest nobody looks at.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02";

#[test]
fn images() {
    let place = Place::new(&[]);
    std::fs::write(place.root.join("shot.png"), PNG).unwrap();
    let many: Vec<String> = (0..9).map(|number| format!("many{number}.png")).collect();
    many.iter().for_each(|name| std::fs::write(place.root.join(name), [PNG, name.as_bytes()].concat()).unwrap());
    let url = slow_model(vec![vec![(0, "Without.".into())], vec![(0, "Seen.".into())]]);
    let args = ["--backend", "http", "--base-url", &url, "--model", "m"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    let all: Vec<String> = many.iter().map(|name| format!("@{name}")).collect();
    screen.press(&format!("look at {}{ENTER}", all.join(" ")));
    answered(&screen, "8 images");
    screen.press(&format!("nothing to see{ENTER}"));
    answered(&screen, "Without.");
    assert!(
        !place.written_down().contains("many0.png"),
        "images of a message that was refused are not shown with the next"
    );
    screen.press(&format!("look at @shot.png{ENTER}"));
    answered(&screen, "Seen.");
    assert!(screen.contents().contains("below the message: shot.png"), "{}", screen.contents());
    let written = place.written_down();
    assert!(written.contains("\"name\":\"shot.png\"") && written.contains("look at @shot.png"), "{written}");
}

#[test]
fn shell_completions() {
    let place = Place::new(&[]);
    let folder = Path::new(CODER).parent().unwrap().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    place.file_at_home(
        "config/toolfence/personas/pirate.md",
        "+++\nname = \"pirate\"\ndescription = \"Arr.\"\n+++\nYou are a pirate.\n",
    );
    let shell = ["--norc", "--noprofile", "-i"];
    let env = [("PATH", path.as_str()), ("PS1", "$ "), ("INPUTRC", "/dev/null"), ("HISTFILE", "")];
    let screen = Screen::start("bash", &shell, &env, &place.root, &place.home, (24, 80));
    screen.wait_for_last("$");
    screen.press(&format!("source <(coder completions bash){ENTER}"));
    screen.wait("prompt", |contents| contents.contains("completions bash)") && contents.trim_end().ends_with("\n$"));
    for (typed, completed) in [
        ("coder sess\t", "$ coder sessions"),
        ("coder --persona pir\t", "$ coder --persona pirate"),
        ("coder tools --persona rev\t", "$ coder tools --persona reviewer"),
        ("coder --ask san\t", "$ coder --ask sandboxed"),
    ] {
        screen.press(typed);
        screen.wait_for_last(completed);
        screen.press("\u{15}");
        screen.wait_for_last("$");
    }
}

#[test]
fn themes_and_key_bindings() {
    let reply = "Use `x`:\n\n```rust\nlet a = 1; // one\n```\n";
    let place = Place::new(&[reply, "Said."]);
    place.file_at_home("config/toolfence/config.toml", "[terminal]\nkeys = \"vi\"\ntheme = \"dark\"\n");
    let screen = place.talk(&[], &[]);
    screen.press("sshow mee");
    screen.wait_for_last("> sshow mee");
    // Esc, and what the keys do then: to the end, delete, to the beginning, delete.
    screen.press("\u{1b}");
    screen.wait_for_last(": sshow mee");
    screen.press("$x0x");
    screen.wait_for_last(": show me");
    screen.press("A it\t");
    screen.wait_for_last("> show me it");
    screen.press(ENTER);
    answered(&screen, "let a = 1; // one");
    assert_eq!(place.said(), ["show me it"]);
    let written = screen.written();
    for (code, what) in [("80", "x"), ("176", "let"), ("222", "1"), ("245", "// one")] {
        assert!(written.contains(&format!("\u{1b}[38;5;{code}m{what}")), "{what}: {written:?}");
    }
    // What is typed in one row goes on in the next with these keys too, and Tab completes.
    screen.press("one\u{1b}\rtwo");
    screen.wait("two rows", |contents| contents.contains("> one\n  two"));
    screen.press(ENTER);
    answered(&screen, "Said.");
    screen.press("/comp\t");
    screen.wait_for_last("> /compact");

    place.file_at_home("config/toolfence/config.toml", "[terminal]\ntheme = \"mono\"\n");
    let screen = place.talk(&[], &[]);
    screen.press(&format!("show me{ENTER}"));
    answered(&screen, "let a = 1; // one");
    let written = screen.written();
    assert!(written.contains("\u{1b}[1mlet\u{1b}[0m") && !written.contains("\u{1b}[35m"), "{written:?}");
}

#[test]
fn undo_without_git() {
    let replies = [&call("write_file", &json!({"path": "notes.txt", "content": "kept?\n"})), "Written."];
    let place = Place::new(&replies);
    let screen = place.talk(&["--yes"], &[]);
    let file = place.root.join("notes.txt");
    screen.press(&format!("write{ENTER}"));
    answered(&screen, "Written.");
    screen.press(&format!("/diff{ENTER}"));
    screen.wait("diff", |contents| contents.matches("+kept?").count() == 2 && contents.trim_end().ends_with("\n>"));
    screen.press(&format!("/undo{ENTER}"));
    screen.wait("undone file", |contents| !file.exists() && contents.trim_end().ends_with("\n>"));
    screen.press(&format!("/redo{ENTER}"));
    screen.wait("redone file", |contents| file.exists() && contents.trim_end().ends_with("\n>"));
    assert!(!place.root.join(".git").exists());
}

/// Lines that are pasted at the prompt are one message, and none of them answers the question that comes of it.
#[test]
fn a_pasted_y_cannot_approve() {
    let place = Place::new(&[&call("bash", &json!({"command": "touch ran"})), "Done."]);
    let screen = place.talk(&[], &[]);
    screen.paste("do it\ny\nrest");
    screen.wait_for("rest");
    // Typed behind it, and there before the question is.
    screen.press(&format!("{ENTER}y{ENTER}"));
    screen.wait_for("Run it? [");
    std::thread::sleep(Duration::from_millis(500));
    assert!(!place.root.join("ran").exists());
    say(&screen, "Run it? [", "n");
    screen.wait_for("Done.");
    assert!(!place.root.join("ran").exists());
    assert_eq!(place.said()[0], "do it\ny\nrest");
}

#[test]
fn at_names_with_a_prompt() {
    let place = Place::new(&["Seen."]);
    place.file("src/a.rs", "fn a() {}\n");
    let replies = place.home.join("replies");
    let program = Program::new(CODER, &place.home);
    let args = ["-p", "look at @src/a.rs, me@example.org and @nothing", "--backend", "replay", "--replies"];
    let ran = program.args(&[&args[..], &[replies.to_str().unwrap()]].concat()).run(&place.root, "@src/a.rs\n");
    assert_eq!((ran.status, ran.out.as_str()), (0, "Seen.\n"), "{ran:?}");
    assert!(ran.err.contains("below the message: src/a.rs\n"), "{ran:?}");
    let said = place.said();
    assert!(said[0].contains("The file src/a.rs:\n\n```\nfn a() {}\n```\n\n@src/a.rs"), "{said:?}");
    assert_eq!(said[0].matches("fn a()").count(), 1, "what is piped in names no file: {said:?}");
}

/// What one model's replies have shown says nothing of another one.
#[test]
fn what_a_model_showed_is_its_own() {
    let place = Place::new(&[]);
    let calls = "<tool_call>\n{\"name\": \"list_files\", \"arguments\": {}}\n</tool_call>\n".repeat(3);
    let url = slow_model(vec![vec![(0, calls)], vec![(0, "One.".into())], vec![(0, "Two.".into())]]);
    let args = ["--backend", "http", "--base-url", &url, "--model", "one"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "One.");
    screen.press(&format!("/model two{ENTER}"));
    answered(&screen, "two answers from here on");
    screen.press(&format!("go on{ENTER}"));
    answered(&screen, "Two.");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
    let program = Program::new(CODER, &place.home).args(&["config", "profile", "--all", "--json"]);
    let told: Value = serde_json::from_str(&program.run(&place.root, "").out).unwrap();
    let of = |model: &str| {
        let all = told["profiles"].as_array().unwrap();
        all.iter().find(|profile| profile["model"] == model).map_or(String::new(), Value::to_string)
    };
    assert!(of("one").contains("hermes") && !of("two").contains("hermes"), "{told}");
}

#[test]
fn mcp_tools() {
    let place = Place::new(&[&call("files.echo", &json!({"text": "hi \u{1b}[31mred"})), "Done."]);
    place.file("server.sh", crate::mcp::SERVER);
    place.file_at_home("config/toolfence/config.toml", "[mcp.files]\ncommand = \"bash server.sh well\"\n");
    let replies = place.home.join("replies");
    let args = ["--backend", "replay", "--replies", replies.to_str().unwrap()];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (60, 100));
    let contents = screen.wait("question", |contents| contents.trim_end().ends_with("Trust it? [y/N]"));
    assert!(contents.contains("\"description\": \"Says a text.\""), "{contents}");
    say(&screen, "Trust it? [", "y");
    let contents = screen.wait_for_last(">");
    assert!(contents.contains("tools of MCP servers: files (1 tool)"), "{contents}");
    screen.press(&format!("/tools{ENTER}"));
    answered(&screen, "files.echo(text, count?)");
    screen.press(&format!("go{ENTER}"));
    let contents = screen.wait_for("Run it? [");
    assert!(contents.contains("? files.echo") && contents.contains("hi \\u001b[31mred"), "{contents}");
    assert!(contents.contains("every call of files.echo"), "{contents}");
    say(&screen, "Run it? [", "always");
    answered(&screen, "Done.");
    assert!(place.written_down().contains("said hi"), "{}", place.written_down());
    screen.press(&format!("/allowed{ENTER}"));
    answered(&screen, "every call of files.echo");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
    // What was trusted is trusted in the next conversation.
    let screen = place.talk(&[], &[]);
    assert!(screen.contents().contains("files (1 tool)"), "{}", screen.contents());
}

/// What a blocked file says that appears while a command runs is not shown on the way either.
#[test]
fn live_output_withholds_blocked_files() {
    let command = ". ./attempt.sh";
    let place = Place::new(&[&call("bash", &json!({"command": command})), "Done."]);
    place.file("attempt.sh", "echo KEY=sk-test-4242424242424242 >.env; sleep 1; cat .env; echo after; sleep 3\n");
    let doctor = Program::new(CODER, &place.home).args(&["doctor"]).run(&place.root, "");
    if doctor.status != 0 {
        eprintln!("left out: no sandbox holds here");
        return;
    }
    let screen = place.talk(&["--yes"], &[]);
    screen.press(&format!("go{ENTER}"));
    let contents = screen.wait_for("│ after");
    assert!(contents.contains("A line is withheld"), "{contents}");
    answered(&screen, "Done.");
    assert!(!screen.written().contains("sk-test-4242"), "{:?}", screen.written());
}

#[test]
fn sandbox_tested_by_a_command() {
    let place = Place::new(&[]);
    let screen = Screen::start(CODER, &["doctor"], &[], &place.root, &place.home, (60, 100));
    // The last of it; above, a row says of each attempt whether the sandbox held.
    screen.wait_for("checks of changed files");
    let written = screen.written();
    let verdicts = |word: &str| written.lines().filter(|row| row.contains(&format!("  {word} "))).count();
    assert!(verdicts("holds") + verdicts("open") > 10, "{written}");
    assert!([0, 1].contains(&screen.end()), "{written}");
}
