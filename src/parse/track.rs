//! What is known of a block's calls while it is still being written: names, ids, which argument is growing, and where
//! verbatim bodies are announced.
//!
//! It listens to the strict lexer and judges nothing. Everything it emits is provisional.

use super::envelope::{is_args, is_name, is_wrapper};
use super::event::Event;
use super::ids::Ids;
use crate::json::Watch;
use std::collections::VecDeque;
use std::sync::Arc;

/// A verbatim body that was announced: `"<<TAG"` as a string value inside the arguments.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) tag: String,
    /// The raw token in the block's body.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The argument: `content`, or `edits/0/replacement`.
    pub(super) arg: Arc<str>,
    /// The tool, when it was named before.
    pub(super) tool: Option<String>,
    /// The provisional id of the call.
    id: Option<Arc<str>>,
}

/// An open object or array: where the step that leads into it begins in the path, and the number of the next element.
#[derive(Debug, Clone, Copy)]
struct Frame {
    step: usize,
    object: bool,
    index: usize,
}

/// A call of the block as far as it is known.
#[derive(Debug, Default)]
struct Call {
    name: Option<String>,
    model_id: Option<String>,
    started: Option<Arc<str>>,
}

/// What is known of a block.
#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) ids: Ids,
    pub(super) tags: Vec<Tag>,
    /// Byte ranges of the complete values.
    pub(super) values: Vec<(usize, usize)>,
    /// The provisional ids by call.
    started: Vec<Option<Arc<str>>>,
    /// Nothing more is emitted: the end of the block is undecided.
    pub(super) muted: bool,
    frames: Vec<Frame>,
    /// The keys and indices that lead to the current value, joined by `/`.
    path: String,
    value_start: usize,
    /// The depth whose keys are the envelope's: 1 in an object, 2 in an array of calls, one more in a wrapper.
    envelope: usize,
    /// The same without a wrapper.
    outer: usize,
    call: Call,
    /// The text of a name, an id or what may be a tag.
    short: String,
    role: Role,
    arg: Option<Arc<str>>,
}

/// What the string that is being read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Role {
    /// Its first piece decides.
    #[default]
    Undecided,
    Other,
    Name,
    Id,
    /// Text of an argument; it may still turn out to be a tag.
    MaybeTag,
    /// Text of an argument.
    Argument,
}

impl Track {
    pub(super) fn new(ids: Ids) -> Track {
        Track { ids, ..Track::default() }
    }

    /// The id under which the block is withdrawn: that of its first call.
    pub(super) fn first_id(&mut self) -> Arc<str> {
        let known = self.started.iter().flatten().next().or(self.call.started.as_ref()).cloned();
        known.unwrap_or_else(|| self.ids.give())
    }

    /// The id under which the call was started, if it was.
    pub(super) fn provisional(&self, index: usize) -> Option<Arc<str>> {
        match self.started.get(index) {
            Some(started) => started.clone(),
            None => self.call.started.clone().filter(|_| index == self.started.len()),
        }
    }

    /// More of a verbatim body, for the live preview.
    pub(super) fn body_text(&self, tag: usize, text: &str, events: &mut VecDeque<Event>) {
        if let Some(Tag { id: Some(id), arg, .. }) = self.tags.get(tag).filter(|_| !self.muted) {
            grow(id, arg, text, events);
        }
    }

    /// The key of the current value, where it stands in an object.
    fn key(&self) -> Option<&str> {
        let frame = self.frames.last()?;
        frame.object.then(|| &self.path[frame.step..])
    }

    /// A value begins: whether it belongs to the arguments of a call.
    fn in_args(&self) -> bool {
        match self.frames.len() {
            depth if depth > self.envelope => true,
            depth if depth == self.envelope => {
                self.key().is_some_and(|key| !is_name(key) && !is_args(key) && !matches!(key, "id" | "reason"))
            }
            _ => false,
        }
    }

    /// Where the path below the arguments begins.
    fn argument(&self) -> &str {
        let above = self.frames.len().min(self.envelope + 1) - 1;
        &self.path[self.frames[above].step..]
    }

    /// The role of a string value that begins.
    fn string_role(&mut self, events: &mut VecDeque<Event>) -> Role {
        self.begin_step();
        if self.in_args() {
            self.start(events);
            self.arg = Some(self.argument().into());
            return Role::MaybeTag;
        }
        let at_envelope = self.frames.len() == self.envelope;
        match self.key() {
            Some("id") if at_envelope => Role::Id,
            Some(key) if at_envelope && is_name(key) => Role::Name,
            _ => Role::Other,
        }
    }

    /// Emits `started` as soon as the name is known and the arguments begin.
    fn start(&mut self, events: &mut VecDeque<Event>) {
        let Some(name) = self.call.name.as_ref().filter(|_| self.call.started.is_none()) else { return };
        let name = name.clone();
        let id = self.ids.take(self.call.model_id.as_deref()).unwrap_or_else(|| self.ids.give());
        self.call.started = Some(id.clone());
        if !self.muted {
            events.push_back(Event::Started { id, name });
        }
    }

    fn progress(&self, text: &str, events: &mut VecDeque<Event>) {
        if let (Some(id), Some(arg), false) = (&self.call.started, &self.arg, self.muted) {
            grow(id, arg, text, events);
        }
    }

    /// An element of an array begins: its number is the last step of the path.
    fn begin_step(&mut self) {
        if let Some(Frame { step, object: false, index }) = self.frames.last().copied() {
            self.path.truncate(step);
            self.path.push_str(&index.to_string());
        }
    }

    fn end_step(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.index += 1;
        }
    }
}

/// Tells more text of an argument. What was not polled yet takes it in: a queue of pieces would cost many times the text.
fn grow(id: &Arc<str>, arg: &Arc<str>, text: &str, events: &mut VecDeque<Event>) {
    match events.back_mut() {
        _ if text.is_empty() => {}
        Some(Event::Progress { id: same, arg: open, text: so_far })
            if Arc::ptr_eq(same, id) && Arc::ptr_eq(open, arg) =>
        {
            so_far.push_str(text);
        }
        _ => events.push_back(Event::Progress { id: id.clone(), arg: arg.clone(), text: text.to_owned() }),
    }
}

/// Whether `text` is, or (where more may come) could become, `<<TAG`.
fn may_be_tag(text: &str) -> bool {
    let marks = text.bytes().take_while(|byte| *byte == b'<').count();
    let name = &text.as_bytes()[marks..];
    match marks {
        0 | 1 => name.is_empty(),
        2 => is_tag_name(name),
        _ => false,
    }
}

fn is_tag_name(name: &[u8]) -> bool {
    name.first().is_none_or(u8::is_ascii_uppercase)
        && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// The TAG of `<<TAG`.
pub(super) fn tag_of(text: &str) -> Option<&str> {
    text.strip_prefix("<<").filter(|tag| !tag.is_empty() && is_tag_name(tag.as_bytes()))
}

/// The lexer's listener: what is known, and where provisional events go.
pub(super) struct Listener<'a> {
    pub(super) track: &'a mut Track,
    pub(super) events: &'a mut VecDeque<Event>,
}

impl Watch for Listener<'_> {
    fn open(&mut self, object: bool, at: usize) {
        let track = &mut *self.track;
        let depth = track.frames.len();
        track.begin_step();
        if depth == 0 {
            track.value_start = at;
            track.outer = if object { 1 } else { 2 };
            track.envelope = track.outer;
        } else if object && depth == track.envelope && track.key().is_some_and(is_wrapper) {
            track.envelope += 1;
        } else if depth == track.envelope && track.key().is_some_and(is_args) || track.in_args() {
            track.start(self.events);
        }
        if depth > 0 {
            track.path.push('/');
        }
        track.frames.push(Frame { step: track.path.len(), object, index: 0 });
    }

    fn close(&mut self, end: usize) {
        let track = &mut *self.track;
        if track.frames.len() == track.envelope {
            track.start(self.events);
            let call = std::mem::take(&mut track.call);
            track.started.push(call.started);
        }
        if let Some(frame) = track.frames.pop() {
            track.path.truncate(frame.step.saturating_sub(1));
        }
        if track.frames.len() < track.outer {
            track.envelope = track.outer;
        }
        if track.frames.is_empty() {
            track.values.push((track.value_start, end));
        }
        track.end_step();
    }

    fn text(&mut self, piece: &str, key: bool) {
        let track = &mut *self.track;
        if key {
            if track.role == Role::Undecided {
                track.role = Role::Other;
                let step = track.frames.last().map_or(0, |frame| frame.step);
                track.path.truncate(step);
            }
            return track.path.push_str(piece);
        }
        if track.role == Role::Undecided {
            track.role = track.string_role(self.events);
        }
        match track.role {
            Role::Name | Role::Id => track.short.push_str(piece),
            Role::Argument => track.progress(piece, self.events),
            Role::MaybeTag => {
                track.short.push_str(piece);
                if !may_be_tag(&track.short) {
                    track.role = Role::Argument;
                    track.progress(&track.short, self.events);
                    track.short.clear();
                }
            }
            Role::Other | Role::Undecided => {}
        }
    }

    fn text_end(&mut self, key: bool, start: usize, end: usize, escaped: bool) {
        let track = &mut *self.track;
        let role = std::mem::take(&mut track.role);
        if key {
            if role == Role::Undecided {
                let step = track.frames.last().map_or(0, |frame| frame.step);
                track.path.truncate(step); // the empty key
            }
            return;
        }
        match role {
            Role::Name => track.call.name = Some(std::mem::take(&mut track.short)),
            Role::Id => track.call.model_id = Some(std::mem::take(&mut track.short)),
            Role::MaybeTag => {
                match tag_of(&track.short).filter(|_| !escaped) {
                    Some(tag) => track.tags.push(Tag {
                        tag: tag.to_owned(),
                        start,
                        end,
                        arg: track.arg.clone().unwrap_or_default(),
                        tool: track.call.name.clone(),
                        id: track.call.started.clone(),
                    }),
                    None => track.progress(&track.short, self.events),
                }
                track.short.clear();
            }
            Role::Argument | Role::Other | Role::Undecided => {}
        }
        track.end_step();
    }

    fn scalar(&mut self) {
        self.track.end_step();
    }
}
