//! Plans the change of a call before the user is asked about it.
//!
//! The question shows the diff of the plan. A call whose plan fails cannot succeed, so its failure is returned without
//! a question.

use serde_json::Value;
use toolfence_policy::toolset::{Change, change};
use toolfence_protocol::{ErrorCode, ToolCall, ToolFailure};
use toolfence_workspace::{EditData, EditFile, EditLines, EditValue, ReplaceText, Workspace};

/// Returns the diff of the change that a call to a built-in tool would make. Returns `None` if the call itself changes
/// no files, or if the contents are not text or are too long to compare.
///
/// # Errors
/// The failure that the call would certainly have.
pub(crate) fn plan(workspace: &Workspace, call: &ToolCall) -> Result<Option<String>, ToolFailure> {
    match planned_change(workspace, call) {
        // Only the tool knows the setting for the largest size of a file, so this is no certain failure.
        Some(Err(failure)) if failure.code == ErrorCode::TooLarge => Ok(None),
        Some(planned) => planned,
        None => certain_failure(workspace, call).map_or(Ok(None), Err),
    }
}

/// Returns the diff of a call that changes files directly and not by a command; `None` for any other call.
fn planned_change(workspace: &Workspace, call: &ToolCall) -> Option<Result<Option<String>, ToolFailure>> {
    let changes = workspace.changes();
    Some(match change(call)? {
        Change::Whole { path, content } => {
            changes.draft_write(path, content, None).map(|draft| draft.into_report().diff)
        }
        Change::Lines { path, edits } => {
            let lines = |(start_line, end_line, text): (u64, u64, &str)| {
                let replacement = text.to_owned();
                EditLines { start_line, end_line, replacement }
            };
            let edits = edits.into_iter().map(lines).collect();
            changes.draft_edit(&EditFile::new(path, edits)).map(|draft| draft.into_report().diff)
        }
        Change::Passage { path, old, new } => {
            changes.draft_replacement(&ReplaceText::new(path, old, new)).map(|draft| draft.into_report().diff)
        }
        Change::Data { path, edits } => {
            let edit = |(at, value, remove): (&str, Option<&Value>, bool)| {
                let (at, value) = (at.to_owned(), value.cloned());
                EditValue { at, value, remove }
            };
            let edits = edits.into_iter().map(edit).collect();
            changes.draft_data(&EditData::new(path, edits)).map(|draft| draft.into_report().diff)
        }
        Change::Patch { folder, text } => changes.draft_patch_in(folder, text).map(|draft| draft.into_report().diff),
    })
}

/// Returns the certain failure of a call that does not change files directly.
fn certain_failure(workspace: &Workspace, call: &ToolCall) -> Option<ToolFailure> {
    let path = ["path", "cwd"].into_iter().find_map(|name| call.args.get(name)).and_then(Value::as_str)?;
    match call.name.as_str() {
        "read_file" | "run_python" => workspace.root().named_file(path).err(),
        "list_files" | "search" | "bash" if path.is_empty() => workspace.root().named_folder(path).err(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::CommandRunner;
    use serde_json::json;
    use std::sync::Arc;
    use toolfence_policy::rules::PathRules;
    use toolfence_policy::{AskMode, Policy, Verdict};
    use toolfence_protocol::ToolCall;
    use toolfence_sandbox::isolation::Settings;

    #[test]
    fn calls_that_cannot_succeed_are_answered_without_a_question() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        std::fs::write(home.path().join("a"), "one\ntwo\n").expect("it can be written");
        let workspace = Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
        let commands = CommandRunner::new(Arc::new(workspace), Settings::new());
        let review = |ask: AskMode, name: &str, args: &Value| {
            let call = ToolCall::new("1", name, args.as_object().cloned().unwrap_or_default());
            match Policy::default().ask(ask).review(call, &toolfence_policy::toolset::catalog(), &commands) {
                Verdict::Ask(_) => json!("asks"),
                Verdict::Cleared(_) => json!("runs"),
                Verdict::Denied(result) => result.error.map_or(Value::Null, |error| json!(error.code)),
            }
        };
        let edit = |line: u64| json!([{"start_line": line, "end_line": line, "replacement": "x"}]);
        let patch = |old: &str| format!("*** Begin Patch\n*** Update File: a\n@@\n-{old}\n+x\n*** End Patch\n");
        for (name, args, want) in [
            ("replace_text", json!({"path": "a", "old": "two", "new": "x"}), "asks"),
            ("replace_text", json!({"path": "a", "old": "three", "new": "x"}), "no_match"),
            ("replace_text", json!({"path": "a", "old": "o", "new": "x"}), "not_unique"),
            ("replace_text", json!({"path": "b", "old": "two", "new": "x"}), "not_found"),
            ("edit_file", json!({"path": "a", "edits": edit(2)}), "asks"),
            ("edit_file", json!({"path": "a", "edits": edit(9)}), "invalid_argument"),
            ("edit_file", json!({"path": "b", "edits": edit(2)}), "not_found"),
            ("apply_patch", json!({"patch": patch("two")}), "asks"),
            ("apply_patch", json!({"patch": patch("three")}), "no_match"),
            ("apply_patch", json!({"patch": "no patch"}), "invalid_argument"),
            ("apply_patch", json!({"patch": patch("two"), "base_path": ""}), "asks"),
            ("apply_patch", json!({"patch": patch("two"), "base_path": "a"}), "invalid_argument"),
            ("apply_patch", json!({"patch": patch("two"), "base_path": "b"}), "not_found"),
            ("write_file", json!({"path": "new", "content": "x"}), "asks"),
            ("write_file", json!({"path": "", "content": "x"}), "invalid_argument"),
            ("run_python", json!({"path": "no.py"}), "not_found"),
            ("bash", json!({"command": "make", "cwd": ""}), "invalid_argument"),
            ("search", json!({"pattern": "x", "path": ""}), "invalid_argument"),
        ] {
            assert_eq!(review(AskMode::Risky, name, &args), want, "{name} {args}");
            assert_eq!(review(AskMode::Always, name, &args), want, "{name} {args}");
        }
        for name in ["read_file", "list_files", "write_file", "edit_file", "replace_text", "run_python"] {
            let args = json!({"path": "", "content": "x", "edits": edit(1), "old": "a", "new": "b"});
            let known = |key: &str| {
                toolfence_policy::toolset::builtin(name)
                    .is_some_and(|spec| spec.params.iter().any(|param| param.name == key))
            };
            let args: serde_json::Map<String, Value> = args
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(key, _)| known(key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            assert_eq!(review(AskMode::Risky, name, &args.into()), "invalid_argument", "{name}");
        }
        assert_eq!(review(AskMode::Always, "read_file", &json!({"path": "b"})), "not_found");
    }
}
