//! Parses personas: Markdown with a TOML head between two `+++` lines.
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

/// A parsed persona: its text and the settings that it asks for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Persona {
    /// The name.
    pub name: String,
    /// One line for lists, possibly empty.
    pub description: String,
    /// The model it was written for.
    pub model: Option<String>,
    /// The only tools that it may use, or `None` for all tools.
    pub tools: Option<Vec<String>>,
    /// Policy settings as TOML, to be parsed with [`Settings::from_toml`](toolfence_policy::Settings::from_toml). The
    /// host must apply only what tightens its policy, and must report the settings that it leaves out.
    pub policy: Option<String>,
    /// The instructions for the model, placed before those of the protocol.
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
    /// Parses a persona. Accepts a byte order mark and CRLF, and drops blank lines around the text.
    ///
    /// # Errors
    /// Fails if the head is missing, unclosed or invalid TOML, if it has an unknown key or no name, or if there is no
    /// text. The message names the line.
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

/// Returns the head without its fences, and the text after it.
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
    fn all_settings_are_parsed() {
        let source = "\u{feff}+++\r\nname = \"a\"\r\ndescription = \"d\"\r\nmodel = \"m\"\r\ntools = []\r\n\
                      [policy]\r\nask = \"always\"\r\n+++\r\n\r\nOne.\r\n+++\r\nTwo.\r\n";
        let persona = Persona::parse(source).unwrap();
        assert_eq!(persona.model.as_deref(), Some("m"));
        assert_eq!(persona.tools, Some(Vec::new()));
        assert_eq!(persona.policy.as_deref(), Some("ask = \"always\"\n"));
        assert_eq!(persona.text, "One.\n+++\nTwo.");
    }

    #[test]
    fn errors_name_the_line() {
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
