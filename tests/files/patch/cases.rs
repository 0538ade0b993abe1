//! The case files in `tests/cases/patch`.
//!
//! A case begins with `=== title`. Each of its parts begins with `#### ` and ends before the next one: `file NAME` is a
//! file before the patch, `base FOLDER` the folder that names are relative to, `patch` the patch, `want NAME` a file
//! after it, `gone NAME` a removed file, `mode NAME OCTAL` permissions to set, `report` a line for each hunk (`NAME
//! fuzz F line L distance D`), and `error` lines that the refusal must contain, after which no file may have changed. A
//! file without `want` or `gone` must not change.
//!
//! `␍` is a carriage return, `␄` at the end of a line removes its line feed, `␠` is a space at the end of a line, `⍽` a
//! no-break space, `␂` a byte order mark, `␉` a tab, `␛` an escape.

use super::{Files, carried_out, planned};
use std::fmt::Write;
use toolfence_kit::{CaseFiles, Comparison, Expected, Section, signs};
use toolfence_patch::Base;

struct Case {
    title: String,
    before: Files,
    base: Base,
    patch: String,
    after: Files,
    wants: Vec<(String, Expected)>,
    gone: Vec<String>,
    modes: Vec<String>,
    report: Option<Expected>,
    error: Option<Expected>,
    end: Expected,
}

fn all() -> Vec<Case> {
    CaseFiles::of("patch").sections().iter().map(Case::of).collect()
}

impl Case {
    fn of(section: &Section) -> Case {
        let mut case = Case {
            title: section.title.clone(),
            before: Files::default(),
            base: Base::default(),
            patch: String::new(),
            after: Files::default(),
            wants: Vec::new(),
            gone: Vec::new(),
            modes: Vec::new(),
            report: None,
            error: None,
            end: section.optional_part("end"),
        };
        for part in &section.parts {
            let (name, body) = (part.rest.clone(), signs::read(part.body.text()));
            match &*part.word {
                "file" => drop(case.before.0.insert(name, body.into())),
                "want" => {
                    case.after.0.insert(name.clone(), body.into());
                    case.wants.push((name, part.body.clone()));
                }
                "base" => case.base = Base::new(&name).expect("it is a folder"),
                "patch" => case.patch = body,
                "gone" => case.gone.push(name),
                "mode" => case.modes.push(name),
                "report" => case.report = Some(part.body.clone()),
                "error" => case.error = Some(part.body.clone()),
                other => panic!("{}: {other}?", case.title),
            }
        }
        case
    }

    /// Compares the result. A person decides whether a patch is refused and which files it changes. `UPDATE=1` rewrites
    /// the contents and the messages.
    fn compare(&self, comparison: &mut Comparison) {
        let plan = match (planned(&self.patch, &self.base, &self.before), &self.error) {
            (Err(message), Some(error)) => return comparison.expect_fragments(error, &self.title, &message),
            (Err(message), None) => return comparison.wrong(&self.end, &self.title, format!("refused:\n{message}")),
            (Ok(plan), Some(error)) => {
                let got = shown(&carried_out(&plan, &self.before));
                return comparison.wrong(error, &self.title, format!("not refused: {got}"));
            }
            (Ok(plan), None) => plan,
        };
        let got = carried_out(&plan, &self.before);
        let mut rest = got.clone();
        for (name, want) in &self.wants {
            match rest.0.remove(name) {
                Some(text) => comparison.expect_text(want, &self.title, &String::from_utf8_lossy(&text)),
                None => comparison.wrong(want, &self.title, format!("there is no {name}:\n{}", shown(&got))),
            }
        }
        let mut others = self.before.clone();
        others.0.retain(|name, _| !self.gone.contains(name) && !self.after.0.contains_key(name));
        if rest != others {
            let why = format!("of the other files there are\n{}\nnot\n{}", shown(&rest), shown(&others));
            comparison.wrong(&self.end, &self.title, why);
        }
        let modes = plan.changes.iter().filter_map(|change| Some(format!("{} {:o}", change.path, change.mode?)));
        let modes: Vec<String> = modes.collect();
        if modes != self.modes {
            comparison.wrong(&self.end, &self.title, format!("the modes are {modes:?}"));
        }
        if let Some(wanted) = &self.report {
            let mut report = String::new();
            for done in &plan.files {
                for hunk in &done.hunks {
                    let distance = hunk.distance.map_or("none".to_owned(), |distance| distance.to_string());
                    let (name, fuzz, line) = (&done.new, hunk.fuzz, hunk.line);
                    writeln!(report, "{name} fuzz {fuzz} line {line} distance {distance}").expect("it is a text");
                }
            }
            comparison.expect(wanted, &self.title, &report);
        }
    }
}

fn shown(files: &Files) -> String {
    files.0.iter().map(|(name, text)| format!("{name}: {:?}\n", String::from_utf8_lossy(text))).collect()
}

/// The policy judges the names that [`patch::names`] returns, so these must include every changed file.
#[test]
fn names_include_every_changed_file() {
    let mut planned_cases = 0;
    for case in all() {
        let named = toolfence_patch::names(&case.patch, &case.base);
        let anywhere = toolfence_patch::parse_below(&case.patch, &case.base, |name| Some(name.to_owned()));
        assert!(named.read || anywhere.is_err(), "{}", case.title);
        let Ok(plan) = planned(&case.patch, &case.base, &case.before) else { continue };
        planned_cases += 1;
        let touched = plan.changes.iter().map(|change| &change.path);
        let done = plan.files.iter().flat_map(|done| [&done.old, &done.new]);
        for name in touched.chain(done) {
            assert!(named.names.contains(name), "{}: {name} is not among {:?}", case.title, named.names);
        }
    }
    assert!(planned_cases > 60, "{planned_cases}");
}

#[test]
fn every_case_gives_its_result() {
    let cases = all();
    println!("{} cases", cases.len());
    assert!(cases.len() >= 100, "the case files are there: {}", cases.len());
    let mut comparison = Comparison::new();
    for case in &cases {
        case.compare(&mut comparison);
    }
    comparison.finish();
}

/// If the patch and the files use CRLF, the result is the same as with LF, but with CRLF.
#[test]
fn cases_hold_with_crlf() {
    let mut tried = 0;
    for case in all() {
        let text = |files: &Files| files.0.values().any(|text| text.contains(&b'\r'));
        if case.error.is_some() || case.patch.contains('\r') || text(&case.before) || case.before.0.is_empty() {
            continue;
        }
        let crlf = |text: &[u8]| String::from_utf8_lossy(text).replace('\n', "\r\n").into_bytes();
        let files = Files(case.before.0.iter().map(|(name, text)| (name.clone(), crlf(text))).collect());
        for patch in [case.patch.clone(), case.patch.replace('\n', "\r\n")] {
            let plan = planned(&patch, &case.base, &files).unwrap_or_else(|error| panic!("{}: {error}", case.title));
            let after = carried_out(&plan, &files);
            let had_lines = |name: &String| case.before.0.get(name).is_some_and(|text| !text.is_empty());
            for (name, text) in case.after.0.iter().filter(|(name, _)| had_lines(name)) {
                let ended = String::from_utf8_lossy(&crlf(text)).into_owned();
                let got = String::from_utf8_lossy(&after.0[name]).into_owned();
                assert_eq!(got, ended, "{}: {name}", case.title);
            }
            tried += 1;
        }
    }
    println!("{tried} cases in CRLF");
    assert!(tried > 50);
}
