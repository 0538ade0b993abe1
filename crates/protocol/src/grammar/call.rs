//! Tool blocks: one object with everything that its tool requires, and the verbatim bodies that it announces.
//!
//! Bodies follow the object in the order of their announcements. Every rule therefore includes what comes after it: if
//! an argument is announced as a body, the rest of the object comes first, then the body.

use super::rules::{Rules, but, json_string, literal, slug};
use super::{FENCE, GrammarOptions, Start, TAG, TRIGGER};
use crate::{Catalog, Param, ParamKind, ToolSpec};

/// The nesting depth of `any` JSON, with bounds and without. A recursive rule would let a model nest forever.
const BOUNDED_DEPTH: usize = 2;
const ENDLESS_DEPTH: usize = 8;

/// Returns the arguments that a call may have, required ones first; `None` if no value satisfies a required one.
pub(super) fn order_params(params: &[Param]) -> Option<Vec<&Param>> {
    if params.iter().any(|param| param.required && !is_possible(&param.kind)) {
        return None;
    }
    let required = params.iter().filter(|param| param.required);
    let optional = params.iter().filter(|param| !param.required && is_possible(&param.kind));
    Some(required.chain(optional).collect())
}

fn is_possible(kind: &ParamKind) -> bool {
    match kind {
        ParamKind::Integer { least, most } => least <= most,
        ParamKind::Choice(words) => !words.is_empty(),
        ParamKind::Objects(fields) => order_params(fields).is_some(),
        _ => true,
    }
}

/// Adds the rules `block` and `call`. Adds nothing and returns `false` if no tool can be called.
pub(super) fn write(rules: &mut Rules, catalog: &Catalog, options: &GrammarOptions) -> bool {
    let bodies = options.start != Start::Bare;
    add_values(rules, options);
    if bodies {
        add_verbatim(rules, options);
    }
    let end = if bodies { "\"}\\n\"" } else { "\"}\"" };
    rules.add("call-end", &format!("\"}}\" (\", \\\"reason\\\": \" string)? {end}"));
    let mut writer = Writer { rules, options, bodies };
    let tools: Vec<String> = catalog.specs().iter().filter_map(|spec| writer.tool(spec)).collect();
    if tools.is_empty() {
        return false;
    }
    rules.add("call", &tools.join(" | "));
    if bodies {
        rules.add("block", &format!("\"{TRIGGER}\\n\" call \"{FENCE}\\n\""));
    }
    true
}

/// Adds the rules for JSON that any tool may need. No string begins with `<<` or contains NUL or half of a surrogate
/// pair.
fn add_values(rules: &mut Rules, options: &GrammarOptions) {
    let text = options.longest_text;
    rules.add("hex", "[0-9a-fA-F]");
    rules.add(
        "code-point",
        "\"000\" [1-9a-fA-F] | \"00\" [1-9a-fA-F] hex | \"0\" [1-9a-fA-F] hex{2} | [1-9abcefABCEF] hex{3} | [dD] [0-7] hex{2}",
    );
    rules.add("escape", "\"\\\\\" ([\"\\\\/bfnrt] | \"u\" code-point)");
    rules.add("char", "[^\"\\\\\\x00-\\x1F\\x7F] | escape");
    rules.add("first-char", "[^\"\\\\<\\x00-\\x1F\\x7F] | escape");
    let chars = |count: &str| format!("\"<\" | \"<\"? first-char char{count}");
    rules.add("chars", &chars(&options.up_to(text - 1)));
    rules.add("string", "\"\\\"\" chars? \"\\\"\"");
    // Paths and patterns must not contain control characters.
    rules.add("shown-escape", "\"\\\\\" [\"\\\\/]");
    rules.add("shown-char", "[^\"\\\\\\x00-\\x1F\\x7F-\\x9F] | shown-escape");
    rules.add("first-shown-char", "[^\"\\\\<\\x00-\\x1F\\x7F-\\x9F] | shown-escape");
    let shown = format!("\"<\" | \"<\"? first-shown-char shown-char{}", options.up_to(text - 1));
    rules.add("shown-chars", &shown);
    rules.add("shown-string", "\"\\\"\" shown-chars? \"\\\"\"");
    let content = options.longest_content.map_or("*".to_owned(), |most| format!("{{0,{}}}", most - 1));
    if options.start == Start::Bare {
        rules.add("content-chars", &chars(&content));
        rules.add("content", "\"\\\"\" content-chars? \"\\\"\"");
    }
    let more = options.up_to(options.most_items - 1);
    rules.add("next-text", "\", \" string");
    rules.add("texts", &format!("\"[\" (string next-text{more})? \"]\""));
    rules.add(
        "decimal",
        match options.endless {
            false => "\"-\"? (\"0\" | [1-9] [0-9]{0,8}) (\".\" [0-9]{1,6})?",
            // An integer of at most 18 digits fits into 64 bits and is represented exactly.
            true => "\"-\"? (\"0\" | [1-9] [0-9]{0,17}) (\".\" [0-9]{1,17})? ([eE] [-+]? [0-9]{1,2})?",
        },
    );
    let leaf = "string | decimal | \"true\" | \"false\"";
    let mut inner = rules.add("any-leaf", &format!("{leaf} | \"null\""));
    for _ in 1..if options.endless { ENDLESS_DEPTH } else { BOUNDED_DEPTH } {
        inner = add_any(rules, "any-inner", &inner, "any-leaf", &more);
    }
    add_any(rules, "any", &inner, leaf, &more);
}

/// Adds a rule for any JSON: a leaf, or an array or object of `inner` with `more` elements after the first. Returns the
/// rule's name.
fn add_any(rules: &mut Rules, name: &str, inner: &str, leaf: &str, more: &str) -> String {
    let next = rules.add(&format!("{name}-next"), &format!("\", \" {inner}"));
    let member = rules.add(&format!("{name}-member"), &format!("string \": \" {inner}"));
    let next_member = rules.add(&format!("{name}-members"), &format!("\", \" {member}"));
    let array = format!("\"[\" ({inner} {next}{more})? \"]\"");
    let object = format!("\"{{\" ({member} {next_member}{more})? \"}}\"");
    rules.add(name, &format!("{leaf} | {array} | {object}"))
}

/// Adds `tag`, the announcement, and `body`: lines that are neither the tag alone nor announce it again.
fn add_verbatim(rules: &mut Rules, options: &GrammarOptions) {
    let text = options.longest_text;
    rules.add("tag", &literal(&format!("\"<<{TAG}\"")));
    let quoted = but("-~'\\\"`\\\\ \\t<E");
    rules.add("after-marks", &format!("[-~]? [ \\t]{{0,8}} ['\\\"`\\\\]? ({quoted} | {})", other_word()));
    rules.add("marks", &format!("\"<\" {} | \"<<\" \"<\"{{0,8}} after-marks", but("<")));
    rules.add("body-char", &format!("{} | marks", but("<")));
    rules.add("body-rest", &format!("body-char{} \"<\"{{0,8}}", options.up_to(text)));
    let mut after = "[ \\t]{0,8} (".to_owned() + &but(" \\t<") + " body-rest | marks body-rest | \"<\"{1,8})";
    // No line may be the TAG alone: after each prefix of the TAG, a rule describes how the line may continue.
    for (index, letter) in TAG.char_indices().rev() {
        let otherwise = but(&format!("{letter}<"));
        let next = rules.add(&format!("body-{}", index + 1), &after);
        after = format!("{otherwise} body-rest | marks body-rest | \"<\"{{0,8}} | \"{letter}\" {next}");
    }
    rules.add("body-line", &after);
    rules.add("body-row", "body-line \"\\n\"");
    rules.add("body", &format!("body-row{} \"{TAG}\\n\"", options.up_to(options.most_lines)));
}

/// Returns an expression for a prefix of the tag that continues as another word.
fn other_word() -> String {
    let beginnings = (1..TAG.len()).map(|length| (&TAG[..length], &TAG[length..=length]));
    beginnings.map(|(word, next)| format!("\"{word}\" {}", but(&format!("{next}<")))).collect::<Vec<_>>().join(" | ")
}

struct Writer<'a> {
    rules: &'a mut Rules,
    options: &'a GrammarOptions,
    /// Whether verbatim bodies may follow the object.
    bodies: bool,
}

impl Writer<'_> {
    fn tool(&mut self, spec: &ToolSpec) -> Option<String> {
        let params = order_params(&spec.params)?;
        let hint = format!("call-{}", slug(&spec.name));
        let members = self.members(&hint, &params, "call-end", self.bodies);
        let name = json_string(&spec.name);
        Some(self.rules.add(&hint, &format!("\"{{\\\"name\\\": \" {name} \", \\\"args\\\": {{\" {members}")))
    }

    /// Adds rules for the members of an object, followed by `next`. Returns the first of them.
    fn members(&mut self, owner: &str, params: &[&Param], next: &str, bodies: bool) -> String {
        // A member is reached as the first of its object or after a comma.
        let (mut first, mut more) = (next.to_owned(), next.to_owned());
        // From the last member to the first, because each rule refers to the rule of the following text.
        for (index, param) in params.iter().enumerate().rev() {
            let hint = format!("{owner}-{}", slug(&param.name));
            let value = self.value(param, &hint, &more, bodies);
            let key = json_string(&param.name);
            let or = |skipped: &str, road: String| match param.required {
                true => road,
                false => format!("{skipped} | {road}"),
            };
            let may_be_first = !params[..index].iter().any(|before| before.required);
            if may_be_first {
                let road = or(&first, format!("{key} \": \" {value}"));
                first = self.rules.add(&format!("{hint}-first"), &road);
            }
            if index > 0 {
                let road = or(&more, format!("\", \" {key} \": \" {value}"));
                more = self.rules.add(&hint, &road);
            }
        }
        first
    }

    /// Returns an expression for a value, followed by `next`.
    fn value(&mut self, param: &Param, hint: &str, next: &str, bodies: bool) -> String {
        match &param.kind {
            kind if bodies && is_long(kind) => format!("(string {next} | tag {next} body)"),
            ParamKind::Objects(fields) if bodies && fields.iter().any(|field| is_long(&field.kind)) => {
                self.list_with_bodies(fields, hint, next)
            }
            _ if param.printable => format!("shown-string {next}"),
            kind => format!("{} {next}", self.plain(kind, hint)),
        }
    }

    /// Returns an expression for a value that announces no body.
    fn plain(&mut self, kind: &ParamKind, hint: &str) -> String {
        match kind {
            kind if is_long(kind) => if self.bodies { "string" } else { "content" }.into(),
            ParamKind::Integer { least, most } => super::integer::range(*least, *most),
            ParamKind::Flag => "(\"true\" | \"false\")".into(),
            ParamKind::Choice(words) => {
                format!("({})", words.iter().map(|word| json_string(word)).collect::<Vec<_>>().join(" | "))
            }
            ParamKind::Texts => "texts".into(),
            ParamKind::Objects(fields) => self.list(fields, hint),
            ParamKind::Any => "any".into(),
            ParamKind::Path => "shown-string".into(),
            _ => "string".into(),
        }
    }

    fn list(&mut self, fields: &[Param], hint: &str) -> String {
        let fields = order_params(fields).unwrap_or_default();
        let end = self.rules.add(&format!("{hint}-end"), "\"}\"");
        let members = self.members(hint, &fields, &end, false);
        let item = self.rules.add(&format!("{hint}-item"), &format!("\"{{\" {members}"));
        format!("\"[\" ({item} (\", \" {item}){{0,{}}})? \"]\"", self.options.most_items - 1)
    }

    /// Adds an array whose objects may announce bodies. Each position needs its own rule, because each rule includes
    /// what comes after it.
    fn list_with_bodies(&mut self, fields: &[Param], hint: &str, next: &str) -> String {
        let fields = order_params(fields).unwrap_or_default();
        let close = self.rules.add(&format!("{hint}-close"), &format!("\"]\" {next}"));
        let (mut after, mut item) = (close.clone(), close.clone());
        for _ in 0..self.options.most_items {
            let end = self.rules.add(&format!("{hint}-end"), &format!("\"}}\" {after}"));
            let members = self.members(hint, &fields, &end, true);
            item = self.rules.add(&format!("{hint}-item"), &format!("\"{{\" {members}"));
            after = self.rules.add(&format!("{hint}-next"), &format!("{close} | \", \" {item}"));
        }
        format!("\"[\" {item}")
    }
}

/// Returns `true` if the text may be long enough for a verbatim body.
fn is_long(kind: &ParamKind) -> bool {
    matches!(kind, ParamKind::Text { content: true } | ParamKind::Patch | ParamKind::Command)
}
