//! Rules of a grammar as text: names that are taken once, terminals that are escaped.
//!
//! llama.cpp counts a repeated group by the rules in it and refuses more than 2,000 in all. So what may come often is a
//! rule of its own, and only its name is repeated.

use serde_json::Value;
use std::collections::HashSet;

/// Every character but line endings and other controls; a tab is allowed. `but` is put in front, escaped for a class.
pub(super) fn but(but: &str) -> String {
    format!("[^{but}\\x00-\\x08\\x0A-\\x1F\\x7F]")
}

/// The rules so far, callees first.
#[derive(Debug, Default)]
pub(super) struct Rules {
    taken: HashSet<String>,
    lines: Vec<String>,
}

impl Rules {
    /// Keeps a name for the end.
    pub(super) fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// Adds a rule. Its name is `hint`, or begins with it where that is taken.
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

    /// The whole text, callers first.
    pub(super) fn finish(self, root: &str) -> String {
        let mut out = format!("root ::= {root}\n");
        for line in self.lines.iter().rev() {
            out.push_str(line);
            out.push('\n');
        }
        out
    }
}

/// A word that may be part of a rule's name.
pub(super) fn slug(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

/// A terminal.
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

/// A JSON string as a terminal: never one that announces a verbatim body.
pub(super) fn json_string(text: &str) -> String {
    let json = Value::from(text).to_string();
    let json = json.strip_prefix("\"<<").map(|rest| format!("\"\\u003c<{rest}")).unwrap_or(json);
    literal(&json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals() {
        assert_eq!(literal("a\"\\\n\u{1}"), r#""a\"\\\n\u0001""#);
        assert_eq!(json_string("<<EOF"), r#""\"\\u003c<EOF\"""#);
        assert_eq!(json_string("a<<b"), r#""\"a<<b\"""#);
    }

    #[test]
    fn names_are_taken_once() {
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
