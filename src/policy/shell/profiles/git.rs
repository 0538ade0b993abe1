//! What of git only reads. Options before the subcommand are not known: `-c` alone can make any of them run a program.
//!
//! Git finds files by itself: in the settings of the repository, which may name programs, and in the history, which holds
//! what is blocked. So the repository must be a plain one, and what prints contents must be told the files by their names.

use super::table::{Operands, PLAIN, Profile, Reads};
use super::{Arguments, Checked, Reader, is_harmless_glob, unknown};
use crate::policy::RepositoryFact;
use crate::policy::shell::report::{Finding, shown};
use crate::policy::shell::words::Word;

const SUBCOMMANDS: &[Profile] = &[
    Profile {
        names: &["status"],
        short: "sbuz",
        long: &["short", "branch", "porcelain", "long", "ignored", "null", "show-stash"],
        long_value: &["porcelain", "untracked-files", "ignored"],
        ..PLAIN
    },
    Profile {
        names: &["diff"],
        short: "pubwzRM",
        short_value: "U",
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
        short_value: "nU",
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

/// Options that leave nothing but names and numbers of a change.
const SUMMARIES: &[&str] = &[
    "stat",
    "shortstat",
    "numstat",
    "dirstat",
    "summary",
    "name-only",
    "name-status",
    "raw",
    "no-patch",
    "compact-summary",
    "quiet",
    "s",
];

/// Options that print contents all the same.
const PATCHES: &[&str] = &["p", "u", "U", "c", "m", "patch", "unified", "word-diff", "check"];

/// Why a git command is not known to only read.
pub(super) fn check(reader: &Reader<'_>, args: &[Word]) -> Checked {
    let Some((name, args)) = args.split_first() else { return Ok(()) };
    let known = SUBCOMMANDS.iter().find(|known| name.literal().is_some_and(|name| known.names.contains(&name)));
    let (Some(profile), Some(name)) = (known, name.literal()) else {
        return unknown(format!("git {} is not on the list of what only reads.", shown(&name.pattern(), 40)));
    };
    if let Some(format) = args.iter().find_map(|word| word.literal().filter(|text| verifies(text))) {
        return unknown(format!("{} may start the program that verifies signatures.", shown(format, 80)));
    }
    let read = Arguments::of("git", profile, args)?;
    reader.operands("git", profile, &read)?;
    let magic = |word: &&&Word| word.pattern().starts_with(':');
    if let Some(word) = read.operands.iter().find(magic) {
        return unknown(format!("{} is a name that git reads in its own way.", shown(&word.pattern(), 80)));
    }
    if !contents_are_named(name, &read) {
        reader.walls(&format!("git {name}"))?;
    }
    repository(reader, name == "show")
}

/// Whether a format asks for a signature: `%G?`, `%+GK` and their kin, or `%(signature)`.
fn verifies(text: &str) -> bool {
    let asks = |rest: &str| rest.trim_start_matches(['+', '-', ' ']).starts_with('G');
    text.split('%').skip(1).any(asks) || text.contains("(signature")
}

/// Whether contents are printed of no other files than those that stand in the command.
fn contents_are_named(name: &str, read: &Arguments<'_>) -> bool {
    let (revisions, paths) = read.operands.split_at(read.before_dashes.unwrap_or(read.operands.len()));
    let patch = match name {
        "diff" | "show" => !read.has_any(SUMMARIES) || read.has_any(PATCHES),
        "log" => read.has_any(PATCHES),
        _ => return true,
    };
    let files = !paths.is_empty() && paths.iter().all(|word| word.literal().is_some_and(is_source));
    let objects = !revisions.is_empty() && revisions.iter().all(|word| word.literal().is_some_and(is_file_of_commit));
    let commits = revisions.iter().all(|word| word.literal().is_some_and(is_commit));
    match name {
        // What is no commit is printed whole, whatever the options say.
        "show" => objects && paths.is_empty() || commits && (!patch || files),
        _ => !patch || commits && files,
    }
}

/// A name that is no pattern of git's and, by its ending, no folder.
fn is_source(path: &str) -> bool {
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    !path.contains(['*', '?', '[', '\\']) && ending.is_some_and(|(_, ending)| is_harmless_glob(ending))
}

/// `REVISION:PATH`, from the top of the repository down.
fn is_file_of_commit(text: &str) -> bool {
    let Some((revision, path)) = text.split_once(':') else { return false };
    let plain = !path.is_empty() && !path.starts_with('/') && !path.split('/').any(|name| name == "..");
    is_name(revision) && plain
}

/// A revision that is surely no blob: a bare number of an object may be one, its parent may not.
fn is_commit(text: &str) -> bool {
    let bare = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let parent = bare.ends_with(['~', '^']);
    let number = |name: &str| name.len() > 3 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name(text)
        && (parent || !text.split(['.', '-']).any(|part| number(part) || number(part.trim_start_matches('g'))))
}

fn is_name(revision: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./~^@-".contains(&byte);
    !revision.is_empty() && revision.bytes().all(plain)
}

/// The repository must make git run nothing; and where it begins above the root, files of a commit may be outside.
fn repository(reader: &Reader<'_>, named_from_top: bool) -> Checked {
    if reader.ground.facts.walls().hold {
        return Ok(());
    }
    let Some(folders) = reader.folders else {
        return Err(Finding::ask("unknown_path", "The folder it runs in cannot be known."));
    };
    for folder in folders {
        match reader.ground.facts.repository(folder) {
            RepositoryFact::Plain => {}
            RepositoryFact::Above if !named_from_top => {}
            RepositoryFact::Above => {
                let reason = "The repository begins above the project: its commits hold more than the project.";
                return Err(Finding::ask("outside_root", reason));
            }
            RepositoryFact::Special => {
                let reason = "The settings of the repository may make git run programs of its own.";
                return Err(Finding::ask("repository_runs", reason));
            }
            RepositoryFact::Unknown => {
                let reason = "Nobody can tell what the repository would make git run.";
                return Err(Finding::ask("repository_runs", reason));
            }
        }
    }
    Ok(())
}
