//! The rules of a grammar as text, with unique names and escaped terminals.
//!
//! llama.cpp counts a repeated group by the rules in it and refuses more than 2,000 in total. Frequent items are
//! therefore rules of their own, so that only their names are repeated.

use serde_json::Value;
use std::collections::HashSet;

/// Returns a class of all characters except those in `but`, which must be escaped, and control characters other than a
/// tab.
pub(super) fn but(but: &str) -> String {
    format!("[^{but}\\x00-\\x08\\x0A-\\x1F\\x7F]")
}

/// The rules so far; a rule follows those that it uses.
#[derive(Debug, Default)]
pub(super) struct Rules {
    taken: HashSet<String>,
    lines: Vec<String>,
}

impl Rules {
    /// Reserves a name.
    pub(super) fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// Adds a rule. Its name is `hint`, with a number appended if that name is taken. Returns the name.
    pub(super) fn add(&mut self, hint: &str, body: &str) -> String {
        let mut name = hint.to_owned();
        let mut count = 1;
        while !self.taken.insert(name.clone()) {
            count += 1;
            name = format!("{hint}-{count}");
        }
        self.lines.push(format!("{name} ::= {body}"));
        name
    }

    /// Returns the whole grammar; a rule precedes those that it uses.
    pub(super) fn finish(self, root: &str) -> String {
        let mut out = format!("root ::= {root}\n");
        for line in self.lines.iter().rev() {
            out.push_str(line);
            out.push('\n');
        }
        out
    }
}

/// Converts a name to a valid part of a rule's name.
pub(super) fn slug(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

/// Returns a terminal.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns a JSON string as a terminal. It never announces a verbatim body.
pub(super) fn json_string(text: &str) -> String {
    let json = Value::from(text).to_string();
    let json = json.strip_prefix("\"<<").map(|rest| format!("\"\\u003c<{rest}")).unwrap_or(json);
    literal(&json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_escaped() {
        assert_eq!(literal("a\"\\\n\u{1}"), r#""a\"\\\n\u0001""#);
        assert_eq!(json_string("<<EOF"), r#""\"\\u003c<EOF\"""#);
        assert_eq!(json_string("a<<b"), r#""\"a<<b\"""#);
    }

    #[test]
    fn rule_names_are_unique() {
        let mut rules = Rules::default();
        rules.reserve("root");
        assert_eq!(
            (rules.add("a", "x"), rules.add("a", "y"), rules.add("a-2", "z")),
            ("a".into(), "a-2".into(), "a-2-2".into())
        );
        assert_eq!(rules.add("root", "x"), "root-2");
        assert_eq!(slug("Get_file:ä"), "get-file--");
    }
}
