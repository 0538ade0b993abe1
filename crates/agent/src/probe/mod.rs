//! What a backend does to the texts that go through it, found out with a handful of questions.
//!
//! Between a model and this library stands a server, and often a page, a bridge or a gateway, which renders Markdown, trims
//! lines or appends remarks. A model that does as it is told shows it: it is asked to repeat a text that holds everything that
//! is usually damaged. Where it does not repeat the text, nothing is said about the way that the text went.
//!
//! This module writes no file and changes no setting: it asks, and tells what came.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use toolfence_agent::backend::Replay;
//! use toolfence_agent::probe::{self, Options, Verdict};
//!
//! let backend = Replay::new(["I would rather not."; 20]);
//! let probed = probe::backend(&backend, &Options::default(), &mut |_| {}).await;
//! assert!(probed.facts.manglings.is_empty(), "nobody can say what happens to a text that did not come back");
//! assert!(probed.findings.iter().any(|finding| finding.verdict == Verdict::Unknown));
//! # }
//! ```

mod ask;
mod echo;
mod mangling;
mod messages;
mod questions;

pub use mangling::Mangling;

use crate::backend::Backend;
use ask::{Asked, Asker};
use serde::Serialize;
use std::time::Duration;
use toolfence_protocol::grammar::Form;
use toolfence_protocol::{Dialect, Language, Text};

/// How a backend is probed.
#[derive(Debug, Clone)]
pub struct Options {
    /// The language in which the model is asked.
    pub language: Language,
    /// How long one question may take.
    pub question: Duration,
    /// How long all of them together may take; what was not asked by then is not known.
    pub whole: Duration,
    /// The sizes of long messages that are tried, in bytes, the smallest first.
    pub sizes: Vec<usize>,
    /// The grammar that is going to be used, which a server may refuse although it takes a small one.
    pub grammar: Option<String>,
}

impl Default for Options {
    /// A minute a question, ten in all, messages of 4 to 32 KB.
    fn default() -> Options {
        Options {
            language: Language::English,
            question: Duration::from_secs(60),
            whole: Duration::from_secs(600),
            sizes: vec![4_000, 16_000, 32_000],
            grammar: None,
        }
    }
}

impl Options {
    /// The most requests that are sent.
    pub fn most_requests(&self) -> usize {
        // The count, the code word and the call twice each but for the count, two echoes twice each, and a grammar in each form,
        // the large one and the schema.
        1 + 2 + 2 + 4 + Form::ALL.len() + 2 + self.sizes.len()
    }

    /// The bytes of the long messages together.
    pub fn long_bytes(&self) -> usize {
        self.sizes.iter().sum()
    }
}

/// A question that is about to be asked.
#[derive(Debug)]
pub struct Step {
    /// The number of the request, from 1 on.
    pub number: usize,
    /// What it is about.
    pub about: Text,
}

/// Everything that was found out.
#[derive(Debug, Clone)]
pub struct Probed {
    /// The findings for the person, in the order in which the probe asked.
    pub findings: Vec<Finding>,
    /// What can be kept and used.
    pub facts: Facts,
    /// How many requests were sent.
    pub requests: usize,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// What was looked at, in one word.
    pub subject: Subject,
    /// How it is.
    pub verdict: Verdict,
    /// What was seen.
    pub said: Text,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Text>,
    /// The damage, where this is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mangling: Option<Mangling>,
}

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Whether anything comes.
    Answer,
    /// Whether it comes in pieces.
    Stream,
    /// Whether a system message reaches the model.
    System,
    /// How the model calls tools.
    Calls,
    /// How the model's reasoning comes.
    Reasoning,
    /// What happens to texts.
    Text,
    /// How long a message can be.
    Size,
    /// Whether the server constrains decoding.
    Grammar,
}

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it should be.
    Good,
    /// As it is, and no trouble.
    Neutral,
    /// Trouble.
    Bad,
    /// It could not be found out.
    Unknown,
}

/// What can be kept of a backend.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// How reasoning comes.
    pub reasoning: Option<Style>,
    /// The dialect in which the model calls although it is taught another form.
    pub dialect: Option<Dialect>,
    /// Whether a system message reaches the model.
    pub system: Option<bool>,
    /// How the server takes a grammar that it obeys; `Some(None)` where it obeys none.
    pub grammar: Option<Option<Form>>,
    /// Whether the model reasoned in a field of its own while its answer was held to the grammar. Many servers hold the reasoning to
    /// it too, which takes it away.
    pub reasons_beside_grammar: bool,
    /// The longest message that was read whole, in bytes, where a longer one was not.
    pub message_limit: Option<usize>,
    /// Tokens of the model's window, as the server tells it.
    pub window: Option<u64>,
    /// What happens to texts on their way.
    pub manglings: Vec<Mangling>,
}

/// How the reasoning of a model comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// There was none.
    None,
    /// Between two tags.
    Tags,
    /// With a closing tag alone: the template has opened it.
    Opened,
    /// In a field of its own.
    Field,
}

impl Style {
    /// Every style there is.
    pub const ALL: &'static [Style] = &[Style::None, Style::Tags, Style::Opened, Style::Field];

    /// The word for it in files and settings.
    pub fn name(self) -> &'static str {
        match self {
            Style::None => "none",
            Style::Tags => "tags",
            Style::Opened => "opened",
            Style::Field => "field",
        }
    }

    /// The style of a name.
    pub fn from_name(name: &str) -> Option<Style> {
        Style::ALL.iter().copied().find(|style| style.name() == name)
    }
}

/// Asks a backend. `watch` is told of each request before it is sent.
///
/// A failure of the backend is a finding. Dropping the future ends the probe.
pub async fn backend(backend: &dyn Backend, options: &Options, watch: &mut (dyn FnMut(&Step) + Send)) -> Probed {
    let mut probe = Probe {
        asker: Asker::new(backend, options, watch),
        options,
        findings: Vec::new(),
        facts: Facts::default(),
        seen: Vec::new(),
    };
    if probe.count().await {
        probe.system().await;
        probe.calls().await;
        probe.texts().await;
        probe.reasoning();
        probe.sizes(backend).await;
        probe.grammar(backend).await;
    }
    let Probe { asker, findings, facts, .. } = probe;
    Probed { findings, facts, requests: asker.requests }
}

/// A probe under way.
struct Probe<'a> {
    asker: Asker<'a>,
    options: &'a Options,
    findings: Vec<Finding>,
    facts: Facts,
    /// The replies that came, with the question each belongs to.
    seen: Vec<(Question, Asked)>,
}

/// The kinds of questions to which answers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Count,
    System,
    Call,
    Characters,
    Structure,
}

impl Probe<'_> {
    fn tell(&mut self, subject: Subject, verdict: Verdict, said: Text, advice: Option<Text>) {
        self.findings.push(Finding { subject, verdict, said, advice, mangling: None });
    }

    fn name(&mut self, mangling: Mangling) {
        if self.facts.manglings.contains(&mangling) {
            return;
        }
        self.facts.manglings.push(mangling);
        self.findings.push(Finding {
            subject: Subject::Text,
            verdict: if mangling.spoils_calls() { Verdict::Bad } else { Verdict::Neutral },
            said: mangling.said(),
            advice: Some(mangling.advice()),
            mangling: Some(mangling),
        });
    }
}
