//! Explains in a result that the sandbox refused a write of the command to a repository or to a mask.

use std::path::Path;
use toolfence_protocol::{Text, text};
use toolfence_sandbox::process::Outcome;
use toolfence_sandbox::project::MaskKind;
use toolfence_workspace::{MaskSet, Workspace, names};

/// Messages of programs when a file system refuses a write. Installers of hooks print the first one if hooks are
/// disabled, as they are for every command.
const REFUSALS: &[&str] = &[
    "`core.hooksPath` set",
    "Read-only file system",
    "Device or resource busy",
    "read-only file system",
    "EROFS",
    "EBUSY",
    "os error 30",
    "os error 16",
];

/// Messages of programs that cannot write to a read-only project. Node reports `ENOENT` if it creates a folder and
/// those above it, and sqlite and cmake have messages of their own.
const READ_ONLY: &[&str] = &[
    "ead-only file system",
    "EROFS",
    "EBUSY",
    "Errno 30]",
    "os error 30",
    "os error 16",
    "Device or resource busy",
    "ENOENT: no such file or directory, mkdir",
    "ENOENT: no such file or directory, open",
    "readonly database",
    "unable to open database file",
    "Unable to (re)create the private pkgRedirects directory",
    "error TS5033",
];

/// Returns `true` if the output has a program's message that it could not write to a read-only project. A command can
/// print such text itself.
pub(super) fn mentions_read_only(output: &str) -> bool {
    READ_ONLY.iter().any(|message| memchr::memmem::find(output.as_bytes(), message.as_bytes()).is_some())
}

/// The message of `git diff` for a file that it cannot read.
const CANNOT_HASH: &str = "fatal: cannot hash ";

/// The most bytes at the end of the output that are searched.
const LOOKED_AT: usize = 64 << 10;

/// Returns a sentence about repositories, one about masks and one about files that git could not read, each only if the
/// output has a line about it.
pub(super) fn explain_refusals(workspace: &Workspace, masks: &MaskSet, outcome: &Outcome) -> Vec<Text> {
    let mut start = outcome.output.len().saturating_sub(LOOKED_AT);
    while !outcome.output.is_char_boundary(start) {
        start += 1;
    }
    let (mut of_git, mut of_cover) = (false, None);
    for line in outcome.output[start..].lines().filter(|line| REFUSALS.iter().any(|refusal| line.contains(refusal))) {
        let names = |path: &Path| path.to_str().is_some_and(|path| !path.is_empty() && has_path(line, path));
        let mask = masks
            .list()
            .iter()
            // The list has a folder before its entries, so the last match is the most exact one.
            .rev()
            .find(|mask| names(&mask.path) || names(&workspace.root().path().join(&mask.path)));
        let git = line.split(['/', ' ', '\'', '"', '`', ':', '’', '‘']).any(|part| part == ".git")
            || line.contains("core.hooksPath");
        of_git |= git;
        if let (false, Some(mask)) = (git, mask) {
            of_cover.get_or_insert_with(|| names::display(&mask.path));
        }
    }
    let git = of_git.then(|| {
        text!(
            "Repositories are read-only to commands here, so that nothing is left in .git that git would run later. \
             Ask the user to run the git command."
        )
    });
    let mask = of_cover.map(|name| {
        text!(
            "{name} is kept as it is by the sandbox: it is blocked, or git or toolfence would run or read it later. \
             The user can remove it.",
            name
        )
    });
    let hidden = masks.list().iter().filter(|mask| matches!(mask.how, MaskKind::Hide | MaskKind::HideRemovable));
    let unread = unread_by_git(&outcome.output[start..], hidden.map(|mask| mask.path.as_path()));
    git.into_iter().chain(mask).chain(unread).collect()
}

/// Returns the note for the model if git could not read a file that is hidden from commands and that the repository
/// tracks. Git's message for a file that it cannot open names it.
fn unread_by_git<'p>(output: &str, hidden: impl Iterator<Item = &'p Path>) -> Option<Text> {
    let hidden: Vec<&Path> = hidden.collect();
    // `git diff` has a note of its own, see `masked_from_git`.
    if output.lines().any(|line| line.starts_with(CANNOT_HASH)) {
        return None;
    }
    let opened =
        |line: &'_ str| Some(line.strip_prefix("error: open(\"")?.strip_suffix("\"): Permission denied")?.to_owned());
    // Git names the file relative to the top of its repository, which may be below the root.
    let is_hidden = |name: &String| hidden.iter().any(|path| path.ends_with(name));
    let name = output.lines().filter_map(opened).find(is_hidden)?;
    Some(text!(
        "{name} is blocked and hidden from commands, but git tracks it and would record the change. Name the files \
         that you want instead (git add src, git commit -m TEXT -- src, git stash push -- src), or ask the user to do \
         it.",
        name = names::display(Path::new(&name))
    ))
}

/// Returns the note for a git command that failed at a blocked file: git reads every tracked file that has changed.
pub(super) fn masked_from_git(status: i32, output: &str) -> Option<Text> {
    let end = output.trim_end().rsplit('\n').next().unwrap_or_default();
    (status != 0 && end.starts_with(CANNOT_HASH)).then(|| {
        text!(
            "That file is blocked and hidden from commands, and git tracks it. Leave it out: git diff -- \
             ':(exclude).env', with its name."
        )
    })
}

/// Returns `true` if a line has this path as a whole, and not as a part of a longer name.
fn has_path(line: &str, path: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].trim_end_matches("./").chars().next_back();
        let after = line[at + path.len()..].chars().next();
        !before.is_some_and(|c| is_name(c) || c == '/' && !path.starts_with('/')) && !after.is_some_and(is_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_files_that_git_tracks_are_named() {
        let note_for = |output: &str| unread_by_git(output, [".env", "app/.env.local"].iter().map(Path::new));
        for (output, name) in [
            (
                "error: open(\".env\"): Permission denied\nerror: unable to index file '.env'\nfatal: updating files failed\n",
                ".env",
            ),
            (
                "error: open(\".env\"): Permission denied\nfatal: Unable to process path .env\nCannot save the current worktree state\n",
                ".env",
            ),
            ("error: open(\"app/.env.local\"): Permission denied\n", "app/.env.local"),
            // The top of the repository is below the root.
            ("error: open(\".env.local\"): Permission denied\n", ".env.local"),
        ] {
            assert!(
                note_for(output).is_some_and(|note| note.to_string().starts_with(&format!("{name} is blocked"))),
                "{output}"
            );
        }
        for output in [
            "error: open(\"src/main.rs\"): Permission denied\nfatal: updating files failed\n",
            "cat: .env: Permission denied\n",
            "error: open(\"x.env\"): Permission denied\n",
            "error: open(\".env\"): No such file or directory\n",
            "error: open(\".env\"): Permission denied\nfatal: cannot hash .env\n",
            "",
        ] {
            assert_eq!(note_for(output), None, "{output}");
        }
    }

    #[test]
    fn paths_match_only_as_a_whole() {
        assert!(has_path("rm: cannot remove 'dist/.env': Device or resource busy", "dist/.env"));
        assert!(has_path("rm: cannot remove './dist/.env'", "dist/.env"));
        assert!(!has_path("rm: cannot remove 'dist/.env.example'", "dist/.env"));
        assert!(!has_path("rm: cannot remove 'a/dist/.env'", "dist/.env"));
    }
}
