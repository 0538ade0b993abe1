//! The programs that fit into a table: options with and without a value, and what the operands are.

/// What operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// There are none.
    None,
    /// At most one path: a second would be written.
    One,
    /// Paths.
    Paths,
    /// A pattern and then paths.
    PatternThenPaths,
    /// Text that names nothing.
    Text,
}

/// What a program tells of the files it is pointed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Names, sizes and dates.
    Names,
    /// The contents of the files its operands name.
    Contents,
    /// The contents of files below the folders its operands name, where an option or its nature makes it go there.
    Folders,
}

/// A program that only reads when it is called like this.
pub(super) struct Profile {
    pub(super) names: &'static [&'static str],
    /// Short options without a value.
    pub(super) short: &'static str,
    /// Short options whose value is text.
    pub(super) short_value: &'static str,
    /// Long options without a value.
    pub(super) long: &'static [&'static str],
    /// Long options whose value is text.
    pub(super) long_value: &'static [&'static str],
    /// Whether `-5` is an option.
    pub(super) number: bool,
    pub(super) operands: Operands,
    pub(super) reads: Reads,
    /// Options that make it go into folders; empty where it always does.
    pub(super) recursive: &'static [&'static str],
    /// Options whose value restricts which files it reads there.
    pub(super) restricts: &'static [&'static str],
    /// Whether no option of the program can do harm, so that a name which happens to be one does not matter.
    pub(super) harmless: bool,
}

/// What most programs are: they read the contents of the files they name.
pub(super) const PLAIN: Profile = Profile {
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

const NAMES: Profile = Profile { reads: Reads::Names, ..PLAIN };

pub(super) const PROFILES: &[Profile] = &[
    Profile {
        names: &["ls"],
        // Not `H` and `L`: they follow links, and with `R` out of the project.
        short: "aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1",
        short_value: "ITw",
        long: &[
            "all",
            "almost-all",
            "author",
            "classify",
            "color",
            "directory",
            "file-type",
            "full-time",
            "group-directories-first",
            "human-readable",
            "inode",
            "no-group",
            "numeric-uid-gid",
            "recursive",
            "reverse",
            "si",
            "size",
        ],
        long_value: &["color", "format", "hide", "ignore", "indicator-style", "sort", "time", "time-style", "width"],
        harmless: true,
        ..NAMES
    },
    Profile {
        names: &["cat"],
        short: "AbeEnstTuv",
        long: &["show-all", "number-nonblank", "show-ends", "number", "squeeze-blank", "show-tabs", "show-nonprinting"],
        harmless: true,
        ..PLAIN
    },
    Profile {
        names: &["head", "tail"],
        short: "qvz",
        short_value: "nc",
        long: &["quiet", "silent", "verbose", "zero-terminated"],
        long_value: &["lines", "bytes"],
        number: true,
        harmless: true,
        ..PLAIN
    },
    Profile {
        names: &["wc"],
        short: "clmLw",
        long: &["bytes", "chars", "lines", "max-line-length", "words"],
        long_value: &["total"],
        ..PLAIN
    },
    Profile { names: &["nl"], short: "p", short_value: "bdfhilnsvw", ..PLAIN },
    Profile {
        names: &["grep", "egrep", "fgrep"],
        short: "EFGPinrcolLHhsqvwxzaI",
        short_value: "eABCm",
        long: &[
            "extended-regexp",
            "fixed-strings",
            "basic-regexp",
            "perl-regexp",
            "ignore-case",
            "line-number",
            "recursive",
            "count",
            "only-matching",
            "files-with-matches",
            "files-without-match",
            "with-filename",
            "no-filename",
            "no-messages",
            "quiet",
            "silent",
            "invert-match",
            "word-regexp",
            "line-regexp",
            "text",
            "color",
            "colour",
            "null",
        ],
        long_value: &[
            "regexp",
            "after-context",
            "before-context",
            "context",
            "max-count",
            "include",
            "exclude",
            "exclude-dir",
            "color",
            "colour",
            "binary-files",
        ],
        number: true,
        operands: Operands::PatternThenPaths,
        reads: Reads::Folders,
        recursive: &["r", "recursive"],
        restricts: &["include"],
        ..PLAIN
    },
    Profile {
        names: &["rg"],
        short: "niIlcwvxFSsoHNUPqp",
        short_value: "eABCmgtTM",
        long: &[
            "line-number",
            "no-line-number",
            "ignore-case",
            "files-with-matches",
            "count",
            "word-regexp",
            "invert-match",
            "fixed-strings",
            "smart-case",
            "case-sensitive",
            "only-matching",
            "with-filename",
            "no-filename",
            "no-heading",
            "heading",
            "multiline",
            "pcre2",
            "files",
            "json",
            "column",
            "stats",
            "trim",
            "vimgrep",
        ],
        long_value: &[
            "regexp",
            "after-context",
            "before-context",
            "context",
            "max-count",
            "glob",
            "type",
            "type-not",
            "max-columns",
            "max-depth",
            "sort",
            "color",
            "max-filesize",
        ],
        operands: Operands::PatternThenPaths,
        reads: Reads::Folders,
        restricts: &["g", "t", "glob", "type"],
        ..PLAIN
    },
    Profile {
        names: &["diff"],
        short: "abBdeinNpqrstTuwy",
        short_value: "UCW",
        long: &[
            "brief",
            "ignore-all-space",
            "ignore-blank-lines",
            "ignore-case",
            "new-file",
            "recursive",
            "side-by-side",
            "unified",
        ],
        long_value: &["unified", "context", "width", "color"],
        reads: Reads::Folders,
        ..PLAIN
    },
    Profile {
        names: &["sort"],
        short: "bdfghiMnrRsuVzcC",
        short_value: "kt",
        long: &[
            "ignore-case",
            "numeric-sort",
            "reverse",
            "unique",
            "version-sort",
            "human-numeric-sort",
            "stable",
            "zero-terminated",
        ],
        long_value: &["key", "field-separator"],
        ..PLAIN
    },
    Profile {
        names: &["uniq"],
        short: "cdDiuz",
        short_value: "fsw",
        long: &["count", "repeated", "ignore-case", "unique"],
        operands: Operands::One,
        ..PLAIN
    },
    Profile {
        names: &["cut"],
        short: "nsz",
        short_value: "bcdf",
        long: &["complement", "only-delimited"],
        long_value: &["bytes", "characters", "delimiter", "fields", "output-delimiter"],
        harmless: true,
        ..PLAIN
    },
    Profile {
        names: &["tr"],
        short: "cCdst",
        long: &["complement", "delete", "squeeze-repeats", "truncate-set1"],
        operands: Operands::Text,
        ..PLAIN
    },
    Profile { names: &["rev", "tac"], ..PLAIN },
    Profile {
        names: &["stat"],
        short: "Lft",
        short_value: "c",
        long_value: &["format", "printf"],
        harmless: true,
        ..NAMES
    },
    Profile {
        names: &["file"],
        short: "bhikLNprsz",
        long: &["brief", "mime", "mime-type", "mime-encoding", "dereference"],
        ..NAMES
    },
    Profile {
        names: &["tree"],
        short: "adfiFhpsugDtrCnAS",
        short_value: "LIP",
        long: &["dirsfirst", "noreport", "prune", "gitignore", "du", "si"],
        long_value: &["charset", "filelimit", "sort"],
        ..NAMES
    },
    Profile {
        names: &["du"],
        // Not `L`: it follows links out of the project.
        short: "abchklmPsSx0",
        short_value: "dB",
        long: &["all", "apparent-size", "human-readable", "summarize", "total", "one-file-system"],
        long_value: &["max-depth", "block-size", "exclude", "threshold"],
        ..NAMES
    },
    Profile {
        names: &["df"],
        short: "ahHiklmPT",
        long: &["all", "human-readable", "inodes", "local", "print-type", "total"],
        ..NAMES
    },
    Profile { names: &["pwd"], short: "LP", operands: Operands::None, ..NAMES },
    Profile { names: &["which", "type"], short: "a", long: &["all"], operands: Operands::Text, ..NAMES },
    Profile {
        names: &["basename"],
        short: "az",
        short_value: "s",
        long: &["multiple", "zero"],
        long_value: &["suffix"],
        operands: Operands::Text,
        ..NAMES
    },
    Profile { names: &["dirname"], short: "z", long: &["zero"], operands: Operands::Text, ..NAMES },
    Profile {
        names: &["realpath", "readlink"],
        short: "efmnqsz",
        long: &["canonicalize", "canonicalize-existing", "canonicalize-missing", "no-symlinks", "quiet", "zero"],
        ..NAMES
    },
    Profile { names: &["uname"], short: "asnrvmpio", operands: Operands::None, ..NAMES },
    Profile { names: &["whoami", "nproc", "arch"], operands: Operands::None, ..NAMES },
    Profile { names: &["md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum"], short: "bt", ..PLAIN },
];
