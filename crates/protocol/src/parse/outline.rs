//! What the strict lexer finds in the JSON of a block while it streams: its values, the announcements of verbatim
//! bodies, and the first call, whose name and texts are emitted as they arrive.
//!
//! The events are provisional; the block is read as calls when it has ended. They are emitted if an object of arguments
//! follows the name of the call. [`call`](super::call) reads such an object either as that call or not at all, whatever
//! follows.

use super::call::{is_args, is_name, is_wrapper, strip_decoration};
use super::queue::Queue;
use super::tag::{MOST_LOOSE, is_tag_name, loose_word, may_be_tag, tag_of};
use crate::clip::floor_boundary;
use crate::json::Watch;

/// The announcement of a verbatim body: `"<<TAG"` as a string value inside the arguments.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) tag: String,
    /// Whether the announcement is inexact: `<<eof`, `<<'EOF'`. It may be literal text.
    pub(super) loose: bool,
    pub(super) token: StringValue,
}

/// A string value inside the arguments.
#[derive(Debug, Clone)]
pub(super) struct StringValue {
    /// The range of the raw token in the block's body.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The keys that lead to it: `content`, or `edits/replacement`.
    pub(super) arg: String,
    /// The index of the call in the block.
    call: usize,
    /// Whether its text is emitted as it arrives.
    emitted: bool,
}

/// The maximum number of bytes in a key, and in the keys that lead to a value. Longer ones are cut: every argument
/// stores its own, and one long key before many values would multiply its length.
const MOST_KEY: usize = 256;

/// An open object or array.
#[derive(Debug)]
enum OpenValue {
    Array,
    /// An object with its current key.
    Object(String),
}

/// The known structure of a block.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// Byte ranges of the complete values.
    pub(super) values: Vec<(usize, usize)>,
    pub(super) tags: Vec<Tag>,
    /// Strings that begin like an announcement but are not one.
    pub(super) marked: Vec<StringValue>,
    /// The id of the announced call, which is the first one of its block.
    started: Option<String>,
    /// The names of the complete calls.
    calls: Vec<Option<String>>,
    /// The name of the open call, without decoration.
    name: Option<String>,
    /// The model's id of the open call.
    model_id: Option<String>,
    frames: Vec<OpenValue>,
    /// How many of the open frames surround the members of a call: arrays of calls, wrappers, and the object of the
    /// call.
    envelope: usize,
    value_start: usize,
    string: StringRole,
}

/// The role of the string that is being read.
#[derive(Debug, Default)]
enum StringRole {
    /// Not known before the first piece.
    #[default]
    Undecided,
    Other,
    Name(String),
    Id(String),
    /// Text of an argument that may still turn out to be a tag.
    MaybeTag(String),
    /// Text of an argument.
    Argument,
    /// Text of an argument that begins like a tag.
    Marked,
}

impl Outline {
    /// Returns the id under which the block is withdrawn: that of its first call.
    pub(super) fn first_id(&self, queue: &mut Queue) -> String {
        self.started.clone().unwrap_or_else(|| queue.ids.assign())
    }

    /// Returns `true` if the first call was announced.
    pub(super) fn is_started(&self) -> bool {
        self.started.is_some()
    }

    /// Returns the name of the first call if it was announced or is complete.
    pub(super) fn first_name(&self) -> Option<&str> {
        match self.calls.first() {
            Some(complete) => complete.as_deref(),
            None if self.is_started() => self.name.as_deref(),
            None => None,
        }
    }

    /// Takes the id under which the first call was announced.
    pub(super) fn take_started(&mut self) -> Option<String> {
        self.started.take()
    }

    /// Returns the tool to whose arguments a string belongs, if it is named.
    pub(super) fn tool(&self, token: &StringValue) -> Option<&str> {
        self.calls.get(token.call).unwrap_or(&self.name).as_deref()
    }

    /// Returns `true` if there was a string that begins like an announcement but is not one.
    pub(super) fn has_mark(&self) -> bool {
        !self.marked.is_empty() || matches!(self.string, StringRole::Marked)
    }

    /// Emits the next text of a verbatim body.
    pub(super) fn emit_body(&self, index: usize, text: &str, queue: &mut Queue) {
        let token = &self.tags[index].token;
        if let Some(started) = self.started.as_ref().filter(|_| token.emitted) {
            queue.push_progress(started, &token.arg, text);
        }
    }

    /// Treats inexact announcements as ordinary strings, because no body followed.
    pub(super) fn drop_loose_tags(&mut self) {
        self.marked.extend(std::mem::take(&mut self.tags).into_iter().map(|tag| tag.token));
        self.marked.sort_by_key(|token| token.start);
    }

    /// Returns the current key of the object at this depth.
    fn key(&self, depth: usize) -> Option<&str> {
        match self.frames.get(depth)? {
            OpenValue::Object(key) => Some(key),
            OpenValue::Array => None,
        }
    }

    /// Returns the key of the current member of a call.
    fn member_key(&self) -> Option<&str> {
        if self.frames.len() == self.envelope { self.key(self.envelope.checked_sub(1)?) } else { None }
    }

    /// Returns the keys that lead from the arguments to the current value.
    fn argument_path(&self) -> String {
        let first = self.envelope.saturating_sub(1);
        let in_args = self.frames.len() > self.envelope && self.key(first).is_some_and(is_args);
        let mut path = String::new();
        for depth in first + usize::from(in_args)..self.frames.len() {
            let Some(key) = self.key(depth) else { continue };
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(key);
        }
        path.truncate(floor_boundary(&path, MOST_KEY));
        path
    }

    /// Returns the id of the announced call and the name of the argument that is being read, if it is a member of
    /// `args`.
    fn emitted_argument(&self) -> Option<(&str, &str)> {
        let in_args =
            self.frames.len() == self.envelope + 1 && self.key(self.envelope.checked_sub(1)?).is_some_and(is_args);
        let started = self.started.as_ref().filter(|_| in_args && self.calls.is_empty())?;
        // A name of this length may have been cut.
        let name = self.key(self.envelope).filter(|name| name.len() < MOST_KEY)?;
        Some((started, name))
    }

    /// Returns the role of a string value that begins.
    fn string_role(&self) -> StringRole {
        if self.frames.len() > self.envelope {
            return StringRole::MaybeTag(String::new());
        }
        match self.member_key() {
            Some(key) if is_name(key) => StringRole::Name(String::new()),
            Some("id") => StringRole::Id(String::new()),
            None | Some("reason") => StringRole::Other,
            Some(key) if is_args(key) => StringRole::Other,
            Some(_) => StringRole::MaybeTag(String::new()),
        }
    }

    /// Announces the first call of the block.
    pub(super) fn start(&mut self, name: &str, model_id: Option<&str>, queue: &mut Queue) {
        let id = queue.ids.take(model_id).unwrap_or_else(|| queue.ids.assign());
        queue.push_started(&id, name);
        self.started = Some(id);
    }
}

/// Which provisional events are emitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Emitted {
    /// None, because the end of the block is not decided.
    Nothing,
    /// The name of the first call, which is in a dialect.
    Name,
    /// The name of the first call and the texts of its arguments.
    Texts,
}

/// The lexer's listener.
pub(super) struct Listener<'a> {
    pub(super) outline: &'a mut Outline,
    pub(super) queue: &'a mut Queue,
    pub(super) emitted: Emitted,
}

impl Listener<'_> {
    /// Handles the beginning of a call's arguments: announces the call if it is the first one and its name is known.
    fn arguments_begin(&mut self) {
        let Outline { started, calls, name, model_id, .. } = &self.outline;
        let is_first = started.is_none() && calls.is_empty();
        if let Some(name) = name
            && is_first
            && self.emitted != Emitted::Nothing
        {
            let (name, model_id) = (name.clone(), model_id.clone());
            self.outline.start(&name, model_id.as_deref(), self.queue);
        }
    }

    fn emit(&mut self, text: &str) {
        if self.emitted == Emitted::Texts
            && let Some((id, arg)) = self.outline.emitted_argument()
        {
            self.queue.push_progress(id, arg, text);
        }
    }
}

impl Watch for Listener<'_> {
    fn open(&mut self, object: bool, at: usize) {
        let outline = &mut *self.outline;
        let depth = outline.frames.len();
        if depth == 0 {
            outline.value_start = at;
        }
        // Before the name, an array or object without a key, or under the key of a wrapper, surrounds the call.
        if depth == outline.envelope && outline.name.is_none() && outline.member_key().is_none_or(is_wrapper) {
            outline.envelope += 1;
        } else if object && outline.member_key().is_some_and(is_args) {
            self.arguments_begin();
        }
        self.outline.frames.push(if object { OpenValue::Object(String::new()) } else { OpenValue::Array });
    }

    fn close(&mut self, end: usize) {
        let outline = &mut *self.outline;
        let closed = outline.frames.pop();
        if outline.frames.len() < outline.envelope {
            outline.envelope = outline.frames.len();
            if matches!(closed, Some(OpenValue::Object(_))) {
                outline.calls.push(outline.name.take());
                outline.model_id = None;
            }
        }
        if outline.frames.is_empty() {
            outline.values.push((outline.value_start, end));
        }
    }

    fn text(&mut self, piece: &str, key: bool) {
        let outline = &mut *self.outline;
        if key {
            let Some(OpenValue::Object(current)) = outline.frames.last_mut() else { return };
            if matches!(outline.string, StringRole::Undecided) {
                outline.string = StringRole::Other;
                current.clear();
            }
            // A character that begins within the limit is kept whole, so that the cut does not depend on the pieces.
            let room = MOST_KEY.saturating_sub(current.len());
            return current.extend(piece.char_indices().take_while(|(at, _)| *at < room).map(|(_, c)| c));
        }
        if matches!(outline.string, StringRole::Undecided) {
            outline.string = outline.string_role();
        }
        match &mut outline.string {
            StringRole::Name(text) | StringRole::Id(text) => text.push_str(piece),
            StringRole::Argument => self.emit(piece),
            StringRole::MaybeTag(text) => {
                // The continuation of a TAG is checked without looking at its beginning again. Anything longer than a
                // loose announcement must be exact.
                let exact = text.len() > MOST_LOOSE || tag_of(text).is_some();
                let continues_tag = exact && is_tag_name(piece.as_bytes(), false);
                text.push_str(piece);
                if continues_tag || may_be_tag(text) {
                    return;
                }
                // Text that begins like a tag may be an inline body. Its announcement is not part of the argument, so
                // nothing is emitted.
                let text = std::mem::take(text);
                if text.trim_start().starts_with("<<") {
                    outline.string = StringRole::Marked;
                } else {
                    outline.string = StringRole::Argument;
                    self.emit(&text);
                }
            }
            StringRole::Marked | StringRole::Other | StringRole::Undecided => {}
        }
    }

    fn text_end(&mut self, key: bool, start: usize, end: usize, escaped: bool) {
        let outline = &mut *self.outline;
        let role = std::mem::take(&mut outline.string);
        if key {
            if let (StringRole::Undecided, Some(OpenValue::Object(current))) = (role, outline.frames.last_mut()) {
                current.clear(); // the empty key
            }
            return;
        }
        let token = |outline: &Outline| {
            let emitted = outline.emitted_argument().is_some();
            StringValue { start, end, arg: outline.argument_path(), call: outline.calls.len(), emitted }
        };
        match role {
            StringRole::Name(name) => {
                // Further names are equal to this one, or the call has no object of arguments and is not announced.
                outline.name.get_or_insert_with(|| strip_decoration(&name).into_owned());
            }
            StringRole::Id(id) => outline.model_id = Some(id),
            StringRole::Marked => outline.marked.push(token(outline)),
            StringRole::MaybeTag(text) => {
                let (exact, loose) = (tag_of(&text), loose_word(&text));
                if let Some(tag) = exact.or(loose).filter(|_| !escaped) {
                    let tag = Tag { tag: tag.to_owned(), loose: exact.is_none(), token: token(outline) };
                    outline.tags.push(tag);
                    return;
                }
                if text.trim_start().starts_with("<<") {
                    outline.marked.push(token(outline));
                }
                self.emit(&text);
            }
            StringRole::Argument | StringRole::Other | StringRole::Undecided => {}
        }
    }
}
