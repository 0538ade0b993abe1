//! The block list: what is never run, in whatever mode. Tables first, then how they are read.

use super::report::{Finding, shown};
use super::words::{Part, Word};

/// Programs that are never run, whatever their arguments.
const NEVER: &[(&str, &str)] = &[
    ("dd", "dd writes raw blocks"),
    ("mke2fs", "it makes a file system"),
    ("mkswap", "it overwrites a device"),
    ("wipefs", "it erases file systems"),
    ("blkdiscard", "it erases a device"),
    ("shutdown", "it stops the machine"),
    ("reboot", "it stops the machine"),
    ("halt", "it stops the machine"),
    ("poweroff", "it stops the machine"),
];

/// Programs that change what their operands name.
const WRITERS: &[&str] = &[
    "tee",
    "cp",
    "mv",
    "rm",
    "ln",
    "install",
    "shred",
    "truncate",
    "touch",
    "chmod",
    "chown",
    "chgrp",
    "rmdir",
    "unlink",
    "sed",
    "perl",
    "rsync",
    "patch",
    "sponge",
    "fdisk",
    "sfdisk",
    "sgdisk",
    "parted",
    "cryptsetup",
    "hdparm",
    "badblocks",
    "mkdir",
    "setfattr",
    "setfacl",
];

/// Folders at the top of a system that nothing survives without, or that hold everything of everybody.
const SYSTEM: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "Users",
    "System",
    "Library",
    "Applications",
];

/// Names of block devices and of memory below `/dev`, up to their numbers.
const DEVICES: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "md", "loop", "mapper/", "disk/", "sr", "nbd", "zd", "ram",
    "rdisk", "mem", "kmem", "port", "bcache", "zvol/",
];

/// A rule of the block list that a command meets. `folders` are those it may run in.
pub(super) fn blocked(program: &str, args: &[Word], folders: &[String]) -> Option<Finding> {
    if let Some((_, why)) = NEVER.iter().find(|(name, _)| *name == program) {
        return Some(deny(format!("{program} is blocked: {why}.")));
    }
    if program.starts_with("mkfs") {
        return Some(deny(format!("{} is blocked: it makes a file system.", shown(program, 40))));
    }
    match program {
        "rm" => removes_everything(args, folders),
        "chmod" | "chown" | "chgrp" if is_set(args, 'R', "--recursive") => everything(args, folders, program),
        "mv" => everything(args, folders, program),
        "find" if args.iter().any(|arg| arg.guess() == Some("-delete")) || removes_found(args) => {
            everything(args, folders, program)
        }
        "systemctl" | "loginctl" => stops_machine(args),
        "init" | "telinit" => args.first().and_then(runlevel),
        _ => None,
    }
    .or_else(|| writes_device(program, args))
}

/// Whether `find` runs a program that removes what it finds.
fn removes_found(args: &[Word]) -> bool {
    let runs = |word: &Word| matches!(word.guess(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
    let removes = |word: &Word| {
        word.guess().is_some_and(|text| matches!(text.rsplit('/').next(), Some("rm" | "unlink" | "shred" | "rmdir")))
    };
    args.windows(2).any(|pair| runs(&pair[0]) && removes(&pair[1]))
}

/// Whether the program changes what its operands name.
pub(super) fn is_writer(program: &str) -> bool {
    WRITERS.contains(&program)
}

/// A block device or the memory of the machine, as a place to write to.
pub(super) fn device(path: &str) -> Option<Finding> {
    let names = resolve("/", path)?;
    let (first, rest) = names.split_first()?;
    let name = rest.join("/");
    let is_device = *first == "dev"
        && DEVICES.iter().any(|device| name.starts_with(device) || name == device.trim_end_matches('/'));
    is_device.then(|| deny(format!("{} is a device.", shown(path, 80))))
}

/// A file that the system starts from or is steered by, as a place to write to.
pub(super) fn system_file(path: &str) -> Option<Finding> {
    let names = resolve("/", path).filter(|_| path.starts_with('/'))?;
    let own = matches!(names.as_slice(), ["proc", "self" | "thread-self", ..]);
    let system = matches!(names.first(), Some(&("etc" | "proc" | "sys" | "boot")));
    (system && !own).then(|| deny(format!("{} is a file of the system.", shown(path, 80))))
}

/// A function that calls itself beside itself.
pub(super) fn fork_bomb(name: &str) -> Finding {
    Finding::deny("fork_bomb", format!("The function {} starts itself again and again.", shown(name, 40)))
}

fn deny(reason: String) -> Finding {
    Finding::deny("blocked_command", reason)
}

fn removes_everything(args: &[Word], folders: &[String]) -> Option<Finding> {
    if args.iter().filter_map(Word::guess).any(|arg| arg.len() > 6 && "--no-preserve-root".starts_with(arg)) {
        return Some(deny("rm --no-preserve-root is blocked.".into()));
    }
    let recursive = is_set(args, 'r', "--recursive") || is_set(args, 'R', "--recursive");
    if recursive { everything(args, folders, "rm") } else { None }
}

/// Whether an option is there: in a cluster of short ones, or any beginning of the long one.
fn is_set(args: &[Word], short: char, long: &str) -> bool {
    let options = args.iter().filter_map(Word::guess).take_while(|arg| *arg != "--");
    options.filter(|arg| arg.starts_with('-')).any(|arg| match arg.strip_prefix("--") {
        Some(name) => !name.is_empty() && long.starts_with(arg),
        None => arg.contains(short),
    })
}

fn everything(args: &[Word], folders: &[String], program: &str) -> Option<Finding> {
    // What is moved to a place that nobody knows yet harms nothing there.
    let judged = |arg: &&Word| program != "mv" || !arg.parts.contains(&Part::Unknown);
    let target = args.iter().filter(judged).find(|arg| !is_option(arg) && is_everything(arg, folders))?;
    Some(deny(format!("{program} on {} would reach far beyond the project.", shown(&target.pattern(), 80))))
}

fn is_option(arg: &Word) -> bool {
    arg.guess().is_some_and(|arg| arg.starts_with('-'))
}

/// Whether a word names the whole system, one of its main folders, the home folder, or everything above the project.
fn is_everything(word: &Word, folders: &[String]) -> bool {
    let pattern = word.pattern();
    // Behind a `/` what is unknown may be nothing or everything; elsewhere nothing can be said.
    if word.parts.contains(&Part::Unknown) && !pattern.starts_with('/') {
        return false;
    }
    if word.parts.first() == Some(&Part::Home) {
        return resolve("", &pattern[1..]).is_none_or(|names| is_all(&names));
    }
    if pattern.starts_with('/') {
        return is_system(&pattern, "/");
    }
    folders.iter().any(|folder| {
        if folder.starts_with('/') {
            return is_system(&pattern, folder);
        }
        // A name that follows `..` is a neighbour and only asked about.
        let (above, names) = climb(folder, &pattern);
        above > 0 && is_all(&names)
    })
}

fn is_system(path: &str, folder: &str) -> bool {
    let Some(names) = resolve(folder, path) else { return true };
    match names.as_slice() {
        [] => true,
        [first, rest @ ..] => (is_any(first) || may_be_system(first)) && is_all(rest),
    }
}

/// Whether a name is one of the folders of the system, or a pattern that one of them matches.
fn may_be_system(name: &str) -> bool {
    let glob = name.contains(['*', '?', '[']);
    SYSTEM.iter().any(|folder| *folder == name || glob && crate::policy::paths::could_be(name, folder))
}

fn is_all(names: &[&str]) -> bool {
    names.iter().all(|name| is_any(name))
}

/// Whether a name is a pattern that leaves nothing out.
fn is_any(name: &str) -> bool {
    let mut bracket = false;
    let rest = name.chars().filter(|&c| match c {
        '[' => std::mem::replace(&mut bracket, true),
        ']' => !std::mem::replace(&mut bracket, false),
        _ => !bracket,
    });
    name.contains(['*', '?', '[']) && rest.into_iter().all(|c| "*?.".contains(c))
}

/// A path with `.` and `..` worked in as text, whatever links are on the way.
pub(super) fn collapsed(path: &str) -> String {
    let (above, names) = climb("", path);
    let top = if path.starts_with('/') { "/".to_owned() } else { "../".repeat(above) };
    format!("{top}{}", names.join("/"))
}

/// The names of a path below a folder with `.` and `..` worked in. Above `/` there is only `/`; above a relative folder
/// there is `None`.
fn resolve<'a>(folder: &'a str, path: &'a str) -> Option<Vec<&'a str>> {
    let absolute = path.starts_with('/') && !folder.is_empty();
    let top = absolute || folder.starts_with('/');
    let (above, names) = climb(if absolute { "" } else { folder }, path);
    (top || above == 0).then_some(names)
}

/// How many folders above the start a path leads, and the names from there.
fn climb<'a>(folder: &'a str, path: &'a str) -> (usize, Vec<&'a str>) {
    let (mut above, mut names) = (0, Vec::new());
    for name in folder.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." if names.pop().is_none() => above += 1,
            ".." => {}
            _ => names.push(name),
        }
    }
    (above, names)
}

fn stops_machine(args: &[Word]) -> Option<Finding> {
    let stops = ["poweroff", "reboot", "halt", "kexec", "soft-reboot", "suspend", "hibernate"];
    let verb = args.iter().filter_map(Word::guess).find(|arg| stops.contains(arg))?;
    Some(deny(format!("{verb} is blocked: it stops the machine.")))
}

fn runlevel(arg: &Word) -> Option<Finding> {
    matches!(arg.guess(), Some("0" | "6")).then(|| deny("It stops the machine.".into()))
}

fn writes_device(program: &str, args: &[Word]) -> Option<Finding> {
    if program == "tee"
        && let Some(finding) = args.iter().find_map(|arg| system_file(&arg.pattern()))
    {
        return Some(finding);
    }
    if !is_writer(program) {
        return None;
    }
    args.iter().find_map(|arg| {
        let pattern = arg.pattern();
        device(pattern.split_once('=').map_or(pattern.as_str(), |(_, value)| value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_worked_out() {
        assert_eq!(resolve("/", "/usr/.."), Some(vec![]));
        assert_eq!(resolve("/", "//a/./b"), Some(vec!["a", "b"]));
        assert_eq!(resolve("src", "../.."), None);
        assert_eq!(resolve("src", ".."), Some(vec![]));
        assert_eq!(resolve("/home", "../.."), Some(vec![]));
    }

    #[test]
    fn what_is_everything() {
        let here = [String::new()];
        for word in ["/", "/*", "//", "/..", "/usr/..", "/etc", "/home/*", "..", "../..", "../*", "/.*", "/?*"] {
            assert!(is_everything(&Word::text(word), &here), "{word}");
        }
        for word in ["target", "../x", "/tmp/x", ".", "*", "/*.log", "/home/me/x"] {
            assert!(!is_everything(&Word::text(word), &here), "{word}");
        }
        assert!(is_everything(&Word::text("*"), &["/".to_owned()]));
    }
}
