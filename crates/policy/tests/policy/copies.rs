//! Tests everyday commands in a project in which commands run on private copies.

use super::World;
use toolfence_kit::{CaseFiles, call, signs};
use toolfence_policy::{Consent, Policy, Verdict};

/// The number of commands in the list.
const COUNT: usize = 217;

#[test]
fn everyday_commands_on_private_copies_ask_only_after_the_run() {
    let cases = CaseFiles::of("policy/copies").pairs();
    assert_eq!(cases.len(), COUNT);
    for (expected, command) in &cases {
        let command = signs::read_command(command.text());
        let call = call("bash", serde_json::json!({"command": command}));
        let verdict = match Policy::default().review(call, &super::catalog(), &World { sandbox: true }) {
            Verdict::Cleared(cleared) if cleared.consent_to_changes() == Consent::Ask => "runs",
            Verdict::Cleared(_) => "is kept without a question",
            Verdict::Ask(_) => "asks",
            Verdict::Denied(_) => "deny blocked_path",
        };
        let expected = if expected.text().starts_with("deny") { expected.text() } else { "runs" };
        assert_eq!(verdict, expected, "{command}");
    }
}
