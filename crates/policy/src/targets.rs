//! Finds the files that a call names, by the kinds of its parameters.

use crate::decision::Target;
use crate::{Facts, PathFact};
use serde_json::Value;
use std::collections::HashSet;
use toolfence_patch::{self as patch, Base};
use toolfence_protocol::{Args, Param, ParamKind, ToolSpec};

/// Returns whether every file that the call would change is among its [`paths`]: an unreadable patch may name any.
pub(crate) fn names_all(spec: &ToolSpec, args: &Args) -> bool {
    let base = base_of(&spec.params, args);
    patch_texts(spec, args).all(|text| base.as_ref().is_some_and(|base| patch::names(text, base).read))
}

/// Returns the texts of the patches in a call.
fn patch_texts<'a>(spec: &'a ToolSpec, args: &'a Args) -> impl Iterator<Item = &'a str> {
    let patches = spec.params.iter().filter(|param| param.kind == ParamKind::Patch);
    patches.filter_map(|param| args.get(param.name.as_ref())?.as_str())
}

/// Returns the folder that the names in the patches of a call are relative to; `None` if no tool accepts it.
fn base_of(params: &[Param], args: &Args) -> Option<Base> {
    let param = params.iter().find(|param| param.patch_base);
    match param.and_then(|param| args.get(param.name.as_ref())?.as_str()) {
        Some(folder) => Base::new(folder).ok(),
        None => Some(Base::default()),
    }
}

/// Returns every path in a call, and whether it is a folder to start from and not a file to change.
pub(crate) fn paths(spec: &ToolSpec, args: &Args) -> Vec<(String, bool)> {
    let runs = spec.params.iter().any(|param| param.kind == ParamKind::Command);
    paths_of(&spec.params, args, runs)
}

fn paths_of(params: &[Param], args: &Args, runs: bool) -> Vec<(String, bool)> {
    let mut paths = Vec::new();
    for param in params {
        let Some(value) = args.get(param.name.as_ref()) else { continue };
        match (&param.kind, value) {
            // The empty folder of a patch is the root, which is not a path to judge.
            (ParamKind::Path, Value::String(path)) if param.patch_base && path.is_empty() => {}
            (ParamKind::Path, Value::String(path)) => paths.push((path.clone(), runs || param.patch_base)),
            (ParamKind::Patch, Value::String(text)) => {
                // The tool refuses an invalid folder. The names are judged anyway, as if relative to the root.
                let base = base_of(params, args).unwrap_or_default();
                paths.extend(patch::names(text, &base).names.into_iter().map(|path| (path, false)));
            }
            (ParamKind::Objects(fields), Value::Array(items)) => {
                let objects = items.iter().filter_map(Value::as_object);
                paths.extend(objects.flat_map(|item| paths_of(fields, item, runs)));
            }
            _ => {}
        }
    }
    paths
}

/// Returns the names of the files that a call would change, as its arguments have them. It looks at no file, and takes
/// the names of a patch without prefixes such as `a/`.
pub fn changed_names(spec: &ToolSpec, args: &Args) -> Vec<String> {
    let path = spec.only_argument(&ParamKind::Path, args).map(|(_, path)| path.to_owned());
    let text = spec.only_argument(&ParamKind::Patch, args).zip(base_of(&spec.params, args));
    let patch = text.and_then(|((_, text), base)| patch::parse_below(text, &base, |name| Some(name.to_owned())).ok());
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

/// Returns the real files at the paths of a call that changes something.
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

/// Returns the spellings in patches, with a prefix such as `a/` or without, that are not used because the file has the
/// other one.
fn unused_spellings(spec: &ToolSpec, args: &Args, facts: &dyn Facts) -> HashSet<String> {
    let (mut used, mut unused) = (HashSet::new(), HashSet::new());
    let base = base_of(&spec.params, args).unwrap_or_default();
    let read = |text| patch::parse_below(text, &base, |name| Some(name.to_owned())).ok();
    for patch in patch_texts(spec, args).filter_map(read) {
        let there = |path: &str| facts.is_there(path).ok_or(());
        // If the host does not know whether a file exists, both readings are possible.
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
    // One spelling may be used by another file of the call.
    unused.retain(|name| !used.contains(name));
    unused
}

/// Returns paths below the root that may be meant by those that lead out of it.
pub(crate) fn instead(spec: &ToolSpec, args: &Args, facts: &dyn Facts) -> Vec<String> {
    /// Maximum number of paths to look up. Each is searched in the whole tree.
    const MOST_ASKED: usize = 3;
    let outside = paths(spec, args).into_iter().filter(|(path, _)| facts.path("", path) == PathFact::Outside);
    outside.take(MOST_ASKED).flat_map(|(path, _)| facts.instead(&path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        let spec = spec.param(Param::new("folder", ParamKind::Path, "").patch_base());
        let args = json!({"patch": text, "folder": "./src//"});
        let args = args.as_object().expect("it is an object");
        assert_eq!(changed_names(&spec, args), ["src/x.rs", "src/new.rs", "src/old.rs"]);
    }

    #[test]
    fn the_folder_of_a_patch_is_judged_and_joined_to_its_names() {
        let folder = Param::new("folder", ParamKind::Path, "").patch_base();
        let fields = vec![Param::new("patch", ParamKind::Patch, ""), folder];
        let spec = ToolSpec::new("t", "").param(Param::new("all", ParamKind::Objects(fields.clone()), ""));
        let spec = fields.into_iter().fold(spec, ToolSpec::param);
        let text = "*** Begin Patch\n*** Delete File: x\n*** End Patch\n";
        let named = |folder: &str| {
            let one = json!({"patch": text, "folder": folder});
            let whole = one.as_object().expect("it is an object");
            let nested = json!({"all": [one]});
            let nested = nested.as_object().expect("it is an object");
            assert_eq!(paths(&spec, whole), paths(&spec, nested), "{folder}");
            (paths(&spec, whole), names_all(&spec, whole))
        };
        let path = |path: &str, is_folder: bool| (path.to_owned(), is_folder);
        assert_eq!(named(""), (vec![path("x", false)], true));
        assert_eq!(named("."), (vec![path("x", false), path(".", true)], true));
        assert_eq!(named("a//b/"), (vec![path("a/b/x", false), path("a//b/", true)], true));
        assert_eq!(named("/a"), (vec![path("/a/x", false), path("/a", true)], true));
        assert_eq!(named("a/.."), (vec![path("x", false), path("a/..", true)], false));
    }
}
