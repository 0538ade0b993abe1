//! Tests features that users expect of a terminal agent, on a real terminal.

use crate::conversation::{CTRL_D, ENTER, Place, answered};
use crate::terminal::slow_model;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use toolfence_kit::{Program, Screen};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

fn call(name: &str, args: &Value) -> String {
    format!("```tool\n{}\n```", json!({"name": name, "args": args}))
}

/// Waits for a question and answers it. The program discards input that arrives before the last row of the question.
fn say(screen: &Screen, question: &str, answer: &str) {
    screen.wait("question", |contents| contents.trim_end().lines().last().is_some_and(|row| row.starts_with(question)));
    screen.press(&format!("{answer}{ENTER}"));
}

/// Returns the command of a model that records its input in the home folder.
fn asked_model(place: &Place) -> String {
    place.file_at_home("model.sh", "cat >>\"$HOME/asked\"; echo; echo Answered.\n");
    format!("sh {}", place.home.join("model.sh").display())
}

#[test]
fn sessions_can_be_resumed_and_forked() {
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
fn clear_discards_the_conversation() {
    let place = Place::new(&[]);
    let model = asked_model(&place);
    let args = ["--command", model.as_str()];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("remember this{ENTER}"));
    answered(&screen, "Answered.");
    screen.press(&format!("/compact{ENTER}"));
    answered(&screen, "this conversation cannot be shortened");
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

/// A conversation that the server rejects as too long is compacted and continues, without a message about a missing
/// reply.
#[test]
fn a_conversation_that_is_too_long_is_compacted() {
    let place = Place::new(&[]);
    place.file("long.txt", "A line of a long file.\n".repeat(1500));
    let read =
        call("read_file", &json!({"path": "long.txt"})) + "\n" + &call("bash", &json!({"command": "cat long.txt"}));
    let error = json!({"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 30000, "n_ctx": 8000,
        "message": "request (30000 tokens) exceeds the available context size (8000 tokens), try increasing it"}});
    let error = error.to_string();
    let refusal =
        format!("HTTP/1.1 400 Bad Request\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{error}", error.len());
    let url = slow_model(vec![
        vec![(0, read)],
        vec![(0, "Read.".into())],
        vec![(0, refusal)],
        vec![(0, "It goes on.".into())],
    ]);
    let args = ["--backend", "http", "--base-url", &url, "--model", "m", "--yes"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (40, 80));
    screen.wait_for_last(">");
    screen.press(&format!("read it{ENTER}"));
    answered(&screen, "Read.");
    screen.press(&format!("go on{ENTER}"));
    answered(&screen, "It goes on.");
    let contents = screen.contents();
    assert!(contents.contains("\n! compacted from about "), "{contents}");
    assert!(!contents.contains("no call in this reply"), "{contents}");
}

#[test]
fn stats_include_tokens_and_cost() {
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

/// A table that is wider than the terminal becomes a list with one entry per row.
#[test]
fn the_statistics_fit_on_a_narrow_terminal() {
    let place = Place::new(&[&call("read_file", &json!({"path": "a.txt"})), "Read."]);
    place.file("a.txt", "one\n");
    let replies = place.home.join("replies");
    let args = ["--backend", "replay", "--replies", replies.to_str().unwrap()];
    for (columns, wanted) in
        [(40, "\nread_file\n  calls 1, failed 0, p50 ms "), (80, "\nread_file                1         0 ")]
    {
        let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (60, columns));
        screen.wait_for_last(">");
        screen.press(&format!("read{ENTER}"));
        answered(&screen, "Read.");
        screen.press(&format!("/stats{ENTER}"));
        answered(&screen, "denied: 0 by the policy");
        let contents = screen.contents();
        assert!(contents.contains(wanted), "{contents}");
        assert!(contents.lines().all(|row| row.chars().count() < usize::from(columns)), "{contents}");
        screen.press(CTRL_D);
        assert_eq!(screen.end(), 0);
    }
}

#[test]
fn slash_init_sends_the_instruction_file() {
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

/// The start of a PNG. The program does not read the rest.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02";

#[test]
fn images_are_attached_and_limited() {
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
    assert!(screen.contents().contains("attached: shot.png"), "{}", screen.contents());
    let written = place.written_down();
    assert!(written.contains("\"name\":\"shot.png\"") && written.contains("look at @shot.png"), "{written}");
}

#[test]
fn shells_complete_commands_and_values() {
    let place = Place::new(&[]);
    let folder = Path::new(CODER).parent().unwrap().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    place.file_at_home(
        "config/toolfence/personas/pirate.md",
        "+++\nname = \"pirate\"\ndescription = \"Arr.\"\n+++\nYou are a pirate.\n",
    );
    let shell = ["--norc", "--noprofile", "-i"];
    let env = [("PATH", path.as_str()), ("PS1", "$ "), ("INPUTRC", "/dev/null"), ("HISTFILE", "")];
    let is_there = |shell: &str| Command::new(shell).arg("--version").output().is_ok_and(|ran| ran.status.success());
    let zsh = "PS1='$ '; mkdir ~/zsh; coder completions zsh > ~/zsh/_coder; fpath=(~/zsh $fpath); autoload -U compinit; compinit -u -D";
    let fish = "function fish_prompt; echo '$ '; end; coder completions fish | source";
    for (shell, args, begins) in [
        ("bash", &shell[..], "source <(coder completions bash)"),
        ("zsh", &["-f", "-i"], zsh),
        ("fish", &["--no-config", "-i"], fish),
    ] {
        if !is_there(shell) {
            eprintln!("left out: there is no {shell}");
            continue;
        }
        let screen = Screen::start(shell, args, &env, &place.root, &place.home, (24, 80));
        screen.wait("prompt", |contents| contents.trim_end().ends_with(['$', '>', '#']));
        screen.press(&format!("{begins}; echo re''ady{ENTER}"));
        screen.wait("prompt", |contents| contents.contains("\nready\n") && contents.trim_end().ends_with("\n$"));
        for (typed, completed) in [
            ("coder sess\t", "$ coder sessions"),
            ("coder --persona pir\t", "$ coder --persona pirate"),
            ("coder tools --persona rev\t", "$ coder tools --persona reviewer"),
            ("coder --ask san\t", "$ coder --ask sandboxed"),
            ("coder completions fi\t", "$ coder completions fish"),
            ("coder config tru\t", "$ coder config trust"),
        ] {
            screen.press(typed);
            screen.wait(&format!("{completed:?} in {shell}"), |contents| {
                contents.trim_end().lines().last() == Some(completed)
            });
            screen.press("\u{15}");
            screen.wait_for_last("$");
        }
    }
}

#[test]
fn themes_and_vi_keys_are_applied() {
    let reply = "Use `x`:\n\n```rust\nlet a = 1; // one\n```\n";
    let place = Place::new(&[reply, "Said."]);
    place.file_at_home("config/toolfence/config.toml", "[terminal]\nkeys = \"vi\"\ntheme = \"dark\"\n");
    let screen = place.talk(&[], &[]);
    screen.press("sshow mee");
    screen.wait_for_last("> sshow mee");
    // Esc switches to normal mode. The keys then delete a character at the end and one at the start.
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
    // Multi-line input and completion with Tab also work in the vi mode.
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
fn undo_works_without_git() {
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

/// An error of the system is displayed without its number, in the user's language.
#[test]
fn errors_omit_system_error_numbers() {
    let place = Place::new(&[]);
    let reach = ["-p", "go", "--backend", "http", "--base-url", "http://127.0.0.1:1/v1", "--model", "m"];
    let missing = [
        ["--backend", "replay", "--replies", "/missing", "-p", "go"].as_slice(),
        ["--root", "/missing", "-p", "go"].as_slice(),
        ["parse", "--tools", "/missing"].as_slice(),
    ];
    for (language, no_file, refused) in [
        ("en", "No such file or directory", "Connection refused. No server"),
        ("pt", "arquivo ou diretório inexistente", "conexão recusada. Nada"),
    ] {
        for args in missing {
            let ran = place.run(CODER, &[args, &["--lang", language]].concat(), "");
            assert!(ran.status != 0 && ran.err.contains(no_file) && !ran.err.contains("os error"), "{args:?}: {ran:?}");
        }
        let ran = place.run(CODER, &[reach.as_slice(), &["--lang", language]].concat(), "");
        assert!(ran.status == 3 && ran.err.contains(refused) && !ran.err.contains("os error"), "{ran:?}");
    }
}

/// Creating or removing a file without lines is a change too.
#[test]
fn an_empty_file_is_in_the_diff() {
    let replies = [
        &call("write_file", &json!({"path": "empty", "content": ""})),
        "Made.",
        &call("bash", &json!({"command": "rm empty"})),
        "Removed.",
    ];
    let place = Place::new(&replies);
    let screen = place.talk(&["--yes"], &[]);
    for (typed, answer, note) in
        [("make", "Made.", "Empty file empty was made."), ("remove", "Removed.", "Empty file empty was removed.")]
    {
        screen.press(&format!("{typed}{ENTER}"));
        answered(&screen, answer);
        screen.press(&format!("/diff{ENTER}"));
        answered(&screen, note);
    }
}

/// Lines pasted at the prompt are one message, and none of them answers the question that follows.
#[test]
fn a_pasted_y_cannot_approve() {
    let place = Place::new(&[&call("bash", &json!({"command": "touch ran"})), "Done."]);
    let screen = place.talk(&[], &[]);
    screen.paste("do it\ny\nrest");
    screen.wait_for("rest");
    // The `y` is typed before the question is displayed.
    screen.press(&format!("{ENTER}y{ENTER}"));
    screen.wait_for("Keep them? [");
    std::thread::sleep(Duration::from_millis(500));
    assert!(!place.root.join("ran").exists());
    say(&screen, "Keep them? [", "n");
    screen.wait_for("Done.");
    assert!(!place.root.join("ran").exists());
    assert_eq!(place.said()[0], "do it\ny\nrest");
}

/// A paste during a question never counts as yes, whether it has paste marks, arrives in pieces, or comes from a
/// terminal without paste marks.
#[test]
fn a_y_that_is_pasted_at_a_question_cannot_approve() {
    for pieces in [
        &["\u{1b}[200~y\r\u{1b}[201~"][..],
        &["\u{1b}[200~y", "\r", "\u{1b}[201~"],
        &["\u{1b}[20", "0~y\ry\r\u{1b}[201", "~"],
        &["y\rmore\r"],
        &["\ry\r"],
    ] {
        let place = Place::new(&[&call("bash", &json!({"command": "touch ran"})), "Done."]);
        let screen = place.talk(&["--ask", "always"], &[]);
        screen.press(&format!("go{ENTER}"));
        screen.wait("question", |contents| contents.trim_end().ends_with("a reason]"));
        for piece in pieces {
            screen.press(piece);
            std::thread::sleep(Duration::from_millis(200));
        }
        let contents = screen.wait("row of the question", |contents| contents.trim_end().ends_with(['y', 'e']));
        assert!(!place.root.join("ran").exists() && !contents.contains("200~"), "{pieces:?}: {contents}");
        // The user can delete the paste and type an answer.
        screen.press("\u{15}");
        screen.wait("empty row", |contents| contents.trim_end().ends_with("a reason]"));
        screen.press(&format!("n use 語 e\u{301}{ENTER}"));
        answered(&screen, "Done.");
        assert!(place.written_down().contains("The user said no: use 語 e\u{301}."), "{}", place.written_down());
        // The screen shows the user's answer, but not the instructions that the model gets with it.
        let contents = screen.contents();
        assert!(contents.contains("✗ not run: The user said no") && !contents.contains("Do not repeat"), "{contents}");
    }
}

/// A paste that starts while the model works and ends during the question is not part of the answer. All of it is kept
/// for the next message, even if it is larger than the terminal's buffer.
#[test]
fn a_long_paste_before_a_question_is_not_its_answer() {
    let place = Place::new(&[]);
    let asks = call("bash", &json!({"command": "touch ran"}));
    let url = slow_model(vec![
        vec![(0, "I run it. ".into()), (1500, format!("\n\n{asks}"))],
        vec![(1000, "Done.".into())],
        vec![(0, "Read.".into())],
    ]);
    let args = ["--backend", "http", "--base-url", &url, "--model", "m", "--ask", "always"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    screen.wait_for("I run it.");
    let many = "y\n".repeat(10_000);
    screen.paste(&many);
    say(&screen, "Run it? [", "n");
    // Wait until the answer has been read: input that arrives together with its line end would count as an unmarked
    // paste.
    screen
        .wait("answer", |contents| !contents.trim_end().lines().last().is_some_and(|row| row.starts_with("Run it? [")));
    screen.paste(&many);
    screen.wait_for("Done.");
    screen.wait_for_last("> [Pasted 20,000 lines]");
    assert!(!place.root.join("ran").exists());
    screen.press(ENTER);
    answered(&screen, "Read.");
    assert_eq!(place.said().len(), 2);
}

/// A paste while the model works becomes a message, like a paste at the prompt.
#[test]
fn a_paste_during_a_turn_is_no_command() {
    let place = Place::new(&[]);
    let url = slow_model(vec![vec![(0, "I think. ".into()), (2000, "\n\nDone.".into())], vec![(0, "Read.".into())]]);
    let args = ["--backend", "http", "--base-url", &url, "--model", "m"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    screen.wait_for("I think.");
    screen.paste("!touch ran\nmore\n");
    screen.wait_for("Done.");
    screen.wait_for_last("> [Pasted 2 lines]");
    screen.press(ENTER);
    answered(&screen, "Read.");
    assert!(!place.root.join("ran").exists());
    assert_eq!(place.said(), ["go", "!touch ran\nmore"]);
}

/// While the program is stopped, the shell switches bracketed paste off. After `fg` the program switches it on again
/// and prints the question again.
#[test]
fn a_question_continues_after_ctrl_z_and_fg() {
    let place = Place::new(&[]);
    place.file_at_home("reply", call("bash", &json!({"command": "touch ran"})));
    let env = [("CODER", CODER), ("PS1", "shell: "), ("REPLY_FILE", &*place.home.join("reply").display().to_string())];
    let screen = Screen::start("bash", &["--norc", "--noprofile", "-i"], &env, &place.root, &place.home, (24, 80));
    screen.wait_for_last("shell:");
    screen.press(&format!("\"$CODER\" exec --no-session --ask always < \"$REPLY_FILE\"{ENTER}"));
    screen.wait("question", |contents| contents.trim_end().ends_with("a reason]"));
    screen.press("n");
    screen.wait("answer", |contents| contents.trim_end().ends_with("a reason] n"));
    screen.press("\u{1a}");
    screen.wait("shell", |contents| contents.contains("Stopped") && contents.trim_end().ends_with("shell:"));
    screen.press(&format!("fg{ENTER}"));
    screen.wait("question again", |contents| contents.trim_end().ends_with("a reason] n"));
    let written = screen.written();
    assert!(written.rfind("\u{1b}[?2004h") > written.rfind("\u{1b}[?2004l"), "pastes are marked: {written:?}");
    screen.press("\u{1b}[200~ y\r\u{1b}[201~");
    screen.wait("paste", |contents| contents.trim_end().ends_with("a reason] n y"));
    screen.press(ENTER);
    screen.wait("end", |contents| contents.contains("The user said no: y") && contents.trim_end().ends_with("shell:"));
    assert!(!place.root.join("ran").exists());
}

#[test]
fn output_after_a_question_starts_a_new_row() {
    let place = Place::new(&[&call("bash", &json!({"command": "touch ran"}))]);
    let replies = place.home.join("replies").display().to_string();
    let args = ["-p", "go", "--backend", "replay", "--replies", &replies, "--ask", "always"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait("question", |contents| contents.trim_end().ends_with("a reason]"));
    screen.press("nx");
    screen.wait("answer", |contents| contents.trim_end().ends_with("a reason] nx"));
    screen.press("\u{3}");
    let contents = screen.wait_for("stopped");
    assert!(contents.lines().any(|row| row.ends_with("a reason] nx")), "{contents}");
    assert!(!place.root.join("ran").exists());
}

/// The terminal settings are restored after every kind of end of a question.
#[test]
fn a_question_leaves_the_terminal_as_it_was() {
    let asks = call("bash", &json!({"command": "touch ran"}));
    let place = Place::new(&[&asks, &asks, &asks]);
    place.file_at_home("reply", &asks);
    let line = format!(
        "stty -a > before; \"$CODER\" exec --no-session --ask always < {0}/reply > out 2> err; stty -a > after; cmp before after && echo same",
        place.home.display()
    );
    for (keys, wait) in [("n\r", "same"), ("\u{3}", "same"), ("\u{4}", "same")] {
        let screen = Screen::start("bash", &["-c", &line], &[("CODER", CODER)], &place.root, &place.home, (24, 80));
        screen.wait("question", |contents| contents.trim_end().ends_with("a reason]"));
        screen.press(keys);
        screen.wait_for(wait);
        let written = screen.written();
        let (on, off) = (written.rfind("\u{1b}[?2004h"), written.rfind("\u{1b}[?2004l"));
        assert!(on.is_some() && on < off, "{keys:?}: {written:?}");
    }
}

/// Long reasoning is streamed and then folded to one line. The full text can be displayed, and is in the transcript.
#[test]
fn long_reasoning_is_folded() {
    let thoughts: Vec<String> = (1..=40).map(|line| format!("Thought {line} of many.\n")).collect();
    let mut reply = vec![(0, "<think>\n".to_owned())];
    reply.extend(thoughts.iter().map(|line| (50, line.clone())));
    reply.push((0, "</think>\nIt is 4.\n".to_owned()));
    let short = vec![(0, "<think>\nShort.\n</think>\nIt is 5.\n".to_owned())];
    let place = Place::new(&[]);
    let url = slow_model(vec![reply.clone(), short, reply]);
    let args = ["--backend", "http", "--base-url", &url, "--model", "m"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (40, 60));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    let contents = screen.wait_for("Thought 20 of many.");
    assert!(contents.contains(" thinking, ") && contents.contains("\n  │ Thought 20"), "{contents}");
    assert!(!contents.contains("Thought 2 of"), "{contents}");
    answered(&screen, "It is 4.");
    let contents = screen.contents();
    assert!(
        contents.contains("\ncoder\nthought for ")
            && contents.contains(", 40 lines; /thoughts shows them\n\nIt is 4.\n"),
        "{contents}"
    );
    assert!(!contents.contains("Thought 40"), "{contents}");
    screen.press(&format!("/thoughts{ENTER}"));
    answered(&screen, "Thought 40 of many.");
    assert!(place.written_down().contains("Thought 1 of many."));
    screen.press(&format!("again{ENTER}"));
    answered(&screen, "It is 5.");
    assert!(screen.contents().contains("coder\nShort.\n\nIt is 5.\n"), "{}", screen.contents());

    place.file_at_home("config/toolfence/config.toml", "[terminal]\nreasoning = \"shown\"\n");
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (60, 60));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "It is 4.");
    let contents = screen.contents();
    assert!(contents.contains("Thought 1 of many.") && !contents.contains("thought for"), "{contents}");
}

/// The completion list is readable on the background of the theme.
#[test]
fn lists_have_the_colours_of_the_theme() {
    for (theme, dim) in [("light", "\u{1b}[38;5;241m"), ("auto", "\u{1b}[2m")] {
        let place = Place::new(&["One."]);
        place.file_at_home("config/toolfence/config.toml", format!("[terminal]\ntheme = \"{theme}\"\n"));
        let screen = place.talk(&[], &[]);
        screen.press("/re\t");
        screen.wait_for("/resume");
        let written = screen.written();
        assert!(written.contains(dim), "{theme}: {written:?}");
        for (colour, what) in [("\u{1b}[33m", "yellow"), ("\u{1b}[90m", "dark grey"), ("\u{1b}[37m", "light grey")] {
            assert!(!written.contains(colour), "{theme}, {what}: {written:?}");
        }
    }
}

#[test]
fn at_names_in_an_argument_attach_files() {
    let place = Place::new(&["Seen."]);
    place.file("src/a.rs", "fn a() {}\n");
    let replies = place.home.join("replies");
    let program = Program::new(CODER, &place.home);
    let args = ["-p", "look at @src/a.rs, me@example.org and @nothing", "--backend", "replay", "--replies"];
    let ran = program.args(&[&args[..], &[replies.to_str().unwrap()]].concat()).run(&place.root, "@src/a.rs\n");
    assert_eq!((ran.status, ran.out.as_str()), (0, "Seen.\n"), "{ran:?}");
    assert!(ran.err.contains("attached: src/a.rs\n"), "{ran:?}");
    let said = place.said();
    assert!(said[0].contains("The file src/a.rs:\n\n```\nfn a() {}\n```\n\n@src/a.rs"), "{said:?}");
    assert_eq!(said[0].matches("fn a()").count(), 1, "what is piped in names no file: {said:?}");
}

/// Facts learned from one model's replies do not apply to another model.
#[test]
fn learned_facts_apply_to_one_model() {
    let place = Place::new(&[]);
    let calls = "<tool_call>\n{\"name\": \"list_files\", \"arguments\": {}}\n</tool_call>\n".repeat(3);
    let url = slow_model(vec![vec![(0, calls)], vec![(0, "One.".into())], vec![(0, "Two.".into())]]);
    let args = ["--backend", "http", "--base-url", &url, "--model", "one"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "One.");
    screen.press(&format!("/model two{ENTER}"));
    answered(&screen, "the model is now two");
    screen.press(&format!("go on{ENTER}"));
    answered(&screen, "Two.");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
    let program = Program::new(CODER, &place.home).args(&["config", "profile", "--all", "--json"]);
    let listed: Value = serde_json::from_str(&program.run(&place.root, "").out).unwrap();
    let of = |model: &str| {
        let all = listed["profiles"].as_array().unwrap();
        all.iter().find(|profile| profile["model"] == model).map_or(String::new(), Value::to_string)
    };
    assert!(of("one").contains("hermes") && !of("two").contains("hermes"), "{listed}");
}

#[test]
fn mcp_tools_run_after_trust_and_approval() {
    let place = Place::new(&[&call("files.echo", &json!({"text": "hi \u{1b}[31mred"})), "Done."]);
    place.file("server.sh", crate::mcp::SERVER);
    place.file_at_home(
        "config/toolfence/config.toml",
        format!("[mcp.files]\ncommand = [\"bash\", {:?}, \"well\"]\n", place.root.join("server.sh")),
    );
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
    answered(&screen, "> /allowed\nevery call of files.echo");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
    // Trust also applies to the next conversation.
    let screen = place.talk(&[], &[]);
    assert!(screen.contents().contains("files (1 tool)"), "{}", screen.contents());
}

#[test]
fn doctor_reports_each_attempt_on_the_sandbox() {
    let place = Place::new(&[]);
    let screen = Screen::start(CODER, &["doctor"], &[], &place.root, &place.home, (60, 100));
    // This is the last row of the output. For each attempt, a row above it states whether the sandbox blocked it.
    screen.wait_for("checks of changed files");
    let written = screen.written();
    let verdicts = |word: &str| written.lines().filter(|row| row.contains(&format!("  {word} "))).count();
    assert!(verdicts("holds") + verdicts("open") > 10, "{written}");
    assert!([0, 1].contains(&screen.end()), "{written}");
}
