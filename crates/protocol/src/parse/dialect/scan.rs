//! A position in the text of a call in some dialect, and the operations that readers use there.
//!
//! A reader is a pure function of the available text. It may run again with more text, and must then decide the same
//! about everything that it had decided. It returns [`Stop::More`] if it cannot decide yet.

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
    /// A call began, and the reply ended.
    Incomplete,
    /// An unreadable call, with the position of the problem in the text.
    Bad(Problem),
}

pub(super) type Read<T = ()> = Result<T, Stop>;

/// The text after the opening token of a dialect, and the state of its reader.
pub(super) struct Scan<'a> {
    pub(super) text: &'a str,
    /// The position in bytes.
    pub(super) at: usize,
    /// How the reply ended, if it has ended and no more text follows.
    ended: Option<FinishReason>,
    catalog: Option<&'a Catalog>,
    /// The dialect that is being read, if its opening token was found.
    pub(super) dialect: Option<Dialect>,
    pub(super) drafts: Vec<Draft>,
    /// What is known of the first call before it is complete.
    pub(super) sketch: Sketch,
    /// The range of the text that is reasoning, and whether it was closed.
    pub(super) thought: Option<((usize, usize), bool)>,
    /// Whether a text lacks one or both of its marks, so that its end is a guess.
    pub(super) unmarked: bool,
    /// Whether a raw text contains a tag of the dialect.
    pub(super) inner_tag: bool,
}

/// The maximum number of levels of lists and objects in a form that is not JSON.
const MOST_DEPTH: usize = 64;

/// The maximum number of bytes in the head of a tag: a name and a few attributes.
const MOST_HEAD: usize = 512;

/// Repairs that are not recorded for a dialect, because these shapes are the dialect's own form.
const OWN_SHAPES: [Repair; 5] =
    [Repair::ArgsAlias, Repair::NameAlias, Repair::SeveralCalls, Repair::Wrapper, Repair::NameDecoration];

/// The number of bytes that the lexer reads in one step. A value ends within the last step, so the lexer reads at most
/// this many bytes after it in vain.
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

    /// Returns `true` at the end of the text if no more follows.
    pub(super) fn is_over(&self) -> bool {
        self.ended.is_some() && self.at == self.text.len()
    }

    /// Stops because the text ends too early.
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

    /// Consumes the token if it is here.
    pub(super) fn take(&mut self, token: &str) -> Read<bool> {
        let rest = self.rest();
        if rest.starts_with(token) {
            self.at += token.len();
            return Ok(true);
        }
        if self.ended.is_none() && token.starts_with(rest) { Err(Stop::More) } else { Ok(false) }
    }

    /// Returns `true` if the token is here.
    pub(super) fn sees(&mut self, token: &str) -> Read<bool> {
        let at = self.at;
        let seen = self.take(token)?;
        self.at = at;
        Ok(seen)
    }

    /// Consumes one of the tokens if it is here. No token is a prefix of another.
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

    /// Reads items separated by commas up to the bracket `close`. `unreadable` returns the message for anything else.
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

    /// Adds an argument or a member of an object.
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

    /// Consumes the token. Without it, this is no call of the dialect.
    pub(super) fn want(&mut self, token: &str) -> Read {
        match self.take(token)? {
            true => Ok(()),
            // If the reply ends within the token, a call was cut off.
            false if token.starts_with(self.rest().trim_end()) => self.wait(),
            false => self.no(),
        }
    }

    /// Stops because this text does not fit the dialect. At the end of the reply, a call may have begun.
    pub(super) fn no<T>(&self) -> Read<T> {
        if self.at == self.text.len() { self.wait() } else { Err(Stop::Not) }
    }

    /// Returns the text up to the token and consumes both.
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

    /// Returns the head of a tag up to its end. A head is one short line; anything else is prose about the tag.
    pub(super) fn head(&mut self, head_end: &str) -> Read<&'a str> {
        let rest = self.rest();
        // This runs for every token in a text, so only a few bytes are examined.
        let near = &rest.as_bytes()[..rest.len().min(MOST_HEAD + 1)];
        let end = memchr::memmem::find(near, head_end.as_bytes());
        let line = &near[..end.unwrap_or(near.len())];
        // A `<` may belong to the end of the head, such as `<|sep|>`; any other begins another tag.
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

    /// Records that a call of this name has certainly begun: text that does not fit from here on is a broken call, not
    /// prose.
    pub(super) fn begins(&mut self, name: &str) {
        self.names(name);
        self.sketch.begun = true;
    }

    fn names(&mut self, name: &str) {
        if self.drafts.is_empty() && self.sketch.name.is_none() {
            self.sketch.name = Some(call::strip_decoration(name).into_owned());
        }
    }

    /// Reads the name of a tool: letters, digits and `_ - . : /`.
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

    /// Reads a text up to a closing token `close` that one of `following` follows, possibly after whitespace. A closing
    /// token before anything else is content, since a file may contain one; the end is then a guess. If `following` is
    /// empty, the first closing token is the end.
    pub(super) fn content(&mut self, close: &str, following: &[&str]) -> Read<(&'a str, Option<Repair>)> {
        let from = self.at;
        let mut guess = None;
        self.sketch.raw = true;
        loop {
            if let Err(stop) = self.until(close) {
                // If another tag follows and the reply was not cut off, the closing tag was forgotten.
                let forgotten = self.ended == Some(FinishReason::Stop)
                    && following.iter().any(|token| self.text[from..].contains(token));
                return if forgotten {
                    self.bad(text!("{tag} or the closing tag of the call is wanted here", tag = close))
                } else {
                    Err(stop)
                };
            }
            let end = self.at;
            self.skip_whitespace();
            let found =
                following.is_empty() || self.is_over() || following.iter().any(|token| self.rest().starts_with(token));
            if found {
                self.at = end;
                let text = &self.text[from..end - close.len()];
                let tagged =
                    following.iter().any(|tag| text.contains(tag)) || self.openers().any(|tag| text.contains(tag));
                self.inner_tag |= tagged;
                return Ok((text, guess));
            }
            if self.ended.is_none() && following.iter().any(|token| token.starts_with(self.rest())) {
                return Err(Stop::More);
            }
            guess = Some(Repair::InnerCloser);
            self.at = end;
        }
    }

    /// Reads one JSON object or array; if it is invalid, the text up to one of `closers`, repaired.
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
            // Broken JSON has no certain end, so it extends to the closing token. Tokens before the error may be in
            // strings.
            Status::Broken { at, .. } => match self.find_any(start + at, closers) {
                Some(close) => {
                    self.at = close;
                    self.read_json(start, true)
                }
                // Without a closing token, the end of the reply ends the call but completes nothing.
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

    /// Handles a bracket. If the text after it cannot be JSON, it is prose; otherwise a call begins.
    fn begins_json(&mut self) -> Read {
        let inside = self.rest().trim_start_matches(['[', ' ', '\t', '\n', '\r']);
        let list = self.peek() == Some(b'[');
        // A list of calls begins with a bracket; a word after `[` is prose.
        let is_prose = |c: char| list && c.is_alphanumeric();
        let is_dots = |inside: &str| inside.starts_with(['.', '…']);
        if inside.starts_with(is_prose) || inside.strip_prefix('{').is_some_and(is_dots) {
            return Err(Stop::Not);
        }
        if matches!(inside, "" | "{") {
            return Ok(()); // the following text decides
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

    /// Reads one JSON object with the arguments of the call `name`.
    pub(super) fn args(&mut self, name: &str, closers: &[&str]) -> Read<(Args, Vec<Repair>)> {
        self.skip_whitespace();
        let start = self.at;
        if self.sees("\"{")? {
            return self.args_in_string();
        }
        // Nothing is announced before the arguments have begun.
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

    /// Reads the arguments as an object in a JSON string.
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

    /// Adds the calls that JSON values describe.
    pub(super) fn calls(&mut self, start: usize, mut values: Vec<Value>, repairs: &[Repair]) -> Read {
        // Cohere numbers the calls of a list; as an unknown key, the number would be recorded as a repair.
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

    /// Reads one or more JSON calls up to one of the closing tokens. The token may be missing if the JSON is complete
    /// and other text follows, or the reply ended by itself.
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
            // Without a closing token, an array is complete by itself, whereas more calls may follow an object.
            if closers.is_empty() && !self.text[value_start..].starts_with('{') {
                return self.missing_end(end, false);
            }
            match self.peek() {
                None if closers.is_empty() && self.ended.is_none() => return self.wait(),
                // A model that writes a separator means several calls.
                Some(b',' | b';') if !closers.is_empty() => {
                    self.at += 1;
                    self.skip_whitespace();
                    if self.take_any(closers)? {
                        return Ok(());
                    }
                }
                Some(b';') => self.at += 1,
                Some(b'{') => {}
                // Surplus brackets: all calls up to the closing token are read again as one text, which can be
                // repaired.
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

    /// Consumes one of the tokens if it follows, possibly after whitespace.
    pub(super) fn take_after_whitespace(&mut self, tokens: &[&str]) -> Read {
        let end = self.at;
        self.skip_whitespace();
        if !self.take_any(tokens)? {
            self.at = end;
        }
        Ok(())
    }

    /// Handles a missing closing token: the calls end at `end` nevertheless, unless the reply was cut off there.
    /// `missing`: there should have been a token.
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

    /// Consumes the closing token of a call. Without it the call ends nevertheless, unless the reply was cut off there.
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

    /// Consumes the closing token of a section after a call. Returns `true` if another call follows instead.
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

    /// Reads reasoning up to the token or the end of the reply.
    pub(super) fn thought(&mut self, close: &str) -> Read {
        let start = self.at;
        self.thought = Some(match self.until(close) {
            Ok(text) => ((start, start + text.len()), true),
            // Reasoning without its closing token is no call that broke off.
            Err(Stop::Incomplete) => {
                self.at = self.text.len();
                ((start, self.at), false)
            }
            Err(stop) => return Err(stop),
        });
        Ok(())
    }

    /// Returns the opening tokens of the dialect.
    fn openers(&self) -> impl Iterator<Item = &'static str> + use<> {
        let dialect = self.dialect;
        super::rows(Dialects::ALL).filter(move |row| Some(row.dialect) == dialect).map(|row| row.opener)
    }

    pub(super) fn catalog(&self) -> Option<&'a Catalog> {
        self.catalog
    }

    /// Returns `true` if a tool of this name is on offer.
    pub(super) fn offers(&self, name: &str) -> bool {
        call::spec(self.catalog, name).is_some()
    }
}

/// Returns the text of an argument without the two line breaks next to its tags: templates put a long value on lines of
/// its own.
pub(super) fn without_own_lines(text: &str) -> &str {
    let Some(text) = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')) else { return text };
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
}

/// Finds the end of the first value.
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
