//! Converts file names to text: the spellings that are matched with the block rules, and the form for display.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use toolfence_protocol::invisible;
use unicode_normalization::UnicodeNormalization;

/// Returns a real name in the form that rules match: relative to the root, with `/` between names. Bytes that are not
/// UTF-8 become U+FFFD.
pub(crate) fn text_of(name: &Path) -> String {
    name.to_string_lossy().into_owned()
}

/// Returns a real name for display on one line. A name that could be read as more than a name, or that looks different
/// from what it is, is put in double quotes with C escapes, as git does; bytes that are not UTF-8 are octal there.
pub fn display(name: &Path) -> String {
    let bytes = name.as_os_str().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) => quoted(text).into_owned(),
        Err(_) => in_quotes(bytes),
    }
}

/// Returns a whole name for display on one line: in double quotes with C escapes if it could be read as more than a
/// name, or would look like another.
pub fn quoted(name: &str) -> Cow<'_, str> {
    if misleads(name) { in_quotes(name.as_bytes()).into() } else { name.into() }
}

/// Returns the bytes by which paths sort component by component, as `Path` does: no name contains a NUL.
pub(crate) fn order_key(name: PathBuf) -> Vec<u8> {
    let mut key = name.into_os_string().into_vec();
    for byte in &mut key {
        if *byte == b'/' {
            *byte = 0;
        }
    }
    key
}

/// Returns the path of an entry of `folder`, relative to the root.
pub(crate) fn join(folder: &Path, entry: &OsStr) -> PathBuf {
    if folder.as_os_str().is_empty() {
        return entry.into();
    }
    // `Path::join` would allocate twice.
    let mut name = OsString::with_capacity(folder.as_os_str().len() + 1 + entry.len());
    name.push(folder);
    name.push("/");
    name.push(entry);
    name.into()
}

/// Returns the path of `name` below `folder`, both relative to the root and without `.`; `None` for the folder itself
/// and for paths outside of it.
pub(crate) fn relative_to<'n>(folder: &Path, name: &'n Path) -> Option<&'n Path> {
    let (folder, bytes) = (folder.as_os_str().as_bytes(), name.as_os_str().as_bytes());
    let rest = bytes.strip_prefix(folder)?;
    let rest = if folder.is_empty() { rest } else { rest.strip_prefix(b"/")? };
    (!rest.is_empty()).then(|| Path::new(OsStr::from_bytes(rest)))
}

/// Returns `true` if a name is UTF-8. Other names can be displayed, but not used in a call.
pub(crate) fn is_text(name: &Path) -> bool {
    name.to_str().is_some()
}

fn misleads(name: &str) -> bool {
    // Nearly all names have only these characters.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/');
    if name.bytes().all(is_plain) {
        return false;
    }
    // In results, two blanks separate a name from its size, a colon separates it from a line number, and notes are in
    // brackets.
    let marked = name.contains("  ") || name.starts_with('[') && name.contains(' ');
    let numbered = name.as_bytes().windows(2).any(|pair| pair[0] == b':' && pair[1].is_ascii_digit());
    let edge = name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace);
    marked || numbered || edge || name.chars().any(|c| matches!(c, '"' | '\\') || is_unseen(c))
}

fn in_quotes(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '"' | '\\' => out.extend(['\\', c]),
                c if is_unseen(c) => octal(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => out.push(c),
            }
        }
        octal(&mut out, chunk.invalid());
    }
    out.push('"');
    out
}

fn octal(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\{byte:03o}");
    }
}

/// Returns `true` for control characters, line endings, and characters that change the direction of text or are
/// invisible, except those that emoji use.
fn is_unseen(c: char) -> bool {
    c.is_control() || invisible::kind(c).is_some_and(|kind| !invisible::belongs_to_sign(kind))
}

/// Returns the name itself, and its case-folded NFKC form if that differs.
pub(crate) fn spellings(name: &str) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    if let Some(folded) = folded(name) {
        all.push(folded);
    }
    all
}

/// Returns the case-folded NFKC form without invisible characters, many of which some file systems ignore in names;
/// `None` if it is equal to the name.
pub(crate) fn folded(name: &str) -> Option<String> {
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return None;
    }
    let seen = name.chars().filter(|c| invisible::kind(*c).is_none());
    // ASCII is its own NFKC form, and nearly all names are ASCII.
    let folded: String = if name.is_ascii() {
        seen.map(|c| c.to_ascii_lowercase()).collect()
    } else {
        // The lower case of a normalized text may not be normalized.
        seen.nfkc().flat_map(char::to_lowercase).nfkc().collect()
    };
    (folded != name).then_some(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misleading_names_are_quoted() {
        use std::ffi::OsStr;
        for plain in
            ["src/main.rs", "größe/日本.txt", "a b.txt", "[id].tsx", "it's", "2024-01-02", "❤\u{FE0F}", "12:am"]
        {
            assert_eq!(display(Path::new(plain)), plain);
        }
        for (name, want) in [
            ("new\nline\t\r", r#""new\nline\t\r""#),
            ("fake  5 bytes", r#""fake  5 bytes""#),
            ("[No matches]", r#""[No matches]""#),
            ("a.rs:12:x", r#""a.rs:12:x""#),
            ("a\\b\"c", r#""a\\b\"c""#),
            ("\u{1b}[2J", r#""\033[2J""#),
            ("\u{202e}txt.exe\u{85}", r#""\342\200\256txt.exe\302\205""#),
            ("end ", r#""end ""#),
        ] {
            assert_eq!(display(Path::new(name)), want);
        }
        let latin = Path::new(OsStr::from_bytes(b"caf\xE9\n\xC3\xA9"));
        assert_eq!((display(latin), is_text(latin)), (r#""caf\351\né""#.to_owned(), false));
        let every: String = ('\0'..=char::MAX).collect();
        assert!(!display(Path::new(&every)).chars().any(is_unseen));
    }

    #[test]
    fn paths_sort_name_by_name() {
        let mut paths = ["a.rs", "a/z", "a", "a/b/c", "a!", "a-b", "b", "ä", "a/b", "B"].map(Path::new);
        paths.sort_by_key(|path| order_key(path.into()));
        let mut wanted = paths;
        wanted.sort();
        assert_eq!(paths, wanted);
        assert_eq!(paths[..5], ["B", "a", "a/b", "a/b/c", "a/z"].map(Path::new));
    }

    #[test]
    fn an_entry_is_joined_to_its_folder() {
        for (folder, entry) in [("", "a"), ("a", "b"), ("a/b", "ä")] {
            assert_eq!(join(Path::new(folder), OsStr::new(entry)), Path::new(folder).join(entry));
        }
    }

    #[test]
    fn a_path_below_a_folder_is_relative_to_it() {
        for (folder, name, want) in [
            ("", "a/b", Some("a/b")),
            ("a", "a/b", Some("b")),
            ("a", "a", None),
            ("", "", None),
            ("a", "ab/c", None),
            ("a/b", "a", None),
        ] {
            assert_eq!(relative_to(Path::new(folder), Path::new(name)), want.map(Path::new), "{folder} {name}");
        }
    }

    #[test]
    fn spellings_undo_disguises() {
        for name in [".ENV", ".\u{200B}env", ".e\u{2800}nv\u{3164}", "．ｅｎｖ", ".e\u{FEFF}nv", "\u{2024}env"] {
            assert_eq!(spellings(name).last().map(String::as_str), Some(".env"), "{name:?}");
        }
        assert_eq!(spellings("src/main.rs"), ["src/main.rs"]);
    }

    #[test]
    fn ascii_is_folded_like_other_text() {
        for c in '\0'..='\x7f' {
            let name = format!("A{c}b");
            let want: String = name.nfkc().flat_map(char::to_lowercase).nfkc().collect();
            assert_eq!(folded(&name), Some(want), "{name:?}");
        }
    }
}
