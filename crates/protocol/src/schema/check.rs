//! Checks whether a schema allows a value, and describes the violation if not.

use super::{Schema, additional, branches, compare, equal, items, size};
use serde_json::{Map, Number, Value};
use std::cmp::Ordering::{Equal, Greater, Less};
use std::ptr;

/// The budget of one check in steps. A step is a schema that a value is checked against, a name that is looked up, or 8
/// bytes of a text matched with a pattern of one byte.
pub(super) const BUDGET: u64 = 300_000;

/// The fixed cost of matching a pattern, which may need to be compiled first.
const MATCHING: u64 = 200;

/// The maximum number of schemas applied inside of one another; parsed arguments have at most 128 levels.
const MOST_DEPTH: usize = 400;

/// A violation of the schema.
#[derive(Debug)]
pub(crate) struct Fault<'a> {
    /// The path to the value, innermost step first.
    path: Vec<PathStep<'a>>,
    pub(crate) value: &'a Value,
    /// The schema that does not allow the value.
    pub(crate) schema: &'a Value,
    pub(crate) kind: ValueKind<'a>,
}

#[derive(Debug, Clone, Copy)]
enum PathStep<'a> {
    Member(&'a str),
    Item(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind<'a> {
    /// The value has a wrong type.
    Type,
    /// The value is not among the allowed values.
    Choice,
    /// The value breaks another rule.
    Rule,
    /// A member of this name is missing.
    Missing(&'a str),
    /// No member of this name is allowed.
    Unknown(&'a str),
    /// The budget is exhausted.
    Costly,
}

type Checked<'a> = Result<(), Box<Fault<'a>>>;

/// One check with its remaining budget.
struct Check<'a> {
    schema: &'a Schema,
    left: u64,
    depth: usize,
    /// References being followed, each with the value being checked.
    following: Vec<(*const Value, *const Value)>,
}

impl Schema {
    /// Checks a value against the whole schema.
    ///
    /// # Errors
    /// Returns the violation. If no alternative of the schema allows the value, the violation is that of the
    /// alternative that was plainly meant, if there is one.
    pub(crate) fn check<'a>(&'a self, value: &'a Value) -> Result<(), Box<Fault<'a>>> {
        self.check_within(&self.root, value, &mut BUDGET.clone())
    }

    /// Checks a value against one schema, with a budget that several checks share.
    pub(super) fn check_within<'a>(&'a self, schema: &'a Value, value: &'a Value, budget: &mut u64) -> Checked<'a> {
        let mut check = Check { schema: self, left: *budget, depth: 0, following: Vec::new() };
        let checked = check.value(schema, value);
        *budget = check.left;
        // A branch that was not examined proves nothing.
        if check.left == 0 { fault(schema, value, ValueKind::Costly) } else { checked }
    }
}

fn fault<'a>(schema: &'a Value, value: &'a Value, kind: ValueKind<'a>) -> Checked<'a> {
    Err(Box::new(Fault { path: Vec::new(), value, schema, kind }))
}

fn at<'a>(step: PathStep<'a>, checked: Checked<'a>) -> Checked<'a> {
    checked.map_err(|mut fault| {
        fault.path.push(step);
        fault
    })
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

impl<'a> Check<'a> {
    /// Takes steps from the budget; returns `false` if it is exhausted.
    fn spend(&mut self, steps: u64) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.left > 0
    }

    fn value(&mut self, schema: &'a Value, value: &'a Value) -> Checked<'a> {
        // Too deep counts as too costly: the part that was not examined proves nothing.
        if !self.spend(1) || self.depth == MOST_DEPTH {
            self.left = 0;
            return fault(schema, value, ValueKind::Costly);
        }
        let rules = match schema {
            Value::Object(rules) => rules,
            Value::Bool(false) => return fault(schema, value, ValueKind::Rule),
            // An invalid schema imposes no rules.
            _ => return Ok(()),
        };
        self.depth += 1;
        let checked = self.rules(rules, schema, value);
        self.depth -= 1;
        checked
    }

    fn rules(&mut self, rules: &'a Map<String, Value>, schema: &'a Value, value: &'a Value) -> Checked<'a> {
        let is_of_type = match rules.get("type") {
            Some(Value::String(name)) => is_type(name, value),
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(|name| is_type(name, value)),
            _ => true,
        };
        if !is_of_type {
            return fault(schema, value, ValueKind::Type);
        }
        let choices = branches(rules, "enum");
        self.spend(choices.len() as u64);
        let is_chosen = rules.get("const").is_none_or(|wanted| equal(wanted, value))
            && (choices.is_empty() || choices.iter().any(|choice| equal(choice, value)));
        if !is_chosen {
            return fault(schema, value, ValueKind::Choice);
        }
        let is_within = match value {
            Value::String(text) => self.text(rules, text),
            Value::Number(number) => is_within(rules, number),
            Value::Array(items) => has_size(rules, ["minItems", "maxItems"], items.len()),
            _ => true,
        };
        if !is_within {
            return fault(schema, value, ValueKind::Rule);
        }
        match (value, items(rules)) {
            (Value::Object(members), _) => self.members(rules, schema, value, members)?,
            (Value::Array(elements), Some(wanted)) => {
                for (index, element) in elements.iter().enumerate() {
                    at(PathStep::Item(index), self.value(wanted, element))?;
                }
            }
            _ => {}
        }
        self.reference(rules, value)?;
        for branch in branches(rules, "allOf") {
            self.value(branch, value)?;
        }
        self.alternatives(branches(rules, "anyOf"), false, schema, value)?;
        // With unchecked keywords, a branch that seems to fit may not, so `oneOf` is then checked like `anyOf`.
        self.alternatives(branches(rules, "oneOf"), self.schema.is_complete, schema, value)
    }

    /// Checks the length of a text and its pattern. A text passes a pattern that cannot be compiled.
    fn text(&mut self, rules: &Map<String, Value>, text: &str) -> bool {
        self.spend(text.len() as u64 / 64);
        if !has_size(rules, ["minLength", "maxLength"], text.chars().count()) {
            return false;
        }
        let Some(pattern) = rules.get("pattern").and_then(Value::as_str) else { return true };
        let Some((compiled, cost)) = self.schema.pattern(pattern) else { return true };
        let steps = (pattern.len() as u64 + 1).saturating_mul(text.len() as u64 + 1) / 8;
        self.spend(steps.saturating_mul(*cost).saturating_add(MATCHING)) && compiled.is_match(text)
    }

    fn members(
        &mut self,
        rules: &'a Map<String, Value>,
        schema: &'a Value,
        value: &'a Value,
        members: &'a Map<String, Value>,
    ) -> Checked<'a> {
        let mut unknown = None;
        self.spend(members.len() as u64 / 8);
        for (name, member) in members {
            match rules.get("properties").and_then(|known| known.get(name)).or_else(|| additional(rules)) {
                Some(Value::Bool(false)) => unknown = unknown.or(Some(name)),
                Some(wanted) => at(PathStep::Member(name), self.value(wanted, member))?,
                None => {}
            }
        }
        // A wrong member says more about the intended value than the member names do.
        if let Some(name) = unknown {
            return fault(schema, value, ValueKind::Unknown(name));
        }
        let required = branches(rules, "required");
        self.spend(required.len() as u64);
        match required.iter().filter_map(Value::as_str).find(|name| !members.contains_key(*name)) {
            Some(name) => fault(schema, value, ValueKind::Missing(name)),
            None => Ok(()),
        }
    }

    fn reference(&mut self, rules: &'a Map<String, Value>, value: &'a Value) -> Checked<'a> {
        let schema = self.schema;
        let Some(target) = schema.target(rules) else { return Ok(()) };
        self.spend(4);
        let step = (ptr::from_ref(target), ptr::from_ref(value));
        // A circular reference adds no rules.
        if self.following.contains(&step) {
            return Ok(());
        }
        self.following.push(step);
        let checked = self.value(target, value);
        self.following.pop();
        checked
    }

    fn alternatives(
        &mut self,
        branches: &'a [Value],
        is_one: bool,
        schema: &'a Value,
        value: &'a Value,
    ) -> Checked<'a> {
        let (mut fitting, mut faults) = (0, Vec::new());
        for branch in branches {
            match self.value(branch, value) {
                Ok(()) if is_one => fitting += 1,
                Ok(()) => return Ok(()),
                Err(fault) => faults.push(fault),
            }
        }
        if branches.is_empty() || fitting == 1 {
            return Ok(());
        }
        let is_type = faults.iter().all(|fault| fault.kind == ValueKind::Type && fault.path.is_empty());
        let kind = if fitting == 0 && is_type { ValueKind::Type } else { ValueKind::Rule };
        match intended_fault(faults).filter(|_| fitting == 0) {
            Some(meant) => Err(meant),
            None => fault(schema, value, kind),
        }
    }
}

fn has_size(rules: &Map<String, Value>, [least, most]: [&str; 2], length: usize) -> bool {
    let length = length as u64;
    size(rules, least).is_none_or(|least| length >= least) && size(rules, most).is_none_or(|most| length <= most)
}

fn is_within(rules: &Map<String, Value>, number: &Number) -> bool {
    let order = |key: &str| match rules.get(key) {
        Some(Value::Number(bound)) => Some(compare(number, bound)),
        _ => None,
    };
    order("minimum") != Some(Less)
        && order("maximum") != Some(Greater)
        && !matches!(order("exclusiveMinimum"), Some(Less | Equal))
        && !matches!(order("exclusiveMaximum"), Some(Greater | Equal))
}

/// Returns the fault of the alternative that was meant: the only one that does not fail by type or by choice.
fn intended_fault(faults: Vec<Box<Fault<'_>>>) -> Option<Box<Fault<'_>>> {
    let is_other =
        |fault: &Fault<'_>| matches!(fault.kind, ValueKind::Type | ValueKind::Choice) && fault.path.is_empty();
    let mut near: Vec<_> = faults.into_iter().filter(|fault| !is_other(fault)).collect();
    if near.len() > 1 {
        near.retain(|fault| fault.kind != ValueKind::Choice);
    }
    // If each alternative lacks a member, any of them will do.
    let all_miss = near.iter().all(|fault| matches!(fault.kind, ValueKind::Missing(_)) && fault.path.is_empty());
    if near.len() == 1 || all_miss { near.into_iter().next() } else { None }
}

impl Fault<'_> {
    /// Returns the path to the value as a person writes it: `legs[0].from`.
    pub(crate) fn path(&self) -> String {
        let mut out = String::new();
        for step in self.path.iter().rev() {
            match step {
                PathStep::Item(index) => out.push_str(&format!("[{index}]")),
                PathStep::Member(name) => {
                    if !out.is_empty() {
                        out.push('.');
                    }
                    out.extend(name.chars().take(64));
                }
            }
            if out.len() > 400 {
                out.push_str("...");
                break;
            }
        }
        out
    }
}
