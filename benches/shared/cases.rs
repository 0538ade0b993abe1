//! The broken texts of the case files.

use serde_json::Value;
use toolfence_kit::CaseFiles;

/// A text, the intended value, and whether the text is known to be complete.
pub struct Case {
    pub text: String,
    pub want: Vec<Value>,
    pub whole: bool,
}

/// Returns the invalid texts of the case files.
pub fn cases() -> Vec<Case> {
    let entries = CaseFiles::of("json").entries().into_iter().filter(|entry| entry.is.text() != "valid");
    let cases = entries.map(|entry| {
        // If `want` is `nothing`, it is not JSON, and no value is expected.
        let want = serde_json::Deserializer::from_str(&entry.want).into_iter().flatten().collect();
        Case { want, whole: !entry.section.ends_with("| cut"), text: entry.text }
    });
    cases.collect()
}
