//! Portuguese translations of texts that are not templates: the help of the command line, and the purposes and
//! arguments of tools.

use std::collections::HashMap;
use std::sync::OnceLock;
use toolfence_protocol::Language;

/// English texts and their translations, as TOML.
pub(crate) const PORTUGUESE: &str = include_str!("../../../locales/pt-help.toml");

/// Looks up the Portuguese translation of an English text. The file is parsed on first use.
pub(crate) fn translate(english: &str) -> Option<&'static str> {
    static TRANSLATIONS: OnceLock<HashMap<String, String>> = OnceLock::new();
    // The file is compiled in, and a test parses it.
    let translations = TRANSLATIONS.get_or_init(|| toml::from_str(PORTUGUESE).unwrap_or_default());
    translations.get(english).map(String::as_str)
}

/// Returns the purpose of a tool or the help of an argument in a language. Texts of MCP servers are not translated.
pub(crate) fn in_language(text: &str, language: Language) -> &str {
    match language {
        Language::Portuguese => translate(text).unwrap_or(text),
        _ => text,
    }
}
