//! The member of a request by which a server is told of a grammar.

use serde_json::{Value, json};

/// How a server takes a grammar with a request of OpenAI's shape.
///
/// ```
/// use toolfence_protocol::grammar::Form;
///
/// let (member, value) = Form::Structured.member("root ::= \"yes\"\n");
/// assert_eq!((member, value.to_string()), ("structured_outputs", r#"{"grammar":"root ::= \"yes\"\n"}"#.to_owned()));
/// assert_eq!(Form::from_name("structured_outputs"), Some(Form::Structured));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// `grammar`, of llama.cpp and the servers that are built on it.
    Grammar,
    /// `structured_outputs`, of vLLM since 0.10.
    Structured,
    /// `guided_grammar`, of earlier vLLM.
    Guided,
}

impl Form {
    /// Every form there is.
    pub const ALL: &'static [Form] = &[Form::Grammar, Form::Structured, Form::Guided];

    /// The name of the member, by which people and files name the form.
    pub fn name(self) -> &'static str {
        match self {
            Form::Grammar => "grammar",
            Form::Structured => "structured_outputs",
            Form::Guided => "guided_grammar",
        }
    }

    /// The form of a name.
    pub fn from_name(name: &str) -> Option<Form> {
        Form::ALL.iter().copied().find(|form| form.name() == name)
    }

    /// The member with its value for a grammar in GBNF.
    pub fn member(self, gbnf: &str) -> (&'static str, Value) {
        let value = match self {
            Form::Grammar | Form::Guided => gbnf.into(),
            Form::Structured => json!({"grammar": gbnf}),
        };
        (self.name(), value)
    }
}
