//! A resolved call against the rules: its paths, its command, its effect.

use super::shell::shown;
use super::{Blocked, Decision, Facts, Harmless, Judgement, PathFact, Policy, Seen, Target};
use serde_json::Value;
use std::collections::HashSet;
use toolfence_patch as patch;
use toolfence_protocol::{Args, Effect, ErrorCode, Param, ParamKind, ToolCall, ToolSpec};

/// The longest path that is shown in a message.
const LONGEST_SHOWN: usize = 120;

/// The rule that asks before a tool changes files.
pub(super) const CHANGES: &str = "write";

/// The rule that denies tools what is outside the root.
pub(super) const OUTSIDE: &str = "outside_root";

/// The strictest of what the rules say of a call.
pub(super) fn call(policy: &Policy, call: &ToolCall, spec: &ToolSpec, facts: &dyn Facts) -> Decision {
    let effect = spec.effect_of(&call.args);
    let mut decision = by_effect(policy, call, spec, effect, facts);
    for (path, folder) in paths(spec, &call.args) {
        decision = decision.stricter(path_decision(policy, &path, folder, effect, facts));
    }
    if effect != Effect::Read {
        decision.targets = targets(spec, &call.args, facts);
    }
    for (name, what) in [("network", "use the network"), ("outside_sandbox", "run outside the sandbox")] {
        if is_set(spec, &call.args, name) {
            let decision_of_flag = Decision::new(Judgement::Ask, name, format!("It wants to {what}."));
            decision = decision.stricter(decision_of_flag);
            decision.sandbox_suffice = false;
        }
    }
    decision
}

fn is_set(spec: &ToolSpec, args: &Args, name: &str) -> bool {
    let takes = spec.params.iter().any(|param| param.name == name && param.kind == ParamKind::Flag);
    takes && args.get(name).and_then(Value::as_bool) == Some(true)
}

fn by_effect(policy: &Policy, call: &ToolCall, spec: &ToolSpec, effect: Effect, facts: &dyn Facts) -> Decision {
    let command = spec.params.iter().find(|param| param.kind == ParamKind::Command);
    let text = command.and_then(|param| call.args.get(param.name.as_ref())).and_then(Value::as_str);
    if let Some(text) = text {
        let held = facts.sandbox().hold && !is_set(spec, &call.args, "outside_sandbox");
        return policy.command(text, text_of(&call.args, "cwd").unwrap_or(""), facts, held);
    }
    let name = shown(&spec.name, 64);
    match effect {
        Effect::Read => Decision::new(Judgement::Allow, "read", format!("{name} only reads.")),
        Effect::Write => Decision::new(Judgement::Ask, CHANGES, format!("{name} changes files.")),
        Effect::Execute => Decision {
            sandbox_suffice: true,
            ..Decision::new(Judgement::Ask, "execute", format!("{name} runs a program or changes what runs."))
        },
    }
}

fn text_of<'a>(args: &'a Args, name: &str) -> Option<&'a str> {
    args.get(name)?.as_str()
}

/// Whether every file that the call would change is among its [`paths`]: a patch that cannot be read may name any.
pub(super) fn names_all(spec: &ToolSpec, args: &Args) -> bool {
    let patches = spec.params.iter().filter(|param| param.kind == ParamKind::Patch);
    let mut texts = patches.filter_map(|param| args.get(param.name.as_ref())?.as_str());
    texts.all(|text| patch::names(text).read)
}

/// Every path a call names, with whether it is a folder to start from and not a file to change.
pub(super) fn paths(spec: &ToolSpec, args: &Args) -> Vec<(String, bool)> {
    let runs = spec.params.iter().any(|param| param.kind == ParamKind::Command);
    spec.params.iter().flat_map(|param| paths_of(param, args, runs)).collect()
}

fn paths_of(param: &Param, args: &Args, runs: bool) -> Vec<(String, bool)> {
    let Some(value) = args.get(param.name.as_ref()) else { return Vec::new() };
    match (&param.kind, value) {
        (ParamKind::Path, Value::String(path)) => vec![(path.clone(), runs)],
        (ParamKind::Patch, Value::String(patch)) => {
            patch::names(patch).names.into_iter().map(|path| (path, false)).collect()
        }
        (ParamKind::Objects(fields), Value::Array(items)) => {
            let objects = items.iter().filter_map(Value::as_object);
            objects.flat_map(|item| fields.iter().flat_map(move |field| paths_of(field, item, runs))).collect()
        }
        _ => Vec::new(),
    }
}

/// What the paths of a call that changes something really name.
fn targets(spec: &ToolSpec, args: &Args, facts: &dyn Facts) -> Vec<Target> {
    let mut seen = HashSet::new();
    let unused = unused_spellings(spec, args, facts);
    let files = paths(spec, args).into_iter();
    let files = files.filter(|(path, folder)| !folder && !unused.contains(path) && seen.insert(path.clone()));
    let target = |(path, _): (String, bool)| {
        let PathFact::Inside { names } = facts.path("", &path) else { return None };
        let name = names.into_iter().next()?;
        let link = facts.link(&path);
        Some(Target { written: (path != name).then_some(path), name, link })
    };
    files.filter_map(target).collect()
}

/// The spellings in patches, with a prefix such as `a/` or without, that are not taken because the file is under the other.
fn unused_spellings(spec: &ToolSpec, args: &Args, facts: &dyn Facts) -> HashSet<String> {
    let patches = spec.params.iter().filter(|param| param.kind == ParamKind::Patch);
    let texts = patches.filter_map(|param| args.get(param.name.as_ref())?.as_str());
    let files: Vec<_> = texts
        .filter_map(|text| patch::parse_below(text, |name| Some(name.to_owned())).ok())
        .flat_map(|patch| patch.files)
        .collect();
    let (mut used, mut unused) = (HashSet::new(), HashSet::new());
    for file in files {
        // What an earlier part of the patch makes or removes, the host does not know yet.
        let known = |path: &str| if used.contains(path) { None } else { facts.is_there(path) };
        let taken = |name: &patch::Name| match (known(&name.path), name.prefixed.as_deref().and_then(known)) {
            _ if file.kind == patch::Kind::Create => (true, false),
            (Some(true), _) | (_, Some(false)) => (true, false),
            (Some(false), Some(true)) => (false, true),
            _ => (true, true),
        };
        let old = taken(&file.old);
        // The new name of a file that moves does not exist; it is read as the old one is.
        let new = if file.kind == patch::Kind::Modify { taken(&file.new) } else { old };
        for (name, (bare, prefixed)) in [(file.old, old), (file.new, new)] {
            let bare = bare || name.prefixed.is_none();
            let prefixed = name.prefixed.map(|name| (name, prefixed));
            for (name, taken) in [(name.path, bare)].into_iter().chain(prefixed) {
                if taken {
                    used.insert(name)
                } else {
                    unused.insert(name)
                };
            }
        }
    }
    unused.retain(|name| !used.contains(name));
    unused
}

fn path_decision(policy: &Policy, path: &str, folder: bool, effect: Effect, facts: &dyn Facts) -> Decision {
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
    let blocked = every().filter_map(|name| policy.paths.judge(name)).find(|blocked| !blocked.unless.is_some_and(seen));
    if let Some(Blocked { rule, .. }) = blocked {
        let reason = format!("{name} is blocked by the rule {rule}. Its content is not for tools; work without it.");
        return Decision::new(Judgement::Deny, "blocked_path", reason);
    }
    let writes = effect == Effect::Write && !folder;
    if let Some(rule) = every().filter(|_| writes).find_map(|name| policy.paths.protects(name)) {
        let reason = format!("{name} is below {rule}, which tools may read but never write.");
        return Decision::new(Judgement::Deny, "protected_path", reason);
    }
    if writes && every().any(|name| facts.is_used_by_git(name)) {
        let reason = format!(
            "{name} is what git on this machine runs or reads outside of the sandbox, for the configuration of the repository \
             leads there."
        );
        return Decision { needs_person: true, ..Decision::new(Judgement::Ask, "used_by_git", reason) };
    }
    if fact == PathFact::Unknown {
        return Decision::new(Judgement::Ask, "unknown_path", format!("Nobody can tell what {name} is."));
    }
    Decision::new(Judgement::Allow, "inside_root", format!("{name} is inside the project."))
}

/// Paths below the root that may be what is meant by those that lead out of it.
pub(super) fn instead(spec: &ToolSpec, args: &Args, facts: &dyn Facts) -> Vec<String> {
    /// Each of them is looked for in all of the tree.
    const MOST_ASKED: usize = 3;
    let outside = paths(spec, args).into_iter().filter(|(path, _)| facts.path("", path) == PathFact::Outside);
    outside.take(MOST_ASKED).flat_map(|(path, _)| facts.instead(&path)).collect()
}

fn outside(name: &str, link: Option<String>) -> Decision {
    let reason = match link {
        Some(link) => format!(
            "{name} leads out of the project by the link `{}`; tools do not follow it. Work with files below the root.",
            shown(&link, LONGEST_SHOWN)
        ),
        None => format!("{name} is outside the project. Use a path relative to its root, such as src/main.rs."),
    };
    Decision { code: Some(ErrorCode::PermissionDenied), ..Decision::new(Judgement::Deny, OUTSIDE, reason) }
}
