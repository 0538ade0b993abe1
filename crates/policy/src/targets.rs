//! The files that a call names, by the kinds of its parameters.

use crate::decision::Target;
use crate::{Facts, PathFact};
use serde_json::Value;
use std::collections::HashSet;
use toolfence_patch as patch;
use toolfence_protocol::{Args, Param, ParamKind, ToolSpec};

/// Whether every file that the call would change is among its [`paths`]: a patch that cannot be read may name any.
pub(crate) fn names_all(spec: &ToolSpec, args: &Args) -> bool {
    let patches = spec.params.iter().filter(|param| param.kind == ParamKind::Patch);
    let mut texts = patches.filter_map(|param| args.get(param.name.as_ref())?.as_str());
    texts.all(|text| patch::names(text).read)
}

/// Every path a call names, with whether it is a folder to start from and not a file to change.
pub(crate) fn paths(spec: &ToolSpec, args: &Args) -> Vec<(String, bool)> {
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

/// The names of the files that a call says it changes, without having looked at any: in a patch those without a prefix such as
/// `a/`.
pub fn changed_names(spec: &ToolSpec, args: &Args) -> Vec<String> {
    let path = spec.sole(&ParamKind::Path, args).map(|(_, path)| path.to_owned());
    let text = spec.sole(&ParamKind::Patch, args);
    let patch = text.and_then(|(_, text)| patch::parse_below(text, |name| Some(name.to_owned())).ok());
    let mut names: Vec<String> = path.into_iter().collect();
    for file in patch.into_iter().flat_map(|patch| patch.files) {
        match file.kind {
            patch::Kind::Delete => names.push(file.old.path),
            patch::Kind::Rename => names.extend([file.old.path, file.new.path]),
            _ => names.push(file.new.path),
        }
    }
    names
}

/// What the paths of a call that changes something really name.
pub(crate) fn targets(spec: &ToolSpec, args: &Args, facts: &dyn Facts) -> Vec<Target> {
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
    let (mut used, mut unused) = (HashSet::new(), HashSet::new());
    for patch in texts.filter_map(|text| patch::parse_below(text, |name| Some(name.to_owned())).ok()) {
        let there = |path: &str| facts.is_there(path).ok_or(());
        // What the host does not know may be read in both ways.
        let readings = patch::readings(&patch, there).ok().filter(|all| !matches!(all, patch::Readings::Both(_)));
        for name in patch.files.into_iter().flat_map(|file| [file.old, file.new]) {
            let taken = readings.map(|readings| readings.name(&name).to_owned());
            for path in [Some(name.path), name.other].into_iter().flatten() {
                let is_taken = taken.as_ref().is_none_or(|taken| *taken == path);
                if is_taken {
                    used.insert(path)
                } else {
                    unused.insert(path)
                };
            }
        }
    }
    unused.retain(|name| !used.contains(name));
    unused
}

/// Paths below the root that may be what is meant by those that lead out of it.
pub(crate) fn instead(spec: &ToolSpec, args: &Args, facts: &dyn Facts) -> Vec<String> {
    /// Each of them is looked for in all of the tree.
    const MOST_ASKED: usize = 3;
    let outside = paths(spec, args).into_iter().filter(|(path, _)| facts.path("", path) == PathFact::Outside);
    outside.take(MOST_ASKED).flat_map(|(path, _)| facts.instead(&path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_which_files_it_changes() {
        let patch = Param::new("patch", ParamKind::Patch, "");
        let spec = ToolSpec::new("t", "").param(Param::new("path", ParamKind::Path, "")).param(patch);
        let names = |key: &str, text: &str| changed_names(&spec, &Args::from_iter([(key.to_owned(), text.into())]));
        assert_eq!(names("path", "a/b.rs"), ["a/b.rs"]);
        let text = "--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/new.rs\n@@ -0,0 +1 @@\n+a\n\
                    --- a/old.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
        assert_eq!(names("patch", text), ["x.rs", "new.rs", "old.rs"]);
        assert!(names("patch", "no patch").is_empty());
    }
}
