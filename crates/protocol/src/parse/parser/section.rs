//! Calls in dialects: the places where their tokens count, and the handling of the text after them.
//!
//! A token counts at the beginning of a line, at document level or in a list item, and directly after another call in a
//! dialect; a special token also counts after prose. Tokens never count in a quote, a fence, indented code, a code
//! span, HTML or reasoning. A pure function ([`dialect`]) reads the text after a token, repeatedly while it streams: at
//! each closing token, and whenever the text has doubled since the last reading, so that the time stays linear. A call
//! is announced as soon as its name is known.

use super::{Findings, Parser, ParserState, ProsePlace, is_tool};
use crate::clip::floor_boundary;
use crate::fence;
use crate::json::Problem;
use crate::parse::block::{Block, BlockForm, Ending};
use crate::parse::call::Draft;
use crate::parse::certain_text::{is_lead, marks};
use crate::parse::dialect::whole::{self, Whole};
use crate::parse::dialect::{self, CallReading, LineRest, Sketch, Token};
use crate::parse::event::{Event, Ignored, Span};
use crate::parse::ignored::IgnoredCall;
use crate::parse::input::Input;
use crate::parse::queue::{Queue, Queued};
use crate::parse::read::bodies_of_dialect;
use crate::parse::reasoning;
use crate::{Dialect, Dialects, FinishReason, Repair, text};
use serde_json::Value;

/// A call whose opening token is in the current line. The parser stays at the beginning of the line until this is
/// certainly a call.
#[derive(Debug)]
pub(super) struct Section {
    opener: &'static str,
    /// The position of the token in the line.
    offset: usize,
    lead: Lead,
    emission: Emission,
    tries: Tries,
    /// Counts the readings of the rest of the line.
    looks: Tries,
    /// What the last reading recognised of the first call.
    sketch: Sketch,
    /// The number of bytes whose JSON was followed, while its first value has not ended.
    followed: Option<usize>,
    /// The final reading, if it is known but not fully emitted.
    decided: Option<CallReading>,
}

/// What precedes the token of a section on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    /// Whitespace, and the markers of list items if the token is in one.
    LineStart { in_item: bool },
    /// A call in a dialect.
    Call,
    /// Other text.
    Prose,
}

/// The part of a section that was emitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Emission {
    /// Nothing until the rest of its line is known, because it may be a quotation.
    Withheld,
    /// Nothing until a call has certainly begun.
    Awaited,
    /// The text before the call was queued, and its block is open.
    Begun,
}

impl Section {
    fn new(opener: &'static str, offset: usize, lead: Lead) -> Box<Section> {
        Box::new(Section {
            opener,
            offset,
            lead,
            emission: if lead == Lead::Prose { Emission::Withheld } else { Emission::Awaited },
            tries: Tries::default(),
            looks: Tries::default(),
            sketch: Sketch::default(),
            followed: Some(0),
            decided: None,
        })
    }

    /// Announces the first call as soon as its name is known.
    fn announce(&mut self, text: &str, block: &mut Block, queue: &mut Queue) {
        if self.emission != Emission::Begun {
            return;
        }
        // Without JSON, the dialect's own reading gives the name; with it, the lexer finds the name as in a block.
        let Some(start) = self.sketch.json else {
            if let Some(name) = &self.sketch.name
                && !block.outline.is_started()
            {
                block.outline.start(name, self.sketch.id.as_deref(), queue);
            }
            return;
        };
        let Some(followed) = self.followed else { return };
        let from = followed.max(start);
        if from < text.len() {
            let continues = block.follow(&text[from..], queue);
            // Only the first call is announced, so nothing after its value is followed.
            self.followed = continues.then_some(text.len());
        }
    }
}

/// The available text of the open section, from its opening token on.
struct SectionText<'a> {
    text: &'a str,
    /// The offset of the text in the reply.
    start: usize,
    /// Whether the text was cut because it exceeds the limit.
    is_over: bool,
    /// How the reply ended, if the text extends to its end.
    ended: Option<FinishReason>,
}

impl SectionText<'_> {
    /// Returns `true` if the text cannot grow.
    fn is_complete(&self) -> bool {
        self.is_over || self.ended.is_some()
    }
}

/// Returns the text of a section that begins `offset` bytes after the parser's place.
fn section_text(input: &Input, limit: usize, offset: usize) -> SectionText<'_> {
    let all = input.slice(input.at + offset, input.len());
    let is_over = all.len() > limit;
    SectionText {
        text: &all[..floor_boundary(all, limit)],
        start: input.offset(input.at + offset),
        is_over,
        ended: input.finished.filter(|_| !is_over),
    }
}

/// Counts the readings of an incomplete text.
#[derive(Debug, Default)]
pub(super) struct Tries {
    count: u32,
    /// Bytes of the text at the last reading.
    seen: usize,
    /// Bytes in which a hint was searched; each byte is searched once.
    searched: usize,
}

/// The maximum number of bytes that precede the token of a dialect on its line: whitespace and the markers of list
/// items.
const MOST_LEAD: usize = 64;

/// The maximum number of readings triggered by a closing token. After these, the text is read again only when it has
/// doubled.
const MOST_TRIES: u32 = 16;

impl Tries {
    /// Returns `true` if a text of this length is worth another reading. `hint` returns whether the bytes from an
    /// offset on suggest that the text is complete.
    fn is_due(&mut self, length: usize, ended: bool, hint: impl FnOnce(usize) -> bool) -> bool {
        if length == self.searched && self.count > 0 && !ended {
            return false; // nothing has arrived since
        }
        // The doubling keeps the total time linear. The hints deliver a complete call at once, and their number is
        // bounded.
        let due = ended || length >= 2 * self.seen || self.count < MOST_TRIES && hint(self.searched);
        self.searched = length;
        if due {
            self.count += 1;
            self.seen = length;
        }
        due
    }
}

impl Parser {
    /// Returns the dialects that are read.
    pub(super) fn dialects(&self) -> Dialects {
        if self.options.strict || self.options.bare { Dialects::NONE } else { self.options.dialects }
    }

    /// Opens a section if the current line, of which `length` bytes have arrived, begins with a token. Returns `true`
    /// if it did.
    pub(super) fn section_opens(&mut self, length: usize, whole: bool, after_call: bool) -> bool {
        let text = self.input.slice(self.input.at, self.input.at + length);
        let Some((offset, in_item, token)) = self.leading_token(text, whole, after_call) else { return false };
        match token {
            Token::Call { opener, .. } => {
                let lead = if after_call { Lead::Call } else { Lead::LineStart { in_item } };
                self.state = ParserState::Section(Section::new(opener, offset, lead));
            }
            Token::Forged(token) => self.forged_token(offset, token),
            Token::None | Token::Undecided => return false,
        }
        true
    }

    /// Returns the token that counts at the beginning of the current line, with its position and whether it is in a
    /// list item.
    fn leading_token(&self, text: &str, whole: bool, after_call: bool) -> Option<(usize, bool, Token)> {
        let dialects = self.dialects();
        if dialects.is_empty() {
            return None;
        }
        // This runs for every piece of an incomplete line, so only [`MOST_LEAD`] bytes are examined.
        let lead = text.bytes().take(MOST_LEAD).take_while(|byte| is_lead(*byte)).count();
        if lead == MOST_LEAD || !text.as_bytes().get(lead).is_some_and(|byte| dialect::may_begin(*byte)) {
            return None; // nearly every line
        }
        let blank = || text.bytes().take(lead).all(|byte| matches!(byte, b' ' | b'\t'));
        if after_call && !blank() {
            return None;
        }
        let (offset, in_item) = if after_call { (lead, false) } else { self.containers.token_place(text)? };
        // A token in a code span that began on an earlier line is quoted.
        let in_span = !after_call && self.containers.in_paragraph() && self.spans.is_open();
        if in_span || self.refused.is_some_and(|refused| refused >= self.input.offset(self.input.at + offset)) {
            return None;
        }
        match dialect::token(&text[offset..], whole, dialects) {
            Token::None | Token::Undecided => None,
            token => Some((offset, in_item, token)),
        }
    }

    /// Searches a line of prose of `length` bytes for tokens that count after other text: the special token of a
    /// dialect, which opens a section, and the closing tag of reasoning. Returns `true` if the parser moved to one of
    /// them.
    pub(super) fn finds_in_prose(&mut self, length: usize, dialects: Dialects) -> bool {
        let mut spans = std::mem::take(&mut self.spans);
        let text = self.input.slice(self.input.at, self.input.at + length);
        // The text before a refused token was read already.
        let start = self.input.offset(self.input.at);
        let from = self.refused.map_or(0, |refused| (refused + 1).saturating_sub(start).min(length));
        let (mut section, mut closing, mut fed) = (None, None, from);
        let mut code_end = self.paragraph.code_end;
        for at in marks(text, from) {
            let rest = &text[at..];
            let tag = if self.queue.is_holding() { reasoning::closing_tag(rest) } else { None };
            let token = dialect::special_token(rest, true, dialects);
            if tag.is_none() && token == Token::None {
                continue; // nearly every position
            }
            spans.feed(&text[fed..at]);
            fed = at;
            if let Token::Call { opener, .. } = token
                && !spans.is_open()
            {
                section = Some(Section::new(opener, at, Lead::Prose));
                break;
            }
            // Tags before `code_end` are in a code span that was found for an earlier tag.
            closing = tag.filter(|tag| start + at >= code_end && self.closes_thought(&rest[tag.close.len()..]));
            if closing.is_none() {
                continue;
            }
            match self.code_span_end(&spans, start + at, start + length) {
                Some(end) => (code_end, closing) = (end, None),
                None => break,
            }
        }
        if section.is_none() && closing.is_none() {
            spans.feed(&text[fed..]);
        }
        self.paragraph.code_end = code_end;
        self.spans = spans;
        match (section, closing) {
            (Some(section), _) => self.state = ParserState::Section(section),
            (None, Some(tag)) => self.close_unopened(fed, tag),
            (None, None) => return false,
        }
        true
    }

    /// Returns `true` if an earlier call would count unless the reply so far is reasoning.
    pub(super) fn follows_call(&self) -> bool {
        self.queue.has_held() || self.ignored.has_candidate()
    }

    /// Returns `true` if a closing tag of reasoning in prose counts. `rest` is the text after it on its line: a call
    /// must precede the tag, or a call or the end of the line must follow it.
    fn closes_thought(&self, rest: &str) -> bool {
        let rest = rest.trim_matches([' ', '\t']);
        if rest.is_empty() || self.follows_call() {
            return true;
        }
        let (dialects, catalog) = (self.dialects(), self.options.catalog.as_deref());
        let is_tool = |opening| is_tool(&opening);
        matches!(dialect::token(rest, true, dialects), Token::Call { .. })
            || fence::opening(rest).is_some_and(is_tool)
            || rest.starts_with(['{', '['])
                && matches!(whole::read(rest, dialects, Some(FinishReason::Stop), catalog), Whole::Calls(..))
    }

    /// Moves the parser `offset` bytes ahead, to a place that is certainly not prose.
    fn advance_to(&mut self, offset: usize) {
        let at = self.input.at + offset;
        let ignored = self.ignored.end_all();
        self.queue_text(at);
        self.queue_ignored(ignored, at);
        let (lines, chars) = reasoning::count_lines(self.input.slice(self.input.at, at));
        self.input.line += lines;
        if lines > 0 {
            self.input.column = 0;
        }
        self.input.pass_within(at, chars);
    }

    /// Handles a token that the model writes in the host's name. Nothing after it in the reply counts.
    fn forged_token(&mut self, offset: usize, token: &str) {
        self.advance_to(offset);
        let span = self.input.span(self.input.at, self.input.at + token.len());
        // As before a forged `tool_result` block, a block under another word is not the last block of the reply.
        self.drop_candidate(self.input.at);
        self.findings = Findings::Block;
        self.block.open(span, self.input.line, BlockForm::Dialect(None), false);
        self.block.take_section(token, self.input.column, None);
        self.queue.push_event(Event::ForgedResult { body: "".into(), span });
        self.pass_section(token.len());
    }

    /// Drops the candidate, a block under a wrong word, because something else in the reply is a call.
    pub(super) fn drop_candidate(&mut self, at: usize) {
        let ignored = self.ignored.drop_candidate();
        self.queue_ignored(ignored, at);
    }

    /// Accepts a block under a wrong word as a call, if the reply ended by itself and contains no other call.
    pub(super) fn accept_candidate(&mut self) {
        let Some(IgnoredCall { draft, body, span, .. }) = self.ignored.take_candidate() else { return };
        self.queue_text(self.input.len());
        self.block.open(span, self.input.line, BlockForm::Dialect(None), false);
        self.block.take_section(&body, 0, None);
        if let Ok(drafts) = self.admit(vec![draft], Ending::Fence) {
            self.queue_calls(drafts, None);
        }
    }

    /// Emits what is known of the open section, reads the available text, and ends the section. The final decision
    /// follows all emitted events, so it does not depend on the chunks.
    pub(super) fn advance_section(&mut self) -> bool {
        self.begin_section();
        let ParserState::Section(section) = &mut self.state else { return false };
        let SectionText { text, .. } = section_text(&self.input, self.options.limits.block, section.offset);
        section.announce(text, &mut self.block, &mut self.queue);
        match section.decided.take() {
            None => self.read_section(),
            Some(CallReading::Calls(dialect, drafts, end)) if !drafts.is_empty() => {
                self.take_calls(dialect, drafts, end)
            }
            Some(reading) => self.take_other_reading(reading),
        }
    }

    /// Reads the open section if enough of it has arrived. Returns `false` if more is needed.
    fn read_section(&mut self) -> bool {
        let (dialects, catalog) = (self.dialects(), self.options.catalog.as_deref());
        let ParserState::Section(section) = &mut self.state else { return false };
        let whole = section_text(&self.input, self.options.limits.block, section.offset);
        let (text, opener) = (whole.text, section.opener);
        let hint = |seen| dialect::may_end(text, seen, opener, dialects);
        if !section.tries.is_due(text.len(), whole.is_complete(), hint) {
            return false;
        }
        let (reading, sketch) = dialect::read(text, opener, dialects, whole.ended, catalog);
        section.sketch = sketch;
        if whole.is_over || !matches!(reading, CallReading::Undecided) {
            section.decided = Some(reading);
        }
        true
    }

    /// Handles the calls of the open section, which end at `end` of its text, once the surrounding text is known: they
    /// may be a quotation or guesses. Returns `false` if more text is needed.
    fn take_calls(&mut self, dialect: Dialect, mut drafts: Vec<Draft>, end: usize) -> bool {
        let followed = self.is_followed(end);
        let ParserState::Section(section) = &mut self.state else { return false };
        let Some(followed) = followed else {
            section.decided = Some(CallReading::Calls(dialect, drafts, end));
            return false;
        };
        let offset = section.offset;
        // Text on both sides: the call is part of a sentence that shows it.
        if followed && section.lead == Lead::Prose {
            self.quote_section(offset, end);
            return true;
        }
        // The call is certainly no quotation. Its beginning is emitted first, and the decision again only after it.
        if section.emission == Emission::Withheld {
            section.emission = Emission::Awaited;
            section.decided = Some(CallReading::Calls(dialect, drafts, end));
            return true;
        }
        // Only the end of a raw text is uncertain, so only such a call must wait for the rest of the reply.
        let stray = if section.sketch.raw { self.has_stray_closer(dialect, end) } else { Some(false) };
        let Some(stray) = stray else {
            if let ParserState::Section(section) = &mut self.state {
                section.decided = Some(CallReading::Calls(dialect, drafts, end));
            }
            return false;
        };
        let needed = [(followed, Repair::TrailingText), (stray, Repair::InnerCloser)];
        for draft in &mut drafts {
            for (_, repair) in needed.iter().filter(|(needed, _)| *needed) {
                if !draft.repairs.contains(repair) {
                    draft.repairs.push(*repair);
                }
            }
        }
        self.advance_to(offset);
        self.end_section(end, Some(dialect), Ok(drafts));
        // The text after the call may be the rest of one of its arguments.
        if stray {
            self.distrust();
        }
        true
    }

    /// Returns whether other text follows the calls that end at `end` of the open section, on the same line. `None` if
    /// more text is needed to tell.
    fn is_followed(&mut self, end: usize) -> Option<bool> {
        let (dialects, catalog) = (self.dialects(), self.options.catalog.as_deref());
        let ParserState::Section(section) = &mut self.state else { return None };
        let whole = section_text(&self.input, self.options.limits.block, section.offset);
        let text = whole.text;
        // One look at the rest of the line answers for all calls on it; a look for each call would take quadratic time.
        if whole.start >= self.line_rest.1 {
            let hint = |seen: usize| text.as_bytes()[seen..].iter().any(|byte| matches!(byte, b'\n' | b'\r'));
            let (rest, at) = match section.looks.is_due(text.len(), whole.is_complete(), hint) {
                true => dialect::line_rest(text, end, dialects, whole.ended, catalog),
                false => (LineRest::Undecided, 0),
            };
            self.line_rest = match rest {
                // No more of the line will be read, so the calls are guesses.
                LineRest::Undecided if whole.is_over => (LineRest::Text, whole.start + text.len()),
                LineRest::Undecided => return None,
                LineRest::Text | LineRest::Nothing => (rest, whole.start + at),
            };
        }
        Some(self.line_rest.0 == LineRest::Text)
    }

    /// Returns whether a closing tag of the dialect follows the call that ends at `end` of the open section, outside of
    /// any call. `None` until the rest of the reply has arrived.
    fn has_stray_closer(&mut self, dialect: Dialect, end: usize) -> Option<bool> {
        let (dialects, catalog) = (self.dialects(), self.options.catalog.as_deref());
        let ParserState::Section(section) = &self.state else { return None };
        let whole = section_text(&self.input, self.options.limits.block, section.offset);
        if !whole.is_complete() {
            return None;
        }
        let SectionText { text, start, .. } = whole;
        let known = self.stray_closers.iter().position(|(found, ..)| *found == dialect);
        let known = known.unwrap_or_else(|| {
            self.stray_closers.push((dialect, false, 0));
            self.stray_closers.len() - 1
        });
        let (_, is_stray, until) = &mut self.stray_closers[known];
        // One search answers for all calls before the tag that it found, so that many calls take linear time.
        if start >= *until {
            let found = dialect::stray_closer(text, end, dialect, dialects, catalog);
            // If the reply was cut off, the closing tags at the end of the text may be missing.
            let rest = text[end..].trim_start();
            let is_cut = whole.ended.is_some_and(FinishReason::is_early)
                && !rest.is_empty()
                && !matches!(dialect::token(rest, true, dialects), Token::Call { .. });
            *is_stray = found.is_some() || whole.is_over || is_cut;
            *until = found.map_or(if whole.is_over { start + text.len() } else { usize::MAX }, |at| start + at);
        }
        Some(*is_stray)
    }

    /// Ends the open section, which contains no readable call. Returns `false` if more text is needed.
    fn take_other_reading(&mut self, reading: CallReading) -> bool {
        let ParserState::Section(section) = &self.state else { return false };
        let (offset, opener, limit) = (section.offset, section.opener, self.options.limits.block);
        let SectionText { text, is_over, ended, .. } = section_text(&self.input, limit, offset);
        match reading {
            CallReading::Undecided if is_over => {
                let length = text.len();
                self.advance_to(offset);
                let problem =
                    Problem::new(0, text!("the call is longer than {most} bytes; split the work", most = limit));
                self.end_section(length, None, Err(problem));
            }
            CallReading::Undecided => return false,
            CallReading::Nothing => self.refuse_section(offset),
            // An answer that ends with the token, for example because it explains the form.
            CallReading::Incomplete(_)
                if ended == Some(FinishReason::Stop) && text[opener.len()..].trim().is_empty() =>
            {
                self.refuse_section(offset);
            }
            CallReading::Incomplete(dialect) => {
                self.advance_to(offset);
                self.incomplete_section(Some(dialect));
            }
            CallReading::Malformed(dialect, problem, end) => {
                self.advance_to(offset);
                self.end_section(end, Some(dialect), Err(problem));
            }
            // The tokens surround text that is no call. They are not shown, and leaving them out makes no gap in the
            // reply.
            CallReading::Calls(_, _, end) => self.think_section(offset, (0, 0), true, end),
            CallReading::Thought { text, closed, end } => self.think_section(offset, text, closed, end),
        }
        true
    }

    /// Ends a section of `length` bytes that is reasoning; `text` is the range between the tags.
    fn think_section(&mut self, offset: usize, text: (usize, usize), closed: bool, length: usize) {
        self.advance_to(offset);
        let at = self.input.at;
        let text = self.input.span(at + text.0, at + text.1);
        let span = self.input.span(at, at + length);
        self.queue.push(Queued::Reasoning { text, span, closed: Some(closed) });
        self.pass_section(length);
    }

    /// Queues the text before the call and opens its block, once a call has certainly begun.
    fn begin_section(&mut self) {
        let ParserState::Section(section) = &mut self.state else { return };
        if section.emission != Emission::Awaited || !section.sketch.begun {
            return;
        }
        section.emission = Emission::Begun;
        // The parser moves to the token, which is then at offset 0.
        let offset = std::mem::take(&mut section.offset);
        self.advance_to(offset);
        self.drop_candidate(self.input.at);
        let span = self.input.span(self.input.at, self.input.at);
        self.block.open(span, self.input.line, BlockForm::Dialect(None), false);
    }

    /// Fills the block of the section, opening it if no beginning of a call was emitted.
    fn section_block(&mut self, span: Span, text: &str, dialect: Option<Dialect>) {
        let begun = matches!(&self.state, ParserState::Section(section) if section.emission == Emission::Begun);
        if begun {
            self.block.span = span;
        } else {
            self.block.open(span, self.input.line, BlockForm::Dialect(None), false);
        }
        self.block.take_section(text, self.input.column, dialect);
    }

    /// Refuses the token, because no call follows it: the line is read again with the token as text.
    fn refuse_section(&mut self, offset: usize) {
        let at = self.input.offset(self.input.at + offset);
        self.refused = Some(at);
        // A line with prose before the token was already classified by CommonMark.
        let ParserState::Section(section) = &self.state else { return };
        self.state = ParserState::Prose(match section.lead {
            Lead::LineStart { .. } => ProsePlace::Line,
            Lead::Call => ProsePlace::AfterCall,
            Lead::Prose => ProsePlace::MidLine,
        });
    }

    /// Treats calls that are surrounded by other text on their line as a quotation and shows them.
    fn quote_section(&mut self, offset: usize, length: usize) {
        let at = self.input.at + offset;
        let span = self.input.span(at, at + length);
        let body = self.input.slice(at, at + length).to_owned().into();
        // The call is also delivered as text, since the sentence around it is for the user.
        self.advance_to(offset + length);
        let why = Ignored::NotAtLineStart;
        self.queue.push_event(Event::Ignored { why, id: None, name: None, body, span });
        self.state = ParserState::Prose(ProsePlace::MidLine);
    }

    fn incomplete_section(&mut self, dialect: Option<Dialect>) {
        self.drop_candidate(self.input.at);
        let text = self.input.slice(self.input.at, self.input.len()).to_owned();
        let span = self.input.span(self.input.at, self.input.len());
        self.section_block(span, &text, dialect);
        self.queue_incomplete();
        self.input.use_up(span.end);
        self.finish_reply();
    }

    /// Ends the section `length` bytes after its beginning.
    fn end_section(&mut self, length: usize, dialect: Option<Dialect>, read: Result<Vec<Draft>, Problem>) {
        let (mid_line, in_item) = match &self.state {
            ParserState::Section(section) => {
                (section.lead == Lead::Prose, section.lead == Lead::LineStart { in_item: true })
            }
            _ => (false, false),
        };
        let at = self.input.at;
        self.drop_candidate(at);
        self.findings = Findings::Block;
        let span = self.input.span(at, at + length);
        let text = self.input.slice(at, at + length).to_owned();
        self.section_block(span, &text, dialect);
        let profile = self.options.dialect;
        let read = read.map(|mut drafts| {
            for draft in &mut drafts {
                // A model that is known to write this dialect may do so after prose; from any other model, that is a
                // guess.
                let other = profile.is_some_and(|known| dialect != Some(known));
                let lines = in_item && draft.args.values().any(holds_lines);
                let needed = [
                    (mid_line && (profile.is_none() || other), Repair::MidLine),
                    (other, Repair::OtherDialect),
                    (lines, Repair::IndentedText),
                ];
                draft.repairs.extend(needed.iter().filter(|(needed, _)| *needed).map(|(_, repair)| repair));
            }
            drafts
        });
        let read = read.and_then(|mut drafts| {
            bodies_of_dialect(&mut drafts, self.options.catalog.as_deref())?;
            Ok(drafts)
        });
        // `Ending::Fence` adds no repair: a call in a dialect has no fence that could be missing or glued.
        match read.and_then(|drafts| self.admit(drafts, Ending::Fence)) {
            Ok(drafts) => self.queue_calls(drafts, dialect),
            Err(problem) => {
                self.distrust();
                self.queue_malformed(&problem);
            }
        }
        self.pass_section(length);
    }

    /// Continues after a section.
    fn pass_section(&mut self, length: usize) {
        let at = self.input.at;
        let (lines, chars) = reasoning::count_lines(self.input.slice(at, at + length));
        self.input.line += lines;
        if lines > 0 {
            self.input.column = 0;
        }
        self.input.pass_within(at + length, chars);
        self.input.use_up(self.input.offset(at + length));
        self.containers.close_leaf();
        self.spans.end_paragraph();
        self.state = ParserState::Prose(ProsePlace::AfterCall);
    }

    /// Reads the reply, or the text after reasoning, as calls from end to end. Returns `true` if it must wait for more
    /// text.
    pub(super) fn awaits_whole_reply(&mut self) -> bool {
        let dialects = self.dialects();
        let ended = self.input.finished;
        let text = self.input.slice(self.input.at, self.input.len());
        let ParserState::Prose(ProsePlace::Document(tries)) = &mut self.state else { return false };
        // Preceding lines of whitespace are consumed one by one; deep indentation on this line makes it code.
        if text.bytes().take(MOST_LEAD).take_while(|byte| matches!(byte, b' ' | b'\t')).count() > 3 {
            self.state = ParserState::Prose(ProsePlace::Line);
            return false;
        }
        let calls = text.trim_start();
        let blanks = text.len() - calls.len();
        if calls.is_empty() && ended.is_none() && !dialects.is_empty() {
            return false; // the whitespace is shown; the beginning is yet to come
        }
        // Code that is indented by four columns is quoted.
        let indent = text[..blanks].rsplit(['\n', '\r']).next().unwrap_or_default();
        let quoted = indent.len() > 3 || indent.contains('\t');
        let fits = !dialects.is_empty() && !quoted && calls.len() <= self.options.limits.block;
        // Up to 256 bytes, the first pieces are read one by one, so that an answer is not held back until its text has
        // doubled.
        let due = tries.is_due(calls.len(), ended.is_some(), |before| before < 256);
        if fits && !due {
            return true;
        }
        let read =
            if fits { whole::read(calls, dialects, ended, self.options.catalog.as_deref()) } else { Whole::Nothing };
        if let Whole::Undecided = read {
            return true;
        }
        self.state = ParserState::Prose(ProsePlace::Line);
        match read {
            Whole::Undecided | Whole::Nothing => {}
            Whole::Calls(dialect, drafts) => {
                let length = calls.trim_end().len();
                self.advance_to(blanks);
                self.end_section(length, Some(dialect), Ok(drafts));
            }
            Whole::Malformed(dialect, problem) => {
                let length = calls.trim_end().len();
                self.advance_to(blanks);
                self.end_section(length, Some(dialect), Err(problem));
            }
            Whole::Incomplete(dialect) => {
                self.advance_to(blanks);
                self.incomplete_section(Some(dialect));
            }
        }
        false
    }
}

fn holds_lines(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\n'),
        Value::Array(items) => items.iter().any(holds_lines),
        Value::Object(members) => members.values().any(holds_lines),
        _ => false,
    }
}
