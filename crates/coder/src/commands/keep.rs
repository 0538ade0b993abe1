//! `coder keep` and `/keep`: adds output of commands to the project that was left out of it before.

use crate::args::{KeepArguments, Options};
use crate::failure::Failure;
use crate::project::Project;
use crate::rules;
use crate::shown::escaped;
use crate::terminal::Terminal;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use toolfence_protocol::Text;
use toolfence_protocol::text;

/// Lists the output, or adds the output at a path to the project.
pub(crate) fn run(options: &Options, arguments: &KeepArguments) -> Result<ExitCode, Failure> {
    let (project, _) = rules::open(options)?;
    let mut out = Terminal::stdout();
    match &arguments.path {
        Some(path) => keep(&project, path, &mut out)?,
        None => list(&project, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `/keep`: lists the output, or adds the output at `path` to the project.
pub(crate) fn typed(project: &Project, path: &str, out: &mut Terminal) -> Result<(), Failure> {
    if path.is_empty() { list(project, out) } else { keep(project, Path::new(path), out) }
}

fn list(project: &Project, out: &mut Terminal) -> Result<(), Failure> {
    let output = project.commands.output_of_session();
    let output = output.map_err(|failure| Failure::unsuccessful(failure.message))?;
    if output.is_empty() {
        return print(
            &text!("There is no build output to keep. While a command runs, its output is not available."),
            out,
        );
    }
    output.iter().try_for_each(|(path, files)| {
        let path = escaped(&path.to_string_lossy()).into_owned();
        print(&text!("{path} ({count} {count|file|files})", path, count = *files as u64), out)
    })
}

fn keep(project: &Project, path: &Path, out: &mut Terminal) -> Result<(), Failure> {
    // `./target` and `target` are the same output.
    let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    let kept = project.commands.keep_output(&path);
    let (kept, notes) = kept.map_err(|failure| Failure::unsuccessful(failure.message))?;
    for (path, files) in &kept {
        let path = escaped(&path.to_string_lossy()).into_owned();
        print(&text!("Kept in the project: {path} ({count} {count|file|files})", path, count = *files as u64), out)?;
    }
    notes.iter().try_for_each(|note| print(note, out))
}

fn print(line: &Text, out: &mut Terminal) -> Result<(), Failure> {
    out.line(line)
}
