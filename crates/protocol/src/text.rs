//! Texts for people and models as data: a template in every language and the values of its fields.
//!
//! A failure, a reason or a note is written where it arises and read somewhere else, by a person or a model of another
//! language. A [`Text`] therefore keeps what it says apart from its words: the [`Template`] has a key, which a program can
//! compare, and the words in each language; the fields have the values. A crate declares its templates in one file
//! `messages.rs` with [`texts!`](crate::texts), so that its words can be read as a whole.
//!
//! ```
//! use toolfence_protocol::{Language, Text};
//!
//! toolfence_protocol::texts! { "example"
//!     no_such_file(path) {
//!         en: "There is no file {path}.",
//!         pt: "O arquivo {path} não existe.",
//!     }
//!     lines_left(count) {
//!         en: "{count} {count|line is|lines are} left.",
//!         pt: "{count|Resta|Restam} {count} {count|linha|linhas}.",
//!     }
//! }
//!
//! let text = no_such_file("notes.md");
//! assert_eq!(text.key(), Some("example.no_such_file"));
//! assert_eq!(text.to_string(), "There is no file notes.md.");
//! assert_eq!(text.render(Language::Portuguese), "O arquivo notes.md não existe.");
//! assert_eq!(lines_left(1_u64).render(Language::Portuguese), "Resta 1 linha.");
//! ```

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The language of what a person reads and a model is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Language {
    /// English.
    #[default]
    #[serde(rename = "en")]
    English,
    /// Brazilian Portuguese.
    #[serde(rename = "pt")]
    Portuguese,
}

impl Language {
    /// The language of a tag such as `pt`, `pt-BR` or `en_US.UTF-8`.
    pub fn from_tag(tag: &str) -> Option<Language> {
        let primary = tag.split(['-', '_', '.']).next().unwrap_or_default();
        match primary.to_ascii_lowercase().as_str() {
            "en" => Some(Language::English),
            "pt" => Some(Language::Portuguese),
            _ => None,
        }
    }
}

/// The words of a text in each language, with a key and the names of its fields. Made by [`texts!`](crate::texts).
///
/// In the words, `{name}` stands for the value of a field, `{name|one|several}` for the first alternative where the field
/// is the number 1 and for the second otherwise, and `{{` and `}}` for a brace.
#[derive(Debug)]
pub struct Template {
    /// The key, the names of the fields with a comma behind each, the English words and the Portuguese ones, with a NUL between
    /// them. They are one string because each pointer in a constant is work for the loader whenever a program starts, and there
    /// are two thousand templates.
    all: &'static str,
    /// Where the first three of these parts end.
    ends: [u16; 3],
}

impl Template {
    /// A template of its parts in one string. Its words are checked: a placeholder without a field, a field without a
    /// placeholder in one of the languages, or a single brace does not compile.
    #[doc(hidden)]
    pub const fn new(all: &'static str) -> Template {
        let (bytes, mut ends, mut met, mut at) = (all.as_bytes(), [0; 3], 0, 0);
        assert!(bytes.len() <= u16::MAX as usize, "the text is too long");
        while at < bytes.len() {
            if bytes[at] == 0 {
                assert!(met < ends.len(), "a text holds no NUL");
                ends[met] = at as u16;
                met += 1;
            }
            at += 1;
        }
        let template = Template { all, ends };
        let names = template.part(1);
        let unended = !names.is_empty() && names.as_bytes()[names.len() - 1] != b',';
        assert!(!unended, "a comma stands behind each name");
        assert!(agree(template.words(Language::English), names), "the English words and the fields do not agree");
        assert!(agree(template.words(Language::Portuguese), names), "the Portuguese words and the fields do not agree");
        template
    }

    /// One of the four texts that `all` holds one behind the other, by its number from 0.
    const fn part(&self, at: usize) -> &'static str {
        let until = if at == self.ends.len() { self.all } else { self.all.split_at(self.ends[at] as usize).0 };
        if at == 0 { until } else { until.split_at(self.ends[at - 1] as usize + 1).1 }
    }

    fn key(&self) -> &'static str {
        self.part(0)
    }

    fn fields(&self) -> impl Iterator<Item = &'static str> {
        self.part(1).split_terminator(',')
    }

    const fn words(&self, language: Language) -> &'static str {
        match language {
            Language::English => self.part(2),
            Language::Portuguese => self.part(3),
        }
    }
}

/// Whether each placeholder names a field, each field has a placeholder, and no brace stands alone.
const fn agree(words: &str, names: &str) -> bool {
    let (words, names) = (words.as_bytes(), names.as_bytes());
    // One bit for each field that was met; 64 fields are more than any text has.
    let (mut met, mut at) = (0_u64, 0);
    while at < words.len() {
        let doubled = at + 1 < words.len() && words[at + 1] == words[at];
        match words[at] {
            b'{' | b'}' if doubled => at += 2,
            b'}' => return false,
            b'{' => {
                let start = at + 1;
                let mut end = start;
                while end < words.len() && words[end] != b'}' && words[end] != b'|' {
                    end += 1;
                }
                match field(names, words, start, end) {
                    Some(field) => met |= 1 << field,
                    None => return false,
                }
                let mut alternatives = 0;
                while end < words.len() && words[end] != b'}' {
                    if words[end] == b'|' {
                        alternatives += 1;
                    }
                    end += 1;
                }
                if end == words.len() || !(alternatives == 0 || alternatives == 2) {
                    return false;
                }
                at = end + 1;
            }
            _ => at += 1,
        }
    }
    let (mut fields, mut at) = (0, 0);
    while at < names.len() {
        fields += (names[at] == b',') as u32;
        at += 1;
    }
    met.count_ones() == fields
}

/// Which of the names, each with a comma behind it, stands in the words from `start` to `end`.
const fn field(names: &[u8], words: &[u8], start: usize, end: usize) -> Option<usize> {
    let (mut field, mut begin) = (0, 0);
    while begin < names.len() {
        let mut length = 0;
        while start + length < end && names[begin + length] != b',' && names[begin + length] == words[start + length] {
            length += 1;
        }
        if start + length == end && names[begin + length] == b',' {
            return Some(field);
        }
        while names[begin] != b',' {
            begin += 1;
        }
        (field, begin) = (field + 1, begin + 1);
    }
    None
}

/// The value of a field of a [`Text`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Field {
    /// A name, a path or another string, the same in every language.
    Word(Cow<'static, str>),
    /// A number, which also chooses between alternatives such as `line` and `lines`.
    Number(i128),
    /// A number that can be large, with its digits in groups of three: `1,234,567`, in Portuguese `1.234.567`.
    Grouped(u64),
    /// A part of the sentence that has words of its own.
    Text(Text),
}

impl Field {
    fn write(&self, language: Language, out: &mut String) {
        match self {
            Field::Word(word) => out.push_str(word),
            Field::Number(number) => out.push_str(&number.to_string()),
            Field::Grouped(number) => write_grouped(*number, language, out),
            Field::Text(text) => text.write(language, out),
        }
    }
}

fn write_grouped(number: u64, language: Language, out: &mut String) {
    let mark = match language {
        Language::English => ',',
        Language::Portuguese => '.',
    };
    let digits = number.to_string();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(mark);
        }
        out.push(digit);
    }
}

/// What is said to a person or a model, in any [`Language`]: a [`Template`] with the values of its fields, words that are
/// the same in every language, or several of these.
///
/// `Display` and serialization write English. Two texts are equal when they read the same in English. A string becomes a
/// text that is the same in every language, so a host can give its own words wherever a text is wanted.
#[derive(Clone)]
pub struct Text(Wording);

#[derive(Clone)]
enum Wording {
    Verbatim(Cow<'static, str>),
    Filled(&'static Template, Box<[Field]>),
    Joined(Vec<Text>, &'static str),
}

impl Text {
    /// A template with the values of its fields, in the order of their declaration. For [`texts!`](crate::texts), whose
    /// functions have a parameter for each field.
    pub fn filled<const COUNT: usize>(template: &'static Template, fields: [Field; COUNT]) -> Text {
        debug_assert_eq!(template.fields().count(), COUNT, "{}", template.key());
        Text(Wording::Filled(template, Box::new(fields)))
    }

    /// Several texts, one after another, with `separator` between them.
    pub fn join(texts: impl IntoIterator<Item = Text>, separator: &'static str) -> Text {
        Text(Wording::Joined(texts.into_iter().collect(), separator))
    }

    /// This text, a space, and another: one more sentence.
    #[must_use]
    pub fn then(mut self, next: impl Into<Text>) -> Text {
        self.push(" ");
        self.push(next);
        self
    }

    /// Adds another text, without anything between them.
    pub fn push(&mut self, next: impl Into<Text>) {
        let next = next.into();
        // Any number of texts can be added one by one, so none may nest deeper than the one before it: writing and dropping
        // a text take one frame of the stack a level.
        match (&mut self.0, next.0) {
            (Wording::Verbatim(words), Wording::Verbatim(more)) => words.to_mut().push_str(&more),
            (Wording::Joined(texts, ""), Wording::Verbatim(more)) => match texts.last_mut() {
                Some(Text(Wording::Verbatim(words))) => words.to_mut().push_str(&more),
                _ => texts.push(Text(Wording::Verbatim(more))),
            },
            (Wording::Joined(texts, ""), more) => texts.push(Text(more)),
            (_, more) => *self = Text::join([std::mem::take(self), Text(more)], ""),
        }
    }

    /// The key of the template, such as `"patch.no_match"`: what a program compares instead of words. Keys may be added
    /// and removed in any version. `None` where the text is not one template.
    pub fn key(&self) -> Option<&'static str> {
        match &self.0 {
            Wording::Filled(template, _) => Some(template.key()),
            Wording::Verbatim(_) | Wording::Joined(..) => None,
        }
    }

    /// The names and values of the template's fields; empty where the text is not one template.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &Field)> {
        let filled = match &self.0 {
            Wording::Filled(template, values) => Some(template.fields().zip(values)),
            Wording::Verbatim(_) | Wording::Joined(..) => None,
        };
        filled.into_iter().flatten()
    }

    /// The words in a language.
    pub fn render(&self, language: Language) -> String {
        let mut out = String::new();
        self.write(language, &mut out);
        out
    }

    /// The words in a language, without a copy where the text is one string.
    pub fn into_string(self, language: Language) -> String {
        match self.0 {
            Wording::Verbatim(words) => words.into_owned(),
            _ => self.render(language),
        }
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Wording::Verbatim(words) => words.is_empty(),
            Wording::Filled(template, _) => template.words(Language::English).is_empty(),
            Wording::Joined(texts, separator) => match texts.as_slice() {
                [] => true,
                [only] => only.is_empty(),
                [..] => separator.is_empty() && texts.iter().all(Text::is_empty),
            },
        }
    }

    /// Whether the words end with this character.
    pub fn ends_with(&self, end: char) -> bool {
        match &self.0 {
            Wording::Verbatim(words) => words.ends_with(end),
            Wording::Joined(texts, "") => {
                texts.iter().rfind(|text| !text.is_empty()).is_some_and(|text| text.ends_with(end))
            }
            Wording::Filled(..) | Wording::Joined(..) => self.to_string().ends_with(end),
        }
    }

    fn write(&self, language: Language, out: &mut String) {
        match &self.0 {
            Wording::Verbatim(words) => out.push_str(words),
            Wording::Joined(texts, separator) => {
                for (index, text) in texts.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { separator });
                    text.write(language, out);
                }
            }
            Wording::Filled(template, fields) => fill(template, fields, language, out),
        }
    }
}

/// Writes the words of a template. [`Template::new`] has checked that every brace and every name is as it has to be.
fn fill(template: &Template, fields: &[Field], language: Language, out: &mut String) {
    let mut rest = template.words(language);
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let behind = &rest[at..];
        if behind.starts_with("{{") || behind.starts_with("}}") {
            out.push_str(&behind[..1]);
            rest = &behind[2..];
            continue;
        }
        let Some((placeholder, after)) = behind[1..].split_once('}') else { break };
        rest = after;
        let mut parts = placeholder.split('|');
        let name = parts.next().unwrap_or_default();
        let Some(field) = template.fields().position(|field| field == name).and_then(|at| fields.get(at)) else {
            continue;
        };
        match (parts.next(), parts.next()) {
            (Some(one), Some(several)) => {
                out.push_str(if matches!(field, Field::Number(1) | Field::Grouped(1)) { one } else { several });
            }
            _ => field.write(language, out),
        }
    }
    out.push_str(rest);
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Wording::Verbatim(words) => out.pad(words),
            _ => out.pad(&self.render(Language::English)),
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), out)
    }
}

/// So that a text can be what an [`io::Error`](std::io::Error) holds: whoever gets that error can take the text out of it.
impl std::error::Error for Text {}

impl Default for Text {
    fn default() -> Text {
        Text(Wording::Verbatim(Cow::Borrowed("")))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        match &other.0 {
            Wording::Verbatim(words) => self == words.as_ref(),
            _ => self == other.render(Language::English).as_str(),
        }
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Wording::Verbatim(words) => words.hash(state),
            _ => self.to_string().hash(state),
        }
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        match &self.0 {
            Wording::Verbatim(words) => words == other,
            _ => self.render(Language::English) == other,
        }
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        self == other.as_str()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Wording::Verbatim(words) => serializer.serialize_str(words),
            _ => serializer.serialize_str(&self.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        String::deserialize(deserializer).map(Text::from)
    }
}

impl From<String> for Text {
    fn from(words: String) -> Text {
        Text(Wording::Verbatim(Cow::Owned(words)))
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Text {
        words.to_owned().into()
    }
}

impl From<Text> for Field {
    fn from(text: Text) -> Field {
        Field::Text(text)
    }
}

impl From<String> for Field {
    fn from(word: String) -> Field {
        Field::Word(word.into())
    }
}

impl From<&str> for Field {
    fn from(word: &str) -> Field {
        word.to_owned().into()
    }
}

impl From<&String> for Field {
    fn from(word: &String) -> Field {
        word.clone().into()
    }
}

impl From<Cow<'_, str>> for Field {
    fn from(word: Cow<'_, str>) -> Field {
        word.into_owned().into()
    }
}

impl From<char> for Field {
    fn from(character: char) -> Field {
        character.to_string().into()
    }
}

macro_rules! numbers {
    ($($kind:ty)*) => {$(
        impl From<$kind> for Field {
            fn from(number: $kind) -> Field {
                Field::Number(number.into())
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 i32 i64 }

impl From<usize> for Field {
    fn from(number: usize) -> Field {
        Field::Number(number as i128)
    }
}

/// Declares the texts of a crate: for each a function that takes the values of its fields and gives a [`Text`].
///
/// The first literal is the beginning of the keys. Every text has its words in every language, as literals; that they have a
/// place for each field, and for nothing else, is checked while compiling. See [`text`](crate::text) for the form of the words.
#[macro_export]
macro_rules! texts {
    ($area:literal $(
        $(#[$meta:meta])*
        $name:ident($($field:ident),* $(,)?) { en: $english:expr, pt: $portuguese:expr $(,)? }
    )*) => {$(
        $(#[$meta])*
        pub(crate) fn $name($($field: impl Into<$crate::text::Field>),*) -> $crate::Text {
            static TEMPLATE: $crate::text::Template = $crate::text::Template::new(
                concat!($area, ".", stringify!($name), "\0", $(stringify!($field), ",",)* "\0", $english, "\0", $portuguese),
            );
            $crate::Text::filled(&TEMPLATE, [$($field.into()),*])
        }
    )*};
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::texts! { "test"
        example(name, count) {
            en: "{{\"name\": \"{name}\"}} has {count} {count|line|lines}",
            pt: "{count} {count|linha|linhas} em {{\"name\": \"{name}\"}}",
        }
        plain() { en: "No.", pt: "Não." }
    }

    #[test]
    fn words_of_both_languages_are_filled() {
        assert_eq!(example("a{b}", 1_u64), "{\"name\": \"a{b}\"} has 1 line");
        assert_eq!(example("x", 2_u64).render(Language::Portuguese), "2 linhas em {\"name\": \"x\"}");
        let nested = example(plain(), 0_u64);
        assert_eq!(nested.render(Language::Portuguese), "0 linhas em {\"name\": \"Não.\"}");
        assert_eq!(nested.fields().map(|(name, _)| name).collect::<Vec<_>>(), ["name", "count"]);
    }

    #[test]
    fn a_large_number_has_groups_of_three_digits() {
        for (number, english, portuguese) in [
            (1, "1 line", "1 linha"),
            (999, "999 lines", "999 linhas"),
            (1000, "1,000 lines", "1.000 linhas"),
            (u64::MAX, "18,446,744,073,709,551,615 lines", "18.446.744.073.709.551.615 linhas"),
        ] {
            let text = example("", Field::Grouped(number));
            assert!(text.to_string().ends_with(english), "{text}");
            assert!(text.render(Language::Portuguese).starts_with(portuguese), "{text}");
        }
    }

    #[test]
    fn words_are_checked_against_the_fields() {
        for (words, good) in [
            ("{a} {b|one|two}", true),
            ("{a}", false),
            ("{a} {b} {c}", false),
            ("{a} {b} }", false),
            ("{a} {b|one}", false),
            ("{a} {b", false),
            ("{a} {b} {{}}", true),
            ("{a} {b} {a,b}", false),
            ("{a} {b} {}", false),
        ] {
            assert_eq!(agree(words, "a,b,"), good, "{words}");
        }
    }

    #[test]
    fn a_text_can_grow_by_any_number_of_sentences() {
        let mut text = plain();
        for _ in 0..100_000 {
            text = text.then(plain());
            text.push("!");
        }
        assert_eq!(text.render(Language::Portuguese).len(), "Não.".len() + 100_000 * " Não.!".len());
        let (again, words) = (text.clone(), text.to_string());
        assert!(text == again && text == words.as_str() && text.ends_with('!') && !text.is_empty());
    }

    #[test]
    fn a_text_is_a_string_in_json() {
        let text = plain().then("As is.");
        assert_eq!(serde_json::to_string(&text).unwrap(), "\"No. As is.\"");
        assert_eq!(serde_json::from_str::<Text>("\"No. As is.\"").unwrap(), text);
        assert_eq!(text.render(Language::Portuguese), "Não. As is.");
        assert_eq!((text.key(), plain().key()), (None, Some("test.plain")));
    }

    #[test]
    fn languages_by_tag() {
        assert_eq!(Language::from_tag("pt-BR"), Some(Language::Portuguese));
        assert_eq!(Language::from_tag("en_US.UTF-8"), Some(Language::English));
        assert_eq!(Language::from_tag("fr"), None);
    }
}
