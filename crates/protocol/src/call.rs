//! A call as the model wrote it, and the repairs that were needed to read it.

use crate::Dialect;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Map, Value};

/// The arguments of a call, keyed by name.
pub type Args = Map<String, Value>;

/// One tool call, read from a reply. Whether it may run is not decided yet; see `policy`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// Unique within the reply. The parser assigns an id if the model gave none or used one twice.
    pub id: String,
    /// The tool's name as the model wrote it; [`Catalog::resolve`](crate::Catalog::resolve) replaces aliases.
    pub name: String,
    /// The arguments as the model wrote them.
    #[serde(default)]
    pub args: Args,
    /// The model's reason for the call, in its own words.
    #[serde(default)]
    pub reason: Option<String>,
    /// The repairs that were needed to read the call, in order of occurrence; empty for a call in the canonical form.
    #[serde(default, skip_deserializing)]
    pub repairs: Vec<Repair>,
    /// The dialect in which the call was written; `None` for a block of the protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
}

impl ToolCall {
    /// Creates a call without repairs, for backends with native calling and for tests.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: Args) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), args, reason: None, repairs: Vec::new(), dialect: None }
    }

    /// Returns `true` if any repair was a guess. Such a call runs only if its effect is Read.
    pub fn is_lossy(&self) -> bool {
        self.repairs.iter().any(|repair| !repair.lossless())
    }
}

/// Defines [`Repair`] with the name of each repair and whether it is lossless, so that neither can be forgotten.
macro_rules! repairs {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $lossless:literal;)*) => {
        /// A repair that a call needed, or an accepted form other than the canonical one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Repair { $($(#[$doc])* $variant,)* }

        impl Repair {
            /// All repairs.
            pub const ALL: &'static [Repair] = &[$(Repair::$variant,)*];

            /// Returns the name that events and case files use.
            pub fn name(self) -> &'static str {
                match self { $(Repair::$variant => $name,)* }
            }

            /// Returns `true` if only one reading made sense.
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
    /// An escape that JSON does not have and that has only one plausible meaning.
    InvalidEscape = "invalid_escape", true;
    /// Prose or a label around the object.
    SurroundingText = "surrounding_text", true;
    /// A comma or a semicolon after an object.
    Separator = "separator", true;
    /// More closing brackets than opening ones, followed only by whitespace.
    SurplusClosers = "surplus_closers", true;
    /// Only closing brackets were missing, outside a string, before a real closing fence.
    FinalClosers = "final_closers", true;
    /// The object was complete, but the closing fence or the closing token of its dialect was missing.
    MissingFence = "missing_fence", true;
    /// The closing fence follows the object's last line or the TAG of the last body on the same line.
    GluedFence = "glued_fence", true;
    /// Text such as `<|im_end|>` follows the closing fence on its line.
    TextAfterFence = "text_after_fence", true;
    /// A verbatim body inside of the string that announces it: `"<<EOF\n...\nEOF"`.
    InlineBody = "inline_body", true;
    /// The announcement of a verbatim body is inexact, such as `<<eof` or `<<'EOF'`, and its word ends the body.
    LooseTag = "loose_tag", true;
    /// An earlier block ended where CommonMark sees no end, and this call does not have the exact form.
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
    /// The arguments are next to `name` instead of in `args`.
    ArgsBesideName = "args_beside_name", true;
    /// Several calls in one block: an array, or one object after another.
    SeveralCalls = "several_calls", true;
    /// `functions.` before the name, `:0` or `<|...|>` after it, or Markdown escapes in it.
    NameDecoration = "name_decoration", true;
    /// An info word other than `tool`: `tool_call`, `tool_code`.
    InfoWord = "info_word", true;
    /// A key next to `args` that has no meaning and was dropped.
    ExtraKey = "extra_key", true;
    /// `args` is null, `""` or `[]`, or `reason` or `id` is not a string.
    WrongType = "wrong_type", true;
    /// A value has another type than the schema requires and was converted to the only value that fits: `"3"` for a
    /// whole number.
    Coerced = "coerced", true;
    /// `reason` or `explanation` among the arguments of a tool without such an argument; it was moved out of them.
    MovedReason = "moved_reason", true;
    /// The quote of a string occurs unescaped inside it; the text after each quote decided which one ends the string.
    InnerQuotes = "inner_quotes", false;
    /// A string in three quotes, as in Python.
    TripleQuotes = "triple_quotes", false;
    /// A string value without quotes.
    UnquotedValue = "unquoted_value", false;
    /// Text follows a call in a dialect on its line, or lines of text follow the object of a call that writes a text:
    /// they may belong to that text.
    TrailingText = "trailing_text", false;
    /// A closing bracket was missing before another one.
    MiddleClosers = "middle_closers", false;
    /// The fence has no word or another word than `tool`, and nothing else in the reply is a call.
    WrongWord = "wrong_word", false;
    /// Prose precedes the opening token of a dialect on its line.
    MidLine = "mid_line", false;
    /// The call is written in another dialect than the one that the backend's model is known to write.
    OtherDialect = "other_dialect", false;
    /// An argument's text contains a tag of its dialect, or a closing tag follows the call: the end of the text is a
    /// guess.
    InnerCloser = "inner_closer", false;
    /// Lines of an argument are in a list item and share its indentation.
    IndentedText = "indented_text", false;
    /// An argument without a name, identified by its position.
    PositionalArgument = "positional_argument", false;
    /// The call follows a block that broke off: it may have been content of that block.
    AfterBrokenBlock = "after_broken_block", false;
    /// The block broke off with its reply and the next reply continued it; the two were joined where their texts
    /// overlap. A person can review this guess and is always asked.
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
