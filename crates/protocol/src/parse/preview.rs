//! What is known of a block's calls while it is still being written: names, ids, which argument is growing, and where
//! verbatim bodies are announced.
//!
//! It listens to the strict lexer and judges nothing. Everything it finds is provisional.

use super::call::{is_args, is_name, is_wrapper};
use super::ids::Ids;
use super::queue::Queue;
use crate::json::Watch;

/// A verbatim body that was announced: `"<<TAG"` as a string value inside the arguments.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) tag: String,
    /// The raw token in the block's body.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The argument: `content`, or `edits/0/replacement`.
    pub(super) arg: String,
    /// Which call of the block.
    call: usize,
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
    /// Its provisional id.
    started: Option<String>,
}

/// Bytes of the path to a value that are kept. A longer one is cut: every argument has its own, and one long key before
/// many values would make them as many times as long.
const MOST_PATH: usize = 256;

/// What is known of a block.
#[derive(Debug, Default)]
pub(super) struct Preview {
    pub(super) ids: Ids,
    pub(super) tags: Vec<Tag>,
    /// Byte ranges of the complete values.
    pub(super) values: Vec<(usize, usize)>,
    /// The complete calls.
    calls: Vec<Call>,
    /// The open one.
    call: Call,
    /// Nothing more is told: the end of the block is undecided.
    pub(super) muted: bool,
    /// An argument was told that does not stand in an object of arguments.
    pub(super) loose: bool,
    frames: Vec<Frame>,
    /// The keys and indices that lead to the current value, joined by `/`.
    path: String,
    value_start: usize,
    /// The depth whose keys are the envelope's: 1 in an object, 2 in an array of calls, one more in a wrapper.
    envelope: usize,
    /// The same without a wrapper.
    outer: usize,
    /// The text of a name, an id or what may be a tag.
    short: String,
    role: Role,
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

impl Preview {
    /// Forgets the block, but not who has which id.
    pub(super) fn reset(&mut self) {
        self.tags.clear();
        self.values.clear();
        self.calls.clear();
        self.call = Call::default();
        self.muted = false;
        self.loose = false;
        self.frames.clear();
        self.path.clear();
        self.short.clear();
        self.role = Role::Undecided;
    }

    /// The id under which the block is withdrawn: that of its first call.
    pub(super) fn first_id(&mut self) -> String {
        let known = self.calls.iter().chain([&self.call]).find_map(|call| call.started.clone());
        known.unwrap_or_else(|| self.ids.give())
    }

    /// Gives away the id under which the call was started, if it was.
    pub(super) fn take_provisional(&mut self, index: usize) -> Option<String> {
        let open = (index == self.calls.len()).then_some(&mut self.call);
        self.calls.get_mut(index).or(open)?.started.take()
    }

    /// The tool that a verbatim body is for, where it is named.
    pub(super) fn tool(&self, tag: &Tag) -> Option<&str> {
        self.calls.get(tag.call).unwrap_or(&self.call).name.as_deref()
    }

    /// More of a verbatim body, for the live preview.
    pub(super) fn body_text(&self, index: usize, text: &str, first: bool, found: &mut Queue) {
        let Some(tag) = self.tags.get(index).filter(|tag| !self.muted && tag.call == 0) else { return };
        let call = self.calls.first().unwrap_or(&self.call);
        match &call.started {
            Some(id) if first => found.argument(id, &tag.arg, text),
            Some(_) => found.progress(text),
            None => {}
        }
    }

    /// Whether text of a string is told as it comes, and nothing else is done with it.
    pub(super) fn tells_text(&self) -> bool {
        self.role == Role::Argument && self.tells()
    }

    fn tells(&self) -> bool {
        self.previews() && self.call.started.is_some()
    }

    /// Whether something is told of the open call: of several in a block only of the first, for a block is withdrawn by one id.
    fn previews(&self) -> bool {
        !self.muted && self.calls.is_empty()
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

    /// The path below the arguments.
    fn argument(&self) -> &str {
        let above = self.frames.len().min(self.envelope + 1) - 1;
        &self.path[self.frames[above].step..]
    }

    /// The role of a string value that begins.
    fn string_role(&mut self, found: &mut Queue) -> Role {
        self.begin_step();
        if self.in_args() {
            self.start(found);
            self.loose |= !self.frames.get(self.envelope).is_some_and(|frame| frame.object);
            return Role::MaybeTag;
        }
        let at_envelope = self.frames.len() == self.envelope;
        match self.key() {
            Some("id") if at_envelope => Role::Id,
            Some(key) if at_envelope && is_name(key) => Role::Name,
            _ => Role::Other,
        }
    }

    /// Tells of the call as soon as its name is known and its arguments begin.
    fn start(&mut self, found: &mut Queue) {
        let Some(name) = self.call.name.as_deref().filter(|_| self.call.started.is_none()) else { return };
        let id = self.ids.take(self.call.model_id.as_deref()).unwrap_or_else(|| self.ids.give());
        if self.previews() {
            found.started(&id, name);
        }
        self.call.started = Some(id);
    }

    /// What may have been a tag is text of an argument.
    fn tell_short(&mut self, found: &mut Queue) {
        if let Some(id) = self.call.started.as_deref().filter(|_| self.previews()) {
            found.argument(id, self.argument(), &self.short);
        }
        self.short.clear();
    }

    /// Adds to the path, as long as it is not too long.
    fn lead(&mut self, piece: &str) {
        if self.path.len() + piece.len() <= MOST_PATH {
            return self.path.push_str(piece);
        }
        for c in piece.chars() {
            if self.path.len() >= MOST_PATH {
                return;
            }
            self.path.push(c);
        }
    }

    /// A key begins: it takes the place of the one before.
    fn begin_key(&mut self) {
        let step = self.frames.last().map_or(0, |frame| frame.step);
        self.path.truncate(step);
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

/// Whether `text` is, or (where more may come) could become, `<<TAG`.
fn may_be_tag(text: &str) -> bool {
    let marks = text.bytes().take_while(|byte| *byte == b'<').count();
    let name = &text.as_bytes()[marks..];
    match marks {
        0 | 1 => name.is_empty(),
        2 => is_tag_name(name, true),
        _ => false,
    }
}

/// Whether this is a TAG, from its `beginning` or further on.
fn is_tag_name(name: &[u8], beginning: bool) -> bool {
    name.first().is_none_or(|first| !beginning || first.is_ascii_uppercase())
        && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// The TAG of `<<TAG`.
pub(super) fn tag_of(text: &str) -> Option<&str> {
    text.strip_prefix("<<").filter(|tag| !tag.is_empty() && is_tag_name(tag.as_bytes(), true))
}

/// Whether `text` ends in what is most likely the announcement of a body that was written wrong: `<<'EOF'`, `<<eof`, `<EOF`,
/// `x<<EOF`, `<.<EOF`, and not in code such as `<div` or `cout << 1`.
pub(super) fn is_mistyped_tag(text: &str) -> bool {
    let last = text.split_whitespace().next_back().unwrap_or_default();
    if last.len() >= 64 || tag_of(text).is_some() {
        return false;
    }
    if text.len() < 64 && is_marked_tag(text.trim()) {
        return true;
    }
    let bare = last.trim_end_matches(['\'', '"']);
    let name = bare.bytes().rev().take_while(|byte| is_tag_name(&[*byte], false)).count();
    let (marks, name) = bare.split_at(bare.len() - name);
    let like_tag = !name.is_empty() && is_tag_name(name.as_bytes(), true);
    last.starts_with("<<") || like_tag && (marks.contains("<<") || marks.starts_with('<'))
}

/// Whether `text` is a TAG and marks: `<EOF>`, `<< "EOF"`, `$EOF`, `&lt;&lt;EOF`.
fn is_marked_tag(text: &str) -> bool {
    let plain = text.replace("&lt;", "<");
    let name = plain.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    name.len() < plain.len() && !name.is_empty() && is_tag_name(name.as_bytes(), true)
}

/// Whether `text` may be the announcement of a body that was written wrong, where lines behind the object may be that body.
pub(super) fn is_nearly_tag(text: &str) -> bool {
    let word = text.trim_start_matches('<').trim_matches(['-', '\'', '"', ' ']);
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let like_tag = is_word || text.ends_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    tag_of(text).is_none() && (text.contains("<<") || (text.starts_with('<') && text.len() < 64 && like_tag))
}

/// The lexer's listener: what is known, and where provisional events go.
pub(super) struct Listener<'a> {
    pub(super) track: &'a mut Preview,
    pub(super) found: &'a mut Queue,
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
        } else {
            let arguments = depth == track.envelope && track.key().is_some_and(is_args);
            track.loose |= depth == track.envelope && !arguments;
            if arguments || track.in_args() {
                track.start(self.found);
            }
        }
        if depth > 0 {
            track.path.push('/');
        }
        track.frames.push(Frame { step: track.path.len(), object, index: 0 });
    }

    fn close(&mut self, end: usize) {
        let track = &mut *self.track;
        if track.frames.len() == track.envelope {
            track.start(self.found);
            track.calls.push(std::mem::take(&mut track.call));
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
                track.begin_key();
            }
            return track.lead(piece);
        }
        if track.role == Role::Undecided {
            track.role = track.string_role(self.found);
        }
        match track.role {
            Role::Name | Role::Id => track.short.push_str(piece),
            Role::Argument if track.tells() => self.found.progress(piece),
            Role::MaybeTag => {
                let goes_on = track.short.len() > 2 && is_tag_name(piece.as_bytes(), false);
                track.short.push_str(piece);
                if !goes_on && !may_be_tag(&track.short) {
                    track.role = Role::Argument;
                    track.tell_short(self.found);
                }
            }
            Role::Argument | Role::Other | Role::Undecided => {}
        }
    }

    fn text_end(&mut self, key: bool, start: usize, end: usize, escaped: bool) {
        let track = &mut *self.track;
        let role = std::mem::take(&mut track.role);
        if key {
            if role == Role::Undecided {
                track.begin_key(); // the empty key
            }
            return;
        }
        match role {
            Role::Name => track.call.name = Some(std::mem::take(&mut track.short)),
            Role::Id => track.call.model_id = Some(std::mem::take(&mut track.short)),
            Role::MaybeTag => match tag_of(&track.short).filter(|_| !escaped) {
                Some(tag) => {
                    let (tag, arg) = (tag.to_owned(), track.argument().to_owned());
                    track.tags.push(Tag { tag, start, end, arg, call: track.calls.len() });
                    track.short.clear();
                }
                None => track.tell_short(self.found),
            },
            Role::Argument | Role::Other | Role::Undecided => {}
        }
        track.end_step();
    }

    fn scalar(&mut self) {
        self.track.end_step();
    }
}
