//! A path that a call names, against the rules about names.

use crate::decision::{Decision, Judgement, Question};
use crate::rules::{Blocked, Harmless, PathRules};
use crate::shell::shown;
use crate::{Facts, PathFact, Seen, messages};
use toolfence_protocol::{Effect, ErrorCode};

/// The rule that denies tools what is outside the root.
pub(crate) const OUTSIDE: &str = "outside_root";

/// The longest path that is shown in a message.
const LONGEST_SHOWN: usize = 120;

/// What the rules say of a path; `folder` says that it is one to start from and not a file to change.
pub(crate) fn judge(rules: &PathRules, path: &str, folder: bool, effect: Effect, facts: &dyn Facts) -> Decision {
    let name = shown(path, LONGEST_SHOWN);
    let fact = facts.path("", path);
    let names = match &fact {
        PathFact::Inside { names } => names.as_slice(),
        PathFact::Outside => return outside(&name, facts.link(path)),
        PathFact::Unknown => &[],
    };
    // The name as written counts too: what does not resolve must not slip through.
    let every = || names.iter().map(String::as_str).chain([path]);
    let seen = |harmless| match harmless {
        Harmless::Certificates => facts.seen("", path) == Seen::Certificates,
        Harmless::NoFile => facts.seen("", path) == Seen::Folder,
        Harmless::Package => true,
    };
    let blocked = every().filter_map(|name| rules.judge(name)).find(|blocked| !blocked.unless.is_some_and(seen));
    if let Some(Blocked { rule, .. }) = blocked {
        return Decision::new(Judgement::Deny, "blocked_path", messages::blocked_path(name, rule));
    }
    let writes = effect == Effect::Write && !folder;
    if let Some(rule) = every().filter(|_| writes).find_map(|name| rules.protects(name)) {
        return Decision::new(Judgement::Deny, "protected_path", messages::protected_path(name, rule));
    }
    if writes && every().any(|name| facts.is_used_by_git(name)) {
        let decision = Decision::new(Judgement::Ask, "used_by_git", messages::used_by_git(name));
        return Decision { question: Question::Person, ..decision };
    }
    if fact == PathFact::Unknown {
        return Decision::new(Judgement::Ask, "unknown_path", messages::unknown_path(name));
    }
    Decision::new(Judgement::Allow, "inside_root", messages::inside_root(name))
}

fn outside(name: &str, link: Option<String>) -> Decision {
    let reason = match link {
        Some(link) => messages::led_out_by_link(name, shown(&link, LONGEST_SHOWN)),
        None => messages::outside_root(name),
    };
    Decision { code: Some(ErrorCode::PermissionDenied), ..Decision::new(Judgement::Deny, OUTSIDE, reason) }
}
