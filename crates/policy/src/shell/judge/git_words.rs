//! What the modules about git share: the words before a subcommand, subcommands that only read, and what a command of git does.

use crate::shell::expand::Word;
use crate::shell::programs::arguments::Arguments;
use crate::shell::programs::{self, Profile, words};
use crate::shell::{messages, shown};
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

/// The folder of `git -C FOLDER`, and the words from the subcommand on; an error where an option before it is not known.
pub(crate) fn split_globals(args: &[Word]) -> Result<(Option<&str>, &[Word]), Text> {
    let read = Arguments::before("git", args)?;
    // A second folder would be below the first.
    if read.paths.len() > 1 {
        return Err(messages::two_folders());
    }
    Ok((read.paths.first().copied(), &args[read.leading..]))
}

/// A subcommand that is known to only read, with its arguments.
pub(crate) struct Reading<'a> {
    pub(crate) name: &'static str,
    pub(crate) profile: &'static Profile,
    pub(crate) read: Arguments<'a>,
}

/// The words from a subcommand on as those of one that is known to only read, whatever it reads; or why they are none.
pub(crate) fn reading(args: &[Word]) -> Result<Reading<'_>, Text> {
    let Some((name, profile, rest)) = programs::git("git-reads", args) else {
        let name = args.first().map(Word::pattern).unwrap_or_default();
        return Err(messages::git_not_listed(shown(&name, 40)));
    };
    if let Some(format) = rest.iter().filter_map(Word::literal).find(|text| verifies(text)) {
        return Err(messages::verifies(shown(format, 80)));
    }
    let program = format!("git {name}");
    let read = Arguments::of(&program, profile, rest, false)?;
    if matches!(name, "branch" | "tag") && !read.operands.is_empty() && !read.has_any(words("git-lists")) {
        return Err(messages::makes_one(name));
    }
    if profile.skips > 0 && read.operands.len() != profile.skips {
        return Err(messages::with_operands(program));
    }
    Ok(Reading { name, profile, read })
}

/// Whether a format asks for a signature: `%G?`, `%+GK` and their kin, or `%(signature)`.
pub(crate) fn verifies(text: &str) -> bool {
    let asks = |rest: &str| rest.trim_start_matches(['+', '-', ' ']).starts_with('G');
    text.split('%').skip(1).any(asks) || text.contains("(signature")
}
