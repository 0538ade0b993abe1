//! Every setting: its type, its built-in value and its help. Reading, merging, `coder config`, the documented file and the tables
//! of `docs/settings-reference.md` follow from these structs. What a project's file may do with a setting is in `project.rs`.

#![allow(rustdoc::broken_intra_doc_links, reason = "the comments are help texts for a terminal")]

use super::kinds::{Bound, Command, Flag, Glob, Line, Number, Whole, Word, whole_number};
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
        /// The backend: http, an OpenAI-compatible server; provider, a known provider that serves the model; command, a
        /// program; replay, recorded replies.
        backend: One<Word<BackendKind>> = "\"http\"";
        /// The URL of the OpenAI-compatible server, such as "http://127.0.0.1:8080/v1". By default, coder tries the usual
        /// addresses on this machine. The key comes from the variable TOOLFENCE_API_KEY or from the next two settings,
        /// never from a file.
        base_url: One<Line>;
        /// The environment variable that holds the key of the server.
        api_key_env: One<Line>;
        /// A command line that prints the key of the server, such as "pass show models/key". It runs without a shell,
        /// once per run of coder, for at most 30 seconds. The program is found through PATH or given as an absolute path.
        api_key_command: One<Line>;
        /// The name of the model at the backend. By default, the server is asked for its models.
        model: One<Line>;
        /// The program of the backend command with its arguments: "llm -m gpt-4o-mini". It reads the conversation on
        /// stdin and prints the reply. It is started without a shell, outside of the sandbox, in your home folder, with
        /// your environment. {{session}}, {{turn}} and {{model}} are replaced. A relative path with a / is relative to
        /// the folder of this file; ~/ at the beginning of a word is your home folder.
        command: One<Line>;
        /// The messages that the program receives: whole, the whole conversation; own, only the new messages, for a
        /// program that keeps the conversation itself. Such a program must begin a new conversation if TOOLFENCE_FIRST is
        /// 1; it then receives all messages.
        command_conversation: One<Word<Conversation>> = "\"whole\"";
        /// The format of the messages: text, or json, one line {{"role":..,"content":..}} per message.
        command_format: One<Word<CommandFormat>> = "\"text\"";
        /// The maximum number of seconds until the program begins its reply.
        command_first_byte: One<Whole<1, 86_400>> = "300";
        /// The maximum number of seconds without output during the reply.
        command_between: One<Whole<1, 86_400>> = "60";
        /// The persona of the model: coder, explainer, reviewer, small, another one that `coder personas` lists, or a
        /// file. A relative path is relative to the folder of this file.
        persona: One<Line> = "\"coder\"";
        /// Whether the model receives the files in which a project instructs agents: in each folder from the root to the
        /// current one, the first of AGENTS.md, CLAUDE.md, GEMINI.md and .github/copilot-instructions.md, and before them
        /// the one in the folder of this file; at most limits.agents_bytes in all.
        agents_files: One<Word<Switch>> = "\"on\"";
        /// The recorded replies of the backend replay. A relative path is relative to the folder of this file.
        replies: One<Line>;
        /// The language for you and the model: persona, instructions, results, questions and errors. By default, LC_ALL,
        /// LC_MESSAGES or LANG selects it.
        lang: One<Word<Lang>> = "\"en\"";
        /// Whether coder sends the persona and the instructions: external if you have pasted them into the backend.
        instructions: One<Word<Instructions>> = "\"inline\"";
        /// The call formats that are read in addition to the blocks of the instructions: all, none, or names separated by
        /// commas, such as "hermes,llama". A single name means that the model writes this format. all does not include
        /// shell_block and search_replace: all,shell_block adds one.
        dialects: One<Line> = "\"all\"";
        /// Whether the backend's chat template opens the model's reasoning, so that a reply has only the closing tag.
        /// - unknown: text before a lone closing tag is reasoning, and calls in it do not count.
        /// - known: a reply has both tags or none. `coder proxy` can then pass on calls while they are written.
        /// - opened: every reply begins in reasoning.
        reasoning: One<Word<Reasoning>> = "\"unknown\"";
        /// Whether requests carry a grammar that restricts the model to prose and valid calls.
        /// - auto: if `coder doctor --backend` found that the server obeys it and that it does not suppress the
        /// reasoning.
        /// - on: always, in the form that the server was found to obey, or else in that of llama.cpp.
        grammar: One<Word<Grammar>> = "\"auto\"";
        /// The context window in tokens. When the conversation reaches limits.compact_percent of it, it is compacted: old
        /// tool output first, then old messages. By default, the server is asked. The conversation is also compacted if
        /// the server refuses it as too long.
        window: One<Whole<1, 100_000_000>>;
        /// The sampling temperature. By default, the server decides.
        temperature: One<Number<2>>;
        /// The probability mass for nucleus sampling. By default, the server decides.
        top_p: One<Number<1>>;
        /// The maximum number of tokens of a reply. By default, the server decides.
        max_tokens: One<Whole<1, 100_000_000>>;
        /// Stop sequences. A reply ends before the first of these texts.
        stop: Many<Line>;
        /// The price of a million tokens of a model, in any currency, for --stats and /stats. "qwen3-coder" = {{ input =
        /// 0.5, cached = 0.05, output = 1.5 }}: the name is the value of the setting model. Without cached, cached tokens
        /// cost as much as others.
        prices: Many<Prices>;
        /// MCP servers (Model Context Protocol). Their tools have the names NAME.TOOL. Each server has a section:
        /// - [mcp.files]
        /// - command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/data"]
        /// - env = {{ TOKEN = "$MY_TOKEN" }}: variables for the server; $NAME is a variable of yours. By default, the
        /// server has the variables of any command.
        /// - network = true: it may use the network. paths = ["/srv/data"]: it may read and write there; elsewhere it can
        /// only read the project.
        /// - allow = ["read_file"]: tools that run without a question, or "*". seconds = 60: the maximum duration of a
        /// call.
        /// - The model gets the tools once you trust their descriptions: `coder mcp trust`.
        mcp: Many<Servers>;
        /// Whether output has colours. auto: if the terminal supports them and NO_COLOR is not set.
        color: One<Word<Color>> = "\"auto\"";
        /// The notification at the end of a long turn or when it has a question: bell, the terminal bell; osc9, a desktop
        /// notification, if the terminal supports it; or off.
        notify: One<Word<Notice>> = "\"bell\"";
        /// Seconds without input from you after which a turn counts as long.
        notify_after: One<Whole<0, 86_400>> = "20";
        /// When coder asks you. Denied commands and paths are denied in every mode.
        /// - risky: commands run on a private copy of the project, and you are asked about their changes.
        /// - always: you are asked about every call.
        /// - sandboxed: changes are kept without a question; network, git and commands outside the sandbox still need
        /// approval.
        /// - never: no questions, and everything that is not denied runs; commands outside the sandbox are refused unless
        /// outside is true.
        ask: One<Word<AskMode>> = "\"risky\"";
        /// Whether ask = "never" (--yes) lets a command run outside the sandbox if it requests this. Such a command can
        /// read, change and send everything that you can. In the other modes you are asked.
        outside: One<Flag> = "false";
    }

    /// The display and the editing of lines, which concern the user alone.
    Terminal "terminal." {
        /// The key bindings of the line editor: those of Emacs, as in bash and readline, or those of vi. With vi, Esc
        /// switches to normal mode, and the prompt becomes `:`.
        keys: One<Word<EditKeys>> = "\"emacs\"";
        /// The colours of replies, code, diffs and calls.
        /// - auto: the named colours of the terminal.
        /// - dark, light: fixed colours for a dark or a light background.
        /// - mono: no colours; emphasis is bold or underlined.
        theme: One<Word<Theme>> = "\"auto\"";
        /// How long reasoning is displayed once it has ended.
        /// - folded: as one line with its duration; its last rows are displayed while it is written, and /thoughts prints
        /// all of it.
        /// - shown: in full.
        reasoning: One<Word<LongThoughts>> = "\"folded\"";
    }

    /// How a server is reached.
    Http "http." {
        /// Additional headers of every request: "X-Tenant" = "blue". Their values are never displayed, and never sent to
        /// a server that was only found on this machine.
        headers: Many<Headers>;
        /// Additional members of the body of every request: seed = 7, or chat_template_kwargs = {{ enable_thinking =
        /// false }}. They replace the members that coder sets, except for the model, the messages and streaming.
        body: Many<Members>;
        /// The URL of a proxy, which replaces those of HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or "none" for no proxy.
        /// Hosts in NO_PROXY and servers on this machine are reached directly.
        proxy: One<Line>;
        /// A PEM file with certificates of authorities that are trusted in addition to those of the system. A relative
        /// path is relative to the folder of this file.
        ca_file: One<Line>;
        /// A PEM file with your client certificate, its intermediate certificates and its private key, for servers that
        /// require one.
        client_certificate: One<Line>;
        /// The maximum number of seconds until the first piece of a reply. Loading a model and reading a long prompt take
        /// time.
        first_byte: One<Whole<1, 86_400>> = "120";
        /// The maximum number of seconds between two pieces of a reply.
        between: One<Whole<1, 86_400>> = "60";
        /// How often a request is repeated if the server is busy or reports an internal error. A reply that has begun is
        /// never requested again.
        retries: One<Whole<0, 100>> = "3";
    }

    /// Rules about commands.
    Commands "commands." {
        /// Commands whose changes are kept without a question. Without a sandbox, they run without a question.
        /// - A rule is the first words of a command: "cargo test", or ["echo", "a b"] if a word has blanks.
        allow: Many<Command>;
        /// Commands that never run, in any mode.
        deny: Many<Command>;
        /// If this list is not empty, every command that begins with none of these is denied.
        only: Many<Command>;
    }

    /// Rules about paths.
    Paths "paths." {
        /// Exceptions from the built-in list of names that tools never open, such as .env and *.pem.
        /// - A glob matches at any depth below the root, ignores case, and includes everything below it.
        allow: Many<Glob>;
        /// Additional names that tools never open.
        deny: Many<Glob>;
        /// If this list is not empty, tools open only files that match one of these. Folders can still be listed.
        only: Many<Glob>;
    }

    /// How results are written for the model.
    Results "results." {
        /// The format of results for the model: text, a header and the output, which models read best; json, one object.
        /// `coder exec` and `coder pipe` use it too.
        format: One<Word<ResultFormat>> = "\"text\"";
        /// Whether the model also receives the data of a result, such as the diff of a change. The output has what the
        /// model needs most, and a diff costs ten times as much. `coder exec --json` and the result lines of `coder pipe`
        /// always have the data.
        data: One<Word<Switch>> = "\"off\"";
        /// Whether each result carries a random word that differs in each run. The model cannot guess it, so a host can
        /// distinguish real results from forged ones.
        nonce: One<Word<Switch>> = "\"off\"";
        /// Whether a space is inserted into chat template tokens such as <|im_end|> in results, for a backend whose
        /// template would end the message there.
        break_tokens: One<Word<Switch>> = "\"off\"";
    }

    /// The sandbox of every command.
    Sandboxing "sandbox." {
        /// What commands in the sandbox can write. `coder doctor` shows which sandbox is available here.
        /// - project-write: the project, except for blocked files and repositories.
        /// - read-only: only the private folders of the command.
        /// - container: as project-write, and only in the container of sandbox.container.
        /// - off: no sandbox; commands need approval.
        mode: One<Word<Sandbox>> = "\"project-write\"";
        /// Whether every command may use the network. With off, a command can request it, and you are asked.
        /// - on: a sandbox with an open network cannot contain secrets, so commands need approval.
        network: One<Word<Switch>> = "\"off\"";
        /// The most memory in MiB that a command and its processes may use, with or without a sandbox. A command that
        /// exceeds it is ended. By default, it is half of the memory of the machine, at most 8192. Files in the private
        /// folders of the command, such as /tmp, may take half as much again.
        memory: One<Whole<1, 16_777_216>> = "8192";
        /// The container engine that runs every command instead of the built-in sandbox. If it is not available, no
        /// command runs.
        container: One<Word<Engine>> = "\"off\"";
        /// The image of that container. It needs bash and must be on this machine: nothing is downloaded.
        image: One<Line>;
    }

    /// The checks of changes.
    Checking "checks." {
        /// Command lines that check the whole project, such as "cargo check" or "pnpm typecheck". They run in the
        /// sandbox, once before the first change and once after the changes of each reply. New errors are reported to the
        /// model.
        /// - {{ command = "cargo check", new_errors = "roll_back" }} also rolls back the changes that the file tools made
        /// in a reply with new errors.
        commands: Many<Checks>;
        /// Your own programs that check whether a change breaks a file. They run before the built-in checkers.
        /// - They run only if a sandbox is available, without network, and cannot write in the project.
        /// - {{ files = ["*.lua"], command = ["luac", "-p", "-"] }} receives the new text on stdin, before it is written.
        /// - Status 0 means no errors. Otherwise the program prints lines such as `stdin:3: message` or `<stdin>:3:5:
        /// message`.
        /// - {{ files = ["*.x"], command = ["xlint", "{{folder}}"], reads = "project:xlint.json" }} runs before and after
        /// a change, in a project: {{folder}} is the nearest parent folder that has this file. It prints `src/a.x:3:5:
        /// message`.
        checkers: Many<Checkers>;
    }

    /// What is kept of changes. A project cannot set how much, because it could only fill a disk with it.
    Undo "undo." {
        /// Whether the changes of each turn are recorded below $XDG_STATE_HOME/toolfence, so that `coder undo` can undo
        /// them.
        journal: One<Word<Recording>> = "\"on\"";
        /// The number of recorded turns per project. The oldest ones are dropped.
        turns: One<Whole<1, 10_000>> = "100";
        /// The maximum size in MiB of the recorded old contents per project. The oldest turns are dropped.
        megabytes: One<Whole<1, 1_048_576>> = "512";
    }

    /// What is kept of conversations.
    Sessions "sessions." {
        /// Whether conversations are recorded below $XDG_STATE_HOME/toolfence, so that they can be resumed and exported.
        transcripts: One<Word<Recording>> = "\"on\"";
        /// Whether secrets are removed from recorded conversations. A resumed conversation does not have them.
        redact: One<Word<Recording>> = "\"on\"";
        /// The number of days after its last message for which a conversation is kept.
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
            Row { takes: whole_number(limit.least, limit.most), ..row }
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
