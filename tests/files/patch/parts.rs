//! The case files in `tests/cases/edit`, and laws of replacing parts of a text without a patch.
//!
//! A case begins with `=== title`. Each of its parts begins with `#### ` and ends before the next one: `text` is the
//! text before the edit, `edit START END` a range of lines with its replacement, `old` and `new` a passage, `set
//! POINTER` a place of a JSON text with its new value, `remove POINTER` a value to remove, `want` the text after the
//! edit, and `error` lines that the refusal must contain. Empty lines at the end of a part are ignored; `␤` is one that
//! counts. The other signs are those of the patch cases.

use super::laws::text;
use serde_json::Value;
use std::time::{Duration, Instant};
use toolfence_kit::Random;
use toolfence_kit::{CaseFiles, Comparison, Expected, Section, signs};
use toolfence_patch::PassageProblem;
use toolfence_patch::{DataEdit, LineEdit, edit_data, edit_lines, replace_passage};

struct Case {
    title: String,
    text: String,
    edits: Vec<(u64, u64, String)>,
    passage: Option<(String, String)>,
    data: Vec<(String, Option<Value>)>,
    want: Option<(Expected, String)>,
    error: Option<Expected>,
    end: Expected,
}

fn all() -> Vec<Case> {
    CaseFiles::of("edit").sections().iter().map(Case::of).collect()
}

impl Case {
    fn of(section: &Section) -> Case {
        let mut case = Case {
            title: section.title.clone(),
            text: String::new(),
            edits: Vec::new(),
            passage: None,
            data: Vec::new(),
            want: None,
            error: None,
            end: section.optional_part("end"),
        };
        for part in &section.parts {
            let body = signs::read(part.body.text());
            let mut words = part.rest.split(' ');
            let mut number =
                || words.next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{}", case.title));
            match &*part.word {
                "text" => case.text = body,
                "edit" => case.edits.push((number(), number(), body)),
                "old" => case.passage = Some((body, String::new())),
                "new" => case.passage.as_mut().expect("old comes first").1 = body,
                "set" => {
                    let value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{}: {error}", case.title));
                    case.data.push((pointer(&part.rest), Some(value)));
                }
                "remove" => case.data.push((pointer(&part.rest), None)),
                "want" => case.want = Some((part.body.clone(), body)),
                "error" => case.error = Some(part.body.clone()),
                other => panic!("{}: {other}?", case.title),
            }
        }
        case
    }

    /// Compares the result. A person decides whether an edit is refused. `UPDATE=1` rewrites the resulting text and the
    /// messages.
    fn compare(&self, comparison: &mut Comparison) {
        match (done(self, &self.text), &self.want, &self.error) {
            (Ok(got), Some((want, _)), _) => comparison.expect_text(want, &self.title, &got),
            (Err(message), _, Some(error)) => comparison.expect_fragments(error, &self.title, &message),
            (Ok(got), ..) => comparison.wrong(&self.end, &self.title, format!("not refused, but {got:?}")),
            (Err(message), ..) => comparison.wrong(&self.end, &self.title, format!("refused: {message}")),
        }
    }
}

fn done(case: &Case, text: &str) -> Result<String, String> {
    let bytes = match &case.passage {
        None if !case.data.is_empty() => {
            let edits: Vec<_> = case.data.iter().map(|(at, value)| DataEdit { at, value: value.as_ref() }).collect();
            edit_data(text.as_bytes(), &edits).map_err(|problem| problem.text().to_string())
        }
        Some((old, new)) => replace_passage(text.as_bytes(), old, new).map(|done| done.text).map_err(|p| p.to_string()),
        None => edit_lines(text.as_bytes(), &edits_of(&case.edits)).map_err(|problem| problem.to_string()),
    };
    bytes.map(|bytes| String::from_utf8(bytes).unwrap())
}

/// Reads the pointer of a case. `""` is the pointer of the whole document.
fn pointer(written: &str) -> String {
    if written == "\"\"" { String::new() } else { written.to_owned() }
}

fn edits_of(edits: &[(u64, u64, String)]) -> Vec<LineEdit<'_>> {
    edits.iter().map(|(start, end, replacement)| LineEdit { start: *start, end: *end, replacement }).collect()
}

#[test]
fn every_case_gives_its_result() {
    let cases = all();
    println!("{} cases", cases.len());
    assert!(cases.len() >= 55, "the case files are there: {}", cases.len());
    assert!(cases.iter().all(|case| case.want.is_some() != case.error.is_some()));
    let mut comparison = Comparison::new();
    for case in &cases {
        case.compare(&mut comparison);
    }
    comparison.finish();
}

/// An edit has the same effect on a text with CRLF as on one with LF.
#[test]
fn cases_hold_with_crlf() {
    let mut tried = 0;
    for case in all() {
        let Some((_, want)) = case.want.as_ref().filter(|_| !case.text.contains('\r') && case.text.contains('\n'))
        else {
            continue;
        };
        if want.contains('\r') {
            continue;
        }
        let crlf = |text: &str| text.replace('\n', "\r\n");
        assert_eq!(done(&case, &crlf(&case.text)), Ok(crlf(want)), "{}", case.title);
        tried += 1;
    }
    println!("{tried} cases in CRLF");
    assert!(tried > 25);
}

/// Compares the result with a simple implementation, which applies the edits to a vector of lines, the last one first.
#[test]
fn edits_use_the_line_numbers_of_the_original_text() {
    let mut random = Random::new(21);
    let (mut made, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let old = text(&mut random, 12);
        let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
        let edits: Vec<(u64, u64, String)> =
            (0..=random.below(3)).map(|_| random_edit(&mut random, lines.len())).collect();
        match edit_lines(old.as_bytes(), &edits_of(&edits)) {
            Ok(got) => {
                let mut order: Vec<_> = edits.iter().collect();
                order.sort_by_key(|(start, end, _)| std::cmp::Reverse((*start, *end)));
                for (start, end, replacement) in order {
                    let range = usize::try_from(start - 1).unwrap()..usize::try_from(*end).unwrap();
                    lines.splice(range, replacement.lines().map(str::to_owned));
                }
                let got = String::from_utf8(got).unwrap();
                assert_eq!(got.lines().collect::<Vec<_>>(), lines, "{old:?} {edits:?}");
                let ended = got.is_empty() || got.ends_with('\n');
                let was = old.is_empty() || old.ends_with('\n');
                assert!(
                    ended == was || got.is_empty() || got.ends_with("\n\n") || got == "\n",
                    "{old:?} {edits:?} {got:?}"
                );
                made += 1;
            }
            Err(_) => {
                assert!(meet(&edits, lines.len() as u64), "{old:?} {edits:?}");
                refused += 1;
            }
        }
    }
    println!("{made} made, {refused} refused");
    assert!(made > 5_000 && refused > 1_000);
}

fn random_edit(random: &mut Random, lines: usize) -> (u64, u64, String) {
    let start = random.below(lines + 1) as u64 + 1;
    let end = start - 1 + random.below(3) as u64;
    (start, end, text(random, 3))
}

/// Returns `true` if two edits share a line or a position, or if one exceeds the end.
fn meet(edits: &[(u64, u64, String)], lines: u64) -> bool {
    let pair = |(at, a): (usize, &(u64, u64, String))| {
        edits[at + 1..].iter().any(|b| {
            let insertion = |edit: &(u64, u64, String)| edit.1 < edit.0;
            let inside = |edit: &(u64, u64, String), range: &(u64, u64, String)| range.0 < edit.0 && edit.0 <= range.1;
            match (insertion(a), insertion(b)) {
                (true, true) => a.0 == b.0,
                (true, false) => inside(a, b),
                (false, true) => inside(b, a),
                (false, false) => a.0 <= b.1 && b.0 <= a.1,
            }
        })
    };
    edits.iter().any(|edit| edit.1 > lines) || edits.iter().enumerate().any(pair)
}

#[test]
fn a_passage_is_replaced_where_it_occurs_once() {
    let mut random = Random::new(22);
    let (mut once, mut several, mut none) = (0, 0, 0);
    for _ in 0..20_000 {
        let old_text = text(&mut random, 8);
        let chars: Vec<char> = old_text.chars().collect();
        let from = random.below(chars.len() + 1);
        let to = (from + random.below(12)).min(chars.len());
        let mut old: String = chars[from..to].iter().collect();
        if random.below(6) == 0 {
            old.push('x');
        }
        let new = text(&mut random, 2);
        if old.is_empty() || old == new {
            continue;
        }
        let ended = format!("{old_text}{}", if old.ends_with('\n') && !old_text.ends_with('\n') { "\n" } else { "" });
        let places = (0..ended.len()).filter(|at| ended.as_bytes()[*at..].starts_with(old.as_bytes())).count();
        match replace_passage(old_text.as_bytes(), &old, &new) {
            Ok(done) if ended == old_text => {
                assert_eq!((places, String::from_utf8(done.text).unwrap()), (1, old_text.replacen(&old, &new, 1)));
                once += 1;
            }
            Ok(_) => assert_eq!(places, 1),
            Err(PassageProblem::Several { total, .. }) => {
                assert_eq!(total, places as u64, "{old:?} in {old_text:?}");
                several += 1;
            }
            Err(PassageProblem::NotFound { .. }) => {
                assert_eq!(places, 0, "{old:?} in {old_text:?}");
                none += 1;
            }
            Err(problem) => panic!("{problem}"),
        }
    }
    println!("{once} replaced, {several} several, {none} none");
    assert!(once > 2_000 && several > 1_000 && none > 500);
}

/// The search takes linear time. If it grew with the product of both lengths, this test would take minutes.
#[test]
fn hostile_passages_take_linear_time() {
    const SIZE: usize = 1 << 20;
    // A shape has four texts: the repeated part of the text, the end of the text, the repeated part of the passage, and
    // the end of the passage.
    let shapes = [
        ("a", "", "a", ""),
        ("a\n", "b", "a\n", ""),
        ("ab", "c", "ab", "a"),
        ("a b c d\n", "", "a b c e\n", ""),
        ("\n", "x", "\n", "y"),
    ];
    for (piece, end, old_piece, old_end) in shapes {
        let text = format!("{}{end}", piece.repeat(SIZE / piece.len()));
        let old = format!("{}{old_end}", old_piece.repeat(SIZE / 2 / old_piece.len()));
        let started = Instant::now();
        assert!(replace_passage(text.as_bytes(), &old, "new").is_err());
        assert!(started.elapsed() < Duration::from_secs(20), "{piece:?}: {:?}", started.elapsed());
    }
}
