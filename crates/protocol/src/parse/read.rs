//! The content of a block, read as calls.

use super::block::{Block, Phase};
use super::call::{self, Draft};
use super::preview::{is_mistyped_tag, is_nearly_tag, tag_of};
use super::taught;
use crate::json::{self, Problem, Status};
use crate::tool::find_param;
use crate::{Args, Catalog, ParamKind, Repair, ToolSpec};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

/// What may be read and how.
pub(super) struct Reader<'a> {
    pub(super) catalog: Option<&'a Catalog>,
    /// Whether the block is known to be whole: its closing fence is there.
    pub(super) closed: bool,
    /// Whether it ends where the next tool block opens: that fence may have been meant as content.
    pub(super) ends_at_fence: bool,
}

impl Block {
    /// Reads the block as calls.
    pub(super) fn read(&mut self, reader: &Reader<'_>) -> Result<Vec<Draft>, Problem> {
        match (&self.phase, self.lexer.status()) {
            (Phase::Spoiled(problem), _) => Err(problem.clone()),
            (Phase::Body(index), _) => {
                let tag = &self.track.tags[*index].tag;
                Err(unfinished(self.body.len(), format!("the line {tag} that ends the verbatim body is missing")))
            }
            (Phase::Object, Status::InString) => {
                let message = "a string is not closed; write newlines in strings as \\n, or use a verbatim body";
                Err(unfinished(self.body.len(), message.into()))
            }
            (Phase::Object, Status::Between { values: 0 }) => {
                Err(Problem::new(0, "the block is empty; write one object with name and args"))
            }
            (_, Status::Between { .. }) => self.read_exact(reader),
            _ => self.read_drifted(reader),
        }
    }

    /// The lexer found no fault: valid JSON, but for control characters, duplicates and numbers out of range.
    fn read_exact(&mut self, reader: &Reader<'_>) -> Result<Vec<Draft>, Problem> {
        let drafts = match self.read_taught() {
            Some(draft) => vec![draft],
            None => self.read_values(reader)?,
        };
        let drafts =
            refuse_tags(drafts, |draft| draft.repairs.contains(&Repair::ArgsString), |text| tag_of(text).is_some())?;
        let control = self.lexer.saw_control();
        let is_tag = |text: &str| if control { is_nearly_tag(text) } else { is_mistyped_tag(text) };
        refuse_tags(drafts, |_| reader.ends_at_fence, is_tag)
    }

    fn read_taught(&mut self) -> Option<Draft> {
        let [(start, end)] = self.track.values[..] else { return None };
        if !self.track.tags.is_empty() || self.lexer.saw_control() {
            return None;
        }
        let mut begun = std::mem::take(&mut self.begun);
        if begun.start > 0 {
            begun.start -= start;
            begun.end -= start;
        }
        taught::read(&self.body[start..end], begun, &mut ())
    }

    fn read_values(&self, reader: &Reader<'_>) -> Result<Vec<Draft>, Problem> {
        let mut values = Vec::new();
        let mut repairs = Vec::new();
        for range in &self.track.values {
            let text = self.spliced(*range, reader.catalog);
            let at = |problem: Problem| Problem { at: range.0 + problem.at.min(range.1 - range.0), ..problem };
            if self.lexer.saw_control() {
                let reading = json::read(&text, false).map_err(at)?;
                values.extend(reading.values);
                repairs.extend(reading.repairs);
            } else {
                values.push(json::strict(&text).map_err(at)?);
            }
        }
        repairs.dedup();
        let drafts = call::drafts(values, &repairs, reader.catalog);
        drafts.map_err(|message| Problem::new(self.track.values[0].0, message))
    }

    /// The text of a value with its verbatim bodies put in as JSON strings.
    fn spliced(&self, (start, end): (usize, usize), catalog: Option<&Catalog>) -> Cow<'_, str> {
        if self.track.tags.is_empty() {
            return Cow::Borrowed(&self.body[start..end]);
        }
        let mut out = String::new();
        let mut at = start;
        let first = self.track.tags.partition_point(|tag| tag.start < start);
        let bodies = self.bodies.get(first..).unwrap_or_default();
        let tags = self.track.tags[first..].iter().zip(bodies);
        for (tag, body) in tags.take_while(|(tag, _)| tag.end <= end) {
            let keep = keeps_final_newline(catalog, self.track.tool(tag), &tag.arg);
            let text = if keep { body } else { body.strip_suffix('\n').unwrap_or(body) };
            out.push_str(&self.body[at..tag.start]);
            let _ = write!(out, "{}", Value::from(text));
            at = tag.end;
        }
        out.push_str(&self.body[at..end]);
        Cow::Owned(out)
    }

    fn read_drifted(&self, reader: &Reader<'_>) -> Result<Vec<Draft>, Problem> {
        if self.lexer.is_too_deep() {
            return Err(Problem { inside: true, ..Problem::new(0, "the JSON is nested too deep; flatten it") });
        }
        let reading = json::read(&self.body, reader.closed)?;
        let drafts = call::drafts(reading.values, &reading.repairs, reader.catalog);
        let mut drafts = drafts.map_err(|message| Problem::new(0, message))?;
        if reading.repairs.contains(&Repair::SurroundingText) {
            // Text between two objects may be content that lost its quotes or its tag, and so may the second object; an
            // object inside another fence even when it is the first.
            let trusted = usize::from(!self.body.lines().any(|line| line.trim_start().starts_with("~~~")));
            drafts.iter_mut().skip(trusted).for_each(|draft| draft.repairs.push(Repair::AfterBrokenBlock));
        }
        let behind = self.lines_behind();
        let loose = !behind.trim().is_empty();
        if loose {
            let writes = |draft: &&mut Draft| writes_text(call::spec(reader.catalog, &draft.name), &draft.args);
            drafts.iter_mut().filter(writes).for_each(|draft| draft.repairs.push(Repair::LooseText));
        }
        let ends: HashSet<&str> = behind.lines().map(str::trim).filter(|line| is_short(line)).collect();
        let is_end = |text: &str| is_short(text) && ends.contains(letters(text).as_str());
        let is_tag = |text: &str| tag_of(text).is_some() || is_mistyped_tag(text) || loose && is_nearly_tag(text);
        refuse_tags(drafts, |_| true, |text| is_tag(text) || is_end(text))
    }

    /// Whether lines of text stand behind the last object: they may be content that lost its quotes or its tag.
    pub(super) fn has_loose_end(&self) -> bool {
        !self.lines_behind().trim().is_empty()
    }

    /// The lines behind the object, where there is no body; behind the last bracket, where the object was mended.
    fn lines_behind(&self) -> &str {
        if !matches!(self.phase, Phase::Object) {
            return "";
        }
        let end = self.track.values.last().map(|(_, end)| *end).or_else(|| self.body.rfind(['}', ']']));
        end.and_then(|end| self.body[end..].split_once('\n')).map_or("", |(_, lines)| lines)
    }
}

fn unfinished(at: usize, message: String) -> Problem {
    Problem { inside: true, ..Problem::new(at, message) }
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

/// What is left of an announcement without its marks, escaped or not.
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
        Some(draft) => {
            let message = format!(
                "{}: a verbatim body needs \"<<TAG\" as the whole string in an object that is exact JSON; correct the object",
                draft.name
            );
            Err(unfinished(0, message))
        }
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
