//! The ids of a reply's calls: the model's own, and `call_1`, `call_2`, ... where it gave none, or one twice.

use std::collections::HashSet;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(super) struct Ids {
    /// Those the model gave.
    own: HashSet<Arc<str>>,
    /// How far the given ones are counted.
    given: usize,
}

impl Ids {
    /// Takes the model's id, unless it gave none or somebody has it.
    pub(super) fn take(&mut self, wanted: Option<&str>) -> Option<Arc<str>> {
        let id = wanted.filter(|id| !id.is_empty() && !self.was_given(id) && !self.own.contains(*id))?;
        let id: Arc<str> = id.into();
        self.own.insert(id.clone());
        Some(id)
    }

    /// An id nobody has.
    pub(super) fn give(&mut self) -> Arc<str> {
        loop {
            self.given += 1;
            let id = format!("call_{}", self.given);
            if self.own.is_empty() || !self.own.contains(id.as_str()) {
                return id.into();
            }
        }
    }

    fn was_given(&self, id: &str) -> bool {
        let number = id.strip_prefix("call_").and_then(|number| number.parse::<usize>().ok());
        number.is_some_and(|number| number <= self.given)
    }
}

#[cfg(test)]
mod tests {
    use super::Ids;

    #[test]
    fn nobody_has_the_id_of_another() {
        let mut ids = Ids::default();
        assert_eq!(ids.take(Some("call_2")).as_deref(), Some("call_2"));
        assert_eq!(ids.give().as_ref(), "call_1");
        assert_eq!(ids.give().as_ref(), "call_3");
        assert_eq!(ids.take(Some("call_2")), None);
        assert_eq!(ids.take(Some("call_1")), None);
        assert_eq!(ids.take(Some("")), None);
        assert_eq!(ids.take(Some("x")).as_deref(), Some("x"));
    }
}
