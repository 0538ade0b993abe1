//! A place in the text of a call in some dialect, and what readers look for there.
//!
//! A reader is a pure function of the text that there is: it may be called again with more text, and then decides the
//! same about what it had decided. What it cannot know yet is [`Stop::More`].

use super::Sketch;
use crate::json::{self, Lexer, MOST_NESTING, Problem, Status, Watch};
use crate::parse::call::{self, Draft};
use crate::{Args, Catalog, Dialect, Dialects, FinishReason, Repair, Text, text};
use serde_json::Value;

/// Why a reader stopped before the end of a call.
#[derive(Debug)]
pub(super) enum Stop {
    /// More of the reply is needed to decide.
    More,
    /// This is no call of the dialect.
    Not,
    /// A call began, and the reply is over.
    Incomplete,
    /// A call that cannot be read, and where: a byte of the text.
    Bad(Problem),
}

pub(super) type Read<T = ()> = Result<T, Stop>;

/// Text behind the opening token of a dialect, and what was read of it.
pub(super) struct Scan<'a> {
    pub(super) text: &'a str,
    /// How far it was read, in bytes.
    pub(super) at: usize,
    /// How the reply ended, where it is over: no more text comes.
    ended: Option<FinishReason>,
    catalog: Option<&'a Catalog>,
    /// The dialect that is being read, where its opening token was found.
    pub(super) dialect: Option<Dialect>,
    pub(super) drafts: Vec<Draft>,
    /// What can be told of the first call before it is whole.
    pub(super) sketch: Sketch,
    /// The part of the text that is reasoning, and whether it was closed.
    pub(super) thought: Option<((usize, usize), bool)>,
    /// A text has no marks, or only one: its end is a guess.
    pub(super) unmarked: bool,
    /// A raw text has a tag of the dialect in it.
    pub(super) inner_tag: bool,
}

/// Levels of lists and objects in a form that is not JSON.
const MOST_DEPTH: usize = 64;

/// Bytes of the head of a tag: a name and a few attributes.
const MOST_HEAD: usize = 512;

/// Repairs that a dialect does not need: what is another shape in a tool block is the dialect's own form.
const OWN_SHAPES: [Repair; 5] =
    [Repair::ArgsAlias, Repair::NameAlias, Repair::SeveralCalls, Repair::Wrapper, Repair::NameDecoration];

/// Bytes that the lexer takes at once: a value ends somewhere in them, and what stands behind it is not read in vain.
const AT_ONCE: usize = 4096;

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str, ended: Option<FinishReason>, catalog: Option<&'a Catalog>) -> Scan<'a> {
        Scan {
            text,
            at: 0,
            ended,
            catalog,
            dialect: None,
            drafts: Vec::new(),
            sketch: Sketch::default(),
            thought: None,
            unmarked: false,
            inner_tag: false,
        }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Whether nothing stands here, and nothing more comes.
    pub(super) fn is_over(&self) -> bool {
        self.ended.is_some() && self.at == self.text.len()
    }

    /// What is wanted here is not there.
    pub(super) fn wait<T>(&self) -> Read<T> {
        Err(if self.ended.is_some() { Stop::Incomplete } else { Stop::More })
    }

    pub(super) fn bad<T>(&self, message: Text) -> Read<T> {
        Err(Stop::Bad(Problem::new(self.at, message)))
    }

    pub(super) fn skip_whitespace(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    /// Takes the token, if it stands here.
    pub(super) fn take(&mut self, token: &str) -> Read<bool> {
        let rest = self.rest();
        if rest.starts_with(token) {
            self.at += token.len();
            return Ok(true);
        }
        if self.ended.is_none() && token.starts_with(rest) { Err(Stop::More) } else { Ok(false) }
    }

    /// Whether the token stands here.
    pub(super) fn sees(&mut self, token: &str) -> Read<bool> {
        let at = self.at;
        let seen = self.take(token)?;
        self.at = at;
        Ok(seen)
    }

    /// Takes one of the tokens, if one stands here. None of them begins another one.
    pub(super) fn take_any(&mut self, tokens: &[&str]) -> Read<bool> {
        let mut undecided = false;
        for token in tokens {
            match self.take(token) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(_) => undecided = true,
            }
        }
        if undecided { Err(Stop::More) } else { Ok(false) }
    }

    /// Reads items with commas between them, up to the bracket `close`. `unreadable` says what is wrong with anything else.
    pub(super) fn items(
        &mut self,
        close: &str,
        unreadable: fn() -> Text,
        mut item: impl FnMut(&mut Self) -> Read,
    ) -> Read {
        loop {
            self.skip_whitespace();
            if self.take(close)? {
                return Ok(());
            }
            item(self)?;
            self.skip_whitespace();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(_) if self.rest().starts_with(close) => {}
                Some(_) => return self.bad(unreadable()),
                None => return self.wait(),
            }
        }
    }

    /// Adds an argument, or a member of an object.
    pub(super) fn insert(&self, members: &mut Args, key: impl Into<String>, value: Value) -> Read {
        let key = key.into();
        if members.contains_key(&key) {
            return self.bad(text!("the argument {key} is given twice; give it once", key));
        }
        members.insert(key, value);
        Ok(())
    }

    /// Refuses values that are nested too deeply.
    pub(super) fn limit_depth(&self, depth: usize) -> Read {
        if depth > MOST_DEPTH { self.bad(text!("the JSON is nested too deep; flatten it")) } else { Ok(()) }
    }

    /// Takes the token. Without it, this is no call of the dialect.
    pub(super) fn want(&mut self, token: &str) -> Read {
        match self.take(token)? {
            true => Ok(()),
            // The reply ends in the middle of the token: a call was cut off.
            false if token.starts_with(self.rest().trim_end()) => self.wait(),
            false => self.no(),
        }
    }

    /// What stands here is not what a call of the dialect has there. Where the reply ends, a call may have begun.
    pub(super) fn no<T>(&self) -> Read<T> {
        if self.at == self.text.len() { self.wait() } else { Err(Stop::Not) }
    }

    /// The text up to the token, which is passed.
    pub(super) fn until(&mut self, token: &str) -> Read<&'a str> {
        let rest = self.rest();
        match memchr::memmem::find(rest.as_bytes(), token.as_bytes()) {
            Some(at) => {
                self.at += at + token.len();
                Ok(&rest[..at])
            }
            None => self.wait(),
        }
    }

    /// The head of a tag, up to what ends it. It is one short line: anything else is prose about the tag.
    pub(super) fn head(&mut self, head_end: &str) -> Read<&'a str> {
        let rest = self.rest();
        // Asked at every token of a text: only so much of it is looked at.
        let near = &rest.as_bytes()[..rest.len().min(MOST_HEAD + 1)];
        let end = memchr::memmem::find(near, head_end.as_bytes());
        let line = &near[..end.unwrap_or(near.len())];
        let mut marks = memchr::memchr2_iter(b'<', b'\n', line.trim_ascii_end());
        if line.len() > MOST_HEAD || marks.any(|at| !head_end.as_bytes().starts_with(&line[at..])) {
            return Err(Stop::Not);
        }
        match end {
            Some(end) => {
                self.at += end + head_end.len();
                Ok(&rest[..end])
            }
            None => self.wait(),
        }
    }

    /// A call of this name begins here for certain: what does not fit from here on is a broken call, and no prose.
    pub(super) fn begins(&mut self, name: &str) {
        self.names(name);
        self.sketch.begun = true;
    }

    fn names(&mut self, name: &str) {
        if self.drafts.is_empty() && self.sketch.name.is_none() {
            self.sketch.name = Some(call::strip_decoration(name).into_owned());
        }
    }

    /// The name of a tool, up to what ends it: letters, digits and `_ - . : /`.
    pub(super) fn name(&mut self) -> Read<&'a str> {
        let rest = self.rest();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
        match rest.find(|c| !is_name(c)) {
            Some(0) => Err(Stop::Not),
            Some(end) => {
                self.at += end;
                Ok(&rest[..end])
            }
            None => self.wait(),
        }
    }

    /// A text up to `close`, where one of `behind` follows the closing token, with whitespace between. A closing token before
    /// anything else is content, for a file may hold one; then the end is a guess. Where nothing is said of what follows, the first closing token is the end.
    pub(super) fn content(&mut self, close: &str, behind: &[&str]) -> Read<(&'a str, Option<Repair>)> {
        let from = self.at;
        let mut guess = None;
        self.sketch.raw = true;
        loop {
            if let Err(stop) = self.until(close) {
                // Another tag follows, and the reply is not cut: the closing tag was left out.
                let forgotten = self.ended == Some(FinishReason::Stop)
                    && behind.iter().any(|token| self.text[from..].contains(token));
                return if forgotten {
                    self.bad(text!("{tag} or the closing tag of the call is wanted here", tag = close))
                } else {
                    Err(stop)
                };
            }
            let end = self.at;
            self.skip_whitespace();
            let found =
                behind.is_empty() || self.is_over() || behind.iter().any(|token| self.rest().starts_with(token));
            if found {
                self.at = end;
                let text = &self.text[from..end - close.len()];
                let tagged =
                    behind.iter().any(|tag| text.contains(tag)) || self.openers().any(|tag| text.contains(tag));
                self.inner_tag |= tagged;
                return Ok((text, guess));
            }
            if self.ended.is_none() && behind.iter().any(|token| token.starts_with(self.rest())) {
                return Err(Stop::More);
            }
            guess = Some(Repair::InnerCloser);
            self.at = end;
        }
    }

    /// One JSON object or array; or, where it is not valid, the text up to one of `closers`, repaired.
    pub(super) fn json(&mut self, closers: &[&str]) -> Read<(Vec<Value>, Vec<Repair>)> {
        self.skip_whitespace();
        let start = self.at;
        match self.peek() {
            Some(b'{' | b'[') => self.begins_json()?,
            Some(_) => return Err(Stop::Not),
            None => return self.wait(),
        }
        let mut lexer = Lexer::new(MOST_NESTING);
        let mut first = FirstValue::default();
        let mut rest = self.rest();
        while first.end.is_none() && !rest.is_empty() && !matches!(lexer.status(), Status::Broken { .. }) {
            let (piece, more) = rest.split_at(crate::clip::floor_boundary(rest, AT_ONCE.max(4)));
            lexer.feed(piece, &mut first);
            rest = more;
        }
        if let Some(end) = first.end {
            self.at = start + end;
            return self.read_json(start, false);
        }
        match lexer.status() {
            Status::Broken { at, .. } => match self.find_any(start + at, closers) {
                Some(close) => {
                    self.at = close;
                    self.read_json(start, true)
                }
                // Without a closing token the end of the reply is the end of the call, but completes nothing.
                None if closers.is_empty() && self.ended == Some(FinishReason::Stop) => {
                    self.at = self.text.len();
                    self.read_json(start, false)
                }
                None => self.wait(),
            },
            Status::InString if self.ended == Some(FinishReason::Stop) && self.find_any(start, closers).is_some() => {
                self.at = start;
                self.bad(text!("a string is not closed; write newlines in strings as \\n, or use a verbatim body"))
            }
            _ => self.wait(),
        }
    }

    /// A bracket stands here. With what cannot be JSON behind it, it is one of prose; otherwise a call begins.
    fn begins_json(&mut self) -> Read {
        let inside = self.rest().trim_start_matches(['[', ' ', '\t', '\n', '\r']);
        let list = self.peek() == Some(b'[');
        let is_prose = |c: char| list && c.is_alphanumeric();
        let is_dots = |inside: &str| inside.starts_with(['.', '…']);
        if inside.starts_with(is_prose) || inside.strip_prefix('{').is_some_and(is_dots) {
            return Err(Stop::Not);
        }
        if matches!(inside, "" | "{") {
            return Ok(()); // what comes decides
        }
        self.sketch.begun = true;
        if self.drafts.is_empty() && self.sketch.name.is_none() && !self.sketch.keyed {
            self.sketch.json.get_or_insert(self.at);
        }
        Ok(())
    }

    fn find_any(&self, from: usize, tokens: &[&str]) -> Option<usize> {
        let from = crate::clip::floor_boundary(self.text, from);
        let rest = &self.text.as_bytes()[from..];
        tokens.iter().filter_map(|token| memchr::memmem::find(rest, token.as_bytes())).min().map(|at| from + at)
    }

    fn read_json(&self, start: usize, closed: bool) -> Read<(Vec<Value>, Vec<Repair>)> {
        match json::read(&self.text[start..self.at], closed) {
            Ok(reading) => Ok((reading.values, reading.repairs)),
            Err(problem) => Err(Stop::Bad(Problem { at: start + problem.at, ..problem })),
        }
    }

    /// One JSON object that holds the arguments of the call `name`.
    pub(super) fn args(&mut self, name: &str, closers: &[&str]) -> Read<(Args, Vec<Repair>)> {
        self.skip_whitespace();
        let start = self.at;
        if self.sees("\"{")? {
            return self.args_in_string();
        }
        if self.peek() == Some(b'{') {
            self.names(name);
        }
        let (values, repairs) = self.json(closers)?;
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (Some(Value::Object(args)), None) => Ok((args, repairs)),
            _ => Err(Stop::Bad(Problem::new(
                start,
                text!("{key} must be an object: the arguments by name", key = "arguments"),
            ))),
        }
    }

    /// The arguments as an object in a JSON string.
    fn args_in_string(&mut self) -> Read<(Args, Vec<Repair>)> {
        let mut strings = serde_json::Deserializer::from_str(self.rest()).into_iter::<String>();
        let text = match strings.next() {
            Some(Ok(text)) => text,
            Some(Err(error)) if error.is_eof() => return self.wait(),
            Some(Err(_)) | None => {
                return self.bad(text!("{key} must be an object: the arguments by name", key = "arguments"));
            }
        };
        let Ok(Value::Object(args)) = json::strict(&text) else {
            return self.bad(text!("{key} must be an object: the arguments by name", key = "arguments"));
        };
        self.at += strings.byte_offset();
        Ok((args, vec![Repair::ArgsString]))
    }

    /// Adds a call.
    pub(super) fn call(&mut self, name: &str, args: Args, repairs: Vec<Repair>) {
        self.drafts.push(Draft { name: call::strip_decoration(name).into_owned(), args, repairs, ..Draft::default() });
    }

    /// Adds the calls that JSON values say.
    pub(super) fn calls(&mut self, start: usize, mut values: Vec<Value>, repairs: &[Repair]) -> Read {
        // Cohere numbers the calls of a list.
        for call in values.iter_mut().filter_map(Value::as_array_mut).flatten().filter_map(Value::as_object_mut) {
            call.remove("tool_call_id");
        }
        match call::drafts(values, repairs, self.catalog) {
            Ok(mut drafts) => {
                for draft in &mut drafts {
                    draft.repairs.retain(|repair| !OWN_SHAPES.contains(repair));
                }
                self.drafts.extend(drafts);
                Ok(())
            }
            Err(message) => Err(Stop::Bad(Problem::new(start, message))),
        }
    }

    /// Calls in JSON, one value or several, up to one of the closing tokens. It may be missing where the JSON is complete
    /// and something else begins, or the reply ends by itself.
    pub(super) fn json_calls(&mut self, closers: &[&str]) -> Read {
        self.skip_whitespace();
        let start = self.at;
        loop {
            self.skip_whitespace();
            let value_start = self.at;
            let (values, repairs) = self.json(closers)?;
            self.calls(value_start, values, &repairs)?;
            let end = self.at;
            self.skip_whitespace();
            if self.take_any(closers)? {
                return Ok(());
            }
            // Without a closing token an array is all there is, and what follows an object decides whether another call comes.
            if closers.is_empty() && !self.text[value_start..].starts_with('{') {
                return self.missing_end(end, false);
            }
            match self.peek() {
                None if closers.is_empty() && self.ended.is_none() => return self.wait(),
                // A model that separates its calls means several.
                Some(b',' | b';') if !closers.is_empty() => {
                    self.at += 1;
                    self.skip_whitespace();
                    if self.take_any(closers)? {
                        return Ok(());
                    }
                }
                Some(b';') => self.at += 1,
                Some(b'{') => {}
                Some(b'}' | b']') if !closers.is_empty() => {
                    let Some(close) = self.find_any(self.at, closers) else { return self.wait() };
                    self.at = close;
                    let (values, repairs) = self.read_json(start, true)?;
                    self.drafts.clear();
                    self.calls(start, values, &repairs)?;
                    self.take_any(closers)?;
                    return Ok(());
                }
                _ => {
                    let missing = !closers.is_empty();
                    return self.missing_end(end, missing);
                }
            }
        }
    }

    /// Takes one of the tokens, if one follows, perhaps after whitespace.
    pub(super) fn take_after_whitespace(&mut self, tokens: &[&str]) -> Read {
        let end = self.at;
        self.skip_whitespace();
        if !self.take_any(tokens)? {
            self.at = end;
        }
        Ok(())
    }

    /// The closing token does not stand where it should: the calls end at `end` all the same, unless the reply was cut off
    /// there. `missing`: there should have been one.
    pub(super) fn missing_end(&mut self, end: usize, missing: bool) -> Read {
        if missing && self.at == self.text.len() && self.ended != Some(FinishReason::Stop) {
            return self.wait();
        }
        self.at = end;
        if missing {
            self.drafts.iter_mut().for_each(|draft| draft.repairs.push(Repair::MissingFence));
        }
        Ok(())
    }

    /// Takes the closing token of a call. Without it the call ends all the same, unless the reply was cut off there.
    pub(super) fn want_end(&mut self, close: &str) -> Read {
        let end = self.at;
        self.skip_whitespace();
        if self.take(close)? { Ok(()) } else { self.missing_end(end, true) }
    }

    /// Reads calls, each after its opening token, up to the closing token of the section.
    pub(super) fn section(&mut self, open: &str, end: &str, read: impl Fn(&mut Self) -> Read) -> Read {
        loop {
            self.skip_whitespace();
            self.want(open)?;
            read(self)?;
            if !self.another_call(open, end)? {
                return Ok(());
            }
        }
    }

    /// Takes the closing token of a section after a call. Returns `true` if another call follows instead.
    pub(super) fn another_call(&mut self, open: &str, end: &str) -> Read<bool> {
        let stop = self.at;
        self.skip_whitespace();
        if self.take(end)? {
            return Ok(false);
        }
        if self.sees(open)? {
            return Ok(true);
        }
        self.missing_end(stop, true).map(|()| false)
    }

    /// Reasoning up to the token, or to the end of the reply.
    pub(super) fn thought(&mut self, close: &str) -> Read {
        let start = self.at;
        self.thought = Some(match self.until(close) {
            Ok(text) => ((start, start + text.len()), true),
            Err(Stop::Incomplete) => {
                self.at = self.text.len();
                ((start, self.at), false)
            }
            Err(stop) => return Err(stop),
        });
        Ok(())
    }

    /// The opening tokens of the dialect.
    fn openers(&self) -> impl Iterator<Item = &'static str> + use<> {
        let dialect = self.dialect;
        super::rows(Dialects::ALL).filter(move |row| Some(row.dialect) == dialect).map(|row| row.opener)
    }

    pub(super) fn catalog(&self) -> Option<&'a Catalog> {
        self.catalog
    }

    /// Whether a tool of this name is on offer.
    pub(super) fn offers(&self, name: &str) -> bool {
        call::spec(self.catalog, name).is_some()
    }
}

/// The text of an argument without the two line breaks of its tags: the templates put a long value on lines of its own.
pub(super) fn without_own_lines(text: &str) -> &str {
    let Some(text) = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')) else { return text };
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
}

/// Notices where the first value ends.
#[derive(Default)]
struct FirstValue {
    depth: usize,
    end: Option<usize>,
}

impl Watch for FirstValue {
    fn open(&mut self, _object: bool, _at: usize) {
        self.depth += 1;
    }

    fn close(&mut self, end: usize) {
        self.depth -= 1;
        if self.depth == 0 {
            self.end.get_or_insert(end);
        }
    }
}
