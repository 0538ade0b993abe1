//! What of git only reads. Options before the subcommand are not known: `-c` alone can make any of them run a program.

use super::table::{Operands, Profile, Reads};
use super::{Arguments, Checked, Reader, unknown};
use crate::policy::shell::report::shown;
use crate::policy::shell::words::Word;

const PLAIN: Profile = Profile {
    names: &[],
    short: "",
    short_value: "",
    long: &[],
    long_value: &[],
    number: false,
    operands: Operands::Paths,
    reads: Reads::Contents,
    recursive: &[],
    restricts: &[],
    harmless: false,
};

const SUBCOMMANDS: &[Profile] = &[
    Profile {
        names: &["status"],
        short: "sbuvz",
        long: &["short", "branch", "porcelain", "long", "verbose", "ignored", "null", "show-stash"],
        long_value: &["porcelain", "untracked-files", "ignored"],
        ..PLAIN
    },
    Profile {
        names: &["diff"],
        short: "pubwzRM",
        short_value: "USG",
        long: &[
            "cached",
            "staged",
            "stat",
            "shortstat",
            "numstat",
            "dirstat",
            "summary",
            "name-only",
            "name-status",
            "patch",
            "no-patch",
            "color",
            "no-color",
            "check",
            "no-ext-diff",
            "no-textconv",
            "minimal",
            "patience",
            "histogram",
            "raw",
            "ignore-all-space",
            "ignore-space-change",
            "ignore-blank-lines",
            "word-diff",
            "merge-base",
            "find-renames",
            "no-renames",
            "exit-code",
            "quiet",
            "compact-summary",
            "no-prefix",
        ],
        long_value: &["unified", "stat", "color", "diff-filter", "word-diff", "diff-algorithm", "find-renames"],
        ..PLAIN
    },
    Profile {
        names: &["log", "show"],
        short: "pusigEFPzcmw",
        short_value: "nSGLU",
        long: &[
            "oneline",
            "graph",
            "all",
            "decorate",
            "no-decorate",
            "stat",
            "shortstat",
            "numstat",
            "name-only",
            "name-status",
            "patch",
            "no-patch",
            "color",
            "no-color",
            "merges",
            "no-merges",
            "reverse",
            "first-parent",
            "follow",
            "abbrev-commit",
            "branches",
            "tags",
            "remotes",
            "no-ext-diff",
            "no-textconv",
            "summary",
            "date-order",
            "topo-order",
            "author-date-order",
            "ignore-all-space",
            "compact-summary",
            "relative-date",
            "full-history",
            "cherry-pick",
            "left-right",
            "raw",
        ],
        long_value: &[
            "format",
            "pretty",
            "since",
            "until",
            "after",
            "before",
            "author",
            "committer",
            "grep",
            "max-count",
            "skip",
            "date",
            "decorate",
            "diff-filter",
            "color",
            "stat",
            "abbrev",
            "unified",
        ],
        number: true,
        ..PLAIN
    },
    Profile {
        names: &["ls-files"],
        short: "cdmosukvtz",
        short_value: "x",
        long: &[
            "cached",
            "deleted",
            "modified",
            "others",
            "ignored",
            "stage",
            "unmerged",
            "killed",
            "exclude-standard",
            "full-name",
            "directory",
            "error-unmatch",
            "eol",
        ],
        long_value: &["exclude", "abbrev"],
        reads: Reads::Names,
        ..PLAIN
    },
    Profile {
        names: &["rev-parse"],
        short: "q",
        long: &[
            "abbrev-ref",
            "show-toplevel",
            "show-prefix",
            "show-cdup",
            "git-dir",
            "git-common-dir",
            "is-inside-work-tree",
            "is-bare-repository",
            "verify",
            "short",
            "symbolic-full-name",
            "absolute-git-dir",
            "quiet",
            "show-superproject-working-tree",
        ],
        long_value: &["short", "abbrev-ref"],
        ..PLAIN
    },
    Profile {
        names: &["blame"],
        short: "bclstefnpwMC",
        short_value: "L",
        long: &["porcelain", "line-porcelain", "show-name", "show-number", "show-email", "root"],
        long_value: &["since", "date", "abbrev"],
        ..PLAIN
    },
    Profile {
        names: &["branch"],
        short: "avr",
        long: &["all", "list", "remotes", "show-current", "verbose", "no-color"],
        long_value: &["contains", "no-contains", "merged", "no-merged", "points-at", "sort", "format", "color"],
        // A name would make a branch.
        operands: Operands::None,
        ..PLAIN
    },
];

/// Why a git command is not known to only read.
pub(super) fn check(reader: &Reader<'_>, args: &[Word]) -> Checked {
    let Some((name, args)) = args.split_first() else { return Ok(()) };
    let known = SUBCOMMANDS.iter().find(|known| name.literal().is_some_and(|name| known.names.contains(&name)));
    let Some(profile) = known else {
        return unknown(format!("git {} is not on the list of what only reads.", shown(&name.pattern(), 40)));
    };
    let read = Arguments::of("git", profile, args)?;
    reader.operands("git", profile, &read)
}
