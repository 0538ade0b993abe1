//! What the modules about git share: the words before a subcommand, the short forms that are known as a whole, and what a
//! command of git does.

use crate::shell::expand::Word;
use crate::shell::messages;
use crate::shell::programs::arguments::Arguments;
use toolfence_protocol::Text;

/// What a command of git does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GitCall {
    /// It only reads.
    Reads,
    /// It may write the repository and its files, and git runs no other program for it.
    Writes,
    /// It sets configuration that is not known to be harmless: only a person may allow it. `alone` says whether git runs
    /// no other program for it and writes the repository, so that it can be done in a call of git alone.
    Configures { reason: Text, alone: bool },
    /// It may make git run another program, or write elsewhere; or nobody knows. The reason is the end of a sentence.
    Other(Text),
}

/// A question for a person alone, in a sentence.
pub(crate) fn person(what: Text, alone: bool) -> GitCall {
    GitCall::Configures { reason: messages::for_a_person(what), alone }
}

/// Subcommands that are known with these words, with operands of this number behind them and nothing else.
const EXACT: &[(&str, usize)] = &[
    ("stash list", 0),
    ("worktree list", 0),
    ("worktree list --porcelain", 0),
    ("reflog show", 0),
    ("reflog show", 1),
    ("remote get-url", 1),
    ("symbolic-ref", 1),
    ("symbolic-ref --short", 1),
    ("symbolic-ref -q", 1),
];

/// Words between `config` and the key that only read.
const CONFIG: &[&str] = &["--get", "--get-all", "--local --get", "--global --get", ""];

/// Keys of the configuration that hold no token.
const KEYS: &[&str] = &[
    "user.", "core.", "remote.", "branch.", "init.", "push.", "pull.", "merge.", "diff.", "rebase.", "color.",
    "commit.",
];

/// Options that make `branch` and `tag` list, so that operands are patterns and commits.
pub(crate) const LISTS: &str = "l list merged no-merged contains no-contains points-at";

/// The folder of `git -C FOLDER`, and the words from the subcommand on; an error where an option before it is not known.
pub(crate) fn split_globals(args: &[Word]) -> Result<(Option<&str>, &[Word]), Text> {
    let read = Arguments::before("git", args)?;
    // A second folder would be below the first.
    if read.paths.len() > 1 {
        return Err(messages::two_folders());
    }
    Ok((read.paths.first().copied(), &args[read.leading..]))
}

/// Whether the words are those of one of the short forms that are known as a whole.
pub(crate) fn is_exact(args: &[Word]) -> bool {
    let words: Option<Vec<&str>> = args.iter().map(Word::literal).collect();
    let Some(words) = words else { return false };
    let begins =
        |head: &str| head.split(' ').filter(|word| !word.is_empty()).eq(words.iter().copied().take(count(head)));
    let plain = |from: usize| words[from..].iter().all(|word| !word.starts_with('-'));
    let exact =
        |(head, operands): &(&str, usize)| words.len() == count(head) + operands && begins(head) && plain(count(head));
    EXACT.iter().any(exact)
        || CONFIG.iter().any(|middle| {
            let head = format!("config {middle}");
            let key = words.last().is_some_and(|key| KEYS.iter().any(|known| key.starts_with(known)));
            key && exact(&(head.trim_end(), 1))
        })
}

fn count(head: &str) -> usize {
    head.split_ascii_whitespace().count()
}

/// Whether a format asks for a signature: `%G?`, `%+GK` and their kin, or `%(signature)`.
pub(crate) fn verifies(text: &str) -> bool {
    let asks = |rest: &str| rest.trim_start_matches(['+', '-', ' ']).starts_with('G');
    text.split('%').skip(1).any(asks) || text.contains("(signature")
}
