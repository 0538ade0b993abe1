//! What of git only reads. Further rules about what it finds by itself stand with the code that reads this.

use super::{Operands, Profile, tool};

/// Options before the subcommand: `-c` alone could make any of them run a program.
pub(in super::super) const GIT_GLOBAL: Profile =
    tool("git").short("P").value("C").long("no-pager no-optional-locks no-replace-objects");

/// How commits are chosen and shown.
const FORMATS: &str = "format pretty date sort since until after before author committer grep max-count skip decorate \
    diff-filter color stat abbrev unified min-parents max-parents";

pub(in super::super) const GIT: &[Profile] = &[
    tool("status")
        .short("sbz")
        .value("u")
        .long("short branch porcelain long ignored null show-stash ahead-behind no-ahead-behind renames no-renames")
        .long_value("porcelain untracked-files ignored"),
    tool("diff")
        .short("pubwzRM")
        .value("U")
        .long(
            "cached staged stat shortstat numstat dirstat summary name-only name-status patch no-patch color no-color check \
             no-ext-diff no-textconv minimal patience histogram raw ignore-all-space ignore-space-change \
             ignore-space-at-eol ignore-blank-lines word-diff color-words merge-base find-renames no-renames exit-code \
             quiet compact-summary no-prefix patch-with-stat full-index function-context",
        )
        .long_value(
            "unified stat color diff-filter word-diff diff-algorithm find-renames inter-hunk-context abbrev color-moved \
             stat-width",
        ),
    tool("log show")
        .short("pusigEFPzcmw")
        .value("nU")
        .long(
            "oneline graph all decorate no-decorate stat shortstat numstat name-only name-status patch no-patch color \
             no-color merges no-merges reverse first-parent follow abbrev-commit no-abbrev-commit branches tags remotes \
             no-ext-diff no-textconv summary date-order topo-order author-date-order ignore-all-space compact-summary \
             relative-date full-history cherry-pick left-right raw cherry-mark boundary simplify-by-decoration source \
             invert-grep all-match regexp-ignore-case",
        )
        .long_value(FORMATS)
        .number(),
    tool("shortlog").short("snec").long("summary numbered email committer all no-merges").long_value("since until group format"),
    tool("rev-list")
        .short("n")
        .value("n")
        .long("count all left-right no-merges merges reverse first-parent oneline abbrev-commit branches tags remotes")
        .long_value("max-count skip since until after before author committer grep format pretty")
        .number(),
    tool("ls-files")
        .short("cdmosukvtz")
        .value("x")
        .long(
            "cached deleted modified others ignored stage unmerged killed exclude-standard full-name directory \
             error-unmatch eol",
        )
        .long_value("exclude abbrev")
        .names(),
    tool("ls-tree")
        .short("rdtlz")
        .long("name-only name-status long full-name full-tree object-only")
        .long_value("abbrev")
        .names(),
    tool("rev-parse")
        .short("q")
        .long(
            "abbrev-ref show-toplevel show-prefix show-cdup git-dir git-common-dir is-inside-work-tree is-bare-repository \
             is-inside-git-dir is-shallow-repository verify short symbolic-full-name symbolic absolute-git-dir quiet \
             show-superproject-working-tree all branches tags remotes show-object-format",
        )
        .long_value("short abbrev-ref"),
    tool("blame annotate")
        .short("bclstefnpwMC")
        .value("L")
        .long("porcelain line-porcelain show-name show-number show-email root")
        .long_value("since date abbrev"),
    // A name would make a branch.
    tool("branch")
        .short("avr")
        .long("all list remotes show-current verbose no-color color no-column merged no-merged ignore-case")
        .long_value("contains no-contains merged no-merged points-at sort format color")
        .text(),
    tool("tag")
        .short("ln0123456789")
        .long("list no-color no-column merged no-merged ignore-case")
        .long_value("contains no-contains merged no-merged points-at sort format color")
        .text(),
    tool("remote").short("v").long("verbose").operands(Operands::None),
    tool("describe")
        .long("all tags contains always long exact-match first-parent")
        .long_value("abbrev candidates match exclude")
        .names(),
    tool("merge-base").short("a").long("all octopus independent is-ancestor fork-point").names(),
    tool("cherry").short("v").long("verbose").names(),
    tool("name-rev").long("tags all always name-only no-undefined").long_value("refs exclude").names(),
    tool("show-ref").short("hdsq").long("heads branches tags head dereference hash verify quiet").long_value("hash abbrev").names(),
    tool("for-each-ref")
        .long("ignore-case no-merged merged")
        .long_value("sort format count points-at contains no-contains merged no-merged exclude")
        .names(),
    tool("count-objects").short("vH").long("verbose human-readable").operands(Operands::None),
    tool("check-ignore").short("vqn").long("verbose quiet non-matching no-index").names(),
    tool("cat-file").short("tse").needs("t s e").names(),
    tool("version").long("build-options").operands(Operands::None),
    tool("reflog").short("q").value("n").long("all oneline").long_value("date format pretty max-count since until").number().operands(Operands::None),
    tool("grep")
        .short("inIwvhHFEPGlLcopqWaz")
        .value("eABCm")
        .long(
            "ignore-case line-number word-regexp invert-match fixed-strings extended-regexp perl-regexp basic-regexp \
             files-with-matches name-only files-without-match count only-matching show-function function-context break \
             heading color no-color cached full-name all-match and or not text quiet column null",
        )
        .long_value("max-depth after-context before-context context max-count threads color")
        .number()
        .operands(Operands::PatternThenPaths)
        .folders(""),
];
