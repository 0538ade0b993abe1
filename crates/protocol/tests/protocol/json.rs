//! Tests the repairing JSON reader with its case files, and laws that hold for any text.
//!
//! A case is three lines below a `## section`: `in` the text, `want` the intended value (several values with a blank
//! between; `nothing` if nothing may be read), `is` the repairs made, `valid` or `refused`. `␤` is a line end, `␍` a
//! carriage return, `␉` a tab. A section with `| cut` has texts that may have been cut off.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use toolfence_kit::{CaseFiles, Comparison, Entry, Random};
use toolfence_protocol::Repair;
use toolfence_protocol::json::{Reading, read, strict};

/// A case with its intended values.
struct Case {
    entry: Entry,
    want: Vec<Value>,
}

impl Case {
    fn closed(&self) -> bool {
        !self.section.ends_with("| cut")
    }
}

impl std::ops::Deref for Case {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

fn cases() -> Vec<Case> {
    let entries = CaseFiles::of("json").entries().into_iter();
    let with_values = entries.map(|entry| {
        let meant = if entry.want == "nothing" { "" } else { &entry.want };
        let values = serde_json::Deserializer::from_str(meant).into_iter();
        let values = values.map(|value| value.unwrap_or_else(|error| panic!("{}: {error}", entry.want)));
        Case { want: values.collect(), entry }
    });
    with_values.collect()
}

fn result(case: &Case) -> String {
    match read(&case.text, case.closed()) {
        Err(_) => "refused".to_owned(),
        Ok(reading) if reading.repairs.is_empty() => "valid".to_owned(),
        Ok(reading) => reading.repairs.iter().map(|repair| repair.name()).collect::<Vec<_>>().join(" "),
    }
}

/// Every case gives the intended value or an error, and the repairs that the file lists.
#[test]
fn every_case_gives_the_intended_value_or_an_error() {
    let cases = cases();
    assert!(cases.len() > 300, "the case files are there");
    let mut comparison = Comparison::new();
    for case in &cases {
        match read(&case.text, case.closed()) {
            Ok(reading) if reading.values != case.want => {
                let misread = format!("misread as {:?} {:?}", reading.values, reading.repairs);
                comparison.wrong(&case.is, &case.text, misread);
            }
            _ => comparison.expect(&case.is, &case.text, &result(case)),
        }
    }
    comparison.finish();
}

/// Each repair has its own section with at least one accepted text. With `--nocapture`, the test prints the counts.
#[test]
fn every_repair_has_its_cases() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let cases = cases();
    for case in &cases {
        let kind = match read(&case.text, case.closed()) {
            Err(_) if case.want.is_empty() => "nothing to read, refused",
            Err(_) => "refused",
            Ok(reading) if reading.is_lossless() => "lossless",
            Ok(_) => "lossy",
        };
        *counts.entry(kind).or_default() += 1;
    }
    println!("{} cases: {counts:?}", cases.len());
    let elsewhere = [
        Repair::MissingFence,
        Repair::ArgsAlias,
        Repair::NameAlias,
        Repair::Wrapper,
        Repair::NameAsKey,
        Repair::ArgsString,
        Repair::ArgsBesideName,
        Repair::SeveralCalls,
        Repair::NameDecoration,
        Repair::InfoWord,
        Repair::GluedFence,
        Repair::TextAfterFence,
        Repair::DoubtfulFence,
        Repair::ExtraKey,
        Repair::WrongType,
        Repair::TrailingText,
        Repair::InlineBody,
        Repair::LooseTag,
        Repair::WrongWord,
        Repair::MidLine,
        Repair::OtherDialect,
        Repair::InnerCloser,
        Repair::IndentedText,
        Repair::PositionalArgument,
        Repair::AfterBrokenBlock,
        Repair::Stitched,
        Repair::Coerced,
        Repair::MovedReason,
    ];
    for repair in Repair::ALL.iter().filter(|repair| !elsewhere.contains(repair)) {
        let name = repair.name();
        let own = |case: &&Case| case.section.starts_with(name) && case.is.text().split(' ').any(|is| is == name);
        assert!(cases.iter().any(|case| own(&case)), "{name} has no case");
    }
}

/// If a repaired value is printed and read again, the result is the same value without repairs.
#[test]
fn a_printed_repaired_value_reads_the_same() {
    for case in cases() {
        let Ok(reading) = read(&case.text, case.closed()) else { continue };
        let printed: Vec<String> = reading.values.iter().map(Value::to_string).collect();
        let again = read(&printed.join("\n"), false).unwrap_or_else(|problem| panic!("{}: {problem}", case.text));
        assert_eq!((again.values, again.repairs), (reading.values, Vec::new()), "{}", case.text);
    }
}

/// A text that was cut off never becomes an object, unless only closing brackets are missing.
#[test]
fn truncated_objects_are_not_read() {
    for case in cases().iter().filter(|case| case.is.text() != "refused" && case.text.starts_with(['{', '['])) {
        for (at, _) in case.text.char_indices().skip(1) {
            let Ok(reading) = read(&case.text[..at], false) else { continue };
            let whole = read(&case.text, case.closed()).unwrap();
            let first = reading.values.iter().zip(&whole.values).all(|(a, b)| a == b);
            assert!(first, "{}: {:?}", &case.text[..at], reading.values);
        }
    }
}

fn any_text(dice: &mut Random) -> String {
    let pieces = [
        "a", "{", "}", "[", "]", "\"", "'", "\\", "\n", ",", ":", " ", "é", "😀", "//", "#", "<<X", "\u{1}", "“", "```",
    ];
    dice.text(&pieces, 8)
}

fn any_value(dice: &mut Random, depth: usize) -> Value {
    match dice.below(if depth > 4 { 7 } else { 10 }) {
        0 => Value::Null,
        1 => Value::Bool(dice.below(2) == 1),
        2 => json!(dice.below(1000) as i64 - 500),
        3 => json!(dice.below(1_000_000) as f64 / 64.0),
        4 => json!(u64::MAX - dice.below(9) as u64),
        5 | 6 => Value::String(any_text(dice)),
        7 => (0..dice.below(5)).map(|_| any_value(dice, depth + 1)).collect(),
        _ => any_object(dice, depth),
    }
}

fn any_object(dice: &mut Random, depth: usize) -> Value {
    Value::Object((0..dice.below(5)).map(|_| (any_text(dice), any_value(dice, depth + 1))).collect())
}

#[test]
fn valid_texts_are_read_as_by_serde_json() {
    let mut dice = Random::new(0x9e37_79b9_7f4a_7c15);
    for round in 0..2000 {
        let value = any_object(&mut dice, 0);
        let text = if round % 2 == 0 { value.to_string() } else { serde_json::to_string_pretty(&value).unwrap() };
        let theirs: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(strict(&text).as_ref(), Ok(&theirs), "{text}");
        let reading = read(&text, false).unwrap();
        assert_eq!((&reading.values[..], &reading.repairs[..]), (std::slice::from_ref(&theirs), &[][..]), "{text}");
    }
}

/// A lossless repair never changes a valid string next to it, and never gives another value than the intended one.
#[test]
fn one_fault_leaves_the_rest_alone() {
    let mut dice = Random::new(0x1234_5678_9abc_def1);
    for _ in 0..2000 {
        let value = json!({"name": any_text(&mut dice), "args": any_object(&mut dice, 1), "z": any_text(&mut dice)});
        let text = value.to_string();
        let comma = format!("{},}}", &text[..text.len() - 1]);
        let around = format!("Call:\n{text}");
        let separator = format!("{text};");
        let comment = text.replacen('{', "{ // why\n", 1);
        let open = text[..text.len() - 1].to_owned();
        for (broken, repair) in [
            (comma, Repair::TrailingComma),
            (around, Repair::SurroundingText),
            (separator, Repair::Separator),
            (comment, Repair::Comment),
            (open, Repair::FinalClosers),
        ] {
            let reading = read(&broken, true).unwrap_or_else(|problem| panic!("{broken}: {problem}"));
            assert_eq!(reading.values, std::slice::from_ref(&value), "{broken}");
            // In an object with several members, an earlier bracket may count as the missing one, which is another
            // repair.
            let repairs = reading.repairs.iter().filter(|repair| **repair != Repair::MiddleClosers);
            assert!(repairs.eq([&repair]), "{:?}: {broken}", reading.repairs);
        }
    }
}

/// Strict reading refuses a repeated key, an unpaired surrogate and a number that is too large. Repair refuses them
/// too, alone and next to a fault that it could repair.
#[test]
fn repair_does_not_accept_values_that_strict_reading_refuses() {
    let mut dice = Random::new(0x0bad_cafe_dead_beef);
    for bad in ["\"k\": 1, \"k\": 2", "\"k\": \"\\ud800\"", "\"k\": 1e999", "\"k\": \"\\udc00\""] {
        for _ in 0..300 {
            let before = any_object(&mut dice, 1).to_string();
            let text = format!("{{\"a\": {before}, {bad}}}");
            assert!(strict(&text).is_err());
            assert!(read(&text, true).is_err(), "{text}");
            for broken in [text.replace("\"k\"", "k"), text.replace("}}", ",}}"), format!("x {text}")] {
                assert!(read(&broken, true).is_err(), "{broken}");
            }
        }
    }
}

/// Whatever the damage, the reader ends and never panics.
#[test]
fn the_reader_never_panics_on_damaged_text() {
    let mut dice = Random::new(0x5eed_5eed_5eed_5eed);
    let cases = cases();
    let noise =
        ["\"", "'", "\\", "{", "}", "[", "]", ",", ":", "\n", "//", "/*", "#", "`", "“", "\u{a0}", "+", "=", "\"\"\""];
    for _ in 0..20_000 {
        let mut text = cases[dice.below(cases.len())].text.clone();
        for _ in 0..=dice.below(3) {
            let mut at = dice.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match dice.below(3) {
                0 => text.truncate(at),
                1 => text.insert_str(at, noise[dice.below(noise.len())]),
                _ => text = text[at..].to_owned() + &text[..at],
            }
        }
        if let Ok(reading) = read(&text, dice.below(2) == 0) {
            assert!(!reading.values.is_empty(), "{text}");
        }
    }
}

const CONTENTS: [&str; 38] = [
    "ls -la",
    "echo \"hi\"",
    "git commit -m \"fix: a, b\"",
    "grep -rn \"fn main() {\" src",
    "say \"a\", \"b\" and c",
    "{\"a\": \"b\", \"c\": [1, 2]}",
    "{\n  \"name\": \"x\",\n  \"v\": {\"w\": \"y\", \"z\": 1}\n}\n",
    "it's",
    "don't \"quote\" me",
    "5\" disk",
    "C:\\new\\docs",
    "C:\\Users\\ana",
    "\\d+\\s*",
    "a\nb\nc\n",
    "",
    "\"\"",
    "x \"y\"",
    "\"y\" x",
    "# Title\n\n\"q\"\n```sh\nmake\n```\n",
    "a, b: c",
    "\"k\": \"v\"",
    "a}",
    "{",
    "[\"a\", \"b\"]",
    "name: \"x\"\non: [\"push\"]\n",
    "<a href=\"x\">y</a>",
    "if x == \"a\" {",
    "print(\"a\" + \"b\")",
    "/* \"x\" */",
    "a # b",
    "não é \"isso\"",
    "http://x.y/?a=b&c=\"d\"",
    "'a' 'b'",
    "\"a\" \"b\"",
    "awk '{print \"x\", $1}'",
    "\"a\": 1, \"b\": 2",
    "say \"",
    "a\\",
];

const KEYS: [&str; 8] = ["name", "args", "path", "content", "command", "reason", "old", "new"];

/// Returns an object as in a call, with contents that are hard to quote.
fn call(dice: &mut Random, depth: usize) -> Value {
    let text = |dice: &mut Random| Value::from(CONTENTS[dice.below(CONTENTS.len())]);
    let mut members = serde_json::Map::new();
    for _ in 0..1 + dice.below(3) {
        let value = match dice.below(if depth == 0 { 9 } else { 6 }) {
            0 => json!(dice.below(100)),
            1 => json!(true),
            2..=5 => text(dice),
            6 => json!([text(dice), text(dice)]),
            _ => call(dice, depth + 1),
        };
        members.insert(KEYS[dice.below(KEYS.len())].to_owned(), value);
    }
    Value::Object(members)
}

/// Returns printed JSON with each line changed. `change` gets the line and whether a closing bracket follows it.
fn map_lines(text: &str, change: impl Fn(&str, bool) -> String) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let closes = |line: Option<&&str>| line.is_some_and(|line| line.trim_start().starts_with(['}', ']']));
    let changed = lines.iter().enumerate().map(|(index, line)| change(line, closes(lines.get(index + 1))));
    changed.collect::<Vec<_>>().join("\n")
}

/// Returns a text with each mistake that models make in JSON.
fn faults(text: &str) -> Vec<(&'static str, String)> {
    let kept = text.replace("\\\\", "\u{3}");
    let back = |text: String| text.replace('\u{3}', "\\\\");
    let quotes = kept.replace("\\\"", "\"");
    let single = kept.replace("\\\"", "\u{2}").replace('"', "\u{4}").replace('\u{2}', "\"");
    let comma =
        |line: &str, last: bool| if last && !line.ends_with(['{', '[']) { format!("{line},") } else { line.into() };
    vec![
        ("quotes not escaped", back(quotes.clone())),
        ("neither quotes nor newlines escaped", back(quotes.replace("\\n", "\n"))),
        ("newlines not escaped", back(kept.replace("\\n", "\n"))),
        ("backslashes not escaped", kept.replace('\u{3}', "\\")),
        ("nothing escaped", quotes.replace("\\n", "\n").replace('\u{3}', "\\")),
        ("commas lost", map_lines(text, |line, _| line.strip_suffix(',').unwrap_or(line).to_owned())),
        ("trailing commas", map_lines(text, comma)),
        ("last closer lost", text[..text.len() - 1].to_owned()),
        ("a closer too many", format!("{text}}}")),
        (
            "closing quotes lost",
            map_lines(text, |line, _| line.strip_suffix("\",").map_or(line.to_owned(), |line| format!("{line},"))),
        ),
        ("an opening quote lost", text.replacen("\": \"", "\": ", 1)),
        ("single quotes", back(single.replace('\'', "\\'").replace('\u{4}', "'"))),
        ("single quotes not escaped", back(single.replace('\u{4}', "'"))),
        (
            "keys without quotes",
            KEYS.iter()
                .fold(text.into(), |text: String, key| text.replace(&format!(" \"{key}\":"), &format!(" {key}:"))),
        ),
        ("encoded twice", serde_json::to_string(text).unwrap().trim_matches('"').to_owned()),
    ]
}

/// A call with a fault in its syntax is read as intended, or refused. Unescaped backslashes and quotes may happen to
/// form another valid text; that cannot be detected.
#[test]
fn a_fault_never_makes_another_call() {
    let mut table: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for_each_fault(0x5151_5151_aaaa_1111, |name, value, broken, reading| {
        table.entry(name).or_default()[usize::from(reading.is_none())] += 1;
        if let Some(reading) = reading {
            assert_eq!(reading.values, std::slice::from_ref(value), "{name} {:?}: {broken}", reading.repairs);
        }
    });
    for (name, [right, refused]) in table {
        println!("{name}: {right} as meant, {refused} refused");
        assert!(right + refused > 100, "{name} was done to too few texts");
    }
}

/// Some faults produce a text with another meaning: if no quote is escaped, `["a\", "b""]` may be two strings or one.
/// Such a reading is a guess and is marked as lossy.
#[test]
fn a_fault_that_makes_another_call_is_lossy() {
    let mut different = 0;
    for seed in 0..8 {
        for_each_fault(seed, |name, value, broken, reading| {
            let Some(reading) = reading.filter(|reading| reading.values != std::slice::from_ref(value)) else { return };
            different += 1;
            assert!(!reading.is_lossless(), "{name} {:?}: {broken}", reading.repairs);
        });
    }
    assert!(different > 0, "no fault made another call, so nothing was tested");
}

/// Calls `seen` with each fault of 1,500 calls that strict reading refuses: its name, the call, the text and its
/// reading.
fn for_each_fault(seed: u64, mut seen: impl FnMut(&'static str, &Value, &str, Option<Reading>)) {
    let mut dice = Random::new(seed);
    for _ in 0..1500 {
        let value = call(&mut dice, 0);
        let text = serde_json::to_string_pretty(&value).unwrap();
        for (name, broken) in faults(&text).into_iter().filter(|(_, broken)| strict(broken).is_err()) {
            seen(name, &value, &broken, read(&broken, true).ok());
        }
    }
}
