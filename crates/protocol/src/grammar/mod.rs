//! The protocol as a grammar, for backends that constrain what the model can write.
//!
//! [`gbnf`] returns a grammar for whole replies in the notation of llama.cpp: lines of prose, code blocks, tool blocks.
//! [`json_schema`] returns a JSON Schema of one bare object, for backends with structured output; such a reply is read
//! with the parser's option `bare`. Both derive from the specs of a [`Catalog`], so that even a weak model cannot write
//! a malformed call, or one whose arguments its tool would refuse.
//!
//! A grammar cannot prevent a reply that is cut off by a length limit, values that only fail at run time, and duplicate
//! keys in an argument that accepts any JSON. This module knows no parser, no results and no backend.

mod call;
mod form;
mod integer;
mod prose;
mod rules;
mod schema;

use crate::Catalog;
pub use form::Form;
use rules::Rules;
use serde_json::Value;

/// The beginning of a tool block, which triggers a lazy grammar.
pub const TRIGGER: &str = "```tool";

/// A fence that is long enough around a call: no line of JSON can close it, and a closing fence inside a body is
/// content.
const FENCE: &str = "```";

/// The tag of every verbatim body. No line of a body is this word or announces it again.
pub const TAG: &str = "EOF";

/// The part of a reply that the grammar describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Start {
    /// A whole reply.
    #[default]
    Reply,
    /// The text from the [`TRIGGER`] on, including the trigger, for backends that constrain nothing before it.
    Trigger,
    /// One bare object and nothing else, as in the schema, for the parser's option `bare`.
    Bare,
}

/// Bounds on a reply. They stop a model that would otherwise write forever.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrammarOptions {
    /// The part of a reply that is described.
    pub start: Start,
    /// The least number of calls in a reply; more than 0 forces a call.
    pub least_calls: usize,
    /// The largest number of calls in a reply; the parser reads up to 64.
    pub most_calls: usize,
    /// Characters of a JSON string, of a line of prose and of a line of a verbatim body: 2 to 2,000, the limit of
    /// repetitions in llama.cpp.
    pub longest_text: usize,
    /// Characters of file content, a patch or a command in a bare object, which no verbatim body can follow; `None` for
    /// any number.
    pub longest_content: Option<usize>,
    /// Lines of a verbatim body, and lines of prose between two calls: at most 2,000.
    pub most_lines: usize,
    /// Elements of an array.
    pub most_items: usize,
    /// Removes the bounds on texts, verbatim bodies, prose and lists of texts, and allows deeper JSON. A bound silently
    /// shortens longer files, so bounds are only for models that would never stop.
    pub endless: bool,
}

impl Default for GrammarOptions {
    fn default() -> GrammarOptions {
        GrammarOptions {
            start: Start::Reply,
            least_calls: 0,
            most_calls: 8,
            longest_text: 500,
            longest_content: None,
            most_lines: 1000,
            most_items: 16,
            endless: false,
        }
    }
}

impl GrammarOptions {
    /// Clamps every number to the range that a grammar can use.
    fn bounded(&self) -> GrammarOptions {
        const MOST: usize = 2000;
        let most_calls = self.most_calls.clamp(1, 64);
        GrammarOptions {
            start: self.start,
            least_calls: self.least_calls.min(most_calls),
            most_calls,
            longest_text: self.longest_text.clamp(2, MOST),
            longest_content: self.longest_content.map(|most| most.clamp(2, MOST)),
            most_lines: self.most_lines.clamp(1, MOST),
            most_items: self.most_items.clamp(1, 64),
            endless: self.endless,
        }
    }

    /// Returns the repetition of an item that may occur up to `most` times.
    fn up_to(&self, most: usize) -> String {
        if self.endless { "*".to_owned() } else { format!("{{0,{most}}}") }
    }
}

/// Returns the grammar in GBNF; the start symbol is `root`. Without tools it only allows prose.
///
/// Arguments are in the order of the spec, required ones first, in one line of JSON with a space after `:` and `,`.
pub fn gbnf(catalog: &Catalog, options: &GrammarOptions) -> String {
    let options = options.bounded();
    let bare = options.start == Start::Bare;
    let mut rules = Rules::default();
    rules.reserve("root");
    if !bare {
        prose::write(&mut rules, &options);
    }
    let some = call::write(&mut rules, catalog, &options);
    if some && !bare {
        rules.add("turn", "block prose");
    }
    let root = match (some, options.start) {
        (false, _) => if bare { "\"\"" } else { "prose" }.to_owned(),
        (true, Start::Reply) => format!("prose{}", turns(options.least_calls, options.most_calls)),
        (true, Start::Trigger) => {
            format!("turn{}", turns(options.least_calls.saturating_sub(1), options.most_calls - 1))
        }
        (true, Start::Bare) => "call".to_owned(),
    };
    rules.finish(&root)
}

fn turns(least: usize, most: usize) -> String {
    if most == 0 { String::new() } else { format!(" turn{{{least},{most}}}") }
}

/// Returns the JSON Schema of one bare call; it allows nothing if there are no tools.
///
/// A schema cannot forbid a string that announces a verbatim body (`<<EOF` and nothing else). No body can follow a bare
/// object, so the parser refuses such a call instead of losing text.
pub fn json_schema(catalog: &Catalog, options: &GrammarOptions) -> Value {
    schema::for_catalog(catalog, &options.bounded())
}
