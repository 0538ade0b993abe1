//! The ids of a reply's calls: the model's own, and `call_1`, `call_2`, ... where it gave none, or one twice.

use std::collections::HashSet;

/// Bytes of an id of the model's. Every piece of an argument repeats it, so a long one would make time and memory grow with
/// the product of both.
const MOST_ID: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Ids {
    /// Those the model gave.
    own: HashSet<String>,
    /// How far the given ones are counted.
    given: usize,
}

impl Ids {
    /// Takes the model's id, unless it gave none or one that is too long, or another call has it.
    pub(super) fn take(&mut self, wanted: Option<&str>) -> Option<String> {
        let id = wanted.filter(|id| (1..=MOST_ID).contains(&id.len()))?;
        if self.was_given(id) || self.own.contains(id) {
            return None;
        }
        self.own.insert(id.to_owned());
        Some(id.to_owned())
    }

    /// Gives an id that no other call has.
    pub(super) fn give(&mut self) -> String {
        loop {
            self.given += 1;
            let id = format!("call_{}", self.given);
            if !self.own.contains(id.as_str()) {
                return id;
            }
        }
    }

    fn was_given(&self, id: &str) -> bool {
        let number = id.strip_prefix("call_").filter(|number| number.starts_with(|first| matches!(first, '1'..='9')));
        number.and_then(|number| number.parse::<usize>().ok()).is_some_and(|number| number <= self.given)
    }
}

#[cfg(test)]
mod tests {
    use super::{Ids, MOST_ID};

    #[test]
    fn nobody_has_the_id_of_another() {
        let mut ids = Ids::default();
        assert_eq!(ids.take(Some("call_2")).as_deref(), Some("call_2"));
        assert_eq!(ids.give(), "call_1");
        assert_eq!(ids.give(), "call_3");
        assert_eq!(ids.take(Some("call_2")), None);
        assert_eq!(ids.take(Some("call_1")), None);
        assert_eq!(ids.take(Some("")), None);
        assert_eq!(ids.take(Some(&"x".repeat(MOST_ID + 1))), None);
        assert_eq!(ids.take(Some("x")).as_deref(), Some("x"));
        for other in ["call_01", "call_0", "call_+1", "call_", "call_1x"] {
            assert_eq!(ids.take(Some(other)).as_deref(), Some(other));
        }
    }
}
