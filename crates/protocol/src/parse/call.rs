//! Turns JSON values into calls: the canonical shape, and the shapes that models drift to.
//!
//! `{"name": .., "args": {..}, "reason": .., "id": ..}` is canonical. Every other accepted shape is noted as a repair.

use crate::{Args, Catalog, Repair, Text, ToolSpec, json, messages};
use serde_json::{Map, Value};

const ARGS_KEYS: [&str; 4] = ["args", "arguments", "parameters", "input"];
const NAME_KEYS: [&str; 3] = ["tool", "tool_name", "function"];
const WRAPPERS: [&str; 2] = ["tool_call", "function"];

/// A call without its final id.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) args: Args,
    pub(super) reason: Option<String>,
    pub(super) repairs: Vec<Repair>,
}

/// Whether `key` holds the call in an object around it.
pub(super) fn is_wrapper(key: &str) -> bool {
    matches!(key, "tool_call" | "function")
}

/// Whether `key` names the tool.
pub(super) fn is_name(key: &str) -> bool {
    matches!(key, "name" | "tool" | "tool_name" | "function")
}

/// Whether `key` holds the arguments.
pub(super) fn is_args(key: &str) -> bool {
    ARGS_KEYS.contains(&key)
}

/// The spec of a tool among those on offer; none is known where nothing is said of an offer.
pub(super) fn spec<'a>(catalog: Option<&'a Catalog>, name: &str) -> Option<&'a ToolSpec> {
    catalog?.find(undecorated(name))
}

/// Reads values as calls. `repairs` were needed to read the values.
pub(super) fn drafts(values: Vec<Value>, repairs: &[Repair], catalog: Option<&Catalog>) -> Result<Vec<Draft>, Text> {
    let several = values.len() > 1 || matches!(values.first(), Some(Value::Array(_)));
    let mut drafts = Vec::new();
    for value in values {
        match value {
            Value::Array(items) => {
                if items.is_empty() {
                    return Err(messages::array_without_call());
                }
                for item in items {
                    drafts.push(draft(item, repairs, catalog)?);
                }
            }
            other => drafts.push(draft(other, repairs, catalog)?),
        }
    }
    if several {
        drafts.iter_mut().for_each(|draft| draft.repairs.push(Repair::SeveralCalls));
    }
    Ok(drafts)
}

fn draft(value: Value, repairs: &[Repair], catalog: Option<&Catalog>) -> Result<Draft, Text> {
    let Value::Object(mut object) = value else {
        return Err(messages::call_not_an_object());
    };
    let mut draft = Draft { id: None, name: String::new(), args: Args::new(), reason: None, repairs: repairs.to_vec() };
    if let Some(inner) = unwrap(&mut object) {
        draft.repairs.push(Repair::Wrapper);
        draft.id = object.remove("id").and_then(|id| draft.text(id));
        object = inner;
    }
    draft.take_name(&mut object)?;
    let spec = spec(catalog, &draft.name);
    let wins = |key: &str| spec.is_some_and(|spec| spec.find(key).is_some());
    match draft.args_in(&mut object, &wins)? {
        Some(args) => {
            draft.take_envelope(&mut object, &|_| false);
            draft.args = args;
            draft.beside(object, spec)?;
        }
        None => {
            draft.take_envelope(&mut object, &wins);
            if !object.is_empty() {
                draft.repairs.push(Repair::ArgsBesideName);
            }
            draft.args = object;
        }
    }
    draft.repairs.dedup();
    let of_envelope = |key: &String| matches!(key.as_str(), "name" | "reason" | "id") && !wins(key);
    if draft.repairs.contains(&Repair::FinalClosers) && draft.args.keys().any(of_envelope) {
        // The arguments most likely ended before it.
        draft.repairs.push(Repair::MiddleClosers);
    }
    Ok(draft)
}

/// The object inside a wrapper, when the keys beside it say nothing but `type`, `id` and `index`.
fn unwrap(object: &mut Map<String, Value>) -> Option<Map<String, Value>> {
    let key = WRAPPERS.into_iter().find(|key| object.get(*key).is_some_and(Value::is_object))?;
    if !object.keys().all(|other| other == key || matches!(other.as_str(), "type" | "id" | "index")) {
        return None;
    }
    match object.remove(key) {
        Some(Value::Object(inner)) => Some(inner),
        _ => None,
    }
}

pub(super) fn undecorated(name: &str) -> &str {
    if !name.bytes().any(|byte| matches!(byte, b'.' | b':' | b'<')) {
        return name;
    }
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let name = name.split("<|").next().unwrap_or(name);
    match name.rsplit_once(':') {
        Some((head, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => head,
        _ => name,
    }
}

impl Draft {
    /// Whether its end was added or guessed at: what followed the block may have been meant as the rest of it.
    pub(super) fn is_completed(&self) -> bool {
        self.repairs.iter().any(|repair| *repair == Repair::FinalClosers || !repair.lossless())
    }

    fn take_name(&mut self, object: &mut Map<String, Value>) -> Result<(), Text> {
        let written = match object.remove("name") {
            Some(Value::String(name)) => name,
            Some(_) => return Err(messages::name_not_a_string()),
            None => {
                let key = NAME_KEYS.into_iter().find(|key| object.get(*key).is_some_and(Value::is_string));
                let Some(Value::String(name)) = key.and_then(|key| object.remove(key)) else {
                    return Err(messages::name_missing());
                };
                self.repairs.push(Repair::NameAlias);
                name
            }
        };
        let name = undecorated(&written);
        if name.is_empty() {
            return Err(messages::name_empty());
        }
        if name.len() < written.len() {
            self.repairs.push(Repair::NameDecoration);
        }
        self.name = name.to_owned();
        Ok(())
    }

    /// The arguments under `args` or another name for it. A key that is an argument of the tool itself is left alone.
    fn args_in(&mut self, object: &mut Map<String, Value>, wins: &dyn Fn(&str) -> bool) -> Result<Option<Args>, Text> {
        let holds = |key: &str, value: &Value| {
            let looks = looks_like_args(value);
            // Text that begins with a brace may be what a tool's own `input` is to be.
            let certain = looks && (key != "input" || value.is_object());
            certain || (looks || key == "args") && !wins(key)
        };
        let found = |key: &&str| object.get(*key).is_some_and(|value| holds(key, value));
        let Some(key) = ARGS_KEYS.into_iter().find(found) else { return Ok(None) };
        if key != "args" {
            self.repairs.push(Repair::ArgsAlias);
        }
        match object.remove(key) {
            Some(Value::Object(args)) => Ok(Some(args)),
            Some(Value::Null) => {
                self.repairs.push(Repair::WrongType);
                Ok(Some(Args::new()))
            }
            Some(Value::String(encoded)) => self.decode(&encoded).map(Some),
            _ => Err(messages::args_not_an_object(key)),
        }
    }

    fn decode(&mut self, encoded: &str) -> Result<Args, Text> {
        self.repairs.push(Repair::ArgsString);
        let reading =
            json::read(encoded, false).map_err(|problem| messages::args_string_unreadable(problem.message))?;
        self.repairs.extend(reading.repairs);
        let mut values = reading.values.into_iter();
        match (values.next(), values.next()) {
            (Some(Value::Object(args)), None) => Ok(args),
            _ => Err(messages::args_string_of_several()),
        }
    }

    fn take_envelope(&mut self, object: &mut Map<String, Value>, wins: &dyn Fn(&str) -> bool) {
        if !wins("reason") {
            self.reason = object.remove("reason").and_then(|reason| self.text(reason));
        }
        if !wins("id") {
            self.id = object.remove("id").and_then(|id| self.text(id)).or_else(|| self.id.take());
        }
    }

    /// A string, or what was written where a string is wanted.
    fn text(&mut self, value: Value) -> Option<String> {
        if !value.is_string() {
            self.repairs.push(Repair::WrongType);
        }
        match value {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    }

    /// What stands beside `args`: arguments of the tool join it, other keys mean nothing. Nothing is given in two ways.
    fn beside(&mut self, object: Map<String, Value>, spec: Option<&ToolSpec>) -> Result<(), Text> {
        for (key, value) in object {
            let param = spec.and_then(|spec| spec.find(&key));
            let Some(param) = param else {
                if is_args(&key) && value.as_object().is_some_and(|args| !args.is_empty() && *args != self.args) {
                    return Err(messages::args_given_twice(key));
                }
                self.repairs.push(Repair::ExtraKey);
                continue;
            };
            let same = |name: &str| spec.and_then(|spec| spec.find(name)).is_some_and(|other| other.name == param.name);
            match self.args.iter().find(|(name, _)| same(name)) {
                None => {
                    self.args.insert(key, value);
                    self.repairs.push(Repair::ArgsBesideName);
                }
                Some((_, given)) if *given == value => self.repairs.push(Repair::ExtraKey),
                Some(_) => return Err(messages::argument_beside_args(key)),
            }
        }
        Ok(())
    }
}

fn looks_like_args(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::String(text) => text.trim_start().starts_with('{'),
        _ => false,
    }
}

/// Whether these values are a call for certain: a tool's name and its arguments under a key of their own.
pub(super) fn is_call(values: &[Value]) -> bool {
    let certain = |value: &Value| match value {
        Value::Object(object) => {
            object.iter().any(|(key, value)| is_name(key) && value.is_string())
                && object.iter().any(|(key, value)| is_args(key) && looks_like_args(value))
                || object.iter().any(|(key, value)| is_wrapper(key) && value.is_object())
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
    use Repair::{ArgsAlias, ArgsBesideName, ArgsString, ExtraKey, NameAlias, NameDecoration, SeveralCalls, Wrapper};
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
    fn shapes() {
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
            (json!({"name": "read_file", "args": args, "path": "a", "input": {}}), vec![ExtraKey]),
        ];
        for (value, repairs) in cases {
            let shown = value.to_string();
            let draft = one(value);
            assert_eq!((draft.name.as_str(), Value::Object(draft.args)), ("read_file", args.clone()), "{shown}");
            assert_eq!(draft.repairs, repairs, "{shown}");
        }
    }

    #[test]
    fn a_key_of_the_tool_wins_over_the_envelope() {
        let draft = one(json!({"name": "job", "id": "j1", "action": "write", "input": "x"}));
        assert_eq!(Value::Object(draft.args), json!({"id": "j1", "action": "write", "input": "x"}));
        assert_eq!(draft.id, None);
        let draft = one(json!({"name": "bash", "id": "j1", "command": "ls", "reason": "r"}));
        assert_eq!((draft.id.as_deref(), draft.reason.as_deref()), (Some("j1"), Some("r")));
    }

    #[test]
    fn several_and_none() {
        let call = json!({"name": "bash", "args": {}});
        let two = drafts(vec![call.clone(), call.clone()], &[], None).unwrap();
        assert!(two.len() == 2 && two.iter().all(|draft| draft.repairs == [SeveralCalls]));
        assert_eq!(drafts(vec![json!([call])], &[], None).unwrap()[0].repairs, [SeveralCalls]);
        for bad in [
            json!([]),
            json!([1]),
            json!({}),
            json!({"name": 1}),
            json!({"name": ""}),
            json!({"name": "x", "args": [1]}),
        ] {
            assert!(drafts(vec![bad.clone()], &[], None).is_err(), "{bad}");
        }
    }
}
