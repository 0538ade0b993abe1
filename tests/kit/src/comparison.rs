//! Compares the expectations of case files with actual results. Reports all differences at once, or writes the results
//! into the files.

use crate::case_files::{CaseFile, Expected, Form};
use crate::signs;
use std::collections::BTreeMap;
use std::env;
use std::fmt::Display;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Whether results are written into the case files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// Differences are errors.
    Never,
    /// Differences are written, except those that a person must decide.
    Always,
}

impl Update {
    /// Reads the environment: `UPDATE=1` writes results.
    ///
    /// # Panics
    ///
    /// Panics if `CI` is set as well, because no person would review the changes there.
    pub fn from_environment() -> Update {
        match env::var("UPDATE").as_deref() {
            Ok("1") if env::var_os("CI").is_some() => {
                panic!("UPDATE=1 must not be used with CI, where no person reviews the changes")
            }
            Ok("1") => Update::Always,
            _ => Update::Never,
        }
    }
}

/// Collects the differences between expectations and results.
///
/// Expectations that a person decided are never rewritten: report differences from them with [`Comparison::wrong`].
#[derive(Debug)]
pub struct Comparison {
    update: Update,
    compared: usize,
    wrong: Vec<String>,
    edits: BTreeMap<PathBuf, Edits>,
}

/// The pending changes of one file.
#[derive(Debug)]
struct Edits {
    file: Arc<CaseFile>,
    edits: Vec<(Range<usize>, String)>,
}

/// A lock that lets only one test at a time write files.
static WRITING: Mutex<()> = Mutex::new(());

impl Default for Comparison {
    fn default() -> Comparison {
        Comparison::new()
    }
}

impl Comparison {
    /// Creates a comparison that writes if the environment says so.
    pub fn new() -> Comparison {
        Comparison::with(Update::from_environment())
    }

    /// Creates a comparison that ignores the environment.
    pub fn with(update: Update) -> Comparison {
        Comparison { update, compared: 0, wrong: Vec::new(), edits: BTreeMap::new() }
    }

    /// Expects exactly this text.
    pub fn expect(&mut self, expected: &Expected, title: &str, got: &str) {
        self.compared += 1;
        if expected.text() != got {
            self.record_difference(expected, title, got, got.to_owned());
        }
    }

    /// Expects a text that is written in the file with [`signs`].
    pub fn expect_text(&mut self, expected: &Expected, title: &str, got: &str) {
        self.compared += 1;
        if signs::read(expected.text()) != got {
            let written = signs::write(got, expected.text());
            self.record_difference(expected, title, &written, written.clone());
        }
    }

    /// Expects these lines. A line of the file that ends with `…` matches any line with that beginning, and is kept if
    /// it matches.
    pub fn expect_lines(&mut self, expected: &Expected, title: &str, got: &[String]) {
        self.compared += 1;
        let fits = |wanted: &str, got: &str| match wanted.strip_suffix('…') {
            Some(beginning) => got.starts_with(beginning),
            None => got == wanted,
        };
        let wanted: Vec<&str> = expected.lines().collect();
        if wanted.len() == got.len() && wanted.iter().zip(got).all(|(wanted, got)| fits(wanted, got)) {
            return;
        }
        let written = got.iter().enumerate().map(|(at, line)| {
            let same = wanted.get(at).filter(|wanted| fits(wanted, line));
            let spelling = same.or_else(|| wanted.iter().find(|wanted| fits(wanted, line)));
            format!("{}\n", spelling.map_or(&**line, |spelling| spelling))
        });
        let written: String = written.collect();
        self.record_difference(expected, title, &lines(got), written);
    }

    /// Expects a message that contains every line of the file. An update keeps the lines that the message contains. It
    /// replaces the others with those lines of the message that contain no kept line.
    pub fn expect_fragments(&mut self, expected: &Expected, title: &str, message: &str) {
        self.compared += 1;
        let mut kept = Vec::new();
        let mut missing = Vec::new();
        for line in expected.lines() {
            let fragment = signs::read(line);
            if message.contains(&fragment) { kept.push((line, fragment)) } else { missing.push(line) }
        }
        if missing.is_empty() {
            return;
        }
        let mut written: String = kept.iter().map(|(line, _)| format!("{line}\n")).collect();
        for line in message.lines().filter(|line| !line.is_empty()) {
            if !kept.iter().any(|(_, fragment)| line.contains(fragment)) {
                written.push_str(&format!("{}\n", signs::write_line(line)));
            }
        }
        self.record_difference(expected, title, message, written);
    }

    /// Reports an error in a case that only a person can correct.
    pub fn wrong(&mut self, place: &Expected, title: &str, why: impl Display) {
        self.wrong.push(format!("{place}: {title}\n  {}", indented(&why.to_string())));
    }

    fn record_difference(&mut self, expected: &Expected, title: &str, got: &str, written: String) {
        if self.update == Update::Always {
            self.write(expected, written);
        } else {
            let (wanted, got) = (indented(expected.text()), indented(got));
            self.wrong.push(format!("{expected}: {title}\n  expected\n    {wanted}\n  got\n    {got}"));
        }
    }

    /// Records the text that replaces an expectation.
    pub(crate) fn write(&mut self, expected: &Expected, mut text: String) {
        let file = &expected.file;
        let mut range = expected.range.clone();
        if matches!(expected.form, Form::Part | Form::OptionalPart(_)) {
            let ends = text.lines().any(|line| line.starts_with("=== ") || line.starts_with("#### "));
            assert!(!ends, "{expected}: a line of this text would end the part:\n{text}");
            // The reader drops one empty line at the end as a separator, so a text that ends with an empty line needs
            // another.
            let needs_separator = |text: &str| text.ends_with("\n\n") || text == "\n";
            let after = &file.text[range.end..];
            if needs_separator(&text) && !after.starts_with('\n') {
                text.push('\n');
            } else if needs_separator(expected.text()) && !needs_separator(&text) && !after.starts_with("\n=== ") {
                range.end += 1;
            }
        }
        if let Form::OptionalPart(word) = expected.form {
            let head = format!("#### {word}\n");
            let has_head = file.text[..range.start].ends_with(&head);
            if text.is_empty() && has_head {
                range.start -= head.len();
            } else if !text.is_empty() && !has_head {
                text.insert_str(0, &head);
            }
        }
        let edits = self.edits.entry(file.path.clone());
        let edits = edits.or_insert_with(|| Edits { file: Arc::clone(file), edits: Vec::new() });
        edits.edits.push((range, text));
    }

    /// Writes the pending changes, and panics once with all errors.
    ///
    /// # Panics
    ///
    /// Panics if there are errors, or if a case file changed since it was read.
    pub fn finish(self) {
        let one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        for edits in self.edits.values() {
            let now = fs::read_to_string(&edits.file.path).expect("the case file is there");
            let path = edits.file.path.display();
            assert_eq!(now, edits.file.text, "{path} changed since it was read; run the test again");
            fs::write(&edits.file.path, edits.applied()).expect("the case file can be written");
            println!("{path}: {} expectations rewritten", edits.edits.len());
        }
        drop(one_at_a_time);
        if self.wrong.is_empty() {
            return;
        }
        let hint = match self.update {
            Update::Never => "UPDATE=1 in the environment writes the results into the case files.",
            Update::Always => "A person must decide these.",
        };
        panic!("{} of {} differ\n{}\n{hint}", self.wrong.len(), self.compared, self.wrong.join("\n"));
    }
}

impl Edits {
    fn applied(&self) -> String {
        let mut edits: Vec<_> = self.edits.iter().collect();
        edits.sort_by_key(|(range, _)| range.start);
        let mut out = String::new();
        let mut at = 0;
        for (range, text) in edits {
            assert!(at <= range.start, "two expectations overlap");
            out.push_str(&self.file.text[at..range.start]);
            out.push_str(text);
            at = range.end;
        }
        out.push_str(&self.file.text[at..]);
        out
    }
}

fn lines(all: &[String]) -> String {
    all.iter().map(|line| format!("{line}\n")).collect()
}

fn indented(text: &str) -> String {
    text.trim_end_matches('\n').replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CaseFiles;
    use std::path::Path;

    /// Returns every file below a folder.
    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for path in fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it can be read").path()) {
            if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
        }
        all.sort();
        all
    }

    /// Returns all expectations in a file. Its folder and extension determine the format.
    fn expected(files: &CaseFiles) -> Vec<Expected> {
        let path = files.0[0].path.to_string_lossy().into_owned();
        let is_in = |folder: &str| path.contains(&format!("/cases/{folder}/"));
        if path.ends_with(".tsv") {
            return files.rows().into_iter().flat_map(|row| row.0).collect();
        }
        if is_in("json") {
            return files.entries().into_iter().map(|entry| entry.is).collect();
        }
        if is_in("parse") || is_in("small") {
            return files.replies().into_iter().map(|reply| reply.events).collect();
        }
        if is_in("validate") {
            return files.sections().iter().map(|section| section.optional_part("new")).collect();
        }
        if is_in("patch") || is_in("edit") {
            let parts = files.sections().into_iter().flat_map(|section| section.parts);
            let expected = parts.filter(|part| matches!(&*part.word, "want" | "report" | "error"));
            return expected.map(|part| part.body).collect();
        }
        if is_in("arguments") {
            let parts = files.sections().into_iter().flat_map(|section| section.parts);
            let expected = parts.filter(|part| matches!(&*part.word, "call" | "told"));
            return expected.map(|part| part.body).collect();
        }
        if is_in("terminal") {
            let parts = files.sections().into_iter().flat_map(|section| section.parts);
            let expected = parts.filter(|part| matches!(&*part.word, "plain" | "narrow"));
            return expected.map(|part| part.body).collect();
        }
        assert!(path.ends_with("redact/plain.txt"), "{path} is of no form");
        Vec::new()
    }

    /// Replaces the text of the file in memory.
    fn with_text(files: &CaseFiles, text: String) -> CaseFiles {
        CaseFiles(vec![Arc::new(CaseFile::of(&files.0[0].path, text))])
    }

    fn written(files: &CaseFiles, texts: impl Iterator<Item = String>) -> String {
        let mut comparison = Comparison::with(Update::Always);
        for (expected, text) in expected(files).iter().zip(texts) {
            comparison.write(expected, text);
        }
        comparison.edits.values().next().map_or(files.0[0].text.clone(), Edits::applied)
    }

    /// Returns a text that fits the form of an expectation and differs from it.
    fn other(expected: &Expected, number: usize) -> String {
        match expected.form {
            Form::Cell => format!("other {number}"),
            Form::Lines => format!("other {number}\nand more\n"),
            // For these forms, empty lines at the end are the difficult case.
            Form::Part | Form::OptionalPart(_) => {
                ["", "other\n", "other\n\n", "\n", "other\n\n\nother\n"][number % 5].to_owned()
            }
        }
    }

    #[test]
    fn rewriting_expectations_changes_no_byte() {
        let mut count = 0;
        let compat = crate::case_files::root().join("tests/cases/compat");
        for path in files(&crate::case_files::root().join("tests/cases")) {
            if path.starts_with(&compat) {
                continue; // files of the program, which are not cases
            }
            let files = CaseFiles::at(&path);
            let before = expected(&files);
            let same = before.iter().map(|expected| match expected.form {
                Form::Part => signs::write(&signs::read(expected.text()), expected.text()),
                _ => expected.text().to_owned(),
            });
            assert_eq!(written(&files, same), files.0[0].text, "{}", path.display());

            let others: Vec<String> = before.iter().enumerate().map(|(number, place)| other(place, number)).collect();
            let changed = with_text(&files, written(&files, others.iter().cloned()));
            let read: Vec<String> = expected(&changed).iter().map(|expected| expected.text().to_owned()).collect();
            assert_eq!(read, others, "{}: writing and reading agree", path.display());
            let back = written(&changed, before.iter().map(|expected| expected.text().to_owned()));
            assert_eq!(back, files.0[0].text, "{}: an edit is reverted", path.display());
            count += before.len();
        }
        println!("{count} places");
        assert!(count > 10_000, "the case files are there: {count}");
    }

    #[test]
    fn all_differences_are_reported_with_their_places() {
        let files =
            with_text(&CaseFiles::of("json/commas.txt"), "## a\nin [1,]\nis x\nin 2\nis valid\nin 3\nis y\n".into());
        let mut comparison = Comparison::with(Update::Never);
        for entry in files.entries() {
            comparison.expect(&entry.is, &entry.text, "valid");
        }
        let panic = std::panic::catch_unwind(|| comparison.finish()).expect_err("two differ");
        let report = panic.downcast_ref::<String>().expect("the panic has a text");
        for part in
            ["2 of 3 differ", "tests/cases/json/commas.txt:3: [1,]\n", "expected\n    x\n  got\n    valid", ":7: 3\n"]
        {
            assert!(report.contains(part), "{report}");
        }
    }

    #[test]
    fn matching_fragments_and_beginnings_are_kept() {
        let text = "=== a\n#### error\nnot found\nline 3\nhunk␠2\n\n=== b\n#### error\nfirst one…\nnever\n";
        let files = with_text(&CaseFiles::of("patch/begin.txt"), text.into());
        let [a, b] = &files.sections()[..] else { panic!("two") };
        let mut comparison = Comparison::with(Update::Always);
        comparison.expect_fragments(
            a.part("error").expect("it is there"),
            "a",
            "x was not found.\nhunk 2\n\nline 4 is next.",
        );
        let lines = ["first one and all".to_owned(), "second".to_owned()];
        comparison.expect_lines(b.part("error").expect("it is there"), "b", &lines);
        let wanted = "=== a\n#### error\nnot found\nhunk␠2\nline 4 is next.\n\n=== b\n#### error\nfirst one…\nsecond\n";
        assert_eq!(comparison.edits.values().next().expect("there is one").applied(), wanted);
        let mut comparison = Comparison::with(Update::Always);
        comparison.expect_fragments(a.part("error").expect("it is there"), "a", "not found on line 3 of hunk 2");
        assert!(comparison.edits.is_empty());
    }
}
