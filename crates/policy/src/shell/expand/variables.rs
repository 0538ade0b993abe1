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

#[derive(Debug, Clone, Default)]
struct Values {
    values: Vec<String>,
    /// Whether it may have a value that is not followed.
    open: bool,
}

impl Variables {
    /// One more value that `name` may have; `None` where it is not known.
    pub(crate) fn may_be(&mut self, name: &str, value: Option<&str>) {
        let known = self.known.entry(name.to_owned()).or_default();
        if self.relied.borrow().contains(name) && !value.is_some_and(is_number) && self.upset.is_none() {
            self.upset = Some(name.to_owned());
        }
        let value = value.filter(|value| value.len() <= MOST_VALUE_BYTES);
        match value {
            Some(value) if known.values.iter().any(|known| known == value) => {}
            Some(value) if known.values.len() < MOST_VALUES => known.values.push(value.to_owned()),
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

    /// Notes that what follows is judged by the values so far; whether that was not noted before.
    pub(crate) fn rely_on(&self, name: &str) -> bool {
        self.relied.borrow_mut().insert(name.to_owned())
    }

    pub(crate) fn no_longer_rely_on(&self, name: &str) {
        self.relied.borrow_mut().remove(name);
    }

    /// A variable that was set to something else after it had been relied on.
    pub(crate) fn upset(&self) -> Option<&str> {
        self.upset.as_deref()
    }

    /// Whether the variable is a number whenever it is read. What sets it later is told by [`Variables::upset`].
    pub(crate) fn rely_on_number(&self, name: &str) -> bool {
        let known = self.known.get(name).filter(|known| !known.open && !known.values.is_empty());
        let number = known.is_some_and(|known| known.values.iter().all(|value| is_number(value)));
        if number {
            self.rely_on(name);
        }
        number
    }

    /// Every value that the script itself says the variable may have.
    pub(crate) fn known(&self, name: &str) -> &[String] {
        self.known.get(name).map_or(&[], |known| &known.values)
    }
}

fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    (1..=18).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}
