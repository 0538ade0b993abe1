//! Programs that tell of files: their names, their sizes, what they hold.

use super::{Operands, Profile, tool};

pub(crate) const FILES: &[Profile] = &[
    // Not `H` and `L`: they follow links, and with `R` out of the project.
    tool("ls")
        .short("aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1")
        .value("ITw")
        .long(
            "all almost-all author classify color directory escape file-type full-time group-directories-first \
             human-readable inode no-group numeric-uid-gid quote-name recursive reverse si size",
        )
        .long_value("block-size classify color format hide ignore indicator-style quoting-style sort time time-style width")
        .names()
        .harmless(),
    tool("dir vdir").short("alhrtR1").names(),
    tool("cat")
        .short("AbeEnstTuv")
        .long("show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting")
        .harmless(),
    tool("head tail")
        .short("qvz")
        .value("nc")
        .long("quiet silent verbose zero-terminated")
        .long_value("lines bytes")
        .number()
        .harmless(),
    tool("wc").short("clmLw").long("bytes chars lines max-line-length words").long_value("total").reads_only(),
    tool("stat").short("Lft").value("c").long("terse dereference").long_value("format printf").names().harmless(),
    tool("file")
        .short("bhikLNprsz0")
        .long("brief mime mime-type mime-encoding extension dereference no-dereference keep-going")
        .names(),
    tool("tree")
        .short("adfiFhpsugDtrcCnANSUvxQ")
        .value("LIP")
        .long("dirsfirst noreport prune gitignore du si matchdirs ignore-case sort")
        .long_value("charset filelimit sort timefmt")
        .names(),
    // Not `L`: it follows links out of the project.
    tool("du")
        .short("abchklmPsSx0")
        .value("dBt")
        .long("all apparent-size bytes human-readable summarize total one-file-system separate-dirs time si")
        .long_value("max-depth block-size exclude threshold")
        .names()
        .reads_only(),
    tool("df")
        .short("ahHiklmPT")
        .value("txB")
        .long("all human-readable inodes local print-type total portability si")
        .long_value("type exclude-type block-size output")
        .names(),
    tool("pwd").short("LP").nothing(),
    tool("which type").short("aptf").long("all").text().reads_only(),
    tool("basename").short("az").value("s").long("multiple zero").long_value("suffix").text().reads_only(),
    tool("dirname").short("z").long("zero").text().reads_only(),
    tool("realpath readlink")
        .short("efmnqszLP")
        .long("canonicalize canonicalize-existing canonicalize-missing no-symlinks strip quiet zero no-newline logical physical")
        .long_value("relative-to relative-base")
        .paths("relative-to relative-base")
        .names()
        .reads_only(),
    tool("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum")
        .short("btrsz")
        .value("la")
        .long("binary text tag zero")
        .long_value("length algorithm")
        .reads_only(),
    tool("shasum").short("btpU").value("a").long("binary text").long_value("algorithm").reads_only(),
    tool("cmp").short("bls").value("in").long("print-bytes verbose quiet silent").long_value("bytes ignore-initial"),
    tool("diff")
        .short("abBdeinNpqrstTuwyZ")
        .value("UCW")
        .long(
            "brief ignore-all-space ignore-blank-lines ignore-case ignore-space-change new-file recursive \
             report-identical-files side-by-side suppress-common-lines text unified color minimal show-c-function \
             strip-trailing-cr",
        )
        .long_value("unified context width color label")
        .folders("")
        .reads_only(),
    tool("xxd").short("abeipu").value("cglos").number().operands(Operands::One),
    tool("hexdump hd").short("bcCdovx").value("ns").reads_only(),
    tool("od")
        .short("abcdfilosvx")
        .value("AjNStw")
        .long("output-duplicates")
        .long_value("address-radix skip-bytes read-bytes format width strings")
        .reads_only(),
    tool("strings").short("afow").value("netTs").long("all print-file-name").long_value("bytes radix encoding").reads_only(),
    tool("base64 base32").short("di").value("w").long("decode ignore-garbage").long_value("wrap").reads_only(),
    tool("zcat gzcat").short("f").reads_only(),
    tool("gzip").short("lvt").long("list test verbose").needs("l list t test"),
    tool("unzip").short("lvZqt1").needs("l v Z t"),
    tool("zipinfo").short("12slmvhtTz").reads_only(),
    tool("nm")
        .short("aABCDgGlnopPrSuUvW")
        .value("ft")
        .long(
            "demangle dynamic extern-only defined-only undefined-only print-size size-sort numeric-sort no-sort reverse-sort \
             line-numbers print-file-name debug-syms no-demangle portability",
        )
        .long_value("format radix demangle"),
    tool("objdump")
        .short("afpPhxdDSzgeGtTrRsCwlF")
        .value("jmMb")
        .long(
            "archive-headers file-headers private-headers headers section-headers all-headers disassemble disassemble-all \
             source demangle wide line-numbers reloc dynamic-reloc syms dynamic-syms full-contents no-show-raw-insn \
             no-addresses visualize-jumps",
        )
        .long_value("section architecture disassembler-options start-address stop-address disassemble demangle dwarf"),
    tool("readelf")
        .short("ahlSgteswndruVADIcWTC")
        .value("xpR")
        .long(
            "all file-header program-headers segments section-headers sections symbols syms dyn-syms notes relocs dynamic \
             version-info histogram wide headers",
        )
        .long_value("hex-dump string-dump debug-dump"),
    tool("size").short("ABdoxtG").long("totals common").long_value("format radix"),
    tool("fd fdfind")
        .short("HIsipag01u")
        .value("tedESc")
        .long(
            "hidden no-ignore case-sensitive ignore-case fixed-strings absolute-path full-path glob print0 \
             no-ignore-vcs unrestricted regex one-file-system strip-cwd-prefix relative-path prune quiet",
        )
        .long_value(
            "type extension exclude max-depth min-depth exact-depth size changed-within changed-before max-results color \
             threads path-separator",
        )
        .operands(Operands::PatternThenPaths)
        .names(),
    tool("tokei")
        .short("fhsC")
        .value("etos")
        .long("files hidden no-ignore compact")
        .long_value("exclude type types sort output columns")
        .names(),
    tool("cloc")
        .one_dash()
        .long("by-file quiet json md csv hide-rate sum-one skip-uniqueness")
        .long_value("include-lang exclude-lang exclude-dir include-ext exclude-ext")
        .names(),
    tool("scc").short("wz").value("is").long("by-file no-cocomo no-complexity wide").names(),
];
