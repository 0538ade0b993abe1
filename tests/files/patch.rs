//! Tests patches with case files, properties of generated texts, and comparisons with git.

mod cases;
mod data;
mod git;
mod heads;
pub(crate) mod laws;
mod parts;

use std::collections::BTreeMap;
use toolfence_patch::{self as patch, LineEdit, Plan, Source};
use toolfence_patch::{Base, Failure};
use toolfence_protocol::Language;

/// Files in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Files(pub(crate) BTreeMap<String, Vec<u8>>);

impl Source for Files {
    type Error = String;

    fn read(&mut self, path: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(path).cloned())
    }

    fn has_folder(&mut self, path: &str) -> bool {
        self.0.keys().any(|name| name.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    }
}

/// Returns the plan of a patch, or the message for the model.
pub(crate) fn planned(text: &str, base: &Base, files: &Files) -> Result<Plan, String> {
    toolfence_patch::plan_text(text, base, |_| None, &mut files.clone()).map_err(|failure| match failure {
        Failure::Unreadable(problem) => problem.to_string(),
        Failure::Source(error) => error,
        Failure::Refused(refusals) => refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        other => format!("{other:?}"),
    })
}

/// Returns the files after the plan was carried out.
pub(crate) fn carried_out(plan: &Plan, files: &Files) -> Files {
    let mut after = files.clone();
    for change in &plan.changes {
        assert_eq!(change.before.as_ref(), files.0.get(&change.path), "what was read is what is expected to be there");
        match &change.after {
            Some(text) => after.0.insert(change.path.clone(), text.clone()),
            None => after.0.remove(&change.path),
        };
    }
    after
}

/// The message exists in both languages and quotes the line that differs. `Display` prints it in English.
#[test]
fn refusals_are_translated() {
    let problem = patch::parse("*** Begin Patch\n*** Update File: x\n").unwrap_err();
    assert!(problem.message.to_string().starts_with("there is no \"*** End Patch\""), "{}", problem.message);
    assert_eq!(problem.text().to_string(), problem.to_string());
    assert!(problem.text().render(Language::Portuguese).starts_with("linha 2 do patch: não há \"*** End Patch\""));

    let files = Files([("x".to_owned(), b"one\n\nthree\n".to_vec())].into());
    let patch = patch::parse("--- a/x\n+++ b/x\n@@\n one\n-two\n three\n").unwrap();
    let Err(Failure::Refused(refusals)) = patch::plan(&patch, &mut files.clone()) else { panic!("it does not apply") };
    assert_eq!(refusals[0].text().to_string(), refusals[0].to_string());
    let message = refusals[0].text().render(Language::Portuguese);
    for part in ["- hunk 1 (linha 3 do patch) não foi encontrado.", "arquivo, linha 2: (uma linha vazia)"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(refusals[0].to_string().contains("file, line 2: (an empty line)"), "{}", refusals[0]);

    let passage = patch::replace_passage(b"a a", "a", "b").unwrap_err();
    assert!(passage.text().render(Language::Portuguese).starts_with("old ocorre 2 vezes, nas linhas 1, 1;"));
    let lines = patch::edit_lines(b"a", &[LineEdit { start: 0, end: 0, replacement: "" }]).unwrap_err();
    assert!(lines.text().render(Language::Portuguese).starts_with("a edição 1 tem start_line 0;"));
}
