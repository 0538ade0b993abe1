//! Writes the prose of a model: unchanged for programs, and as rendered Markdown for the user.

use crate::failure::Failure;
use crate::markdown::{Look, Markdown, width_of};
use crate::status::to_the_first;
use crate::terminal::Terminal;

/// The role of prose in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    Answer,
    /// The reasoning before the answer.
    Reasoning,
}

/// The prose of a turn on standard output, and the separators between its parts.
pub(crate) struct Prose {
    pub(crate) out: Terminal,
    /// The name of the speaker until it has been printed.
    speaker: Option<String>,
    rendered: Option<Rendered>,
    /// Whether any prose was written since the last [`interrupt`](Prose::interrupt).
    begun: bool,
    /// Whether other output precedes the prose.
    below: bool,
    /// State of unrendered output: whether the row of the cursor is not empty, and the number of line breaks that are
    /// written only if more text follows.
    open: bool,
    held: usize,
}

struct Rendered {
    markdown: Markdown,
    voice: Voice,
    /// Whether the last row may be redrawn.
    live: bool,
    /// The unfinished row as it was last drawn.
    tail: String,
    /// Whether the next text begins a new paragraph.
    parted: bool,
}

/// Precedes each row of reasoning if no colour distinguishes it.
const THOUGHT: &str = "| ";

impl Rendered {
    fn finish(&mut self, look: Look) -> String {
        let rest = self.markdown.finish(self.inner(look));
        self.marked(look, rest)
    }

    /// Returns `true` if each row begins with [`THOUGHT`].
    fn is_marked(&self, look: Look) -> bool {
        self.voice == Voice::Reasoning && !look.colour
    }

    /// Returns the properties of the terminal without the columns of the mark.
    fn inner(&self, look: Look) -> Look {
        let before = if self.is_marked(look) { THOUGHT.len() } else { 0 };
        Look { width: look.width.saturating_sub(before).max(1), ..look }
    }

    fn marked(&self, look: Look, rows: String) -> String {
        if !self.is_marked(look) {
            return rows;
        }
        rows.split_inclusive('\n')
            .map(|row| if row == "\n" { "|\n".to_owned() } else { format!("{THOUGHT}{row}") })
            .collect()
    }
}

impl Prose {
    pub(crate) fn new(out: Terminal) -> Prose {
        let rendered = out.is_terminal().then(|| Rendered {
            markdown: Markdown::new(out.look(), false),
            voice: Voice::Answer,
            live: out.takes_back(),
            tail: String::new(),
            parted: false,
        });
        Prose { out, speaker: None, rendered, begun: false, below: false, open: false, held: 0 }
    }

    /// Sets the name that is printed once before the prose in a terminal.
    pub(crate) fn speaker(&mut self, name: &str) {
        self.speaker = self.rendered.is_some().then(|| name.to_owned());
    }

    /// Returns `true` if the prose is rendered for the user.
    pub(crate) fn is_rendered(&self) -> bool {
        self.rendered.is_some()
    }

    /// Returns `true` if any prose was written since the last [`interrupt`](Prose::interrupt).
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Prints the speaker's name if it has not been printed.
    pub(crate) fn introduce(&mut self) -> Result<(), Failure> {
        match self.speaker.take() {
            Some(name) => self.out.name(&name),
            None => Ok(()),
        }
    }

    pub(crate) fn write(&mut self, voice: Voice, text: &str) -> Result<(), Failure> {
        let look = self.out.look();
        let Some(rendered) = &mut self.rendered else { return self.write_raw(voice, text) };
        if rendered.voice != voice {
            let rest = rendered.finish(look);
            rendered.markdown = Markdown::new(look, voice == Voice::Reasoning);
            rendered.voice = voice;
            self.rows(&rest, "")?;
            self.part();
        }
        let Some(rendered) = &mut self.rendered else { return Ok(()) };
        let inner = rendered.inner(look);
        let rows = rendered.markdown.feed(inner, text);
        let tail = if rendered.live { rendered.markdown.tail(inner) } else { String::new() };
        let (rows, tail) = (rendered.marked(look, rows), rendered.marked(look, tail));
        self.rows(&rows, &tail)
    }

    /// Begins a new paragraph.
    fn part(&mut self) {
        if let Some(rendered) = &mut self.rendered {
            rendered.parted = self.begun;
        }
    }

    /// Inserts rows above the unfinished row and redraws that. A single write avoids flicker.
    fn rows(&mut self, rows: &str, tail: &str) -> Result<(), Failure> {
        let Some(rendered) = &mut self.rendered else { return Ok(()) };
        if rows.is_empty() && tail == rendered.tail {
            return Ok(());
        }
        let mut drawn = String::new();
        let before = std::mem::replace(&mut rendered.tail, tail.to_owned());
        let standing = without_looks(&before);
        // A row is drawn with free columns at its end. If the terminal has become narrower since, the row has wrapped.
        let is_wrapped = width_of(&standing) >= self.out.columns();
        match tail.strip_prefix(&before).filter(|_| !is_wrapped) {
            // Text added to the row follows the part already drawn.
            Some(more) if rows.is_empty() && !before.is_empty() => drawn.push_str(more),
            // The same holds for the end of the drawn row if the row has become final.
            _ if !before.is_empty() && !rendered.parted && !is_wrapped && rows.starts_with(&*before) => {
                drawn.push_str(&rows[before.len()..]);
                drawn.push_str(tail);
            }
            _ => {
                // The drawn row cannot be continued, so erase it and write everything again.
                if !before.is_empty() {
                    drawn.push_str(&to_the_first(&[&standing], self.out.columns()));
                    drawn.push_str(if is_wrapped { "\x1b[J" } else { "\x1b[K" });
                }
                if !self.begun && self.below || rendered.parted {
                    drawn.push('\n');
                }
                rendered.parted = false;
                drawn.push_str(rows);
                drawn.push_str(tail);
            }
        }
        if !self.begun {
            self.begun = true;
            self.introduce()?;
        }
        self.out.drawn(&drawn)
    }

    fn write_raw(&mut self, voice: Voice, text: &str) -> Result<(), Failure> {
        // A program reads only the answer.
        if voice == Voice::Reasoning {
            return Ok(());
        }
        let begins = text.trim_start_matches(['\n', '\r']);
        self.held += text[..text.len() - begins.len()].matches('\n').count();
        let body = begins.trim_end_matches(['\n', '\r']);
        if body.is_empty() {
            return Ok(());
        }
        // A removed tool block must not leave its blank lines.
        let between = if self.begun { self.held.min(2) } else { usize::from(self.below) };
        self.out.write(&"\n".repeat(between))?;
        self.out.write(body)?;
        (self.begun, self.open) = (true, true);
        self.held = begins[body.len()..].matches('\n').count();
        Ok(())
    }

    /// Prepares for other output after the prose. A blank line will precede later prose.
    pub(crate) fn interrupt(&mut self) -> Result<(), Failure> {
        self.end_line()?;
        (self.begun, self.below) = (false, true);
        if let Some(rendered) = &mut self.rendered {
            rendered.parted = false;
        }
        Ok(())
    }

    /// Ends the current row, and with it open Markdown constructs.
    pub(crate) fn end_line(&mut self) -> Result<(), Failure> {
        self.held = 0;
        if let Some(rendered) = &mut self.rendered {
            let rows = rendered.finish(self.out.look());
            self.rows(&rows, "")?;
            self.part();
            return Ok(());
        }
        if std::mem::take(&mut self.open) { self.out.write("\n") } else { Ok(()) }
    }
}

/// Removes the style codes of a row, which are its only escape sequences.
fn without_looks(row: &str) -> String {
    let mut pieces = row.split("\x1b[");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    out.extend(pieces.map(|piece| piece.split_once('m').map_or(piece, |(_, rest)| rest)));
    out
}
