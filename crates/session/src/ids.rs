//! Assigns ids to calls that are unique in the conversation. The parser numbers the calls of each reply from 1.

use std::collections::{HashMap, HashSet};

/// The ids of a conversation.
#[derive(Debug, Default)]
pub(super) struct Ids {
    used: HashSet<String>,
    /// The number of the last generated id.
    last: u64,
}

impl Ids {
    /// Marks an id of an earlier reply as used.
    pub(super) fn reserve(&mut self, id: String) {
        self.used.insert(id);
    }

    /// Returns this id, or a new one if it is empty or used.
    pub(super) fn unique(&mut self, id: &str) -> String {
        if !id.is_empty() && self.used.insert(id.to_owned()) {
            return id.to_owned();
        }
        loop {
            self.last += 1;
            let id = format!("call_{}", self.last);
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// Maps the parser's ids of one reply to the ids of the conversation.
#[derive(Debug, Default)]
pub(super) struct ReplyIds(HashMap<String, String>);

impl ReplyIds {
    /// Returns the id in the conversation. Provisional events and the call itself share one id.
    pub(super) fn unique(&mut self, id: &str, ids: &mut Ids) -> String {
        self.0.entry(id.to_owned()).or_insert_with(|| ids.unique(id)).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_two_replies_differ() {
        let mut ids = Ids::default();
        ids.reserve("call_1".to_owned());
        let mut first = ReplyIds::default();
        assert_eq!(["call_1", "mine", "call_1"].map(|id| first.unique(id, &mut ids)), ["call_2", "mine", "call_2"]);
        let mut second = ReplyIds::default();
        assert_eq!(
            ["mine", "call_3", "", "call_1"].map(|id| second.unique(id, &mut ids)),
            ["call_3", "call_4", "call_5", "call_6"]
        );
    }
}
