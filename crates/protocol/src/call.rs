//! A call as the model wrote it, and what had to be repaired to read it.

use crate::Dialect;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Map, Value};

/// The arguments of a call, by name.
pub type Args = Map<String, Value>;

/// One tool call, read from a reply. Nothing is decided yet: see `policy` for what makes it runnable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// Unique within the reply; the parser gives one where the model gave none, or one twice.
    pub id: String,
    /// As written; [`Catalog::resolve`](crate::Catalog::resolve) knows the aliases.
    pub name: String,
    /// As written.
    #[serde(default)]
    pub args: Args,
    /// Why the model wants it, in its words.
    #[serde(default)]
    pub reason: Option<String>,
    /// What was needed to read it, in the order it was met; empty when the call was written exactly right.
    #[serde(default, skip_deserializing)]
    pub repairs: Vec<Repair>,
    /// The form it was written in, where that is not a block of the protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
}

impl ToolCall {
    /// A call that needed no repair, as a backend with native calling or a test makes it.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: Args) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), args, reason: None, repairs: Vec::new(), dialect: None }
    }

    /// Whether any repair was a guess. Such a call runs only where its effect is Read.
    pub fn is_lossy(&self) -> bool {
        self.repairs.iter().any(|repair| !repair.lossless())
    }
}

/// Makes [`Repair`] with its names and which of them are lossless, so that neither can be forgotten.
macro_rules! repairs {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $lossless:literal;)*) => {
        /// One thing that had to be repaired, or one accepted shape other than the canonical one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Repair { $($(#[$doc])* $variant,)* }

        impl Repair {
            /// Every repair there is.
            pub const ALL: &'static [Repair] = &[$(Repair::$variant,)*];

            /// The name in events and case files.
            pub fn name(self) -> &'static str {
                match self { $(Repair::$variant => $name,)* }
            }

            /// Whether there was only one sane reading.
            pub fn lossless(self) -> bool {
                match self { $(Repair::$variant => $lossless,)* }
            }
        }
    };
}

repairs! {
    /// A comma before a closing bracket.
    TrailingComma = "trailing_comma", true;
    /// `//`, `/* */` or `#` between tokens.
    Comment = "comment", true;
    /// A raw control character, such as a newline, inside a string.
    RawControl = "raw_control", true;
    /// `True`, `False` or `None`.
    PythonLiteral = "python_literal", true;
    /// A key without quotes.
    UnquotedKey = "unquoted_key", true;
    /// A string in single or typographic quotes, with no such quote inside.
    Quotes = "quotes", true;
    /// No comma between two members of an object.
    MissingComma = "missing_comma", true;
    /// An escape that JSON does not have and that can be meant in one way only.
    InvalidEscape = "invalid_escape", true;
    /// Prose or a label around the object.
    SurroundingText = "surrounding_text", true;
    /// A comma or a semicolon behind an object.
    Separator = "separator", true;
    /// More closing brackets than were opened, and nothing but whitespace behind them.
    SurplusClosers = "surplus_closers", true;
    /// Only closing brackets were missing, outside a string, at a real closing fence.
    FinalClosers = "final_closers", true;
    /// The object was complete but the closing fence, or the closing token of its dialect, was missing.
    MissingFence = "missing_fence", true;
    /// The closing fence stands on the last line of the object or behind the TAG of its last body, not on a line of its own.
    GluedFence = "glued_fence", true;
    /// Text such as `<|im_end|>` stands behind the closing fence on its line.
    TextAfterFence = "text_after_fence", true;
    /// A verbatim body inside of the string that announces it: `"<<EOF\n...\nEOF"`.
    InlineBody = "inline_body", true;
    /// The announcement of a verbatim body is not written exactly, as `<<eof` or `<<'EOF'`, and its word ends the body.
    LooseTag = "loose_tag", true;
    /// A block before ended where CommonMark sees no end, and this call does not have the exact form.
    DoubtfulFence = "doubtful_fence", false;
    /// Another key for `args`: `arguments`, `parameters`, `params`, `kwargs`, `input` and the like.
    ArgsAlias = "args_alias", true;
    /// Another key for `name`: `tool`, `tool_name`, `function` or `action`.
    NameAlias = "name_alias", true;
    /// An object around the call or calls: `{"tool_call": {..}}`, `{"tool_calls": [..]}`.
    Wrapper = "wrapper", true;
    /// The name of the tool is the key of the arguments: `{"read_file": {..}}`.
    NameAsKey = "name_as_key", true;
    /// `args` written as a JSON string.
    ArgsString = "args_string", true;
    /// The arguments stand beside `name`.
    ArgsBesideName = "args_beside_name", true;
    /// Several calls in one block: an array, or one object after another.
    SeveralCalls = "several_calls", true;
    /// `functions.` before the name, `:0` or `<|...|>` behind it, or Markdown's escapes in it.
    NameDecoration = "name_decoration", true;
    /// An info word other than `tool`: `tool_call`, `tool_code`.
    InfoWord = "info_word", true;
    /// A key beside `args` that means nothing; it was left out.
    ExtraKey = "extra_key", true;
    /// `args` that is null, `""` or `[]`, or a `reason` or `id` that is no string.
    WrongType = "wrong_type", true;
    /// A value of another type than the schema wants, of which the schema allows one reading: `"3"` for a whole number.
    Coerced = "coerced", true;
    /// `reason` or `explanation` among the arguments of a tool that has no such argument: it went beside them.
    MovedReason = "moved_reason", true;
    /// The quote of a string stands unescaped inside it; what follows decided which one ends the string.
    InnerQuotes = "inner_quotes", false;
    /// A string in three quotes, as Python has them.
    TripleQuotes = "triple_quotes", false;
    /// A string value without quotes.
    UnquotedValue = "unquoted_value", false;
    /// Text follows a call in a dialect on its line, or lines of text follow the object of a call that writes a text: they may be
    /// that text.
    TrailingText = "trailing_text", false;
    /// A closing bracket was missing before another one.
    MiddleClosers = "middle_closers", false;
    /// The fence has another word than `tool`, or none, and nothing else in the reply is a call.
    WrongWord = "wrong_word", false;
    /// The opening token of a dialect stands behind prose on its line.
    MidLine = "mid_line", false;
    /// The call is written in another dialect than the one that the backend's model is known to write.
    OtherDialect = "other_dialect", false;
    /// A tag of its dialect is inside of an argument's text, or a closing one follows the call: where the text ends is a guess.
    InnerCloser = "inner_closer", false;
    /// Lines of an argument stand in a list item, with its indentation.
    IndentedText = "indented_text", false;
    /// An argument without a name, which its place names.
    PositionalArgument = "positional_argument", false;
    /// The call stands after a block that broke off: it may have been content of that block.
    AfterBrokenBlock = "after_broken_block", false;
    /// The block broke off with its reply, and the next reply went on with it: the two were put together where their texts are
    /// the same. Of all guesses this one can be shown to a person, who is always asked.
    Stitched = "stitched", false;
}

impl Serialize for Repair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Repair", 2)?;
        out.serialize_field("kind", self.name())?;
        out.serialize_field("lossless", &self.lossless())?;
        out.end()
    }
}
