//! Tests deny rules on parsed commands, with spellings that a comparison of words would miss.

use toolfence_kit::{CaseFiles, Comparison, signs};
use toolfence_policy::deny_matcher::{RuleMatch, match_deny_rules};

#[test]
fn deny_rules_match_every_spelling_or_call_it_unknown() {
    let rules = ["touch", "rm", "git push", "docker compose down", "cargo publish"];
    let rules = rules.map(|rule| rule.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let mut comparison = Comparison::new();
    for (expected, command) in CaseFiles::of("policy/deny").pairs() {
        let command = signs::read_command(command.text());
        let got = match match_deny_rules(&command, &rules) {
            RuleMatch::Matched(_) => "denied",
            RuleMatch::Unknown => "unknown",
            RuleMatch::None => "none",
        };
        comparison.expect(&expected, &command, got);
    }
    comparison.finish();
}

#[test]
fn many_options_and_wrappers_take_bounded_work() {
    let rules = vec![vec!["rm".to_owned()]];
    for text in ["sudo --x ", "xargs ", "find . -exec ", "eval ", "bash -c ", "env A=1 "] {
        let text = format!("{}rm x", text.repeat(4_000));
        assert_ne!(match_deny_rules(&text, &rules), RuleMatch::None, "{text:.20}");
    }
}
