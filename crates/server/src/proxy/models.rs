//! What replies have shown of the upstream's models, so that later ones are read by it.
//!
//! It is kept in memory while the proxy runs. Beyond that, a host keeps it: this module touches no disk.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::spawn_blocking;
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
    /// What is known of a model. The proxy asks once for each that it is asked for, on a thread that may block.
    fn known(&self, model: &str) -> Learned;

    /// Replies of a model have shown something new: what was `before` is `now`. That is seldom, and told on a thread that may
    /// block.
    fn learned(&self, model: &str, before: Learned, now: Learned);
}

/// What a reply has shown that was not known before it.
pub(super) struct New {
    before: Learned,
    now: Learned,
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
    pub(super) async fn apply(&self, model: &str, options: &mut Options) {
        if let Some(learning) = self.learning(model).await {
            learning.apply(options);
        }
    }

    /// How the upstream takes a grammar for a model, where it obeys one.
    pub(super) async fn grammar(&self, model: &str) -> Option<Form> {
        self.learning(model).await?.learned().grammar
    }

    /// The upstream has refused a grammar: no further request of this proxy has one. Another run may try again.
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
        // Asked without the lock, and apart: other requests go on meanwhile.
        let name = model.to_owned();
        let known = spawn_blocking(move || kept.known(&name)).await;
        let learning = Learning::from(known.unwrap_or_default());
        self.entry(&mut self.known(), model, learning.clone());
        Some(learning)
    }

    /// Takes what a reply of a model has shown. What is new of it is for the host [to keep](Models::keep).
    pub(super) fn note(
        &self,
        model: &str,
        options: &Options,
        summary: &Summary,
        end: FinishReason,
        calls: impl Iterator<Item = Dialect>,
    ) -> Option<New> {
        let mut known = self.known();
        self.entry(&mut known, model, Learning::default());
        let learning = known.get_mut(model)?;
        let before = learning.learned();
        learning.note(options, summary, Some(end), calls);
        let now = learning.learned();
        (before != now).then_some(New { before, now })
    }

    /// Hands the host what is new of a model.
    pub(super) async fn keep(&self, model: &str, New { before, now }: New) {
        if let Some(kept) = self.kept.clone() {
            let model = model.to_owned();
            // A host that panics keeps nothing.
            let _ = spawn_blocking(move || kept.learned(&model, before, now)).await;
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

    fn note(models: &Models, model: &str, summary: &Summary) -> Option<New> {
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

    /// A host that waits for a file: here for something that another request does.
    struct Slow {
        ready: Mutex<Receiver<()>>,
        told: Sender<(String, Learned, Learned)>,
    }

    impl Profiles for Slow {
        fn known(&self, _: &str) -> Learned {
            let ready = self.ready.lock().unwrap().recv_timeout(Duration::from_secs(20));
            let mut known = Learned::default();
            known.reasoning = if ready.is_ok() { Reasoning::Opened } else { Reasoning::Unknown };
            known
        }

        fn learned(&self, model: &str, before: Learned, now: Learned) {
            self.known(model);
            self.told.send((model.to_owned(), before, now)).unwrap();
        }
    }

    #[tokio::test]
    async fn a_slow_host_holds_up_no_other_request() {
        let (go, ready) = channel();
        let (told, kept) = channel();
        let models = Models::new(Some(Arc::new(Slow { ready: Mutex::new(ready), told })));
        let other = async { go.send(()).unwrap() };
        let (known, ()) = tokio::join!(reasoning(&models, "m"), other);
        assert_eq!(known, Reasoning::Opened, "the other request went on while the host was asked");
        let new = note(&models, "new", &thought()).expect("that it thinks is new");
        tokio::join!(models.keep("new", new), async { go.send(()).unwrap() });
        let mut opened = Learned::default();
        opened.reasoning = Reasoning::Opened;
        assert_eq!(kept.try_recv().unwrap(), ("new".to_owned(), Learned::default(), opened));
    }
}
