//! A law over the words of all crates: what is said in Portuguese is Portuguese.

use std::path::{Path, PathBuf};

/// Words that no Portuguese sentence has.
const ENGLISH: &[&str] = &[
    "the", "is", "are", "was", "were", "of", "and", "with", "which", "that", "this", "not", "cannot", "could", "from",
    "it", "its", "be", "been", "has", "have", "into", "than", "there", "would", "you", "your", "by", "or",
];

/// The files of texts, and nothing else that is called so.
fn files_of_texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the sources").flatten() {
        let path = entry.path();
        let of_texts = path.ends_with("messages.rs") || path.components().any(|part| part.as_os_str() == "messages");
        if path.is_dir() {
            files_of_texts(&path, found);
        } else if of_texts && path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The next literal of a string and what follows it, with the escapes undone that a sentence has.
fn literal(source: &str) -> (String, &str) {
    let start = source.find('"').expect("a literal") + 1;
    let (mut words, mut chars) = (String::new(), source[start..].char_indices().peekable());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (words, &source[start + at + 1..]),
            '\\' => match chars.next().map(|(_, escaped)| escaped) {
                Some('\n') => while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                Some('n' | 't') => words.push(' '),
                escaped => words.extend(escaped),
            },
            _ => words.push(c),
        }
    }
    panic!("a literal without an end")
}

/// The words of a template without its fields, the alternatives within them kept, and without what stands in code or in quotes.
fn bare(words: &str) -> String {
    let mut out = String::new();
    for (number, part) in words.split(['`', '"']).enumerate() {
        if number % 2 == 0 {
            for piece in part.split('{') {
                match piece.split_once('}') {
                    Some((field, rest)) => {
                        out.push_str(field.split_once('|').map_or("", |(_, alternatives)| alternatives));
                        out.push_str(rest);
                    }
                    None => out.push_str(piece),
                }
            }
        }
        out.push(' ');
    }
    out
}

#[test]
fn what_is_said_in_portuguese_is_no_english() {
    let mut files = Vec::new();
    files_of_texts(&toolfence_kit::root().join("crates"), &mut files);
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in &files {
        let source = std::fs::read_to_string(file).expect("a source file");
        let mut rest = &*source;
        while let Some(at) = rest.find("pt: \"") {
            let (words, after) = literal(&rest[at..]);
            rest = after;
            count += 1;
            let bare = bare(&words);
            let english =
                bare.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').find(|word| ENGLISH.contains(word));
            if let Some(english) = english {
                wrong.push(format!("{}: `{english}` in {words:?}", file.display()));
            }
        }
    }
    assert!(files.len() > 10 && count > 600, "{} files, {count} texts", files.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The string literals of a source, except for templates of `text!`, comments and the unit tests at its end.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or(source);
    let (mut found, mut rest) = (Vec::new(), source);
    while let Some(at) = rest.find(['"', '/', '\'']) {
        rest = &rest[at..];
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if rest.starts_with('"') {
            // The template of `text!` has a translation, which another test checks.
            let is_template = source[..source.len() - rest.len()].trim_end().ends_with("text!(");
            let (words, after) = literal(rest);
            if !is_template {
                found.push(words);
            }
            rest = after;
        } else if let Some(quoted) = rest.strip_prefix('\'') {
            // A character, which may be a quote, or the name of a lifetime.
            let length = match quoted.strip_prefix('\\') {
                Some(escaped) => 1 + escaped.char_indices().nth(1).map_or(1, |(at, _)| at),
                None => quoted.chars().next().map_or(0, char::len_utf8),
            };
            let is_char = quoted.get(length..).is_some_and(|behind| behind.starts_with('\''));
            rest = &rest[if is_char { length + 2 } else { 1 }..];
        } else {
            rest = &rest[1..];
        }
    }
    found
}

/// What the program says stands in the files of texts, where no text can be without its Portuguese words. A sentence anywhere else
/// would be English for everybody.
#[test]
fn no_sentence_of_the_program_stands_outside_of_the_texts() {
    /// What may: the help of the command line and the explanations of keys, of which other tests see that all is told in both
    /// languages, forms of JSON, and the keywords of languages.
    const MAY: [&str; 4] = ["args.rs", "config/keys.rs", "commands/parse.rs", "markdown/code.rs"];
    let program = toolfence_kit::root().join("crates/coder/src");
    let (mut folders, mut wrong, mut count) = (vec![program.clone()], Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder of the sources").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.extend((!path.ends_with("messages")).then_some(path));
                continue;
            }
            let is_source = path.extension().is_some_and(|ending| ending == "rs");
            if !is_source || path.ends_with("tests.rs") || MAY.iter().any(|may| path == program.join(may)) {
                continue;
            }
            let source = std::fs::read_to_string(&path).expect("a source file");
            // What the compiler is told of is for whoever reads the source.
            let lines = source.lines().filter(|line| !line.contains("reason = \"") && !line.contains(".expect(\""));
            let source: String = lines.flat_map(|line| [line, "\n"]).collect();
            for words in literals(&source) {
                count += 1;
                let words = bare(&words);
                let english = words.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
                if english.clone().filter(|word| !word.is_empty()).count() > 2
                    && english.clone().any(|word| ENGLISH.contains(&word))
                {
                    wrong.push(format!("{}: {words:?}", path.display()));
                }
            }
        }
    }
    assert!(count > 500 && wrong.is_empty(), "{count} literals\n{}", wrong.join("\n"));
}
