//! The ways in which texts are damaged between a model and this library.

use super::messages;
use serde::{Serialize, Serializer};
use toolfence_protocol::Text;

macro_rules! manglings {
    ($($(#[$doc:meta])* $variant:ident $name:literal $spoils:literal $said:ident $advice:ident,)*) => {
        /// What happens to a text on its way.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mangling { $($(#[$doc])* $variant,)* }

        impl Mangling {
            /// Every mangling there is a name for.
            pub const ALL: &'static [Mangling] = &[$(Mangling::$variant,)*];

            /// The name in files and JSON.
            pub fn name(self) -> &'static str {
                match self { $(Mangling::$variant => $name,)* }
            }

            /// Whether calls become unreadable by it, or say something else than the model wrote.
            pub fn spoils_calls(self) -> bool {
                match self { $(Mangling::$variant => $spoils,)* }
            }

            /// What happens, in a sentence.
            pub fn said(self) -> Text {
                match self { $(Mangling::$variant => messages::$said(),)* }
            }

            /// What to do about it.
            pub fn advice(self) -> Text {
                match self { $(Mangling::$variant => messages::$advice(),)* }
            }
        }
    };
}

manglings! {
    /// Backslashes are missing, or became what they escape.
    BackslashesLost "backslashes_lost" true backslashes_lost take_it_raw,
    /// Backslashes stand before marks of Markdown.
    BackslashesAdded "backslashes_added" true backslashes_added take_it_raw,
    /// The lines of backticks around code are missing.
    FencesLost "fences_lost" true fences_lost fences_are_needed,
    /// The lines of backticks became other fences.
    FencesChanged "fences_changed" true fences_changed fences_are_needed,
    /// The word behind a fence is missing.
    InfoWordLost "info_word_lost" true info_word_lost fences_are_needed,
    /// Straight quotes became typographic ones.
    QuotesChanged "quotes_changed" true quotes_changed typography_off,
    /// Two hyphens or three dots became one character.
    DashesChanged "dashes_changed" true dashes_changed typography_off,
    /// Empty lines are missing.
    BlankLinesLost "blank_lines_lost" false blank_lines_lost blank_lines_matter,
    /// There are empty lines that nobody wrote.
    BlankLinesAdded "blank_lines_added" false blank_lines_added blank_lines_matter,
    /// Lines were put together.
    LinesJoined "lines_joined" true lines_joined take_it_raw,
    /// Long lines were broken.
    LinesWrapped "lines_wrapped" true lines_wrapped wrapping_off,
    /// Tabs became blanks.
    TabsLost "tabs_lost" true tabs_lost tabs_matter,
    /// Several blanks became one.
    BlanksCollapsed "blanks_collapsed" true blanks_collapsed take_it_raw,
    /// Lines lost what stood before their first word.
    IndentationLost "indentation_lost" true indentation_lost take_it_raw,
    /// Blanks at the end of lines are missing.
    TrailingBlanksLost "trailing_blanks_lost" false trailing_blanks_lost trailing_blanks_matter,
    /// Letters and their accents were put together (NFC).
    UnicodeComposed "unicode_composed" false unicode_composed composed_names,
    /// What is not ASCII is missing or became something else.
    NonAsciiLost "non_ascii_lost" true non_ascii_lost encoding_of_the_bridge,
    /// `<` and `&` became entities of HTML.
    EntitiesEncoded "entities_encoded" true entities_encoded take_text_of_the_page,
    /// Entities of HTML became characters.
    EntitiesDecoded "entities_decoded" true entities_decoded take_it_raw,
    /// Tags of HTML are missing.
    TagsLost "tags_lost" true tags_lost take_it_raw,
    /// Underscores and asterisks were taken for emphasis.
    MarkdownRendered "markdown_rendered" true markdown_rendered take_it_raw,
    /// Addresses became links.
    LinksChanged "links_changed" true links_changed take_it_raw,
    /// The backend puts a fixed text before every reply.
    PrefixAdded "prefix_added" false prefix_added affixes_off,
    /// The backend puts a fixed text behind every reply.
    SuffixAdded "suffix_added" false suffix_added affixes_off,
    /// Replies end in citations and notes of a search.
    CitationsAdded "citations_added" false citations_added own_tools_off,
    /// Replies call tools that nobody offered, in the channel of the server.
    NativeCalls "native_calls" true native_calls own_tools_off,
    /// The reply begins with the question.
    QuestionRepeated "question_repeated" true question_repeated question_off,
    /// Control sequences of a terminal are among the text.
    ControlSequences "control_sequences" true control_sequences terminal_off,
    /// A long message is read without its end or its beginning.
    LongMessagesCut "long_messages_cut" true long_messages_cut short_messages,
    /// A long message is refused.
    LongMessagesRefused "long_messages_refused" false long_messages_refused short_messages,
}

impl Mangling {
    /// The mangling of a name.
    pub fn from_name(name: &str) -> Option<Mangling> {
        Mangling::ALL.iter().copied().find(|mangling| mangling.name() == name)
    }
}

impl Serialize for Mangling {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
