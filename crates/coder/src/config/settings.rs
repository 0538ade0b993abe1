//! Every setting: its type, its built-in value and its help. Reading, merging, `coder config`, the documented file and the tables
//! of `docs/settings-reference.md` follow from these structs. What a project's file may do with a setting is in `project.rs`.

#![allow(rustdoc::broken_intra_doc_links, reason = "the comments are help texts for a terminal")]

use super::kinds::{Bound, Command, Flag, Glob, Line, Number, Whole, Word, whole};
use super::rules::{Checkers, Checks, Headers, Members, Prices, Servers};
use super::value::{Many, Merging, One, Row};
use crate::choices::{
    AskMode, BackendKind, Color, CommandFormat, Conversation, EditKeys, Engine, Grammar, Instructions, Lang,
    LongThoughts, Notice, Reasoning, Recording, ResultFormat, Sandbox, Switch, Theme,
};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use toolfence_protocol::Text;
use toolfence_protocol::limits::{LIMITS, Limit};
use toolfence_protocol::text::Template;

/// Declares sections of a settings file as structs. The comment of a field is its help, in which ` - ` begins another line, and its
/// built-in value follows as TOML. Settings of a root section are at the top of the file, before its other sections.
macro_rules! sections {
    ($(
        $(#[$meta:meta])*
        $name:ident $table:literal $(sections($($section:ident: $section_type:ty),*))? {
            $($(#[doc = $help:literal])+ $field:ident: $type:ty $(= $default:literal)?;)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct $name {
            $($(#[doc = $help])+ pub(crate) $field: $type,)*
            $($(pub(crate) $section: $section_type,)*)?
        }

        impl $name {
            /// Merges a stronger layer over this one.
            pub(crate) fn merge(&mut self, over: &Self, by: &mut Merging<'_>) {
                $(self.$field.merge(concat!($table, stringify!($field)), &over.$field, by);)*
                $($(self.$section.merge(&over.$section, by);)*)?
            }

            /// Every setting in the order of the documentation.
            pub(crate) fn rows(&self) -> Vec<Row> {
                #[allow(unused_mut, reason = "only the root has sections")]
                let mut rows = vec![$({
                    static HELP: Template = Template::new(concat!($($help),+), &[]);
                    let (key, default) = (concat!($table, stringify!($field)), concat!($($default)?));
                    self.$field.row(key, default, Text::filled(&HELP, []))
                }),*];
                $($(rows.extend(self.$section.rows());)*)?
                rows
            }
        }
    )*};
}

sections! {
    /// All settings.
    Settings "" sections(
        terminal: Terminal, http: Http, commands: Commands, paths: Paths, limits: Bounds, results: Results,
        sandbox: Sandboxing, checks: Checking, undo: Undo, sessions: Sessions
    ) {
        /// Who answers: http, an OpenAI-shaped server; provider, a provider that is known by the name of the model;
        /// command, a program; replay, recordings.
        backend: One<Word<BackendKind>> = "\"http\"";
        /// Where the OpenAI-shaped server is, such as "http://127.0.0.1:8080/v1". Where it is not set, the usual
        /// addresses on this machine are looked at. Its key comes from the variable TOOLFENCE_API_KEY, or as the next
        /// two say, and from no file.
        base_url: One<Line>;
        /// The variable that holds the key of the server.
        api_key_env: One<Line>;
        /// A command line that prints the key of the server, such as "pass show models/key". It runs without a shell,
        /// once a run, and has 30 seconds. The program is one of the PATH, or is named from /.
        api_key_command: One<Line>;
        /// The model, by the name that the backend uses. Without it, the server is asked which models it has.
        model: One<Line>;
        /// The program of the backend command with its arguments: "llm -m gpt-4o-mini". It reads the conversation on
        /// its stdin and prints the answer. No shell reads the line, and the program runs outside of the sandbox, in
        /// your home folder, with your environment. {{session}}, {{turn}} and {{model}} are replaced. A path that
        /// contains a / and does not begin with one starts at the folder of this file; ~/ at the beginning of a word
        /// is your home folder.
        command: One<Line>;
        /// What that program is sent with each message: whole, the whole conversation; own, only what is new, for a
        /// program that keeps the conversation by itself. It has to begin a new one where TOOLFENCE_FIRST is 1, and
        /// gets everything then.
        command_conversation: One<Word<Conversation>> = "\"whole\"";
        /// How it is sent: text, or json, one line {{"role":..,"content":..}} a message.
        command_format: One<Word<CommandFormat>> = "\"text\"";
        /// Seconds that the program may take to begin its answer.
        command_first_byte: One<Whole<1, 86_400>> = "300";
        /// Seconds that it may be silent within its answer.
        command_between: One<Whole<1, 86_400>> = "60";
        /// Who the model is: coder, explainer, reviewer, small, another that `coder personas` lists, or a file. A
        /// relative path starts at the folder of this file.
        persona: One<Line> = "\"coder\"";
        /// Whether the model is given the files of a project that instruct agents: in each folder from the root to
        /// the one where you are, the first of AGENTS.md, CLAUDE.md, GEMINI.md and .github/copilot-instructions.md,
        /// and before them the one in the folder of this file; at most limits.agents_bytes in all.
        agents_files: One<Word<Switch>> = "\"on\"";
        /// The recorded replies of the replay backend. A relative path starts at the folder of this file.
        replies: One<Line>;
        /// The language for you and the model: persona, instructions, results, questions and errors. Where it is not
        /// set, LC_ALL, LC_MESSAGES or LANG may name Portuguese.
        lang: One<Word<Lang>> = "\"en\"";
        /// Whether persona and instructions are sent: external where they are pasted into the backend already.
        instructions: One<Word<Instructions>> = "\"inline\"";
        /// The forms in which calls are read in addition to the blocks that the instructions teach: all, none, or
        /// names with commas between them, such as "hermes,llama". With one name, it is the form that the model is
        /// known to write. shell_block and search_replace are not part of all: all,shell_block adds one.
        dialects: One<Line> = "\"all\"";
        /// Whether the backend's template opens the model's reasoning, so that a reply has only the closing tag.
        /// - unknown: a closing tag by itself means that all before it was thought; no call in it counts.
        /// - known: reasoning has both tags in the reply, or none. `coder proxy` can then pass calls on while they
        /// are written.
        /// - opened: a reply begins in reasoning.
        reasoning: One<Word<Reasoning>> = "\"unknown\"";
        /// Whether a grammar goes with each request, by which the server lets the model write prose and valid calls
        /// only.
        /// - auto: where `coder doctor --backend` saw that the server obeys one, and that it takes no reasoning from
        /// the model.
        /// - on: always, in the form that it was seen to obey, or else in that of llama.cpp.
        grammar: One<Word<Grammar>> = "\"auto\"";
        /// Tokens that the model can read. At limits.compact_percent of them the conversation is compacted: old tool
        /// output first, then old messages. Without it the server is asked, and the conversation is compacted in any
        /// case once the server refuses it.
        window: One<Whole<1, 100_000_000>>;
        /// The sampling temperature. Where it is not set, the server decides.
        temperature: One<Number<2>>;
        /// The share of the likeliest tokens that is sampled from. Where it is not set, the server decides.
        top_p: One<Number<1>>;
        /// The most tokens of a reply. Where it is not set, the server decides.
        max_tokens: One<Whole<1, 100_000_000>>;
        /// Texts before which a reply ends.
        stop: Many<Line>;
        /// What a million tokens of a model cost, in the currency you think of; --stats and /stats count with it.
        /// "qwen3-coder" = {{ input = 0.5, cached = 0.05, output = 1.5 }}: the name is that of the setting model.
        /// Without cached, tokens that the server still knew cost as much as others.
        prices: Many<Prices>;
        /// Servers of MCP, the Model Context Protocol, whose tools join the others as NAME.TOOL. Each has a section
        /// of its own:
        /// - [mcp.files]
        /// - command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/data"]
        /// - env = {{ TOKEN = "$MY_TOKEN" }}: variables that it gets; a $ takes one of yours. Without it, those of
        /// every command.
        /// - network = true: it may use the network. paths = ["/srv/data"]: it may read and write there, and else
        /// read the project.
        /// - allow = ["read_file"]: tools that run without a question, or "*". seconds = 60: the most of a call.
        /// - The model gets the tools once you trust their descriptions: `coder mcp trust`.
        mcp: Many<Servers>;
        /// Whether there are colours: auto where a terminal shows them and NO_COLOR is not set.
        color: One<Word<Color>> = "\"auto\"";
        /// How a terminal tells you that a long turn is over, or has a question: bell; osc9, a notification of the
        /// desktop where the terminal can show one; or off.
        notify: One<Word<Notice>> = "\"bell\"";
        /// Seconds without you after which a turn is a long one.
        notify_after: One<Whole<0, 86_400>> = "20";
        /// When you are asked. What is denied is denied with every setting.
        /// - risky: commands run on a private copy of the project, and you are asked about changes.
        /// - always: everything asks.
        /// - sandboxed: changes are kept too; network, git and what leaves the sandbox still ask.
        /// - never: nothing asks, and whatever is not denied runs; what leaves the sandbox is refused, unless outside
        /// is true.
        ask: One<Word<AskMode>> = "\"risky\"";
        /// Whether ask = "never" (--yes) lets a command run outside the sandbox that asks for it. Such a command can
        /// read, change and send whatever you can. With the other values of ask you are asked.
        outside: One<Flag> = "false";
    }

    /// The display and the editing of lines, which concern the user alone.
    Terminal "terminal." {
        /// The keys by which a line is edited: those of Emacs, as in bash and readline, or those of vi. With vi, Esc
        /// leaves typing, and the prompt is `:` then.
        keys: One<Word<EditKeys>> = "\"emacs\"";
        /// The colours of replies, code, diffs and calls, where there are any.
        /// - auto: those that the terminal has under their names.
        /// - dark, light: fixed ones that can be read on a dark or a light background.
        /// - mono: no colours; text is emphasised by bold type or underlining.
        theme: One<Word<Theme>> = "\"auto\"";
        /// What is left of a long reasoning once it is over.
        /// - folded: a line with its duration; its last rows are displayed while it is written, and /thoughts prints
        /// all of it.
        /// - shown: all of it.
        reasoning: One<Word<LongThoughts>> = "\"folded\"";
    }

    /// How a server is reached.
    Http "http." {
        /// More headers of every request: "X-Tenant" = "blue". Their values are never shown, and never sent to a
        /// server that was only found on this machine.
        headers: Many<Headers>;
        /// More members of the body of every request: seed = 7, or chat_template_kwargs = {{ enable_thinking = false
        /// }}. They count over the members that coder sets, except for the model, the messages and the streaming.
        body: Many<Members>;
        /// The URL of a proxy in the place of those that HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name, or "none" for no
        /// proxy. NO_PROXY and servers on this machine go without.
        proxy: One<Line>;
        /// A file with certificates of authorities that are trusted in addition to those of the system, in PEM. A
        /// relative path starts at the folder of this file.
        ca_file: One<Line>;
        /// A file with a certificate of your own, those above it, and its private key, in PEM, for servers that ask
        /// for one.
        client_certificate: One<Line>;
        /// Seconds that the first piece of a reply may take. A model that is being loaded and a long prompt need
        /// some.
        first_byte: One<Whole<1, 86_400>> = "120";
        /// Seconds that every further piece of a reply may take.
        between: One<Whole<1, 86_400>> = "60";
        /// How often a server is asked again that is busy or has a trouble of its own. Never once a reply has begun.
        retries: One<Whole<0, 100>> = "3";
    }

    /// Rules about commands.
    Commands "commands." {
        /// Commands whose changes are kept without a question. Without a sandbox, they run without a question.
        /// - A rule is the first words of a command: "cargo test", or ["echo", "a b"] if a word has blanks.
        allow: Many<Command>;
        /// Commands that never run, with any setting of ask.
        deny: Many<Command>;
        /// Where there is any, every command that begins with none of these is denied.
        only: Many<Command>;
    }

    /// Rules about paths.
    Paths "paths." {
        /// Exceptions from the built-in list of names that tools never open, such as .env and *.pem.
        /// - A glob matches at any depth below the root, ignores case, and includes everything below it.
        allow: Many<Glob>;
        /// More names that tools never open.
        deny: Many<Glob>;
        /// Where there is any, tools open no file that matches none of these. Folders can still be listed.
        only: Many<Glob>;
    }

    /// How results are written for the model.
    Results "results." {
        /// How a result is written for the model: text, a header and the output as it is, which a model reads best;
        /// json, one object. `coder exec` and `coder pipe` write it so too.
        format: One<Word<ResultFormat>> = "\"text\"";
        /// Whether the model is given the data of a result too, such as the diff of a change. The output says what it
        /// needs most, and a diff costs ten times that. `coder exec --json` and the line result of the pipe always
        /// have it.
        data: One<Word<Switch>> = "\"off\"";
        /// Whether each result carries a word that the model cannot guess, which is another one in each run: so a
        /// host knows real results from copies.
        nonce: One<Word<Switch>> = "\"off\"";
        /// Whether tokens of chat templates such as <|im_end|> are broken by a space in results, for a backend whose
        /// template would end the message there.
        break_tokens: One<Word<Switch>> = "\"off\"";
    }

    /// The sandbox of every command.
    Sandboxing "sandbox." {
        /// What the sandbox around a command leaves writable. `coder doctor` shows which sandbox is available here.
        /// - project-write: the project, but for what is blocked and for repositories.
        /// - read-only: nothing but what is private to the command.
        /// - container: as project-write, and only in the container of sandbox.container.
        /// - off: there is no sandbox, and what only the sandbox holds asks.
        mode: One<Word<Sandbox>> = "\"project-write\"";
        /// Whether every command may use the network. Where it is off, a command can ask for it, and you are asked.
        /// - on: a sandbox with an open network does not count as holding, so what only the sandbox holds asks.
        network: One<Word<Switch>> = "\"off\"";
        /// MiB of memory that a command may use with all it starts, with the sandbox or without. What uses more is
        /// ended. Where nothing is set it is half of the machine's memory, and 8192 at the most. Files in its private
        /// folders, such as /tmp, may take half as much again.
        memory: One<Whole<1, 16_777_216>> = "8192";
        /// Whose container is around every command in the place of a sandbox of our own. Where it is not there, no
        /// command runs.
        container: One<Word<Engine>> = "\"off\"";
        /// The image of that container. It needs bash and must be there: nothing is fetched.
        image: One<Line>;
    }

    /// The checks of changes.
    Checking "checks." {
        /// Command lines that look at the whole project, such as "cargo check" or "pnpm typecheck". They run inside
        /// the sandbox, once before the first change and once after the changes of each reply. New errors are
        /// reported to the model.
        /// - {{ command = "cargo check", new_errors = "roll_back" }} also rolls back the changes that the tools for
        /// files made in a reply with new errors.
        commands: Many<Checks>;
        /// Programs of your own that say whether a change breaks a file; they are asked before those that are built
        /// in.
        /// - They run without network in a sandbox that holds, where they cannot write in the project, and nowhere
        /// else.
        /// - {{ files = ["*.lua"], command = ["luac", "-p", "-"] }} gets the new text on stdin, before it is written.
        /// - Status 0 means that nothing is wrong; else it prints lines such as `stdin:3: words` or `<stdin>:3:5:
        /// words`.
        /// - {{ files = ["*.x"], command = ["xlint", "{{folder}}"], reads = "project:xlint.json" }} is asked before a
        /// change and after it, in a project: {{folder}} is the nearest folder above that holds this file. It
        /// prints `src/a.x:3:5: words`.
        checkers: Many<Checkers>;
    }

    /// What is kept of changes. A project cannot set how much, because it could only fill a disk with it.
    Undo "undo." {
        /// Whether what a turn changes is kept below $XDG_STATE_HOME/toolfence, so that `coder undo` can take it
        /// back.
        journal: One<Word<Recording>> = "\"on\"";
        /// The newest turns that are kept of a project.
        turns: One<Whole<1, 10_000>> = "100";
        /// MiB of old contents that are kept of a project; what is more goes with the oldest turns.
        megabytes: One<Whole<1, 1_048_576>> = "512";
    }

    /// What is kept of conversations.
    Sessions "sessions." {
        /// Whether conversations are written down below $XDG_STATE_HOME/toolfence, so that they can be resumed and
        /// exported.
        transcripts: One<Word<Recording>> = "\"on\"";
        /// Whether secrets are taken out of what is written down. A resumed conversation has them no more.
        redact: One<Word<Recording>> = "\"on\"";
        /// Days that a conversation is kept after something was last said in it.
        keep: One<Whole<1, 36_500>> = "365";
    }
}

/// The limits, whose table is in the library. A project can only lower them.
#[derive(Clone, Default)]
pub(crate) struct Bounds(BTreeMap<&'static str, One<Bound>>);

impl<'de> Deserialize<'de> for Bounds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Bounds, D::Error> {
        let limits = Many::<Bound>::deserialize(from)?;
        Ok(Bounds(limits.items().iter().map(|item| (item.value.0.key, One::from(item.clone()))).collect()))
    }
}

impl Bounds {
    fn merge(&mut self, over: &Bounds, by: &mut Merging<'_>) {
        for limit in LIMITS {
            if let Some(over) = over.0.get(limit.key) {
                self.0.entry(limit.key).or_default().merge(limit.setting, over, by);
            }
        }
    }

    fn rows(&self) -> Vec<Row> {
        let row = |limit: &'static Limit| {
            let row =
                self.0.get(limit.key).cloned().unwrap_or_default().row(limit.setting, limit.written, (limit.help)());
            Row { takes: whole(limit.least, limit.most), ..row }
        };
        LIMITS.iter().map(row).collect()
    }

    /// The number of a limit.
    pub(crate) fn get(&self, key: &str) -> Option<u64> {
        self.0.get(key)?.get().map(|(_, number)| *number)
    }

    /// Sets a limit from an option of the command line.
    pub(crate) fn type_in(&mut self, option: &str, limit: &'static Limit, number: u64) {
        self.0.entry(limit.key).or_default().type_in(option, Some((limit, number)));
    }
}
