//! The values of options and settings that accept a fixed set of words. The doc comments of variants are help texts.

use clap::ValueEnum;
use toolfence_protocol::Language;
use toolfence_sandbox::isolation as sandbox;

/// The version of every JSON output, in its field `"v"`. It grows when a field changes its meaning or is removed.
pub(crate) const SCHEMA: u32 = 1;

/// The format of an exported conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Markdown in which no text can be read as a call
    Md,
    /// Records, one JSON object per line
    Json,
    /// Self-contained web page
    Html,
}

/// The part of each tool result that is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultsShown {
    /// Everything that was recorded
    Full,
    /// The first lines
    Head,
    /// Only whether the call succeeded
    None,
}

/// A switch that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

/// The type of backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendKind {
    /// OpenAI-compatible server: llama.cpp, vLLM, Ollama, LM Studio, a gateway
    Http,
    /// Recorded replies from --replies; their tool calls are executed
    Replay,
    /// Provider recognised by the model's name, with its key in the usual variable
    Provider,
    /// Program of --command: a bridge to a web chat, llm, ollama run, a script
    Command,
}

/// The messages that the command backend sends to its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Conversation {
    /// The whole conversation
    Whole,
    /// Only new messages: the program keeps its own history
    Own,
}

/// The format in which the command backend sends messages to its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CommandFormat {
    /// Text, with a line above each message that names its role
    Text,
    /// One line {"role":..,"content":..} per message
    Json,
}

/// The way a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum End {
    /// The model finished
    Stop,
    /// At the backend's length limit
    Length,
    /// The stream broke off
    Cut,
}

/// The output format of `coder prompt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptFormat {
    /// Plain text to copy
    Text,
    /// JSON object with the parts, for programs
    Json,
}

/// The clipboards that `coder clip` can watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClipboardKind {
    /// With wl-paste and wl-copy, from the package wl-clipboard
    Wayland,
    /// With xclip
    X11,
    /// With pbpaste and pbcopy
    Macos,
    /// The last buffer of tmux
    Tmux,
}

/// The command that handles the model's replies to the text of `coder prompt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptFor {
    /// `coder exec` and `coder clip`
    Exec,
}

/// The form of the grammar that constrains a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrammarFormat {
    /// GBNF of whole replies for llama.cpp: prose and tool blocks
    Gbnf,
    /// GBNF of replies from the trigger "```tool" on, for lazy grammars
    Lazy,
    /// JSON Schema of one bare call, for backends with structured output
    Schema,
}

/// Whether the agent sends the instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Instructions {
    /// Send nothing: you pasted them into the backend
    External,
    /// Send them as the first message
    Inline,
}

/// How replies mark reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reasoning {
    /// Not known: a closing tag without an opening one ends reasoning that the template opened, and calls before it are
    /// ignored
    Unknown,
    /// Replies contain both tags or none
    Known,
    /// The template opens the reasoning: replies begin inside it
    Opened,
}

impl From<Reasoning> for toolfence_protocol::parse::Reasoning {
    fn from(reasoning: Reasoning) -> toolfence_protocol::parse::Reasoning {
        match reasoning {
            Reasoning::Unknown => toolfence_protocol::parse::Reasoning::Unknown,
            Reasoning::Known => toolfence_protocol::parse::Reasoning::Known,
            Reasoning::Opened => toolfence_protocol::parse::Reasoning::Opened,
        }
    }
}

/// Whether each request includes a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Grammar {
    /// If the server was found to obey it without suppressing the model's reasoning
    Auto,
    /// Always, in the form that the server was found to obey, or in that of llama.cpp
    On,
    /// Never
    Off,
}

/// How the proxy describes the tools of a client to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolDetails {
    /// Full description of each tool
    Full,
    /// One line for each tool; the model asks for the rest
    Short,
    /// `short` if the instructions would exceed 8 KiB
    Auto,
}

impl From<ToolDetails> for toolfence_server::proxy::ToolDetails {
    fn from(details: ToolDetails) -> toolfence_server::proxy::ToolDetails {
        match details {
            ToolDetails::Full => toolfence_server::proxy::ToolDetails::Full,
            ToolDetails::Short => toolfence_server::proxy::ToolDetails::Short,
            ToolDetails::Auto => toolfence_server::proxy::ToolDetails::Auto,
        }
    }
}

/// When the output has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always, in pipes too
    Always,
    /// Never
    Never,
}

/// The output format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Prose on stdout, tool activity on stderr
    Text,
    /// One JSON object: {"v":1,"event":"answer","answer":..,"reason":..,"session":..,"tokens":{"input":..,"output":..}}
    Json,
    /// One line {"v":1,"event":..} per event, with the events of `coder pipe`, up to "stop"
    StreamJson,
}

/// When the policy asks the user for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AskMode {
    /// Never ask: run everything that is not denied
    Never,
    /// Like risky, but also run commands that the sandbox fully contains
    Sandboxed,
    /// Run what is known to be harmless, ask about everything else
    Risky,
    /// Ask about everything
    Always,
}

impl From<AskMode> for toolfence_policy::AskMode {
    fn from(mode: AskMode) -> toolfence_policy::AskMode {
        match mode {
            AskMode::Never => toolfence_policy::AskMode::Never,
            AskMode::Sandboxed => toolfence_policy::AskMode::Sandboxed,
            AskMode::Risky => toolfence_policy::AskMode::Risky,
            AskMode::Always => toolfence_policy::AskMode::Always,
        }
    }
}

/// The files that the sandbox leaves writable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sandbox {
    /// No sandbox: commands that only the sandbox would contain need approval
    Off,
    /// Like project-write, in the container that the settings name
    Container,
    /// The project, except blocked files and git's hooks and settings
    ProjectWrite,
    /// Only files that are private to the command
    ReadOnly,
}

impl From<Sandbox> for sandbox::Mode {
    fn from(sandbox: Sandbox) -> sandbox::Mode {
        match sandbox {
            Sandbox::Off => sandbox::Mode::Off,
            Sandbox::Container | Sandbox::ProjectWrite => sandbox::Mode::ProjectWrite,
            Sandbox::ReadOnly => sandbox::Mode::ReadOnly,
        }
    }
}

/// The signal that a terminal gets at the end of a long turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Notice {
    Off,
    Bell,
    Osc9,
}

/// The key bindings of the line editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditKeys {
    Emacs,
    Vi,
}

/// The colour themes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Theme {
    Auto,
    Dark,
    Light,
    Mono,
}

/// How a long reasoning section is displayed once it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LongThoughts {
    Folded,
    Shown,
}

/// The format of results for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    Text,
    Json,
}

/// The program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    Off,
    Podman,
    Docker,
}

/// Whether transcripts or the undo journal are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Recording {
    Off,
    On,
}

/// The language of the interface and of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lang {
    /// English
    En,
    /// Brazilian Portuguese
    #[value(alias = "pt-BR")]
    Pt,
}

impl From<Lang> for Language {
    fn from(lang: Lang) -> Language {
        match lang {
            Lang::En => Language::English,
            Lang::Pt => Language::Portuguese,
        }
    }
}
