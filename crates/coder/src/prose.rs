//! The words of a model: as they came where a program reads them, and as rendered Markdown where a person does.

use crate::failure::Failure;
use crate::markdown::{Look, Markdown, width_of};
use crate::status::to_the_first;
use crate::terminal::Terminal;

/// Whose words these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    Answer,
    /// What the model thinks before it answers.
    Reasoning,
}

/// The words of a turn on standard output, and what stands between them.
pub(crate) struct Prose {
    pub(crate) out: Terminal,
    /// Who speaks, as long as that was not said.
    speaker: Option<String>,
    rendered: Option<Rendered>,
    /// Whether anything was written since the last call.
    begun: bool,
    /// Whether something else stands above.
    below: bool,
    /// Of words as they came: whether the row of the cursor is not empty, and the line breaks that wait for what follows.
    open: bool,
    held: usize,
}

struct Rendered {
    markdown: Markdown,
    voice: Voice,
    /// Whether the last row may be drawn again.
    live: bool,
    /// The row that is not settled, as it stands there.
    tail: String,
    /// What comes next is another paragraph.
    parted: bool,
}

/// Stands before each row of what is thought, where no colour tells it apart.
const THOUGHT: &str = "| ";

impl Rendered {
    fn finish(&mut self, look: Look) -> String {
        let rest = self.markdown.finish(self.inner(look));
        self.marked(look, rest)
    }

    /// Whether the rows have a mark of their own.
    fn is_marked(&self, look: Look) -> bool {
        self.voice == Voice::Reasoning && !look.colour
    }

    /// What its rows are drawn for.
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

    /// Sets the name under which a person sees the words, once.
    pub(crate) fn speaker(&mut self, name: &str) {
        self.speaker = self.rendered.is_some().then(|| name.to_owned());
    }

    /// Whether the words are rendered for a person.
    pub(crate) fn is_rendered(&self) -> bool {
        self.rendered.is_some()
    }

    /// Whether anything stands here since the last call.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Says who speaks, where that was not said.
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

    /// What comes next is another paragraph than what stands there.
    fn part(&mut self) {
        if let Some(rendered) = &mut self.rendered {
            rendered.parted = self.begun;
        }
    }

    /// Puts rows above the one that is not settled, and draws that anew. It is one write, so that nothing flickers.
    fn rows(&mut self, rows: &str, tail: &str) -> Result<(), Failure> {
        let Some(rendered) = &mut self.rendered else { return Ok(()) };
        if rows.is_empty() && tail == rendered.tail {
            return Ok(());
        }
        let mut drawn = String::new();
        let before = std::mem::replace(&mut rendered.tail, tail.to_owned());
        let standing = without_looks(&before);
        let is_wrapped = width_of(&standing) >= self.out.columns();
        match tail.strip_prefix(&before).filter(|_| !is_wrapped) {
            // What is added to the row stands behind it.
            Some(more) if rows.is_empty() && !before.is_empty() => drawn.push_str(more),
            // So does the end of a row that was drawn as it is settled.
            _ if !before.is_empty() && !rendered.parted && !is_wrapped && rows.starts_with(&*before) => {
                drawn.push_str(&rows[before.len()..]);
                drawn.push_str(tail);
            }
            _ => {
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
        if voice == Voice::Reasoning {
            return Ok(());
        }
        let begins = text.trim_start_matches(['\n', '\r']);
        self.held += text[..text.len() - begins.len()].matches('\n').count();
        let body = begins.trim_end_matches(['\n', '\r']);
        if body.is_empty() {
            return Ok(());
        }
        // Without the blank lines that the blocks cut out of it leave behind.
        let between = if self.begun { self.held.min(2) } else { usize::from(self.below) };
        self.out.write(&"\n".repeat(between))?;
        self.out.write(body)?;
        (self.begun, self.open) = (true, true);
        self.held = begins[body.len()..].matches('\n').count();
        Ok(())
    }

    /// Something else is about to stand where the words were; what follows keeps its distance from it.
    pub(crate) fn interrupt(&mut self) -> Result<(), Failure> {
        self.end_line()?;
        (self.begun, self.below) = (false, true);
        if let Some(rendered) = &mut self.rendered {
            rendered.parted = false;
        }
        Ok(())
    }

    /// The cursor goes to the beginning of a row, and no word of before is open.
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

/// A row without the codes of looks, which are all that steers in it.
fn without_looks(row: &str) -> String {
    let mut pieces = row.split("\x1b[");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    out.extend(pieces.map(|piece| piece.split_once('m').map_or(piece, |(_, rest)| rest)));
    out
}
