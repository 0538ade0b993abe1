use super::{Redirection, ShellWord, SimpleCommand, parse, parse_counted};

/// Describes the words of each command in the order of their positions: literals unchanged, `*pattern`, `~home`,
/// `?prefix`, `??prefix` for any number of words; assignments and redirections before the name.
fn describe(text: &str) -> String {
    let Ok(mut parsed) = parse(text) else { return "unreadable".to_owned() };
    parsed.commands.sort_by_key(|command| command.position);
    let described: Vec<String> = parsed.commands.iter().map(describe_command).collect();
    described.join(" | ")
}

fn describe_command(command: &SimpleCommand) -> String {
    let SimpleCommand { words, assignments, redirections, .. } = command;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(assignments.iter().map(|it| format!("{}={}", it.name, describe_word(&it.value))));
    let redirection = |it: &Redirection| format!("{}{}", it.operator, describe_word(&it.target));
    parts.extend(redirections.iter().map(redirection));
    parts.extend(words.iter().map(describe_word));
    parts.join(" ")
}

fn describe_word(word: &ShellWord) -> String {
    match word {
        ShellWord::Literal(text) => format!("<{text}>"),
        ShellWord::Pattern(text) => format!("*{text}"),
        ShellWord::Home(text) => format!("home {text}"),
        ShellWord::Unknown { prefix, several, number } => {
            format!("{}{}{prefix}", if *several { "??" } else { "?" }, if *number { "#" } else { "" })
        }
    }
}

#[track_caller]
fn assert_described(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(text, expected)| describe(text) != *expected)
        .map(|(text, expected)| format!("{text}\n  is       {}\n  expected {expected}", describe(text)))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn words_are_those_of_bash() {
    assert_described(&[
        ("ls -la 'a b' \"c d\" e\\ f", "<ls> <-la> <a b> <c d> <e f>"),
        ("l''s \"\" ''", "<ls> <> <>"),
        ("echo $'a\\tb\\x41\\101\\'\\cA' \"a\\b\\\"\"", "<echo> ?a\tbAA' <a\\b\">"),
        ("echo $'\\x41\\101\\u0042\\'' $\"a\"", "<echo> <AAB'> <a>"),
        ("echo $'\\u00e9' $'a\\0b'", "<echo> ? ?a"),
        ("echo $x \"$x\" a$x \"$@\" \"$*\" $#", "<echo> ?? ? ??a ?? ? ??#"),
        ("echo *.rs 'a*'b? [ab] [ a] \\*", "<echo> **.rs *a\\*b? *[ab] <[> <a]> <*>"),
        ("echo ~ ~/a ~root a=~ b:~ a~ '~'", "<echo> home ~ home ~/a ? ?a= ?b: <a~> <~>"),
        (
            "echo {a,b}c x{1..3} {} {a} a{,b} {3..1} {a..c} {a,b}{c,d}",
            "<echo> <ac> <bc> <x1> <x2> <x3> <{}> <{a}> <a> <ab> <3> <2> <1> ?? ??",
        ),
        ("{ls,-l}", "<ls> <-l>"),
        ("a\\\nb c\\\n d", "<ab> <c> <d>"),
        ("echo $\\\n(evil)", "<echo> ?? | <evil>"),
        ("echo a#b #c\nls", "<echo> <a#b> | <ls>"),
        ("echo ${x} ${x:-a} ${#x} \"${1+b}\" ${?}", "<echo> ?? ?? ??# ? ??#"),
        ("echo $ a$ \"$\" $% \"a$\"", "<echo> <$> <a$> <$> <$%> <a$>"),
        ("echo 'é' \"漢\" ü", "<echo> <é> <漢> <ü>"),
    ]);
}

#[test]
fn commands_are_listed_wherever_they_are() {
    assert_described(&[
        ("a; b & c && d || e | f |& g\nh", "<a> | <b> | <c> | <d> | <e> | <f> | <g> | <h>"),
        ("! a; time -p -- b; time -f c; ! ! d", "<a> | <b> | <-f> <c> | <d>"),
        ("(a; { b; }) >x 2>&1", "<a> | <b> | ><x> >&<1>"),
        ("if a; then b; elif c; then d; else e; fi", "<a> | <b> | <c> | <d> | <e>"),
        ("while a; do b; done; until c; do d; done <x", "<a> | <b> | <c> | <d> | <<x>"),
        ("for i in a $(b) {1..3}; do c $i; done", "<b> | <c> ??"),
        ("for i\ndo a; done; for j do b; done", "<a> | <b>"),
        ("case $(a) in b|c) d;; (e) f;& *) ;;& x) esac", "<a> | <d> | <f>"),
        ("case x in esac", ""),
        ("[[ -n $(a) && b == c* || $# -eq 0 ]] && d", "<a> | <d>"),
        ("echo \"$(a \"$(b)\")\" `c` <(d) >(e)", "<echo> ? ?? ? ? | <c> | <a> ? | <b> | <d> | <e>"),
        ("\"${x:-$(cat .env)}\"", "? | <cat> <.env>"),
        ("(a) && { b\n}", "<a> | <b>"),
        ("if (a) then b; fi", "<a> | <b>"),
        ("X=1 Y=~/a:b a Z=2", "X=<1> Y=? <a> <Z=2>"),
        ("X=~/a; Y+=b", "X=home ~/a | Y=<b>"),
        ("\"a\"=b", "<a=b>"),
        ("$x a; if", "unreadable"),
        ("echo $((1 + x)) \"$(( $y * 2 ))\"", "<echo> ??# ?#"),
        ("if=1; echo if; \\if", "if=<1> | <echo> <if> | <if>"),
        ("{ a; } then", "unreadable"),
        ("echo }", "<echo> <}>"),
    ]);
}

#[test]
fn redirections_have_their_targets() {
    assert_described(&[
        (">a b <c 2>>d >|e <>f", "><a> <<c> >><d> >|<e> <><f> <b>"),
        ("a &>b &>>c >&d 2>&1 >&- {fd}>e", "fd=?# &><b> &>><c> >&<d> >&<1> >&<-> ><e> <a>"),
        ("a <<<b <<<$x", "<<<<b> <<<? <a>"),
        ("a >&-l <& -b", ">&<-> <&<-> <a> <l> <b>"),
        ("a 2 >b", "><b> <a> <2>"),
        ("a b2>c", "><c> <a> <b2>"),
        ("a > {b,c}", ">?? <a>"),
        ("a >& '$(b)'", "unreadable"),
        ("a >&$x", "unreadable"),
        ("a > 2>b", "unreadable"),
        ("a >", "unreadable"),
        ("a < <(b)", "<? <a> | <b>"),
    ]);
}

#[test]
fn here_documents_hide_nothing() {
    assert_described(&[
        ("cat <<E\na $x\nE\nls", "<<?a  <cat> | <ls>"),
        ("cat <<'E'\n$(a)\nE", "<<<$(a)\n> <cat>"),
        ("cat <<-\\E\n\ta\n\tE\nls", "<<<a\n> <cat> | <ls>"),
        ("cat <<A <<\"B\"\na\nA\nb\nB\nls", "<<<a\n> <<<b\n> <cat> | <ls>"),
        ("cat <<E\n'$(a)'\nE\\\n\nls", "<<?' <cat> | <a> | <ls>"),
        ("cat <<E\nx\\\nE\nE\nls", "<<<xE\n> <cat> | <ls>"),
        ("cat <<E\nx\n", "unreadable"),
        ("cat <<E", "unreadable"),
        ("a $(cat <<E\nx\nE)", "unreadable"),
        ("a $(cat <<E\nx\nE\n)", "<a> ?? | <<<x\n> <cat>"),
        ("a $(b && cat <<'E'\nx\nE\n\n) c", "<a> ?? <c> | <b> | <<<x\n> <cat>"),
        ("a $(cat <<E\nx\nE\nb; c)", "unreadable"),
        ("a $(cat <<E; b\nx\nE\n)", "unreadable"),
        ("a $({ cat <<E\nx\nE\n})", "unreadable"),
        ("cat <<E $(a\nb)\nE", "unreadable"),
        ("(cat <<E)\nx\nE", "<<<x\n> <cat>"),
        ("cat <<E |\nx\nE\nb", "<<<x\n> <cat> | <b>"),
    ]);
    let parsed = parse("cat <<E\n'$(a)' \"`b`\"\nE").unwrap();
    let names: Vec<_> = parsed.commands.iter().map(|command| command.words[0].literal().unwrap()).collect();
    assert_eq!(names, ["cat", "a", "b"]);
}

#[test]
fn text_that_bash_evaluates_again_is_unreadable() {
    let texts = [
        "((: '$(rm a.txt)'; :))",
        "if (( 1 )); then :; fi",
        "time (( 1 ))",
        "! (\\\n( 1 ))",
        "echo $(('$(touch pwn)'))",
        "[[ 'a[$(touch pwn)]' -eq 1 ]]",
        "declare -i y='a[$(touch pwn)]'",
        "\"${x:-'$(touch pwn)'}\"",
        "cat <<E\n${x:-'$(touch pwn)'}\nE",
        "echo ${x@P}",
        "PS4='$(touch pwn)'; set -x; ls",
        "echo $[1]",
        "let x=1",
        "for ((;;)); do a; done",
        "f() { a; }",
        "function f { a; }",
        "a=(b)",
        "a[1]=b",
        "echo ${a[1]}",
        "echo ${!x}",
        "echo ${x:=a}",
        "echo ${x%a}",
        "select x in a; do b; done",
        "coproc a",
        "alias a=b",
        "shopt -s extglob",
        "echo @(a|b)",
        "ls\r\nls",
        "a\0b",
        "a\u{1}",
        "a\u{7f}",
        "x='a[$(b)]'; echo $((x))",
        "RANDOM='a[$(b)]'",
        "for SECONDS in 'a[$(b)]'; do :; done",
        "read OPTIND <<< 'a[$(b)]'",
        "export HISTCMD='a[$(b)]'",
        "read x; echo $((x))",
        "for x in a; do echo $((x)); done",
        "eval a; echo $((x))",
        "test -v 'a[$(b)]'",
        "[ $x 'a[$(b)]' ]",
        "printf -v 'a[$(b)]' x",
        "unset 'a[$(b)]'",
        "read 'a[$(b)]'",
        "set -k; a b=c",
        "set +B",
        "set -o posix",
        "command declare -i x=1",
        "export -f a",
        "[[ a =~ (b) ]]",
        "echo `a \\` b`",
        "'",
        "\"",
        "$(",
        "${",
        "`",
        "\\",
        "(",
        "()",
        "{ }",
        "a;;",
        ";",
        "| a",
        "a |",
        "a &&",
        "& a",
        "fi",
        "echo a(b)",
        "echo a (b)",
        "$'\\x'",
        "in",
        "]]",
        "[[ a",
        "case x in a",
        "for 1 in a; do b; done",
    ];
    for text in texts {
        assert_eq!(describe(text), "unreadable", "{text}");
    }
}

#[test]
fn nesting_is_bounded_without_recursion() {
    for open in ["(", "$(", "\"$(", "{ ", "if ", "${x:-", "case x in a) ", "while ", "<(", "[[ ", "cat <<E\n$("] {
        assert!(parse(&open.repeat(20_000)).is_err(), "{open}");
    }
    let nested = |depth: usize| format!("{}a{}", "$(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(90)).is_ok() && parse(&nested(110)).is_err());
}

/// Texts that take other parsers quadratic time or more.
const HOSTILE: &[(&str, &str, &str)] = &[
    ("a", "|a", ""),
    ("", "a;", ""),
    ("echo ", "{a,", ""),
    ("echo ", "{a,b}", ""),
    ("echo {a", ",a", "}"),
    ("echo ", "\\\n", "a"),
    ("echo ", "$(a) ", ""),
    ("echo ", "`a` ", ""),
    ("echo \"", "$(a)$x${y:-z}", "\""),
    ("", "cat <<E\n$(a)\nE\n", ""),
    ("echo ", "[*?", "]"),
    ("echo ", "~:", ""),
    ("echo ", "'a'\"b\"\\c$'d'", ""),
    ("x=1; echo $((", "x+", "1))"),
    ("for i in ", "a ", "; do b; done"),
    ("case x in ", "a|", "a) b;; esac"),
    ("[[ ", "a && ", "a ]]"),
    ("cat <<EEEEEEEEEEEEEEEE\n", "EEEEEEEEEEEEEEE\n", "EEEEEEEEEEEEEEEE\n"),
    ("", "x=a ", ""),
    ("a ", "2>b ", ""),
    ("a ", "<\\\n", ""),
    ("", "(", ""),
    ("", "$(", ""),
    ("", "!", " a"),
];

#[test]
fn steps_grow_with_the_text() {
    for (before, repeated, after) in HOSTILE {
        let steps =
            |bytes: usize| parse_counted(&format!("{before}{}{after}", repeated.repeat(bytes / repeated.len()))).1;
        for bytes in [8 << 10, 16 << 10, 32 << 10] {
            let (one, two) = (steps(bytes), steps(2 * bytes));
            assert!(two * 10 <= one * 21 + 1000, "{repeated:?} of {bytes}: {one} and {two} steps");
            assert!(two <= 40 * bytes, "{repeated:?}: {two} steps for {} bytes", 2 * bytes);
        }
    }
}
