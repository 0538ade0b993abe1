//! Fuzzes replacing lines, a passage and a value of a text. The result is that of a simple implementation, or the edit
//! is refused for a valid reason.
//!
//! The first four bytes are two ranges of lines. The text, two replacements and a passage follow, separated by 0xff.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolfence_patch::{DataEdit, LineEdit, PassageProblem, edit_data, edit_lines, replace_passage};

fuzz_target!(|data: &[u8]| {
    let [a, b, c, d, texts @ ..] = data else { return };
    let texts: Option<Vec<&str>> =
        texts.split(|byte| *byte == 0xff).map(|text| std::str::from_utf8(text).ok()).collect();
    let Some([text, one, other, passage]) = texts.as_deref() else { return };
    let edits = [(*a, *b, *one), (*c, *d, *other)];
    let edits = edits.map(|(start, end, replacement)| LineEdit { start: start.into(), end: end.into(), replacement });
    by_lines(text, &edits);
    check_passage(text, passage, one);
    check_pointer(text, passage, one);
    // Bytes that are not UTF-8 cause no error.
    let broken = [&[0xfe, b'\n'][..], text.as_bytes(), b"\r\n\xfe"].concat();
    let _ = edit_lines(&broken, &edits);
    let _ = replace_passage(&broken, passage, other);
});

fn by_lines(text: &str, edits: &[LineEdit<'_>; 2]) {
    let Ok(done) = edit_lines(text.as_bytes(), edits) else { return };
    let done = String::from_utf8(done).expect("it was text");
    if [text, edits[0].replacement, edits[1].replacement].iter().any(|text| text.contains(['\r', '\u{FEFF}'])) {
        return;
    }
    let mut lines: Vec<&str> = text.lines().collect();
    let mut edits: Vec<&LineEdit<'_>> = edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse((edit.start, edit.end)));
    for edit in edits {
        lines.splice(edit.start as usize - 1..edit.end as usize, edit.replacement.lines());
    }
    assert_eq!(done.lines().collect::<Vec<_>>(), lines);
}

/// A value that was set can be removed again, and setting it once more gives the same text.
fn check_pointer(text: &str, at: &str, new: &str) {
    let value = serde_json::Value::from(new);
    let set = DataEdit { at, value: Some(&value) };
    let Ok(once) = edit_data(text.as_bytes(), std::slice::from_ref(&set)) else { return };
    if at.ends_with("/-") {
        return;
    }
    assert_eq!(edit_data(&once, &[set]).as_ref(), Ok(&once));
    assert!(at.is_empty() || edit_data(&once, &[DataEdit { at, value: None }]).is_ok());
}

fn check_passage(text: &str, old: &str, new: &str) {
    if old.is_empty() || [text, old, new].iter().any(|text| text.contains(['\r', '\u{FEFF}'])) {
        return;
    }
    let made = old.ends_with('\n') && !text.ends_with('\n') && !text.is_empty();
    let whole = if made { format!("{text}\n") } else { text.to_owned() };
    let places = (0..whole.len()).filter(|at| whole.as_bytes()[*at..].starts_with(old.as_bytes())).count();
    match replace_passage(text.as_bytes(), old, new) {
        // The edit converted tabs and spaces, which it does only if the exact passage does not occur.
        Ok(done) if done.reindented => assert_eq!(places, 0),
        Ok(done) => {
            assert_eq!(places, 1);
            let wanted = whole.replacen(old, new, 1);
            let got = String::from_utf8(done.text).expect("it was text");
            assert!(got == wanted || made && format!("{got}\n") == wanted, "{got:?} {wanted:?}");
        }
        Err(PassageProblem::Several { total, lines }) => {
            assert!(total == places as u64 && total > 1 && lines.len() as u64 <= total);
        }
        Err(PassageProblem::NotFound { .. }) => assert_eq!(places, 0),
        Err(PassageProblem::NotUtf8 { .. }) => panic!("the text is UTF-8"),
        Err(_) => assert_eq!(old, new),
    }
}
