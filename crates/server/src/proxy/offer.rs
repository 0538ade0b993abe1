//! The tools that a request offers, and what it says of their use: JSON of the request to a catalog.
//!
//! This module knows no messages and no replies.

use super::raw::{Elements, Members};
use super::trouble::Trouble;
use crate::messages;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use toolfence_protocol::grammar::{self, GrammarOptions};
use toolfence_protocol::{Catalog, Text, ToolSpec};
use toolfence_protocol::{Language, prompt};

/// Bytes of all tools of a request. Their schemas are read into memory, at many times their size.
const MOST_BYTES: usize = 1 << 20;

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
}

impl Offer {
    /// What `tools`, `tool_choice` and `parallel_tool_calls` of a request say; `None` where there is nothing to call.
    pub(super) fn read(request: &Members<'_>, language: Language) -> Result<Option<Offer>, Trouble> {
        let specs = request.get("tools").map(specs).transpose()?.unwrap_or_default();
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
        Ok(Some(Offer { catalog: Arc::new(catalog), choice, several, language }))
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
