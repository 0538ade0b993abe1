//! Checks that hostile text is judged in a short time.

use super::command;
use std::time::{Duration, Instant};
use toolfence_kit::Random;
use toolfence_policy::{Judgement, shell_parser};

const RANDOM_TEXTS: usize = 2_000;

/// The limit is generous, because a text that evades the size limits takes minutes or overflows the stack.
const LONGEST: Duration = Duration::from_secs(5);

fn time_of(text: &str) -> Duration {
    let begun = Instant::now();
    let _ = command(text);
    begun.elapsed()
}

#[test]
fn hostile_text_is_judged() {
    for text in nested().into_iter().chain(repeated()).chain(odd()) {
        let start: String = text.chars().take(24).collect();
        let runs_nothing = shell_parser::parse(&text).is_ok_and(|parsed| parsed.commands.is_empty());
        assert!(runs_nothing || command(&text).judgement != Judgement::Allow, "{start:?}");
        let took = time_of(&text);
        assert!(took < LONGEST, "{start:?} ({} bytes) took {took:?}", text.len());
    }
}

/// Returns nested brackets and compounds.
fn nested() -> Vec<String> {
    vec![
        "(".repeat(28),
        "(".repeat(60_000),
        "( ".repeat(28),
        "((".repeat(14),
        "$((".repeat(20),
        "$(".repeat(100),
        "$(".repeat(30_000),
        "\"$(".repeat(100),
        "${a:-".repeat(200),
        "${".repeat(30_000),
        "$[".repeat(200),
        "`".repeat(60_001),
        "{ ".repeat(4_000),
        "{ ".repeat(30_000),
        "case x in a) ".repeat(20),
        "case x in (a) ".repeat(20),
        "case x in a) case x in a) : ;; esac ".repeat(100),
        "if ".repeat(5_000),
        "if echo fi; ".repeat(5_000),
        "while ".repeat(5_000),
        "for x in a; do ".repeat(3_000),
        "then ".repeat(9_000),
        "! ".repeat(20_000),
        format!("[[ {} x ]]", "! ".repeat(20_000)),
        format!("[[ {} x", "( ".repeat(40)),
        format!("[[ x {} ]]", "&& x ".repeat(10_000)),
        "coproc ".repeat(8_000),
    ]
}

/// Returns texts that repeat many times.
fn repeated() -> Vec<String> {
    vec![
        "time ".repeat(8_000),
        "function f ".repeat(5_000),
        "f() ".repeat(10_000),
        "f() { ".repeat(5_000),
        "a | ".repeat(15_000),
        "a;".repeat(30_000),
        ";".repeat(60_000),
        "&".repeat(60_000),
        "<".repeat(60_000),
        "<(".repeat(28),
        "cat <(".repeat(28),
        "<<A ".repeat(10_000),
        format!("cat <<'{}'\n{}", "x".repeat(30_000), "y\n".repeat(10_000)),
        format!("cat <<E\n{}E\n", "'\"`$(\n".repeat(8_000)),
        format!("cat <<E\ndon't\nE\n{}", "(".repeat(28)),
        format!("((1<<E\n{}\nE\n))", "(".repeat(28)),
        "a[".repeat(20_000),
        format!("a[{}", "(".repeat(0) + &"\"((".repeat(3)),
        format!("a[\"{}", "(".repeat(40)),
        format!("a[{}]=1", "$(".repeat(30)),
        "a=(".repeat(28),
        "x=( y ".repeat(5_000),
        "{a,b}".repeat(10_000),
        "{".repeat(60_000),
        "{a,".repeat(20_000),
        format!("echo {{{}1}}", "1,".repeat(20_000)),
        "@(".repeat(20_000),
    ]
}

/// Returns unusual quotes, substitutions and other constructs.
fn odd() -> Vec<String> {
    vec![
        "$'\\x".repeat(15_000),
        "'".repeat(60_001),
        "\\".repeat(60_001),
        "\"".repeat(60_001),
        "x=$x$x$x$x;".repeat(5_000),
        format!("x=aaaaaaaa;{}", "x=$x$x;".repeat(1_000)),
        "x=1;x=2;x=3;x=4;x=5;x=6;echo $x$x$x$x$x$x$x$x".to_owned(),
        "echo 123456789012>x".to_owned(),
        "echo {1..999999999999999999999}".to_owned(),
        "~999999999999999999999999".to_owned(),
        "\u{1F600}".repeat(10_000),
        "eval ".repeat(10_000),
        "sudo ".repeat(12_000),
        "sh -c ".repeat(10_000),
        "find -exec ".repeat(5_000),
        format!("{}ls{}", "(".repeat(8), ")".repeat(8)),
        format!("{}{}{}", "( ".repeat(8), "ls; ".repeat(10_000), ")".repeat(8)),
        "<<E}x$[\t|<<'E'\t".to_owned(),
        "\\<<<$[".to_owned(),
        "\n ]]\\<<<''$[\t<<E)x[f() #[[ ".to_owned(),
        "cat <<E $(x\nE".to_owned(),
        "cat <<E \\\n$(x\nE".to_owned(),
        "cat <<E \"a\n\" $(x\nE".to_owned(),
        "$[))<< |c ".to_owned(),
        "$(<<\t|o ".to_owned(),
        "<<$(\t\t".to_owned(),
        "$(cat <<'' ".to_owned(),
        "a\0b".to_owned(),
        String::new(),
        "\n".repeat(60_000),
        "#".repeat(60_000),
    ]
}

/// Pieces of the language.
const PIECES: &[&str] = &[
    "(",
    ")",
    "((",
    "))",
    "{ ",
    " }",
    "{",
    "}",
    "$(",
    "${",
    "$((",
    "$[",
    "]",
    "`",
    "'",
    "\"",
    "\\",
    "\n",
    " ",
    ";",
    ";;",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "<",
    ">",
    "<<",
    "<<-",
    "<<<",
    "<(",
    ">(",
    ">&",
    "<&",
    "&>",
    ">|",
    "2>",
    "EOF",
    "EOF\n",
    "if ",
    "then ",
    "else ",
    "elif ",
    "fi",
    "case ",
    " in ",
    "esac",
    "for ",
    "while ",
    "until ",
    "do ",
    "done",
    "function ",
    "select ",
    "coproc ",
    "time ",
    "! ",
    "[[ ",
    " ]]",
    "[",
    "=~",
    "-eq",
    "a",
    "b=",
    "b+=",
    "b=(",
    "x[",
    "]=",
    "$x",
    "$'",
    "$\"",
    "~",
    "*",
    "?",
    "@(",
    "!(",
    "#",
    "{a,b}",
    "{1..9}",
    "99999999999",
    "0",
    "é",
    "\t",
    "rm",
    " -rf ",
    "/",
    "sh -c ",
    "eval ",
    "echo ",
    "f() ",
    "ls",
    "xargs ",
    "find . -exec ",
    "trap ",
    "..",
    "$@",
    "%n",
];

/// Random combinations are judged without a panic and without hanging.
#[test]
fn random_text_is_judged() {
    let mut random = Random::new(1);
    for _ in 0..RANDOM_TEXTS {
        let text: String = random.text(PIECES, 60);
        let took = time_of(&text);
        assert!(took < LONGEST, "{text:?} took {took:?}");
    }
}
