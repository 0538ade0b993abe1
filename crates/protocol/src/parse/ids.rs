//! The ids of a reply's calls: the model's own, or `call_1`, `call_2`, ... if the model gave none or repeated one.

use std::collections::HashSet;

/// The maximum number of bytes in the model's id. Every piece of an argument repeats it, so a long id would make time
/// and memory grow with the product of both lengths.
const MOST_ID: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Ids {
    /// The ids from the model.
    model_ids: HashSet<String>,
    /// The number of the last assigned id.
    last_assigned: usize,
}

impl Ids {
    /// Accepts the model's id, unless it is missing, too long or used by another call.
    pub(super) fn take(&mut self, wanted: Option<&str>) -> Option<String> {
        let id = wanted.filter(|id| (1..=MOST_ID).contains(&id.len()))?;
        if self.is_assigned(id) || self.model_ids.contains(id) {
            return None;
        }
        self.model_ids.insert(id.to_owned());
        Some(id.to_owned())
    }

    /// Assigns an id that no other call has.
    pub(super) fn assign(&mut self) -> String {
        loop {
            self.last_assigned += 1;
            let id = format!("call_{}", self.last_assigned);
            if !self.model_ids.contains(id.as_str()) {
                return id;
            }
        }
    }

    fn is_assigned(&self, id: &str) -> bool {
        let number = id.strip_prefix("call_").filter(|number| number.starts_with(|first| matches!(first, '1'..='9')));
        number.and_then(|number| number.parse::<usize>().ok()).is_some_and(|number| number <= self.last_assigned)
    }
}

#[cfg(test)]
mod tests {
    use super::{Ids, MOST_ID};

    #[test]
    fn ids_are_unique() {
        let mut ids = Ids::default();
        assert_eq!(ids.take(Some("call_2")).as_deref(), Some("call_2"));
        assert_eq!(ids.assign(), "call_1");
        assert_eq!(ids.assign(), "call_3");
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
