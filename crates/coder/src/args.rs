//! The arguments of the command line. The doc comments of commands and options are their help texts.

#![allow(rustdoc::bare_urls, reason = "the comments are help texts for a terminal")]

use crate::argument_values::{
    parse_address, parse_age, parse_at_least_200, parse_at_least_one, parse_mebibytes, parse_origin, parse_seconds,
    parse_temperature, parse_turn_count,
};
use crate::choices::{
    AskMode, BackendKind, ClipboardKind, Color, CommandFormat, Conversation, End, ExportFormat, Grammar, GrammarFormat,
    Instructions, Lang, OutputFormat, PromptFor, PromptFormat, Reasoning, ResultsShown, Sandbox, Switch, ToolDetails,
};
use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use toolfence_protocol::{Catalog, Dialect, Language, ToolSpec, prompt};

/// The exit statuses as `--help` prints them. `failure` defines them.
const STATUSES: &str = "\
Exit status:
  0    success; for exec: every call succeeded
  1    something failed that was asked for: a call, a turn, a line of a batch,
       a step of the demo; or you answered no to config trust or to commit
  2    usage error: arguments, files, settings
  3    the backend or the machine failed
  129  the terminal closed; running commands were stopped first
  130  interrupted by Ctrl-C
  143  terminated; running commands were stopped first";

/// A coding agent for chat models that can only talk.
///
/// Without a command, starts an interactive conversation; with -p, answers one prompt and exits.
#[derive(Debug, Parser)]
#[command(name = "coder", version, after_help = STATUSES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: Options,
    /// Answer this prompt and exit; text piped to stdin is appended to it
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Attach this image to the prompt: PNG, JPEG, GIF or WebP, up to 10 MiB; can be repeated up to eight times
    #[arg(long, value_name = "FILE", requires = "prompt")]
    pub(crate) image: Vec<PathBuf>,
    /// Continue the last conversation in this project
    #[arg(short, long)]
    pub(crate) r#continue: bool,
    /// Print the JSON Schema of the --debug output and exit
    #[arg(long)]
    pub(crate) debug_schema: bool,
    /// Output format with -p: text, one JSON object, or one JSON line per event, as in `coder pipe` [default: text]
    #[arg(long, value_enum, value_name = "FORMAT", requires = "prompt")]
    pub(crate) output_format: Option<OutputFormat>,
    /// Print each event as a JSON line; same as --output-format stream-json
    #[arg(long, requires = "prompt", conflicts_with = "output_format")]
    pub(crate) json: bool,
    /// First message of the conversation; without a terminal, answer it and exit, as with -p
    #[arg(value_name = "MESSAGE")]
    pub(crate) message: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Cli {
    /// Returns the format in which the answer is printed.
    pub(crate) fn format(&self) -> OutputFormat {
        if self.json { OutputFormat::StreamJson } else { self.output_format.unwrap_or(OutputFormat::Text) }
    }
}

/// The headings of the options that every command accepts. `help` selects those that appear in a command's help.
pub(crate) const GLOBAL: &str = "Global options";
pub(crate) const BACKEND: &str = "Model and backend";
pub(crate) const PROMPT: &str = "Prompt";
pub(crate) const REPLIES: &str = "Replies and results";
pub(crate) const CONVERSATION: &str = "Conversation";
pub(crate) const PERMISSIONS: &str = "Permissions, in addition to the settings files";

/// The options that every command accepts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = GLOBAL)]
pub(crate) struct Options {
    /// Project directory; tools cannot access files outside of it
    #[arg(long, global = true, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Model name, as the backend knows it
    #[arg(long, global = true, help_heading = BACKEND, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Type of backend [default: http]
    #[arg(long, global = true, help_heading = BACKEND, value_enum)]
    pub(crate) backend: Option<Option<BackendKind>>,
    /// Base URL of the OpenAI-compatible server; its key, if it needs one, is read from TOOLFENCE_API_KEY [default: a
    /// local server that answers at its usual address]
    #[arg(long, global = true, help_heading = BACKEND, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Command line of the command backend, such as "llm -m gpt-4o-mini": the program reads the conversation on stdin
    /// and prints the answer, outside of the sandbox. No shell interprets the line
    #[arg(long, global = true, help_heading = BACKEND, value_name = "LINE")]
    pub(crate) command: Option<String>,
    /// Messages sent to that program: the whole conversation, or only new messages if it keeps its own history
    /// [default: whole]
    #[arg(long, global = true, help_heading = BACKEND, value_enum, value_name = "KIND")]
    pub(crate) command_conversation: Option<Conversation>,
    /// Format of these messages [default: text]
    #[arg(long, global = true, help_heading = BACKEND, value_enum, value_name = "FORMAT")]
    pub(crate) command_format: Option<CommandFormat>,
    /// File of recorded replies for the replay backend: a line `%%% reply`, optionally with `finish=length` or
    /// `finish=cut`, precedes each reply
    #[arg(long, global = true, help_heading = BACKEND, value_name = "FILE")]
    pub(crate) replies: Option<String>,
    /// Persona of the model: coder, explainer, reviewer, small, another one from `coder personas`, or a file [default:
    /// coder]
    #[arg(long, global = true, help_heading = PROMPT, value_name = "NAME|FILE")]
    pub(crate) persona: Option<String>,
    /// Run everything that is not denied without asking; same as --ask never
    #[arg(long, global = true, help_heading = PERMISSIONS, conflicts_with = "ask")]
    pub(crate) yes: bool,
    /// Print token usage to stderr after each turn, with the cost if the settings have prices
    #[arg(long, global = true, help_heading = CONVERSATION)]
    pub(crate) stats: bool,
    /// Print calls, results and path decisions as JSON lines to stderr
    #[arg(long, global = true)]
    pub(crate) debug: bool,
    /// Language of the interface and of the prompt [default: from LC_ALL, LC_MESSAGES or LANG, otherwise en]
    #[arg(long, global = true, value_enum)]
    pub(crate) lang: Option<Lang>,
    /// Whether to send persona and instructions; use external if you pasted them into the backend [default: inline]
    #[arg(long, global = true, help_heading = PROMPT, value_enum)]
    pub(crate) instructions: Option<Instructions>,
    /// Dialects to accept in addition to tool blocks: all, none, or a comma-separated list [default: all]
    #[arg(long, global = true, help_heading = REPLIES, value_name = "NAMES")]
    pub(crate) dialects: Option<String>,
    /// Whether the backend's chat template opens the reasoning, so that replies have only the closing tag [default:
    /// unknown]
    #[arg(long, global = true, help_heading = REPLIES, value_enum)]
    pub(crate) reasoning: Option<Reasoning>,
    /// Whether to constrain replies with the grammar of the tools; auto does so if `coder doctor --backend` found that
    /// the server obeys it [default: auto]
    #[arg(long, global = true, help_heading = REPLIES, value_enum)]
    pub(crate) grammar: Option<Grammar>,
    /// Format of results for the model: text or json, data=on, nonce=on, break_tokens=on; can be repeated [default:
    /// text]
    #[arg(long, global = true, help_heading = REPLIES, value_name = "FORMAT|KEY=VALUE")]
    pub(crate) results: Vec<String>,
    /// Context window of the model, in tokens; the conversation is compacted at 80 % [default: as the server reports
    /// it, or once it rejects a request]
    #[arg(long, global = true, help_heading = BACKEND, value_name = "TOKENS")]
    pub(crate) window: Option<u32>,
    /// Sampling temperature, from 0 to 2 [default: the server decides]
    #[arg(long, global = true, help_heading = BACKEND, value_name = "N", value_parser = parse_temperature)]
    pub(crate) temperature: Option<f64>,
    /// Maximum number of tokens in a reply [default: the server decides]
    #[arg(long, global = true, help_heading = BACKEND, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) max_tokens: Option<u32>,
    /// Do not send AGENTS.md and similar files to the model
    #[arg(long, global = true, help_heading = PROMPT)]
    pub(crate) no_agents_files: bool,
    /// Do not record this conversation
    #[arg(long, global = true, help_heading = CONVERSATION)]
    pub(crate) no_transcript: bool,
    /// When to use colours; auto means on a terminal, unless NO_COLOR is set [default: auto]
    #[arg(long, global = true, value_enum)]
    pub(crate) color: Option<Color>,
    #[command(flatten)]
    pub(crate) rules: RuleOptions,
}

/// The options for permissions. They override the settings files, but rules are added to the rules in the files.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = PERMISSIONS)]
pub(crate) struct RuleOptions {
    /// When to ask for approval [default: risky]
    #[arg(long, global = true, value_enum)]
    pub(crate) ask: Option<AskMode>,
    /// Run commands that begin with these words without asking; can be repeated
    #[arg(long, global = true, value_name = "WORDS")]
    pub(crate) allow: Vec<String>,
    /// Never run commands that begin with these words
    #[arg(long, global = true, value_name = "WORDS")]
    pub(crate) deny: Vec<String>,
    /// Run only commands that begin with these words; can be repeated
    #[arg(long, global = true, value_name = "WORDS")]
    pub(crate) only: Vec<String>,
    /// Open files whose names match, even if the built-in list blocks them
    #[arg(long, global = true, value_name = "GLOB")]
    pub(crate) allow_path: Vec<String>,
    /// Never open files whose names match
    #[arg(long, global = true, value_name = "GLOB")]
    pub(crate) deny_path: Vec<String>,
    /// Open only files whose names match
    #[arg(long, global = true, value_name = "GLOB")]
    pub(crate) only_path: Vec<String>,
    /// What commands in the sandbox can write [default: project-write]
    #[arg(long, global = true, value_enum, value_name = "MODE")]
    pub(crate) sandbox: Option<Sandbox>,
    /// Allow all commands to use the network
    #[arg(long, global = true)]
    pub(crate) network: bool,
    /// Change a limit, such as rounds=40 or command_seconds=60; `coder config show` lists all limits. Can be repeated
    #[arg(long, global = true, value_name = "KEY=NUMBER")]
    pub(crate) limit: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show calls, a repair, a refusal, the sandbox and undo with a recorded model
    Demo,
    /// Run the calls in a reply on stdin and print their results as chat text
    Exec(ExecArguments),
    /// Watch the clipboard, run the calls in each reply that you copy, and put their results there
    ///
    /// Texts without a call are ignored: they are not stored, sent or printed. Approval questions appear in this
    /// terminal. Text that is already in the clipboard when this command starts is not treated as a reply.
    Clip(ClipArguments),
    /// Print what the parser finds in a reply on stdin, as JSON lines
    Parse(ParseArguments),
    /// List the available tools with their signatures
    Tools(ToolsArguments),
    /// Print persona and instructions as text to paste into a web chat
    Prompt(PromptArguments),
    /// Print a grammar for backends with constrained decoding, so that the model cannot write malformed calls
    Grammar(GrammarArguments),
    /// Run a session for a chat client in any language: JSON lines in, JSON lines out
    Pipe(PipeArguments),
    /// Run an OpenAI-compatible proxy that adds function calling to models without it
    Proxy(ProxyArguments),
    /// Serve turns and tools over HTTP for clients in any language, as JSON or as an event stream
    Serve(ServeArguments),
    /// Explain what the policy decides about a call
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Test each barrier of the sandbox and list the checks for changed files. With --backend, test how the backend
    /// handles texts and store the findings
    Doctor(DoctorArguments),
    /// List recorded conversations, newest first
    Sessions(SessionsArguments),
    /// Continue a conversation, or a copy of it up to one of its messages; with -p, answer once
    Resume(ResumeArguments),
    /// Export a conversation as Markdown, JSON lines or a web page
    Export(ExportArguments),
    /// Show the token usage, the calls and their outcomes in past conversations
    Stats(StatsArguments),
    /// Show the log of decisions and results
    Audit(AuditArguments),
    /// List command output that is not in the project, or add it to the project
    Keep(KeepArguments),
    /// Undo the last turn's changes to the project's files
    Undo(UndoArguments),
    /// Redo the last turn that was undone
    Redo(BackArguments),
    /// Show what the last turn changed
    Diff(DiffArguments),
    /// Commit with a message that the model proposes and you confirm
    Commit(CommitArguments),
    /// List personas, or show, create or check one
    Personas(PersonasArguments),
    /// Show the effective settings, and manage the files that define them
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// List the MCP (Model Context Protocol) servers with their tools, and choose which to trust
    Mcp {
        #[command(subcommand)]
        command: McpCommand,
    },
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Print the manual page of coder, or write one page per command with --output
    Man(ManArguments),
}

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  coder completions bash >~/.local/share/bash-completion/completions/coder
  coder completions zsh >~/.zfunc/_coder
  coder completions fish >~/.config/fish/completions/coder.fish";

#[derive(Debug, Args)]
#[command(after_help = MAN_HELP)]
pub(crate) struct ManArguments {
    /// Write all pages into this folder
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

const MAN_HELP: &str = "\
Examples:
  coder man | man -l -
  coder man --output ~/.local/share/man/man1";

#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// Print one JSON line per result instead of chat text:
    /// {"v":1,"event":"result","tool":..,"success":..,"output":..,..}, or {"v":1,"event":"ignored","message":..} if no
    /// call is valid although one was meant
    #[arg(long)]
    pub(crate) json: bool,
    /// Explain on stderr what was found in the text, each repair by name, what ran, and why other calls did not
    #[arg(long)]
    pub(crate) explain: bool,
    /// Read the text as the content of a tool block: its JSON object, and the bodies below it
    #[arg(long)]
    pub(crate) bare: bool,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
    /// Keep no state between replies and leave no process running, for scripts
    #[arg(long, conflicts_with_all = ["session", "end"])]
    pub(crate) no_session: bool,
    /// End the session and its background jobs
    #[arg(long, conflicts_with_all = ["json", "explain", "bare"])]
    pub(crate) end: bool,
}

// No doc comment: it would be the help of the commands that have these options.
#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    /// Session of the project that handles the reply. A session remembers which files the model has read and your
    /// `always` answers, and keeps background jobs running; it ends after 12 hours without a reply
    #[arg(long, value_name = "NAME", default_value = "default", hide_default_value = true)]
    pub(crate) session: String,
    /// Run as the process that keeps the session; used by coder itself
    #[arg(long, hide = true)]
    pub(crate) host: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ClipArguments {
    /// Clipboard to watch [default: the desktop's, otherwise that of tmux]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) clipboard: Option<ClipboardKind>,
    /// Split results into numbered parts of at most this many characters, at least 200; Enter copies the next part
    /// [default: do not split]
    #[arg(long, value_name = "CHARACTERS", value_parser = parse_at_least_200)]
    pub(crate) part: Option<usize>,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
}

/// The arguments of `coder pipe`. The client keeps its conversation and its model. It writes one JSON object per line:
/// {"type":"chunk","text":..} for each piece of a reply, then {"type":"end"}; {"type":"approve","id":..} or
/// {"type":"deny","id":..,"reason":..} in answer to an "ask". It reads the calls that were found, their progress and
/// their outcomes; "results" holds the next message to the model, and "stop" ends the turn. The folder examples of the
/// source has working clients.
#[derive(Debug, Args)]
pub(crate) struct PipeArguments {
    /// Print the JSON Schema of all lines and exit
    #[arg(long)]
    pub(crate) schema: bool,
}

#[derive(Debug, Args)]
#[command(after_help = dialects_help())]
pub(crate) struct ParseArguments {
    /// Feed the reply to the parser in pieces of N bytes, without splitting characters
    #[arg(long, value_name = "N", value_parser = parse_at_least_one)]
    pub(crate) chunk: Option<usize>,
    /// How the reply ended
    #[arg(long, value_enum, default_value_t = End::Stop)]
    pub(crate) finish: End,
    /// Do not repair malformed calls
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print provisional events too: started and progress
    #[arg(long)]
    pub(crate) progress: bool,
    /// File of the available tools: an array of function definitions as in the OpenAI API [default: coder's tools]
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Read JSON lines {"id":..,"text":..,"chunk":..?,"finish":..?,"dialects":..?,"tools":[..]?} and print
    /// {"v":1,"id":..,"events":[..]}, or {"v":1,"id":..,"error":..} for an invalid line. Lines can also be transcript
    /// records, of which the replies are parsed
    #[arg(long)]
    pub(crate) batch: bool,
    /// Explain for people what was found, each repair by name, the dialect of each call, and why a call is invalid
    #[arg(long, conflicts_with = "batch")]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsArguments {
    /// List only conversations that contain all these words
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Include conversations in other projects
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON line per conversation:
    /// {"v":1,"event":"session","id":..,"began":..,"changed":..,"turns":..,"title":..,"root":.., "path":..}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArguments {
    /// ID of a conversation, or its beginning [default: all in this project]
    pub(crate) session: Option<String>,
    /// Include conversations in other projects
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Include only entries of at most this age: 90s, 30m, 2h, 7d
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) since: Option<Duration>,
    /// Print one JSON object:
    /// {"v":1,"sessions":..,"turns":..,"rounds":..,"tokens":{"replies":..,"estimated_replies":..,"input":..,
    /// "cached":..,"output":..,"price":..?},"models":{..},"tools":{NAME:{"calls":..,"failed":..,"ms":{"count":..,"p50":..,"p90":..,
    /// "most":..}}},"failures":{..},"decisions":{..},"asked":..,"answers":{..},"repairs":{..},"unreadable_blocks":..,"times":{"model":
    /// {..},"first_byte":{..},"tools":{..},"person":{..}}}
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `coder resume`. The model gets the conversation again, and its changes can still be undone. The
/// `always` answers no longer apply.
#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// ID of the conversation, or its beginning; without it, you choose from a list
    pub(crate) session: Option<String>,
    /// Continue in a copy of the conversation up to this message; `coder export` prints message numbers
    #[arg(long, value_name = "MESSAGE", requires = "session")]
    pub(crate) from: Option<String>,
    /// Continue in a copy of the whole conversation
    #[arg(long)]
    pub(crate) fork: bool,
    /// Answer this prompt and exit
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Attach this image to the prompt: PNG, JPEG, GIF or WebP, up to 10 MiB; can be repeated up to eight times
    #[arg(long, value_name = "FILE", requires = "prompt")]
    pub(crate) image: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// ID of the conversation, or its beginning
    #[arg(required_unless_present = "schema")]
    pub(crate) session: Option<String>,
    /// Output format: md and html are for people, json contains the records
    #[arg(long, value_enum, default_value_t = ExportFormat::Md)]
    pub(crate) format: ExportFormat,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Include the model's reasoning
    #[arg(long)]
    pub(crate) thoughts: bool,
    /// How much of each tool result to include
    #[arg(long, value_enum, default_value_t = ResultsShown::Head)]
    pub(crate) outputs: ResultsShown,
    /// First message to export
    #[arg(long, value_name = "MESSAGE")]
    pub(crate) from: Option<String>,
    /// Last message to export
    #[arg(long, value_name = "MESSAGE")]
    pub(crate) to: Option<String>,
    /// Whether to remove secrets, including those in the environment
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub(crate) redact: Switch,
    /// Print the JSON Schema of a record and exit
    #[arg(long)]
    pub(crate) schema: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// Include only entries of at most this age: 90s, 30m, 2h, 7d
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) since: Option<Duration>,
    /// Include only the session with this ID or beginning of one; `coder sessions` prints IDs
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Include denied calls
    #[arg(long)]
    pub(crate) denied: bool,
    /// Include approval questions
    #[arg(long)]
    pub(crate) asked: bool,
    /// Include failed calls
    #[arg(long)]
    pub(crate) failed: bool,
    /// Include only calls of this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep running and print new entries
    #[arg(long)]
    pub(crate) follow: bool,
}

/// The arguments of `coder keep`.
#[derive(Debug, Args)]
pub(crate) struct KeepArguments {
    /// Folder or file of output, or a folder above it, relative to the project; without it, all are listed
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

/// The arguments of `coder undo`. Files changed since the turn are skipped and listed; the rest is restored, and the
/// exit status is 1. A turn of which nothing can be restored is skipped. Changes by commands are covered up to a limit,
/// except in files that git ignores, in .git itself and in blocked files.
#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// Number of the turn, as --list prints it; without it, the newest turn
    #[arg(value_name = "TURN", conflicts_with = "turns")]
    pub(crate) turn: Option<u64>,
    #[command(flatten)]
    pub(crate) back: BackArguments,
    /// List the turns, newest first
    #[arg(long, conflicts_with_all = ["turn", "turns", "dry_run"])]
    pub(crate) list: bool,
}

/// The arguments that `coder undo` and `coder redo` share. After a turn that changes something, nothing can be redone.
#[derive(Debug, Args)]
pub(crate) struct BackArguments {
    /// Number of turns, newest first
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_at_least_one)]
    pub(crate) turns: usize,
    /// Print what would be done and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON line per turn
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// Number of turns to combine
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_at_least_one)]
    pub(crate) turns: usize,
    /// Combine all turns that can be undone
    #[arg(long, conflicts_with = "turns")]
    pub(crate) all: bool,
    /// Print one JSON line per name
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArguments {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = prompt_help())]
pub(crate) struct PromptArguments {
    /// Output format
    #[arg(long, value_enum, default_value_t = PromptFormat::Text)]
    pub(crate) format: PromptFormat,
    /// Dialect of the calls in the instructions, for a model that is known to write it
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Command that handles the model's replies
    #[arg(long, value_enum, value_name = "COMMAND")]
    pub(crate) r#for: Option<PromptFor>,
    /// Leave out background jobs, for `coder exec --no-session`
    #[arg(long, requires = "for")]
    pub(crate) no_session: bool,
}

/// Returns the end of the help of `coder prompt`: the dialects.
fn prompt_help() -> String {
    let names: Vec<&str> = dialects_in_instructions().collect();
    format!(
        "{}\n\nInstructions are available for these dialects (--dialect NAME):\n  {}",
        dialects_help(),
        names.join(" ")
    )
}

/// Returns the names of the dialects in which instructions can be written.
pub(crate) fn dialects_in_instructions() -> impl Iterator<Item = &'static str> {
    let catalog: Catalog = [ToolSpec::new("any", "")].into_iter().collect();
    let has_instructions =
        move |dialect: &&Dialect| prompt::instructions_in(&catalog, Language::English, **dialect).is_some();
    Dialect::ALL.iter().filter(has_instructions).map(|dialect| dialect.name())
}

/// Returns the help text that lists the dialects in which calls are accepted.
fn dialects_help() -> String {
    let names: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
    let accepted = "Calls in these dialects are accepted in addition to tool blocks (--dialects NAMES, or the key \
                    `dialects`); shell_block and search_replace only if they are named, as in all,shell_block. Give a \
                    single name if the model is known to write that dialect:";
    format!("{accepted}\n  {}", names.join(" "))
}

#[derive(Debug, Args)]
#[command(after_help = COMMIT_HELP)]
pub(crate) struct CommitArguments {
    /// Commit all changes in tracked files, as `git commit --all` does
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Print the message and commit nothing
    #[arg(short = 'n', long)]
    pub(crate) message_only: bool,
}

const COMMIT_HELP: &str = "\
The model reads the staged diff, without secrets and without the contents of blocked files. You see the message and can edit it; git \
then commits as you, with your hooks. --yes commits without a question. If there is no terminal to ask on, the message is printed, \
nothing is committed, and the exit status is 1.";

#[derive(Debug, Args)]
pub(crate) struct GrammarArguments {
    /// Format of the grammar
    #[arg(long, value_enum, default_value_t = GrammarFormat::Gbnf)]
    pub(crate) format: GrammarFormat,
    /// Allow only this tool; can be repeated [default: all tools]
    #[arg(long = "tool", value_name = "NAME")]
    pub(crate) tools: Vec<String>,
}

/// The arguments of `coder proxy`. Clients that need function calling use this proxy like the OpenAI API: it turns
/// tools into instructions and the model's tool blocks into streamed tool_calls. It runs no tools, and passes requests
/// without tools on unchanged.
#[derive(Debug, Args)]
#[command(after_help = PROXY_HELP)]
pub(crate) struct ProxyArguments {
    /// Base URL of the OpenAI-compatible server that answers, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: String,
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4141", value_parser = parse_address)]
    pub(crate) listen: SocketAddr,
    /// Timeout for connecting to the upstream, in seconds
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = parse_seconds)]
    pub(crate) connect_timeout: u64,
    /// Timeout for the start of the answer, in seconds; without streaming, it starts when the model is done
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = parse_seconds)]
    pub(crate) first_byte_timeout: u64,
    /// Longest pause within an answer, in seconds
    #[arg(long, value_name = "S", default_value_t = 120, value_parser = parse_seconds)]
    pub(crate) between_timeout: u64,
    /// Maximum size of a request, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = parse_mebibytes)]
    pub(crate) max_request: u32,
    /// How to describe a client's tools to the model
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) tool_details: ToolDetails,
    /// Origin of a web page that may use the proxy, such as https://chat.example; can be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = parse_origin)]
    pub(crate) origin: Vec<String>,
}

const PROXY_HELP: &str = "\
Keys, from the environment:
  TOOLFENCE_PROXY_KEY  clients must send it: Authorization: Bearer KEY.
                       It is not forwarded
  TOOLFENCE_API_KEY    sent to the upstream if the client sends no key or the
                       proxy's key; if it is not set, the key that the settings
                       name is sent. The settings also define the headers, the
                       proxy and the certificates for the upstream

Example:
  llama-server -m model.gguf --port 8080
  coder proxy --upstream http://127.0.0.1:8080/v1
  OPENAI_BASE_URL=http://127.0.0.1:4141/v1 OPENAI_API_KEY=none python3 my_agent.py";

/// The arguments of `coder serve`. Clients send a prompt or a call to POST /api/agent and get the answer as JSON or as
/// a stream of events. Tools run in this process under the usual policy; the client answers approval requests.
#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct ServeArguments {
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8765", value_parser = parse_address)]
    pub(crate) listen: SocketAddr,
    /// Additional host name of this server, such as that of a reverse proxy; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Origin of a web page that may use this server with its token, such as https://chat.example; can be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = parse_origin)]
    pub(crate) origin: Vec<String>,
    /// Maximum number of concurrent turns; further turns are refused
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = parse_turn_count)]
    pub(crate) turns: u32,
    /// Timeout of a turn, in seconds
    #[arg(long, value_name = "S", default_value_t = 1800, value_parser = parse_seconds)]
    pub(crate) turn_timeout: u64,
    /// Time to wait for an approval, in seconds; without one, the call does not run
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = parse_seconds)]
    pub(crate) approval_timeout: u64,
    /// Maximum size of a request, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 4, value_parser = parse_mebibytes)]
    pub(crate) max_request: u32,
}

const SERVE_HELP: &str = "\
Key, from the environment:
  TOOLFENCE_SERVE_TOKEN  clients must send it: Authorization: Bearer TOKEN.
                         Without it, each start prints a new token

Example:
  coder serve --base-url http://127.0.0.1:8080/v1
  curl http://127.0.0.1:8765/api/agent -H \"Authorization: Bearer $TOKEN\" \\
    -H \"Content-Type: application/json\" -d '{\"prompt\": \"What is this project?\"}'";

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show which rules match a command or call, and what happens in each mode
    Explain(ExplainArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The shell command to judge
    #[arg(required_unless_present_any = ["batch", "tool"])]
    pub(crate) command: Option<String>,
    /// Print one JSON object:
    /// {"v":1,"verdict":..,"effective":..,"rule":..,"reason":..,"commands":[..],"met":[..],"marks":[[..]],"modes":{..},"always":[..]}.
    /// `effective` is the outcome now, `modes` the outcome in each mode, `marks` the byte ranges that are not allowed,
    /// `always` the rules that this answer would store, or `not_always` the reason why it stores none
    #[arg(long)]
    pub(crate) json: bool,
    /// Read JSON lines, {"id":..,"command":..} or {"id":..,"tool":..,"args":..}, and print the object of --json with
    /// the id for each, or {"v":1,"id":..,"error":..}
    #[arg(long, conflicts_with_all = ["command", "tool"])]
    pub(crate) batch: bool,
    /// Judge a call of this tool instead of a command
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub(crate) tool: Option<String>,
    /// The arguments of that call, as a JSON object
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub(crate) args: Option<String>,
}

/// The arguments of `coder doctor`. With --backend, which needs no value here, the command sends five questions to the
/// backend that the settings name and stores the findings in its profile.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print one JSON object:
    /// {"v":1,"kind":"namespaces|landlock|nothing","holds":..,"why":[..],"helper":..,"kernel":..,
    /// "user":..,"findings":[{"barrier":..,"attempt":..,"result":"yes|no|open|unknown","said":..,"advice":..}],"advice":[..],
    /// "checks":{"programs":[{"files":[..],"program":..,"found":..,"asked":..,"reads":"text|project:FILE","built_in":..,
    /// "without":[..]}],"in_process":[{"language":..,"files":[..]}]}}; with --backend {"v":1,"base_url":..,"model":..,
    /// "requests":..,"answers":{"stream":{"answer":..},"protocol":{..},"reasoning":{..},"text":{..},"grammar":{..}},
    /// "kept":..}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the value of each setting and where it comes from
    Show(ShowArguments),
    /// Create your settings file with every key explained and none set; an existing file is left unchanged
    Init,
    /// Print the paths of the settings files
    Path,
    /// Show the project's settings file and commands, and trust them in their present form: the file may then also
    /// choose backend and model. Changes need to be trusted again
    Trust(TrustArguments),
    /// Show or delete the stored profile of the backend and its model, as learned from replies and `coder doctor
    /// --backend`
    Profile(ProfileArguments),
    /// List known providers with the variables of their keys, and the servers that answer on this machine
    Backends(BackendsArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Start the configured servers and list their states and tools
    List(McpListArguments),
    /// Show the tool descriptions of a server and trust exactly these; the model does not see tools that are not
    /// trusted
    Trust(McpTrustArguments),
}

#[derive(Debug, Args)]
pub(crate) struct McpListArguments {
    /// Print one JSON object:
    /// {"v":1,"servers":[{"name":..,"command":[..],"origin":..,"state":"trusted|untrusted|failed","error":..?,
    /// "sandboxed":..?,"tools":[{"name":..,"signature":..,"purpose":..}]?,"notes":[..]?}]}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct McpTrustArguments {
    /// Name of the server in the settings; without it, all servers
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Revoke the trust
    #[arg(long)]
    pub(crate) forget: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PersonasArguments {
    /// Print one JSON object:
    /// {"v":1,"personas":[{"name":..,"place":"built_in|own|project","file":..?,"description":..,"languages":[..],
    /// "tools":[..]?,"model":..?,"tightens":[..],"error":..?}]}
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only the names, one per line, for shell completions
    #[arg(long, conflicts_with = "json")]
    pub(crate) names: bool,
    #[command(subcommand)]
    pub(crate) command: Option<PersonasCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PersonasCommand {
    /// Print a persona in the current language
    Show {
        /// Name or file of the persona
        #[arg(value_name = "NAME|FILE")]
        name: String,
    },
    /// Create a persona file with everything explained, for you to edit; an existing file is left unchanged
    Init {
        /// Name of the persona
        name: String,
        /// Create it in the project's .toolfence/personas instead of your own folder
        #[arg(long)]
        project: bool,
    },
    /// Check whether a file is a usable persona, and show what it asks for
    Check {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Print one JSON object: {"v":1,"values":[{"key":..,"value":..,"origin":{"layer":..,"name":..,"line":..}}],..}
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `coder config profile`. A profile holds the form of the reasoning, the dialect in which the model
/// writes its calls, and the findings of `coder doctor --backend`. The settings `reasoning`, `dialects`, `grammar` and
/// `window` override it.
#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    /// Use all stored profiles instead of that of the configured backend
    #[arg(long)]
    pub(crate) all: bool,
    /// Delete the profile
    #[arg(long)]
    pub(crate) forget: bool,
    /// Print one JSON object:
    /// {"v":1,"profiles":[{"v":1,"base_url":..,"model":..,"dialect":{"value":..,"at":..,"how":..}?,
    /// "reasoning":{..}?,"grammar":{..}?, "reasons_beside_grammar":{..}?,"system":{..}?}]}
    #[arg(long, conflicts_with = "forget")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BackendsArguments {
    /// Print one JSON object:
    /// {"v":1,"providers":[{"name":..,"base_url":..,"key_variable":..,"key_set":..,"models":[..]}],
    /// "local":[{"kind":..,"base_url":..,"models":[{"name":..,"loaded":..}],"loads":..}]}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// Revoke the trust
    #[arg(long)]
    pub(crate) forget: bool,
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
