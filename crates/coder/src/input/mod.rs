//! Reads the lines that the user types, in a line editor with a history if the terminal supports one.

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

/// The reedline host command of the key that opens the line in the user's editor.
const IN_EDITOR: &str = "editor";

/// The user's input at the prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// One or several lines of text.
    Line(String),
    /// A message that is never parsed as a command, because the user has not seen the beginning of a paste in it.
    Message(String),
    /// The user wants to continue the text in an external editor.
    InEditor(String),
    /// Ctrl-C was pressed. `empty` means that there was no text to discard.
    Interrupted { empty: bool },
    /// Ctrl-D was pressed on an empty line.
    End,
}

/// The marks and key bindings of a line editor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Typing<'a> {
    /// The marks that may precede the line.
    pub(crate) marks: &'a [&'a str],
    /// Whether the key bindings are those of vi instead of Emacs.
    pub(crate) vi: bool,
}

/// A line editor on the terminal.
pub(crate) struct LineEditor {
    reedline: Reedline,
    pastes: Arc<Mutex<Pastes>>,
    /// The mark before the current line.
    mark: Arc<Mutex<String>>,
    /// Whether the displayed line is empty.
    empty: Arc<AtomicBool>,
    /// Whether the key for the user's external editor ended the line.
    leaves: Arc<AtomicBool>,
    past: Option<Past>,
}

impl LineEditor {
    /// Opens a line editor; `None` unless standard input and output are a terminal that can move its cursor. Its
    /// history is read from the folder `state`, and new lines are stored there if `kept`.
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
        let past = state.map(|state| Past::open(state, redactor));
        let mut history = FileBackedHistory::default();
        for line in past.iter().flat_map(Past::lines) {
            // A history without a file cannot fail.
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
            // While the list is open, reedline displays the list's mark in place of the mark of the line.
            let menu = ColumnarMenu::default().with_name(mark).with_marker(mark);
            let menu = menu.with_text_style(Style::new()).with_description_text_style(dim());
            let menu = menu.with_selected_text_style(Style::new().bold().reverse());
            let menu = menu.with_selected_match_text_style(Style::new().bold().reverse().underline());
            reedline = reedline.with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)));
        }
        if colour && !crate::theme::is_mono() {
            // Without colours, a hint would look like typed text.
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
        // Text that arrived between two lines may be a paste that the user has not seen.
        let typed = self.pastes.lock().unwrap_or_else(PoisonError::into_inner).fold_paste(&modes::typed());
        self.insert(typed);
        self.leaves.store(false, Ordering::SeqCst);
        let read = self.reedline.read_line(&Mark { mark, context }).map_err(|error| error.to_string())?;
        Ok(match read {
            Signal::Success(line) if self.leaves.load(Ordering::SeqCst) => Typed::InEditor(self.unfolded(&line)),
            Signal::Success(line) => {
                let text = self.unfolded(&line);
                let is_message = self.pastes.lock().unwrap_or_else(PoisonError::into_inner).begin(&line);
                // In the next conversation, the label of a paste is replaced by its text, and `!` or `/` would make it
                // a command.
                if !is_message || !text.trim_start().starts_with(['!', '/']) {
                    self.keep(&line, &text);
                }
                // The shell joins continued lines itself, and a paste must stay unchanged.
                let text = if line.starts_with('!') { text } else { self.unfolded(&joined(&line)) };
                if is_message { Typed::Message(text) } else { Typed::Line(text) }
            }
            Signal::CtrlC => Typed::Interrupted { empty: self.empty.load(Ordering::SeqCst) },
            Signal::CtrlD => Typed::End,
            // The program uses no other signal of the editor.
            _ => Typed::Interrupted { empty: true },
        })
    }

    /// Inserts text of the user into the line as if it had been typed.
    pub(crate) fn insert_text(&mut self, text: &str) {
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
        // As in a shell, a line that begins with a blank is not recorded.
        if line.starts_with(' ') {
            return;
        }
        if let Some(past) = &self.past
            && past.add(text).is_err()
        {
            // Stop recording after the first error: a full disk must not end the conversation or cause an error for
            // each line.
            self.past = None;
        }
    }
}

/// Returns the style of dimmed text in the current theme.
fn dim() -> Style {
    crate::theme::dim_colour().map_or(Style::new().dimmed(), |colour| Color::Fixed(colour).normal())
}

/// Adds this program's key bindings to the defaults of the editor.
fn with_own(mut keys: Keybindings) -> Keybindings {
    let newline = || ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline());
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, newline());
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), newline());
    // An empty name opens the list of the current mark: [`Folding`] fills it in.
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

/// Joins each line that ends with a backslash and the next one into one line of the message.
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

/// Returns `true` if a line ends with a single backslash, which continues it.
fn ends_open(line: &str) -> bool {
    line.len() - line.trim_end_matches('\\').len() == 1
}

/// Decides whether the input is complete: it must not end with a backslash or inside a code fence.
struct Complete;

impl Validator for Complete {
    fn validate(&self, line: &str) -> ValidationResult {
        let fences = line.lines().filter(|line| line.trim_start().starts_with("```")).count();
        let is_open = fences % 2 == 1 || ends_open(line);
        if is_open { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// Highlights nothing, and records whether the line is empty.
///
/// To redraw a line, the editor moves up by the number of rows that it computes from the current Unicode rules. In a
/// terminal with other widths, each key would leave or erase a row above the line. If the terminals disagree about a
/// line, joined pictures are therefore displayed as their parts.
struct Plain {
    empty: Arc<AtomicBool>,
    mark: Arc<Mutex<String>>,
}

impl Plain {
    fn render(&self, line: &str, columns: usize) -> String {
        let mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        let all_agree = line.split('\n').all(|line| rows_of(&format!("{mark}{line}"), columns).1);
        if all_agree { line.to_owned() } else { in_parts(line) }
    }
}

impl Highlighter for Plain {
    fn highlight(&self, line: &str, _: usize) -> StyledText {
        self.empty.store(line.is_empty(), Ordering::SeqCst);
        let mut text = StyledText::new();
        let shown = if line.is_ascii() { line.to_owned() } else { self.render(line, columns_of_the_terminal()) };
        text.push((Default::default(), shown));
        text
    }
}

/// The mark before the line, and the text at its right end.
struct Mark<'a> {
    mark: &'a str,
    context: &'a str,
}

impl Prompt for Mark<'_> {
    // The mark has the colour of the text, which is legible on any background.
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
            // In this mode keys are commands, and only the mark shows it.
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
