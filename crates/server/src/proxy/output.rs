//! The neutral events of an answer. The writer of each API converts them to its JSON.

use super::piece::Piece;
use super::trouble::Trouble;
use serde_json::Value;

/// One event of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Output {
    /// More of the text.
    Text(String),
    /// More of the reasoning.
    Reasoning(String),
    /// A call begins. At most one call is open at a time.
    CallStarted { index: usize, id: String, name: String },
    /// More of the open call's arguments, which are the text of a JSON object.
    Arguments { index: usize, text: String },
    /// The arguments of the open call are complete.
    CallDone { index: usize },
    /// The answer is complete. Nothing follows.
    Finished(Finish),
    /// The answer has failed. Nothing follows.
    Failed(Trouble),
}

/// The end of a complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finish {
    pub(super) reason: FinishedBy,
    /// The tokens of all requests for the answer, as reported by the upstream.
    pub(super) usage: Option<Value>,
}

/// The reason why an answer ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FinishedBy {
    /// The model stopped by itself.
    Stop,
    /// The model stopped to wait for the results of its calls.
    Calls,
    /// The limit of tokens was reached.
    Length,
    /// Another reason that the upstream reported.
    Other(String),
}

impl FinishedBy {
    /// Converts the reason that the upstream reported, for a reply of which no call was passed on.
    pub(super) fn of_upstream(finish: &str) -> FinishedBy {
        match finish {
            "stop" | "tool_calls" | "function_call" => FinishedBy::Stop,
            "length" => FinishedBy::Length,
            other => FinishedBy::Other(other.to_owned()),
        }
    }
}

/// Writes an answer in the form of one API. A writer handles the events of one answer, as a stream or as a whole.
pub(super) trait Writer: Send {
    /// Takes the id, the time and the model of the upstream's answer.
    fn note_upstream(&mut self, _: &Piece<'_>) {}

    /// Takes the estimated number of tokens of the request.
    fn note_input(&mut self, _tokens: u64) {}

    /// Adds the first events of a stream.
    fn begin(&mut self, _out: &mut String) {}

    /// Adds the events of the stream for one event of the answer.
    fn event(&mut self, output: &Output, out: &mut String);

    /// Returns the whole answer from its events, the last of which is [`Output::Finished`].
    fn complete_answer(&mut self, outputs: Vec<Output>) -> String;

    /// Returns `true` if the writer keeps the text of a stream until its end.
    fn keeps_text(&self) -> bool {
        false
    }
}

/// Appends an event to those of an answer that is sent as a whole. Adjacent pieces of text are merged.
pub(super) fn append(outputs: &mut Vec<Output>, output: Output) {
    match (outputs.last_mut(), output) {
        (Some(Output::Text(text)), Output::Text(more)) | (Some(Output::Reasoning(text)), Output::Reasoning(more)) => {
            text.push_str(&more);
        }
        (Some(Output::Arguments { text, .. }), Output::Arguments { text: more, .. }) => text.push_str(&more),
        (_, output) => outputs.push(output),
    }
}
