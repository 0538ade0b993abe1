//! Tests line editing and slash commands in conversations on a terminal.

use crate::terminal::slow_model;
use serde_json::{Value, json};
use std::ops::Deref;
use std::path::Path;
use toolfence_kit::{Project, Screen};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

const UP: &str = "\u{1b}[A";
const LEFT: &str = "\u{1b}[D";
const HOME: &str = "\u{1b}[H";
pub(crate) const ENTER: &str = "\r";
const ALT_ENTER: &str = "\u{1b}\r";
const CTRL_C: &str = "\u{3}";
pub(crate) const CTRL_D: &str = "\u{4}";
const CTRL_R: &str = "\u{12}";

/// A project, and a home folder outside of it.
pub(crate) struct Place(Project);

impl Deref for Place {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.0
    }
}

impl Place {
    /// Creates a project with these replies of the model.
    pub(crate) fn new(replies: &[&str]) -> Place {
        let project = Project::new();
        project.replies(replies);
        Place(project)
    }

    /// Starts a conversation on a terminal and waits for its first prompt.
    pub(crate) fn talk(&self, args: &[&str], env: &[(&str, &str)]) -> Screen {
        let replies = self.home.join("replies");
        let mut all = vec!["--backend", "replay", "--replies", replies.to_str().unwrap()];
        all.extend(args);
        let screen = Screen::start(CODER, &all, env, &self.root, &self.home, (24, 80));
        screen.wait_for_last(">");
        screen
    }

    /// Returns the text of all transcripts.
    pub(crate) fn written_down(&self) -> String {
        let mut files = Vec::new();
        files_below(&self.home.join("state"), &mut files);
        let sessions = files.iter().filter(|file| file.to_str().is_some_and(|file| file.contains("/sessions/")));
        sessions.map(|file| std::fs::read_to_string(file).unwrap()).collect()
    }

    /// Returns the user messages of all transcripts.
    pub(crate) fn said(&self) -> Vec<String> {
        let mut said = Vec::new();
        for line in self.written_down().lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            if record["role"] == "user" {
                said.push(record["content"].as_str().unwrap().to_owned());
            }
        }
        said
    }
}

/// Waits until the answer is displayed and the prompt is ready for the next line.
#[track_caller]
pub(crate) fn answered(screen: &Screen, answer: &str) {
    screen.wait(&format!("answer {answer:?}"), |contents| {
        // The right end of the row may show how full the context window is.
        let last = contents.trim_end().lines().last().and_then(|line| line.split("  ").next());
        contents.contains(answer) && last.map(str::trim_end) == Some(">")
    });
}

/// Discards the line with Ctrl-C.
#[track_caller]
fn discard_line(screen: &Screen) {
    screen.press(CTRL_C);
    screen.wait_for_last(">");
}

pub(crate) fn files_below(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => files_below(&path, found),
            path => found.push(path),
        }
    }
    found.sort();
}

#[test]
fn lines_are_edited_and_the_history_has_no_secrets() {
    let place = Place::new(&["First.", "Second.", "Third."]);
    let screen = place.talk(&[], &[]);
    screen.press(&format!("wrld{LEFT}{LEFT}{LEFT}o{HOME}hello "));
    screen.wait_for_last("> hello world");
    screen.press(ENTER);
    answered(&screen, "First.");
    screen.press(&format!("key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ{ENTER}"));
    answered(&screen, "Second.");
    screen.press(&format!("{UP}{UP}"));
    screen.wait_for_last("> hello world");
    discard_line(&screen);
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);

    // A new conversation has the lines of this one in its history, with secrets redacted.
    let screen = place.talk(&[], &[]);
    screen.press(&format!("{CTRL_R}world"));
    screen.wait_for("search: world");
    screen.press(ENTER);
    screen.wait_for("hello world");
    screen.press(ENTER);
    answered(&screen, "First.");
    screen.press(&format!("/quit{ENTER}"));
    assert_eq!(screen.end(), 0);
    assert_eq!(place.said().iter().filter(|said| *said == "hello world").count(), 2);
    let kept = std::fs::read_to_string(place.home.join("state/toolfence/history.jsonl")).unwrap();
    assert!(kept.contains("\"hello world\"") && !kept.contains("abcdefghij"), "{kept}");
}

#[test]
fn without_transcripts_no_history_is_kept() {
    let place = Place::new(&["First."]);
    let screen = place.talk(&["--no-transcript"], &[]);
    screen.press(&format!("hello{ENTER}"));
    answered(&screen, "First.");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
    assert!(!place.home.join("state/toolfence/history.jsonl").exists());
}

#[test]
fn a_paste_is_one_message() {
    let place = Place::new(&["One.", "Two.", "Three.", "Four."]);
    let screen = place.talk(&[], &[]);
    let few = "fix this:\ndef f():\n\n    return 1\nthanks";
    screen.paste(few);
    screen.wait_for("thanks");
    screen.press(ENTER);
    answered(&screen, "One.");
    let many: String = (0..2000).map(|line| format!("line {line}\n")).collect();
    screen.press("look: ");
    screen.paste(&many);
    screen.wait_for_last("> look: [Pasted 2,000 lines]");
    screen.press(&format!(" please{ENTER}"));
    answered(&screen, "Two.");
    let large = "0123456789abcde\n".repeat(65_536);
    screen.paste(&large);
    screen.wait_for_last("> [Pasted 65,536 lines]");
    screen.press(ENTER);
    answered(&screen, "Three.");
    let long = format!("START{}END", "x".repeat(5000));
    screen.paste(&long);
    screen.wait_for_last("> [Pasted 1 line]");
    screen.press(ENTER);
    answered(&screen, "Four.");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
    let said = place.said();
    assert_eq!(said.len(), 4);
    let wanted = [few.to_owned(), format!("look: {many} please"), large.trim().to_owned(), long];
    for (said, wanted) in said.iter().zip(wanted) {
        assert!(*said == wanted, "{} bytes, not {}", said.len(), wanted.len());
    }
}

/// A paste that is displayed as a label never runs as a command, even if it begins with `/` or `!`. A path that begins
/// with `/` is not a command either.
#[test]
fn a_hidden_paste_is_no_command() {
    let place = Place::new(&["One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven.", "Eight."]);
    let screen = place.talk(&[], &[]);
    let many = format!("!touch ran\n{}", "a line\n".repeat(9));
    for (pasted, label, answer) in [
        (many.as_str(), "> [Pasted 10 lines]", "One."),
        ("!touch ran\nx", "> [Pasted 2 lines]", "Two."),
        ("/quit\nx\ny", "> [Pasted 3 lines]", "Three."),
    ] {
        screen.paste(pasted);
        screen.wait_for_last(label);
        screen.press(ENTER);
        answered(&screen, answer);
    }
    screen.press(&format!("/usr/lib/x.py:3 fails{ENTER}"));
    answered(&screen, "Four.");
    assert!(!place.root.join("ran").exists());
    assert_eq!(place.said(), [many.trim(), "!touch ran\nx", "/quit\nx\ny", "/usr/lib/x.py:3 fails"]);
    // Keys typed before or after the paste change nothing, even if they arrive together with the paste.
    let (begin, end) = ("\u{1b}[200~", "\u{1b}[201~");
    for (keys, answer) in [
        (format!("  {begin}!touch ran\na{end}"), "Five."),
        (format!("gone\u{15}{begin}!touch ran\nb{end}"), "Six."),
        (format!("text{HOME}{begin}!touch ran\nc\n{end}"), "Seven."),
        (format!("{begin}\u{7}!touch ran\nd{end}"), "Eight."),
    ] {
        screen.press(&keys);
        screen.wait("label", |contents| {
            contents.trim_end().lines().last().is_some_and(|row| row.contains("[Pasted 2 lines"))
        });
        screen.press(ENTER);
        answered(&screen, answer);
    }
    assert!(!place.root.join("ran").exists());
    // A paste of one line is displayed in full, so it may run as a command.
    screen.paste("!touch ran");
    screen.wait_for_last("> !touch ran");
    screen.press(ENTER);
    answered(&screen, "the model gets this with your next message");
    assert!(place.root.join("ran").exists());
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
    // The next conversation's history has the typed lines, but not the pastes that would run as commands there.
    let screen = place.talk(&[], &[]);
    screen.press(&format!("{UP}{UP}{UP}"));
    screen.wait_for_last("> /usr/lib/x.py:3 fails");
}

#[test]
fn a_paste_cannot_send_escape_sequences() {
    let place = Place::new(&["One."]);
    let screen = place.talk(&[], &[]);
    screen.paste("a\u{1b}[31mred\u{7}\u{9b}2J \u{202e}b");
    screen.wait_for("[Pasted 1 line]");
    screen.press(ENTER);
    answered(&screen, "One.");
    screen.paste("x\u{1b}]0;title\u{7}y");
    screen.wait_for_last("> x]0;titley");
    assert!(!screen.written().contains("\u{1b}[31mred") && !screen.written().contains("]0;title\u{7}"));
    assert_eq!(place.said(), ["a[31mred2J \u{202e}b"]);
}

#[test]
fn alt_enter_backslashes_and_fences_continue_a_message() {
    let place = Place::new(&["One.", "Two.", "Three."]);
    let screen = place.talk(&[], &[]);
    screen.press(&format!("first{ALT_ENTER}second"));
    screen.wait_for("second");
    screen.press(ENTER);
    answered(&screen, "One.");
    screen.press(&format!("third \\{ENTER}fourth{ENTER}"));
    answered(&screen, "Two.");
    screen.press(&format!("```{ENTER}code{ENTER}"));
    screen.wait_for("code");
    assert!(!screen.contents().contains("Three."));
    screen.press(&format!("```{ENTER}"));
    answered(&screen, "Three.");
    assert_eq!(place.said(), ["first\nsecond", "third \nfourth", "```\ncode\n```"]);
}

#[test]
fn tab_completes_commands_and_files() {
    let place = Place::new(&["One."]);
    for name in ["src/main.rs", "src/match.rs", "target/x", ".env"] {
        place.file(name, "");
    }
    place.file(".gitignore", "target/\n");
    let screen = place.talk(&[], &[]);
    screen.press("/comp\t");
    screen.wait_for_last("> /compact");
    discard_line(&screen);
    screen.press("/re\t");
    let contents = screen.wait_for("/resume");
    assert!(contents.contains("\n> /re"), "{contents}");
    assert!(contents.contains("/redo") && contents.contains("/retry"), "{contents}");
    discard_line(&screen);
    screen.press("look at @sr\t");
    screen.wait_for_last("> look at @src/");
    screen.press("mai\t");
    screen.wait_for_last("> look at @src/main.rs");
    discard_line(&screen);
    screen.press("@tar\t @.en\t");
    screen.wait_for_last("> @tar @.en");
}

#[test]
fn ctrl_c_discards_the_line_then_explains_how_to_quit_then_quits() {
    let place = Place::new(&["One."]);
    let screen = place.talk(&[], &[]);
    screen.press("half a line");
    screen.wait_for_last("> half a line");
    screen.press(CTRL_C);
    let contents = screen.wait_for_last(">");
    assert!(!contents.contains("Ctrl-C again"), "{contents}");
    screen.press(CTRL_C);
    screen.wait_for("Ctrl-C again");
    screen.wait_for_last(">");
    screen.press(CTRL_C);
    assert_eq!(screen.end(), 130);
}

/// Text typed while the model works is not displayed inside of the reply. It becomes the start of the next message.
#[test]
fn text_typed_during_a_turn_waits_for_the_next_message() {
    let place = Place::new(&[]);
    let model = slow_model(vec![vec![(0, "Begins. ".into()), (1500, "Ends.".into())], vec![(0, "Again.".into())]]);
    let args = ["--backend", "http", "--base-url", &model, "--model", "m"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    screen.wait_for("Begins.");
    screen.press(&format!("and thn{}en{ENTER}more", "\u{7f}"));
    let contents = screen.wait_for("more");
    assert!(contents.contains("Begins. Ends.\n") && contents.contains("> and then\n  more"), "{contents}");
    assert_eq!(place.said(), ["go"]);
    screen.press(ENTER);
    screen.wait_for("Again.");
    assert_eq!(place.said(), ["go", "and then\nmore"]);
}

#[test]
fn text_typed_before_a_question_does_not_answer_it_and_is_kept() {
    let place = Place::new(&[]);
    let call = "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"touch ran\"}}\n```\n";
    let model =
        slow_model(vec![vec![(0, "I run it. ".into()), (1500, format!("\n\n{call}"))], vec![(0, "Done.".into())]]);
    let args = ["--backend", "http", "--base-url", &model, "--model", "m"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    screen.wait_for("I run it.");
    screen.press(&format!("y{ENTER}"));
    screen.wait_for("Keep them? [");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!place.root.join("ran").exists());
    screen.press(&format!("n not now{ENTER}"));
    screen.wait_for("Done.");
    screen.wait_for_last("> y");
    assert!(!place.root.join("ran").exists());
}

#[test]
fn a_dumb_terminal_gets_no_escape_sequences() {
    let place = Place::new(&["One."]);
    let screen = place.talk(&[], &[("TERM", "dumb")]);
    screen.press("hello\r");
    answered(&screen, "One.");
    assert!(!screen.written().contains('\u{1b}'));
    screen.press("\u{4}");
    assert_eq!(screen.end(), 0);
}

#[test]
fn a_small_terminal_and_wide_characters_are_edited() {
    let place = Place::new(&["One."]);
    let screen = place.talk(&[], &[]);
    screen.resize((10, 40));
    let text = format!("{}e\u{301}", "語".repeat(30));
    screen.press(&text);
    screen.wait("text in two rows", |contents| contents.matches('語').count() == 30);
    screen.resize((12, 60));
    screen.press(&format!("{HOME}x{ENTER}"));
    answered(&screen, "One.");
    assert_eq!(place.said(), [format!("x{text}")]);
}

#[test]
fn every_command_is_listed_and_a_wrong_one_is_reported() {
    let place = Place::new(&["One."]);
    let screen = place.talk(&[], &[]);
    screen.press(&format!("/undu{ENTER}"));
    answered(&screen, "There is no command /undu; /help lists them. Did you mean /undo?");
    screen.press(&format!("/tools now{ENTER}"));
    answered(&screen, "/tools takes no arguments.");
    screen.press(&format!("/policy rm -rf /{ENTER}"));
    answered(&screen, "it does not run");
    screen.press(&format!("/last{ENTER}"));
    screen.wait_for("no call has a result yet");
}

#[test]
fn the_last_output_is_shown_whole_and_the_answer_is_copied() {
    let call = "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"seq 1 60\"}}\n```";
    let place = Place::new(&[call, "It counts to **60**."]);
    let screen = place.talk(&[], &[]);
    screen.press(&format!("count{ENTER}"));
    answered(&screen, "It counts to");
    screen.press(&format!("/last{ENTER}"));
    screen.wait("all of it", |contents| contents.contains("\n58\n59\n60\n") && contents.trim_end().ends_with("\n>"));
    screen.press(&format!("/copy{ENTER}"));
    screen.wait_for("to the terminal's clipboard");
    assert!(screen.written().contains("\u{1b}]52;c;SXQgY291bnRzIHRvICoqNjAqKi4=\u{7}"));
}

/// The user can read every line of an output that is too long for the model. Ctrl-C ends the display.
#[test]
fn a_truncated_output_can_be_displayed_completely() {
    let call =
        |most: u64| format!("```tool\n{}\n```", json!({"name": "bash", "args": {"command": format!("seq 1 {most}")}}));
    let place = Place::new(&[&call(50_000), "Counted.", &call(9_000_000), "Counted more."]);
    let screen = place.talk(&["--yes"], &[]);
    screen.press(&format!("count{ENTER}"));
    answered(&screen, "Counted.");
    let contents = screen.contents();
    assert!(
        contents.contains("✓ 50000 lines, cut, ") && contents.contains("... 49992 lines more; /last"),
        "{contents}"
    );
    assert!(contents.contains("    50000\n\nCounted."), "the end is the end of the output: {contents}");
    screen.press(&format!("/last{ENTER}"));
    screen.wait("all of it", |contents| contents.contains("\n49999\n50000\n") && contents.trim_end().ends_with("\n>"));
    let written = screen.written();
    assert!(
        ["\n20000\r\n", "\n25000\r\n", "\n30000\r\n"].iter().all(|line| written.contains(line)),
        "no line is left out"
    );
    screen.press(&format!("count on{ENTER}"));
    answered(&screen, "Counted more.");
    screen.press(&format!("/last{ENTER}"));
    let is_number = |row: &&str| row.parse::<u64>().is_ok();
    screen.wait("rows of numbers", |contents| contents.lines().filter(is_number).count() > 15);
    screen.press(CTRL_C);
    answered(&screen, "stopped");
    assert!(!screen.written().contains("\n8000000\r\n"), "it does not go on to the end");
}

/// Signatures wrap between words, and continuation rows are indented.
#[test]
fn the_tools_are_listed_on_a_narrow_terminal() {
    let place = Place::new(&["One."]);
    let replies = place.home.join("replies");
    let args = ["--backend", "replay", "--replies", replies.to_str().unwrap()];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (60, 40));
    screen.wait_for_last(">");
    screen.press(&format!("/tools{ENTER}"));
    answered(&screen, "write_file(path, content)");
    let contents = screen.contents();
    assert!(contents.contains("read_file(path, start_line?,\n    end_line?, lines?,\n"), "{contents}");
    assert!(contents.lines().all(|row| row.chars().count() < 40), "{contents}");
}

#[test]
fn a_conversation_is_exported_from_within() {
    let place = Place::new(&["An answer."]);
    let screen = place.talk(&[], &[]);
    screen.press(&format!("/export talk.md{ENTER}"));
    answered(&screen, "this conversation has no transcript yet");
    screen.press(&format!("ask{ENTER}"));
    answered(&screen, "An answer.");
    screen.press(&format!("/export talk.md{ENTER}"));
    answered(&screen, "the conversation is in talk.md");
    let text = std::fs::read_to_string(place.root.join("talk.md")).unwrap();
    assert!(text.contains("ask") && text.contains("An answer."), "{text}");
    screen.press(&format!("/export talk.md{ENTER}"));
    answered(&screen, "cannot write talk.md");
    screen.press(&format!("/export talk.json{ENTER}"));
    answered(&screen, "the conversation is in talk.json");
    let lines = std::fs::read_to_string(place.root.join("talk.json")).unwrap();
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let contents: Vec<&str> = records.iter().filter_map(|record| record["content"].as_str()).collect();
    assert!(contents.contains(&"ask") && contents.contains(&"An answer."), "{lines}");
    screen.press(&format!("/export talk{ENTER}"));
    screen.wait_for("name a new file");
}

#[test]
fn the_editor_changes_the_message() {
    let place = Place::new(&["One.", "Two."]);
    place.file_at_home(
        "editor",
        "#!/bin/sh\nstat -c %a \"$1\" > \"$HOME/mode\"\nsed -i 's/half/whole/' \"$1\"\necho more >> \"$1\"\n",
    );
    let editor = format!("sh {}", place.home.join("editor").display());
    let screen = place.talk(&[], &[("EDITOR", &editor)]);
    screen.press(&format!("/editor half a thought{ENTER}"));
    screen.wait_for_last("> whole a thoughtmore");
    screen.press(ENTER);
    answered(&screen, "One.");
    assert_eq!(place.said(), ["whole a thoughtmore"]);
    assert_eq!(std::fs::read_to_string(place.home.join("mode")).unwrap(), "600\n");
    // Ctrl-O opens the editor with the current line and does not send the result.
    screen.press("half\u{f}");
    screen.wait_for_last("> wholemore");
    screen.press(ENTER);
    answered(&screen, "Two.");
    assert_eq!(place.said()[1], "wholemore");
}

#[test]
fn a_failed_editor_does_not_lose_the_line() {
    let place = Place::new(&["One."]);
    let screen = place.talk(&[], &[("EDITOR", "false")]);
    screen.press("keep\u{1b}\rthis\u{f}");
    let failed = "> keep\n  this\nThe editor ended with exit status: 1, so nothing was changed.\n> keep\n  this";
    screen.wait("line behind the failure", |contents| contents.trim_end().ends_with(failed));
    screen.press(ENTER);
    answered(&screen, "One.");
    assert_eq!(place.said(), ["keep\nthis"]);
    // An open completion list does not consume the key.
    screen.press("/re\t");
    screen.wait_for("/resume");
    screen.press("\u{f}");
    screen.wait("line", |contents| {
        contents.contains("\n> /re\nThe editor ended") && contents.trim_end().ends_with("\n> /re")
    });
}

/// Some terminals draw the parts of a joined emoji next to each other, so a line wraps earlier there than on terminals
/// that draw one picture. On both kinds, no row may appear twice.
#[test]
fn joined_emoji_leave_no_duplicate_rows() {
    let place = Place::new(&[&"A line.\n\n".repeat(20), "Seen."]);
    let screen = place.talk(&[], &[]);
    screen.resize((16, 40));
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "A line.");
    let sign = "x👨\u{200d}👩\u{200d}👧❤\u{fe0f}👍🏽🇧🇷";
    for count in 1..=6 {
        screen.press(sign);
        // Half-drawn screens disappear while this waits. A duplicate row would stay and fail the test.
        screen.wait("another picture, and no rows left behind", |contents| {
            let line = contents.rsplit("\n> ").next().expect("a split has a last part");
            [line, contents].iter().all(|text| text.matches('x').count() == count)
        });
    }
    screen.press(&format!("{}y", "\u{7f}".repeat(5)));
    screen.wait("the line without its last sign", |contents| {
        contents.contains('y') && contents.matches('x').count() == 5
    });
    screen.press(ENTER);
    answered(&screen, "Seen.");
    assert_eq!(place.said()[1], format!("{}y", sign.repeat(5)));
}

#[test]
fn custom_commands_are_sent_as_messages() {
    let place = Place::new(&["One.", "Two."]);
    place.file_at_home("config/toolfence/commands/review.md", "# Review a file\nReview $ARGUMENTS closely.\n");
    place.file_at_home("config/toolfence/commands/undo.md", "never\n");
    place.file(".toolfence/commands/theirs.md", "# Theirs\nDo theirs.\n");
    place.file(".toolfence.toml", "ask = \"always\"\n");
    let screen = place.talk(&[], &[]);
    assert!(screen.contents().replace('\n', "").contains("undo.md is skipped"), "{}", screen.contents());
    screen.press(&format!("/review src/main.rs{ENTER}"));
    answered(&screen, "One.");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
    assert_eq!(place.said(), ["Review src/main.rs closely."]);
}

/// A command of the project is sent only if the user has trusted its exact text.
#[test]
fn a_project_command_is_trusted_for_its_exact_text() {
    let place = Place::new(&["One.", "Two.", "Three."]);
    place.file(".toolfence/commands/theirs.md", "# Harmless\nDo theirs.\n");
    let screen = place.talk(&[], &[]);
    let said = |answer: &str| {
        screen.press(&format!("/theirs{ENTER}"));
        screen.wait("question", |contents| contents.trim_end().ends_with("Trust it? [y/N]"));
        screen.press(&format!("{answer}{ENTER}"));
    };
    screen.press("/the\t");
    screen.wait_for_last("> /theirs");
    discard_line(&screen);
    said("n");
    answered(&screen, "It is not trusted, and nothing was sent.");
    assert!(screen.contents().contains("  | Do theirs.\n"), "{}", screen.contents());
    let in_one_row = screen.contents().replace("\n      ", " ");
    assert!(in_one_row.contains("and you have not trusted its present text. It sends this as"), "{in_one_row}");
    assert!(place.said().is_empty());
    said("y");
    answered(&screen, "One.");
    screen.press(&format!("/theirs{ENTER}"));
    answered(&screen, "Two.");
    assert_eq!(place.said(), ["Do theirs."; 2]);
    // A change of the text needs new trust, and a command is rejected if its folder is a link.
    place.file(".toolfence/commands/theirs.md", "Do worse.\n");
    said("");
    screen.wait("second no", |contents| {
        contents.contains("  | Do worse.\n") && contents.trim_end().ends_with("nothing was sent.\n>")
    });
    let folder = place.root.join(".toolfence/commands");
    std::fs::rename(&folder, place.home.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.home.join("elsewhere"), &folder).unwrap();
    screen.press(&format!("/theirs{ENTER}"));
    screen.wait("refusal", |contents| contents.replace('\n', " ").contains("it is a link"));
    screen.wait_for_last(">");
    assert_eq!(place.said(), ["Do theirs."; 2]);
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);

    // `config trust` trusts all commands at once.
    std::fs::remove_file(&folder).unwrap();
    place.file(".toolfence/commands/theirs.md", "Do worse.\n");
    let trust = Screen::start(CODER, &["config", "trust"], &[], &place.root, &place.home, (24, 80));
    let contents = trust.wait_for("Trust it? [");
    assert!(contents.contains("  | Do worse.\n"), "{contents}");
    trust.press("y\r");
    assert_eq!(trust.end(), 0);
    let screen = place.talk(&[], &[]);
    screen.press(&format!("/theirs{ENTER}"));
    answered(&screen, "One.");
    assert!(place.said().contains(&"Do worse.".to_owned()));
}

/// In plan mode no permission allows a change, and the prompt describes the mode to the model.
#[test]
fn in_plan_mode_no_changes_are_kept() {
    let call =
        |command: &str| format!("```tool\n{{\"name\": \"bash\", \"args\": {{\"command\": \"{command}\"}}}}\n```");
    let replies = [&call("touch one"), "I would touch it.", &call("ls -a"), "Listed.", &call("touch two"), "Touched."];
    let place = Place::new(&replies);
    let screen = place.talk(&["--yes"], &[]);
    screen.press(&format!("/plan{ENTER}"));
    screen.wait_for_last("plan>");
    screen.press("/re\t");
    let contents = screen.wait_for("/resume");
    assert!(contents.contains("plan> /re\n"), "{contents}");
    screen.press(CTRL_C);
    screen.wait_for_last("plan>");
    screen.press(&format!("touch it{ENTER}"));
    screen.wait_for("I would touch it.");
    screen.wait_for_last("plan>");
    assert!(!place.root.join("one").exists());
    screen.press(&format!("look{ENTER}"));
    screen.wait_for("Listed.");
    screen.wait_for_last("plan>");
    screen.press(&format!("/policy touch one{ENTER}"));
    screen.wait("verdict", |contents| contents.contains("runs in the sandbox") && contents.trim_end().ends_with('>'));
    screen.press(&format!("/plan{ENTER}"));
    answered(&screen, "plan mode has ended");
    screen.press(&format!("now do it{ENTER}"));
    answered(&screen, "Touched.");
    assert!(place.root.join("two").exists());
    let written = place.written_down();
    assert!(
        written.contains("the user has begun plan mode") && written.contains("the user has ended plan mode"),
        "{written}"
    );
    assert!(written.contains("Not kept: one: this conversation is in plan mode"), "{written}");
}

#[test]
fn the_mode_decides_when_the_user_is_asked() {
    let call = "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"ls\"}}\n```";
    let place = Place::new(&[call, "Listed.", call, "Again."]);
    let screen = place.talk(&[], &[]);
    screen.press(&format!("/mode{ENTER}"));
    answered(&screen, "you are asked: risky");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "Listed.");
    screen.press(&format!("/mode sometimes{ENTER}"));
    answered(&screen, "\"sometimes\" is not one of risky, always, sandboxed and never");
    screen.press(&format!("/mode always{ENTER}"));
    answered(&screen, "you are asked: always");
    screen.press(&format!("go{ENTER}"));
    screen.wait_for("Run it? [");
    screen.press(&format!("y{ENTER}"));
    answered(&screen, "Again.");
}

#[test]
fn a_mode_that_could_not_be_applied_does_not_apply_with_the_next_persona() {
    let place = Place::new(&["Yes."]);
    let screen = place.talk(&[], &[]);
    place.file_at_home("config/toolfence/config.toml", "ask = 7\n");
    screen.press(&format!("/mode never{ENTER}"));
    screen.wait_for("config.toml");
    place.file_at_home("config/toolfence/config.toml", "");
    screen.press(&format!("/persona reviewer{ENTER}"));
    answered(&screen, "the model is now reviewer");
    screen.press(&format!("/mode{ENTER}"));
    answered(&screen, "you are asked: risky");
}

#[test]
fn at_names_attach_files() {
    let place = Place::new(&["Seen.", "Not seen."]);
    place.file("src/a.rs", "fn a() {}\n");
    place.file(".env", "KEY=1\n");
    let screen = place.talk(&[], &[]);
    screen.press(&format!("look at @src/a.rs and @src{ENTER}"));
    screen.wait_for("attached: src/a.rs, src");
    answered(&screen, "Seen.");
    screen.press(&format!("and @.env of me@example.org{ENTER}"));
    screen.wait_for("@.env was not attached: ");
    answered(&screen, "Not seen.");
    let said = place.said();
    assert!(said[0].starts_with("look at @src/a.rs and @src\n\nThe file src/a.rs:\n\n```\nfn a() {}\n```"), "{said:?}");
    assert_eq!(said[1], "and @.env of me@example.org");
}

#[test]
fn a_user_command_is_displayed_and_sent_to_the_model() {
    let place = Place::new(&["Seen."]);
    let screen = place.talk(&[], &[]);
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ";
    screen.press(&format!("!echo by hand; echo {key} >&2; exit 3{ENTER}"));
    answered(&screen, "exit status: 3; the model gets this");
    let contents = screen.contents();
    assert!(contents.contains("\nby hand\n"), "{contents}");
    screen.press(&format!("what is it?{ENTER}"));
    answered(&screen, "Seen.");
    let written = place.written_down();
    assert!(written.contains("the user ran this command in") && written.contains("by hand\\n"), "{written}");
    assert!(!written.contains("abcdefghijklm"), "{written}");
    screen.press(&format!("!echo begun; sleep 100{ENTER}"));
    screen.wait_for("sleep 100\nbegun");
    screen.press(CTRL_C);
    answered(&screen, "a stop by the user; the model gets this");
}

#[test]
fn an_argument_is_the_first_message() {
    let place = Place::new(&["Fixed.", "More."]);
    let screen = place.talk(&["fix the bug"], &[]);
    let contents = screen.contents();
    assert!(contents.contains("> fix the bug\n") && contents.contains("Fixed."), "{contents}");
    screen.press(&format!("more{ENTER}"));
    answered(&screen, "More.");
    assert_eq!(place.said(), ["fix the bug", "more"]);
    let replies = place.home.join("replies");
    let program = toolfence_kit::Program::new(CODER, &place.home);
    let ran = program.args(&["fix the bug", "--backend", "replay", "--replies", replies.to_str().unwrap()]);
    let ran = ran.run(&place.root, "and this\n");
    assert_eq!((ran.status, ran.out.as_str()), (0, "Fixed.\n"));
    assert_eq!(place.said().iter().filter(|said| *said == "fix the bug\n\nand this\n").count(), 1);
}

/// `-p` prints a stream of pipe lines, or one object.
#[test]
fn one_shot_json_matches_the_schema() {
    let call = "I list.\n\n```tool\n{\"name\": \"list_files\", \"args\": {\"path\": \".\"}}\n```";
    let place = Place::new(&[call, "There is **one** file."]);
    place.file("a.txt", "x");
    let replies = place.home.join("replies");
    let ran = |format: &[&str]| {
        let args =
            [&["-p", "look", "--backend", "replay", "--replies", replies.to_str().unwrap()][..], format].concat();
        place.run(CODER, &args, "")
    };
    let streamed = ran(&["--json"]);
    assert_eq!(streamed.status, 0, "{streamed:?}");
    // Compare only the start of each line, because the times after it differ between runs.
    let events_of = |out: &str| out.lines().map(|line| line[..line.len().min(24)].to_owned()).collect::<Vec<_>>();
    assert_eq!(events_of(&streamed.out), events_of(&ran(&["--output-format", "stream-json"]).out));
    let lines: Vec<Value> = streamed.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("pipe.json", serde_json::from_str(toolfence_server::pipe::SCHEMA).unwrap()).unwrap();
    let out = compiler.compile("pipe.json#/$defs/out", &mut schemas).unwrap();
    for line in &lines {
        assert!(schemas.validate(line, out).is_ok(), "{line} does not fit the schema");
    }
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    for wanted in ["text", "call", "running", "result", "stop"] {
        assert!(events.contains(&wanted), "{events:?}");
    }
    assert_eq!((events.last(), &lines.last().unwrap()["reason"]), (Some(&"stop"), &Value::from("answered")));

    let whole = ran(&["--output-format", "json"]);
    assert_eq!(whole.out.lines().count(), 1, "{}", whole.out);
    let answer: Value = serde_json::from_str(&whole.out).unwrap();
    assert_eq!(answer["answer"], "There is **one** file.");
    assert_eq!((&answer["reason"], &answer["tokens"]["replies"]), (&Value::from("answered"), &Value::from(2)));
    assert!(place.written_down().contains(answer["session"].as_str().unwrap()));
}

#[test]
fn slash_model_switches_the_model() {
    let place = Place::new(&[]);
    let model = slow_model(vec![vec![(0, "From one.".into())], vec![(0, "From two.".into())]]);
    let args = ["--backend", "http", "--base-url", &model, "--model", "one"];
    let screen = Screen::start(CODER, &args, &[], &place.root, &place.home, (24, 80));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "From one.");
    screen.press(&format!("/model{ENTER}"));
    answered(&screen, "this backend does not list its models");
    screen.press(&format!("/model two{ENTER}"));
    answered(&screen, "the model is now two");
    screen.press(&format!("go on{ENTER}"));
    answered(&screen, "From two.");
    assert_eq!(place.said(), ["go", "go on"]);
    let written = place.written_down();
    let of = |answer: &str| written.lines().find(|line| line.contains(answer)).unwrap().to_owned();
    assert!(
        of("From one.").contains("\"model\":\"one\"") && of("From two.").contains("\"model\":\"two\""),
        "{written}"
    );
}

/// Opening a workspace emits the debug event `root`.
#[test]
fn the_workspace_is_reopened_only_for_a_persona_with_other_path_rules() {
    let call = "```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"private/a.txt\"}}\n```";
    let place = Place::new(&[call, "First.", call, "Second."]);
    place.file("private/a.txt", "x\n");
    let personas = [
        ("plain", ""),
        ("strict", "[policy]\nask = \"always\"\n"),
        ("blind", "[policy.paths]\ndeny = [\"private/*\"]\n"),
    ];
    for (name, policy) in personas {
        let text = format!("+++\nname = \"{name}\"\n{policy}+++\nYou are {name}.\n");
        place.file_at_home(&format!("config/toolfence/personas/{name}.md"), text);
    }
    let replies = place.home.join("replies");
    let args = ["--backend", "replay", "--replies", replies.to_str().unwrap(), "--debug"];
    let events = |input: &str, event: &str| -> Vec<Value> {
        let ran = place.run(CODER, &args, input);
        assert_eq!(ran.status, 0, "{input}: {}", ran.err);
        let lines = ran.err.lines().filter(|line| line.starts_with('{'));
        let lines = lines.map(|line| serde_json::from_str(line).unwrap());
        lines.filter(|line: &Value| line["event"] == event).collect()
    };
    for (input, opened) in [
        ("", 1),
        ("/model one\n/model two\n", 1),
        ("/persona reviewer\n/persona plain\n/persona strict\n", 1),
        ("/persona blind\n", 2),
        ("/persona blind\n/model one\n/persona blind\n", 2),
        ("/persona blind\n/persona plain\n", 3),
    ] {
        assert_eq!(events(input, "root").len(), opened, "{input}");
    }
    // The tools use the newly opened workspace.
    let results = events("go\n/persona blind\ngo\n", "result");
    let succeeded: Vec<&Value> = results.iter().map(|event| &event["result"]["success"]).collect();
    assert_eq!(succeeded, [true, false], "{results:?}");
    let results = events("/persona blind\ngo\n/persona plain\ngo\n", "result");
    let succeeded: Vec<&Value> = results.iter().map(|event| &event["result"]["success"]).collect();
    assert_eq!(succeeded, [false, true], "{results:?}");
}

/// A signal ends the program even during a turn that a slash command started, and input typed meanwhile does not run.
#[test]
fn a_signal_in_the_turn_of_a_command_ends_the_program() {
    let place = Place::new(&[
        "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"echo begun; sleep 100\"}}\n```",
        "Done.",
    ]);
    let screen = place.talk(&["--ask", "never"], &[]);
    screen.press(&format!("/init{ENTER}"));
    screen.wait_for("│ begun");
    screen.signal("TERM");
    assert_eq!(screen.end(), 143);
}
