//! The open tool block: its body, the state of its JSON, and whether a closing fence ends it.
//!
//! A block receives lines of content and knows neither containers nor the rest of the reply. It keeps a closing fence
//! that it cannot decide about as a [`Candidate`].

use super::ParserLimits;
use super::call;
use super::dialect;
use super::dialect::blocks::CallBlock;
use super::event::Span;
use super::outline::{Emitted, Listener, Outline};
use super::queue::Queue;
use super::reasoning::TagPair;
use super::spans::closing_tags;
use super::tag::holds_heredoc;
use crate::clip::floor_boundary;
use crate::json::{self, Lexer, Problem, Status};
use crate::{Catalog, Dialect, FinishReason, Repair, Text, text};

/// A closing fence that may be content: the first one inside an open string or body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// The length of the body before it.
    pub(super) body: usize,
    /// The offset in the reply at which the block would end.
    pub(super) end: usize,
    /// The offset of the next line in the reply, and its number.
    pub(super) next: usize,
    pub(super) next_line: usize,
}

/// What ended a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The closing fence.
    Fence,
    /// A closing fence that CommonMark does not recognise.
    LooseFence {
        /// Whether it is on the last line of the object or on the line of the last body's TAG.
        glued: bool,
        /// Whether text follows it.
        text: bool,
    },
    /// The opening fence of the next tool block. CommonMark sees no end there.
    NextFence,
    /// A closing tag of reasoning in the text after the object. CommonMark sees no end there.
    ClosingTag,
    /// The end of the list item.
    Container,
    /// The end of the reply.
    Reply(FinishReason),
}

/// The form of a block by its opening fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockForm {
    /// The info word is `tool`.
    Tool,
    /// The info word is another one that is read like `tool`.
    OtherWord,
    /// The info word is `tool_code`: unless the block contains an object, its calls are in Python syntax.
    Python,
    /// The info word is `tool_result`: a forged result, not a call.
    Result,
    /// The whole reply is the content of the block, and no line of it is a closing fence.
    Bare,
    /// A call in a dialect, which is known once the call is read.
    Dialect(Option<Dialect>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// The object is incomplete; or it is broken, and only the fence can end the block.
    Object,
    /// Verbatim bodies are incomplete.
    Body(BodyPhase),
    /// All bodies are complete.
    After,
    /// The block is malformed, whatever follows. If `full` is set, the block exceeds the limit and no more of it is
    /// kept.
    Spoiled { problem: Problem, full: bool },
}

/// The progress of the verbatim bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BodyPhase {
    /// The index of the tag whose body is open.
    pub(super) index: usize,
    /// Whether the bodies have a line that is not blank.
    pub(super) begun: bool,
    indentation: Indentation,
}

/// How much of the fence's indentation the lines of the bodies have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Indentation {
    Unknown,
    Whole,
    Nothing,
}

impl Indentation {
    /// Adds a line with `has` of the `wants` columns of the fence's indentation. Returns `false` if some lines lost
    /// whitespace to that indentation and others did not: their relative indentation is then not what the model wrote.
    fn accepts(&mut self, indent: Option<(usize, usize)>) -> bool {
        let Some((has, wants)) = indent else { return true };
        let indentation = if has == 0 { Indentation::Nothing } else { Indentation::Whole };
        if (1..wants).contains(&has) || ![Indentation::Unknown, indentation].contains(self) {
            return false;
        }
        *self = indentation;
        true
    }
}

/// The progress of a block: its phase and, while the object is incomplete, the state of the lexer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Only whitespace so far.
    Empty,
    /// Inside an object, outside its strings.
    Inside,
    /// Inside a string of an object.
    InString,
    /// The JSON is invalid. `inside`: within an object that has begun.
    Broken { inside: bool },
    /// Complete except for the closing fence.
    Complete,
    /// The object is complete and announces bodies, which begin on the next line.
    Announced,
    /// In a verbatim body.
    Body(BodyPhase),
    /// All bodies are complete: only the closing fence may follow.
    After,
    /// The block can no longer become a call, whatever its JSON.
    Spoiled,
}

/// The part of a line in the reply that precedes its content.
#[derive(Debug)]
struct Prefix {
    /// The position of the line in the body.
    at: usize,
    /// The number of characters of the reply before the content.
    taken: usize,
    /// The number of spaces in the body that replace the columns of a tab.
    pad: usize,
}

/// The open block, or the last block until another one opens.
#[derive(Debug)]
pub(super) struct Block {
    /// From the opening fence to the end of the last line so far, without its line ending.
    pub(super) span: Span,
    /// The line number in the reply of the first line of the body.
    pub(super) first_line: usize,
    pub(super) body: String,
    pub(super) candidate: Option<Candidate>,
    pub(super) outline: Outline,
    pub(super) form: BlockForm,
    /// Whether the opening fence is the first thing on its line.
    pub(super) at_line_start: bool,
    /// Set if the text of the block is the argument of a call, in a dialect that was enabled by name.
    pub(super) text_call: Option<CallBlock>,
    /// The indentation of the lines of that text.
    text_indentation: Indentation,
    /// Whether the block is read beyond the rules of CommonMark: a closing fence inside a string or body counts as
    /// content if everything else fits, and the block may also end where CommonMark sees no end.
    pub(super) speculates: bool,
    pub(super) lexer: Lexer,
    pub(super) phase: Phase,
    pub(super) bodies: Vec<String>,
    /// Whether the object is on the line of the opening fence, where nothing is read.
    pub(super) object_on_fence_line: bool,
    limits: ParserLimits,
    /// The prefixes of the lines whose content does not begin at the start of the line in the reply.
    prefixes: Vec<Prefix>,
    /// The number of closing tags of reasoning for which the text before them was read.
    tags_tried: usize,
}

/// The maximum number of closing tags of reasoning in a block for which the text before them is read. Each reading
/// takes time linear in the block.
const MOST_TAGS_TRIED: usize = 16;

impl Block {
    /// Creates an empty block, which the parser holds until the first block of a reply opens.
    pub(super) fn new(limits: &ParserLimits) -> Block {
        Block {
            span: Span::default(),
            first_line: 1,
            body: String::new(),
            candidate: None,
            outline: Outline::default(),
            form: BlockForm::Tool,
            at_line_start: false,
            text_call: None,
            text_indentation: Indentation::Unknown,
            speculates: false,
            lexer: Lexer::new(limits.nesting),
            phase: Phase::Object,
            bodies: Vec::new(),
            object_on_fence_line: false,
            limits: *limits,
            prefixes: Vec::new(),
            tags_tried: 0,
        }
    }

    /// Opens another block.
    pub(super) fn open(&mut self, span: Span, first_line: usize, form: BlockForm, speculates: bool) {
        *self = Block { span, first_line, form, speculates, ..Block::new(&self.limits) };
    }

    /// Stores a whole call in some dialect, which begins after `taken` characters of its line.
    pub(super) fn take_section(&mut self, text: &str, taken: usize, dialect: Option<Dialect>) {
        self.body.push_str(text);
        self.prefixes.push(Prefix { at: 0, taken, pad: 0 });
        self.form = BlockForm::Dialect(dialect);
    }

    /// Follows the JSON of a call in some dialect up to the end of its first value. Returns `true` if the value may
    /// continue.
    pub(super) fn follow(&mut self, json: &str, queue: &mut Queue) -> bool {
        let mut rest = json;
        while !rest.is_empty() {
            // Fed up to each closing bracket, because the text after the first value need not be JSON.
            let end = memchr::memchr2(b'}', b']', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
            self.lexer.feed(&rest[..end], &mut Listener { outline: &mut self.outline, queue, emitted: Emitted::Name });
            rest = &rest[end..];
            if !self.outline.values.is_empty() || matches!(self.lexer.status(), Status::Broken { .. }) {
                return false;
            }
        }
        true
    }

    /// Returns the progress of the block.
    pub(super) fn stage(&self) -> Stage {
        let announced = !self.outline.tags.is_empty();
        match (&self.phase, self.lexer.status()) {
            (Phase::Spoiled { .. }, _) => Stage::Spoiled,
            _ if let Some(call) = &self.text_call => {
                if call.is_open() {
                    Stage::InString
                } else {
                    Stage::Complete
                }
            }
            (Phase::Body(body), _) => Stage::Body(*body),
            (Phase::After, _) => Stage::After,
            (Phase::Object, Status::Between { values: 0 }) => Stage::Empty,
            (Phase::Object, Status::Between { .. }) if announced => Stage::Announced,
            (Phase::Object, Status::Between { .. }) => Stage::Complete,
            (Phase::Object, Status::Inside) => Stage::Inside,
            (Phase::Object, Status::InString) => Stage::InString,
            (Phase::Object, Status::Broken { inside, .. }) => Stage::Broken { inside },
        }
    }

    /// Returns `true` if content may arrive in parts of a line. After the object and in a body, only a whole line can
    /// be judged.
    pub(super) fn takes_parts(&self) -> bool {
        self.text_call.is_none()
            && !matches!(self.stage(), Stage::Complete | Stage::Announced | Stage::Body(_) | Stage::After)
    }

    /// Returns `true` if a closing fence at this point may be content. Before a body has begun it closes the block,
    /// because models also write a body into a second fence after the block.
    pub(super) fn doubts_fence(&self) -> bool {
        let open = match self.stage() {
            Stage::InString => true,
            Stage::Body(body) => body.begun,
            _ => false,
        };
        self.speculates && self.form != BlockForm::Result && open
    }

    /// Returns `true` if the only awaited bodies have inexact announcements and none has begun. A fence at this point
    /// shows that the announcements are literal text.
    pub(super) fn awaits_loose_body(&self) -> bool {
        matches!(self.phase, Phase::Body(BodyPhase { index: 0, begun: false, .. }))
            && self.outline.tags.iter().all(|tag| tag.loose)
    }

    /// Drops the awaited bodies: their inexact announcements are ordinary strings. The block must end here, because the
    /// lexer has not seen the blank lines since.
    pub(super) fn drop_loose_bodies(&mut self) {
        self.phase = Phase::Object;
        self.bodies.clear();
        self.outline.drop_loose_tags();
    }

    /// Returns `true` if the object or a body is incomplete.
    pub(super) fn is_unfinished(&self) -> bool {
        !matches!(self.stage(), Stage::Complete | Stage::After | Stage::Broken { inside: false })
    }

    /// Returns `true` if everything so far is in the canonical form and was read strictly.
    pub(super) fn is_exact(&self) -> bool {
        let strict = matches!(self.stage(), Stage::Empty | Stage::Inside | Stage::InString | Stage::Complete);
        let canonical = matches!(self.form, BlockForm::Tool | BlockForm::Bare);
        let has_body = self.outline.has_mark() || !self.outline.tags.is_empty();
        strict && canonical && !has_body && !self.lexer.saw_control() && self.candidate.is_none()
    }

    /// Returns the position of a possible run of fence characters that is glued to the last line of a complete object.
    pub(super) fn glued_fence(&self) -> Option<usize> {
        let Status::Broken { inside: false, at } = self.lexer.status() else { return None };
        if self.phase != Phase::Object
            || !self.speculates
            || self.form == BlockForm::Result
            || !self.outline.tags.is_empty()
        {
            return None;
        }
        let (_, end) = *self.outline.values.last()?;
        let same_line = self.body[end..].bytes().take(at - end).all(|byte| matches!(byte, b' ' | b'\t'));
        (same_line && self.body[at..].starts_with(['`', '~'])).then_some(at)
    }

    /// Ends the block at the fence that is glued to its object or to the TAG of its last body. Discards the part of
    /// that fence that was read.
    pub(super) fn end_at_glued_fence(&mut self) {
        if let Some(at) = self.glued_fence() {
            self.end_after_call(at);
        } else {
            self.phase = Phase::After;
        }
    }

    /// Returns the TAG of the open verbatim body.
    pub(super) fn open_tag(&self) -> Option<&str> {
        let Phase::Body(body) = self.phase else { return None };
        Some(&self.outline.tags[body.index].tag)
    }

    /// Returns the TAG of the open verbatim body if it is the last one.
    pub(super) fn last_tag(&self) -> Option<&str> {
        let Phase::Body(body) = self.phase else { return None };
        self.open_tag().filter(|_| body.index + 1 == self.outline.tags.len())
    }

    /// Records a doubtful closing fence if it is the first one.
    pub(super) fn note_candidate(&mut self, end: usize, next: usize, next_line: usize) {
        self.candidate.get_or_insert(Candidate { body: self.body.len(), end, next, next_line });
    }

    /// Returns what may be emitted: nothing after a doubtful closing fence until the block is decided.
    fn emitted(&self) -> Emitted {
        if self.candidate.is_some() { Emitted::Nothing } else { Emitted::Texts }
    }

    /// Appends content of a line or a part of it. `pad` spaces precede it in the body.
    pub(super) fn push_content(&mut self, pad: usize, text: &str, queue: &mut Queue) {
        if self.is_full() {
            return;
        }
        let from = self.body.len();
        self.body.extend(std::iter::repeat_n(' ', pad));
        // CommonMark 0.31.2, section 2.3: for security, NUL is replaced.
        if text.as_bytes().contains(&0) {
            self.body.push_str(&text.replace('\0', "\u{fffd}"));
        } else {
            self.body.push_str(text);
        }
        let over = self.body.len() > self.limits.block;
        if over {
            // The newline of the line before may have exceeded the limit already, and the lexer has read that far.
            self.body.truncate(floor_boundary(&self.body, self.limits.block).max(from));
        }
        // Verbatim bodies, results and texts that are an argument are not JSON.
        if self.phase == Phase::Object && self.form != BlockForm::Result && self.text_call.is_none() {
            let emitted = self.emitted();
            self.lexer.feed(&self.body[from..], &mut Listener { outline: &mut self.outline, queue, emitted });
        }
        if over {
            self.overflow();
        }
    }

    /// Spoils a block that exceeds the limit. No more of its body is kept.
    pub(super) fn overflow(&mut self) {
        self.spoil(
            self.body.len(),
            text!("the block is larger than {most} bytes; write less at once", most = self.limits.block),
        );
        if let Phase::Spoiled { full, .. } = &mut self.phase {
            *full = true;
        }
    }

    /// Returns `true` if the block exceeds the limit: no more of the body is kept.
    pub(super) fn is_full(&self) -> bool {
        matches!(self.phase, Phase::Spoiled { full: true, .. })
    }

    /// Ends a line whose content was appended. `taken` characters of the reply precede the content; `pad` spaces of the
    /// body replace them. `indent` is how many columns of the fence's indentation the line has, and how many columns
    /// the fence is indented.
    pub(super) fn end_line(&mut self, taken: usize, pad: usize, indent: Option<(usize, usize)>, queue: &mut Queue) {
        if self.is_full() {
            return;
        }
        if taken > 0 {
            self.prefixes.push(Prefix { at: self.line_start(), taken, pad });
        }
        match self.phase {
            Phase::Body(body) => self.body_line(body, indent, queue),
            Phase::After if !self.body[self.line_start()..].trim().is_empty() => {
                self.spoil(self.line_start(), text!("after the last verbatim body only the closing fence may follow"));
            }
            _ => self.text_line(indent),
        }
        self.body.push('\n');
        if self.phase != Phase::Object || self.form == BlockForm::Result || self.text_call.is_some() {
            return;
        }
        let emitted = self.emitted();
        self.lexer.feed("\n", &mut Listener { outline: &mut self.outline, queue, emitted });
        if self.stage() == Stage::Announced {
            let reads_bodies = self.speculates || self.form == BlockForm::Bare;
            if !reads_bodies && self.outline.tags.iter().all(|tag| tag.loose) {
                self.outline.drop_loose_tags();
            } else if reads_bodies {
                self.bodies.push(String::new());
                self.phase = Phase::Body(BodyPhase { index: 0, begun: false, indentation: Indentation::Unknown });
            } else {
                // Once closing fences are no longer content, a body that contains one would end too early.
                self.spoil(
                    self.outline.tags[0].token.start,
                    text!("verbatim bodies are not read after three broken blocks; write the text as a JSON string"),
                );
            }
        }
    }

    fn line_start(&self) -> usize {
        self.body.rfind('\n').map_or(0, |at| at + 1)
    }

    /// Reads a whole line of a verbatim body, or the tag that ends it.
    fn body_line(&mut self, mut body: BodyPhase, indent: Option<(usize, usize)>, queue: &mut Queue) {
        let start = self.line_start();
        let line = &self.body[start..];
        body.begun |= !line.trim().is_empty();
        let index = body.index;
        let tag = self.outline.tags[index].tag.as_str();
        if line.trim_end_matches([' ', '\t']) == tag {
            body.index += 1;
            self.phase = Phase::After;
            if body.index < self.outline.tags.len() {
                self.bodies.push(String::new());
                self.phase = Phase::Body(body);
            }
            return;
        }
        if holds_heredoc(line, tag) {
            let message =
                text!("the verbatim body contains <<{tag} itself, so its end is not certain; choose another TAG", tag);
            return self.spoil(start, message);
        }
        if !body.indentation.accepts(indent) {
            return self.spoil(start, body_unevenly_indented());
        }
        self.phase = Phase::Body(body);
        let text = &mut self.bodies[index];
        let from = text.len();
        text.push_str(&self.body[start..]);
        text.push('\n');
        if self.candidate.is_none() {
            self.outline.emit_body(index, &text[from..], queue);
        }
    }

    /// Reads a whole line of a text that is the argument of a call.
    fn text_line(&mut self, indent: Option<(usize, usize)>) {
        let start = self.line_start();
        if !self.text_indentation.accepts(indent) {
            self.spoil(start, body_unevenly_indented());
        }
        let Some(call) = &mut self.text_call else { return };
        if let Some(message) = call.line(&self.body[start..]) {
            self.spoil(start, message);
        }
    }

    fn spoil(&mut self, at: usize, message: Text) {
        if self.stage() != Stage::Spoiled {
            let problem = Problem { message, at, inside: true };
            self.phase = Phase::Spoiled { problem, full: false };
        }
    }

    /// Returns the lines after the object if there are no bodies, or after the last bracket if the object was repaired.
    /// They may be content that lost its quotes or its tag. `repairs` were needed to read the block.
    pub(super) fn lines_after_object(&self, repairs: &[Repair]) -> &str {
        // If only surplus brackets, separators or further objects follow, no content was lost.
        let marks = [Repair::SurplusClosers, Repair::Separator];
        let other = [Repair::SurroundingText, Repair::Comment];
        let holds = |some: &[Repair]| some.iter().any(|repair| repairs.contains(repair));
        if self.phase != Phase::Object || holds(&marks) && !holds(&other) {
            return "";
        }
        let end = self.outline.values.last().map(|(_, end)| *end).or_else(|| self.body.rfind(['}', ']']));
        end.and_then(|end| self.body[end..].split_once('\n')).map_or("", |(_, lines)| lines)
    }

    /// Finds the first closing tag of reasoning in the last line that follows a whole call in the block, outside of
    /// code spans. Returns the end of the text that is read as the call, the position of the tag, and the tag.
    pub(super) fn tag_after_call(&mut self, catalog: Option<&Catalog>) -> Option<(usize, usize, &'static TagPair)> {
        let line = self.body.rfind('\n').map_or(0, |at| at + 1);
        if self.text_call.is_some() && self.stage() == Stage::Complete {
            return closing_tags(&self.body[line..]).next().map(|(at, tag)| (line + at, line + at, tag));
        }
        if !matches!(self.stage(), Stage::Broken { .. } | Stage::After) {
            return None;
        }
        let object_end = self.outline.values.last().map(|(_, end)| *end);
        let from = object_end.unwrap_or(0).max(line);
        let tags = closing_tags(&self.body[from..]).take(MOST_TAGS_TRIED - self.tags_tried);
        for (at, tag) in tags {
            self.tags_tried += 1;
            let before = &self.body[..from + at];
            let end = match object_end {
                _ if self.phase == Phase::After => before.len(),
                // Without another brace, the text after the object contains no further call.
                Some(end) if !before[end..].contains('{') => end,
                _ if holds_calls(before, self.form == BlockForm::Python, catalog) => before.len(),
                _ => continue,
            };
            return Some((end, from + at, tag));
        }
        None
    }

    /// Discards what was read from `end` on, after the object or the bodies.
    pub(super) fn end_after_call(&mut self, end: usize) {
        self.body.truncate(end);
        if self.phase == Phase::Object {
            // The lexer has read the discarded text too, so a new one reads the rest.
            self.lexer = Lexer::new(self.limits.nesting);
            self.lexer.feed(&self.body, &mut ());
        }
    }

    /// Returns the line and column in the reply of a byte of the body.
    pub(super) fn position(&self, at: usize) -> (usize, usize) {
        let before = &self.body[..floor_boundary(&self.body, at)];
        let line = memchr::memchr_iter(b'\n', before.as_bytes()).count();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let prefix = self.prefixes.binary_search_by_key(&start, |prefix| prefix.at);
        let (taken, pad) = prefix.map_or((0, 0), |index| (self.prefixes[index].taken, self.prefixes[index].pad));
        (self.first_line + line, taken + before[start..].chars().count().saturating_sub(pad) + 1)
    }
}

/// Returns `true` if the text consists only of calls. With `python`, calls in Python syntax are also accepted.
fn holds_calls(text: &str, python: bool, catalog: Option<&Catalog>) -> bool {
    let in_python = python.then(|| dialect::python_calls(text, catalog)).flatten();
    let drafts = match in_python {
        Some(drafts) => drafts.ok(),
        None => json::read(text, false).ok().and_then(|read| call::drafts(read.values, &read.repairs, catalog).ok()),
    };
    drafts.is_some_and(|drafts| !drafts.is_empty())
}

fn body_unevenly_indented() -> Text {
    text!(
        "the fence is indented and the lines of the verbatim body are not indented alike; write all of it from the \
         beginning of the line"
    )
}
