//! What replies and probes have shown of backends, beyond one run: one file for each server and model, in the person's own state
//! folder.
//!
//! A profile says how a backend is talked to and how its replies are read, and nothing else: no rule about what may run comes from it. Settings and options count over
//! it, so nothing that is learned can undo what the person says.

use super::Config;
use super::places::{Places, read_own};
use super::trust::hash;
use crate::choices::Grammar;
use crate::failure::Failure;
use crate::messages;
use crate::terminal::tell;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use toolfence_agent::probe::{Facts, Mangling, Style};
use toolfence_protocol::grammar::Form;
use toolfence_protocol::parse::Reasoning;
use toolfence_protocol::{Dialect, Learned, Text};

/// The folder of profiles, below that of what the program remembers.
const FOLDER: &str = "profiles";

/// The version of the files: one of another version is left alone.
const VERSION: u32 = 1;

/// How the template of a backend was seen to open the reasoning.
const CLOSING_TAG: &str = "closing_tag";

/// How the dialect of a model was seen.
const THREE_CALLS: &str = "three_calls";

/// How a fact was found out by asking for it.
const PROBE: &str = "probe";

/// The value of `reasoning` that is learned from replies too.
const OPENED: &str = "opened";

/// The value of a fact that the backend has none of it.
const NONE: &str = "none";

/// The value of a fact that is so.
const YES: &str = "yes";

/// The value of `system` where a system message does not reach the model.
const LOST: &str = "lost";

/// Bytes of a message for a token of the window: fewer than most texts have, so that a message that just fits is not cut.
const BYTES_A_TOKEN: u64 = 3;

/// What is less than this is no limit to work with, and compacting to it would leave nothing.
const LEAST_LIMIT: u64 = 8_000;

/// A file of what is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    v: u32,
    pub(crate) base_url: String,
    pub(crate) model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dialect: Option<Fact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning: Option<Fact>,
    /// How the server takes a grammar that it obeys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grammar: Option<Fact>,
    /// Whether the model reasons in a field of its own while its answer is held to the grammar, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reasons_beside_grammar: Option<Fact>,
    /// Whether a system message reaches the model, where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<Fact>,
    /// Bytes of a message that is read whole, where a longer one was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message_limit: Option<Fact>,
    /// What happens to texts on their way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) manglings: Vec<Fact>,
}

/// One thing that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fact {
    pub(crate) value: String,
    /// When it was learned, in milliseconds since 1970.
    pub(crate) at: u64,
    /// What showed it, in one word.
    pub(crate) how: String,
}

impl Fact {
    fn new(value: &str, how: &str) -> Fact {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let at = since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        Fact { value: value.to_owned(), at, how: how.to_owned() }
    }

    /// What showed it, in words.
    pub(crate) fn shown_by(&self) -> Text {
        match self.how.as_str() {
            CLOSING_TAG => messages::closing_tag_showed_it(),
            THREE_CALLS => messages::three_calls_showed_it(),
            PROBE => messages::probe_showed_it(),
            other => other.into(),
        }
    }
}

impl Known {
    fn learned(&self) -> Learned {
        let mut learned = Learned::default();
        let style = self.reasoning.as_ref().and_then(|fact| Style::from_name(&fact.value));
        learned.reasoning = match style {
            Some(Style::Opened) => Reasoning::Opened,
            Some(_) => Reasoning::Known,
            None => Reasoning::Unknown,
        };
        // The grammar has no word for what a model thinks in its text, and many servers hold what it thinks elsewhere to it too.
        let form = self.grammar.as_ref().and_then(|fact| Form::from_name(&fact.value));
        learned.grammar = form.filter(|_| match style {
            Some(Style::None) => true,
            Some(Style::Field) => self.reasons_beside_grammar.as_ref().is_some_and(|fact| fact.value == YES),
            _ => false,
        });
        // A name that a later version knows is none here.
        let named = |fact: &Fact| Dialect::ALL.iter().copied().find(|dialect| dialect.name() == fact.value);
        learned.dialect = self.dialect.as_ref().and_then(named);
        learned
    }

    /// Every fact by its name, in the order in which they are shown.
    pub(crate) fn facts(&self) -> impl Iterator<Item = (&'static str, &Fact)> {
        let single = [
            ("dialect", &self.dialect),
            ("reasoning", &self.reasoning),
            ("grammar", &self.grammar),
            ("reasons_beside_grammar", &self.reasons_beside_grammar),
            ("system", &self.system),
            ("message_limit", &self.message_limit),
        ];
        let single = single.into_iter().filter_map(|(name, fact)| Some((name, fact.as_ref()?)));
        single.chain(self.manglings.iter().map(|fact| ("mangling", fact)))
    }

    fn is_empty(&self) -> bool {
        self.facts().next().is_none()
    }

    /// Whether a system message does not reach the model.
    pub(crate) fn loses_system(&self) -> bool {
        self.system.as_ref().is_some_and(|fact| fact.value == LOST)
    }

    /// Tokens that the model can be given at most, by the longest message that it reads whole.
    pub(crate) fn window(&self) -> Option<u64> {
        let bytes: u64 = self.message_limit.as_ref()?.value.parse().ok()?;
        Some(bytes / BYTES_A_TOKEN).filter(|_| bytes >= LEAST_LIMIT)
    }

    /// What happens to texts on their way that makes calls unreliable.
    pub(crate) fn trouble(&self) -> Vec<Mangling> {
        let known = self.manglings.iter().filter_map(|fact| Mangling::from_name(&fact.value));
        known.filter(|mangling| mangling.spoils_calls()).collect()
    }

    /// Takes what a probe has found. What it could not find out stays.
    fn take(&mut self, facts: &Facts) {
        let fact = |value: &str| Some(Fact::new(value, PROBE));
        if let Some(style) = facts.reasoning {
            self.reasoning = fact(style.name());
        }
        if let Some(dialect) = facts.dialect {
            self.dialect = fact(dialect.name());
        }
        if let Some(reaches) = facts.system {
            self.system = if reaches { None } else { fact(LOST) };
        }
        if let Some(form) = facts.grammar {
            self.grammar = fact(form.map_or(NONE, Form::name));
            self.reasons_beside_grammar = if facts.reasons_beside_grammar { fact(YES) } else { None };
        }
        self.message_limit = facts.message_limit.and_then(|bytes| fact(&bytes.to_string()));
        self.manglings = facts.manglings.iter().filter_map(|mangling| fact(mangling.name())).collect();
    }

    /// Takes what changed from `before` to `now`. What another process learned meanwhile of the rest stays.
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
    /// Where they are; nowhere without a home.
    pub(crate) fn of(places: &Places) -> Option<Profiles> {
        places.state.as_ref().map(|state| Profiles(state.join(FOLDER)))
    }

    /// What is known of a model of a server. A file that cannot be read is told and put aside, so that it is told once.
    pub(crate) fn known(&self, base_url: &str, model: &str) -> Option<Known> {
        let path = self.path(base_url, model);
        self.read(&path).unwrap_or_else(|why| {
            tell(&messages::profile_unreadable(path.display().to_string(), why));
            None
        })
    }

    /// What is known of a model of a server, as sessions take it.
    pub(crate) fn learned(&self, base_url: &str, model: &str) -> Learned {
        self.known(base_url, model).map(|known| known.learned()).unwrap_or_default()
    }

    /// Stores what was learned since `before`.
    pub(crate) fn store(&self, base_url: &str, model: &str, before: Learned, now: Learned) -> Result<(), Text> {
        self.update(base_url, model, |known| known.change(before, now))
    }

    /// Stores what a probe has found.
    pub(crate) fn probed(&self, base_url: &str, model: &str, facts: &Facts) -> Result<(), Text> {
        self.update(base_url, model, |known| known.take(facts))
    }

    fn update(&self, base_url: &str, model: &str, change: impl FnOnce(&mut Known)) -> Result<(), Text> {
        let _locked = self.lock().map_err(|error| self.unwritable(&error))?;
        let path = self.path(base_url, model);
        let fresh = || Known {
            v: VERSION,
            base_url: address(base_url),
            model: model.to_owned(),
            dialect: None,
            reasoning: None,
            grammar: None,
            reasons_beside_grammar: None,
            system: None,
            message_limit: None,
            manglings: Vec::new(),
        };
        let mut known = self.read(&path)?.unwrap_or_else(fresh);
        change(&mut known);
        let written = if known.is_empty() { removed(&path).map(drop) } else { self.write(&path, &known) };
        written.map_err(|error| self.unwritable(&error))
    }

    /// Forgets what is known of a model of a server. Says whether there was anything.
    pub(crate) fn forget(&self, base_url: &str, model: &str) -> Result<bool, Failure> {
        removed(&self.path(base_url, model)).map_err(|error| Failure::broken(self.unwritable(&error)))
    }

    /// Every profile there is, in the order of servers and models. A file under another name than its own is none.
    pub(crate) fn all(&self) -> Vec<Known> {
        let files = std::fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.path());
        let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
        let read = files.filter_map(|path| Some((self.read(&path).ok()??, path)));
        let own = read.filter(|(known, path)| *path == self.path(&known.base_url, &known.model));
        let mut all: Vec<Known> = own.map(|(known, _)| known).collect();
        all.sort_by(|a, b| (&a.base_url, &a.model).cmp(&(&b.base_url, &b.model)));
        all
    }

    /// The models of a server of which there is a profile.
    pub(crate) fn models(&self, base_url: &str) -> Vec<String> {
        let base_url = address(base_url);
        self.all().into_iter().filter(|known| known.base_url == base_url).map(|known| known.model).collect()
    }

    fn path(&self, base_url: &str, model: &str) -> PathBuf {
        let name = hash(&format!("{}\n{model}", address(base_url)));
        self.0.join(format!("{}.json", &name[..32]))
    }

    fn read(&self, path: &Path) -> Result<Option<Known>, Text> {
        let Some(text) = read_own(path).map_err(|failure| failure.message().clone())? else { return Ok(None) };
        match serde_json::from_str::<Known>(&text) {
            Ok(known) if known.v == VERSION => Ok(Some(known)),
            Ok(known) => Err(messages::profile_of_version(known.v)),
            Err(error) => {
                // Where it cannot be put aside either, it is told again the next time.
                let _ = std::fs::rename(path, path.with_extension("broken"));
                Err(error.to_string().into())
            }
        }
    }

    /// Written whole or not at all, so that a reader needs no lock.
    fn write(&self, path: &Path, known: &Known) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
        serde_json::to_writer(&mut file, known)?;
        file.write_all(b"\n")?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Held while a profile is read, changed and written: two processes that learn at a time lose nothing.
    fn lock(&self) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(self.0.join("lock"))?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    fn unwritable(&self, error: &io::Error) -> Text {
        messages::cannot_write_to(self.0.display().to_string(), Text::from(error))
    }
}

fn removed(path: &Path) -> io::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The server that a URL names: without user and password, which are not for files, and with one spelling for each.
pub(crate) fn address(base_url: &str) -> String {
    let plain = base_url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = plain.split_once("://").unwrap_or(("http", plain));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{}://{}{}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase(), path.trim_end_matches('/'))
}

/// The profile of the backend that a run talks to.
#[derive(Debug)]
pub(crate) struct Profile {
    profiles: Profiles,
    base_url: String,
    model: String,
    /// What is known beside that; nothing where there is no file.
    known: Option<Known>,
    /// What the session has been given and what of it is stored.
    last: Learned,
    /// It was told that nothing can be stored.
    told: bool,
}

impl Profile {
    /// The profile as it counts beside the settings: what they say is not taken from it.
    pub(crate) fn open(profiles: Profiles, base_url: String, model: String, config: &Config) -> Profile {
        let known = profiles.known(&base_url, &model);
        let mut last = counting(known.as_ref().map(Known::learned).unwrap_or_default(), config);
        // A session runs no call before its reply is over, so nothing is gained by what a probe said, and a reply that shows
        // otherwise would be read wrongly.
        if last.reasoning == Reasoning::Known {
            last.reasoning = Reasoning::Unknown;
        }
        Profile { profiles, base_url, model, known, last, told: false }
    }

    /// What is known of the backend.
    pub(crate) fn known(&self) -> Option<&Known> {
        self.known.as_ref()
    }

    /// What a session is to know from its first reply on.
    pub(crate) fn learned(&self) -> Learned {
        self.last
    }

    /// Stores what a session has learned by now. Where that fails the work goes on, and the person is told once.
    pub(crate) fn keep(&mut self, now: Learned) {
        if now == self.last {
            return;
        }
        match self.profiles.store(&self.base_url, &self.model, self.last, now) {
            Ok(()) => self.last = now,
            Err(why) if !self.told => {
                self.told = true;
                tell(&messages::profile_not_kept(why));
            }
            Err(_) => {}
        }
    }
}

/// What counts of a profile where these settings are: a key that is set counts in its place.
pub(crate) fn counting(learned: Learned, config: &Config) -> Learned {
    let mut counting = learned;
    if config.set("reasoning").is_some() {
        counting.reasoning = Reasoning::Unknown;
    }
    counting.grammar = match config.choice("grammar") {
        Ok(Grammar::Off) => None,
        Ok(Grammar::On) => Some(learned.grammar.unwrap_or(Form::Grammar)),
        _ => learned.grammar,
    };
    counting.dialect = learned.dialect.filter(|_| config.set("dialects").is_none());
    counting
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Two runs begin with the same and learn different things.
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
        // One that is given up leaves the other.
        profiles.store(url, "m", learned_of(true, None), nothing).unwrap();
        assert_eq!(profiles.learned(url, "m"), learned_of(false, Some(Dialect::Llama)));
        assert_eq!(profiles.all().len(), 1);
        assert!(profiles.forget(url, "m").unwrap() && !profiles.forget(url, "m").unwrap());
        assert!(profiles.all().is_empty());
    }

    #[test]
    fn what_a_probe_finds_is_kept_until_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let profiles = Profiles(folder.path().join("profiles"));
        let mut facts = Facts {
            reasoning: Some(Style::None),
            grammar: Some(Some(Form::Structured)),
            system: Some(false),
            message_limit: Some(16_000),
            manglings: vec![Mangling::FencesLost, Mangling::TrailingBlanksLost],
            ..Facts::default()
        };
        profiles.probed("http://h/v1", "m", &facts).unwrap();
        let known = profiles.known("http://h/v1", "m").unwrap();
        let learned = known.learned();
        assert_eq!((learned.reasoning, learned.grammar), (Reasoning::Known, Some(Form::Structured)));
        assert_eq!((known.loses_system(), known.window()), (true, Some(5333)));
        assert_eq!((known.trouble(), known.facts().count()), (vec![Mangling::FencesLost], 6));
        // A model that thinks in its text is held to no grammar, and a limit that is too small is none.
        facts = Facts { reasoning: Some(Style::Tags), message_limit: Some(4_000), ..Facts::default() };
        profiles.probed("http://h/v1", "m", &facts).unwrap();
        let known = profiles.known("http://h/v1", "m").unwrap();
        assert_eq!((known.learned().grammar, known.window(), known.trouble()), (None, None, Vec::new()));
        // Where it reasons beside the text, that depends on the server.
        for (reasons_beside_grammar, want) in [(false, None), (true, Some(Form::Guided))] {
            facts = Facts {
                reasoning: Some(Style::Field),
                grammar: Some(Some(Form::Guided)),
                reasons_beside_grammar,
                ..Facts::default()
            };
            profiles.probed("http://h/v1", "m", &facts).unwrap();
            assert_eq!(profiles.learned("http://h/v1", "m").grammar, want);
        }
        // A reply that shows otherwise counts more than what was asked for.
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
        // What is not known here is left out; what is known counts.
        let odd = "{\"v\":1,\"base_url\":\"\",\"model\":\"\",\"dialect\":{\"value\":\"new\",\"at\":1,\"how\":\"x\"},\
                   \"reasoning\":{\"value\":\"known\",\"at\":1,\"how\":\"x\"},\"allow\":[\"rm\"]}";
        std::fs::write(&path, odd).unwrap();
        assert_eq!(profiles.learned(url, "m"), nothing);
    }
}
