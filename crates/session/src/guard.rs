//! The loop guard counts identical calls with identical results while nothing else changes in between.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use toolfence_protocol::{Effect, ToolCall, ToolResult};

/// Hashes of the calls of one user turn and of their last results. The guard stores two numbers per call and no text.
#[derive(Debug, Default)]
pub(super) struct Guard {
    seen: HashMap<u64, LastResult>,
}

#[derive(Debug)]
struct LastResult {
    result: u64,
    times: u64,
}

impl Guard {
    /// Returns how often in a row this call has had this result, this time included. `ran` is `true` if it was cleared
    /// to run.
    pub(super) fn note(&mut self, call: &ToolCall, effect: Effect, ran: bool, result: &ToolResult) -> u64 {
        let key = hash_call(call);
        if ran && effect != Effect::Read {
            // A change or command may give all other calls another result, so only its own count continues.
            self.seen.retain(|other, _| *other == key);
        }
        let result = hash_result(result);
        let seen = self.seen.entry(key).or_insert(LastResult { result, times: 0 });
        if seen.result != result {
            *seen = LastResult { result, times: 0 };
        }
        seen.times += 1;
        seen.times
    }
}

/// Hashes a call with its arguments sorted by name, because their order has no meaning and other code may not preserve
/// it.
fn hash_call(call: &ToolCall) -> u64 {
    let mut args: Vec<(&String, String)> = call.args.iter().map(|(name, value)| (name, value.to_string())).collect();
    args.sort_unstable();
    hash(&(&call.name, args))
}

/// Hashes a result without the time that the call took.
fn hash_result(result: &ToolResult) -> u64 {
    let error = result.error.as_ref().map(|failure| (failure.code, &failure.message));
    hash(&(result.success, &result.output, result.exit_code, error))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_protocol::{Args, Output};

    fn call(name: &str, key: &str, value: &str) -> ToolCall {
        ToolCall::new("1", name, Args::from_iter([(key.to_owned(), value.into())]))
    }

    fn result(text: &str, time: u64) -> ToolResult {
        ToolResult::new("1", "t", Output::text(text), time)
    }

    #[test]
    fn only_repeated_calls_with_the_same_result_are_counted() {
        let (read, other) = (call("read_file", "path", "a"), call("read_file", "path", "b"));
        let write = call("write_file", "path", "a");
        let mut guard = Guard::default();
        let steps = [
            (&read, Effect::Read, true, "x", 1),
            (&other, Effect::Read, true, "x", 1),
            (&read, Effect::Read, true, "x", 2),
            (&read, Effect::Read, true, "y", 1),
            (&read, Effect::Read, true, "y", 2),
            (&write, Effect::Write, false, "no", 1),
            (&read, Effect::Read, true, "y", 3),
            (&write, Effect::Write, true, "ok", 1),
            (&read, Effect::Read, true, "y", 1),
            (&write, Effect::Write, true, "ok", 2),
        ];
        for (step, (call, effect, ran, text, times)) in steps.into_iter().enumerate() {
            assert_eq!(guard.note(call, effect, ran, &result(text, step as u64)), times, "step {step}");
        }
    }
}
