//! Commands written by the user or a project: Markdown files that are sent as messages.
//!
//! `NAME.md` in the folder `commands` next to the user's settings, or in `.toolfence/commands` of a project, is
//! `/NAME`. None of them replaces a built-in command, and a project's command never replaces one of the user. A
//! project's command is sent only if the user has trusted its exact content.

use super::built_in;
use crate::config::places::{self, Places, has_link, read_first_bytes, read_own};
use crate::config::trust;
use crate::failure::Failure;
use crate::personas::is_name;
use crate::shown::escaped;
use std::path::{Path, PathBuf};
use toolfence_protocol::clip;
use toolfence_protocol::{Text, text};

/// The ending of a command's file.
const ENDING: &str = ".md";
/// The placeholder for the arguments of a command.
const ARGUMENTS: &str = "$ARGUMENTS";
/// Maximum number of placeholders that are replaced, because the arguments may be as long as a paste.
const MOST_PLACES: usize = 16;
/// Maximum number of files of a folder that are examined, and of bytes of a file.
const MOST_FILES: usize = 200;
const MOST_BYTES: usize = 64 << 10;
/// Maximum number of characters of a displayed description.
const LONGEST: usize = 100;

/// A command.
#[derive(Debug, Clone)]
pub(crate) struct UserCommand {
    pub(crate) name: String,
    file: PathBuf,
    /// The root of the project that contains the command; `None` for a command of the user.
    project: Option<PathBuf>,
    /// Whether the command is the user's own, or the user has trusted its text.
    trusted: bool,
    /// The heading of the file.
    summary: String,
}

impl UserCommand {
    /// Returns the description of the command for /help.
    pub(super) fn summary(&self) -> Text {
        match (self.summary.as_str(), self.is_of_project()) {
            _ if !self.trusted => text!("of the project; you see its text before it is used"),
            ("", true) => text!("of the project"),
            ("", false) => text!("your own"),
            (summary, _) => summary.into(),
        }
    }

    /// Returns the file of the command.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns `true` if the command belongs to the project and not to the user.
    pub(crate) fn is_of_project(&self) -> bool {
        self.project.is_some()
    }

    /// Marks the command as trusted.
    pub(crate) fn trust(&mut self) {
        self.trusted = true;
    }

    /// Reads the current text of the file, so that an edit takes effect at once.
    ///
    /// # Errors
    /// The file does not exist or is too long, or the path of a project's file contains a link.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let text = text(&self.file, self.project.as_deref())?;
        text.ok_or_else(|| Failure::wrong_use(text!("there is no file {path}", path = self.file.display().to_string())))
    }
}

/// Returns the message of a command file, with `words` in place of the placeholder, or otherwise below the text.
pub(crate) fn message(text: &str, words: &str) -> String {
    let (_, body) = parted(text);
    let body = body.trim();
    match (body.contains(ARGUMENTS), words) {
        (true, words) => body.replacen(ARGUMENTS, words, MOST_PLACES),
        (false, "") => body.to_owned(),
        (false, words) => format!("{body}\n\n{words}"),
    }
}

/// Finds the commands of the user and the project. Invalid ones are reported and the others are returned.
pub(crate) fn find(places: &Places) -> (Vec<UserCommand>, Vec<Text>) {
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    if let Some(folder) = places.user.as_deref().and_then(Path::parent) {
        in_folder(&folder.join("commands"), None, &mut all, &mut notes);
    }
    in_folder(&places.commands(), Some(places.root()), &mut all, &mut notes);
    for own in all.iter_mut().filter(|own| own.is_of_project()) {
        own.trusted = own.text().is_ok_and(|text| trust::is_trusted(places, &own.file, &text));
    }
    (all, notes)
}

/// Returns the project's command files with their texts, and a failure for each file that cannot be read or whose path
/// contains a link.
pub(crate) fn of_project(places: &Places) -> (Vec<(PathBuf, String)>, Vec<Failure>) {
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for (_, file) in names_in(&places.commands()) {
        match text(&file, Some(places.root())) {
            Ok(Some(text)) => files.push((file, text)),
            Ok(None) => {}
            Err(failure) => failures.push(failure),
        }
    }
    (files, failures)
}

/// Returns the names of the commands in a folder, with their files.
fn names_in(folder: &Path) -> Vec<(String, PathBuf)> {
    // A folder that does not exist has no commands.
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FILES);
    let files = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let named = |file: String| {
        let name = file.strip_suffix(ENDING).filter(|name| is_name(name))?.to_owned();
        Some((name, folder.join(file)))
    };
    let mut names: Vec<(String, PathBuf)> = files.filter_map(named).collect();
    names.sort_unstable();
    names
}

fn in_folder(folder: &Path, project: Option<&Path>, all: &mut Vec<UserCommand>, notes: &mut Vec<Text>) {
    for (name, path) in names_in(folder) {
        if built_in().any(|known| known.name == name) || all.iter().any(|known: &UserCommand| known.name == name) {
            notes.push(text!("{file} is skipped: /{name} exists already", file = path.display().to_string(), name));
            continue;
        }
        match text(&path, project) {
            Ok(Some(text)) => {
                let summary = clip::middle(parted(&text).0, LONGEST);
                let summary = escaped(&summary).into_owned();
                all.push(UserCommand {
                    name,
                    file: path,
                    project: project.map(Path::to_owned),
                    trusted: project.is_none(),
                    summary,
                });
            }
            Ok(None) => {}
            Err(failure) => notes.push(failure.message().clone()),
        }
    }
}

/// Reads a command file. Links of a project are not followed, because they may lead anywhere.
fn text(file: &Path, project: Option<&Path>) -> Result<Option<String>, Failure> {
    let read = match project {
        // `read_first_bytes` refuses only a link in the last component of the path.
        Some(root) if has_link(root, file) => {
            return Err(places::cannot_read(file, text!("it is a link; put the file itself there")));
        }
        Some(_) => read_first_bytes(file, MOST_BYTES)?,
        None => read_own(file)?.map(|text| {
            let whole = text.len() <= MOST_BYTES;
            (text, whole)
        }),
    };
    match read {
        Some((_, false)) => {
            let why = text!("it has more than {kibibytes} KiB", kibibytes = (MOST_BYTES >> 10) as u64);
            Err(Failure::wrong_use(text!(
                "cannot read {path}: {error}",
                path = file.display().to_string(),
                error = why
            )))
        }
        read => Ok(read.map(|(text, _)| text)),
    }
}

/// Splits a text into the heading in the first line, which describes the command, and the message.
fn parted(text: &str) -> (&str, &str) {
    // Some editors begin a file with a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    match text.split_once('\n').unwrap_or((text, "")) {
        (head, body) if head.starts_with("# ") => (head[2..].trim(), body),
        _ => ("", text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_command(text: &str) -> (tempfile::TempDir, UserCommand) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.md");
        std::fs::write(&file, text).unwrap();
        let project = Some(folder.path().to_owned());
        (folder, UserCommand { name: "x".into(), file, project, trusted: false, summary: String::new() })
    }

    #[test]
    fn words_take_their_place_in_the_message() {
        let message = |text: &str, words: &str| message(&user_command(text).1.text().unwrap(), words);
        assert_eq!(message("# Review\nReview $ARGUMENTS, then $ARGUMENTS.\n", "a b"), "Review a b, then a b.");
        assert_eq!(message("Test it.\n", ""), "Test it.");
        assert_eq!(message("Test it.\n", "and more"), "Test it.\n\nand more");
        assert_eq!(parted("# What it does\nbody"), ("What it does", "body"));
        assert_eq!(parted("#no heading"), ("", "#no heading"));
    }

    #[test]
    fn no_link_of_a_project_is_followed_and_nothing_endless_is_read() {
        let (folder, command) = user_command("x");
        std::fs::remove_file(&command.file).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &command.file).unwrap();
        assert!(command.text().is_err());
        std::fs::remove_file(&command.file).unwrap();
        std::fs::write(&command.file, "x".repeat(MOST_BYTES + 1)).unwrap();
        assert!(command.text().is_err());
        let (mut all, mut notes) = (Vec::new(), Vec::new());
        in_folder(folder.path(), Some(folder.path()), &mut all, &mut notes);
        assert!(all.is_empty() && notes.len() == 1);
        // A folder on the way may become a link after the commands were found.
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("x.md"), "theirs").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("commands")).unwrap();
        let below = UserCommand { file: folder.path().join("commands/x.md"), ..command };
        assert!(below.text().is_err());
    }

    #[test]
    fn none_stands_in_for_another() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["undo.md", "mine.md", "no name.md", "other.txt"] {
            std::fs::write(folder.path().join(name), "# Does \u{1b}[31mit\ntext").unwrap();
        }
        let (mut all, mut notes) = (Vec::new(), Vec::new());
        in_folder(folder.path(), None, &mut all, &mut notes);
        in_folder(folder.path(), Some(folder.path()), &mut all, &mut notes);
        assert_eq!(
            all.iter().map(|own| (own.name.as_str(), own.is_of_project())).collect::<Vec<_>>(),
            [("mine", false)]
        );
        assert_eq!(all[0].summary, "Does \\u{1b}[31mit");
        assert_eq!(notes.len(), 3);
    }
}
