//! Tests secrets under every name: the tools, the policy and the masks agree about each file. Committed files and files
//! outside the project are hidden or need an approval.

use super::{Place, bash, has_sandbox};
use serde_json::json;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use toolfence_policy::{Judgement, Policy, Verdict};
use toolfence_protocol::{Args, ToolCall};
use toolfence_sandbox::project::MaskKind;
use toolfence_tools::CommandRunner;
use toolfence_workspace::Access;
use toolfence_workspace::{ListFiles, ReadFile, SearchFiles, Stop};

const NAMES: &str = include_str!("../../cases/names.tsv");
const PRIVATE: &str = "-----BEGIN CERTIFICATE-----\nx\n-----BEGIN PRIVATE KEY-----\nneedle\n";
const PUBLIC: &str = "-----BEGIN CERTIFICATE-----\nneedle\n-----END CERTIFICATE-----\n";

/// Returns whether a file may be read, by tool.
fn answers(runner: &Arc<CommandRunner>, path: &str) -> Vec<(&'static str, bool)> {
    let stop = Stop::default();
    let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let mut search = SearchFiles::new("needle");
    search.path = path.to_owned();
    let mut listing = ListFiles::new(folder);
    (listing.include_hidden, listing.respect_gitignore) = (true, false);
    let listed = runner.workspace().files().list(&listing, &stop);
    let policy = Policy::default();
    let args: Args = json!({"path": path}).as_object().cloned().unwrap_or_default().into_iter().collect();
    let catalog = toolfence_tools::standard(Arc::clone(runner)).catalog();
    let review = policy.review(ToolCall::new("1", "read_file", args), &catalog, runner.as_ref());
    let command = policy.judge_command(&format!("cat '{path}'"), "", runner.as_ref());
    let masks = runner.workspace().masks().find(Access::Read, &stop).expect("the project is small");
    let hidden = masks
        .list()
        .iter()
        .any(|mask| mask.how == MaskKind::Hide && std::path::Path::new(path).starts_with(&mask.path));
    vec![
        ("read", runner.workspace().files().read(&ReadFile::new(path), &stop).is_ok()),
        ("search", runner.workspace().files().search(&search, &stop).is_ok_and(|found| !found.lines.is_empty())),
        ("list", listed.is_ok_and(|listed| listed.entries.iter().any(|entry| entry.path == path && !entry.blocked))),
        ("review", matches!(review, Verdict::Cleared(_))),
        ("command", command.judgement != Judgement::Deny),
        ("mask", !hidden),
    ]
}

#[test]
fn tools_policy_and_masks_agree_about_every_name() {
    let place = Place::new();
    let mut files: Vec<(String, bool, &str)> = Vec::new();
    let names = NAMES.lines().filter(|line| !line.starts_with('#') && !line.contains(".."));
    for (at, line) in names.enumerate() {
        let (answer, name) = line.split_once('\t').expect("an answer and a name");
        files.push((format!("d{at}/{name}"), answer == "readable", "needle\n"));
    }
    for (name, readable, content) in [
        ("c1/server.pem", true, PUBLIC),
        ("c2/server.pem", false, PRIVATE),
        ("c3/server.PEM", true, PUBLIC),
        ("c4/empty.pem", false, "needle"),
        ("c5/server.key", false, PUBLIC),
        ("c6/.env.pem", false, PUBLIC),
        ("c7/token/lib.rs", true, "needle"),
        ("c8/secrets/mod.py", true, "needle"),
        ("c9/credentials/mod.rs", true, "needle"),
    ] {
        files.push((name.to_owned(), readable, content));
    }
    files.iter().for_each(|(name, _, content)| place.file(name, content));
    let runner = Arc::new(place.runner());
    let mut wrong = Vec::new();
    for (name, readable, _) in &files {
        let answers = answers(&runner, name);
        if answers.iter().any(|(_, answer)| answer != readable) {
            wrong.push(format!("{name} (readable: {readable}): {answers:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    // A command in the sandbox sees exactly the same files.
    let Some(said) = place.output_of("grep -rls needle . | grep -v attempt.sh") else { return };
    let said: BTreeSet<&str> = said.lines().map(|line| line.trim_start_matches("./")).collect();
    let want: BTreeSet<&str> =
        files.iter().filter(|(_, readable, _)| *readable).map(|(name, ..)| name.as_str()).collect();
    let differ: Vec<_> = said.symmetric_difference(&want).collect();
    assert!(differ.is_empty(), "{differ:?}");
}

/// The content of a file is examined again after it changed, even if its folder did not change.
#[test]
fn a_certificate_that_becomes_a_key_is_hidden() {
    let place = Place::new();
    place.file("a/server.pem", PUBLIC);
    let runner = Arc::new(place.runner());
    if !has_sandbox(&runner) {
        return;
    }
    // The file must be old enough that its times are reliable.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let read = || bash(&runner, json!({"command": "cat a/*"})).output;
    assert!(read().contains("needle"));
    assert!(read().contains("needle"));
    std::fs::write(place.at("a/server.pem"), PRIVATE).expect("it can be written");
    assert!(!read().contains("needle"));
    assert!(runner.workspace().files().read(&ReadFile::new("a/server.pem"), &Stop::default()).is_err());
}

/// Moving a file does not evade a rule that depends on the name of its folder.
#[test]
fn hidden_files_stay_hidden_after_a_move() {
    let place = Place::new();
    place.file("config/server.key", "needle");
    place.file("config/token.txt", "needle");
    place.file("credentials/prod.json", "needle");
    place.file(".docker/config.json", "needle");
    let runner = Arc::new(place.runner());
    if !has_sandbox(&runner) {
        return;
    }
    place.file(
        "move.sh",
        "mkdir -p node_modules x; mv config node_modules/pkg; mv credentials x/c; mv .docker x/d; mv node_modules/pkg/server.key x/y; ls",
    );
    bash(&runner, json!({"command": "bash move.sh 2>&1"}));
    place.file("read.sh", "grep -r needle . ; cat */*/* x/*");
    let said = bash(&runner, json!({"command": "bash read.sh 2>&1"})).output;
    let leaked = said.lines().filter(|line| line.contains("needle") && !line.contains(".sh")).collect::<Vec<_>>();
    assert!(leaked.is_empty(), "{leaked:?}");
    assert!(place.at("node_modules/pkg/server.key").exists() && place.at("credentials/prod.json").exists());
    for moved in ["node_modules/pkg/server.key", "node_modules/pkg/token.txt"] {
        assert!(runner.workspace().files().read(&ReadFile::new(moved), &Stop::default()).is_err(), "{moved}");
    }
}

/// Commands cannot remove the folder of a rule, at any depth. A build may still remove hidden files in folders that git
/// ignores.
#[test]
fn folders_of_a_rule_cannot_be_removed_except_in_build_folders() {
    let place = Place::new();
    let deep: Vec<String> =
        [0, 29, 30, 31, 32, 33, 64].map(|depth| format!("deep{depth}/{}", "d/".repeat(depth))).into();
    for above in &deep {
        place.file(&format!("{above}.config/gh/hosts.yml"), "needle");
    }
    place.file(".gitignore", "dist/\ncredentials/\n");
    place.file("credentials/prod.json", "needle");
    place.file("dist/credentials/prod.json", "needle");
    let masks = place.runner().workspace().masks().find(Access::Read, &Stop::default()).expect("the project is small");
    let how = |path: &str| {
        let mut found = masks.list().iter().filter(|mask| mask.path == std::path::Path::new(path));
        let mask = found.next()?;
        let is = std::fs::metadata(place.at(path)).expect("it is there");
        assert_eq!((mask.identity.0, mask.identity.1, found.count()), (is.dev(), is.ino(), 0), "{path}");
        Some(mask.how)
    };
    for above in &deep {
        assert_eq!(how(&format!("{above}.config")), Some(MaskKind::Keep), "{above}");
        assert_eq!(how(&format!("{above}.config/gh")), Some(MaskKind::Keep), "{above}");
        assert_eq!(how(&format!("{above}.config/gh/hosts.yml")), Some(MaskKind::Hide), "{above}");
    }
    // Git ignores exactly this folder, which is the folder of the rule itself, so it does not count as part of a build.
    assert_eq!(how("credentials"), Some(MaskKind::Keep));
    assert_eq!(how("credentials/prod.json"), Some(MaskKind::Hide));
    assert_eq!(how("dist/credentials"), None);
    assert_eq!(how("dist/credentials/prod.json"), Some(MaskKind::HideRemovable));
    let depths: Vec<usize> = masks.list().iter().map(|mask| mask.path.components().count()).collect();
    assert!(depths.is_sorted(), "a folder precedes its contents: {depths:?}");
}
