//! The command line: what can be typed, and what it means. The help texts are these comments.

use crate::failure::STATUSES;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use toolfence::prompt::Language;

/// A coding agent for chat models that can only talk.
///
/// Without a command it talks with you; with -p it answers once.
#[derive(Debug, Parser)]
#[command(name = "coder", version, after_help = STATUSES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: Options,
    /// Answer this once and end; what is piped in on stdin is put below it
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command understands.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options everywhere")]
pub(crate) struct Options {
    /// The project: tools see nothing outside of it
    #[arg(long, global = true, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// The model, as the backend names it
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Who answers
    #[arg(long, global = true, value_enum, default_value_t = BackendKind::Http)]
    pub(crate) backend: BackendKind,
    /// Where the OpenAI-shaped server is; its key, if it wants one, comes from TOOLFENCE_API_KEY
    #[arg(long, global = true, value_name = "URL", default_value = "http://127.0.0.1:8080/v1")]
    pub(crate) base_url: String,
    /// The recorded replies of the replay backend
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) replies: Option<PathBuf>,
    /// Who the model is: coder, reviewer, or a file
    #[arg(long, global = true, value_name = "NAME|FILE", default_value = "coder")]
    pub(crate) persona: String,
    /// Ask for nothing: run whatever is not denied
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Calls, results and path decisions as JSON lines on stderr
    #[arg(long, global = true)]
    pub(crate) debug: bool,
    /// The language of persona and instructions
    #[arg(long, global = true, value_enum, default_value_t = Lang::En)]
    pub(crate) lang: Lang,
    /// Whether persona and instructions are sent: external where they are pasted into the backend already
    #[arg(long, global = true, value_enum, default_value_t = Instructions::Inline)]
    pub(crate) instructions: Instructions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A recorded model mends a small project; every tool call really runs
    Demo,
    /// Model text in on stdin, its calls run, their results out as chat text
    Exec(ExecArguments),
    /// What the parser sees in a reply on stdin, as JSON lines
    Parse(ParseArguments),
    /// The tools on offer, with their signatures
    Tools(ToolsArguments),
    /// Persona and instructions as text, to paste into a web chat
    Prompt(PromptArguments),
    /// What a backend that constrains decoding needs, so that the model can write no malformed call
    Grammar(GrammarArguments),
    /// What the policy says to a call
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// One line a result instead of chat text: {"v":1,"event":"result","tool":..,"success":..,"output":..,..}, or
    /// {"v":1,"event":"ignored","message":..} where no call counts that was meant to
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ParseArguments {
    /// Feed the reply in pieces of N bytes, never splitting a character
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) chunk: Option<usize>,
    /// How the reply ended
    #[arg(long, value_enum, default_value_t = End::Stop)]
    pub(crate) finish: End,
    /// Accept no repair
    #[arg(long)]
    pub(crate) strict: bool,
    /// The provisional events too: started and progress
    #[arg(long)]
    pub(crate) progress: bool,
    /// JSON lines in, {"id":..,"text":..,"chunk":..?,"finish":..?}, and {"v":1,"id":..,"events":[..]} out, or
    /// {"v":1,"id":..,"error":..} for a line that is wrong
    #[arg(long)]
    pub(crate) batch: bool,
    /// For people: what was found, and every repair by its name
    #[arg(long, conflicts_with = "batch")]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArguments {
    /// As one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PromptArguments {
    /// The text itself, or a JSON object with its parts
    #[arg(long, value_enum, default_value_t = PromptFormat::Text)]
    pub(crate) format: PromptFormat,
}

#[derive(Debug, Args)]
pub(crate) struct GrammarArguments {
    /// For whom it is written
    #[arg(long, value_enum, default_value_t = GrammarFormat::Gbnf)]
    pub(crate) format: GrammarFormat,
    /// Only this tool; may be given several times. Without it all tools are allowed
    #[arg(long = "tool", value_name = "NAME")]
    pub(crate) tools: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// The rules met by a command, or by any call, and what would be done
    Explain(ExplainArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The shell command to judge
    #[arg(required_unless_present_any = ["batch", "tool"])]
    pub(crate) command: Option<String>,
    /// {"v":1,"verdict":..,"effective":..,"rule":..,"reason":..,"commands":[..],"met":[..]}
    #[arg(long)]
    pub(crate) json: bool,
    /// JSON lines in, {"id":..,"command":..}, and the JSON above with the id out, or {"v":1,"id":..,"error":..}
    #[arg(long, conflicts_with_all = ["command", "tool"])]
    pub(crate) batch: bool,
    /// Judge a call of this tool instead of a command
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub(crate) tool: Option<String>,
    /// The arguments of that call, as a JSON object
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub(crate) args: Option<String>,
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

/// What a backend can be constrained by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrammarFormat {
    /// Whole replies for llama.cpp: prose and tool blocks
    Gbnf,
    /// The same from the trigger "```tool" on, for grammars that only begin there
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

/// The language of persona and instructions.
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

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "a whole number of at least 1 is wanted".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
