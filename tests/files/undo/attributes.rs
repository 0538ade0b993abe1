//! Tests that modes, access control lists and extended attributes survive a change and its undo, and that a file is
//! never more accessible in between.
//!
//! Changes of the owner are tested only as root, everything else as any user.

use super::Place;
use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use toolfence_workspace::{EditFile, EditLines, ReplaceText};

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

/// Returns an access control list for the owner, user 1234, the group, the mask and others.
fn list([owner, user, group, mask, others]: [u16; 5]) -> Vec<u8> {
    let anybody = u32::MAX;
    let entries =
        [(1u16, owner, anybody), (2, user, 1234), (4, group, anybody), (0x10, mask, anybody), (0x20, others, anybody)];
    let entry = |(tag, rights, id): (u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2u32.to_le_bytes().to_vec(), entries.into_iter().flat_map(entry).collect()].concat()
}

fn set(path: &Path, name: &str, value: &[u8]) {
    setxattr(path, name, value, XattrFlags::empty()).expect("it was tried before");
}

/// Returns the mode and all attributes.
fn attributes_of(path: &Path) -> (u32, Vec<(String, Vec<u8>)>) {
    let mut names = vec![0; 65536];
    let length = listxattr(path, &mut names[..]).expect("it is there");
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| {
        let mut value = vec![0; 65536];
        let length = getxattr(path, name, &mut value[..]).expect("it is there");
        (String::from_utf8_lossy(name).into_owned(), value[..length].to_vec())
    };
    let mut all: Vec<_> = names.map(value).collect();
    all.sort();
    (fs::metadata(path).expect("it is there").permissions().mode() & 0o7777, all)
}

/// Creates a project with a file that has all attributes. Prints a line and returns `None` if the file system does not
/// support them.
fn place() -> Option<Place> {
    let place = Place::new();
    let file = place.root().join("s");
    fs::write(&file, "secret\n").expect("it can be written");
    let given = setxattr(&file, "user.note", b"mine\0", XattrFlags::empty())
        .and_then(|()| setxattr(&file, "user.empty", b"", XattrFlags::empty()))
        .and_then(|()| setxattr(&file, ACCESS, &list([6, 6, 0, 6, 0]), XattrFlags::empty()));
    if let Err(errno) = given {
        println!("skipped: the temporary folder has no access control lists or attributes ({errno})");
        return None;
    }
    Some(place)
}

#[test]
fn attributes_survive_every_tool_and_undo() {
    let patch = "*** Begin Patch\n*** Update File: s\n@@\n-secret\n+other\n*** Add File: more\n+x\n*** End Patch\n";
    let renamed = "*** Begin Patch\n*** Update File: s\n*** Move to: d/t\n@@\n-secret\n+other\n*** End Patch\n";
    type Act<'a> = (&'a str, &'a str, Box<dyn Fn(&Place) + 'a>);
    let line = || EditLines { start_line: 1, end_line: 1, replacement: "other".into() };
    let acts: [Act<'_>; 6] = [
        ("write", "s", Box::new(|place| place.write("s", "other\n"))),
        (
            "edit",
            "s",
            Box::new(|place| drop(place.workspace.changes().edit(&EditFile::new("s", vec![line()])).unwrap())),
        ),
        (
            "replace",
            "s",
            Box::new(|place| {
                drop(place.workspace.changes().replace_text(&ReplaceText::new("s", "secret", "other")).unwrap());
            }),
        ),
        ("patch", "s", Box::new(|place| drop(place.workspace.changes().apply_patch(patch, false).unwrap()))),
        ("rename", "d/t", Box::new(|place| drop(place.workspace.changes().apply_patch(renamed, false).unwrap()))),
        (
            "taken back",
            "s",
            Box::new(|place| {
                let draft = place.workspace.changes().draft_write("s", "worse\n", None).unwrap();
                place.write("s", "worse\n");
                place.workspace.changes().take_back(&draft).unwrap();
                place.write("s", "other\n");
            }),
        ),
    ];
    for (what, name, act) in acts {
        let Some(place) = place() else { return };
        let before = attributes_of(&place.root().join("s"));
        assert_eq!((before.0, before.1.len()), (0o660, 3), "{before:?}");
        place.turn(|| act(&place));
        assert_eq!(attributes_of(&place.root().join(name)), before, "{what}");
        assert_eq!(fs::read_to_string(place.root().join(name)).unwrap(), "other\n");
        assert_eq!(place.undo().refused, [], "{what}");
        assert_eq!(
            (attributes_of(&place.root().join("s")), fs::read_to_string(place.root().join("s")).unwrap()),
            (before.clone(), "secret\n".into()),
            "{what}"
        );
        assert_eq!(place.redo().refused, [], "{what}");
        assert_eq!(attributes_of(&place.root().join(name)), before, "{what}");
    }
}

/// A new file must not inherit the default list of its folder, which would grant access to users that the old file
/// excluded.
#[test]
fn a_file_without_a_list_gets_none_from_its_folder() {
    let Some(place) = place() else { return };
    let (root, plain) = (place.root(), place.root().join("plain"));
    fs::write(&plain, "old\n").unwrap();
    fs::set_permissions(&plain, PermissionsExt::from_mode(0o660)).unwrap();
    set(&root, DEFAULT, &list([7, 7, 7, 7, 0]));
    place.turn(|| place.write("plain", "new\n"));
    assert_eq!(attributes_of(&plain), (0o660, Vec::new()));
    place.turn(|| place.bash("rm plain"));
    assert_eq!(place.undo().refused, []);
    assert_eq!(attributes_of(&plain), (0o660, Vec::new()), "a plain file has no list");
}

const CHILD: &str = "TOOLFENCE_TEST_NO_LISTS";

/// A file is moved to a disk without access control lists. With a list, the group bits of the mode are the mask and not
/// the rights of the group, so the group gets no access there.
#[test]
fn without_access_control_lists_access_never_widens() {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount"]).arg(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "undo::attributes::on_a_disk_without_lists",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    let output = command.env(CHILD, "1").stdin(Stdio::null()).output();
    let said = output.map(|output| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned());
    let said = said.unwrap_or_else(|error| format!("skipped: unshare: {error}"));
    match said.lines().find(|line| line.starts_with("skipped")) {
        Some(line) => println!("{line}"),
        None if said.contains("Operation not permitted") => println!("skipped: no user namespace"),
        None => assert!(said.contains("1 passed"), "{said}"),
    }
}

#[test]
#[ignore = "it is the child of another test"]
fn on_a_disk_without_lists() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let place = Place::new();
    let (file, disk) = (place.root().join("s"), place.root().join("disk"));
    fs::write(&file, "secret\n").unwrap();
    fs::create_dir(&disk).unwrap();
    // The namespace has only the user 0, so the list names that user.
    let mut acl = list([6, 6, 0, 6, 4]);
    acl[16..20].copy_from_slice(&0u32.to_le_bytes());
    let mounted = Command::new("mount").args(["-t", "ramfs", "ramfs"]).arg(&disk).status();
    if !mounted.is_ok_and(|status| status.success()) || setxattr(&file, ACCESS, &acl, XattrFlags::empty()).is_err() {
        println!("skipped: no disk without access control lists");
        return;
    }
    let renamed = "*** Begin Patch\n*** Update File: s\n*** Move to: disk/t\n@@\n-secret\n+other\n*** End Patch\n";
    let mut lost = Vec::new();
    place.turn(|| lost = place.workspace.changes().apply_patch(renamed, false).unwrap().lost);
    assert_eq!(lost, [("disk/t".to_owned(), vec!["access control list".into()])]);
    // The group had no access. Its members must not get access as others either.
    assert_eq!(attributes_of(&disk.join("t")).0, 0o600);
    assert_eq!(place.undo().refused, []);
    assert_eq!(attributes_of(&file), (0o664, vec![(ACCESS.to_owned(), acl)]));
}
