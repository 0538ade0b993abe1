//! Folds long pastes: the line shows a label, and the message gets the text.

use super::joined;
use crate::shown::{Words, steers};
use reedline::{EditCommand, EditMode, PromptEditMode, ReedlineEvent, ReedlineRawEvent};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use toolfence_protocol::text;
use toolfence_protocol::text::Field;

/// Maximum number of lines and bytes of a paste that is inserted unchanged.
const MOST_LINES: usize = 5;
const MOST_BYTES: usize = 1000;

/// Maximum number of pastes that are kept, and of their bytes. Older lines of the history can contain their labels.
const MOST_PASTES: usize = 64;
const MOST_KEPT: usize = 64 << 20;

/// The pastes that are kept, with their labels.
#[derive(Debug, Default)]
pub(super) struct Pastes {
    /// Label and text, the oldest first.
    kept: Vec<(String, String)>,
}

impl Pastes {
    /// Returns the form in which a text is inserted into the line: unchanged, or as a label.
    pub(super) fn fold(&mut self, text: &str) -> String {
        self.fold_longer(clean(text), MOST_LINES)
    }

    /// Returns the form in which a paste is inserted into the line. A paste that would begin a command at the start of
    /// a line is always folded, because a key that arrives with the paste may delete the text before it.
    pub(super) fn fold_paste(&mut self, pasted: &str) -> String {
        let text = clean(pasted);
        let is_like_command = joined(&text).trim_start().starts_with(['!', '/']);
        self.fold_longer(text, if is_like_command { 1 } else { MOST_LINES })
    }

    fn fold_longer(&mut self, text: String, most: usize) -> String {
        let lines = text.lines().count();
        // A tab would shift the text after it, and some characters reverse the text around them. Such a text is folded
        // too.
        let shows = |text: &str| text.char_indices().all(|(at, c)| c != '\t' && !steers(c, &text[at..]));
        if lines <= most && text.len() <= MOST_BYTES && shows(&text) {
            return text;
        }
        let label = self.label(&text, lines);
        if !self.kept.iter().any(|(known, _)| *known == label) {
            self.kept.push((label.clone(), text));
        }
        while self.kept.len() > 1
            && (self.kept.len() > MOST_PASTES
                || self.kept.iter().map(|(_, text)| text.len()).sum::<usize>() > MOST_KEPT)
        {
            self.kept.remove(0);
        }
        label
    }

    /// Returns the label for this text. Different texts have different labels.
    fn label(&self, text: &str, lines: usize) -> String {
        let first =
            text!("[Pasted {count} {count|line|lines}]", count = Field::Grouped(lines as u64)).words().into_owned();
        let others = (2_u64..).map(|number| {
            text!("[Pasted {count} {count|line|lines}, no. {number}]", count = Field::Grouped(lines as u64), number)
                .words()
                .into_owned()
        });
        let is_free = |label: &String| self.kept.iter().all(|(known, other)| known != label || other == text);
        std::iter::once(first.clone()).chain(others).find(is_free).unwrap_or(first)
    }

    /// Returns `true` if the line begins with a folded paste.
    pub(super) fn begin(&self, line: &str) -> bool {
        let line = joined(line);
        let line = line.trim_start();
        self.kept.iter().any(|(label, _)| line.starts_with(label.as_str()))
    }

    /// Replaces the labels in a line by their texts. Labels inside a paste are not replaced.
    pub(super) fn unfold(&self, line: &str) -> String {
        let mut text = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = rest.find('[') {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            match self.kept.iter().find(|(label, _)| rest.starts_with(label.as_str())) {
                Some((label, pasted)) => {
                    text.push_str(pasted);
                    rest = &rest[label.len()..];
                }
                None => {
                    text.push('[');
                    rest = &rest[1..];
                }
            }
        }
        text + rest
    }
}

/// Removes terminal control characters and converts line ends to LF.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// The edit mode of the line editor. It folds pastes and opens the completion list of the current mark. The key for the
/// user's external editor ends the line, because the line editor would otherwise continue at its old position and
/// overwrite later output.
pub(super) struct Folding {
    pub(super) keys: Box<dyn EditMode>,
    pub(super) pastes: Arc<Mutex<Pastes>>,
    /// The current mark, which is also the name of its completion list.
    pub(super) mark: Arc<Mutex<String>>,
    /// Whether the key for the user's external editor was pressed.
    pub(super) leaves: Arc<AtomicBool>,
}

impl Folding {
    fn expand_event(&self, event: ReedlineEvent) -> ReedlineEvent {
        match event {
            ReedlineEvent::Menu(_) => {
                ReedlineEvent::Menu(self.mark.lock().unwrap_or_else(PoisonError::into_inner).clone())
            }
            event => event,
        }
    }
}

impl EditMode for Folding {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let fold = |command: EditCommand| match command {
            // Typed characters arrive as other commands, so a string is always a paste.
            EditCommand::InsertString(text) => {
                let mut pastes = self.pastes.lock().unwrap_or_else(PoisonError::into_inner);
                EditCommand::InsertString(pastes.fold_paste(&text))
            }
            command => command,
        };
        match self.keys.parse_event(event) {
            ReedlineEvent::ExecuteHostCommand(_) => {
                self.leaves.store(true, Ordering::SeqCst);
                // An open completion list would handle the submission itself, so close it first.
                ReedlineEvent::Multiple(vec![ReedlineEvent::Esc, ReedlineEvent::Submit])
            }
            ReedlineEvent::Edit(commands) => ReedlineEvent::Edit(commands.into_iter().map(fold).collect()),
            ReedlineEvent::UntilFound(events) => {
                ReedlineEvent::UntilFound(events.into_iter().map(|event| self.expand_event(event)).collect())
            }
            event => event,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stands_for_a_long_paste() {
        let mut pastes = Pastes::default();
        assert_eq!(pastes.fold("one\r\ntwo\rthree"), "one\ntwo\nthree");
        let text = "line\n".repeat(2000);
        let label = pastes.fold(&text);
        assert_eq!(label, "[Pasted 2,000 lines]");
        assert_eq!(
            pastes.unfold(&format!("look at [this] {label} and {label}!")),
            format!("look at [this] {text} and {text}!")
        );
        // The same text gets its old label again, and another text with as many lines gets another label.
        assert_eq!(pastes.fold(&text), label);
        let other = "other\n".repeat(2000);
        let second = pastes.fold(&other);
        assert_eq!(second, "[Pasted 2,000 lines, no. 2]");
        assert_eq!(pastes.unfold(&format!("{label}{second}")), format!("{text}{other}"));
        // Labels within a pasted text are not replaced.
        let quoting = format!("{label}\n").repeat(9);
        let third = pastes.fold(&quoting);
        assert_eq!(pastes.unfold(&third), quoting);
    }

    #[test]
    fn lines_that_look_like_a_command_are_a_label() {
        let mut pastes = Pastes::default();
        for (pasted, is_label) in [
            ("!rm x\ny", true),
            (" ! [rejected] main -> main\r\nerror", true),
            ("/usr/lib/x.py: no\nmore", true),
            // Control characters are removed, and a backslash joins its line and the next one.
            ("\u{1b}!rm x\ny", true),
            (" \u{7}\u{9b} !rm x\ny", true),
            ("\\\n!rm x", true),
            (" \\\r\n\\\n/quit", true),
            ("!ls", false),
            ("one\n!two", false),
        ] {
            let line = pastes.fold_paste(pasted) + " what is it?";
            assert_eq!((line.starts_with("[Pasted"), pastes.begin(&line)), (is_label, is_label), "{pasted:?}");
        }
        assert!(!pastes.begin("[Pasted 9 lines]") && !pastes.begin("see [Pasted 2 lines]"));
        assert!(pastes.begin(" [Pasted 2 lines]") && pastes.begin("\\\n [Pasted 2 lines]"));
    }

    #[test]
    fn pasted_control_characters_are_removed_or_folded() {
        let mut pastes = Pastes::default();
        assert_eq!(pastes.fold("\u{1b}[31mred\u{7}\0"), "[31mred");
        let label = pastes.fold("a\u{202e}b");
        assert_eq!((label.as_str(), pastes.unfold(&label).as_str()), ("[Pasted 1 line]", "a\u{202e}b"));
        let label = pastes.fold("x\ty");
        assert_eq!(pastes.unfold(&label), "x\ty");
        let large = "x".repeat(1 << 20);
        let label = pastes.fold(&large);
        assert!(label.len() < 40 && pastes.unfold(&label) == large);
    }

    #[test]
    fn kept_pastes_are_bounded() {
        let mut pastes = Pastes::default();
        (0..200).for_each(|number| drop(pastes.fold(&format!("{number}\n").repeat(10))));
        assert_eq!(pastes.kept.len(), MOST_PASTES);
        let large = "y".repeat(MOST_KEPT);
        let label = pastes.fold(&large);
        assert!(pastes.kept.len() == 1 && pastes.unfold(&label).len() == MOST_KEPT);
    }
}
