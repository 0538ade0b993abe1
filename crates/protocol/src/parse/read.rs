//! Reads the content of a tool block as calls, once the block has ended.

use super::block::{Block, Ending, Phase};
use super::call::{self, Draft};
use super::outline::{StringValue, Tag};
use super::tag::{Inline, bare_word, inline_body, is_mistyped_tag, is_nearly_tag, loose_word, tag_of};
use crate::json::{self, Problem, Status};
use crate::prompt::keeps_last_line_break;
use crate::{Args, Catalog, Param, ParamKind, Repair, Text, ToolSpec, text};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

/// Reads a block as calls.
pub(super) fn read_block(block: &Block, catalog: Option<&Catalog>, ending: Ending) -> Result<Vec<Draft>, Problem> {
    let reader = BlockReader { block, catalog, ending };
    match (&block.phase, block.lexer.status()) {
        (Phase::Spoiled { problem, .. }, _) => Err(problem.clone()),
        (Phase::Body(body), _) => {
            let Tag { tag, token, .. } = &block.outline.tags[body.index];
            if body.begun || ending != Ending::Fence {
                return Err(unfinished(
                    block.body.len(),
                    text!(
                        "the line {tag} that ends the verbatim body is missing; write {tag} alone on a line, then the \
                         closing fence",
                        tag
                    ),
                ));
            }
            Err(unfinished(
                token.start,
                text!(
                    "the closing fence precedes the verbatim body {tag}, which belongs inside the block; write {form}. \
                     For a text that begins with such a fence, open the block with a longer one",
                    tag,
                    form = body_form(token, tag)
                ),
            ))
        }
        (Phase::Object, Status::InString) => Err(unfinished(
            block.body.len(),
            text!("a string is not closed; write newlines in strings as \\n, or use a verbatim body"),
        )),
        (Phase::Object, Status::Between { values: 0 }) if block.object_on_fence_line => Err(unfinished(
            0,
            text!("the object is on the line of the opening fence, where it is not read; begin it on the next line"),
        )),
        // The object may follow this closing fence, so the text after the block is not trusted.
        (Phase::Object, Status::Between { values: 0 }) => {
            Err(unfinished(0, text!("the block is empty; write one object with name and args")))
        }
        (_, Status::Between { .. }) => reader.read_exact(),
        _ => reader.read_drifted(),
    }
}

struct BlockReader<'a> {
    block: &'a Block,
    catalog: Option<&'a Catalog>,
    ending: Ending,
}

impl<'a> BlockReader<'a> {
    /// Reads JSON in which the lexer found no error. It is valid except for control characters, duplicate keys and
    /// numbers out of range.
    fn read_exact(&self) -> Result<Vec<Draft>, Problem> {
        let mut values = Vec::new();
        let mut repairs = Vec::new();
        let control = self.block.lexer.saw_control();
        for range in &self.block.outline.values {
            let text = self.splice_bodies(*range, &mut repairs)?;
            let at = |problem: Problem| Problem { at: range.0 + problem.at.min(range.1 - range.0), ..problem };
            if control {
                let reading = json::read(&text, false).map_err(at)?;
                values.extend(reading.values);
                repairs.extend(reading.repairs);
            } else {
                values.push(json::strict(&text).map_err(at)?);
            }
        }
        repairs.dedup();
        let drafts = call::drafts(values, &repairs, self.catalog)
            .map_err(|message| Problem::new(self.block.outline.values[0].0, message))?;
        // Arguments under another key than `args` may contain announcements whose bodies were not read.
        let unread = [Repair::ArgsString, Repair::ArgsBesideName];
        let hides = |draft: &Draft| unread.iter().any(|repair| draft.repairs.contains(repair));
        let literal = if drafts.iter().any(hides) { literal_words(&self.block.body) } else { HashSet::new() };
        let drafts = refuse_tags(drafts, hides, |text| tag_of(text).is_some() || holds_body(text, &literal))?;
        let is_tag = |text: &str| if control { is_nearly_tag(text) } else { is_mistyped_tag(text) };
        // The fence of the next block may have been meant as content of a body.
        refuse_tags(drafts, |_| self.ending == Ending::NextFence, is_tag)
    }

    /// Returns the text of a value in which verbatim bodies are inserted as JSON strings.
    fn splice_bodies(&self, (start, end): (usize, usize), repairs: &mut Vec<Repair>) -> Result<Cow<'a, str>, Problem> {
        let Block { body, bodies, outline, .. } = self.block;
        let mut pieces: Vec<(&StringValue, Cow<'_, str>)> = Vec::new();
        let first = outline.tags.partition_point(|tag| tag.token.start < start);
        let tags = outline.tags[first..].iter().zip(bodies.get(first..).unwrap_or_default());
        for (tag, text) in tags.take_while(|(tag, _)| tag.token.end <= end) {
            if tag.loose {
                repairs.push(Repair::LooseTag);
            }
            pieces.push((&tag.token, Cow::Borrowed(text)));
        }
        let first = outline.marked.partition_point(|token| token.start < start);
        for token in outline.marked[first..].iter().take_while(|token| token.end <= end) {
            if let Some(text) = self.read_inline_body(token)? {
                repairs.push(Repair::InlineBody);
                pieces.push((token, Cow::Owned(text)));
            }
        }
        if pieces.is_empty() {
            return Ok(Cow::Borrowed(&body[start..end]));
        }
        // The pieces are from two lists and are inserted in the order of the text.
        pieces.sort_by_key(|(token, _)| token.start);
        let (mut out, mut at) = (String::new(), start);
        for (token, text) in pieces {
            // Contents and patches keep their last line break; a command or a pattern has none.
            let keep = keeps_final_newline(self.spec(token), &token.arg);
            let text = if keep { &*text } else { text.strip_suffix('\n').unwrap_or(&text) };
            out.push_str(&body[at..token.start]);
            let _ = write!(out, "{}", Value::from(text));
            at = token.end;
        }
        out.push_str(&body[at..end]);
        Ok(Cow::Owned(out))
    }

    /// Returns the tool to whose arguments a string belongs.
    fn spec(&self, token: &StringValue) -> Option<&'a ToolSpec> {
        self.block.outline.tool(token).and_then(|tool| call::spec(self.catalog, tool))
    }

    /// Returns the body in the string that announces it. Refuses a string that only begins like an announcement, and a
    /// near announcement that would be written to a file.
    fn read_inline_body(&self, token: &StringValue) -> Result<Option<String>, Problem> {
        let raw = &self.block.body[token.start..token.end];
        let Some(text) = decode_string(raw).filter(|_| !is_literal(raw)) else { return Ok(None) };
        // As in a body below the object, line endings become newlines.
        let text = text.replace("\r\n", "\n");
        let spec = self.spec(token);
        let refused = |message| Err(unfinished(token.start, message));
        match inline_body(&text) {
            Some(Inline::Body { lines, .. }) if takes_inline_body(spec, &token.arg) => Ok(Some(lines.to_owned())),
            Some(Inline::Body { tag, .. } | Inline::Broken { tag }) => {
                let tag = tag.to_ascii_uppercase();
                refused(text!(
                    "{argument}: a verbatim body belongs below the object, not inside the string; write {form}. If the \
                     text is meant literally, write its first < as \\u003c",
                    argument = &token.arg,
                    form = body_form(token, &tag)
                ))
            }
            None if writes_file(spec, &token.arg) && is_nearly_alone(&text) => {
                let word = loose_word(&text).unwrap_or("EOF").to_ascii_uppercase();
                refused(text!(
                    "{argument}: this is nearly the announcement of a verbatim body, and no body follows; write \
                     {form}. Where the text is meant literally, write its first < as \\u003c",
                    argument = &token.arg,
                    form = body_form(token, &word)
                ))
            }
            None => Ok(None),
        }
    }

    /// Reads text in which the lexer found an error: the JSON needs repair, or other text surrounds it.
    fn read_drifted(&self) -> Result<Vec<Draft>, Problem> {
        let block = self.block;
        if block.lexer.is_too_deep() {
            return Err(Problem { inside: true, ..Problem::new(0, text!("the JSON is nested too deep; flatten it")) });
        }
        if let Some(problem) = self.body_in_object() {
            return Err(problem);
        }
        let broken = |problem: Problem| Problem { inside: !is_whole(&block.body), ..problem };
        let reading = json::read(&block.body, self.ending == Ending::Fence).map_err(|problem| {
            if block.body.contains(['{', '[']) {
                problem
            } else {
                Problem::new(
                    0,
                    text!("there is no JSON object in this block; write {{\"name\": \"...\", \"args\": {{...}}}}"),
                )
            }
        });
        let reading = reading.map_err(broken)?;
        let drafts = call::drafts(reading.values, &reading.repairs, self.catalog);
        let mut drafts = drafts.map_err(|message| broken(Problem::new(0, message)))?;
        // A repair read the closing bracket as text or as surplus, so the name differs from the announced one.
        if let (Some(started), Some(Draft { name, .. })) = (block.outline.first_name(), drafts.first())
            && started != name
        {
            let problem = text!(
                "the text after the closing bracket makes this a call of another tool; write each call as one JSON \
                 object"
            );
            return Err(broken(Problem::new(0, problem)));
        }
        if reading.repairs.contains(&Repair::SurroundingText) {
            // Text between two objects may be content that lost its quotes or its tag, and so may the second object. An
            // object inside another fence is doubtful even if it is the first.
            let trusted = usize::from(!block.body.lines().any(|line| line.trim_start().starts_with("~~~")));
            drafts.iter_mut().skip(trusted).for_each(|draft| draft.repairs.push(Repair::AfterBrokenBlock));
        }
        let after = block.lines_after_object(&reading.repairs);
        let loose = !after.trim().is_empty();
        if loose {
            let writes = |draft: &&mut Draft| writes_text(call::spec(self.catalog, &draft.name), &draft.args);
            drafts.iter_mut().filter(writes).for_each(|draft| draft.repairs.push(Repair::TrailingText));
        }
        let ends: HashSet<&str> = after.lines().map(str::trim).filter(|line| may_be_tag_line(line)).collect();
        let is_end = |text: &str| may_be_tag_line(text) && ends.contains(bare_announcement(text).as_str());
        let is_tag = |text: &str| tag_of(text).is_some() || is_mistyped_tag(text) || loose && is_nearly_tag(text);
        let literal = literal_words(&block.body);
        refuse_tags(drafts, |_| true, |text| is_tag(text) || is_end(text) || holds_body(text, &literal))
    }

    /// Returns the problem if a body precedes the closing braces of its object.
    fn body_in_object(&self) -> Option<Problem> {
        let Status::Broken { inside: true, at } = self.block.lexer.status() else { return None };
        let Tag { tag, token, .. } = self.block.outline.tags.last()?;
        let after = &self.block.body[token.end..];
        let is_next_line = self.block.body[token.end..at.max(token.end)].contains('\n');
        let ends = || after.lines().skip(1).any(|line| line.trim().trim_end_matches(['"', '}', ']', ',', ' ']) == tag);
        (is_next_line && ends()).then(|| {
            unfinished(
                token.start,
                text!(
                    "the verbatim body {tag} precedes the closing braces of the object; write {form}",
                    tag,
                    form = body_form(token, tag)
                ),
            )
        })
    }
}

/// Returns the correct form of a body, for a message.
fn body_form(token: &StringValue, tag: &str) -> Text {
    body_form_for(token.arg.rsplit('/').next().unwrap_or_default(), tag)
}

/// Returns `true` if a text is a single line that is an announcement with an escape in it, or nearly an announcement.
fn is_nearly_alone(text: &str) -> bool {
    let has_letters = !text.trim().contains('\n') && text.contains(|c: char| c.is_ascii_alphanumeric());
    has_letters && (tag_of(text).is_some() || is_mistyped_tag(text))
}

/// Decodes a JSON string, which may contain raw control characters.
fn decode_string(raw: &str) -> Option<String> {
    let mut escaped = String::with_capacity(raw.len());
    for c in raw.chars() {
        if c < ' ' {
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    serde_json::from_str(&escaped).ok()
}

/// Returns `true` if a text contains a body, or the beginning of one, unless its first character was written as an
/// escape.
fn holds_body(text: &str, literal: &HashSet<&str>) -> bool {
    match inline_body(text) {
        Some(Inline::Body { tag, .. } | Inline::Broken { tag }) => !literal.contains(tag),
        None => false,
    }
}

/// Returns the words after each `<<` whose first character is written as an escape. Used for text that is not exact
/// JSON, in which the extent of each string is unknown.
fn literal_words(text: &str) -> HashSet<&str> {
    let mut words = HashSet::new();
    for at in memchr::memmem::find_iter(text.as_bytes(), b"\\u003") {
        let escapes = ["\\u003c", "\\u003C"];
        let Some(after) = escapes.iter().find_map(|escape| text[at..].strip_prefix(escape)) else { continue };
        let second = escapes.iter().chain(&["<"]).find_map(|mark| after.strip_prefix(mark));
        let word = second.map(|rest| rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        words.extend(word.map(|word| {
            let length = word.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            &word[..length]
        }));
    }
    words
}

/// Returns `true` if the first visible characters of a raw string are not `<<`, because one of them is an escape: this
/// is how to write an announcement literally.
fn is_literal(raw: &str) -> bool {
    let mut rest = raw.trim_start_matches('"');
    loop {
        let next = rest.trim_start();
        rest = ["\\n", "\\r", "\\t"].into_iter().find_map(|escape| next.strip_prefix(escape)).unwrap_or(next);
        if rest.len() == next.len() {
            return !rest.starts_with("<<");
        }
    }
}

fn unfinished(at: usize, message: Text) -> Problem {
    Problem { inside: true, ..Problem::new(at, message) }
}

/// Returns `true` if a text that is not valid JSON, such as an example with an ellipsis, is complete nevertheless:
/// objects or arrays in which every bracket and string is closed, and nothing else. Returns `false` if a quote is
/// ambiguous, since the text after the block may be the rest of a string, and if a body may have been announced, since
/// that text may be the body.
fn is_whole(text: &str) -> bool {
    if text.contains("<<") || text.contains("&lt;") {
        return false;
    }
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    // `before` is the last byte that is not whitespace, or a newline if nothing was read yet.
    let (mut at, mut before) = (0, b'\n');
    while let Some(byte) = bytes.get(at).copied() {
        at += 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            // A quote in any other place is ambiguous and is refused below.
            b'"' if matches!(before, b'{' | b'[' | b',' | b':') => {
                loop {
                    match bytes.get(at) {
                        None => return false,
                        Some(b'"') => break,
                        Some(b'\\') => at += 2,
                        Some(_) => at += 1,
                    }
                }
                at += 1;
                let after = text.get(at..).unwrap_or_default().trim_start();
                if !after.starts_with([',', ':', '}', ']']) {
                    return false;
                }
            }
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' if open.pop() != Some(byte) => return false,
            b'"' | b'\'' | b'`' | 0x80.. => return false,
            b'}' | b']' => {}
            b',' | b';' if before != b'\n' => {}
            _ if open.is_empty() => return false,
            _ => {}
        }
        before = byte;
    }
    open.is_empty() && before != b'\n'
}

/// Returns `true` if some argument is a text that a file will contain.
fn writes_text(spec: Option<&ToolSpec>, args: &Args) -> bool {
    let kind = |name: &String| spec.and_then(|spec| spec.find(name)).map(|param| &param.kind);
    let text = |kind| matches!(kind, &ParamKind::Text { content: true } | &ParamKind::Patch | &ParamKind::Objects(_));
    args.keys().filter_map(kind).any(text)
}

/// Returns `true` if this may be a TAG with decoration around it.
fn may_be_tag_line(text: &str) -> bool {
    !text.is_empty() && text.len() < 64
}

/// Returns the word of an announcement without the surrounding punctuation, escaped or not.
fn bare_announcement(text: &str) -> String {
    bare_word(&text.replace("&lt;", "<")).to_owned()
}

/// Handles verbatim bodies in the arguments of calls in a dialect. Dialects have no bodies, but models combine what
/// they learned about blocks of the protocol with the form that they were trained on. A body in the string that
/// announces it is read. An announcement without its body is refused, because it would be written to a file in place of
/// the text.
pub(super) fn bodies_of_dialect(drafts: &mut [Draft], catalog: Option<&Catalog>) -> Result<(), Problem> {
    for draft in drafts {
        let spec = call::spec(catalog, &draft.name);
        let mut inline = false;
        for (arg, value) in &mut draft.args {
            if let Value::String(text) = value
                && takes_inline_body(spec, arg)
                && let Some(Inline::Body { lines, .. }) = inline_body(&text.replace("\r\n", "\n"))
            {
                let keep = keeps_final_newline(spec, arg);
                *value = if keep { lines } else { lines.strip_suffix('\n').unwrap_or(lines) }.into();
                inline = true;
                continue;
            }
            let objects = |param: &Param| matches!(param.kind, ParamKind::Objects(_));
            let file = writes_file(spec, arg) || spec.and_then(|spec| spec.find(arg)).is_some_and(objects);
            let announces = |text: &str| {
                tag_of(text.trim()).is_some() || file && is_nearly_alone(text) || inline_body(text).is_some()
            };
            if (file || takes_body(catalog, Some(&draft.name), arg)) && contains_text(value, &announces) {
                return Err(unfinished(
                    0,
                    text!(
                        "{argument}: a verbatim body is only possible in a block with the info word `tool`; write the \
                         whole text here, or use such a block",
                        argument = arg
                    ),
                ));
            }
        }
        if inline {
            draft.repairs.push(Repair::InlineBody);
        }
    }
    Ok(())
}

/// Returns `true` if an argument accepts a body in the string that announces it: a text of another server's tool, or
/// file content if that is the only text of the tool.
fn takes_inline_body(spec: Option<&ToolSpec>, arg: &str) -> bool {
    let Some((spec, param)) = spec.and_then(|spec| Some((spec, spec.find(arg)?))) else { return false };
    match param.kind {
        ParamKind::Text { .. } if spec.is_foreign() => true,
        ParamKind::Text { content: true } => spec.params.iter().filter(|other| other.kind == param.kind).count() == 1,
        _ => false,
    }
}

/// Returns `true` if the text of an argument most likely ends up in a file.
fn writes_file(spec: Option<&ToolSpec>, arg: &str) -> bool {
    keeps_final_newline(spec, arg) || takes_inline_body(spec, arg)
}

/// Returns `true` if an argument may have a body with an inexact announcement. A path or a search pattern never has
/// one; there `<<eof` is literal text.
pub(super) fn takes_body(catalog: Option<&Catalog>, tool: Option<&str>, arg: &str) -> bool {
    let Some(spec) = tool.and_then(|tool| call::spec(catalog, tool)) else { return true };
    writes_file(Some(spec), arg) || spec.find(arg).is_some_and(|param| param.kind == ParamKind::Command)
}

/// Returns `true` if a body for this argument keeps its last newline. For an unknown tool, the name of the argument
/// decides.
fn keeps_final_newline(spec: Option<&ToolSpec>, arg: &str) -> bool {
    let long = || arg.rsplit('/').next().is_some_and(keeps_last_line_break);
    spec.map_or_else(long, |spec| spec.keeps_final_newline(arg))
}

/// Refuses a call whose arguments contain what looks like the announcement of a verbatim body that was not read:
/// writing the announcement in place of the text would lose the text.
fn refuse_tags(
    drafts: Vec<Draft>,
    suspect: impl Fn(&Draft) -> bool,
    is_tag: impl Fn(&str) -> bool,
) -> Result<Vec<Draft>, Problem> {
    match drafts.iter().find(|draft| suspect(draft) && args_hold(&draft.args, &is_tag)) {
        None => Ok(drafts),
        Some(draft) => Err(unfinished(
            0,
            text!(
                "{tool}: a verbatim body needs \"<<TAG\" as the whole string in an object that is exact JSON, with TAG \
                 in capitals, without blanks or quotes; write {form}",
                tool = &draft.name,
                form = body_form_for("...", "EOF")
            ),
        )),
    }
}

fn args_hold(args: &Args, is_tag: impl Fn(&str) -> bool) -> bool {
    args.values().any(|value| contains_text(value, &is_tag))
}

/// Returns `true` if a value is or contains a text that matches.
fn contains_text(value: &Value, is_tag: &impl Fn(&str) -> bool) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if is_tag(text) => return true,
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    false
}

fn body_form_for(argument: &str, tag: &str) -> Text {
    text!(
        "\"{argument}\": \"<<{tag}\" in the object, then the closing braces, the text on the lines below them, {tag} \
         alone on the last line, and then the closing fence on a line of its own",
        argument,
        tag
    )
}
