//! Programs whose arguments are a language of their own.

use super::inspection::{Checked, Inspection, unknown};
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
    // The operator is the last word but one, in any form with three words at most.
    let operator = |text: &str| {
        let strings = has("= == != < > -n -z -eq -ne -lt -le -gt -ge", text);
        strings || inspection.held() && is_test(text) && !matches!(text, "-a" | "-o")
    };
    args.len() <= 3
        && args.iter().enumerate().all(|(at, word)| match at + 2 == args.len() {
            true => word.literal().is_some_and(operator),
            false => value(word),
        })
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

/// `tar tf ARCHIVE`: names of what an archive holds.
pub(crate) fn tar(inspection: &Inspection<'_>, args: &[Word]) -> Checked {
    match args.split_first() {
        Some((first, rest)) if !rest.iter().any(|word| word.pattern().contains(':')) => {
            // The first word needs no dash.
            let letters = first.pattern();
            let first = Word::text(&format!("-{}", letters.strip_prefix('-').unwrap_or(&letters)));
            inspection.table("tar", &[&[first], rest].concat())
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
