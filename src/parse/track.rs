//! What is known of a block's calls while it is still being written: names, ids, which argument is growing, and where
//! verbatim bodies are announced.
//!
//! It listens to the strict lexer and judges nothing. Everything it emits is provisional.

use super::envelope::{is_args, is_name, is_wrapper};
use super::event::Event;
use crate::json::Watch;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// The ids of a reply: those the model gave, and the next one to give.
#[derive(Debug, Default)]
pub(super) struct Ids {
    used: HashSet<String>,
    given: usize,
}

impl Ids {
    /// Takes the model's id, unless it gave none or gave it before.
    pub(super) fn take(&mut self, wanted: Option<&str>) -> Option<Arc<str>> {
        let id = wanted.filter(|id| !id.is_empty() && !self.used.contains(*id))?;
        self.used.insert(id.to_owned());
        Some(id.into())
    }

    /// An id nobody has.
    pub(super) fn give(&mut self) -> Arc<str> {
        loop {
            self.given += 1;
            let id = format!("call_{}", self.given);
            if let Some(id) = self.take(Some(&id)) {
                return id;
            }
        }
    }
}

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

#[derive(Debug)]
enum Frame {
    Object(String),
    Array(usize),
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
    pub(super) events: VecDeque<Event>,
    pub(super) tags: Vec<Tag>,
    /// Byte ranges of the complete values.
    pub(super) values: Vec<(usize, usize)>,
    /// The provisional ids by call.
    started: Vec<Option<Arc<str>>>,
    /// Nothing more is emitted: the end of the block is undecided.
    pub(super) muted: bool,
    frames: Vec<Frame>,
    value_start: usize,
    /// The depth whose keys are the envelope's: 1 in an object, 2 in an array of calls, one more in a wrapper.
    envelope: usize,
    /// The same without a wrapper.
    outer: usize,
    call: Call,
    /// The text of a key, a name, an id or what may be a tag.
    short: String,
    /// What the string that is being read is.
    role: Role,
    arg: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Role {
    #[default]
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
    pub(super) fn body_text(&mut self, tag: usize, text: &str) {
        let Some(Tag { id: Some(id), arg, .. }) = self.tags.get(tag) else { return };
        let event = Event::Progress { id: id.clone(), arg: arg.clone(), text: text.to_owned() };
        if !self.muted {
            self.events.push_back(event);
        }
    }

    fn key(&self) -> Option<&str> {
        match self.frames.last() {
            Some(Frame::Object(key)) => Some(key),
            _ => None,
        }
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

    /// Emits `started` as soon as the name is known and the arguments begin.
    fn start(&mut self) {
        if self.call.started.is_some() || self.call.name.is_none() {
            return;
        }
        let id = self.ids.take(self.call.model_id.as_deref()).unwrap_or_else(|| self.ids.give());
        self.call.started = Some(id.clone());
        let name = self.call.name.clone().unwrap_or_default();
        if !self.muted {
            self.events.push_back(Event::Started { id, name });
        }
    }

    /// The path of the value that begins, below the arguments.
    fn path(&self) -> String {
        let beside = self.frames.len() == self.envelope;
        let below = self.frames.iter().skip(self.envelope - usize::from(beside));
        let steps: Vec<String> = below
            .map(|frame| match frame {
                Frame::Object(key) => key.clone(),
                Frame::Array(index) => index.to_string(),
            })
            .collect();
        steps.join("/")
    }

    fn progress(&mut self, text: String) {
        let Some(id) = self.call.started.clone() else { return };
        if !self.muted && !text.is_empty() {
            self.events.push_back(Event::Progress { id, arg: self.arg.clone(), text });
        }
    }

    /// The role of a string value that begins.
    fn string_role(&mut self) -> Role {
        if self.in_args() {
            self.start();
            self.arg = self.path().into();
            return Role::MaybeTag;
        }
        let at_envelope = self.frames.len() == self.envelope;
        match self.key() {
            Some("id") if at_envelope => Role::Id,
            Some(key) if at_envelope && is_name(key) => Role::Name,
            _ => Role::Other,
        }
    }

    fn next_element(&mut self) {
        if let Some(Frame::Array(index)) = self.frames.last_mut() {
            *index += 1;
        }
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

impl Watch for Track {
    fn open(&mut self, object: bool, at: usize) {
        let depth = self.frames.len();
        if depth == 0 {
            self.value_start = at;
            self.outer = if object { 1 } else { 2 };
            self.envelope = self.outer;
        } else if object && depth == self.envelope && self.key().is_some_and(is_wrapper) {
            self.envelope += 1;
        } else if depth == self.envelope && self.key().is_some_and(is_args) || self.in_args() {
            self.start();
        }
        self.frames.push(if object { Frame::Object(String::new()) } else { Frame::Array(0) });
    }

    fn close(&mut self, end: usize) {
        if self.frames.len() == self.envelope {
            self.start();
            self.started.push(self.call.started.clone());
            self.call = Call::default();
        }
        self.frames.pop();
        if self.frames.len() < self.outer {
            self.envelope = self.outer;
        }
        if self.frames.is_empty() {
            self.values.push((self.value_start, end));
        } else {
            self.next_element();
        }
    }

    fn text(&mut self, piece: &str, key: bool) {
        if key {
            self.short.push_str(piece);
            return;
        }
        if self.role == Role::Other && self.short.is_empty() {
            self.role = self.string_role();
            self.short.push('\0'); // the role of this string is decided
        }
        match self.role {
            Role::Name | Role::Id => self.short.push_str(piece),
            Role::Argument => self.progress(piece.to_owned()),
            Role::MaybeTag => {
                self.short.push_str(piece);
                if !may_be_tag(&self.short[1..]) {
                    self.role = Role::Argument;
                    let text = self.short[1..].to_owned();
                    self.progress(text);
                }
            }
            Role::Other => {}
        }
    }

    fn text_end(&mut self, key: bool, start: usize, end: usize, escaped: bool) {
        let short = std::mem::take(&mut self.short);
        if key {
            if let Some(Frame::Object(current)) = self.frames.last_mut() {
                *current = short;
            }
            return;
        }
        let text = short.strip_prefix('\0').unwrap_or_default();
        match std::mem::take(&mut self.role) {
            Role::Name => self.call.name = Some(text.to_owned()),
            Role::Id => self.call.model_id = Some(text.to_owned()),
            Role::MaybeTag => match tag_of(text) {
                Some(tag) if !escaped => self.tags.push(Tag {
                    tag: tag.to_owned(),
                    start,
                    end,
                    arg: self.arg.clone(),
                    tool: self.call.name.clone(),
                    id: self.call.started.clone(),
                }),
                _ => self.progress(text.to_owned()),
            },
            Role::Argument | Role::Other => {}
        }
        self.next_element();
    }

    fn scalar(&mut self) {
        self.next_element();
    }
}
