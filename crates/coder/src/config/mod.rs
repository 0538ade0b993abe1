//! The settings of one run, merged from the built-in values, the environment, the user's file, the project's file, the
//! persona and the command line.

mod kinds;
pub(crate) mod locale;
mod page;
pub(crate) mod places;
pub(crate) mod profile;
mod project;
mod read;
pub(crate) mod rules;
pub(crate) mod settings;
pub(crate) mod trust;
mod typed;
pub(crate) mod value;

pub(crate) use kinds::name_of;
pub(crate) use page::documented;

use crate::args::Options;
use crate::choices::{ResultFormat, Switch};
use crate::failure::Failure;
use crate::{shown, terminal, theme, thoughts};
use places::Places;
use read::Mistake;
use settings::Settings;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Deref;
use toolfence_agent::redact::Redactor;
use toolfence_protocol::format::{Format, Kind};
use toolfence_protocol::limits::LIMITS;
use toolfence_protocol::{Language, Limits, Text, text};
use toolfence_session::persona::Persona;
use value::{Layer, Merging, Source};

/// The layers before they are merged.
pub(crate) struct Layers {
    pub(crate) places: Places,
    pub(crate) project: ProjectFile,
    /// The layers from the weakest to the strongest, except the command line.
    files: Vec<(Source, Settings)>,
    typed: Settings,
}

/// The state of the project's settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectFile {
    /// The file does not exist.
    Absent,
    /// The file may only make rules stricter.
    Untrusted,
    /// The user has trusted the file in its present form.
    Trusted,
}

impl Layers {
    /// Reads the layers for these options, and sets the language of messages to that of the settings.
    pub(crate) fn read(options: &Options) -> Result<Layers, Failure> {
        let places = Places::find(&options.root)?;
        let mut layers =
            Layers { places, project: ProjectFile::Absent, files: Vec::new(), typed: typed::settings(options)? };
        layers.files.push((source(Layer::Environment, "", String::new()), locale::settings()));
        if let Some(path) = layers.places.user.clone()
            && let Some(text) = places::read_own(&path)?
        {
            layers.add(source(Layer::User, &path.display().to_string(), text), false)?;
        }
        // A mistake in the project's file is reported in the language of the user's file.
        shown::set_language(layers.merged().language());
        let path = layers.places.project.clone();
        if let Some(text) = places::read_of_project(&path)? {
            let trusted = trust::is_trusted(&layers.places, &path, &text);
            layers.project = if trusted { ProjectFile::Trusted } else { ProjectFile::Untrusted };
            layers.add(source(Layer::Project, &path.display().to_string(), text), trusted)?;
        }
        shown::set_language(layers.merged().language());
        Ok(layers)
    }

    fn add(&mut self, source: Source, trusted: bool) -> Result<(), Failure> {
        let settings = read::read(&source, trusted).map_err(|mistake: Mistake| {
            let message = mistake.located(&source);
            Failure::wrong_use(if mistake.untrusted {
                message.then(text!("Read the file and run `coder config trust`, or remove the key."))
            } else {
                message
            })
        })?;
        self.files.push((source, settings));
        Ok(())
    }

    /// Adds the settings of the persona to the layers.
    pub(crate) fn with_persona(mut self, persona: &Persona) -> Result<Layers, Failure> {
        let Some(text) = &persona.policy else { return Ok(self) };
        let name = text!("the persona {name}", name = &persona.name);
        let mut source = source(Layer::Persona, &name.to_string(), text.clone());
        let settings = read::read(&source, false).map_err(|mistake| {
            Failure::wrong_use(text!("{persona}: policy: {error}", persona = name, error = mistake.message))
        })?;
        // The text is dropped, because its line numbers are not those of the persona's file.
        source.text.clear();
        self.files.push((source, settings));
        Ok(self)
    }

    /// Returns the texts of these layers, the state of the project's file, and the trust records.
    pub(crate) fn sources(&self) -> Vec<String> {
        let files = self.files.iter().map(|(source, _)| source.text.clone());
        files.chain([format!("{:?}", self.project), trust::read_list(&self.places)]).collect()
    }

    /// Merges all layers.
    pub(crate) fn merged(&self) -> Config {
        let mut config = Config::built_in();
        self.files.iter().for_each(|(source, settings)| config.merge(source, settings));
        config.merge(&source(Layer::CommandLine, "", String::new()), &self.typed);
        config
    }
}

fn source(layer: Layer, name: &str, text: String) -> Source {
    Source { layer, name: name.into(), text }
}

/// The effective settings.
#[derive(Clone)]
pub(crate) struct Config {
    settings: Settings,
    /// Sentences for the user about values that have no effect.
    pub(crate) notes: Vec<Text>,
}

impl Deref for Config {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

impl Config {
    fn built_in() -> Config {
        let mut config = Config { settings: Settings::default(), notes: Vec::new() };
        let rows = config.settings.rows();
        let set = rows.iter().filter(|row| !row.default.is_empty());
        let text: String = set.map(|row| format!("{} = {}\n", row.key, row.default)).collect();
        let source = source(Layer::Default, "default", text);
        let built_in = read::read(&source, false).expect("a test reads the built-in settings");
        // Without a text, these values get no line numbers, which would refer to the generated text above.
        config.merge(&Source { text: String::new(), ..source }, &built_in);
        config
    }

    fn merge(&mut self, source: &Source, settings: &Settings) {
        self.settings.merge(settings, &mut Merging { source, notes: &mut self.notes });
    }

    /// Returns the settings of the command line over the built-in values, without those of any file.
    pub(crate) fn typed(options: &Options) -> Result<Config, Failure> {
        let mut config = Config::built_in();
        config.merge(&source(Layer::CommandLine, "", String::new()), &typed::settings(options)?);
        Ok(config)
    }

    /// Returns the settings of the policy.
    pub(crate) fn policy(&self) -> toolfence_policy::Settings {
        let (commands, paths) = (&self.commands, &self.paths);
        let mut settings = toolfence_policy::Settings::default().ask(self.ask.value().into());
        if self.outside.value() {
            settings = settings.allow_outside();
        }
        for rule in commands.allow.values() {
            settings = settings.allow_command(rule.words());
        }
        for rule in commands.deny.values() {
            settings = settings.deny_command(rule.words());
        }
        // Each layer narrows the list further: a command must be in the lists of all layers.
        settings = commands.only.by_layer().iter().fold(settings, |settings, rules| settings.narrow_commands(rules));
        settings = paths.allow.values().fold(settings, toolfence_policy::Settings::allow_path);
        settings = paths.deny.values().fold(settings, toolfence_policy::Settings::block_path);
        paths.only.by_layer().into_iter().fold(settings, toolfence_policy::Settings::narrow_paths)
    }

    fn language(&self) -> Language {
        self.lang.value().into()
    }

    /// Sets how later output is displayed: the colours, and whether long thoughts are folded.
    pub(crate) fn settle_looks(&self) {
        terminal::set_colours(self.color.value());
        theme::set(&name_of(&self.terminal.theme.value()));
        thoughts::set_folding(self.terminal.reasoning.value());
    }

    /// Returns all limits.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for limit in LIMITS {
            // The number was checked when it was read.
            let _ = self.settings.limits.get(limit.key).map(|number| limits.set(limit.key, &number.to_string()));
        }
        limits.in_force()
    }

    /// Returns the format of results for the model. Each call returns a new nonce.
    pub(crate) fn format(&self, language: Language) -> Format {
        let results = &self.results;
        let mut format = Format::default();
        format.kind = if results.format.value() == ResultFormat::Json { Kind::Json } else { Kind::Text };
        format.data = results.data.value() == Switch::On;
        // The keys of the hasher come from the randomness of the system.
        let nonce = || format!("{:016x}", RandomState::new().build_hasher().finish());
        format.nonce = (results.nonce.value() == Switch::On).then(nonce);
        format.break_tokens = results.break_tokens.value() == Switch::On;
        format.language = language;
        format.message_limit = usize::try_from(self.limits().message_bytes).unwrap_or(usize::MAX);
        format
    }
}

/// Returns the redactor for text that is stored or displayed. It also redacts the secrets in the environment.
pub(crate) fn redactor() -> Redactor {
    let own =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Redactor::new().environment(own)
}

#[cfg(test)]
mod tests;
