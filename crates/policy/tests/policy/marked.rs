//! Tests that the prompt marks the tools whose calls usually need approval.

use toolfence_policy::toolset::catalog;
use toolfence_policy::{AskMode, Facts, NoFacts, PathFact, ProgramFact};
use toolfence_protocol::prompt::instructions;
use toolfence_protocol::{Catalog, Language};

/// The tools that the policy asks about are marked, and the prompt explains the mark and asks for a reason.
#[test]
fn tools_that_usually_ask_are_marked() {
    let catalog = catalog();
    let all: Vec<&str> = catalog.specs().iter().map(|spec| spec.name.as_ref()).collect();
    let changing = ["write_file", "edit_file", "replace_text", "apply_patch", "bash", "run_python"];
    for (mode, wanted) in [
        (AskMode::Never, &[][..]),
        (AskMode::Risky, &changing),
        // This host has no information about a sandbox, so commands need approval.
        (AskMode::Sandboxed, &changing),
        (AskMode::Always, &all),
    ] {
        let marked = toolfence_kit::policy(mode).marked(&catalog, &NoFacts);
        for (language, mark, no, reason) in [
            (
                Language::English,
                "(asks first)",
                "A no has a reason",
                "Add `\"reason\"` next to them if the call changes or runs something",
            ),
            (Language::Portuguese, "(pergunta)", "Um não traz um motivo", "executa algo, acrescente `\"reason\"`"),
        ] {
            let text = instructions(&marked, language);
            let lines = text.lines().filter(|line| line.ends_with(mark));
            let asking: Vec<&str> = lines.filter_map(|line| line.strip_prefix("- `")?.split('(').next()).collect();
            assert_eq!(asking, wanted, "{mode:?}: {text}");
            assert_eq!(text.contains(no), !wanted.is_empty(), "{text}");
            assert!(text.contains(reason), "{text}");
        }
    }
    let reading: Catalog = catalog.specs().iter().filter(|spec| spec.name == "read_file").cloned().collect();
    assert!(instructions(&reading, Language::English).contains("An optional `\"reason\"`"));
}

/// A host whose commands run on private copies of the project.
struct OnCopies;

impl Facts for OnCopies {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        NoFacts.path(cwd, path)
    }

    fn program(&self, program: &str) -> ProgramFact {
        NoFacts.program(program)
    }

    fn sandbox_holds(&self) -> bool {
        true
    }

    fn has_private_copy(&self) -> bool {
        true
    }
}

#[test]
fn the_model_learns_of_private_copies_only_where_commands_run_on_them() {
    let policy = toolfence_kit::policy(AskMode::Risky);
    let sentences = [
        (Language::English, "Commands run on a private copy of the project."),
        (Language::Portuguese, "Os comandos rodam em uma cópia do projeto"),
    ];
    for (language, sentence) in sentences {
        assert!(instructions(&policy.marked(&catalog(), &OnCopies), language).contains(sentence));
        assert!(!instructions(&policy.marked(&catalog(), &NoFacts), language).contains(sentence));
        let reading: Catalog = catalog().specs().iter().filter(|spec| spec.name == "read_file").cloned().collect();
        assert!(!instructions(&policy.marked(&reading, &OnCopies), language).contains(sentence));
    }
}
