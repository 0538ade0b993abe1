//! A persona's text, and what it asks for: Markdown with a TOML head between two `+++` lines.
//!
//! This module reads no files and grants nothing: a persona may ask for fewer tools and a tighter policy, and the host
//! decides.
//!
//! ```
//! use toolfence_session::persona::Persona;
//!
//! let text = "+++\nname = \"reviewer\"\ntools = [\"read_file\", \"search\"]\n+++\nYou read and change nothing.\n";
//! let persona = Persona::parse(text)?;
//! assert_eq!(persona.name, "reviewer");
//! assert_eq!(persona.text, "You read and change nothing.");
//! # Ok::<(), toolfence_protocol::Error>(())
//! ```

use serde::Deserialize;
use toolfence_protocol::{Error, ErrorKind, Result, text};

const FENCE: &str = "+++";

/// What a persona is and asks for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Persona {
    /// What it is called.
    pub name: String,
    /// One line for lists; may be empty.
    pub description: String,
    /// The model it was written for.
    pub model: Option<String>,
    /// The only tools it wants; `None` for all there are.
    pub tools: Option<Vec<String>>,
    /// Policy settings as TOML, which [`Settings::from_toml`](toolfence_policy::Settings::from_toml) reads. The host must take only what
    /// tightens, and must not leave them out silently.
    pub policy: Option<String>,
    /// What is said to the model, before the instructions of the protocol.
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PersonaHead {
    name: String,
    #[serde(default)]
    description: String,
    model: Option<String>,
    tools: Option<Vec<String>>,
    policy: Option<toml::Table>,
}

impl Persona {
    /// Reads a persona. A byte order mark and CRLF are understood; blank lines around the text are dropped.
    ///
    /// # Errors
    /// The head is missing, is not closed, is not TOML, holds something unknown or lacks a name; or there is no text.
    /// The message names the line.
    pub fn parse(source: &str) -> Result<Persona> {
        let source = source.strip_prefix('\u{feff}').unwrap_or(source).replace("\r\n", "\n");
        let (head, text) = split(&source)?;
        let head: PersonaHead = toml::from_str(head).map_err(|error| in_line(head, &error))?;
        if head.name.trim().is_empty() {
            return Err(Error::with_kind(ErrorKind::InvalidInput, text!("The persona's name is empty. Give it one.")));
        }
        if text.trim().is_empty() {
            return Err(Error::with_kind(
                ErrorKind::InvalidInput,
                text!("The persona {name} has no text below its head.", name = format!("{:?}", head.name)),
            ));
        }
        let PersonaHead { name, description, model, tools, policy } = head;
        let policy = policy.map(|policy| policy.to_string());
        Ok(Persona { name, description, model, tools, policy, text: text.trim_matches('\n').to_owned() })
    }
}

/// The head without its fences, and what follows it.
fn split(source: &str) -> Result<(&str, &str)> {
    let is_fence = |line: &str| line.trim_end() == FENCE;
    let (first, rest) = source.split_once('\n').unwrap_or((source, ""));
    if !is_fence(first) {
        return Err(Error::with_kind(
            ErrorKind::InvalidInput,
            text!("A persona begins with a line `{fence}` in line 1, then TOML, then `{fence}` again.", fence = FENCE),
        ));
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if is_fence(line) {
            return Ok((&rest[..end], &rest[end + line.len()..]));
        }
        end += line.len();
    }
    Err(Error::with_kind(
        ErrorKind::InvalidInput,
        text!("The persona's head, begun in line 1, is not closed: a line `{fence}` is missing.", fence = FENCE),
    ))
}

fn in_line(head: &str, error: &toml::de::Error) -> Error {
    let before = error.span().and_then(|span| head.get(..span.start)).unwrap_or_default();
    // The head begins in the second line.
    let line = before.matches('\n').count() + 2;
    Error::with_kind(
        ErrorKind::InvalidInput,
        text!("The persona's head is wrong in line {line}: {problem}.", line, problem = error.message()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_there_is() {
        let source = "\u{feff}+++\r\nname = \"a\"\r\ndescription = \"d\"\r\nmodel = \"m\"\r\ntools = []\r\n\
                      [policy]\r\nask = \"always\"\r\n+++\r\n\r\nOne.\r\n+++\r\nTwo.\r\n";
        let persona = Persona::parse(source).unwrap();
        assert_eq!(persona.model.as_deref(), Some("m"));
        assert_eq!(persona.tools, Some(Vec::new()));
        assert_eq!(persona.policy.as_deref(), Some("ask = \"always\"\n"));
        assert_eq!(persona.text, "One.\n+++\nTwo.");
    }

    #[test]
    fn says_where_it_is_wrong() {
        for (source, wanted) in [
            ("", "in line 1"),
            ("You are a coder.\n", "begins with a line `+++`"),
            ("+++\nname = \"a\"\ntext\n", "is not closed"),
            ("+++\nname = \"a\"\n\ntools = 1\n+++\nx\n", "in line 4"),
            ("+++\nname = \"a\"\nnmae = \"b\"\n+++\nx\n", "in line 3: unknown field `nmae`"),
            ("+++\ndescription = \"a\"\n+++\nx\n", "missing field `name`"),
            ("+++\nname = \" \"\n+++\nx\n", "name is empty"),
            ("+++\nname = \"a\"\n+++\n \n", "has no text"),
        ] {
            let error = Persona::parse(source).unwrap_err().to_string();
            assert!(error.contains(wanted), "{source:?}: {error}");
        }
    }
}
