//! Tests that every template of `text!` in the sources has a translation in `locales/pt.toml` with the same
//! placeholders. `UPDATE=1` adds missing templates to the file, with an empty translation.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use toolfence_protocol::text::placeholders_match;

/// English words that no Portuguese sentence contains.
const ENGLISH: &[&str] = &[
    "the", "is", "are", "was", "were", "of", "and", "with", "which", "that", "this", "not", "cannot", "could", "from",
    "it", "its", "be", "been", "has", "have", "into", "than", "there", "would", "you", "your", "by", "or",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Collects the Rust files of the library and the program, without their tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// Collects the first literal of every `text!(...)`, also inside other macros, but not in `mod tests`.
fn templates(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_word = |at: usize, word: &str| matches!(tokens.get(at), Some(TokenTree::Ident(name)) if name == word);
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let in_tests = at >= 2 && is_word(at - 2, "mod") && is_word(at - 1, "tests");
        if in_tests {
            continue;
        }
        if at >= 2 && is_word(at - 2, "sections") {
            settings_help(group.stream(), found);
        }
        let calls_text = at >= 2
            && group.delimiter() == Delimiter::Parenthesis
            && is_word(at - 2, "text")
            && matches!(&tokens[at - 1], TokenTree::Punct(mark) if mark.as_char() == '!');
        if calls_text && let Some(TokenTree::Literal(literal)) = group.stream().into_iter().next() {
            found.insert(syn::parse_str::<syn::LitStr>(&literal.to_string()).unwrap().value());
        }
        templates(group.stream(), found);
    }
}

/// Collects the help of settings: the joined lines of each comment before a field in `sections! { .. }`.
fn settings_help(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut help = String::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {}
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                let literal = group.stream().into_iter().nth(2).expect("#[doc = \"..\"]").to_string();
                help += &syn::parse_str::<syn::LitStr>(&literal).unwrap().value();
            }
            _ => {
                let help = std::mem::take(&mut help);
                let is_field = matches!(tokens.get(at + 1), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
                if is_field && !help.is_empty() {
                    found.insert(help);
                }
                if let TokenTree::Group(group) = token {
                    settings_help(group.stream(), found);
                }
            }
        }
    }
}

/// Returns the names in the placeholders of a template, without alternatives.
fn placeholders(template: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('{') {
            rest = after;
            continue;
        }
        let placeholder = rest.split('}').next().unwrap_or_default();
        names.insert(placeholder.split('|').next().unwrap_or_default());
    }
    names
}

/// Returns the first English word of a translation, outside code and quotations.
fn english_word(translation: &str) -> Option<&'static str> {
    let prose = translation.split(['`', '"']).step_by(2);
    let words =
        prose.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '{' | '}')));
    words.filter_map(|word| ENGLISH.iter().find(|english| **english == word)).copied().next()
}

/// Returns the text of the locale file: its comment, then the sorted entries. A JSON string is a TOML string.
fn format_locale(head: &str, translations: &BTreeMap<String, String>) -> String {
    let line = |(english, translation)| {
        let [english, translation] = [english, translation].map(|text: &String| serde_json::to_string(text).unwrap());
        format!("{english} = {translation}\n")
    };
    format!("{head}\n\n{}", translations.iter().map(line).collect::<String>())
}

#[test]
fn every_template_is_translated() {
    let mut files = Vec::new();
    for folder in ["src", "crates"] {
        sources(&repository().join(folder), &mut files);
    }
    let mut used = BTreeSet::new();
    for file in &files {
        let source = std::fs::read_to_string(file).unwrap();
        let tokens = TokenStream::from_str(&source).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        templates(tokens, &mut used);
    }
    assert!(files.len() > 100 && !used.is_empty(), "{} files, {} templates", files.len(), used.len());

    let path = repository().join("locales/pt.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, _) = text.split_once("\n\n").unwrap();
    let mut translations: BTreeMap<String, String> = toml::from_str(&text).unwrap();

    let mut faults = Vec::new();
    for (english, translation) in &translations {
        let fields: Vec<&str> = placeholders(english).into_iter().collect();
        if !used.contains(english) {
            faults.push(format!("no source has this template any more: {english:?}"));
        } else if translation.is_empty() {
            faults.push(format!("no translation: {english:?}"));
        } else if !placeholders_match(translation, &fields) {
            faults.push(format!("the placeholders differ: {english:?} = {translation:?}"));
        } else if let Some(word) = english_word(translation) {
            faults.push(format!("{word:?} is English: {translation:?}"));
        }
    }
    for english in &used {
        if !translations.contains_key(english) {
            faults.push(format!("no entry, run with UPDATE=1: {english:?}"));
            translations.insert(english.clone(), String::new());
        }
    }
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, format_locale(head, &translations)).unwrap();
        return;
    }
    assert!(faults.is_empty(), "locales/pt.toml:\n{}", faults.join("\n"));
    assert_eq!(text, format_locale(head, &translations), "locales/pt.toml is not sorted; run with UPDATE=1");
}

#[test]
fn templates_are_found_in_any_position() {
    let source = r##"
        // text!("in a comment")
        fn f() { g(text!("one {a}", a), vec![crate::text!(r#"two "b""#)]); let s = "text!(\"in a string\")"; }
        mod tests { fn t() { text!("in a test"); } }
    "##;
    let mut found = BTreeSet::new();
    templates(TokenStream::from_str(source).unwrap(), &mut found);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["one {a}", "two \"b\""]);
}
