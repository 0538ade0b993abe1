//! Tests every limit with the tools and the session that it bounds: an amount equal to the limit is accepted, and the
//! next larger one is not.

use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolfence_kit::{Program, Project, Tools};
use toolfence_policy::rules::PathRules;
use toolfence_policy::{AskMode, NoFacts};
use toolfence_protocol::limits::LIMITS;
use toolfence_protocol::parse::Event;
use toolfence_protocol::{
    Catalog, Effect, ErrorCode, FinishReason, Limits, Message, Output, Param, ParamKind, Role, ToolResult, ToolSpec,
};
use toolfence_sandbox::isolation::{Kind, Mode, Settings};
use toolfence_session::{Action, Input, Session, SessionOptions, StopReason, Turn};
use toolfence_tools::{self as tools, CommandRunner};
use toolfence_workspace::Workspace;

/// The tools and the session with one limit set.
struct Met {
    key: &'static str,
    limits: Limits,
    project: Project,
}

impl Met {
    fn new(key: &'static str, number: u64) -> Met {
        let mut limits = Limits::default();
        limits.set(key, &number.to_string()).expect("it is a limit");
        Met { key, limits, project: Project::new() }
    }

    fn tools(&self, settings: Settings) -> Tools<CommandRunner> {
        let workspace = Workspace::open(&self.project.root, PathRules::default()).expect("the root is there");
        let settings = settings.helper(env!("CARGO_BIN_EXE_coder"));
        let runner = Arc::new(CommandRunner::new(Arc::new(workspace), settings));
        Tools::new(runner.clone(), tools::standard(runner).with_limits(self.limits))
    }

    fn run(&self, tool: &str, args: Value) -> ToolResult {
        self.tools(Settings::new().mode(Mode::Off)).run(tool, args)
    }

    /// Returns whether a tool returns a file of this content untruncated.
    fn shows(&self, content: &str, tool: &str, args: Value) -> bool {
        self.project.file("a.txt", content);
        let result = self.run(tool, args);
        assert!(result.success, "{}: {result:?}", self.key);
        !result.truncated
    }

    /// Returns whether `read_file` returns a file of this content untruncated.
    fn reads(&self, content: &str) -> bool {
        self.shows(content, "read_file", json!({"path": "a.txt", "line_numbers": false}))
    }

    fn talk(&self) -> Talk {
        Talk::new(self.options())
    }

    fn options(&self) -> SessionOptions {
        let mut options = SessionOptions::default();
        options.limits = self.limits;
        options
    }
}

/// A session with one tool, `look`. Its calls are answered in order.
struct Talk {
    session: Session,
    /// Ids of the calls that wait for their results.
    running: Vec<String>,
    /// The number of calls that were requested.
    ran: u64,
    compacted: bool,
    stopped_model: bool,
    malformed: bool,
    stop: Option<StopReason>,
}

impl Talk {
    fn new(options: SessionOptions) -> Talk {
        let word = Param::new("x", ParamKind::Any, "anything");
        let look = ToolSpec::new("look", "for tests").param(word).effect(|_| Effect::Read);
        let catalog: Catalog = [look].into_iter().collect();
        let policy = toolfence_kit::policy(AskMode::Never);
        let session = Session::new(options, Arc::new(catalog), policy, Arc::new(NoFacts));
        let (running, stop) = (Vec::new(), None);
        Talk { session, running, ran: 0, compacted: false, stopped_model: false, malformed: false, stop }
    }

    fn give(&mut self, input: Input<'_>) {
        self.session.handle(input);
        while let Some(action) = self.session.poll() {
            match action {
                Action::Run(cleared) => {
                    self.running.push(cleared.call().id.clone());
                    self.ran += 1;
                }
                Action::Compacted(_) => self.compacted = true,
                Action::StopModel => self.stopped_model = true,
                Action::Show(Event::Malformed { .. }) => self.malformed = true,
                Action::Stop(reason) => self.stop = Some(reason),
                _ => {}
            }
        }
    }

    /// Sends a reply and answers each of its calls with this output.
    fn reply(&mut self, text: &str, output: &str) {
        self.chunk(text);
        self.give(Input::End(FinishReason::Stop));
        while let Some(id) = self.running.pop() {
            self.give(Input::Result(ToolResult::new(id, "look", Output::text(output), 1)));
        }
    }

    fn chunk(&mut self, text: &str) {
        if self.session.is_idle() {
            self.give(Input::User("begin"));
        }
        self.give(Input::Chunk(text));
    }

    fn last(&self) -> String {
        self.session.history().pop().map_or_else(String::new, |message| message.content)
    }
}

/// Returns a call with this JSON as its argument.
fn look(x: &str) -> String {
    format!("```tool\n{{\"name\": \"look\", \"args\": {{\"x\": {x}}}}}\n```\n")
}

fn coder(root: &Path, args: &[&str]) -> String {
    let home = tempfile::tempdir().expect("a temporary folder");
    let ran = Program::new(env!("CARGO_BIN_EXE_coder"), home.path()).args(args).run(root, "Nothing is called here.\n");
    ran.said()
}

/// Returns a text of `bytes` bytes: lines of ten bytes including the line end, and a shorter last line if needed.
fn lines(bytes: u64) -> String {
    let mut text = "123456789\n".repeat(usize::try_from(bytes / 10).expect("it is small"));
    match bytes % 10 {
        0 => {}
        rest => text.push_str(&format!("{}\n", "x".repeat(usize::try_from(rest - 1).expect("it is small")))),
    }
    text
}

fn of(character: &str, count: u64) -> String {
    character.repeat(usize::try_from(count).expect("it is small"))
}

/// Returns whether `amount` is accepted when the limit `key` is set to `number`. Some limits stop or warn as soon as
/// their number is reached. Their greatest accepted amount is `number - 1`.
fn is_within(key: &'static str, number: u64, amount: u64) -> bool {
    let met = Met::new(key, number);
    match key {
        "command_seconds" => {
            // A busy machine may need a second to start the command, so an accepted command ends well before the limit.
            let seconds = if amount > number { amount } else { 1 };
            let started = Instant::now();
            let result = met.run("bash", json!({"command": format!("sleep {seconds}")}));
            assert!(result.success || started.elapsed() >= Duration::from_secs(number), "it was ended too early");
            assert!(result.success || result.error.as_ref().is_some_and(|error| error.code == ErrorCode::Timeout));
            result.success
        }
        "command_seconds_most" => {
            let result = met.run("bash", json!({"command": "true", "timeout": amount}));
            let refused = format!("Give a whole number from 1 to {number}.");
            assert!(result.success || result.error.as_ref().is_some_and(|e| e.message.to_string().contains(&refused)));
            result.success
        }
        "output_bytes" => {
            let shown = met.reads(&lines(amount));
            // The text around a command's output has its own budget.
            let printed =
                met.run("bash", json!({"command": format!("head -c {} /dev/zero | tr '\\0' x", amount - 2000)}));
            assert_eq!(printed.truncated, !shown, "{printed:?}");
            assert!(printed.output.len() as u64 <= number);
            shown
        }
        "file_bytes" => {
            let content = of("x", amount);
            let written = met.run("write_file", json!({"path": "new.txt", "content": content}));
            met.project.file("a.txt", format!("y{}", &content[1..]));
            let replaced = met.run("replace_text", json!({"path": "a.txt", "old": "y", "new": "z"}));
            let patch = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-{0}\n+{0}z\n", met.project.content("a.txt"));
            let patched = met.run("apply_patch", json!({"patch": patch}));
            assert!(!patched.success, "one more than there was is too much: {patched:?}");
            for result in [&written, &replaced] {
                assert!(result.success || result.error.as_ref().is_some_and(|e| e.code == ErrorCode::TooLarge));
            }
            assert_eq!(written.success, replaced.success);
            written.success
        }
        "read_lines" => met.reads(&of("x\n", amount)),
        "read_bytes" => met.reads(&lines(amount)),
        "read_chars" => met.reads(&of("ééé\n", amount / 4)) && met.reads(&format!("é\n{}", of("é", amount - 3))),
        "line_chars" => met.reads(&of("é", amount)),
        "count_bytes" => {
            met.project.file("a.txt", lines(amount));
            let data = met.run("read_file", json!({"path": "a.txt"})).data.expect("it says how many lines there are");
            data.get("total_lines").is_some()
        }
        "search_matches" => met.shows(&of("x\n", amount), "search", json!({"pattern": "x"})),
        "snippet_chars" => {
            met.project.file("a.txt", of("x", amount));
            !met.run("search", json!({"pattern": "x"})).output.contains("...")
        }
        "list_entries" => {
            (0..amount).for_each(|name| met.project.file(&format!("{name}.txt"), ""));
            let result = met.run("list_files", json!({}));
            assert!(!result.truncated || result.output.contains(&format!("[TRUNCATED: first {number} items]")));
            !result.truncated
        }
        "jobs" => {
            let tools = met.tools(Settings::new());
            if tools.host.sandbox_report().kind != Kind::Namespaces {
                eprintln!("skipped: without a sandbox there are no jobs");
                return amount <= number;
            }
            let start = || tools.run("bash", json!({"command": "sleep 30", "background": true}));
            let last = (1..amount).fold(start(), |_, _| start());
            let full = format!("{number} jobs are there already");
            assert!(last.success || last.error.as_ref().is_some_and(|error| error.message.to_string().contains(&full)));
            last.success
        }
        "side_by_side" => {
            let mut talk = met.talk();
            talk.chunk(&of(&look("1"), amount));
            talk.give(Input::End(FinishReason::Stop));
            let at_once = talk.running.len() as u64;
            talk.reply("", "seen");
            assert_eq!(talk.ran, amount, "in the end all of them run");
            at_once == amount
        }
        "rounds" => {
            let mut talk = met.talk();
            (0..amount).for_each(|round| talk.reply(&look(&round.to_string()), "seen"));
            assert!(talk.stop.is_none() || talk.stop == Some(StopReason::RoundLimit));
            talk.ran == amount
        }
        "calls" => {
            let mut talk = met.talk();
            talk.reply(&of(&look("1"), amount), "seen");
            talk.ran == amount && !talk.malformed
        }
        "bad_replies" => {
            let mut talk = met.talk();
            (1..amount).for_each(|_| talk.reply("```tool\n{]\n```\n", ""));
            assert!(talk.stop.is_none() || talk.stop == Some(StopReason::FormatErrors));
            talk.stop.is_none()
        }
        "loop_warning" => {
            let mut talk = met.talk();
            (1..amount).for_each(|_| talk.reply(&look("1"), "the same"));
            !talk.last().contains("same result")
        }
        "loop_stop" => {
            let mut talk = met.talk();
            (1..amount).for_each(|_| talk.reply(&look("1"), "the same"));
            assert!(talk.stop.is_none() || talk.stop == Some(StopReason::Loop));
            talk.stop.is_none()
        }
        "message_bytes" => {
            let message = |output: &str| {
                let mut talk = met.talk();
                talk.reply(&look("1"), output);
                talk.last().to_owned()
            };
            // A separator of two bytes follows each block.
            let around = message("x").len() as u64 + 1;
            // The header contains the number of bytes.
            let digits = |bytes: u64| bytes.to_string().len() as u64;
            let bytes = amount - around;
            let message = message(&of("x", bytes - (digits(bytes) - 1)));
            assert!(message.len() as u64 <= number);
            !message.contains("\"truncated\":true")
        }
        "reply_bytes" => {
            let mut talk = met.talk();
            talk.chunk(&of("x", amount));
            !talk.stopped_model
        }
        "block_bytes" => {
            let around = look("\"\"").len() as u64 - "```tool\n\n```\n".len() as u64;
            let mut talk = met.talk();
            talk.reply(&look(&format!("\"{}\"", of("x", amount - around))), "seen");
            assert_eq!(talk.ran == 0, talk.malformed);
            talk.ran == 1
        }
        "nesting" => {
            // The call and its arguments already take two levels.
            let mut talk = met.talk();
            talk.reply(&look(&format!("{}{}", of("[", amount - 2), of("]", amount - 2))), "seen");
            assert_eq!(talk.ran == 0, talk.malformed);
            talk.ran == 1
        }
        "compact_percent" => {
            // Until a backend has counted tokens, the estimate for this window is 70,000 bytes. The messages fill
            // `amount` per cent of it.
            let mut options = met.options();
            options.window = Some(20_000);
            let said = |role, bytes: usize| Message::new(role, "x".repeat(bytes));
            let messages = (0..6).flat_map(|_| [said(Role::User, 1000), said(Role::Assistant, 1000)]);
            options.history = Turn::from_messages(messages);
            let mut talk = Talk::new(options);
            // The estimate adds 16 bytes to each message for the chat template.
            let said: usize = talk.session.history().iter().map(|message| message.content.len() + 16).sum();
            talk.give(Input::User(&of("x", 700 * amount - said as u64 - 16)));
            !talk.compacted
        }
        "agents_bytes" => {
            met.project.file("AGENTS.md", of("x", amount));
            let said = coder(&met.project.root, &["exec", "--limit", &format!("agents_bytes={number}")]);
            !said.contains(&format!("is cut after {number} bytes"))
        }
        _ => panic!("no test meets the limit {key}"),
    }
}

#[test]
fn every_limit_accepts_its_number_and_rejects_one_more() {
    for limit in LIMITS {
        let number = match limit.key {
            "output_bytes" | "count_bytes" | "block_bytes" | "nesting" | "snippet_chars" => limit.least + 2,
            "message_bytes" => 2000,
            "compact_percent" => 50,
            "read_bytes" | "read_chars" | "file_bytes" | "line_chars" | "reply_bytes" | "agents_bytes" => 100,
            _ => 3,
        };
        assert!(is_within(limit.key, number, number), "{} does not allow what it is", limit.key);
        assert!(!is_within(limit.key, number, number + 1), "{} allows more than it is", limit.key);
    }
}

/// The signatures that the model reads contain the effective numbers.
#[test]
fn signatures_have_the_effective_limits() {
    let mut met = Met::new("command_seconds_most", 20);
    let timeout = |met: &Met| {
        let tools = met.tools(Settings::new().mode(Mode::Off));
        tools.toolbox.catalog().find("bash").expect("it is there").signature()
    };
    assert!(timeout(&met).contains("timeout?=20"), "{}", timeout(&met));
    met.limits.command_seconds = 7;
    assert!(timeout(&met).contains("timeout?=7"), "{}", timeout(&met));
    // A session uses the limits of its options, whatever limits its catalog has.
    let session = Session::new(
        met.options(),
        toolfence_policy::toolset::catalog(),
        toolfence_kit::policy(AskMode::Never),
        Arc::new(NoFacts),
    );
    assert!(session.catalog().find("bash").expect("it is there").signature().contains("timeout?=7"));
    met.limits.command_seconds = 1;
    let late = met.run("bash", json!({"command": "sleep 9"})).error.expect("it is late").message.to_string();
    assert!(late.contains("within 1 s") && late.contains("(20 at most)"), "{late}");

    let mut met = Met::new("read_lines", 2);
    met.limits.search_matches = 2;
    met.project.file("a.txt", "x\nx\nx\n");
    let read = met.run("read_file", json!({"path": "a.txt"})).output;
    assert!(read.contains("[TRUNCATED: showing first 2 lines, 1 more available]"), "{read}");
    let found = met.run("search", json!({"pattern": "x"})).output;
    assert!(found.contains("[TRUNCATED: reached limit 2 before completing search]"), "{found}");
    met.limits.file_bytes = 2;
    let refused = met.run("write_file", json!({"path": "b.txt", "content": "xxx"})).error.expect("it is too large");
    assert!(refused.message.to_string().contains("; 2 are the most"), "{refused:?}");
}

/// A home folder and a project, each with a settings file.
struct Files {
    home: tempfile::TempDir,
    project: Project,
}

impl Files {
    fn new(own: &str, project: &str) -> Files {
        let files = Files { home: tempfile::tempdir().expect("a temporary folder"), project: Project::new() };
        let folder = files.home.path().join("config/toolfence");
        std::fs::create_dir_all(&folder).expect("it can be made");
        std::fs::write(folder.join("config.toml"), own).expect("it can be written");
        files.project.file(".toolfence.toml", project);
        files
    }

    fn run(&self, args: &[&str], input: &str) -> toolfence_kit::Ran {
        Program::new(env!("CARGO_BIN_EXE_coder"), self.home.path()).args(args).run(&self.project.root, input)
    }

    /// Returns the effective number and the layer that it comes from.
    fn number(&self, key: &str, args: &[&str]) -> (String, String) {
        let ran = self.run(&[&["config", "show", "--json"], args].concat(), "");
        let listed: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err));
        let values = listed["values"].as_array().expect("a list");
        let value = values.iter().find(|value| value["key"] == format!("limits.{key}")).expect("every limit is shown");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        (text(&value["value"]), text(&value["origin"]["layer"]))
    }
}

#[test]
fn a_projects_file_only_lowers_and_the_command_line_counts_over_all() {
    for limit in LIMITS {
        let (key, default) = (limit.key, limit.default);
        // Use the midpoint for `own`, because the default may equal one of the bounds.
        let own = u64::midpoint(limit.least, limit.most);
        let set = |number: u64| format!("[limits]\n{key} = {number}\n");
        let lower = Files::new(&set(own), &set(limit.least));
        assert_eq!(lower.number(key, &[]), (limit.least.to_string(), "project".to_owned()), "{key}");
        let higher = Files::new(&set(own), &set(limit.most));
        assert_eq!(higher.number(key, &[]), (own.to_string(), "user".to_owned()), "{key}");
        let typed = format!("{key}={}", limit.most);
        let counts = higher.number(key, &["--limit", &typed]);
        assert_eq!(counts, (limit.most.to_string(), "command_line".to_owned()), "{key}");
        assert_eq!(Files::new("", "").number(key, &[]), (default.to_string(), "default".to_owned()), "{key}");
    }
}

/// A project may lower `file_bytes` to 1, but undo must still record larger files.
#[test]
fn a_lower_limit_of_file_size_does_not_limit_undo() {
    let files = Files::new("", "[limits]\nfile_bytes = 1\n");
    let file = files.project.root.join("a.txt");
    std::fs::write(&file, "what stood here\n").unwrap();
    let call = "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a.txt\", \"content\": \"\"}}\n```\n";
    let ran = files.run(&["exec", "--yes"], call);
    assert_eq!((ran.status, std::fs::read_to_string(&file).unwrap().as_str()), (0, ""), "{}", ran.said());
    let undone = files.run(&["undo"], "");
    assert_eq!(
        (undone.status, std::fs::read_to_string(&file).unwrap().as_str()),
        (0, "what stood here\n"),
        "{}",
        undone.said()
    );
}

#[test]
fn invalid_limits_are_refused_in_every_layer() {
    let refused = |files: &Files, args: &[&str], wanted: &[&str]| {
        let ran = files.run(&[&["config", "show"], args].concat(), "");
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.out);
        wanted.iter().for_each(|part| assert!(ran.err.contains(part), "{args:?}: {}", ran.err));
    };
    let nothing = Files::new("", "");
    refused(&nothing, &["--limit", "rounds=0"], &["rounds is a whole number from 1 to 10000; this is 0."]);
    refused(&nothing, &["--limit", "rounds=many"], &["rounds is a whole number from 1 to 10000; this is many."]);
    refused(&nothing, &["--limit", "rounds"], &["a limit is written KEY=NUMBER"]);
    refused(&nothing, &["--limit", "round=3"], &["there is no limit round. Did you mean rounds?"]);
    refused(
        &nothing,
        &["--lang", "pt", "--limit", "rounds=0"],
        &["rounds é um número inteiro de 1 a 10000; isto é 0."],
    );
    refused(
        &Files::new("[limits]\nrounds = 0\n", ""),
        &[],
        &["line 2", "limits.rounds is a whole number from 1 to 10000."],
    );
    refused(
        &Files::new("[limits]\nrounds = \"3\"\n", ""),
        &[],
        &["line 2", "limits.rounds is a whole number from 1 to 10000."],
    );
    refused(
        &Files::new("", "[limits]\nround = 3\n"),
        &[],
        &["there is no key limits.round. Did you mean limits.rounds?"],
    );
}

/// The tools, the session and the parser of the program use the configured limits.
#[test]
fn the_program_uses_the_configured_limits() {
    let files = Files::new("[limits]\nsearch_matches = 2\ncalls = 2\n", "[limits]\ncommand_seconds_most = 9\n");
    files.project.file("a.txt", "x\nx\nx\n");
    let search = "```tool\n{\"name\": \"search\", \"args\": {\"pattern\": \"x\"}}\n```\n";
    let ran = files.run(&["exec"], search);
    assert!(ran.out.contains("[TRUNCATED: reached limit 2 before completing search]"), "{}", ran.said());
    let ran = files.run(&["exec", "--limit", "search_matches=3"], search);
    assert!(!ran.out.contains("TRUNCATED") && ran.status == 0, "{}", ran.said());
    let ran = files.run(&["exec"], &search.repeat(3));
    assert!(ran.status == 1 && ran.out.contains("2 calls"), "{}", ran.said());
    assert!(files.run(&["prompt"], "").out.contains("timeout?=9"));
    assert!(files.run(&["tools"], "").out.contains("timeout?=9"));
    let read = files.run(&["parse", "--limit", "calls=1"], &search.repeat(2)).out;
    assert_eq!((read.matches("\"event\":\"call\"").count(), read.matches("malformed").count()), (1, 1), "{read}");
    let explained = files.run(&["config", "init", "--lang", "pt"], "");
    assert_eq!(explained.status, 2, "the file is there already");
    std::fs::remove_file(files.home.path().join("config/toolfence/config.toml")).expect("it is there");
    assert_eq!(files.run(&["config", "init", "--lang", "pt"], "").status, 0);
    let written = std::fs::read_to_string(files.home.path().join("config/toolfence/config.toml")).expect("it is there");
    assert!(
        written.contains(
            "# Linhas encontradas que search mostra.\n# Um número inteiro de 1 a 10000. O arquivo de um projeto"
        ),
        "{written}"
    );
}
