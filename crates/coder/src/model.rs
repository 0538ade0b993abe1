//! The model: its server with the key, its backend, and its profile.

use crate::choices::BackendKind;
use crate::config::profile::{self, Profile, Profiles, StoredProfile, counting};
use crate::config::{Config, name_of};
use crate::failure::Failure;
use crate::program;
use crate::project::Project;
use crate::rules::Rules;
use crate::server::{Server, model_of};
use crate::terminal::print_note;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::http::Http;
use toolfence_agent::backend::{Adapted, Backend, Replay, Usage};
use toolfence_agent::transcript::Transcript;
use toolfence_protocol::grammar::{self, Form, GrammarOptions};
use toolfence_protocol::{Catalog, Learned, Text, text};
use toolfence_session::persona::Persona;

/// The open model.
pub(crate) struct Model {
    /// The server; `None` for recorded replies.
    pub(crate) server: Option<Server>,
    /// The backend without a grammar, for requests without tools.
    pub(crate) bare: Arc<dyn Backend>,
    /// How the server accepts a grammar; `None` if requests have none.
    grammar: Option<Form>,
    /// Whether the server does not pass system messages to the model.
    loses_system: bool,
    /// The observations from earlier replies, with their storage; `None` without a server or a state folder.
    profile: Option<Mutex<Profile>>,
    /// The settings with which the model was opened.
    choice: Choice,
}

/// The model and the server that the settings name. No server is contacted to determine them.
#[derive(PartialEq)]
struct Choice {
    backend: BackendKind,
    model: Option<String>,
    place: Option<(String, String)>,
}

impl Choice {
    fn read(config: &Config, persona: &Persona) -> Result<Choice, Failure> {
        let place = Server::settled(config, persona)?.as_ref().map(Server::profile_key);
        Ok(Choice { backend: config.backend.value(), model: model_of(config, persona), place })
    }
}

impl Model {
    /// Opens the server that the settings name, or one on this machine, with its key and its profile.
    pub(crate) fn open(config: &Config, persona: &Persona, project: &Project) -> Result<Model, Failure> {
        let choice = Choice::read(config, persona)?;
        let server = Server::find(config, persona)?;
        server.iter().filter_map(|server| server.chosen.as_ref()).for_each(print_note);
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
        let profile = match (Profiles::open_folder(&project.places), server.as_ref().map(Server::profile_key)) {
            (Some(profiles), Some((base_url, model))) => Some(Profile::open(profiles, base_url, model, config)),
            _ => None,
        };
        // Without a profile, a grammar that the settings demand still applies.
        let learned = profile.as_ref().map_or_else(|| counting(Learned::default(), config), Profile::learned);
        let loses_system = profile.as_ref().and_then(Profile::known).is_some_and(StoredProfile::loses_system);
        Ok(Model { server, bare, grammar: learned.grammar, loses_system, profile: profile.map(Mutex::new), choice })
    }

    /// Opens the model of these rules, or returns `None` if this is the same one. Opening it again would restart a
    /// recording, or a program that keeps the conversation.
    pub(crate) fn replacement(&self, rules: &Rules, project: &Project) -> Result<Option<Model>, Failure> {
        match self.choice == Choice::read(&rules.config, &rules.persona)? {
            true => Ok(None),
            false => Model::open(&rules.config, &rules.persona, project).map(Some),
        }
    }

    /// Returns the backend for turns with these tools. Its grammar permits only these tools, because the model would
    /// otherwise call others.
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
        rules.agent(project, self.profile_facts(), backend, transcript)
    }

    /// Returns the observations from earlier replies.
    pub(crate) fn profile_facts(&self) -> Learned {
        self.profile().map(|profile| profile.learned()).unwrap_or_default()
    }

    /// Stores the observations from the replies of this agent.
    pub(crate) fn store_learned(&self, agent: &Agent) {
        if let Some(mut profile) = self.profile() {
            profile.keep(agent.session().learned());
        }
    }

    fn profile(&self) -> Option<MutexGuard<'_, Profile>> {
        self.profile.as_ref().map(|profile| profile.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the name of the model, or the kind of the backend if it has no name.
    pub(crate) fn name(&self) -> Option<String> {
        match &self.server {
            Some(server) => Some(server.model().to_owned()),
            None => name_without_server(self.choice.backend, self.choice.model.clone()),
        }
    }

    /// Describes the model and its server at the beginning of a conversation; `None` if a note about the choice was
    /// printed already.
    pub(crate) fn introduction(&self) -> Option<Text> {
        let server = self.server.as_ref().filter(|server| server.chosen.is_none())?;
        let (url, model) = server.profile_key();
        Some(match url.strip_prefix(program::PLACE) {
            Some(program) if *program == model => text!("answered by the program {program}", program),
            Some(program) => text!("answered by {model}, through the program {program}", model, program),
            None => text!("answered by {model} at {url}", model, url = profile::address(&url)),
        })
    }

    /// Describes the cost of replies, in money if the settings contain the price of the model.
    pub(crate) fn cost(&self, rules: &Rules, usage: &Usage) -> Text {
        let price = self.name().and_then(|model| rules.price(&model, usage));
        describe_usage(usage, price)
    }
}

/// Returns the name of the model before a server is known, or the kind of the backend if no model is named.
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

/// Returns the grammar of replies with these tools. It does not limit the length of a file, because the server limits
/// the reply.
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
