//! Coerces a value that the schema does not allow, if only one allowed value can be meant.

use super::check::BUDGET;
use super::{Schema, additional, items};
use crate::readings::readings;
use serde_json::{Map, Value};

/// The maximum number of levels of a value that are coerced, and the maximum number of alternatives of one value.
const MOST_LEVELS: usize = 64;
const MOST_ALTERNATIVES: usize = 32;

impl Schema {
    /// Returns the coerced value; `None` if no value or more than one can be meant. The schema must not allow the
    /// original value.
    pub(crate) fn fit(&self, value: &Value) -> Option<Value> {
        Fitter { schema: self, budget: BUDGET }.value(&self.root, value, 0)
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
        // Two readings are two meanings. A check that exhausted its budget may have missed the second.
        if fitting.len() == 1 && self.budget > 0 { fitting.pop() } else { None }
    }

    /// Returns the value with coerced members or elements.
    fn inside(&mut self, schema: &'s Value, value: &Value, level: usize) -> Option<Value> {
        let parts = self.parts(schema);
        let mut fitted = value.clone();
        let mut changed = false;
        match &mut fitted {
            Value::Object(members) => {
                for (name, member) in members {
                    let known = |rules: &&'s Map<String, Value>| {
                        rules.get("properties").and_then(|known| known.get(name)).or_else(|| additional(rules))
                    };
                    let schemas: Vec<&Value> = parts.iter().filter_map(known).collect();
                    changed |= self.part(&schemas, member, level);
                }
            }
            Value::Array(elements) => {
                let schemas: Vec<&Value> = parts.iter().filter_map(|rules| items(rules)).collect();
                for element in elements {
                    changed |= self.part(&schemas, element, level);
                }
            }
            _ => {}
        }
        changed.then_some(fitted)
    }

    /// Returns the schemas that may apply to the value of this one, including those of its alternatives.
    fn parts(&mut self, schema: &'s Value) -> Vec<&'s Map<String, Value>> {
        let view = self.schema.view(&[schema]);
        let branches = view.alternatives().unwrap_or_default().iter().take(MOST_ALTERNATIVES);
        let others: Vec<_> = branches.flat_map(|branch| self.schema.view(&[branch]).layers).collect();
        let parts = [view.layers, others].concat();
        self.budget = self.budget.saturating_sub(parts.len() as u64);
        parts
    }

    /// Coerces one value for those of its schemas that do not allow it. Returns `true` if it changed.
    fn part(&mut self, schemas: &[&'s Value], value: &mut Value, level: usize) -> bool {
        let mut fitting: Vec<Value> = Vec::new();
        for schema in schemas {
            if self.budget > 0
                && !self.allows(schema, value)
                && let Some(fitted) = self.value(schema, value, level + 1)
                && !fitting.contains(&fitted)
            {
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
}
