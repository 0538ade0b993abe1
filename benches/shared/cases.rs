//! The broken texts of the case files.

use serde_json::Value;
use std::path::Path;

/// A text, what was meant, and whether it may be taken for whole.
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) want: Vec<Value>,
    pub(crate) whole: bool,
}

/// The texts of the case files that are not valid.
pub(crate) fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/json");
    let files = std::fs::read_dir(folder).expect("a folder of ours").flatten();
    files.flat_map(|file| cases_of(&std::fs::read_to_string(file.path()).expect("a file of ours"))).collect()
}

fn cases_of(file: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut whole = true;
    let mut case = None;
    for line in file.lines() {
        match line.split_once(' ') {
            Some(("##", title)) => whole = !title.ends_with("| cut"),
            Some(("in", text)) => {
                let text = text.replace('␤', "\n").replace('␍', "\r").replace('␉', "\t");
                case = Some(Case { text, want: Vec::new(), whole });
            }
            Some(("want", values)) => {
                // `nothing` is no JSON, and so nothing is wanted.
                let values = serde_json::Deserializer::from_str(values).into_iter().flatten().collect();
                case = case.map(|case: Case| Case { want: values, ..case });
            }
            Some(("is", kind)) if kind != "valid" => cases.extend(case.take()),
            _ => {}
        }
    }
    cases
}
