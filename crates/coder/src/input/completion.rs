//! Completes slash commands, their arguments, and file names on Tab.

use crate::personas::Folders;
use crate::shown::is_plain;
use crate::slash::{Argument, RESTART, Slash};
use reedline::{Completer, Span, Suggestion};
use std::sync::{Arc, Mutex, PoisonError};
use toolfence_workspace::Workspace;

/// The sources of completions.
pub(crate) struct Completions {
    /// The slash commands.
    pub(crate) commands: Vec<Slash>,
    /// The folders of the personas; `None` without settings.
    pub(crate) personas: Option<Folders>,
    /// The names of models that are known.
    pub(crate) models: Arc<Mutex<Vec<String>>>,
    /// The MCP servers that the settings name.
    pub(crate) servers: Vec<String>,
    /// The files of the project.
    pub(crate) workspace: Arc<Workspace>,
}

impl Completer for Completions {
    fn complete(&mut self, line: &str, at: usize) -> Vec<Suggestion> {
        let typed = line.get(..at).unwrap_or(line);
        let mut offered = self.offered(typed);
        if offered.is_empty() {
            // The editor inserts a single suggestion at once. Without any, it would print an English message of its
            // own, so an empty one is offered.
            offered.push(suggestion(String::new(), None, Span::new(at, at), false));
        }
        offered
    }
}

impl Completions {
    fn offered(&self, typed: &str) -> Vec<Suggestion> {
        let at = typed.len();
        match typed.strip_prefix('/') {
            Some(command) if !command.contains(char::is_whitespace) => self.commands(command),
            Some(command) => {
                let (name, _) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
                let argument = self.commands.iter().find(|known| known.name == name).map(|known| known.argument);
                let known: Vec<String> = match argument {
                    Some(Argument::OneOf(words)) => words.iter().map(|word| (*word).to_owned()).collect(),
                    Some(Argument::Persona) => self.personas.iter().flat_map(Folders::names).collect(),
                    Some(Argument::Model) => self.models.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                    Some(Argument::Server) => {
                        // After `restart`, only the name of a server can follow.
                        let again = command.split_whitespace().nth(1) != Some(RESTART) || !typed.ends_with(' ');
                        let words = self.servers.iter().cloned().chain(again.then(|| RESTART.to_owned()));
                        words.collect()
                    }
                    Some(Argument::None) => return Vec::new(),
                    Some(Argument::Words) | None => return self.paths(typed),
                };
                let word = last_word(typed);
                // A server may use any characters in the names of its models, so names with control characters are left
                // out.
                let fitting = known.into_iter().filter(|known| is_plain(known) && known.starts_with(&typed[word..]));
                fitting.map(|known| suggestion(known, None, Span::new(word, at), true)).collect()
            }
            None => self.paths(typed),
        }
    }

    fn commands(&self, typed: &str) -> Vec<Suggestion> {
        let span = Span::new(0, typed.len() + 1);
        let fitting = self.commands.iter().filter(|command| command.name.starts_with(typed));
        fitting
            .map(|command| {
                let goes_on = command.argument != Argument::None;
                suggestion(format!("/{}", command.name), Some(command.summary()), span, goes_on)
            })
            .collect()
    }

    /// Completes the last word to paths below the root. As in the tool that lists files, ignored and blocked files are
    /// left out, and hidden ones are offered only if the typed name begins with a dot.
    fn paths(&self, typed: &str) -> Vec<Suggestion> {
        let start = last_word(typed);
        let word = &typed[start..];
        let (at, word) = word.strip_prefix('@').map_or(("", word), |word| ("@", word));
        let word = word.strip_prefix('"').unwrap_or(word);
        if at.is_empty() && word.is_empty() {
            return Vec::new();
        }
        let span = Span::new(start, typed.len());
        let offered = self.workspace.files().complete(word).into_iter().map(|path| {
            let is_folder = path.ends_with('/');
            let path = if path.contains(char::is_whitespace) { format!("\"{path}\"") } else { path };
            suggestion(format!("{at}{path}"), None, span, !is_folder)
        });
        offered.collect()
    }
}

/// Returns the byte offset of the last word. A quoted word may contain spaces.
fn last_word(typed: &str) -> usize {
    let quoted = typed.matches('"').count() % 2 == 1;
    let before = if quoted { &typed[..typed.rfind('"').unwrap_or(0)] } else { typed };
    before.char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8())
}

fn suggestion(value: String, description: Option<String>, span: Span, goes_on: bool) -> Suggestion {
    Suggestion { value, description, span, append_whitespace: goes_on, ..Suggestion::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_policy::rules::PathRules;

    #[test]
    fn words_are_completed_by_what_they_stand_behind() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["src/main.rs", "src/match.rs", "notes one.md", "target/x", ".gitignore", ".env", "bad\u{1b}name"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, if name == ".gitignore" { "target/\n" } else { "" }).unwrap();
        }
        let workspace = Arc::new(Workspace::open(folder.path(), PathRules::default()).unwrap());
        let commands = crate::slash::built_in().collect();
        let words = Completions {
            commands,
            personas: None,
            models: Arc::new(Mutex::new(vec!["qwen3".to_owned()])),
            servers: vec!["files".to_owned()],
            workspace,
        };
        let offered = |typed: &str| {
            let all = words.offered(typed);
            all.iter().map(|one| format!("{}{}", &typed[..one.span.start], one.value)).collect::<Vec<_>>()
        };
        assert_eq!(offered("/und"), ["/undo"]);
        assert_eq!(offered("/model q"), ["/model qwen3"]);
        assert_eq!(offered("/mcp "), ["/mcp files", "/mcp restart"]);
        assert_eq!(offered("/mcp restart "), ["/mcp restart files"]);
        assert_eq!(offered("/nothing"), [""; 0]);
        assert_eq!(offered("look at @src/ma"), ["look at @src/main.rs", "look at @src/match.rs"]);
        assert_eq!(offered("look at sr"), ["look at src/"]);
        assert_eq!(offered("@no"), ["@\"notes one.md\""]);
        assert_eq!(offered("@\"notes o"), ["@\"notes one.md\""]);
        assert_eq!(offered("@.git"), ["@.gitignore"]);
        assert_eq!(offered("a word "), [""; 0]);
        for number in 0..1000 {
            std::fs::write(folder.path().join(format!("src/f{number}")), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("src/z[1]{a,b}!")).unwrap();
        assert_eq!(offered("@src/f999"), ["@src/f999"], "there are very many");
        assert_eq!(
            (offered("@src/z["), offered("@src/z[1]{a,")),
            (vec!["@src/z[1]{a,b}!/".into()], vec!["@src/z[1]{a,b}!/".into()])
        );
        assert_eq!(offered("@src/ma*"), [""; 0]);
        for nothing in ["@tar", "@.en", "@bad", "@../", "/etc/pass", "@/etc/pass", "@src/../../", "@*/"] {
            assert_eq!(offered(nothing), [""; 0], "{nothing}");
        }
    }
}
