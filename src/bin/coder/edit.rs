//! A call changed by the person before it runs: by a command that was typed, or in the person's own editor.

use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use tokio::process::Command;
use toolfence::{Args, ToolCall};

/// What is opened in the editor.
enum Part {
    /// The text of one argument, under a file name that tells an editor what it is.
    Text { argument: &'static str, file: &'static str },
    /// All arguments, as JSON.
    All,
}

/// The arguments as the person wants them: with `typed` in the place of the command, or as they come out of the editor.
///
/// # Errors
/// Why they are as before, for the person.
pub(crate) async fn changed(call: &ToolCall, typed: &str) -> Result<Args, String> {
    let part = part_of(call);
    let new = match (&part, typed) {
        (_, "") => edited(&part, &old(call, &part)).await?,
        (Part::Text { argument: "command", .. }, typed) => typed.to_owned(),
        _ => return Err("Only a command can be typed here; say edit alone to open an editor.".into()),
    };
    let args = with(call, &part, &new)?;
    if args == call.args { Err("Nothing was changed.".into()) } else { Ok(args) }
}

fn part_of(call: &ToolCall) -> Part {
    let is_text = |name: &str| call.args.get(name).is_some_and(Value::is_string);
    match () {
        () if is_text("command") => Part::Text { argument: "command", file: "command.sh" },
        () if is_text("content") => Part::Text { argument: "content", file: "content.txt" },
        () if is_text("patch") => Part::Text { argument: "patch", file: "change.patch" },
        () => Part::All,
    }
}

fn old(call: &ToolCall, part: &Part) -> String {
    match part {
        Part::Text { argument, .. } => call.args.get(*argument).and_then(Value::as_str).unwrap_or_default().to_owned(),
        Part::All => format!("{:#}\n", Value::Object(call.args.clone())),
    }
}

fn with(call: &ToolCall, part: &Part, new: &str) -> Result<Args, String> {
    match part {
        Part::Text { argument, .. } => {
            let mut args = call.args.clone();
            // Editors end the last line; a command has no need of it.
            let new = if *argument == "command" { new.trim_end_matches('\n') } else { new };
            args.insert((*argument).to_owned(), new.into());
            Ok(args)
        }
        Part::All => serde_json::from_str(new).map_err(|error| format!("That is not a JSON object: {error}.")),
    }
}

async fn edited(part: &Part, text: &str) -> Result<String, String> {
    let name = if let Part::Text { file, .. } = part { file } else { "arguments.json" };
    let failed = |error: io::Error| format!("The text cannot be opened in an editor: {error}.");
    let folder = tempfile::Builder::new().prefix("coder-edit-").tempdir().map_err(failed)?;
    let path = folder.path().join(name);
    std::fs::write(&path, text).map_err(failed)?;
    let status = editor(&path).map_err(failed)?.status().await.map_err(failed)?;
    if !status.success() {
        return Err(format!("The editor ended with {status}, so nothing was changed."));
    }
    std::fs::read_to_string(&path).map_err(failed)
}

/// The person's editor on the terminal itself, whatever stdin is. What names it may hold options, so a shell reads it.
fn editor(path: &Path) -> io::Result<Command> {
    let set = |name: &str| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let terminal = || OpenOptions::new().read(true).write(true).open("/dev/tty");
    let (input, output, errors): (File, File, File) = (terminal()?, terminal()?, terminal()?);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(path).kill_on_drop(true);
    command.stdin(input).stdout(output).stderr(errors);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(args: Value) -> ToolCall {
        ToolCall::new("1", "x", args.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn what_comes_back_takes_its_place() {
        let bash = call(json!({"command": "make", "cwd": "a"}));
        let args = with(&bash, &part_of(&bash), "make test\n").unwrap();
        assert_eq!(Value::Object(args), json!({"command": "make test", "cwd": "a"}));
        let write = call(json!({"path": "a", "content": "x"}));
        assert_eq!(with(&write, &part_of(&write), "y\n").unwrap()["content"], "y\n");
        let other = call(json!({"id": 1}));
        assert_eq!(old(&other, &part_of(&other)), "{\n  \"id\": 1\n}\n");
        assert_eq!(with(&other, &part_of(&other), "{\"id\": 2}").unwrap()["id"], 2);
        assert!(with(&other, &part_of(&other), "id").is_err());
    }
}
