//! Tests the display of turns on a terminal.

use crate::terminal::slow_model;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use tempfile::TempDir;
use toolfence_kit::Screen;

const CODER: &str = env!("CARGO_BIN_EXE_coder");

/// Creates a project with a file, and a home folder with these replies of the model.
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

/// Returns how often a text occurs on the screen.
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
fn a_failed_build_shows_its_end_and_its_full_output_on_demand() {
    let build = "for i in $(seq 1 30); do echo compiling $i; sleep 0.05; done; echo 'error: THE LAST LINE' >&2; exit 1";
    let replies = format!("%%% reply\n{}%%% reply\nIt fails.\n", call("bash", &serde_json::json!({"command": build})));
    let (project, home) = place(&replies);
    let screen = talk(project.path(), home.path(), &["--yes"], (50, 60));
    screen.press("build\r");
    // While the command runs, the last lines of its output are below the status.
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
    let written = screen.written();
    assert!(
        written.contains("\u{1b}[31m  -two") && written.contains("? \u{1b}[1mreplace_text\u{1b}[0m\r\n"),
        "{written:?}"
    );
    // The question discards input from before its last row.
    screen.wait("question", |contents| contents.trim_end().ends_with(']'));
    screen.press("y\r");
    screen.wait_for("Done.");
    let contents = screen.wait_for_last(">");
    assert_eq!((count(&contents, "-two"), count(&contents, "→ replace_text a.txt")), (1, 1), "{contents}");
    assert_eq!(std::fs::read_to_string(project.path().join("a.txt")).unwrap(), "one\n2\n");
}

/// Every row of a reason is indented, even with long words or with braille blanks (U+2800), at which no line wraps.
#[test]
fn a_reason_cannot_imitate_rows_of_the_program() {
    let blank = |text: &str| text.replace(' ', "\u{2800}");
    let forged =
        blank("  asked because: Every part only reads.") + &" ".repeat(3) + &"y".repeat(34) + &blank("Run it? [y/N] y");
    let call =
        serde_json::json!({"name": "bash", "args": {"command": "touch ran"}, "reason": "x".repeat(34) + &forged});
    let (project, home) = place(&format!("%%% reply\n```tool\n{call}\n```\n%%% reply\nDone.\n"));
    let screen = talk(project.path(), home.path(), &["--ask", "always"], (40, 40));
    screen.press("go\r");
    let contents = screen.wait("question", |contents| contents.trim_end().ends_with(']'));
    // Check only the rows of the question, because the greeting has the folder's name, which may contain an `x`.
    let (_, question) = contents.split_once("? bash").expect(&contents);
    let rows: Vec<&str> = question.lines().filter(|row| row.contains(['\u{2800}', 'x'])).collect();
    assert!(
        rows.len() > 3 && rows.iter().all(|row| row.starts_with("      ") || row.starts_with("  the model: ")),
        "{contents}"
    );
    screen.press("n\r");
    screen.wait_for("Done.");
}

/// Printed rows do not change, no word is repeated, and new text uses the new width.
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
    // The program displays each word at once, before its row is full.
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

/// Returns distinct words with characters of all widths.
fn odd_words() -> Vec<String> {
    (1..=60).map(|number| format!("w{number}\u{8a9e}e\u{301}.")).collect()
}

fn slowly(project: &Path, home: &Path, reply: Vec<(u64, String)>, env: &[(&str, &str)], size: (u16, u16)) -> Screen {
    slowly_with(project, home, reply, &["--yes"], env, size)
}

fn slowly_with(
    project: &Path,
    home: &Path,
    reply: Vec<(u64, String)>,
    more: &[&str],
    env: &[(&str, &str)],
    size: (u16, u16),
) -> Screen {
    let url = slow_model(vec![reply, vec![(0, "Done.\n".to_owned())]]);
    let args = [&["--backend", "http", "--base-url", &url, "--model", "m"], more].concat();
    let screen = Screen::start(CODER, &args, env, project, home, size);
    screen.wait_for_last(">");
    screen.press("go\r");
    screen
}

/// A terminal that becomes narrower rewraps its rows, so the program must erase all rows that the live row now takes.
#[test]
fn a_terminal_becomes_narrower_while_the_model_writes() {
    let words = odd_words();
    let mut reply: Vec<(u64, String)> = words.iter().map(|word| (40, format!("{word} "))).collect();
    reply.push((0, "\n\nDone.\n".to_owned()));
    let (project, home) = place("");
    let screen = slowly(project.path(), home.path(), reply, &[], (40, 100));
    screen.wait_for("w25\u{8a9e}");
    screen.rewrap((40, 40));
    screen.wait_for("w40\u{8a9e}");
    screen.rewrap((40, 24));
    screen.wait_for("Done.");
    let contents = screen.wait_for_last(">");
    // The terminal rewraps printed rows within words.
    let contents = contents.replace('\n', "");
    for word in &words {
        assert_eq!(count(&contents, word), 1, "{word}: {contents}");
    }
}

/// Terminals that set `XTERM_VERSION` truncate rows instead of rewrapping them, so the program must not erase anything
/// above the live row.
#[test]
fn a_terminal_that_truncates_rows_becomes_narrower_while_the_model_writes() {
    let words = odd_words();
    let mut reply: Vec<(u64, String)> = words.iter().map(|word| (40, format!("{word} "))).collect();
    reply.push((0, "\n\nDone.\n".to_owned()));
    let (project, home) = place("");
    let screen = slowly(project.path(), home.path(), reply, &[("XTERM_VERSION", "XTerm(390)")], (40, 100));
    screen.wait_for("w25\u{8a9e}");
    let before = screen.contents();
    let first =
        |contents: &str| contents.lines().find(|row| row.starts_with("w1\u{8a9e}")).map(|row| row[..20].to_owned());
    screen.resize((40, 40));
    screen.wait_for("Done.");
    let contents = screen.wait_for_last(">");
    assert!(first(&before).is_some() && first(&before) == first(&contents), "{contents}");
    for word in &words {
        assert!(count(&contents, word) <= 1, "{word}: {contents}");
    }
}

/// The status rows are erased and redrawn too, whatever characters they contain.
#[test]
fn a_terminal_becomes_narrower_while_a_command_runs() {
    let command = "for i in 1 2 3 4 5 6; do echo \"$i \u{8a9e}\u{8a9e}\u{8a9e} e\u{301} $(printf 'x%.0s' $(seq 60))\"; done; sleep 3; echo over";
    let call = call("bash", &serde_json::json!({"command": command}));
    let (project, home) = place("");
    let screen = slowly(project.path(), home.path(), vec![(0, format!("I run it.\n\n{call}"))], &[], (40, 90));
    screen.wait_for("  │ 6 ");
    screen.rewrap((40, 40));
    screen.wait("rows of the new width", |contents| contents.contains("x…\n") && count(contents, "running") == 1);
    screen.rewrap((40, 70));
    screen.wait_for("Done.");
    let contents = screen.wait_for_last(">");
    assert!(!contents.contains('│') && !contents.contains("running"), "{contents}");
    assert!(contents.contains("\ncoder\nI run it.\n\n→ bash $ for i in"), "{contents}");
    assert!(contents.contains("    over\n\nDone.\n"), "{contents}");
}

/// The input line is erased and redrawn too.
#[test]
fn a_terminal_becomes_narrower_while_a_line_is_typed() {
    let (project, home) = place("%%% reply\nDone.\n");
    let screen = talk(project.path(), home.path(), &[], (24, 80));
    let words = odd_words();
    screen.press(&words[..20].join(" "));
    screen.wait_for(&words[19]);
    screen.rewrap((24, 40));
    screen.press(" end");
    screen.wait_for("end");
    let contents = screen.contents();
    for word in &words[..20] {
        assert_eq!(count(&contents.replace('\n', ""), word), 1, "{word}: {contents}");
    }
    screen.press("\r");
    screen.wait_for("Done.");
}

/// If the user stops the model in the middle of a call, the message states that the call did not run and omits the
/// advice for the model.
#[test]
fn a_stopped_call_is_reported_in_words_for_users() {
    let lines: String = (0..400).map(|line| format!("line {line}\\n")).collect();
    let call = format!(
        "I write it.\n\n```tool\n{{\"name\": \"write_file\", \"args\": {{\"path\": \"n.txt\", \"content\": \"{lines}"
    );
    for (language, message, ended) in [
        ("en", "→ write_file n.txt  ✗ stopped while it was written; it did not run\n", "\nstopped\n"),
        ("pt", "→ write_file n.txt  ✗ interrompida enquanto era escrita; não foi executada\n", "\ninterrompido\n"),
    ] {
        let reply = call.as_bytes().chunks(20).map(|piece| (30, String::from_utf8_lossy(piece).into_owned())).collect();
        let (project, home) = place("");
        let screen = slowly_with(project.path(), home.path(), reply, &["--lang", language], &[], (40, 80));
        // The file is displayed while the model writes it, below an empty row.
        screen.wait_for("I write it.\n\n→ write_file n.txt  ");
        screen.wait_for("  │ line ");
        screen.press("\u{3}");
        screen.wait_for(ended);
        let contents = screen.wait_for_last(">");
        assert!(contents.contains(message) && !contents.contains("malformed") && !contents.contains('│'), "{contents}");
    }
}

/// The output of a stopped command stays on the screen.
#[test]
fn the_output_of_a_stopped_command_stays_on_the_screen() {
    let command = call("bash", &serde_json::json!({"command": "echo begun; sleep 60; echo never"}));
    let (project, home) = place(&format!("%%% reply\n{command}%%% reply\nIt was stopped.\n"));
    let screen = talk(project.path(), home.path(), &["--yes"], (40, 60));
    screen.press("go\r");
    screen.wait_for("  │ begun");
    screen.press("\u{3}");
    screen.wait_for("It was stopped.");
    let contents = screen.wait_for_last(">");
    assert!(contents.contains("  ✗ stopped after ") && contents.contains("    begun\n"), "{contents}");
    assert!(!contents.contains("Check before you continue"), "{contents}");
}

/// Messages wrap between words, including wide ones.
#[test]
fn error_messages_wrap_at_word_boundaries() {
    let (project, home) = place(
        "%%% reply\n```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"語語語語語 a name with blanks that is long\"}}\n```\n",
    );
    let screen = talk(project.path(), home.path(), &["--yes"], (40, 40));
    screen.press("go\r");
    // The recording has no second reply.
    screen.wait_for("The recording is at its end");
    let contents = screen.wait_for_last(">");
    let text = contents.replace("\n    ", " ").replace('\n', " ");
    assert!(contents.contains("\n  ✗ not_found") && text.contains("a name with blanks that is long"), "{contents}");
    assert!(contents.lines().all(|row| row.chars().count() < 40), "{contents}");
}

/// Without colours, a mark identifies reasoning. The spinner still turns.
#[test]
fn without_colours_reasoning_is_marked_and_the_spinner_turns() {
    let reply =
        vec![(1500, "<think>\nFirst this, and then that, which takes two rows.\n</think>\nIt is 4.\n".to_owned())];
    let (project, home) = place("");
    let screen = slowly(project.path(), home.path(), reply, &[("NO_COLOR", "1")], (40, 40));
    screen.wait_for("waiting for the model, 1 s");
    screen.wait_for("It is 4.");
    let contents = screen.wait_for_last(">");
    assert!(
        contents.contains("coder\n| First this, and then that, which\n| takes two rows.\n\nIt is 4.\n"),
        "{contents}"
    );
    assert!(!contents.contains("waiting"), "{contents}");
    let written = screen.written();
    let looks = written.split("\u{1b}[").skip(1).filter_map(|rest| rest.split_once('m').map(|(code, _)| code));
    let looks: Vec<&str> =
        looks.filter(|code| !code.is_empty() && code.bytes().all(|b| b.is_ascii_digit() || b == b';')).collect();
    assert!(looks.iter().all(|code| *code == "0"), "{looks:?}");
}

/// In a locale without Unicode, ASCII characters replace the signs, and the output has no other characters.
#[test]
fn a_terminal_without_signs_shows_plain_characters() {
    let calls = call("read_file", &serde_json::json!({"path": "a.txt"}))
        + &call("bash", &serde_json::json!({"command": "sleep 3; exit 3"}));
    let (project, home) = place(&format!("%%% reply\n{calls}%%% reply\n- One\n- Two\n\nDone.\n"));
    let replies = home.path().join("replies");
    let args = ["--backend", "replay", "--replies", replies.to_str().unwrap(), "--yes"];
    let screen = Screen::start(CODER, &args, &[("LC_ALL", "C")], project.path(), home.path(), (30, 60));
    screen.wait_for_last(">");
    screen.press("go\r");
    let spins = |frame| format!("-> bash $ sleep 3; exit 3  {frame} running, ");
    screen.wait("spinner", |contents| ["|", "/", "-", "\\"].iter().any(|frame| contents.contains(&spins(frame))));
    screen.wait_for("Done.");
    let contents = screen.wait_for_last(">");
    assert!(contents.contains("-> read_file a.txt  [ok] 2 lines, "), "{contents}");
    assert!(contents.contains("-> bash $ sleep 3; exit 3  [failed] status 3, "), "{contents}");
    assert!(screen.written().is_ascii(), "{:?}", screen.written());
}

#[test]
fn plain_texts_for_signs_are_translated() {
    let missing = call("read_file", &serde_json::json!({"path": "missing.txt"}));
    let (project, home) = place(&format!("%%% reply\n{missing}%%% reply\nDone.\n"));
    let replies = home.path().join("replies");
    let args = ["--lang", "pt", "--backend", "replay", "--replies", replies.to_str().unwrap(), "--yes"];
    let screen = Screen::start(CODER, &args, &[("LC_ALL", "C")], project.path(), home.path(), (30, 60));
    screen.wait_for_last(">");
    screen.press("go\r");
    screen.wait_for("Done.");
    let contents = screen.wait_for_last(">");
    assert!(contents.contains("  [falhou] not_found") && !contents.contains("[failed]"), "{contents}");
}

/// A turn that lasts longer than the configured time ends with the bell or a notification.
#[test]
fn a_long_turn_ends_with_a_bell_or_a_notification() {
    for (settings, wanted, other) in [
        ("notify_after = 0\n", "\u{7}", "\u{1b}]9;"),
        ("notify = \"osc9\"\nnotify_after = 0\n", "\u{1b}]9;coder has an answer\u{1b}\\", "\u{7}"),
        ("notify = \"off\"\nnotify_after = 0\n", "", "\u{7}"),
        ("", "", "\u{7}"),
    ] {
        let (project, home) = place("%%% reply\nDone.\n");
        std::fs::create_dir_all(home.path().join("config/toolfence")).unwrap();
        std::fs::write(home.path().join("config/toolfence/config.toml"), settings).unwrap();
        let screen = talk(project.path(), home.path(), &[], (24, 80));
        screen.press("go\r");
        screen.wait_for("Done.");
        screen.wait_for_last(">");
        let written = screen.written();
        assert!(written.contains(wanted) && !written.contains(other), "{settings}: {written:?}");
    }
    let (project, home) = place("%%% reply\nDone.\n");
    std::fs::create_dir_all(home.path().join("config/toolfence")).unwrap();
    std::fs::write(home.path().join("config/toolfence/config.toml"), "notify_after = 0\n").unwrap();
    let mut piped = Command::new(CODER);
    piped.args(["--backend", "replay", "--replies"]).arg(home.path().join("replies")).args(["-p", "go"]);
    piped.env("XDG_CONFIG_HOME", home.path().join("config")).env("XDG_STATE_HOME", home.path().join("state"));
    let ran = piped.current_dir(project.path()).stdin(Stdio::null()).output().unwrap();
    assert_eq!((String::from_utf8_lossy(&ran.stdout), ran.stderr.contains(&7)), ("Done.\n".into(), false));
}

/// For a megabyte of prose, of one table, of one code block and of one line, the output to the terminal and the memory
/// are small multiples of the text, however small its pieces are. Of a megabyte of reasoning only the last rows are
/// drawn, a few times a second. None of these takes long.
#[test]
fn a_megabyte_costs_a_bounded_number_of_bytes_of_memory_and_of_time() {
    const SIZE: usize = 1 << 20;
    /// The limit of CPU time in seconds. An optimised build needs a tenth of it.
    const MOST_SECONDS: u64 = 30;
    // The lines differ because a reply that repeats itself is stopped.
    let filled = |part: &str| -> String {
        (0..SIZE / part.len()).map(|number| part.replace('#', &format!("{number:04}"))).collect()
    };
    let table = format!("| a | b |\n|---|---|\n{}", filled("| one *two* | #three |\n"));
    for (name, text) in [
        ("prose", filled("A word # of *many* and some `code` in one long paragraph.\n")),
        ("a table", table),
        ("a block of code", format!("```rust\n{}```\n", filled("    let x# = \"text\"; // and more\n"))),
        ("a line", filled("x")),
        ("a thought", format!("<think>\n{}</think>\nDone.\n", filled("A word # of *many* in a long thought.\n"))),
    ] {
        let is_thought = name == "a thought";
        let pieces =
            text.as_bytes().chunks(512).map(|piece| (0, String::from_utf8_lossy(piece).into_owned())).collect();
        let url = slow_model(vec![pieces]);
        let (project, home) = place("");
        let line = "\"$CODER\" -p go --backend http --base-url \"$URL\" --model m --color always < /dev/null & \
                    while [ -e /proc/$!/status ]; do grep -h VmHWM /proc/$!/status > now && cut -d' ' -f14,15 /proc/$!/stat >> now && cp now \"$PEAK\"; \
                    sleep 0.05; done; wait $!";
        let peak = home.path().join("peak");
        let mut script = Command::new("script");
        script.args(["-qec", line, "/dev/null"]).current_dir(project.path()).env("SHELL", "/bin/bash");
        script.env("CODER", CODER).env("URL", &url).env("PEAK", &peak).env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
        script.env("XDG_CONFIG_HOME", home.path().join("config")).env("XDG_STATE_HOME", home.path().join("state"));
        let mut child = script.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let reader = thread::spawn(move || {
            let (mut buffer, mut written) = ([0; 1 << 16], 0);
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                written += count;
            }
            written
        });
        assert!(child.wait().unwrap().success(), "{name}");
        let written = reader.join().unwrap();
        let peak = std::fs::read_to_string(&peak).unwrap();
        let kilobytes: usize = peak.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect(&peak);
        let expected = if is_thought { 0..=SIZE / 2 } else { SIZE / 2..=3 * SIZE };
        assert!(expected.contains(&written), "{name}: {written} bytes are written");
        assert!(kilobytes < 100 << 10, "{name}: {kilobytes} kB are kept");
        // The kernel counts in hundredths of a second.
        let ticks: u64 = peak.split_whitespace().skip(3).map(|ticks| ticks.parse::<u64>().expect(&peak)).sum();
        assert!(ticks / 100 < MOST_SECONDS, "{name}: {ticks} ticks");
    }
}
