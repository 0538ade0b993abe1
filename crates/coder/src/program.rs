//! The program of the command backend, as the settings name it.
//!
//! The program is the user's own and runs outside of the sandbox. It therefore must not run in the project or read
//! files there, because the model could change them.

use crate::choices::{CommandFormat, Conversation};
use crate::config::Config;
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toolfence_agent::backend::{Backend, Command, CommandOptions};
use toolfence_protocol::text;

/// Prefix of the program's name, which replaces the URL of a server in stored profiles.
pub(crate) const PLACE: &str = "command://";

/// Builds the command backend. `root` is the root of the project.
pub(crate) fn backend(config: &Config, model: Option<String>, root: &Path) -> Result<Arc<dyn Backend>, Failure> {
    let mut options = command_line(config)?;
    // If the project contains the home folder, the sandbox cannot protect that, and the check below would reject every
    // program in it.
    let apart = home().filter(|home| !home.starts_with(root));
    let folder = apart.clone().unwrap_or_else(|| PathBuf::from("/"));
    if apart.is_some()
        && let Some(path) = in_project(&options.words, &folder, root)
    {
        return Err(Failure::wrong_use(text!(
            "the command backend would run {path}, which is in the project: the model could rewrite it, and it runs \
             outside of the sandbox. Move it out of the project, to ~/bin for example",
            path = path.display().to_string()
        )));
    }
    options.folder = Some(folder);
    options.model = model;
    options.own_conversation = config.command_conversation.value() == Conversation::Own;
    options.json = config.command_format.value() == CommandFormat::Json;
    options.first_byte = Duration::from_secs(config.command_first_byte.value());
    options.between = Duration::from_secs(config.command_between.value());
    Ok(Arc::new(Command::new(options).map_err(Failure::wrong_use)?))
}

/// Returns the name or path of the program without its arguments.
pub(crate) fn name(config: &Config) -> Result<String, Failure> {
    Ok(command_line(config)?.words.swap_remove(0))
}

/// Returns the command line of the settings. As in a shell, `~/` at the beginning of a word is the home folder. A
/// relative program path is resolved against the folder of the settings file that names it.
fn command_line(config: &Config) -> Result<CommandOptions, Failure> {
    let missing = || {
        Failure::wrong_use(text!(
            "the command backend needs its program: give --command \"llm -m NAME\", or set command in your settings"
        ))
    };
    let line = config.command.text().ok_or_else(missing)?;
    let mut options = CommandOptions::parse(line).map_err(Failure::wrong_use)?;
    if let Some(home) = home() {
        for word in &mut options.words {
            if let Some(rest) = word.strip_prefix("~/") {
                *word = home.join(rest).display().to_string();
            }
        }
    }
    let program = options.words.first_mut().ok_or_else(missing)?;
    if program.contains('/') {
        let beside = config.command.folder().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        *program = beside.join(&program).display().to_string();
    }
    Ok(options)
}

fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    home.and_then(|home| home.canonicalize().ok())
}

/// Returns a file of the project that a program in this folder would run or read, judged by the words of its command
/// line.
fn in_project(words: &[String], folder: &Path, root: &Path) -> Option<PathBuf> {
    let found = |name: &String| {
        let search_path = std::env::var_os("PATH")?;
        std::env::split_paths(&search_path).map(|folder| folder.join(name)).find(|path| path.is_file())
    };
    let first = words.first().filter(|word| !word.contains('/')).and_then(found);
    let named = words.iter().map(|word| folder.join(word));
    let files = first.into_iter().chain(named).filter_map(|path| path.canonicalize().ok());
    files.filter(|path| path.is_file()).find(|path| path.starts_with(root))
}
