//! The variables that a script sets to text it says itself. Everything else that may set one is a question of its own.

use super::{MOST_VALUE_BYTES, MOST_VALUES, Word};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// The variables a script has set to literal text, each with every value it may have.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    known: HashMap<String, Values>,
    /// Those of which something was judged by what they were.
    relied: RefCell<HashSet<String>>,
    /// One of those that was then set to something else.
    upset: Option<String>,
}

/// The values of a variable that are followed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    pub(crate) texts: Vec<String>,
    /// The pattern whose names it has for its values, inside of the loop that gives it those.
    pub(crate) glob: Option<Word>,
    /// Set inside of the loop that gives the variable its values, where nothing else does: it has one of them for certain.
    pub(crate) sure: bool,
    /// Whether it may have a value that is not followed.
    pub(crate) open: bool,
}

impl Variables {
    /// One more value that `name` may have; `None` where it is not known.
    pub(crate) fn may_be(&mut self, name: &str, value: Option<&str>) {
        let known = self.known.entry(name.to_owned()).or_default();
        let relied = known.sure || self.relied.borrow().contains(name) && !value.is_some_and(is_number);
        if relied && self.upset.is_none() {
            self.upset = Some(name.to_owned());
        }
        known.sure = false;
        known.glob = None;
        let value = value.filter(|value| value.len() <= MOST_VALUE_BYTES);
        match value {
            Some(value) if known.texts.iter().any(|known| known == value) => {}
            Some(value) if known.texts.len() < MOST_VALUES => known.texts.push(value.to_owned()),
            _ => known.open = true,
        }
    }

    /// One more word that `name` may have for its value.
    pub(crate) fn may_be_word(&mut self, name: &str, word: &Word) {
        match word.guess() {
            Some(value) => self.may_be(name, Some(value)),
            None if word.is_glob() => self.may_be(name, Some(&word.pattern())),
            None => self.may_be(name, None),
        }
        if word.literal().is_none() {
            self.known.entry(name.to_owned()).or_default().open = true;
        }
    }

    /// The one value that a loop gives to `name` while its body is read: a literal, or any name that a pattern matches.
    pub(crate) fn is_now(&mut self, name: &str, value: &Word) {
        let text = value.pattern().into_owned();
        if text.len() <= MOST_VALUE_BYTES {
            let glob = value.is_glob().then(|| value.clone());
            self.known.insert(name.to_owned(), Values { texts: vec![text], glob, sure: true, open: false });
        }
    }

    /// The loop over `name` is over, in which it had these values.
    pub(crate) fn was(&mut self, name: &str, values: &[Word]) {
        self.known.remove(name);
        values.iter().for_each(|value| self.may_be_word(name, value));
    }

    /// Whether the script has set the variable so far.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// A variable that was set to something else after it had been relied on.
    pub(crate) fn upset(&self) -> Option<&str> {
        self.upset.as_deref()
    }

    /// Whether the variable is a number whenever it is read. What sets it later is told by [`Variables::upset`].
    pub(crate) fn rely_on_number(&self, name: &str) -> bool {
        let known = self.known.get(name).filter(|known| !known.open && known.glob.is_none() && !known.texts.is_empty());
        let number = known.is_some_and(|known| known.texts.iter().all(|value| is_number(value)));
        if number {
            self.relied.borrow_mut().insert(name.to_owned());
        }
        number
    }

    pub(crate) fn known(&self, name: &str) -> Values {
        self.known.get(name).cloned().unwrap_or_default()
    }
}

fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    (1..=18).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}
