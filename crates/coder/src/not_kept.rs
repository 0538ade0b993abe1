//! Collects the changes that were not kept because no user could be asked, for a line at the end of `coder exec` and
//! `coder -p`.

use crate::question::Question;
use std::sync::{Arc, Mutex, PoisonError};
use toolfence_policy::AskMode;
use toolfence_protocol::Text;
use toolfence_protocol::text;

/// Maximum number of files that the line names; the others are counted.
const MOST_NAMED: usize = 3;

/// The changes of unanswered questions. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct NotKept(Arc<Mutex<Lost>>);

#[derive(Debug, Default)]
struct Lost {
    files: Vec<String>,
    /// Whether build output of a command was not copied into the project.
    output: bool,
}

impl NotKept {
    /// Records the files of a question that was not answered.
    pub(crate) fn record(&self, question: &Question) {
        let mut lost = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if question.is_about_output {
            lost.output = true;
        }
        for target in &question.targets {
            if !lost.files.contains(&target.name) {
                lost.files.push(target.name.clone());
            }
        }
    }

    /// Returns the line about the changes that were not kept in this mode; `None` without any.
    pub(crate) fn line(&self, ask: AskMode) -> Option<Text> {
        let lost = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named = lost.files.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = lost.files.len().saturating_sub(MOST_NAMED) as u64;
        let names = match (lost.files.is_empty(), lost.output, more) {
            (true, false, _) => return None,
            (true, true, _) => text!("the build output of commands"),
            (false, _, 0) => Text::from(named),
            (false, ..) => text!("{names} and {count} more", names = named, count = more),
        };
        Some(match ask {
            AskMode::Risky | AskMode::Always => {
                text!(
                    "not kept: {names}; there is no terminal to ask on, and --ask sandboxed keeps changes unasked",
                    names
                )
            }
            _ => text!("not kept: {names}; there is no terminal to ask on", names),
        })
    }
}
