//! The command line: what can be typed, and what it means. The help texts are these comments.

#![allow(rustdoc::bare_urls, reason = "the comments are help texts for a terminal")]

use crate::choices::{
    AskMode, BackendKind, ClipboardKind, Color, CommandFormat, Conversation, End, ExportFormat, Grammar, GrammarFormat,
    Instructions, Lang, OutputFormat, PromptFor, PromptFormat, Reasoning, ResultsShown, Sandbox, Switch, ToolDetails,
};
use clap::{Args, Parser, Subcommand};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use toolfence_protocol::{Catalog, Dialect, Language, Text, ToolSpec, prompt, text};

/// The statuses as `--help` tells them; `failure` gives them.
const STATUSES: &str = "\
Exit status:
  0    done; for exec: every call succeeded
  1    something that was asked for did not succeed: a call, a turn, a line of
       a batch, the demo's test; or you said no to config trust
       or to commit
  2    wrong use: arguments, files, settings
  3    the backend or the machine failed
  130  interrupted by Ctrl-C
  129  the terminal went away, 143 terminated: what ran was ended first";

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
    /// Show the model this image with -p: PNG, JPEG, GIF or WebP, up to 10 MiB; may be given up to eight times
    #[arg(long, value_name = "FILE", requires = "prompt")]
    pub(crate) image: Vec<PathBuf>,
    /// Go on with the last conversation about this project
    #[arg(short, long)]
    pub(crate) r#continue: bool,
    /// Print the JSON Schema of the lines of --debug, and end
    #[arg(long)]
    pub(crate) debug_schema: bool,
    /// How the answer to -p is printed: text, one JSON object, or a JSON line for everything that happens, as `coder pipe` tells
    /// it [default: text]
    #[arg(long, value_enum, value_name = "FORMAT", requires = "prompt")]
    pub(crate) output_format: Option<OutputFormat>,
    /// Print each event of the answer as a line of JSON, as --output-format stream-json does
    #[arg(long, requires = "prompt", conflicts_with = "output_format")]
    pub(crate) json: bool,
    /// Begin the conversation with this message; where there is no terminal, answer it once as -p does
    #[arg(value_name = "MESSAGE")]
    pub(crate) message: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Cli {
    /// How the answer is printed.
    pub(crate) fn format(&self) -> OutputFormat {
        if self.json { OutputFormat::StreamJson } else { self.output_format.unwrap_or(OutputFormat::Text) }
    }
}

/// The headings of the options that every command understands. `help` says which of them a command's help has.
pub(crate) const EVERYWHERE: &str = "Options everywhere";
pub(crate) const WHO_ANSWERS: &str = "Who answers";
pub(crate) const TOLD: &str = "What the model is told";
pub(crate) const REPLIES: &str = "How replies are written and read";
pub(crate) const CONVERSATION: &str = "The conversation";
pub(crate) const RULES: &str = "What may run, besides the files of settings";

/// What every command understands.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = EVERYWHERE)]
pub(crate) struct Options {
    /// The project: tools see nothing outside of it
    #[arg(long, global = true, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// The model, as the backend names it
    #[arg(long, global = true, help_heading = WHO_ANSWERS, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Who answers [default: http]
    #[arg(long, global = true, help_heading = WHO_ANSWERS, value_enum)]
    pub(crate) backend: Option<Option<BackendKind>>,
    /// Where the OpenAI-shaped server is; its key, if it wants one, comes from TOOLFENCE_API_KEY [default: a server that
    /// answers at its usual address on this machine]
    #[arg(long, global = true, help_heading = WHO_ANSWERS, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The program of the command backend with its arguments, such as "llm -m gpt-4o-mini": it reads the conversation on its
    /// stdin and prints the answer, outside of the sandbox. No shell reads the line
    #[arg(long, global = true, help_heading = WHO_ANSWERS, value_name = "LINE")]
    pub(crate) command: Option<String>,
    /// What that program is sent: the whole conversation, or only what is new, where it keeps its own [default: whole]
    #[arg(long, global = true, help_heading = WHO_ANSWERS, value_enum, value_name = "KIND")]
    pub(crate) command_conversation: Option<Conversation>,
    /// How it is sent [default: text]
    #[arg(long, global = true, help_heading = WHO_ANSWERS, value_enum, value_name = "FORMAT")]
    pub(crate) command_format: Option<CommandFormat>,
    /// The recorded replies of the replay backend: each below a line `%%% reply`, behind which `finish=length` or `finish=cut` may
    /// stand
    #[arg(long, global = true, help_heading = WHO_ANSWERS, value_name = "FILE")]
    pub(crate) replies: Option<String>,
    /// Who the model is: coder, explainer, reviewer, small, another that `coder personas` lists, or a file [default: coder]
    #[arg(long, global = true, help_heading = TOLD, value_name = "NAME|FILE")]
    pub(crate) persona: Option<String>,
    /// Ask for nothing: run whatever is not denied, as --ask never does
    #[arg(long, global = true, help_heading = RULES, conflicts_with = "ask")]
    pub(crate) yes: bool,
    /// Below each turn, on stderr: what the replies cost in tokens, and by the prices of the settings
    #[arg(long, global = true, help_heading = CONVERSATION)]
    pub(crate) stats: bool,
    /// Calls, results and path decisions as JSON lines on stderr
    #[arg(long, global = true)]
    pub(crate) debug: bool,
    /// The language of what you and the model are told [default: that of LC_ALL, LC_MESSAGES or LANG, or else en]
    #[arg(long, global = true, value_enum)]
    pub(crate) lang: Option<Lang>,
    /// Whether persona and instructions are sent: external where they are pasted into the backend already [default: inline]
    #[arg(long, global = true, help_heading = TOLD, value_enum)]
    pub(crate) instructions: Option<Instructions>,
    /// The forms in which calls are read beside the blocks that the instructions teach: all, none, or names with commas
    /// between them [default: all]
    #[arg(long, global = true, help_heading = REPLIES, value_name = "NAMES")]
    pub(crate) dialects: Option<String>,
    /// Whether the backend's template opens the model's reasoning, so that a reply has only the closing tag [default: unknown]
    #[arg(long, global = true, help_heading = REPLIES, value_enum)]
    pub(crate) reasoning: Option<Reasoning>,
    /// Whether the server is held to the grammar of the tools: auto where `coder doctor --backend` saw that it obeys one
    /// [default: auto]
    #[arg(long, global = true, help_heading = REPLIES, value_enum)]
    pub(crate) grammar: Option<Grammar>,
    /// How results are written for the model: text or json, data=on, nonce=on, break_tokens=on; may be given several times
    /// [default: text]
    #[arg(long, global = true, help_heading = REPLIES, value_name = "FORMAT|KEY=VALUE")]
    pub(crate) results: Vec<String>,
    /// Tokens that the model can read: at 80 % of them the conversation is compacted [default: what the server tells,
    /// or once it refuses]
    #[arg(long, global = true, help_heading = WHO_ANSWERS, value_name = "TOKENS")]
    pub(crate) window: Option<u32>,
    /// The sampling temperature, from 0 to 2 [default: the server decides]
    #[arg(long, global = true, help_heading = WHO_ANSWERS, value_name = "N", value_parser = up_to_two)]
    pub(crate) temperature: Option<f64>,
    /// The most tokens of a reply [default: the server decides]
    #[arg(long, global = true, help_heading = WHO_ANSWERS, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) max_tokens: Option<u32>,
    /// Tell the model nothing of AGENTS.md and its kin
    #[arg(long, global = true, help_heading = TOLD)]
    pub(crate) no_agents_files: bool,
    /// Write no transcript of this conversation
    #[arg(long, global = true, help_heading = CONVERSATION)]
    pub(crate) no_transcript: bool,
    /// Whether there are colours: auto where a terminal shows them and NO_COLOR is not set [default: auto]
    #[arg(long, global = true, value_enum)]
    pub(crate) color: Option<Color>,
    #[command(flatten)]
    pub(crate) rules: RuleOptions,
}

/// What may run. Each counts over the files of settings, and rules are added to those that stand there.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = RULES)]
pub(crate) struct RuleOptions {
    /// When you are asked [default: risky]
    #[arg(long, global = true, value_enum)]
    pub(crate) ask: Option<AskMode>,
    /// Run commands that begin with these words without a question; may be given several times
    #[arg(long, global = true, value_name = "WORDS")]
    pub(crate) allow: Vec<String>,
    /// Never run commands that begin with these words
    #[arg(long, global = true, value_name = "WORDS")]
    pub(crate) deny: Vec<String>,
    /// Run no commands but those that begin with one of these
    #[arg(long, global = true, value_name = "WORDS")]
    pub(crate) only: Vec<String>,
    /// Open files of this name although the built-in list blocks them
    #[arg(long, global = true, value_name = "GLOB")]
    pub(crate) allow_path: Vec<String>,
    /// Never open files of this name
    #[arg(long, global = true, value_name = "GLOB")]
    pub(crate) deny_path: Vec<String>,
    /// Open no files but those of these names
    #[arg(long, global = true, value_name = "GLOB")]
    pub(crate) only_path: Vec<String>,
    /// What the sandbox around a command leaves writable [default: project-write]
    #[arg(long, global = true, value_enum, value_name = "MODE")]
    pub(crate) sandbox: Option<Sandbox>,
    /// Let every command use the network
    #[arg(long, global = true)]
    pub(crate) network: bool,
    /// How much there may be of something, such as rounds=40 or command_seconds=60; `coder config show` lists all limits. May be
    /// given several times
    #[arg(long, global = true, value_name = "KEY=NUMBER")]
    pub(crate) limit: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A recorded model mends a small project; every tool call really runs
    Demo,
    /// Model text in on stdin, its calls run, their results out as chat text
    Exec(ExecArguments),
    /// Watch the clipboard: run the calls of each reply that you copy, and put their results there
    ///
    /// Texts without a call are left alone: they are not stored, sent or printed. Questions are asked in this terminal. What is in the
    /// clipboard when this command starts does not count as a reply.
    Clip(ClipArguments),
    /// What the parser sees in a reply on stdin, as JSON lines
    Parse(ParseArguments),
    /// The tools on offer, with their signatures
    Tools(ToolsArguments),
    /// Persona and instructions as text, to paste into a web chat
    Prompt(PromptArguments),
    /// What a backend that constrains decoding needs, so that the model can write no malformed call
    Grammar(GrammarArguments),
    /// A session for a chat client in any language: JSON lines in, JSON lines out
    Pipe(PipeArguments),
    /// Function calling for a model that can only talk: an OpenAI-shaped server in front of another one
    Proxy(ProxyArguments),
    /// Turns and tools over HTTP, for a client in any language: JSON, or a stream of events
    Serve(ServeArguments),
    /// What the policy says to a call
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Try to break each barrier of the sandbox, to see which hold here; and what checks changed files. With --backend: ask the
    /// backend what it does to texts, and keep what it shows
    Doctor(DoctorArguments),
    /// The conversations that were written down, the last one first
    Sessions(SessionsArguments),
    /// Go on with a conversation, or with a copy of it up to one of its messages; with -p answer once
    Resume(ResumeArguments),
    /// A conversation as Markdown, as JSON lines, or as a page for a browser
    Export(ExportArguments),
    /// What conversations cost, which calls were made in them, and what became of those
    Stats(StatsArguments),
    /// The log of decisions and results
    Audit(AuditArguments),
    /// List the output of commands that is not in the project, or put it there
    Keep(KeepArguments),
    /// Take back what the last turn changed in the project's files
    Undo(UndoArguments),
    /// Take the last undo back
    Redo(BackArguments),
    /// What the last turn changed
    Diff(DiffArguments),
    /// Commit with a message that the model proposes and you confirm
    Commit(CommitArguments),
    /// Who the model can be: the personas that there are
    Personas(PersonasArguments),
    /// The files of settings: what they hold, and what counts
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// The servers of MCP, the Model Context Protocol, whose tools join the others: which there are, and whether you trust them
    Mcp {
        #[command(subcommand)]
        command: McpCommand,
    },
    /// Completions of the command line, for a shell to read
    Completions(CompletionsArguments),
    /// The manual: the page of coder, or with --output a page for each command
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
    /// One line a result instead of chat text: {"v":1,"event":"result","tool":..,"success":..,"output":..,..}, or
    /// {"v":1,"event":"ignored","message":..} where no call counts that was meant to
    #[arg(long)]
    pub(crate) json: bool,
    /// On stderr, for people: what was found in the text, every repair by its name, what ran and why the rest did not
    #[arg(long)]
    pub(crate) explain: bool,
    /// The text is what stands inside a tool block: its object, and the bodies below it
    #[arg(long)]
    pub(crate) bare: bool,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
    /// Keep nothing between replies, and leave no process: for scripts
    #[arg(long, conflicts_with_all = ["session", "end"])]
    pub(crate) no_session: bool,
    /// End the session and its background jobs
    #[arg(long, conflicts_with_all = ["json", "explain", "bare"])]
    pub(crate) end: bool,
}

// No doc comment: it would be the help of the commands that have these options.
#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    /// The session of the project that handles the reply. A session knows which files the model has read and what you
    /// always allowed, and keeps background jobs; it ends after 12 hours without a reply
    #[arg(long, value_name = "NAME", default_value = "default", hide_default_value = true)]
    pub(crate) session: String,
    /// Be the process that keeps the session: for the program itself
    #[arg(long, hide = true)]
    pub(crate) host: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ClipArguments {
    /// The clipboard [default: that of the desktop, or else of tmux]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) clipboard: Option<ClipboardKind>,
    /// Split results into numbered parts of so many characters, at least 200: Enter puts the next part into the
    /// clipboard [default: do not split]
    #[arg(long, value_name = "CHARACTERS", value_parser = at_least_200)]
    pub(crate) part: Option<usize>,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
}

/// The client keeps its conversation and its model. It writes, one JSON object a line: {"type":"chunk","text":..} for each
/// piece of a reply, then {"type":"end"}; {"type":"approve","id":..} or {"type":"deny","id":..,"reason":..} to an "ask".
/// It reads what was found, what runs and what came of it; "results" holds the next message to the model, "stop" says that
/// the turn is over. Working clients are in the folder examples of the source.
#[derive(Debug, Args)]
pub(crate) struct PipeArguments {
    /// Print the JSON Schema of all lines, and end
    #[arg(long)]
    pub(crate) schema: bool,
}

#[derive(Debug, Args)]
#[command(after_help = dialects_help())]
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
    /// The tools on offer: a file with an array of function definitions, as the API of OpenAI has them [default: those of
    /// coder]
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// JSON lines in, {"id":..,"text":..,"chunk":..?,"finish":..?,"dialects":..?,"tools":[..]?}, and
    /// {"v":1,"id":..,"events":[..]} out, or
    /// {"v":1,"id":..,"error":..} for a line that is wrong. Records of a transcript are read too: its replies
    #[arg(long)]
    pub(crate) batch: bool,
    /// For people: what was found, every repair by its name, the dialect of each call, and why a call does not count
    #[arg(long, conflicts_with = "batch")]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsArguments {
    /// Only those in which all these words were said
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Those about other projects too
    #[arg(long)]
    pub(crate) all: bool,
    /// One JSON line a conversation: {"v":1,"event":"session","id":..,"began":..,"changed":..,"turns":..,"title":..,"root":..,
    /// "path":..}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArguments {
    /// One conversation, or the beginning of its name [default: all about this project]
    pub(crate) session: Option<String>,
    /// Those about other projects too
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// What is not older than this: 90s, 30m, 2h, 7d
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) since: Option<Duration>,
    /// As one JSON object: {"v":1,"sessions":..,"turns":..,"rounds":..,"tokens":{"replies":..,"estimated_replies":..,"input":..,
    /// "cached":..,"output":..,"price":..?},"models":{..},"tools":{NAME:{"calls":..,"failed":..,"ms":{"count":..,"p50":..,"p90":..,
    /// "most":..}}},"failures":{..},"decisions":{..},"asked":..,"answers":{..},"repairs":{..},"unreadable_blocks":..,"times":{"model":
    /// {..},"first_byte":{..},"tools":{..},"person":{..}}}
    #[arg(long)]
    pub(crate) json: bool,
}

/// The model gets the conversation again. What `undo` knows goes on. What you said "always" to is asked about again.
#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// The conversation, or the beginning of its name; without it you choose
    pub(crate) session: Option<String>,
    /// Go on in a new conversation that has everything up to this message; `coder export` shows their numbers
    #[arg(long, value_name = "MESSAGE", requires = "session")]
    pub(crate) from: Option<String>,
    /// Go on in a new conversation that has everything of this one
    #[arg(long)]
    pub(crate) fork: bool,
    /// Answer this once and end
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Show the model this image with -p: PNG, JPEG, GIF or WebP, up to 10 MiB; may be given up to eight times
    #[arg(long, value_name = "FILE", requires = "prompt")]
    pub(crate) image: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The conversation, or the beginning of its name
    #[arg(required_unless_present = "schema")]
    pub(crate) session: Option<String>,
    /// md and html are for people, json has the records
    #[arg(long, value_enum, default_value_t = ExportFormat::Md)]
    pub(crate) format: ExportFormat,
    /// Write it to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What the model thought too
    #[arg(long)]
    pub(crate) thoughts: bool,
    /// How much of what tools gave back
    #[arg(long, value_enum, default_value_t = ResultsShown::Head)]
    pub(crate) outputs: ResultsShown,
    /// From this message on
    #[arg(long, value_name = "MESSAGE")]
    pub(crate) from: Option<String>,
    /// Up to this message
    #[arg(long, value_name = "MESSAGE")]
    pub(crate) to: Option<String>,
    /// Whether secrets are taken out, those of the environment too
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub(crate) redact: Switch,
    /// Print the JSON Schema of a record, and end
    #[arg(long)]
    pub(crate) schema: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// What is not older than this: 90s, 30m, 2h, 7d
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) since: Option<Duration>,
    /// Of the session whose name begins so: `coder sessions` shows it
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// What was denied
    #[arg(long)]
    pub(crate) denied: bool,
    /// What a person was asked
    #[arg(long)]
    pub(crate) asked: bool,
    /// What did not succeed
    #[arg(long)]
    pub(crate) failed: bool,
    /// Calls of this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// The lines as they are
    #[arg(long)]
    pub(crate) json: bool,
    /// Go on with what is added
    #[arg(long)]
    pub(crate) follow: bool,
}

/// A number with s, m, h or d behind it.
fn age(text: &str) -> Result<Duration, Wrong> {
    let (number, unit) = text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
    let wrong = || Wrong(text!("expected a number and a unit (s, m, h or d), such as 90s or 7d"));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

/// Arguments of `coder keep`.
#[derive(Debug, Args)]
pub(crate) struct KeepArguments {
    /// The folder or file of output, or a folder above it, relative to the project; without it, all are listed
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

/// Files changed since the turn are skipped and listed; the rest is restored, and the exit status is 1. A turn of which nothing
/// can be restored is skipped. What commands changed is covered up to a limit, but not what git ignores, nor .git itself, nor
/// blocked files.
#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// The number of one turn, as --list prints it; without it, the newest
    #[arg(value_name = "TURN", conflicts_with = "turns")]
    pub(crate) turn: Option<u64>,
    #[command(flatten)]
    pub(crate) back: BackArguments,
    /// The turns there are, the newest first
    #[arg(long, conflicts_with_all = ["turn", "turns", "dry_run"])]
    pub(crate) list: bool,
}

/// A turn that changes something ends what can be redone.
#[derive(Debug, Args)]
pub(crate) struct BackArguments {
    /// So many, the last one first
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one)]
    pub(crate) turns: usize,
    /// Say what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// One JSON line a turn
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// So many turns together
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one)]
    pub(crate) turns: usize,
    /// Every turn that can be undone
    #[arg(long, conflicts_with = "turns")]
    pub(crate) all: bool,
    /// One JSON line a name
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArguments {
    /// As one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = prompt_help())]
pub(crate) struct PromptArguments {
    /// The text itself, or a JSON object with its parts
    #[arg(long, value_enum, default_value_t = PromptFormat::Text)]
    pub(crate) format: PromptFormat,
    /// For a model that is known to write this dialect: the calls in the instructions are in its form
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// For a model whose replies this command handles
    #[arg(long, value_enum, value_name = "COMMAND")]
    pub(crate) r#for: Option<PromptFor>,
    /// Leave out background jobs, for `coder exec --no-session`
    #[arg(long, requires = "for")]
    pub(crate) no_session: bool,
}

/// The dialects in the help of `coder prompt`.
fn prompt_help() -> String {
    let shown: Vec<&str> = dialects_in_instructions().collect();
    format!("{}\n\nInstructions can be written for these (--dialect NAME):\n  {}", dialects_help(), shown.join(" "))
}

/// The dialects in which instructions can be written.
pub(crate) fn dialects_in_instructions() -> impl Iterator<Item = &'static str> {
    let catalog: Catalog = [ToolSpec::new("any", "")].into_iter().collect();
    let told = move |dialect: &&Dialect| prompt::instructions_in(&catalog, Language::English, **dialect).is_some();
    Dialect::ALL.iter().filter(told).map(|dialect| dialect.name())
}

/// The dialects that are read.
fn dialects_help() -> String {
    let names: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
    let read = "Calls in these dialects are read besides the blocks of the protocol (--dialects NAMES, or the key `dialects`); shell_block and \
                search_replace only if they are named, as in all,shell_block. A single name is the dialect that the model is known to \
                write:";
    format!("{read}\n  {}", names.join(" "))
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
    /// For whom it is written
    #[arg(long, value_enum, default_value_t = GrammarFormat::Gbnf)]
    pub(crate) format: GrammarFormat,
    /// Only this tool; may be given several times. Without it all tools are allowed
    #[arg(long = "tool", value_name = "NAME")]
    pub(crate) tools: Vec<String>,
}

/// Clients that insist on function calling talk to this proxy as they would to OpenAI: tools become instructions, the
/// model's tool blocks become tool_calls, streamed. No tool runs here, and requests without tools pass as they are.
#[derive(Debug, Args)]
#[command(after_help = PROXY_HELP)]
pub(crate) struct ProxyArguments {
    /// Who answers: the base URL of an OpenAI-shaped server, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: String,
    /// Where clients find the proxy; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4141", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// How long the upstream may take to be reached, in seconds
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = seconds)]
    pub(crate) connect_timeout: u64,
    /// How long it may take to begin its answer, in seconds; without streaming it begins when the model is done
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = seconds)]
    pub(crate) first_byte_timeout: u64,
    /// How long it may be silent within its answer, in seconds
    #[arg(long, value_name = "S", default_value_t = 120, value_parser = seconds)]
    pub(crate) between_timeout: u64,
    /// How large a request may be, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = mebibytes)]
    pub(crate) max_request: u32,
    /// How the model learns the tools of a client
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) tool_details: ToolDetails,
    /// A web page that may use the proxy, such as https://chat.example; may be given several times
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub(crate) origin: Vec<String>,
}

const PROXY_HELP: &str = "\
Keys, from the environment:
  TOOLFENCE_PROXY_KEY  clients must send it: Authorization: Bearer KEY.
                       It goes no further
  TOOLFENCE_API_KEY    sent to the upstream, where the client sends no key or
                       sends the proxy's; without it, the key that the settings
                       name. The settings also say which headers, proxy and
                       certificates the upstream gets

Example:
  llama-server -m model.gguf --port 8080
  coder proxy --upstream http://127.0.0.1:8080/v1
  OPENAI_BASE_URL=http://127.0.0.1:4141/v1 OPENAI_API_KEY=none python3 my_agent.py";

/// Clients send a prompt or a call to POST /api/agent and get the answer as JSON or as a stream of events. Tools run here, judged
/// and asked about as anywhere else; the client answers for the person.
#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct ServeArguments {
    /// Where clients find the server; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8765", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Another name of this server, such as that of a reverse proxy in front of it; may be given again
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// A web page that may use this server with its token, such as https://chat.example; may be given again
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub(crate) origin: Vec<String>,
    /// How many turns may run at a time; more are refused
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = many)]
    pub(crate) turns: u32,
    /// How long a turn may take, in seconds
    #[arg(long, value_name = "S", default_value_t = 1800, value_parser = seconds)]
    pub(crate) turn_timeout: u64,
    /// How long an approval is waited for, in seconds; then the call does not run
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = seconds)]
    pub(crate) approval_timeout: u64,
    /// How large a request may be, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 4, value_parser = mebibytes)]
    pub(crate) max_request: u32,
}

const SERVE_HELP: &str = "\
Key, from the environment:
  TOOLFENCE_SERVE_TOKEN  clients must send it: Authorization: Bearer TOKEN.
                         Without it a new one is printed at each start

Example:
  coder serve --base-url http://127.0.0.1:8080/v1
  curl http://127.0.0.1:8765/api/agent -H \"Authorization: Bearer $TOKEN\" \\
    -H \"Content-Type: application/json\" -d '{\"prompt\": \"What is this project?\"}'";

fn many(text: &str) -> Result<u32, Wrong> {
    up_to(10_000, text)
}

fn seconds(text: &str) -> Result<u64, Wrong> {
    up_to(86_400, text)
}

fn mebibytes(text: &str) -> Result<u32, Wrong> {
    up_to(1024, text)
}

/// The origin of a page, as a browser sends it.
fn origin(text: &str) -> Result<String, Wrong> {
    let is_origin = text.split_once("://").is_some_and(|(scheme, host)| {
        matches!(scheme, "http" | "https") && !host.is_empty() && !host.contains(['/', '?', '#', '@', ' '])
    });
    let example = "https://chat.example";
    let wrong = || Wrong(text!("expected an origin without a path, such as {example}", example));
    if is_origin { Ok(text.to_ascii_lowercase()) } else { Err(wrong()) }
}

fn address(text: &str) -> Result<SocketAddr, Wrong> {
    text.parse().map_err(|_| Wrong(text!("expected an address with a port, such as 127.0.0.1:4141")))
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// The rules that match a command, or any call, and what happens in each mode
    Explain(ExplainArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The shell command to judge
    #[arg(required_unless_present_any = ["batch", "tool"])]
    pub(crate) command: Option<String>,
    /// {"v":1,"verdict":..,"effective":..,"rule":..,"reason":..,"commands":[..],"met":[..],"marks":[[..]],"modes":{..},"always":[..]}:
    /// `effective` is what happens now, `modes` what happens in each mode, `marks` the bytes of what is not allowed, `always` what that
    /// answer would store, or `not_always` why it stores nothing
    #[arg(long)]
    pub(crate) json: bool,
    /// JSON lines in, {"id":..,"command":..} or {"id":..,"tool":..,"args":..}, and the JSON above with the id out, or
    /// {"v":1,"id":..,"error":..}
    #[arg(long, conflicts_with_all = ["command", "tool"])]
    pub(crate) batch: bool,
    /// Judge a call of this tool instead of a command
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub(crate) tool: Option<String>,
    /// The arguments of that call, as a JSON object
    #[arg(long, value_name = "JSON", requires = "tool")]
    pub(crate) args: Option<String>,
}

/// With --backend, which needs no value here, the backend that the settings name is asked five questions, and the answers are
/// kept in its profile.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// As one JSON object: {"v":1,"kind":"namespaces|landlock|nothing","holds":..,"why":[..],"helper":..,"kernel":..,
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
    /// Every value that counts, with the place it comes from
    Show(ShowArguments),
    /// Write your own file with every key explained and none set; an existing one is left alone
    Init,
    /// Where the files are
    Path,
    /// Show the project's file and its commands, and trust them as they are: then the file may also choose backend and model.
    /// What is changed is untrusted again
    Trust(TrustArguments),
    /// What replies and `coder doctor --backend` have shown of the backend and its model, which is kept; or forget it
    Profile(ProfileArguments),
    /// The providers that are known by name, with the variables of their keys; and the servers that answer on this machine
    Backends(BackendsArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Start the servers of the settings, and show what became of each and which tools it has
    List(McpListArguments),
    /// Show what a server says of its tools, and trust exactly that: without it the model is not told of them
    Trust(McpTrustArguments),
}

#[derive(Debug, Args)]
pub(crate) struct McpListArguments {
    /// As one JSON object: {"v":1,"servers":[{"name":..,"command":[..],"origin":..,"state":"trusted|untrusted|failed","error":..?,
    /// "sandboxed":..?,"tools":[{"name":..,"signature":..,"purpose":..}]?,"notes":[..]?}]}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct McpTrustArguments {
    /// The server, by its name in the settings; all of them without it
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Trust it no more
    #[arg(long)]
    pub(crate) forget: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PersonasArguments {
    /// As one JSON object: {"v":1,"personas":[{"name":..,"place":"built_in|own|project","file":..?,"description":..,"languages":[..],
    /// "tools":[..]?,"model":..?,"tightens":[..],"error":..?}]}
    #[arg(long)]
    pub(crate) json: bool,
    /// Their names alone, one a line, as the completions of the shells ask for them
    #[arg(long, conflicts_with = "json")]
    pub(crate) names: bool,
    #[command(subcommand)]
    pub(crate) command: Option<PersonasCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PersonasCommand {
    /// One of them as it is written, in the language that is set
    Show {
        /// A name, or a file
        #[arg(value_name = "NAME|FILE")]
        name: String,
    },
    /// Write a persona with everything explained, for you to change; an existing one is left alone
    Init {
        /// What it is called
        name: String,
        /// In the folder .toolfence/personas of the project instead of your own
        #[arg(long)]
        project: bool,
    },
    /// Whether a file is a persona that can be used, and what it asks for
    Check {
        /// The file
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// As one JSON object: {"v":1,"values":[{"key":..,"value":..,"origin":{"layer":..,"name":..,"line":..}}],..}
    #[arg(long)]
    pub(crate) json: bool,
}

/// A profile says how replies are read: how the reasoning comes, and in which dialect the model writes its calls. It also has what
/// `coder doctor --backend` has found. `reasoning`, `dialects`, `grammar` and `window`, where they are set, count over it.
#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    /// Every backend and model there is a profile of, in place of the one that the settings name
    #[arg(long)]
    pub(crate) all: bool,
    /// Forget it
    #[arg(long)]
    pub(crate) forget: bool,
    /// As one JSON object: {"v":1,"profiles":[{"v":1,"base_url":..,"model":..,"dialect":{"value":..,"at":..,"how":..}?,
    /// "reasoning":{..}?,"grammar":{..}?,
    /// "reasons_beside_grammar":{..}?,"system":{..}?}]}
    #[arg(long, conflicts_with = "forget")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BackendsArguments {
    /// As one JSON object: {"v":1,"providers":[{"name":..,"base_url":..,"key_variable":..,"key_set":..,"models":[..]}],
    /// "local":[{"kind":..,"base_url":..,"models":[{"name":..,"loaded":..}],"loads":..}]}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// Trust it no more
    #[arg(long)]
    pub(crate) forget: bool,
}

fn up_to_two(text: &str) -> Result<f64, Wrong> {
    text.parse().ok().filter(|n| (0.0..=2.0).contains(n)).ok_or_else(|| Wrong(text!("expected a number from 0 to 2")))
}

fn at_least_200(text: &str) -> Result<usize, Wrong> {
    text.parse().ok().filter(|n| *n >= 200).ok_or_else(|| Wrong(text!("expected a number of at least 200")))
}

fn at_least_one(text: &str) -> Result<usize, Wrong> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| Wrong(text!("expected a whole number of at least 1")))
}

/// What is wrong with the value of an option, to be said in the language that is settled later.
#[derive(Debug)]
pub(crate) struct Wrong(pub(crate) Text);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Wrong {}

/// A whole number from 1 to this.
fn up_to<N: TryFrom<u64>>(most: u64, text: &str) -> Result<N, Wrong> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number
        .and_then(|number| number.try_into().ok())
        .ok_or_else(|| Wrong(text!("expected a whole number from 1 to {most}", most)))
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
