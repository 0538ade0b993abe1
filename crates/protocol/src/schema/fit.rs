//! A value that the schema does not allow, made one that it allows where only one can be meant.

use super::Schema;
use super::check::BUDGET;
use crate::readings::readings;
use serde_json::Value;

/// Levels that are gone into, and schemas that are looked at for one value.
const MOST_LEVELS: usize = 64;
const MOST_SCHEMAS: usize = 64;

impl Schema {
    /// The value with what is of the wrong type put right; `None` where nothing or more than one thing can be meant. A value
    /// that the schema allows is none of its business.
    pub(crate) fn fit(&self, value: &Value) -> Option<Value> {
        let mut fitter = Fitter { schema: self, budget: BUDGET };
        fitter.value(&self.root, value, 0)
    }
}

struct Fitter<'s> {
    schema: &'s Schema,
    budget: u64,
}

impl<'s> Fitter<'s> {
    fn allows(&mut self, schema: &Value, value: &Value) -> bool {
        self.schema.check_within(schema, value, &mut self.budget).is_ok()
    }

    fn value(&mut self, schema: &'s Value, value: &Value, level: usize) -> Option<Value> {
        if level > MOST_LEVELS || self.budget == 0 {
            return None;
        }
        let mut fitting: Vec<Value> = Vec::new();
        let inside = self.inside(schema, value, level);
        for reading in readings(value).into_iter().chain(inside) {
            if self.allows(schema, &reading) && !fitting.contains(&reading) {
                fitting.push(reading);
            }
        }
        // Two readings are two meanings. And a check that ran out of its budget may have missed the second.
        if fitting.len() == 1 && self.budget > 0 { fitting.pop() } else { None }
    }

    /// The value with its members or elements put right.
    fn inside(&mut self, schema: &'s Value, value: &Value, level: usize) -> Option<Value> {
        match value {
            Value::Object(members) => {
                let parts = self.parts(schema);
                let mut fitted = members.clone();
                let mut changed = false;
                for (name, member) in &mut fitted {
                    let own: Vec<&Value> = parts.iter().filter_map(|part| member_schema(part, name)).collect();
                    changed |= self.part(&own, member, level);
                }
                changed.then_some(Value::Object(fitted))
            }
            Value::Array(items) => {
                let parts = self.parts(schema);
                let mut fitted = items.clone();
                let mut changed = false;
                for (index, item) in fitted.iter_mut().enumerate() {
                    let own: Vec<&Value> = parts.iter().filter_map(|part| item_schema(part, index)).collect();
                    changed |= self.part(&own, item, level);
                    if self.budget == 0 {
                        return None;
                    }
                }
                changed.then_some(Value::Array(fitted))
            }
            _ => None,
        }
    }

    /// Puts one value right for those of its schemas that do not allow it.
    fn part(&mut self, schemas: &[&'s Value], value: &mut Value, level: usize) -> bool {
        let mut fitting: Vec<Value> = Vec::new();
        for schema in schemas {
            if self.allows(schema, value) {
                continue;
            }
            if let Some(fitted) = self.value(schema, value, level + 1).filter(|fitted| !fitting.contains(fitted)) {
                fitting.push(fitted);
            }
        }
        match fitting.pop() {
            Some(only) if fitting.is_empty() => {
                *value = only;
                true
            }
            _ => false,
        }
    }

    /// The schemas that may hold for the same value: those behind references and in combinations.
    fn parts(&mut self, schema: &'s Value) -> Vec<&'s Value> {
        let mut parts: Vec<&Value> = vec![schema];
        let mut next = 0;
        while let Some(part) = parts.get(next).copied().filter(|_| parts.len() < MOST_SCHEMAS) {
            next += 1;
            self.budget = self.budget.saturating_sub(1);
            let Some(rules) = part.as_object() else { continue };
            let combined =
                ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| rules.get(key)?.as_array()).flatten();
            let conditions = ["then", "else"].into_iter().filter_map(|key| rules.get(key));
            let dependent =
                rules.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(|all| all.values());
            let referred = self.schema.referred(rules).flatten();
            for more in referred.chain(combined).chain(conditions).chain(dependent) {
                if !parts.iter().any(|known| std::ptr::eq(*known, more)) {
                    parts.push(more);
                }
            }
        }
        parts
    }
}

fn member_schema<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let named = schema.get("properties").and_then(|properties| properties.get(name));
    named.or_else(|| schema.get("additionalProperties").filter(|schema| schema.is_object()))
}

fn item_schema(schema: &Value, index: usize) -> Option<&Value> {
    let first = |key: &str| schema.get(key)?.as_array()?.get(index);
    let rest = |key: &str| schema.get(key).filter(|schema| schema.is_object());
    first("prefixItems").or_else(|| first("items")).or_else(|| rest("items")).or_else(|| rest("additionalItems"))
}
