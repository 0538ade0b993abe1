//! The block list: commands that never run, in any mode.
//!
//! It catches mistakes of a model. The sandbox confines everything else, and a command without one needs approval.

use super::commands::ListedCommand;
use super::parse::ShellWord;
use super::wrappers::base_name;
use crate::shown::escape;
use toolfence_protocol::{Text, text};

/// Programs that write file systems or stop the machine, whatever their arguments are. [`reason_of`] has the reason.
const BLOCKED_PROGRAMS: &[(&str, Harm)] = &[
    (
        "mke2fs mkdosfs mkntfs mkexfatfs mkudffs mkreiserfs mkswap wipefs blkdiscard lvremove vgremove pvremove dcfldd ddrescue",
        Harm::ErasesDisk,
    ),
    ("shutdown reboot halt poweroff killall5", Harm::StopsMachine),
];

/// Programs that do such harm if one of these words is an argument.
const BLOCKED_WORDS: &[(&str, &str, Harm)] = &[
    ("zpool", "destroy labelclear", Harm::ErasesDisk),
    ("zfs", "destroy", Harm::ErasesDisk),
    ("nvme", "format sanitize write-zeroes", Harm::ErasesDisk),
    ("diskutil", "eraseDisk eraseVolume partitionDisk zeroDisk secureErase reformat", Harm::ErasesDisk),
    ("mdadm", "--zero-superblock", Harm::ErasesDisk),
    ("systemctl loginctl", "poweroff reboot halt kexec soft-reboot suspend hibernate", Harm::StopsMachine),
    ("init telinit", "0 6", Harm::StopsMachine),
];

/// Programs that write to the devices among their operands.
const DEVICE_WRITERS: &str = "dd tee shred cp mv rm ln install truncate fdisk sfdisk sgdisk gdisk cfdisk parted cryptsetup hdparm \
    badblocks qemu-img pv losetup partclone sponge socat curl wget tar sort";

/// How the names of block devices and of memory begin below `/dev`.
const DEVICES: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "md", "loop", "mapper/", "disk", "sr", "nbd", "zd", "ram",
    "rdisk", "mem", "kmem", "port", "bcache", "zvol/", "block/", "pmem", "mtd", "dasd", "zram",
];

/// Main folders of a system.
const SYSTEM_FOLDERS: &str = "bin boot dev etc home lib lib32 lib64 opt proc root run sbin srv sys usr var Users System Library \
    Applications";

/// Main folders in which each folder belongs to the system too.
const DEEP_SYSTEM_FOLDERS: &str = "bin boot dev etc lib lib32 lib64 proc sbin sys usr System Library";

#[derive(Clone, Copy)]
enum Harm {
    ErasesDisk,
    StopsMachine,
}

/// Returns why a command is blocked. `folders` are the folders in which it may run: relative to the root, absolute, or
/// below `~`.
pub(super) fn find_blocked(command: &ListedCommand, folders: &[String]) -> Option<Text> {
    let redirections = command.parsed.redirections.iter().filter(|it| it.operator.contains('>'));
    for redirection in redirections {
        if let Some(path) = path_text(&redirection.target)
            && is_device(path, folders)
        {
            return Some(text!("The command is blocked: it writes to the device {path}.", path = escape(path, 80)));
        }
    }
    let (name, arguments) = command.words.split_first()?;
    let program = base_name(name.literal()?);
    let literals = || arguments.iter().filter_map(ShellWord::literal);
    let by_name = BLOCKED_PROGRAMS.iter().find(|(programs, _)| contains_word(programs, program)).map(|(_, harm)| *harm);
    let by_word = || {
        let row = BLOCKED_WORDS.iter().find(|(programs, ..)| contains_word(programs, program))?;
        literals().any(|word| contains_word(row.1, word)).then_some(row.2)
    };
    // There is one program for each kind of file system: `mkfs.ext4`, `newfs_msdos`.
    let makes_file_system = program.starts_with("mkfs") || program.starts_with("newfs");
    if makes_file_system {
        return Some(reason_of(Harm::ErasesDisk, program));
    }
    if let Some(harm) = by_name.or_else(by_word) {
        return Some(reason_of(harm, program));
    }
    // The first argument may be the signal 1: `kill -1 PID`. After it, `-1` means every process.
    if program == "kill" && literals().skip(1).any(|word| word == "-1") {
        return Some(text!("`kill` with -1 ends every process. Name the process."));
    }
    if contains_word(DEVICE_WRITERS, program) {
        for path in arguments.iter().filter_map(path_text) {
            // Only `dd` reads devices by an operand of its own. The value of an option can be in its word:
            // `-o/dev/sda`.
            let path = match path.strip_prefix("of=") {
                Some(path) => path,
                None if path.starts_with("--") => path.split_once('=').map_or(path, |(_, value)| value),
                None if path.starts_with('-') => path.get(2..).unwrap_or(path),
                None => path,
            };
            // A device before the last operand is a source: `cp /dev/sda image`.
            let is_source = program != "dd" && matches!(program, "cp" | "tar") && !is_last(arguments, path);
            if is_device(path, folders) && !path.starts_with("if=") && !is_source {
                return Some(text!("The command is blocked: it writes to the device {path}.", path = escape(path, 80)));
            }
        }
    }
    let reached = reached_operands(program, arguments);
    if program == "rm" && literals().any(|word| word.len() > 6 && "--no-preserve-root".starts_with(word)) {
        return Some(text!("`rm --no-preserve-root` is blocked."));
    }
    let target = reached.iter().filter(|word| !is_option(word)).find(|word| reaches_everything(word, folders))?;
    let path = escape(&display(target), 80);
    Some(text!(
        "{program} on {path} reaches far beyond the project. Name the files, relative to the root of the project.",
        program,
        path
    ))
}

/// Returns `true` if a program removes or changes a whole tree whose name is known only when it runs.
pub(super) fn may_reach_everything(command: &ListedCommand) -> bool {
    let Some((name, arguments)) = command.words.split_first() else { return false };
    let program = name.literal().map_or("", base_name);
    let is_open = |word: &ShellWord| matches!(word, ShellWord::Unknown { prefix, .. } if prefix.is_empty());
    program != "mv" && reached_operands(program, arguments).iter().any(is_open)
}

/// Returns the operands that a program removes, changes or moves with all their contents.
fn reached_operands<'w>(program: &str, arguments: &'w [ShellWord]) -> &'w [ShellWord] {
    match program {
        "rm" if has_option(arguments, "rR", "--recursive") => arguments,
        "chmod" | "chown" | "chgrp" | "setfacl" if has_option(arguments, "R", "--recursive") => arguments,
        "mv" if has_option(arguments, "t", "--target-directory") => arguments,
        // The last operand of `mv` is the target, which it does not remove.
        "mv" => arguments.split_last().map_or(arguments, |(_, sources)| sources),
        "find" if removes_found(arguments) => {
            // The folders of `find` precede the expression, and the options for links precede the folders.
            let is_early = |text: &str| matches!(text, "-H" | "-L" | "-P" | "--") || text.starts_with("-O");
            let begins = |word: &ShellWord| {
                word.literal().is_some_and(|text| text.starts_with(['-', '(', '!']) && !is_early(text))
            };
            &arguments[..arguments.iter().position(begins).unwrap_or(arguments.len())]
        }
        _ => &[],
    }
}

/// Returns why a text is blocked that defines and starts a function which starts itself: `:(){ :|:& };:`.
pub(super) fn find_fork_bomb(command: &str) -> Option<Text> {
    /// Each function is compared with the rest of the text.
    const MAX_FUNCTIONS: usize = 64;
    let compact: String = command.chars().filter(|c| !c.is_whitespace()).collect();
    let functions = compact.match_indices('{').filter_map(|(at, _)| {
        let head = &compact[..at];
        let before = head.strip_suffix("()").unwrap_or(head);
        let start = before.rfind([';', '&', '|', '\'', '"', '(', '{', '}']).map_or(0, |at| at + 1);
        let name = before[start..].strip_prefix("function");
        let is_function = head.ends_with("()") || name.is_some();
        let name = name.unwrap_or(&before[start..]);
        (is_function && !name.is_empty()).then_some((name, &compact[at + 1..]))
    });
    functions.take(MAX_FUNCTIONS).find_map(|(name, after)| {
        let body = after.split('}').next()?.replace("&&", ";").replace("||", ";");
        let calls = body.split(['|', '&', ';']).filter(|part| *part == name).count();
        (calls > 1 && body.contains(['|', '&']))
            .then(|| text!("The function {name} starts itself again and again.", name = escape(name, 40)))
    })
}

/// Maximum number of folders to follow. A list of this length may be incomplete.
pub(super) const MAX_FOLDERS: usize = 16;

/// Lists the folders in which the commands of a text may run: its own, and each to which it changes.
pub(super) fn list_folders(cwd: &str, commands: &[ListedCommand]) -> Vec<String> {
    let mut folders = vec![cwd.to_owned()];
    for command in commands {
        let Some((name, arguments)) = command.words.split_first() else { continue };
        if !matches!(name.literal(), Some("cd" | "pushd")) {
            continue;
        }
        let target = arguments.iter().find(|word| !is_option(word)).map_or("~".to_owned(), display);
        // Whether a `cd` runs is unknown, so the folders before it stay in the list.
        let below: Vec<String> = folders.iter().map(|folder| join(folder, &target)).collect();
        for folder in below {
            if folders.len() < MAX_FOLDERS && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}

fn join(folder: &str, path: &str) -> String {
    if path.starts_with(['/', '~']) || folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

fn reason_of(harm: Harm, program: &str) -> Text {
    let program = escape(program, 40);
    match harm {
        Harm::ErasesDisk => text!("{program} is blocked: it can erase a disk.", program),
        Harm::StopsMachine => text!("{program} is blocked: it stops the machine.", program),
    }
}

/// Reports whether a list of words, with blanks between them, has a word.
fn contains_word(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

pub(super) fn is_option(word: &ShellWord) -> bool {
    word.literal().is_some_and(|text| text.starts_with('-') && text.len() > 1)
}

fn is_last(arguments: &[ShellWord], path: &str) -> bool {
    arguments.last().and_then(path_text) == Some(path)
}

/// Returns the text of a word that can be a path.
fn path_text(word: &ShellWord) -> Option<&str> {
    match word {
        ShellWord::Literal(text) | ShellWord::Pattern(text) => Some(text),
        ShellWord::Unknown { prefix, .. } => Some(prefix),
        ShellWord::Home(_) => None,
    }
}

/// Formats a word for display. `..` represents an unknown part.
pub(super) fn display(word: &ShellWord) -> String {
    match word {
        ShellWord::Literal(text) | ShellWord::Pattern(text) | ShellWord::Home(text) => text.clone(),
        ShellWord::Unknown { prefix, .. } => format!("{prefix}.."),
    }
}

/// Reports whether an option is set: in a cluster of short ones, or as any beginning of the long one.
fn has_option(arguments: &[ShellWord], short: &str, long: &str) -> bool {
    let options = arguments.iter().filter_map(ShellWord::literal).take_while(|word| *word != "--");
    options.filter(|word| word.starts_with('-')).any(|word| match word.strip_prefix("--") {
        Some(name) => !name.is_empty() && long.starts_with(word),
        None => word.contains(|letter| short.contains(letter)),
    })
}

/// Reports whether `find` removes what it finds.
fn removes_found(arguments: &[ShellWord]) -> bool {
    let literal = |word: &ShellWord| word.literal().unwrap_or("").to_owned();
    let runs = |word: &str| matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir");
    let removes = |word: &str| contains_word("rm unlink shred rmdir", base_name(word));
    let executed = arguments.iter().skip_while(|word| !runs(&literal(word)));
    arguments.iter().any(|word| word.literal() == Some("-delete")) || executed.map(literal).any(|word| removes(&word))
}

/// Reports whether a path is a block device or the memory of the machine.
fn is_device(path: &str, folders: &[String]) -> bool {
    // After `cd /dev`, `sda` is a device too.
    let below = folders.iter().filter(|folder| folder.starts_with('/')).map(|folder| join(folder, path));
    let own = path.starts_with('/').then(|| path.to_owned());
    own.into_iter().chain(below).any(|path| {
        let (_, names) = resolve(&path);
        let Some((&"dev", rest)) = names.split_first() else { return false };
        let name = rest.join("/");
        DEVICES.iter().any(|device| name.starts_with(device) || name == device.trim_end_matches('/'))
    })
}

/// Reports whether a word names the whole system, one of its main folders, the home folder, or everything above the
/// project.
fn reaches_everything(word: &ShellWord, folders: &[String]) -> bool {
    match word {
        ShellWord::Home(text) => is_home(text),
        // The unknown rest of the word can be empty.
        ShellWord::Unknown { prefix, .. } => prefix.starts_with('/') && is_system(prefix),
        ShellWord::Literal(text) | ShellWord::Pattern(text) => folders.iter().any(|folder| {
            let path = join(folder, text);
            if path.starts_with('/') {
                is_system(&path)
            } else if path.starts_with('~') {
                // A literal `~` is a plain name: the shell did not replace it. A folder that begins with `~` comes from
                // `cd ~`.
                !text.starts_with('~') && is_home(&path)
            } else {
                let (above, names) = resolve(&path);
                above > 0 && is_all(&names)
            }
        }),
    }
}

/// Reports whether a path that begins with `~` is the home folder, everything in it, or above it.
fn is_home(path: &str) -> bool {
    let (above, names) = resolve(path.split_once('/').map_or("", |(_, rest)| rest));
    above > 0 || is_all(&names)
}

fn is_system(path: &str) -> bool {
    let (_, names) = resolve(path);
    match names.as_slice() {
        [] => true,
        [first, _] if contains_word(DEEP_SYSTEM_FOLDERS, first) => true,
        [first, rest @ ..] => (is_any(first) || contains_word(SYSTEM_FOLDERS, first)) && is_all(rest),
    }
}

fn is_all(names: &[&str]) -> bool {
    names.iter().all(|name| is_any(name))
}

/// Reports whether a name is a pattern that every name matches.
fn is_any(name: &str) -> bool {
    name.contains(['*', '?']) && name.chars().all(|c| "*?.".contains(c))
}

/// Resolves `.` and `..` in a path: how many folders it leads above its start, and the names from there.
pub(super) fn resolve(path: &str) -> (usize, Vec<&str>) {
    let (mut above, mut names) = (0, Vec::new());
    for name in path.split('/') {
        match name {
            "" | "." => {}
            // Above `/` is `/` again.
            ".." if names.pop().is_none() => above += usize::from(!path.starts_with('/')),
            ".." => {}
            _ => names.push(name),
        }
    }
    (above, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_folders_are_everything_and_other_folders_are_not() {
        let here = [String::new()];
        let literal = |text: &str| ShellWord::Literal(text.to_owned());
        let pattern = |text: &str| ShellWord::Pattern(text.to_owned());
        for word in ["/", "//", "/..", "/usr/..", "/etc", "..", "../..", "/usr/bin"].map(literal) {
            assert!(reaches_everything(&word, &here), "{word:?}");
        }
        for word in ["/*", "/home/*", "../*", "/.*", "/?*"].map(pattern) {
            assert!(reaches_everything(&word, &here), "{word:?}");
        }
        for word in ["target", "../x", "/tmp/x", ".", "/home/me/x"].map(literal) {
            assert!(!reaches_everything(&word, &here), "{word:?}");
        }
        for word in ["*", "/*.log"].map(pattern) {
            assert!(!reaches_everything(&word, &here), "{word:?}");
        }
        assert!(reaches_everything(&pattern("*"), &["/".to_owned()]));
        assert!(reaches_everything(&ShellWord::Home("~/".to_owned()), &here));
        assert!(!reaches_everything(&ShellWord::Home("~/x".to_owned()), &here));
    }

    #[test]
    fn devices_differ_from_similar_names() {
        for (path, folder) in [("/dev/sda", ""), ("/dev/../dev/sdb1", ""), ("sda", "/dev"), ("/dev/disk2", "")] {
            assert!(is_device(path, &[folder.to_owned()]), "{path} in {folder}");
        }
        for path in ["dev/sda", "sda", "/dev/null", "/dev/tty", "/dev/stderr", "/devel/sda"] {
            assert!(!is_device(path, &[String::new(), "src".to_owned()]), "{path}");
        }
    }

    #[test]
    fn fork_bombs_are_found_by_their_text() {
        let starts_others = ["a(){ ls; }; :(){ :|:& };:", "f(){ f & f & }; f", "function f { f|f& }; f"];
        let starts_itself = [":(){ :|:& };:", ":() { : | : & }; :", "f(){ f|f& };f", "function b(){ b | b & }; b"];
        for text in starts_itself.into_iter().chain(starts_others) {
            assert!(find_fork_bomb(text).is_some(), "{text}");
        }
        for text in ["f() { ls | wc; }; f", "echo '(){'", "f(){ f; }", "f(){ a && f || f; }", "x={a|a}"] {
            assert!(find_fork_bomb(text).is_none(), "{text}");
        }
    }
}
