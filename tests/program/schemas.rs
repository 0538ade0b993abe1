//! Tests that the JSON output of `coder` matches the schemas in `docs/schemas`.
//!
//! The schemas allow additional fields, because later versions may add some. The tests do not: they fail if a field is
//! undescribed, renamed or removed.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use toolfence_kit::Project;

const CODER: &str = env!("CARGO_BIN_EXE_coder");

fn folder() -> PathBuf {
    toolfence_kit::root().join("docs/schemas")
}

fn read_schema(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder().join(format!("{name}.json"))).unwrap()).unwrap()
}

/// Forbids every field that a schema does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.contains_key("properties") {
                members.entry("additionalProperties").or_insert(false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// A published schema, and a copy in which no object allows additional fields.
struct Schema {
    schemas: Schemas,
    open: SchemaIndex,
    closed: SchemaIndex,
}

impl Schema {
    fn read(name: &str) -> Schema {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let open = read_schema(name);
        let mut closed = open.clone();
        close(&mut closed);
        compiler.add_resource("open.json", open).unwrap();
        compiler.add_resource("closed.json", closed).unwrap();
        let [open, closed] = ["open.json", "closed.json"].map(|name| compiler.compile(name, &mut schemas).unwrap());
        Schema { schemas, open, closed }
    }

    fn allows(&self, value: &Value) -> bool {
        self.schemas.validate(value, self.closed).is_ok()
    }

    /// Asserts that a value matches the closed schema, that a copy with any field renamed does not, and that the
    /// published schema allows an additional field.
    #[track_caller]
    fn check(&self, value: &Value) {
        if let Err(error) = self.schemas.validate(value, self.closed) {
            panic!("{value}\ndoes not fit: {error}");
        }
        let fields = value.as_object().unwrap();
        for (name, field) in fields {
            let mut renamed = fields.clone();
            renamed.remove(name);
            renamed.insert(format!("{name}_renamed"), field.clone());
            assert!(!self.allows(&renamed.into()), "{name} can be renamed in {value}");
        }
        let mut later = fields.clone();
        later.insert("of_a_later_version".to_owned(), json!({"any": 1}));
        assert!(
            self.schemas.validate(&later.into(), self.open).is_ok(),
            "a later version cannot add a field to {value}"
        );
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// Returns the JSON lines that a run prints.
fn printed(place: &Project, args: &[&str], input: &str) -> Vec<Value> {
    let ran = place.run(CODER, args, input);
    assert!([0, 1].contains(&ran.status), "{args:?}: {}", ran.said());
    lines(&ran.out)
}

fn words<'v>(values: impl IntoIterator<Item = &'v Value>) -> BTreeSet<String> {
    values.into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn call(name: &str, args: &Value) -> String {
    format!("```tool\n{}\n```\n", json!({"name": name, "args": args}))
}

fn replay(place: &Project, replies: &[&str], args: &[&str], input: &str) {
    let replies = place.replies(replies);
    let ran = place.run(CODER, &[&["--backend", "replay", "--replies", &replies], args].concat(), input);
    assert_eq!(ran.status, 0, "{args:?}: {}", ran.said());
}

#[test]
fn schemas_are_documented() {
    let page = fs::read_to_string(folder().with_file_name("scripts.md")).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let schema = read_schema(file.strip_suffix(".json").unwrap());
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{file}");
        assert!(page.contains(&format!("(schemas/{file})")), "docs/scripts.md has no link to {file}");
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
fn parse_output_matches_its_schema() {
    let (schema, place) = (Schema::read("parse"), Project::new());
    let cases = toolfence_kit::CaseFiles::of("parse").replies();
    let input = |finish: &str| -> String {
        let line = |(id, reply): (usize, &str)| json!({"id": id, "text": reply, "finish": finish}).to_string() + "\n";
        cases.iter().map(|case| &*case.reply).enumerate().map(line).collect()
    };
    let mut events: Vec<Value> = Vec::new();
    for (finish, options) in [
        ("stop", &[][..]),
        ("length", &["--progress", "--chunk", "7"]),
        ("cut", &["--reasoning", "opened", "--progress"]),
        ("stop", &["--reasoning", "known", "--strict"]),
    ] {
        let answers = printed(&place, &[&["parse", "--batch"], options].concat(), &input(finish));
        assert_eq!(answers.len(), cases.len());
        for answer in answers {
            schema.check(&answer);
            events.extend_from_slice(answer["events"].as_array().unwrap());
        }
    }
    for wrong in ["{", "{\"id\":[1],\"text\":\"x\",\"chunk\":0}", "{\"id\":\"a\",\"text\":1}"] {
        let answers = printed(&place, &["parse", "--batch"], wrong);
        assert!(answers[0]["error"].is_string(), "{answers:?}");
        schema.check(&answers[0]);
    }
    for case in cases.iter().take(20) {
        printed(&place, &["parse", "--progress"], &case.reply).iter().for_each(|event| schema.check(event));
    }

    let described = read_schema("parse");
    let described = described["$defs"]["event"]["oneOf"].as_array().unwrap();
    let kinds = words(described.iter().map(|event| &event["properties"]["event"]["const"]));
    assert_eq!(words(events.iter().map(|event| &event["event"])), kinds, "every kind of event occurs");
    let reasons = described.iter().find_map(|event| event["properties"]["why"]["enum"].as_array()).unwrap();
    assert_eq!(words(events.iter().filter_map(|event| event.get("why"))), words(reasons), "and every reason");
    for optional in ["unopened", "dialect", "name"] {
        assert!(events.iter().any(|event| event.get(optional).is_some()), "{optional} does not occur");
    }
}

#[test]
fn exec_output_matches_its_schema() {
    let (schema, place) = (Schema::read("exec"), Project::new());
    place.file("notes.txt", "a note\n");
    let read = |path: &str| call("read_file", &json!({ "path": path }));
    let bash = |command: &str| call("bash", &json!({ "command": command }));
    let write = |path: &str| call("write_file", &json!({"path": path, "content": "x\n"}));
    let replace = call("replace_text", &json!({"path": "notes.txt", "old": "no such words", "new": "x"}));
    let mut results: Vec<Value> = Vec::new();
    for (options, text) in [
        (&["--yes"][..], read("notes.txt")),
        (&["--yes"], read("note.txt")),
        (&["--yes"], read(".env")),
        (&["--yes"], write("new.txt") + &bash("echo out; exit 3") + &write("after_a_failure.txt")),
        (&["--yes"], replace),
        (&["--yes"], bash("rm -rf /")),
        (&["--yes", "--limit", "output_bytes=4000"], bash("seq 9000")),
        (&["--yes", "--limit", "command_seconds=1"], bash("sleep 60")),
        (&[], write("asked_about.txt")),
        (&[], call("no_such_tool", &json!({})) + &call("read_file", &json!({"path": 1, "lines": "many"}))),
        (&[], "```tool\n{\"name\": \"read_file\", \"args\": {\"path\": }}\n```\n".to_owned()),
        (&[], "```tool\n{\"name\": \"read_file\", \"args\": {\"pa".to_owned()),
        (&[], "Look: ".to_owned() + &read("notes.txt")),
        (&[], "No call.\n".to_owned()),
    ] {
        results.extend(printed(&place, &[options, &["exec", "--json"]].concat(), &text));
    }
    results.iter().for_each(|result| schema.check(result));
    assert_eq!(
        words(results.iter().map(|result| &result["event"])),
        BTreeSet::from(["ignored", "result"].map(String::from))
    );
    let codes = words(results.iter().filter_map(|result| result.pointer("/error/code")));
    for code in [
        "not_found",
        "denied",
        "exit_status",
        "cancelled",
        "no_match",
        "timeout",
        "unknown_tool",
        "invalid_argument",
        "malformed_call",
    ] {
        assert!(codes.contains(code), "{code} does not occur: {codes:?}");
    }
    for pointer in ["/exit_code", "/error/suggestions", "/data/diff"] {
        assert!(results.iter().any(|result| result.pointer(pointer).is_some()), "{pointer} does not occur");
    }
    assert!(results.iter().any(|result| result["truncated"] == true));
}

#[test]
fn policy_explain_output_matches_its_schema() {
    let (schema, place) = (Schema::read("policy-explain"), Project::new());
    place.file("src/a.txt", "a\n");
    place.link("src", "link");
    let commands =
        ["ls", "git push", "rm -rf /", "echo a > b; ls", "git commit -m x", "$X", "cat .env", "make && ls", ""];
    let mut input: String =
        commands.iter().map(|command| json!({"id": command, "command": command}).to_string() + "\n").collect();
    for (tool, args) in [
        ("read_file", json!({"path": "src/a.txt"})),
        ("write_file", json!({"path": "link/a.txt", "content": "x"})),
        ("write_file", json!({"path": ".env", "content": "x"})),
        ("no_such_tool", json!({})),
    ] {
        input += &(json!({"id": {"tool": tool}, "tool": tool, "args": args}).to_string() + "\n");
    }
    input += "no JSON\n{\"id\":1}\n";
    let mut answers: Vec<Value> = Vec::new();
    for ask in ["never", "sandboxed", "risky", "always"] {
        answers.extend(printed(&place, &["policy", "explain", "--batch", "--ask", ask], &input));
    }
    answers.extend(printed(&place, &["policy", "explain", "--json", "git push"], ""));
    answers.extend(printed(&place, &["policy", "explain", "--json", "--tool", "list_files"], ""));
    answers.iter().for_each(|answer| schema.check(answer));

    let values = |field: &str| words(answers.iter().filter_map(|answer| answer.get(field)));
    assert_eq!(values("verdict"), BTreeSet::from(["allow", "ask", "deny"].map(String::from)));
    assert_eq!(values("effective"), BTreeSet::from(["run", "ask", "deny"].map(String::from)));
    for pointer in ["/always", "/not_always", "/error", "/targets/0/written", "/targets/0/link", "/marks/0"] {
        assert!(answers.iter().any(|answer| answer.pointer(pointer).is_some()), "{pointer} does not occur");
    }
}

#[test]
fn tools_output_matches_its_schema() {
    let (schema, place) = (Schema::read("tools"), Project::new());
    let mut types = BTreeSet::new();
    for options in [&[][..], &["--persona", "reviewer"], &["--persona", "explainer"], &["--lang", "pt"]] {
        for value in printed(&place, &[&["tools", "--json"], options].concat(), "") {
            schema.check(&value);
            for tool in value["tools"].as_array().unwrap() {
                let names = tool["params"].as_array().unwrap().iter().map(|param| param["name"].as_str().unwrap());
                let properties = tool["schema"]["properties"].as_object().unwrap();
                assert_eq!(names.collect::<Vec<_>>(), properties.keys().collect::<Vec<_>>(), "{tool}");
            }
            for param in value["tools"].as_array().unwrap().iter().flat_map(|tool| tool["params"].as_array().unwrap()) {
                types.extend(match &param["type"] {
                    Value::Object(of) => of.keys().next().cloned(),
                    word => word.as_str().map(str::to_owned),
                });
            }
        }
    }
    for kind in ["string", "boolean", "strings", "integer", "one_of", "objects"] {
        assert!(types.contains(kind), "{kind} does not occur: {types:?}");
    }
}

#[test]
fn sessions_output_matches_its_schema() {
    let (schema, place) = (Schema::read("sessions"), Project::new());
    replay(&place, &["The answer is in Lisbon."], &["-p", "Where is it?"], "");
    replay(&place, &["One."], &["--model", "m"], "First.\n/clear\n");
    let sessions = printed(&place, &["sessions", "--json"], "");
    let [id, path] = ["id", "path"].map(|field| sessions[1][field].as_str().unwrap());
    replay(&place, &["Two."], &["resume", id, "--from", "1", "-p", "Second."], "");
    let untitled = json!({"v": 1, "id": "0", "parent": null, "role": "head", "timestamp": "2026-01-02T03:04:05.006Z", "turn": 0,
        "content": "", "session": {"id": "0123456789abcdef", "root": place.root}});
    fs::write(Path::new(path).with_file_name("0123456789abcdef.jsonl"), format!("{untitled}\n")).unwrap();

    let mut sessions = printed(&place, &["sessions", "--json", "--all"], "");
    sessions.extend(printed(&place, &["sessions", "--json", "--search", "lisbon"], ""));
    sessions.iter().for_each(|session| schema.check(session));
    let has =
        |field: &str, want: fn(&Value) -> bool| sessions.iter().any(|session| session.get(field).is_some_and(want));
    assert!(has("title", |title| title == "") && has("title", |title| title == "Where is it?"), "{sessions:?}");
    assert!(has("fork", Value::is_object) && has("fork", Value::is_null), "{sessions:?}");
    assert!(has("model", Value::is_string) && has("model", Value::is_null), "{sessions:?}");
    assert!(has("cleared", |cleared| cleared == true) && has("found", Value::is_string), "{sessions:?}");
}

#[test]
fn stats_output_matches_its_schema() {
    let (schema, place) = (Schema::read("stats"), Project::new());
    let check = || printed(&place, &["stats", "--json"], "").iter().map(|stats| schema.check(stats)).count();
    assert_eq!(check(), 1, "nothing was said yet");
    place.file("a.txt", "one\n");
    let good = "```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"a.txt\",}}\n```\n";
    let missing = call("read_file", &json!({"path": "b.txt"}));
    let change = call("write_file", &json!({"path": "c.txt", "content": "x"}));
    let unreadable = "```tool\n{\"name\": \"read_file\", \"args\": {\"path\": }}\n```\n";
    replay(&place, &[good, &missing, &change, unreadable, "Done."], &["--model", "m", "-p", "go"], "");
    check();
    place.file_at_home("config/toolfence/config.toml", "[prices]\nm = { input = 1000, output = 1000 }\n");
    check();
    let stats = printed(&place, &["stats", "--json"], "").remove(0);
    for pointer in [
        "/models/m/price",
        "/tools/read_file/ms/p90",
        "/failures/not_found",
        "/decisions/denied_by_nobody",
        "/repairs/trailing_comma",
        "/unreadable_blocks",
        "/times/first_byte/most",
    ] {
        assert!(stats.pointer(pointer).is_some_and(Value::is_number), "{pointer}: {stats}");
    }
}
