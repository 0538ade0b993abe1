//! Tests `coder` with pipes instead of a terminal, so it cannot ask questions.

use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use toolfence_kit::{Program, Ran};
use toolfence_protocol::format::read_back;
use toolfence_protocol::{ErrorCode, ToolResult};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

/// Two valid calls. One call is quoted in a longer fence and one in a block quote, so neither counts. The content of
/// one file contains a fence.
const REPLY: &str = r#"I will look, then write.

```tool
{"name": "list_files", "args": {}}
```

To call a tool, write this:

````markdown
```tool
{"name": "bash", "args": {"command": "touch quoted"}}
```
````

> ```tool
> {"name": "bash", "args": {"command": "touch quote"}}
> ```

```tool
{"name": "write_file", "args": {"path": "docs/a.md", "content": "<<EOF"}}
# Title
```sh
make
```
EOF
```

Done.
"#;

const WRITTEN: &str = "# Title\n```sh\nmake\n```\n";

/// Parses the JSON lines of an output.
fn lines_of(ran: &Ran) -> Vec<Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// Parses the results in an output.
fn results_of(ran: &Ran) -> Vec<ToolResult> {
    read_back(&ran.out, None)
}

fn coder(root: &Path, args: &[&str], input: &str) -> Ran {
    // Keeps the log out of the project, whose files the tests count.
    Program::new(CODER, Path::new(env!("CARGO_TARGET_TMPDIR"))).args(args).run(root, input)
}

fn root() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn count_files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn codes(results: &[ToolResult]) -> Vec<Option<ErrorCode>> {
    results.iter().map(|result| result.error.as_ref().map(|error| error.code)).collect()
}

/// Piped input may come from an untrusted source, so a line with `!` does not run as a user command.
#[test]
fn piped_input_runs_no_command() {
    let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let replies = home.path().join("replies");
    std::fs::write(&replies, "%%% reply\nYes.\n").unwrap();
    let args = ["--backend", "replay", "--replies", replies.to_str().unwrap()];
    let program = toolfence_kit::Program::new(env!("CARGO_BIN_EXE_coder"), home.path()).args(&args);
    let ran = program.run(root.path(), "!touch ran\n![image](ran)\n/quit\n");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(!root.path().join("ran").exists() && ran.out.contains("if the input is a terminal"), "{}", ran.said());
}

/// The demo compares the file of its project after each step and ends with status 1 if the file differs.
#[test]
fn the_demo_shows_each_point_by_its_effect() {
    let folder = root();
    let doctor = coder(folder.path(), &["doctor", "--json"], "");
    let doctor: Value = serde_json::from_str(&doctor.out).unwrap();
    let ran = coder(folder.path(), &["demo", "--persona", "reviewer"], "");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let block = "```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"settings.json\",}}\n```\n";
    assert_eq!(ran.out.matches(block).count(), 1, "{}", ran.out);
    let mut rest = ran.out.as_str();
    let mut find = |text: &str| match rest.split_once(text) {
        Some((_, after)) => rest = after,
        None => panic!("{text:?} is not next in {}", ran.out),
    };
    find("→ read_file settings.json  ✓ 4 lines");
    find("not run: the call in the quote");
    find("repaired: trailing_comma");
    find("✗ syntax_error");
    if doctor["holds"] == true {
        find("→ bash $ cat ../private.txt  ✗ status 1");
        find("No such file or directory");
    } else {
        find("Without a sandbox that holds, this demo runs no command");
    }
    if doctor["holds"] == true && doctor["private_copies"]["on"] == true {
        find("You see the diff before it is kept");
    } else {
        find("The change is an edit:");
    }
    find("-  \"retries\": 3,\n");
    find("+  \"retries\": 5,\n");
    find("settings.json: changed back");
    find("coder doctor");
    assert!(!ran.out.contains("private notes") && !ran.out.contains('\x1b'), "{}", ran.out);
    assert_eq!(count_files(folder.path()), 0, "nothing is left where it was started");
}

#[test]
fn without_a_sandbox_the_demo_runs_no_command() {
    let folder = root();
    let ran = coder(folder.path(), &["demo", "--sandbox", "off", "--lang", "pt"], "");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.out.contains("3. Sem um sandbox que resista, esta demo não roda comandos"), "{}", ran.out);
    assert!(!ran.out.contains("→ bash") && ran.out.contains("+  \"retries\": 5,"), "{}", ran.out);
    assert!(ran.out.contains("settings.json: alterado de volta"), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.contains("✗") || line.chars().count() <= 80), "{}", ran.out);
}

#[test]
fn parse_gives_the_same_lines_at_any_chunking() {
    let folder = root();
    let whole = coder(folder.path(), &["parse"], REPLY);
    assert_eq!(whole.status, 0);
    for chunk in ["1", "2", "3", "7", "64"] {
        assert_eq!(coder(folder.path(), &["parse", "--chunk", chunk], REPLY).out, whole.out);
    }
    let lines = lines_of(&whole);
    assert!(lines.iter().all(|line| line["v"] == 1));
    let calls: Vec<&Value> = lines.iter().filter(|line| line["event"] == "call").collect();
    assert_eq!(calls.len(), 2);
    assert_eq!((&calls[0]["name"], &calls[1]["args"]["content"]), (&"list_files".into(), &WRITTEN.into()));
    let ignored: Vec<&Value> =
        lines.iter().filter(|line| line["event"] == "ignored").map(|line| &line["why"]).collect();
    assert_eq!(ignored, ["outer_fence", "quote"]);
}

#[test]
fn parse_reads_batches_and_explains() {
    let folder = root();
    let broken = "```tool\n{\"name\": \"x\",}\n```\n";
    let batch = [
        serde_json::json!({"id": 1, "text": REPLY, "chunk": 1}),
        serde_json::json!({"id": "cut", "text": "```tool\n{\"name\"", "finish": "length"}),
    ];
    let input = batch.map(|line| line.to_string()).join("\n");
    let lines = lines_of(&coder(folder.path(), &["parse", "--batch"], &input));
    assert_eq!((&lines[0]["id"], &lines[1]["id"]), (&1.into(), &"cut".into()));
    assert_eq!(lines[0]["events"].as_array().unwrap().iter().filter(|event| event["event"] == "call").count(), 2);
    assert_eq!(lines[1]["events"][0]["event"], "incomplete");

    let explained = coder(folder.path(), &["parse", "--explain"], broken);
    assert!(explained.out.contains("trailing_comma (lossless)"), "{}", explained.out);
    let strict = lines_of(&coder(folder.path(), &["parse", "--strict"], broken));
    assert_eq!(strict[0]["event"], "malformed");
    let shown = lines_of(&coder(folder.path(), &["parse", "--progress"], REPLY));
    assert!(["started", "progress"].iter().all(|wanted| shown.iter().any(|line| line["event"] == *wanted)));
    let dialect = "<function=bash>\n<parameter=command>make";
    let shown = lines_of(&coder(folder.path(), &["parse", "--progress", "--finish", "cut"], dialect));
    let kinds: Vec<_> = shown.iter().map(|line| line["event"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["started", "incomplete"], "a call in a dialect is announced by its name");
}

/// `coder parse --explain` names the dialect of each call and why a call is ignored.
#[test]
fn parse_explains_dialects_and_ignored_calls() {
    let folder = root();
    let call = "{\"name\": \"list_files\", \"args\": {}}";
    for (reply, said) in [
        (format!("<tool_call>\n{call}\n</tool_call>"), "in the dialect hermes; "),
        (format!("> ```tool\n> {call}\n> ```"), "it is inside a block quote"),
        (format!("````\n```tool\n{call}\n```\n````"), "it is inside another fence"),
        (format!("<div>\n```tool\n{call}\n```\n</div>"), "it is inside HTML"),
        (format!("So:\n\n    ```tool\n    {call}\n    ```"), "it is indented by four columns or more"),
        (format!("```json\n{}\n```\n", call.replace("name", "tool")), "the info word of its fence is not `tool`"),
        (format!("So:\n{call}\nYes."), "it is in no fence"),
        (format!("So: [f(a=1)] ```tool\n{call}\n```"), "there is text before it on its line"),
        (format!("```tool\n{call}\n```\n</think>\nNo."), "it is in the reasoning"),
    ] {
        let ran = coder(folder.path(), &["parse", "--explain"], &reply);
        assert!(ran.out.contains(said), "{said}: {}", ran.out);
    }
    let output = coder(folder.path(), &["parse", "--help"], "").out;
    assert!(toolfence_protocol::Dialect::ALL.iter().all(|dialect| output.contains(dialect.name())), "{output}");
}

/// The prompt describes the dialect, and a reply in that dialect is parsed as a call.
#[test]
fn the_prompt_describes_the_named_dialect() {
    let folder = root();
    let output = coder(folder.path(), &["prompt", "--dialect", "hermes"], "").out;
    assert!(output.contains("<tool_call>\n{\"name\": \"") && !output.contains("```tool\n"), "{output}");
    let from = output.find("<tool_call>").unwrap();
    let call = &output[from..output.find("</tool_call>").unwrap() + "</tool_call>".len()];
    let ran = coder(folder.path(), &["exec"], call);
    assert_eq!(codes(&results_of(&ran)), [Some(ErrorCode::NotFound)], "it is run: {}", ran.out);
    let json = coder(folder.path(), &["prompt", "--dialect", "hermes", "--format", "json", "--lang", "pt"], "").out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["dialect"] == "hermes" && json["text"].as_str().unwrap().contains("no início de uma linha"), "{json}");
    for name in ["pythonic", "qwen3_coder", "nobody"] {
        let refused = coder(folder.path(), &["prompt", "--dialect", name], "");
        assert!(refused.status == 2 && refused.err.contains("hermes, llama, mistral"), "{}", refused.err);
    }
    let help = coder(folder.path(), &["prompt", "--help"], "").out;
    assert!(toolfence_protocol::Dialect::ALL.iter().all(|dialect| help.contains(dialect.name())), "{help}");
    assert!(help.contains("--dialects NAMES") && help.contains("--dialect NAME"), "{help}");
}

#[test]
fn a_bad_line_of_a_batch_is_answered_in_its_place() {
    let folder = root();
    for (args, good) in [(&["parse", "--batch"][..], "text"), (&["policy", "explain", "--batch"], "command")] {
        let line = |id: u32| format!("{{\"id\":{id},\"{good}\":\"ls\"}}\n");
        let input = format!("\u{feff}{}{{}}\nnothing\n{{\"id\":7}}\n\n{}", line(1), line(2));
        let ran = coder(folder.path(), args, &input);
        let lines = lines_of(&ran);
        let ids: Vec<&Value> = lines.iter().map(|line| &line["id"]).collect();
        assert_eq!((ran.status, ids), (1, vec![&1.into(), &Value::Null, &Value::Null, &7.into(), &2.into()]));
        assert!(lines.iter().all(|line| line["v"] == 1));
        let wrong: Vec<bool> = lines.iter().map(|line| line["error"].is_string()).collect();
        assert_eq!(wrong, [false, true, true, true, false]);
        assert!(lines[1]["error"].as_str().unwrap().starts_with("line 2: "));
    }
    let ran = coder(folder.path(), &["parse", "--batch"], "{\"id\":1,\"text\":\"\",\"chunk\":0}\n");
    assert_eq!((ran.status, &lines_of(&ran)[0]["id"]), (1, &1.into()));
    assert!(ran.out.contains("at least 1"), "{}", ran.out);
}

#[test]
fn exec_runs_only_valid_calls() {
    let folder = root();
    let ran = coder(folder.path(), &["exec", "--yes"], REPLY);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let results = results_of(&ran);
    assert_eq!(results.iter().map(|result| result.tool.as_str()).collect::<Vec<_>>(), ["list_files", "write_file"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("docs/a.md")).unwrap(), WRITTEN);
    assert_eq!(count_files(folder.path()), 1, "no quoted call ran");
}

/// The chat template opened the reasoning block. The call inside it does not run, and the call after it does.
#[test]
fn exec_runs_no_call_of_the_reasoning() {
    let call =
        |command: &str| format!("```tool\n{{\"name\": \"bash\", \"args\": {{\"command\": \"{command}\"}}}}\n```\n");
    let reply = format!("I could call\n{}but no.\n</think>\n\n{}", call("touch ran.txt"), call("touch meant.txt"));
    for (how, thought) in [("unknown", false), ("opened", false), ("known", true)] {
        let folder = root();
        coder(folder.path(), &["exec", "--yes", "--reasoning", how], &reply);
        let there = |name: &str| folder.path().join(name).exists();
        assert_eq!((there("ran.txt"), there("meant.txt")), (thought, true), "{how}");
    }
    let folder = root();
    coder(folder.path(), &["exec", "--yes"], &reply);
    assert!(!folder.path().join("ran.txt").exists() && folder.path().join("meant.txt").exists(), "by default");
}

#[test]
fn exec_without_a_terminal_denies_calls_that_need_approval() {
    let folder = root();
    let reply = format!("{REPLY}\n```tool\n{{\"name\": \"bash\", \"args\": {{\"command\": \"touch x\"}}}}\n```\n");
    let ran = coder(folder.path(), &["exec"], &reply);
    assert_eq!(ran.status, 1);
    assert_eq!(codes(&results_of(&ran)), [None, Some(ErrorCode::Denied), Some(ErrorCode::Cancelled)], "{}", ran.out);
    assert_eq!(count_files(folder.path()), 0, "a refused call leaves every byte");
}

#[test]
fn exec_as_json_answers_broken_blocks_too() {
    let folder = root();
    let reply = "```tool\n{\"name\": }\n```\n\n```tool\n{\"name\": \"search\"}\n```\n";
    let ran = coder(folder.path(), &["exec", "--json"], reply);
    assert_eq!(ran.status, 1);
    let lines = lines_of(&ran);
    assert!(lines.iter().all(|line| line["event"] == "result" && line["v"] == 1 && line["success"] == false));
    let codes: Vec<&Value> = lines.iter().map(|line| &line["error"]["code"]).collect();
    assert_eq!(codes, ["malformed_call", "invalid_argument"]);
}

#[test]
fn exec_explain_lists_repairs_and_ignored_calls() {
    let folder = root();
    let reply = "```tool\n{'name': 'list_files', 'args': {}}\n```\n\n> ```tool\n> {\"name\": \"bash\", \"args\": {}}\n> ```\n\n\
                 ```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"no\u{1b}[31m\"}}\n```\n";
    let ran = coder(folder.path(), &["exec", "--explain"], reply);
    assert_eq!(codes(&results_of(&ran)), [None, Some(ErrorCode::InvalidArgument)]);
    for said in [
        "repaired: quotes (lossless)",
        "does not count: it is inside a block quote",
        "running    call_1: list_files",
        "answered   call_1: done",
    ] {
        assert!(ran.err.contains(said), "{said}: {}", ran.err);
    }
    assert!(!ran.err.contains('\u{1b}') && !ran.out.contains("repaired"), "{}", ran.err);
}

#[test]
fn exec_of_plain_text_runs_nothing() {
    let folder = root();
    let ran = coder(folder.path(), &["exec"], "There is nothing to do.");
    assert_eq!((ran.status, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("no call"), "{}", ran.err);
    let meant = coder(folder.path(), &["exec"], "```json\n{\"tool\": \"list_files\", \"args\": {}}\n```\n");
    assert_eq!(meant.status, 1, "a call in the wrong fence was meant to run");
    assert!(meant.out.contains("```tool") && results_of(&meant).is_empty(), "{}", meant.out);
    let meant = coder(folder.path(), &["exec", "--json"], "```json\n{\"tool\": \"list_files\", \"args\": {}}\n```\n");
    assert_eq!((meant.status, &lines_of(&meant)[0]["event"]), (1, &"ignored".into()));
    assert!(lines_of(&meant)[0]["message"].as_str().unwrap().contains("```tool"), "{}", meant.out);
}

/// `coder exec` runs calls copied from web pages, and calls in the dialects that models were trained on.
#[test]
fn exec_reads_copied_pages_and_trained_dialects() {
    let folder = root();
    std::fs::write(folder.path().join("a.txt"), "hello\n").unwrap();
    let read = r#"{"name": "read_file", "arguments": {"path": "a.txt"}}"#;
    for reply in [
        format!("<tool_call>\n{read}\n</tool_call>"),
        format!("[TOOL_CALLS][{read}]"),
        "<function=read_file>{\"path\": \"a.txt\"}</function>".to_owned(),
        read.to_owned(),
        "tool\nCopy code\n{\"name\": \"read_file\", \"args\": {\"path\": \"a.txt\"}}".to_owned(),
        "```read_file\n{\"path\": \"a.txt\"}\n```".to_owned(),
    ] {
        let ran = coder(folder.path(), &["exec"], &reply);
        assert_eq!((ran.status, codes(&results_of(&ran))), (0, vec![None]), "{reply}: {}", ran.out);
        let refused = coder(folder.path(), &["exec", "--dialects", "none"], &reply);
        assert!(results_of(&refused).is_empty(), "{reply}: {}", refused.out);
    }
    let body = "{\"name\": \"write_file\", \"args\": {\"path\": \"b.md\", \"content\": \"<<EOF\"}}\n# Title\nEOF\n";
    let copied = coder(folder.path(), &["exec", "--yes"], body);
    assert_eq!(copied.status, 1);
    assert!(copied.err.contains("copy the whole message"), "{}", copied.err);
    assert!(!folder.path().join("b.md").exists());
    let bare = coder(folder.path(), &["exec", "--yes", "--bare"], body);
    assert_eq!(bare.status, 0, "{}", bare.out);
    assert_eq!(std::fs::read_to_string(folder.path().join("b.md")).unwrap(), "# Title\n");
    let unknown = coder(folder.path(), &["exec", "--dialects", "hermes,elvish"], "x");
    assert_eq!(unknown.status, 2);
    assert!(unknown.err.contains("no dialect \"elvish\"") && unknown.err.contains("qwen3_coder"), "{}", unknown.err);
}

#[test]
fn parse_accepts_tools_and_dialects() {
    let folder = root();
    let tools = r#"[{"type": "function", "function": {"name": "fly", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}}]"#;
    std::fs::write(folder.path().join("tools.json"), tools).unwrap();
    let reply = r#"{"name": "fly", "arguments": {"to": "Rio"}}"#;
    let event = |ran: &Ran| lines_of(ran)[0].clone();
    assert_eq!(event(&coder(folder.path(), &["parse"], reply))["event"], "text");
    let known = event(&coder(folder.path(), &["parse", "--tools", "tools.json"], reply));
    assert_eq!((&known["event"], &known["dialect"]), (&"call".into(), &"bare_json".into()));
    let line = format!("{{\"id\": 1, \"text\": {reply:?}, \"tools\": {tools}}}\n");
    let batch = event(&coder(folder.path(), &["parse", "--batch"], &line));
    assert_eq!(batch["events"][0]["name"], "fly", "{batch}");
    let wrong = coder(folder.path(), &["parse", "--tools", "tools.json", "--dialects", "none"], reply);
    assert_eq!(event(&wrong)["event"], "text");
    std::fs::write(folder.path().join("bad.json"), "{}").unwrap();
    let bad = coder(folder.path(), &["parse", "--tools", "bad.json"], reply);
    assert!(bad.status == 2 && bad.err.contains("bad.json"), "{}", bad.err);
}

#[test]
fn one_shot_prints_prose_to_stdout_and_calls_to_stderr() {
    let folder = root();
    let replies = "%%% reply\nLooking.\n\n```tool\n{\"name\": \"list_files\"}\n```\n%%% reply\nOne file: replies.txt\n";
    std::fs::write(folder.path().join("replies.txt"), replies).unwrap();
    let replay = ["--backend", "replay", "--replies", "replies.txt"];
    let ran = coder(folder.path(), &[&["-p", "list the files"], &replay[..]].concat(), "");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(ran.out, "Looking.\n\nOne file: replies.txt\n");
    assert!(ran.err.contains("→ list_files  ✓ "), "{}", ran.err);

    let talked = coder(folder.path(), &replay, "/help\nlist the files\n/nonsense\n/quit\n");
    assert_eq!(talked.status, 0);
    for shown in ["/quit", "→ list_files", "One file: replies.txt", "There is no command /nonsense"] {
        assert!(talked.out.contains(shown), "{shown} in {}", talked.out);
    }
}

/// Runs `coder -p` with these replies.
fn asked(replies: &str) -> Ran {
    let folder = root();
    std::fs::write(folder.path().join("replies"), replies).unwrap();
    coder(folder.path(), &["--backend", "replay", "--replies", "replies", "-p", "go"], "")
}

#[test]
fn json_of_blocks_that_do_not_run_is_not_shown() {
    let block = "```tool\n{\"name\": \"list_files\", \"args\": {}}\n```\n";
    let glued = asked(&format!("%%% reply\nI look. {block}Then more.\n%%% reply\nDone.\n"));
    assert_eq!(glued.out, "I look.\n\nThen more.\n\nDone.\n", "{}", glued.err);
    assert!(glued.err.contains("! a tool block that does not begin a line does not count"), "{}", glued.err);
    let prose = asked("%%% reply\nWrite this: ```tool\nand so on.\n%%% reply\nDone.\n");
    assert!(prose.out.contains("Write this: ```tool\nand so on.\n"), "{}", prose.out);

    let folder = root();
    let broken = "```tool\n{\"name\": [\n```\n";
    let replies = format!("%%% reply\n{block}%%% reply\nLast: look.\n\n{block}{broken}Over.\n");
    std::fs::write(folder.path().join("replies"), replies).unwrap();
    let replay = ["--backend", "replay", "--replies", "replies", "--limit", "rounds=1", "-p", "go"];
    let last = coder(folder.path(), &replay, "");
    assert_eq!(last.out.trim_start(), "Last: look.\n\nOver.\n", "{}", last.err);
    assert_eq!(last.err.matches("! a call after the last round does not run").count(), 2, "{}", last.err);
    let last = coder(folder.path(), &[&["--lang", "pt"], &replay[..]].concat(), "");
    assert!(last.err.contains("! uma chamada depois da última rodada não é executada"), "{}", last.err);
}

#[test]
fn a_broken_call_is_not_named_like_another() {
    let call = |rest: &str| format!("%%% reply\n```tool\n{{\"name\": \"{rest}\n```\n");
    let replies =
        call("read_file\", \"args\": {\"path\": \"replies\"}}") + &call("bash\", \"args\": }") + "%%% reply\nNo.\n";
    let shown = asked(&replies).err;
    assert_eq!(shown.matches("→ read_file replies").count(), 1, "{shown}");
    assert!(shown.contains("→ unknown") && shown.contains("  ✗ could not be read: "), "{shown}");
}

#[test]
fn forged_results_and_reminders_are_reported() {
    let forged = asked("%%% reply\nSee:\n```tool_result\n{}\n```\nAll is well.\n%%% reply\nSorry.\n");
    assert!(forged.err.contains("! the model invented a result") && !forged.err.contains("reminded"), "{}", forged.err);
    assert_eq!(forged.out.trim(), "See:\n\nSorry.");
    let meant = "%%% reply\nSee:\n```json\n{\"tool\": \"list_files\", \"args\": {}}\n```\n%%% reply\nNo.\n";
    let reminded = asked(meant).err;
    for line in ["! a call in a block of another kind does not count", "! no call in this reply counts"] {
        assert_eq!(reminded.matches(line).count(), 1, "{line} in {reminded}");
    }
}

#[test]
fn a_truncated_answer_exits_with_status_1_and_advice() {
    for (end, wanted, other) in [("length", "length limit", "\0"), ("cut", "ask the model to continue", "limit")] {
        let ran = asked(&format!("%%% reply finish={end}\nHalf of\n"));
        assert_eq!(ran.status, 1);
        assert!(ran.err.contains(wanted) && !ran.err.contains(other), "{end}: {}", ran.err);
    }
}

#[test]
fn a_server_that_fails_in_the_middle_is_quoted() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", server.local_addr().unwrap());
    let said = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut request = [0; 4096];
        assert!(std::io::Read::read(&mut stream, &mut request).unwrap() > 0);
        let events =
            "data: {\"choices\":[{\"delta\":{\"content\":\"Half\"}}]}\n\ndata: {\"error\":\"out of memory\"}\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(format!("{head}{events}").as_bytes()).unwrap();
        // Closing the socket with unread data would reset the connection and discard the response.
        stream.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
        while matches!(std::io::Read::read(&mut stream, &mut request), Ok(1..)) {}
    });
    let folder = root();
    let ran = coder(folder.path(), &["--base-url", &url, "--model", "default", "-p", "go"], "");
    said.join().unwrap();
    assert_eq!((ran.status, ran.out.as_str()), (1, "Half\n"), "{}", ran.err);
    assert!(ran.err.contains("! the reply ended early: the server said: out of memory"), "{}", ran.err);
}

#[test]
fn every_built_in_tool_is_listed_and_in_the_prompt() {
    let folder = root();
    let tools = lines_of(&coder(folder.path(), &["tools", "--json"], ""));
    let names: Vec<&str> =
        tools[0]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    let builtins: Vec<&str> = toolfence_policy::toolset::builtins().iter().map(|spec| &*spec.name).collect();
    assert_eq!(names, builtins, "every tool of the table is in the toolbox");
    let output = coder(folder.path(), &["prompt"], "");
    let listed = coder(folder.path(), &["tools"], "");
    for name in &names {
        assert!(output.out.contains(&format!("- `{name}(")) && listed.out.contains(&format!("{name}(")));
    }
    let reviewer = coder(folder.path(), &["prompt", "--persona", "reviewer"], "");
    assert!(reviewer.out.contains("`read_file(") && !reviewer.out.contains("`write_file("));
    let portuguese = lines_of(&coder(folder.path(), &["prompt", "--lang", "pt", "--format", "json"], ""));
    assert!(portuguese[0]["text"].as_str().unwrap().contains("Ferramentas"));
}

#[test]
fn the_policy_is_explained() {
    let folder = root();
    let explain = |args: &[&str], input: &str| coder(folder.path(), &[&["policy", "explain"], args].concat(), input);
    let denied = lines_of(&explain(&["--json", "ls; rm -rf /"], ""));
    assert_eq!((&denied[0]["verdict"], &denied[0]["effective"]), (&"deny".into(), &"deny".into()));
    assert_eq!(denied[0]["commands"], serde_json::json!(["ls", "rm -rf /"]));
    let explained = explain(&["ls; mkdir m; rm -rf /; mkfs x"], "").out;
    for line in [
        "deny, by the rule blocked_command: ",
        "  command  mkdir m\n",
        "  also     deny, by ",
        "* risky      it does not run\n",
    ] {
        assert!(explained.contains(line), "{line} in {explained}");
    }
    let read = lines_of(&explain(&["--json", "--tool", "read_file", "--args", "{\"path\":\"x\"}"], ""));
    assert!(read[0]["met"].as_array().unwrap().iter().any(|met| met["rule"] == "read"), "{read:?}");
    let batch = lines_of(&explain(
        &["--batch"],
        "{\"id\":7,\"command\":\"ls\"}\n{\"id\":8,\"command\":\"mkdir /dev/../..; mkfs x\"}\n",
    ));
    assert_eq!((&batch[0]["id"], &batch[0]["verdict"]), (&7.into(), &"allow".into()));
    assert_eq!((&batch[1]["id"], &batch[1]["verdict"]), (&8.into(), &"deny".into()));
    let tool = explain(&["--tool", "write_file", "--args", "{\"path\":\".env\",\"content\":\"\"}"], "");
    assert!(tool.out.starts_with("deny, by the rule blocked_path: "), "{}", tool.out);
}

#[test]
fn grammars_cover_all_tools_or_the_named_ones() {
    let folder = root();
    let printed = |args: &[&str]| {
        let ran = coder(folder.path(), args, "");
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{args:?}");
        ran.out
    };
    let all = printed(&["grammar"]);
    assert!(all.starts_with("root ::= prose turn{0,8}\n"), "{all}");
    assert!(
        toolfence_policy::toolset::builtins().iter().all(|spec| all.contains(&format!("\\\"{}\\\"", spec.name))),
        "{all}"
    );
    let lazy = printed(&["grammar", "--format", "lazy", "--tool", "bash", "--tool", "grep"]);
    assert!(
        lazy.starts_with("root ::= turn turn{0,7}\n") && lazy.contains("call ::= call-bash | call-search\n"),
        "{lazy}"
    );
    let schema = printed(&["grammar", "--format", "schema", "--tool", "bash"]);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema.pointer("/oneOf/0/properties/name/const"), Some(&"bash".into()));
    assert_eq!(schema.pointer("/oneOf/0/properties/args/required"), Some(&serde_json::json!(["command"])));
}

#[test]
fn invalid_arguments_exit_with_status_2_and_advice() {
    let folder = root();
    for (args, input, wanted) in [
        (&["--nonsense"][..], "", "--nonsense"),
        (&["parse", "--chunk", "0"], "", "at least 1"),
        (&["tools", "--root", "missing"], "", "--root"),
        (&["tools", "--persona", "nobody"], "", "coder, explainer, reviewer, small"),
        (&["--backend", "replay"], "", "--replies FILE"),
        (&["--backend", "provider"], "", "--model"),
        (&["policy", "explain"], "", "COMMAND"),
        (&["policy", "explain", "--tool", "bash", "--args", "["], "", "--args"),
        (&["-p", "x", "tools"], "", "-p"),
        (&["grammar", "--tool", "nothing"], "", "the tools are read_file, "),
    ] {
        let ran = coder(folder.path(), args, input);
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(wanted), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_closed_output_pipe_is_no_error() {
    let lines = "for i in $(seq 20000); do echo '{\"id\":'$i',\"text\":\"x\"}'; done";
    let script = format!("{lines} | '{CODER}' parse --batch | head -n 1 | wc -l; echo \"${{PIPESTATUS[1]}}\"");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(out.split_whitespace().collect::<Vec<_>>(), ["1", "0"]);
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(!err.contains("panicked") && !err.contains("coder"), "{err}");
}

#[test]
fn messages_use_the_language_of_the_option_or_the_setting() {
    let folder = root();
    let call = "%%% reply\n```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"touch x\"}}\n```\n%%% reply finish=length\nMeia\n";
    std::fs::write(folder.path().join("replies"), call).unwrap();
    let replay = ["--backend", "replay", "--replies", "replies", "-p", "vai"];
    let ran = coder(folder.path(), &[&["--lang", "pt"], &replay[..]].concat(), "");
    assert_eq!(ran.status, 1);
    for message in
        ["É preciso o sim de uma pessoa, e não há terminal onde perguntar.", "a resposta para no limite de tamanho"]
    {
        assert!(ran.err.contains(message), "{message}: {}", ran.err);
    }
    let ran = coder(folder.path(), &["--lang", "pt", "-p", "x", "tools"], "");
    assert!(ran.status == 2 && ran.err.starts_with("coder: -p serve para uma pergunta avulsa"), "{}", ran.err);
    let home = root();
    let settings = home.path().join("config/toolfence");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("config.toml"), "lang = \"pt\"\n").unwrap();
    let set = |args: &[&str]| Program::new(CODER, home.path()).args(args).run(folder.path(), "");
    let ran = set(&replay);
    assert!(ran.status == 1 && ran.err.contains("a resposta para no limite de tamanho"), "{}", ran.err);
    assert!(
        set(&["--help"]).out.contains("Uso: coder") && set(&["--help", "--lang", "en"]).out.contains("Usage: coder")
    );
    // Without an option or a setting, the environment determines the language.
    let ran = |args: &[&str], variables: &[(&str, &str)]| {
        let program = Program::new(CODER, Path::new(env!("CARGO_TARGET_TMPDIR"))).args(args).env("LC_ALL", "");
        variables.iter().fold(program, |program, (name, value)| program.env(name, value)).run(folder.path(), "").said()
    };
    for (variables, portuguese) in [
        (&[("LANG", "pt_BR.UTF-8")][..], true),
        (&[("LC_MESSAGES", "pt"), ("LANG", "C")], true),
        (&[("LC_ALL", "C"), ("LANG", "pt_BR.UTF-8")], false),
        (&[("LANG", "fr_FR.UTF-8")], false),
    ] {
        let output = ran(&replay, variables);
        assert_eq!(output.contains("a resposta para no limite de tamanho"), portuguese, "{variables:?}: {output}");
        let output = ran(&["--help"], variables);
        assert_eq!(output.contains("Uso: coder"), portuguese, "{variables:?}: {output}");
        let output = ran(&["--fo"], variables);
        assert_eq!(output.contains("argumento inesperado --fo"), portuguese, "{variables:?}: {output}");
    }
    let lang = &[("LANG", "pt_BR.UTF-8")];
    let shown = ran(&["config", "show"], lang);
    let rows = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    assert!(rows.into_iter().any(|row| row == ["lang", "pt", "LANG"]), "{shown}");
    assert!(ran(&["config", "show", "--json"], lang).contains("{\"layer\":\"environment\",\"name\":\"LANG\""));
    assert!(ran(&[&["--lang", "en"], &replay[..]].concat(), lang).contains("the answer reached the length limit"));
    assert!(ran(&["--help", "--lang", "en"], lang).contains("Usage: coder"));
    let own = Program::new(CODER, home.path()).env("LC_ALL", "pt_BR.UTF-8").args(&replay);
    std::fs::write(settings.join("config.toml"), "lang = \"en\"\n").unwrap();
    assert!(own.run(folder.path(), "").err.contains("the answer reached the length limit"), "a setting counts over it");
    let ran = set(&[&["--lang", "en"], &replay[..]].concat());
    assert!(ran.err.contains("the answer reached the length limit"), "{}", ran.err);
    // Machine-readable output is in English in every language.
    let ran = coder(folder.path(), &["parse", "--batch", "--lang", "pt"], "{}\n");
    assert!(ran.out.contains("line 1: expected "), "{}", ran.out);
}

/// Replays a conversation that reads a long file, is compacted, retries its last message and is cleared.
#[test]
fn a_conversation_is_compacted_retried_and_cleared() {
    let folder = root();
    std::fs::write(folder.path().join("long.txt"), "a line of a long file\n".repeat(400)).unwrap();
    let call = |args: &str| format!("```tool\n{{\"name\": \"read_file\", \"args\": {args}}}\n```\n");
    let replies = [call("{\"path\": \"long.txt\"}"), "Read.\n".into(), "Two.\n".into(), "Three.\n".into()];
    let last = ["Again.\n", "Once more.\n", "Anew.\n"].map(str::to_owned);
    let recording: String = replies.iter().chain(&last).map(|reply| format!("%%% reply\n{reply}")).collect();
    std::fs::write(folder.path().join("recording.txt"), recording).unwrap();
    let replay = ["--backend", "replay", "--replies", "recording.txt"];
    let input = "/retry\n/compact\nread long.txt\n/compact\ntwo\nthree\n/compact\n/compact\n/compact\nsay it again\n/retry\n\
                 /clear\n/retry\nhello\n/quit\n";
    let ran = coder(folder.path(), &replay, input);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    let mut rest = ran.out.as_str();
    for wanted in [
        "> there is no message to send again\n",
        "> this conversation cannot be shortened\n",
        "Read.\n",
        "> compacted from about ",
        ": 1 old output shortened, 0 old messages summed up\n",
        "Three.\n",
        "> compacted from about ",
        ": 0 old outputs shortened, 6 old messages summed up\n",
        "> this conversation cannot be shortened\n",
        "Again.\n",
        "> again: say it again\nOnce more.\n",
        "> a new conversation; ",
        "> there is no message to send again\n",
        "Anew.\n",
    ] {
        let (_, after) = rest.split_once(wanted).unwrap_or_else(|| panic!("{wanted:?} in {rest}"));
        rest = after;
    }
}

#[test]
fn a_persona_that_names_it_has_the_tool_for_json_files() {
    let project = toolfence_kit::Project::new();
    let persona = "+++\nname = \"packager\"\ntools = [\"edit_data\"]\n+++\nYou edit.\n";
    project.file_at_home("packager.md", persona);
    let persona = project.home.join("packager.md");
    let with_persona = |args: &[&str]| {
        let args = [args, &["--persona", persona.to_str().unwrap()]].concat();
        project.run(CODER, &args, "")
    };
    assert!(!project.run(CODER, &["prompt"], "").out.contains("edit_data"));
    let prompt = with_persona(&["prompt", "--lang", "pt"]).out;
    assert!(prompt.contains("edit_data(path, edits[{at, value?, remove?}], dry_run?)"), "{prompt}");
    assert!(prompt.contains("Define ou remove valores") && prompt.contains("\"at\": \"/files/-\""), "{prompt}");

    let text = "{\n  // kept\n  \"version\": \"1.0.0\",\n}\n";
    project.file("package.json", text);
    let edit = |at: &str| {
        let args = serde_json::json!({"path": "package.json", "edits": [{"at": at, "value": "1.1.0"}]});
        format!("```tool\n{}\n```\n", serde_json::json!({"name": "edit_data", "args": args}))
    };
    let replies = project.replies(&[&edit("/version"), &edit("/name/first"), "Done."]);
    let asked = ["--backend", "replay", "--replies", &replies, "-p", "go"];
    let ran = with_persona(&asked);
    assert_eq!((ran.status, project.content("package.json").as_str()), (0, text), "{}", ran.said());
    let ran = with_persona(&[&asked[..], &["--yes"]].concat());
    assert_eq!(project.content("package.json"), text.replace("1.0.0", "1.1.0"), "{}", ran.said());
    assert!(ran.err.contains("/name/first does not exist"), "{}", ran.err);
    let ran = project.run(CODER, &["undo"], "");
    assert_eq!((ran.status, project.content("package.json").as_str()), (0, text), "{}", ran.said());
}

#[test]
fn a_persona_that_names_it_has_the_tool_for_plans() {
    let folder = root();
    let persona = "+++\nname = \"planner\"\ntools = [\"read_file\", \"plan\"]\n+++\nYou plan.\n";
    std::fs::write(folder.path().join("planner.md"), persona).unwrap();
    let plan = |steps: &str| format!("```tool\n{{\"name\": \"plan\", \"args\": {{\"steps\": {steps}}}}}\n```\n");
    let good = plan(
        r#"[{"text": "read it", "status": "completed"}, {"text": "write it", "state": "in progress"}, {"text": "go"}]"#,
    );
    let bad = plan(r#"[{"text": "a", "state": "active"}, {"text": "b", "state": "active"}]"#);
    let exec = ["exec", "--persona", "planner.md", "--results", "data=on"];
    let ran = coder(folder.path(), &exec, &[good.clone(), bad].concat());
    let results = results_of(&ran);
    assert_eq!(codes(&results), [None, Some(ErrorCode::InvalidArgument)], "{}{}", ran.out, ran.err);
    assert!(results[0].output.starts_with("The plan is kept: 1 of 3 steps are done."), "{}", results[0].output);
    assert_eq!(
        results[0].data.as_ref().unwrap()["steps"][1],
        serde_json::json!({"text": "write it", "state": "active"})
    );
    assert!(results[1].error.as_ref().unwrap().message.to_string().contains("2 active steps"));

    let recording = format!("%%% reply\n{good}%%% reply\nSo be it.\n");
    std::fs::write(folder.path().join("recording.txt"), recording).unwrap();
    let replay = ["--backend", "replay", "--replies", "recording.txt", "--persona", "planner.md", "-p", "plan it"];
    let ran = coder(folder.path(), &replay, "");
    assert!(ran.err.contains("    [x] read it\n    [>] write it\n    [ ] go\n"), "{}{}", ran.out, ran.err);

    let again = ["--backend", "replay", "--replies", "recording.txt", "--persona", "planner.md", "--continue"];
    let ran = coder(folder.path(), &again, "/quit\n");
    assert!(ran.out.contains("    [x] read it\n    [>] write it\n    [ ] go\n> "), "{}{}", ran.out, ran.err);

    let ran = coder(folder.path(), &["exec"], &good);
    assert_eq!(codes(&results_of(&ran)), [Some(ErrorCode::UnknownTool)], "nobody else has it");
    let output = coder(folder.path(), &["tools"], "").out;
    assert!(!output.contains("plan("), "{output}");
}

#[test]
fn every_version_option_prints_the_same() {
    let root = TempDir::new().unwrap();
    let said = |args: &[&str]| coder(root.path(), args, "").out;
    // `--version` alone is answered before the command line is parsed. With a second option, the parser prints the
    // version.
    let long = said(&["--debug", "--version"]);
    assert_eq!(long, format!("coder {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!([said(&["--version"]), said(&["-V"])], [long.clone(), long]);
}

#[test]
fn errors_of_the_command_line_use_the_configured_language() {
    let root = TempDir::new().unwrap();
    let output_of = |args: &[&str]| {
        let ran = coder(root.path(), args, "");
        assert!(ran.status == 2 && ran.out.is_empty(), "{args:?}: {ran:?}");
        ran.err
    };
    // Each case has the start of the message in English and in Portuguese.
    let cases: [(&[&str], &str, &str); 13] = [
        (&["--fo"], "unexpected argument --fo", "argumento inesperado --fo"),
        (&["dmo"], "there is no command dmo", "não há nenhum comando dmo"),
        (&["config", "sow"], "did you mean show", "você quis dizer show"),
        (&["--ask", "maybe"], "invalid value \"maybe\" for --ask <ASK>", "valor inválido \"maybe\" para --ask <ASK>"),
        (&["--root"], "--root <DIR> needs a value", "--root <DIR> precisa de um valor"),
        (&["proxy"], "missing arguments: --upstream <URL>", "faltam argumentos: --upstream <URL>"),
        (&["parse", "--chunk", "0"], "expected a whole number of at least 1", "um número inteiro de pelo menos 1"),
        (&["proxy", "--upstream", "http://h", "--max-request", "0"], "from 1 to 1024", "de 1 a 1024"),
        (&["proxy", "--upstream", "http://h", "--origin", "chat.example/x"], "without a path", "sem caminho"),
        (&["proxy", "--upstream", "http://h", "--listen", "x"], "with a port", "com uma porta"),
        (&["audit", "--since", "7w"], "such as 90s or 7d", "como 90s ou 7d"),
        (
            &["--ask", "never", "--ask", "risky"],
            "--ask <ASK> can be given only once",
            "--ask <ASK> só pode ser dado uma vez",
        ),
        (&["undo", "--list", "--dry-run"], "cannot be combined with", "não pode ser combinado com"),
    ];
    for (args, english, portuguese) in cases {
        let (en, pt) = (output_of(args), output_of(&[&["--lang", "pt"], args].concat()));
        assert!(en.starts_with("coder: ") && en.contains(english) && en.contains("Use --help for more."), "{en}");
        assert!(
            pt.starts_with("coder: ") && pt.contains(portuguese) && pt.contains("Use --help para saber mais."),
            "{pt}"
        );
        assert!(!pt.contains("Usage") && !pt.contains("[OPTIONS]") && !pt.contains("[COMMAND]"), "{pt}");
    }
    assert!(output_of(&["undo", "--turn", "1"]).contains("did you mean --turns?"));
    assert!(output_of(&["--ask", "maybe"]).contains("possible values: never, sandboxed, risky, always"));
    let stray = output_of(&["--lang", "pt", "x y", "z"]);
    assert!(stray.contains("Uso: coder") && stray.contains("[COMANDO]"), "{stray}");
    assert!(output_of(&["--fo\u{1b}[31m"]).contains("--fo\\u{1b}[31m"), "nothing that was typed steers the terminal");
}

#[test]
fn help_uses_the_configured_language() {
    let root = TempDir::new().unwrap();
    let help = |args: &[&str]| coder(root.path(), args, "").out;
    for args in [&["--help"][..], &["--lang", "en", "help"], &["--lang"]] {
        assert!(!help(args).contains("Uso:"), "{args:?}");
    }
    assert!(help(&["-h"]).contains("Usage: coder"));
    for args in [&["--lang", "pt", "-h"][..], &["--lang=pt", "help"], &["--help", "--lang", "pt-BR"]] {
        let help = help(args);
        assert!(
            help.contains("Uso: coder") && help.contains("Desfaz o que o último turno alterou"),
            "{args:?}: {help}"
        );
    }
    // Help is printed even if required arguments are missing or the project does not exist.
    let proxy = help(&["proxy", "--lang", "pt", "--help"]);
    assert!(proxy.contains("URL base do servidor") && proxy.contains("[padrão: 127.0.0.1:4141]"), "{proxy}");
    let parse = help(&["parse", "--help", "--lang", "pt", "--root", "/nowhere"]);
    assert!(parse.contains("- cut: O stream foi interrompido"), "{parse}");
}
