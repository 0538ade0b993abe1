//! The state machine that reads a reply line by line.
//!
//! ```text
//!             opening tag                    opening fence of a tool block
//! Reasoning <------------- Prose -----------------------------------------> Block
//!     |       closing tag  ^ ^ | ^       its end, or a fence before it        |
//!     +--------------------+ | | +--------------------------------------------+
//!                            | | token of a dialect
//!          calls, or no call | v
//!                          Section
//! ```
//!
//! A reply begins as `Prose`, as `Reasoning` if the template of the backend opened it, or as `Block` if it is one bare
//! call. It can end in any of these states; the machine is then `Done`. [`ProsePlace`] refines the state `Prose`: it
//! describes what is known of the current line.
//!
//! Only one transition goes back in the text. A closing fence inside an open string or verbatim body may be content; if
//! the following text shows that it was the end of the block, the machine returns to the line after it and reads on as
//! prose ([`Candidate`](super::block::Candidate)).
//!
//! Architecture invariant: the events do not depend on how the reply was cut into chunks.

mod block_lines;
mod ending;
mod paragraph;
mod section;

use super::block::{Block, BlockForm};
use super::certain_text;
use super::containers::{self, Containers, LineKind};
use super::dialect::LineRest;
use super::dialect::blocks::{self, CallBlock};
use super::event::{Event, Ignored, Span};
use super::ignored::IgnoredCalls;
use super::input::{Input, InputLine};
use super::queue::{HeldCall, Queue, Queued};
use super::reasoning::{self, TagPair};
use super::spans::{CodeSpans, closing_tags};
use super::{Options, Reasoning};
use crate::clip::floor_boundary;
use crate::fence::{self, Opening};
use crate::search_replace::MOST_PATH;
use crate::{Dialect, Dialects, FinishReason};
use paragraph::ParagraphRest;
use section::{Section, Tries};

/// The streaming parser.
#[derive(Debug)]
pub struct Parser {
    options: Options,
    pub(super) input: Input,
    state: ParserState,
    containers: Containers,
    ignored: IgnoredCalls,
    /// The open tool block, or else the last one, whose body events may still borrow.
    block: Block,
    queue: Queue,
    calls: usize,
    trust: Trust,
    findings: Findings,
    /// Code spans of the open paragraph.
    spans: CodeSpans,
    /// The rest of that paragraph, if a closing tag in it may be in a code span.
    paragraph: ParagraphRest,
    /// The offset of the last dialect token that no call followed.
    refused: Option<usize>,
    /// The kind of text after the calls in dialects on a line, and its offset. The answer applies to all calls that
    /// begin before the offset.
    line_rest: (LineRest, usize),
    /// Per dialect, whether one of its closing tags follows outside of any call, and an offset. The answer applies to
    /// all calls that begin before the offset.
    stray_closers: Vec<(Dialect, bool, usize)>,
    /// The last line of prose, which may contain the path of a SEARCH/REPLACE block.
    line_before: String,
    /// How many documents began after reasoning.
    documents: u32,
}

/// The states of the diagram above, each with the data that only it needs.
#[derive(Debug)]
enum ParserState {
    Prose(ProsePlace),
    /// Inside a tool block, whose content is in [`Parser::block`].
    Block(FedPrefix),
    Reasoning(reasoning::ReasoningSection),
    /// At the token of a dialect that may begin calls.
    Section(Box<Section>),
    /// The reply has ended and been read.
    Done,
}

/// The place of the parser within prose.
#[derive(Debug)]
enum ProsePlace {
    /// At the beginning of the reply or of the text after reasoning, or in blank lines there: the text may consist only
    /// of calls.
    Document(Tries),
    /// At the beginning of a line.
    Line,
    /// In the last line of a call in a dialect, directly after it.
    AfterCall,
    /// Within a line that CommonMark has already classified as prose.
    MidLine,
    /// Within a line that exceeded the limit; its rest is text.
    Rest,
    /// Within a line whose rest is text because reasoning ended in it inside a quote. The document begins on the next
    /// line.
    QuotedRest,
}

/// What was found in the reply so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Findings {
    Nothing,
    /// An ignored call, but no tool block and no call.
    Ignored,
    /// A tool block, or a call in a dialect.
    Block,
}

/// How certain it is that later calls are meant as calls. It holds until the end of the reply and only gets worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trust {
    /// Every block so far ended where CommonMark sees its end.
    Clean,
    /// A block was ended where CommonMark sees no end. Later calls need the exact form to be lossless.
    AfterRepair,
    /// A block broke off: the text after it may have been meant as its content, so every later call is a guess.
    /// `failed` counts the blocks that were read past a doubtful closing fence although they had ended there.
    AfterBroken { failed: u8 },
}

/// The part of an incomplete line that was fed to the open block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FedPrefix {
    /// Nothing yet; this many bytes are only whitespace and fence characters.
    Undecided(usize),
    /// This many bytes; the line is certainly content.
    Part(usize),
    /// Nothing, whatever follows: the line does not continue the block's container.
    Withheld,
    /// Everything up to the limit, which the line exceeded. The rest of the line is skipped.
    Rest,
}

/// After this many failed speculations the rest of a reply is read by CommonMark alone. Each failure reads a part of
/// the reply again, and the total time must stay linear.
const MOST_SPECULATIONS: u8 = 3;

/// The maximum number of sections of reasoning after which the reply may consist only of calls.
const MOST_WHOLE: u32 = 16;

impl Parser {
    /// Creates a parser at the beginning of a reply.
    pub fn new(mut options: Options) -> Parser {
        // A reply that begins inside reasoning is not one bare call.
        options.bare &= options.reasoning != Reasoning::Opened;
        if options.bare {
            // A reply that is constrained to one call has no reasoning.
            options.reasoning = Reasoning::Known;
        }
        let mut parser = Parser {
            input: Input::default(),
            state: ParserState::Prose(ProsePlace::Document(Tries::default())),
            containers: Containers::new(),
            ignored: ignored_calls(&options),
            block: Block::new(&options.limits),
            queue: Queue::new(options.settled_only, options.reasoning),
            calls: 0,
            trust: Trust::Clean,
            findings: Findings::Nothing,
            spans: CodeSpans::default(),
            paragraph: ParagraphRest::default(),
            refused: None,
            line_rest: (LineRest::Nothing, 0),
            stray_closers: Vec::new(),
            line_before: String::new(),
            documents: 0,
            options,
        };
        if parser.options.reasoning == Reasoning::Opened {
            parser.state = ParserState::Reasoning(reasoning::ReasoningSection::new(None, 0));
        } else if parser.options.bare {
            parser.open_block(Span::default(), 1, BlockForm::Bare);
        }
        parser
    }

    /// Appends the next piece of the reply. This is cheap because [`poll`](Parser::poll) does the work; call it after
    /// every push. A piece that is pushed after [`finish`](Parser::finish) is ignored.
    pub fn push(&mut self, chunk: &str) {
        self.input.push(chunk, self.queue.is_empty());
    }

    /// Marks the reply as complete and sets how it ended.
    pub fn finish(&mut self, reason: FinishReason) {
        self.input.finish(reason);
    }

    /// Returns the next event. `None` means that more input is needed or, after [`finish`](Parser::finish), that all
    /// events were delivered.
    #[must_use]
    pub fn poll(&mut self) -> Option<Event<'_>> {
        // The parser advances only when everything was delivered, because a queued event may refer to the open block.
        while self.queue.is_empty() && self.advance() {}
        match self.queue.pop()? {
            Queued::Text(span) => Some(Event::Text { text: self.input.text(span).into(), span }),
            Queued::Reasoning { text, span, closed } => {
                Some(Event::Reasoning { text: self.input.text(text).into(), span, closed, unopened: false })
            }
            Queued::Unopened(span) => {
                Some(Event::Reasoning { text: "".into(), span, closed: Some(true), unopened: true })
            }
            Queued::Started { id, name } => {
                Some(Event::Started { id: self.queue.str(id).into(), name: self.queue.str(name).into() })
            }
            Queued::Progress { id, arg, text } => {
                let str = |range| self.queue.str(range).into();
                Some(Event::Progress { id: str(id), arg: str(arg), text: str(text) })
            }
            Queued::Held(HeldCall { event, body }) => Some(event.with_body(self.queue.body(body))),
            Queued::Final(event) => Some(event.with_body(&self.block.body)),
        }
    }

    /// Returns `true` if everything delivered of the open block was read strictly and nothing suggests another reading
    /// yet: no repair, no verbatim body, no doubtful closing fence, no earlier block that broke off or was ended early,
    /// and no doubt whether the reply [is reasoning](Parser::is_undecided).
    ///
    /// For hosts that forward provisional events and cannot take them back. The block may still turn out to be
    /// malformed. If this returns `true` after an event was polled, it applies to that event and to all earlier events
    /// of its block.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !self.queue.is_holding() && self.trust == Trust::Clean && self.block.is_exact()
    }

    /// Returns `true` while a closing tag may still show that everything so far was reasoning: under
    /// [`Reasoning::Unknown`], until a section of reasoning or the end of the reply was found. Until then no calls are
    /// delivered, and no other event is certain to count.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        self.queue.is_holding()
    }

    /// Discards the reply and waits for the beginning of another one. The options stay.
    pub fn reset(&mut self) {
        *self = Parser::new(self.options.clone());
    }

    /// Takes one step. Returns `true` if the available input may allow another one.
    fn advance(&mut self) -> bool {
        match self.state {
            ParserState::Prose(_) => self.advance_prose(),
            ParserState::Block(_) => self.advance_block(),
            ParserState::Reasoning(_) => self.advance_reasoning(),
            ParserState::Section(_) => self.advance_section(),
            ParserState::Done => false,
        }
    }

    /// Queues the text up to `end`, an index of the input, that was not queued yet.
    fn queue_text(&mut self, end: usize) {
        if let Some(span) = self.input.take_text(end) {
            self.queue.push(Queued::Text(span));
        }
    }

    /// Queues an event about ignored text, if there is one, after the text up to `at`.
    fn queue_ignored(&mut self, event: Option<Event<'static>>, at: usize) {
        if let Some(event) = event {
            self.findings = self.findings.max(Findings::Ignored);
            self.queue_text(at);
            self.queue.push_event(event);
        }
    }

    /// Ends the reply.
    fn finish_reply(&mut self) -> bool {
        self.queue_text(self.input.len());
        self.queue.release(false);
        self.state = ParserState::Done;
        true
    }
}

/// Prose.
impl Parser {
    fn advance_prose(&mut self) -> bool {
        // A byte order mark would hide a fence or a token at the beginning of the first line.
        if self.input.offset(self.input.at) == 0 && self.input.rest().starts_with('\u{feff}') {
            self.input.pass_within('\u{feff}'.len_utf8(), 1);
        }
        if let ParserState::Prose(ProsePlace::Document(_)) = self.state {
            if self.awaits_whole_reply() {
                return false;
            }
            if !matches!(self.state, ParserState::Prose(_)) || !self.queue.is_empty() {
                return true;
            }
        }
        while let Some(line) = self.input.next_line(self.options.limits.block) {
            if !self.has_paragraph_of(line) || !self.has_beginning_of_block(line) {
                return false;
            }
            // The next line begins a document, which is tried as a whole before it is read line by line.
            let precedes_document = matches!(self.state, ParserState::Prose(ProsePlace::QuotedRest));
            self.prose_line(line);
            if precedes_document || !self.queue.is_empty() || !matches!(self.state, ParserState::Prose(_)) {
                return true;
            }
        }
        if self.input.finished.is_none() {
            return self.beginning_of_line();
        }
        // The reply is over. Queued first, because any event about ignored text already reminds the model: only a reply
        // without one is searched for a wrong form.
        let ignored = self.ignored.end_all();
        self.queue_ignored(ignored, self.input.len());
        if self.findings == Findings::Nothing && !self.ignored.has_candidate() {
            let wrong_form = self.ignored.take_wrong_form();
            self.queue_ignored(wrong_form, self.input.len());
        }
        // A candidate counts only if nothing else in the whole reply is a call, and a reply that was cut off is not
        // whole.
        if self.input.finished == Some(FinishReason::Stop) && self.findings < Findings::Block {
            self.accept_candidate();
        }
        self.drop_candidate(self.input.len());
        self.finish_reply()
    }

    /// Handles a line whose ending has not arrived. Queues what is certainly text, and opens reasoning at once.
    fn beginning_of_line(&mut self) -> bool {
        let ParserState::Prose(place) = &self.state else { return true };
        let rest = self.input.rest();
        if let ProsePlace::Rest | ProsePlace::QuotedRest = place {
            self.queue_text(self.input.at + rest.len());
            return false;
        }
        if let Some((indent, tag)) = reasoning::opening(&self.containers, rest, false) {
            self.open_reasoning(indent, tag);
            return true;
        }
        if self.queue.is_holding()
            && let Some((indent, tag)) = reasoning::closing(&self.containers, rest, false)
        {
            self.close_unopened(indent, tag);
            return true;
        }
        let (after_call, mid_line) = (matches!(place, ProsePlace::AfterCall), matches!(place, ProsePlace::MidLine));
        // In the middle of a line only special tokens count, and `prose_tokens` finds those when the line is complete.
        if !mid_line && self.section_opens(rest.len(), false, after_call) {
            return true;
        }
        let (rest, shown) = (self.input.rest(), self.input.shown_of_line());
        // Earlier lines are certainly text, even if this one must wait.
        let length = match after_call {
            true => 0,
            false => certain_text::certain_length(rest, shown, self.dialects(), self.queue.is_holding()),
        };
        self.queue_text(self.input.at + length);
        false
    }

    /// Returns `true` if it is known whether the line opens a block whose text is the argument of a call.
    fn has_beginning_of_block(&self, line: InputLine) -> bool {
        let (dialects, catalog) = (self.dialects(), self.options.catalog.as_deref());
        let text = self.input.slice(self.input.at, line.end);
        let content = self.input.slice(line.next, self.input.len());
        let is_whole = self.input.finished.is_some();
        !blocks::are_read(dialects)
            || !blocks::may_open(text)
            // The info word is irrelevant here: only the first lines of the block may leave its dialect undecided.
            || blocks::dialect_of("", content, is_whole, dialects, catalog).is_some()
    }

    fn prose_line(&mut self, line: InputLine) {
        let ParserState::Prose(place) = &mut self.state else { return };
        let place = std::mem::replace(place, ProsePlace::Line);
        let mut next = match place {
            ProsePlace::QuotedRest if line.cut => ProsePlace::QuotedRest,
            ProsePlace::QuotedRest => ProsePlace::Document(Tries::default()),
            _ if line.cut => ProsePlace::Rest,
            _ => ProsePlace::Line,
        };
        if !matches!(place, ProsePlace::Rest | ProsePlace::QuotedRest) {
            let text = self.input.slice(self.input.at, line.end);
            if let Some((indent, tag)) = reasoning::opening(&self.containers, text, true) {
                return self.open_reasoning(indent, tag);
            }
            if self.queue.is_holding()
                && let Some((indent, tag)) = reasoning::closing(&self.containers, text, true)
            {
                return self.close_unopened(indent, tag);
            }
            let (length, blank) = (text.len(), fence::is_blank(text));
            let (after_call, mid_line) = (matches!(place, ProsePlace::AfterCall), matches!(place, ProsePlace::MidLine));
            if !mid_line && self.section_opens(length, true, after_call) {
                return;
            }
            // The rest of a line cannot open a block. A blank rest after a call is read like a blank line.
            let moved = if mid_line || after_call && !blank {
                self.prose_tokens(line, self.dialects(), self.containers.in_quote())
            } else {
                self.block_structure(line)
            };
            if moved {
                return;
            }
            if blank && matches!(place, ProsePlace::Document(_)) {
                next = place;
            }
            // Kept for a SEARCH/REPLACE block on the next line. Cut at twice the limit of a path: a longer line is
            // still too long.
            if self.dialects().contains(Dialect::SearchReplace) {
                let text = self.input.slice(self.input.at, line.end);
                self.line_before.clear();
                self.line_before.push_str(&text[..floor_boundary(text, 2 * MOST_PATH)]);
            }
        }
        self.input.pass(line);
        match &mut self.state {
            ParserState::Prose(place) => *place = next,
            ParserState::Block(fed) if line.cut => *fed = FedPrefix::Rest,
            _ => {}
        }
    }

    /// Reads a line of prose, which may contain the special token of a dialect or a closing tag unless the line has the
    /// mark of a quote (`marked`). Returns `true` if the parser moved to one of them.
    fn prose_tokens(&mut self, line: InputLine, dialects: Dialects, marked: bool) -> bool {
        let text = self.input.slice(self.input.at, line.end);
        let blank = fence::is_blank(text);
        let quoted = self.spans.is_open() || self.containers.in_quote();
        if marked {
            self.spans.feed(text);
        } else if self.finds_in_prose(line.end - self.input.at, dialects) {
            return true;
        }
        let ended = self.ignored.end_fence(None);
        let text = self.input.slice(self.input.at, line.end);
        let span = self.input.span(self.input.at, line.end);
        if !marked {
            self.ignored.watch_form(text, span, false);
        }
        let found = if blank { self.ignored.end_paragraph() } else { self.ignored.prose_line(text, span, quoted) };
        self.queue_ignored(ended.or(found), line.end);
        false
    }

    /// Finds a closing tag of reasoning after a closing fence on its line, and its offset in the line. CommonMark
    /// treats such a line as content, or as an opening fence with an info string.
    fn find_closing_tag_after_fence(&self, kind: LineKind<'_>, text: &str) -> Option<(usize, &'static TagPair)> {
        let after_fence = match kind {
            LineKind::Inside(_) => self.containers.after_closing_run(self.containers.at_fence(text)?)?,
            LineKind::Opens(opening, _) => opening.info,
            _ => return None,
        };
        let after_fence = after_fence.trim_matches([' ', '\t']);
        let offset = text.trim_end_matches([' ', '\t']).len() - after_fence.len();
        Some((offset, reasoning::closing_tag(after_fence)?))
    }

    /// Classifies a line by CommonMark, and opens a tool block if the line is its fence. Returns `true` if the parser
    /// moved to another place in the line.
    fn block_structure(&mut self, line: InputLine) -> bool {
        let at = self.input.at;
        let text = self.input.slice(at, line.end);
        let span = self.input.span(at, line.end);
        let in_html = self.containers.in_html();
        // Asked before `line` below changes the containers.
        let is_lazy = self.containers.continues_lazily(text);
        // A code span ends with its paragraph, because block structure takes precedence (CommonMark 0.31.2, section
        // 3.1).
        if self.spans.is_open()
            && !((self.containers.in_paragraph() || in_html) && containers::continues_paragraph(text))
        {
            self.spans.end_paragraph();
        }
        let kind = self.containers.line(text);
        let (dialects, catalog) = (self.dialects(), self.options.catalog.as_deref());
        let content = self.input.slice(line.next, self.input.len());
        let text_call = match &kind {
            LineKind::Opens(opening, _) if block_form(opening, dialects).is_none() && blocks::may_open(text) => {
                // `has_beginning_of_block` has waited for enough text.
                blocks::dialect_of(opening.word(), content, true, dialects, catalog).flatten()
            }
            _ => None,
        };
        let in_quote = self.containers.in_quote();
        if !in_quote
            && self.follows_call()
            && let Some((offset, tag)) = self.find_closing_tag_after_fence(kind, text)
        {
            self.close_unopened(offset, tag);
            return true;
        }
        match kind {
            LineKind::Prose => {
                // In a line without the mark of the quote, a closing tag counts but a call does not.
                let dialects = if in_quote { Dialects::NONE } else { self.dialects() };
                return self.prose_tokens(line, dialects, in_quote && !is_lazy);
            }
            // In the indented continuation of a paragraph, a closing tag also counts, but a call is indented too far.
            LineKind::Indented(_) if self.containers.in_paragraph() && (is_lazy || !in_quote) => {
                if self.finds_in_prose(line.end - at, Dialects::NONE) {
                    return true;
                }
                let ended = self.ignored.end_fence(None);
                let found = self.ignored.nested_line(Ignored::Indentation, self.input.slice(at, line.end), span);
                self.queue_ignored(ended.or(found), line.end);
                return false;
            }
            LineKind::Html { text: html, raw } if !in_quote => {
                let start = line.end - html.len();
                return self.html_line(line, start, raw);
            }
            _ => {}
        }
        let ended = match kind {
            LineKind::Inside(_) | LineKind::Closes(_) => None,
            LineKind::Opens(..) => self.ignored.end_all(),
            _ => self.ignored.end_fence(None),
        };
        let found = match kind {
            LineKind::Inside(content) => self.ignored.fenced_line(content.text, span),
            LineKind::Closes(_) => self.ignored.end_fence(Some(span)),
            LineKind::Html { text: rest, .. } => self.ignored.nested_line(Ignored::Html, rest, span),
            LineKind::Indented(rest) => self.ignored.nested_line(Ignored::Indentation, rest, span),
            LineKind::Prose => None,
            LineKind::Opens(opening, offset) => {
                let holds_object = opening.info.contains('{');
                let span = Span { start: span.start + offset, end: span.end };
                let form = match text_call {
                    Some(dialect) => Some(BlockForm::Dialect(Some(dialect))),
                    None => block_form(&opening, dialects),
                };
                if let Some(form) = form.filter(|_| !self.containers.in_quote()) {
                    self.queue_text(at + offset);
                    self.queue_ignored(ended, at);
                    self.drop_candidate(at);
                    self.findings = Findings::Block;
                    self.open_block(span, self.input.line + 1, form);
                    self.block.at_line_start = offset == 0;
                    self.block.object_on_fence_line = holds_object;
                    if let Some(dialect) = text_call {
                        let call = CallBlock::new(dialect, &self.line_before);
                        self.block.outline.start(call.tool(), None, &mut self.queue);
                        self.block.text_call = Some(call);
                    }
                    return false;
                }
                let why = if self.containers.in_quote() { Ignored::Quote } else { Ignored::InfoWord };
                self.ignored.open_fence(why, opening, span);
                None
            }
        };
        // Queued at the end of the line, because its beginning may have been delivered already.
        self.queue_ignored(ended.or(found), line.end);
        false
    }
}

/// HTML.
impl Parser {
    /// Reads a line of an HTML block, whose text begins at `start`. HTML is not code: a closing tag after a call counts
    /// in it, but a call does not. Returns `true` if the parser moved to a closing tag.
    fn html_line(&mut self, line: InputLine, start: usize, raw: bool) -> bool {
        if self.follows_call() {
            if raw {
                self.close_in_raw_html(line);
            } else if self.finds_in_prose(line.end - self.input.at, Dialects::NONE) {
                return true;
            }
        }
        let ended = self.ignored.end_fence(None);
        let (text, span) = (self.input.slice(start, line.end), self.input.span(self.input.at, line.end));
        if !raw && !self.input.slice(start, line.end).trim_start().starts_with("<!") {
            self.ignored.watch_form(text, span, false);
        }
        let found = self.ignored.nested_line(Ignored::Html, text, span);
        self.queue_ignored(ended.or(found), line.end);
        false
    }

    /// Looks for a closing tag in a line of raw HTML: everything before it was reasoning. The HTML block continues,
    /// since a call in it is quoted regardless of what precedes it.
    fn close_in_raw_html(&mut self, line: InputLine) {
        let found = closing_tags(self.input.slice(self.input.at, line.end)).next();
        if let Some((offset, tag)) = found {
            let at = self.input.at + offset;
            self.drop_candidate(at);
            self.queue_text(at);
            self.release_thought(at, tag);
        }
    }
}

fn ignored_calls(options: &Options) -> IgnoredCalls {
    let dialects = if options.strict || options.bare { Dialects::NONE } else { options.dialects };
    IgnoredCalls::new(options.limits.block, dialects, options.catalog.clone())
}

/// Returns the form of a fenced code block by the first word of its info string. `None` if it is not a tool block.
fn block_form(opening: &Opening<'_>, dialects: Dialects) -> Option<BlockForm> {
    match opening.word() {
        "tool" => Some(BlockForm::Tool),
        "tool_code" if dialects.contains(Dialect::Pythonic) => Some(BlockForm::Python),
        "tool_call" | "tool_code" => Some(BlockForm::OtherWord),
        "tool_result" => Some(BlockForm::Result),
        _ => None,
    }
}

/// Returns `true` if a fence opens a block of calls.
fn is_tool(opening: &Opening<'_>) -> bool {
    matches!(opening.word(), "tool" | "tool_call" | "tool_code")
}

/// Reasoning.
impl Parser {
    /// Opens a section of reasoning at the current line, after `indent` spaces.
    fn open_reasoning(&mut self, indent: usize, tag: &'static TagPair) {
        let at = self.input.at + indent;
        let ignored = self.ignored.end_all();
        self.queue_text(at);
        self.queue_ignored(ignored, at);
        // The text after the reasoning is a document of its own, in which the block is not the last one.
        self.drop_candidate(at);
        self.spans.end_paragraph();
        self.queue.release(false);
        let start = self.input.offset(at);
        self.input.pass_within(at + tag.open.len(), indent + tag.open.chars().count());
        self.state = ParserState::Reasoning(reasoning::ReasoningSection::new(Some(tag), start));
    }

    /// Handles a closing tag without an opening one, `offset` bytes after the parser's place on its line. Everything
    /// before it was reasoning.
    ///
    /// The trust stays reduced if a block broke off in that reasoning: the tag may be a line of the block's content,
    /// and the following text the rest of it.
    fn close_unopened(&mut self, offset: usize, tag: &'static TagPair) {
        let at = self.input.at + offset;
        let ignored = self.ignored.end_all();
        self.queue_text(at);
        self.queue_ignored(ignored, at);
        self.release_thought(at, tag);
        let end = at + tag.close.len();
        let chars = self.input.slice(self.input.at, end).chars().count();
        self.input.pass_within(end, chars);
        self.begin_document(false);
    }

    /// Queues the calls that were held back as reasoning, which the closing tag at `at` ends.
    fn release_thought(&mut self, at: usize, tag: &'static TagPair) {
        let span = self.input.span(at, at + tag.close.len());
        // Queued before the calls: the first event after the decision reports the decision.
        self.queue.push(Queued::Unopened(span));
        self.queue.release(true);
        self.input.use_up(span.end);
        // Calls in reasoning do not count towards the limit.
        self.calls = 0;
    }

    /// Reads the following text as the start of a new document, except for the rest of a line that is `quoted`.
    fn begin_document(&mut self, quoted: bool) {
        self.containers.begin_document();
        self.ignored = ignored_calls(&self.options);
        self.spans.end_paragraph();
        // Each document may be read to the end of the reply, so only [`MOST_WHOLE`] of them are tried.
        self.documents = self.documents.saturating_add(1);
        self.state = ParserState::Prose(match (quoted, self.documents <= MOST_WHOLE) {
            (true, true) => ProsePlace::QuotedRest,
            (true, false) => ProsePlace::Rest,
            (false, true) => ProsePlace::Document(Tries::default()),
            (false, false) => ProsePlace::Line,
        });
    }

    fn advance_reasoning(&mut self) -> bool {
        let ParserState::Reasoning(section) = &mut self.state else { return false };
        let at = self.input.at;
        let text = self.input.slice(at, self.input.len());
        let finished = self.input.finished.is_some();
        let (length, closing) = section.find_end(text, finished);
        let used = length + closing;
        if used == 0 && !finished {
            return false;
        }
        section.pass(&text[..length]);
        let quoted = section.is_quoted();
        let (lines, chars) = reasoning::count_lines(&text[..used]);
        let end = self.input.offset(at + used);
        let span = Span { start: std::mem::replace(&mut section.start, end), end };
        let closed = if closing > 0 || finished { Some(closing > 0) } else { None };
        self.queue.push(Queued::Reasoning { text: self.input.span(at, at + length), span, closed });
        self.input.line += lines;
        if lines > 0 {
            self.input.column = 0;
        }
        self.input.pass_within(at + used, chars);
        self.input.use_up(end);
        match closed {
            None => false,
            Some(false) => self.finish_reply(),
            Some(true) => {
                self.begin_document(quoted);
                true
            }
        }
    }
}
