//! The block list: what is never run, with any setting.

use super::reach::{is_everything, is_unknown, may_be_everything, resolve};
use super::report::Finding;
use crate::shell::expand::Word;
use crate::shell::programs::{base_name, fact, has, is, text, words};
use crate::shell::{messages, shown};
use std::ops::Range;
use toolfence_protocol::Text;

/// The most places behind a program where another one is looked for.
const MOST_BEHIND: usize = 8;

/// A rule of the block list that a command meets. `folders` are those it may run in.
pub(crate) fn blocked(program: &str, args: &[Word], folders: &[String]) -> Option<Finding> {
    if let Some(why) = text(program, "never") {
        return Some(deny(messages::blocked_program(program, why)));
    }
    if program.starts_with("mkfs") || program.starts_with("newfs") {
        return Some(deny(messages::blocked_program(shown(program, 40), messages::makes_file_system())));
    }
    let told = |key: &str| args.iter().filter_map(Word::guess).find(|arg| has(fact(program, key).unwrap_or(""), arg));
    if told("erases").is_some() {
        return Some(deny(messages::erases_disk(program)));
    }
    if let Some(word) = told("stops") {
        return Some(deny(messages::verb_stops_machine([program, word].join(" "))));
    }
    reached(program, args, folders).or_else(|| writes_system(program, args, folders))
}

/// What the program would reach.
fn reached(program: &str, args: &[Word], folders: &[String]) -> Option<Finding> {
    match fact(program, "reaches")? {
        "removes" => removes_everything(args, folders),
        "recursive" if is_set(args, 'R', "--recursive") => everything(args, folders, program),
        "sources" => everything(sources(args), folders, program),
        "found" if removes_found(args) => everything(args, folders, program),
        "everybody" => ends_everything(args),
        _ => None,
    }
}

/// Names an operand that reaches everything.
fn everything(args: &[Word], folders: &[String], program: &str) -> Option<Finding> {
    // What is moved to a place that nobody knows yet harms nothing there.
    let judged = |arg: &&Word| program != "mv" || !arg.parts.iter().any(is_unknown);
    let mut operands = args.iter().filter(judged).filter(|arg| !is_option(arg));
    if let Some(target) = operands.clone().find(|arg| is_everything(arg, folders)) {
        return Some(deny(messages::reaches_far(program, shown(&target.pattern(), 80))));
    }
    let target = operands.find(|arg| may_be_everything(arg))?;
    let reason = messages::may_reach_far(program, shown(&target.pattern(), 80));
    Some(Finding::ask_person("blocked_command", reason))
}

/// A blocked command among the words of one that nobody knows, which may be a wrapper. Only what it would reach counts
/// there: a name alone may be anything.
pub(crate) fn blocked_behind(argv: &[Word], folders: &[String]) -> Option<Finding> {
    let places = (1..argv.len()).filter(|&at| is(program(&argv[at]), "suspected"));
    places.take(MOST_BEHIND).find_map(|at| {
        let (name, args) = (program(&argv[at]), &argv[at + 1..]);
        reached(name, args, folders).or_else(|| writes_system(name, args, folders))
    })
}

fn program(word: &Word) -> &str {
    word.guess().map_or("", base_name)
}

/// All but the last operand, into which they go.
fn sources(args: &[Word]) -> &[Word] {
    let operands = args.iter().filter(|arg| !is_option(arg)).count();
    match args.split_last() {
        Some((last, rest)) if operands > 1 && !is_option(last) => rest,
        _ => args,
    }
}

/// Whether `find` removes what it finds, or runs a program that does.
fn removes_found(args: &[Word]) -> bool {
    let deletes = args.iter().any(|word| word.guess() == Some("-delete"));
    let runs = |word: &Word| matches!(word.guess(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
    let removes = |word: &Word| has("rm unlink shred rmdir", program(word));
    deletes || args.windows(2).any(|pair| runs(&pair[0]) && removes(&pair[1]))
}

/// The places of the operands that the program changes.
pub(crate) fn written(program: &str, args: &[Word]) -> Range<usize> {
    let option = |arg: &str| {
        let letters = arg.strip_prefix('-').filter(|rest| !rest.starts_with('-')).map(|rest| rest.split('.').next());
        arg.starts_with("--in-place") || letters.flatten().is_some_and(|letters| letters.contains('i'))
    };
    let into = |arg: &str| arg.starts_with("-t") || arg.starts_with("--target");
    let mut texts = args.iter().filter_map(Word::guess);
    match fact(program, "changes") {
        None => 0..0,
        Some("in-place") if !texts.any(option) => 0..0,
        Some("last") if !texts.any(into) => {
            args.iter().rposition(|arg| !is_option(arg)).map_or(0..args.len(), |last| last..last + 1)
        }
        Some(_) => 0..args.len(),
    }
}

/// A block device or the memory of the machine, as a place to write to.
pub(crate) fn device(path: &str, folders: &[String]) -> Option<Finding> {
    let absolute = folders.iter().filter(|folder| folder.starts_with('/'));
    let mut places: Vec<Vec<&str>> = absolute.filter_map(|folder| resolve(folder, path)).collect();
    if path.starts_with('/') {
        places.extend(resolve("/", path));
    }
    places.iter().any(|names| is_device(names)).then(|| deny(messages::is_device(shown(path, 80))))
}

fn is_device(names: &[&str]) -> bool {
    let Some((&"dev", rest)) = names.split_first() else { return false };
    let name = rest.join("/");
    words("device-begins")
        .split_ascii_whitespace()
        .any(|device| name.starts_with(device) || name == device.trim_end_matches('/'))
}

/// A file that the system starts from or is steered by, as a place to write to.
pub(crate) fn system_file(path: &str) -> Option<Finding> {
    let names = resolve("/", path).filter(|_| path.starts_with('/'))?;
    let own = matches!(names.as_slice(), ["proc", "self" | "thread-self", ..]);
    let system = matches!(names.first(), Some(&("etc" | "proc" | "sys" | "boot")));
    (system && !own).then(|| deny(messages::is_system_file(shown(path, 80))))
}

pub(crate) fn deny(reason: Text) -> Finding {
    Finding::deny("blocked_command", reason)
}

fn removes_everything(args: &[Word], folders: &[String]) -> Option<Finding> {
    if args.iter().filter_map(Word::guess).any(|arg| arg.len() > 6 && "--no-preserve-root".starts_with(arg)) {
        return Some(deny(messages::no_preserve_root()));
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

/// `kill -9 -1`: the first word is a signal, `-1` behind it is everybody.
fn ends_everything(args: &[Word]) -> Option<Finding> {
    let all = args.iter().skip(1).any(|arg| arg.guess() == Some("-1"));
    all.then(|| deny(messages::kills_all()))
}

/// A device, or a file of the system, that the program would write to.
fn writes_system(program: &str, args: &[Word], folders: &[String]) -> Option<Finding> {
    let written = written(program, args);
    let copies = fact(program, "changes") == Some("last");
    if written.is_empty() && !is(program, "devices") && !copies {
        return None;
    }
    args.iter().enumerate().find_map(|(at, arg)| {
        let pattern = arg.pattern();
        let path = pattern.split_once('=').map_or(pattern.as_ref(), |(_, value)| value);
        let file = || written.contains(&at).then(|| system_file(path)).flatten();
        let reads = copies && !written.contains(&at);
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
