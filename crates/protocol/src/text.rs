//! Messages for people and models as data: a template and the values of its fields, rendered in any language.
//!
//! A failure, a reason or a note is often read in another place, and in another language, than where it is produced. A
//! [`Text`] therefore keeps the template and the values apart until it is rendered. The English sentence is in the
//! source, at the place that produces the message: [`text!`](crate::text!). Translations are data, keyed by the English
//! template, in `locales/pt.toml`.
//!
//! ```
//! use toolfence_protocol::{Language, text};
//!
//! let path = "notes.md";
//! let text = text!("The file {path} does not exist.", path);
//! assert_eq!(text.to_string(), "The file notes.md does not exist.");
//! assert_eq!(text.key(), Some("The file {path} does not exist."));
//!
//! let left = text!("{count} {count|line is|lines are} left.", count = 1_u64);
//! assert_eq!(left.to_string(), "1 line is left.");
//! // A template without a translation is rendered in English. A test of this repository finds it.
//! assert_eq!(left.render(Language::Portuguese), "1 line is left.");
//! ```

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

/// The Portuguese translations, as TOML: an English template and its translation on each line.
const PORTUGUESE: &str = include_str!("../../../locales/pt.toml");

/// The language of messages for people and models.
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
    /// Parses a language tag such as `pt`, `pt-BR` or `en_US.UTF-8`.
    pub fn from_tag(tag: &str) -> Option<Language> {
        let primary = tag.split(['-', '_', '.']).next().unwrap_or_default();
        match primary.to_ascii_lowercase().as_str() {
            "en" => Some(Language::English),
            "pt" => Some(Language::Portuguese),
            _ => None,
        }
    }
}

/// The template of a message and the names of its fields. Made by [`text!`](crate::text!).
///
/// In a template, `{name}` is replaced by the value of a field, `{name|one|several}` by the first alternative if the
/// field is the number 1 and by the second otherwise, and `{{` and `}}` by a single brace.
#[derive(Debug)]
pub struct Template {
    fields: &'static [&'static str],
    english: &'static str,
}

impl Template {
    /// Creates a template whose key is its English text. It does not compile if a placeholder has no field, a field has
    /// no placeholder, or a brace is single.
    #[doc(hidden)]
    pub const fn new(english: &'static str, fields: &'static [&'static str]) -> Template {
        assert!(placeholders_match(english, fields), "the placeholders and the fields differ");
        Template { english, fields }
    }

    fn words(&self, language: Language) -> &'static str {
        match language {
            Language::English => self.english,
            Language::Portuguese => translate(self.english).unwrap_or(self.english),
        }
    }
}

/// Looks up a translation. The locale file is parsed on first use.
fn translate(english: &str) -> Option<&'static str> {
    static TRANSLATIONS: OnceLock<HashMap<String, String>> = OnceLock::new();
    // The file is part of the build and a test parses it, so the default only applies if that test was skipped.
    let translations = TRANSLATIONS.get_or_init(|| toml::from_str(PORTUGUESE).unwrap_or_default());
    translations.get(english).filter(|translation| !translation.is_empty()).map(String::as_str)
}

/// Returns `true` if each placeholder names a field, each field has a placeholder, and every single brace is escaped.
#[doc(hidden)]
pub const fn placeholders_match(template: &str, fields: &[&str]) -> bool {
    let bytes = template.as_bytes();
    // One bit per field with a placeholder. No message has 64 fields.
    let (mut used, mut at) = (0_u64, 0);
    // By index, because a `const fn` cannot use iterators.
    while at < bytes.len() {
        let doubled = at + 1 < bytes.len() && bytes[at + 1] == bytes[at];
        match bytes[at] {
            b'{' | b'}' if doubled => at += 2,
            b'}' => return false,
            b'{' => {
                let start = at + 1;
                let mut end = start;
                while end < bytes.len() && bytes[end] != b'}' && bytes[end] != b'|' {
                    end += 1;
                }
                match find_field(fields, bytes, start, end) {
                    Some(field) => used |= 1 << field,
                    None => return false,
                }
                let mut alternatives = 0;
                while end < bytes.len() && bytes[end] != b'}' {
                    if bytes[end] == b'|' {
                        alternatives += 1;
                    }
                    end += 1;
                }
                if end == bytes.len() || !(alternatives == 0 || alternatives == 2) {
                    return false;
                }
                at = end + 1;
            }
            _ => at += 1,
        }
    }
    used.count_ones() as usize == fields.len()
}

/// Returns the index of the field whose name is `template[start..end]`.
const fn find_field(fields: &[&str], template: &[u8], start: usize, end: usize) -> Option<usize> {
    let mut field = 0;
    while field < fields.len() {
        let name = fields[field].as_bytes();
        let mut at = 0;
        while at < name.len() && start + at < end && name[at] == template[start + at] {
            at += 1;
        }
        if at == name.len() && start + at == end {
            return Some(field);
        }
        field += 1;
    }
    None
}

/// The value of a field of a [`Text`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Field {
    /// A name, a path or another string that is the same in every language.
    Word(Cow<'static, str>),
    /// A number, which also chooses between alternatives such as `line` and `lines`.
    Number(i128),
    /// A number that can be large, with groups of three digits: `1,234,567`, in Portuguese `1.234.567`.
    Grouped(u64),
    /// A translatable part of the sentence.
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

/// A message to a person or a model, in any [`Language`]: a [`Template`] with the values of its fields, a string that
/// is the same in every language, or several of these.
///
/// `Display` and serialization write English. Two texts are equal if their English versions are. A string converts to a
/// text that is the same in every language, so a host can use its own messages wherever a text is expected.
#[derive(Clone)]
pub struct Text(Wording);

#[derive(Clone)]
enum Wording {
    Verbatim(Cow<'static, str>),
    Filled(&'static Template, Box<[Field]>),
    Joined(Vec<Text>, &'static str),
}

impl Text {
    /// Creates a text from a template and the values of its fields, in the order of their declaration. Used by
    /// [`text!`](crate::text!).
    pub fn filled<const COUNT: usize>(template: &'static Template, fields: [Field; COUNT]) -> Text {
        debug_assert_eq!(template.fields.len(), COUNT, "{}", template.english);
        Text(Wording::Filled(template, Box::new(fields)))
    }

    /// Joins several texts with `separator` between them.
    pub fn join(texts: impl IntoIterator<Item = Text>, separator: &'static str) -> Text {
        Text(Wording::Joined(texts.into_iter().collect(), separator))
    }

    /// Appends a space and another text, usually a sentence.
    #[must_use]
    pub fn then(mut self, next: impl Into<Text>) -> Text {
        self.push(" ");
        self.push(next);
        self
    }

    /// Appends another text without anything between them.
    pub fn push(&mut self, next: impl Into<Text>) {
        let next = next.into();
        // Any number of texts can be appended one by one, so an append must not increase the nesting: writing and
        // dropping a text take one stack frame per level.
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

    /// The key of the template, which a program can compare: its English text. Keys may be added and removed in any
    /// version. `None` if the text is not a single template.
    pub fn key(&self) -> Option<&'static str> {
        match &self.0 {
            Wording::Filled(template, _) => Some(template.english),
            Wording::Verbatim(_) | Wording::Joined(..) => None,
        }
    }

    /// Returns the names and values of the template's fields; empty unless the text is a single template.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &Field)> {
        let filled = match &self.0 {
            Wording::Filled(template, values) => Some(template.fields.iter().copied().zip(values)),
            Wording::Verbatim(_) | Wording::Joined(..) => None,
        };
        filled.into_iter().flatten()
    }

    /// Renders the text in a language.
    pub fn render(&self, language: Language) -> String {
        let mut out = String::new();
        self.write(language, &mut out);
        out
    }

    /// Renders the text in a language, without a copy if it is one string.
    pub fn into_string(self, language: Language) -> String {
        match self.0 {
            Wording::Verbatim(words) => words.into_owned(),
            _ => self.render(language),
        }
    }

    /// Returns `true` if the text is empty.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Wording::Verbatim(words) => words.is_empty(),
            Wording::Filled(template, _) => template.english.is_empty(),
            Wording::Joined(texts, separator) => match texts.as_slice() {
                [] => true,
                [only] => only.is_empty(),
                [..] => separator.is_empty() && texts.iter().all(Text::is_empty),
            },
        }
    }

    /// Returns `true` if the text ends with this character.
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

/// Writes the filled template. [`Template::new`] has checked the braces and names of the English sentence, and a test
/// checks those of the translations.
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
        let Some(field) = template.fields.iter().position(|field| *field == name).and_then(|at| fields.get(at)) else {
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

/// Allows an [`io::Error`](std::io::Error) to hold a text that its recipient can take out again.
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
            // Equal texts must have equal hashes, so a filled template is hashed as its English sentence.
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

/// Creates a [`Text`] from an English template and the values of its fields.
///
/// `text!("{path} is blocked by {rule}.", path, rule = found.name())` fills the placeholder of each field with a
/// variable of the same name or with an expression, which is converted to a [`Field`]. A template
/// whose placeholders and fields differ does not compile. See [`text`](mod@crate::text) for the form of a template and
/// for translations.
#[macro_export]
macro_rules! text {
    (@value $field:ident) => { $field };
    (@value $field:ident $value:expr) => { $value };
    ($english:literal $(, $field:ident $(= $value:expr)?)* $(,)?) => {{
        static TEMPLATE: $crate::text::Template = $crate::text::Template::new($english, &[$(stringify!($field)),*]);
        $crate::Text::filled(&TEMPLATE, [$($crate::text::Field::from($crate::text!(@value $field $($value)?))),*])
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These two templates are translated.
    fn lines(count: Field) -> Text {
        text!("{count} {count|line|lines}", count)
    }

    fn plain() -> Text {
        text!("The user said no.")
    }

    #[test]
    fn placeholders_are_filled_in_both_languages() {
        let example =
            |name: Text, count: u64| text!("{{\"name\": \"{name}\"}} has {count} {count|line|lines}", name, count);
        assert_eq!(example("a{b}".into(), 1), "{\"name\": \"a{b}\"} has 1 line");
        assert_eq!(lines(2_u64.into()).render(Language::Portuguese), "2 linhas");
        let nested = text!("The user said no: {reason}", reason = plain());
        assert_eq!(nested.render(Language::Portuguese), "O usuário disse não: O usuário disse que não.");
        assert_eq!(nested.fields().map(|(name, _)| name).collect::<Vec<_>>(), ["reason"]);
    }

    #[test]
    fn templates_in_the_source_are_filled_and_translated() {
        let (path, lines) = ("a{b}", 2_u64);
        let text = text!("{path} has {count} {count|line|lines} in {{}}.", path, count = lines);
        assert_eq!(text.to_string(), "a{b} has 2 lines in {}.");
        assert_eq!(text.fields().map(|(name, _)| name).collect::<Vec<_>>(), ["path", "count"]);
        let translations: HashMap<String, String> = toml::from_str(PORTUGUESE).unwrap();
        let (english, portuguese) = translations.iter().next().unwrap();
        assert_eq!(translate(english), Some(portuguese.as_str()));
        assert_eq!(translate("There is no such template."), None);
    }

    #[test]
    fn a_large_number_has_groups_of_three_digits() {
        for (number, english, portuguese) in [
            (1, "1 line", "1 linha"),
            (999, "999 lines", "999 linhas"),
            (1000, "1,000 lines", "1.000 linhas"),
            (u64::MAX, "18,446,744,073,709,551,615 lines", "18.446.744.073.709.551.615 linhas"),
        ] {
            let text = lines(Field::Grouped(number));
            assert!(text.to_string().ends_with(english), "{text}");
            assert!(text.render(Language::Portuguese).starts_with(portuguese), "{text}");
        }
    }

    #[test]
    fn placeholders_are_checked_against_the_fields() {
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
            assert_eq!(placeholders_match(words, &["a", "b"]), good, "{words}");
        }
    }

    #[test]
    fn a_text_can_grow_by_any_number_of_sentences() {
        let mut text = plain();
        for _ in 0..100_000 {
            text = text.then(plain());
            text.push("!");
        }
        assert_eq!(
            text.render(Language::Portuguese).len(),
            "O usuário disse que não.".len() + 100_000 * " O usuário disse que não.!".len()
        );
        let (again, words) = (text.clone(), text.to_string());
        assert!(text == again && text == words.as_str() && text.ends_with('!') && !text.is_empty());
    }

    #[test]
    fn a_text_is_a_string_in_json() {
        let text = plain().then("As is.");
        assert_eq!(serde_json::to_string(&text).unwrap(), "\"The user said no. As is.\"");
        assert_eq!(serde_json::from_str::<Text>("\"The user said no. As is.\"").unwrap(), text);
        assert_eq!(text.render(Language::Portuguese), "O usuário disse que não. As is.");
        assert_eq!((text.key(), plain().key()), (None, Some("The user said no.")));
    }

    #[test]
    fn languages_by_tag() {
        assert_eq!(Language::from_tag("pt-BR"), Some(Language::Portuguese));
        assert_eq!(Language::from_tag("en_US.UTF-8"), Some(Language::English));
        assert_eq!(Language::from_tag("fr"), None);
    }
}
