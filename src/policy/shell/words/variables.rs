//! The variables that a script sets to text it says itself. Everything else that may set one is a question of its own.

use super::{MOST_VALUE_BYTES, MOST_VALUES, Word};
use std::collections::HashMap;

/// The variables a script has set to literal text, each with every value it may have.
#[derive(Debug, Clone, Default)]
pub(in crate::policy::shell) struct Variables(HashMap<String, Known>);

#[derive(Debug, Clone, Default)]
struct Known {
    values: Vec<String>,
    /// Set inside of the loop that gives the variable its values, where nothing else does.
    sure: bool,
}

impl Variables {
    /// One more value that `name` may have; `None` where it is not known.
    pub(in crate::policy::shell) fn may_be(&mut self, name: &str, value: Option<&str>) {
        let known = self.0.entry(name.to_owned()).or_default();
        known.sure = false;
        let Some(value) = value.filter(|value| value.len() <= MOST_VALUE_BYTES) else { return };
        if known.values.len() < MOST_VALUES && !known.values.iter().any(|known| known == value) {
            known.values.push(value.to_owned());
        }
    }

    /// One more word that `name` may have for its value.
    pub(in crate::policy::shell) fn may_be_word(&mut self, name: &str, word: &Word) {
        match word.guess() {
            Some(value) => self.may_be(name, Some(value)),
            None if word.is_glob() => self.may_be(name, Some(&word.pattern())),
            None => self.may_be(name, None),
        }
    }

    /// The one value that a loop gives to `name` while its body is read.
    pub(in crate::policy::shell) fn is_now(&mut self, name: &str, value: &str) {
        if value.len() <= MOST_VALUE_BYTES {
            self.0.insert(name.to_owned(), Known { values: vec![value.to_owned()], sure: true });
        }
    }

    /// Whether the script has set the variable so far.
    pub(in crate::policy::shell) fn is_set(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// What `$1`, `$2` and their kin stand for.
    pub(in crate::policy::shell) fn arguments(&mut self, words: &[Word]) {
        for (at, word) in words.iter().enumerate().take(MOST_VALUES) {
            self.may_be(&(at + 1).to_string(), word.guess());
        }
        // Without words nothing is known: the text may be fed with them in another way.
        if words.is_empty() {
            return;
        }
        let known: Vec<&str> = words.iter().filter_map(Word::guess).collect();
        ["@", "*"].iter().for_each(|name| self.may_be(name, Some(&known.join(" "))));
    }

    pub(super) fn known(&self, name: &str) -> (&[String], bool) {
        self.0.get(name).map_or((&[], false), |known| (&known.values, known.sure))
    }
}
