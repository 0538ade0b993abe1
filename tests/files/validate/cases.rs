//! The case files in `tests/cases/validate`.
//!
//! A case begins with `=== title`. Each of its parts begins with `#### ` and ends before the next one: `before NAME` is
//! the old file, `after` the new one, and `new` a line `LINE:COLUMN MESSAGE` for each error that the change introduces.
//! Without new errors there is no part `new`.

use toolfence_kit::{CaseFiles, Comparison, Expected, Random, Section};
use toolfence_tools::validate::{LineMap, new_ones, syntax};

#[derive(Clone)]
struct Case {
    title: String,
    name: String,
    before: String,
    after: String,
    new: Expected,
}

fn all() -> Vec<Case> {
    CaseFiles::of("validate").sections().iter().map(Case::of).collect()
}

impl Case {
    fn of(section: &Section) -> Case {
        let [before, after, ..] = &section.parts[..] else { panic!("{}: a text before and after", section.title) };
        assert_eq!((&*before.word, &*after.word), ("before", "after"), "{}", section.title);
        Case {
            title: section.title.clone(),
            name: before.rest.clone(),
            before: before.body.text().to_owned(),
            after: after.body.text().to_owned(),
            new: section.optional_part("new"),
        }
    }
}

fn found(case: &Case) -> String {
    let language = toolfence_tools::validate::syntax::language(&case.name)
        .unwrap_or_else(|| panic!("{}: {} is known", case.title, case.name));
    let check = |text: &str| syntax::check(&case.name, text).unwrap_or_else(|| panic!("{}: it can be", case.title));
    let lines = LineMap::new(&case.before, &case.after);
    let new = new_ones(&check(&case.before), &check(&case.after), |_| Some(&lines), language.sight);
    new.iter().map(|new| format!("{}:{} {}\n", new.line, new.column, new.message)).collect()
}

#[test]
fn every_case() {
    let cases = all();
    assert!(cases.len() >= 40, "{}", cases.len());
    let mut comparison = Comparison::new();
    for case in &cases {
        comparison.expect(&case.new, &case.title, &found(case));
    }
    comparison.finish();
}

/// An unchanged text has no new errors, and a valid text has no errors at all.
#[test]
fn an_unchanged_text_has_no_new_errors() {
    for case in all() {
        for text in [&case.before, &case.after] {
            let again = Case { before: text.clone(), after: text.clone(), ..case.clone() };
            assert_eq!(found(&again), "", "{}", case.title);
            let lower = Case { after: format!("\n\n{text}"), ..again };
            assert_eq!(found(&lower), "", "{}, two lines lower", case.title);
        }
    }
}

/// A reader that parses incrementally finds the same errors as one that parses the whole text.
#[test]
fn incremental_parsing_finds_the_same_errors() {
    let texts: Vec<(String, String)> =
        all().into_iter().flat_map(|case| [(case.name.clone(), case.before), (case.name, case.after)]).collect();
    let mut random = Random::new(71);
    let (mut right, mut wrong) = (0, 0);
    for (name, text) in &texts {
        let reader = toolfence_tools::validate::syntax::Reader::new();
        let mut text = text.repeat(1 + random.below(3));
        for _ in 0..60 {
            let found = reader.check_until(name, &text, &|| false);
            assert_eq!(found, syntax::check(name, &text), "{name}: {text}");
            let is_right = found.is_some_and(|found| found.is_empty());
            *(if is_right { &mut right } else { &mut wrong }) += 1;
            let changed = changed(&text, &random.pick(&texts).1, &mut random);
            // Continue mostly from valid texts, because the reader keeps no others.
            if random.below(12) == 0 || syntax::check(name, &changed).is_some_and(|found| found.is_empty()) {
                text = changed;
            }
        }
    }
    println!("{right} texts without errors, {wrong} with some");
    assert!(right > 1000 && wrong > 1000, "{right} {wrong}");
}

/// Removes a piece of the text, or inserts one of this or another text.
fn changed(text: &str, other: &str, random: &mut Random) -> String {
    let place = |text: &str, random: &mut Random| {
        let line = random.below(3) > 0;
        let ends =
            text.char_indices().filter(|(_, char)| !line || *char == '\n').map(|(at, char)| at + char.len_utf8());
        let ends: Vec<usize> = ends.chain([0]).collect();
        *random.pick(&ends)
    };
    let from = if random.below(3) == 0 { other } else { text };
    let (mut start, mut end) = (place(from, random), place(from, random));
    if start > end {
        (start, end) = (end, start);
    }
    let at = place(text, random);
    match random.below(3) {
        0 if std::ptr::eq(from, text) => format!("{}{}", &text[..start], &text[end..]),
        _ if text.len() < 4000 => format!("{}{}{}", &text[..at], &from[start..end], &text[at..]),
        _ => String::new(),
    }
}
