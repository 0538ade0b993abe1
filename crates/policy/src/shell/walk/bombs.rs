//! Functions that start each other again and again.

use super::Walker;
use crate::shell::rules;
use std::collections::{BTreeMap, BTreeSet};

/// Which function calls which, and whether beside something else.
pub(super) type Edge = (String, String, bool);

impl Walker<'_> {
    /// Notes that a name is called, for [`Walker::fork_bombs`].
    pub(in crate::shell) fn calls(&mut self, name: &str) {
        for function in &self.functions {
            self.edges.push((function.clone(), name.to_owned(), self.beside));
        }
    }

    /// Finds functions that start each other again and again, when all is read.
    pub(in crate::shell) fn fork_bombs(&mut self) {
        let mut callees: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (from, to, _) in &self.edges {
            callees.entry(from).or_default().insert(to);
        }
        let beside: BTreeSet<(&str, &str)> =
            self.edges.iter().filter(|edge| edge.2).map(|(from, to, _)| (from.as_str(), to.as_str())).collect();
        // What calls nothing leads back to nothing.
        let mut bombs =
            beside.iter().filter(|(from, to)| from == to || callees.contains_key(to) && reaches(&callees, to, from));
        let bomb = bombs.next().map(|(name, _)| rules::fork_bomb(name));
        bomb.into_iter().for_each(|bomb| self.report.note(bomb));
    }
}

fn reaches<'a>(callees: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &'a str, goal: &str) -> bool {
    let (mut seen, mut pending) = (BTreeSet::from([start]), vec![start]);
    while let Some(name) = pending.pop() {
        if name == goal {
            return true;
        }
        pending.extend(callees.get(name).into_iter().flatten().filter(|name| seen.insert(name)));
    }
    false
}
