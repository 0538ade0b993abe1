//! The spellings under which the block rules must be tried.

use std::path::Path;
use unicode_normalization::UnicodeNormalization;

/// A real name as the rules want it: relative to the root, `/` between names. Bytes that are not UTF-8 become U+FFFD.
pub(super) fn text_of(name: &Path) -> String {
    name.to_string_lossy().into_owned()
}

/// The name itself, then its case-folded NFKC form where that is another.
pub(super) fn spellings(name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    if let Some(folded) = folded(name) {
        all.push(folded);
    }
    all
}

/// The case-folded NFKC form, without the characters that some file systems ignore in names; `None` where it is the same.
pub(super) fn folded(name: &str) -> Option<String> {
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return None;
    }
    let folded: String =
        name.chars().filter(|c| !is_ignorable(*c)).nfkc().flat_map(char::to_lowercase).nfkc().collect();
    (folded != name).then_some(folded)
}

/// Zero-width and direction marks (Unicode `Default_Ignorable_Code_Point`, those met in file names).
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises_are_seen_through() {
        for name in [".ENV", ".\u{200B}env", "．ｅｎｖ", ".e\u{FEFF}nv", "\u{2024}env"] {
            assert_eq!(spellings(name).last().map(String::as_str), Some(".env"), "{name:?}");
        }
        assert_eq!(spellings("src/main.rs"), ["src/main.rs"]);
    }
}
