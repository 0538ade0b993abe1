//! The program as a person sees it: on a terminal of its own, which `script` of util-linux makes.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const CODER: &str = env!("CARGO_BIN_EXE_coder");
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a line of shell on a terminal, where `$CODER` is the program. `early` is typed at once, `answers` one by one
/// once a question stands there. Gives what the terminal showed.
fn on_a_terminal(root: &Path, line: &str, early: &str, answers: &[&str]) -> String {
    let mut command = Command::new("script");
    command.args(["-qec", line, "/dev/null"]).current_dir(root).env("CODER", CODER).env("NO_COLOR", "1");
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
        let shown = String::from_utf8_lossy(&seen.lock().unwrap()).matches("Run it? [").count();
        if shown > questions {
            questions = shown;
            // The question throws away what comes before it is ready to listen.
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

/// A folder with one call in the file `reply`.
fn with_call(call: &serde_json::Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("reply"), format!("```tool\n{call}\n```\n")).unwrap();
    folder
}

fn bash(command: &str) -> serde_json::Value {
    serde_json::json!({"name": "bash", "args": {"command": command}})
}

#[test]
fn only_what_is_typed_below_the_question_answers_it() {
    for (answer, ran) in [("n not now", false), ("y", true)] {
        let folder = with_call(&bash("touch ran"));
        let shown = on_a_terminal(folder.path(), "sleep 1; \"$CODER\" exec < reply", "y\n", &[answer]);
        assert_eq!(folder.path().join("ran").exists(), ran, "{shown}");
        assert_eq!(shown.contains("The user said no: not now."), !ran, "{shown}");
    }
}
