//! Fuzzes the parser of patches. A printed patch is read as the same patch, and every name stays below the root.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolfence_patch::{self as patch, FilePatch, Kind, Line, Patch, Sign};

fuzz_target!(|text: &str| {
    let Ok(patch) = patch::parse(text) else { return };
    assert!(!patch.files.is_empty());
    for file in &patch.files {
        check(file);
    }
    let length: usize =
        patch.files.iter().flat_map(|file| &file.hunks).flat_map(|hunk| &hunk.lines).map(|line| line.text.len()).sum();
    assert!(length <= text.len(), "more lines than there are");
    if let Some(printable) = printable(&patch) {
        let printed = printable.to_string();
        let again = patch::parse(&printed).unwrap_or_else(|problem| panic!("{problem}\n{printed}"));
        assert_eq!(essence(&printable), essence(&again), "{printed}");
    }
    apply_everything(&patch);
});

fn check(file: &FilePatch<'_>) {
    for name in [&file.old, &file.new].into_iter().flat_map(|name| [Some(&name.path), name.other.as_ref()]).flatten() {
        assert!(!name.is_empty() && !name.starts_with('/') && !name.contains('\0'), "{name:?}");
        assert!(name.split('/').all(|part| !part.is_empty() && part != "." && part != ".."), "{name:?}");
    }
    let only = |sign: Sign| file.hunks.iter().flat_map(|hunk| &hunk.lines).all(|line| line.sign == sign);
    assert!(file.kind != Kind::Create || only(Sign::Add));
    assert!(file.kind != Kind::Delete || only(Sign::Remove));
    assert!(file.hunks.iter().all(|hunk| !hunk.lines.is_empty()));
}

/// Returns the patch without parts that a unified diff cannot express: further or unreadable headings, marks for the
/// end of the file, and marks for deleting any content.
fn printable<'a>(patch: &Patch<'a>) -> Option<Patch<'a>> {
    let mut patch = patch.clone();
    for file in &mut patch.files {
        if file.unseen || (file.kind == Kind::Modify && file.hunks.is_empty() && file.mode.is_none()) {
            return None;
        }
        if file.kind == Kind::Modify {
            file.old = file.new.clone();
        }
        for hunk in &mut file.hunks {
            hunk.headings.clear();
            // The parser reads such a pair of lines as the head of a file, because it is unlikely as a change.
            let begins = |line: &Line<'_>, starts: [&str; 2]| starts.iter().any(|start| line.text.starts_with(start));
            let heads =
                |pair: &[Line<'_>]| begins(&pair[0], ["-- a/", "-- \""]) && begins(&pair[1], ["++ b/", "++ \""]);
            if hunk.lines.windows(2).any(heads) {
                return None;
            }
        }
    }
    Some(patch)
}

fn essence(patch: &Patch<'_>) -> Vec<String> {
    let file = |file: &FilePatch<'_>| {
        let hunks: Vec<_> = file.hunks.iter().map(|hunk| (hunk.stated, &hunk.headings, &hunk.lines)).collect();
        let names = if file.kind == Kind::Delete { [&file.old.path; 2] } else { [&file.old.path, &file.new.path] };
        let mode = file.mode.unwrap_or(if file.kind == Kind::Create { 0o644 } else { 0 });
        format!("{:?} {names:?} {mode:o} {hunks:?}", file.kind)
    };
    patch.files.iter().map(file).collect()
}

/// Applies the patch to unusual texts.
fn apply_everything(patch: &Patch<'_>) {
    for file in &patch.files {
        let old: String =
            file.hunks.iter().flat_map(|hunk| hunk.old()).map(|line| format!("{}\n", line.text)).collect();
        for text in [old.as_bytes(), b"", b"\xEF\xBB\xBFa\r\n\xff\n\nb"] {
            match toolfence_patch::apply(&file.hunks, text) {
                Ok(done) => assert_eq!(done.hunks.len(), file.hunks.len()),
                Err(misses) => assert!(misses.iter().all(|miss| !miss.to_string().is_empty())),
            }
        }
    }
}
