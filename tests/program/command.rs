//! Tests the command backend: a stub that keeps its own conversation in files, and programs that fail.

use serde_json::Value;
use std::io::{Read, Write};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use toolfence_kit::{Program, Project, Ran};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

/// Prints the next reply file and records its input. If a file `forgotten` exists, it removes the file and fails.
const STUB: &str = r#"#!/usr/bin/env bash
cd "$(dirname "$0")" || exit 9
if [ -e forgotten ] && [ "$TOOLFENCE_FIRST" = 0 ]; then
    rm forgotten
    echo 'the conversation is gone' >&2
    exit 1
fi
number=$(($(cat runs 2>/dev/null || echo 0) + 1))
echo "$number" >runs
cat >"input.$number"
echo "$TOOLFENCE_FIRST $TOOLFENCE_TURN $TOOLFENCE_SESSION $1 $2 $TERM$NO_COLOR" >>log
cat "reply.$number"
"#;

/// Writes a program by way of a child process. If this process wrote the file, a child of another test could inherit
/// the writable descriptor, and starting the program would fail with ETXTBSY.
fn script(path: &Path, text: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", "cat >\"$1\" && chmod 755 \"$1\"", "sh"]).arg(path).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// A project, and a home folder that contains a program.
struct Place(Project);

impl Deref for Place {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.0
    }
}

impl Place {
    fn new(program: &str) -> Place {
        let place = Place(Project::new());
        script(&place.home.join("bridge"), program);
        place
    }

    /// Creates a stub that replies with these texts.
    fn stub(replies: &[&str]) -> Place {
        let place = Place::new(STUB);
        for (number, reply) in replies.iter().enumerate() {
            std::fs::write(place.home.join(format!("reply.{}", number + 1)), reply).unwrap();
        }
        place
    }

    fn coder(&self, args: &[&str], input: &str) -> Ran {
        let start = ["--command", "~/bridge {session} {turn}"];
        self.run(CODER, &[&start, args].concat(), input)
    }

    /// Runs `coder` with a program that keeps its own conversation.
    fn own(&self, args: &[&str], input: &str) -> Ran {
        self.coder(&[&["--command-conversation", "own"], args].concat(), input)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the record of each run of the program: first, turn, session, the two arguments, variables.
    fn log(&self) -> Vec<Vec<String>> {
        self.read("log").lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    }

    /// Returns the records of the newest conversation.
    fn records(&self) -> Vec<Value> {
        let listed = self.coder(&["sessions", "--json"], "");
        let newest: Value = serde_json::from_str(listed.out.lines().next().unwrap()).unwrap();
        let text = std::fs::read_to_string(newest["path"].as_str().unwrap()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

const CALL: &str = "I look.\n\n```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"a.txt\"}}\n```\n";

/// Three turns, one of them with a tool call, in two processes. Each request contains only new messages.
#[test]
fn a_program_with_its_own_conversation_gets_only_new_messages() {
    let place = Place::stub(&["One.\n", CALL, "It says \u{1b}[1mthat\u{1b}[0m.\r\n", "Three.\n", "Four.\n"]);
    std::fs::write(place.root.join("a.txt"), "seven swans\n").unwrap();
    let ran = place.own(&[], "First?\nSecond?\n");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.out.contains("One.") && ran.out.contains("It says that."), "{}", ran.out);
    assert!(!ran.out.contains("[1m"), "{:?}", ran.out);
    let ran = place.own(&["--continue", "-p", "Third?"], "");
    assert_eq!((ran.status, ran.out.trim()), (0, "Three."), "{}", ran.said());

    assert!(place.read("input.1").contains("read_file") && place.read("input.1").ends_with("\n\nFirst?\n"));
    assert_eq!(place.read("input.2"), "Second?\n");
    let results = place.read("input.3");
    assert!(results.contains("tool_result") && results.contains("seven swans"), "{results}");
    assert!(!results.contains("Second?") && !results.contains("--- user ---"), "{results}");
    let third = place.read("input.4");
    assert!(third.ends_with("Third?\n") && !third.contains("swans") && !third.contains("read_file"), "{third}");

    let records = place.records();
    let session = records[0]["session"]["id"].as_str().unwrap();
    let log = place.log();
    for (number, (first, turn)) in [("1", "1"), ("0", "2"), ("0", "2"), ("0", "3")].into_iter().enumerate() {
        assert_eq!(log[number], [first, turn, session, session, turn, "dumb1"], "{log:?}");
    }
    let replies: Vec<&Value> = records.iter().filter(|record| record["role"] == "assistant").collect();
    assert_eq!(replies.len(), 4);
    assert!(replies.iter().all(|reply| reply["state"].is_string()), "{replies:?}");
    assert!(replies[0]["model"].as_str().unwrap().ends_with("/bridge"));

    // A resumed conversation sends changed instructions.
    let ran = place.own(&["--continue", "--persona", "reviewer", "-p", "Fourth?"], "");
    assert_eq!((ran.status, ran.out.trim(), &*place.log()[4][0]), (0, "Four.", "0"), "{}", ran.said());
    let input = place.read("input.5");
    assert!(input.contains("read_file") && !input.contains("Third?") && input.ends_with("Fourth?\n"), "{input}");
}

/// The program starts a new conversation and receives all messages if the messages that it has are no longer those of
/// the session.
#[test]
fn a_changed_history_starts_a_new_conversation() {
    let long: String = (0..120).map(|number| format!("A long answer, part {number}. ")).collect::<String>() + "\n";
    let replies: Vec<&str> =
        std::iter::repeat_n(long.as_str(), 6).chain(["Seven.\n", "Eight.\n", "Nine.\n", "Ten.\n"]).collect();
    let place = Place::stub(&replies);
    let ran = place.own(&[], "1\n2\n3\n4\n5\n6\n/compact\n7\n/retry\n/clear\n9\n");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let firsts: Vec<String> = place.log().iter().map(|line| line[0].clone()).collect();
    assert_eq!(firsts.concat(), "100000111", "{}", ran.out);
    let input = place.read("input.7");
    assert!(
        input.contains("read_file") && input.contains("--- user ---") && input.trim_end().ends_with("\n7"),
        "{input}"
    );
    assert!(input.len() < 2 * place.read("input.1").len() + 5 * long.len(), "it was compacted");
    assert!(place.read("input.8").contains("--- assistant ---"), "it was taken back");
    assert!(!place.read("input.9").contains("--- user ---"), "it is a new one");
    let sessions: Vec<String> = place.log().iter().map(|line| line[2].clone()).collect();
    assert!(sessions[7] == sessions[0] && sessions[8] != sessions[0]);

    // A fork starts a new conversation in the program, and the fork's later turns continue it.
    std::fs::write(place.home.join("reply.11"), "Eleven.\n").unwrap();
    let id = place.records()[0]["session"]["id"].as_str().unwrap().to_owned();
    assert_eq!(place.own(&["resume", &id, "--fork", "-p", "10"], "").status, 0);
    assert_eq!(place.own(&["--continue", "-p", "11"], "").status, 0);
    let log = place.log();
    assert_eq!((&*log[9][0], &*log[10][0]), ("1", "0"), "{log:?}");
}

/// After a failure `coder` does not restart the program, and the next request contains the whole conversation.
#[test]
fn after_a_failure_the_program_gets_the_whole_conversation() {
    let all = |place: &Place, out: &str| {
        assert_eq!(out.trim(), "Two.");
        let input = place.read("input.2");
        for words in ["read_file", "First?", "One.", "Second?", "Third?"] {
            assert!(input.contains(words), "{words}: {input}");
        }
        assert_eq!(place.log()[1][0], "1");
    };
    // The failure is in a second process.
    let place = Place::stub(&["One.\n", "Two.\n"]);
    assert_eq!(place.own(&["-p", "First?"], "").status, 0);
    std::fs::write(place.home.join("forgotten"), "").unwrap();
    let ran = place.own(&["--continue", "-p", "Second?"], "");
    assert!(ran.status == 3 && ran.err.contains("the conversation is gone"), "{}", ran.said());
    assert_eq!(place.read("runs"), "1\n");
    let ran = place.own(&["--continue", "-p", "Third?"], "");
    assert_eq!(ran.status, 0, "{}", ran.said());
    all(&place, &ran.out);
    // The failure is in the same process.
    let place = Place::stub(&["One.\n", "Two.\n"]);
    assert_eq!(place.own(&["-p", "First?"], "").status, 0);
    std::fs::write(place.home.join("forgotten"), "").unwrap();
    let ran = place.own(&["--continue"], "Second?\nThird?\n");
    assert!(ran.out.contains("the conversation is gone") && ran.out.contains("Two."), "{}", ran.said());
    all(&place, "Two.");
}

#[test]
fn a_program_inherits_only_three_descriptors() {
    let place = Place::new("#!/bin/sh\nif [ -e /proc/$$/fd/3 ]; then echo More.; else echo Three.; fi\n");
    let ran = place.coder(&["-p", "Go"], "");
    assert_eq!(ran.out.trim(), "Three.", "{}", ran.said());
}

/// Without `--command-conversation own`, each request contains all messages, as text or as JSON lines.
#[test]
fn a_program_without_a_conversation_gets_all_messages() {
    let place = Place::new("#!/bin/sh\ncat >input.$TOOLFENCE_TURN\necho \"model $TOOLFENCE_MODEL, turn $2\"\n");
    let ran = place.coder(&["--model", "tiny"], "First?\nSecond?\n");
    assert!(ran.out.contains("model tiny, turn 2"), "{}", ran.said());
    assert!(
        ran.out.contains("answered by tiny, through the program /") && ran.out.contains("/bridge\n"),
        "{}",
        ran.out
    );
    let input = place.read("input.2");
    assert!(
        input.contains("\n--- user ---\nFirst?\n\n--- assistant ---\nmodel tiny, turn 1\n\n--- user ---\n"),
        "{input}"
    );
    place.coder(&["--command-format", "json", "-p", "Hé?", "--instructions", "external"], "");
    assert_eq!(place.read("input.1"), "{\"role\":\"user\",\"content\":\"Hé?\"}\n");
}

#[test]
fn errors_of_the_command_explain_what_to_do() {
    let said = |program: &str, args: &[&str]| {
        let ran = Place::new(program).coder(&[args, &["-p", "Go"]].concat(), "");
        (ran.status, ran.out, ran.err)
    };
    let (status, _, err) = said("#!/bin/sh\necho 'please log in' >&2; exit 4\n", &[]);
    assert!(status == 3 && err.contains("status 4") && err.contains("please log in"), "{err}");
    let (status, _, err) = said("#!/bin/sh\n", &[]);
    assert!(status == 3 && err.contains("without writing anything"), "{err}");
    let (status, out, err) = said("#!/bin/sh\nprintf 'Half an'; echo gone >&2; exit 1\n", &[]);
    assert!(status == 1 && out.contains("Half an") && err.contains("status 1: gone"), "{out}{err}");
    let (status, _, err) = said("#!/toolfence/not/there\n", &[]);
    assert!(
        status == 3 && err.contains("/bridge") && err.contains("No such file") && err.contains("first line"),
        "{err}"
    );
    let place = Place::new("");
    let run = |args: &[&str]| place.run(CODER, args, "");
    let ran = run(&["--command", "toolfence-not-there -x", "-p", "Go"]);
    assert!(
        ran.status == 3 && ran.err.contains("toolfence-not-there") && ran.err.contains("Install it"),
        "{}",
        ran.said()
    );
    let ran = run(&["--command", "llm 'x", "-p", "Go"]);
    assert!(ran.status == 2 && ran.err.contains("llm 'x"), "{}", ran.said());
    let ran = run(&["--backend", "command", "-p", "Go"]);
    assert!(ran.status == 2 && ran.err.contains("--command"), "{}", ran.said());
    let ran = run(&["--lang", "pt", "--command", "toolfence-not-there", "-p", "Go"]);
    assert!(ran.err.contains("esse programa não existe"), "{}", ran.said());
}

/// `coder` refuses a program in the project: it would run outside the sandbox, and the model can rewrite it.
#[test]
fn a_program_of_the_project_does_not_answer() {
    let place = Place::new("#!/bin/sh\necho Yes.\n");
    script(&place.root.join("bridge"), "#!/bin/sh\necho Yes.\n");
    let run = |line: &str| place.run(CODER, &["--command", line, "-p", "Go"], "");
    let path = place.root.join("bridge").display().to_string();
    for line in ["./bridge".to_owned(), path.clone(), format!("sh {path}")] {
        let ran = run(&line);
        assert!(ran.status == 2 && ran.err.contains("is in the project"), "{line}: {}", ran.said());
    }
    assert_eq!(run("sh ~/bridge").out.trim(), "Yes.");
    // The working folder of the program is not the project either.
    assert_eq!(run("sh -c 'pwd'").out.trim(), place.home.canonicalize().unwrap().to_str().unwrap());
}

/// The user's settings can name a program in the user's folder. A project's settings can do so only if they are
/// trusted.
#[test]
fn settings_name_the_program() {
    let place = Place::new("#!/bin/sh\necho Yes.\n");
    let config = place.home.join("config/toolfence");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::rename(place.home.join("bridge"), config.join("bridge")).unwrap();
    let settings = "backend = \"command\"\ncommand = \"./bridge\"\ncommand_between = 5\n";
    std::fs::write(config.join("config.toml"), settings).unwrap();
    let run = |args: &[&str]| place.run(CODER, args, "");
    let ran = run(&["-p", "Go"]);
    assert_eq!((ran.status, ran.out.trim()), (0, "Yes."), "{}", ran.said());
    std::fs::write(place.root.join(".toolfence.toml"), "command = \"rm -rf x\"\n").unwrap();
    let ran = run(&["-p", "Go"]);
    assert!(ran.status == 2 && ran.err.contains("coder config trust"), "{}", ran.said());
}

/// None of these programs may take long, use much memory or block the session.
#[test]
fn a_misbehaving_program_does_no_harm() {
    let garbage = "#!/bin/sh\nhead -c 3000000 /dev/urandom >&2; echo Yes.\n";
    let ran = Place::new(garbage).coder(&["-p", "Go"], "");
    assert_eq!((ran.status, ran.out.trim()), (0, "Yes."), "{}", ran.said());

    // The program prints 100 MB, and the session stops reading at the size limit of a reply.
    let began = Instant::now();
    let ran = Place::new("#!/bin/sh\nhead -c 100000000 /dev/zero | tr '\\0' x\n").coder(&["-p", "Go"], "");
    assert!(ran.status == 1 && ran.out.len() < 64 << 20, "{} {} {}", ran.status, ran.out.len(), ran.err);
    assert!(began.elapsed() < Duration::from_secs(120));

    // The program closes stdin and ignores a question of 1 MiB.
    let ran = Place::new("#!/bin/sh\nexec <&-; sleep 0.2; echo Yes.\n").coder(&["-p", "Go"], &"words ".repeat(180_000));
    assert_eq!((ran.status, ran.out.trim()), (0, "Yes."), "{}", ran.said());
    let ran = Place::new("#!/bin/sh\nwc -c\n").coder(&["-p", "Go"], &"words ".repeat(180_000));
    assert!(ran.out.trim().parse::<u64>().unwrap() > 1_080_000, "{}", ran.said());
    // Background processes of the program are killed, and `coder` does not wait long for them.
    let began = Instant::now();
    let ran = Place::new("#!/bin/sh\nsetsid sleep 600.25 & echo Yes.\n").coder(&["-p", "Go"], "");
    assert!(ran.out.trim() == "Yes." && began.elapsed() < Duration::from_secs(60), "{}", ran.said());
    assert!(ends("sleep 600.25"));
}

/// Returns whether the process ends within ten seconds.
fn ends(process: &str) -> bool {
    let runs = || {
        let is_called = |entry: std::fs::DirEntry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").contains(process)
        };
        std::fs::read_dir("/proc").unwrap().flatten().any(is_called)
    };
    let began = Instant::now();
    while runs() && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    !runs()
}

/// Killing `coder` in the middle of a reply, even with KILL, ends the program and its children.
#[test]
fn killing_coder_ends_the_program() {
    for (number, signal) in ["KILL", "TERM", "INT"].into_iter().enumerate() {
        if signal == "INT" && crate::support::is_ignored(signal) {
            continue;
        }
        let sleep = format!("sleep 60.{}{number}", std::process::id());
        let place = Place::new(&format!("#!/bin/sh\necho Well.\nsetsid {sleep} &\n{sleep}\n"));
        let mut child = Command::new(CODER)
            .args(["--command", "~/bridge", "-p", "Go"])
            .env("HOME", &place.home)
            .env("XDG_CONFIG_HOME", place.home.join("config"))
            .env("XDG_STATE_HOME", place.home.join("state"))
            .current_dir(&place.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The end of a line is held back until more text follows.
        let mut shown = [0; 5];
        child.stdout.as_mut().unwrap().read_exact(&mut shown).unwrap();
        assert_eq!(&shown, b"Well.");
        let began = Instant::now();
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        child.wait().unwrap();
        assert!(ends(&sleep), "{signal} leaves {sleep} running");
        assert!(began.elapsed() < Duration::from_secs(30), "it was in the middle of the reply");
    }
}

/// A shell can parse all examples, and the one for any web chat works without changes.
#[test]
fn the_examples_are_scripts() {
    let folder = toolfence_kit::root().join("examples/backends");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "sh") {
            seen += 1;
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o111, 0o111, "{}", path.display());
            assert!(Command::new("bash").arg("-n").arg(&path).status().unwrap().success(), "{}", path.display());
        }
    }
    assert!(seen >= 3, "{seen} scripts are found");
}

/// Fake `llm`, `ollama` and `geminiweb` programs record the arguments and input that the example scripts pass.
#[test]
fn the_examples_talk_with_their_programs() {
    let place = Place::new("");
    let bin = place.home.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let examples = toolfence_kit::root().join("examples/backends");
    // The last argument is the database.
    let llm = "#!/usr/bin/env bash\nprintf '%s|' \"$@\" >>\"$HOME/args\"; echo >>\"$HOME/args\"\n\
               touch \"${!#}\"; cat >\"$HOME/input\"; echo Yes.\n";
    let plain = "#!/usr/bin/env bash\nprintf '%s|' \"$@\" >>\"$HOME/args\"; echo >>\"$HOME/args\"\ncat >\"$HOME/input\"\n\
                 printf '\\033[?25lYes.\\n'\n";
    for (name, text) in [("llm", llm), ("ollama", plain), ("geminiweb", plain)] {
        script(&bin.join(name), text);
    }
    let search_path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run = |script: &str, args: &[&str]| {
        let _ = std::fs::remove_file(place.home.join("args"));
        let line = examples.join(script).display().to_string();
        let start = ["--command", &line, "--model", "tiny"];
        let ran = Program::new(CODER, &place.home)
            .env("PATH", &search_path)
            .args(&[&start, args].concat())
            .run(&place.root, "First?\nSecond?\n");
        assert!(ran.status == 0 && ran.out.matches("Yes.").count() == 2, "{script}: {}", ran.said());
        (place.read("args"), place.read("input"))
    };
    let (args, input) = run("llm.sh", &["--command-conversation", "own"]);
    let lines: Vec<&str> = args.lines().collect();
    assert!(lines[0].starts_with("prompt|-m|tiny|-d|"), "{args}");
    assert!(lines[1].starts_with("prompt|-c|-d|") && lines[1].ends_with(".db|"), "{args}");
    assert_eq!(input, "Second?\n");
    let (args, input) = run("ollama.sh", &[]);
    assert!(args.starts_with("run|") && args.contains("tiny"), "{args}");
    assert!(input.contains("--- assistant ---\nYes.\n") && input.ends_with("Second?\n"), "{input}");
    let (args, input) = run("geminiweb.sh", &[]);
    assert!(args.starts_with("-m|tiny|"), "{args}");
    assert!(input.contains("First?") && input.ends_with("Second?\n"), "{input}");
}

/// The bridge template continues its chat, and starts a new one after that chat was removed.
#[test]
fn the_bridge_example_works_unchanged() {
    let place = Place::new("");
    let line = toolfence_kit::root().join("examples/backends/web_chat.sh").display().to_string();
    let run = |args: &[&str]| {
        let start = ["--command", &line, "--command-conversation", "own", "--instructions", "external"];
        place.run(CODER, &[&start, args].concat(), "").out
    };
    assert_eq!(run(&["-p", "First?"]).trim(), "This chat has 1 lines.");
    // The input includes a note that the conversation was resumed.
    let lines = |out: String| out.trim().split(' ').nth(3).unwrap().parse::<usize>().unwrap();
    let more = lines(run(&["--continue", "-p", "Second?"]));
    assert!((2..6).contains(&more), "{more}");
    std::fs::remove_dir_all(place.home.join("state/toolfence-web-chat")).unwrap();
    assert_eq!(run(&["--continue", "-p", "Third?"]), "", "its chat is gone");
    assert!(lines(run(&["--continue", "-p", "Fourth?"])) > more, "it gets everything");
}
