//! Profiles store what replies and probes have shown about backends: one file for each server and model, in the user's
//! state folder.
//!
//! A profile only decides how the program talks to a backend and reads its replies. It never affects what may run.
//! Settings and options take precedence over it.

use super::Config;
use super::places::{Places, read_own};
use super::trust::hash;
use crate::choices::Grammar;
use crate::failure::Failure;
use crate::terminal::print_note;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use toolfence_agent::probe::{Answers, GrammarAnswer, ProtocolAnswer};
use toolfence_protocol::grammar::Form;
use toolfence_protocol::parse::Reasoning;
use toolfence_protocol::{Dialect, Learned, Text, text};

/// The folder of profiles in the state folder.
const FOLDER: &str = "profiles";

/// The version of the file format. Files of other versions are left unchanged.
const VERSION: u32 = 1;

/// The source of a fact: a reply closed a reasoning section that it had not opened.
const CLOSING_TAG: &str = "closing_tag";

/// The source of a fact: three calls in a dialect succeeded.
const THREE_CALLS: &str = "three_calls";

/// The source of a fact: the answer to a probe.
const PROBE: &str = "probe";

/// The value of `reasoning` if the backend opens the section itself. Replies show this too.
const OPENED: &str = "opened";

/// The value of `reasoning` if the reasoning is in a separate field.
const FIELD: &str = "field";

/// The value of `reasoning` if the reasoning is between two tags.
const TAGS: &str = "tags";

/// The value of a fact if the backend lacks the feature.
const NONE: &str = "none";

/// The value of a fact that is true.
const YES: &str = "yes";

/// The value of `system` if system messages do not reach the model.
const LOST: &str = "lost";

/// The content of a profile file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredProfile {
    v: u32,
    pub(crate) base_url: String,
    pub(crate) model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dialect: Option<Fact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning: Option<Fact>,
    /// The form of the grammar that the server obeys, or [`NONE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grammar: Option<Fact>,
    /// Set to [`YES`] if the model reasons in a separate field while the grammar constrains its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reasons_beside_grammar: Option<Fact>,
    /// Set to [`LOST`] if system messages do not reach the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<Fact>,
}

/// A fact about a backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fact {
    pub(crate) value: String,
    /// The time at which the fact was learned, in milliseconds since the Unix epoch.
    pub(crate) at: u64,
    /// The source of the fact, such as [`PROBE`].
    pub(crate) how: String,
}

impl Fact {
    fn new(value: &str, how: &str) -> Fact {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let at = since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        Fact { value: value.to_owned(), at, how: how.to_owned() }
    }

    /// Describes the source of the fact for the user.
    pub(crate) fn shown_by(&self) -> Text {
        match self.how.as_str() {
            CLOSING_TAG => text!("a reply closed a reasoning section that it had not opened"),
            THREE_CALLS => text!("three calls of it succeeded"),
            PROBE => text!("the backend was asked"),
            other => other.into(),
        }
    }
}

impl StoredProfile {
    fn learned(&self) -> Learned {
        let mut learned = Learned::default();
        let marks = self.reasoning.as_ref().map(|fact| fact.value.as_str());
        learned.reasoning = match marks {
            Some(OPENED) => Reasoning::Opened,
            Some(NONE | FIELD | TAGS) => Reasoning::Known,
            _ => Reasoning::Unknown,
        };
        // The grammar does not allow reasoning in the text, and many servers apply it to a separate field of reasoning
        // too.
        let form = self.grammar.as_ref().and_then(|fact| Form::from_name(&fact.value));
        learned.grammar = form.filter(|_| match marks {
            Some(NONE) => true,
            Some(FIELD) => self.reasons_beside_grammar.as_ref().is_some_and(|fact| fact.value == YES),
            _ => false,
        });
        // A name from a later version is ignored.
        let named = |fact: &Fact| Dialect::ALL.iter().copied().find(|dialect| dialect.name() == fact.value);
        learned.dialect = self.dialect.as_ref().and_then(named);
        learned
    }

    /// Returns all facts with their names, in the order of display.
    pub(crate) fn facts(&self) -> impl Iterator<Item = (&'static str, &Fact)> {
        let single = [
            ("dialect", &self.dialect),
            ("reasoning", &self.reasoning),
            ("grammar", &self.grammar),
            ("reasons_beside_grammar", &self.reasons_beside_grammar),
            ("system", &self.system),
        ];
        single.into_iter().filter_map(|(name, fact)| Some((name, fact.as_ref()?)))
    }

    fn is_empty(&self) -> bool {
        self.facts().next().is_none()
    }

    /// Returns `true` if system messages do not reach the model.
    pub(crate) fn loses_system(&self) -> bool {
        self.system.as_ref().is_some_and(|fact| fact.value == LOST)
    }

    /// Stores the answers to a probe. A fact without an answer is kept.
    fn take(&mut self, answers: &Answers) {
        let fact = |value: &str| Some(Fact::new(value, PROBE));
        if let Some(marks) = answers.reasoning.name() {
            self.reasoning = fact(marks);
        }
        if let ProtocolAnswer::Dialect { dialect, .. } = answers.protocol {
            self.dialect = fact(dialect.name());
        }
        if let ProtocolAnswer::Follows { system_message } | ProtocolAnswer::Dialect { system_message, .. } =
            answers.protocol
        {
            self.system = if system_message { None } else { fact(LOST) };
        }
        let (form, reasons) = match answers.grammar {
            GrammarAnswer::Obeys { form, reasons } => (form.name(), reasons),
            GrammarAnswer::FailsOnTools { .. } | GrammarAnswer::Ignores => (NONE, false),
            _ => return,
        };
        self.grammar = fact(form);
        self.reasons_beside_grammar = if reasons { fact(YES) } else { None };
    }

    /// Stores the values that differ between `before` and `now`. The other facts are kept, because another process may
    /// have stored them meanwhile.
    fn change(&mut self, before: Learned, now: Learned) {
        if before.reasoning != now.reasoning {
            self.reasoning = (now.reasoning == Reasoning::Opened).then(|| Fact::new(OPENED, CLOSING_TAG));
        }
        if before.dialect != now.dialect {
            self.dialect = now.dialect.map(|dialect| Fact::new(dialect.name(), THREE_CALLS));
        }
    }
}

/// The profiles of all backends.
#[derive(Debug, Clone)]
pub(crate) struct Profiles(PathBuf);

impl Profiles {
    /// Returns the profiles in the state folder; `None` without a home folder.
    pub(crate) fn open_folder(places: &Places) -> Option<Profiles> {
        places.state.as_ref().map(|state| Profiles(state.join(FOLDER)))
    }

    /// Returns the profile of a model on a server. An unreadable file is reported and renamed, so that it is reported
    /// only once.
    pub(crate) fn read_profile(&self, base_url: &str, model: &str) -> Option<StoredProfile> {
        let path = self.path(base_url, model);
        self.read(&path).unwrap_or_else(|why| {
            print_note(&text!(
                "the profile of this backend cannot be read and is not used: {path}: {why}",
                path = path.display().to_string(),
                why
            ));
            None
        })
    }

    /// Returns the profile of a model on a server in the form that sessions use.
    pub(crate) fn learned(&self, base_url: &str, model: &str) -> Learned {
        self.read_profile(base_url, model).map(|known| known.learned()).unwrap_or_default()
    }

    /// Stores what was learned since `before`.
    pub(crate) fn store(&self, base_url: &str, model: &str, before: Learned, now: Learned) -> Result<(), Text> {
        self.update(base_url, model, |known| known.change(before, now))
    }

    /// Stores the answers to a probe.
    pub(crate) fn store_answers(&self, base_url: &str, model: &str, answers: &Answers) -> Result<(), Text> {
        self.update(base_url, model, |known| known.take(answers))
    }

    fn update(&self, base_url: &str, model: &str, change: impl FnOnce(&mut StoredProfile)) -> Result<(), Text> {
        // The lock covers reading and writing, so that two processes do not lose each other's facts.
        let _locked = self.lock().map_err(|error| self.unwritable(&error))?;
        let path = self.path(base_url, model);
        let fresh = || StoredProfile {
            v: VERSION,
            base_url: address(base_url),
            model: model.to_owned(),
            dialect: None,
            reasoning: None,
            grammar: None,
            reasons_beside_grammar: None,
            system: None,
        };
        let mut known = self.read(&path)?.unwrap_or_else(fresh);
        change(&mut known);
        let written = if known.is_empty() { removed(&path).map(drop) } else { self.write(&path, &known) };
        written.map_err(|error| self.unwritable(&error))
    }

    /// Deletes the profile of a model on a server. Returns whether there was one.
    pub(crate) fn forget(&self, base_url: &str, model: &str) -> Result<bool, Failure> {
        removed(&self.path(base_url, model)).map_err(|error| Failure::broken(self.unwritable(&error)))
    }

    /// Returns all profiles, ordered by server and model. A file whose name does not match its content is ignored.
    pub(crate) fn all(&self) -> Vec<StoredProfile> {
        let files = std::fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.path());
        let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
        let read = files.filter_map(|path| Some((self.read(&path).ok()??, path)));
        let own = read.filter(|(known, path)| *path == self.path(&known.base_url, &known.model));
        let mut all: Vec<StoredProfile> = own.map(|(known, _)| known).collect();
        all.sort_by(|a, b| (&a.base_url, &a.model).cmp(&(&b.base_url, &b.model)));
        all
    }

    /// Returns the models of a server that have a profile.
    pub(crate) fn models(&self, base_url: &str) -> Vec<String> {
        let base_url = address(base_url);
        self.all().into_iter().filter(|known| known.base_url == base_url).map(|known| known.model).collect()
    }

    fn path(&self, base_url: &str, model: &str) -> PathBuf {
        // URLs and names of models may have any characters and any length, so a hash names the file.
        let name = hash(&format!("{}\n{model}", address(base_url)));
        self.0.join(format!("{}.json", &name[..32]))
    }

    fn read(&self, path: &Path) -> Result<Option<StoredProfile>, Text> {
        let Some(text) = read_own(path).map_err(|failure| failure.message().clone())? else { return Ok(None) };
        match serde_json::from_str::<StoredProfile>(&text) {
            Ok(known) if known.v == VERSION => Ok(Some(known)),
            // A later version of this program may still use this file, so it is not renamed.
            Ok(known) => Err(text!("it has version {version}, and this program reads version 1", version = known.v)),
            Err(error) => {
                // If the rename fails, the file is reported again next time.
                let _ = std::fs::rename(path, path.with_extension("broken"));
                Err(error.to_string().into())
            }
        }
    }

    /// Writes the file atomically, so that readers need no lock.
    fn write(&self, path: &Path, known: &StoredProfile) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
        serde_json::to_writer(&mut file, known)?;
        file.write_all(b"\n")?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Returns a lock that is held while a profile is read, changed and written, so that two processes do not overwrite
    /// each other's results.
    fn lock(&self) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(self.0.join("lock"))?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    fn unwritable(&self, error: &io::Error) -> Text {
        text!("cannot write to {folder}: {error}", folder = self.0.display().to_string(), error = Text::from(error))
    }
}

fn removed(path: &Path) -> io::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Normalizes the URL of a server, without user and password, which must not be stored.
pub(crate) fn address(base_url: &str) -> String {
    let plain = base_url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = plain.split_once("://").unwrap_or(("http", plain));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // A password may contain `@`, so the host follows the last one.
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{}://{}{}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase(), path.trim_end_matches('/'))
}

/// The profile of the backend of this run.
#[derive(Debug)]
pub(crate) struct Profile {
    profiles: Profiles,
    base_url: String,
    model: String,
    /// The stored profile; `None` if there is no file.
    known: Option<StoredProfile>,
    /// The values that the session started with, and those stored since.
    last: Learned,
    /// Whether a failure to store was reported.
    reported: bool,
}

impl Profile {
    /// Opens a profile. Values that the settings define are not taken from it.
    pub(crate) fn open(profiles: Profiles, base_url: String, model: String, config: &Config) -> Profile {
        let known = profiles.read_profile(&base_url, &model);
        let mut last = counting(known.as_ref().map(StoredProfile::learned).unwrap_or_default(), config);
        // A session runs no call before the end of its reply, so the answer to a probe gains nothing here, and a reply
        // that contradicts it would be misread.
        if last.reasoning == Reasoning::Known {
            last.reasoning = Reasoning::Unknown;
        }
        Profile { profiles, base_url, model, known, last, reported: false }
    }

    /// Returns the stored profile of the backend.
    pub(crate) fn known(&self) -> Option<&StoredProfile> {
        self.known.as_ref()
    }

    /// Returns what a session should know before its first reply.
    pub(crate) fn learned(&self) -> Learned {
        self.last
    }

    /// Stores what a session has learned so far. A failure does not stop the work and is reported once.
    pub(crate) fn keep(&mut self, now: Learned) {
        if now == self.last {
            return;
        }
        match self.profiles.store(&self.base_url, &self.model, self.last, now) {
            Ok(()) => self.last = now,
            Err(why) if !self.reported => {
                self.reported = true;
                print_note(&text!("the profile of this backend cannot be saved: {why}", why));
            }
            Err(_) => {}
        }
    }
}

/// Removes the parts of a profile that the settings override.
pub(crate) fn counting(learned: Learned, config: &Config) -> Learned {
    let mut counting = learned;
    if config.reasoning.is_set() {
        counting.reasoning = Reasoning::Unknown;
    }
    counting.grammar = match config.grammar.value() {
        Grammar::Off => None,
        // Without a known form, that of llama.cpp is used.
        Grammar::On => Some(learned.grammar.unwrap_or(Form::Grammar)),
        Grammar::Auto => learned.grammar,
    };
    counting.dialect = learned.dialect.filter(|_| !config.dialects.is_set());
    counting
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_agent::probe::{ReasoningAnswer, StreamAnswer, TextAnswer};

    #[test]
    fn a_server_has_one_spelling_and_no_password() {
        for (url, want) in [
            ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
            ("HTTP://LocalHost:8080/v1//", "http://localhost:8080/v1"),
            ("https://user:secret@Gateway.example/V1?key=secret#x", "https://gateway.example/V1"),
            ("https://a@b@host", "https://host"),
        ] {
            assert_eq!(address(url), want);
        }
    }

    fn learned_of(opened: bool, dialect: Option<Dialect>) -> Learned {
        let mut learned = Learned::default();
        learned.reasoning = if opened { Reasoning::Opened } else { Reasoning::Unknown };
        learned.dialect = dialect;
        learned
    }

    /// Two runs begin with the same values and learn different ones.
    #[test]
    fn two_runs_at_a_time_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let profiles = Profiles(folder.path().join("profiles"));
        let (url, nothing, llama) = ("http://h/v1", learned_of(false, None), Some(Dialect::Llama));
        std::thread::scope(|scope| {
            let opened = || (0..50).for_each(|_| profiles.store(url, "m", nothing, learned_of(true, None)).unwrap());
            let dialect = || (0..50).for_each(|_| profiles.store(url, "m", nothing, learned_of(false, llama)).unwrap());
            scope.spawn(opened);
            scope.spawn(dialect);
        });
        assert_eq!(profiles.learned(url, "m"), learned_of(true, Some(Dialect::Llama)));
        assert_eq!(profiles.learned(url, "other"), nothing);
        // Removing one value keeps the other.
        profiles.store(url, "m", learned_of(true, None), nothing).unwrap();
        assert_eq!(profiles.learned(url, "m"), learned_of(false, Some(Dialect::Llama)));
        assert_eq!(profiles.all().len(), 1);
        assert!(profiles.forget(url, "m").unwrap() && !profiles.forget(url, "m").unwrap());
        assert!(profiles.all().is_empty());
    }

    fn answers_of(reasoning: ReasoningAnswer, grammar: GrammarAnswer, system_message: bool) -> Answers {
        Answers {
            stream: StreamAnswer::AtOnce,
            protocol: ProtocolAnswer::Follows { system_message },
            reasoning,
            text: TextAnswer::Unchanged,
            grammar,
        }
    }

    #[test]
    fn the_answers_of_a_probe_are_kept_until_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let profiles = Profiles(folder.path().join("profiles"));
        let store = |reasoning, form, reasons, system_message| {
            let answers = answers_of(reasoning, GrammarAnswer::Obeys { form, reasons }, system_message);
            profiles.store_answers("http://h/v1", "m", &answers).unwrap();
            profiles.read_profile("http://h/v1", "m").unwrap()
        };
        let known = store(ReasoningAnswer::None, Form::Structured, false, false);
        let learned = known.learned();
        assert_eq!((learned.reasoning, learned.grammar), (Reasoning::Known, Some(Form::Structured)));
        assert_eq!((known.loses_system(), known.facts().count()), (true, 3));
        // A model that reasons in its text gets no grammar.
        let known = store(ReasoningAnswer::Tags, Form::Structured, false, true);
        assert_eq!((known.learned().grammar, known.loses_system()), (None, false));
        // If it reasons in a separate field, that depends on the server.
        for (reasons, want) in [(false, None), (true, Some(Form::Guided))] {
            let known = store(ReasoningAnswer::Field, Form::Guided, reasons, true);
            assert_eq!(known.learned().grammar, want);
        }
        // A fact without an answer is kept.
        let why = || Text::from("It is slow.");
        let mut answers =
            answers_of(ReasoningAnswer::NoAnswer { why: why() }, GrammarAnswer::NoAnswer { why: why() }, true);
        answers.protocol = ProtocolAnswer::Dialect { dialect: Dialect::Hermes, system_message: true };
        profiles.store_answers("http://h/v1", "m", &answers).unwrap();
        let learned = profiles.learned("http://h/v1", "m");
        assert_eq!((learned.grammar, learned.dialect), (Some(Form::Guided), Some(Dialect::Hermes)));
        // A reply overrides the answer to a probe.
        profiles.store("http://h/v1", "m", Learned::default(), learned_of(true, None)).unwrap();
        let learned = profiles.learned("http://h/v1", "m");
        assert_eq!(learned.reasoning, Reasoning::Opened);
    }

    #[test]
    fn a_damaged_profile_is_put_aside_and_one_of_a_later_version_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let profiles = Profiles(folder.path().to_owned());
        let (url, nothing) = ("http://h/v1", learned_of(false, None));
        let path = profiles.path(url, "m");
        for text in
            ["", "{", "[]", "{\"v\":1}", "{\"v\":1,\"base_url\":\"\",\"model\":\"\",\"reasoning\":\"opened\"}", "\u{0}"]
        {
            std::fs::write(&path, text).unwrap();
            assert!(profiles.read(&path).is_err(), "{text}");
            assert_eq!(profiles.read(&path), Ok(None), "{text}");
            profiles.store(url, "m", nothing, learned_of(true, None)).unwrap();
            assert_eq!(profiles.learned(url, "m"), learned_of(true, None));
        }
        let later = "{\"v\":2,\"base_url\":\"\",\"model\":\"\",\"more\":1}";
        std::fs::write(&path, later).unwrap();
        assert!(profiles.store(url, "m", nothing, learned_of(true, None)).is_err());
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), profiles.learned(url, "m")), (later, nothing));
        // Unknown values are ignored.
        let odd = "{\"v\":1,\"base_url\":\"\",\"model\":\"\",\"dialect\":{\"value\":\"new\",\"at\":1,\"how\":\"x\"},\
                   \"reasoning\":{\"value\":\"known\",\"at\":1,\"how\":\"x\"},\"allow\":[\"rm\"]}";
        std::fs::write(&path, odd).unwrap();
        assert_eq!(profiles.learned(url, "m"), nothing);
    }
}
