//! Keeps the latest texts of the model by the ids of their items.
//!
//! A client may send the id of a message instead of the message (`item_reference`), because OpenAI's server stores its
//! answers. The AI SDK does so for texts, and sends calls in full.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most bytes of texts and ids that are kept. The oldest are dropped first.
const MOST_BYTES: usize = 8 << 20;

#[derive(Debug, Default)]
pub(crate) struct PastTexts(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    texts: HashMap<String, String>,
    /// The ids, oldest first.
    order: VecDeque<String>,
    bytes: usize,
}

impl PastTexts {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the text of an item. Ids are never used twice.
    pub(crate) fn keep(&self, id: String, text: String) {
        let mut state = self.state();
        // The id is stored twice: as the key in `texts` and in `order`.
        state.bytes += 2 * id.len() + text.len();
        state.order.push_back(id.clone());
        state.texts.insert(id, text);
        while state.bytes > MOST_BYTES {
            let Some(oldest) = state.order.pop_front() else { break };
            let text = state.texts.remove(&oldest).unwrap_or_default();
            state.bytes -= 2 * oldest.len() + text.len();
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<String> {
        self.state().texts.get(id).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_texts_are_dropped_first() {
        let texts = PastTexts::default();
        for number in 0..20 {
            texts.keep(format!("msg_{number}"), "x".repeat(1 << 20));
        }
        assert_eq!((texts.get("msg_0"), texts.get("msg_12")), (None, None));
        assert_eq!(texts.get("msg_19").map(|text| text.len()), Some(1 << 20));
        let state = texts.state();
        assert!(state.bytes <= MOST_BYTES && state.order.len() == state.texts.len() && state.order.len() == 7);
    }
}
