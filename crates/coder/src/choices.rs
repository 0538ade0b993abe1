//! What the options of the command line that take a word from a list take. The help texts are these comments.

use clap::ValueEnum;
use toolfence_protocol::Language;
use toolfence_sandbox::isolation as sandbox;

/// The version of every JSON output, as `"v"`: it grows when a field changes its meaning or goes away.
pub(crate) const SCHEMA: u32 = 1;

/// How a conversation is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Markdown in which nothing is a call
    Md,
    /// The records, one JSON object a line
    Json,
    /// One page that needs nothing else
    Html,
}

/// How much of a result is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultsShown {
    /// All that was kept
    Full,
    /// The first lines
    Head,
    /// Only whether it went well
    None,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// It is
    On,
    /// It is not
    Off,
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendKind {
    /// An OpenAI-shaped server: llama.cpp, vLLM, Ollama, LM Studio, a gateway
    Http,
    /// Recorded replies from --replies; the tools run for real
    Replay,
    /// A provider that is known by the model's name, with its key in its usual variable
    Provider,
    /// The program of --command: a bridge to a web chat, llm, ollama run, a script
    Command,
}

/// What a program that answers is sent with each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Conversation {
    /// All of the conversation
    Whole,
    /// What is new: the program keeps the conversation by itself
    Own,
}

/// How a program that answers is sent messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CommandFormat {
    /// As text, with a line above each message that says whose it is
    Text,
    /// A line {"role":..,"content":..} for each message
    Json,
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum End {
    /// By itself
    Stop,
    /// At the backend's length limit
    Length,
    /// The stream broke off
    Cut,
}

/// How the text for pasting is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptFormat {
    /// To copy
    Text,
    /// For programs
    Json,
}

/// The clipboards that are watched.
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

/// What handles the replies of the model that is given the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptFor {
    /// `coder exec` and `coder clip`
    Exec,
}

/// What a backend can be constrained by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrammarFormat {
    /// Whole replies for llama.cpp: prose and tool blocks
    Gbnf,
    /// Replies from the trigger "```tool" on, for grammars that only begin there
    Lazy,
    /// JSON Schema of one bare call, for backends with structured output
    Schema,
}

/// Whether the instructions are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Instructions {
    /// They were pasted into the backend: nothing is sent
    External,
    /// They are the first message
    Inline,
}

/// What is known of how a reply shows reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reasoning {
    /// It is not: a closing tag by itself closes what the template opened, and no call before it counts
    Unknown,
    /// It has both tags in the reply, or none
    Known,
    /// The template opens it: a reply begins in reasoning
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

/// Whether a grammar goes with each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Grammar {
    /// Where the server was seen to obey one, and takes no reasoning from the model
    Auto,
    /// Always, in the form that the server was seen to obey, or in that of llama.cpp
    On,
    /// Never
    Off,
}

/// How a model learns the tools of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolDetails {
    /// The whole description of each tool
    Full,
    /// One line for each tool; the model asks for the rest
    Short,
    /// `short` if the instructions would have more than 8 KiB
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

/// Whether there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// Where a terminal shows them and NO_COLOR is not set
    Auto,
    /// In pipes too
    Always,
    /// Nowhere
    Never,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The prose on stdout, the work on stderr
    Text,
    /// One JSON object: {"v":1,"event":"answer","answer":..,"reason":..,"session":..,"tokens":{"input":..,"output":..}}
    Json,
    /// {"v":1,"event":..} for everything that happens, with the events of `coder pipe`, up to "stop"
    StreamJson,
}

/// When a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AskMode {
    /// Nothing asks, and whatever is not denied runs
    Never,
    /// What the sandbox around a command fully holds runs too
    Sandboxed,
    /// What is known to be harmless runs, everything else asks
    Risky,
    /// Everything asks
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

/// What the sandbox leaves writable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sandbox {
    /// There is none, and what only the sandbox holds asks
    Off,
    /// As project-write, in the container that the settings name
    Container,
    /// The project, but for what is blocked and for hooks and settings of git
    ProjectWrite,
    /// Nothing but what is private to the command
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

/// What tells a user that a long turn is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Notice {
    Off,
    Bell,
    Osc9,
}

/// The keys by which a line is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditKeys {
    Emacs,
    Vi,
}

/// The names of the themes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Theme {
    Auto,
    Dark,
    Light,
    Mono,
}

/// What is left of a long reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LongThoughts {
    Folded,
    Shown,
}

/// How a result is written for the model.
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

/// Whether something is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Recording {
    Off,
    On,
}

/// The language of what a person and the model are told.
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
