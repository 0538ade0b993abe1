//! What is settled for one run: the person's file, the project's file, the persona and the command line, put together.
//!
//! What the keys mean and how layers are merged is the library's; this module knows files and options.

pub(crate) mod keys;
pub(crate) mod locale;
pub(crate) mod places;
pub(crate) mod profile;
pub(crate) mod trust;
mod typed;

use crate::args::Options;
use crate::choices::Lang;
use crate::failure::Failure;
use crate::{messages, shown, terminal, theme, thoughts};
use clap::ValueEnum;
use places::Places;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use toolfence_agent::redact::Redactor;
use toolfence_policy::settings::{Entry, Layer, Merged, Mistake, read};
use toolfence_protocol::format::{Format, Kind};
use toolfence_protocol::limits::LIMITS;
use toolfence_protocol::{Language, Limits};
use toolfence_session::persona::Persona;

/// The layers as they were read, before they are put together.
pub(crate) struct Layers {
    pub(crate) places: Places,
    pub(crate) project: Project,
    user: Vec<Entry>,
    of_project: Vec<Entry>,
    of_persona: Vec<Entry>,
    typed: Vec<Entry>,
}

/// What is there of a project's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Project {
    /// Nothing.
    Absent,
    /// A file that may only tighten.
    Untrusted,
    /// A file that the person has trusted as it is.
    Trusted,
}

impl Layers {
    /// Those of these options. From here on the program speaks the language that they name.
    pub(crate) fn read(options: &Options) -> Result<Layers, Failure> {
        let places = Places::of(&options.root)?;
        let typed = typed::entries(options)?;
        let (project, of_project, of_persona) = (Project::Absent, Vec::new(), Vec::new());
        let mut layers = Layers { places, project, user: Vec::new(), of_project, of_persona, typed };
        if let Some(path) = &layers.places.user {
            layers.user = own(path)?;
        }
        // What is wrong with the project's file is said in the language of the person's own.
        shown::set_language(layers.merged().language());
        (layers.project, layers.of_project) = of_project_file(&layers.places)?;
        shown::set_language(layers.merged().language());
        Ok(layers)
    }

    /// These layers with what the persona asks for.
    pub(crate) fn with_persona(mut self, persona: &Persona) -> Result<Layers, Failure> {
        let Some(text) = &persona.policy else { return Ok(self) };
        let name = messages::the_persona(&persona.name);
        let entries = read(text, &name.to_string(), Layer::Persona, &keys::of_policy()).map_err(|mistake| {
            // Its lines are not those of the persona's file.
            Failure::wrong_use(messages::in_its_policy(name, mistake.message))
        })?;
        self.of_persona = entries;
        self.of_persona.iter_mut().for_each(|entry| entry.origin.line = None);
        Ok(self)
    }

    /// All of them, put together.
    pub(crate) fn merged(&self) -> Config {
        let layers = [&self.user, &self.of_project, &self.of_persona, &self.typed];
        let environment = Vec::from_iter(locale::entry());
        Config { merged: Merged::of([environment].into_iter().chain(layers.map(Clone::clone))) }
    }
}

fn own(path: &Path) -> Result<Vec<Entry>, Failure> {
    let Some(text) = places::read_own(path)? else { return Ok(Vec::new()) };
    read(&text, &path.display().to_string(), Layer::User, &keys::all()).map_err(wrong)
}

fn of_project_file(places: &Places) -> Result<(Project, Vec<Entry>), Failure> {
    let Some(text) = places::read_of_project(&places.project)? else { return Ok((Project::Absent, Vec::new())) };
    let trusted = trust::holds(places, &places.project, &text);
    let name = places.project.display().to_string();
    let entries = read(&text, &name, Layer::Project { trusted }, &keys::all()).map_err(wrong)?;
    Ok((if trusted { Project::Trusted } else { Project::Untrusted }, entries))
}

fn wrong(mistake: Mistake) -> Failure {
    let said = mistake.text();
    Failure::wrong_use(if mistake.untrusted { said.then(messages::trust_or_take_out()) } else { said })
}

/// What counts.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) merged: Merged,
}

impl Config {
    /// What was typed, and nothing else.
    pub(crate) fn typed(options: &Options) -> Result<Config, Failure> {
        Ok(Config { merged: Merged::of([typed::entries(options)?]) })
    }

    /// The value of a key that takes a word or a text: what is set, or the default where there is one.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        let default = || keys::named(key).map(|key| key.default.trim_matches('"')).filter(|text| !text.is_empty());
        self.merged.text(key).or_else(default)
    }

    /// The language of all that is said.
    fn language(&self) -> Language {
        self.choice::<Lang>("lang").map(Language::from).unwrap_or_default()
    }

    /// Settles how everything looks on a terminal from here on: whether there are colours, and which.
    pub(crate) fn settle_looks(&self) -> Result<(), Failure> {
        terminal::set_colours(self.choice("color")?);
        theme::settle(self.text("terminal.theme"));
        thoughts::settle(self.text("terminal.reasoning"));
        Ok(())
    }

    /// Whether a key is set, and then whether by what may only tighten it: a project or a persona.
    pub(crate) fn set(&self, key: &str) -> Option<bool> {
        self.merged.text(key).map(|_| self.merged.origin(key).layer.only_tightens())
    }

    /// The value of a key that takes a number.
    pub(crate) fn count(&self, key: &str) -> u64 {
        self.text(key).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// How much there may be of everything.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for limit in LIMITS {
            // What was read was looked at then.
            let _ = self.text(limit.setting).map(|number| limits.set(limit.key, number));
        }
        limits.in_force()
    }

    /// How results are written for the model. A nonce is another one each time that this is asked.
    pub(crate) fn format(&self, language: Language) -> Format {
        let on = |key: &str| self.text(key) == Some("on");
        let mut format = Format::default();
        format.kind = if self.text("results.format") == Some("json") { Kind::Json } else { Kind::Text };
        format.data = on("results.data");
        // The system's randomness is in the keys of the hasher.
        format.nonce = on("results.nonce").then(|| format!("{:016x}", RandomState::new().build_hasher().finish()));
        format.break_tokens = on("results.break_tokens");
        format.language = language;
        format.message_limit = usize::try_from(self.limits().message_bytes).unwrap_or(usize::MAX);
        format
    }

    /// The value of a key that takes a word, as the command line has it.
    pub(crate) fn choice<T: ValueEnum>(&self, key: &str) -> Result<T, Failure> {
        let word = self.text(key).unwrap_or_default();
        T::from_str(word, true).map_err(|error| Failure::wrong_use(messages::located(key, error)))
    }

    /// The value of a key that takes a file: one that a file of settings names is looked for beside it.
    pub(crate) fn file(&self, key: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.text(key)?);
        Some(self.beside(key).map_or_else(|| path.clone(), |folder| folder.join(&path)))
    }

    /// The folder of the person's file, where that sets a key.
    pub(crate) fn beside(&self, key: &str) -> Option<PathBuf> {
        let origin = self.merged.origin(key);
        let file = Some(origin).filter(|origin| origin.layer == Layer::User)?;
        Path::new(&*file.name).parent().map(Path::to_owned)
    }
}

/// Takes secrets out of what is written down. It knows those of the environment too.
pub(crate) fn redactor() -> Redactor {
    let own =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Redactor::new().environment(own)
}
