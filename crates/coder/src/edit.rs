//! Changes a call before it runs: the user types another command, or edits the call in an external editor.

use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tokio::process::Command;
use toolfence_protocol::{Args, ParamKind, Text, ToolCall, text};

/// The part of a call that is opened in the editor.
enum Part {
    /// The text of one argument. The file name lets an editor recognize the language.
    Text { argument: String, file: &'static str, is_command: bool },
    /// All arguments as JSON.
    All,
}

/// Returns the changed arguments of a call: with the command replaced by `typed`, or as the user edited them if `typed`
/// is empty.
///
/// # Errors
/// Nothing was changed. The message for the user explains why.
pub(crate) async fn changed(call: &ToolCall, typed: &str) -> Result<Args, Text> {
    let part = part_of(call);
    let new = match (&part, typed) {
        (_, "") => edited(&part, &old(call, &part)).await?,
        (Part::Text { is_command: true, .. }, typed) => typed.to_owned(),
        _ => return Err(text!("Only the command can be typed here; type edit alone to open an editor.")),
    };
    let args = with(call, &part, &new)?;
    if args == call.args { Err(text!("Nothing was changed.")) } else { Ok(args) }
}

fn part_of(call: &ToolCall) -> Part {
    let catalog = toolfence_policy::toolset::catalog();
    let Some(spec) = catalog.find(&call.name) else { return Part::All };
    for (kind, file) in [
        (ParamKind::Command, "command.sh"),
        (ParamKind::Text { content: true }, "content.txt"),
        (ParamKind::Patch, "change.patch"),
    ] {
        // A tool with several contents, such as the old and the new text of a passage, is edited as JSON with all
        // arguments.
        if let Some((param, _)) = spec.only_argument(&kind, &call.args) {
            let is_command = kind == ParamKind::Command;
            return Part::Text { argument: param.name.clone().into_owned(), file, is_command };
        }
    }
    Part::All
}

fn old(call: &ToolCall, part: &Part) -> String {
    match part {
        Part::Text { argument, .. } => call.args.get(argument).and_then(Value::as_str).unwrap_or_default().to_owned(),
        Part::All => format!("{:#}\n", Value::Object(call.args.clone())),
    }
}

fn with(call: &ToolCall, part: &Part, new: &str) -> Result<Args, Text> {
    match part {
        Part::Text { argument, is_command, .. } => {
            let mut args = call.args.clone();
            // Editors add a newline at the end, which a command does not need.
            let new = if *is_command { new.trim_end_matches('\n') } else { new };
            args.insert(argument.clone(), new.into());
            Ok(args)
        }
        Part::All => serde_json::from_str(new)
            .map_err(|error| text!("That is not a JSON object: {error}.", error = error.to_string())),
    }
}

async fn edited(part: &Part, text: &str) -> Result<String, Text> {
    in_editor(if let Part::Text { file, .. } = part { file } else { "arguments.json" }, text).await
}

/// Opens a text in the user's editor, in a temporary file of this name that only the user can read, and returns the
/// edited text.
///
/// # Errors
/// The edit failed. The message is for the user.
pub(crate) async fn in_editor(name: &str, text: &str) -> Result<String, Text> {
    let failed = |error: io::Error| text!("The editor cannot be started: {error}.", error = Text::from(&error));
    let folder = tempfile::Builder::new().prefix("coder-edit-").tempdir().map_err(failed)?;
    let path = folder.path().join(name);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
    // The editor needs the terminal in its original modes, and what was typed before is not for it.
    let _shown = crate::input::modes::OriginalModes::begin();
    let status = editor(&path).map_err(failed)?.status().await.map_err(failed)?;
    if !status.success() {
        return Err(text!("The editor ended with {status}, so nothing was changed.", status = status.to_string()));
    }
    std::fs::read_to_string(&path).map_err(failed)
}

/// Returns the user's editor on the terminal, even if stdin is redirected. `VISUAL` and `EDITOR` may contain options,
/// so a shell parses them.
fn editor(path: &Path) -> io::Result<Command> {
    let set = |name: &str| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let terminal = || OpenOptions::new().read(true).write(true).open("/dev/tty");
    let (input, output, errors): (File, File, File) = (terminal()?, terminal()?, terminal()?);
    let mut command = Command::new("sh");
    // The path is an argument of the shell, so that its characters have no meaning in the script.
    command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(path).kill_on_drop(true);
    command.stdin(input).stdout(output).stderr(errors);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(tool: &str, args: Value) -> ToolCall {
        ToolCall::new("1", tool, args.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn an_edited_argument_replaces_the_old_one() {
        let bash = call("bash", json!({"command": "make", "cwd": "a"}));
        let args = with(&bash, &part_of(&bash), "make test\n").unwrap();
        assert_eq!(Value::Object(args), json!({"command": "make test", "cwd": "a"}));
        let write = call("write_file", json!({"path": "a", "content": "x"}));
        assert_eq!(with(&write, &part_of(&write), "y\n").unwrap()["content"], "y\n");
        let other = call("x", json!({"id": 1}));
        assert_eq!(old(&other, &part_of(&other)), "{\n  \"id\": 1\n}\n");
        assert_eq!(with(&other, &part_of(&other), "{\"id\": 2}").unwrap()["id"], 2);
        assert!(with(&other, &part_of(&other), "id").is_err());
    }
}
