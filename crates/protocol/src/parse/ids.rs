//! The ids of a reply's calls: the model's own, and `call_1`, `call_2`, ... where it gave none, or one twice.

use std::collections::HashSet;

#[derive(Debug, Default)]
pub(super) struct Ids {
    /// Those the model gave.
    own: HashSet<String>,
    /// How far the given ones are counted.
    given: usize,
}

impl Ids {
    /// Takes the model's id, unless it gave none or somebody has it.
    pub(super) fn take(&mut self, wanted: Option<&str>) -> Option<String> {
        let id = wanted.filter(|id| !id.is_empty() && !self.was_given(id) && !self.own.contains(*id))?;
        self.own.insert(id.to_owned());
        Some(id.to_owned())
    }

    /// An id nobody has.
    pub(super) fn give(&mut self) -> String {
        loop {
            self.given += 1;
            let id = numbered(self.given);
            if self.own.is_empty() || !self.own.contains(id.as_str()) {
                return id;
            }
        }
    }

    fn was_given(&self, id: &str) -> bool {
        let number = id.strip_prefix("call_").filter(|number| number.starts_with(|first| matches!(first, '1'..='9')));
        number.and_then(|number| number.parse::<usize>().ok()).is_some_and(|number| number <= self.given)
    }
}

/// `call_1`; every call has one, so it is written without the machinery of `format!`.
fn numbered(mut number: usize) -> String {
    const MOST_DIGITS: usize = 20;
    let mut digits = [0; MOST_DIGITS];
    let mut from = digits.len();
    while from == digits.len() || number > 0 {
        from -= 1;
        digits[from] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let mut id = String::with_capacity("call_".len() + MOST_DIGITS);
    id.push_str("call_");
    for digit in &digits[from..] {
        id.push(*digit as char);
    }
    id
}

#[cfg(test)]
mod tests {
    use super::{Ids, numbered};

    #[test]
    fn numbers_are_written_as_usual() {
        for number in [0, 1, 9, 10, 907, usize::MAX] {
            assert_eq!(numbered(number), format!("call_{number}"));
        }
    }

    #[test]
    fn nobody_has_the_id_of_another() {
        let mut ids = Ids::default();
        assert_eq!(ids.take(Some("call_2")).as_deref(), Some("call_2"));
        assert_eq!(ids.give(), "call_1");
        assert_eq!(ids.give(), "call_3");
        assert_eq!(ids.take(Some("call_2")), None);
        assert_eq!(ids.take(Some("call_1")), None);
        assert_eq!(ids.take(Some("")), None);
        assert_eq!(ids.take(Some("x")).as_deref(), Some("x"));
        for other in ["call_01", "call_0", "call_+1", "call_", "call_1x"] {
            assert_eq!(ids.take(Some(other)).as_deref(), Some(other));
        }
    }
}
