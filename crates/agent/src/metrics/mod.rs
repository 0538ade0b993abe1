//! What an agent has done, counted and timed, and the events by which others can do that themselves.
//!
//! [`Metrics`] is a snapshot that [`Agent::metrics`](crate::agent::Agent::metrics) gives at any time. Its memory is bounded whatever
//! models and tools do. It holds names and numbers, and nothing that anybody said.
//!
//! # Events
//! An agent tells a [`tracing`] subscriber of what happens as it happens. All of these have the target `toolfence`, the level
//! `info`, the name below, and no message. Their names and fields change only with a version that says so. A field in brackets is
//! left out where there is nothing to say. Times are in milliseconds.
//!
//! | name | when | fields |
//! |---|---|---|
//! | `turn_began` | the user has said something | `session`, `turn` (counted from 1) |
//! | `reply_ended` | the model's reply is over, or was stopped | `session`, `turn`, `ms`, \[`first_ms`\] until its first piece, `input`, `cached`, `output` in tokens, `counted`: whether the server counted them, `end`: `stop`, `length`, `cut`, `cancelled` |
//! | `call_began` | a call begins to run | `id`, `tool`, `by`: `policy` or `person`, `rule` |
//! | `person_asked` | a question was answered, or was withdrawn | `id`, `tool`, `rule`, \[`answer`\]: `yes`, `always`, `no`, `edit`, `nobody`, `ms` |
//! | `call_answered` | a call has its answer, whether it ran or not | `id`, `tool`, `success`, \[`code`\] of the failure, `ran`, `ms`, `bytes`, `truncated` |
//! | `turn_ended` | the agent waits for the user again | `session`, `turn`, `reason`: as `StopReason` is written, or `failed`, `ms` |

mod meter;
mod times;

pub(crate) use meter::{Meter, ReplyClock, ReplyTimes, answer_word, milliseconds};
pub use times::Times;

use crate::backend::Usage;
use serde::Serialize;
use std::collections::BTreeMap;

/// The most names that are counted by themselves. A model can make up names of tools.
const MOST_NAMES: usize = 200;

/// Characters of a name that are kept.
const LONGEST_NAME: usize = 64;
/// What is counted under this name once there are so many.
const OTHER: &str = "other";

/// What was done so far, counted and timed.
///
/// Counts under a name are kept of 200 names; what comes after them is counted as `other`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Metrics {
    /// Turns of the user.
    pub turns: u64,
    /// Replies of which a call was answered.
    pub rounds: u64,
    /// Replies and their tokens, with how many of the replies nobody but this crate has counted. What they cost:
    /// [`Usage::cost`].
    #[serde(serialize_with = "told_usage")]
    pub usage: Usage,
    /// Calls by the name of the tool.
    pub tools: BTreeMap<String, ToolCounts>,
    /// Calls that did not succeed, by the code of the failure.
    pub failures: BTreeMap<String, u64>,
    /// Calls that were denied, by who did it: `policy`, `person`, or `nobody` where nobody was there to be asked.
    pub denied: BTreeMap<String, u64>,
    /// Questions that were put.
    pub asked: u64,
    /// What was answered: `yes`, `always`, `no`, `edit`, or `nobody`. A question that was withdrawn has no answer.
    pub answers: BTreeMap<String, u64>,
    /// What had to be repaired to read calls, by the name of the repair.
    pub repairs: BTreeMap<String, u64>,
    /// Blocks that were meant as calls and could not be read, or broke off.
    pub malformed: u64,
    /// How long replies took, from the request to their end.
    pub model: Times,
    /// How long it was until the first piece of a reply.
    pub first_byte: Times,
    /// How long a person took to answer.
    pub person: Times,
}

/// The calls of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolCounts {
    /// All that were answered.
    pub calls: u64,
    /// Those that did not succeed. What was denied is among them.
    pub failed: u64,
    /// How long those took that ran.
    pub times: Times,
}

impl ToolCounts {
    /// Adds all of the other counts.
    pub fn add_all(&mut self, other: &ToolCounts) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.times.add_all(&other.times);
    }
}

impl Metrics {
    /// Adds all that another agent did. What comes after the names that are kept is counted as `other`.
    ///
    /// ```
    /// # use toolfence_agent as toolfence;
    /// use toolfence::metrics::Metrics;
    ///
    /// let (mut all, mut one) = (Metrics::default(), Metrics::default());
    /// one.count_call("bash", true, Some(20));
    /// all.add_all(&one);
    /// all.add_all(&one);
    /// assert_eq!(all.tools["bash"].calls, 2);
    /// ```
    pub fn add_all(&mut self, other: &Metrics) {
        let Metrics { turns, rounds, usage, tools, failures, denied, asked, answers, repairs, malformed, .. } = other;
        self.turns += turns;
        self.rounds += rounds;
        self.usage += *usage;
        self.asked += asked;
        self.malformed += malformed;
        tools.iter().for_each(|(name, counts)| entry(&mut self.tools, name).add_all(counts));
        let counts = [
            (&mut self.failures, failures),
            (&mut self.denied, denied),
            (&mut self.answers, answers),
            (&mut self.repairs, repairs),
        ];
        for (all, more) in counts {
            more.iter().for_each(|(name, count)| *entry::<u64>(all, name) += count);
        }
        self.model.add_all(&other.model);
        self.first_byte.add_all(&other.first_byte);
        self.person.add_all(&other.person);
    }

    /// How long the calls of all tools took that ran.
    pub fn tool_times(&self) -> Times {
        let mut all = Times::default();
        self.tools.values().for_each(|tool| all.add_all(&tool.times));
        all
    }

    /// Counts a call that was answered. `took` is how long it ran, where it did.
    pub fn count_call(&mut self, tool: &str, success: bool, took: Option<u64>) {
        let counts = entry(&mut self.tools, tool);
        counts.calls += 1;
        counts.failed += u64::from(!success);
        took.into_iter().for_each(|ms| counts.times.add(ms));
    }

    /// Counts a failure by its code.
    pub fn count_failure(&mut self, code: &str) {
        *entry(&mut self.failures, code) += 1;
    }

    /// Counts a call that was denied: by `policy`, `person` or `nobody`.
    pub fn count_denial(&mut self, by: &str) {
        *entry(&mut self.denied, by) += 1;
    }

    /// Counts a question and its answer: one of the words of [`Metrics::answers`], or none where it was withdrawn.
    pub fn count_answer(&mut self, answer: Option<&str>, ms: u64) {
        self.asked += 1;
        if let Some(answer) = answer {
            *entry(&mut self.answers, answer) += 1;
            if answer != "nobody" {
                self.person.add(ms);
            }
        }
    }

    /// Counts something that had to be repaired.
    pub fn count_repair(&mut self, name: &str) {
        *entry(&mut self.repairs, name) += 1;
    }
}

fn entry<'m, T: Default>(map: &'m mut BTreeMap<String, T>, name: &str) -> &'m mut T {
    // A model may make up a name of any length.
    let name: String = name.chars().take(LONGEST_NAME).collect();
    // The name for all others is none of those that are kept, so that a sum keeps as many.
    let most = MOST_NAMES + usize::from(map.contains_key(OTHER));
    let name = if map.len() < most || map.contains_key(&name) { name } else { OTHER.to_owned() };
    map.entry(name).or_default()
}

/// `{"replies": .., "estimated_replies": .., "input": .., "cached": .., "output": ..}`
fn told_usage<S: serde::Serializer>(usage: &Usage, serializer: S) -> Result<S::Ok, S::Error> {
    let told = [
        ("replies", usage.replies),
        ("estimated_replies", usage.estimated),
        ("input", usage.input),
        ("cached", usage.cached),
        ("output", usage.output),
    ];
    serializer.collect_map(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_names_do_not_fill_the_memory() {
        let mut metrics = Metrics::default();
        (0..1000).for_each(|number| metrics.count_call(&format!("tool{number}"), false, None));
        metrics.count_call("tool7", true, Some(5));
        assert_eq!((metrics.tools.len(), metrics.tools[OTHER].calls, metrics.tools["tool7"].calls), (201, 800, 2));
        assert_eq!(metrics.tool_times().count(), 1);
        let mut all = Metrics::default();
        (0..3).for_each(|_| all.add_all(&metrics));
        assert_eq!((all.tools.len(), all.tools["tool7"].calls), (201, 6));
        assert_eq!(all.tools.values().map(|counts| counts.calls).sum::<u64>(), 3 * 1001);
    }

    /// Everything is added: an agent that did it all after another one has the same metrics.
    #[test]
    fn two_agents_are_one_that_did_both() {
        let act = |metrics: &mut Metrics, again: u64| {
            metrics.turns += again;
            metrics.rounds += 2 * again;
            metrics.malformed += 3 * again;
            metrics.usage += Usage { replies: again, estimated: again, input: 5, cached: 6, output: again };
            metrics.count_call("bash", again == 1, Some(again * 100));
            metrics.count_failure("denied");
            metrics.count_denial("policy");
            metrics.count_answer(Some("yes"), again);
            metrics.count_repair("comma");
            metrics.model.add(again);
            metrics.first_byte.add(again);
        };
        let (mut first, mut second, mut both) = (Metrics::default(), Metrics::default(), Metrics::default());
        act(&mut first, 1);
        act(&mut second, 7);
        act(&mut both, 1);
        act(&mut both, 7);
        first.add_all(&second);
        assert_eq!(first, both);
    }
}
