//! Fuzzes the syntax checks of a changed text in every language, and the parser of a checker's output.
//!
//! The first byte chooses the language. The text before, the text after and an output follow, separated by 0xff.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::time::{Duration, Instant};
use toolfence_tools::validate::Sight;
use toolfence_tools::validate::read_output;
use toolfence_tools::validate::syntax::{LANGUAGES, Reader};
use toolfence_tools::validate::{Diagnostic, LineMap, new_ones};

/// The time limit of a check, with some tolerance, because a grammar may take some time until it checks the limit.
const PATIENCE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(4);

fuzz_target!(|data: &[u8]| {
    let [which, texts @ ..] = data else { return };
    let texts: Vec<&[u8]> = texts.splitn(3, |byte| *byte == 0xff).collect();
    let text = |at: usize| String::from_utf8_lossy(texts.get(at).copied().unwrap_or_default());
    let (before, after, output) = (text(0), text(1), text(2));
    let language = &LANGUAGES[usize::from(*which) % LANGUAGES.len()];
    let name = format!("a.{}", language.endings[0]);
    let reader = Reader::new();
    let (old, new) = (check_syntax(&reader, &name, &before), check_syntax(&reader, &name, &after));
    if let (Some(old), Some(new)) = (&old, &new) {
        check_new_errors(&before, &after, old, new, language.sight);
    }
    printed(&output);
});

/// The reader finds the same errors with and without knowledge of the previous text.
fn check_syntax(reader: &Reader, name: &str, text: &str) -> Option<Vec<Diagnostic>> {
    let check = |reader: &Reader| {
        let started = Instant::now();
        let found = reader.check_until(name, text, &|| started.elapsed() > PATIENCE);
        assert!(started.elapsed() < LONGEST, "{name} took {:?}", started.elapsed());
        (found, started.elapsed())
    };
    let (found, took) = check(reader);
    if took < PATIENCE / 2 {
        assert_eq!(check(&Reader::new()).0, found, "the same text is read in the same way");
        assert_eq!(check(reader).0, found, "and a second time");
    }
    let given_up = reader.check_until(name, text, &|| true);
    assert!(given_up.is_none_or(|found| found.is_empty()), "who gives up at once says nothing");
    well_formed(found.as_deref().unwrap_or_default(), text.split('\n').count() as u64 + 1, 50);
    // A second byte order mark is a character of the text.
    if text.strip_prefix('\u{FEFF}').unwrap_or(text).trim().is_empty() {
        assert_eq!(found.as_deref(), Some([].as_slice()), "nothing is wrong with an empty text");
    }
    found
}

/// Errors in unchanged text do not count as new, and every new error is one of the errors after the change.
fn check_new_errors(before: &str, after: &str, old: &[Diagnostic], new: &[Diagnostic], sight: Sight) {
    let lines = LineMap::new(before, after);
    let found = new_ones(old, new, |_| Some(&lines), sight);
    assert!(found.iter().all(|one| new.contains(one)) && found.len() <= new.len());
    if old.is_empty() {
        assert_eq!(found.len(), new.len(), "in a text that was right all of it is new");
    }
    let same = LineMap::new(after, after);
    assert!(new_ones(new, new, |_| Some(&same), sight).is_empty(), "nothing is new in the same text");
}

fn printed(output: &str) {
    let found = read_output(output, "/home/p");
    well_formed(&found, u64::MAX, output.lines().count().min(2000));
}

fn well_formed(found: &[Diagnostic], last: u64, most: usize) {
    assert!(found.len() <= most, "{} errors", found.len());
    for one in found {
        assert!(one.line <= last, "{one:?}");
        let message = one.message.to_string();
        assert!(message.chars().count() <= 301 && !message.contains(char::is_control), "{one:?}");
    }
}
