//! Counts what the judge of commands does on shapes that hurt, at doubling sizes, as `steps.rs` does for the parser of
//! replies; its own part apart from that of the shell parser it uses. Then the hostile inputs, with their times.
//! See `.ci/steps`.

mod counting;

use counting::Counter;
use std::time::Instant;
use toolfence::policy::{Decision, Facts, PathFact, Policy, ProgramFact};
use toolfence::program::policy::RepositoryFact;

/// A host whose answers cost nothing.
struct World;

impl Facts for World {
    fn path(&self, _: &str, _: &str) -> PathFact {
        PathFact::Inside { names: Vec::new() }
    }

    fn program(&self, _: &str) -> ProgramFact {
        ProgramFact::System
    }

    fn repository(&self, _: &str) -> RepositoryFact {
        RepositoryFact::Plain
    }

    fn sandbox_holds(&self) -> bool {
        false
    }
}

fn judge(text: &str) -> Decision {
    Policy::default().judge_command(text, "", &World)
}

/// The shell parser alone, on a text that the gate lets through.
fn parse(text: &str) {
    let options = brush_parser::ParserOptions::default();
    if let Ok(tokens) = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options()) {
        let _ = brush_parser::parse_tokens(&tokens, &options);
    }
}

/// A shape made so many times as long.
type Shape = (&'static str, fn(usize) -> String);

/// What stays within the limits at every size, or is refused by them.
const SHAPES: &[Shape] = &[
    ("words", |n| format!("ls {}", "word ".repeat(n))),
    ("one long word", |n| format!("ls {}", "word".repeat(8 * n))),
    ("quoted words", |n| format!("ls {}", "'a b' \"c d\" ".repeat(n / 2))),
    ("escapes", |n| format!("ls {}", "\\a".repeat(8 * n))),
    ("an ANSI string", |n| format!("echo $'{}'", "\\x61".repeat(4 * n))),
    ("a string", |n| format!("echo '{}'", "a b ".repeat(8 * n))),
    ("commands", |n| "ls;".repeat(n / 2)),
    ("commands on lines", |n| "ls -la src\n".repeat(n / 2)),
    ("a pipeline", |n| format!("ls{}", " | cat".repeat(n / 4))),
    ("and, or", |n| format!("ls{}", " && ls || ls".repeat(n / 8))),
    ("background", |n| "ls & ".repeat(n / 4)),
    ("redirects", |n| format!("ls {}", "2>/dev/null ".repeat(n / 2))),
    ("redirects to files", |n| format!("ls {}", "> a ".repeat(n / 2))),
    ("assignments", |n| format!("{}ls", "a=b ".repeat(n / 2))),
    ("assignments of one name", |n| format!("{}ls", "a=b;".repeat(n / 4))),
    ("an assignment of its own value", |n| format!("x=ab;{}", "x=$x$x;".repeat(n / 8))),
    ("variables", |n| format!("x=a; ls {}", "$x".repeat(n))),
    ("variables that nobody knows", |n| format!("ls {}", "$x$y".repeat(n))),
    ("globs", |n| format!("ls {}", "*.rs ".repeat(n / 2))),
    ("a long glob", |n| format!("ls {}", "*a".repeat(4 * n))),
    ("questions", |n| format!("ls {}", "?".repeat(8 * n))),
    ("brackets", |n| format!("ls {}", "[a]".repeat(4 * n))),
    ("open brackets", |n| format!("ls {}", "[".repeat(8 * n))),
    ("braces", |n| format!("ls {}", "{a,b}".repeat(n))),
    ("open braces", |n| format!("ls {}", "{a,".repeat(n))),
    ("braces that are none", |n| format!("ls {}", "{a}".repeat(2 * n))),
    ("a wide brace", |n| format!("ls {{{}}}", "a,".repeat(4 * n))),
    ("ranges", |n| format!("ls {}", "{1..3}".repeat(n / 2))),
    ("parts of paths", |n| format!("cat {}", "a/".repeat(4 * n))),
    ("upwards", |n| format!("cat {}", "../".repeat(4 * n))),
    ("a change of folder", |n| "cd a; ".repeat(n / 4)),
    ("upwards by folders", |n| format!("cd {}; ls", "a/../".repeat(2 * n))),
    ("dots", |n| format!("cat {}", ".e".repeat(4 * n))),
    ("marks of names", |n| format!("ls {}", "a=b:c@d,".repeat(n))),
    ("options", |n| format!("ls {}", "-la ".repeat(n))),
    ("a cluster of options", |n| format!("ls -{}", "l".repeat(8 * n))),
    ("options that are not known", |n| format!("ls {}", "--x ".repeat(n / 2))),
    ("one loop", |n| format!("for x in a b c d; do {} done", "ls $x; ".repeat(n / 32))),
    ("values of a loop", |n| format!("for x in {}; do ls $x; done", "a ".repeat(n))),
    ("functions", |n| "f() { ls; }; ".repeat(n / 16)),
    ("functions that call", |n| (0..n / 16).map(|i| format!("f{i}() {{ f{}; }}; ", i + 1)).collect()),
    ("calls of one function", |n| format!("f() {{ ls $1; }}; {}", "f a; ".repeat(n / 8))),
    ("groups", |n| "{ ls; }; ".repeat(n / 16)),
    ("subshells", |n| "(ls); ".repeat(n / 16)),
    ("conditions", |n| "if ls; then ls; fi; ".repeat(n / 32)),
    ("a case", |n| format!("case x in {} esac", "a) ls ;; ".repeat(n / 32))),
    ("patterns of a case", |n| format!("case x in {}a) ls ;; esac", "a|".repeat(n))),
    ("a here-document", |n| format!("cat <<'E'\n{}E\n", "a line of text\n".repeat(n))),
    ("a here-document that could expand", |n| format!("cat <<E\n{}E\n", "a \\$line of text\n".repeat(n))),
    ("a script in a here-document", |n| format!("bash <<'E'\n{}E\n", "ls -la\n".repeat(n / 4))),
    ("a script in a string", |n| format!("bash -c '{}'", "ls -la; ".repeat(n / 4))),
    ("eval", |n| format!("eval {}", "ls ".repeat(n / 2))),
    ("a script in a pipe", |n| format!("echo '{}' | bash", "ls;".repeat(n / 4))),
    ("words for xargs", |n| format!("echo {}| xargs rm", "a ".repeat(n))),
    ("roots of find", |n| format!("find {} -name x", "a ".repeat(n / 2))),
    ("tests of find", |n| format!("find . {}", "-name x ".repeat(n / 2))),
    ("runs of find", |n| format!("find . {}", "-exec ls {} \\; ".repeat(n / 8))),
    ("places of find", |n| format!("find . -exec ls {} \\;", "{} ".repeat(n / 2))),
    ("assignments of env", |n| format!("env {} ls", "a=b ".repeat(n / 2))),
    ("values of options", |n| format!("sudo {} ls", "-u x ".repeat(n / 4))),
    ("words of a wrapper that nobody knows", |n| format!("x {}", "rm -rf a ".repeat(n / 8))),
    ("code", |n| format!("python3 -c \"{}\"", "system('ls') ".repeat(n / 4))),
    ("code with open strings", |n| format!("python3 -c \"{}\"", "'".repeat(2 * n + 1))),
    ("a script of sed", |n| format!("sed -n '{}'", "1p;".repeat(2 * n))),
    ("a pattern of sed", |n| format!("sed -n '/{}/p'", "[a]".repeat(2 * n))),
    ("a program of awk", |n| format!("awk '{}'", "/a/ {print $1} ".repeat(n / 2))),
    ("a filter of jq", |n| format!("jq '{}.'", ".a | ".repeat(n))),
    ("formats of git", |n| format!("git log --format='{}'", "%h ".repeat(2 * n))),
    ("revisions", |n| format!("git log {}", "HEAD~1 ".repeat(n / 4))),
    ("operators of a test", |n| format!("test {}", "-f a -a ".repeat(n / 4))),
    ("formats of printf", |n| format!("printf '{}' a | bash", "%s".repeat(n))),
    ("words of printf", |n| format!("printf '%s' {} | bash", "a ".repeat(n / 2))),
    ("arithmetic", |n| format!("echo $(({}1))", "1 + ".repeat(2 * n))),
    ("a comment", |n| format!("ls # {}", "word ".repeat(4 * n))),
    ("blanks", |n| format!("ls{}", " ".repeat(8 * n))),
    ("line feeds", |n| "\n".repeat(8 * n)),
    ("bytes over 127", |n| format!("echo {}", "é漢🎉".repeat(n))),
    ("aliases", |n| format!("alias {}", "a='ls' ".repeat(n / 4))),
    ("positional words", |n| format!("set -- {}; ls $@", "a ".repeat(n))),
    ("process substitutions", |n| format!("cat {}", "<(ls) ".repeat(n / 256))),
    ("substitutions", |n| format!("echo {}", "$(ls) ".repeat(n / 128))),
];

/// Each of these once: what cost other parsers seconds, or the stack.
const HOSTILE: &[Shape] = &[
    ("28 opening parentheses", |_| "(".repeat(28)),
    ("28 subshells", |_| format!("{}ls{}", "( ".repeat(28), " )".repeat(28))),
    ("8 subshells around 10,000 commands", |_| format!("{}{}{}", "( ".repeat(8), "ls; ".repeat(10_000), ")".repeat(8))),
    ("20 nested case", |_| "case x in a) ".repeat(20)),
    ("4,000 braces", |_| "{ ".repeat(4_000)),
    ("30,000 braces", |_| "{ ".repeat(30_000)),
    ("60,000 backquotes", |_| "`".repeat(60_000)),
    ("30,000 $(", |_| "$(".repeat(30_000)),
    ("48 $( in each other", |_| format!("{}ls{}", "$(".repeat(48), ")".repeat(48))),
    ("30,000 ${", |_| "${".repeat(30_000)),
    ("5,000 if", |_| "if ".repeat(5_000)),
    ("20,000 !", |_| "! ".repeat(20_000)),
    ("[[ ]] with 10,000 &&", |_| format!("[[ x {} ]]", "&& x ".repeat(10_000))),
    ("10,000 here-documents", |_| "<<A ".repeat(10_000)),
    ("a tag of 30,000 bytes", |_| format!("cat <<'{}'\n{}", "x".repeat(30_000), "y\n".repeat(10_000))),
    ("subscripts", |_| "a[".repeat(20_000)),
    ("20,000 brace expansions", |_| "{a,b}".repeat(10_000)),
    ("40 $( in quotes in each other", |_| format!("echo {}x{}", "\"$(echo ".repeat(40), ")\"".repeat(40))),
    ("bash -c in bash -c", |_| "bash -c ".repeat(8_000)),
    ("12,000 sudo", |_| "sudo ".repeat(12_000)),
    ("64 KiB", |_| "ls; ".repeat(16_384)),
    ("more than 64 KiB", |_| "ls; ".repeat(20_000)),
];

/// The most instructions that a hostile text may take: some twice of what the worst of them does.
const MOST: u64 = 500_000_000;

fn main() {
    let mut counter = Counter::new();
    let mut wrong = SHAPES.iter().filter(|shape| !is_linear(&mut counter, shape)).count();
    println!("\n| input | bytes | verdict | steps | time |\n|---|---|---|---|---|");
    for (name, shape) in HOSTILE {
        let text = shape(1);
        let begun = Instant::now();
        let (decision, steps) = counter.count(|| judge(&text));
        let took = begun.elapsed();
        wrong += usize::from(steps > MOST);
        let verdict = serde_json::to_value(decision.judgement).expect("a word");
        println!(
            "| {name} | {} | {} by {} | {steps} | {took:.1?} |",
            text.len(),
            verdict.as_str().unwrap_or(""),
            decision.rule
        );
    }
    counter.finish();
    println!("\n{} shapes and {} hostile inputs, {wrong} wrong", SHAPES.len(), HOSTILE.len());
    std::process::exit(i32::from(wrong > 0));
}

/// Twice the text, twice the steps: of all, and of what is not the shell parser's.
fn is_linear(counter: &mut Counter, (name, shape): &Shape) -> bool {
    let small = 400;
    let mut count = |times: usize| {
        let text = shape(small * times);
        let (decision, all) = counter.count(|| judge(&text));
        // What the gate refuses is not for the parser.
        let readable = decision.rule != "too_large" && !decision.unreadable;
        let own = readable.then(|| all.saturating_sub(counter.count(|| parse(&text)).1).max(1) as f64);
        (all as f64, own)
    };
    let (one, two, four, eight) = (count(1), count(2), count(4), count(8));
    let length = shape(small * 8).len() as f64;
    // Linear is 2; a square makes it 4. What is refused at a limit does less.
    let all = four.0 / two.0 < 2.4 && eight.0 / four.0 < 2.4;
    // What is our own is a difference of two counts: where it is small beside them, so is what it is off by to it.
    let within = |more: (f64, Option<f64>), less: (f64, Option<f64>)| {
        more.1.zip(less.1).is_none_or(|(own, before)| own < 2.5 * before + more.0 / 10.0)
    };
    let own = within(four, two) && within(eight, four);
    let verdict = if all && own { "" } else { "  NOT LINEAR" };
    println!(
        "{name}: x{:.2} x{:.2} x{:.2}, {:.0} steps a byte, {} of them our own{verdict}",
        two.0 / one.0,
        four.0 / two.0,
        eight.0 / four.0,
        eight.0 / length,
        eight.1.map_or("all".to_owned(), |own| format!("{:.0}", own / length)),
    );
    all && own
}
