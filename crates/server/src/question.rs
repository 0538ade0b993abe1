//! Questions to clients: their subject, and the answers that they accept.

#[cfg(all(test, feature = "http"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolfence_policy::{Pending, Rule};
use toolfence_protocol::{Args, Text, text};
use toolfence_session::Answer;

/// The subject of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(all(test, feature = "http"), derive(JsonSchema), schemars(inline))]
pub(crate) enum About {
    Call,
    Changes,
    Output,
    Network,
}

impl About {
    pub(crate) fn describe(question: &Pending) -> About {
        match question.changes() {
            None if question.has_run() => About::Network,
            None => About::Call,
            Some(_) if question.is_about_output() => About::Output,
            Some(_) => About::Changes,
        }
    }
}

/// What an approval allows in addition to the call in question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) enum Always {
    #[default]
    No,
    /// Calls like this one.
    Same,
    /// All changes in the project.
    Project,
}

impl TryFrom<Value> for Always {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Always, &'static str> {
        match value {
            Value::Bool(false) => Ok(Always::No),
            Value::Bool(true) => Ok(Always::Same),
            Value::String(word) if word == "project" => Ok(Always::Project),
            _ => Err("always is true, false or \"project\""),
        }
    }
}

/// The answers that a question accepts in addition to yes and no.
#[derive(Debug, Clone)]
pub(crate) struct Choices {
    all_changes: Option<Rule>,
    /// A command that has run cannot be edited.
    takes_edit: bool,
}

impl Choices {
    pub(crate) fn offered(question: &Pending) -> Choices {
        Choices { all_changes: question.all_changes(), takes_edit: !question.has_run() }
    }

    /// Returns the answer for an approval.
    ///
    /// # Errors
    /// Fails if the question does not offer `always`.
    pub(crate) fn approval(&self, always: Always) -> Result<Answer, Text> {
        Ok(match (always, &self.all_changes) {
            (Always::No, _) => Answer::Yes,
            (Always::Same, _) => Answer::Always(None),
            (Always::Project, Some(rule)) => Answer::Always(Some(rule.clone())),
            (Always::Project, None) => {
                return Err(text!("This question has no answer that keeps all changes in the project."));
            }
        })
    }

    /// Returns the answer that replaces the arguments.
    ///
    /// # Errors
    /// Fails if the call has already run.
    pub(crate) fn edit(&self, args: Args) -> Result<Answer, Text> {
        match self.takes_edit {
            true => Ok(Answer::Edit(args)),
            false => Err(text!("A command that has run cannot be edited.")),
        }
    }
}
