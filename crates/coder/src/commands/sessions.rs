//! Recorded conversations: `coder sessions`, the start of `coder resume` and `coder --continue`, and `/sessions`,
//! `/resume` and `/fork` in a conversation.

use super::SCHEMA;
use super::undo::age;
use crate::args::{Options, ResumeArguments, SessionsArguments};
use crate::config::Layers;
use crate::confirm;
use crate::failure::{Failure, INTERRUPTED, UNSUCCESSFUL};
use crate::model::Model;
use crate::project::Project;
use crate::rules::{self, Rules, with_persona};
use crate::servers::StartedServer;
use crate::shown::{Words, language};
use crate::terminal::{Style, Terminal, print_note};
use serde_json::json;
use std::process::ExitCode;
use std::time::SystemTime;
use toolfence_agent::agent::{Agent, Canceller};
use toolfence_agent::transcript::Transcript;
use toolfence_agent::transcript::{Record, Role, Store, StoredSession, Summary, rfc3339};
use toolfence_protocol::clip;
use toolfence_protocol::{Text, ToolSpec, text};

/// The most conversations in a list to choose from.
const MOST_LISTED: usize = 20;

/// The characters of an ID that are printed: enough to be unique in practice.
const SHORT_ID: usize = 8;

/// The most lines of the last answer that are printed when a conversation is resumed.
const MOST_ANSWER_LINES: usize = 20;

/// The most characters of a printed line of a conversation.
const LONGEST: usize = 120;

/// The conversation to begin or resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Start {
    /// A new conversation.
    New,
    /// The last conversation in the project.
    Last,
    /// A conversation that the user chooses from a list.
    Chosen {
        /// Whether to continue in a copy of it.
        fork: bool,
    },
    /// The conversation whose ID begins with `name`.
    Named {
        /// The beginning of the ID.
        name: String,
        /// `Some` to continue in a copy: up to a message, or of the whole conversation.
        fork: Option<Option<String>>,
    },
}

impl Start {
    /// Returns the start that the arguments of `coder resume` ask for.
    pub(crate) fn from_arguments(arguments: &ResumeArguments) -> Start {
        let ResumeArguments { session, from, fork, .. } = arguments;
        match session {
            None => Start::Chosen { fork: *fork },
            Some(name) => {
                let fork = (*fork || from.is_some()).then(|| from.clone());
                Start::Named { name: name.clone(), fork }
            }
        }
    }
}

/// An agent, and the summary of the resumed conversation for the user.
pub(crate) struct OpenedConversation {
    pub(crate) agent: Agent,
    /// The lines of the summary; empty for a new conversation.
    pub(crate) resumed: Vec<(Style, Text)>,
}

/// Begins or resumes a conversation.
pub(crate) fn begin(
    project: &Project,
    rules: &Rules,
    model: &Model,
    start: &Start,
) -> Result<OpenedConversation, Failure> {
    let (summary, fork) = match start {
        Start::New => {
            let transcript = rules.new_transcript(project, Some(model), Store::folder)?;
            let agent = model.agent(project, rules, transcript)?;
            return Ok(OpenedConversation { agent, resumed: Vec::new() });
        }
        Start::Last => {
            let newest = store(project)?.list(Some(project.workspace.root_path())).into_iter().next();
            let newest = newest.ok_or_else(|| Failure::wrong_use(no_conversation()))?;
            if newest.cleared {
                // After /clear the user does not expect this conversation back, nor an older one.
                print_note(&text!(
                    "the last conversation ended with /clear, so this is a new one; `coder resume {session}` continues \
                     the old one",
                    session = short(&newest.id)
                ));
                return begin(project, rules, model, &Start::New);
            }
            (newest, None)
        }
        Start::Chosen { fork } => (choose(project)?, fork.then_some(None)),
        Start::Named { name, fork } => (find_by_id(project, name)?, fork.clone()),
    };
    let root = project.workspace.root_path();
    if std::path::Path::new(&summary.root) != root {
        return Err(Failure::wrong_use(text!(
            "the conversation {session} belongs to another project: {root}. Change to that folder or set --root",
            session = &summary.id,
            root = &summary.root
        )));
    }
    let transcript = match fork {
        None => Transcript::resume(&summary.path),
        Some(message) => Transcript::fork(&summary.path, message.as_deref()),
    };
    resume(project, rules, model, transcript.map_err(Failure::wrong_use)?)
}

/// Returns an agent that continues a transcript.
fn resume(
    project: &Project,
    rules: &Rules,
    model: &Model,
    transcript: Transcript,
) -> Result<OpenedConversation, Failure> {
    match transcript.unreadable() {
        0 => {}
        count => print_note(&text!(
            "{count} {count|line|lines} of this conversation cannot be read and {count|is|are} left out",
            count
        )),
    }
    let resumed = summary_lines(&transcript);
    let note = resumed_note(&transcript);
    let transcript = rules.continue_transcript(transcript, Some(model));
    let mut agent = model.agent(project, rules, Some(transcript))?;
    agent.note(&note.into_string(language()));
    Ok(OpenedConversation { agent, resumed })
}

/// Returns the note for the model at the start of a resumed conversation.
pub(crate) fn resumed_note(transcript: &Transcript) -> Text {
    match is_cut_short(transcript.stored_records()) {
        true => text!(
            "Note: the program ended in the middle of the last turn, and this conversation was resumed later. Calls \
             without a result may have run in part or not at all. Look at the files again before you continue."
        ),
        false => text!(
            "Note: this conversation was resumed after a break. Files may have changed meanwhile; read them again \
             before you rely on them."
        ),
    }
}

/// Returns whether the last turn has no end because the program was killed.
fn is_cut_short(records: &[Record]) -> bool {
    match records.last() {
        // A reply without calls ends its turn. After a message or a result, a reply is missing.
        Some(record) if record.role == Role::Assistant => record.has_calls,
        Some(record) => matches!(record.role, Role::User | Role::Tool),
        None => false,
    }
}

/// Returns the summary of a conversation for the user who resumes it.
fn summary_lines(transcript: &Transcript) -> Vec<(Style, Text)> {
    let records = transcript.stored_records();
    let turns = records.last().map_or(0, |record| record.turn);
    let head = match &transcript.head().fork {
        Some(fork) => {
            text!(
                "conversation {session}, a copy of {from} up to message {message}",
                session = short(transcript.id()),
                from = short(&fork.session),
                message = fork.message.as_str()
            )
        }
        None => text!(
            "conversation {session}, {turns} {turns|turn|turns} so far; your `always` answers no longer apply",
            session = short(transcript.id()),
            turns
        ),
    };
    let mut lines = vec![(Style::Dim, head)];
    let last = |role: Role| records.iter().rfind(|record| record.role == role && !record.content.trim().is_empty());
    if let Some(user) = last(Role::User) {
        lines.extend(user.content.trim().lines().take(3).map(|line| (Style::Dim, format!("> {}", cut(line)).into())));
    }
    if let Some(reply) = last(Role::Assistant) {
        let all: Vec<&str> = reply.content.trim().lines().collect();
        let from = all.len().saturating_sub(MOST_ANSWER_LINES);
        lines.extend(all[from..].iter().map(|line| (Style::Plain, cut(line).into())));
    }
    lines
}

fn cut(line: &str) -> String {
    clip::middle(line, LONGEST).into_owned()
}

/// Returns the beginning of an ID, as lists print it.
pub(crate) fn short(id: &str) -> String {
    id.chars().take(SHORT_ID).collect()
}

/// Reports a failure to record the conversation.
pub(crate) fn report_recording_error(agent: &mut Agent) {
    if let Some(trouble) = agent.recorded().and_then(Transcript::trouble) {
        print_note(&trouble);
    }
}

/// Returns the store of conversations.
pub(crate) fn store(project: &Project) -> Result<&Store, Failure> {
    project
        .store
        .as_ref()
        .ok_or_else(|| Failure::wrong_use(text!("there is no folder for conversations: set HOME or XDG_STATE_HOME")))
}

/// Finds the conversation whose ID begins with `name`.
pub(crate) fn find_by_id(project: &Project, name: &str) -> Result<Summary, Failure> {
    store(project)?.find(project.workspace.root_path(), name).map_err(Failure::wrong_use)
}

/// Lets the user choose a conversation on the terminal.
fn choose(project: &Project) -> Result<Summary, Failure> {
    let mut all = store(project)?.list(Some(project.workspace.root_path()));
    if all.is_empty() {
        return Err(Failure::wrong_use(no_conversation()));
    }
    all.truncate(MOST_LISTED);
    let mut text = String::new();
    for (number, session) in all.iter().enumerate() {
        // `put_until` writes to the terminal without escaping, and a title is text of any origin.
        text.push_str(&format!("{:>3}  {}\n", number + 1, crate::shown::escaped(&row(session, false))));
    }
    text.push_str(&text!("Which one? [1 to {count}, Enter for 1] ", count = all.len()).words());
    let canceller = Canceller::default();
    let answer = match crate::runtime::run(canceller.clone(), confirm::put_until(&text, &canceller))? {
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Err(Failure::signalled(INTERRUPTED)),
        answer => answer.map_err(|_| {
            Failure::wrong_use(text!(
                "name the conversation: there is no terminal to choose one on; `coder sessions` lists them"
            ))
        })?,
    };
    let number = match answer.trim() {
        "" => Some(1),
        word => word.parse::<usize>().ok(),
    };
    let at = number.filter(|number| (1..=all.len()).contains(number));
    at.map(|number| all.swap_remove(number - 1))
        .ok_or_else(|| Failure::wrong_use(text!("that is not a number from 1 to {count}", count = all.len())))
}

/// `coder sessions`: lists conversations.
pub(crate) fn list(options: &Options, arguments: &SessionsArguments) -> Result<ExitCode, Failure> {
    let (project, _) = rules::open(options)?;
    let mut out = Terminal::stdout();
    let root = (!arguments.all).then(|| project.workspace.root_path());
    let words: Vec<String> =
        arguments.search.iter().flat_map(|words| words.split_whitespace()).map(str::to_lowercase).collect();
    let mut count = 0;
    for session in store(&project)?.list(root) {
        let found = match words.is_empty() {
            true => None,
            false => match line_with(&session, &words) {
                None => continue,
                found => found,
            },
        };
        count += 1;
        if arguments.json {
            out.line(&as_json(&session, found.as_deref()).to_string())?;
            continue;
        }
        out.line(&row(&session, arguments.all))?;
        if let Some(line) = found {
            out.styled_line(Style::Dim, &format!("          {}", cut(line.trim())))?;
        }
    }
    if count == 0 && !arguments.json {
        out.styled_line(
            Style::Dim,
            &if words.is_empty() { no_conversation() } else { text!("No conversation contains all these words.") },
        )?;
    }
    Ok(if count == 0 && !words.is_empty() { UNSUCCESSFUL.into() } else { ExitCode::SUCCESS })
}

/// `/sessions`: lists the conversations of the project.
pub(crate) fn typed_list(project: &Project, out: &mut Terminal) -> Result<(), Failure> {
    let all = store(project)?.list(Some(project.workspace.root_path()));
    all.iter().take(MOST_LISTED).try_for_each(|session| out.line(&row(session, false)))?;
    match all.is_empty() {
        true => out.styled_line(Style::Dim, &no_conversation()),
        false => Ok(()),
    }
}

/// `/fork`: continues in a copy of this conversation, up to a message or of all of it.
pub(crate) fn fork(
    project: &Project,
    rules: &Rules,
    model: &Model,
    agent: &mut Agent,
    message: &str,
) -> Result<OpenedConversation, Failure> {
    let path = agent.recorded().map(|transcript| transcript.path().to_owned()).filter(|path| path.exists());
    let path = path.ok_or_else(|| Failure::wrong_use(text!("this conversation has no transcript to copy")))?;
    let message = Some(message).filter(|message| !message.is_empty());
    resume(project, rules, model, Transcript::fork(&path, message).map_err(Failure::wrong_use)?)
}

/// `/persona NAME`: continues the conversation under the rules of that persona, and with its model if it names another
/// one. Returns the line for the user; the model gets a note with the next message.
pub(crate) fn change_persona(
    options: &Options,
    name: &str,
    project: &mut Project,
    rules: &mut Rules,
    model: &mut Model,
    agent: &mut Agent,
) -> Result<Text, Failure> {
    let options = Options { persona: Some(name.to_owned()), ..options.clone() };
    let (next_project, next) = project.with_persona(&options, rules)?;
    let replacement = model.replacement(&next, &next_project)?;
    let other = replacement.as_ref().unwrap_or(model).agent(&next_project, &next, None)?;
    let names: Vec<&str> = other.session().catalog().specs().iter().map(|spec| spec.name.as_ref()).collect();
    let names = names.join(", ");
    let mut note = text!(
        "Note: from here on you are {name} and follow the instructions of {name}. You have these tools and no others: \
         {tools}. The conversation so far stays.",
        name = &next.persona.name,
        tools = names.as_str()
    )
    .into_string(next.language);
    if other.session().instructions().is_empty() {
        // With pasted instructions, the text of this persona has not reached the model yet.
        note.push_str("\n\n");
        note.push_str(next.persona.text.trim());
    }
    // All steps that can fail are above, so a failure leaves the conversation as it was.
    *agent = other.take_over(agent, &note);
    (*project, *rules) = (next_project, next);
    if let Some(replacement) = replacement {
        *model = replacement;
        begin_with_model(model, agent);
    }
    Ok(text!("the model is now {name} and has {tools}", name = &rules.persona.name, tools = names))
}

/// `/model NAME`: continues the conversation with this model from the next turn on. If it cannot be opened, the present
/// one stays.
pub(crate) fn change_model(
    options: &Options,
    name: &str,
    project: &Project,
    rules: &Rules,
    model: &mut Model,
    agent: &mut Agent,
) -> Result<(), Failure> {
    let (layers, persona) = with_persona(Layers::read(&Options { model: Some(name.to_owned()), ..options.clone() })?)?;
    let config = layers.merged();
    config.notes.iter().for_each(print_note);
    let next = Model::open(&config, &persona, project)?;
    *agent = next.agent(project, rules, None)?.take_over(agent, "");
    *model = next;
    begin_with_model(model, agent);
    Ok(())
}

/// Sets what is known about the model, and records its name in the transcript. The agent's knowledge so far is about
/// the previous model.
fn begin_with_model(model: &Model, agent: &mut Agent) {
    agent.set_learned(model.profile_facts());
    if let Some(transcript) = agent.recorded() {
        transcript.answered_by(model.name());
    }
}

/// `/mcp restart NAME`: continues the conversation with the tools that the server has now. If they differ, the model
/// gets a note.
pub(crate) fn change_server(
    server: StartedServer,
    project: &mut Project,
    rules: &mut Rules,
    model: &Model,
    agent: &mut Agent,
) -> Result<(), Failure> {
    let name = server.rule.name.clone();
    let tools = |rules: &Rules| -> Vec<String> {
        let catalog = rules.toolbox.catalog();
        let own = catalog.specs().iter().filter(|spec| spec.name.starts_with(&format!("{name}.")));
        own.map(ToolSpec::signature).collect()
    };
    let before = tools(rules);
    let revoked = project.replace_server(server);
    rules.replace_tools_of(&name, project, &revoked);
    // The next agent takes over the approvals, except those for revoked tools.
    agent.set_policy(agent.session().policy().clone().forget_served(revoked));
    let now = tools(rules);
    let note = match now.is_empty() {
        _ if now == before => String::new(),
        true => text!(
            "The user has restarted the MCP server {name}. None of its tools can be called now.",
            name = name.as_str()
        )
        .into_string(rules.language),
        false => text!(
            "The user has restarted the MCP server {name}. Its tools are now: {tools}.",
            name = name.as_str(),
            tools = now.join(", ")
        )
        .into_string(rules.language),
    };
    *agent = model.agent(project, rules, None)?.take_over(agent, &note);
    Ok(())
}

/// Returns the line of a conversation that contains most of the words, if the conversation contains all of them.
fn line_with(session: &Summary, words: &[String]) -> Option<String> {
    let stored = StoredSession::read(&session.path).ok()?;
    let messages = stored.records.iter().filter(|record| matches!(record.role, Role::User | Role::Assistant));
    let texts: Vec<(String, &str)> = messages.map(|record| (record.content.to_lowercase(), &*record.content)).collect();
    if !words.iter().all(|word| texts.iter().any(|(lower, _)| lower.contains(word))) {
        return None;
    }
    // The words may be in different lines; the line with most of them is printed.
    let lines = texts.iter().flat_map(|(_, text)| text.lines());
    let best = lines.max_by_key(|line| {
        let lower = line.to_lowercase();
        words.iter().filter(|word| lower.contains(*word)).count()
    });
    best.map(str::to_owned)
}

fn row(session: &Summary, with_root: bool) -> String {
    let changed = session.changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    let age = age(u64::try_from(changed).unwrap_or(u64::MAX));
    let turns = text!("{count} {count|turn |turns}", count = session.turns);
    let root = if with_root { format!("  {}", session.root) } else { String::new() };
    format!("{:<SHORT_ID$}  {:>9}  {:>9}{root}  {}", short(&session.id), age.words(), turns.words(), session.title)
}

fn as_json(session: &Summary, found: Option<&str>) -> serde_json::Value {
    // File times are coarse, so the time of the last change may be earlier than the start of the session.
    let changed = rfc3339(session.changed).max(session.began.clone());
    let mut line = json!({
        "v": SCHEMA, "event": "session", "id": session.id, "began": session.began,
        "changed": changed, "cleared": session.cleared, "turns": session.turns, "title": session.title,
        "root": session.root, "model": session.model, "fork": session.fork, "bytes": session.bytes,
        "path": session.path.display().to_string(),
    });
    if let Some(found) = found {
        line["found"] = found.into();
    }
    line
}

fn no_conversation() -> Text {
    text!("There is no recorded conversation for this project; `coder sessions --all` lists those of all projects.")
}
