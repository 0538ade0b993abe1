//! Tests the program on its own terminal, which `script` of util-linux creates.

use crate::support::is_ignored;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use toolfence_kit::Screen;

const CODER: &str = env!("CARGO_BIN_EXE_coder");
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a shell line on a terminal, with the program in `$CODER`, and returns the output. It types `early` at once and
/// each of `answers` after a question appears.
fn on_a_terminal(root: &Path, line: &str, early: &str, answers: &[&str]) -> String {
    typed(root, line, "Run it? [y/N", early, answers)
}

/// Switches private copies off, so that commands that may write need approval before they run.
const FALLBACK: &str = "TOOLFENCE_NO_OVERLAY=1";

/// Runs a shell line and types each of `answers` after the text `question` appears.
fn on_a_terminal_asking(root: &Path, line: &str, question: &str, answers: &[&str]) -> String {
    typed(root, line, question, "", answers)
}

fn typed(root: &Path, line: &str, question: &str, early: &str, answers: &[&str]) -> String {
    let mut command = Command::new("script");
    command
        .args(["-qec", line, "/dev/null"])
        .current_dir(root)
        .env("CODER", CODER)
        .env("SHELL", "/bin/bash")
        .env("XDG_CONFIG_HOME", root.join("no-config"))
        .env("XDG_STATE_HOME", root.join("no-state"))
        .env("TERM", "xterm");
    if !line.contains("--color") {
        // Erased rows would still be in the recorded output.
        command.env("NO_COLOR", "1").env("TERM", "dumb");
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    keys.write_all(early.as_bytes()).unwrap();
    let seen: Arc<Mutex<Vec<u8>>> = Arc::default();
    let reader = thread::spawn({
        let (seen, mut out) = (seen.clone(), child.stdout.take().unwrap());
        move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                seen.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        }
    });
    let begun = Instant::now();
    let mut left = answers.iter();
    let mut questions = 0;
    while child.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(20));
        let shown = String::from_utf8_lossy(&seen.lock().unwrap()).matches(question).count();
        if shown > questions {
            questions = shown;
            // The question discards input that arrives before it is ready.
            thread::sleep(Duration::from_millis(300));
            let answer = left.next().expect("no more questions than answers");
            keys.write_all(format!("{answer}\n").as_bytes()).unwrap();
        }
    }
    let _ = child.kill();
    child.wait().unwrap();
    reader.join().unwrap();
    String::from_utf8_lossy(&seen.lock().unwrap()).replace("\r\n", "\n")
}

/// Creates a folder with one call in the file `reply`.
fn with_call(call: &serde_json::Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("reply"), format!("```tool\n{call}\n```\n")).unwrap();
    folder
}

fn bash(command: &str) -> serde_json::Value {
    serde_json::json!({"name": "bash", "args": {"command": command}})
}

/// Returns a call of a command that may write to an otherwise read-only project.
fn writing(command: &str) -> serde_json::Value {
    serde_json::json!({"name": "bash", "args": {"command": command, "write": true}})
}

#[test]
fn only_input_after_the_question_answers_it() {
    for (answer, ran) in [("n not now", false), ("y", true)] {
        let folder = with_call(&bash("touch ran"));
        let line = "sleep 1; \"$CODER\" exec --no-session < reply";
        let shown = typed(folder.path(), line, "Keep them? [y/N", "y\n", &[answer]);
        assert_eq!(folder.path().join("ran").exists(), ran, "{shown}");
        assert_eq!(shown.contains("The user said no: not now."), !ran, "{shown}");
    }
}

#[test]
fn a_question_cannot_be_forged() {
    let mut call = bash("touch ran\n? bash\n  $ ls -la\nRun it? [no]");
    call["reason"] = "harmless\n  asked because: it lists files.\n  $ ls -la\nRun it? now".into();
    let folder = with_call(&call);
    let shown = on_a_terminal(folder.path(), "\"$CODER\" exec --no-session --ask always < reply", "", &["n"]);
    let (question, _) = shown.split_once("Run it? [y/N").expect(&shown);
    assert!(
        question.contains("  the model: harmless asked because: it lists files. $ ls -la Run it? now\n"),
        "{shown}"
    );
    assert!(question.contains("  $ touch ran\n  > ? bash\n  >   $ ls -la\n  > Run it? [no]\n"), "{shown}");
}

#[test]
fn a_question_shows_all_of_a_command_and_all_of_a_change_on_demand() {
    let folder = with_call(&bash(&format!("echo {}; touch hidden", "x".repeat(311))));
    let shown = on_a_terminal(folder.path(), "\"$CODER\" exec --no-session --ask always < reply", "", &["n"]);
    assert!(shown.replace("\n  \\ ", "").contains("; touch hidden\n") && !shown.contains("not shown"), "{shown}");

    let content: String = (0..100).map(|line| format!("line {line}\n")).collect();
    let folder = with_call(&serde_json::json!({"name": "write_file", "args": {"path": "a", "content": content}}));
    let shown = on_a_terminal(folder.path(), "\"$CODER\" exec --no-session < reply", "", &["all", "y"]);
    let (first, second) = shown.split_once("Run it? [y/N, all to see everything").expect(&shown);
    assert!(first.contains("[41 more lines not shown]") && !first.contains("line 99"), "{shown}");
    assert!(
        second.contains(
            "  + line 99\n  always would allow, in this session: write_file a\n  \"project\" keeps all changes"
        ),
        "{shown}"
    );
    assert_eq!(std::fs::read_to_string(folder.path().join("a")).unwrap(), content);
}

/// The first `y` to a question with folded rows only asks the user to look at them. A second `y` approves without a
/// look, and then the result shows the change.
#[test]
fn a_yes_to_folded_rows_must_be_repeated() {
    let write = |name: &str, lines: usize| {
        let content: String = (0..lines).map(|line| format!("line {line}\n")).collect();
        let call = serde_json::json!({"name": "write_file", "args": {"path": name, "content": content}});
        format!("```tool\n{call}\n```\n")
    };
    let replied = |calls: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("replies"), format!("%%% reply\n{calls}%%% reply\nDone.\n")).unwrap();
        folder
    };
    for (answers, seen) in [(&["y", "all", "y"][..], true), (&["y", "y"], false), (&["always", "n"], false)] {
        let folder = replied(&write("a", 100));
        let shown = on_a_terminal(folder.path(), REPLAYED, "", answers);
        assert!(shown.contains("41 lines of it were not shown. Type all to see everything"), "{shown}");
        let ran = answers.last() == Some(&"y");
        assert_eq!(folder.path().join("a").exists(), ran, "{shown}");
        let (_, result) = shown.split_once("-> write_file a").expect(&shown);
        assert_eq!(result.contains("+line 1\n"), ran && !seen, "{answers:?}: {shown}");
    }
    let folder = replied(&(write("a", 10) + &write("b", 50)));
    let shown = typed(folder.path(), REPLAYED, "Run them? [", "", &["1", "1 2"]);
    assert!(shown.contains("35 lines of it were not shown"), "{shown}");
    let (_, results) = shown.split_once("-> write_file a").expect(&shown);
    let (first, second) = results.split_once("-> write_file b").expect(&shown);
    assert!(!first.contains("+line 1\n") && second.contains("+line 1\n"), "{shown}");
}

/// Creates a folder with recorded replies: one for each command, and an answer.
fn with_replies(commands: &[&str]) -> tempfile::TempDir {
    replies_of(commands, bash)
}

/// Creates a folder with recorded replies that each call a command with write access.
fn with_writing_replies(commands: &[&str]) -> tempfile::TempDir {
    replies_of(commands, writing)
}

fn replies_of(commands: &[&str], call: fn(&str) -> serde_json::Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let replies: String =
        commands.iter().map(|command| format!("%%% reply\n```tool\n{}\n```\n", call(command))).collect();
    std::fs::write(folder.path().join("replies"), replies + "%%% reply\nDone.\n").unwrap();
    folder
}

const REPLAYED: &str = "\"$CODER\" -p x --backend replay --replies replies < /dev/null";

#[test]
fn changes_of_a_command_are_kept_by_the_answer() {
    let folder = with_replies(&["echo x >> log", "echo x >> log", "echo x >> other; rm log"]);
    let shown = typed(folder.path(), REPLAYED, "Keep them? [", "", &["always", "n use tee"]);
    assert!(shown.contains("asked because: `echo x >> log` changed 1 file. Keep the changes?\n"), "{shown}");
    assert!(shown.contains("  +++ b/log\n  @@ -0,0 +1 @@\n  +x\n"), "{shown}");
    assert!(shown.contains("  always would allow, in this session: the changes of echo x >> log\n"), "{shown}");
    assert!(
        shown.contains("`echo x >> other; rm log` changed 2 files.") && shown.contains("  removed: log\n"),
        "{shown}"
    );
    assert!(shown.contains("The user said no: use tee."), "{shown}");
    assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), "x\nx\n", "{shown}");
    assert!(!folder.path().join("other").exists() && shown.matches("Keep them? [").count() == 2, "{shown}");

    let folder = with_replies(&["echo x >> log", "echo x >> other"]);
    let shown = typed(folder.path(), REPLAYED, "Keep them? [", "", &["project"]);
    assert!(folder.path().join("log").exists() && folder.path().join("other").exists(), "{shown}");
}

#[test]
fn the_question_says_what_always_stores() {
    let folder = with_writing_replies(&["echo x >> log", "echo x >> log", "echo x >> other"]);
    let shown = on_a_terminal(folder.path(), &format!("{FALLBACK} {REPLAYED}"), "", &["always", "n"]);
    assert!(shown.contains("  always would allow, in this session: the changes of echo x >> log\n"), "{shown}");
    assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), "x\nx\n", "{shown}");
    assert!(!folder.path().join("other").exists() && shown.matches("Run it? [").count() == 2, "{shown}");
}

#[test]
fn always_explains_why_it_is_not_available_and_asks_again() {
    let folder = with_replies(&["python3 -c 1"]);
    let answers = ["a", "always", "always python3", "n"];
    let shown = on_a_terminal(folder.path(), &format!("{REPLAYED} --ask always"), "", &answers);
    assert!(shown.contains("Type always to allow it for this session"), "{shown}");
    assert!(shown.contains("Always is not available: the setting `ask = \"always\"` asks about\n"), "{shown}");
    assert!(shown.contains("`always` stores exactly this call."), "{shown}");
    assert!(!shown.contains("in this session:"), "{shown}");
}

#[test]
fn a_conversation_lists_its_permissions() {
    let folder = with_replies(&["touch a"]);
    let line = "printf 'go\\n/allowed\\n' | \"$CODER\" --backend replay --replies replies";
    let shown = on_a_terminal_asking(folder.path(), line, "Keep them? [", &["always"]);
    let (_, after) = shown.split_once("Done.").expect(&shown);
    assert!(after.contains("> the changes of touch a\n"), "{shown}");
}

#[test]
fn an_edited_call_is_asked_about_again() {
    let folder = with_writing_replies(&["touch a"]);
    let shown = on_a_terminal(folder.path(), &format!("{FALLBACK} {REPLAYED}"), "", &["edit touch b", "y"]);
    assert!(shown.contains("  $ touch b\n") && folder.path().join("b").exists(), "{shown}");
    assert!(!folder.path().join("a").exists(), "{shown}");
    let folder = with_writing_replies(&["touch a"]);
    let line = format!("{FALLBACK} EDITOR=\"sed -i s/a/from-editor/\" VISUAL= {REPLAYED}");
    let shown = on_a_terminal(folder.path(), &line, "", &["e", "y"]);
    assert!(folder.path().join("from-editor").exists() && !folder.path().join("a").exists(), "{shown}");
    let folder = with_writing_replies(&["touch a"]);
    let line = format!("{FALLBACK} EDITOR=false VISUAL= {REPLAYED}");
    let shown = on_a_terminal(folder.path(), &line, "", &["e", "n"]);
    assert!(shown.contains("nothing was changed") && !folder.path().join("a").exists(), "{shown}");
}

#[test]
fn the_question_shows_exact_parts() {
    let folder = with_call(&writing("ls\u{a0}; touch a && echo x\u{200b}"));
    let shown = on_a_terminal(folder.path(), &format!("{FALLBACK} \"$CODER\" exec --no-session < reply"), "", &["n"]);
    assert!(shown.contains("  $ ls\\u{a0}; touch a && echo x\\u{200b}\n"), "odd characters are written out: {shown}");
    let folder = with_call(&bash("ls; touch a && echo x"));
    let open = "\"$CODER\" exec --no-session --sandbox off";
    let shown = on_a_terminal(folder.path(), &format!("{open} < reply"), "", &["n"]);
    assert!(shown.contains("  $ ls; touch a && echo x\n        ^^^^^^^\n"), "{shown}");
    let coloured = on_a_terminal(folder.path(), &format!("{open} --color always < reply"), "", &["n"]);
    assert!(coloured.contains("  $ ls; \u{1b}[4mtouch a\u{1b}[24m && echo x\n"), "{coloured}");
}

#[test]
fn a_question_about_a_command_with_network_names_the_network_first() {
    let packages: Vec<String> = (0..60).map(|number| format!("@scope/package-{number}@1.2.3")).collect();
    let command = format!("npm install --save-dev {} && npm run build", packages.join(" "));
    let mut call = bash(&command);
    call["args"]["network"] = true.into();
    let folder = with_call(&call);
    let shown = on_a_terminal(folder.path(), "\"$CODER\" exec --no-session < reply", "", &["n"]);
    assert!(shown.contains("? bash\n  asked because: It wants to use the network."), "{shown}");
    let rows =
        shown.split_once("asked because: ").expect("it says why").1.split_once("  $ npm").expect("it shows it").0;
    assert!(!rows.contains("..."), "the reason is whole: {rows}");
}

#[test]
fn a_question_in_portuguese_takes_answers_in_portuguese() {
    for (answer, ran) in [("s", true), ("sim", true), ("não outro dia", false), ("n agora não", false)] {
        let folder = with_writing_replies(&["touch ran"]);
        let line = format!("{FALLBACK} {REPLAYED} --lang pt");
        let shown = typed(folder.path(), &line, "Executar? [", "", &[answer]);
        assert_eq!(folder.path().join("ran").exists(), ran, "{shown}");
        assert!(shown.contains("  motivo da pergunta: ") && !shown.contains("Run it?"), "{shown}");
        assert_eq!(shown.contains("O usuário disse não"), !ran, "{shown}");
    }
    let folder = with_replies(&["touch ran"]);
    let shown = on_a_terminal_asking(folder.path(), REPLAYED, "Keep them? [", &["s", "n"]);
    assert!(!folder.path().join("ran").exists(), "s is no yes in English: {shown}");
}

/// An answer of several words is a denial with that text as its reason. An unknown single word repeats the question.
#[test]
fn any_other_sentence_is_a_denial_with_that_reason() {
    let folder = with_replies(&["touch ran"]);
    let answers = ["sure", "use another file name please"];
    let shown = on_a_terminal_asking(folder.path(), REPLAYED, "Keep them? [", &answers);
    assert!(shown.contains("  Type y to keep them, n to drop them, or a reason not to.\n"), "{shown}");
    assert!(shown.contains("The user said no: use another file name please."), "{shown}");
    assert!(!folder.path().join("ran").exists(), "{shown}");
}

/// Creates a folder with one reply of several calls, and an answer.
fn with_calls(calls: &[serde_json::Value]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let calls: String = calls.iter().map(|call| format!("```tool\n{call}\n```\n")).collect();
    std::fs::write(folder.path().join("replies"), format!("%%% reply\n{calls}%%% reply\nDone.\n")).unwrap();
    folder
}

#[test]
fn several_calls_of_a_reply_are_one_question() {
    let write = |name: &str| serde_json::json!({"name": "write_file", "args": {"path": name, "content": ""}});
    let calls = [write("a"), bash("ls"), write("b"), write("c")];
    let made = |folder: &tempfile::TempDir| -> Vec<&str> {
        ["a", "b", "c"].into_iter().filter(|name| folder.path().join(name).exists()).collect()
    };
    for (answers, wanted) in [
        (&["y"][..], &["a", "b", "c"][..]),
        (&["1 3"], &["a", "c"]),
        (&["always", "7", "2,3"], &["b", "c"]),
        (&["n not now"], &[]),
        (&[""], &[]),
    ] {
        let folder = with_calls(&calls);
        let shown = typed(folder.path(), REPLAYED, "Run them? [", "", answers);
        assert_eq!(made(&folder), wanted, "{answers:?}: {shown}");
        assert!(shown.contains("? 1 of 3: write_file\n") && shown.contains("? 3 of 3: write_file\n"), "{shown}");
        assert_eq!(shown.matches("Run them? [").count(), answers.len(), "{shown}");
        assert!(!shown.contains("Run it? [") && shown.contains("Done."), "{shown}");
    }
    let folder = with_calls(&calls);
    let shown = typed(folder.path(), REPLAYED, "? [y/N", "", &["one", "y", "y", "n"]);
    assert_eq!((made(&folder), shown.matches("Run it? [").count()), (vec!["a", "b"], 3), "{shown}");
}

/// An approval covers only the displayed effect. If the effect of a call has changed since then, the question is asked
/// again.
#[test]
fn a_call_that_another_one_changed_is_asked_about_again() {
    let folder = tempfile::tempdir().unwrap();
    let write = |content: &str| {
        let call = serde_json::json!({"name": "write_file", "args": {"path": "a", "content": content}});
        format!("```tool\n{call}\n```\n")
    };
    let replies = format!("%%% reply\n{}{}%%% reply\nDone.\n", write("one\n"), write("two\n"));
    std::fs::write(folder.path().join("replies"), replies).unwrap();
    let shown = typed(folder.path(), REPLAYED, "? [y/N", "", &["y", "n"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("a")).unwrap(), "one\n", "{shown}");
    let (_, second) = shown.split_once("Run them? [").expect(&shown);
    assert!(second.contains("  -one\n  +two\n") && second.contains("Run it? ["), "{shown}");
}

/// A change is displayed in colours in the question, and not repeated in the result.
#[test]
fn a_change_is_shown_once_and_in_colours() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "one\ntwo\n").unwrap();
    let call = serde_json::json!({"name": "replace_text", "args": {"path": "a", "old": "two", "new": "2"}});
    let replies = format!("%%% reply\n```tool\n{call}\n```\n%%% reply\nDone.\n");
    std::fs::write(folder.path().join("replies"), replies).unwrap();
    let shown = on_a_terminal(folder.path(), &format!("{REPLAYED} --color always"), "", &["y"]);
    assert!(shown.contains("\u{1b}[31m  -two\u{1b}[0m\n\u{1b}[32m  +2\u{1b}[0m\n"), "{shown:?}");
    assert_eq!((shown.matches("-two").count(), shown.matches("+2").count()), (1, 1), "{shown}");
    assert_eq!(std::fs::read_to_string(folder.path().join("a")).unwrap(), "one\n2\n");
}

#[test]
fn a_project_is_trusted_after_its_file_is_displayed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".toolfence.toml"), "model = \"x\" # \u{202e}\n").unwrap();
    let line = "\"$CODER\" config trust; \"$CODER\" config show; echo \"status $?\"";
    let shown = on_a_terminal_asking(folder.path(), line, "Trust it? [", &["n"]);
    assert!(shown.contains("  | model = \"x\" # \\u{202e}\n") && shown.contains("status 2"), "{shown}");
    let shown = on_a_terminal_asking(folder.path(), line, "Trust it? [", &["y"]);
    assert!(shown.contains("is now trusted") && shown.contains("status 0"), "{shown}");
}

#[test]
fn untrusted_text_cannot_send_escape_sequences() {
    let mut call = bash("touch ran # \u{1b}]0;x\u{7}\u{9b}31m\u{202e}");
    call["reason"] = "a \u{1b}[2Jclear".into();
    let folder = with_call(&call);
    let shown = on_a_terminal(folder.path(), "\"$CODER\" exec --no-session < reply > out", "", &["n"]);
    assert!(shown.contains("the model: a \\u{1b}[2Jclear"), "{shown}");
    assert!(shown.contains("touch ran # \\u{1b}]0;x\\u{7}\\u{9b}31m\\u{202e}"), "{shown}");
    let replies = "%%% reply\nIt is \u{1b}[31mred\u{9b}m and \u{202e}turned.\n";
    std::fs::write(folder.path().join("replies"), replies).unwrap();
    let shown = shown
        + &on_a_terminal(folder.path(), "\"$CODER\" -p x --backend replay --replies replies < /dev/null", "", &[])
        + &on_a_terminal(folder.path(), "\"$CODER\" --persona $'no\\e[31mbody'", "", &[]);
    assert!(shown.contains("It is \\u{1b}[31mred\\u{9b}m and \\u{202e}turned."), "{shown}");
    assert!(shown.contains("there is no persona no\\u{1b}[31mbody"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7}']), "{shown:?}");
}

/// Types each text once the text before it appears in the output, and returns the output.
fn conversed(root: &Path, line: &str, steps: &[(&str, &str)]) -> String {
    let mut command = Command::new("script");
    command.args(["-qec", line, "/dev/null"]).current_dir(root).env("CODER", CODER).env("SHELL", "/bin/bash");
    command
        .env("XDG_CONFIG_HOME", root.join("no-config"))
        .env("XDG_STATE_HOME", root.join("state"))
        .env("TERM", "dumb")
        .env("NO_COLOR", "1");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let seen: Arc<Mutex<Vec<u8>>> = Arc::default();
    let reader = thread::spawn({
        let seen = seen.clone();
        move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut buffer) {
                seen.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        }
    });
    let shown = || String::from_utf8_lossy(&seen.lock().unwrap()).replace("\r\n", "\n");
    let begun = Instant::now();
    let mut at = 0;
    for (wanted, typed) in steps {
        while !shown()[at..].contains(wanted) {
            assert!(begun.elapsed() < PATIENCE, "{wanted:?} is not shown behind byte {at}: {}", shown());
            thread::sleep(Duration::from_millis(20));
        }
        at += shown()[at..].find(wanted).unwrap() + wanted.len();
        keys.write_all(typed.as_bytes()).unwrap();
    }
    while child.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(20));
    }
    // The process may have exited already, or it hangs.
    let _ = child.kill();
    child.wait().unwrap();
    reader.join().unwrap();
    shown()
}

/// Ctrl-C discards the line and says how to leave. Pressed twice in quick succession, it leaves.
#[test]
fn ctrl_c_at_the_prompt_discards_the_line_and_twice_quits() {
    if is_ignored("INT") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("replies"), "%%% reply\nHello.\n").unwrap();
    let line = "set -m; \"$CODER\" --backend replay --replies replies; echo \"status $?\"";
    let drops =
        [("> ", "half a li"), ("half a li", "\u{3}"), ("Ctrl-C again", ""), ("> ", "whole\n"), ("Hello.\n", "")];
    let shown = conversed(folder.path(), line, &[&drops[..], &[("> ", "/quit\n")]].concat());
    assert!(shown.contains("status 0"), "{shown}");
    let leaves = [("> ", "half a li"), ("half a li", "\u{3}"), ("Ctrl-C again", "\u{3}")];
    let shown = conversed(folder.path(), line, &leaves);
    assert!(shown.contains("status 130"), "{shown}");

    let mut list = Command::new(CODER);
    list.args(["sessions", "--json"]).current_dir(folder.path());
    list.env("XDG_CONFIG_HOME", folder.path().join("no-config")).env("XDG_STATE_HOME", folder.path().join("state"));
    let sessions = String::from_utf8(list.output().unwrap().stdout).unwrap();
    assert!(sessions.lines().count() == 1 && sessions.contains("\"title\":\"whole\""), "{sessions}");
}

#[test]
fn ctrl_c_ends_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    let screen = Screen::start(CODER, &["demo"], &[], folder.path(), folder.path(), (40, 80));
    // The demo handles the signal after the reply was played.
    screen.wait_for("The README has");
    screen.press("\u{3}");
    assert_eq!(screen.end(), 130);
}

/// Reads a whole request and returns its head.
pub(crate) fn head_of_request(stream: &TcpStream) -> String {
    let mut lines = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let start = head.len();
        if lines.read_line(&mut head).unwrap() == 0 {
            break;
        }
        let line = head[start..].to_ascii_lowercase();
        length = line.strip_prefix("content-length:").map_or(length, |length| length.trim().parse().unwrap());
    }
    lines.read_exact(&mut vec![0; length]).unwrap();
    head
}

/// Starts a server that sends each reply in pieces, with a delay in milliseconds before each piece. A reply that begins
/// with `HTTP/1.1` is the whole response. Returns the server's address.
pub(crate) fn slow_model(replies: Vec<Vec<(u64, String)>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut replies = replies.into_iter();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = head_of_request(&stream);
            if !head.starts_with("POST /v1/chat/completions ") {
                stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
                continue;
            }
            let pieces = replies.next().expect("a reply for every request");
            if let Some((_, refusal)) = pieces.first().filter(|(_, piece)| piece.starts_with("HTTP/1.1 ")) {
                stream.write_all(refusal.as_bytes()).unwrap();
                continue;
            }
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
                .unwrap();
            for (pause, piece) in pieces {
                thread::sleep(Duration::from_millis(pause));
                let chunk = serde_json::json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
                // The program closes the connection when it interrupts a reply.
                if stream.write_all(format!("data: {chunk}\n\n").as_bytes()).is_err() {
                    break;
                }
            }
            let end = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
            let _ = stream.write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes());
        }
    });
    format!("http://{address}/v1")
}

/// Returns the final screen after this output, and the width of the widest row at any time. It understands only
/// sequences that set colours, clear the rest of a row or screen, or move up a row.
fn screen(shown: &str) -> (String, usize) {
    let (mut rows, mut at, mut column, mut widest) = (vec![Vec::new()], 0, 0, 0);
    let mut rest = shown.chars();
    while let Some(c) = rest.next() {
        match c {
            '\n' => {
                at += 1;
                column = 0;
                rows.resize(rows.len().max(at + 1), Vec::new());
            }
            '\r' => column = 0,
            '\u{1b}' => match rest.by_ref().find(char::is_ascii_alphabetic) {
                Some('A') => at -= 1,
                Some('J') => {
                    rows.truncate(at + 1);
                    rows[at].truncate(column);
                }
                Some('K') => rows[at].truncate(column),
                // Colours, modes and bracketed paste.
                Some('m' | 'h' | 'l') => {}
                other => panic!("a sequence that ends with {other:?}"),
            },
            c => {
                let row: &mut Vec<char> = &mut rows[at];
                row.resize(row.len().max(column + 1), ' ');
                row[column] = c;
                column += 1;
                widest = widest.max(column);
            }
        }
    }
    (rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned() + "\n").collect(), widest)
}

/// Runs a conversation of one turn with a `slow_model`, on a terminal with this many columns.
fn slowly(folder: &Path, replies: Vec<Vec<(u64, String)>>, columns: usize, more: &str, answers: &[&str]) -> String {
    let line = format!(
        "stty cols {columns}; printf 'go\\n' | TERM=xterm LC_ALL=C.UTF-8 \"$CODER\" --backend http --base-url {} --model m {more}",
        slow_model(replies)
    );
    on_a_terminal(folder, &line, "", answers)
}

fn pieces(text: &str, size: usize, pause: u64) -> Vec<(u64, String)> {
    text.as_bytes().chunks(size).map(|piece| (pause, String::from_utf8(piece.to_vec()).unwrap())).collect()
}

fn answer(text: &str) -> Vec<(u64, String)> {
    vec![(0, text.to_owned())]
}

#[test]
fn a_call_is_shown_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let content: String = (0..50).map(|line| format!("let line = {line};\\n")).collect();
    let call = format!(
        "I write it.\n\n```tool\n{{\"name\": \"write_file\", \"args\": {{\"path\": \"notes.txt\", \"content\": \"{content}\"}}}}\n```\n"
    );
    let shown = slowly(folder.path(), vec![pieces(&call, 24, 25), answer("Done.\n")], 60, "--color always", &["y"]);
    let counts: Vec<usize> = shown
        .split("→ write_file notes.txt  ")
        .skip(1)
        .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(counts.len() >= 4 && counts.is_sorted() && *counts.last().unwrap() > 20, "{counts:?} in {shown}");
    let (screen, widest) = screen(&shown);
    assert!(widest <= 80, "{screen}");
    assert_eq!(screen.matches("→ write_file").count(), 1, "{screen}");
    assert!(
        screen.contains("> coder\nI write it.\n\n? write_file\n") && screen.contains("→ write_file notes.txt  ✓ "),
        "{screen}"
    );
    assert!(folder.path().join("notes.txt").exists(), "{screen}");
}

#[test]
fn a_call_that_is_withdrawn_leaves_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let call = format!(
        "First.\n\n```tool\n{{\"name\": \"bash\", \"args\": {{\"command\": \"echo {}\" ]}}\n```\n\nThen more.\n",
        "x".repeat(300)
    );
    let shown = slowly(folder.path(), vec![pieces(&call, 12, 30), answer("Done.\n")], 40, "--color always", &[]);
    assert!(shown.contains("→ bash $ echo xxxxx") && shown.contains("x…"), "{shown}");
    let (screen, widest) = screen(&shown);
    assert!(screen.matches("→ bash $").count() == 1 && !screen.contains("waiting"), "{screen}");
    assert!(screen.contains("xx…\n  ✗ could not be read: "), "{screen}");
    assert!(screen.contains("> coder\nFirst.\n\nThen more.\n"), "{screen}");
    // While the model writes, the live row is drawn below an empty one.
    let live = |row: &&str| row.starts_with('\n') && row.contains("→ bash");
    let drawn = shown.split('\r').filter(live).map(|row| row.split("\u{1b}[K").next().unwrap());
    let columns = |row: &str| self::screen(row).1;
    assert!(drawn.clone().count() > 0 && drawn.clone().all(|row| columns(row) < 40), "{widest}: {shown:?}");
}

#[test]
fn a_streamed_command_cannot_send_escape_sequences() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\\u001b[2J\\u001b]0;x\\u0007語語語語語語語語語語語語語語語語語語語語語語語語語語";
    let call = format!("```tool\n{{\"name\": \"bash\", \"args\": {{\"command\": \"echo {text}");
    let mut reply = vec![(0, call)];
    reply.push((900, "\"}}\n```\n".to_owned()));
    let shown = slowly(folder.path(), vec![reply, answer("Done.\n")], 40, "--color always", &["n"]);
    assert!(shown.contains("→ bash $ echo \\u{1b}[2J\\u{1b}]0;x\\u{7}"), "{shown}");
    assert!(!shown.contains("\u{1b}[2J") && !shown.contains("\u{1b}]") && !shown.contains('\u{7}'), "{shown:?}");
}

#[test]
fn the_status_is_displayed_and_erased() {
    let folder = tempfile::tempdir().unwrap();
    let call = format!("```tool\n{}\n```\n", bash("sleep 1; echo ran"));
    let shown = slowly(folder.path(), vec![vec![(1300, call)], answer("Done.\n")], 60, "--color always --yes", &[]);
    assert!(shown.contains("waiting for the model, 1 s") && shown.contains("running, 0 s"), "{shown:?}");
    let (screen, _) = screen(&shown);
    assert!(!screen.contains("waiting") && !screen.contains("running"), "{screen}");
    assert!(screen.contains("→ bash $ sleep 1; echo ran  ✓ "), "{screen}");
}

/// No progress is drawn if the output is not a terminal, or if the terminal cannot erase rows.
#[test]
fn no_progress_is_drawn_where_rows_cannot_be_erased() {
    let content = "line\\n".repeat(40);
    let call = format!("```tool\n{{\"name\": \"read_file\", \"args\": {{\"path\": \"{content}\"}}}}\n```\n");
    let replies = || vec![[vec![(700, String::new())], pieces(&call, 20, 60)].concat(), answer("Done.\n")];
    for (more, dumb) in [("--color never", true), ("--color always | cat", false), ("--color always", true)] {
        let folder = tempfile::tempdir().unwrap();
        let model = slow_model(replies());
        let term = if dumb { "dumb" } else { "xterm" };
        let line =
            format!("printf 'go\\n' | TERM={term} \"$CODER\" --backend http --base-url {model} --model m {more}");
        let shown = on_a_terminal(folder.path(), &line, "", &[]);
        assert!(
            shown.contains("Done.") && !shown.contains("\u{1b}[K") && !shown.contains("waiting"),
            "{more}: {shown:?}"
        );
    }
}
