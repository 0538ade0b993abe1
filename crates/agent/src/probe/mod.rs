//! Asks a backend five questions: does it stream, does the model follow the protocol, how does it mark reasoning, does
//! text come back unchanged, and does the server obey a grammar.
//!
//! The module writes no file and changes no setting. A failure of the backend is an answer too.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use toolfence_agent::backend::Replay;
//! use toolfence_agent::probe::{self, Options, ProtocolAnswer, TextAnswer};
//!
//! let backend = Replay::new(["I would rather not."; 20]);
//! let answers = probe::ask_backend(&backend, &Options::default(), &mut |_| {}).await;
//! assert!(matches!(answers.protocol, ProtocolAnswer::NoCall { .. }));
//! assert_eq!(answers.text, TextAnswer::NotRepeated);
//! # }
//! ```

mod answers;
mod ask;
mod questions;

pub use answers::{
    Answers, Finding, GrammarAnswer, ProtocolAnswer, ReasoningAnswer, StreamAnswer, TextAnswer, Verdict,
};

use crate::backend::Backend;
use ask::Asker;
use std::time::Duration;
use toolfence_protocol::{Language, Text};

/// The maximum number of requests that [`ask_backend`] sends.
pub const MOST_REQUESTS: usize = 11;

/// The settings of a probe.
#[derive(Debug, Clone)]
pub struct Options {
    /// The language of the questions to the model.
    pub language: Language,
    /// The time limit of one request.
    pub request: Duration,
    /// The time limit of all requests together. Later questions get no answer.
    pub whole: Duration,
    /// The grammar of the tools. A server may refuse it although it obeys a small one.
    pub grammar: Option<String>,
}

impl Default for Options {
    /// One minute for a request and ten for all, without a grammar of tools.
    fn default() -> Options {
        Options {
            language: Language::English,
            request: Duration::from_secs(60),
            whole: Duration::from_secs(600),
            grammar: None,
        }
    }
}

/// A request that is about to be sent.
#[derive(Debug)]
pub struct Step {
    /// The number of the request, counted from 1.
    pub number: usize,
    /// The question that it belongs to.
    pub question: Text,
}

/// Asks the five questions. Calls `watch` before each request. Dropping the future ends the probe.
///
/// If the first question gets no answer, the others are not asked.
pub async fn ask_backend(backend: &dyn Backend, options: &Options, watch: &mut (dyn FnMut(&Step) + Send)) -> Answers {
    let mut asker = Asker::new(backend, options, watch);
    let stream = questions::ask_stream(&mut asker).await;
    if let StreamAnswer::NoAnswer { .. } = stream {
        asker.close();
    }
    let protocol = questions::ask_protocol(&mut asker).await;
    let text = questions::ask_text(&mut asker).await;
    // This question also uses the replies to the earlier ones, so it follows them.
    let reasoning = questions::ask_reasoning(&mut asker).await;
    let grammar = questions::ask_grammar(&mut asker, options.grammar.as_deref()).await;
    Answers { stream, protocol, reasoning, text, grammar }
}
