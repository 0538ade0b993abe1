//! Tests real checkers before and after a change: bash, and python3, node, gofmt, rustfmt and tsc if they are
//! installed. `TOOLFENCE_TSC` names the folder of `tsc`: a `bin` next to the `lib` that it needs, because a command
//! sees both.

use super::{Place, block_on, has_sandbox, runner};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use toolfence_kit::picture;
use toolfence_policy::toolbox::{NoProgress, Toolbox};
use toolfence_policy::{AskMode, Policy, Verdict};
use toolfence_protocol::{Args, ErrorCode, ToolCall, ToolResult};
use toolfence_sandbox::isolation::Settings;
use toolfence_tools as tools;
use toolfence_tools::CommandRunner;
use toolfence_tools::validate::Checker;
use toolfence_tools::validate::{Reads, Sight};
use toolfence_workspace::Workspace;

struct Hands {
    runner: Arc<CommandRunner>,
    toolbox: Toolbox,
}

impl Hands {
    fn with(runner: CommandRunner, own: Vec<Checker>) -> Option<Hands> {
        let runner = Arc::new(runner);
        let checks = tools::Checks::new(runner.clone()).checkers(own);
        let toolbox = tools::checked(&checks);
        has_sandbox(&runner).then_some(Hands { runner, toolbox })
    }

    fn on(place: &Place) -> Option<Hands> {
        Hands::with(place.runner(), Vec::new())
    }

    fn call(&self, tool: &str, args: Value) -> ToolResult {
        let args: Args = args.as_object().expect("arguments are an object").clone().into_iter().collect();
        let policy = Policy::default().ask(AskMode::Never);
        match policy.review(ToolCall::new("1", tool, args), &self.toolbox.catalog(), &*self.runner) {
            Verdict::Cleared(cleared) => {
                block_on(self.toolbox.run(cleared, &NoProgress)).expect("no tool fails for the host")
            }
            other => panic!("{other:?}"),
        }
    }

    fn write(&self, path: &str, content: &str) -> ToolResult {
        self.call("write_file", json!({"path": path, "content": content}))
    }

    fn has(&self, program: &str) -> bool {
        let has = self.runner.workspace().root().programs().of_system(program).is_some();
        if !has {
            eprintln!("skipped: there is no {program}");
        }
        has
    }
}

/// Checks that nothing of a refused change remains, and returns the message.
fn refused(place: &Place, result: &ToolResult, path: &str, before: Option<&str>) -> String {
    let error = result.error.as_ref().unwrap_or_else(|| panic!("it is refused: {}", result.output));
    assert_eq!(error.code, ErrorCode::SyntaxError, "{}", error.message);
    assert_eq!(result.data.as_ref().expect("it has data")["rolled_back"], json!(true));
    assert_eq!(fs::read_to_string(place.at(path)).ok().as_deref(), before);
    error.message.to_string()
}

/// For each checker: a file name, a valid text, an invalid text, and the error that the checker reports.
const TEXTS: &[(&str, &str, &str, &str, &str)] = &[
    (
        "bash",
        "a.sh",
        "if true; then echo a; fi\n",
        "if true; then\necho a\n",
        "line 3: syntax error: unexpected end of file",
    ),
    (
        "python3",
        "a.py",
        "def f(x):\n    return x\n",
        "def f(x):\nreturn x\n",
        "line 2, column 1: expected an indented block",
    ),
    ("node", "a.mjs", "import a from 'b';\nawait a;\n", "import a from 'b';\nlet a = (1;\n", "line 2: "),
    (
        "node",
        "a.js",
        "const a = 1;\n",
        "const a = 1;\nconst a = 2;\n",
        "line 2: Identifier 'a' has already been declared",
    ),
    ("gofmt", "a.go", "package a\n", "package a\nfunc {\n", "line 2"),
    (
        "rustfmt",
        "a.rs",
        "fn f() -> u32 {\n    1\n}\n",
        "fn f() -> u32 {\n    (1\n}\n",
        "line 2, column 5: mismatched closing delimiter",
    ),
];

#[test]
fn the_checkers_of_each_language_run() {
    let place = Place::new();
    let Some(hands) = Hands::on(&place) else { return };
    for (program, path, good, bad, says) in TEXTS {
        if !hands.has(program) {
            continue;
        }
        let message = refused(&place, &hands.write(path, bad), path, None);
        assert!(message.contains(&format!("read by {program}, at {says}")), "{program}: {message}");
        let made = hands.write(path, good);
        assert!(made.success && !made.output.contains("not checked"), "{program}: {made:?}");
        refused(&place, &hands.write(path, bad), path, Some(good));
        fs::write(place.at(path), bad).expect("it can be written");
        let Some(others) = Hands::on(&place) else { return };
        assert!(others.write(path, &format!("{bad}\n")).success, "{program}: it was broken before");
    }
    let names = fs::read_dir(&place.root).expect("it is there").count();
    assert!(names <= TEXTS.len(), "no checker left anything");
}

#[test]
fn dialects_that_node_and_bash_do_not_support_are_accepted() {
    let place = Place::new();
    let Some(hands) = Hands::on(&place) else { return };
    let made = hands.write("a.js", "export const A = () => <div>{1}</div>;\n");
    assert!(made.success && !made.output.contains("not checked"), "{made:?}");
    assert!(hands.write("a.sh", "#!/bin/zsh\nfoo=(**/*(.om[1,5]))\n").success);
}

#[test]
fn rustfmt_reports_only_syntax_errors() {
    let place = Place::new();
    let Some(hands) = Hands::on(&place) else { return };
    if !hands.has("rustfmt") {
        return;
    }
    // The project's configuration of a formatter has no effect on the check.
    place.file("rustfmt.toml", "nonsense = [\n");
    place.file("rust-toolchain.toml", "[toolchain]\nchannel = \"1.0.71\"\n");
    for (text, what) in [
        ("fn   f( ) {}\n\n\n\n", "a layout that is not its own"),
        ("fn f() {\n    m!(   a =>    \n       b   );\n}\n", "what it cannot lay out"),
        ("mod nowhere;\n#[path = \"/etc/passwd\"]\nmod users;\n", "files that are not there, or none of it"),
        ("fn f() {\n    let gen = 1;\n}\n", "edition 2021"),
        ("fn f() {\n    if let Some(a) = b && c {}\n}\n", "edition 2024"),
        ("trait T {\n    fn f(u8);\n}\nfn async() {}\n", "edition 2015"),
        ("fn f() -> u32 {\n    \"no number\" + undefined()\n}\n", "what only a compiler sees"),
    ] {
        let made = hands.write("src/a.rs", text);
        assert!(made.success && !made.output.contains("not checked"), "{what}: {made:?}");
    }
    let old = "trait T {\n    fn f(u8);\n}\nfn async() {}\n";
    assert!(hands.write("src/a.rs", old).success);
    let message = refused(&place, &hands.write("src/a.rs", &format!("{old}fn 5() {{}}\n")), "src/a.rs", Some(old));
    assert!(message.contains("read by rustfmt, at line 5, "), "its own edition says where: {message}");
}

/// Creates a user's checker: a bash command that gets the text.
fn own(command: &str, reads: Reads) -> Checker {
    let mut checker = Checker::new(["*.x"], ["bash", "-c", command].map(str::to_owned)).expect("it is right");
    (checker.reads, checker.sight) = (reads, Sight::All);
    checker
}

#[test]
fn a_checker_that_cannot_run_never_blocks_a_change() {
    for (command, says) in [
        ("kill -9 $$", "it ended with status 137: it printed nothing"),
        ("echo broken; exit 3", "it ended with status 3: broken"),
        ("yes x | head -c 1000000; exit 1", "it printed too much output"),
        ("echo 'a.x:1:1: not of this text'; exit 1", "it ended with status 1: a.x:1:1: not of this text"),
        ("echo 'x: not found'; exit 127", "it ended with status 127: x: not found"),
        ("sleep 71029", "it took longer than 10 seconds"),
    ] {
        let place = Place::new();
        let Some(hands) = Hands::with(place.runner(), vec![own(command, Reads::Text)]) else { return };
        let made = hands.write("a.x", "text\n");
        assert!(made.success, "{made:?}");
        assert_eq!(made.output, format!("Created a.x (5 bytes, 1 line).\n[a.x was not checked by bash: {says}.]\n"));
    }
}

#[test]
fn a_checker_that_is_not_installed_is_named_once() {
    let missing = Checker::new(["*.x"], ["no-such-program-71"].map(str::to_owned)).expect("it is right");
    let no_component =
        "echo \"error: 'x' is not installed for the toolchain 'y'.\"; echo 'To install, run `rustup`'; exit 1";
    for (nothing, name) in [(missing, "no-such-program-71"), (own(no_component, Reads::Text), "bash")] {
        let place = Place::new();
        let Some(hands) = Hands::with(place.runner(), vec![nothing]) else { return };
        let created = "Created a.x (5 bytes, 1 line).\n";
        let note = format!("{created}[a.x was not checked by {name}: it is not installed.]\n");
        assert_eq!(hands.write("a.x", "text\n").output, note);
        fs::remove_file(place.at("a.x")).expect("it is there");
        assert_eq!(hands.write("a.x", "text\n").output, created);
    }
}

#[test]
fn an_empty_text_has_no_errors() {
    let place = Place::new();
    let command = "text=$(cat); [ -n \"$text\" ] || { echo '-:1: nothing'; exit 1; }; [ \"$text\" = right ] || { echo '-:1: \
                   wrong'; exit 1; }";
    let Some(hands) = Hands::with(place.runner(), vec![own(command, Reads::Text)]) else { return };
    refused(&place, &hands.write("a.x", "other\n"), "a.x", None);
    assert!(hands.write("a.x", "\n").success);
    refused(&place, &hands.write("a.x", "other\n"), "a.x", Some("\n"));
    assert!(hands.write("a.x", "right\n").success);
}

#[test]
fn a_checker_cannot_change_the_project() {
    let place = Place::new();
    let project = Reads::Project("project.txt".into());
    let command = "echo a >made; echo a >>a.x; cat a.x >/tmp/private && exit 0";
    let Some(hands) = Hands::with(place.runner(), vec![own(command, project)]) else { return };
    place.file("project.txt", "");
    place.file("a.x", "old\n");
    assert!(hands.write("a.x", "new\n").success);
    assert!(!place.at("made").exists());
    assert_eq!(fs::read_to_string(place.at("a.x")).expect("it is there"), "new\n");
}

/// Creates tools whose commands and checkers run on private copies.
fn on_copies(place: &Place, own: Vec<Checker>) -> Option<Hands> {
    let hands = Hands::with(place.on_copies(Settings::new()), own)?;
    assert_eq!(hands.runner.no_private_copies(), None);
    Some(hands)
}

/// A command that fails if it cannot write, or if files of an earlier run exist.
const WRITES_ANYWHERE: &str = "[ ! -e made ] && mkdir made && echo a >made/a && echo a >>a.x && rm project.txt && exit 0; echo 'a.x:1:1: it could not write'; exit 1";

#[test]
fn a_checker_may_write_anywhere_on_its_private_copy_and_nothing_is_kept() {
    let place = Place::new();
    place.file("project.txt", "");
    place.file("a.x", "old\n");
    let before = picture(&place.root);
    let checker = || vec![own(WRITES_ANYWHERE, Reads::Project("project.txt".into()))];
    let Some(hands) = on_copies(&place, checker()) else { return };
    for text in ["new\n", "old\n"] {
        let made = hands.write("a.x", text);
        assert!(made.success && !made.output.contains("error"), "{made:?}");
    }
    assert_eq!(picture(&place.root), before);
    // Without copies the project is read-only.
    let read_only = "touch made && exit 0; grep -q old a.x && exit 0; echo 'a.x:1:1: it could not write'; exit 1";
    let checker = vec![own(read_only, Reads::Project("project.txt".into()))];
    let Some(hands) = Hands::with(place.runner(), checker) else { return };
    let message = refused(&place, &hands.write("a.x", "new\n"), "a.x", Some("old\n"));
    assert!(message.contains("it could not write"), "{message}");
}

#[test]
fn a_checker_on_its_private_copy_sees_no_blocked_file() {
    let place = Place::new();
    place.file("project.txt", "");
    place.file(".env", "SECRET=1\n");
    let command = "[ -e .env ] || exit 0; echo 'a.x:1:1: it is there'; exit 1";
    let Some(hands) = on_copies(&place, vec![own(command, Reads::Project("project.txt".into()))]) else { return };
    let made = hands.write("a.x", "new\n");
    assert!(made.success && !made.output.contains("it is there"), "{made:?}");
}

#[test]
fn changes_of_other_processes_are_not_rolled_back() {
    let place = Place::new();
    // The checker rejects the new text. Meanwhile another process saves the file.
    let project = Reads::Project("project.txt".into());
    let command = "grep -q new a.x || exit 0; sleep 3; echo 'a.x:1:1: wrong'; exit 1";
    let Some(hands) = Hands::with(place.runner(), vec![own(command, project)]) else { return };
    place.file("project.txt", "");
    place.file("a.x", "old\n");
    let path = place.at("a.x");
    let other = std::thread::spawn(move || {
        while !fs::read_to_string(&path).is_ok_and(|text| text == "new\n") {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // After this time the checker has read the file.
        std::thread::sleep(std::time::Duration::from_secs(1));
        fs::write(&path, "theirs\n").expect("it can be written");
    });
    let result = hands.write("a.x", "new\n");
    other.join().expect("it wrote");
    let error = result.error.expect("it broke the file");
    assert!(error.message.to_string().starts_with("The change was made and could not be rolled back: "), "{error}");
    let data = result.data.expect("it has data");
    assert_eq!((&data["rolled_back"], &data["files_modified"]), (&json!(false), &json!(["a.x"])));
    assert_eq!(fs::read_to_string(place.at("a.x")).expect("it is there"), "theirs\n");
}

/// Returns the folder of the `tsc` that the environment names.
fn tsc() -> Option<PathBuf> {
    let folder = std::env::var_os("TOOLFENCE_TSC");
    if folder.is_none() {
        eprintln!("skipped: TOOLFENCE_TSC names no folder with tsc");
    }
    folder.map(PathBuf::from)
}

/// Creates tools whose commands search for programs in this PATH.
fn with_path(place: &Place, path: &OsStr, has_copies: bool) -> Option<Hands> {
    let workspace = Workspace::open_with_path(&place.root, Default::default(), Some(path));
    let workspace = Arc::new(workspace.expect("the root is there"));
    let runner = CommandRunner::new(workspace, Settings::new().helper(super::HELPER));
    Hands::with(if has_copies { runner.private_copies(&place.state()) } else { runner }, Vec::new())
}

/// Creates tools whose PATH contains `tsc`.
fn with_tsc(place: &Place, has_copies: bool) -> Option<Hands> {
    let folder = tsc()?;
    let path = std::env::var_os("PATH")?;
    let path = std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&path)));
    with_path(place, &path.expect("it is a path"), has_copies)
}

/// Creates a TypeScript project with `tsc` on private copies, if `tsc` is available.
fn typescript(place: &Place) -> Option<Hands> {
    typescript_with(place, true)
}

fn typescript_with(place: &Place, has_copies: bool) -> Option<Hands> {
    place.file(
        "tsconfig.json",
        "{\"compilerOptions\": {\"strict\": true, \"module\": \"esnext\"}, \"include\": [\"src\"]}\n",
    );
    place.file("src/a.ts", "export const a: number = 1;\nexport function f(x: number) {\n  return x + a;\n}\n");
    place.file("src/b.ts", "import { f } from \"./a\";\n\nexport const b = f(2);\n");
    with_tsc(place, has_copies)
}

#[test]
fn a_type_error_in_a_file_without_a_project_rolls_back() {
    let place = Place::new();
    let Some(hands) = with_tsc(&place, true) else { return };
    place.file("x/a.ts", "const x: number = 1;\n");
    let edits = json!([{"start_line": 1, "end_line": 1, "replacement": "const x: number = 'invalid';"}]);
    let edit = |validate| hands.call("edit_file", json!({"path": "x/a.ts", "edits": edits, "validate": validate}));
    let message = refused(&place, &edit(true), "x/a.ts", Some("const x: number = 1;\n"));
    assert!(message.contains("read by tsc, at line 1, column 7: TS2322: Type 'string' is not assignable"), "{message}");
    assert!(edit(false).success);
    // The error in the other file existed before and does not count. A new file is refused only for its own errors.
    assert!(hands.write("x/a.ts", "const x: number = 'invalid';\nconst y = 1;\n").success);
    let message = refused(&place, &hands.write("x/-c.ts", "export const c: string = 1;\n"), "x/-c.ts", None);
    assert!(message.contains("TS2322"), "{message}");
    // Without a `tsconfig.json`, the available modules and global names are unknown, so this file is not checked.
    let made = hands.write("x/d.ts", "import { b } from \"b\";\nexport const d = await b(process.argv, Deno.args);\n");
    assert!(made.success && !made.output.contains("checked"), "{made:?}");
    assert_eq!(fs::read_dir(&place.root).expect("it is there").count(), 1, "tsc leaves nothing in the project");
}

#[test]
fn projects_that_a_tsconfig_refers_to_are_checked() {
    let place = Place::new();
    place.file(
        "tsconfig.json",
        "{\n  \"files\": [], // see below\n  \"references\": [{ \"path\": \"./tsconfig.app.json\" }, { \"path\": \"./node\" }],\n}\n",
    );
    place.file("tsconfig.app.json", "{\"include\": [\"src\"]}\n");
    place.file("node/tsconfig.json", "{\"include\": [\".\"]}\n");
    place.file("src/a.ts", "export const a: number = 1;\n");
    let Some(hands) = with_tsc(&place, true) else { return };
    for (path, before) in [("src/a.ts", Some("export const a: number = 1;\n")), ("node/b.ts", None)] {
        let message = refused(&place, &hands.write(path, "export const a: number = 'a';\n"), path, before);
        assert!(message.contains("read by tsc, at line 1, column 14: TS2322"), "{message}");
    }
}

#[test]
fn the_tsc_of_the_project_comes_first() {
    let place = Place::new();
    let Some(hands) = with_path(&place, OsStr::new("/bin:/usr/bin"), true) else { return };
    place.file("packages/one/tsconfig.json", "{}");
    place.file("packages/one/a.ts", "export const a = 1;\n");
    place.file(
        "node_modules/.bin/tsc",
        "#!/bin/sh\ngrep -q 1 packages/one/a.ts || { echo 'packages/one/a.ts(1,1): error TS1: own'; exit 2; }\n",
    );
    fs::set_permissions(place.at("node_modules/.bin/tsc"), fs::Permissions::from_mode(0o755)).expect("it is there");
    let message = refused(
        &place,
        &hands.write("packages/one/a.ts", "export const a = 2;\n"),
        "packages/one/a.ts",
        Some("export const a = 1;\n"),
    );
    assert!(message.contains("read by tsc, at line 1, column 1: TS1: own"), "{message}");
}

#[test]
fn a_missing_tsc_is_named() {
    for config in [None, Some("tsconfig.json")] {
        let place = Place::new();
        let Some(hands) = with_path(&place, OsStr::new("/nowhere"), true) else { return };
        config.iter().for_each(|name| place.file(name, "{}"));
        let made = hands.write("a.ts", "export const a: number = 'a';\n");
        assert!(made.output.ends_with("[a.ts was not checked by tsc: it is not installed.]\n"), "{made:?}");
        assert!(!hands.write("b.ts", "export const b = 1;\n").output.contains("not checked"));
    }
}

/// Later runs of `tsc` reuse the build info that the first one left in the session. The project gets no such file.
#[test]
fn tsc_keeps_its_build_info_in_the_session() {
    for has_copies in [false, true] {
        let place = Place::new();
        let Some(hands) = typescript_with(&place, has_copies) else { return };
        let kept = || hands.call("bash", json!({"command": "ls /tmp"})).output.matches(".tsbuildinfo").count();
        let before = picture(&place.root);
        assert_eq!(kept(), 0);
        for run in 0..3 {
            let started = std::time::Instant::now();
            let text = format!("import {{ f }} from \"./a\";\n\nexport const b = f({run});\n");
            assert!(hands.write("src/b.ts", &text).success);
            println!("a change with two runs of tsc, private copies {has_copies}: {:?}", started.elapsed());
            assert_eq!(kept(), 1);
        }
        hands.write("src/b.ts", "import { f } from \"./a\";\n\nexport const b = f(2);\n");
        assert_eq!(picture(&place.root), before);
    }
}

#[test]
fn a_type_error_rolls_back_and_one_elsewhere_is_reported() {
    let place = Place::new();
    let Some(hands) = typescript(&place) else { return };
    let replace =
        |path: &str, old: &str, new: &str| hands.call("replace_text", json!({"path": path, "old": old, "new": new}));
    let before = fs::read_to_string(place.at("src/a.ts")).expect("it is there");
    let wrong = replace("src/a.ts", "number = 1", "number = \"1\"");
    println!("{}\n{}", wrong.error.as_ref().expect("it is refused"), wrong.output);
    let message = refused(&place, &wrong, "src/a.ts", Some(&before));
    assert!(
        message.contains("read by tsc, at line 1, column 14: TS2322: Type 'string' is not assignable"),
        "{message}"
    );
    // The first half of a rename is valid in its own file, so it is kept, and the new error in the other file is
    // reported.
    let half = replace("src/a.ts", "function f(", "function g(");
    println!("{}", half.output);
    assert!(half.success, "{half:?}");
    assert!(
        half.output.contains("[1 new error in other files, because of this change:]\nsrc/b.ts: line 1, column 10: TS2")
    );
    assert_eq!(half.data.as_ref().expect("it has data")["new_errors"][0]["path"], "src/b.ts");
    // The other file can be changed while that error remains. The second half of the rename removes the error.
    assert!(replace("src/b.ts", "f(2)", "f(3)").success);
    let other = replace("src/b.ts", "{ f }", "{ g as f }");
    assert!(other.success && !other.output.contains("new error"), "{other:?}");
}

#[test]
fn a_patch_over_two_files_is_rolled_back_completely() {
    let place = Place::new();
    let Some(hands) = typescript(&place) else { return };
    let picture = |path: &str| fs::read_to_string(place.at(path)).ok();
    let before = (picture("src/a.ts"), picture("src/b.ts"));
    let patch = "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-export function f(x: number) {\n+export function f(x: \
                 string) {\n*** Update File: src/b.ts\n@@\n-export const b = f(2);\n+export const b = f(\"2\");\n*** Add \
                 File: src/new/c.ts\n+export const c: string = 1;\n*** End Patch\n";
    let result = hands.call("apply_patch", json!({"patch": patch}));
    let error = result.error.expect("it is refused");
    assert!(
        error.message.to_string().starts_with("src/new/c.ts was not changed: it would break src/new/c.ts"),
        "{error}"
    );
    assert_eq!((picture("src/a.ts"), picture("src/b.ts")), before);
    assert!(!place.at("src/new").exists());
}

#[test]
fn a_long_file_is_checked_in_time() {
    let place = Place::new();
    let Some(hands) = Hands::on(&place) else { return };
    let long: String = (0..10_000).map(|n| format!("export const a{n} = {{ b: [{n}, \"x\"] }};\n")).collect();
    for path in ["a.ts", "a.mjs"] {
        assert!(hands.write(path, &long).success);
        let broken = hands
            .call("replace_text", json!({"path": path, "old": "a9000 = { b: [9000, ", "new": "a9000 = { b: 9000, "}));
        let message = refused(&place, &broken, path, Some(&long));
        assert!(message.contains("at line 9001"), "{message}");
    }
}

#[test]
fn a_project_checker_does_not_run_without_a_sandbox() {
    let place = Place::new();
    let runner = Arc::new(runner(&place.root, Settings::new().mode(toolfence_sandbox::isolation::Mode::Off)));
    let project = Reads::Project("project.txt".into());
    let checks = tools::Checks::new(runner.clone()).checkers([own("touch /tmp/asked-71; exit 0", project)]);
    let hands = Hands { toolbox: tools::checked(&checks), runner };
    place.file("project.txt", "");
    let made = hands.write("a.x", "text\n");
    let note = "[a.x was not checked by bash: no sandbox is available here to run it in.]\n";
    assert!(made.success && made.output.ends_with(note), "{}", made.output);
    refused(&place, &hands.write("a.sh", "if\n"), "a.sh", None);
}
