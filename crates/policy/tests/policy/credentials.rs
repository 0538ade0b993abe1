//! Checks blocked and allowed names that occur in real repositories.

use toolfence_kit::CaseFiles;
use toolfence_policy::rules::PathRules;

/// Reads the names with their verdicts. `UPDATE=1` does not change them, because the user decides which names are
/// blocked.
fn names() -> Vec<(bool, String)> {
    let pairs = CaseFiles::of("names.tsv").pairs().into_iter();
    let names = pairs.map(|(answer, name)| {
        assert!(matches!(answer.text(), "blocked" | "readable"), "{answer}");
        (answer.text() == "blocked", name.text().to_owned())
    });
    names.collect()
}

#[test]
fn names_are_blocked_or_allowed_as_listed() {
    let rules = PathRules::default();
    let mut wrong = Vec::new();
    for (blocked, name) in names() {
        for spelling in [name.clone(), format!("deep/er/{name}"), format!("./{name}")] {
            let rule = rules.blocks(&spelling);
            // Spellings with other characters are left out, because only the host, which knows the file system, can
            // compare them.
            if rule.is_some() != blocked && name.is_ascii() {
                wrong.push(format!("{spelling}: {rule:?}"));
            }
        }
    }
    let (count, readable) = (names().len(), names().iter().filter(|(blocked, _)| !blocked).count());
    assert!(count >= 200 && readable >= 100, "{count} names, {readable} of them readable");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A glob that the user allows lifts every built-in rule, and a glob that the user denies overrides every built-in
/// exception.
#[test]
fn user_globs_override_built_in_rules() {
    for (blocked, name) in names() {
        let glob = vec![glob::Pattern::escape(&name)];
        let (lifted, denied) = (PathRules::new(&glob, &[]), PathRules::new(&[], &glob));
        if blocked && name.is_ascii() && !name.contains("..") {
            assert_eq!(lifted.unwrap().blocks(&name), None, "{name}");
        }
        if !name.contains("..") {
            assert!(denied.unwrap().blocks(&name).is_some(), "{name}");
        }
    }
}

/// A change of case does not evade a rule, except in names whose words are separated only by capitals.
#[test]
fn changing_case_does_not_evade_a_rule() {
    let rules = PathRules::default();
    for (_, name) in names().iter().filter(|(blocked, name)| *blocked && name.is_ascii()) {
        let parted = name.chars().any(|c| c.is_ascii_uppercase());
        assert!(parted || rules.blocks(&name.to_uppercase()).is_some(), "{name}");
    }
}
