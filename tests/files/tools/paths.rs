//! Tests the result of each operation for one list of refused paths.

use super::{Place, picture};
use toolfence_policy::{Facts, PathFact};
use toolfence_protocol::ErrorCode::{self, *};
use toolfence_workspace::Workspace;
use toolfence_workspace::{ListFiles, ReadFile, ReplaceText, SearchFiles, Stop};

/// Refused paths, each with its error code for reading it as a file and for listing or searching it as a folder.
const REFUSED: &[(&str, ErrorCode)] = &[
    ("", InvalidArgument),
    ("a\0b", InvalidArgument),
    ("~", PermissionDenied),
    ("~/.ssh/id_rsa", Denied),
    ("..", PermissionDenied),
    ("../beside/private.txt", PermissionDenied),
    ("src/../../beside/private.txt", PermissionDenied),
    ("/etc/hosts", PermissionDenied),
    ("/", PermissionDenied),
    ("etc", PermissionDenied),
    ("etc/hosts", PermissionDenied),
    ("up.txt", PermissionDenied),
    ("chain1", PermissionDenied),
    ("chain1/private.txt", PermissionDenied),
    ("abs/../../beside/private.txt", PermissionDenied),
    ("loop_a", PermissionDenied),
    ("loop_a/x", PermissionDenied),
    ("zero", PermissionDenied),
    ("magic", PermissionDenied),
    ("magic/hosts", PermissionDenied),
    (".env", Denied),
    ("sub/.env.local", Denied),
    ("sub/../.env", Denied),
    ("UPPER/.ENV", Denied),
    ("notes.txt", Denied),
    ("innocent.txt", Denied),
    ("dangling", NotFound),
    ("missing.txt", NotFound),
    ("plain.txt/x", NotFound),
    ("plain.txt/", NotFound),
];

/// If a path leads out of the project through a link, the message names the link and suggests the path inside.
#[test]
fn a_link_that_leads_out_is_named() {
    use toolfence_policy::{Policy, Verdict};
    use toolfence_protocol::ToolCall;
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let root = home.path().join("root");
    std::fs::create_dir_all(root.join("src/deep")).expect("a folder can be made");
    std::fs::write(root.join("src/private.txt"), "x").expect("it can be written");
    std::fs::write(home.path().join("private.txt"), "x").expect("it can be written");
    for (target, link) in [("..", "out"), ("../out", "src/second"), ("/etc", "far"), ("src/deep", "in")] {
        std::os::unix::fs::symlink(target, root.join(link)).expect("a link can be made");
    }
    // The last component of these paths is the link. One link has the name of a file in the project.
    std::os::unix::fs::symlink("../private.txt", root.join("private.txt")).expect("a link can be made");
    std::os::unix::fs::symlink("../private.txt", root.join("alone.txt")).expect("a link can be made");
    let workspace = Workspace::open(&root, Default::default()).expect("it is a folder");
    let catalog = toolfence_policy::toolset::catalog();
    for (path, link, instead) in [
        ("private.txt", Some("private.txt"), "src/private.txt"),
        ("alone.txt", Some("alone.txt"), "."),
        ("out/private.txt", Some("out"), "src/private.txt"),
        ("src/second/private.txt", Some("src/second"), "src/private.txt"),
        ("in/../second/private.txt", Some("src/second"), "src/private.txt"),
        ("far/none", Some("far"), "."),
        ("../private.txt", None, "src/private.txt"),
        ("in/../../../private.txt", None, "src/private.txt"),
    ] {
        let args = serde_json::json!({"path": path}).as_object().cloned().unwrap_or_default();
        let call = ToolCall::new("1", "read_file", args);
        let Verdict::Denied(result) = Policy::default().review(call, &catalog, &workspace) else {
            panic!("{path} is denied")
        };
        let by_rule = result.error.expect("it is denied");
        let by_tool = workspace.files().read(&ReadFile::new(path), &Stop::default()).expect_err("it is outside");
        for failure in [by_rule, by_tool] {
            assert_eq!(failure.code, PermissionDenied, "{path}");
            assert_eq!(failure.suggestions, [instead], "{path}: {failure:?}");
            let quoted =
                |quote: char| link.map(|link| format!("by the link {quote}{link}{quote}; tools do not follow"));
            match (quoted('`'), quoted('"')) {
                (Some(rule), Some(tool)) => {
                    assert!([rule, tool].iter().any(|said| failure.message.to_string().contains(said)), "{failure:?}");
                }
                _ => assert!(failure.message.to_string().contains("outside the project"), "{failure:?}"),
            }
        }
    }
}

#[test]
fn every_operation_refuses_refused_paths() {
    let place = Place::full();
    let workspace = place.workspace();
    let before = (picture(&place.root), picture(&place.beside));
    let mut wrong = Vec::new();
    for (path, code) in REFUSED {
        // The workspace refuses every path that begins with `~` with this code.
        let code = if path.starts_with('~') { PermissionDenied } else { *code };
        for (way, got) in ways(&workspace, path) {
            if got != Err(code) {
                wrong.push(format!("{way} {path:?}: {got:?}, wanted {code:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(before, (picture(&place.root), picture(&place.beside)));
}

/// Reads, lists and searches a path, and opens it as a working folder.
fn ways(workspace: &Workspace, path: &str) -> [(&'static str, Result<(), ErrorCode>); 4] {
    let stop = Stop::default();
    let code = |failure: toolfence_protocol::ToolFailure| failure.code;
    let search = SearchFiles { path: path.into(), ..SearchFiles::new("x") };
    [
        ("read", workspace.files().read(&ReadFile::new(path), &stop).map(drop).map_err(code)),
        ("list", workspace.files().list(&ListFiles::new(path), &stop).map(drop).map_err(code)),
        ("search", workspace.files().search(&search, &stop).map(drop).map_err(code)),
        ("folder", workspace.root().folder(path).map(drop).map_err(code)),
    ]
}

#[test]
fn a_refused_write_leaves_every_byte() {
    let place = Place::full();
    let workspace = place.workspace();
    let before = (picture(&place.root), picture(&place.beside));
    let more: &[(&str, ErrorCode)] = &[
        (".git/config", Denied),
        (".GIT/config", Denied),
        (".git/hooks/pre-commit", Denied),
        ("src/../.git/config", Denied),
        ("sub/.git/x", Denied),
        ("toolfence.toml", Denied),
        ("new/.env", Denied),
        ("dangling", InvalidArgument),
        ("new/", InvalidArgument),
        (".", InvalidArgument),
        ("src", InvalidArgument),
        ("src/", InvalidArgument),
        ("rel", InvalidArgument),
        ("abs", InvalidArgument),
        ("fifo", InvalidArgument),
        ("socket", InvalidArgument),
        ("nosuch/../x", NotFound),
        ("etc/new", PermissionDenied),
        ("chain1/new", PermissionDenied),
    ];
    let unlike_reading = ["dangling", "missing.txt", "~/.ssh/id_rsa"];
    let refused = REFUSED.iter().filter(|(path, _)| !unlike_reading.contains(path)).chain(more);
    let mut wrong = Vec::new();
    for (path, code) in refused {
        let got = workspace.changes().write(path, "NEW\n").map_err(|failure| failure.code);
        let plain_file_in_the_way = *path == "plain.txt/" && got == Err(InvalidArgument);
        if got.as_ref().err() != Some(code) && !plain_file_in_the_way {
            wrong.push(format!("{path:?}: {got:?}, wanted {code:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(before, (picture(&place.root), picture(&place.beside)));
}

#[test]
fn no_answer_contains_outside_or_blocked_content() {
    let place = Place::full();
    let workspace = place.workspace();
    let stop = Stop::default();
    for (path, _) in REFUSED {
        let answers = [
            format!("{:?}", workspace.files().read(&ReadFile::new(*path), &stop)),
            format!("{:?}", workspace.files().list(&ListFiles::new(*path), &stop)),
            format!(
                "{:?}",
                workspace.files().search(&SearchFiles { path: (*path).into(), ..SearchFiles::new(".") }, &stop)
            ),
        ];
        for answer in answers {
            assert!(!answer.contains("OUTSIDE") && !answer.contains("SECRETVALUE"), "{path}: {answer}");
        }
    }
}

/// The secrets are reachable only through symbolic links here, not through hard links.
#[test]
fn a_link_to_a_secret_is_refused_by_its_real_name() {
    let place = Place::new();
    place.file(".env", "KEY=SECRETVALUE\n");
    place.file("keys/id_rsa", "SECRETVALUE\n");
    place.link(".env", "notes.txt");
    place.link(place.at(".env"), "absolute.txt");
    place.link("notes.txt", "twice.txt");
    place.link("keys", "folder");
    place.link("id_rsa", "keys/plain.txt");
    let workspace = place.workspace();
    for path in ["notes.txt", "absolute.txt", "twice.txt", "folder/plain.txt"] {
        for (way, got) in ways(&workspace, path) {
            assert_eq!(got, Err(Denied), "{way} {path}");
        }
        assert_eq!(
            workspace.changes().write(path, "NEW\n").map_err(|failure| failure.code),
            Err(Denied),
            "write {path}"
        );
    }
}

#[test]
fn valid_spellings_of_a_path_are_accepted() {
    let place = Place::full();
    let workspace = place.workspace();
    let absolute = place.at("src/main.rs");
    let absolute = absolute.to_str().expect("it is UTF-8");
    for path in
        ["src/main.rs", "./src//main.rs", "src/../src/main.rs", "abs/main.rs", "abs_file", "rel/main.rs", absolute]
    {
        let read = workspace.files().read(&ReadFile::new(path), &Stop::default()).map(|file| (file.path, file.text));
        assert_eq!(read, Ok(("src/main.rs".into(), "fn main() {}\n".into())), "{path}");
    }
}

#[test]
fn a_relative_root_through_a_link_has_an_absolute_spelling() {
    use toolfence_workspace::Workspace;
    let place = Place::new();
    place.file("hello.txt", "hello\n");
    let link = place.beside.join("link");
    std::os::unix::fs::symlink(&place.root, &link).expect("a link can be made");
    // The relative path goes from the current folder up to `/` and down again.
    let here = std::env::current_dir().expect("it is there");
    let top: std::path::PathBuf = here.components().skip(1).map(|_| "..").collect();
    let given = std::path::Path::new(".").join(top).join(link.strip_prefix("/").expect("it is absolute"));
    let workspace = Workspace::open(&given, Default::default()).expect("it is there");
    for path in [link.join("hello.txt"), place.at("hello.txt"), "hello.txt".into()] {
        let path = path.to_str().expect("it is UTF-8");
        let read = workspace.files().read(&ReadFile::new(path), &Stop::default()).map(|file| file.text);
        assert_eq!(read, Ok("hello\n".into()), "{path}");
    }
    let beside = place.beside.join("private.txt");
    let failure = workspace.files().read(&ReadFile::new(beside.to_str().expect("it is UTF-8")), &Stop::default());
    assert_eq!(failure.map(drop).map_err(|failure| failure.code), Err(PermissionDenied));
}

#[test]
fn a_missing_root_is_an_error_and_not_an_empty_folder() {
    let place = Place::new();
    place.file("a/b.txt", "x\n");
    let workspace = place.workspace();
    let moved = place.root.with_extension("moved");
    std::fs::rename(&place.root, &moved).expect("it can be renamed");
    assert!(
        ways(&workspace, "a").iter().all(|(way, got)| *way == "read" || got.is_ok()),
        "a renamed root is still one"
    );
    std::fs::remove_dir_all(&moved).expect("it can be removed");
    // A new folder with the old path is not the folder that the workspace opened.
    std::fs::create_dir(&place.root).expect("it can be made");
    for path in [".", "a", "a/b.txt", "*.txt"] {
        for (way, got) in ways(&workspace, path) {
            assert_eq!(got, Err(IoError), "{way} {path}");
        }
        assert_eq!(workspace.changes().write(path, "x").map_err(|failure| failure.code), Err(IoError), "write {path}");
    }
    let failure = workspace.files().list(&ListFiles::new("."), &Stop::default()).expect_err("it is gone");
    assert!(
        failure.message.to_string().contains("project root") && failure.message.to_string().contains("was removed"),
        "{}",
        failure.message
    );
}

#[test]
fn special_files_are_refused_without_hanging() {
    let place = Place::full();
    let workspace = place.workspace();
    for path in ["fifo", "socket", "src", "."] {
        let failure = workspace.files().read(&ReadFile::new(path), &Stop::default()).expect_err(path);
        assert_eq!(failure.code, InvalidArgument, "{path}: {}", failure.message);
    }
    let folder = workspace.files().read(&ReadFile::new("src"), &Stop::default()).expect_err("it is a folder");
    assert!(folder.message.to_string().contains("Use list_files"), "{}", folder.message);
}

#[test]
fn a_missing_file_offers_close_names_and_no_blocked_one() {
    let place = Place::full();
    let workspace = place.workspace();
    let suggestions =
        |path: &str| workspace.files().read(&ReadFile::new(path), &Stop::default()).expect_err(path).suggestions;
    let nearest = |path: &str| suggestions(path).into_iter().next().unwrap_or_default();
    assert_eq!(nearest("src/mian.rs"), "src/main.rs");
    assert_eq!(nearest("scr/main.rs"), "src/main.rs");
    assert_eq!(nearest("plain.tx"), "plain.txt");
    assert!(suggestions(".en").iter().all(|name| !name.contains(".env")), "{:?}", suggestions(".en"));
    assert_eq!(suggestions("/app/work/src/main.rs"), ["src/main.rs"]);
    assert_eq!(suggestions("../../x"), ["."]);
}

#[test]
fn a_missing_file_suggests_the_same_name_elsewhere() {
    let place = Place::full();
    place.file("deep/in/the/tree/helper.rs", "");
    place.file("deep/helper.rs", "");
    place.file("Config.toml", "");
    place.file(".hidden/only.rs", "");
    place.file("deep/.env", "KEY=SECRETVALUE\n");
    place.file(".gitignore", "target\n");
    place.file("target/built.rs", "");
    let workspace = place.workspace();
    let of = |path: &str| workspace.files().read(&ReadFile::new(path), &Stop::default()).expect_err(path).suggestions;
    assert_eq!(of("helper.rs"), ["deep/helper.rs", "deep/in/the/tree/helper.rs"]);
    assert_eq!(of("src/helper.rs"), ["deep/helper.rs", "deep/in/the/tree/helper.rs"]);
    assert_eq!(of("dep/helper.rs"), ["deep/helper.rs", "deep/in/the/tree/helper.rs"]);
    assert_eq!(of("no/such/folder/main.rs"), ["src/main.rs"]);
    assert_eq!(of("config.toml"), ["Config.toml"]);
    assert_eq!(of("somewhere/CONFIG.toml"), ["Config.toml"]);
    assert_eq!(of("plain.txt/main.rs"), ["src/main.rs"]);
    assert_eq!(of("/home/somebody/helper.rs"), ["deep/helper.rs", "deep/in/the/tree/helper.rs"]);
    for path in ["only.rs", "built.rs", "x/.env.local"] {
        assert_eq!(of(path), [""; 0], "{path}");
    }
    let edit = workspace.changes().replace_text(&ReplaceText::new("main.rs", "a", "b")).expect_err("it is elsewhere");
    assert_eq!(edit.message, "\"main.rs\" does not exist. Did you mean \"src/main.rs\"?");
    let patch = "--- a/main.rs\n+++ b/main.rs\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(
        workspace.changes().apply_patch(patch, false).expect_err("it is elsewhere").suggestions,
        ["src/main.rs"]
    );
    let list = workspace.files().list(&ListFiles::new("tree"), &Stop::default()).expect_err("it is elsewhere");
    assert_eq!(list.suggestions.first().map(String::as_str), Some("deep/in/the/tree"));
}

#[test]
fn names_that_are_too_long_are_an_error() {
    let place = Place::new();
    let workspace = place.workspace();
    for path in ["n".repeat(300), "n/".repeat(3000), "n".repeat(100_000)] {
        let read = workspace.files().read(&ReadFile::new(path.as_str()), &Stop::default()).expect_err("no such file");
        let write = workspace.changes().write(&path, "x").expect_err("no such name");
        assert!(matches!(read.code, InvalidArgument | NotFound), "{}", read.message);
        assert_eq!(write.code, InvalidArgument, "{}", write.message);
        assert!(read.message.to_string().len() < 1000 && write.message.to_string().len() < 1000);
    }
    assert!(picture(&place.root).is_empty());
}

#[test]
fn the_policy_gets_the_targets_of_paths() {
    let place = Place::full();
    let workspace = place.workspace();
    let inside = |cwd: &str, path: &str| match workspace.path(cwd, path) {
        PathFact::Inside { names } => names.join(" "),
        other => format!("{other:?}"),
    };
    assert_eq!(inside("", "src/main.rs"), "src/main.rs");
    assert_eq!(inside("src", "main.rs"), "src/main.rs");
    assert_eq!(inside("src", ".."), " src/..");
    assert_eq!(inside("", "abs/new/file"), "src/new/file abs/new/file");
    assert_eq!(inside("", "UPPER/.ENV"), "UPPER/.ENV upper/.env");
    assert_eq!(inside("", "notes.txt"), ".env notes.txt");
    assert_eq!(inside("", "innocent.txt"), "innocent.txt .env");
    assert_eq!(inside("", "etc/hosts"), "Outside");
    assert_eq!(inside("src", "../.."), "Outside");
    assert_eq!(inside("", "~/x"), "Outside");
    assert_eq!(inside("", "/etc"), "Outside");
    assert_eq!(inside("", "loop_a"), "Unknown");
    assert_eq!(inside("", ""), "Unknown");
}
