//! Parses patches, places their hunks and builds the new text.
//!
//! This crate opens no files: [`plan()`] asks a [`Source`] for them and returns their new content. It never guesses: if
//! a hunk fits in two places or overlaps another, the whole patch is refused.
//!
//! It also changes texts without a patch: [`edit_lines`] replaces ranges of lines, [`replace_passage`] a passage that
//! occurs once, and [`edit_data`] values in a JSON text.
//!
//! # The grammar
//! Lines end with a line feed; a carriage return before it was added in transport if the line of the hunk's head has
//! one too. Other lines are prose and skipped, except inside a hunk. A line of a change that belongs to no file is an
//! error: a hunk after prose, a misspelt mark, half a head. After the first hunk, a line that begins like the head of
//! another file is an error too.
//!
//! ```text
//! patch      = unified* | begin* | block*
//! unified    = [ "diff --git " name " " name LF { git } ] "--- " name [ time ] LF "+++ " name [ time ] LF { hunk }
//!            | "diff --git " name " " name LF { git }
//! git        = ( "old mode " | "new mode " | "new file mode " | "deleted file mode " ) octal LF
//!            | ( "rename from " | "rename to " | "copy from " | "copy to " ) name LF
//!            | ( "similarity index " | "dissimilarity index " | "index " ) any LF
//! hunk       = "@@ -" range " +" range " @@" [ heading ] LF body | "@@" [ heading [ " @@" ] ] LF body
//! range      = [ number ] [ "," [ number ] ]
//! body       = { ( " " | "-" | "+" ) text LF | "\ " any LF | LF | lost }
//! lost       = a line between others of a body that has lost its first blank: context
//! name       = text | '"' { character | "\" ( octal octal octal | "n" | "t" | ... ) } '"' | "/dev/null"
//!
//! begin      = "*** Begin Patch" LF ( { file } | { unified } ) "*** End Patch" LF
//! file       = "*** Add File: " name LF { "+" text LF }
//!            | "*** Delete File: " name LF
//!            | "*** Update File: " name LF [ "*** Move to: " name LF ] { { "@@" [ heading ] LF } body [ "*** End of File" LF ] }
//!
//! block      = [ name LF ] "<<<<<<< SEARCH" LF { text LF } "=======" LF { text LF } ">>>>>>> REPLACE" LF
//! ```
//!
//! Line numbers and counts are hints. A body ends where its counts are met if something else begins there; otherwise it
//! continues to the last line that begins like a line of a body.
//!
//! ```
//! use toolfence_patch as patch;
//!
//! let text = "--- a/x\n+++ b/x\n@@ -40,2 +40,2 @@\n one\n-two\n+2\n";
//! let patch = patch::parse(text).unwrap();
//! let done = patch::apply(&patch.files[0].hunks, b"zero\r\none\r\ntwo\r\n").unwrap();
//! assert_eq!(done.text, b"zero\r\none\r\n2\r\n");
//! assert_eq!((done.hunks[0].line, done.hunks[0].fuzz, done.hunks[0].distance), (2, 0, Some(-38)));
//! ```

#![forbid(unsafe_code)]

mod begin;
mod body;
mod data;
mod edit;
mod explain;
mod find;
mod forms;
mod grammar;
mod head;
mod headings;
mod index;
mod lines;
mod miss;
mod model;
mod names;
mod neighbours;
mod pass;
mod passage;
mod place;
mod plan;
mod print;
mod prose;
mod reading;
mod resolve;
mod search_replace;
mod shift;
mod text;
mod unified;
mod wrap;

pub use data::{DataEdit, DataProblem, edit_data};
pub use lines::{LineEdit, LineProblem, edit_lines};
pub use miss::{Closest, Miss, Why};
pub use model::{FilePatch, Hunk, Kind, Line, Name, Patch, Problem, Sign};
pub use names::Base;
pub use neighbours::restated_neighbours;
pub use passage::{Indentation, Nearest, PassageProblem, Replaced, replace_passage};
pub use plan::{Change, Failure, FileResult, Plan, Reason, Refusal, Source, plan, plan_text};
pub use resolve::{Readings, readings};

/// The maximum length of a patch in bytes.
pub const MOST_BYTES: usize = 16 << 20;

/// Reads a patch in any form, with any text around it.
///
/// Time and memory are linear in the length of the text.
///
/// # Errors
/// Fails if the text has over 16 MB or no patch; if a `*** Begin Patch` has no end; for binary files, links and
/// submodules; for names that lead out of the root; for a file without a change; and for lines of a change outside any
/// hunk or file.
pub fn parse(text: &str) -> Result<Patch<'_>, Problem> {
    parse_below(text, &Base::default(), |_| None)
}

/// Reads a patch as [`parse`] does, with its names joined to the folder `base`. `relative` maps an absolute name to its
/// path relative to the root.
///
/// # Errors
/// Fails as [`parse`] does, and if `relative` returns `None`, because the name leads out of the root.
///
/// ```
/// use toolfence_patch::{self as patch, Base};
///
/// let text = "--- /project/x\n+++ /project/x\n@@ -1 +1 @@\n-1\n+2\n";
/// let below = |name: &str| name.strip_prefix("/project/").map(str::to_owned);
/// assert_eq!(patch::parse_below(text, &Base::default(), below).unwrap().files[0].old.path, "x");
/// assert!(patch::parse(text).is_err());
/// ```
pub fn parse_below<'t>(
    text: &'t str,
    base: &Base,
    relative: impl Fn(&str) -> Option<String>,
) -> Result<Patch<'t>, Problem> {
    let mut patch = parse_anywhere(text, base)?;
    for file in &mut patch.files {
        for name in [&mut file.old, &mut file.new] {
            if names::is_absolute(&name.path) {
                name.path = relative(&name.path).ok_or_else(|| names::outside(&name.path, file.line))?;
            }
        }
    }
    Ok(patch)
}

/// Reads a patch and joins its names to `base`. Absolute names stay absolute.
///
/// This is the only function that joins names. The policy and the tools that apply patches both call it, so they cannot
/// disagree.
fn parse_anywhere<'t>(text: &'t str, base: &Base) -> Result<Patch<'t>, Problem> {
    if text.len() > MOST_BYTES {
        return Err(Problem::new(
            1,
            toolfence_protocol::text!(
                "the patch has more than {megabytes} MB. Send it in parts.",
                megabytes = MOST_BYTES >> 20
            ),
        ));
    }
    // A byte order mark would hide the first line of the patch.
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    begin::straighten(&mut lines);
    // The specific forms come first: the lines of a block or between marks can look like a unified diff.
    let mut patch = if search_replace::begins(&lines) {
        search_replace::read(&lines)?
    } else if begin::begins(&lines) {
        begin::read(&lines)?
    } else {
        unified::read(&lines, 0)?
    };
    if patch.files.is_empty() {
        return Err(Problem::new(
            1,
            toolfence_protocol::text!(
                "no patch is in it. Give a unified diff with \"--- a/path\", \"+++ b/path\" and \"@@\" lines, or a \
                 text between \"*** Begin Patch\" and \"*** End Patch\"."
            ),
        ));
    }
    patch.base = base.clone();
    // Prefixes are recognised in the names as written, so the folder is joined last.
    for file in &mut patch.files {
        for name in [&mut file.old, &mut file.new] {
            name.path = base.join(&name.path);
            name.other = name.other.as_deref().map(|other| base.join(other));
        }
    }
    Ok(patch)
}

/// The file names in a text that is read as a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Names {
    /// Every name that [`plan()`] may use: with its prefix and without, if it is not certain which is meant.
    pub names: Vec<String>,
    /// Whether the patch could be read. If not, no part of it is ever applied, and `names` has every text in a position
    /// where a patch has a file name.
    pub read: bool,
}

/// Returns every file that applying the text in the folder `base` could read or change, and perhaps more. Absolute
/// names stay absolute.
///
/// ```
/// use toolfence_patch::{self as patch, Base};
///
/// let named = patch::names("*** Begin Patch\n*** Create File: x\n+1\n*** End Patch\n", &Base::default());
/// assert_eq!((named.names, named.read), (vec!["x".to_owned()], true));
/// ```
pub fn names(text: &str, base: &Base) -> Names {
    let both = |name: Name| [Some(name.path), name.other];
    let named = |patch: Patch<'_>| -> Vec<String> {
        patch.files.into_iter().flat_map(|file| [file.old, file.new]).flat_map(both).flatten().collect()
    };
    // `plan_text` may use any of these readings, so the rules must see the names of all.
    let mut readings: Vec<Vec<String>> = parse_anywhere(text, base).map(named).into_iter().collect();
    let undone = forms::undone(text).chain(forms::unescaped(text));
    readings.extend(undone.filter_map(|text| parse_anywhere(&text, base).map(named).ok()));
    let read = !readings.is_empty();
    let loose = || grammar::loose_names(text).iter().map(|name| base.join(name)).collect();
    // An unreadable patch is never applied. Its names are for the rules and for the refusal.
    let all = if read { readings.concat() } else { loose() };
    let mut names: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    names.extend(all.into_iter().filter(|name: &String| seen.insert(name.clone())));
    Names { names, read }
}

/// The result of applying hunks to a text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The new text.
    pub text: Vec<u8>,
    /// The places of the hunks, in the order of the patch.
    pub hunks: Vec<AppliedHunk>,
}

/// The place where a hunk was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppliedHunk {
    /// How it matched: 0 exactly, 1 ignoring blanks at line ends, 2 ignoring also those at the beginnings, 3 with
    /// typographic quotes, dashes and blanks treated as those of a keyboard.
    pub fuzz: u8,
    /// The line of the hunk's first old line in the original text, from 1. For a hunk that only adds, the line before
    /// which the new lines go.
    pub line: usize,
    /// The distance from the line that the patch states; `None` if it states none.
    pub distance: Option<i64>,
}

/// Applies hunks to a text, all or none. Bytes that are not UTF-8 are kept.
///
/// Time is linear in the text and the hunks, and at worst in their product, up to a limit above which hunks are
/// refused.
///
/// # Errors
/// Fails with the first hunks that have no place, or that overlap.
pub fn apply(hunks: &[Hunk<'_>], text: &[u8]) -> Result<Applied, Vec<Miss>> {
    let Some(lines) = text::Text::new(text) else {
        return Err(hunks.first().map(|hunk| Miss::new(1, hunk, Why::TooMuchWork)).into_iter().collect());
    };
    let misses = match apply_to_text(hunks, &lines) {
        Err(misses) if text.ends_with(b"\n") => misses,
        other => return other,
    };
    // Second attempt: a model that split the file at its line feeds sees an empty line after the last one.
    let mut shorter = hunks.to_vec();
    let mut all_fixed = true;
    for miss in &misses {
        let fixed = matches!(miss.why, Why::NotFound(_)) && remove_line_after_end(&mut shorter[miss.hunk - 1]);
        all_fixed = all_fixed && fixed;
    }
    if !all_fixed {
        return Err(misses);
    }
    apply_to_text(&shorter, &lines).map_err(|_| misses)
}

/// Removes an empty line that ends both sides of a hunk, which then must be at the end of the file. Returns `false` if
/// the sides do not end so, or if the remaining lines are too few to locate the hunk.
fn remove_line_after_end(hunk: &mut Hunk<'_>) -> bool {
    let is_last = |sign: Sign| {
        let at = hunk.lines.iter().rposition(|line| line.sign == sign || line.sign == Sign::Context)?;
        Some(at).filter(|at| hunk.lines[*at].text.is_empty() && !hunk.lines[*at].unended)
    };
    let (Some(old), Some(new)) = (is_last(Sign::Remove), is_last(Sign::Add)) else { return false };
    // The larger index first, so that the smaller one stays valid.
    hunk.lines.remove(old.max(new));
    if old != new {
        hunk.lines.remove(old.min(new));
    }
    hunk.at_end = true;
    hunk.old().any(|line| line.text.contains(char::is_alphanumeric))
}

fn apply_to_text(hunks: &[Hunk<'_>], text: &text::Text<'_>) -> Result<Applied, Vec<Miss>> {
    let places = place::find_places(text, hunks)?;
    let built = edit::build(text, hunks, &places)?;
    let placed = |(hunk, place): (&Hunk<'_>, &place::HunkPlace)| AppliedHunk {
        fuzz: place.pass.fuzz(),
        line: place.at + 1,
        distance: hunk.first_line().map(|stated| place.at as i64 + 1 - stated),
    };
    Ok(Applied { text: built, hunks: hunks.iter().zip(&places).map(placed).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reading repeatedly up to the end of the text would take minutes here.
    #[test]
    fn hostile_texts_do_not_hang() {
        let shapes = [
            "--- x\n+++ x\n a\n-b\n",
            "--- x\n+++ x\n@@ -1,9999 +1,9999 @@\n a\n-b\n",
            "*** Begin Patch\n*** Update File: q\n-a\n+b\n*** End Patch\n--- x\n+++ x\n\n",
            "Index: q\n===\n",
            "***\n---\n+++\n",
            "diff --git a/x b/x\n",
            "@@\n-a\n\n",
            "x\n<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE\n",
            "<<<<<<< SEARCH\n",
        ];
        for shape in shapes {
            for head in [
                "",
                "--- q\n+++ q\n@@ -1 +1 @@\n-a\n+b\n",
                "*** Begin Patch\n*** Update File: q\n@@ -1 +1 @@\n-a\n+b\n",
            ] {
                let text = format!("{head}{}", shape.repeat(400_000 / shape.len()));
                let _ = parse(&text);
                let _ = parse(&format!("{text}*** End Patch\n"));
            }
        }
        let other_prefixes = |number: usize| {
            format!(
                "--- p{number}/x\n+++ q{number}/x\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ x{number}\n@@ -0,0 +1 @@\n+a\n"
            )
        };
        assert!(parse(&(0..5000).map(other_prefixes).collect::<String>()).is_ok());
    }
}
