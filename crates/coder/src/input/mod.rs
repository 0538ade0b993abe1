//! The line that a person types: by an editor with a history where a terminal can show one, or else as it comes.

pub(crate) mod answer;
mod completion;
mod history;
pub(crate) mod modes;
mod pastes;

pub(crate) use completion::Completions;

use crate::markdown::{in_parts, rows_of};
use crate::shown::Words;
use crate::terminal::{colours, columns_of_the_terminal};
use history::Past;
use nu_ansi_term::{Color, Style};
use pastes::{Folding, Pastes};
use reedline::{
    ColumnarMenu, DefaultHinter, EditCommand, EditMode, Emacs, FileBackedHistory, Highlighter, History, HistoryItem,
    KeyCode, KeyModifiers, Keybindings, MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch, PromptViMode,
    Reedline, ReedlineEvent, ReedlineMenu, Signal, StyledText, ValidationResult, Validator, Vi,
    default_emacs_keybindings, default_vi_insert_keybindings, default_vi_normal_keybindings,
};
use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use toolfence_agent::redact::Redactor;
use toolfence_protocol::{Text, text};

/// The word for giving the line to the person's own editor.
const IN_EDITOR: &str = "editor";

/// What the person did at the prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line, or several.
    Line(String),
    /// A message that is never parsed as a command, because the user has not seen the beginning of a paste in it.
    Message(String),
    /// The user wants to continue the text in an external editor.
    InEditor(String),
    /// Ctrl-C, and whether there was nothing to drop.
    Interrupted { empty: bool },
    /// Ctrl-D where nothing was typed.
    End,
}

/// How a line is typed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Typing<'a> {
    /// The marks that may precede the line.
    pub(crate) marks: &'a [&'a str],
    /// Whether the keys are those of vi, and not those of Emacs.
    pub(crate) vi: bool,
}

/// A line editor on the terminal.
pub(crate) struct LineEditor {
    reedline: Reedline,
    pastes: Arc<Mutex<Pastes>>,
    /// The mark before the line that is being typed.
    mark: Arc<Mutex<String>>,
    /// Whether the line that is shown is empty.
    empty: Arc<AtomicBool>,
    /// Whether the line was given up for the person's own editor.
    leaves: Arc<AtomicBool>,
    past: Option<Past>,
}

impl LineEditor {
    /// An editor where standard input and output are a terminal that can show one. `state` is the folder of what the program
    /// remembers; lines are kept there where `kept`.
    pub(crate) fn open(
        completions: Completions,
        typing: Typing<'_>,
        state: Option<&Path>,
        kept: bool,
        redactor: Redactor,
    ) -> Option<LineEditor> {
        if !modes::has_cursor() || !io::stdin().is_terminal() || !io::stdout().is_terminal() || !modes::remember() {
            return None;
        }
        let past = state.map(|state| Past::below(state, redactor));
        let mut history = FileBackedHistory::default();
        for line in past.iter().flat_map(Past::lines) {
            // In memory nothing can go wrong.
            let _ = history.save(HistoryItem::from_command_line(line));
        }
        let (pastes, empty) = (Arc::<Mutex<Pastes>>::default(), Arc::new(AtomicBool::new(true)));
        let colour = colours(true);
        let keys: Box<dyn EditMode> = match typing.vi {
            true => {
                Box::new(Vi::new(with_own(default_vi_insert_keybindings()), with_own(default_vi_normal_keybindings())))
            }
            false => Box::new(Emacs::new(with_own(default_emacs_keybindings()))),
        };
        let mark = Arc::<Mutex<String>>::default();
        let leaves = Arc::<AtomicBool>::default();
        let keys = Folding { keys, pastes: pastes.clone(), mark: mark.clone(), leaves: leaves.clone() };
        let mut reedline = Reedline::create()
            .use_bracketed_paste(true)
            .with_edit_mode(Box::new(keys))
            .with_history(Box::new(history))
            .with_history_exclusion_prefix(Some(" ".to_owned()))
            .with_completer(Box::new(completions))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_validator(Box::new(Complete))
            .with_highlighter(Box::new(Plain { empty: empty.clone(), mark: mark.clone() }))
            .with_ansi_colors(colour && !crate::theme::is_mono());
        for mark in typing.marks {
            // The editor shows the mark of the list in the place of that of the line.
            let menu = ColumnarMenu::default().with_name(mark).with_marker(mark);
            let menu = menu.with_text_style(Style::new()).with_description_text_style(dim());
            let menu = menu.with_selected_text_style(Style::new().bold().reverse());
            let menu = menu.with_selected_match_text_style(Style::new().bold().reverse().underline());
            reedline = reedline.with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)));
        }
        if colour && !crate::theme::is_mono() {
            // Without colours nothing would tell a hint from what was typed.
            reedline = reedline.with_hinter(Box::new(DefaultHinter::default().with_style(dim())));
        }
        Some(LineEditor { reedline, pastes, mark, empty, leaves, past: past.filter(|_| kept) })
    }

    /// Reads a line after this mark. Input typed since the last line is already in it.
    ///
    /// # Errors
    /// The terminal lacks a feature that the editor needs.
    pub(crate) fn read(&mut self, mark: &str, context: &str) -> Result<Typed, String> {
        crate::status::end();
        mark.clone_into(&mut self.mark.lock().unwrap_or_else(PoisonError::into_inner));
        // It may be a paste that the user has not seen.
        let typed = self.pastes.lock().unwrap_or_else(PoisonError::into_inner).fold_paste(&modes::typed());
        self.insert(typed);
        self.leaves.store(false, Ordering::SeqCst);
        let read = self.reedline.read_line(&Mark { mark, context }).map_err(|error| error.to_string())?;
        Ok(match read {
            Signal::Success(line) if self.leaves.load(Ordering::SeqCst) => Typed::InEditor(self.unfolded(&line)),
            Signal::Success(line) => {
                let text = self.unfolded(&line);
                let is_message = self.pastes.lock().unwrap_or_else(PoisonError::into_inner).begin(&line);
                // Its label is no more in the next conversation, and it would be a command there.
                if !is_message || !text.trim_start().starts_with(['!', '/']) {
                    self.keep(&line, &text);
                }
                // A shell joins lines by itself, and a paste is taken as it is.
                let text = if line.starts_with('!') { text } else { self.unfolded(&joined(&line)) };
                if is_message { Typed::Message(text) } else { Typed::Line(text) }
            }
            Signal::CtrlC => Typed::Interrupted { empty: self.empty.load(Ordering::SeqCst) },
            Signal::CtrlD => Typed::End,
            // Nothing else is asked for.
            _ => Typed::Interrupted { empty: true },
        })
    }

    /// Puts a text that the person has written into the line, as if it had been typed.
    pub(crate) fn put(&mut self, text: &str) {
        let shown = self.pastes.lock().unwrap_or_else(PoisonError::into_inner).fold(text);
        self.insert(shown);
    }

    fn insert(&mut self, shown: String) {
        if !shown.is_empty() {
            self.reedline.run_edit_commands(&[EditCommand::InsertString(shown)]);
        }
    }

    fn unfolded(&self, line: &str) -> String {
        self.pastes.lock().unwrap_or_else(PoisonError::into_inner).unfold(line)
    }

    /// Stores a line for the next conversation with its pastes expanded, because their labels are not stored.
    fn keep(&mut self, line: &str, text: &str) {
        if line.starts_with(' ') {
            return;
        }
        if let Some(past) = &self.past
            && past.add(text).is_err()
        {
            // A disk that is full ends no conversation, and is not complained of with every line.
            self.past = None;
        }
    }
}

/// The look of what matters less, in the theme that was settled.
fn dim() -> Style {
    crate::theme::dim_colour().map_or(Style::new().dimmed(), |colour| Color::Fixed(colour).normal())
}

/// The usual keys, with those that do something of this program.
fn with_own(mut keys: Keybindings) -> Keybindings {
    let newline = || ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline());
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, newline());
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), newline());
    // Which list that is, the mark in front of the line says.
    let next = vec![ReedlineEvent::Menu(String::new()), ReedlineEvent::MenuNext];
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(next));
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    keys.add_binding(
        KeyModifiers::CONTROL,
        KeyCode::Char('o'),
        ReedlineEvent::ExecuteHostCommand(IN_EDITOR.to_owned()),
    );
    keys
}

/// A backslash at the end of a line joins it with the next one in one message.
fn joined(text: &str) -> String {
    let mut lines = text.split('\n').peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(line) = lines.next() {
        let goes_on = lines.peek().is_some();
        out.push_str(if goes_on && ends_open(line) { &line[..line.len() - 1] } else { line });
        out.push_str(if goes_on { "\n" } else { "" });
    }
    out
}

/// Whether a line ends with a backslash that has none before it.
fn ends_open(line: &str) -> bool {
    line.len() - line.trim_end_matches('\\').len() == 1
}

/// Which lines are whole: not one with a backslash at its end, and none with an open fence.
struct Complete;

impl Validator for Complete {
    fn validate(&self, line: &str) -> ValidationResult {
        let fences = line.lines().filter(|line| line.trim_start().starts_with("```")).count();
        let is_open = fences % 2 == 1 || ends_open(line);
        if is_open { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// Shows the line as it is, and remembers whether there is anything in it.
///
/// The editor draws a line anew above the rows that it counts, by the newest rules of Unicode. A terminal that counts others would
/// have a row too many or too few above it with every key. Where that can be, joined pictures are shown apart.
struct Plain {
    empty: Arc<AtomicBool>,
    mark: Arc<Mutex<String>>,
}

impl Plain {
    fn shown(&self, line: &str, columns: usize) -> String {
        let mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        let all_agree = line.split('\n').all(|line| rows_of(&format!("{mark}{line}"), columns).1);
        if all_agree { line.to_owned() } else { in_parts(line) }
    }
}

impl Highlighter for Plain {
    fn highlight(&self, line: &str, _: usize) -> StyledText {
        self.empty.store(line.is_empty(), Ordering::SeqCst);
        let mut text = StyledText::new();
        let shown = if line.is_ascii() { line.to_owned() } else { self.shown(line, columns_of_the_terminal()) };
        text.push((Default::default(), shown));
        text
    }
}

/// What is before the line, and at its right end.
struct Mark<'a> {
    mark: &'a str,
    context: &'a str,
}

impl Prompt for Mark<'_> {
    // The mark has the colour of the text: it can be read on any background.
    fn get_prompt_color(&self) -> reedline::Color {
        reedline::Color::Reset
    }

    fn get_indicator_color(&self) -> reedline::Color {
        reedline::Color::Reset
    }

    fn render_prompt_left(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        self.context.into()
    }

    fn render_prompt_indicator(&self, mode: PromptEditMode) -> Cow<'_, str> {
        match mode {
            // Keys are commands now, and nothing else says so.
            PromptEditMode::Vi(PromptViMode::Normal | PromptViMode::Visual) => self.mark.replace('>', ":").into(),
            _ => self.mark.into(),
        }
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        " ".repeat(self.mark.chars().count()).into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let prompt: Text = text!("search: {words}", words = search.term.as_str());
        format!("{} ", prompt.words()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_behind_a_backslash_and_in_a_fence() {
        let is_open = |line: &str| matches!(Complete.validate(line), ValidationResult::Incomplete);
        for open in ["a \\", "a\nb\\", "```", "look:\n```rust\nfn main() {}", "\\"] {
            assert!(is_open(open), "{open:?}");
        }
        for whole in ["", "a", "a \\\\", "a\\\nb", "```\nx\n```", "a ``` b"] {
            assert!(!is_open(whole), "{whole:?}");
        }
        assert_eq!(joined("a \\\nb\\\\\nc\\"), "a \nb\\\\\nc\\");
    }
}
