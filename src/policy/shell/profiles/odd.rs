//! Programs whose arguments are a language of their own.

use super::{Checked, Reader, unknown};
use crate::policy::shell::report::shown;
use crate::policy::shell::words::Word;

/// Tests and actions of `find` without an argument.
const FIND_FLAGS: &[&str] = &[
    "-and",
    "-a",
    "-daystart",
    "-depth",
    "-d",
    "-empty",
    "-executable",
    "-false",
    "-ls",
    "-mount",
    "-nogroup",
    "-not",
    "-nouser",
    "-o",
    "-or",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
    "-writable",
    "-xdev",
    "!",
    "(",
    ")",
    ",",
];

/// Tests of `find` with one argument, none of which names a file that is read.
const FIND_VALUES: &[&str] = &[
    "-amin",
    "-atime",
    "-cmin",
    "-ctime",
    "-gid",
    "-group",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-size",
    "-type",
    "-uid",
    "-user",
    "-wholename",
    "-xtype",
];

/// Operators of `test` that look at files and strings; `-v` and `-R` would evaluate a subscript.
const TESTS: &[&str] = &[
    "-a", "-o", "-b", "-c", "-d", "-e", "-f", "-g", "-G", "-h", "-k", "-L", "-n", "-N", "-O", "-p", "-r", "-s", "-S",
    "-t", "-u", "-w", "-x", "-z", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-ef", "-nt", "-ot",
];

pub(super) fn find(reader: &Reader<'_>, args: &[Word]) -> Checked {
    let mut rest = args.iter();
    let mut expression = false;
    while let Some(word) = rest.next() {
        let text = word.literal();
        expression |= text.is_some_and(|text| text.starts_with(['-', '(', '!']));
        match text {
            Some("-H" | "-P") => {}
            Some(text) if FIND_FLAGS.contains(&text) => {}
            Some(text) if FIND_VALUES.contains(&text) => {
                if rest.next().and_then(Word::literal).is_none() {
                    return unknown(format!("The value of find {text} is not literal."));
                }
            }
            Some(text) if text.starts_with('-') => return unknown(format!("find {} is not known.", shown(text, 40))),
            // A name that a glob matches may begin with `-` and be an action.
            None if super::starts_with_glob(word) => return unknown("A glob may stand for an action of find.".into()),
            _ if expression => return unknown("A path behind the expression of find is not known.".into()),
            _ => reader.path(word)?,
        }
    }
    Ok(())
}

pub(super) fn test(program: &str, args: &[Word]) -> Checked {
    let literal: Option<Vec<&str>> = args.iter().map(Word::literal).collect();
    let Some(words) = literal else { return unknown(format!("{program} with a glob is not known.")) };
    match words.iter().find(|word| word.starts_with('-') && word.len() > 1 && !TESTS.contains(word)) {
        Some(word) => unknown(format!("{program} {} is not known.", shown(word, 40))),
        None => Ok(()),
    }
}

/// `-v` and `%n` assign to variables, in whose subscripts commands could hide.
pub(super) fn printf(args: &[Word]) -> Checked {
    let format = args.first().and_then(Word::literal);
    match format {
        Some(format) if !format.starts_with('-') && !assigns(format) => Ok(()),
        _ => unknown("printf is only known with a literal format that assigns nothing.".into()),
    }
}

fn assigns(format: &str) -> bool {
    let conversions = format.replace("%%", "");
    conversions.split('%').skip(1).any(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #'.*hlLjztq".contains(c)).starts_with('n')
    })
}

pub(super) fn date(args: &[Word]) -> Checked {
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        let known = match word.literal() {
            Some("-u" | "-R" | "-I" | "--utc" | "--rfc-email" | "--iso-8601") => true,
            Some("-d" | "--date") => rest.next().is_some_and(|word| word.literal().is_some()),
            Some(text) => text.starts_with('+') || text.starts_with("--date=") || text.starts_with("--iso-8601="),
            None => false,
        };
        if !known {
            return unknown(format!("date {} is not known: it may set the clock.", shown(&word.pattern(), 40)));
        }
    }
    Ok(())
}

pub(super) fn cd(reader: &Reader<'_>, args: &[Word]) -> Checked {
    match args {
        [folder] if folder.literal().is_some_and(|text| !text.starts_with('-') && !text.is_empty()) => {
            reader.path(folder)?;
            reader.collapsed(folder.literal().unwrap_or_default())
        }
        _ => unknown("cd is only known with one literal folder.".into()),
    }
}
