//! Tests that the patch that `similar` computes from two texts applies, and that a perturbed patch has the same result
//! or is refused.

use similar::TextDiff;
use toolfence_kit::Random;
use toolfence_patch::{self as patch, Kind, Patch};

/// Returns a text of few different lines, so that many places look alike.
pub(crate) fn text(random: &mut Random, lines: usize) -> String {
    const LINES: [&str; 14] =
        ["a", "b", "fn f() {", "}", "", "    x();", "\ty();", "-- c", "++ d", "  z", "@@ e", "--- f", "+++ g", "\\ h"];
    let words = [LINES.len(), 60][random.below(2)];
    let mut text = String::new();
    for _ in 0..random.below(lines) {
        match random.below(words) {
            word if word < LINES.len() => text.push_str(LINES[word]),
            other => text.push_str(&format!("line {other}")),
        }
        text.push('\n');
    }
    if random.below(4) == 0 {
        text.pop();
    }
    text
}

pub(crate) fn edited(random: &mut Random, old: &str) -> String {
    let mut lines: Vec<String> = old.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..=random.below(4) {
        let at = random.below(lines.len() + 1);
        match random.below(3) {
            0 => lines.insert(at, text(random, 4)),
            1 if at < lines.len() => drop(lines.remove(at)),
            _ if at < lines.len() => lines[at] = format!("new {}\n", random.below(50)),
            _ => {}
        }
    }
    lines.concat()
}

pub(crate) fn diff(old: &str, new: &str, context: usize) -> String {
    TextDiff::from_lines(old, new).unified_diff().context_radius(context).header("a/x", "b/x").to_string()
}

fn applied(text: &str, old: &str) -> Result<String, String> {
    let patch = patch::parse(text).map_err(|problem| problem.to_string())?;
    let [file] = patch.files.as_slice() else { return Err(format!("{} files", patch.files.len())) };
    let done = toolfence_patch::apply(&file.hunks, old.as_bytes()).map_err(|misses| misses[0].to_string())?;
    Ok(String::from_utf8(done.text).unwrap())
}

#[test]
fn a_diff_of_similar_applies() {
    let mut random = Random::new(1);
    let mut runs = 0;
    for _ in 0..6000 {
        let old = text(&mut random, 40);
        let new = edited(&mut random, &old);
        let context = *random.pick(&[3, 3, 3, 1, 0]);
        let patch = diff(&old, &new, context);
        if old == new || (old.is_empty() && context == 0) {
            continue;
        }
        let got = applied(&patch, &old).unwrap_or_else(|message| panic!("{message}\n{patch}\nold {old:?}"));
        assert_eq!(got, new, "{patch}\nold {old:?}");
        runs += 1;
    }
    println!("{runs} patches of similar");
    assert!(runs > 4500);
}

/// Returns the parts of a patch that printing and parsing must preserve.
fn essence<'p>(patch: &'p Patch<'_>) -> Vec<impl PartialEq + std::fmt::Debug + use<'p>> {
    let hunks = |file: &'p toolfence_patch::FilePatch<'_>| {
        file.hunks.iter().map(|hunk| (hunk.stated, hunk.headings.last().copied(), &hunk.lines)).collect::<Vec<_>>()
    };
    patch.files.iter().map(|file| (file.kind, &file.old.path, &file.new.path, file.mode, hunks(file))).collect()
}

#[test]
fn a_parsed_patch_prints_and_parses_the_same() {
    let mut random = Random::new(2);
    for _ in 0..5000 {
        let old = text(&mut random, 30);
        let new = edited(&mut random, &old);
        let text = diff(&old, &new, 3);
        let Ok(patch) = patch::parse(&text) else { continue };
        let printed = patch.to_string();
        let again = patch::parse(&printed).unwrap_or_else(|problem| panic!("{problem}\n{printed}"));
        assert_eq!(essence(&patch), essence(&again), "{text}\n{printed}");
    }
}

/// Returns a change of a file `x` with the text `one`, preceded by lines of git that may contradict each other.
pub(crate) fn headed(random: &mut Random) -> String {
    const SAID: [&[&str]; 12] = [
        &["new file mode 100644"],
        &["new file mode 100755"],
        &["deleted file mode 100644"],
        &["old mode 100644", "new mode 100755"],
        &["new mode 100755"],
        &["similarity index 90%", "rename from x", "rename to y"],
        &["copy from x", "copy to y"],
        &["rename from x"],
        &["rename to y"],
        &["copy from x"],
        &["copy to y"],
        &["index 5626abf..f719efd 100644"],
    ];
    let mut lines = vec![*random.pick(&["diff --git a/x b/x", "diff --git a/x b/y", "diff --git a/y b/y"])];
    for _ in 0..random.below(3) {
        lines.extend(*random.pick(&SAID));
    }
    let bodies: [&[&str]; 3] =
        [&["@@ -1 +1 @@", "-one", "+two"], &["@@ -1 +0,0 @@", "-one"], &["@@ -0,0 +1 @@", "+new"]];
    if !random.once_in(4) {
        lines.push(*random.pick(&["--- a/x", "--- a/x", "--- /dev/null", "--- a/y"]));
        lines.push(*random.pick(&["+++ b/x", "+++ /dev/null", "+++ b/y"]));
        lines.extend(*random.pick(&bodies));
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_head_of_git_prints_and_reads_the_same_or_is_refused() {
    let mut random = Random::new(6);
    let mut read = 0;
    for _ in 0..20_000 {
        let text = headed(&mut random);
        let Ok(mut patch) = patch::parse(&text) else { continue };
        for file in &mut patch.files {
            // The printed form always contains the mode of a new file.
            if file.kind == Kind::Create {
                file.mode = file.mode.or(Some(0o644));
            }
        }
        let printed = patch.to_string();
        let again = patch::parse(&printed).unwrap_or_else(|problem| panic!("{problem}\n{text}\n{printed}"));
        assert_eq!(essence(&patch), essence(&again), "{text}\n{printed}");
        read += 1;
    }
    println!("{read} heads of 20000 are read");
    assert!(read > 1000);
}

/// Applies a typical mistake of models to a patch, which does not change its meaning.
pub(crate) fn perturbed(random: &mut Random, patch: &str) -> String {
    let mut lines: Vec<String> = patch.lines().map(str::to_owned).collect();
    let kind = random.below(8);
    for line in &mut lines {
        let head = line.starts_with("@@ -");
        match kind {
            0 if head => *line = "@@ @@".into(),
            1 if head => *line = format!("@@ -{},7 +{},9 @@", random.below(60), random.below(60)),
            2 if head => *line = "@@ -1,1 +1,1 @@".into(),
            3 if *line == " " => line.clear(),
            4 => line.push('\r'),
            5 if head => *line = line.replace("@@ -", "@@ -9"),
            6 if line.starts_with(' ') && !head => line.push_str("  "),
            _ => {}
        }
    }
    let body = lines.join("\n") + "\n";
    if kind == 7 { format!("Here it is:\n\n```diff\n{body}```\n\nThat is all:\n- a change\n") } else { body }
}

#[test]
fn a_perturbed_patch_does_the_same_or_is_refused() {
    let mut random = Random::new(3);
    let (mut same, mut refused) = (0, 0);
    for _ in 0..6000 {
        let old = text(&mut random, 40);
        let new = edited(&mut random, &old);
        if old == new || old.is_empty() {
            continue;
        }
        let clean = diff(&old, &new, 3);
        let patch = perturbed(&mut random, &clean);
        match applied(&patch, &old) {
            Ok(got) if got == new => same += 1,
            // Several places have the lines of a hunk, so with a wrong line number it may apply at another place.
            Ok(got) => assert!(is_ambiguous(&clean, &old), "{patch}\nold {old:?}\ngot {got:?}"),
            Err(_) => refused += 1,
        }
    }
    println!("{same} the same, {refused} refused");
    assert!(same > 10 * refused / 9);
}

/// Returns `true` if the hunks fit in several places without line numbers.
pub(crate) fn is_ambiguous(patch: &str, old: &str) -> bool {
    let patch = patch::parse(patch).unwrap();
    let mut hunks = patch.files[0].hunks.clone();
    hunks.iter_mut().for_each(|hunk| hunk.stated = None);
    toolfence_patch::apply(&hunks, old.as_bytes()).is_err()
}

#[test]
fn a_file_that_grew_elsewhere_gets_the_same_change() {
    let mut random = Random::new(4);
    let mut done = 0;
    for _ in 0..5000 {
        let lines = |random: &mut Random, what: &str| -> String {
            (0..random.below(30)).map(|n| format!("{what} {n} {}\n", random.below(1000))).collect()
        };
        let old = format!("{}{}", lines(&mut random, "first"), lines(&mut random, "second"));
        let new = edited(&mut random, &old);
        let (before, after) = (lines(&mut random, "before"), lines(&mut random, "after"));
        if old.is_empty() || old == new {
            continue;
        }
        let patch = diff(&old, &new, 3);
        match applied(&patch, &format!("{before}{old}{after}")) {
            Ok(got) => assert_eq!(got, format!("{before}{new}{after}"), "{patch}"),
            Err(message) => assert!(message.contains("places") || message.contains("at the end"), "{message}\n{patch}"),
        }
        done += 1;
    }
    assert!(done > 4000, "{done}");
}

/// If the file is indented much deeper than the patch, the patch's added lines get more blanks, but only up to a bound.
#[test]
fn the_blanks_of_added_lines_are_bounded() {
    let deep = " ".repeat(200);
    let old = format!("{deep}a\n{deep}b\n");
    let patch = |lines: usize| format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n{} b\n", "+c\n".repeat(lines));
    let added = format!("{deep}c\n").repeat(5000);
    assert_eq!(applied(&patch(5000), &old), Ok(format!("{deep}a\n{added}{deep}b\n")));
    let refused = applied(&patch(6000), &old).unwrap_err();
    assert!(refused.contains("indented differently from the file's"), "{refused}");
}

/// Returns code that is indented by four per bracket level.
fn code(random: &mut Random, number: &mut usize, depth: usize, lines: usize) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(lines) {
        *number += 1;
        // The number makes each line unique in the text.
        let own = *number;
        let indent = " ".repeat(4 * depth);
        if depth < 4 && random.below(3) == 0 {
            let inner = code(random, number, depth + 1, 4);
            text.push_str(&format!("{indent}block{own}() {{\n{inner}{indent}}}\n"));
        } else {
            text.push_str(&format!("{indent}call{own}();\n"));
        }
    }
    text
}

/// Changes the indentation of all lines of a hunk, or only of its old lines.
fn moved(patch: &str, kind: usize) -> String {
    let mut out = String::new();
    for line in patch.lines() {
        let head = ["--- ", "+++ ", "@@"].iter().any(|head| line.starts_with(head));
        let (sign, text) = if head { (line, "") } else { line.split_at(1) };
        let old = !head && (sign == " " || (sign == "-" && kind.is_multiple_of(2)));
        let text = match kind {
            0 | 1 if old => format!(" {text}"),
            2 | 3 if old => text.strip_prefix(' ').unwrap_or(text).to_owned(),
            4 | 5 if old => text.replacen("    ", "\u{a0}\u{a0}\u{a0}\u{a0}", 1),
            6 if old => text.trim_start().to_owned(),
            8 if !head => format!("    {text}"),
            10 if !head => text.replace("    ", "\t"),
            12 if !head => text.replace("    ", "  "),
            _ => text.to_owned(),
        };
        out.push_str(&format!("{sign}{text}\n"));
    }
    out
}

#[test]
fn a_patch_with_another_indentation_does_the_same_or_is_refused() {
    let mut random = Random::new(5);
    let (mut same, mut refused) = ([0; 13], [0; 13]);
    for run in 0..12_000 {
        let mut number = 0;
        let new = code(&mut random, &mut number, 0, 6);
        // Insert new calls, alone or in a row. Brackets remain balanced.
        let lines: Vec<&str> = new.split_inclusive('\n').collect();
        let at = random.below(lines.len());
        let fresh = |line: &&str| line.ends_with(");\n");
        let count = lines[at..].iter().take_while(|line| fresh(line)).count().min(1 + random.below(2));
        let replaced = random.below(2) == 0;
        let old: String = (0..lines.len())
            .filter_map(|line| match (at..at + count).contains(&line) {
                true if replaced => Some(lines[line].replace("call", "before")),
                true => None,
                false => Some(lines[line].to_owned()),
            })
            .collect();
        if old == new || old.is_empty() {
            continue;
        }
        let kind = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12][run % 10];
        let clean = diff(&old, &new, 1 + random.below(3));
        let patch = moved(&clean, kind);
        // If the old lines match elsewhere exactly, the engine cannot detect the wrong indentation.
        let read = patch::parse(&patch).unwrap();
        let done = toolfence_patch::apply(&read.files[0].hunks, old.as_bytes());
        if done.is_ok_and(|done| done.hunks.iter().any(|hunk| hunk.fuzz == 0)) {
            continue;
        }
        match applied(&patch, &old) {
            Ok(got) => {
                assert_eq!(got, new, "kind {kind}\n{patch}\nold\n{old}");
                same[kind] += 1;
            }
            Err(_) => refused[kind] += 1,
        }
    }
    println!("the same {same:?}, refused {refused:?}");
    assert!(same.iter().sum::<usize>() > refused.iter().sum());
}
