//! Programs that read a script: from `-c`, from an operand, or from their input.

use super::arguments::Arguments;
use super::{Inner, Profile, base_name};
use crate::shell::expand::Word;

/// `sh -c TEXT`, `sh FILE`, or `sh` alone; nothing where it only tells its version.
pub(crate) fn inner(shell: &Profile, argv: &[Word]) -> Option<Inner> {
    if matches!(argv, [_, only] if matches!(only.literal(), Some("--version" | "--help"))) {
        return None;
    }
    let Ok(read) = Arguments::leading("", shell, &argv[1..]) else { return Some(Inner::Untold) };
    let at = 1 + read.leading;
    let Some(word) = argv.get(at) else { return Some(Inner::Input) };
    // What start-up files and options of the shell change is not known.
    let more = read.has_any(shell.list("asks"));
    Some(match word.guess() {
        None => Inner::Untold,
        Some(text) if read.has_any("c") => {
            let literal = argv[..=at].iter().all(|word| word.literal().is_some());
            let program = argv[0].guess().map_or("", base_name);
            let transparent = literal && !more && reads_alike(program, text);
            Inner::Script { text: text.to_owned(), transparent }
        }
        Some(_) if read.has_any("s") || is_input(word) => Inner::Input,
        // `+x` takes an option back, and others may follow.
        Some(text) if more || text.starts_with('+') => Inner::Untold,
        Some(_) => Inner::File { at },
    })
}

/// Whether the shell reads the text as bash would. Where it does not know a quote or an operator, what bash takes for text
/// may be a command.
fn reads_alike(program: &str, text: &str) -> bool {
    const BASH_ONLY: &[&str] =
        &["$'", "$\"", "&>", "|&", ";&", "<<<", "<(", ">(", "[[", "((", "{", "function", "select"];
    match program {
        "bash" => true,
        "sh" | "dash" | "ash" => !BASH_ONLY.iter().any(|mark| text.contains(mark)),
        _ => false,
    }
}

/// Whether the word is a name of the input.
pub(crate) fn is_input(word: &Word) -> bool {
    matches!(word.guess(), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

/// `su -c TEXT`.
pub(crate) fn option_c(argv: &[Word]) -> Option<Inner> {
    for (at, word) in argv.iter().enumerate().skip(1) {
        let Some(text) = word.guess() else { continue };
        let long = text.strip_prefix("--command=");
        let short = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.split_once('c'));
        let attached = short.filter(|(flags, _)| flags.chars().all(|c| "qlfmpae".contains(c))).map(|(_, text)| text);
        let text = match (long.or(attached), text) {
            (Some(""), _) | (None, "--command") => argv.get(at + 1).map(Word::guess),
            (Some(text), _) => Some(Some(text)),
            _ => continue,
        };
        return Some(text.flatten().map_or(Inner::Untold, Inner::script));
    }
    None
}
