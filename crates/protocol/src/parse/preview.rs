//! The preview of a block's calls while the block is still being written: names, ids, the text of arguments, and where
//! verbatim bodies are announced.
//!
//! The preview listens to the strict lexer. All events that it queues are provisional: the block is read again as a
//! whole when it has ended.

use super::call::{is_args, is_name, is_wrapper, named_spec, spec, undecorated};
use super::ids::Ids;
use super::queue::Queue;
use super::tag::{MOST_LOOSE, is_tag_name, loose_word, may_be_tag, tag_of};
use crate::Catalog;
use crate::json::Watch;
use std::sync::Arc;

/// A verbatim body that was announced: `"<<TAG"` as a string value inside the arguments.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) tag: String,
    /// The announcement is not exact: `<<eof`, `<<'EOF'`. It may be the literal text.
    pub(super) loose: bool,
    pub(super) token: StringValue,
}

/// A string value inside the arguments.
#[derive(Debug, Clone)]
pub(super) struct StringValue {
    /// The raw token in the block's body.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The argument: `content`, or `edits/0/replacement`.
    pub(super) arg: String,
    /// Which call of the block.
    call: usize,
    /// Whether it is told while it is written, or its body is.
    told: bool,
}

/// An open object or array: where the step that leads into it begins in the path, and the number of the next element.
#[derive(Debug, Clone, Copy)]
struct OpenValue {
    step: usize,
    object: bool,
    index: usize,
}

/// A call of the block as far as it is known.
#[derive(Debug, Default)]
struct CallSoFar {
    /// Without what models write around it.
    name: Option<String>,
    /// Keys of its object so far.
    keys: usize,
    /// Where the arguments stand that were told: beside the name. Only those of one place are told, for what stands in the
    /// other one may say the same again, or nothing.
    beside: Option<bool>,
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
    /// The tools on offer, where they are known: whether a word names a tool decides where its arguments stand.
    pub(super) catalog: Option<Arc<Catalog>>,
    pub(super) tags: Vec<Tag>,
    /// Strings that begin like an announcement and are none.
    pub(super) marked: Vec<StringValue>,
    /// The string that is being read will be one of them, or has been.
    pub(super) saw_mark: bool,
    /// Byte ranges of the complete values.
    pub(super) values: Vec<(usize, usize)>,
    /// The complete calls.
    calls: Vec<CallSoFar>,
    /// The open one.
    call: CallSoFar,
    /// Nothing more is queued: the end of the block is undecided.
    pub(super) muted: bool,
    /// Only the names of calls are queued: the block is a call in a dialect.
    pub(super) quiet: bool,
    /// An argument was queued that does not stand in an object of arguments.
    pub(super) loose: bool,
    frames: Vec<OpenValue>,
    /// The keys and indices that lead to the current value, joined by `/`.
    path: String,
    value_start: usize,
    /// The depth whose keys are the envelope's: 1 in an object, 2 in an array of calls, one more in a wrapper.
    envelope: usize,
    /// What `envelope` is without a wrapper around a single call.
    outer: usize,
    /// The depth at which the path to an argument inside of an object or array begins.
    root: usize,
    /// Whether that object or array stands beside the name, and whether it is an argument of the tool there.
    beside: bool,
    fits: bool,
    /// Whether the string that is being read is told.
    told: bool,
    /// The text of a name, an id or what may be a tag.
    short: String,
    role: StringRole,
}

/// What the string that is being read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum StringRole {
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
    /// Text of an argument that begins like a tag.
    Marked,
}

impl Preview {
    /// The id under which the block is withdrawn: that of its first call.
    pub(super) fn first_id(&mut self) -> String {
        let known = self.calls.iter().chain([&self.call]).find_map(|call| call.started.clone());
        known.unwrap_or_else(|| self.ids.give())
    }

    /// The name under which the first call was started, if it was.
    pub(super) fn started_name(&self) -> Option<&str> {
        let first = self.calls.first().unwrap_or(&self.call);
        first.name.as_deref().filter(|_| first.started.is_some())
    }

    /// Gives away the id under which the call was started, if it was.
    pub(super) fn take_provisional(&mut self, index: usize) -> Option<String> {
        let open = (index == self.calls.len()).then_some(&mut self.call);
        self.calls.get_mut(index).or(open)?.started.take()
    }

    /// The tool that a string is an argument for, where it is named.
    pub(super) fn tool(&self, token: &StringValue) -> Option<&str> {
        self.calls.get(token.call).unwrap_or(&self.call).name.as_deref()
    }

    /// Starts a call whose name is not part of its JSON.
    pub(super) fn begin(&mut self, name: Option<&str>, id: Option<&str>, queue: &mut Queue) {
        self.call.name = name.map(str::to_owned);
        self.call.model_id = id.map(str::to_owned);
        self.start(queue);
    }

    /// More of a verbatim body.
    pub(super) fn body_text(&self, index: usize, text: &str, queue: &mut Queue) {
        let told = |tag: &&Tag| tag.token.told && !self.muted && tag.token.call == 0;
        let Some(tag) = self.tags.get(index).filter(told) else { return };
        if let Some(id) = &self.calls.first().unwrap_or(&self.call).started {
            queue.progress(id, &tag.token.arg, text);
        }
    }

    /// No body came for the announcements that are not exact: they are strings like others.
    pub(super) fn drop_loose_tags(&mut self) {
        self.saw_mark = true;
        self.marked.extend(std::mem::take(&mut self.tags).into_iter().map(|tag| tag.token));
        self.marked.sort_by_key(|token| token.start);
    }

    /// Whether events are queued for the open call. Of several calls in a block only the first has any, for a block is
    /// withdrawn by one id.
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
        let above = if self.frames.len() > self.envelope { self.root } else { self.frames.len() - 1 };
        &self.path[self.frames[above].step..]
    }

    /// Whether the word is the name of a tool on offer.
    fn knows(&self, name: &str) -> bool {
        named_spec(self.catalog.as_deref(), name).is_some()
    }

    /// Whether the current key is an argument of the tool, should it stand beside the name.
    fn is_argument(&self) -> bool {
        let spec = self.call.name.as_deref().and_then(|name| named_spec(self.catalog.as_deref(), name));
        spec.zip(self.key()).is_some_and(|(spec, key)| spec.find(key).is_some())
    }

    /// Whether the argument that begins is told.
    fn tells(&mut self) -> bool {
        let at_envelope = self.frames.len() == self.envelope;
        let beside = at_envelope || self.beside;
        let fits = !beside || if at_envelope { self.is_argument() } else { self.fits };
        fits && *self.call.beside.get_or_insert(beside) == beside
    }

    /// A key of the envelope names the tool. Of two names the one of a known tool counts; the other one is an argument
    /// of it, or the block is malformed.
    fn name(&mut self, written: &str) {
        let name = undecorated(written);
        let stays = self.call.started.is_some()
            || self.call.name.as_deref().is_some_and(|known| self.knows(known) || !self.knows(&name));
        if !stays {
            self.call.name = Some(name.into_owned());
        }
    }

    /// An object or array opens: whether it is a wrapper around calls. Beside a name it is an argument.
    fn opens_wrapper(&self) -> bool {
        self.frames.len() == self.envelope && self.call.name.is_none() && self.key().is_some_and(is_wrapper)
    }

    /// The role of a string value that begins.
    fn string_role(&mut self, queue: &mut Queue) -> StringRole {
        self.begin_step();
        if self.in_args() {
            self.start_loose(queue);
            self.told = self.tells();
            self.loose |= !self.frames.get(self.envelope).is_some_and(|frame| frame.object);
            return StringRole::MaybeTag;
        }
        let at_envelope = self.frames.len() == self.envelope;
        match self.key() {
            Some("id") if at_envelope => StringRole::Id,
            Some(key) if at_envelope && is_name(key) => StringRole::Name,
            _ => StringRole::Other,
        }
    }

    /// Queues the beginning of the call as soon as its name is known and its arguments begin.
    fn start(&mut self, queue: &mut Queue) {
        let Some(name) = self.call.name.as_deref().filter(|_| self.call.started.is_none()) else { return };
        let id = self.ids.take(self.call.model_id.as_deref()).unwrap_or_else(|| self.ids.give());
        if self.previews() {
            queue.started(&id, name);
        }
        self.call.started = Some(id);
    }

    /// Queues the beginning of the call where a value of an argument begins that may stand beside the name. Which key
    /// is the name is certain there only when it names a tool, or when no tool is known that could have an argument
    /// `name`.
    fn start_loose(&mut self, queue: &mut Queue) {
        let beside = self.frames.len() == self.envelope || self.beside;
        let certain = self.catalog.is_none() || self.call.name.as_deref().is_some_and(|name| self.knows(name));
        if certain || !beside {
            self.start(queue);
        }
    }

    /// Queues what may have been a tag and is text of an argument.
    fn queue_short(&mut self, queue: &mut Queue) {
        if let Some(id) = self.call.started.as_deref().filter(|_| self.told && !self.quiet && self.previews()) {
            queue.progress(id, self.argument(), &self.short);
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
        if let Some(OpenValue { step, object: false, index }) = self.frames.last().copied() {
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

/// The lexer's listener: what is known, and where provisional events go.
pub(super) struct Listener<'a> {
    pub(super) preview: &'a mut Preview,
    pub(super) queue: &'a mut Queue,
}

impl Watch for Listener<'_> {
    fn open(&mut self, object: bool, at: usize) {
        let preview = &mut *self.preview;
        let depth = preview.frames.len();
        preview.begin_step();
        if depth == 0 {
            preview.value_start = at;
            preview.outer = if object { 1 } else { 2 };
            preview.envelope = preview.outer;
        } else if preview.opens_wrapper() {
            preview.call.keys = 0;
            preview.envelope += if object { 1 } else { 2 };
            preview.outer = if object { preview.outer } else { preview.envelope };
        } else if depth == preview.envelope && object && preview.key().is_some_and(is_args) {
            (preview.root, preview.beside) = (depth, false);
            preview.start(self.queue);
        } else {
            if depth == preview.envelope {
                // Without a name this may be the object of a call whose name is the key of its arguments.
                preview.root = if preview.call.name.is_some() { depth - 1 } else { depth };
                (preview.beside, preview.fits, preview.loose) = (true, preview.is_argument(), true);
            }
            if preview.in_args() {
                preview.start_loose(self.queue);
            }
        }
        if depth > 0 {
            preview.path.push('/');
        }
        preview.frames.push(OpenValue { step: preview.path.len(), object, index: 0 });
    }

    fn close(&mut self, end: usize) {
        let preview = &mut *self.preview;
        if preview.frames.len() == preview.envelope {
            if preview.call.name.is_none() && preview.call.keys == 1 {
                let is_tool = |key: &&str| spec(preview.catalog.as_deref(), key).is_some();
                let key = preview.key().filter(is_tool).map(|key| undecorated(key).into_owned());
                preview.call.name = key;
            }
            preview.start(self.queue);
            preview.calls.push(std::mem::take(&mut preview.call));
        }
        if let Some(frame) = preview.frames.pop() {
            preview.path.truncate(frame.step.saturating_sub(1));
        }
        if preview.frames.len() < preview.outer {
            preview.envelope = preview.outer;
        }
        if preview.frames.is_empty() {
            preview.values.push((preview.value_start, end));
        }
        preview.end_step();
    }

    fn text(&mut self, piece: &str, key: bool) {
        let preview = &mut *self.preview;
        if key {
            if preview.role == StringRole::Undecided {
                preview.role = StringRole::Other;
                preview.begin_key();
            }
            return preview.lead(piece);
        }
        if preview.role == StringRole::Undecided {
            preview.role = preview.string_role(self.queue);
        }
        match preview.role {
            StringRole::Name | StringRole::Id => preview.short.push_str(piece),
            StringRole::Argument if preview.told && !preview.quiet && preview.previews() => {
                if let Some(id) = &preview.call.started {
                    self.queue.progress(id, preview.argument(), piece);
                }
            }
            StringRole::MaybeTag => {
                // A TAG that goes on is not looked at from its beginning again. What is longer than any loose one is exact.
                let exact = preview.short.len() > MOST_LOOSE || tag_of(&preview.short).is_some();
                let goes_on = exact && is_tag_name(piece.as_bytes(), false);
                preview.short.push_str(piece);
                if !goes_on && !may_be_tag(&preview.short) {
                    let marked = preview.short.trim_start().starts_with("<<");
                    preview.saw_mark |= marked;
                    preview.role = if marked { StringRole::Marked } else { StringRole::Argument };
                    if marked {
                        preview.short.clear(); // a body may be read in it, which is not all of the text
                    } else {
                        preview.queue_short(self.queue);
                    }
                }
            }
            StringRole::Argument | StringRole::Marked | StringRole::Other | StringRole::Undecided => {}
        }
    }

    fn text_end(&mut self, key: bool, start: usize, end: usize, escaped: bool) {
        let preview = &mut *self.preview;
        let role = std::mem::take(&mut preview.role);
        if key {
            if role == StringRole::Undecided {
                preview.begin_key(); // the empty key
            }
            preview.call.keys += usize::from(preview.frames.len() == preview.envelope);
            return;
        }
        match role {
            StringRole::Name => {
                let name = std::mem::take(&mut preview.short);
                preview.name(&name);
            }
            StringRole::Id => preview.call.model_id = Some(std::mem::take(&mut preview.short)),
            StringRole::MaybeTag | StringRole::Marked => {
                let (exact, loose) = (tag_of(&preview.short), loose_word(&preview.short));
                let tag = exact.or(loose).filter(|_| !escaped && role == StringRole::MaybeTag).map(str::to_owned);
                let loose = exact.is_none();
                let marked = role == StringRole::Marked || preview.short.trim_start().starts_with("<<");
                if tag.is_some() || marked {
                    let arg = preview.argument().to_owned();
                    let token = StringValue { start, end, arg, call: preview.calls.len(), told: preview.told };
                    match tag {
                        Some(tag) => {
                            preview.tags.push(Tag { tag, loose, token });
                            preview.short.clear();
                        }
                        None => {
                            preview.saw_mark = true;
                            preview.marked.push(token);
                        }
                    }
                }
                preview.queue_short(self.queue);
            }
            StringRole::Argument | StringRole::Other | StringRole::Undecided => {}
        }
        preview.end_step();
    }

    fn scalar(&mut self) {
        self.preview.end_step();
    }
}
