//! Tests texts that are made to break a parser: the parser of every language handles each of them in bounded time and
//! without a crash.

use std::time::{Duration, Instant};
use toolfence_tools::validate::{LineMap, new_ones, syntax};

/// The limit of this test for one check. A check gives up after a tenth of this; the rest is for busy machines.
const LONG: Duration = Duration::from_secs(10);

fn texts() -> Vec<(&'static str, String)> {
    let many = |piece: &str, times: usize| piece.repeat(times);
    let indented = (0..700).map(|level| format!("{}if a:\n", " ".repeat(level))).collect::<String>();
    vec![
        ("open", many("(", 200_000)),
        ("braces", many("{", 499)),
        ("brackets", many("[", 100_000)),
        ("pairs", many("()[]{}", 50_000)),
        ("closed", many("}", 50_000)),
        ("deep", format!("{}{}", many("[", 499), many("]", 499))),
        ("objects", many("{\"a\":", 499)),
        ("quotes", many("\"", 60_001)),
        ("backquotes", many("`", 20_001)),
        ("heredocs", (0..2000).map(|n| format!("cat <<E{n}\n")).collect()),
        ("strings in strings", many("f\"{", 400)),
        ("sequences", format!("{}a", many("- ", 5000))),
        ("keys", many("? ", 5000)),
        ("anchors", (0..2000).map(|n| format!("a{n}: &a{n} [*a{}]\n", n / 2)).collect()),
        ("indented", indented),
        ("lines", many("a\n", 100_000)),
        ("one line", many("a ", 100_000)),
        ("nul", many("a\0b\n", 5000)),
        ("words", many("if else fi do done for in class def fn func { ; ", 2000)),
        ("not ascii", many("é漢🦀\u{202e}\n", 10_000)),
        ("control", (0..=255_u8).cycle().take(40_000).map(char::from).collect()),
        ("raw strings", format!("r{}\"", many("#", 40_000))),
        ("comments", many("/* ", 40_000)),
        ("generics", many("a<", 20_000)),
    ]
}

#[test]
fn every_text_is_checked_in_bounded_time() {
    let texts = texts();
    for language in toolfence_tools::validate::syntax::LANGUAGES {
        let name = format!("x.{}", language.endings[0]);
        let reader = toolfence_tools::validate::syntax::Reader::new();
        for (what, text) in &texts {
            let started = Instant::now();
            let found = reader.check_until(&name, text, &|| started.elapsed() > LONG / 10);
            if let Some(found) = &found {
                assert!(found.len() <= 50, "{}: {what}", language.name);
                let last = text.split('\n').count() as u64 + 1;
                assert!(
                    found.iter().all(|one| one.line >= 1 && one.line <= last),
                    "{}: {what}: {found:?}",
                    language.name
                );
            }
            assert!(started.elapsed() < LONG, "{}: {what} took {:?}", language.name, started.elapsed());
        }
    }
}

#[test]
fn long_texts_are_not_checked() {
    let long = "{}\n".repeat(toolfence_tools::validate::syntax::MOST_BYTES / 3 + 1);
    assert_eq!(syntax::check("x.json", &long), None);
    assert_eq!(syntax::check("README.md", "(("), None);
    assert_eq!(syntax::check("x.json", " \n"), Some(Vec::new()));
}

#[test]
fn many_errors_are_compared_in_time() {
    let text = |word: &str| (0..5000).map(|n| format!("{word} {n}\n")).collect::<String>();
    let (before, after) = (text("a"), text("b"));
    let errors = |word: &str| {
        let one = |n: u64| toolfence_tools::validate::Diagnostic::new("x", n + 1, 1, format!("{word} is wrong"));
        (0..5000).map(one).collect::<Vec<_>>()
    };
    let started = Instant::now();
    let lines = LineMap::new(&before, &after);
    let new = new_ones(&errors("a"), &errors("b"), |_| Some(&lines), toolfence_tools::validate::Sight::All);
    assert_eq!(new.len(), 5000);
    assert!(started.elapsed() < LONG);
}

/// After a text without errors, only the changed part is parsed.
#[test]
fn a_change_is_parsed_faster_than_the_text() {
    let text = "def f(x):\n    return [x, {\"a\": x}]\n".repeat(500);
    let changed = text.replacen("[x,", "[x + 1,", 250);
    let reader = toolfence_tools::validate::syntax::Reader::new();
    let work = |text: &str| {
        let asked = std::cell::Cell::new(0);
        let found = reader.check_until("a.py", text, &|| {
            asked.set(asked.get() + 1);
            false
        });
        assert_eq!(found, Some(Vec::new()));
        asked.get()
    };
    let (first, again, much) = (work(&text), work(&format!("{text}x = 1\n")), work(&changed));
    assert!(again * 5 < first && again < much, "{first} {again} {much}");
}
