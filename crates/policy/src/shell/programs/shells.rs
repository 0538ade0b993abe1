//! Programs that read a script: from `-c`, from an operand, or from their input.

use super::{Inner, base_name};
use crate::shell::expand::Word;

/// What the options and operands of a shell have said so far.
#[derive(Default)]
struct Read {
    at: usize,
    /// `-c`: the first operand is the script.
    text: bool,
    /// `-s`: the input is the script.
    input: bool,
    /// It reads files of its own first, or is not the plain shell.
    more: bool,
}

/// `sh -c TEXT`, `sh FILE`, or `sh` alone; nothing where it only tells its version.
pub(crate) fn inner(argv: &[Word]) -> Option<Inner> {
    if matches!(argv, [_, only] if matches!(only.literal(), Some("--version" | "--help"))) {
        return None;
    }
    let mut read = Read { at: 1, ..Read::default() };
    while let Some(word) = argv.get(read.at) {
        let Some(text) = word.guess() else { return Some(Inner::Untold) };
        match option(text, &mut read) {
            Some(0) => break,
            Some(count) => read.at += count,
            None => return Some(Inner::Untold),
        }
    }
    Some(operand(argv, &read))
}

/// How many words an option takes: none where it is no option. `None` where it is not known.
fn option(text: &str, read: &mut Read) -> Option<usize> {
    match text {
        "--norc" | "--noprofile" | "--posix" => return Some(1),
        "--login" | "--restricted" => read.more = true,
        "--rcfile" | "--init-file" => {
            read.more = true;
            return Some(2);
        }
        "--" | "-" => {
            read.at += 1;
            return Some(0);
        }
        _ => {}
    }
    if text.starts_with("--") {
        return read.more.then_some(1);
    }
    let Some(cluster) = text.strip_prefix(['-', '+']).filter(|rest| !rest.is_empty()) else { return Some(0) };
    if !cluster.chars().all(|c| "acefhilnprstuvxBCEHPTOo".contains(c)) {
        return None;
    }
    read.text |= cluster.contains('c') && text.starts_with('-');
    read.input |= cluster.contains('s') && text.starts_with('-');
    // What start-up files and options of the shell change is not known. `-n` only leaves the commands out.
    read.more |= cluster.contains(['i', 'l', 'O', 'a', 'h', 'k', 'p', 'r']);
    Some(1 + usize::from(cluster.ends_with(['o', 'O'])))
}

fn operand(argv: &[Word], read: &Read) -> Inner {
    let Some(word) = argv.get(read.at) else { return Inner::Input };
    if read.text {
        let Some(text) = word.guess() else { return Inner::Untold };
        let literal = argv[..=read.at].iter().all(|word| word.literal().is_some());
        let program = argv[0].guess().map_or("", base_name);
        let transparent = literal && !read.more && reads_alike(program, text);
        return Inner::Script { text: text.to_owned(), transparent, given: Some(read.at + 1) };
    }
    match read.input || is_input(word) {
        true => Inner::Input,
        false if read.more => Inner::Untold,
        false => Inner::File { at: read.at },
    }
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
