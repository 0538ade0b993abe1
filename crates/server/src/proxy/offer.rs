//! The tools that a request offers, and what it says of their use: JSON of the request to a catalog.
//!
//! This module knows no messages and no replies.

use super::raw::{Elements, Members};
use super::trouble::Trouble;
use crate::messages;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use toolfence_protocol::grammar::{self, GrammarOptions};
use toolfence_protocol::{Catalog, Text, ToolSpec};
use toolfence_protocol::{Language, prompt};

/// Bytes of all tools of a request. Their schemas are read into memory, at many times their size.
const MOST_BYTES: usize = 1 << 20;

/// Lists of tools that are remembered as reported.
const MOST_REPORTED: usize = 1024;

/// Which calls are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// The model chooses.
    Auto,
    /// None: blocks of the reply are text.
    None,
    /// At least one.
    Required,
    /// This one.
    This(String),
}

/// The tools on offer.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) catalog: Arc<Catalog>,
    pub(super) choice: Choice,
    /// Whether a reply may hold more than one call.
    pub(super) several: bool,
    /// The language of what the model is told.
    pub(super) language: Language,
    /// A hash of the list of tools as the request has it.
    hash: u64,
}

/// The lists of tools whose unchecked patterns were reported.
#[derive(Debug, Default)]
pub(super) struct ReportedTools {
    hashes: Mutex<HashSet<u64>>,
}

impl ReportedTools {
    /// The unchecked patterns of an offer, each with its tool. None if an offer of the same tools was asked about before: clients send
    /// their tools with every request.
    pub(super) fn unchecked_patterns<'o>(&self, offer: &'o Offer) -> Vec<(&'o str, &'o str)> {
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if hashes.len() == MOST_REPORTED {
            hashes.clear();
        }
        let is_new = hashes.insert(offer.hash);
        drop(hashes);
        if is_new { offer.catalog.unchecked_patterns() } else { Vec::new() }
    }
}

impl Offer {
    /// What `tools`, `tool_choice` and `parallel_tool_calls` of a request say; `None` where there is nothing to call.
    pub(super) fn read(request: &Members<'_>, language: Language) -> Result<Option<Offer>, Trouble> {
        let tools = request.get("tools");
        let specs = tools.map(specs).transpose()?.unwrap_or_default();
        if specs.is_empty() {
            return Ok(None);
        }
        let choice = request.get("tool_choice").map_or(Ok(Choice::Auto), choice)?;
        let several = request.get("parallel_tool_calls").is_none_or(|value| value.get() != "false");
        let wanted = |spec: &ToolSpec| !matches!(&choice, Choice::This(name) if *name != spec.name);
        let catalog: Catalog = specs.into_iter().filter(wanted).collect();
        match &choice {
            Choice::None => return Ok(None),
            Choice::This(name) if catalog.specs().is_empty() => {
                return Err(Trouble::request(messages::chosen_tool_missing(format!("{name:.64?}"))));
            }
            _ => {}
        }
        let mut hash = DefaultHasher::new();
        tools.map(RawValue::get).hash(&mut hash);
        Ok(Some(Offer { catalog: Arc::new(catalog), choice, several, language, hash: hash.finish() }))
    }

    /// What the model is told.
    pub(super) fn told(&self) -> String {
        let more = self.narrowed().render(self.language);
        let told = prompt::instructions(&self.catalog, self.language);
        let gap = if more.is_empty() { "" } else { "\n" };
        format!("{}\n{gap}{more}", told.trim_end()).trim_end().to_owned()
    }

    /// Below the instructions, where the request narrows what may be called.
    fn narrowed(&self) -> Text {
        let wanted = match &self.choice {
            Choice::Auto | Choice::None => Text::default(),
            Choice::Required => messages::must_call_a_tool(),
            Choice::This(name) => messages::must_call_the_tool(name),
        };
        let one = if self.several { Text::default() } else { messages::one_call_a_reply() };
        Text::join([wanted, one], "")
    }

    /// What replies can be where the upstream lets nothing else be written. A call that is wanted is forced.
    pub(super) fn grammar(&self) -> String {
        let mut options = GrammarOptions::default();
        options.least_calls = usize::from(matches!(self.choice, Choice::Required | Choice::This(_)));
        // No bound ends an argument; the server has one for a reply.
        (options.endless, options.most_items) = (true, 64);
        options.most_calls = if self.several { 32 } else { 1 };
        grammar::gbnf(&self.catalog, &options)
    }

    /// What the model is told where its reply had to hold a call and holds none.
    pub(super) fn no_call(&self) -> Text {
        match &self.choice {
            Choice::This(name) => messages::called_not_the_tool(name),
            _ => messages::called_no_tool(),
        }
    }

    /// The tool of exactly this name.
    pub(super) fn exact(&self, name: &str) -> Option<&ToolSpec> {
        self.catalog.specs().iter().find(|spec| spec.name == name)
    }
}

fn specs(tools: &RawValue) -> Result<Vec<ToolSpec>, Trouble> {
    if tools.get().len() > MOST_BYTES {
        return Err(Trouble::request(messages::tools_too_large(MOST_BYTES as u64)));
    }
    let tools: Elements<'_> =
        serde_json::from_str(tools.get()).map_err(|error| Trouble::request(format!("tools: {error}")))?;
    tools.0.iter().enumerate().map(|(index, tool)| spec(tool, index)).collect()
}

fn spec(tool: &RawValue, index: usize) -> Result<ToolSpec, Trouble> {
    let tool: Value =
        serde_json::from_str(tool.get()).map_err(|error| Trouble::request(format!("tools[{index}]: {error}")))?;
    if tool.get("type").is_some_and(|kind| kind != "function") {
        return Err(Trouble::request(messages::no_function(index as u64)));
    }
    let function = tool.get("function").ok_or_else(|| Trouble::request(messages::function_missing(index as u64)))?;
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 128 || !name.chars().all(plain) {
        return Err(Trouble::request(messages::no_function_name(index as u64)));
    }
    let purpose = function.get("description").and_then(Value::as_str).unwrap_or_default();
    let none = Value::Null;
    let schema = function.get("parameters").unwrap_or(&none);
    Ok(ToolSpec::from_json_schema(name.to_owned(), purpose.to_owned(), schema))
}

fn choice(choice: &RawValue) -> Result<Choice, Trouble> {
    let choice: Value = serde_json::from_str(choice.get()).unwrap_or_default();
    match (choice.as_str(), choice.pointer("/function/name").and_then(Value::as_str)) {
        (Some("auto"), _) => Ok(Choice::Auto),
        (Some("none"), _) => Ok(Choice::None),
        (Some("required" | "any"), _) => Ok(Choice::Required),
        (None, Some(name)) => Ok(Choice::This(name.to_owned())),
        _ => Err(Trouble::request(messages::no_tool_choice())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchecked_patterns_are_reported_once_for_each_list_of_tools() {
        let offer = |pattern: &str| {
            let parameters =
                serde_json::json!({"properties": {"x": {"pattern": pattern}, "y": {"pattern": r"^\p{L}+$"}}});
            let request =
                serde_json::json!({"tools": [{"function": {"name": "t", "parameters": parameters}}]}).to_string();
            let request: Members<'_> = serde_json::from_str(&request).unwrap();
            Offer::read(&request, Language::English).ok().flatten().unwrap()
        };
        let reported = ReportedTools::default();
        assert_eq!(reported.unchecked_patterns(&offer("^(?!a)")), [("t", "^(?!a)")]);
        assert_eq!(reported.unchecked_patterns(&offer("^(?!a)")), []);
        assert_eq!(reported.unchecked_patterns(&offer(r"(a)\1")), [("t", r"(a)\1")]);
        assert_eq!(reported.unchecked_patterns(&offer("a")), []);
    }
}
