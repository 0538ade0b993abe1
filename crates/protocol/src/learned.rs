//! What replies show of the backend that they come from, and what follows for the reading of those after them.
//!
//! The session and the proxy learn by these rules. Nothing here is stored: a host that wants to know it the next time keeps
//! [`Learned`] where it likes.

use crate::grammar::Form;
use crate::parse::{Options, Reasoning};
use crate::reply::Summary;
use crate::{Dialect, FinishReason};
use std::collections::BTreeMap;

/// Calls in one dialect after which it is known to be the model's.
const KNOWN_AFTER: u32 = 3;

/// What replies have shown of the backend that they came from.
///
/// It makes replies be read more strictly: what was thought is no call, and calls in another dialect are doubtful. Only a call in
/// the dialect of the model that stands behind prose on its line is no guess any more. What the host says in [`Options`] counts
/// over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Learned {
    /// Whether the template of the backend opens the reasoning of every reply. [`Reasoning::Opened`]: a reply had a closing tag without an
    /// opening one. [`Reasoning::Known`]: it does not; only a host that has asked the backend can set this, and then calls are
    /// delivered while the reply is still coming.
    pub reasoning: Reasoning,
    /// The dialect in which the model writes its calls: three of them came in it.
    pub dialect: Option<Dialect>,
    /// How the server takes a grammar that it was seen to obey. A host that has asked the backend for it may say so.
    pub grammar: Option<Form>,
}

/// Learns from one reply after the other.
#[derive(Debug, Clone, Default)]
pub struct Learning {
    learned: Learned,
    /// How many calls came in each dialect since this learning began.
    calls: BTreeMap<Dialect, u32>,
}

impl Learning {
    /// Goes on from what earlier replies have shown.
    pub fn from(earlier: Learned) -> Learning {
        Learning { learned: earlier, calls: BTreeMap::new() }
    }

    /// What is known by now.
    pub fn learned(&self) -> Learned {
        self.learned
    }

    /// Adds what is known to what the host says.
    pub fn apply(&self, options: &mut Options) {
        if options.reasoning == Reasoning::Unknown && !options.bare {
            options.reasoning = self.learned.reasoning;
        }
        let dialect = self.learned.dialect.filter(|dialect| options.dialects.contains(*dialect));
        options.dialect = options.dialect.or(dialect);
    }

    /// The server has refused a grammar, so none is sent any more.
    pub fn give_up_grammar(&mut self) {
        self.learned.grammar = None;
    }

    /// Takes a reply: what it is as a whole, how it ended, and the dialects of its calls. `options`: what the host says.
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
                // A reply that ends by itself and has no closing tag shows that the template does not always open it.
                self.learned.reasoning = Reasoning::Unknown;
            }
        }
        // A form that was chosen by name is no sign of how the model was trained.
        for dialect in calls.filter(|dialect| !dialect.is_opt_in()) {
            let count = self.calls.entry(dialect).or_default();
            *count += 1;
            // What earlier replies have shown holds until as many show another dialect, and none that one: another model may
            // have taken the place of the one that was learned from.
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
        assert!(note(&mut learning, &unclosed(), FinishReason::Length), "the closing tag may have been to come");
        assert!(!note(&mut learning, &unclosed(), FinishReason::Stop));
    }

    #[test]
    fn what_the_host_says_counts_and_teaches_nothing() {
        let known = Learned { reasoning: Reasoning::Opened, dialect: Some(Dialect::Hermes), ..Learned::default() };
        let mut learning = Learning::from(known);
        let mut read = options();
        learning.apply(&mut read);
        assert_eq!((read.reasoning, read.dialect), (Reasoning::Opened, Some(Dialect::Hermes)));
        for reasoning in [Reasoning::Known, Reasoning::Opened] {
            let mut said =
                Options { reasoning, dialect: Some(Dialect::Llama), dialects: Dialects::ALL, ..Options::default() };
            learning.apply(&mut said);
            assert_eq!((said.reasoning, said.dialect), (reasoning, Some(Dialect::Llama)));
            learning.note(&said, &unclosed(), Some(FinishReason::Stop), std::iter::empty());
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
    fn what_was_asked_for_makes_calls_come_at_once() {
        let known = Learned { reasoning: Reasoning::Known, ..Learned::default() };
        let read = |known: Learned, said: Reasoning| {
            let mut read = Options { reasoning: said, ..Options::default() };
            Learning::from(known).apply(&mut read);
            read.reasoning
        };
        assert_eq!(read(known, Reasoning::Unknown), Reasoning::Known);
        assert_eq!(read(known, Reasoning::Opened), Reasoning::Opened);
    }

    #[test]
    fn three_calls_show_a_dialect() {
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
        // What an earlier session saw is given up for what this one sees, but not for less.
        let mut later = Learning::from(learning.learned());
        assert_eq!(note(&mut later, &[llama, llama]), Some(hermes));
        assert_eq!(note(&mut later.clone(), &[hermes, llama]), Some(hermes));
        assert_eq!(note(&mut later, &[llama]), Some(llama));
    }
}
