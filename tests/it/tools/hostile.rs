//! A project that wants its own programs run or its secrets read by commands that only read: what is allowed is run for
//! real, and nothing of that may happen.

use super::Place;
use serde_json::json;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use toolfence::policy::{Facts, Policy, ProgramFact, Verdict};
use toolfence::toolbox::NoProgress;
use toolfence::workspace::Workspace;
use toolfence::{ToolCall, tools};

/// What `bash` answers where it runs without a question.
fn unasked(workspace: Workspace, command: &str) -> Option<String> {
    let workspace = Arc::new(workspace);
    let toolbox = tools::standard(Arc::clone(&workspace));
    let args = json!({"command": command}).as_object().cloned().unwrap_or_default();
    match Policy::default().review(ToolCall::new("1", "bash", args), &toolbox.catalog(), &*workspace) {
        Verdict::Denied(_) | Verdict::Ask(_) => None,
        Verdict::Cleared(cleared) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let result = runtime.block_on(toolbox.run(cleared, &NoProgress)).expect("no tool fails for the host");
            Some(result.output)
        }
    }
}

fn program(place: &Place, path: &str, text: &str) {
    place.file(path, text);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.at(path), mode).expect("the mode can be set");
}

/// This process's PATH behind other folders.
fn path_behind(folders: &[&Path]) -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folders = folders.iter().map(|folder| folder.to_path_buf());
    std::env::join_paths(folders.chain(std::env::split_paths(&own))).expect("no folder has a colon")
}

#[test]
fn a_project_in_the_path_runs_under_no_name_of_the_system() {
    let place = Place::new();
    program(&place, "bin/ls", "#!/bin/sh\necho EVIL\n");
    program(&place, "bin/own", "#!/bin/sh\necho EVIL\n");
    std::os::unix::fs::symlink(place.at("bin"), place.beside.join("link")).expect("a link can be made");
    let open = || {
        let path = path_behind(&[&place.at("bin"), &place.beside.join("link"), Path::new("bin")]);
        place.workspace().host_path(&path)
    };
    assert_eq!(unasked(open(), "ls").as_deref(), Some("bin\n"));
    assert_eq!(unasked(open(), "own"), None);
    assert_eq!(open().program("own"), ProgramFact::Missing);
}

#[test]
fn a_program_of_the_host_is_judged_by_where_the_path_finds_it() {
    let place = Place::new();
    program(&place, "evil", "#!/bin/sh\necho EVIL\n");
    std::os::unix::fs::symlink(place.at("evil"), place.beside.join("ls")).expect("a link can be made");
    let open = || place.workspace().host_path(&path_behind(&[&place.beside]));
    assert_eq!(open().program("ls"), ProgramFact::Project);
    assert_eq!(unasked(open(), "ls"), None);
}
