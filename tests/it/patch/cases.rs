//! The case files in `tests/cases/patch`.
//!
//! A case begins with `=== title`. Its parts begin with `#### ` and go on up to the next one: `file NAME` is a file before,
//! `patch` the patch, `want NAME` a file afterwards, `gone NAME` one that is no more, `mode NAME OCTAL` permissions to set,
//! `report` a line for each hunk (`NAME fuzz F line L distance D`), `error` lines that the refusal must hold; then no file
//! may have changed. A file without `want` or `gone` must be as it was.
//!
//! `␍` is a carriage return, `␄` at the end of a line takes its line feed away, `␠` is a blank at the end of a line, `⍽` a
//! no-break space, `␂` a byte order mark, `␉` a tab.

use super::{Files, carried_out, planned};
use std::fs;
use std::path::Path;

#[derive(Debug, Default)]
struct Case {
    title: String,
    before: Files,
    patch: String,
    after: Files,
    gone: Vec<String>,
    modes: Vec<String>,
    report: Option<Vec<String>>,
    error: Option<Vec<String>>,
}

fn all() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/patch");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|file| parse(&fs::read_to_string(file).unwrap())).collect()
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for chunk in text.split("\n=== ").skip(1) {
        let (title, parts) = chunk.split_once('\n').unwrap_or((chunk, ""));
        let mut case = Case { title: title.to_owned(), ..Case::default() };
        for part in format!("\n{parts}").split("\n#### ").skip(1) {
            let (head, body) = part.split_once('\n').unwrap_or((part, ""));
            fill(&mut case, head, body);
        }
        cases.push(case);
    }
    cases
}

fn fill(case: &mut Case, head: &str, body: &str) {
    let (word, name) = head.split_once(' ').unwrap_or((head, ""));
    let lines = || body.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    match word {
        "file" => {
            case.before.0.insert(name.to_owned(), real(body).into());
        }
        "want" => {
            case.after.0.insert(name.to_owned(), real(body).into());
        }
        "patch" => case.patch = real(body),
        "gone" => case.gone.push(name.to_owned()),
        "mode" => case.modes.push(name.to_owned()),
        "report" => case.report = Some(lines()),
        "error" => case.error = Some(lines()),
        other => panic!("{}: {other}?", case.title),
    }
}

pub(super) fn real(body: &str) -> String {
    let body = if body.is_empty() || body.ends_with('\n') { body.to_owned() } else { format!("{body}\n") };
    let signs = [("␄\n", ""), ("␍", "\r"), ("␠", " "), ("⍽", "\u{a0}"), ("␂", "\u{feff}"), ("␉", "\t")];
    signs.iter().fold(body, |text, (sign, meant)| text.replace(sign, meant))
}

fn wrong(case: &Case) -> Option<String> {
    let plan = match (planned(&case.patch, &case.before), &case.error) {
        (Err(told), Some(parts)) => {
            let missing = parts.iter().find(|part| !told.contains(&real(part)[..part_length(part)]))?;
            return Some(format!("the refusal does not hold {missing:?}:\n{told}"));
        }
        (Err(told), None) => return Some(format!("refused:\n{told}")),
        (Ok(plan), Some(_)) => return Some(format!("not refused: {}", shown(&carried_out(&plan, &case.before)))),
        (Ok(plan), None) => plan,
    };
    let mut after = case.before.clone();
    after.0.extend(case.after.0.clone());
    after.0.retain(|name, _| !case.gone.contains(name));
    let got = carried_out(&plan, &case.before);
    if got != after {
        return Some(format!("got\n{}\nnot\n{}", shown(&got), shown(&after)));
    }
    let modes = plan.changes.iter().filter_map(|change| Some(format!("{} {:o}", change.path, change.mode?)));
    let modes: Vec<String> = modes.collect();
    if modes != case.modes {
        return Some(format!("the modes are {modes:?}"));
    }
    let report: Vec<String> = plan
        .files
        .iter()
        .flat_map(|done| done.hunks.iter().map(|hunk| (done.new.as_str(), hunk)))
        .map(|(name, hunk)| {
            let distance = hunk.distance.map_or("none".to_owned(), |distance| distance.to_string());
            format!("{name} fuzz {} line {} distance {distance}", hunk.fuzz, hunk.line)
        })
        .collect();
    case.report.as_ref().filter(|wanted| **wanted != report).map(|_| format!("the report is {report:#?}"))
}

fn part_length(part: &str) -> usize {
    real(part).trim_end_matches('\n').len()
}

fn shown(files: &Files) -> String {
    files.0.iter().map(|(name, text)| format!("{name}: {:?}\n", String::from_utf8_lossy(text))).collect()
}

/// The policy asks about the names that [`patch::names`] gives; so none that is touched may be missing there.
#[test]
fn every_name_that_is_touched_is_named() {
    let mut planned_cases = 0;
    for case in all() {
        let named = toolfence_patch::names(&case.patch);
        let anywhere = toolfence_patch::parse_below(&case.patch, |name| Some(name.to_owned()));
        assert_eq!(named.read, anywhere.is_ok(), "{}", case.title);
        let Ok(plan) = planned(&case.patch, &case.before) else { continue };
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
fn every_case_is_as_it_says() {
    let cases = all();
    println!("{} cases", cases.len());
    assert!(cases.len() >= 100, "the case files are there: {}", cases.len());
    let found: Vec<String> =
        cases.iter().filter_map(|case| wrong(case).map(|why| format!("=== {}\n{why}", case.title))).collect();
    assert!(found.is_empty(), "{} of {} cases\n{}", found.len(), cases.len(), found.join("\n"));
}

/// The same in CRLF everywhere is the same in CRLF: patch and files.
#[test]
fn cases_hold_with_other_ends_of_lines() {
    let mut tried = 0;
    for case in all() {
        let text = |files: &Files| files.0.values().any(|text| text.contains(&b'\r'));
        if case.error.is_some() || case.patch.contains('\r') || text(&case.before) || case.before.0.is_empty() {
            continue;
        }
        let crlf = |text: &[u8]| String::from_utf8_lossy(text).replace('\n', "\r\n").into_bytes();
        let files = Files(case.before.0.iter().map(|(name, text)| (name.clone(), crlf(text))).collect());
        for patch in [case.patch.clone(), case.patch.replace('\n', "\r\n")] {
            let plan = planned(&patch, &files).unwrap_or_else(|told| panic!("{}: {told}", case.title));
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
