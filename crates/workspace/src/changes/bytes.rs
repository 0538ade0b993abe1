//! Property tests: edits of files with arbitrary bytes.

use crate::changes::draft::{Draft, Report};
use crate::changes::edit::{EditFile, EditLines, ReplaceText};
use crate::{Changes, Workspace};
use std::fs;
use toolfence_policy::rules::PathRules;
use toolfence_protocol::ToolFailure;

/// Pieces of contents: ASCII, line endings, UTF-8, U+FFFD itself, and bytes of other encodings.
const PIECES: &[&[u8]] = &[
    b"a",
    b"bc ",
    b"\n",
    b"\n",
    b"\r\n",
    b"\t",
    "\u{e9}".as_bytes(),
    "\u{fffd}".as_bytes(),
    b"\xe9",
    b"\xff",
    b"\xc3",
    b"\x80",
];

/// A deterministic pseudo-random generator.
struct Numbers(u64);

impl Numbers {
    fn count_below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.count_below(most)).flat_map(|_| PIECES[self.count_below(PIECES.len())].to_vec()).collect()
    }

    fn text(&mut self, most: usize) -> String {
        String::from_utf8_lossy(&self.bytes(most)).into_owned()
    }
}

fn replacements(text: &[u8]) -> usize {
    memchr::memmem::find_iter(text, "\u{fffd}".as_bytes()).count()
}

/// Returns the new content if the change is accepted.
fn after<R: Report>(draft: Result<Draft<R>, ToolFailure>) -> Option<Vec<u8>> {
    draft.ok().and_then(|draft| draft.files.into_iter().next()?.after)
}

fn each_case(mut check: impl FnMut(&mut Numbers, &Changes, &[u8])) {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let workspace = Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
    let mut numbers = Numbers(7);
    for _ in 0..1500 {
        let before = numbers.bytes(24);
        fs::write(home.path().join("a"), &before).expect("it can be written");
        check(&mut numbers, workspace.changes(), &before);
    }
}

#[test]
fn bytes_outside_of_edited_lines_stay() {
    let mut made = 0;
    each_case(|numbers, changes, before| {
        let lines: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
        let start = numbers.count_below(lines.len() + 1);
        let end = start + numbers.count_below(lines.len() - start + 1);
        let edit = EditLines { start_line: start as u64 + 1, end_line: end as u64, replacement: numbers.text(4) };
        let Some(after) = after(changes.draft_edit(&EditFile::new("a", vec![edit]))) else { return };
        made += 1;
        let (above, below) = (lines[..start].concat(), lines[end..].concat());
        let trimmed = |text: &[u8]| {
            let text = text.strip_suffix(b"\n").unwrap_or(text);
            text.strip_suffix(b"\r").unwrap_or(text).to_vec()
        };
        assert!(after.starts_with(&trimmed(&above)), "{before:?} became {after:?}");
        assert!(after.ends_with(&below) || trimmed(&after).ends_with(&trimmed(&below)), "{before:?} became {after:?}");
        if std::str::from_utf8(before).is_err() {
            assert!(replacements(&after) <= replacements(before), "{before:?} became {after:?}");
        }
    });
    assert!(made > 300, "{made} edits were made");
}

#[test]
fn bytes_around_a_replaced_passage_stay() {
    let mut made = 0;
    each_case(|numbers, changes, before| {
        let shown: Vec<char> = String::from_utf8_lossy(before).chars().collect();
        let start = numbers.count_below(shown.len());
        let end = (start + 1 + numbers.count_below(4)).min(shown.len());
        let old: String = shown[start.min(end)..end].iter().collect();
        let Some(after) = after(changes.draft_replacement(&ReplaceText::new("a", old, numbers.text(3)))) else {
            return;
        };
        made += 1;
        let same = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
        let rest = before[same..].iter().rev().zip(after[same..].iter().rev());
        let same_end = rest.take_while(|(one, other)| one == other).count();
        let replaced = &before[same..before.len() - same_end];
        // The removed bytes were text: a model cannot name a byte that is not UTF-8.
        let invalid = |text: &[u8]| text.utf8_chunks().map(|chunk| chunk.invalid().len()).sum::<usize>();
        assert!(invalid(&after) >= invalid(before) || invalid(replaced) == 0, "{before:?} became {after:?}");
        if std::str::from_utf8(before).is_err() {
            assert!(replacements(&after) <= replacements(before), "{before:?} became {after:?}");
        }
    });
    assert!(made > 100, "{made} passages were replaced");
}

#[test]
fn written_files_and_patches_lose_no_bytes() {
    let (mut made, mut refused) = (0, 0);
    each_case(|numbers, changes, before| {
        let is_text = std::str::from_utf8(before).is_ok();
        // The model sends the displayed text back with one more line.
        let shown = String::from_utf8_lossy(before);
        let content = format!("{shown}{}", numbers.text(3));
        let written = after(changes.draft_write("a", &content, None));
        assert!(is_text || written.is_none(), "{before:?} became {written:?}");
        let patch =
            format!("*** Begin Patch\n*** Update File: a\n@@\n-{}\n+x{}\n*** End Patch\n", "a", numbers.text(2));
        for after in [written, after(changes.draft_patch(&patch))] {
            let Some(after) = after else {
                refused += 1;
                continue;
            };
            made += 1;
            if !is_text {
                assert!(replacements(&after) <= replacements(before), "{before:?} became {after:?}");
            }
        }
    });
    assert!(made > 50 && refused > 50, "{made} made, {refused} refused");
}
