//! What a turn looks like on the screen of a terminal.

use crate::terminal::slow_model;
use std::path::Path;
use tempfile::TempDir;
use toolfence_kit::Screen;

const CODER: &str = env!("CARGO_BIN_EXE_coder");

/// A project with a file, and a home with these replies of a model.
fn place(replies: &str) -> (TempDir, TempDir) {
    let (project, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(project.path().join("a.txt"), "one\ntwo\n").unwrap();
    std::fs::write(home.path().join("replies"), replies).unwrap();
    (project, home)
}

fn talk(project: &Path, home: &Path, args: &[&str], size: (u16, u16)) -> Screen {
    let replies = home.join("replies");
    let mut all = vec!["--backend", "replay", "--replies", replies.to_str().unwrap()];
    all.extend(args);
    let screen = Screen::start(CODER, &all, &[], project, home, size);
    screen.wait_for_last(">");
    screen
}

fn call(name: &str, args: &serde_json::Value) -> String {
    format!("```tool\n{}\n```\n", serde_json::json!({"name": name, "args": args}))
}

/// How often a text stands on the screen.
fn count(contents: &str, text: &str) -> usize {
    contents.matches(text).count()
}

#[test]
fn a_turn_with_three_calls_and_a_table() {
    let calls = [
        call("list_files", &serde_json::json!({})),
        call("read_file", &serde_json::json!({"path": "a.txt"})),
        call("bash", &serde_json::json!({"command": "wc -l a.txt"})),
    ];
    let table = "# Result\n\n| File | Lines |\n|---|---:|\n| `a.txt` | 2 |\n| 語 | 10 |\n\nThe **end**.\n";
    let replies = format!(
        "%%% reply\n<think>Which files?</think>\nI look at the *files*.\n\n{}%%% reply\n{table}",
        calls.concat()
    );
    let (project, home) = place(&replies);
    let screen = talk(project.path(), home.path(), &["--yes"], (40, 80));
    screen.press("look\r");
    screen.wait_for("The end.");
    let contents = screen.wait_for_last(">");
    let rows: Vec<&str> = contents.lines().skip_while(|row| *row != "coder").collect();
    let at = |wanted: &str| rows.iter().position(|row| row.starts_with(wanted)).unwrap_or_else(|| panic!("{contents}"));
    assert_eq!(rows[..4], ["coder", "Which files?", "", "I look at the files."], "{contents}");
    for label in ["→ list_files  ✓ ", "→ read_file a.txt  ✓ 2 lines, ", "→ bash $ wc -l a.txt  ✓ 1 line, "]
    {
        assert_eq!(count(&contents, label), 1, "{label}: {contents}");
    }
    let head = at("File");
    assert_eq!(
        rows[head..head + 4],
        ["File  │ Lines", "──────┼──────", "a.txt │     2", "語    │    10"],
        "{contents}"
    );
    assert!(!contents.contains("```") && !contents.contains("**") && count(&contents, "coder\n") == 1, "{contents}");
}

#[test]
fn a_failing_build_shows_its_end_and_all_of_it_on_demand() {
    let build = "for i in $(seq 1 30); do echo compiling $i; sleep 0.05; done; echo 'error: THE LAST LINE' >&2; exit 1";
    let replies = format!("%%% reply\n{}%%% reply\nIt fails.\n", call("bash", &serde_json::json!({"command": build})));
    let (project, home) = place(&replies);
    let screen = talk(project.path(), home.path(), &["--yes"], (50, 60));
    screen.press("build\r");
    // While it runs, its last lines are below the status.
    screen.wait_for("  │ compiling 1");
    screen.wait_for("It fails.");
    let contents = screen.wait_for_last(">");
    assert!(!contents.contains("│ compiling") && !contents.contains("running"), "{contents}");
    assert!(
        contents.contains("    compiling 3\n    ... 16 lines more; /last shows all\n    compiling 20\n"),
        "{contents}"
    );
    assert!(contents.contains("    compiling 30\n    error: THE LAST LINE\n"), "{contents}");
    assert!(contents.contains("  ✗ status 1, 1."), "{contents}");
    assert!(!contents.contains("compiling 11"), "{contents}");
    screen.press("/last\r");
    screen.wait_for("compiling 11\n");
}

#[test]
fn a_change_is_asked_about_at_forty_columns() {
    let edit = call("replace_text", &serde_json::json!({"path": "a.txt", "old": "two", "new": "2"}));
    let replies = format!(
        "%%% reply\nI change the file, which takes a question and a row of more than forty columns.\n\n{edit}%%% reply\nDone.\n"
    );
    let (project, home) = place(&replies);
    let screen = talk(project.path(), home.path(), &[], (40, 40));
    screen.press("change\r");
    let contents = screen.wait_for("Run it? [");
    assert!(
        contents.contains("I change the file, which takes a\nquestion and a row of more than forty\ncolumns.\n"),
        "{contents}"
    );
    assert!(contents.contains("  -two\n  +2\n"), "{contents}");
    assert!(screen.written().contains("\u{1b}[31m  -two"), "{:?}", screen.written());
    // The question throws away what comes before it is ready to listen.
    std::thread::sleep(std::time::Duration::from_millis(300));
    screen.press("y\r");
    screen.wait_for("Done.");
    let contents = screen.wait_for_last(">");
    assert_eq!((count(&contents, "-two"), count(&contents, "→ replace_text a.txt")), (1, 1), "{contents}");
    assert_eq!(std::fs::read_to_string(project.path().join("a.txt")).unwrap(), "one\n2\n");
}

/// Rows that stand there stay as they are, no word comes twice, and what comes then has the new width.
#[test]
fn a_terminal_becomes_wider_while_the_model_writes() {
    let words: Vec<String> = (1..=60).map(|number| format!("word{number}.")).collect();
    let mut pieces: Vec<(u64, String)> = words.iter().map(|word| (40, format!("{word} "))).collect();
    pieces.push((0, "\n\nDone.\n".to_owned()));
    let url = slow_model(vec![pieces]);
    let (project, home) = place("");
    let args = ["--backend", "http", "--base-url", &url, "--model", "m"];
    let screen = Screen::start(CODER, &args, &[], project.path(), home.path(), (40, 40));
    screen.wait_for_last(">");
    screen.press("go\r");
    // A word is there before its row is full.
    screen.wait_for("word2.");
    screen.wait_for("word20.");
    screen.resize((40, 100));
    screen.wait_for("Done.");
    let contents = screen.wait_for_last(">");
    for word in &words {
        assert_eq!(count(&contents, word), 1, "{word}: {contents}");
    }
    let widths: Vec<usize> = contents.lines().filter(|row| row.starts_with("word")).map(str::len).collect();
    assert!(widths[0] < 40 && widths.iter().any(|width| *width > 80), "{widths:?}: {contents}");
}
