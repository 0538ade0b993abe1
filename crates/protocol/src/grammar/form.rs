//! The request field that carries a grammar to a server.

use serde_json::{Value, json};

/// How a server accepts a grammar in a request of OpenAI's format.
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
    /// `grammar`, for llama.cpp and servers that are based on it.
    Grammar,
    /// `structured_outputs`, for vLLM since 0.10.
    Structured,
    /// `guided_grammar`, for earlier versions of vLLM.
    Guided,
}

impl Form {
    /// All forms.
    pub const ALL: &'static [Form] = &[Form::Grammar, Form::Structured, Form::Guided];

    /// Returns the name of the field, which settings also use to name the form.
    pub fn name(self) -> &'static str {
        match self {
            Form::Grammar => "grammar",
            Form::Structured => "structured_outputs",
            Form::Guided => "guided_grammar",
        }
    }

    /// Returns the form with this name.
    pub fn from_name(name: &str) -> Option<Form> {
        Form::ALL.iter().copied().find(|form| form.name() == name)
    }

    /// Returns the field with its value for a grammar in GBNF.
    pub fn member(self, gbnf: &str) -> (&'static str, Value) {
        let value = match self {
            Form::Grammar | Form::Guided => gbnf.into(),
            Form::Structured => json!({"grammar": gbnf}),
        };
        (self.name(), value)
    }
}
