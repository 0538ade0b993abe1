//! `coder`: the interactive conversation.

use crate::args::Options;
use crate::by_hand;
use crate::choices::{AskMode, EditKeys};
use crate::clipboard;
use crate::commands::sessions::{self, OpenedConversation, Start};
use crate::commands::{export, keep, mcp, policy, stats, stdin_lines, undo};
use crate::config::{Layers, trust};
use crate::confirm::{self, AtTheTerminal};
use crate::edit;
use crate::failure::{Failure, INTERRUPTED, status_of};
use crate::images;
use crate::input::modes::Quiet;
use crate::input::{Completions, LineEditor, Typed, Typing};
use crate::mentions::Mentions;
use crate::model::Model;
use crate::outcome;
use crate::personas::Folders;
use crate::preview::one_line;
use crate::project::Project;
use crate::prose::{Prose, Voice};
use crate::rules::{self, Rules, with_persona};
use crate::runtime::{TWICE, Turns};
use crate::servers;
use crate::shown::{Words, language};
use crate::slash::{self, Act, Argument, RESTART, Slash, UserCommand};
use crate::terminal::{Style, Terminal, print_note};
use crate::view::{View, describe_compaction};
use clap::ValueEnum;
use std::io::{ErrorKind, IsTerminal, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use toolfence_agent::agent::{Agent, Canceller};
use toolfence_agent::backend::http::models;
use toolfence_policy::{Facts, Policy};
use toolfence_protocol::text;
use toolfence_protocol::{Text, ToolResult, close_names};
use toolfence_tools::CommandRunner;
use toolfence_workspace::overflow_file;

/// The prompts of the line editor, in normal and in plan mode.
const MARK: &str = "> ";
const PLAN_MARK: &str = "plan> ";

/// The name of the temporary file for editing a message.
const MESSAGE: &str = "message.md";

/// Runs a conversation until the input ends. `first` is the message from the command line.
pub(crate) fn run(options: &Options, start: &Start, first: Option<&str>) -> Result<ExitCode, Failure> {
    let asks = stdin().is_terminal() && stdout().is_terminal();
    let (project, rules) = rules::open_with_servers(options, asks)?;
    let model = Model::open(&rules.config, &rules.persona, &project)?;
    let OpenedConversation { agent, resumed } = sessions::begin(&project, &rules, &model, start)?;
    let turns = Turns::new()?;
    let mut out = Terminal::stdout();
    let root = project.workspace.root_path().display().to_string();
    out.styled_line(Style::Dim, &text!("{persona} in {root}; /help for help", persona = &rules.persona.name, root))?;
    if let Some(introduction) = model.introduction() {
        out.styled_line(Style::Dim, &introduction)?;
    }
    if let Some(servers) = project.list_servers() {
        out.styled_line(Style::Dim, &servers)?;
    }
    out.styled_line(Style::Dim, &describe_mode(agent.session().policy().settings().ask, &project.commands))?;
    if let Some(why) = project.commands.no_private_copies() {
        out.styled_line(Style::Dim, &project.commands.describe_fallback(why.clone()))?;
    }
    show(&resumed, &agent, &mut out)?;
    let (own, notes) = slash::find(&project.places);
    notes.iter().for_each(print_note);
    let known = model.server.iter().map(|server| server.model().to_owned()).collect();
    let models = Arc::new(Mutex::new(known));
    let input = Input::open(&project, &rules, &model, &own, Arc::clone(&models))?;
    let options = options.clone();
    let mut conversation = Conversation {
        options,
        project,
        rules,
        model,
        agent,
        turns,
        out,
        own,
        draft: None,
        last: None,
        thoughts: None,
        plans: false,
        models,
    };
    // Until here, Ctrl-C ends the program. From here on, it stops only the current work of the conversation.
    conversation.turns.converse();
    if let Some(first) = first {
        conversation.out.styled_line(Style::Dim, &format!("{MARK}{first}"))?;
        conversation.send(first)?;
    }
    conversation.run(input)
}

/// Describes the approval mode for the first lines of a conversation.
fn describe_mode(mode: toolfence_policy::AskMode, commands: &CommandRunner) -> Text {
    use toolfence_policy::AskMode;
    match mode {
        AskMode::Always => text!("asks before everything that is not denied"),
        AskMode::Sandboxed => {
            text!("asks before commands that are not known to be harmless and run outside of the sandbox")
        }
        AskMode::Never => text!("asks nothing: everything that is not denied runs"),
        _ if commands.no_private_copies().is_none() => text!("asks before it keeps changes"),
        _ if commands.is_project_read_only() => text!("asks before a command may change files"),
        _ => text!("asks before commands that are not known to be harmless"),
    }
}

/// The source of messages.
enum Input {
    /// The line editor of a terminal.
    Edited(Box<LineEditor>),
    /// Lines of stdin, each of which is a message.
    Lines(Box<dyn Iterator<Item = Result<String, Failure>>>),
}

impl Input {
    fn open(
        project: &Project,
        rules: &Rules,
        model: &Model,
        own: &[UserCommand],
        models: Arc<Mutex<Vec<String>>>,
    ) -> Result<Input, Failure> {
        let (personas, state) = (Folders::new(&project.places), project.places.state.as_deref());
        let completions = Completions {
            commands: slash::all(own),
            personas: Some(personas),
            models,
            servers: servers::rules(&rules.config).into_iter().map(|(rule, _)| rule.name).collect(),
            workspace: project.workspace.clone(),
        };
        let vi = rules.config.terminal.keys.value() == EditKeys::Vi;
        let looks = Typing { marks: &[MARK, PLAN_MARK], vi };
        let editor = LineEditor::open(completions, looks, state, rules.records, rules.redactor(Some(model)));
        Ok(editor.map_or_else(|| Input::Lines(Box::new(stdin_lines())), |editor| Input::Edited(Box::new(editor))))
    }

    /// Reads the next message. Returns `None` at the end of the input.
    fn next(
        &mut self,
        mark: &'static str,
        context: &str,
        turns: &Turns,
        out: &mut Terminal,
    ) -> Result<Option<Typed>, Failure> {
        if let Input::Edited(editor) = self {
            match turns.in_editor(|| editor.read(mark, context)) {
                Ok(typed) => return Ok(Some(typed)),
                Err(why) => {
                    print_note(&text!(
                        "the line editor does not work on this terminal ({why}); plain lines are read instead",
                        why
                    ));
                    // The editor would fail at each message, so it is not tried again.
                    *self = Input::Lines(Box::new(stdin_lines()));
                }
            }
        }
        let Input::Lines(lines) = self else { return Ok(None) };
        out.write(mark)?;
        let line = turns.at_prompt(mark, || lines.next().transpose());
        if let Ok(None) = &line {
            // At the end of the input, the cursor is still after the mark of the prompt.
            out.write("\n")?;
        }
        Ok(line?.map(Typed::Line))
    }
}

/// Returns the used part of the context window for the prompt, or an empty string if the window is unknown.
fn context_use(agent: &Agent) -> String {
    let percent = agent.session().window_use().percent();
    percent.map_or_else(String::new, |percent| text!("context {percent} %", percent).words().into_owned())
}

/// Whether the conversation continues after a message.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Continue,
    End,
}

struct Conversation {
    /// The command line, updated by /mode, /model and /persona.
    options: Options,
    project: Project,
    rules: Rules,
    model: Model,
    agent: Agent,
    turns: Turns,
    out: Terminal,
    own: Vec<UserCommand>,
    /// The text from the user's editor. The line editor starts with it; without a line editor it is sent at once.
    draft: Option<String>,
    /// The last result of a call.
    last: Option<ToolResult>,
    /// The model's reasoning in the last turn that had separate reasoning.
    thoughts: Option<String>,
    /// Whether plan mode is on: only reading tools run.
    plans: bool,
    /// The model names that Tab completes.
    models: Arc<Mutex<Vec<String>>>,
}

impl Conversation {
    fn run(mut self, mut input: Input) -> Result<ExitCode, Failure> {
        let mut interrupted: Option<Instant> = None;
        loop {
            let mark = if self.plans { PLAN_MARK } else { MARK };
            let context = context_use(&self.agent);
            let Some(typed) = input.next(mark, &context, &self.turns, &mut self.out)? else {
                return Ok(ExitCode::SUCCESS);
            };
            // Any other input in between clears the time, so only two Ctrl-C in a row end the conversation.
            let again = interrupted.take().is_some_and(|before| before.elapsed() < TWICE);
            let line = match typed {
                Typed::Line(line) => line,
                Typed::Message(text) => {
                    self.send(text.trim())?;
                    continue;
                }
                Typed::InEditor(text) => {
                    // If the editor fails, the typed line is kept.
                    let text = self.in_editor(&text)?.unwrap_or(text);
                    if let Input::Edited(editor) = &mut input {
                        editor.insert_text(&text);
                    }
                    continue;
                }
                Typed::Interrupted { empty: false } => continue,
                Typed::Interrupted { empty: true } if again => return Ok(INTERRUPTED.into()),
                Typed::Interrupted { empty: true } => {
                    interrupted = Some(Instant::now());
                    self.out.styled_line(
                        Style::Dim,
                        &text!("Ctrl-C again, /quit or Ctrl-D ends the conversation; `coder --continue` continues it."),
                    )?;
                    continue;
                }
                Typed::End => return Ok(ExitCode::SUCCESS),
            };
            if self.handle_line(line.trim())? == Next::End {
                return Ok(ExitCode::SUCCESS);
            }
            match (self.draft.take(), &mut input) {
                (None, _) => {}
                // The text returns to the line editor, so that the user can review and correct it before it is sent.
                (Some(text), Input::Edited(editor)) => editor.insert_text(&text),
                (Some(text), Input::Lines(_)) => self.send(&text)?,
            }
        }
    }

    /// Runs a line of input: a slash command, a shell command after `!`, or a message.
    fn handle_line(&mut self, line: &str) -> Result<Next, Failure> {
        // Names of commands contain no slash, so a word with another slash is a path.
        let is_path = |command: &&str| command.split_whitespace().next().is_some_and(|name| name.contains('/'));
        let Some(command) = line.strip_prefix('/').filter(|command| !is_path(command)) else {
            match line.strip_prefix('!').map(str::trim) {
                Some("") => self.out.line(&text!("Missing arguments: {usage}", usage = "!COMMAND"))?,
                // `!` commands bypass the policy, so they must come from a terminal: piped input is not trusted.
                Some(command) if std::io::stdin().is_terminal() => self.run_by_hand(command)?,
                Some(_) => {
                    self.out.line(&text!("!COMMAND works only if the input is a terminal."))?;
                }
                None if line.is_empty() => {}
                None => self.send(line)?,
            }
            return Ok(Next::Continue);
        };
        let (name, words) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        // `/exit` is an alias that /help and Tab leave out.
        let name = if name == "exit" { "quit" } else { name };
        let all = slash::all(&self.own);
        let Some(known) = all.iter().find(|known| known.name == name) else {
            let close = close_names(name, all.iter().map(|known| known.name.as_str()));
            let close: Vec<String> = close.iter().map(|name| format!("/{name}")).collect();
            let mut error = text!("There is no command {command}; /help lists them.", command = format!("/{name}"));
            if !close.is_empty() {
                error.push(text!(" Did you mean {names}?", names = close.join(", ")));
            }
            self.out.line(&error)?;
            return Ok(Next::Continue);
        };
        if known.act == Act::Quit {
            return Ok(Next::End);
        }
        // A failed command is reported and does not end the conversation.
        match self.run_command(known, words.trim()) {
            Ok(()) => {}
            // A signal asked the whole program to end, so this failure must end the conversation.
            Err(failure) if self.turns.is_ending() => return Err(failure),
            Err(failure) => self.out.styled_line(Style::Bad, failure.message())?,
        }
        Ok(Next::Continue)
    }

    fn run_command(&mut self, command: &Slash, words: &str) -> Result<(), Failure> {
        if command.argument == Argument::None && !words.is_empty() {
            return self.out.line(&text!("{command} takes no arguments.", command = format!("/{}", command.name)));
        }
        let Conversation { project, rules, model, agent, out, .. } = self;
        match command.act {
            Act::Help => self.help(),
            Act::Tools => {
                let mut signatures =
                    agent.session().catalog().specs().iter().map(toolfence_protocol::ToolSpec::signature);
                signatures.try_for_each(|signature| out.hanging(&signature))
            }
            Act::Mcp => self.mcp(words),
            Act::Allowed => match agent.session().policy().remembered() {
                [] => {
                    out.line(&text!("nothing is allowed in addition to the settings; `coder config show` prints those"))
                }
                rules => rules.iter().try_for_each(|rule| out.line(&rule.to_string())),
            },
            Act::Mode => self.change_mode(words),
            Act::Plan => self.toggle_plan_mode(),
            Act::Policy if words.is_empty() => out.line(&text!("Missing arguments: {usage}", usage = command.usage())),
            Act::Policy => policy::typed(agent.session().policy(), &project.commands, words, out),
            Act::Diff | Act::Undo | Act::Redo => {
                let note = undo::typed(project, &command.name, words, out)?;
                // The files differ from what the model last saw.
                note.into_iter().for_each(|note| agent.note(&note));
                Ok(())
            }
            Act::Keep => keep::typed(project, words, out),
            Act::Last => self.show_last(),
            Act::Thoughts => self.show_thoughts(),
            Act::Copy => self.copy_answer(),
            Act::Editor => {
                self.draft = self.in_editor(words)?;
                Ok(())
            }
            Act::Retry => match agent.take_back() {
                Some(message) => {
                    let first = message.lines().next().unwrap_or_default();
                    out.styled_line(Style::Dim, &text!("again: {text}", text = one_line(first)))?;
                    self.run_turn(&message)
                }
                None => out.line(&text!("there is no message to send again")),
            },
            Act::Compact => match agent.compact() {
                Some(done) => out.styled_line(Style::Dim, &describe_compaction(&done)),
                None => out.line(&text!("this conversation cannot be shortened")),
            },
            Act::Clear => {
                let line = clear(agent);
                out.styled_line(Style::Dim, &line)
            }
            Act::Stats => {
                stats::show(rules, model, agent, out)?;
                let used = agent.session().window_use();
                out.line(&match used.window {
                    Some(window) => text!("Context: about {tokens} of {window} tokens.", tokens = used.tokens, window),
                    None => text!("Context: about {tokens} tokens.", tokens = used.tokens),
                })
            }
            Act::Export if words.is_empty() => Err(Failure::wrong_use(text!(
                "name a new file that ends in .md, .html, .json or .jsonl; the last two are JSON lines"
            ))),
            Act::Export => self.export(words),
            Act::Sessions => sessions::typed_list(project, out),
            Act::Resume => self.resume(words),
            Act::Fork => self.fork(words),
            Act::Model => self.list_or_change_model(words),
            Act::Persona if words.is_empty() => out.line(&text!("Missing arguments: {usage}", usage = command.usage())),
            Act::Persona => self.change_persona(words),
            Act::Init => self.run_turn(
                &text!(
                    "Look at this project and write a first AGENTS.md in its root, for agents that work on it. Read \
                     the README, the build and test configuration, and as much of the source as you need. If there is \
                     an AGENTS.md or CLAUDE.md already, improve it instead of starting over. Keep it under 60 lines: \
                     what the project is, where things are, the exact commands to build, to run all tests and a single \
                     test, and the conventions of the code. Leave out general knowledge."
                )
                .into_string(language()),
            ),
            Act::Quit => Ok(()), // the caller has ended the conversation already
            Act::Own(number) => self.send_custom_command(number, words),
        }
    }

    /// Writes the transcript of this conversation into a new file.
    fn export(&mut self, file: &str) -> Result<(), Failure> {
        let path = self.agent.recorded().map(|transcript| transcript.path().to_owned()).filter(|path| path.exists());
        let path = path.ok_or_else(|| Failure::wrong_use(text!("this conversation has no transcript yet")))?;
        export::typed(&path, file)?;
        self.out.styled_line(Style::Dim, &text!("the conversation is in {file}", file))
    }

    /// Continues another conversation. Without a name, the user chooses one.
    fn resume(&mut self, name: &str) -> Result<(), Failure> {
        let start = match name {
            "" => Start::Chosen { fork: false },
            name => Start::Named { name: name.to_owned(), fork: None },
        };
        let begun = sessions::begin(&self.project, &self.rules, &self.model, &start)?;
        self.switch_to(begun)
    }

    /// Continues in a copy of this conversation, or of its part up to a message.
    fn fork(&mut self, message: &str) -> Result<(), Failure> {
        let begun = sessions::fork(&self.project, &self.rules, &self.model, &mut self.agent, message)?;
        self.switch_to(begun)
    }

    fn switch_to(&mut self, begun: OpenedConversation) -> Result<(), Failure> {
        self.agent = begun.agent;
        // Plan mode carries over to the other conversation.
        if self.plans {
            self.agent.note(&plan_mode_note().into_string(language()));
        }
        show(&begun.resumed, &self.agent, &mut self.out)
    }

    fn change_persona(&mut self, name: &str) -> Result<(), Failure> {
        let Conversation { options, project, rules, model, agent, out, .. } = self;
        let line = sessions::change_persona(options, name, project, rules, model, agent)?;
        out.styled_line(Style::Dim, &line)?;
        options.persona = Some(name.to_owned());
        if self.plans {
            // Plan mode belongs to the conversation, not to the persona.
            self.set_policy(|policy| policy.read_only(true));
            self.agent.note(&plan_mode_note().into_string(language()));
        }
        Ok(())
    }

    /// Sends the message of a command that the user or the project has defined.
    fn send_custom_command(&mut self, number: usize, words: &str) -> Result<(), Failure> {
        let own = self.own[number].clone();
        // The file is read again, because it may have changed, or have become a link, since it was found.
        let text = own.text()?;
        if own.is_of_project() && !self.is_trusted(own.file(), &text)? {
            return self.out.styled_line(Style::Dim, &text!("It is not trusted, and nothing was sent."));
        }
        // From now on, /help displays the command's heading, which it hides while the text is not trusted.
        self.own[number].trust();
        let message = slash::message(&text, words);
        self.out.styled_line(Style::Dim, &message)?;
        self.send(&message)
    }

    /// Returns whether the user trusts this file of the project. If exactly this text is not trusted yet, displays it
    /// and asks.
    fn is_trusted(&mut self, file: &Path, text: &str) -> Result<bool, Failure> {
        let places = &self.project.places;
        if trust::is_trusted(places, file, text) {
            return Ok(true);
        }
        let files = [(file.to_owned(), text.to_owned())];
        let question = confirm::trust_of(
            &files,
            |file| {
                text!(
                    "{file} belongs to the project, and you have not trusted its present text. It sends this as your \
                     message:",
                    file = file.to_owned()
                )
            },
            "",
        );
        if !self.ask_for_trust(&question)? {
            return Ok(false);
        }
        trust::store(places, &files)?;
        Ok(true)
    }

    /// Asks a question of trust and returns whether the answer is yes.
    fn ask_for_trust(&self, question: &str) -> Result<bool, Failure> {
        let canceller = Canceller::default();
        match self.turns.run(canceller.clone(), confirm::put_until(question, &canceller))? {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            Err(_) => Err(Failure::wrong_use(text!(
                "there is no terminal to ask on; read the file, then run `coder config trust --yes`"
            ))),
            Ok(answer) => Ok(confirm::is_yes(&answer, language())),
        }
    }

    /// Handles `/mcp`: lists the MCP servers, describes one, or restarts one.
    fn mcp(&mut self, words: &str) -> Result<(), Failure> {
        match words.split_whitespace().collect::<Vec<_>>()[..] {
            [] => mcp::overview(&self.project, &mut self.out),
            [RESTART, name] => self.restart_server(name),
            [name] if name != RESTART => mcp::print_details(&self.project, name, &mut self.out),
            _ => self.out.line(&text!("/mcp takes no argument, the name of a server, or `restart` and a name.")),
        }
    }

    /// Restarts a server with its present settings. Asks the user about a server that is not trusted.
    fn restart_server(&mut self, name: &str) -> Result<(), Failure> {
        let places = self.project.places.clone();
        let (layers, _) = with_persona(Layers::read(&self.options)?)?;
        let config = layers.merged();
        let Some(wanted) = servers::prepare(&config, &places, Some(name)).pop() else {
            return Err(Failure::wrong_use(super::mcp::no_such_server(name)));
        };
        if !servers::has_secrets_of(wanted.rule(), &self.rules.config) {
            return Err(Failure::wrong_use(text!(
                "The settings give {name} other variables than at the start of this conversation, and their values \
                 would not be redacted in its transcript. Start `coder` again.",
                name
            )));
        }
        self.out.styled_line(Style::Dim, &text!("Starting {name} ...", name))?;
        let before = self.project.servers.iter().find(|server| server.rule.name == name).cloned();
        let (commands, canceller) = (self.project.commands.clone(), Canceller::default());
        let starting = async {
            // Stopping and starting block. If the user cancels, the thread continues detached and ends by itself.
            let started = tokio::task::spawn_blocking(move || {
                before.iter().filter_map(|server| server.started.as_ref().ok()).for_each(|server| server.stop());
                wanted.start(commands)
            });
            tokio::select! {
                started = started => started.ok(),
                () = canceller.cancelled() => None,
            }
        };
        let Some(mut server) = self.turns.run(canceller.clone(), starting)? else {
            return self.out.styled_line(
                Style::Bad,
                &text!("The start of {name} was cancelled. `/mcp restart {name}` tries again.", name),
            );
        };
        if let Ok(started) = &server.started {
            if !started.is_sandboxed() {
                print_note(&text!("The MCP server {name} runs without a sandbox.", name));
            }
            started.notes().iter().for_each(print_note);
        }
        // The server may describe other tools now than those that the user trusted.
        server.offered = server.is_trusted(&places);
        if let Some(descriptions) = server.trusted_text().filter(|_| !server.offered && stdin().is_terminal()) {
            let files = [descriptions];
            let allows = confirm::allowing(&server.allows());
            server.offered =
                self.ask_for_trust(&confirm::trust_of(&files, |file| format!("{file}:").into(), &allows))?;
            if server.offered {
                trust::store(&places, &files)?;
            }
        }
        let Conversation { project, rules, model, agent, out, .. } = self;
        sessions::change_server(server, project, rules, model, agent)?;
        mcp::print_state_of(project, name, out)
    }

    /// Sends a message with the files and images that it mentions.
    fn send(&mut self, message: &str) -> Result<(), Failure> {
        let found = Mentions::collect(message, &self.project.workspace, self.agent.session().room());
        found.notes.iter().try_for_each(|note| self.out.styled_line(Style::Bad, note))?;
        if let Err(failure) = images::attach(&self.project, &self.rules, &mut self.agent, &found.images) {
            // The user mentioned these images, so the message is not sent without them.
            return self.out.styled_line(Style::Bad, failure.message());
        }
        if let Some(line) = found.summary() {
            self.out.styled_line(Style::Dim, &line)?;
        }
        self.run_turn(&found.append_to(message))
    }

    /// Runs a shell command as the user, without policy and sandbox. The model gets the output with the next message.
    fn run_by_hand(&mut self, line: &str) -> Result<(), Failure> {
        let canceller = Canceller::default();
        let running = by_hand::run(line, &canceller, &mut self.out);
        let ended = match self.turns.run(canceller.clone(), running)? {
            Ok(ended) => ended?,
            Err(error) => {
                return self
                    .out
                    .styled_line(Style::Bad, &text!("cannot run bash: {error}", error = Text::from(&error)));
            }
        };
        // The terminal has displayed the real output; only the note for the model is redacted.
        let redactor = self.rules.redactor(Some(&self.model));
        let (line, printed) = (redactor.text(line), ended.printed(&redactor));
        // A note instead of a message: the text of a command is not an instruction of the user.
        self.agent.note(&ended.note(&line, &printed));
        self.out.styled_line(
            Style::Dim,
            &text!("{ended}; the model gets this with your next message", ended = ended.ending()),
        )
    }

    /// Lists the models of the server, or switches to another one.
    fn list_or_change_model(&mut self, name: &str) -> Result<(), Failure> {
        let Conversation { options, project, rules, model, agent, turns, out, .. } = self;
        if name.is_empty() {
            let listed = match &model.server {
                Some(server) => {
                    let canceller = Canceller::default();
                    let listed = async {
                        tokio::select! {
                            listed = models(server.options()) => listed.unwrap_or_default(),
                            () = canceller.cancelled() => Vec::new(),
                        }
                    };
                    turns.run(canceller.clone(), listed)?
                }
                None => Vec::new(),
            };
            let names: Vec<String> = listed.into_iter().map(|model| model.name).collect();
            if names.is_empty() {
                return out.line(&text!("this backend does not list its models; use /model NAME"));
            }
            let current = model.name();
            names.iter().try_for_each(|name| {
                let mark = if Some(name) == current.as_ref() { "*" } else { " " };
                out.line(&format!("{mark} {}", one_line(name)))
            })?;
            *self.models.lock().unwrap_or_else(PoisonError::into_inner) = names;
            return Ok(());
        }
        sessions::change_model(options, name, project, rules, model, agent)?;
        options.model = Some(name.to_owned());
        out.styled_line(Style::Dim, &text!("the model is now {name}", name))
    }

    /// Changes the approval mode like the option `--ask`, or prints it if `word` is empty.
    fn change_mode(&mut self, word: &str) -> Result<(), Failure> {
        let mut refusal = None;
        if !word.is_empty() {
            let wanted = AskMode::from_str(word, true);
            let wanted = wanted.map_err(|_| {
                Failure::wrong_use(text!(
                    "{word} is not one of risky, always, sandboxed and never",
                    word = format!("{word:?}")
                ))
            })?;
            let mut options = self.options.clone();
            options.yes = false;
            options.rules.ask = Some(wanted);
            let (layers, _) = with_persona(Layers::read(&options)?)?;
            // Everything that can fail is above: a mode that was not applied must not apply with the next `/persona`.
            self.options = options;
            // Merge all layers again: the project or the persona may demand a stricter mode than the wanted one.
            let ask = layers.merged().policy().ask;
            self.set_policy(|policy| policy.ask(ask));
            refusal = Some(name_of(ask)).filter(|name| *name != word).map(|name| {
                text!(
                    "you are asked: {mode}; the project or the persona does not allow {wanted}",
                    mode = name,
                    wanted = word
                )
            });
        }
        let name = name_of(self.agent.session().policy().settings().ask);
        self.out.styled_line(Style::Dim, &refusal.unwrap_or_else(|| text!("you are asked: {mode}", mode = name)))
    }

    /// Switches plan mode on or off.
    fn toggle_plan_mode(&mut self) -> Result<(), Failure> {
        self.plans = !self.plans;
        let plans = self.plans;
        self.set_policy(|policy| policy.read_only(plans));
        let (line, note) = match plans {
            true => (text!("plan mode: only reading tools run; /plan ends it"), plan_mode_note()),
            false => (
                text!("plan mode has ended"),
                text!("Note: the user has ended plan mode. Changes and commands run again as before."),
            ),
        };
        self.agent.note(&note.into_string(language()));
        self.out.styled_line(Style::Dim, &line)
    }

    /// Changes the policy of this conversation and of conversations that are resumed from it.
    fn set_policy(&mut self, change: impl Fn(Policy) -> Policy) {
        self.rules.policy = change(self.rules.policy.clone());
        // The agent's policy also has the `always` answers, so it is changed instead of replaced.
        let policy = change(self.agent.session().policy().clone());
        self.agent.set_policy(policy);
    }

    fn help(&mut self) -> Result<(), Failure> {
        let help = text!(
            "Write your request and press Enter. Alt-Enter, a backslash at the end of a line or an open ``` fence \
             begins another line,\nTab completes, Ctrl-R searches your earlier messages, Ctrl-O opens your editor. \
             @NAME attaches a file, a folder or an image\nof the project, and !COMMAND runs a command as yourself. \
             Ctrl-C clears the line; while the model works it stops the running\ntool, and the turn if pressed twice \
             or if no tool runs. Text that you type meanwhile is kept for the next message."
        );
        // A terminal wraps the text to its own width.
        let rows = if self.out.is_terminal() { help.words().replace('\n', " ") } else { help.words().into_owned() };
        self.out.wrapped(&rows)?;
        let all = slash::all(&self.own);
        let width = all.iter().map(|command| command.usage().chars().count()).max().unwrap_or_default();
        all.iter()
            .try_for_each(|command| self.out.wrapped(&format!("  {:<width$}  {}", command.usage(), command.summary())))
    }

    /// Prints the whole last output, even if it was too long for the result. Ctrl-C stops it.
    fn show_last(&mut self) -> Result<(), Failure> {
        let Conversation { project, turns, last, out, .. } = self;
        let Some(result) = last else { return out.line(&text!("no call has a result yet")) };
        let overflow = outcome::overflow_of(result).map(|id| overflow_file::open(project.workspace.root(), id));
        let Some(Ok(file)) = overflow else {
            return outcome::full_rows(result).iter().try_for_each(|(style, line)| {
                let line = if out.is_terminal() { outcome::printed_line(line) } else { line.clone() };
                out.exact_line(*style, &line)
            });
        };
        if let Some(error) = &result.error {
            out.styled_line(Style::Bad, &error.message)?;
        }
        let canceller = Canceller::default();
        match turns.run(canceller.clone(), by_hand::show(file, &canceller, out))?? {
            true => Ok(()),
            false => out.styled_line(Style::Bad, &text!("stopped")),
        }
    }

    /// Prints the model's whole reasoning of the last turn in the same style as above an answer.
    fn show_thoughts(&mut self) -> Result<(), Failure> {
        let Some(thoughts) = &self.thoughts else {
            return self.out.line(&text!("no reasoning was recorded yet"));
        };
        if !self.out.is_terminal() {
            return self.out.line(thoughts);
        }
        let mut prose = Prose::new(Terminal::stdout());
        prose.write(Voice::Reasoning, thoughts)?;
        prose.end_line()
    }

    /// Copies the last answer to the terminal's clipboard.
    fn copy_answer(&mut self) -> Result<(), Failure> {
        let replies = self.agent.session().turns().iter().flat_map(|turn| &turn.replies);
        let texts = replies.map(|reply| reply.text.trim());
        let Some(answer) = texts.rev().find(|text| !text.is_empty()) else {
            return self.out.line(&text!("there is no answer yet"));
        };
        let line = match clipboard::copy(answer) {
            Ok(()) => text!(
                "sent {bytes} bytes to the terminal's clipboard; some terminals ignore that",
                bytes = answer.len()
            ),
            Err(why) => why,
        };
        self.out.styled_line(Style::Dim, &line)
    }

    /// Opens a text in the user's editor and returns the result. Prints the reason if the result is `None`.
    fn in_editor(&mut self, text: &str) -> Result<Option<String>, Failure> {
        let edited = self.turns.run(Canceller::default(), edit::in_editor(MESSAGE, text))?;
        match edited.map(|text| text.trim().to_owned()) {
            Ok(text) if text.is_empty() => {
                self.out.styled_line(Style::Dim, &text!("nothing was written, so nothing is sent"))?;
                Ok(None)
            }
            Ok(text) => Ok(Some(text)),
            Err(why) => {
                self.out.styled_line(Style::Bad, &why)?;
                Ok(None)
            }
        }
    }

    /// Runs one turn. A failure of the turn is printed and does not end the conversation.
    fn run_turn(&mut self, text: &str) -> Result<(), Failure> {
        let Conversation { options, project, rules, model, agent, turns, out, .. } = self;
        let person = AtTheTerminal::new();
        let mut view = View::new(person, agent.canceller(), false).speaker(&rules.persona.name);
        // Keys pressed during the turn are kept for the next message instead of echoed into the reply.
        let quiet = Quiet::begin();
        let stopped = turns.run(agent.canceller(), agent.run(text, &mut view));
        drop(quiet);
        let stopped = stopped?;
        // After a turn without calls or reasoning, /last and /thoughts still print those of an earlier turn.
        self.last = view.last().or_else(|| self.last.take());
        let ended = view.end();
        self.thoughts = view.thoughts().or_else(|| self.thoughts.take());
        ended?;
        project.print_notes();
        sessions::report_recording_error(agent);
        if options.stats {
            print_note(&model.cost(rules, &agent.turn_usage()));
        }
        model.store_learned(agent);
        let failed = match stopped {
            Ok(reason) => status_of(&reason).err(),
            Err(error) => Some(Failure::broken(error)),
        };
        if let Some(failure) = failed {
            out.styled_line(Style::Bad, failure.message())?;
        }
        // A blank line separates the turn from the next message.
        out.write(if out.is_terminal() { "\n" } else { "" })
    }
}

/// Returns the name of a mode as the user types it.
fn name_of(mode: toolfence_policy::AskMode) -> &'static str {
    match mode {
        toolfence_policy::AskMode::Always => "always",
        toolfence_policy::AskMode::Sandboxed => "sandboxed",
        toolfence_policy::AskMode::Never => "never",
        _ => "risky",
    }
}

/// Begins a new conversation. Returns the line for the user, with the command that resumes the old one.
fn clear(agent: &mut Agent) -> Text {
    let name = |agent: &mut Agent| agent.recorded().map(|transcript| transcript.id().to_owned());
    let before = name(agent);
    agent.clear();
    let mut line = text!("a new conversation; files and your approvals stay as they are");
    // A conversation without messages has no file; the agent keeps its transcript, and there is nothing to resume.
    if let Some(old) = before.filter(|old| name(agent).as_ref() != Some(old)) {
        line.push(text!("; `coder resume {session}` continues the old one", session = sessions::short(&old)));
    }
    line
}

/// Prints the summary of a resumed conversation and the model's plan.
fn show(lines: &[(Style, Text)], agent: &Agent, out: &mut Terminal) -> Result<(), Failure> {
    lines.iter().try_for_each(|(style, line)| out.styled_line(*style, line))?;
    let plan = agent.session().plan().unwrap_or_default();
    plan.lines().try_for_each(|step| out.styled_line(Style::Dim, &format!("    {step}")))
}

/// Returns the note for the model at the start of plan mode.
fn plan_mode_note() -> Text {
    text!(
        "Note: the user has begun plan mode. Only calls that read run until it ends; everything else is refused. Find \
         out what you need to know, and then answer with a plan: what you would change, where and why."
    )
}
