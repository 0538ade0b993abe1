//! What replies have shown of the upstream's models, so that later ones are read by it.
//!
//! It is kept in memory while the proxy runs. Beyond that, a host keeps it: this module touches no disk.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use toolfence_protocol::grammar::Form;
use toolfence_protocol::learned::{Learned, Learning};
use toolfence_protocol::parse::Options;
use toolfence_protocol::reply::Summary;
use toolfence_protocol::{Dialect, FinishReason};

/// Models of which something is known. A client can ask for any name, so there is an end to it.
const MOST_MODELS: usize = 256;

/// Bytes of a model's name.
const MOST_NAME: usize = 256;

/// Keeps what replies have shown of the upstream's models beyond the life of a proxy.
pub trait Profiles: Send + Sync {
    /// What is known of a model. The proxy asks once for each that it is asked for, in the middle of a request.
    fn known(&self, model: &str) -> Learned;

    /// Replies of a model have shown something new: what was `before` is `now`. That is seldom.
    fn learned(&self, model: &str, before: Learned, now: Learned);
}

/// The models that were asked for.
#[derive(Default)]
pub(super) struct Models {
    kept: Option<Arc<dyn Profiles>>,
    known: Mutex<HashMap<String, Learning>>,
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").field("known", &self.known().len()).finish_non_exhaustive()
    }
}

impl Models {
    pub(super) fn new(kept: Option<Arc<dyn Profiles>>) -> Models {
        Models { kept, known: Mutex::default() }
    }

    /// Adds what is known of a model to what the host says.
    pub(super) fn apply(&self, model: &str, options: &mut Options) {
        self.ask(model, |learning| learning.apply(options));
    }

    /// How the upstream takes a grammar for a model, where it obeys one.
    pub(super) fn grammar(&self, model: &str) -> Option<Form> {
        let mut form = None;
        self.ask(model, |learning| form = learning.learned().grammar);
        form
    }

    /// The upstream has refused a grammar: no further request of this proxy has one. Another run may try again.
    pub(super) fn give_up_grammar(&self, model: &str) {
        if let Some(learning) = self.known().get_mut(model) {
            learning.give_up_grammar();
        }
    }

    fn ask(&self, model: &str, tell: impl FnOnce(&Learning)) {
        if let Some(learning) = self.known().get(model) {
            return tell(learning);
        }
        if let Some(kept) = self.kept.as_ref().filter(|_| model.len() <= MOST_NAME) {
            // Asked without the lock: other requests go on meanwhile.
            let learning = Learning::from(kept.known(model));
            tell(&learning);
            self.entry(&mut self.known(), model, learning);
        }
    }

    /// Takes what a reply of a model has shown.
    pub(super) fn note(
        &self,
        model: &str,
        options: &Options,
        summary: &Summary,
        end: FinishReason,
        calls: impl Iterator<Item = Dialect>,
    ) {
        let (before, now) = {
            let mut known = self.known();
            self.entry(&mut known, model, Learning::default());
            let Some(learning) = known.get_mut(model) else { return };
            let before = learning.learned();
            learning.note(options, summary, Some(end), calls);
            (before, learning.learned())
        };
        if let Some(kept) = self.kept.as_ref().filter(|_| before != now) {
            kept.learned(model, before, now);
        }
    }

    /// Makes room for a model of which nothing is known yet, where there is some.
    fn entry(&self, known: &mut HashMap<String, Learning>, model: &str, learning: Learning) {
        if known.len() == MOST_MODELS && !known.contains_key(model) {
            known.retain(|_, learning| learning.learned() != Learned::default());
        }
        if known.len() < MOST_MODELS && model.len() <= MOST_NAME && !known.contains_key(model) {
            known.insert(model.to_owned(), learning);
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Learning>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_protocol::parse::Reasoning;

    #[test]
    fn any_number_of_names_takes_no_more_room() {
        let models = Models::default();
        let mut opened = Summary::default();
        opened.opened = Some(1);
        let note = |model: &str, summary: &Summary| {
            models.note(model, &Options::default(), summary, FinishReason::Stop, std::iter::empty());
        };
        note("thinks", &opened);
        for n in 0..1000 {
            note(&format!("m{n}"), &Summary::default());
        }
        note(&"x".repeat(MOST_NAME + 1), &opened);
        assert!(models.known().len() <= MOST_MODELS);
        let reasoning = |model: &str| {
            let mut options = Options::default();
            models.apply(model, &mut options);
            options.reasoning
        };
        assert_eq!((reasoning("thinks"), reasoning("m1")), (Reasoning::Opened, Reasoning::Unknown));
    }
}
