//! Whether a schema allows a value, and what is wrong where it does not.

use super::number::{canonical, compare, is_integer, is_multiple, same};
use super::{REFERENCES, Schema};
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ptr;

/// Steps of one check. A step is a schema that is held against a value, a name that is looked up, or 8 bytes of a text that
/// a pattern of one byte is matched with.
pub(super) const BUDGET: u64 = 300_000;

/// Steps of matching any pattern at all, for it may have to be compiled first.
const MATCHING: u64 = 200;

/// Schemas that may be applied inside one another; arguments that were read have at most 128 levels.
const MOST_DEPTH: usize = 400;

/// What a schema does not allow.
#[derive(Debug)]
pub(crate) struct Fault<'a> {
    /// The way to the value, from its end.
    pub(crate) path: Vec<PathStep<'a>>,
    pub(crate) value: &'a Value,
    /// The schema that does not allow it.
    pub(crate) schema: &'a Value,
    pub(crate) kind: ValueKind<'a>,
}

/// A step to a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PathStep<'a> {
    Member(&'a str),
    Item(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind<'a> {
    /// The value is not of a type that is allowed.
    Type,
    /// It is not among the values that are allowed.
    Choice,
    /// It breaks another rule.
    Rule,
    /// A member of this name is missing.
    Missing(&'a str),
    /// No member of this name is allowed.
    Unknown(&'a str),
    /// The budget is spent.
    Costly,
}

type Checked<'a> = Result<Seen, Box<Fault<'a>>>;

/// What of a value was evaluated; empty where no schema asks for it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    members: HashSet<String>,
    items: HashSet<usize>,
    all_members: bool,
    all_items: bool,
}

impl Seen {
    fn add(&mut self, more: Seen) {
        self.members.extend(more.members);
        self.items.extend(more.items);
        self.all_members |= more.all_members;
        self.all_items |= more.all_items;
    }
}

/// One check, with what is left of its budget.
pub(super) struct Check<'s> {
    schema: &'s Schema,
    left: u64,
    depth: usize,
    /// References that are being followed, each with the value it is held against.
    following: Vec<(*const Value, *const Value)>,
    /// The resources on the way to the schema that is being applied, where a dynamic reference asks for them.
    scope: Vec<usize>,
}

impl Schema {
    /// # Errors
    /// What is not allowed. Of several alternatives that do not allow the value it is about the one that was meant, where
    /// that is plain.
    pub(crate) fn check<'a>(&'a self, value: &'a Value) -> Result<(), Box<Fault<'a>>> {
        self.check_at(&self.root, value)
    }

    /// Checks a value against a part of the schema.
    pub(super) fn check_at<'a>(&'a self, schema: &'a Value, value: &'a Value) -> Result<(), Box<Fault<'a>>> {
        self.check_within(schema, value, &mut BUDGET.clone())
    }

    /// Checks a value with steps of a budget that several checks share.
    pub(super) fn check_within<'a>(
        &'a self,
        schema: &'a Value,
        value: &'a Value,
        budget: &mut u64,
    ) -> Result<(), Box<Fault<'a>>> {
        let mut check = Check { schema: self, left: *budget, depth: 0, following: Vec::new(), scope: vec![0] };
        let checked = check.value(schema, value);
        *budget = check.left;
        // A branch that could not be looked at decides nothing.
        if check.left == 0 {
            return Err(fault(schema, value, ValueKind::Costly));
        }
        checked.map(|_| ())
    }
}

fn fault<'a>(schema: &'a Value, value: &'a Value, kind: ValueKind<'a>) -> Box<Fault<'a>> {
    Box::new(Fault { path: Vec::new(), value, schema, kind })
}

fn at<'a>(step: PathStep<'a>, checked: Checked<'a>) -> Checked<'a> {
    checked.map_err(|mut fault| {
        fault.path.push(step);
        fault
    })
}

/// The type that a schema names, as a value has it.
fn is_type(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("null", Value::Null) | ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => true,
        ("string", Value::String(_)) | ("array", Value::Array(_)) | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(number)) => is_integer(number),
        _ => false,
    }
}

fn size(value: &Value) -> Option<u64> {
    // 2.0 is a whole number too.
    value.as_u64().or_else(|| value.as_f64().filter(|size| size.fract() == 0.0 && *size >= 0.0).map(|size| size as u64))
}

impl<'s> Check<'s> {
    /// Takes steps from the budget; `false` where it is spent.
    fn spend(&mut self, steps: u64) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.left > 0
    }

    fn value<'a>(&mut self, schema: &'a Value, value: &'a Value) -> Checked<'a>
    where
        's: 'a,
    {
        if !self.spend(1) || self.depth == MOST_DEPTH {
            self.left = 0;
            return Err(fault(schema, value, ValueKind::Costly));
        }
        let rules = match schema {
            Value::Object(rules) => rules,
            Value::Bool(false) => return Err(fault(schema, value, ValueKind::Rule)),
            // What is no schema says nothing.
            _ => return Ok(Seen::default()),
        };
        self.depth += 1;
        let outside = self.scope.len();
        if self.schema.resources.is_dynamic
            && let Some(uri) = rules.get("$id").and_then(Value::as_str)
        {
            self.scope.extend(self.schema.resources.named(uri));
        }
        let checked = self.rules(rules, schema, value);
        self.scope.truncate(outside);
        self.depth -= 1;
        checked
    }

    fn rules<'a>(&mut self, rules: &'a Map<String, Value>, schema: &'a Value, value: &'a Value) -> Checked<'a>
    where
        's: 'a,
    {
        if !self.schema.siblings && rules.contains_key("$ref") {
            return self.references(rules, value);
        }
        self.itself(rules, schema, value)?;
        let mut seen = match value {
            Value::String(text) => self.text(rules, schema, value, text)?,
            Value::Number(number) => numbers(rules, schema, value, number)?,
            Value::Array(items) => self.items(rules, schema, value, items)?,
            Value::Object(members) => self.members(rules, schema, value, members)?,
            _ => Seen::default(),
        };
        seen.add(self.references(rules, value)?);
        seen.add(self.combined(rules, schema, value)?);
        seen.add(self.conditions(rules, value)?);
        if self.schema.unevaluated {
            self.unevaluated(rules, schema, value, &mut seen)?;
        }
        Ok(seen)
    }

    /// Types and choices.
    fn itself<'a>(
        &mut self,
        rules: &'a Map<String, Value>,
        schema: &'a Value,
        value: &'a Value,
    ) -> Result<(), Box<Fault<'a>>> {
        let fits = match rules.get("type") {
            Some(Value::String(name)) => is_type(name, value),
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(|name| is_type(name, value)),
            _ => true,
        };
        if !fits {
            return Err(fault(schema, value, ValueKind::Type));
        }
        if rules.get("const").is_some_and(|wanted| !same(wanted, value)) {
            return Err(fault(schema, value, ValueKind::Choice));
        }
        if let Some(Value::Array(choices)) = rules.get("enum") {
            self.spend(choices.len() as u64);
            if !choices.iter().any(|choice| same(choice, value)) {
                return Err(fault(schema, value, ValueKind::Choice));
            }
        }
        Ok(())
    }

    /// `None` where the pattern cannot be matched.
    fn matches(&mut self, pattern: &str, text: &str) -> Option<bool> {
        let compiled = self.schema.pattern(pattern)?;
        let steps = (pattern.len() as u64 + 1).saturating_mul(text.len() as u64 + 1) / 8;
        let steps = steps.saturating_mul(compiled.weight);
        self.spend(steps.saturating_add(MATCHING)).then(|| compiled.regex.is_match(text))
    }

    fn text<'a>(
        &mut self,
        rules: &'a Map<String, Value>,
        schema: &'a Value,
        value: &'a Value,
        text: &'a str,
    ) -> Checked<'a> {
        let bound = |key: &str| rules.get(key).and_then(size);
        let (least, most) = (bound("minLength"), bound("maxLength"));
        if least.is_some() || most.is_some() {
            self.spend(text.len() as u64 / 64);
            let length = text.chars().count() as u64;
            if least.is_some_and(|least| length < least) || most.is_some_and(|most| length > most) {
                return Err(fault(schema, value, ValueKind::Rule));
            }
        }
        match rules.get("pattern") {
            Some(Value::String(pattern)) if self.matches(pattern, text) == Some(false) => {
                Err(fault(schema, value, ValueKind::Rule))
            }
            _ => Ok(Seen::default()),
        }
    }

    fn items<'a>(
        &mut self,
        rules: &'a Map<String, Value>,
        schema: &'a Value,
        value: &'a Value,
        items: &'a [Value],
    ) -> Checked<'a>
    where
        's: 'a,
    {
        let mut seen = Seen::default();
        let bound = |key: &str| rules.get(key).and_then(size);
        let length = items.len() as u64;
        if bound("minItems").is_some_and(|least| length < least) || bound("maxItems").is_some_and(|most| length > most)
        {
            return Err(fault(schema, value, ValueKind::Rule));
        }
        if rules.get("uniqueItems") == Some(&Value::Bool(true)) && !self.all_differ(items) {
            return Err(fault(schema, value, ValueKind::Rule));
        }
        // Until 2019-09 an array of schemas stood in `items`, and `additionalItems` was about what follows.
        let (first, rest) = match (rules.get("items"), rules.get("prefixItems")) {
            (Some(Value::Array(first)), _) => (first.as_slice(), rules.get("additionalItems")),
            (rest, Some(Value::Array(first))) => (first.as_slice(), rest),
            (rest, _) => (&[][..], rest),
        };
        for (index, item) in items.iter().enumerate() {
            let Some(schema) = first.get(index).or(rest) else { break };
            at(PathStep::Item(index), self.value(schema, item))?;
            if self.schema.unevaluated {
                seen.items.insert(index);
            }
        }
        seen.all_items |= rest.is_some();
        if let Some(wanted) = rules.get("contains") {
            let mut count = 0;
            for (index, item) in items.iter().enumerate() {
                if self.value(wanted, item).is_ok() {
                    count += 1;
                    seen.items.insert(index);
                }
            }
            let least = bound("minContains").unwrap_or(1);
            if count < least || bound("maxContains").is_some_and(|most| count > most) {
                return Err(fault(schema, value, ValueKind::Rule));
            }
        }
        Ok(seen)
    }

    fn all_differ(&mut self, items: &[Value]) -> bool {
        let mut known = HashSet::with_capacity(items.len().min(1 << 16));
        items.iter().all(|item| {
            let mut text = String::new();
            canonical(item, &mut text);
            self.spend(1 + text.len() as u64 / 8);
            known.insert(text)
        })
    }

    fn members<'a>(
        &mut self,
        rules: &'a Map<String, Value>,
        schema: &'a Value,
        value: &'a Value,
        members: &'a Map<String, Value>,
    ) -> Checked<'a>
    where
        's: 'a,
    {
        let (mut seen, mut unknown) = (Seen::default(), None);
        let properties = rules.get("properties").and_then(Value::as_object);
        let patterns = rules.get("patternProperties").and_then(Value::as_object);
        let additional = rules.get("additionalProperties");
        for (name, member) in members {
            let mut named = false;
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                named = true;
                at(PathStep::Member(name), self.value(schema, member))?;
            }
            for (pattern, schema) in patterns.into_iter().flatten() {
                self.spend(1);
                // What cannot be matched may be meant.
                match self.matches(pattern, name) {
                    Some(true) => {
                        named = true;
                        at(PathStep::Member(name), self.value(schema, member))?;
                    }
                    Some(false) => {}
                    None => named = true,
                }
            }
            match additional {
                Some(Value::Bool(false)) if !named => unknown = unknown.or(Some(name)),
                Some(schema) if !named => {
                    named = true;
                    at(PathStep::Member(name), self.value(schema, member))?;
                }
                _ => {}
            }
            if named && self.schema.unevaluated {
                seen.members.insert(name.clone());
            }
        }
        // A member that is wrong tells more of what was meant than the names of the members do.
        if let Some(name) = unknown {
            return Err(fault(schema, value, ValueKind::Unknown(name)));
        }
        if let Some(missing) = self.missing(rules.get("required"), members) {
            return Err(fault(schema, value, ValueKind::Missing(missing)));
        }
        self.about_members(rules, schema, value, members, &mut seen)?;
        Ok(seen)
    }

    /// What is said of the members together.
    fn about_members<'a>(
        &mut self,
        rules: &'a Map<String, Value>,
        schema: &'a Value,
        value: &'a Value,
        members: &'a Map<String, Value>,
        seen: &mut Seen,
    ) -> Result<(), Box<Fault<'a>>>
    where
        's: 'a,
    {
        let bound = |key: &str| rules.get(key).and_then(size);
        let count = members.len() as u64;
        let few = bound("minProperties").is_some_and(|least| count < least);
        if few || bound("maxProperties").is_some_and(|most| count > most) {
            return Err(fault(schema, value, ValueKind::Rule));
        }
        if let Some(names) = rules.get("propertyNames") {
            for name in members.keys() {
                if self.value(names, &Value::from(name.as_str())).is_err() {
                    return Err(fault(schema, value, ValueKind::Unknown(name)));
                }
            }
        }
        for key in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let rules = rules.get(key).and_then(Value::as_object).into_iter().flatten();
            for (name, wanted) in rules {
                self.spend(1);
                if !members.contains_key(name) {
                    continue;
                }
                if wanted.is_array() {
                    if let Some(missing) = self.missing(Some(wanted), members) {
                        return Err(fault(schema, value, ValueKind::Missing(missing)));
                    }
                } else {
                    seen.add(self.value(wanted, value)?);
                }
            }
        }
        Ok(())
    }

    fn missing<'a>(&mut self, required: Option<&'a Value>, members: &Map<String, Value>) -> Option<&'a str> {
        // In draft 3 `required` was a boolean of the member itself; that says nothing here.
        let names = required?.as_array()?;
        self.spend(names.len() as u64);
        names.iter().filter_map(Value::as_str).find(|name| !members.contains_key(*name))
    }

    fn references<'a>(&mut self, rules: &'a Map<String, Value>, value: &'a Value) -> Checked<'a>
    where
        's: 'a,
    {
        let mut seen = Seen::default();
        let schema: &'a Schema = self.schema;
        for key in REFERENCES {
            let means = match rules.get(key) {
                None | Some(Value::Null) => continue,
                Some(means) => means,
            };
            self.spend(4);
            let place = match means {
                Value::String(place) => place.strip_prefix('#'),
                dynamic => {
                    self.spend(self.scope.len() as u64);
                    let text = |key: &str| dynamic.get(key).and_then(Value::as_str);
                    let outermost = text("anchor").and_then(|anchor| schema.resources.outermost(anchor, &self.scope));
                    outermost.or_else(|| text("pointer"))
                }
            };
            // What stands in another document is not known here, so it allows anything.
            self.spend(place.map_or(0, str::len) as u64 / 8);
            let Some((place, target)) = place.and_then(|place| Some((place, schema.root.pointer(place)?))) else {
                continue;
            };
            let step = (ptr::from_ref(target), ptr::from_ref(value));
            if self.following.contains(&step) {
                continue; // a circle says nothing more
            }
            let outside = self.scope.len();
            if schema.resources.is_dynamic {
                self.spend(place.len() as u64);
                self.scope.push(schema.resources.around(place));
            }
            self.following.push(step);
            let checked = self.value(target, value);
            self.following.pop();
            self.scope.truncate(outside);
            seen.add(checked?);
        }
        Ok(seen)
    }

    fn combined<'a>(&mut self, rules: &'a Map<String, Value>, schema: &'a Value, value: &'a Value) -> Checked<'a>
    where
        's: 'a,
    {
        let mut seen = Seen::default();
        let branches = |key: &str| rules.get(key).and_then(Value::as_array);
        for branch in branches("allOf").into_iter().flatten() {
            seen.add(self.value(branch, value)?);
        }
        for (key, several) in [("anyOf", true), ("oneOf", false)] {
            let Some(branches) = branches(key) else { continue };
            let (mut fitting, mut faults) = (0, Vec::new());
            for branch in branches {
                match self.value(branch, value) {
                    Ok(more) => {
                        fitting += 1;
                        seen.add(more);
                        if several && !self.schema.unevaluated {
                            break;
                        }
                    }
                    Err(fault) => faults.push(fault),
                }
            }
            if fitting == 0 {
                let types = faults.iter().all(|fault| fault.kind == ValueKind::Type && fault.path.is_empty());
                let kind = if types { ValueKind::Type } else { ValueKind::Rule };
                return Err(meant(faults).unwrap_or_else(|| fault(schema, value, kind)));
            }
            if fitting > 1 && !several {
                return Err(fault(schema, value, ValueKind::Rule));
            }
        }
        if rules.get("not").is_some_and(|not| self.value(not, value).is_ok()) {
            return Err(fault(schema, value, ValueKind::Rule));
        }
        Ok(seen)
    }

    fn conditions<'a>(&mut self, rules: &'a Map<String, Value>, value: &'a Value) -> Checked<'a>
    where
        's: 'a,
    {
        let Some(condition) = rules.get("if") else { return Ok(Seen::default()) };
        let (mut seen, branch) = match self.value(condition, value) {
            Ok(seen) => (seen, "then"),
            Err(_) => (Seen::default(), "else"),
        };
        if let Some(branch) = rules.get(branch) {
            seen.add(self.value(branch, value)?);
        }
        Ok(seen)
    }

    fn unevaluated<'a>(
        &mut self,
        rules: &'a Map<String, Value>,
        schema: &'a Value,
        value: &'a Value,
        seen: &mut Seen,
    ) -> Result<(), Box<Fault<'a>>>
    where
        's: 'a,
    {
        match (value, rules.get("unevaluatedProperties"), rules.get("unevaluatedItems")) {
            (Value::Object(members), Some(wanted), _) if !seen.all_members => {
                for (name, member) in members.iter().filter(|(name, _)| !seen.members.contains(*name)) {
                    match wanted {
                        Value::Bool(false) => return Err(fault(schema, value, ValueKind::Unknown(name))),
                        _ => at(PathStep::Member(name), self.value(wanted, member))?,
                    };
                }
                seen.all_members = true;
            }
            (Value::Array(items), _, Some(wanted)) if !seen.all_items => {
                for (index, item) in items.iter().enumerate().filter(|(index, _)| !seen.items.contains(index)) {
                    at(PathStep::Item(index), self.value(wanted, item))?;
                }
                seen.all_items = true;
            }
            _ => {}
        }
        Ok(())
    }
}

fn numbers<'a>(rules: &'a Map<String, Value>, schema: &'a Value, value: &'a Value, number: &'a Number) -> Checked<'a> {
    let bound = |key: &str| match rules.get(key) {
        Some(Value::Number(bound)) => Some(compare(number, bound)),
        _ => None,
    };
    // In draft 4 `exclusiveMinimum` was a boolean that sharpened `minimum`.
    let sharp = |key: &str| rules.get(key) == Some(&Value::Bool(true));
    let below = bound("minimum")
        .is_some_and(|order| order == Ordering::Less || order == Ordering::Equal && sharp("exclusiveMinimum"));
    let above = bound("maximum")
        .is_some_and(|order| order == Ordering::Greater || order == Ordering::Equal && sharp("exclusiveMaximum"));
    let outside = bound("exclusiveMinimum").is_some_and(|order| order != Ordering::Greater)
        || bound("exclusiveMaximum").is_some_and(|order| order != Ordering::Less);
    let uneven = matches!(rules.get("multipleOf"), Some(Value::Number(step)) if !is_multiple(number, step));
    if below || above || outside || uneven { Err(fault(schema, value, ValueKind::Rule)) } else { Ok(Seen::default()) }
}

/// The fault of the alternative that was meant: the only one that is not of another type and chose no other name.
fn meant(faults: Vec<Box<Fault<'_>>>) -> Option<Box<Fault<'_>>> {
    let is_other =
        |fault: &Fault<'_>| matches!(fault.kind, ValueKind::Type | ValueKind::Choice) && fault.path.is_empty();
    let mut near: Vec<_> = faults.into_iter().filter(|fault| !is_other(fault)).collect();
    if near.len() > 1 {
        near.retain(|fault| fault.kind != ValueKind::Choice);
    }
    // Where each alternative misses a member, one of them is as good as another.
    let all_miss = near.iter().all(|fault| matches!(fault.kind, ValueKind::Missing(_)) && fault.path.is_empty());
    if near.len() == 1 || all_miss { near.into_iter().next() } else { None }
}

impl Fault<'_> {
    /// The way to the value, as a person writes it: `legs[0].from`.
    pub(crate) fn place(&self) -> String {
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
