//! The model: the server that answers with its key, the backend that calls it, and its profile.

use crate::choices::BackendKind;
use crate::config::profile::{self, Known, Profile, Profiles, counting};
use crate::config::{Config, name_of};
use crate::failure::Failure;
use crate::program;
use crate::project::Project;
use crate::rules::Rules;
use crate::server::{Server, model_of};
use crate::terminal::tell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::http::Http;
use toolfence_agent::backend::{Adapted, Backend, Replay, Usage};
use toolfence_agent::transcript::Transcript;
use toolfence_protocol::grammar::{self, Form, GrammarOptions};
use toolfence_protocol::{Catalog, Learned, Text, text};
use toolfence_session::persona::Persona;

/// The model that answers.
pub(crate) struct Model {
    /// The server that answers; `None` for a recording.
    pub(crate) server: Option<Server>,
    /// The backend without a grammar, for a question that has no tools.
    pub(crate) bare: Arc<dyn Backend>,
    /// How the server takes a grammar; `None` if it gets none.
    grammar: Option<Form>,
    /// Whether a system message does not reach the model.
    loses_system: bool,
    /// What the replies of the server have shown, and where it is stored; `None` without a server or a state folder.
    profile: Option<Mutex<Profile>>,
    /// What the settings named when the model was opened.
    choice: Choice,
}

/// The model and the server that the settings name, before any server is asked.
#[derive(PartialEq)]
struct Choice {
    backend: BackendKind,
    model: Option<String>,
    place: Option<(String, String)>,
}

impl Choice {
    fn of(config: &Config, persona: &Persona) -> Result<Choice, Failure> {
        let place = Server::settled(config, persona)?.as_ref().map(Server::place);
        Ok(Choice { backend: config.backend.value(), model: model_of(config, persona), place })
    }
}

impl Model {
    /// Finds the server that the settings name, or one on this machine, with its key and its profile.
    pub(crate) fn open(config: &Config, persona: &Persona, project: &Project) -> Result<Model, Failure> {
        let choice = Choice::of(config, persona)?;
        let server = Server::of(config, persona)?;
        server.iter().filter_map(|server| server.chosen.as_ref()).for_each(tell);
        let bare: Arc<dyn Backend> = match (choice.backend, &server) {
            (BackendKind::Replay, _) => Arc::new(replay(config)?),
            (BackendKind::Command, _) => program::backend(config, choice.model.clone(), project.workspace.root_path())?,
            (_, Some(server)) => Arc::new(Http::new(server.options()).map_err(Failure::wrong_use)?),
            (_, None) => {
                return Err(Failure::wrong_use(text!(
                    "the provider backend needs a model: give --model, such as gpt-4o-mini"
                )));
            }
        };
        let profile = match (project.places.as_ref().and_then(Profiles::of), server.as_ref().map(Server::place)) {
            (Some(profiles), Some((base_url, model))) => Some(Profile::open(profiles, base_url, model, config)),
            _ => None,
        };
        let learned = profile.as_ref().map_or_else(|| counting(Learned::default(), config), Profile::learned);
        let loses_system = profile.as_ref().and_then(Profile::known).is_some_and(Known::loses_system);
        Ok(Model { server, bare, grammar: learned.grammar, loses_system, profile: profile.map(Mutex::new), choice })
    }

    /// Opens the model of these rules; `None` if it is this one. Then a recording continues where it is, and a program that keeps the
    /// conversation does not start again.
    pub(crate) fn replacement(&self, rules: &Rules, project: &Project) -> Result<Option<Model>, Failure> {
        match self.choice == Choice::of(&rules.config, &rules.persona)? {
            true => Ok(None),
            false => Model::open(&rules.config, &rules.persona, project).map(Some),
        }
    }

    /// The backend for turns with these tools. Its grammar has no other tools: with more the model would call tools that it does not
    /// have.
    pub(crate) fn backend(&self, tools: &Catalog) -> Arc<dyn Backend> {
        let mut adapted = Adapted::new(Arc::clone(&self.bare));
        if let Some(form) = self.grammar {
            let (member, value) = form.member(&grammar(tools));
            adapted = adapted.member(member, value);
        }
        if self.loses_system {
            adapted = adapted.without_system();
        }
        Arc::new(adapted)
    }

    /// Returns an agent of this model with the tools of the rules. With a transcript it continues that conversation.
    pub(crate) fn agent(
        &self,
        project: &Project,
        rules: &Rules,
        transcript: Option<Transcript>,
    ) -> Result<Agent, Failure> {
        let backend = self.backend(&rules.toolbox.catalog());
        rules.agent(project, self.learned(), backend, transcript)
    }

    /// What earlier replies have shown.
    pub(crate) fn learned(&self) -> Learned {
        self.profile().map(|profile| profile.learned()).unwrap_or_default()
    }

    /// Stores what the replies of this agent have shown.
    pub(crate) fn store_learned(&self, agent: &Agent) {
        if let Some(mut profile) = self.profile() {
            profile.keep(agent.session().learned());
        }
    }

    fn profile(&self) -> Option<MutexGuard<'_, Profile>> {
        self.profile.as_ref().map(|profile| profile.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The name of the model; without one, the kind of the backend.
    pub(crate) fn name(&self) -> Option<String> {
        match &self.server {
            Some(server) => Some(server.model().to_owned()),
            None => name_without_server(self.choice.backend, self.choice.model.clone()),
        }
    }

    /// The line that names the model and its server when a conversation begins; `None` if it was printed when the server was found.
    pub(crate) fn introduction(&self) -> Option<Text> {
        let server = self.server.as_ref().filter(|server| server.chosen.is_none())?;
        let (url, model) = server.place();
        Some(match url.strip_prefix(program::PLACE) {
            Some(program) if *program == model => text!("answered by the program {program}", program),
            Some(program) => text!("answered by {model}, through the program {program}", model, program),
            None => text!("answered by {model} at {url}", model, url = profile::address(&url)),
        })
    }

    /// The cost of replies; also in money if the settings have the price of the model.
    pub(crate) fn cost(&self, rules: &Rules, usage: &Usage) -> Text {
        let price = self.name().and_then(|model| rules.price(&model, usage));
        describe_usage(usage, price)
    }
}

/// The name of the model before a server is known; without one, the kind of the backend.
pub(crate) fn name_without_server(backend: BackendKind, model: Option<String>) -> Option<String> {
    model.or_else(|| (backend != BackendKind::Http).then(|| name_of(&backend)))
}

fn replay(config: &Config) -> Result<Replay, Failure> {
    let path = config.replies.file().ok_or_else(|| {
        Failure::wrong_use(text!("the replay backend needs its recorded replies: give --replies FILE"))
    })?;
    let wrong = |error: Text| {
        Failure::wrong_use(text!("cannot read {path}: {error}", path = path.display().to_string(), error))
    };
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(Text::from(&error)))?;
    Replay::parse(&text).map_err(|error| wrong(error.text()))
}

/// The grammar of replies with these tools. It does not limit the length of a file: the server limits the reply.
pub(crate) fn grammar(tools: &Catalog) -> String {
    let mut options = GrammarOptions::default();
    (options.endless, options.most_calls, options.most_items) = (true, 32, 64);
    grammar::gbnf(tools, &options)
}

/// Describes the tokens of replies, and their cost in money if prices are known.
pub(crate) fn describe_usage(usage: &Usage, price: Option<f64>) -> Text {
    let mut sentence = text!(
        "{replies} {replies|reply|replies}: {input} tokens in, {cached} of them cached, {output} out",
        replies = usage.replies,
        input = usage.input,
        cached = usage.cached,
        output = usage.output
    );
    if usage.estimated > 0 {
        sentence.push(text!("; {count} {count|reply is|replies are} an estimate", count = usage.estimated));
    }
    if let Some(price) = price {
        sentence.push(text!("; cost {price}", price = format!("{price:.4}")));
    }
    sentence
}
