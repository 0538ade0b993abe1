//! Fuzzes patches that are made from two texts. A patch applies, and with typical errors of models it gives the same
//! result or is refused.
//!
//! The first three bytes choose the size of the context, the change to the patch, and the place of the change. The two
//! texts follow, separated by 0xff.
#![no_main]

use libfuzzer_sys::fuzz_target;
use similar::TextDiff;
use toolfence_patch as patch;

fuzz_target!(|data: &[u8]| {
    let [context, kind, place, texts @ ..] = data else { return };
    let mut texts = texts.splitn(2, |byte| *byte == 0xff).map(std::str::from_utf8);
    let (Some(Ok(old)), Some(Ok(new))) = (texts.next(), texts.next()) else { return };
    // Skip texts with byte order marks inside, which are not kept, and with carriage returns, which are not content.
    if old == new || old.is_empty() || [old, new].iter().any(|text| text.contains(['\r', '\u{FEFF}'])) {
        return;
    }
    let context = usize::from(context % 4);
    let clean = TextDiff::from_lines(old, new).unified_diff().context_radius(context).header("a/x", "b/x").to_string();
    // Skip changes of `-- a/y` to `++ b/y`, because in a patch they are the head of another file, whatever the counts
    // are.
    let lines: Vec<&str> = clean.lines().skip(2).collect();
    if lines.windows(2).any(|pair| pair[0].starts_with("--- a/") && pair[1].starts_with("+++ b/")) {
        return;
    }
    let got = apply_patch(&clean, old.as_bytes()).unwrap_or_else(|problem| panic!("{problem}\n{clean}"));
    assert_eq!(got, new.as_bytes(), "{clean}");

    check_crlf(&clean, old, new);
    if context < 3 {
        return;
    }
    let patch = perturbed(&clean, *kind, usize::from(*place));
    if kind % 8 == 6 && (!has_filled_hunks(&clean) || matches_another_place(&patch, old)) {
        return;
    }
    match apply_patch(&patch, old.as_bytes()) {
        Ok(got) if got == new.as_bytes() => {}
        Ok(got) => assert!(is_ambiguous(&clean, old), "{patch}\n{:?}", String::from_utf8_lossy(&got)),
        Err(_) => {}
    }
});

fn apply_patch(text: &str, old: &[u8]) -> Result<Vec<u8>, String> {
    let patch = patch::parse(text).map_err(|problem| problem.to_string())?;
    let [file] = patch.files.as_slice() else { return Err("not one file".into()) };
    let done = toolfence_patch::apply(&file.hunks, old).map_err(|misses| misses[0].to_string())?;
    assert_eq!(done.hunks.len(), file.hunks.len());
    Ok(done.text)
}

/// The same patch changes a file with CRLF in the same way and keeps its line endings.
fn check_crlf(clean: &str, old: &str, new: &str) {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    if !old.contains('\n') {
        return;
    }
    if let Ok(got) = apply_patch(clean, crlf(old).as_bytes()) {
        assert_eq!(String::from_utf8_lossy(&got), crlf(new), "{clean}");
    }
}

fn perturbed(clean: &str, kind: u8, place: usize) -> String {
    let mut lines: Vec<String> = clean.lines().map(str::to_owned).collect();
    for (at, line) in lines.iter_mut().enumerate() {
        let body = at > 1 && line.starts_with([' ', '+', '-']);
        let head = line.starts_with("@@ -");
        match kind % 8 {
            0 if head => *line = "@@ @@".into(),
            1 if head => *line = format!("@@ -{place},7 +{place},9 @@"),
            2 if head => *line = "@@ -1,1 +1,1 @@".into(),
            3 if line == " " => line.clear(),
            4 => line.push('\r'),
            5 if line.starts_with(' ') => line.push_str("\t "),
            6 if body && !line.as_bytes()[1..].trim_ascii().is_empty() => line.insert_str(1, "  "),
            _ => {}
        }
    }
    let body = lines.join("\n") + "\n";
    if kind % 8 == 7 { format!("So:\n```diff\n{body}```\nDone:\n- it\n") } else { body }
}

/// Returns whether every hunk has an old line that is not blank. Without one, a hunk shows no indentation.
fn has_filled_hunks(clean: &str) -> bool {
    let Ok(patch) = patch::parse(clean) else { return false };
    patch.files[0].hunks.iter().all(|hunk| hunk.old().any(|line| !line.text.trim().is_empty()))
}

/// Returns whether a hunk with changed indentation matches the file exactly. Such a hunk is a valid change of another
/// place.
fn matches_another_place(patch: &str, old: &str) -> bool {
    let Ok(patch) = patch::parse(patch) else { return false };
    let lines: Vec<&str> = old.lines().collect();
    patch.files.iter().flat_map(|file| &file.hunks).any(|hunk| {
        let wanted: Vec<&str> = hunk.old().map(|line| line.text).collect();
        !wanted.is_empty() && lines.windows(wanted.len()).any(|window| window == wanted)
    })
}

/// Returns whether the hunks fit in several places without line numbers.
fn is_ambiguous(clean: &str, old: &str) -> bool {
    let Ok(patch) = patch::parse(clean) else { return true };
    let mut hunks = patch.files[0].hunks.clone();
    hunks.iter_mut().for_each(|hunk| hunk.stated = None);
    toolfence_patch::apply(&hunks, old.as_bytes()).is_err()
}
