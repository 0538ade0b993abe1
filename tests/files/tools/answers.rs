//! Tests the exact results that the model gets for calls through the policy and the toolbox.

use super::{Place, picture};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolfence_kit::Tools;
use toolfence_protocol::{ErrorCode, ToolResult};
use toolfence_tools as tools;
use toolfence_tools::CommandRunner;

/// Creates the tools of one conversation, which asks no questions, as with `--yes`.
pub(super) fn tools_on(place: &Place) -> Tools<CommandRunner> {
    let runner = Arc::new(place.runner());
    Tools::new(Arc::clone(&runner), tools::standard(runner))
}

/// Creates the tools of one conversation, including those that only a persona adds.
pub(super) fn complete_tools_on(place: &Place) -> Tools<CommandRunner> {
    let runner = Arc::new(place.runner());
    Tools::new(Arc::clone(&runner), toolfence_tools::complete(&tools::Checks::new(runner)))
}

/// Runs one call in a new conversation.
pub(super) fn run(place: &Place, tool: &str, args: Value) -> ToolResult {
    tools_on(place).run(tool, args)
}

fn output(place: &Place, tool: &str, args: Value) -> String {
    let result = run(place, tool, args);
    assert!(result.success, "{:?}", result.error);
    result.output
}

pub(super) fn failure(place: &Place, tool: &str, args: Value) -> (ErrorCode, String) {
    let error = run(place, tool, args).error.expect("it fails");
    (error.code, error.message.to_string())
}

#[test]
fn read_file_numbers_lines_and_explains_how_to_continue() {
    let place = Place::new();
    place.file("f", "one\r\ntwo\r\n");
    let notes = "[Lines end with CRLF; they are shown as if with LF.]\n";
    assert_eq!(output(&place, "read_file", json!({"path": "f"})), format!("     1\tone\n     2\ttwo\n{notes}"));
    let plain = output(&place, "read_file", json!({"path": "f", "line_numbers": false, "start_line": 2}));
    assert_eq!(plain, format!("two\n{notes}"));
    place.file("empty", "");
    assert_eq!(output(&place, "read_file", json!({"path": "empty"})), "[The file is empty.]\n");
    place.file("long", "x\n".repeat(2003));
    let result = run(&place, "read_file", json!({"path": "long"}));
    let end = "  2000\tx\n[TRUNCATED: showing first 2000 lines, 3 more available]\n[Continue with start_line=2001.]\n";
    assert!(result.output.ends_with(end) && result.truncated);
    assert_eq!(result.data, Some(json!({"path": "long", "start_line": 1, "end_line": 2000, "total_lines": 2003})));
}

#[test]
fn hosts_get_entries_and_matches_as_data() {
    let place = Place::new();
    place.file("src/a.rs", "one\ntwo three\n");
    place.file("b.txt", "three\n");
    place.file("sub/.env", "three\n");
    place.link("b.txt", "link");
    let listed = run(&place, "list_files", json!({"include_hidden": true})).data.expect("it has data");
    let entries = json!([
        {"path": "b.txt", "type": "file", "size": 6},
        {"path": "link", "type": "link"},
        {"path": "src", "type": "folder"},
        {"path": "src/a.rs", "type": "file", "size": 14},
        {"path": "sub", "type": "folder"},
        {"path": "sub/.env", "type": "file", "blocked": true},
    ]);
    assert_eq!(listed, json!({"path": "", "truncated": false, "entries": entries}));
    let found = run(&place, "search", json!({"pattern": "three", "context": 1})).data.expect("it has data");
    let matches = json!([
        {"path": "b.txt", "line": 1, "text": "three"},
        {"path": "src/a.rs", "line": 2, "text": "two three"},
    ]);
    assert_eq!(found, json!({"files_searched": 2, "truncated": false, "matches": matches}));
}

#[test]
fn data_of_listings_and_searches_is_bounded_like_the_text() {
    let place = Place::new();
    for number in 0..300 {
        place.file(&format!("{}{number}", "x".repeat(100)), format!("needle {}\n", "y".repeat(400)));
    }
    for (tool, list, args) in
        [("list_files", "entries", json!({})), ("search", "matches", json!({"pattern": "needle"}))]
    {
        let result = run(&place, tool, args);
        let data = result.data.expect("it has data");
        let count = data[list].as_array().expect("it is a list").len();
        assert_eq!((count < 300, &data["truncated"]), (true, &json!(true)), "{tool}");
        assert!(count >= 50, "{tool}: {count}");
    }
    let runner = Arc::new(place.runner());
    let mut limits = toolfence_protocol::Limits::default();
    limits.output_bytes = 4000;
    let tools = Tools::new(Arc::clone(&runner), tools::standard(runner).with_limits(limits));
    for (tool, args) in [("list_files", json!({})), ("search", json!({"pattern": "needle"}))] {
        let data = tools.run(tool, args).data.expect("it has data");
        assert!(data.to_string().len() < 4200 && data["truncated"] == true, "{tool}: {}", data.to_string().len());
    }
}

#[test]
fn write_file_reports_what_changed() {
    let place = Place::new();
    let result = run(&place, "write_file", json!({"path": "d/f", "content": "one\ntwo\n"}));
    assert_eq!(result.output, "Created d/f (8 bytes, 2 lines).\n");
    let data = result.data.expect("it has data");
    assert_eq!((&data["created"], &data["files_modified"]), (&json!(true), &json!(["d/f"])));
    let result = run(&place, "write_file", json!({"path": "d/f", "content": "one\n2\n"}));
    assert_eq!(result.output, "Wrote d/f (6 bytes, +1 -1 lines).\n");
    let diff = "--- a/d/f\n+++ b/d/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    assert_eq!(result.data.expect("it has data")["diff"], diff);
    let again = run(&place, "write_file", json!({"path": "d/f", "content": "one\n2\n"}));
    assert_eq!(again.output, "d/f has this content already (6 bytes); nothing was written.\n");
}

#[test]
fn list_files_shows_type_and_size() {
    let place = Place::new();
    place.file("src/main.rs", "fn main() {}\n");
    place.file(".env", "KEY=1");
    place.link("src", "link");
    let shown = output(&place, "list_files", json!({"include_hidden": true}));
    assert_eq!(shown, ".env  (blocked)\nlink  (link)\nsrc/\nsrc/main.rs  13 bytes\n");
    for number in 0..201 {
        place.file(&format!("many/{number:03}"), "");
    }
    let result = run(&place, "list_files", json!({"path": "many"}));
    assert!(result.truncated && result.output.contains("\n[TRUNCATED: first 200 items]\n"), "{}", result.output);
}

#[test]
fn file_names_cannot_imitate_other_output() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let names: [&[u8]; 3] = [b"fake  5 bytes\n.env.txt  (blocked)\nx", b"new\nline.txt:1:x", b"caf\xE9.txt"];
    for name in names {
        std::fs::write(place.root.join(std::ffi::OsStr::from_bytes(name)), "hit\n").expect("it can be written");
    }
    let notes = "[A path in double quotes is written with C escapes (\\n is a line feed, \\351 a byte in octal). In a call \
                 give the characters themselves, without the quotes. Use a command to rename a file whose name has a control \
                 character.]\n[A path with bytes that are not UTF-8 cannot be \
                 opened by a tool. Rename it with a command first, or ask the user to.]\n";
    let listed = "\"caf\\351.txt\"  (cannot be opened: the name is not UTF-8)\n\"fake  5 bytes\\n.env.txt  \
                  (blocked)\\nx\"  4 bytes\n\"new\\nline.txt:1:x\"  4 bytes\n";
    assert_eq!(output(&place, "list_files", json!({})), format!("{listed}{notes}"));
    let found =
        "\"caf\\351.txt\":1:hit\n\"fake  5 bytes\\n.env.txt  (blocked)\\nx\":1:hit\n\"new\\nline.txt:1:x\":1:hit\n";
    assert_eq!(output(&place, "search", json!({"pattern": "hit"})), format!("{found}{notes}"));
    let (code, message) = failure(&place, "write_file", json!({"path": "new\nline.txt:1:x", "content": "2\n"}));
    assert!(code == ErrorCode::InvalidArgument && message.contains("write \"new\\\\nline.txt:1:x\""), "{message}");
}

#[test]
fn search_reports_where_it_stopped() {
    let place = Place::new();
    place.file("a", "x\nhit\ny\n");
    assert_eq!(output(&place, "search", json!({"pattern": "hit"})), "a:2:hit\n");
    assert_eq!(output(&place, "search", json!({"pattern": "hit", "context": 1})), "a-1-x\na:2:hit\na-3-y\n");
    assert_eq!(output(&place, "search", json!({"pattern": "none"})), "[No matches in 1 file.]\n");
    place.file("b", "hit\n".repeat(49));
    assert!(!run(&place, "search", json!({"pattern": "hit"})).truncated);
    place.file("c", "hit\n");
    let result = run(&place, "search", json!({"pattern": "hit"}));
    let note = "\n[TRUNCATED: reached limit 50 before completing search]\n";
    assert!(result.truncated && result.output.contains(note), "{}", result.output);
}

#[test]
fn bash_reports_status_and_time() {
    let place = Place::new();
    place.file("sub/f", "");
    assert_eq!(output(&place, "bash", json!({"command": "ls", "cwd": "sub"})), "f\n");
    let result = run(&place, "bash", json!({"command": "echo out; exit 3"}));
    assert_eq!((result.output.as_str(), result.exit_code, result.success), ("out\n", Some(3), false));
    assert_eq!(result.error.expect("it fails").code, ErrorCode::ExitStatus);
    let started = Instant::now();
    let result = run(&place, "bash", json!({"command": "echo first; sleep 71007", "timeout": 1}));
    assert_eq!((result.output.as_str(), result.exit_code), ("first\n", Some(124)));
    assert_eq!(result.error.expect("it fails").code, ErrorCode::Timeout);
    assert!(started.elapsed() < Duration::from_secs(10));
    let (code, message) = failure(&place, "bash", json!({"command": "true", "background": true}));
    assert!(code == ErrorCode::InvalidArgument && message.contains("No sandbox is available here"), "{message}");
    assert_eq!(failure(&place, "bash", json!({"command": "true", "cwd": "none"})).0, ErrorCode::NotFound);
}

#[test]
fn bash_ends_background_processes() {
    let place = Place::new();
    let ended = output(&place, "bash", json!({"command": "sleep 71011 & echo on"}));
    assert_eq!(ended, "on\n[Processes it left running in the background were ended with it.]\n");
    // The supervisor also ends a process that has left the process group.
    let left = output(&place, "bash", json!({"command": "setsid sleep 71012 & echo on"}));
    assert!(left.starts_with("on\n") && !left.contains("may still be running"), "{left}");
}

#[test]
fn a_result_is_never_longer_than_its_limit() {
    let place = Place::new();
    let result = run(&place, "bash", json!({"command": "head -c 1M /dev/zero | tr '\\0' x"}));
    assert!(result.truncated && result.output.len() <= 100_000);
    assert_eq!(result.output_bytes, 1 << 20);
}

#[test]
fn no_tool_leaves_the_root_or_reveals_a_secret() {
    let place = Place::full();
    let before = (picture(&place.root), picture(&place.beside));
    let paths = [
        "../beside/private.txt",
        "up.txt",
        "chain1/private.txt",
        "etc/hosts",
        "/etc/hosts",
        "~/x",
        ".env",
        "notes.txt",
    ];
    for path in paths.into_iter().chain(["innocent.txt", "magic/hosts", "zero", "loop_a", "UPPER/.ENV", ".git/config"])
    {
        let calls = [
            ("read_file", json!({"path": path})),
            ("list_files", json!({"path": path})),
            ("search", json!({"path": path, "pattern": "."})),
            ("write_file", json!({"path": path, "content": "NEW"})),
            ("bash", json!({"command": "true", "cwd": path})),
        ];
        for (tool, args) in calls {
            let result = run(&place, tool, args);
            let allowed = path == ".git/config" && ["read_file", "list_files", "search"].contains(&tool);
            assert!(allowed || !result.success, "{tool} {path}: {result:?}");
            let text = format!("{result:?}");
            assert!(!text.contains("OUTSIDE") && !text.contains("SECRETVALUE"), "{tool} {path}: {text}");
        }
    }
    assert_eq!(before, (picture(&place.root), picture(&place.beside)));
}

/// The message of the patch engine is translated as well, so that no sentence mixes two languages.
#[test]
fn a_refusal_does_not_mix_languages() {
    use toolfence_protocol::Language::Portuguese;
    let place = Place::new();
    place.file("f", "one\n\nthree\n");
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n one\n-two\n three\n*** End Patch\n";
    let cases = [
        (
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Update File: f\n"}),
            "Nada foi alterado: linha 2 do patch: ",
        ),
        ("apply_patch", json!({"patch": patch}), "não foi encontrado."),
        (
            "edit_file",
            json!({"path": "f", "edits": [{"start_line": 9, "end_line": 12, "replacement": ""}]}),
            "não foi alterado: a edição 1 ",
        ),
        ("replace_text", json!({"path": "f", "old": "nowhere", "new": "x"}), "não foi alterado: old não ocorre"),
    ];
    for (tool, args, wanted) in cases {
        let error = run(&place, tool, args).error.expect("it fails");
        let message = error.message.render(Portuguese);
        assert!(message.contains(wanted), "{tool}: {message}");
        for english in [" was ", " the ", " of ", " file ", "lines"] {
            assert!(!message.contains(english), "{tool}: {message}");
        }
    }
    assert_eq!(place.content("f"), "one\n\nthree\n");
}
