//! The traits of the upstream's models that earlier replies have shown. Later replies are parsed accordingly.
//!
//! This module keeps the traits in memory and does no disk I/O. A host can store them beyond the life of the proxy,
//! with [`Profiles`].

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::spawn_blocking;
use toolfence_protocol::grammar::Form;
use toolfence_protocol::learned::{Learned, Learning};
use toolfence_protocol::parse::Options;
use toolfence_protocol::reply::Summary;
use toolfence_protocol::{Dialect, FinishReason};

/// The most models that are remembered. A client can request any name, so the number needs a limit.
const MOST_MODELS: usize = 256;

/// The most bytes of a model's name.
const MOST_NAME: usize = 256;

/// Stores the learned traits of the upstream's models beyond the life of a proxy.
pub trait Profiles: Send + Sync {
    /// Returns the stored traits of a model. The proxy calls this once for each requested model, on a thread that may
    /// block.
    fn load(&self, model: &str) -> Learned;

    /// Stores the traits of a model after a reply has changed them from `before` to `now`. The proxy calls this rarely,
    /// on a thread that may block.
    fn store(&self, model: &str, before: Learned, now: Learned);
}

/// The traits of a model before and after a reply that changed them.
pub(super) struct NewFacts {
    before: Learned,
    now: Learned,
}

/// The requested models.
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

    /// Applies the traits of a model to the options of the host.
    pub(super) async fn apply(&self, model: &str, options: &mut Options) {
        if let Some(learning) = self.learning(model).await {
            learning.apply(options);
        }
    }

    /// Returns the form in which the upstream accepts a grammar for a model, if it does.
    pub(super) async fn grammar(&self, model: &str) -> Option<Form> {
        self.learning(model).await?.learned().grammar
    }

    /// Stops sending a grammar for this model, because the upstream has refused one. The next run of the proxy tries
    /// again.
    pub(super) fn give_up_grammar(&self, model: &str) {
        if let Some(learning) = self.known().get_mut(model) {
            learning.give_up_grammar();
        }
    }

    async fn learning(&self, model: &str) -> Option<Learning> {
        let known = self.known().get(model).cloned();
        if known.is_some() {
            return known;
        }
        let kept = self.kept.clone().filter(|_| model.len() <= MOST_NAME)?;
        // Call the host without holding the lock and on another thread, so that other requests continue meanwhile.
        let name = model.to_owned();
        let known = spawn_blocking(move || kept.load(&name)).await;
        let learning = Learning::from(known.unwrap_or_default());
        self.entry(&mut self.known(), model, learning.clone());
        Some(learning)
    }

    /// Records the traits that a reply shows about its model. Returns them if they have changed. [`keep`](Models::keep)
    /// passes them to the host.
    pub(super) fn note(
        &self,
        model: &str,
        options: &Options,
        summary: &Summary,
        end: FinishReason,
        calls: impl Iterator<Item = Dialect>,
    ) -> Option<NewFacts> {
        let mut known = self.known();
        self.entry(&mut known, model, Learning::default());
        let learning = known.get_mut(model)?;
        let before = learning.learned();
        learning.note(options, summary, Some(end), calls);
        let now = learning.learned();
        (before != now).then_some(NewFacts { before, now })
    }

    /// Passes the changed traits of a model to the host.
    pub(super) async fn keep(&self, model: &str, NewFacts { before, now }: NewFacts) {
        if let Some(kept) = self.kept.clone() {
            let model = model.to_owned();
            // If the host panics, nothing is stored.
            let _ = spawn_blocking(move || kept.store(&model, before, now)).await;
        }
    }

    /// Adds a model, if the limit allows it or an entry without knowledge can be removed.
    fn entry(&self, known: &mut HashMap<String, Learning>, model: &str, learning: Learning) {
        if known.len() == MOST_MODELS && !known.contains_key(model) {
            // A model with default traits has shown nothing yet, or its name does not exist. Removing it loses nothing.
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
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;
    use toolfence_protocol::parse::Reasoning;

    async fn reasoning(models: &Models, model: &str) -> Reasoning {
        let mut options = Options::default();
        models.apply(model, &mut options).await;
        options.reasoning
    }

    fn thought() -> Summary {
        let mut opened = Summary::default();
        opened.opened = Some(1);
        opened
    }

    fn note(models: &Models, model: &str, summary: &Summary) -> Option<NewFacts> {
        models.note(model, &Options::default(), summary, FinishReason::Stop, std::iter::empty())
    }

    #[tokio::test]
    async fn any_number_of_names_takes_no_more_room() {
        let models = Models::default();
        note(&models, "thinks", &thought());
        for n in 0..1000 {
            note(&models, &format!("m{n}"), &Summary::default());
        }
        note(&models, &"x".repeat(MOST_NAME + 1), &thought());
        assert!(models.known().len() <= MOST_MODELS);
        let seen = (reasoning(&models, "thinks").await, reasoning(&models, "m1").await);
        assert_eq!(seen, (Reasoning::Opened, Reasoning::Unknown));
    }

    /// A host that waits, here for something that another request does, as a real one would for a file.
    struct Slow {
        ready: Mutex<Receiver<()>>,
        written: Sender<(String, Learned, Learned)>,
    }

    impl Profiles for Slow {
        fn load(&self, _: &str) -> Learned {
            let ready = self.ready.lock().unwrap().recv_timeout(Duration::from_secs(20));
            let mut known = Learned::default();
            known.reasoning = if ready.is_ok() { Reasoning::Opened } else { Reasoning::Unknown };
            known
        }

        fn store(&self, model: &str, before: Learned, now: Learned) {
            self.load(model);
            self.written.send((model.to_owned(), before, now)).unwrap();
        }
    }

    #[tokio::test]
    async fn a_slow_host_holds_up_no_other_request() {
        let (go, ready) = channel();
        let (written, kept) = channel();
        let models = Models::new(Some(Arc::new(Slow { ready: Mutex::new(ready), written })));
        let other = async { go.send(()).unwrap() };
        let (known, ()) = tokio::join!(reasoning(&models, "m"), other);
        assert_eq!(known, Reasoning::Opened, "the other request continues while the host is busy");
        let new = note(&models, "new", &thought()).expect("that it thinks is new");
        tokio::join!(models.keep("new", new), async { go.send(()).unwrap() });
        let mut opened = Learned::default();
        opened.reasoning = Reasoning::Opened;
        assert_eq!(kept.try_recv().unwrap(), ("new".to_owned(), Learned::default(), opened));
    }
}
