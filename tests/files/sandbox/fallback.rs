//! Tests commands without private copies. The project is read-only for them except for build folders, unless the call
//! asks to write.

use super::{Place, bash, has_sandbox, runner};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;
use toolfence_protocol::Catalog;
use toolfence_protocol::text;
use toolfence_sandbox::isolation::{Kind, Settings};
use toolfence_tools as tools;
use toolfence_tools::CommandRunner;

impl Place {
    /// Creates a Cargo project in which git ignores `target`.
    fn cargo_project() -> Place {
        let place = Place::new();
        place.git(&["init", "-q"]);
        place.file("Cargo.toml", "[package]\n");
        place.file("src/lib.rs", "one\n");
        place.file(".gitignore", "/target\n");
        place
    }

    fn git(&self, args: &[&str]) {
        let done = Command::new("git").args(args).current_dir(&self.root).output().expect("git is installed");
        assert!(done.status.success(), "{args:?}: {done:?}");
    }

    fn read_only(&self) -> Option<Arc<CommandRunner>> {
        self.read_only_with(Settings::new())
    }

    fn read_only_with(&self, settings: Settings) -> Option<Arc<CommandRunner>> {
        let runner = Arc::new(runner(&self.root, settings).without_private_copies(text!("It is switched off.")));
        has_sandbox(&runner).then_some(runner)
    }
}

/// Returns `true` if the command could write. Its output is checked only if it could not.
fn writes(runner: &Arc<CommandRunner>, command: &str) -> bool {
    let result = bash(runner, json!({"command": command}));
    assert!(result.success || result.output.contains("ead-only file system"), "{result:?}");
    result.success
}

#[test]
fn a_command_without_write_changes_nothing_but_build_folders() {
    let place = Place::cargo_project();
    let Some(runner) = place.read_only() else { return };
    place.file("git.sh", "mkdir .git/x\n");
    let failed = bash(&runner, json!({"command": "echo two > src/lib.rs"}));
    assert!(!failed.success && failed.output.contains("`\"write\": true`"), "{}", failed.output);
    assert_eq!(fs::read_to_string(place.root.join("src/lib.rs")).unwrap(), "one\n");
    for command in ["touch new", "rm src/lib.rs", "mv src other", "git add .", "sh git.sh", "mkdir src/target"] {
        assert!(!writes(&runner, command), "{command}");
    }
    assert!(writes(&runner, "mkdir -p target/debug && echo built > target/debug/app && chmod 755 target/debug/app"));
    let ran = bash(&runner, json!({"command": "cat target/debug/app; rm target/debug/app"}));
    assert_eq!(ran.output, "built\n", "{ran:?}");
    assert!(place.root.join("target/debug").is_dir() && !place.root.join("target/debug/app").exists());
}

#[test]
fn a_command_with_write_changes_the_project() {
    let place = Place::cargo_project();
    let Some(runner) = place.read_only() else { return };
    let wrote = bash(&runner, json!({"command": "echo two > src/lib.rs; rm -rf target; mkdir target", "write": true}));
    assert!(wrote.success, "{wrote:?}");
    assert_eq!(fs::read_to_string(place.root.join("src/lib.rs")).unwrap(), "two\n");
}

#[test]
fn only_a_failed_command_is_explained_by_the_read_only_project() {
    let place = Place::cargo_project();
    let Some(runner) = place.read_only() else { return };
    for command in ["echo Read-only file system; touch target/x", "false"] {
        let output = bash(&runner, json!({"command": command})).output;
        assert!(!output.contains("`\"write\": true`"), "{output}");
    }
}

/// `cp -al`, `rsync --link-dest` and some bundlers create hard links, and a write through one name changes the other
/// file too.
#[test]
fn a_build_folder_with_a_hard_link_to_another_place_is_read_only() {
    let place = Place::cargo_project();
    fs::create_dir_all(place.root.join("target/debug")).unwrap();
    fs::hard_link(place.root.join("src/lib.rs"), place.root.join("target/debug/l")).unwrap();
    let Some(runner) = place.read_only() else { return };
    assert!(!writes(&runner, "echo pwn > target/debug/l"));
    assert_eq!(fs::read_to_string(place.root.join("src/lib.rs")).unwrap(), "one\n");
    // Two names within the folder are allowed, because cargo links the files that it builds.
    fs::remove_file(place.root.join("target/debug/l")).unwrap();
    place.file("target/app", "app\n");
    fs::hard_link(place.root.join("target/app"), place.root.join("target/debug/app")).unwrap();
    assert!(writes(&runner, "echo app > target/app; ln target/app target/third"));
    // A command cannot create such a link itself.
    assert!(!bash(&runner, json!({"command": "ln src/lib.rs target/l"})).success);
}

#[test]
fn a_link_named_like_a_build_folder_is_not_followed() {
    let place = Place::cargo_project();
    place.file("victim/f", "one\n");
    symlink("victim", place.root.join("target")).unwrap();
    for kind in [Kind::Namespaces, Kind::Bubblewrap] {
        let settings = Settings::new().at_most(kind);
        let runner = runner(&place.root, settings).without_private_copies(text!("It is switched off."));
        if runner.sandbox_report().kind != kind {
            eprintln!("skipped: {:?}", runner.sandbox_report().why);
            continue;
        }
        assert!(!writes(&Arc::new(runner), "echo pwn > target/f"));
    }
    assert_eq!(fs::read_to_string(place.root.join("victim/f")).unwrap(), "one\n");
}

#[test]
fn a_build_folder_with_a_tracked_file_is_read_only() {
    let place = Place::cargo_project();
    place.file("target/kept", "one\n");
    place.git(&["add", "-f", "target/kept"]);
    let Some(runner) = place.read_only() else { return };
    assert!(!writes(&runner, "echo two > target/kept"));
    // The file is tracked even if it was removed, and its folder is not created.
    fs::remove_dir_all(place.root.join("target")).unwrap();
    assert!(!writes(&runner, "mkdir -p target && touch target/x"));
    assert!(!place.root.join("target").exists());
}

#[test]
fn a_folder_counts_only_if_git_ignores_it_and_a_manifest_implies_it() {
    let place = Place::cargo_project();
    for folder in ["build", "node_modules", "sub/target", "sub/photos"] {
        fs::create_dir_all(place.root.join(folder)).unwrap();
    }
    place.file(".gitignore", "*\n");
    let Some(runner) = place.read_only() else { return };
    assert!(writes(&runner, "touch target/x"));
    for folder in ["build", "node_modules", "sub/target", "sub/photos"] {
        assert!(!writes(&runner, &format!("touch {folder}/x")), "{folder}");
    }
    place.file("sub/Cargo.toml", "[package]\n");
    place.file("package.json", "{}\n");
    for folder in ["build", "node_modules", "sub/target"] {
        assert!(writes(&runner, &format!("touch {folder}/x")), "{folder}");
    }
    fs::remove_dir_all(place.root.join(".git")).unwrap();
    assert!(!writes(&runner, "touch target/y"), "without git nothing says that it can be made again");
}

/// If the folder were removed after each run, it would be missing in another run that has it mounted.
#[test]
fn runs_at_the_same_time_share_a_build_folder_that_did_not_exist() {
    let place = Place::cargo_project();
    let Some(runner) = place.read_only() else { return };
    let other = place.read_only().expect("it is the same machine");
    std::thread::scope(|scope| {
        let run = |runner: Arc<CommandRunner>, name: &'static str| {
            let command =
                format!("for i in 1 2 3 4 5; do touch target/{name}$i && ln target/{name}$i target/{name}l$i; done");
            scope.spawn(move || bash(&runner, json!({"command": command})))
        };
        let runs = [run(runner, "a"), run(other, "b")];
        for run in runs {
            let result = run.join().expect("it does not panic");
            assert!(result.success, "{result:?}");
        }
    });
    assert_eq!(fs::read_dir(place.root.join("target")).unwrap().count(), 20);
}

#[test]
fn a_repository_in_a_build_folder_that_would_run_a_program_is_removed() {
    let place = Place::cargo_project();
    let Some(runner) = place.read_only() else { return };
    place.file("init.sh", "git init -q target/sub && cd target/sub && git config core.fsmonitor ./x && echo made\n");
    let output = bash(&runner, json!({"command": "sh init.sh"})).output;
    assert!(output.contains("made"), "{output}");
    let config = fs::read_to_string(place.root.join("target/sub/.git/config")).unwrap_or_default();
    assert!(!config.contains("fsmonitor"), "{config}");
}

#[test]
fn only_tools_of_a_read_only_project_have_the_argument_write() {
    let place = Place::cargo_project();
    let Some(read_only) = place.read_only() else { return };
    let has = |runner: Arc<CommandRunner>| {
        let catalog: Catalog = tools::standard(runner).catalog();
        let specs = catalog.specs().iter().filter(|spec| spec.find("write").is_some());
        specs.map(|spec| spec.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(has(read_only), ["bash", "run_python"]);
    assert_eq!(has(Arc::new(place.runner())), ["bash", "run_python"]);
    assert!(has(Arc::new(place.on_copies(Settings::new()))).is_empty());
    let off = runner(&place.root, Settings::new().at_most(Kind::Landlock)).without_private_copies(text!("It is off."));
    assert!(has(Arc::new(off)).is_empty(), "nothing makes the project read-only there");
}
