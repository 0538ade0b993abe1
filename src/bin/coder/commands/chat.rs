//! `coder`: a conversation, message by message.

use crate::args::Options;
use crate::clipboard;
use crate::commands::sessions::{self, Begun, Start};
use crate::commands::{export, policy, stats, stdin_lines, undo};
use crate::confirm::AtTheTerminal;
use crate::edit;
use crate::failure::{Failure, INTERRUPTED, status_of};
use crate::input::modes::Quiet;
use crate::input::{Completions, LineEditor, Typed};
use crate::messages;
use crate::personas::Folders;
use crate::preview::one_line;
use crate::runtime::{TWICE, Turns};
use crate::setup::{Setup, Talk};
use crate::shown::{language, tell};
use crate::slash::{self, Act, Argument, Own, Slash};
use crate::terminal::{Style, Terminal};
use crate::view::View;
use std::process::ExitCode;
use std::time::Instant;
use toolfence::agent::{Agent, Canceller};
use toolfence::{Role, Text, ToolResult, close_names};

/// What stands in front of a line.
const MARK: &str = "> ";

/// The name of the file in which a message is edited.
const MESSAGE: &str = "message.md";

/// Talks until the input ends.
pub(crate) fn run(options: &Options, start: &Start) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let talk = setup.talking()?;
    let Begun { agent, resumed } = sessions::begin(&setup, start, &talk)?;
    let turns = Turns::new()?;
    let mut out = Terminal::stdout();
    let root = setup.workspace.root_path().display().to_string();
    out.styled_line(Style::Dim, &messages::conversation_begins(&setup.persona.name, root))?;
    if let Some(answering) = setup.answering()? {
        out.styled_line(Style::Dim, &answering)?;
    }
    show(&resumed, &agent, &mut out)?;
    let (own, notes) = setup.places.as_ref().map(|(places, project)| slash::find(places, *project)).unwrap_or_default();
    notes.iter().for_each(tell);
    let input = Input::open(&setup, &own)?;
    let conversation = Conversation { setup, talk, agent, turns, out, own, last: None };
    conversation.hold(input)
}

/// Where messages come from.
enum Input {
    /// A person at a terminal.
    Edited(Box<LineEditor>),
    /// Lines, a message each.
    Lines(Box<dyn Iterator<Item = Result<String, Failure>>>),
}

impl Input {
    fn open(setup: &Setup, own: &[Own]) -> Result<Input, Failure> {
        let (personas, state) = match &setup.places {
            Some((places, _)) => (Some(Folders::of(places)), places.state.as_deref()),
            None => (None, None),
        };
        let model = setup.server()?.map(|server| server.model().to_owned());
        let completions = Completions {
            commands: slash::all(own),
            personas,
            models: model.into_iter().collect(),
            workspace: setup.workspace.clone(),
        };
        let editor = LineEditor::open(completions, state, setup.writes_down(), setup.redactor());
        Ok(editor.map_or_else(|| Input::Lines(Box::new(stdin_lines())), |editor| Input::Edited(Box::new(editor))))
    }

    /// The next message; `None` where there is no more.
    fn next(&mut self, turns: &Turns, out: &mut Terminal) -> Result<Option<Typed>, Failure> {
        if let Input::Edited(editor) = self {
            match editor.read(MARK) {
                Ok(typed) => return Ok(Some(typed)),
                Err(why) => {
                    tell(&messages::no_line_editor(why));
                    *self = Input::Lines(Box::new(stdin_lines()));
                }
            }
        }
        let Input::Lines(lines) = self else { return Ok(None) };
        out.write(MARK)?;
        turns.at_prompt(true);
        let line = lines.next().transpose();
        turns.at_prompt(false);
        if let Ok(None) = &line {
            out.write("\n")?;
        }
        Ok(line?.map(Typed::Line))
    }
}

/// Whether a conversation goes on.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Goes,
    Ends,
}

struct Conversation {
    setup: Setup,
    talk: Talk,
    agent: Agent,
    turns: Turns,
    out: Terminal,
    own: Vec<Own>,
    /// The last result of a call.
    last: Option<ToolResult>,
}

impl Conversation {
    fn hold(mut self, mut input: Input) -> Result<ExitCode, Failure> {
        let mut interrupted: Option<Instant> = None;
        loop {
            let Some(typed) = input.next(&self.turns, &mut self.out)? else { return Ok(ExitCode::SUCCESS) };
            let again = interrupted.take().is_some_and(|before| before.elapsed() < TWICE);
            let line = match typed {
                Typed::Line(line) => line,
                Typed::InEditor(text) => {
                    let text = self.in_editor(&text)?;
                    if let (Some(text), Input::Edited(editor)) = (text, &mut input) {
                        editor.put(&text);
                    }
                    continue;
                }
                Typed::Interrupted { empty: false } => continue,
                Typed::Interrupted { empty: true } if again => return Ok(INTERRUPTED.into()),
                Typed::Interrupted { empty: true } => {
                    interrupted = Some(Instant::now());
                    self.out.styled_line(Style::Dim, &messages::how_to_leave())?;
                    continue;
                }
                Typed::End => return Ok(ExitCode::SUCCESS),
            };
            if self.take(line.trim())? == Next::Ends {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }

    /// Does what a message says.
    fn take(&mut self, line: &str) -> Result<Next, Failure> {
        let Some(command) = line.strip_prefix('/') else {
            if !line.is_empty() {
                self.turn(line)?;
            }
            return Ok(Next::Goes);
        };
        let (name, words) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let name = if name == "exit" { "quit" } else { name };
        let all = slash::all(&self.own);
        let Some(known) = all.iter().find(|known| known.name == name) else {
            let close = close_names(name, all.iter().map(|known| known.name.as_str()));
            let close: Vec<String> = close.iter().map(|name| format!("/{name}")).collect();
            let mut told = messages::no_such_command(format!("/{name}"));
            if !close.is_empty() {
                told.push(messages::close_commands(close.join(", ")));
            }
            self.out.line(&told)?;
            return Ok(Next::Goes);
        };
        if known.act == Act::Quit {
            return Ok(Next::Ends);
        }
        // What goes wrong is said, and the conversation goes on.
        match self.act(known, words.trim()) {
            Ok(()) => {}
            Err(failure) => self.out.styled_line(Style::Bad, failure.message())?,
        }
        Ok(Next::Goes)
    }

    fn act(&mut self, command: &Slash, words: &str) -> Result<(), Failure> {
        if command.argument == Argument::None && !words.is_empty() {
            return self.out.line(&messages::takes_nothing(format!("/{}", command.name)));
        }
        let Conversation { setup, talk, agent, out, .. } = self;
        match command.act {
            Act::Help => self.help(),
            Act::Tools => agent.session().catalog().specs().iter().try_for_each(|spec| out.line(&spec.signature())),
            Act::Allowed => match agent.session().policy().remembered() {
                [] => out.line(&messages::nothing_is_allowed()),
                rules => rules.iter().try_for_each(|rule| out.line(&rule.to_string())),
            },
            Act::Policy if words.is_empty() => out.line(&messages::wants_words(command.usage())),
            Act::Policy => policy::typed(agent.session().policy(), &setup.commands, words, out),
            Act::Diff | Act::Undo | Act::Redo => {
                let note = undo::typed(setup, &command.name, words, out)?;
                // What went back is not what the model has in mind.
                note.into_iter().for_each(|note| agent.note(&note));
                Ok(())
            }
            Act::Last => self.show_last(),
            Act::Copy => self.copy(),
            Act::Editor => match self.in_editor(words)? {
                Some(text) => self.turn(&text),
                None => Ok(()),
            },
            Act::Retry => match agent.take_back() {
                Some(said) => {
                    let first = said.lines().next().unwrap_or_default();
                    out.styled_line(Style::Dim, &messages::said_again(one_line(first)))?;
                    self.turn(&said)
                }
                None => out.line(&messages::nothing_to_retry()),
            },
            Act::Compact => match agent.compact() {
                Some(done) => out.styled_line(Style::Dim, &messages::compacted(&done)),
                None => out.line(&messages::nothing_to_compact()),
            },
            Act::Clear => {
                let told = cleared(agent);
                out.styled_line(Style::Dim, &told)
            }
            Act::Stats => stats::show(setup, agent, out),
            Act::Export if words.is_empty() => Err(Failure::wrong_use(messages::export_wants_a_file())),
            Act::Export => {
                let path = agent.recorded().map(|transcript| transcript.path().to_owned()).filter(|path| path.exists());
                let path = path.ok_or_else(|| Failure::wrong_use(messages::nothing_to_export()))?;
                export::typed(&path, words)?;
                out.styled_line(Style::Dim, &messages::exported_to(words))
            }
            Act::Sessions => sessions::typed_list(setup, out),
            Act::Resume | Act::Fork => {
                let begun = match (command.act, words) {
                    (Act::Fork, message) => sessions::fork(setup, talk, agent, message),
                    (_, "") => sessions::begin(setup, &Start::Chosen { fork: false }, talk),
                    (_, name) => sessions::begin(setup, &Start::Named { name: name.to_owned(), fork: None }, talk),
                }?;
                *agent = begun.agent;
                show(&begun.resumed, agent, out)
            }
            Act::Init => self.turn(&messages::write_agents_file().into_string(language())),
            Act::Quit => Ok(()), // whoever calls this has ended by now
            Act::Own(number) => {
                let message = self.own[number].message(words)?;
                out.styled_line(Style::Dim, &message)?;
                self.turn(&message)
            }
        }
    }

    fn help(&mut self) -> Result<(), Failure> {
        self.out.line(&messages::conversation_help())?;
        let all = slash::all(&self.own);
        let width = all.iter().map(|command| command.usage().chars().count()).max().unwrap_or_default();
        all.iter()
            .try_for_each(|command| self.out.line(&format!("  {:<width$}  {}", command.usage(), command.summary())))
    }

    /// All of the last output.
    fn show_last(&mut self) -> Result<(), Failure> {
        let Some(result) = &self.last else { return self.out.line(&messages::nothing_ran_yet()) };
        if let Some(error) = &result.error {
            self.out.styled_line(Style::Bad, &error.message)?;
        }
        self.out.write(&result.output)?;
        self.out.write(if result.output.is_empty() || result.output.ends_with('\n') { "" } else { "\n" })
    }

    /// Gives the last answer to the terminal's clipboard.
    fn copy(&mut self) -> Result<(), Failure> {
        let answer = self.agent.session().history().iter().rfind(|message| message.role == Role::Assistant);
        let Some(answer) = answer.map(|message| message.content.trim()) else {
            return self.out.line(&messages::nothing_answered_yet());
        };
        let told = match clipboard::put(answer) {
            Ok(()) => messages::copied(answer.len()),
            Err(why) => why,
        };
        self.out.styled_line(Style::Dim, &told)
    }

    /// A text as the person's editor gives it back; `None` where there is none, which is said.
    fn in_editor(&mut self, text: &str) -> Result<Option<String>, Failure> {
        let edited = self.turns.run(Canceller::default(), edit::in_editor(MESSAGE, text))?;
        match edited.map(|text| text.trim().to_owned()) {
            Ok(text) if text.is_empty() => {
                self.out.styled_line(Style::Dim, &messages::nothing_was_written())?;
                Ok(None)
            }
            Ok(text) => Ok(Some(text)),
            Err(why) => {
                self.out.styled_line(Style::Bad, &why)?;
                Ok(None)
            }
        }
    }

    /// One turn. What goes wrong is said, and the conversation goes on.
    fn turn(&mut self, text: &str) -> Result<(), Failure> {
        let Conversation { setup, talk, agent, turns, out, .. } = self;
        let person = AtTheTerminal { commands: setup.commands.clone() };
        let mut view = View::new(person, agent.canceller(), false).speaker(&setup.persona.name);
        let quiet = Quiet::begin();
        let stopped = turns.run(agent.canceller(), agent.run(text, &mut view));
        drop(quiet);
        let stopped = stopped?;
        self.last = view.last().or_else(|| self.last.take());
        view.end()?;
        setup.tell_notes();
        sessions::tell_trouble(agent);
        setup.tell_cost(&agent.turn_usage());
        talk.keep(agent);
        let failed = match stopped {
            Ok(reason) => status_of(&reason).err(),
            Err(error) => Some(Failure::broken(error)),
        };
        match failed {
            Some(failure) => out.styled_line(Style::Bad, failure.message()),
            None => Ok(()),
        }
    }
}

/// Begins a new conversation; says so, and how to go on with the old one.
fn cleared(agent: &mut Agent) -> Text {
    let name = |agent: &mut Agent| agent.recorded().map(|transcript| transcript.id().to_owned());
    let before = name(agent);
    agent.clear();
    let mut told = messages::conversation_cleared();
    if let Some(old) = before.filter(|old| name(agent).as_ref() != Some(old)) {
        told.push(messages::cleared_stays(sessions::short(&old)));
    }
    told
}

/// What is told of a conversation that is gone on with, and the plan that the model has in it.
fn show(lines: &[(Style, Text)], agent: &Agent, out: &mut Terminal) -> Result<(), Failure> {
    lines.iter().try_for_each(|(style, line)| out.styled_line(*style, line))?;
    let plan = agent.session().plan().unwrap_or_default();
    plan.lines().try_for_each(|step| out.styled_line(Style::Dim, &format!("    {step}")))
}
