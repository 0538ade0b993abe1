//! Programs whose arguments are a language of their own.

use super::inspection::{Checked, Inspection, unknown};
use super::report::Deeds;
use crate::shell::expand::{Part, Word};
use crate::shell::programs::{fact, has};
use crate::shell::{messages, shown};

/// Anything may be printed that is no secret of the surroundings.
pub(crate) fn echo(inspection: &Inspection<'_>, args: &[Word]) -> Checked {
    // In the sandbox the surroundings hold no secret.
    let known = |word: &&Word| is_printable(word) || inspection.held() && !word.is_hidden();
    match args.iter().find(|word| !known(word)) {
        Some(word) => unknown(messages::word_not_told(shown(&word.pattern(), 80))),
        None => Ok(()),
    }
}

fn is_printable(word: &Word) -> bool {
    word.literal().is_some() || word.is_glob() || word.is_output() || word.is_found()
}

pub(crate) fn test(inspection: &Inspection<'_>, program: &str, args: &[Word]) -> Checked {
    // The answer would be another one where nothing can be written.
    if args.iter().any(|word| word.literal() == Some("-w")) {
        inspection.does(Deeds::WRITES);
    }
    match tests(args) || compares_output(inspection, program, args) {
        true => Ok(()),
        false => unknown(messages::test_with_such_words(program)),
    }
}

fn is_test(operator: &str) -> bool {
    fact("test", "tests").is_some_and(|words| has(words, operator))
}

/// Whether all words are literal and every operator looks at files and strings.
pub(crate) fn tests(args: &[Word]) -> bool {
    let known = |text: &str| !text.starts_with('-') || text.len() == 1 || is_test(text);
    args.iter().all(|word| word.literal().is_some_and(known))
}

/// `[ -n "$(ls)" ]` and `[ "$x" = /x ]`: what only a run would tell, in a place where it cannot be an operator.
fn compares_output(inspection: &Inspection<'_>, program: &str, args: &[Word]) -> bool {
    let end = usize::from(program == "[");
    let args = args.get(..args.len().saturating_sub(end)).unwrap_or(&[]);
    let args = if args.first().and_then(Word::literal) == Some("!") { &args[1..] } else { args };
    let open =
        |word: &Word| inspection.held() && word.is_open() && !word.is_hidden() && !word.parts.contains(&Part::Home);
    let value = |word: &Word| (word.is_output() || open(word)) && !word.is_loose();
    let compares = |text: &str| {
        let strings = ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        strings.contains(&text) || inspection.held() && ["-nt", "-ot", "-ef"].contains(&text)
    };
    match args {
        [output] => open(output) && value(output),
        [operator, output] => {
            let looks = |text: &str| inspection.held() && is_test(text) && !matches!(text, "-a" | "-o");
            value(output) && operator.literal().is_some_and(|text| matches!(text, "-n" | "-z") || looks(text))
        }
        [left, operator, right] => value(left) && value(right) && operator.literal().is_some_and(compares),
        _ => false,
    }
}

/// `-v` and `%n` assign to variables, in whose subscripts commands could hide.
pub(crate) fn printf(inspection: &Inspection<'_>, args: &[Word]) -> Checked {
    let format = args.first().and_then(Word::literal);
    match format {
        Some(format) if !format.starts_with('-') && !assigns(format) => echo(inspection, args),
        _ => unknown(messages::printf_format()),
    }
}

fn assigns(format: &str) -> bool {
    let conversions = format.replace("%%", "");
    conversions.split('%').skip(1).any(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #'.*hlLjztq".contains(c)).starts_with('n')
    })
}

/// Options of the shell that make it stop earlier.
pub(crate) fn set(args: &[Word]) -> Checked {
    let known = |word: &Word| {
        word.literal().is_some_and(|text| {
            let letters = text.strip_prefix(['-', '+']);
            text == "pipefail" || letters.is_some_and(|l| !l.is_empty() && l.chars().all(|c| "euo".contains(c)))
        })
    };
    if !args.is_empty() && args.iter().all(known) { Ok(()) } else { unknown(messages::set_options()) }
}

/// `tar tf ARCHIVE`: names of what an archive holds.
pub(crate) fn tar(inspection: &Inspection<'_>, args: &[Word]) -> Checked {
    let listing = args.first().and_then(Word::literal).map(|text| text.strip_prefix('-').unwrap_or(text));
    let lists = listing
        .is_some_and(|text| text.contains('t') && text.ends_with('f') && text.chars().all(|c| "tvzjJaf".contains(c)));
    match args {
        [_, archive, members @ ..] if lists => {
            let plain = |word: &Word| word.literal().is_some_and(|text| !text.starts_with('-'));
            // A name with a colon is a file of another machine.
            if !args[1..].iter().all(plain) || archive.literal().is_none_or(|text| text.contains(':')) {
                return unknown(messages::tar_names());
            }
            inspection.path(archive)?;
            members.iter().try_for_each(|member| inspection.path(member))
        }
        _ => unknown(messages::tar_lists()),
    }
}

pub(crate) fn cd(inspection: &Inspection<'_>, args: &[Word]) -> Checked {
    match args {
        [folder] if folder.literal().is_some_and(|text| !text.starts_with('-') && !text.is_empty()) => {
            inspection.code(folder)?;
            inspection.path(folder)?;
            inspection.collapsed(folder.literal().unwrap_or_default())
        }
        _ => unknown(messages::cd_one_folder()),
    }
}
