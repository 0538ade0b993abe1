//! Tests changes that no answer keeps, and changes that every mode asks about.

use super::{Copied, Say};
use serde_json::json;
use toolfence_policy::{AskMode, Policy, Settings};
use toolfence_protocol::ErrorCode;

/// Writes the script to a file and runs it, so that the policy does not judge its words.
fn script(copied: &mut Copied, script: &str, answers: &[Say]) -> super::Turn<'static> {
    copied.place.file("attempt.sh", script);
    copied.bash(". ./attempt.sh", answers)
}

#[test]
fn a_change_to_a_file_that_instructs_agents_asks_in_every_mode() {
    for mode in [AskMode::Risky, AskMode::Sandboxed, AskMode::Never] {
        for path in ["AGENTS.md", "CLAUDE.md", "sub/AGENTS.md", "claude.md", ".github/copilot-instructions.md"] {
            let Some(mut copied) = Copied::new(mode) else { return };
            copied.place.file(".github/f", "");
            copied.place.file("sub/f", "");
            let text = format!("echo obey > {path}");
            let turn = script(&mut copied, &text, &[Say::No("mine")]);
            let details = turn.question().changes.as_deref().expect("it has run");
            assert!(details.contains(path), "{mode:?} {path}: {details}");
            assert_eq!(turn.output(), format!("[Not kept: {path}: mine]\n"));
            // `always` does not cover a later change by the same command either.
            script(&mut copied, &text, &[Say::Always]);
            copied.place.file("attempt.sh", format!("{text}; echo more >> {path}"));
            copied.bash(". ./attempt.sh", &[Say::No("mine")]);
            assert_eq!(copied.place.content(path), "obey\n");
        }
    }
}

#[test]
fn a_command_that_the_settings_allow_still_asks_to_instruct_agents() {
    let settings = Settings::from_toml("[commands]\nallow = [\"tee\"]").expect("it is TOML");
    let Some(mut copied) = Copied::with(Policy::new(settings).expect("there are no globs")) else { return };
    copied.bash("tee a.txt", &[]);
    assert!(copied.place.at("a.txt").exists());
    copied.bash("tee AGENTS.md", &[Say::No("mine")]);
    assert!(!copied.place.at("AGENTS.md").exists());
}

#[test]
fn blocked_and_protected_files_are_never_kept_and_are_named() {
    for mode in [AskMode::Risky, AskMode::Never] {
        for (text, named) in [
            ("echo K=1 > .env", ".env"),
            ("mkdir d; echo K=1 > d/.env.local", "d/.env.local"),
            ("echo x > .toolfence.toml", ".toolfence.toml"),
            ("echo x > toolfence.toml", "toolfence.toml"),
            ("mkdir .toolfence; echo x > .toolfence/commands", ".toolfence"),
            ("mkfifo p", "p"),
        ] {
            let Some(mut copied) = Copied::new(mode) else { return };
            copied.place.file("attempt.sh", format!("{text}; echo x > kept.txt"));
            let answers = if mode == AskMode::Risky { &[Say::Yes][..] } else { &[] };
            let turn = copied.bash(". ./attempt.sh", answers);
            assert!(turn.output().contains(&format!("[Not kept: {named}: ")), "{text}: {}", turn.output());
            assert!(turn.paths("left_out").contains(&named), "{text}: {:?}", turn.results[0].data);
            assert!(copied.place.at("kept.txt").exists(), "{text}: {}", turn.output());
            assert!(copied.place.at(named).symlink_metadata().is_err(), "{text}");
        }
    }
}

#[test]
fn nothing_in_a_repository_is_kept() {
    let Some(mut copied) = Copied::new(AskMode::Never) else { return };
    copied.place.file("a.txt", "one\n");
    copied.git(&["init", "-q"]);
    copied.git(&["add", "."]);
    let before = super::picture(&copied.place.at(".git"));
    let text = "echo x > .git/hooks/x; printf '#!/bin/sh' > .git/hooks/post-commit; git config core.fsmonitor ./x; \
                rm -rf .git; mv .git moved; git diff --output=.git/hooks/y; git init -q --template=.; echo x > kept.txt";
    let turn = script(&mut copied, text, &[]);
    assert_eq!(super::picture(&copied.place.at(".git")), before, "{}", turn.output());
    assert!(copied.place.at("kept.txt").exists(), "{}", turn.output());
}

#[test]
fn a_blocked_file_of_the_project_stays_when_its_folder_is_removed_or_moved() {
    for text in [
        "rm -rf conf",
        "mv conf moved",
        "rm -rf conf; echo file > conf",
        "rm -rf conf; mkdir conf; echo K=2 > conf/.env",
    ] {
        let Some(mut copied) = Copied::new(AskMode::Never) else { return };
        copied.place.file("conf/.env", "K=1\n");
        copied.place.file("conf/f", "f\n");
        let turn = script(&mut copied, text, &[]);
        assert_eq!(copied.place.content("conf/.env"), "K=1\n", "{text}: {}", turn.output());
    }
}

/// A file with instructions for agents may be ignored by git or be a link to another file, and its folder may be
/// removed or replaced.
#[test]
fn every_kind_of_change_to_instructions_asks() {
    for text in [
        "echo obey > CLAUDE.md",
        "echo obey > docs/rules.md",
        "rm -r docs",
        "rm -r .github",
        "mkdir x; echo obey > x/copilot-instructions.md; rm -r .github; ln -s x .github",
        "rm AGENTS.md",
        "mv docs moved",
        "ln -s README.md sub/AGENTS.md",
    ] {
        let Some(mut copied) = Copied::new(AskMode::Never) else { return };
        for path in ["README.md", "docs/rules.md", ".github/copilot-instructions.md", "sub/f"] {
            copied.place.file(path, "one\n");
        }
        copied.place.link("docs/rules.md", "AGENTS.md");
        copied.place.file(".gitignore", "CLAUDE.md\n");
        copied.git(&["init", "-q"]);
        copied.place.file("attempt.sh", text);
        let before = copied.picture();
        let turn = copied.bash(". ./attempt.sh", &[Say::No("mine")]);
        assert!(turn.output().starts_with("[Not kept: "), "{text}: {}", turn.output());
        assert_eq!(copied.picture(), before, "{text}");
    }
}

/// If a copy cannot be read, none of its changes is kept, so later calls of the reply must not build on it.
#[test]
fn later_calls_are_cancelled_if_the_changes_cannot_be_read() {
    let Some(mut copied) = Copied::new(AskMode::Never) else { return };
    let deep = "echo x > a.txt; for i in {1..300}; do mkdir d && cd d || exit 1; done";
    let calls = [("bash", json!({"command": deep})), ("bash", json!({"command": "touch second"}))];
    let turn = copied.turn(&calls, &[]);
    assert!(
        turn.output().starts_with("[Not kept: .: the changes of the command cannot be read: "),
        "{}",
        turn.output()
    );
    assert_eq!(
        turn.results[1].error.as_ref().map(|error| error.code),
        Some(ErrorCode::Cancelled),
        "{:?}",
        turn.results
    );
    assert!(!copied.place.at("a.txt").exists() && !copied.place.at("second").exists());
}
