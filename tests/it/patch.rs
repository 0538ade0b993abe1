//! Patches: case files, laws on made-up texts, and git beside us.

mod cases;
mod git;
pub(crate) mod laws;
mod parts;

use std::collections::BTreeMap;
use toolfence::patch::{self, Plan, Source};
use toolfence_patch::Failure;

/// Files in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Files(pub(crate) BTreeMap<String, Vec<u8>>);

impl Source for Files {
    type Error = String;

    fn read(&mut self, path: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(path).cloned())
    }
}

/// The plan of a patch, or what the model would be told.
pub(crate) fn planned(text: &str, files: &Files) -> Result<Plan, String> {
    let patch = patch::parse(text).map_err(|problem| problem.to_string())?;
    patch::plan(&patch, &mut files.clone()).map_err(|failure| match failure {
        Failure::Source(error) => error,
        Failure::Refused(refusals) => refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        other => format!("{other:?}"),
    })
}

/// The files as they are when the plan was carried out.
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
