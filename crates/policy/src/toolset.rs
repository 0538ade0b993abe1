//! The ten built-in tools as data: names, arguments, aliases, effects and wording, which are defined only here; and
//! [`plan()`] and [`edit_data()`], which hosts offer on request.
//!
//! This module runs no tool and judges no call. The parser and the policy know these tools only through the catalog
//! passed to them.

use crate::plan;
use serde_json::Value;
use std::sync::{Arc, LazyLock};
use toolfence_protocol::{Args, Catalog, Effect, Param, ParamKind, Request, ToolCall, ToolSpec};

/// A built-in tool.
struct Row {
    spec: ToolSpec,
    /// Reads the change of files from the arguments of a call.
    change: Option<fn(&Args) -> Option<Change<'_>>>,
}

impl Row {
    fn with_change(mut self, change: fn(&Args) -> Option<Change<'_>>) -> Row {
        self.change = Some(change);
        self
    }
}

impl From<ToolSpec> for Row {
    fn from(spec: ToolSpec) -> Row {
        Row { spec, change: None }
    }
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    vec![
        read_file().into(),
        list_files().into(),
        search().into(),
        Row::from(write_file()).with_change(file_written),
        Row::from(edit_file()).with_change(lines_changed),
        Row::from(replace_text()).with_change(passage_changed),
        Row::from(apply_patch()).with_change(patch_applied),
        bash().into(),
        run_python().into(),
        job().into(),
    ]
});

/// Optional tools that change files.
static OPTIONAL: LazyLock<Vec<Row>> = LazyLock::new(|| vec![Row::from(edit_data()).with_change(data_changed)]);

static TABLE: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| ROWS.iter().map(|row| row.spec.clone()).collect());

static CATALOG: LazyLock<Arc<Catalog>> = LazyLock::new(|| Arc::new(TABLE.iter().cloned().collect()));

/// Returns the spec of a built-in tool by its taught name.
pub fn builtin(name: &str) -> Option<&'static ToolSpec> {
    TABLE.iter().find(|spec| spec.name == name)
}

/// Returns the argument of the tools that run commands if the project is read-only for commands.
pub fn write_argument() -> Param {
    flag("write", "let it change files of the project; may ask").requests(Request::Write)
}

/// Returns the specs of all ten built-in tools, in the order of the prompt.
pub fn builtins() -> &'static [ToolSpec] {
    &TABLE
}

/// Returns the shared catalog of all ten built-in tools.
pub fn catalog() -> Arc<Catalog> {
    CATALOG.clone()
}

/// The change that a call requests, for display before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// The whole content of a file.
    Whole {
        /// The file.
        path: &'a str,
        /// Its new content.
        content: &'a str,
    },
    /// Ranges of lines of one file.
    Lines {
        /// The file.
        path: &'a str,
        /// First line, last line and the text that replaces them.
        edits: Vec<(u64, u64, &'a str)>,
    },
    /// A passage of one file.
    Passage {
        /// The file.
        path: &'a str,
        /// The passage to replace.
        old: &'a str,
        /// The replacement.
        new: &'a str,
    },
    /// Values of a JSON file.
    Data {
        /// The file.
        path: &'a str,
        /// The place of each value, the new value, and whether the old one is removed.
        edits: Vec<(&'a str, Option<&'a Value>, bool)>,
    },
    /// A patch.
    Patch {
        /// The folder that its names are relative to; `""` is the root.
        folder: &'a str,
        /// Its text.
        text: &'a str,
    },
}

/// Returns the change of files that a call requests; `None` if it changes none, or its arguments do not say which.
pub fn change(call: &ToolCall) -> Option<Change<'_>> {
    let row = ROWS.iter().chain(OPTIONAL.iter()).find(|row| row.spec.name == call.name)?;
    row.change.and_then(|change| change(&call.args))
}

fn text_of<'a>(args: &'a Args, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}

fn file_written(args: &Args) -> Option<Change<'_>> {
    Some(Change::Whole { path: text_of(args, "path")?, content: text_of(args, "content")? })
}

fn lines_changed(args: &Args) -> Option<Change<'_>> {
    fn edit(edit: &Value) -> Option<(u64, u64, &str)> {
        let line = |name: &str| edit.get(name)?.as_u64();
        Some((line("start_line")?, line("end_line")?, edit.get("replacement")?.as_str()?))
    }
    let edits = args.get("edits")?.as_array()?.iter().map(edit).collect::<Option<_>>()?;
    Some(Change::Lines { path: text_of(args, "path")?, edits })
}

fn passage_changed(args: &Args) -> Option<Change<'_>> {
    Some(Change::Passage { path: text_of(args, "path")?, old: text_of(args, "old")?, new: text_of(args, "new")? })
}

fn data_changed(args: &Args) -> Option<Change<'_>> {
    fn edit(edit: &Value) -> Option<(&str, Option<&Value>, bool)> {
        let remove = edit.get("remove").and_then(Value::as_bool).unwrap_or_default();
        Some((edit.get("at")?.as_str()?, edit.get("value"), remove))
    }
    let edits = args.get("edits")?.as_array()?.iter().map(edit).collect::<Option<_>>()?;
    Some(Change::Data { path: text_of(args, "path")?, edits })
}

fn patch_applied(args: &Args) -> Option<Change<'_>> {
    Some(Change::Patch { folder: text_of(args, "base_path").unwrap_or_default(), text: text_of(args, "patch")? })
}

fn reads(_: &Args) -> Effect {
    Effect::Read
}

fn writes(_: &Args) -> Effect {
    Effect::Write
}

fn writes_unless_dry(args: &Args) -> Effect {
    // Only the literal `true` counts: any other value may change the file.
    if args.get("dry_run").and_then(serde_json::Value::as_bool) == Some(true) { Effect::Read } else { Effect::Write }
}

fn polls(args: &Args) -> bool {
    args.get("action").and_then(serde_json::Value::as_str) == Some("poll")
}

fn text(name: &'static str, help: &'static str) -> Param {
    Param::new(name, ParamKind::Text { content: false }, help)
}

fn content(name: &'static str, help: &'static str) -> Param {
    Param::new(name, ParamKind::Text { content: true }, help)
}

fn flag(name: &'static str, help: &'static str) -> Param {
    Param::new(name, ParamKind::Flag, help)
}

fn count(name: &'static str, least: i64, most: i64, help: &'static str) -> Param {
    Param::new(name, ParamKind::Integer { least, most }, help)
}

fn line(name: &'static str, help: &'static str) -> Param {
    count(name, 1, i64::MAX, help)
}

fn file(help: &'static str) -> Param {
    let aliases = ["file_path", "file", "filename", "filepath", "target_file"];
    Param::new("path", ParamKind::Path, help).required().aliases(aliases)
}

fn folder(help: &'static str) -> Param {
    let aliases = ["directory", "dir", "folder", "file_path", "directory_path", "base_path"];
    Param::new("path", ParamKind::Path, help).default(".").aliases(aliases)
}

fn base_path() -> Param {
    Param::new("base_path", ParamKind::Path, "folder that the patch's names are relative to").patch_base().untaught()
}

fn dry_run() -> Param {
    flag("dry_run", "show what would change and change nothing").aliases(["preview"])
}

fn validate() -> Param {
    flag("validate", "check the result for new errors").default(true).aliases(["validate_syntax"])
}

fn timeout() -> Param {
    count("timeout", 1, i64::MAX, "seconds before it is stopped")
        .limited("command_seconds", "command_seconds_most")
        .aliases(["timeout_seconds"])
}

fn read_file() -> ToolSpec {
    ToolSpec::new("read_file", "Read a text file, or a 1-based inclusive range of its lines.")
        .aliases(["get_file_content", "cat", "view_file", "open_file"])
        .param(file("the file to read"))
        .param(line("start_line", "first line").aliases(["start", "from", "offset"]))
        .param(line("end_line", "last line").aliases(["end", "to"]))
        .param(line("lines", "how many lines from start_line").aliases(["limit", "max_lines", "num_lines"]))
        .param(flag("line_numbers", "number the lines").default(true).aliases(["with_line_numbers"]))
        .param(flag("count_lines", "count all lines of a file too big to count by default"))
        .effect(reads)
}

fn list_files() -> ToolSpec {
    ToolSpec::new("list_files", "List files and folders below a folder with type and size.")
        .aliases(["get_files_info", "ls", "list_dir", "list_directory", "glob"])
        .param(folder("where to start"))
        .param(text("pattern", "a glob such as src/**/*.rs").aliases(["glob"]))
        .param(count("max_depth", 1, 1000, "how deep to go").aliases(["depth"]))
        .param(
            flag("include_hidden", "names that begin with a dot too").default(false).aliases(["hidden", "show_hidden"]),
        )
        .param(flag("respect_gitignore", "leave out what git ignores").default(true).aliases(["gitignore"]))
        .effect(reads)
}

fn search() -> ToolSpec {
    ToolSpec::new("search", "Search file contents; answers file:line:snippet.")
        .aliases(["search_text", "grep", "search_files", "rg", "find_text"])
        .param(text("pattern", "what to find").required().printable().aliases(["query", "text", "regex"]))
        .param(folder("the file or folder to search"))
        .param(
            Param::new("type", ParamKind::Choice(vec!["regex".into(), "literal".into()]), "how to read the pattern")
                .aliases(["mode"])
                .synonyms([
                    ("regexp", "regex"),
                    ("contains", "literal"),
                    ("text", "literal"),
                    ("plain", "literal"),
                    ("fixed", "literal"),
                ]),
        )
        .param(text("glob", "only files matching this glob").aliases(["include", "file_pattern"]))
        .param(flag("ignore_case", "upper and lower case alike").aliases(["case_insensitive"]))
        .param(count("context", 0, 20, "lines around each match").aliases(["context_lines"]))
        .effect(reads)
}

fn write_file() -> ToolSpec {
    ToolSpec::new("write_file", "Write a whole file; folders are made. Long content goes below the object.")
        .aliases(["create_file", "save_file", "write"])
        .param(file("the file to write"))
        .param(content("content", "all of its text").required().aliases([
            "contents",
            "text",
            "file_text",
            "file_content",
        ]))
        .param(validate().untaught())
        .effect(writes)
}

/// An example for the nested arguments of `edit_file`, which small models get wrong without one.
const EDIT_EXAMPLE: &str = r#"```tool
{"name": "edit_file", "args": {"path": "src/app.py", "edits": [{"start_line": 3, "end_line": 4, "replacement": "x = 1\n"}]}}
```"#;

fn edit_file() -> ToolSpec {
    let edits = ParamKind::Objects(vec![
        line("start_line", "first line to replace").required().aliases(["start", "from"]),
        count("end_line", 0, i64::MAX, "last line to replace; start_line - 1 inserts before start_line")
            .required()
            .aliases(["end", "to"]),
        content("replacement", "the new lines").required().aliases(["new_text", "text", "content", "new_lines"]),
    ]);
    ToolSpec::new("edit_file", "Replace line ranges of one file, all or none; end_line = start_line - 1 inserts.")
        .aliases(["edit", "edit_lines", "multi_edit"])
        .param(file("the file to change"))
        .param(Param::new("edits", edits, "line ranges of the file as last read").required())
        .param(dry_run())
        .param(validate())
        .example(EDIT_EXAMPLE)
        .effect(writes_unless_dry)
}

fn replace_text() -> ToolSpec {
    ToolSpec::new("replace_text", "Replace a passage that occurs exactly once in a file.")
        .aliases(["str_replace", "replace", "search_replace"])
        .param(file("the file to change"))
        .param(content("old", "the passage as it is").required().aliases(["old_text", "old_str", "old_string"]))
        .param(content("new", "the passage as it shall be").required().aliases(["new_text", "new_str", "new_string"]))
        .param(dry_run())
        .param(validate().untaught())
        .effect(writes_unless_dry)
}

/// An example with a list and its pointers, which look like paths of files.
const DATA_EXAMPLE: &str = r#"```tool
{"name": "edit_data", "args": {"path": "package.json", "edits": [{"at": "/scripts/test", "value": "vitest run"}, {"at": "/files/-", "value": "dist"}, {"at": "/private", "remove": true}]}}
```"#;

/// Returns the tool that changes values of JSON files. It is not a built-in tool: a host adds it.
pub fn edit_data() -> ToolSpec {
    let edits = ParamKind::Objects(vec![
        text("at", "the place of the value as a JSON Pointer; a last part - appends to a list")
            .required()
            .aliases(["pointer", "path", "key"]),
        Param::new("value", ParamKind::Any, "the new value; a name that is not there yet is added")
            .aliases(["new_value"]),
        flag("remove", "remove the value instead").aliases(["delete"]),
    ]);
    ToolSpec::new(
        "edit_data",
        "Set or remove values of a JSON file, with comments or without; all else stays as it is.",
    )
    .aliases(["edit_json", "json_edit", "update_json"])
    .param(file("the file to change"))
    .param(Param::new("edits", edits, "made in order, all or none").required())
    .param(dry_run())
    .param(validate().untaught())
    .example(DATA_EXAMPLE)
    .effect(writes_unless_dry)
}

fn apply_patch() -> ToolSpec {
    ToolSpec::new("apply_patch", "Apply a unified diff or a *** Begin Patch text; all files or none.")
        .aliases(["patch"])
        .param(Param::new("patch", ParamKind::Patch, "the patch").required().aliases([
            "diff",
            "input",
            "patch_content",
        ]))
        .param(base_path())
        .param(dry_run())
        .param(validate().untaught())
        .effect(writes_unless_dry)
}

fn bash() -> ToolSpec {
    ToolSpec::new("bash", "Run a shell command; no terminal, no stdin.")
        .aliases(["shell", "run_command", "execute_command", "sh", "terminal", "exec"])
        .param(Param::new("command", ParamKind::Command, "the command").required().aliases(["cmd", "script", "code"]))
        .param(timeout())
        .param(Param::new("cwd", ParamKind::Path, "folder to run in").aliases(["workdir", "working_directory"]))
        .param(
            flag("background", "keep it running as a job").aliases(["run_in_background"]).requests(Request::Background),
        )
        .param(flag("network", "let it use the network; always asks").requests(Request::Network))
        .param(flag("outside_sandbox", "run it without the sandbox; always asks").requests(Request::OutsideSandbox))
        .effect(|_| Effect::Execute)
}

fn run_python() -> ToolSpec {
    ToolSpec::new("run_python", "Run a Python file of the project.")
        .aliases(["run_python_file", "python"])
        .param(file("the Python file"))
        .param(Param::new("args", ParamKind::Texts, "its command line").aliases(["arguments", "argv"]))
        .param(timeout())
        .effect(|_| Effect::Execute)
        .runs(python_command)
}

/// Returns the call as a command line: rules about `python3` apply to both, and an answer about one applies to the
/// other.
fn python_command(args: &Args) -> Option<Vec<String>> {
    let path = text_of(args, "path")?;
    // A path that looks like an option must not become one.
    let file = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    let mut words = vec!["python3".to_owned(), file];
    let arguments = args.get("args").and_then(Value::as_array).into_iter().flatten();
    words.extend(arguments.filter_map(Value::as_str).map(str::to_owned));
    Some(words)
}

fn job() -> ToolSpec {
    ToolSpec::new("job", "Poll, write to or stop a background job.")
        .param(text("id", "the job's id").required().aliases(["job_id"]))
        .param(
            Param::new("action", ParamKind::Choice(vec!["poll".into(), "write".into(), "stop".into()]), "what to do")
                .required(),
        )
        .param(content("input", "text for its stdin"))
        // A write can be a command, and a stop ends a process; only a poll changes nothing.
        .effect(|args| if polls(args) { Effect::Read } else { Effect::Execute })
        .polls(polls)
}

/// Returns the tool with which a model maintains a plan. It is not a built-in tool: a host adds it.
pub fn plan() -> ToolSpec {
    let steps = ParamKind::Objects(vec![
        text("text", "what is to be done").required().aliases(["step", "title", "content", "description"]),
        text("state", "pending, active or done").default("pending").aliases(["status"]),
    ]);
    ToolSpec::new(plan::TOOL, "Keep the plan of a long task: all its steps each time, at most one of them active.")
        .aliases(["update_plan", "todo", "todo_write"])
        .param(Param::new("steps", steps, "every step with its state").required().aliases(["plan", "todos", "items"]))
        .effect(reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The argument displayed to users does not depend on the name that the model gave it.
    #[test]
    fn each_tool_has_a_displayed_argument() {
        for (name, args, telling) in [
            ("read_file", r#"{"file_path": "a.rs"}"#, Some("a.rs")),
            ("list_files", r#"{"path": "src"}"#, Some("src")),
            ("list_files", "{}", None),
            ("search", r#"{"path": "src", "query": "x y"}"#, Some("x y")),
            ("write_file", r#"{"content": "1", "path": "a"}"#, Some("a")),
            ("edit_file", r#"{"path": "a", "edits": []}"#, Some("a")),
            ("replace_text", r#"{"old": "x", "new": "y", "path": "a"}"#, Some("a")),
            ("apply_patch", r#"{"patch": "x"}"#, None),
            ("bash", r#"{"cwd": "src", "cmd": "make"}"#, Some("make")),
            ("run_python", r#"{"args": ["1"], "path": "a.py"}"#, Some("a.py")),
            ("job", r#"{"action": "poll", "id": "j1"}"#, Some("j1")),
        ] {
            let call = ToolCall::new("1", name, serde_json::from_str(args).expect("an object"));
            let spec = builtin(name).expect("it is one of ours");
            assert_eq!(spec.summary_argument(&call.args).map(|(_, text)| text), telling, "{name} {args}");
        }
    }

    #[test]
    fn every_tool_that_writes_files_has_a_planned_change() {
        let changes = [
            ("write_file", r#"{"path": "a", "content": "x"}"#),
            ("edit_file", r#"{"path": "a", "edits": [{"start_line": 1, "end_line": 2, "replacement": "x"}]}"#),
            ("replace_text", r#"{"path": "a", "old": "x", "new": "y"}"#),
            ("apply_patch", r#"{"patch": "x"}"#),
            ("edit_data", r#"{"path": "a", "edits": [{"at": "/x", "value": null}, {"at": "/y", "remove": true}]}"#),
        ];
        for row in ROWS.iter().chain(OPTIONAL.iter()) {
            let args = changes.iter().find(|(name, _)| *name == row.spec.name).map(|(_, args)| *args);
            let call = |args: &str| ToolCall::new("1", &*row.spec.name, serde_json::from_str(args).expect("an object"));
            assert_eq!(change(&call(args.unwrap_or("{}"))).is_some(), args.is_some(), "{}", row.spec.name);
            assert_eq!(change(&call("{}")), None, "{}", row.spec.name);
            let writes = row.spec.effect_of(&Args::new()) == Effect::Write;
            assert_eq!(row.change.is_some(), writes, "{}", row.spec.name);
        }
    }

    #[test]
    fn only_a_poll_polls() {
        let spec = builtin("job").expect("it is one of ours");
        let args = |action: &str| Args::from_iter([("action".to_owned(), action.into())]);
        assert!(spec.is_poll(&args("poll")) && !spec.is_poll(&args("stop")));
        assert_eq!((spec.effect_of(&args("poll")), spec.effect_of(&args("write"))), (Effect::Read, Effect::Execute));
    }
}
