//! Checks the paths in a call against the rules about names.

use crate::decision::{Decision, Judgement, Question};
use crate::rules::{Blocked, Harmless, PathRules};
use crate::shell::escape;
use crate::{EntryKind, Facts, PathFact};
use toolfence_protocol::{Effect, ErrorCode, text};

/// The rule that denies tools access outside the root.
pub(crate) const OUTSIDE: &str = "outside_root";

/// The longest path displayed in a message.
const LONGEST_SHOWN: usize = 120;

/// Judges a path. `folder` means that it is a folder to start from and not a file to change.
pub(crate) fn judge(rules: &PathRules, path: &str, folder: bool, effect: Effect, facts: &dyn Facts) -> Decision {
    let name = escape(path, LONGEST_SHOWN);
    let fact = facts.path("", path);
    let names = match &fact {
        PathFact::Inside { names } => names.as_slice(),
        PathFact::Outside => return outside_decision(&name, facts.link(path)),
        PathFact::Unknown => &[],
    };
    // The name as written counts too: a path that does not resolve must not bypass the rules.
    let every = || names.iter().map(String::as_str).chain([path]);
    let seen = |harmless| match harmless {
        Harmless::Certificates => facts.entry_kind("", path) == EntryKind::Certificates,
        Harmless::NoFile => facts.entry_kind("", path) == EntryKind::Folder,
        Harmless::Package => true,
    };
    let blocked = every().filter_map(|name| rules.judge(name)).find(|blocked| !blocked.unless.is_some_and(seen));
    if let Some(Blocked { rule, .. }) = blocked {
        return Decision::new(
            Judgement::Deny,
            "blocked_path",
            text!(
                "{path} is blocked by the rule {rule}. Its content is not for tools; work without it.",
                path = name,
                rule
            ),
        );
    }
    // A folder to start from is not changed itself; the files in it are judged by their own names.
    let writes = effect == Effect::Write && !folder;
    if let Some(rule) = every().filter(|_| writes).find_map(|name| rules.protects(name)) {
        return Decision::new(
            Judgement::Deny,
            "protected_path",
            text!("{path} is below {rule}, which tools may read but never write.", path = name, rule),
        );
    }
    if writes && every().any(|name| facts.is_used_by_git(name)) {
        let decision = Decision::new(
            Judgement::Ask,
            "used_by_git",
            text!(
                "{path} is what git on this machine runs or reads outside of the sandbox, for the configuration of the \
                 repository leads there.",
                path = name
            ),
        );
        return Decision { question: Question::Person, ..decision };
    }
    // Only after the rules about names, which may deny a path that the host does not know.
    if fact == PathFact::Unknown {
        return Decision::new(
            Judgement::Ask,
            "unknown_path",
            text!("It is unknown which file {path} is.", path = name),
        );
    }
    Decision::new(Judgement::Allow, "inside_root", text!("{path} is inside the project.", path = name))
}

fn outside_decision(name: &str, link: Option<String>) -> Decision {
    let reason = match link {
        Some(link) => text!(
            "{path} leads out of the project by the link `{link}`; tools do not follow it. Work with files below the \
             root.",
            path = name,
            link = escape(&link, LONGEST_SHOWN)
        ),
        None => {
            text!("{path} is outside the project. Use a path relative to its root, such as src/main.rs.", path = name)
        }
    };
    Decision { code: Some(ErrorCode::PermissionDenied), ..Decision::new(Judgement::Deny, OUTSIDE, reason) }
}
