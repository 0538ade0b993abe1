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
        .value("nUSG")
        .long(
            "oneline graph all decorate no-decorate stat shortstat numstat name-only name-status patch no-patch color \
             no-color merges no-merges reverse first-parent follow abbrev-commit no-abbrev-commit branches tags remotes \
             no-ext-diff no-textconv summary date-order topo-order author-date-order ignore-all-space compact-summary \
             relative-date full-history cherry-pick left-right raw cherry-mark boundary simplify-by-decoration source \
             invert-grep all-match regexp-ignore-case pickaxe-regex pickaxe-all",
        )
        .long_value(FORMATS)
        .texts("grep author committer S G")
        .number(),
    tool("shortlog").short("snec").long("summary numbered email committer all no-merges").long_value("since until group format"),
    tool("rev-list")
        .short("n")
        .value("n")
        .long("count all left-right no-merges merges reverse first-parent oneline abbrev-commit branches tags remotes")
        .long_value("max-count skip since until after before author committer grep format pretty")
        .texts("grep author committer")
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
        .long("all tags contains always long exact-match first-parent dirty")
        .long_value("abbrev candidates match exclude dirty")
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
    // What `-p` prints is looked at as that of `git show` is.
    tool("cat-file").short("tsep").needs("t s e p").names(),
    // Without `--apply`, each of these only tells what would be.
    tool("apply")
        .short("Rvqz")
        .value("pC")
        .long(
            "check stat numstat summary reverse recount unidiff-zero allow-empty verbose quiet inaccurate-eof no-add \
             ignore-whitespace ignore-space-change",
        )
        .long_value("whitespace exclude include directory")
        .needs("check stat numstat summary"),
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
        .texts("e")
        .number()
        .operands(Operands::PatternThenPaths)
        .folders(""),
];

/// Commands of git that write a repository or its files and make git run no other program, `name/verb` for those with a
/// verb: only options that start no program (a signature, an editor, a pager, a helper of a transport or a strategy, a
/// shell command), write to no place of their own and print no contents. What is missing here is missing on purpose: `-S`, `--exec`, `-p`,
/// `-i`, `-e`, `--upload-pack`, `--receive-pack`, `--template`, `--separate-git-dir`, `--reference`, `--config`, `--trailer`,
/// `--verify-signatures`, `--unsafe-paths`, `--fsmonitor`. One that is marked as harmless has no option at all that would.
pub(in super::super) const GIT_WRITES: &[Profile] = &[
    tool("add stage")
        .short("vnfuAN")
        .long(
            "verbose dry-run force update all no-all no-ignore-removal ignore-removal intent-to-add refresh ignore-errors \
             ignore-missing renormalize sparse pathspec-file-nul",
        )
        .long_value("chmod pathspec-from-file")
        .harmless(),
    tool("rm")
        .short("fnrq")
        .long("force dry-run cached ignore-unmatch quiet sparse pathspec-file-nul")
        .long_value("pathspec-from-file")
        .harmless(),
    tool("mv").short("fknv").long("force dry-run verbose sparse").harmless(),
    tool("restore")
        .short("qSWm23")
        .value("s")
        .long(
            "quiet progress no-progress ours theirs merge staged worktree ignore-unmerged ignore-skip-worktree-bits overlay \
             no-overlay recurse-submodules no-recurse-submodules pathspec-file-nul",
        )
        .long_value("source conflict pathspec-from-file")
        .harmless(),
    tool("reset")
        .short("qN")
        .long("quiet no-quiet soft mixed hard merge keep refresh no-refresh intent-to-add pathspec-file-nul")
        .long_value("pathspec-from-file")
        .harmless(),
    tool("checkout")
        .short("qftlmd23")
        .value("bB")
        .long(
            "quiet progress no-progress force ours theirs detach track no-track guess no-guess merge \
             ignore-skip-worktree-bits overwrite-ignore no-overwrite-ignore overlay no-overlay recurse-submodules \
             no-recurse-submodules ignore-other-worktrees pathspec-file-nul",
        )
        .long_value("track orphan conflict pathspec-from-file")
        .harmless(),
    tool("switch")
        .short("qfdmt")
        .value("cC")
        .long(
            "quiet progress no-progress force discard-changes detach track no-track guess no-guess merge \
             recurse-submodules no-recurse-submodules ignore-other-worktrees",
        )
        .long_value("create force-create track orphan conflict"),
    tool("commit")
        .short("aqsnoi")
        .value("mFC")
        .long(
            "all quiet signoff no-signoff no-verify verify amend no-edit allow-empty allow-empty-message only \
             include dry-run short branch porcelain long null status no-status reset-author no-post-rewrite \
             pathspec-file-nul no-gpg-sign",
        )
        .long_value(
            "message file reuse-message author date cleanup fixup squash untracked-files pathspec-from-file",
        ),
    tool("branch")
        .short("dDmMcCfqlrtav")
        .value("u")
        .long("delete move copy force quiet track no-track unset-upstream create-reflog remotes all list verbose")
        .long_value("set-upstream-to track"),
    tool("tag")
        .short("afd")
        .value("mF")
        .long("annotate force delete create-reflog no-create-reflog no-sign")
        .long_value("message file cleanup"),
    tool("merge")
        .short("nqv")
        .value("msXF")
        .long(
            "commit no-commit no-edit ff no-ff ff-only log no-log stat no-stat squash no-squash signoff no-signoff verify \
             no-verify allow-unrelated-histories abort quit continue autostash no-autostash quiet verbose progress \
             no-progress overwrite-ignore no-overwrite-ignore no-verify-signatures rerere-autoupdate \
             no-rerere-autoupdate no-gpg-sign",
        )
        .long_value("log strategy strategy-option message file cleanup into-name"),
    tool("rebase")
        .short("fmqvnr")
        .value("sXC")
        .long(
            "continue skip abort quit keep-empty no-keep-empty apply merge verbose quiet stat no-stat no-verify verify \
             force-rebase no-ff ignore-whitespace committer-date-is-author-date reset-author-date signoff root autosquash \
             no-autosquash autostash no-autostash fork-point no-fork-point keep-base update-refs no-update-refs \
             reapply-cherry-picks no-reapply-cherry-picks rebase-merges no-rebase-merges no-gpg-sign rerere-autoupdate \
             no-rerere-autoupdate",
        )
        .long_value("onto strategy strategy-option empty rebase-merges whitespace"),
    tool("cherry-pick")
        .short("xns")
        .value("mX")
        .long(
            "no-commit signoff ff allow-empty allow-empty-message keep-redundant-commits continue skip abort quit \
             rerere-autoupdate no-rerere-autoupdate no-gpg-sign",
        )
        .long_value("mainline strategy strategy-option empty cleanup"),
    tool("revert")
        .short("ns")
        .value("mX")
        .long(
            "no-commit no-edit signoff continue skip abort quit reference rerere-autoupdate no-rerere-autoupdate no-gpg-sign",
        )
        .long_value("mainline strategy strategy-option cleanup"),
    tool("stash stash/push stash/save")
        .short("kuaqS")
        .value("m")
        .long("keep-index no-keep-index include-untracked no-include-untracked all quiet staged pathspec-file-nul")
        .long_value("message pathspec-from-file"),
    tool("stash/pop stash/apply").short("q").long("quiet index"),
    tool("stash/drop stash/clear stash/branch stash/create").short("q").long("quiet"),
    tool("stash/store").short("q").value("m").long("quiet").long_value("message"),
    tool("stash/show").short("u").long("stat name-only name-status numstat shortstat include-untracked only-untracked"),
    tool("fetch")
        .short("avqpPtnkfu46")
        .value("j")
        .long(
            "all no-all append atomic force keep prune prune-tags no-tags tags dry-run verbose quiet progress no-progress \
             unshallow update-shallow ipv4 ipv6 multiple auto-gc no-auto-gc auto-maintenance no-auto-maintenance \
             recurse-submodules no-recurse-submodules porcelain write-commit-graph no-write-commit-graph refetch \
             set-upstream update-head-ok",
        )
        .long_value("depth deepen shallow-since shallow-exclude jobs refmap negotiation-tip filter recurse-submodules"),
    tool("pull")
        .short("qvnrfat46p")
        .value("sXj")
        .long(
            "rebase no-rebase ff no-ff ff-only commit no-commit no-edit squash no-squash stat no-stat log autostash \
             no-autostash allow-unrelated-histories quiet verbose progress no-progress all append force tags no-tags prune \
             keep unshallow update-shallow ipv4 ipv6 recurse-submodules no-recurse-submodules no-verify verify signoff \
             no-signoff set-upstream dry-run no-verify-signatures",
        )
        .long_value("rebase strategy strategy-option depth deepen shallow-since jobs recurse-submodules cleanup"),
    tool("push")
        .short("nfuqvd46")
        .value("o")
        .long(
            "all branches mirror tags follow-tags no-follow-tags dry-run porcelain delete prune force force-with-lease \
             no-force-with-lease force-if-includes no-force-if-includes set-upstream quiet verbose progress no-progress \
             verify no-verify thin no-thin atomic no-atomic ipv4 ipv6 no-signed no-recurse-submodules",
        )
        .long_value("force-with-lease recurse-submodules push-option"),
    tool("clone")
        .short("qvn46")
        .value("boj")
        .long(
            "quiet verbose progress no-progress no-checkout bare mirror single-branch no-single-branch tags no-tags \
             recurse-submodules recursive shallow-submodules no-shallow-submodules remote-submodules \
             no-remote-submodules sparse reject-shallow no-reject-shallow ipv4 ipv6 also-filter-submodules",
        )
        .long_value("branch origin depth jobs shallow-since shallow-exclude filter revision"),
    tool("init").short("q").value("b").long("quiet bare").long_value("initial-branch object-format ref-format"),
    tool("remote/add").short("f").value("tm").long("fetch tags no-tags").long_value("mirror"),
    tool("remote/rename").long("progress no-progress"),
    tool("remote/remove remote/rm"),
    tool("remote/show").short("n"),
    tool("remote/prune").short("n").long("dry-run"),
    tool("remote/update").short("p").long("prune"),
    tool("remote/set-head").short("ad").long("auto delete"),
    tool("remote/set-branches").long("add"),
    tool("remote/set-url").long("push add delete"),
    tool("worktree/add")
        .short("fdq")
        .value("bB")
        .long("force detach checkout no-checkout lock quiet guess-remote no-guess-remote track no-track orphan")
        .long_value("reason"),
    tool("worktree/remove worktree/move").short("f").long("force"),
    tool("worktree/lock").long_value("reason"),
    tool("worktree/unlock"),
    tool("worktree/prune").short("nv").long("dry-run verbose").long_value("expire"),
    tool("submodule submodule/status submodule/init").long("cached recursive quiet"),
    tool("submodule/add").short("fq").value("b").long("force quiet").long_value("branch name depth"),
    tool("submodule/update")
        .short("qNf")
        .value("j")
        .long(
            "quiet init remote no-fetch force checkout merge rebase recursive recommend-shallow no-recommend-shallow \
             single-branch no-single-branch progress",
        )
        .long_value("depth jobs filter"),
    tool("submodule/deinit").short("fq").long("force all quiet"),
    tool("submodule/sync").short("q").long("recursive quiet"),
    tool("submodule/set-branch").short("qd").value("b").long("quiet default").long_value("branch"),
    tool("submodule/set-url").short("q").long("quiet"),
    tool("apply")
        .short("v3Rqz")
        .value("pC")
        .long(
            "stat numstat summary check index cached 3way ours theirs union apply reverse reject unidiff-zero recount \
             allow-empty verbose quiet inaccurate-eof allow-overlap intent-to-add ignore-whitespace ignore-space-change \
             no-add",
        )
        .long_value("whitespace exclude include directory"),
    tool("am")
        .short("skumc3q")
        .value("pC")
        .long(
            "signoff keep keep-non-patch keep-cr no-keep-cr scissors no-scissors quiet utf8 no-utf8 3way no-3way continue \
             resolved skip abort quit no-verify reject committer-date-is-author-date ignore-date no-gpg-sign message-id \
             no-message-id ignore-whitespace",
        )
        .long_value("whitespace directory exclude include empty quoted-cr"),
    tool("notes notes/list notes/show notes/remove notes/copy").short("f").long("force ignore-missing"),
    tool("notes/add notes/append").short("f").value("mFC").long("force allow-empty").long_value("message file reuse-message"),
    tool("notes/prune").short("nv").long("dry-run verbose"),
    tool("gc")
        .short("q")
        .long("aggressive auto quiet force keep-largest-pack no-prune cruft no-cruft detach no-detach")
        .long_value("prune"),
    tool("prune").short("nv").long("dry-run verbose progress").long_value("expire"),
    tool("pack-refs").long("all no-prune prune"),
    tool("repack").short("adlfqAkn").long("quiet"),
    tool("update-index")
        .short("qg")
        .long(
            "add remove refresh really-refresh force-remove again assume-unchanged no-assume-unchanged skip-worktree \
             no-skip-worktree ignore-missing unmerged replace info-only",
        )
        .long_value("chmod cacheinfo"),
    tool("update-ref").short("d").value("m").long("no-deref create-reflog").text(),
    tool("symbolic-ref").short("dq").value("m").long("delete quiet").text(),
    tool("sparse-checkout/set sparse-checkout/add sparse-checkout/init sparse-checkout/reapply sparse-checkout/disable \
          sparse-checkout/list")
        .long("cone no-cone sparse-index no-sparse-index skip-checks"),
    tool("clean").short("dfnqxX").value("e").long("force dry-run quiet").long_value("exclude"),
    tool("bisect/start")
        .long("no-checkout first-parent")
        .long_value("term-new term-old term-good term-bad"),
    tool("bisect/good bisect/bad bisect/old bisect/new bisect/skip bisect/next bisect/reset bisect/log bisect/terms"),
    tool("reflog/expire")
        .short("nv")
        .long("all dry-run verbose rewrite updateref stale-fix single-worktree")
        .long_value("expire expire-unreachable"),
    tool("reflog/delete").short("nv").long("dry-run verbose rewrite updateref"),
];
