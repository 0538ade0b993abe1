//! Programs that read text and write text.

use super::super::languages::{awk, jq, sed, yq};
use super::{Operands, Profile, tool};

pub(crate) const TEXT: &[Profile] = &[
    tool("nl").short("p").value("bdfhilnsvw").long_value("body-numbering number-width starting-line-number").reads_only(),
    tool("grep egrep fgrep zgrep")
        .short("EFGPinrcolLHhsqvwxyzaIbTZ")
        .value("eABCm")
        .long(
            "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case line-number recursive count \
             only-matching files-with-matches files-without-match with-filename no-filename no-messages quiet silent \
             invert-match word-regexp line-regexp text color colour null byte-offset initial-tab line-buffered null-data",
        )
        .long_value(
            "regexp after-context before-context context max-count include exclude exclude-dir color colour binary-files \
             label group-separator",
        )
        .number()
        .operands(Operands::PatternThenPaths)
        .folders("r recursive")
        .restricts("include")
        .texts("e regexp")
        .reads_only(),
    tool("rg")
        .short("niIlcwvxFSsoHNUPqpau.0b")
        .value("eABCmgtTMjdrE")
        .long(
            "line-number no-line-number ignore-case files-with-matches files-without-match count count-matches word-regexp \
             line-regexp invert-match fixed-strings smart-case case-sensitive only-matching with-filename no-filename \
             no-heading heading multiline multiline-dotall pcre2 files json column stats trim vimgrep hidden no-hidden \
             no-ignore no-ignore-vcs no-ignore-parent unrestricted text pretty quiet no-messages null passthru \
             type-list one-file-system byte-offset crlf no-config include-zero no-context-separator",
        )
        .long_value(
            "regexp after-context before-context context max-count glob iglob type type-not max-columns max-depth sort \
             sortr color colors max-filesize threads replace encoding context-separator engine",
        )
        .operands(Operands::PatternThenPaths)
        .folders("")
        .names_only("files type-list")
        .restricts("g t glob type")
        .texts("e regexp r replace"),
    tool("sort")
        .short("bdfghiMnrRsuVzcC")
        .value("ktS")
        .long(
            "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort \
             human-numeric-sort numeric-sort reverse unique version-sort stable zero-terminated check merge",
        )
        .long_value("key field-separator sort check buffer-size parallel"),
    tool("uniq")
        .short("cdDiuz")
        .value("fsw")
        .long("count repeated ignore-case unique zero-terminated all-repeated")
        .long_value("skip-fields skip-chars check-chars group all-repeated")
        .operands(Operands::One),
    tool("cut")
        .short("nsz")
        .value("bcdf")
        .long("complement only-delimited zero-terminated")
        .long_value("bytes characters delimiter fields output-delimiter")
        .harmless(),
    tool("tr").short("cCdst").long("complement delete squeeze-repeats truncate-set1").text().reads_only(),
    tool("rev tac").value("s").short("br").reads_only(),
    tool("comm").short("123iz").long("check-order nocheck-order total zero-terminated").long_value("output-delimiter"),
    tool("join").short("iz").value("12aejotv").long("header ignore-case check-order nocheck-order zero-terminated"),
    tool("paste").short("sz").value("d").long("serial zero-terminated").long_value("delimiters").reads_only(),
    tool("fold").short("bsc").value("w").long("bytes spaces").long_value("width").number().reads_only(),
    tool("fmt").short("cstu").value("wgp").long("uniform-spacing split-only").long_value("width").number().reads_only(),
    tool("pr").short("adfmt").value("hlwo").number().reads_only(),
    tool("expand unexpand").short("ai").value("t").long("initial all first-only").long_value("tabs").number().reads_only(),
    tool("column")
        .short("texJ")
        .value("sNoRHdlc")
        .long("table json")
        .long_value("separator output-separator table-columns table-right table-hide table-name output-width")
        .reads_only(),
    tool("shuf").short("erz").value("in").long("echo repeat zero-terminated").long_value("input-range head-count"),
    tool("iconv").short("cl").value("ft").long("list").long_value("from-code to-code"),
    tool("numfmt")
        .long("header")
        .value("d")
        .long_value("to from suffix padding format field delimiter round to-unit from-unit")
        .text(),
    tool("sed gsed")
        .short("nErsuz")
        .value("el")
        .long("quiet silent regexp-extended separate unbuffered null-data posix sandbox debug")
        .long_value("expression line-length")
        .others("i? in-place? f! file! b binary follow-symlinks")
        .script(sed::only_reads, "e expression"),
    tool("awk gawk mawk nawk")
        .value("Fv")
        .long("csv posix traditional re-interval")
        .long_value("field-separator assign")
        .texts("F v field-separator assign")
        .others("f! file! E! exec! i: include: l: load: O optimize S sandbox")
        .script(awk::only_reads, ""),
    jq("jq gojq").reads_only(),
    jq("jaq"),
    yq("yq"),
];

/// Subcommands, as `program:name`.
pub(crate) const SUBCOMMANDS: &[Profile] = &[yq("yq:eval yq:e")];

const fn yq(names: &'static str) -> Profile {
    tool(names)
        .short("rcPCMnejV0")
        .value("opI")
        .long("raw-output compact-output prettyPrint colors no-colors null-input unwrapScalar version no-doc")
        .long_value("output-format input-format indent")
        .others("i inplace in-place y Y yaml-output yaml-roundtrip")
        .script(yq::only_reads, "")
}

const fn jq(names: &'static str) -> Profile {
    tool(names)
        .short("rRcCMSsnejaV")
        .long(
            "raw-output raw-input compact-output color-output monochrome-output sort-keys slurp null-input exit-status \
             join-output ascii-output tab unbuffered stream stream-errors seq args jsonargs raw-output0 version",
        )
        .value("L")
        .long_value("indent library-path")
        .paths("L library-path")
        .pairs("arg argjson")
        .path_pairs("slurpfile rawfile argfile")
        .others("f! from-file! i in-place")
        .script(jq::only_reads, "")
}
