//! The loop guard: the same call with the same result, again and again, while nothing else was changed in between.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use toolfence_protocol::{Effect, ToolCall, ToolResult};

/// What the calls of one user turn came to. It keeps two numbers a call and no text.
#[derive(Debug, Default)]
pub(super) struct Guard {
    seen: HashMap<u64, Seen>,
}

#[derive(Debug)]
struct Seen {
    result: u64,
    times: u64,
}

impl Guard {
    /// How often in a row this call has now had this result. `ran` says whether it was cleared to run at all.
    pub(super) fn note(&mut self, call: &ToolCall, effect: Effect, ran: bool, result: &ToolResult) -> u64 {
        let key = call_print(call);
        if ran && effect != Effect::Read {
            self.seen.retain(|other, _| *other == key);
        }
        let result = result_print(result);
        let seen = self.seen.entry(key).or_insert(Seen { result, times: 0 });
        if seen.result != result {
            *seen = Seen { result, times: 0 };
        }
        seen.times += 1;
        seen.times
    }
}

/// The order in which a model writes arguments means nothing, and it is kept or not as some dependency of the host
/// has it.
fn call_print(call: &ToolCall) -> u64 {
    let mut args: Vec<(&String, String)> = call.args.iter().map(|(name, value)| (name, value.to_string())).collect();
    args.sort_unstable();
    print(&(&call.name, args))
}

/// The time a call took is no part of what it came to.
fn result_print(result: &ToolResult) -> u64 {
    let error = result.error.as_ref().map(|failure| (failure.code, &failure.message));
    print(&(result.success, &result.output, result.exit_code, error))
}

fn print(value: &impl Hash) -> u64 {
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
    fn counts_what_repeats_and_nothing_else() {
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
