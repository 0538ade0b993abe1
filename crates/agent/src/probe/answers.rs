//! The answers to the five questions, and their texts for the user.

use serde::{Serialize, Serializer};
use toolfence_protocol::grammar::Form;
use toolfence_protocol::{Dialect, Text, text};

/// The answers to all questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answers {
    /// Does the backend stream?
    pub stream: StreamAnswer,
    /// Does the model follow the protocol?
    pub protocol: ProtocolAnswer,
    /// How does the model mark reasoning?
    pub reasoning: ReasoningAnswer,
    /// Does text come back unchanged?
    pub text: TextAnswer,
    /// Does the server obey a grammar?
    pub grammar: GrammarAnswer,
}

/// Does the backend stream?
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum StreamAnswer {
    /// The reply arrived in several pieces.
    Streams {
        /// The number of pieces.
        pieces: usize,
    },
    /// The reply arrived at once.
    AtOnce,
    /// The reply was too short to decide.
    TooShort,
    /// The backend failed or did not answer.
    NoAnswer {
        /// The reason.
        why: Text,
    },
}

/// Does the model follow the protocol, and if not, which dialect does it write?
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum ProtocolAnswer {
    /// The model wrote the block of the protocol.
    Follows {
        /// Whether the instructions reached it in a system message. If not, they reached it in the message of the user.
        system_message: bool,
    },
    /// The model wrote a call in a dialect.
    Dialect {
        /// The dialect.
        dialect: Dialect,
        /// Whether the instructions reached it in a system message.
        system_message: bool,
    },
    /// The server returned a call in a channel of its own.
    Native,
    /// The model wrote a call that cannot be read for certain.
    Unreadable {
        /// The beginning of the reply.
        reply: String,
    },
    /// The model wrote no call.
    NoCall {
        /// The beginning of the reply.
        reply: String,
    },
    /// The backend failed or did not answer.
    NoAnswer {
        /// The reason.
        why: Text,
    },
}

/// How does the model mark reasoning?
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum ReasoningAnswer {
    /// No reply had reasoning.
    None,
    /// Between two tags in the text.
    Tags,
    /// With a closing tag only, because the prompt template of the server opens the reasoning.
    Opened,
    /// In a separate field.
    Field,
    /// The backend failed or did not answer.
    NoAnswer {
        /// The reason.
        why: Text,
    },
}

/// Does text come back unchanged, and if not, where does it first differ?
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum TextAnswer {
    /// Every character came back.
    Unchanged,
    /// Two replies differed from the text, first at the same place.
    Changed {
        /// The line of the first difference, counted from 1.
        line: usize,
        /// The column of the first difference in characters, counted from 1.
        column: usize,
        /// The sent text from the first difference on.
        sent: String,
        /// The text that came back instead.
        received: String,
    },
    /// The model did not repeat the text, or changed it differently each time, so it is unknown whether anything
    /// changes text on the way.
    NotRepeated,
    /// The backend failed or did not answer.
    NoAnswer {
        /// The reason.
        why: Text,
    },
}

/// Does the server obey a grammar?
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum GrammarAnswer {
    /// The reply matched the grammar.
    Obeys {
        /// The member of the request that carried the grammar.
        #[serde(serialize_with = "name_of_form")]
        form: Form,
        /// Whether the model reasoned in a separate field nevertheless. Many servers apply the grammar to reasoning
        /// too, which prevents it.
        reasons: bool,
    },
    /// The server obeys a small grammar, but fails with that of the tools.
    FailsOnTools {
        /// The member of the request that carried the grammar.
        #[serde(serialize_with = "name_of_form")]
        form: Form,
        /// The reason.
        why: Text,
    },
    /// The server ignores or refuses every form.
    Ignores,
    /// The backend sends no further members, so it cannot send a grammar.
    CannotBeSent,
    /// The backend failed or did not answer.
    NoAnswer {
        /// The reason.
        why: Text,
    },
}

// The signature is serde's.
fn name_of_form<S: Serializer>(form: &Form, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(form.name())
}

/// One answer as text for the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The rating of the answer.
    pub verdict: Verdict,
    /// The answer.
    pub sentence: Text,
    /// The advice or the consequence.
    pub advice: Option<Text>,
}

/// The rating of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Everything works as expected.
    Good,
    /// Something differs from the expected, without harm.
    Note,
    /// Calls are lost or damaged.
    Bad,
    /// There is no answer.
    Unknown,
}

impl Finding {
    fn new(verdict: Verdict, sentence: Text) -> Finding {
        Finding { verdict, sentence, advice: None }
    }

    fn with(self, advice: Text) -> Finding {
        Finding { advice: Some(advice), ..self }
    }
}

impl Answers {
    /// Returns a finding for each answer, in the order of the questions.
    pub fn findings(&self) -> [Finding; 5] {
        [
            self.stream.finding(),
            self.protocol.finding(),
            self.reasoning.finding(),
            self.text.finding(),
            self.grammar.finding(&self.reasoning),
        ]
    }
}

impl StreamAnswer {
    fn finding(&self) -> Finding {
        match self {
            StreamAnswer::Streams { pieces } => {
                Finding::new(Verdict::Good, text!("Streaming: the reply arrived in {pieces} pieces.", pieces = *pieces))
            }
            StreamAnswer::AtOnce => Finding::new(Verdict::Note, text!("Streaming: the whole reply arrived at once."))
                .with(text!(
                    "You see nothing while the model writes. If the server or bridge can stream, turn that on."
                )),
            StreamAnswer::TooShort => {
                Finding::new(Verdict::Unknown, text!("Streaming: the reply was too short to say."))
            }
            StreamAnswer::NoAnswer { why } => {
                Finding::new(Verdict::Bad, text!("Streaming: no answer: {why}", why = why.clone()))
                    .with(text!("Check that the server runs and what its log says."))
            }
        }
    }
}

impl ProtocolAnswer {
    fn finding(&self) -> Finding {
        match self {
            ProtocolAnswer::Follows { system_message: true } => {
                Finding::new(Verdict::Good, text!("Protocol: the model writes calls as the instructions ask."))
            }
            ProtocolAnswer::Follows { system_message: false } => Finding::new(
                Verdict::Note,
                text!("Protocol: the model follows the instructions only if they are in the message of the user."),
            )
            .with(text!("The system message is lost or refused on the way. `coder` sends the instructions with your first message.")),
            ProtocolAnswer::Dialect { dialect, .. } => Finding::new(
                Verdict::Note,
                text!("Protocol: the model writes calls in the dialect {dialect}.", dialect = dialect.name()),
            )
            .with(text!("These calls are read. Calls in other dialects only run if they just read.")),
            ProtocolAnswer::Native => {
                Finding::new(Verdict::Bad, text!("Protocol: the server returns calls in a channel of its own."))
                    .with(text!("Turn off the backend's own tools and its parser of calls."))
            }
            ProtocolAnswer::Unreadable { reply } => {
                Finding::new(Verdict::Bad, text!("Protocol: the call of the model cannot be read: {reply}", reply = format!("{reply:?}")))
                    .with(text!("Use a larger model or a grammar. If text comes back changed, correct that first."))
            }
            ProtocolAnswer::NoCall { reply } => {
                Finding::new(Verdict::Bad, text!("Protocol: the model wrote no call: {reply}", reply = format!("{reply:?}"))).with(text!(
                    "Check that the backend sends the instructions to the model. If it does, use a larger model or a grammar."
                ))
            }
            ProtocolAnswer::NoAnswer { why } => {
                Finding::new(Verdict::Unknown, text!("Protocol: no answer: {why}", why = why.clone()))
            }
        }
    }
}

impl ReasoningAnswer {
    /// Returns the name of the answer in files, or `None` without an answer.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            ReasoningAnswer::None => Some("none"),
            ReasoningAnswer::Tags => Some("tags"),
            ReasoningAnswer::Opened => Some("opened"),
            ReasoningAnswer::Field => Some("field"),
            ReasoningAnswer::NoAnswer { .. } => None,
        }
    }

    fn finding(&self) -> Finding {
        let sentence = match self {
            ReasoningAnswer::None => text!("Reasoning: no reply had any."),
            ReasoningAnswer::Tags => text!("Reasoning: it is between two tags in the text."),
            ReasoningAnswer::Opened => {
                text!("Reasoning: it has only a closing tag, because the server's template opens it.")
            }
            ReasoningAnswer::Field => text!("Reasoning: it is in a separate field."),
            ReasoningAnswer::NoAnswer { why } => {
                return Finding::new(Verdict::Unknown, text!("Reasoning: no answer: {why}", why = why.clone()));
            }
        };
        Finding::new(Verdict::Good, sentence)
    }
}

impl TextAnswer {
    fn finding(&self) -> Finding {
        match self {
            TextAnswer::Unchanged => Finding::new(Verdict::Good, text!("Text: it comes back unchanged.")),
            TextAnswer::Changed { line, column, sent, received } => Finding::new(
                Verdict::Bad,
                text!(
                    "Text: it first differs in line {line}, column {column}: {sent} came back as {received}",
                    line = *line,
                    column = *column,
                    sent = format!("{sent:?}"),
                    received = format!("{received:?}"),
                ),
            )
            .with(text!(
                "Files that the model writes would have this damage. Take the model's raw Markdown from the page or bridge, not \
                 what it renders, and turn off typography, line wrapping and added text."
            )),
            TextAnswer::NotRepeated => {
                Finding::new(Verdict::Unknown, text!("Text: the model did not repeat it, or differently each time."))
            }
            TextAnswer::NoAnswer { why } => {
                Finding::new(Verdict::Unknown, text!("Text: no answer: {why}", why = why.clone()))
            }
        }
    }
}

impl GrammarAnswer {
    /// Returns `true` if the model can reason under the grammar.
    fn allows(&self, reasoning: &ReasoningAnswer) -> bool {
        match reasoning {
            ReasoningAnswer::None => true,
            ReasoningAnswer::Field => matches!(self, GrammarAnswer::Obeys { reasons: true, .. }),
            _ => false,
        }
    }

    fn finding(&self, reasoning: &ReasoningAnswer) -> Finding {
        match self {
            GrammarAnswer::Obeys { form, .. } => {
                let advice = match self.allows(reasoning) {
                    true => text!("The grammar of the tools is sent with each request. `--grammar off` sends none."),
                    false => text!(
                        "It is not sent, because it would prevent the model's reasoning. `--grammar on` sends it."
                    ),
                };
                let sentence = text!("Grammar: the server obeys `{form}`.", form = form.name());
                Finding::new(Verdict::Good, sentence).with(advice)
            }
            GrammarAnswer::FailsOnTools { form, why } => Finding::new(
                Verdict::Note,
                text!(
                    "Grammar: the server obeys `{form}`, but not with the grammar of the tools: {why}",
                    form = form.name(),
                    why = why.clone()
                ),
            )
            .with(text!("No grammar is sent.")),
            GrammarAnswer::Ignores => Finding::new(Verdict::Note, text!("Grammar: the server obeys none.")),
            GrammarAnswer::CannotBeSent => Finding::new(Verdict::Note, text!("Grammar: this backend cannot send one.")),
            GrammarAnswer::NoAnswer { why } => {
                Finding::new(Verdict::Unknown, text!("Grammar: no answer: {why}", why = why.clone()))
            }
        }
    }
}
