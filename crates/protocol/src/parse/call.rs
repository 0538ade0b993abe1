//! Converts JSON values into calls: the canonical shape, and the shapes that models drift to.
//!
//! `{"name": .., "args": {..}, "reason": .., "id": ..}` is canonical. The following shapes are accepted in this order;
//! the first one that fits is used, and every one but the first is recorded as a repair:
//!
//! 1. `name` and `args`;
//! 2. one key that names the tool and one key that holds the arguments, whatever models call them;
//! 3. a wrapper: `{"tool_call": {..}}`, `{"tool_calls": [..]}`;
//! 4. the name of a known tool as the only key: `{"read_file": {"path": "a"}}`;
//! 5. the arguments next to the name. Only here a key that is an argument of the tool takes precedence over the same
//!    key of the envelope.
//!
//! Two keys that name different tools, or two keys with arguments, are no call: either choice would be a guess. The
//! outline of a block must agree with this file about the name and the arguments of a call.

use crate::{Args, Catalog, ParamKind, Repair, Text, ToolSpec, json, text};
use serde_json::{Map, Value};
use std::borrow::Cow;

const NAME_KEYS: [&str; 5] = ["name", "tool", "tool_name", "function", "action"];
const ARGS_KEYS: [&str; 8] =
    ["args", "arguments", "parameters", "params", "kwargs", "input", "tool_input", "action_input"];
const WRAPPERS: [&str; 3] = ["tool_call", "tool_calls", "function"];

/// A call without its final id.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) args: Args,
    pub(super) reason: Option<String>,
    pub(super) repairs: Vec<Repair>,
}

/// Returns `true` if `key` holds the call, or an array of calls, in an object around it.
pub(super) fn is_wrapper(key: &str) -> bool {
    WRAPPERS.contains(&key)
}

/// Returns `true` if `key` names the tool.
pub(super) fn is_name(key: &str) -> bool {
    NAME_KEYS.contains(&key)
}

/// Returns `true` if `key` holds the arguments.
pub(super) fn is_args(key: &str) -> bool {
    ARGS_KEYS.contains(&key)
}

/// The maximum number of bytes in a name that is looked up in the catalog.
const MOST_NAME: usize = 512;

/// Returns the spec of an offered tool; `None` for every name if there is no catalog.
pub(super) fn spec<'a>(catalog: Option<&'a Catalog>, name: &str) -> Option<&'a ToolSpec> {
    // This runs for every string of a block. The limit keeps long texts from being searched each time.
    catalog.filter(|_| name.len() <= MOST_NAME)?.find(&strip_decoration(name))
}

/// Returns the spec of the tool with exactly this name. An alias such as `write` may also be an argument of another
/// tool.
pub(super) fn named_spec<'a>(catalog: Option<&'a Catalog>, name: &str) -> Option<&'a ToolSpec> {
    spec(catalog, name).filter(|spec| *spec.name == *strip_decoration(name))
}

/// Returns a name without the decoration that models add: `functions.` before it, `:0` or `<|...|>` after it, and the
/// backslashes with which web chats escape Markdown emphasis.
pub(super) fn strip_decoration(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|byte| matches!(byte, b'.' | b':' | b'<' | b'\\')) {
        return Cow::Borrowed(name);
    }
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let name = name.split("<|").next().unwrap_or(name);
    let name = match name.rsplit_once(':') {
        Some((head, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => head,
        _ => name,
    };
    without_markdown_escapes(name)
}

/// Removes the backslashes before punctuation, which are Markdown escapes.
fn without_markdown_escapes(text: &str) -> Cow<'_, str> {
    if !holds_markdown_escape(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(next)) if next.is_ascii_punctuation() => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns `true` if a backslash precedes punctuation that has a meaning in Markdown. Windows paths have backslashes
/// before other characters.
fn holds_markdown_escape(text: &str) -> bool {
    text.as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && matches!(pair[1], b'_' | b'*' | b'-' | b'.' | b'[' | b']' | b'#' | b'~' | b'`'))
}

/// Reads values as calls. `repairs` were needed to read the values.
pub(super) fn drafts(values: Vec<Value>, repairs: &[Repair], catalog: Option<&Catalog>) -> Result<Vec<Draft>, Text> {
    // An array is not the canonical form, even with one call.
    let several = values.len() > 1 || matches!(values.first(), Some(Value::Array(_)));
    let mut shapes = Shapes { catalog, drafts: Vec::new() };
    let around = Draft { repairs: repairs.to_vec(), ..Draft::default() };
    for value in values {
        shapes.read_calls(value, &around)?;
    }
    if several {
        shapes.drafts.iter_mut().for_each(|draft| draft.note(Repair::SeveralCalls));
    }
    Ok(shapes.drafts)
}

/// The calls read so far, for reading values shape by shape.
struct Shapes<'a> {
    catalog: Option<&'a Catalog>,
    drafts: Vec<Draft>,
}

impl Shapes<'_> {
    /// Reads a call, or an array of calls. `around` has the id, the reason and the repairs of the enclosing values.
    fn read_calls(&mut self, value: Value, around: &Draft) -> Result<(), Text> {
        match value {
            Value::Array(items) if items.is_empty() => {
                Err(text!("an array is not a call; write one object with name and args"))
            }
            Value::Array(items) => items.into_iter().try_for_each(|item| self.read_call(item, around.clone())),
            other => self.read_call(other, around.clone()),
        }
    }

    fn read_call(&mut self, value: Value, mut draft: Draft) -> Result<(), Text> {
        let Value::Object(mut object) = value else {
            return Err(text!("a call is an object with name and args"));
        };
        if let Some(named) = self.find_name(&object)? {
            draft.take_named(object, &named)?;
        } else if let Some(inner) = unwrap(&mut object) {
            return self.read_wrapper(inner, object, draft);
        } else if !self.is_named_by_key(&object) {
            let written = object.contains_key("name");
            return Err(if written {
                text!("name must be a string: the name of a tool")
            } else {
                text!("name is missing; write {{\"name\": \"...\", \"args\": {{...}}}}")
            });
        } else {
            draft.take_keyed(object)?;
        }
        draft.finish(spec(self.catalog, &draft.name))?;
        self.drafts.push(draft);
        Ok(())
    }

    /// Reads the calls in a wrapper; `object` is the rest of the wrapping object.
    fn read_wrapper(&mut self, inner: Value, mut object: Args, mut draft: Draft) -> Result<(), Text> {
        draft.note(Repair::Wrapper);
        draft.take_envelope(&mut object, &|_| false);
        if inner.as_array().is_some_and(|items| items.len() > 1) {
            // One id and one reason cannot belong to several calls.
            (draft.id, draft.reason) = (None, None);
            draft.note(Repair::SeveralCalls);
        }
        self.read_calls(inner, &draft)
    }

    /// Finds the key that names the tool; `None` if no key does.
    fn find_name(&self, object: &Args) -> Result<Option<NameKey<'_>>, Text> {
        let given = |key: &'static str| Some((key, object.get(key)?.as_str()?));
        let names: Vec<(&str, &str)> = NAME_KEYS.into_iter().filter_map(given).collect();
        let Some(&(first, name)) = names.first() else { return Ok(None) };
        if let Some(key) = WRAPPERS.into_iter().find(|key| object.get(*key).is_some_and(holds_call)) {
            return Err(text!(
                "{name} names a tool and {wrapper} contains a call of its own; write one call with name and args",
                name = first,
                wrapper = key
            ));
        }
        let Some(&(other, _)) = names.iter().find(|(_, value)| *value != name) else {
            return Ok(Some(NameKey { key: first, spec: spec(self.catalog, name), only_next_to_name: false }));
        };
        // One of the names may be an argument of the tool that the other one names, if the arguments are next to the
        // name.
        let twice = || text!("{one} and {other} name two tools; write one name, in name", one = first, other);
        let mut known = names.iter().filter_map(|(key, name)| Some((*key, *name, named_spec(self.catalog, name)?)));
        let (Some((key, name, spec)), None) = (known.next(), known.next()) else { return Err(twice()) };
        let fits = |(_, value): &(&str, &str)| *value == name;
        let beside = names.iter().all(|one| one.0 == key || fits(one) || spec.find(one.0).is_some());
        let apart = |key: &&str| object.get(*key).is_some_and(|value| value.is_object() || spec.find(key).is_none());
        if !beside || ARGS_KEYS.iter().any(apart) {
            return Err(twice());
        }
        Ok(Some(NameKey { key, spec: Some(spec), only_next_to_name: true }))
    }

    /// Returns `true` if the only key is the name of a known tool, and its value the arguments.
    fn is_named_by_key(&self, object: &Args) -> bool {
        let mut members = object.iter();
        match (members.next(), members.next()) {
            (Some((key, value)), None) => {
                spec(self.catalog, key).is_some() && (looks_like_args(value) || is_empty(value))
            }
            _ => false,
        }
    }
}

/// The key that names the tool of a call.
struct NameKey<'a> {
    key: &'static str,
    spec: Option<&'a ToolSpec>,
    /// Whether the arguments can only be next to the name.
    only_next_to_name: bool,
}

impl NameKey<'_> {
    /// Returns `true` if the key is an argument of the tool.
    fn is_argument(&self, key: &str) -> bool {
        self.spec.is_some_and(|spec| spec.find(key).is_some())
    }

    /// Returns the key that holds the arguments, if there is one.
    fn args_key(&self, object: &Args) -> Result<Option<&'static str>, Text> {
        let mut keys = ARGS_KEYS.into_iter().filter(|key| object.contains_key(*key));
        let holds = |key: &&str| self.holds_args(key, &object[*key]);
        let Some(key) = keys.clone().find(holds).filter(|_| !self.only_next_to_name) else { return Ok(None) };
        match keys.find(|other| *other != key) {
            None => Ok(Some(key)),
            // The message tells the model to keep the taught key.
            Some(other) => Err(text!(
                "the arguments are given twice, under {key} too; write them once, in args",
                key = if other == "args" { key } else { other }
            )),
        }
    }

    /// Returns `true` if the value holds the arguments. Text under a key that is an argument of the tool holds them
    /// only if it is certainly an object of the tool's arguments; otherwise it is that argument's text.
    fn holds_args(&self, key: &str, value: &Value) -> bool {
        match value {
            Value::Object(_) => true,
            Value::String(text) if self.is_argument(key) => {
                let inside = text.trim_start().starts_with('{').then(|| json::strict(text).ok()).flatten();
                let args = inside.as_ref().and_then(Value::as_object).filter(|args| !args.is_empty());
                args.is_some_and(|args| args.keys().all(|key| self.is_argument(key)))
            }
            // Without a spec, a key such as `input` may be an argument of the unknown tool, but `args` is never one.
            other => {
                !self.is_argument(key)
                    && (looks_like_args(other) || is_empty(other) || key == "args" || self.spec.is_some())
            }
        }
    }
}

/// Takes the content of a wrapper, if the keys next to it contain nothing that could belong to a call.
fn unwrap(object: &mut Args) -> Option<Value> {
    let holds = |key: &&str| object.get(*key).is_some_and(|value| value.is_object() || value.is_array());
    let key = WRAPPERS.into_iter().find(holds)?;
    let empty = |value: &Value| value.is_null() || value.as_str() == Some("");
    let idle = |(other, value): (&String, &Value)| match other.as_str() {
        // Except for `reason`, these are fields of the messages and tool calls of OpenAI's API.
        "type" | "id" | "index" | "role" | "reason" => true,
        "content" => empty(value),
        other => other == key,
    };
    if object.iter().all(idle) { object.remove(key) } else { None }
}

/// Returns `true` if a value is a call by its keys, or contains one as a wrapper does.
fn holds_call(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(holds_call),
        Value::Object(object) => {
            object.iter().any(|(key, value)| is_name(key) && value.is_string() || is_wrapper(key) && holds_call(value))
        }
        _ => false,
    }
}

impl Draft {
    /// Returns `true` if the end of the call was added or guessed: text after the block may have been meant as its
    /// rest.
    pub(super) fn is_completed(&self) -> bool {
        self.repairs.iter().any(|repair| *repair == Repair::FinalClosers || !repair.lossless())
    }

    fn note(&mut self, repair: Repair) {
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }

    /// Reads the shapes in which a key holds the name.
    fn take_named(&mut self, mut object: Args, named: &NameKey<'_>) -> Result<(), Text> {
        let written = object.remove(named.key);
        if named.key != "name" {
            self.note(Repair::NameAlias);
        }
        self.take_name(written.as_ref().and_then(Value::as_str).unwrap_or_default())?;
        for key in NAME_KEYS {
            // Another key with the same name adds nothing.
            if object.get(key) == written.as_ref() {
                object.remove(key);
                self.note(Repair::ExtraKey);
            }
        }
        match named.args_key(&object)? {
            Some(key) => {
                if key != "args" {
                    self.note(Repair::ArgsAlias);
                }
                self.args = self.read_args(key, object.remove(key).unwrap_or_default())?;
                self.take_envelope(&mut object, &|_| false);
                self.add_keys_next_to_args(object, named.spec)
            }
            None => {
                self.take_envelope(&mut object, &|key| named.is_argument(key));
                if !object.is_empty() {
                    self.note(Repair::ArgsBesideName);
                }
                self.args = object;
                Ok(())
            }
        }
    }

    /// Reads the shape in which the only key is the name.
    fn take_keyed(&mut self, object: Args) -> Result<(), Text> {
        self.note(Repair::NameAsKey);
        for (key, value) in object {
            self.take_name(&key)?;
            self.args = self.read_args(&key, value)?;
        }
        Ok(())
    }

    fn take_name(&mut self, written: &str) -> Result<(), Text> {
        let name = strip_decoration(written);
        if name.is_empty() {
            return Err(text!("name is empty; give the name of a tool"));
        }
        if name.len() < written.len() {
            self.note(Repair::NameDecoration);
        }
        self.name = name.into_owned();
        Ok(())
    }

    /// Reads the arguments under `key`.
    fn read_args(&mut self, key: &str, value: Value) -> Result<Args, Text> {
        match value {
            Value::Object(args) => Ok(args),
            empty if is_empty(&empty) => {
                self.note(Repair::WrongType);
                Ok(Args::new())
            }
            Value::String(encoded) if looks_like_object(&encoded) => self.decode(&encoded),
            _ => Err(text!("{key} must be an object: the arguments by name", key)),
        }
    }

    fn decode(&mut self, encoded: &str) -> Result<Args, Text> {
        // If the string had other quotes than those of JSON, its backslashes may be escapes of the JSON inside.
        if self.repairs.contains(&Repair::Quotes) && encoded.contains('\\') {
            return Err(text!("the backslashes of this string can be read in two ways; write each as \\\\"));
        }
        self.note(Repair::ArgsString);
        let reading = json::read(encoded, false).map_err(|problem| {
            text!(
                "args is a string that contains no JSON object ({problem}); write args as an object",
                problem = problem.message
            )
        })?;
        reading.repairs.into_iter().for_each(|repair| self.note(repair));
        let mut values = reading.values.into_iter();
        match (values.next(), values.next()) {
            (Some(Value::Object(args)), None) => Ok(args),
            _ => Err(text!("args is a string that contains more than one JSON object; write args as an object")),
        }
    }

    fn take_envelope(&mut self, object: &mut Map<String, Value>, is_argument: &dyn Fn(&str) -> bool) {
        // A reason or id next to the name replaces that of a wrapper.
        if !is_argument("reason") {
            self.reason = object.remove("reason").and_then(|reason| self.text(reason)).or_else(|| self.reason.take());
        }
        if !is_argument("id") {
            self.id = object.remove("id").and_then(|id| self.text(id)).or_else(|| self.id.take());
        }
    }

    /// Returns a string, or the JSON text of a value in the place of a string.
    fn text(&mut self, value: Value) -> Option<String> {
        if !value.is_string() {
            self.note(Repair::WrongType);
        }
        match value {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    }

    /// Handles the keys next to `args`: arguments of the tool are added to it, other keys are dropped. An argument must
    /// not be given twice.
    fn add_keys_next_to_args(&mut self, object: Map<String, Value>, spec: Option<&ToolSpec>) -> Result<(), Text> {
        for (key, value) in object {
            let param = spec.and_then(|spec| spec.find(&key));
            let Some(param) = param else {
                self.note(Repair::ExtraKey);
                continue;
            };
            let same = |name: &str| spec.and_then(|spec| spec.find(name)).is_some_and(|other| other.name == param.name);
            match self.args.iter().find(|(name, _)| same(name)) {
                None => {
                    self.args.insert(key, value);
                    self.note(Repair::ArgsBesideName);
                }
                Some((_, given)) if *given == value => self.note(Repair::ExtraKey),
                Some(_) => {
                    return Err(text!("{key} is given twice, inside args and next to it; write it once, in args", key));
                }
            }
        }
        Ok(())
    }

    /// Adds the repairs that can only be recognised once name and arguments are known.
    fn finish(&mut self, spec: Option<&ToolSpec>) -> Result<(), Text> {
        let is_argument = |key: &str| spec.is_some_and(|spec| spec.find(key).is_some());
        let of_envelope = |key: &String| matches!(key.as_str(), "name" | "reason" | "id") && !is_argument(key);
        if self.repairs.contains(&Repair::FinalClosers) && self.args.keys().any(of_envelope) {
            // The arguments most likely ended before this key.
            self.note(Repair::MiddleClosers);
        }
        let beside = [Repair::ArgsBesideName, Repair::ExtraKey, Repair::WrongType]
            .iter()
            .any(|repair| self.repairs.contains(repair));
        if self.repairs.contains(&Repair::SurplusClosers) && beside {
            // One of the brackets most likely closed the arguments too early.
            return Err(text!("there are more closing brackets than opening ones; count them"));
        }
        if self.repairs.contains(&Repair::InvalidEscape) {
            self.weigh_markdown_escapes(spec)?;
        }
        Ok(())
    }

    /// Handles escapes that JSON does not have, which a web chat may have added for Markdown. In a name or a key they
    /// have no other use and are removed. In a path, where the backslash may be a separator, they are refused, and so
    /// is `\_` in any other text. Other escapes are kept.
    fn weigh_markdown_escapes(&mut self, spec: Option<&ToolSpec>) -> Result<(), Text> {
        let finds = |key: &str| spec.and_then(|spec| spec.find(key));
        let escaped = |key: &&String| finds(key).is_none() && finds(&without_markdown_escapes(key)).is_some();
        let keys: Vec<String> = self.args.keys().filter(escaped).cloned().collect();
        for key in keys {
            let plain = without_markdown_escapes(&key).into_owned();
            if !self.args.contains_key(&plain)
                && let Some(value) = self.args.remove(&key)
            {
                self.args.insert(plain, value);
                self.note(Repair::NameDecoration);
            }
        }
        let reason = self.reason.as_ref().is_some_and(|reason| reason.contains("\\_"));
        let doubtful = |(key, value): (&String, &Value)| {
            let path = finds(key).is_some_and(|param| param.kind == ParamKind::Path);
            path && value.as_str().is_some_and(holds_markdown_escape) || holds_escaped_underscore(value)
        };
        if reason || self.args.iter().any(doubtful) {
            return Err(text!("the backslashes of this string can be read in two ways; write each as \\\\"));
        }
        Ok(())
    }
}

fn holds_escaped_underscore(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("\\_"),
        Value::Array(items) => items.iter().any(holds_escaped_underscore),
        Value::Object(members) => {
            members.iter().any(|(key, value)| key.contains("\\_") || holds_escaped_underscore(value))
        }
        _ => false,
    }
}

fn looks_like_object(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

fn looks_like_args(value: &Value) -> bool {
    value.is_object() || value.as_str().is_some_and(looks_like_object)
}

/// Returns `true` for the values that models write for no arguments.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns `true` if these values are certainly a call: a tool's name, and its arguments under a key of their own.
pub(super) fn is_call(values: &[Value]) -> bool {
    let certain = |value: &Value| match value {
        Value::Object(object) => {
            object.iter().any(|(key, value)| is_name(key) && value.is_string())
                && object.iter().any(|(key, value)| is_args(key) && looks_like_args(value))
                || object.iter().any(|(key, value)| is_wrapper(key) && holds_call(value))
        }
        _ => false,
    };
    values.iter().any(|value| match value {
        Value::Array(items) => items.iter().any(certain),
        other => certain(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Param, ParamKind};
    use Repair::{
        ArgsAlias, ArgsBesideName, ArgsString, ExtraKey, NameAlias, NameAsKey, NameDecoration, SeveralCalls, Wrapper,
        WrongType,
    };
    use serde_json::json;

    fn catalog() -> Catalog {
        let tool = |(name, args): (&'static str, &[&'static str])| {
            let text = |name: &&'static str| Param::new(*name, ParamKind::Text { content: false }, "");
            args.iter().map(text).fold(ToolSpec::new(name, ""), ToolSpec::param)
        };
        let tools: [(_, &[_]); 3] =
            [("read_file", &["path"]), ("bash", &["command"]), ("job", &["id", "action", "input"])];
        tools.into_iter().map(tool).collect()
    }

    fn one(value: Value) -> Draft {
        drafts(vec![value], &[], Some(&catalog())).unwrap().remove(0)
    }

    #[test]
    fn drifted_shapes_are_read_with_their_repairs() {
        let args = json!({"path": "a"});
        let cases = [
            (json!({"name": "read_file", "args": args}), vec![]),
            (json!({"name": "read_file", "arguments": args}), vec![ArgsAlias]),
            (json!({"tool": "read_file", "parameters": args}), vec![NameAlias, ArgsAlias]),
            (json!({"name": "read_file", "args": "{\"path\": \"a\"}"}), vec![ArgsString]),
            (json!({"name": "read_file", "path": "a"}), vec![ArgsBesideName]),
            (json!({"name": "functions.read_file:0", "args": args}), vec![NameDecoration]),
            (json!({"name": "read_file<|x|>", "args": args}), vec![NameDecoration]),
            (json!({"tool_call": {"name": "read_file", "args": args}}), vec![Wrapper]),
            (
                json!({"type": "function", "function": {"name": "read_file", "arguments": args}}),
                vec![Wrapper, ArgsAlias],
            ),
            (json!({"name": "read_file", "args": args, "mood": 1}), vec![ExtraKey]),
            (json!({"name": "read_file", "args": {}, "path": "a"}), vec![ArgsBesideName]),
            (json!({"name": "read_file", "args": args, "path": "a", "mood": {}}), vec![ExtraKey]),
            (json!({"name": "read_file", "tool": "read_file", "args": args}), vec![ExtraKey]),
            (json!({"name": "read\\_file", "args": args}), vec![NameDecoration]),
            (json!({"action": "read_file", "action_input": args}), vec![NameAlias, ArgsAlias]),
            (json!({"action": "read_file", "path": "a"}), vec![NameAlias, ArgsBesideName]),
            (json!({"name": "read_file", "params": "", "path": "a"}), vec![ArgsAlias, WrongType, ArgsBesideName]),
            (json!({"name": "read_file", "args": [], "path": "a"}), vec![WrongType, ArgsBesideName]),
            (json!({"name": "read_file", "kwargs": "{'path': 'a'}"}), vec![ArgsAlias, ArgsString, Repair::Quotes]),
            (json!({"tool_calls": [{"name": "read_file", "args": args}]}), vec![Wrapper]),
            (
                json!({"role": "assistant", "content": null, "tool_calls": [
                    {"type": "function", "function": {"name": "read_file", "arguments": args}},
                ]}),
                vec![Wrapper, ArgsAlias],
            ),
            (json!({"read_file": args}), vec![NameAsKey]),
            (json!({"readFile": "{\"path\": \"a\"}"}), vec![NameAsKey, ArgsString]),
        ];
        for (value, repairs) in cases {
            let shown = value.to_string();
            let draft = one(value);
            let name = if draft.name == "readFile" { "read_file" } else { &draft.name };
            assert_eq!((name, Value::Object(draft.args)), ("read_file", args.clone()), "{shown}");
            assert_eq!(draft.repairs, repairs, "{shown}");
        }
    }

    #[test]
    fn tool_arguments_take_precedence_over_the_envelope() {
        let draft = one(json!({"name": "job", "id": "j1", "action": "write", "input": "x"}));
        assert_eq!(Value::Object(draft.args), json!({"id": "j1", "action": "write", "input": "x"}));
        assert_eq!(draft.id, None);
        let draft = one(json!({"action": "write", "input": "{}", "id": "j1", "tool": "job"}));
        assert_eq!(Value::Object(draft.args), json!({"id": "j1", "action": "write", "input": "{}"}));
        // Text under one of the tool's own keys is the arguments only if it can be nothing else.
        let draft = one(json!({"name": "job", "input": "{\"action\": \"poll\", \"id\": \"j1\"}"}));
        assert_eq!(Value::Object(draft.args), json!({"id": "j1", "action": "poll"}));
        let draft = one(json!({"name": "job", "input": "{\"a\": 1}"}));
        assert_eq!(Value::Object(draft.args), json!({"input": "{\"a\": 1}"}));
        let draft = one(json!({"name": "bash", "id": "j1", "command": "ls", "reason": "r"}));
        assert_eq!((draft.id.as_deref(), draft.reason.as_deref()), (Some("j1"), Some("r")));
    }

    #[test]
    fn several_calls_are_read_and_bad_shapes_refused() {
        let call = json!({"name": "bash", "args": {}});
        let two = drafts(vec![call.clone(), call.clone()], &[], None).unwrap();
        assert!(two.len() == 2 && two.iter().all(|draft| draft.repairs == [SeveralCalls]));
        assert_eq!(drafts(vec![json!([call])], &[], None).unwrap()[0].repairs, [SeveralCalls]);
        let both = drafts(vec![json!({"tool_calls": [call, call], "id": "x", "reason": "r"})], &[], None).unwrap();
        assert!(both.len() == 2 && both.iter().all(|draft| draft.repairs == [Wrapper, SeveralCalls]));
        assert!(both.iter().all(|draft| draft.id.is_none() && draft.reason.is_none()));
        let one = drafts(vec![json!({"tool_call": call, "id": "x", "reason": "r"})], &[], None).unwrap();
        assert_eq!((one[0].id.as_deref(), one[0].reason.as_deref()), (Some("x"), Some("r")));
        for bad in [
            json!([]),
            json!([1]),
            json!({}),
            json!({"name": 1}),
            json!({"name": ""}),
            json!({"name": "x", "args": [1]}),
            json!({"tool_calls": []}),
            json!({"tool_call": call, "mood": 1}),
            json!({"tool_call": call, "name": "x"}),
            json!({"name": "x", "tool": "y", "args": {}}),
            json!({"name": "x", "tool": "y", "path": "a"}),
            json!({"name": "x", "args": {}, "arguments": {}}),
            json!({"name": "x", "params": {}, "input": "y"}),
            json!({"bash": {"command": "ls"}}),
        ] {
            assert!(drafts(vec![bad.clone()], &[], None).is_err(), "{bad}");
        }
        for bad in [
            json!({"bash": {"command": "ls"}, "reason": "r"}),
            json!({"bash": "ls"}),
            json!({"name": "bash", "input": "ls"}),
            json!({"name": "job", "action": "poll", "args": {"id": "j"}}),
            json!({"name": "bash", "tool": "read_file", "command": "ls"}),
        ] {
            assert!(drafts(vec![bad.clone()], &[], Some(&catalog())).is_err(), "{bad}");
        }
    }
}
