//! `coder serve`: serves turns and tools over HTTP.

use crate::args::{Options, ServeArguments};
use crate::commands::sessions::resumed_note;
use crate::commands::{prompt, undo};
use crate::config::redactor;
use crate::failure::Failure;
use crate::model::Model;
use crate::personas::Folders;
use crate::project::Project;
use crate::rules::{self, Rules};
use crate::runtime;
use crate::shown::language;
use crate::terminal::{Terminal, print_note};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::Backend;
use toolfence_agent::transcript::{Store, Transcript};
use toolfence_policy::toolbox::Toolbox;
use toolfence_protocol::{Catalog, Error, ErrorKind, Learned, Text, text};
use toolfence_server::http::{Agents, Api, ApiOptions, ModelFacts, random_token};
use toolfence_session::persona::Persona;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::OpenTurn;

/// The fewest characters of a token from the environment, so that it cannot be guessed.
const SHORTEST_TOKEN: usize = 16;

/// Serves until a signal ends it.
pub(crate) fn run(options: &Options, arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let chosen = std::env::var("TOOLFENCE_SERVE_TOKEN").ok().filter(|token| !token.is_empty());
    let is_random = chosen.is_none();
    let token = match chosen {
        Some(token) if token.len() < SHORTEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            return Err(Failure::wrong_use(text!(
                "TOOLFENCE_SERVE_TOKEN needs at least {least} visible ASCII characters; unset it to get a random token",
                least = SHORTEST_TOKEN
            )));
        }
        Some(token) => token,
        None => random_token().map_err(Failure::broken)?,
    };
    let (project, rules) = rules::open_with_servers(options, false)?;
    let mut api_options = ApiOptions::new(&token);
    api_options.language = language();
    api_options.hosts.clone_from(&arguments.host);
    api_options.origins.clone_from(&arguments.origin);
    api_options.sessions = project.store.clone().map(|store| (store, project.workspace.root_path().to_owned()));
    api_options.recording = rules.records && project.store.is_some();
    api_options.body = usize::try_from(arguments.max_request).map_or(usize::MAX, |size| size << 20);
    api_options.turns = usize::try_from(arguments.turns).unwrap_or(usize::MAX);
    api_options.turn = Duration::from_secs(arguments.turn_timeout);
    api_options.approval = Duration::from_secs(arguments.approval_timeout);
    let model = Model::open(&rules.config, &rules.persona, &project).map(Arc::new).map_err(failure_text);
    if let Err(why) = &model {
        print_note(&text!("no model can answer, so only direct calls work: {why}", why = why.clone()));
    }
    if !arguments.listen.ip().is_loopback() {
        print_note(&text!(
            "other machines can reach this server, and nothing is encrypted; see docs/http.md for a reverse proxy in \
             front of it"
        ));
    }
    let first = Arc::new(Seat { project, rules, model });
    let seats = Seats { options: options.clone(), first, others: Mutex::default(), lengths: Mutex::default() };
    let api = Api::new(api_options, Arc::new(seats));
    runtime::serve(|end| async move {
        let listener = TcpListener::bind(arguments.listen).await;
        let listener = listener.map_err(|error| {
            Failure::broken(text!(
                "cannot listen on {address}: {error}; choose another --listen",
                address = arguments.listen.to_string(),
                error = Text::from(&error)
            ))
        })?;
        let address = listener.local_addr().map_err(|error| Failure::broken(Text::from(&error)))?;
        let mut out = Terminal::stdout();
        out.line(&text!("listening on http://{address}", address = address.to_string()))?;
        if is_random {
            out.line(&text!("Clients send this header: Authorization: Bearer {token}", token = &token))?;
            // The token is in the fragment, which browsers do not send, so it appears in no log of a server.
            out.line(&text!(
                "A page for people: http://{address}/#token={token}",
                address = address.to_string(),
                token = &token
            ))?;
        }
        let end = async { drop(end.await) };
        api.serve(listener, end).await.map_err(Failure::broken)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The most conversations of which the length after their last turn is kept.
const MOST_LENGTHS: usize = 1000;

/// A persona with the project under its rules, and its model or the reason why no model is available.
struct Seat {
    project: Project,
    rules: Rules,
    model: Result<Arc<Model>, Text>,
}

impl Seat {
    /// Returns the tools of one turn, what is known about the model, and the backend for these tools.
    ///
    /// # Errors
    /// There is no model.
    fn turn(&self, tool: Option<&str>) -> Result<(Toolbox, Learned, Arc<dyn Backend>), Text> {
        let toolbox = self.new_tools(tool)?;
        let model = self.model.as_ref().map_err(Text::clone)?;
        let backend = model.backend(&toolbox.catalog());
        Ok((toolbox, model.profile_facts(), backend))
    }

    /// Returns new tools for a turn: all of them, or only the named one.
    fn new_tools(&self, tool: Option<&str>) -> Result<Toolbox, Text> {
        let all = self.rules.new_tools(&self.project).map_err(failure_text)?;
        Ok(match tool {
            Some(tool) => all.only(&[tool.to_owned()]),
            None => all,
        })
    }
}

/// The personas of the served project.
struct Seats {
    options: Options,
    /// The default persona.
    first: Arc<Seat>,
    /// The other personas that requests have named, by name. Their number is limited by the files of personas.
    others: Mutex<HashMap<String, Arc<Seat>>>,
    /// Lengths of conversation files after the last turn in this process. A file with an unchanged length continues
    /// without a break, so the model needs no note about resuming.
    lengths: Mutex<HashMap<PathBuf, u64>>,
}

impl Seats {
    /// Returns the seat of a persona. It is created at the first use and again after its file has changed. All personas
    /// share the undo history of the project, and personas with the same model share its backend.
    fn seat(&self, persona: Option<&str>) -> Result<Arc<Seat>, Text> {
        let first = &self.first;
        let Some(name) = persona.filter(|name| *name != first.rules.persona.name) else { return Ok(first.clone()) };
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Folders::new(&first.project.places).find(name, first.rules.language).ok().flatten();
        // A persona whose file can no longer be read keeps its seat.
        if let Some(seat) = others.get(name)
            && now.is_none_or(|found| found.persona == seat.rules.persona)
        {
            return Ok(seat.clone());
        }
        let options = Options { persona: Some(name.to_owned()), ..self.options.clone() };
        let (project, rules) = first.project.with_persona(&options, &first.rules).map_err(failure_text)?;
        let model = first.model.clone().and_then(|model| {
            let other = model.replacement(&rules, &project).map_err(failure_text)?;
            Ok(other.map_or(model, Arc::new))
        });
        let seat = Arc::new(Seat { project, rules, model });
        others.insert(name.to_owned(), seat.clone());
        Ok(seat)
    }

    fn lengths(&self) -> MutexGuard<'_, HashMap<PathBuf, u64>> {
        self.lengths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the message of a failure for a client.
fn failure_text(failure: Failure) -> Text {
    failure.message().clone()
}

/// Returns the length of a file in bytes, or `None` if it cannot be stat'ed.
fn length(file: &Path) -> Option<u64> {
    std::fs::metadata(file).ok().map(|file| file.len())
}

impl Agents for Seats {
    fn tools(&self) -> Catalog {
        self.first.rules.toolbox.catalog()
    }

    fn personas(&self) -> Vec<Persona> {
        let Seat { project, rules, .. } = &*self.first;
        let mut personas = vec![rules.persona.clone()];
        let folders = Folders::new(&project.places);
        // Personas that cannot be read are left out.
        let found = folders.names().into_iter().filter_map(|name| folders.find(&name, rules.language).ok()?);
        personas.extend(found.map(|found| found.persona).filter(|persona| persona.name != rules.persona.name));
        personas
    }

    fn agent(
        &self,
        persona: Option<&str>,
        tool: Option<&str>,
        backend: Option<Arc<dyn Backend>>,
    ) -> Result<Agent, Text> {
        let seat = self.seat(persona)?;
        let (toolbox, learned, backend) = match backend {
            // The profile belongs to the configured backend, so it does not apply to one of the client.
            Some(backend) => (seat.new_tools(tool)?, Learned::default(), backend),
            None => seat.turn(tool)?,
        };
        let Seat { project, rules, model } = &*seat;
        let transcript = rules.new_transcript(project, model.as_deref().ok(), Store::runs).map_err(failure_text)?;
        rules.agent_with(toolbox, project, learned, backend, transcript).map_err(failure_text)
    }

    fn conversation(
        &self,
        persona: Option<&str>,
        tool: Option<&str>,
        file: Option<&Path>,
        backend: Option<Arc<dyn Backend>>,
    ) -> Result<Agent, Error> {
        let wrong = |failure: Failure| Error::new(failure_text(failure));
        let seat = self.seat(persona).map_err(Error::new)?;
        let Seat { project, rules, model } = &*seat;
        if !rules.records {
            return Err(Error::with_kind(
                ErrorKind::NotFound,
                text!(
                    "transcripts are switched off (--no-transcript, or the key sessions.transcripts), and \
                     conversations need them: use POST /api/agent, or switch them on"
                ),
            ));
        }
        let model = model.as_deref().ok();
        let is_client_backend = backend.is_some();
        let (toolbox, learned, backend) = match backend {
            Some(backend) => (seat.new_tools(tool).map_err(Error::new)?, Learned::default(), backend),
            None => seat.turn(tool).map_err(Error::new)?,
        };
        // With a backend from the client, the user transfers each reply, so the number of rounds needs no limit.
        let build = |transcript| -> Result<Agent, Error> {
            let mut agent = rules.agent_with(toolbox, project, learned, backend, Some(transcript)).map_err(wrong)?;
            if is_client_backend {
                agent.set_most_rounds(u64::MAX);
            }
            Ok(agent)
        };
        let Some(file) = file else {
            let transcript = rules.new_transcript(project, model, Store::folder).map_err(wrong)?;
            let transcript = transcript
                .ok_or_else(|| Error::new(text!("there is no folder for conversations: set HOME or XDG_STATE_HOME")))?;
            return build(transcript);
        };
        let transcript = Transcript::resume(file)?;
        // The open transcript is locked, so no other program changes the file from here on. The length applies to one
        // continuation; `ended` stores the next one.
        let is_unchanged = self.lengths().remove(file).is_some_and(|then| length(file) == Some(then));
        let note = (!is_unchanged).then(|| resumed_note(&transcript).into_string(language()));
        let mut agent = build(rules.continue_transcript(transcript, model))?;
        note.iter().for_each(|note| agent.note(note));
        Ok(agent)
    }

    fn instructions(&self) -> String {
        prompt::text(&self.first.project, &self.first.rules)
    }

    fn workspace(&self) -> Arc<Workspace> {
        self.first.project.workspace.clone()
    }

    fn model(&self) -> ModelFacts {
        let Seat { rules, model, .. } = &*self.first;
        let mut facts = ModelFacts::default();
        if let Ok(model) = model {
            facts.server = model.server.as_ref().map(|server| server.profile_key().0);
            facts.name = model.name();
        }
        facts.window = rules.window();
        facts.price = facts.name.as_deref().and_then(|model| rules.price_of(model));
        facts
    }

    fn begin(&self, title: &str) -> Option<OpenTurn> {
        let history = self.first.project.history.as_ref()?;
        Some(history.begin(&self.first.project.workspace, &redactor().text(title)))
    }

    fn undo(&self, redo: bool) -> Result<Option<Value>, Text> {
        // Files change without a turn, so every conversation gets the note that files may have changed.
        self.lengths().clear();
        undo::undo_one(&self.first.project, redo).map_err(failure_text)
    }

    fn turn_ended(&self, persona: Option<&str>, agent: Option<&mut Agent>) {
        if let (Ok(seat), Some(agent)) = (self.seat(persona), agent)
            && let Ok(model) = &seat.model
        {
            model.store_learned(agent);
            if let Some(file) = agent.recorded().map(|transcript| transcript.path().to_owned())
                && let Some(length) = length(&file)
            {
                let mut lengths = self.lengths();
                // Memory is bounded. Without its length, a conversation only gets the note about resuming.
                if lengths.len() >= MOST_LENGTHS {
                    lengths.clear();
                }
                lengths.insert(file, length);
            }
        }
        self.first.project.print_notes();
    }
}
