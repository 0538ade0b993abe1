//! The block list: what is never run, in whatever mode. Tables first, then how they are read.

pub(crate) use super::reach::collapsed;
use super::reach::{everything, resolve};
use super::report::{Finding, shown};
use crate::shell::expand::Word;
use std::ops::Range;

/// Programs that are never run, whatever their arguments.
const NEVER: &[(&str, &str)] = &[
    ("dd", "it writes raw blocks; copy with `cp`, or cut with `head -c` and `tail -c`"),
    ("dcfldd", "it writes raw blocks"),
    ("ddrescue", "it writes raw blocks"),
    ("mke2fs", "it makes a file system"),
    ("mkdosfs", "it makes a file system"),
    ("mkswap", "it overwrites a device"),
    ("wipefs", "it erases file systems"),
    ("blkdiscard", "it erases a device"),
    ("lvremove", "it erases a volume"),
    ("vgremove", "it erases volumes"),
    ("pvremove", "it erases volumes"),
    ("killall5", "it ends every process"),
    ("shutdown", "it stops the machine"),
    ("reboot", "it stops the machine"),
    ("halt", "it stops the machine"),
    ("poweroff", "it stops the machine"),
];

/// Programs with the words that make them erase a disk.
const ERASERS: &[(&str, &[&str])] = &[
    ("zpool", &["destroy", "labelclear"]),
    ("zfs", &["destroy"]),
    ("nvme", &["format", "sanitize", "write-zeroes"]),
    ("diskutil", &["eraseDisk", "eraseVolume", "partitionDisk", "zeroDisk", "secureErase", "reformat"]),
    ("mdadm", &["--zero-superblock"]),
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

/// More programs that may write to a device that they are told.
const DEVICE_WRITERS: &[&str] =
    &["curl", "wget", "tar", "socat", "qemu-img", "pv", "losetup", "nvme", "mdadm", "partclone", "gdisk", "cfdisk"];

/// Programs that write to the last of their operands alone.
const COPIERS: &[&str] = &["cp", "ln", "install", "rsync"];

/// Names of block devices and of memory below `/dev`, up to their numbers.
const DEVICES: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "md", "loop", "mapper/", "disk", "sr", "nbd", "zd", "ram",
    "rdisk", "mem", "kmem", "port", "bcache", "zvol/",
];

/// Programs that are refused by what they would reach, and so are looked for behind programs that nobody knows.
const REACHING: &[&str] = &["rm", "chmod", "chown", "chgrp", "mv", "find", "shred", "tee", "cp", "kill"];

/// The most places behind a program where another one is looked for.
const MOST_BEHIND: usize = 8;

/// A rule of the block list that a command meets. `folders` are those it may run in.
pub(crate) fn blocked(program: &str, args: &[Word], folders: &[String]) -> Option<Finding> {
    if let Some((_, why)) = NEVER.iter().find(|(name, _)| *name == program) {
        return Some(deny(format!("{program} is blocked: {why}.")));
    }
    if program.starts_with("mkfs") || program.starts_with("newfs") {
        return Some(deny(format!("{} is blocked: it makes a file system.", shown(program, 40))));
    }
    let erases = |(name, words): &&(&str, &[&str])| *name == program && has_any(args, words);
    if ERASERS.iter().any(|eraser| erases(&eraser)) {
        return Some(deny(format!("{program} is blocked here: it erases a disk.")));
    }
    reached(program, args, folders).or_else(|| writes_system(program, args, folders))
}

/// What the program would reach.
fn reached(program: &str, args: &[Word], folders: &[String]) -> Option<Finding> {
    match program {
        "rm" => removes_everything(args, folders),
        "chmod" | "chown" | "chgrp" | "setfacl" if is_set(args, 'R', "--recursive") => {
            everything(args, folders, program)
        }
        "mv" => everything(sources(args), folders, program),
        "find" if has_any(args, &["-delete"]) || removes_found(args) => everything(args, folders, program),
        "systemctl" | "loginctl" => stops_machine(args),
        "init" | "telinit" => args.first().and_then(runlevel),
        "kill" => ends_everything(args),
        _ => None,
    }
}

/// A blocked command among the words of one that nobody knows, which may be a wrapper. Only what it would reach counts
/// there: a name alone may be anything.
pub(crate) fn blocked_behind(argv: &[Word], folders: &[String]) -> Option<Finding> {
    let places = (1..argv.len()).filter(|&at| REACHING.contains(&program(&argv[at])));
    places.take(MOST_BEHIND).find_map(|at| {
        let (name, args) = (program(&argv[at]), &argv[at + 1..]);
        reached(name, args, folders).or_else(|| writes_system(name, args, folders))
    })
}

fn program(word: &Word) -> &str {
    word.guess().and_then(|text| text.rsplit('/').next()).unwrap_or_default()
}

/// All but the last operand, into which they go.
fn sources(args: &[Word]) -> &[Word] {
    let operands = args.iter().filter(|arg| !is_option(arg)).count();
    match args.split_last() {
        Some((last, rest)) if operands > 1 && !is_option(last) => rest,
        _ => args,
    }
}

fn has_any(args: &[Word], words: &[&str]) -> bool {
    args.iter().filter_map(Word::guess).any(|arg| words.contains(&arg))
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
fn is_writer(program: &str, args: &[Word]) -> bool {
    let option = |arg: &str| {
        let letters = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-')).map(|rest| rest.split('.').next());
        arg.starts_with("--in-place") || letters.flatten().is_some_and(|letters| letters.contains('i'))
    };
    let in_place = || args.iter().filter_map(Word::guess).any(option);
    WRITERS.contains(&program) && (!matches!(program, "sed" | "perl") || in_place())
}

/// The places of the operands that the program changes.
pub(crate) fn written(program: &str, args: &[Word]) -> Range<usize> {
    if !is_writer(program, args) {
        return 0..0;
    }
    let into = args.iter().filter_map(Word::guess).any(|arg| arg.starts_with("-t") || arg.starts_with("--target"));
    match args.iter().rposition(|arg| !is_option(arg)) {
        Some(last) if COPIERS.contains(&program) && !into => last..last + 1,
        _ => 0..args.len(),
    }
}

/// A block device or the memory of the machine, as a place to write to.
pub(crate) fn device(path: &str, folders: &[String]) -> Option<Finding> {
    let absolute = folders.iter().filter(|folder| folder.starts_with('/'));
    let mut places: Vec<Vec<&str>> = absolute.filter_map(|folder| resolve(folder, path)).collect();
    if path.starts_with('/') {
        places.extend(resolve("/", path));
    }
    places.iter().any(|names| is_device(names)).then(|| deny(format!("{} is a device.", shown(path, 80))))
}

fn is_device(names: &[&str]) -> bool {
    let Some((&"dev", rest)) = names.split_first() else { return false };
    let name = rest.join("/");
    DEVICES.iter().any(|device| name.starts_with(device) || name == device.trim_end_matches('/'))
}

/// A file that the system starts from or is steered by, as a place to write to.
pub(crate) fn system_file(path: &str) -> Option<Finding> {
    let names = resolve("/", path).filter(|_| path.starts_with('/'))?;
    let own = matches!(names.as_slice(), ["proc", "self" | "thread-self", ..]);
    let system = matches!(names.first(), Some(&("etc" | "proc" | "sys" | "boot")));
    (system && !own).then(|| deny(format!("{} is a file of the system.", shown(path, 80))))
}

/// A function that calls itself beside itself.
pub(crate) fn fork_bomb(name: &str) -> Finding {
    Finding::deny("fork_bomb", format!("The function {} starts itself again and again.", shown(name, 40)))
}

pub(crate) fn deny(reason: String) -> Finding {
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

pub(crate) fn is_option(arg: &Word) -> bool {
    arg.guess().is_some_and(|arg| arg.starts_with('-'))
}

fn stops_machine(args: &[Word]) -> Option<Finding> {
    let stops = ["poweroff", "reboot", "halt", "kexec", "soft-reboot", "suspend", "hibernate"];
    let starts = has_any(args, &["isolate", "start"]);
    let target = |arg: &str| starts && arg.strip_suffix(".target").is_some_and(|name| stops.contains(&name));
    let verb = args.iter().filter_map(Word::guess).find(|arg| stops.contains(arg) || target(arg))?;
    Some(deny(format!("{verb} is blocked: it stops the machine.")))
}

fn runlevel(arg: &Word) -> Option<Finding> {
    matches!(arg.guess(), Some("0" | "6")).then(|| deny("It stops the machine.".into()))
}

/// `kill -9 -1`: the first word is a signal, `-1` behind it is everybody.
fn ends_everything(args: &[Word]) -> Option<Finding> {
    let all = args.iter().skip(1).any(|arg| arg.guess() == Some("-1"));
    all.then(|| deny("kill with -1 ends every process; name the one that is meant.".into()))
}

/// A device, or a file of the system, that the program would write to.
fn writes_system(program: &str, args: &[Word], folders: &[String]) -> Option<Finding> {
    let written = written(program, args);
    if written.is_empty() && !DEVICE_WRITERS.contains(&program) && !COPIERS.contains(&program) {
        return None;
    }
    args.iter().enumerate().find_map(|(at, arg)| {
        let pattern = arg.pattern();
        let path = pattern.split_once('=').map_or(pattern.as_ref(), |(_, value)| value);
        let file = || written.contains(&at).then(|| system_file(path)).flatten();
        let reads = COPIERS.contains(&program) && !written.contains(&at);
        if reads { None } else { device(path, folders).or_else(file) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Word> {
        line.split(' ').map(Word::text).collect()
    }

    #[test]
    fn a_command_is_found_behind_a_wrapper_that_nobody_knows() {
        for line in ["x rm -rf /", "x -y z /bin/rm -r /usr", "x cp a /dev/sda", "x y chmod -R 777 /"] {
            assert!(blocked_behind(&words(line), &[]).is_some(), "{line}");
        }
        for line in ["x rm -rf target", "x rm", "x rm /", "commit -m rm", "rm -rf /", "x cp /dev/sda y"] {
            assert!(blocked_behind(&words(line), &[]).is_none(), "{line}");
        }
    }

    #[test]
    fn devices_are_told_from_names_like_theirs() {
        for (path, folder) in [("/dev/sda", ""), ("/dev/../dev/sdb1", ""), ("sda", "/dev"), ("/dev/disk2", "")] {
            assert!(device(path, &[folder.to_owned()]).is_some(), "{path} in {folder}");
        }
        for path in ["dev/sda", "sda", "/dev/null", "/dev/tty", "/dev/stderr", "/devel/sda"] {
            assert!(device(path, &[String::new(), "src".to_owned()]).is_none(), "{path}");
        }
    }
}
