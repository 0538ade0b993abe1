//! What earlier replies reveal about a backend, and how later replies are read because of it.
//!
//! The session and the proxy both use these rules. Nothing here is stored: a host that wants to keep [`Learned`] saves
//! it.

use crate::grammar::Form;
use crate::parse::{Options, Reasoning};
use crate::reply::Summary;
use crate::{Dialect, FinishReason};
use std::collections::BTreeMap;

/// The number of calls in one dialect after which it counts as the model's dialect.
const KNOWN_AFTER: u32 = 3;

/// What earlier replies revealed about their backend.
///
/// With it, replies are read more strictly: calls in reasoning do not count, and calls in other dialects are lossy.
/// Only a call in the model's own dialect that follows prose on its line is no longer a guess. What the host sets in
/// [`Options`] takes precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Learned {
    /// Whether the template of the backend opens the reasoning of every reply. [`Reasoning::Opened`]: a reply had a
    /// closing tag without an opening one. [`Reasoning::Known`]: the template does not open it; only a host that has
    /// asked the backend can set this, and calls are then delivered while the reply is still streaming.
    pub reasoning: Reasoning,
    /// The dialect in which the model writes calls, known after three calls in it.
    pub dialect: Option<Dialect>,
    /// The form of a grammar that the server was seen to obey. A host that has asked the backend may set it.
    pub grammar: Option<Form>,
}

/// Collects what replies reveal, one reply at a time.
#[derive(Debug, Clone, Default)]
pub struct Learning {
    learned: Learned,
    /// Calls per dialect since this value was created.
    calls: BTreeMap<Dialect, u32>,
}

impl Learning {
    /// Continues from what earlier replies revealed.
    pub fn from(earlier: Learned) -> Learning {
        Learning { learned: earlier, calls: BTreeMap::new() }
    }

    /// Returns what is known so far.
    pub fn learned(&self) -> Learned {
        self.learned
    }

    /// Fills in what the host left open in `options`.
    pub fn apply(&self, options: &mut Options) {
        if options.reasoning == Reasoning::Unknown && !options.bare {
            options.reasoning = self.learned.reasoning;
        }
        let dialect = self.learned.dialect.filter(|dialect| options.dialects.contains(*dialect));
        options.dialect = options.dialect.or(dialect);
    }

    /// Stops sending grammars, after the server refused one.
    pub fn give_up_grammar(&mut self) {
        self.learned.grammar = None;
    }

    /// Records a reply: its summary, how it ended, and the dialects of its calls. `options` are those of the host.
    pub fn note(
        &mut self,
        options: &Options,
        summary: &Summary,
        end: Option<FinishReason>,
        calls: impl Iterator<Item = Dialect>,
    ) {
        if options.reasoning == Reasoning::Unknown {
            if summary.opened.is_some() {
                self.learned.reasoning = Reasoning::Opened;
            } else if summary.unclosed && end == Some(FinishReason::Stop) && self.learned.reasoning == Reasoning::Opened
            {
                // A reply that ends by itself without a closing tag shows that the template does not always open
                // reasoning.
                self.learned.reasoning = Reasoning::Unknown;
            }
        }
        // A dialect that was enabled by name does not show how the model was trained.
        for dialect in calls.filter(|dialect| !dialect.is_opt_in()) {
            let count = self.calls.entry(dialect).or_default();
            *count += 1;
            // An earlier dialect stays until three calls show another one and none shows the earlier one: the model may
            // have been replaced.
            let holds = self.learned.dialect.is_some_and(|known| self.calls.contains_key(&known));
            if self.calls[&dialect] == KNOWN_AFTER && !holds {
                self.learned.dialect = Some(dialect);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialects;

    fn options() -> Options {
        Options { dialects: Dialects::ALL, ..Options::default() }
    }

    fn opened() -> Summary {
        let mut summary = Summary::default();
        summary.opened = Some(7);
        summary
    }

    fn unclosed() -> Summary {
        let mut summary = Summary::default();
        summary.unclosed = true;
        summary
    }

    #[test]
    fn reasoning_is_opened_until_a_reply_shows_otherwise() {
        let mut learning = Learning::default();
        let note = |learning: &mut Learning, summary: &Summary, end| {
            learning.note(&options(), summary, Some(end), std::iter::empty());
            learning.learned().reasoning == Reasoning::Opened
        };
        assert!(!note(&mut learning, &Summary::default(), FinishReason::Stop));
        assert!(note(&mut learning, &opened(), FinishReason::Length));
        assert!(note(&mut learning, &Summary::default(), FinishReason::Stop));
        assert!(note(&mut learning, &unclosed(), FinishReason::Length), "the closing tag may have been cut off");
        assert!(!note(&mut learning, &unclosed(), FinishReason::Stop));
    }

    #[test]
    fn options_of_the_host_take_precedence_and_are_not_learned() {
        let known = Learned { reasoning: Reasoning::Opened, dialect: Some(Dialect::Hermes), ..Learned::default() };
        let mut learning = Learning::from(known);
        let mut read = options();
        learning.apply(&mut read);
        assert_eq!((read.reasoning, read.dialect), (Reasoning::Opened, Some(Dialect::Hermes)));
        for reasoning in [Reasoning::Known, Reasoning::Opened] {
            let mut options_of_host =
                Options { reasoning, dialect: Some(Dialect::Llama), dialects: Dialects::ALL, ..Options::default() };
            learning.apply(&mut options_of_host);
            assert_eq!((options_of_host.reasoning, options_of_host.dialect), (reasoning, Some(Dialect::Llama)));
            learning.note(&options_of_host, &unclosed(), Some(FinishReason::Stop), std::iter::empty());
            assert_eq!(learning.learned(), known);
        }
        let mut none = Options::default();
        learning.apply(&mut none);
        assert_eq!(none.dialect, None, "a dialect that is not read is not expected");
        let mut bare = Options { bare: true, ..Options::default() };
        learning.apply(&mut bare);
        assert_eq!(bare.reasoning, Reasoning::Unknown, "a reply that is one object has no reasoning");
    }

    #[test]
    fn known_reasoning_is_applied_if_the_host_leaves_it_open() {
        let known = Learned { reasoning: Reasoning::Known, ..Learned::default() };
        let read = |known: Learned, options_of_host: Reasoning| {
            let mut read = Options { reasoning: options_of_host, ..Options::default() };
            Learning::from(known).apply(&mut read);
            read.reasoning
        };
        assert_eq!(read(known, Reasoning::Unknown), Reasoning::Known);
        assert_eq!(read(known, Reasoning::Opened), Reasoning::Opened);
    }

    #[test]
    fn three_calls_establish_a_dialect() {
        let note = |learning: &mut Learning, calls: &[Dialect]| {
            let end = Some(FinishReason::Stop);
            learning.note(&options(), &Summary::default(), end, calls.iter().copied());
            learning.learned().dialect
        };
        let (hermes, llama) = (Dialect::Hermes, Dialect::Llama);
        let mut learning = Learning::default();
        assert_eq!(note(&mut learning, &[hermes, llama, hermes]), None);
        assert_eq!(note(&mut learning, &[hermes]), Some(hermes));
        assert_eq!(note(&mut learning, &[llama, llama, llama]), Some(hermes), "this session has seen hermes");
        // An earlier session's dialect is replaced after three calls in another one, not earlier.
        let mut later = Learning::from(learning.learned());
        assert_eq!(note(&mut later, &[llama, llama]), Some(hermes));
        assert_eq!(note(&mut later.clone(), &[hermes, llama]), Some(hermes));
        assert_eq!(note(&mut later, &[llama]), Some(llama));
    }
}
