//! A call in few words, and what it would do, for the person who is asked.

use serde_json::Value;
use similar::TextDiff;
use std::time::Duration;
use toolfence::workspace::{ReadFile, Stop, Workspace};
use toolfence::{ToolCall, ToolSpec};

/// Lines of a diff or of an argument that are shown.
const MOST_LINES: usize = 60;
/// Bytes of a file that are compared with what it shall be, and how long that may take.
const MOST_COMPARED: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_millis(300);
/// Characters of a line that are shown.
const MOST_COLUMNS: usize = 160;

/// The tool and the argument that says most: `read_file src/main.rs`, `bash $ make test`.
pub(crate) fn label(call: &ToolCall) -> String {
    const TELLING: &[&str] = &["command", "cmd", "path", "file_path", "pattern", "query", "id"];
    let main = TELLING.iter().find_map(|name| call.args.get(*name)?.as_str());
    let more = match (call.name.as_str(), main) {
        (_, None) => return call.name.clone(),
        ("search", Some(pattern)) => format!("{pattern:?}"),
        ("bash", Some(command)) => format!("$ {command}"),
        (_, Some(text)) => text.to_owned(),
    };
    let first = more.lines().next().unwrap_or_default();
    let dots = if first.len() < more.trim_end().len() { " ..." } else { "" };
    format!("{} {}{dots}", call.name, short(first))
}

/// What the call would do: the command, or the path with a diff, or its arguments.
pub(crate) fn preview(call: &ToolCall, workspace: &Workspace) -> String {
    let text = |name: &str| call.args.get(name).and_then(Value::as_str);
    match (text("command"), text("path"), text("content")) {
        (Some(command), ..) => command_lines(call, command),
        (None, Some(path), Some(content)) => diff(path, content, workspace),
        _ => arguments(call),
    }
}

fn command_lines(call: &ToolCall, command: &str) -> String {
    let others = call.args.iter().filter(|(name, _)| name.as_str() != "command");
    let others: Vec<String> = others.map(|(name, value)| format!("  {name}: {value}\n")).collect();
    format!("{}{}", indented(command, "  $ "), others.concat())
}

/// The change a file would have. Where the file cannot be read as text, its new content.
fn diff(path: &str, content: &str, workspace: &Workspace) -> String {
    let mut wanted = ReadFile::new(path);
    wanted.limits.bytes = MOST_COMPARED;
    (wanted.limits.lines, wanted.limits.line_chars) = (u64::MAX, MOST_COMPARED);
    let old = workspace.read(&wanted, &Stop::default()).ok().filter(|file| file.left_out == 0 && file.cut_lines == 0);
    let Some(old) = old else {
        return format!("  {path}: all of it would be\n{}", indented(content, "  + "));
    };
    let mut config = TextDiff::configure();
    let diff = config.timeout(PATIENCE).diff_lines(old.text.as_str(), content);
    format!("  {path}: a change\n{}", indented(&diff.unified_diff().context_radius(2).to_string(), "  "))
}

fn arguments(call: &ToolCall) -> String {
    let known = ToolSpec::builtin(&call.name).map(|spec| spec.purpose.as_ref()).unwrap_or_default();
    let mut out = if known.is_empty() { String::new() } else { format!("  {known}\n") };
    for (name, value) in &call.args {
        match value.as_str() {
            Some(text) if text.contains('\n') => out.push_str(&format!("  {name}:\n{}", indented(text, "    "))),
            _ => out.push_str(&format!("  {name}: {}\n", short(&value.to_string()))),
        }
    }
    out
}

/// Every line counts for whoever has to say yes: what is left out is told.
fn indented(text: &str, first: &str) -> String {
    let blank = " ".repeat(first.len());
    let count = text.lines().count();
    let mut out = String::new();
    for (index, line) in text.lines().take(MOST_LINES).enumerate() {
        out.push_str(if index == 0 { first } else { &blank });
        out.push_str(&short(line));
        out.push('\n');
    }
    if count > MOST_LINES {
        out.push_str(&format!("{blank}[{} more lines that are not shown]\n", count - MOST_LINES));
    }
    out
}

fn short(line: &str) -> String {
    let mut chars = line.chars();
    let shown: String = chars.by_ref().take(MOST_COLUMNS).collect();
    match chars.count() {
        0 => shown,
        more => format!("{shown} [{more} more characters that are not shown]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall::new("1", name, args.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn labels_say_what_matters() {
        assert_eq!(label(&call("read_file", json!({"path": "a.rs"}))), "read_file a.rs");
        assert_eq!(label(&call("bash", json!({"command": "make\nmake test", "cwd": "x"}))), "bash $ make ...");
        assert_eq!(label(&call("search", json!({"pattern": "a b"}))), "search \"a b\"");
        assert_eq!(label(&call("weather", json!({"city": 3}))), "weather");
    }

    #[test]
    fn what_is_left_out_is_told() {
        let shown = indented(&"x\n".repeat(MOST_LINES + 5), "  $ ");
        assert!(shown.ends_with("    [5 more lines that are not shown]\n"), "{shown}");
        assert!(short(&"y".repeat(MOST_COLUMNS + 7)).ends_with("[7 more characters that are not shown]"));
    }
}
