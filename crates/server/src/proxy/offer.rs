//! The tools that a request offers, and how they may be used.
//!
//! This module does not handle messages or replies.

use super::conversation::NeutralRequest;
use super::trouble::Trouble;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use toolfence_protocol::clip::floor_boundary;
use toolfence_protocol::grammar::{self, GrammarOptions};
use toolfence_protocol::{
    Args, Catalog, ErrorCode, Language, Output, Text, ToolCall, ToolResult, ToolSpec, prompt, text,
};

/// The most bytes of all tools of a request. Their parsed schemas take many times that memory.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// Returns the error for a longer list of tools.
pub(super) fn tools_too_large() -> Text {
    text!("tools is larger than {most} bytes; describe fewer or shorter ones", most = MOST_BYTES)
}

/// The most lists of tools that are remembered as reported.
const MOST_REPORTED: usize = 1024;

/// The calls that the client requires or allows (`tool_choice`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// The model decides.
    Auto,
    /// No calls: blocks of the reply are text.
    None,
    /// At least one call.
    Required,
    /// A call of this tool.
    This(String),
}

/// How the model learns the tools of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolDetails {
    /// The full description of each tool and of its arguments.
    Full,
    /// One line for each tool. The model gets the full description by calling `tool_help`, which the proxy answers, and
    /// after a wrong call.
    Short,
    /// `Full` as long as the instructions have at most 8 KiB, `Short` beyond that.
    #[default]
    Auto,
}

/// The most bytes of instructions for which [`ToolDetails::Auto`] describes tools in full.
const MOST_FULL: usize = 8 << 10;

/// The most bytes of one description in an answer to the model.
const MOST_DESCRIBED: usize = 24 << 10;

/// The tools on offer.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) catalog: Arc<Catalog>,
    pub(super) choice: Choice,
    /// Whether a reply may hold more than one call.
    pub(super) several: bool,
    /// The language of the instructions and answers for the model.
    pub(super) language: Language,
    /// A hash of the list of tools as the request has it.
    hash: u64,
    /// The instructions on how to call the tools, with their descriptions.
    instructions: String,
    /// The name of the tool that describes the others, if the instructions are short.
    help: Option<String>,
}

/// The lists of tools whose unchecked patterns were reported.
#[derive(Debug, Default)]
pub(super) struct ReportedTools {
    hashes: Mutex<HashSet<u64>>,
}

impl ReportedTools {
    /// Returns the unchecked patterns of an offer, each with its tool. Returns nothing for a list of tools that was
    /// reported before, because clients send their tools with every request.
    pub(super) fn unchecked_patterns<'o>(&self, offer: &'o Offer) -> Vec<(&'o str, &'o str)> {
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if hashes.len() == MOST_REPORTED {
            // After this, some warnings are logged a second time, which is harmless.
            hashes.clear();
        }
        let is_new = hashes.insert(offer.hash);
        drop(hashes);
        if is_new { offer.catalog.unchecked_patterns() } else { Vec::new() }
    }
}

impl Offer {
    /// Reads the tools of a request, restricted to those that its `tool_choice` allows. In a conversation without
    /// tools, the offer is empty.
    pub(super) fn new(
        asked: &mut NeutralRequest<'_>,
        language: Language,
        details: ToolDetails,
    ) -> Result<Offer, Trouble> {
        let choice = asked.choice.clone();
        let wanted = |spec: &ToolSpec| match &choice {
            Choice::None => false,
            Choice::This(name) => *name == spec.name,
            Choice::Auto | Choice::Required => true,
        };
        let offered = !asked.tools.is_empty();
        let mut catalog: Catalog = std::mem::take(&mut asked.tools).into_iter().filter(wanted).collect();
        if let Choice::This(name) = &choice
            && offered
            && catalog.specs().is_empty()
        {
            return Err(Trouble::request(text!(
                "tool_choice names {name}, which is not among the tools",
                name = format!("{name:.64?}")
            )));
        }
        let mut instructions = prompt::instructions(&catalog, language);
        let is_short = match details {
            ToolDetails::Full => false,
            ToolDetails::Short => !catalog.specs().is_empty(),
            // Agents send up to 74 KB of schemas, more than the window of most models that need the proxy.
            ToolDetails::Auto => instructions.len() > MOST_FULL,
        };
        let help = is_short.then(|| free_name(&catalog));
        if let Some(help) = &help {
            catalog.add(help_tool(help, language));
            instructions = prompt::short_instructions(&catalog, language, help);
        }
        let (several, hash) = (asked.several, asked.tools_hash);
        Ok(Offer { catalog: Arc::new(catalog), choice, several, language, hash, instructions, help })
    }

    /// Returns `true` if the proxy itself answers calls of this tool.
    pub(super) fn is_help(&self, name: &str) -> bool {
        self.help.as_ref().is_some_and(|help| help == name)
    }

    /// Returns the answer to a call of the tool that describes the others.
    pub(super) fn help(&self, call: &ToolCall) -> ToolResult {
        let wanted = call.args.get(HELP_ARGUMENT).and_then(Value::as_str).unwrap_or_default();
        let output = match self.catalog.resolve(&mut ToolCall::new("", wanted, Args::new())) {
            Err(failure) if failure.code == ErrorCode::UnknownTool => Output::from(failure),
            _ => Output::text(self.described(wanted).unwrap_or_default()),
        };
        ToolResult::new(call.id.clone(), call.name.clone(), output, 0)
    }

    /// Returns the description of a tool, if the model has only its summary line.
    pub(super) fn described(&self, name: &str) -> Option<String> {
        let spec = self.catalog.find(name).filter(|spec| self.help.is_some() && !self.is_help(&spec.name))?;
        let mut text = prompt::description(spec, self.language);
        text.truncate(floor_boundary(&text, MOST_DESCRIBED));
        Some(text)
    }

    /// Returns `true` if no tool can be called.
    pub(super) fn is_empty(&self) -> bool {
        self.catalog.specs().is_empty()
    }

    /// Returns the instructions for the model: how to call tools, the tools, and the requirements of `tool_choice`.
    pub(super) fn instructions(&self) -> String {
        let more = self.narrowed().render(self.language);
        let gap = if more.is_empty() { "" } else { "\n" };
        format!("{}\n{gap}{more}", self.instructions.trim_end()).trim_end().to_owned()
    }

    /// Returns the additional instructions if the request restricts calls.
    fn narrowed(&self) -> Text {
        let wanted = match &self.choice {
            Choice::Auto | Choice::None => Text::default(),
            Choice::Required => text!("- Your next reply must call a tool.\n"),
            Choice::This(name) => text!("- Your next reply must call the tool `{name}`.\n", name),
        };
        let one = if self.several { Text::default() } else { text!("- Write only one call a reply.\n") };
        Text::join([wanted, one], "")
    }

    /// Returns the grammar of replies, for an upstream that enforces one. A required call is part of the grammar.
    pub(super) fn grammar(&self) -> String {
        let mut options = GrammarOptions::default();
        options.least_calls = usize::from(matches!(self.choice, Choice::Required | Choice::This(_)));
        // At a bound, the model would close the call as if it were complete, with a part of a file. The server limits
        // the reply.
        (options.endless, options.most_items) = (true, 64);
        options.most_calls = if self.several { 32 } else { 1 };
        grammar::gbnf(&self.catalog, &options)
    }

    /// Returns the answer to a reply without a call, if `tool_choice` requires one.
    pub(super) fn no_call(&self) -> Text {
        match &self.choice {
            Choice::This(name) => {
                text!("Your reply calls no tool. It must call the tool `{name}`: write that call now.", name)
            }
            _ => text!("Your reply calls no tool. It must call one: write that call now."),
        }
    }

    /// Returns the tool that a reply must call, if there is only one.
    pub(super) fn forced(&self) -> Option<&ToolSpec> {
        let mut tools = self.catalog.specs().iter().filter(|spec| !self.is_help(&spec.name));
        match (&self.choice, tools.next(), tools.next()) {
            (Choice::This(_) | Choice::Required, only, None) => only,
            _ => None,
        }
    }

    /// Returns the tool with exactly this name.
    pub(super) fn exact(&self, name: &str) -> Option<&ToolSpec> {
        self.catalog.specs().iter().find(|spec| spec.name == name)
    }
}

/// Reads a tool from its object in a request. `schema` is the member that describes its arguments, and `place` the path
/// of the object.
pub(super) fn function(described: &Value, schema: &str, place: &str) -> Result<ToolSpec, Trouble> {
    let name = described.get("name").and_then(Value::as_str).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 128 || !name.chars().all(plain) {
        return Err(Trouble::request(text!(
            "{place}.name is not a valid name: use at most 128 letters, digits, _ and -",
            place
        )));
    }
    let purpose = described.get("description").and_then(Value::as_str).unwrap_or_default();
    let none = Value::Null;
    Ok(ToolSpec::from_json_schema(name.to_owned(), purpose.to_owned(), described.get(schema).unwrap_or(&none)))
}

/// The argument of the tool that describes the others.
const HELP_ARGUMENT: &str = "name";

/// Returns an unused name for the tool that describes the others.
fn free_name(catalog: &Catalog) -> String {
    let names = std::iter::once("tool_help".to_owned()).chain((2..).map(|number| format!("tool_help_{number}")));
    names.into_iter().find(|name| catalog.find(name).is_none()).unwrap_or_default()
}

fn help_tool(name: &str, language: Language) -> ToolSpec {
    let purpose = text!("Returns the whole description of a tool and of its arguments.");
    let schema = json!({
        "type": "object",
        "properties": {HELP_ARGUMENT: {"type": "string"}},
        "required": [HELP_ARGUMENT],
        "additionalProperties": false,
    });
    ToolSpec::from_json_schema(name.to_owned(), purpose.into_string(language), &schema)
}

/// Hashes a list of tools.
pub(super) fn hash(tools: Option<&RawValue>) -> u64 {
    let mut hash = DefaultHasher::new();
    tools.map(RawValue::get).hash(&mut hash);
    hash.finish()
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
            let (mut asked, _) = crate::proxy::chat::reader::read(&request).ok().flatten().unwrap();
            Offer::new(&mut asked, Language::English, ToolDetails::Full).ok().unwrap()
        };
        let reported = ReportedTools::default();
        assert_eq!(reported.unchecked_patterns(&offer("^(?!a)")), [("t", "^(?!a)")]);
        assert_eq!(reported.unchecked_patterns(&offer("^(?!a)")), []);
        assert_eq!(reported.unchecked_patterns(&offer(r"(a)\1")), [("t", r"(a)\1")]);
        assert_eq!(reported.unchecked_patterns(&offer("a")), []);
    }
}
