//! The plan of a model: a few steps and their states.
//!
//! A plan is the content of the last call of the tool [`TOOL`]. This module reads its arguments and stores nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolfence_protocol::{Args, Text, text};

/// The name of the tool with which a model states its plan.
pub const TOOL: &str = "plan";

/// Maximum number of steps in a plan.
pub const MOST_STEPS: usize = 20;

/// Maximum number of characters in a step.
pub const LONGEST_STEP: usize = 200;

/// The steps in the order in which they are to be done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// At least one; at most one of them is active.
    pub steps: Vec<Step>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The task, on one line.
    pub text: String,
    /// Its state.
    pub state: StepState,
}

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// Not begun.
    #[default]
    Pending,
    /// Under way.
    Active,
    /// Done.
    Done,
}

/// Words that models write for the states, in lower case and without spaces, `_`, `-` and brackets.
const WORDS: &[(StepState, &[&str])] = &[
    (StepState::Pending, &["", "pending", "todo", "open", "planned", "notstarted", "waiting", "next", "pendente"]),
    (
        StepState::Active,
        &[
            "active",
            "inprogress",
            "doing",
            "current",
            "started",
            "working",
            "wip",
            "ongoing",
            "ativo",
            "ativa",
            "emandamento",
            "emprogresso",
            "fazendo",
        ],
    ),
    (
        StepState::Done,
        &["done", "completed", "complete", "finished", "closed", "x", "✓", "feito", "feita", "concluído", "concluída"],
    ),
];

impl StepState {
    /// Returns the state that a word means.
    pub fn of_word(word: &str) -> Option<StepState> {
        let kept = word.chars().filter(|c| !matches!(c, ' ' | '_' | '-' | '[' | ']')).flat_map(char::to_lowercase);
        // The limit is longer than every word of the table. The model's text can have any length.
        let plain: String = kept.take(32).collect();
        WORDS.iter().find(|(_, words)| words.contains(&plain.as_str())).map(|(state, _)| *state)
    }

    /// Returns the mark of the state in a plain-text checklist.
    pub fn mark(self) -> &'static str {
        match self {
            StepState::Pending => "[ ]",
            StepState::Active => "[>]",
            StepState::Done => "[x]",
        }
    }
}

impl Plan {
    /// Reads a plan from the arguments of a call. It also accepts a plan in the form that this type serializes to.
    ///
    /// # Errors
    /// Returns the problem, for the model: no steps or too many, a step with no text or too much, an unknown state,
    /// several active steps.
    pub fn read(args: &Args) -> Result<Plan, Text> {
        let given = args.get("steps").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if given.is_empty() || given.len() > MOST_STEPS {
            return Err(text!(
                "A plan has 1 to {most} steps, and this one has {count}. Give `steps` as a list of objects with `text` \
                 and `state`.",
                count = given.len(),
                most = MOST_STEPS
            ));
        }
        let mut steps = Vec::new();
        for (index, step) in given.iter().enumerate() {
            steps.push(Step::read(step, index + 1)?);
        }
        let active = steps.iter().filter(|step| step.state == StepState::Active).count();
        if active > 1 {
            return Err(text!(
                "The plan has {count} active steps. Mark the one that you are working on as active and the others as \
                 pending or done.",
                count = active
            ));
        }
        Ok(Plan { steps })
    }

    /// Returns the steps, one per line, each with the mark of its state.
    pub fn checklist(&self) -> String {
        let lines = self.steps.iter().map(|step| format!("{} {}", step.state.mark(), step.text));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the number of steps that are done.
    pub fn done_steps(&self) -> usize {
        self.steps.iter().filter(|step| step.state == StepState::Done).count()
    }
}

impl Step {
    fn read(given: &Value, number: usize) -> Result<Step, Text> {
        let text = given.get("text").and_then(Value::as_str).unwrap_or_default();
        let text: String = text.split_whitespace().flat_map(|word| [" ", word]).skip(1).collect();
        if text.is_empty() || text.chars().nth(LONGEST_STEP).is_some() {
            return Err(text!(
                "The text of step {number} has to have 1 to {most} characters. Say the step in one short sentence.",
                number,
                most = LONGEST_STEP
            ));
        }
        let word = given.get("state").and_then(Value::as_str).unwrap_or_default();
        let state = StepState::of_word(word).ok_or_else(|| {
            let shown: String = word.chars().take(40).collect();
            text!(
                "The state of step {number} is {state}. Write `pending`, `active` or `done`.",
                number,
                state = format!("{shown:?}")
            )
        })?;
        Ok(Step { text, state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(steps: &Value) -> Result<Plan, String> {
        let args = Args::from_iter([("steps".to_owned(), steps.clone())]);
        Plan::read(&args).map_err(|text| text.to_string())
    }

    #[test]
    fn states_are_read_in_the_words_of_models() {
        let plan = read(&json!([
            {"text": "read  the\nfile", "state": "completed"},
            {"text": "change it", "state": "in_progress"},
            {"text": "test it", "state": "TODO"},
            {"text": "say so"},
        ]))
        .unwrap();
        assert_eq!(plan.checklist(), "[x] read the file\n[>] change it\n[ ] test it\n[ ] say so");
        assert_eq!(plan.done_steps(), 1);
        let again: Args = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
        assert_eq!(Plan::read(&again).unwrap(), plan);
    }

    #[test]
    fn errors_describe_the_mistake() {
        let many = json!(vec![json!({"text": "a"}); 21]);
        let long = "x".repeat(201);
        for (steps, wanted) in [
            (json!([]), "has 0"),
            (many, "has 21"),
            (json!([{"text": " \n"}]), "step 1"),
            (json!([{"text": "a"}, {"text": long}]), "step 2"),
            (json!([{"text": "a", "state": "perhaps"}]), "\"perhaps\""),
            (json!([{"text": "a", "state": "active"}, {"text": "b", "state": "doing"}]), "2 active"),
            (json!("a"), "has 0"),
        ] {
            let error = read(&steps).unwrap_err();
            assert!(error.contains(wanted), "{steps}: {error}");
        }
    }
}
