//! Tests the program with correct and faulty MCP servers. Each is `tests/data/mcp/server.sh` in one of its modes.

use crate::conversation::{CTRL_D, ENTER, answered, files_below};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use toolfence_kit::{Program, Project, Ran, Screen, made_anew};

const CODER: &str = env!("CARGO_BIN_EXE_coder");
pub(crate) const SERVER: &str = include_str!("../data/mcp/server.sh");

/// A call of the `echo` tool, which most modes of the test server have.
const CALL: &str = "```tool\n{\"name\": \"test.echo\", \"args\": {\"text\": \"hi\"}}\n```\n";

/// A project with a test server in one of its modes. The server is trusted if the program accepts it.
struct Served {
    project: Project,
    /// A folder outside of the project that the server may use.
    shared: PathBuf,
}

impl Served {
    fn new(how: &str) -> Served {
        Served::with(how, "")
    }

    fn with(how: &str, settings: &str) -> Served {
        let project = Project::new();
        let shared = project.beside.join("shared");
        std::fs::create_dir(&shared).unwrap();
        std::fs::write(shared.join("server.sh"), SERVER).unwrap();
        let served = Served { project, shared };
        served.settings(how, settings);
        served.coder(&["mcp", "trust", "--yes"], "");
        served
    }

    fn settings(&self, how: &str, more: &str) {
        let file = self.shared.join("file").display().to_string();
        let script = self.shared.join("server.sh").display().to_string();
        let words = json!(["bash", script, how, file, self.project.root.display().to_string()]);
        let shared = json!([self.shared.display().to_string()]);
        let section = format!("[mcp.test]\ncommand = {words}\npaths = {shared}\n{more}\n");
        self.project.file_at_home("config/toolfence/config.toml", section);
    }

    fn coder(&self, args: &[&str], input: &str) -> Ran {
        Program::new(CODER, &self.project.home).args(args).run(&self.project.root, input)
    }

    /// Runs calls of `test.echo` with these arguments and returns the results.
    fn calls(&self, all: &[Value]) -> Vec<Value> {
        let blocks: Vec<String> =
            all.iter().map(|args| format!("```tool\n{}\n```\n", json!({"name": "test.echo", "args": args}))).collect();
        let ran = self.coder(&["exec", "--json", "--yes"], &blocks.join("\n"));
        let results: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(results.len(), all.len(), "{ran:?}");
        results
    }

    /// Runs one call and returns its result.
    fn call(&self) -> Value {
        self.calls(&[json!({"text": "hi"})]).remove(0)
    }

    /// Returns the entry of the server in `coder mcp list`.
    fn listed(&self) -> Value {
        let ran = self.coder(&["mcp", "list", "--json"], "");
        let listed: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
        listed["servers"][0].clone()
    }

    /// Starts a conversation that asks about nothing but trust.
    fn talk(&self, replies: &[&str]) -> Screen {
        let replies = self.project.replies(replies);
        let args = ["--yes", "--backend", "replay", "--replies", &replies];
        Screen::start(CODER, &args, &[], &self.project.root, &self.project.home, (60, 160))
    }

    /// Returns the content of all transcripts and the log.
    fn stored_text(&self) -> String {
        let mut files = Vec::new();
        files_below(&self.project.home.join("state"), &mut files);
        files.iter().map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned()).collect()
    }

    /// Returns whether this machine can sandbox the server.
    fn is_sandboxed(&self) -> bool {
        self.listed()["sandboxed"] == true
    }
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn a_call_reaches_the_server_once_it_is_trusted() {
    let served = Served::new("well");
    assert_eq!(served.call()["output"], "said hi");
    assert_eq!(served.listed()["state"], "trusted");
    // With another command it is a different server, which is not trusted.
    served.settings("otherwise", "");
    assert_eq!(served.listed()["state"], "untrusted");
    let result = served.call();
    assert_eq!((&result["success"], &result["error"]["code"]), (&json!(false), &json!("unknown_tool")));
    let ran = served.coder(&["exec", "--yes"], "x");
    assert!(ran.err.contains("The tools of the MCP server test are left out"), "{ran:?}");
    assert!(ran.err.contains("`coder mcp trust test`"), "{ran:?}");
    let ran = served.coder(&["mcp", "trust", "test", "--yes"], "");
    assert!(ran.out.contains("\"description\": \"Says a text.\"") && ran.out.contains("\"otherwise\""), "{ran:?}");
    assert_eq!(served.call()["output"], "said hi");
    served.coder(&["mcp", "trust", "--forget"], "");
    assert_eq!(served.listed()["state"], "untrusted");
    // Revoking trust starts no server, and the settings need not name the server any more.
    served.settings("silent", "");
    let began = Instant::now();
    for name in [&[][..], &["test"], &["gone"]] {
        let ran = served.coder(&[&["mcp", "trust", "--forget"], name].concat(), "");
        assert!(ran.status == 0 && ran.out.contains("mcp."), "{ran:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(20), "nothing was started");
}

#[test]
fn arguments_are_checked_and_fitted_before_the_call() {
    let served = Served::new("well");
    let results = served.calls(&[json!({"text": "a", "count": "3"}), json!({"text": "b", "count": 0})]);
    assert_eq!(results[0]["output"], "said a");
    assert_eq!(results[1]["error"]["code"], "invalid_argument", "{results:?}");
    // Calls after a failed one are skipped, so this call needs its own reply.
    assert_eq!(served.calls(&[json!({"count": 1})])[0]["error"]["code"], "invalid_argument");
}

/// `coder exec` cannot ask without a terminal, so it runs a tool of a server only if a rule allows it.
#[test]
fn a_call_asks_unless_the_settings_allow_it() {
    let code = |served: &Served, args: &[&str]| {
        let ran = served.coder(&[&["exec", "--json"], args].concat(), CALL);
        let result: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
        result["error"]["code"].as_str().unwrap_or("none").to_owned()
    };
    let served = Served::new("well");
    assert_eq!(code(&served, &[]), "denied");
    assert_eq!(code(&served, &["--ask", "sandboxed"]), "denied", "the sandbox of commands says nothing of it");
    assert_eq!(code(&served, &["--ask", "never"]), "none");
    for allow in ["allow = [\"echo\"]", "allow = [\"*\"]"] {
        served.settings("well", allow);
        assert_eq!(code(&served, &[]), "none", "{allow}");
        assert_eq!(code(&served, &["--ask", "always"]), "denied", "{allow}");
    }
    served.settings("well", "allow = [\"other\"]");
    assert_eq!(code(&served, &[]), "denied");
    // A persona with a list of tools has only those.
    let ran = served.coder(&["exec", "--json", "--yes", "--persona", "reviewer"], CALL);
    assert!(ran.out.contains("unknown_tool"), "{ran:?}");
}

/// A project cannot name servers: its author could start a program that has the user's environment, files and network.
#[test]
fn a_project_cannot_configure_servers() {
    let project = Project::new();
    project.file(".toolfence.toml", "[mcp.theirs]\ncommand = \"bash -c 'echo > /tmp/never'\"\n");
    let coder = |args: &[&str], input: &str| Program::new(CODER, &project.home).args(args).run(&project.root, input);
    coder(&["config", "trust", "--yes"], "");
    let ran = coder(&["mcp", "list"], "");
    assert!(ran.err.contains("mcp") && ran.err.contains("project") && !ran.out.contains("theirs"), "{ran:?}");
}

/// `npx`, `python -m` and scripts named without a path read the current folder, so that must not be the project.
#[test]
fn a_server_does_not_start_in_the_project() {
    let served = Served::new("well");
    served.project.file("server.sh", SERVER);
    served.project.file_at_home("config/toolfence/config.toml", "[mcp.test]\ncommand = \"bash server.sh well\"\n");
    assert_eq!(served.listed()["state"], "failed");
}

#[test]
fn servers_that_do_not_start_are_reported() {
    for (how, wanted) in [
        ("gone", "it ended with status 4; its stderr ends with: cannot find my files"),
        ("garbage", "lines that are not MCP messages"),
        ("errors", "it wrote 64 MiB without an answer"),
        ("version", "version 1999-01-01 of MCP"),
        ("large", "longer than 256 KiB"),
        ("circle", "more than 100 pages"),
    ] {
        let served = Served::new(how);
        let listed = served.listed();
        assert_eq!(listed["state"], "failed", "{how}: {listed}");
        assert!(listed["error"].as_str().unwrap().contains(wanted), "{how}: {listed}");
        let ran = served.coder(&["exec", "--yes"], "Nothing.");
        assert!(ran.status == 0 && ran.err.contains("The MCP server test was skipped: "), "{how}: {ran:?}");
    }
    let served = Served::new("well");
    served.project.file_at_home("config/toolfence/config.toml", "[mcp.test]\ncommand = \"no-such-program-here\"\n");
    assert!(served.listed()["error"].as_str().unwrap().contains("no program no-such-program-here"));
    // The file exists, so the error explains that the sandbox hides it.
    if Served::new("well").is_sandboxed() {
        let script = served.shared.join("server.sh").display().to_string();
        let section = format!("[mcp.test]\ncommand = {}\n", json!(["bash", script, "well"]));
        served.project.file_at_home("config/toolfence/config.toml", section);
        let error = served.listed()["error"].to_string();
        assert!(error.contains(&format!("The sandbox hides {script} from it, unless `paths` names that")), "{error}");
    }
    let text = "[mcp.test]\ncommand = \"bash\"\nenv = { A = \"$NO_SUCH_VARIABLE\" }\n[mcp.te-st]\ncommand = \"bash\"\n";
    served.project.file_at_home("config/toolfence/config.toml", text);
    let ran = served.coder(&["mcp", "list"], "");
    assert!(ran.out.contains("the variable NO_SUCH_VARIABLE is not set"), "{ran:?}");
    assert!(ran.out.contains("differs from that of another server only in _ and -"), "{ran:?}");
}

#[test]
fn tools_that_cannot_be_offered_are_left_out() {
    let listed = Served::new("names").listed();
    assert_eq!(names(&listed), ["test.echo"]);
    let notes = listed["notes"].to_string();
    assert_eq!(listed["notes"].as_array().unwrap().len(), 3, "{notes}");
    assert!(notes.contains("listed twice") && notes.contains("u{1b}") && notes.contains("schema"), "{notes}");
    let listed = Served::new("many").listed();
    assert_eq!(names(&listed).len(), 128);
    assert!(listed["notes"].to_string().contains("the first 128 tools"), "{listed}");
    assert_eq!(names(&Served::new("pages").listed()), ["test.echo", "test.second"]);
}

#[test]
fn invalid_answers_of_a_server_become_failed_results() {
    for (how, code, wanted) in [
        ("banner", None, "said hi"),
        ("twice", None, "first"),
        ("image", None, "Before.\n[Content of the type image/png, 3 bytes, is left out"),
        ("failed", Some("exit_status"), "It broke."),
        ("refuses", Some("invalid_argument"), ""),
        ("endless", Some("io_error"), ""),
        ("asks", None, "refused and pinged"),
        ("again", None, "the same"),
    ] {
        let result = Served::new(how).call();
        let output = result["output"].as_str().unwrap();
        assert_eq!(result["error"]["code"].as_str(), code, "{how}: {result}");
        assert!(output.starts_with(wanted), "{how}: {result}");
    }
    let result = Served::new("long").call();
    assert!(result["truncated"] == true && result["output_bytes"] == 300_000, "{}", result["output_bytes"]);
    assert!(result["output"].as_str().unwrap().len() < 100_000);
}

#[test]
fn a_server_that_hangs_or_floods_has_a_deadline() {
    for how in ["hangs", "floods"] {
        let served = Served::with(how, "seconds = 2");
        let began = Instant::now();
        let result = served.call();
        assert_eq!(result["error"]["code"], "timeout", "{how}: {result}");
        assert!(began.elapsed() < Duration::from_secs(60), "{how}");
    }
    let served = Served::with("waits", "seconds = 2");
    assert_eq!(served.call()["error"]["code"], "timeout");
    let cancelled = served.shared.join("file");
    let began = Instant::now();
    while !cancelled.exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "the server hears that the call is cancelled");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_that_died_is_started_again() {
    let served = Served::new("dies");
    let dies = || std::fs::write(served.shared.join("file"), "").unwrap();
    dies();
    let first = served.calls(&[json!({"text": "one"})]);
    assert_eq!(first[0]["error"]["code"], "io_error", "{first:?}");
    let message = first[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("it ended with status 3") && message.contains("started again"), "{message}");
    // The next call of the same conversation restarts the server, which then keeps running.
    dies();
    let replies = served.project.replies(&[CALL, CALL, "Done."]);
    let ran = served.coder(&["-p", "go", "--yes", "--backend", "replay", "--replies", &replies, "--json"], "");
    let results: Vec<Value> = ran.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let outputs: Vec<&Value> = results.iter().filter(|line| line["event"] == "result").collect();
    assert_eq!(outputs.len(), 2, "{ran:?}");
    assert!(outputs[0].to_string().contains("status 3") && outputs[1].to_string().contains("said hi"), "{outputs:?}");
}

#[test]
fn a_server_that_changes_its_tools_is_not_called() {
    let served = Served::new("changes");
    let results = served.calls(&[json!({"text": "one"}), json!({"text": "two"})]);
    assert_eq!(results[0]["output"], "changed");
    assert_eq!(results[1]["error"]["code"], "denied", "{results:?}");
    assert!(results[1]["error"]["message"].as_str().unwrap().contains("coder mcp trust test"), "{results:?}");
}

#[test]
fn the_sandbox_confines_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let env = format!("env = {{ WORD = \"said\", PORT = \"{port}\" }}");
    let served = Served::with("looks", &env);
    if !served.is_sandboxed() {
        eprintln!("skipped: there is no sandbox here");
        return;
    }
    served.project.file(".env", "KEY=sk-test-4242424242424242\n");
    served.project.file("seen.txt", "x");
    std::fs::write(served.shared.join("file"), "x").unwrap();
    assert_eq!(served.call()["output"], "sees: project path changes; WORD=said");
    assert!(!served.project.at("written.txt").exists());
    assert_eq!(std::fs::read_to_string(served.shared.join("file")).unwrap(), "xx\n");
    // A command could point the link to another folder.
    std::os::unix::fs::symlink(&served.shared, served.project.root.join("link")).unwrap();
    for (path, wanted) in
        [(served.project.root.join("sub"), "in the project"), (served.project.root.join("link"), "in the project")]
    {
        std::fs::create_dir_all(&path).unwrap();
        let text = format!("[mcp.test]\ncommand = \"bash -c true\"\npaths = [{:?}]\n", path.display().to_string());
        served.project.file_at_home("config/toolfence/config.toml", text);
        let error = served.listed()["error"].to_string();
        assert!(error.contains("cannot be shared") && error.contains(wanted), "{error}");
    }
    // With `--root inner`, the folder in `paths` contains the project.
    std::fs::create_dir_all(served.project.root.join("inner")).unwrap();
    let text =
        format!("[mcp.test]\ncommand = \"bash -c true\"\npaths = [{:?}]\n", served.project.root.display().to_string());
    served.project.file_at_home("config/toolfence/config.toml", text);
    let ran = served.coder(&["--root", "inner", "mcp", "list"], "");
    assert!(ran.out.contains("cannot be shared") && ran.out.contains("contains the project"), "{ran:?}");
    for path in [served.project.home.join("state"), served.project.home.join("config"), PathBuf::from("/")] {
        let path = path.display().to_string();
        let text = format!("[mcp.test]\ncommand = \"bash -c true\"\npaths = [{path:?}]\n");
        served.project.file_at_home("config/toolfence/config.toml", text);
        let error = served.listed()["error"].to_string();
        assert!(error.contains("change your settings or your trusted files"), "{error}");
    }
}

/// The text of a result is data, even if it looks like a call.
#[test]
fn a_result_cannot_be_read_as_a_call() {
    let served = Served::new("result");
    let ran = served.coder(&["exec", "--yes"], CALL);
    let parsed = toolfence_protocol::parse::parse(&ran.out);
    assert!(parsed.calls.is_empty() && ran.out.starts_with("````tool_result\n"), "{ran:?}");
}

#[test]
fn nothing_of_a_server_is_left_running() {
    let mark = format!("mark-{}", std::process::id());
    let served = Served::new(&mark);
    assert_eq!(served.call()["output"], "said hi");
    let running = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
        lines.filter(|line| line.contains(&mark)).count()
    };
    let began = Instant::now();
    while running() > 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "it still runs");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Ctrl-C sends a cancellation to the server, and the conversation continues.
#[test]
fn ctrl_c_cancels_a_call() {
    let served = Served::with("waits", "seconds = 600");
    let replies = served.project.replies(&[CALL, "Stopped then."]);
    let args = ["--yes", "--backend", "replay", "--replies", &replies];
    let screen = Screen::start(CODER, &args, &[], &served.project.root, &served.project.home, (24, 80));
    screen.wait_for_last(">");
    screen.press("go\r");
    screen.wait_for("1/4 quarter");
    screen.press("\u{3}");
    screen.wait("end", |contents| contents.contains("Stopped then.") && contents.trim_end().ends_with('>'));
    assert!(screen.contents().contains("stopped after"), "{}", screen.contents());
    let cancelled = served.shared.join("file");
    let began = Instant::now();
    while !cancelled.exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "the server hears that the call is cancelled");
        std::thread::sleep(Duration::from_millis(50));
    }
    screen.press("\u{4}");
    assert_eq!(screen.end(), 0);
}

/// A conversation reports a server's errors, and the user can restart the server after fixing them.
#[test]
fn servers_are_shown_and_started_again_in_a_conversation() {
    let served = Served::new("well");
    served.settings("gone", "");
    let screen = served.talk(&[CALL, "Done.", CALL, "Done again."]);
    screen.wait_for_last(">");
    screen.press(&format!("/mcp{ENTER}"));
    let contents = screen.wait_for("`/mcp restart test` tries again.");
    assert!(contents.contains("test  failed: it ended with status 4"), "{contents}");
    assert!(contents.contains("cannot find my files"), "{contents}");
    screen.press(&format!("/mcp other{ENTER}"));
    answered(&screen, "`coder mcp list` lists the servers.");
    screen.press(&format!("/mcp restart{ENTER}"));
    answered(&screen, "/mcp takes no argument, the name of a server, or `restart` and a name.");
    // A restart reads the settings again. With another command it is a different server, which is not trusted.
    served.settings("dies", "");
    screen.press("/mcp r\t");
    screen.wait_for_last("> /mcp restart");
    screen.press("t\t");
    screen.wait_for_last("> /mcp restart test");
    screen.press(ENTER);
    let contents = screen.wait("question", |contents| contents.trim_end().ends_with("Trust it? [y/N]"));
    assert!(contents.contains("Starting test ...") && contents.contains("In short: test has 1 tool."), "{contents}");
    screen.press(&format!("n{ENTER}"));
    answered(
        &screen,
        "test  not trusted, so the model does not see its tools. `/mcp restart test` shows their descriptions and asks.",
    );
    screen.press(&format!("/mcp restart test{ENTER}"));
    screen.wait("question", |contents| contents.matches("Trust it? [y/N]").count() == 2);
    screen.press(&format!("y{ENTER}"));
    answered(&screen, "test  trusted, runs, 1 tool");
    screen.press(&format!("/mcp{ENTER}"));
    answered(&screen, "test  trusted, runs, 1 tool\n    echo");
    screen.press(&format!("/mcp test{ENTER}"));
    answered(&screen, "    test.echo(text, count?)\n        Says a text.");
    std::fs::write(served.shared.join("file"), "").unwrap();
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "Done.");
    screen.press(&format!("/mcp{ENTER}"));
    answered(&screen, "test  trusted; it ended with status 3. The next call restarts it.\n    echo");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "Done again.");
    let kept = served.stored_text();
    assert!(kept.contains("said hi") && kept.contains("Its tools are now: test.echo(text, count?)"), "{kept}");
    // The redactor of the transcripts knows only secrets from the start, so a restart with a new secret is refused.
    served.settings("dies", "env = { TOKEN = \"new\" }");
    screen.press(&format!("/mcp restart test{ENTER}"));
    answered(&screen, "Start `coder` again.");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
}

#[test]
fn removed_permissions_ask_again_after_a_restart() {
    let served = Served::with("well", "allow = [\"*\"]");
    let screen = served.talk(&["Done."]);
    screen.wait_for_last(">");
    screen.press(&format!("/allowed{ENTER}"));
    answered(&screen, "every call of test.echo");
    served.settings("well", "");
    screen.press(&format!("/mcp restart test{ENTER}"));
    answered(&screen, "test  trusted, runs, 1 tool");
    screen.press(&format!("/allowed{ENTER}"));
    answered(&screen, "nothing is allowed in addition to the settings");
    // Newly allowed tools are allowed after a restart too.
    served.settings("well", "allow = [\"echo\"]");
    screen.press(&format!("/mcp restart test{ENTER}"));
    screen.wait("restart", |contents| {
        contents.matches("test  trusted, runs, 1 tool").count() == 2 && contents.trim_end().ends_with("\n>")
    });
    screen.press(&format!("/allowed{ENTER}"));
    screen.wait("rules", |contents| {
        contents.matches("every call of test.echo").count() == 2 && contents.trim_end().ends_with("\n>")
    });
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
}

/// The answer "always" applies only to the server that was trusted at that time.
#[test]
fn always_does_not_apply_to_another_server() {
    let served = Served::new("well");
    let replies = served.project.replies(&[CALL, "One.", CALL, "Two.", CALL, "Three."]);
    let args = ["--backend", "replay", "--replies", &replies];
    let screen = Screen::start(CODER, &args, &[], &served.project.root, &served.project.home, (60, 160));
    let asked = || screen.wait("question", |contents| contents.trim_end().ends_with("or n and a reason]"));
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    asked();
    screen.press(&format!("always{ENTER}"));
    answered(&screen, "One.");
    // A restart without changes keeps the permission.
    screen.press(&format!("/mcp restart test{ENTER}"));
    answered(&screen, "test  trusted, runs, 1 tool");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "Two.");
    served.settings("otherwise", "");
    screen.press(&format!("/mcp restart test{ENTER}"));
    screen.wait("trust", |contents| contents.trim_end().ends_with("Trust it? [y/N]"));
    screen.press(&format!("y{ENTER}"));
    screen.wait("restart", |contents| {
        contents.matches("test  trusted, runs, 1 tool").count() == 2 && contents.trim_end().ends_with("\n>")
    });
    screen.press(&format!("go{ENTER}"));
    asked();
    screen.press(&format!("n{ENTER}"));
    answered(&screen, "Three.");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
}

#[test]
fn the_name_of_a_slow_server_is_displayed() {
    let served = Served::new("slowly");
    let screen = served.talk(&["Done."]);
    screen.wait_for("Waiting up to 30 seconds for the tools of MCP servers");
    screen.wait_for("tools of MCP servers: test (1 tool)");
    screen.wait_for_last(">");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
}

/// Plan mode refuses the tools of servers even if the settings allow them, because the program cannot know what a call
/// does.
#[test]
fn plan_mode_refuses_the_tools_of_servers() {
    let served = Served::with("well", "allow = [\"*\"]");
    let screen = served.talk(&[CALL, "Planned.", CALL, "Done."]);
    screen.wait_for_last(">");
    screen.press(&format!("/plan{ENTER}"));
    screen.wait_for_last("plan>");
    screen.press(&format!("go{ENTER}"));
    screen.wait_for("Planned.");
    screen.wait_for_last("plan>");
    let kept = served.stored_text();
    assert!(kept.contains("Refused by the rule plan") && !kept.contains("said hi"), "{kept}");
    screen.press(&format!("/mcp restart test{ENTER}"));
    screen.wait_for("test  trusted, runs, 1 tool");
    screen.wait_for_last("plan>");
    screen.press(&format!("/plan{ENTER}"));
    answered(&screen, "plan mode has ended");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "Done.");
    assert!(served.stored_text().contains("said hi"), "{}", served.stored_text());
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
}

/// If a server returns a secret of its settings, in a result or in an error, the secret is not stored.
#[test]
fn secrets_of_servers_are_not_stored() {
    const SECRET: &str = "xyzzy-hidden-471100";
    for how in ["secret", "leaks"] {
        let served = Served::with(how, &format!("env = {{ API_TOKEN = \"{SECRET}\" }}"));
        let replies = served.project.replies(&[CALL, "Done."]);
        let ran = served.coder(&["-p", "go", "--yes", "--backend", "replay", "--replies", &replies, "--json"], "");
        assert!(
            ran.status == 0 && ran.out.contains(SECRET),
            "{how}: the model receives the output of the tool: {ran:?}"
        );
        let kept = served.stored_text();
        assert!(kept.contains("test.echo") && kept.contains("[redacted: "), "{how}: {kept}");
        assert!(!kept.contains(SECRET), "{how}: {kept}");
    }
}

/// A blocked file that appears in a server's folder is hidden before the next call. So is a file that replaces a hidden
/// one by a rename, or by removal and re-creation, which often reuses the inode number.
#[test]
fn files_blocked_later_outside_the_project_are_not_read() {
    let served = Served::new("peeks");
    if !served.is_sandboxed() {
        eprintln!("skipped: there is no sandbox here");
        return;
    }
    let beside = |name: &str| served.shared.join(name);
    std::fs::create_dir(beside("more")).unwrap();
    std::fs::write(beside(".env"), "KEY=hidden-1").unwrap();
    let screen = served.talk(&[CALL, "One.", CALL, "Two.", CALL, "Three.", CALL, "Four."]);
    screen.wait_for_last(">");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "One.");
    std::fs::write(beside("new"), "KEY=hidden-2").unwrap();
    std::fs::rename(beside("new"), beside(".env")).unwrap();
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "Two.");
    std::fs::write(beside("more/.env"), "KEY=hidden-3").unwrap();
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "Three.");
    made_anew(&beside(".env"), "KEY=hidden-4");
    screen.press(&format!("go{ENTER}"));
    answered(&screen, "Four.");
    screen.press(CTRL_D);
    assert_eq!(screen.end(), 0);
    let kept = served.stored_text();
    assert!(kept.matches("has <>").count() >= 4 && !kept.contains("hidden-"), "{kept}");
}

/// Files in a toolchain's packages are not the user's secrets, but a user's folder may have the same name as a package
/// folder.
#[test]
fn blocked_names_are_hidden_in_folders_of_packages_too() {
    let served = Served::new("packages");
    if !served.is_sandboxed() {
        eprintln!("skipped: there is no sandbox here");
        return;
    }
    for folder in ["node_modules/mine", "lib/python3.12"] {
        let folder = served.shared.join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(".env"), "KEY=hidden-1").unwrap();
    }
    assert_eq!(served.call()["output"], "has <>");
}

/// A server gets no folder that cannot be scanned completely, because blocked files in it would stay readable.
#[test]
fn a_path_that_cannot_be_scanned_is_not_given_to_a_server() {
    let served = Served::new("well");
    if !served.is_sandboxed() {
        eprintln!("skipped: there is no sandbox here");
        return;
    }
    let many = served.shared.join("many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..2001 {
        std::fs::write(many.join(format!(".env.{number}")), "").unwrap();
    }
    let error = served.listed()["error"].to_string();
    let said = format!("{} cannot be shared: it contains too many files", served.shared.display());
    assert!(error.contains(&said), "{error}");
    std::fs::remove_dir_all(&many).unwrap();
    let name = "d".repeat(200);
    let script = format!("for at in {{1..25}}; do mkdir {name} && cd {name}; done; echo KEY=x >.env");
    let made = std::process::Command::new("bash").args(["-c", &script]).current_dir(&served.shared).status().unwrap();
    assert!(made.success());
    let error = served.listed()["error"].to_string();
    assert!(error.contains("cannot be shared: blocked files in ") && error.contains("name too long"), "{error}");
}

/// Without a network, `npx` waits silently like this server.
#[test]
fn the_error_of_a_server_that_needs_a_network_says_so() {
    let served = Served::new("well");
    let is_sandboxed = served.is_sandboxed();
    served.settings("fetches", "");
    let error = served.listed()["error"].to_string();
    let said = "it has not listed its tools within 30 s; its stderr ends with: fetching the package";
    assert!(error.contains(said), "{error}");
    assert_eq!(error.contains("It has no network"), is_sandboxed, "{error}");
}
