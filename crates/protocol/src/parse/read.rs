//! Reads the content of a tool block as calls, once the block has ended.

use super::block::{Block, Ending, Phase};
use super::call::{self, Draft};
use super::tag::{is_mistyped_tag, is_nearly_tag, tag_of};
use crate::json::{self, Problem, Status};
use crate::messages;
use crate::tool::find_param;
use crate::{Args, Catalog, ParamKind, Repair, Text, ToolSpec};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

/// Reads a block as calls.
pub(super) fn read_block(block: &Block, catalog: Option<&Catalog>, ending: Ending) -> Result<Vec<Draft>, Problem> {
    let reader = BlockReader { block, catalog, ending };
    match (&block.phase, block.lexer.status()) {
        (Phase::Spoiled(problem), _) => Err(problem.clone()),
        (Phase::Body(index), _) => {
            let tag = &block.preview.tags[*index].tag;
            Err(unfinished(block.body.len(), messages::body_end_missing(tag)))
        }
        (Phase::Object, Status::InString) => Err(unfinished(block.body.len(), messages::string_open_at_end())),
        (Phase::Object, Status::Between { values: 0 }) => Err(Problem::new(0, messages::block_empty())),
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
    /// The lexer found no fault: valid JSON, but for control characters, duplicate keys and numbers out of range.
    fn read_exact(&self) -> Result<Vec<Draft>, Problem> {
        let mut values = Vec::new();
        let mut repairs = Vec::new();
        let control = self.block.lexer.saw_control();
        for range in &self.block.preview.values {
            let text = self.spliced(*range);
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
            .map_err(|message| Problem::new(self.block.preview.values[0].0, message))?;
        // The text of arguments under another key than `args` may have been announced where no body is read.
        let unread = [Repair::ArgsString, Repair::ArgsBesideName];
        let hides = |draft: &Draft| unread.iter().any(|repair| draft.repairs.contains(repair));
        let drafts = refuse_tags(drafts, hides, |text| tag_of(text).is_some())?;
        let is_tag = |text: &str| if control { is_nearly_tag(text) } else { is_mistyped_tag(text) };
        // The fence of the next block may have been meant as content of a body.
        refuse_tags(drafts, |_| self.ending == Ending::NextFence, is_tag)
    }

    /// The text of a value with its verbatim bodies put in as JSON strings.
    fn spliced(&self, (start, end): (usize, usize)) -> Cow<'a, str> {
        let Block { body, bodies, preview, .. } = self.block;
        if preview.tags.is_empty() {
            return Cow::Borrowed(&body[start..end]);
        }
        let mut out = String::new();
        let mut at = start;
        let first = preview.tags.partition_point(|tag| tag.start < start);
        let tags = preview.tags[first..].iter().zip(bodies.get(first..).unwrap_or_default());
        for (tag, text) in tags.take_while(|(tag, _)| tag.end <= end) {
            let keep = keeps_final_newline(self.catalog, preview.tool(tag), &tag.arg);
            let text = if keep { text } else { text.strip_suffix('\n').unwrap_or(text) };
            out.push_str(&body[at..tag.start]);
            let _ = write!(out, "{}", Value::from(text));
            at = tag.end;
        }
        out.push_str(&body[at..end]);
        Cow::Owned(out)
    }

    /// The lexer found a fault: the JSON must be repaired, or something stands around it.
    fn read_drifted(&self) -> Result<Vec<Draft>, Problem> {
        let block = self.block;
        if block.lexer.is_too_deep() {
            return Err(Problem { inside: true, ..Problem::new(0, messages::nested_too_deep()) });
        }
        let broken = |problem: Problem| Problem { inside: !is_whole(&block.body), ..problem };
        let reading = json::read(&block.body, self.ending == Ending::Fence).map_err(broken)?;
        let drafts = call::drafts(reading.values, &reading.repairs, self.catalog);
        let mut drafts = drafts.map_err(|message| broken(Problem::new(0, message)))?;
        if reading.repairs.contains(&Repair::SurroundingText) {
            // Text between two objects may be content that lost its quotes or its tag, and so may the second object; an
            // object inside another fence even when it is the first.
            let trusted = usize::from(!block.body.lines().any(|line| line.trim_start().starts_with("~~~")));
            drafts.iter_mut().skip(trusted).for_each(|draft| draft.repairs.push(Repair::AfterBrokenBlock));
        }
        let behind = block.lines_behind();
        let loose = !behind.trim().is_empty();
        if loose {
            let writes = |draft: &&mut Draft| writes_text(call::spec(self.catalog, &draft.name), &draft.args);
            drafts.iter_mut().filter(writes).for_each(|draft| draft.repairs.push(Repair::TrailingText));
        }
        let ends: HashSet<&str> = behind.lines().map(str::trim).filter(|line| is_short(line)).collect();
        let is_end = |text: &str| is_short(text) && ends.contains(letters(text).as_str());
        let is_tag = |text: &str| tag_of(text).is_some() || is_mistyped_tag(text) || loose && is_nearly_tag(text);
        refuse_tags(drafts, |_| true, |text| is_tag(text) || is_end(text))
    }
}

fn unfinished(at: usize, message: Text) -> Problem {
    Problem { inside: true, ..Problem::new(at, message) }
}

/// Whether a text that is no valid JSON, such as an example with an ellipsis, has come to its end all the same: it is objects
/// or arrays in which every bracket and every string is closed, and nothing else. Where a quote may be meant in another way
/// the answer is no, for what follows the block may be the rest of a string.
fn is_whole(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    let (mut at, mut before) = (0, b'\n');
    while let Some(byte) = bytes.get(at).copied() {
        at += 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
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
                let behind = text.get(at..).unwrap_or_default().trim_start();
                if !behind.starts_with([',', ':', '}', ']']) {
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

/// Whether some argument is a text that a file will hold.
fn writes_text(spec: Option<&ToolSpec>, args: &Args) -> bool {
    let kind = |name: &String| spec.and_then(|spec| spec.find(name)).map(|param| &param.kind);
    let text = |kind| matches!(kind, &ParamKind::Text { content: true } | &ParamKind::Patch | &ParamKind::Objects(_));
    args.keys().filter_map(kind).any(text)
}

/// Whether this may be a TAG, with what may be around it.
fn is_short(text: &str) -> bool {
    !text.is_empty() && text.len() < 64
}

/// The word of an announcement without the punctuation around it, escaped or not.
fn letters(text: &str) -> String {
    let text = text.replace("&lt;", "<");
    text.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_').to_owned()
}

/// Whether a body for this argument keeps its last newline: contents and patches do.
fn keeps_final_newline(catalog: Option<&Catalog>, tool: Option<&str>, arg: &str) -> bool {
    let Some(spec) = tool.and_then(|tool| call::spec(catalog, tool)) else { return false };
    let mut steps = arg.split('/');
    let mut param = steps.next().and_then(|name| spec.find(name));
    for step in steps {
        let Some(ParamKind::Objects(fields)) = param.map(|param| &param.kind) else { continue };
        if let Some(field) = find_param(fields, step) {
            param = Some(field);
        }
    }
    param.is_some_and(|param| matches!(param.kind, ParamKind::Text { content: true } | ParamKind::Patch))
}

/// Refuses a call whose arguments hold what looks like the announcement of a verbatim body that was never read as one:
/// writing the announcement in place of the text would lose the text.
fn refuse_tags(
    drafts: Vec<Draft>,
    suspect: impl Fn(&Draft) -> bool,
    is_tag: impl Fn(&str) -> bool,
) -> Result<Vec<Draft>, Problem> {
    match drafts.iter().find(|draft| suspect(draft) && args_hold(&draft.args, &is_tag)) {
        None => Ok(drafts),
        Some(draft) => Err(unfinished(0, messages::tag_not_announced(&draft.name))),
    }
}

fn args_hold(args: &Args, is_tag: impl Fn(&str) -> bool) -> bool {
    let mut open: Vec<&Value> = args.values().collect();
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
