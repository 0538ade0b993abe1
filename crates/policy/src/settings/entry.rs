//! What a settings file says: a value with its key and its place, or a mistake with its place.

use super::super::shell::shown;
use super::{CheckRule, CheckerRule, CommandRule, HeaderRule, Key, MemberRule, PriceRule, ServerRule, messages};
use std::fmt;
use std::sync::Arc;
use toolfence_protocol::{Error, ErrorKind, Text};

/// Where a setting can come from, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Layer {
    /// Nobody wrote it.
    Default,
    /// A variable of the environment that other programs follow too.
    Environment,
    /// The person's own file.
    User,
    /// The project's file; `trusted` where the person has read and trusted this very content.
    Project {
        /// Whether the content is trusted.
        trusted: bool,
    },
    /// The persona.
    Persona,
    /// The command line. It is the person's word for this run, and counts over all others.
    CommandLine,
}

impl Layer {
    /// Whether it may only tighten.
    pub fn only_tightens(self) -> bool {
        matches!(self, Layer::Project { .. } | Layer::Persona)
    }
}

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// In which layer.
    pub layer: Layer,
    /// The name of the file, or of what else it is.
    pub name: Arc<str>,
    /// In which line, from 1.
    pub line: Option<usize>,
}

impl Origin {
    /// A place without lines.
    pub fn new(layer: Layer, name: impl Into<Arc<str>>) -> Origin {
        Origin { layer, name: name.into(), line: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// What is written for a key; of a list, one item.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A word or a text.
    Text(String),
    /// A rule about commands.
    Command(CommandRule),
    /// A rule about names.
    Glob(String),
    /// A command that checks the whole project.
    Check(CheckRule),
    /// A program that checks files.
    Checker(CheckerRule),
    /// What a model costs.
    Price(PriceRule),
    /// A header of requests. Its value is not shown.
    Header(HeaderRule),
    /// A member of requests.
    Member(MemberRule),
    /// A server of the Model Context Protocol. The values of its variables are not shown.
    Server(ServerRule),
}

/// Characters of a checker's command that are shown: it may be a script.
const MOST_SHOWN: usize = 60;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) | Value::Glob(text) => f.write_str(text),
            Value::Command(rule) => rule.fmt(f),
            Value::Check(rule) if rule.rolls_back => write!(f, "{} (new_errors = \"roll_back\")", rule.command),
            Value::Check(rule) => f.write_str(&rule.command),
            Value::Checker(rule) => {
                write!(f, "{}: {}", rule.files.join(" "), shown(&rule.command.join(" "), MOST_SHOWN))
            }
            Value::Header(rule) => write!(f, "{}: ...", rule.name),
            Value::Member(rule) => {
                write!(f, "{}: {}", shown(&rule.name, MOST_SHOWN), shown(&rule.value.to_string(), MOST_SHOWN))
            }
            Value::Server(rule) => write!(f, "{}: {}", rule.name, shown(&rule.command.join(" "), MOST_SHOWN)),
            Value::Price(rule) => {
                let price = |millionths: u64| millionths as f64 / 1e6;
                write!(f, "{}: {}", shown(&rule.model, MOST_SHOWN), price(rule.input))?;
                rule.cached.map_or(Ok(()), |cached| write!(f, ", cached {}", price(cached)))?;
                write!(f, ", {}", price(rule.output))
            }
        }
    }
}

/// A value with its key and its place.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Entry {
    /// Of which key.
    pub key: &'static Key,
    /// What is written.
    pub value: Value,
    /// Where.
    pub origin: Origin,
}

impl Entry {
    /// A value that is not read from a text, such as an option of the command line.
    pub fn new(key: &'static Key, value: Value, origin: Origin) -> Entry {
        Entry { key, value, origin }
    }
}

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mistake {
    /// The name of the file.
    pub name: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong and what to do.
    pub message: Text,
    /// Whether it would be right in a file that is trusted.
    pub untrusted: bool,
}

impl Mistake {
    /// What is wrong, with its place in front.
    pub fn text(&self) -> Text {
        messages::mistake(&self.name, self.line, self.column, self.message.clone())
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl std::error::Error for Mistake {}

impl From<Mistake> for Error {
    fn from(mistake: Mistake) -> Error {
        Error::with_kind(ErrorKind::InvalidInput, mistake.text())
    }
}
