//! The slash commands of a conversation, in one table for `/help`, completion and execution.

mod own;

pub(crate) use own::{UserCommand, find, message, of_project};

use crate::shown::Words;
use toolfence_protocol::{Text, text};

/// The argument of `/mcp` that restarts a server.
pub(crate) const RESTART: &str = "restart";

/// The action of a command.
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
    /// A custom command of the user or the project, with its index in the list of custom commands.
    Own(usize),
}

/// The kind of argument that a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    None,
    /// Any text; Tab completes file names.
    Words,
    /// One of these words, or another one.
    OneOf(&'static [&'static str]),
    /// The name of a persona, or a file.
    Persona,
    /// The name of a model.
    Model,
    /// The name of a server, alone or after the word that restarts it.
    Server,
}

/// A command.
#[derive(Debug, Clone)]
pub(crate) struct Slash {
    pub(crate) name: String,
    /// The displayed argument; empty for a command without arguments.
    pub(crate) shown: &'static str,
    pub(crate) argument: Argument,
    help: Text,
    pub(crate) act: Act,
}

impl Slash {
    /// Returns the description of the command for /help.
    pub(crate) fn summary(&self) -> String {
        self.help.words().into_owned()
    }

    /// Returns the command and its argument as the user types them.
    pub(crate) fn usage(&self) -> String {
        format!("/{} {}", self.name, self.shown).trim_end().to_owned()
    }
}

/// Returns the built-in commands in the order of /help.
pub(crate) fn built_in() -> impl Iterator<Item = Slash> {
    use Argument::{Model, None, OneOf, Persona, Server, Words};
    type Row = (&'static str, &'static str, Argument, fn() -> Text, Act);
    const TABLE: &[Row] = &[
        ("help", "", None, || text!("list these commands"), Act::Help),
        ("tools", "", None, || text!("the tools that the model has"), Act::Tools),
        (
            "mcp",
            "[[restart] NAME]",
            Server,
            || text!("the state of MCP servers; details of one; or restart one"),
            Act::Mcp,
        ),
        ("allowed", "", None, || text!("your `always` answers of this session"), Act::Allowed),
        (
            "mode",
            "[WHEN]",
            OneOf(&["risky", "always", "sandboxed", "never"]),
            || text!("set when to ask: risky, always, sandboxed or never"),
            Act::Mode,
        ),
        ("plan", "", None, || text!("begin or end plan mode, in which only reading tools run"), Act::Plan),
        ("policy", "COMMAND", Words, || text!("explain the policy's verdict on a command"), Act::Policy),
        (
            "diff",
            "[N|all]",
            OneOf(&["all"]),
            || text!("the changes of the last turn, of the last N turns, or of this session"),
            Act::Diff,
        ),
        (
            "keep",
            "[PATH]",
            Words,
            || text!("copy build output of commands into the project; without PATH, list it"),
            Act::Keep,
        ),
        (
            "undo",
            "[N|list]",
            OneOf(&["list"]),
            || text!("undo the last turn, or the last N turns; or list them"),
            Act::Undo,
        ),
        ("redo", "[N]", OneOf(&[]), || text!("redo the last undo, or the last N"), Act::Redo),
        ("last", "", None, || text!("the whole last output"), Act::Last),
        ("thoughts", "", None, || text!("the reasoning of the last turn"), Act::Thoughts),
        ("copy", "", None, || text!("copy the last answer to the terminal's clipboard"), Act::Copy),
        ("editor", "[TEXT]", Words, || text!("write the message in your editor"), Act::Editor),
        ("retry", "", None, || text!("send your last message again and discard the first attempt"), Act::Retry),
        (
            "compact",
            "",
            None,
            || text!("shorten the conversation for the model; old tool output goes first"),
            Act::Compact,
        ),
        ("clear", "", None, || text!("begin a new conversation; your approvals stay"), Act::Clear),
        ("stats", "", None, || text!("tokens and cost so far, also before /clear, and the calls"), Act::Stats),
        (
            "export",
            "FILE",
            Words,
            || text!("write this conversation in a new file that ends in .md, .html, .json or .jsonl"),
            Act::Export,
        ),
        ("sessions", "", None, || text!("the conversations about this project"), Act::Sessions),
        ("resume", "[ID]", OneOf(&[]), || text!("continue another conversation"), Act::Resume),
        (
            "fork",
            "[MESSAGE]",
            OneOf(&[]),
            || text!("continue in a copy of this conversation, or of its part up to a message"),
            Act::Fork,
        ),
        ("model", "[NAME]", Model, || text!("list the server's models, or switch to one of them"), Act::Model),
        ("persona", "NAME", Persona, || text!("switch to another persona, with its tools and rules"), Act::Persona),
        ("init", "", None, || text!("let the model write a first AGENTS.md for this project"), Act::Init),
        ("quit", "", None, || text!("end; so does Ctrl-D"), Act::Quit),
    ];
    TABLE.iter().map(|&(name, shown, argument, help, act)| Slash {
        name: name.to_owned(),
        shown,
        argument,
        help: help(),
        act,
    })
}

/// Returns all commands: first the built-in ones, then those of the user and the project.
pub(crate) fn all(own: &[UserCommand]) -> Vec<Slash> {
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
