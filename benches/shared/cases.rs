//! The broken texts of the case files.

use serde_json::Value;
use toolfence_kit::CaseFiles;

/// A text, what was meant, and whether it may be taken for whole.
pub struct Case {
    pub text: String,
    pub want: Vec<Value>,
    pub whole: bool,
}

/// The texts of the case files that are not valid.
pub fn cases() -> Vec<Case> {
    let entries = CaseFiles::of("json").entries().into_iter().filter(|entry| entry.is.text() != "valid");
    let cases = entries.map(|entry| {
        // `nothing` is no JSON, and so nothing is wanted.
        let want = serde_json::Deserializer::from_str(&entry.want).into_iter().flatten().collect();
        Case { want, whole: !entry.section.ends_with("| cut"), text: entry.text }
    });
    cases.collect()
}
