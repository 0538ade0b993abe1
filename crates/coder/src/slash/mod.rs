//! What can be typed behind a slash in a conversation: one table for `/help`, for completion and for what is done.

mod own;

pub(crate) use own::{Own, find, message, of_project};

use crate::messages;
use crate::shown::Words;
use toolfence_protocol::Text;

/// The word behind `/mcp` that starts a server again.
pub(crate) const RESTART: &str = "restart";

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Help,
    Tools,
    Mcp,
    Allowed,
    Mode,
    Plan,
    Policy,
    Diff,
    Keep,
    Undo,
    Redo,
    Last,
    Thoughts,
    Copy,
    Editor,
    Retry,
    Compact,
    Clear,
    Stats,
    Export,
    Sessions,
    Resume,
    Fork,
    Persona,
    Model,
    Init,
    Quit,
    /// A command of the person or the project: its number among them.
    Own(usize),
}

/// What stands behind a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    None,
    /// Anything; Tab offers names of files.
    Words,
    /// One of these, or something else.
    OneOf(&'static [&'static str]),
    /// The name of a persona, or a file.
    Persona,
    /// The name of a model.
    Model,
    /// The name of a server, alone or behind the word that starts it again.
    Server,
}

/// A command.
#[derive(Debug, Clone)]
pub(crate) struct Slash {
    pub(crate) name: String,
    /// How what stands behind it is shown; empty where nothing does.
    pub(crate) shown: &'static str,
    pub(crate) argument: Argument,
    help: Text,
    pub(crate) act: Act,
}

impl Slash {
    /// The command in one line, for people.
    pub(crate) fn summary(&self) -> String {
        self.help.words().into_owned()
    }

    /// The command as it is typed.
    pub(crate) fn usage(&self) -> String {
        format!("/{} {}", self.name, self.shown).trim_end().to_owned()
    }
}

/// Those that come with the program, in the order in which they are listed.
pub(crate) fn built_in() -> impl Iterator<Item = Slash> {
    use Argument::{Model, None, OneOf, Persona, Server, Words};
    type Row = (&'static str, &'static str, Argument, fn() -> Text, Act);
    const TABLE: &[Row] = &[
        ("help", "", None, messages::slash_help, Act::Help),
        ("tools", "", None, messages::slash_tools, Act::Tools),
        ("mcp", "[[restart] NAME]", Server, messages::slash_mcp, Act::Mcp),
        ("allowed", "", None, messages::slash_allowed, Act::Allowed),
        ("mode", "[WHEN]", OneOf(&["risky", "always", "sandboxed", "never"]), messages::slash_mode, Act::Mode),
        ("plan", "", None, messages::slash_plan, Act::Plan),
        ("policy", "COMMAND", Words, messages::slash_policy, Act::Policy),
        ("diff", "[N|all]", OneOf(&["all"]), messages::slash_diff, Act::Diff),
        ("keep", "[PATH]", Words, messages::slash_keep, Act::Keep),
        ("undo", "[N|list]", OneOf(&["list"]), messages::slash_undo, Act::Undo),
        ("redo", "[N]", OneOf(&[]), messages::slash_redo, Act::Redo),
        ("last", "", None, messages::slash_last, Act::Last),
        ("thoughts", "", None, messages::slash_thoughts, Act::Thoughts),
        ("copy", "", None, messages::slash_copy, Act::Copy),
        ("editor", "[TEXT]", Words, messages::slash_editor, Act::Editor),
        ("retry", "", None, messages::slash_retry, Act::Retry),
        ("compact", "", None, messages::slash_compact, Act::Compact),
        ("clear", "", None, messages::slash_clear, Act::Clear),
        ("stats", "", None, messages::slash_stats, Act::Stats),
        ("export", "FILE", Words, messages::slash_export, Act::Export),
        ("sessions", "", None, messages::slash_sessions, Act::Sessions),
        ("resume", "[ID]", OneOf(&[]), messages::slash_resume, Act::Resume),
        ("fork", "[MESSAGE]", OneOf(&[]), messages::slash_fork, Act::Fork),
        ("model", "[NAME]", Model, messages::slash_model, Act::Model),
        ("persona", "NAME", Persona, messages::slash_persona, Act::Persona),
        ("init", "", None, messages::slash_init, Act::Init),
        ("quit", "", None, messages::slash_quit, Act::Quit),
    ];
    TABLE.iter().map(|&(name, shown, argument, help, act)| Slash {
        name: name.to_owned(),
        shown,
        argument,
        help: help(),
        act,
    })
}

/// All commands: those that come with the program, then the person's and the project's own.
pub(crate) fn all(own: &[Own]) -> Vec<Slash> {
    let own = own.iter().enumerate().map(|(number, own)| Slash {
        name: own.name.clone(),
        shown: "[WORDS]",
        argument: Argument::Words,
        help: own.summary(),
        act: Act::Own(number),
    });
    built_in().chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_protocol::Language;

    #[test]
    fn every_command_is_there_once_and_has_help_in_both_languages() {
        let all: Vec<Slash> = built_in().collect();
        for (at, command) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other.name != command.name && other.act != command.act));
            let [english, portuguese] = [Language::English, Language::Portuguese].map(|in_| command.help.render(in_));
            assert!(!english.is_empty() && english != portuguese, "{}", command.name);
            assert_eq!(command.shown.is_empty(), command.argument == Argument::None, "{}", command.name);
        }
    }
}
