//! Measures the in-process check of 1,000 lines in each language, as a table for docs/figures.md. The aim is at most
//! five milliseconds. The columns are the first check of a text, a further check after a change in its middle, and a
//! full parse by the grammar alone, without bounds and without the search for errors.
//!
//! Run it with `cargo bench -p toolfence-tools --features syntax --bench syntax`. It measures the CPU time of this
//! thread and reports the best of several rounds, to reduce the influence of other work on the machine.

#![allow(
    clippy::disallowed_methods,
    reason = "a bench reads how much of the CPU was used; the library it times is pure"
)]

#[path = "../../../benches/shared/cpu.rs"]
mod cpu;

use cpu::turn;
use toolfence_tools::validate::syntax;
use tree_sitter::{Language, Parser};

/// The file name that selects a language, a piece of code that stays valid when it is repeated, and the text before and
/// after the pieces. `N` is replaced by the number of the piece.
const PIECES: &[(&str, &str, [&str; 2])] = &[
    ("a.json", "  \"kN\": { \"a\": [N, true, null], \"b\": \"text\" },\n", ["{\n", "  \"last\": 0\n}\n"]),
    ("a.toml", "[tN]\na = N\nb = [1, 2]\nc = \"text\"\n", ["", ""]),
    ("a.yaml", "kN:\n  - a: N\n    b: [1, 2]\n", ["", ""]),
    (
        "a.ts",
        "export function fN<T>(x: T, y?: number): T {\n  const z = [x, y ?? N];\n  return z[0] as T;\n}\n",
        ["", ""],
    ),
    (
        "a.tsx",
        "export const AN = ({ x }: P) => {\n  const y = x + N;\n  return <div className=\"a\">{y}</div>;\n};\n",
        ["", ""],
    ),
    ("a.js", "function fN(x, y) {\n  if (x > N) { return y.map((z) => z + 1); }\n  return `${x}`;\n}\n", ["", ""]),
    ("a.py", "def fN(x, y=N):\n    if x > y:\n        return [z for z in x]\n    return {\"a\": x}\n", ["", ""]),
    ("a.go", "func fN(x int) (int, error) {\n\tif x > N {\n\t\treturn x, nil\n\t}\n}\n", ["package a\n", ""]),
    ("a.rs", "fn fN(x: u32) -> Option<u32> {\n    let y = x.checked_add(N)?;\n    Some(y)\n}\n", ["", ""]),
    (
        "A.java",
        "    int fN(int x) {\n        if (x > N) { return g(x); }\n        return x;\n    }\n",
        ["class A {\n", "}\n"],
    ),
    ("a.c", "int fN(int x) {\n    if (x > N) return g(x, \"a\");\n    return x;\n}\n", ["", ""]),
    ("a.css", ".aN > b:hover {\n  color: red;\n  width: calc(100% - Npx);\n}\n", ["", ""]),
];

/// Repeats the piece to 1,000 lines. The piece in the middle gets the number `middle`.
fn text(piece: &str, [head, tail]: [&str; 2], middle: usize) -> String {
    let pieces = 1000 / piece.lines().count();
    let number = |at: usize| if at == pieces / 2 { middle } else { at };
    let body: String = (0..pieces).map(|at| piece.replace('N', &number(at).to_string())).collect();
    format!("{head}{body}{tail}")
}

fn main() {
    println!("| ms of CPU for 1,000 lines | KB | the first time | after a change | the grammar alone |");
    println!("|---|---:|---:|---:|---:|");
    for (name, piece, around) in PIECES {
        let [text, other] = [7001, 8002].map(|middle| text(piece, *around, middle));
        assert_eq!(syntax::check(name, &text), Some(Vec::new()), "{name}");
        let first = best(&|| usize::from(syntax::check(name, &text).is_some()));
        let reader = syntax::Reader::new();
        let again = best(&|| {
            let both = [&text, &other].map(|text| reader.check_until(name, text, &|| false));
            both.iter().flatten().count()
        }) / 2.0;
        let alone = grammar(name).map_or("–".into(), |grammar| {
            let parse = || {
                let mut parser = Parser::new();
                parser.set_language(&grammar).expect("the runtime knows its grammars");
                parser.parse(&text, None).map_or(0, |tree| tree.root_node().end_byte())
            };
            format!("{:.2}", best(&parse))
        });
        let language = syntax::language(name).map_or(*name, |language| language.name);
        println!("| {language} | {} | {first:.2} | {again:.2} | {alone} |", text.len() / 1000);
    }
}

fn grammar(name: &str) -> Option<Language> {
    let language = match name.rsplit('.').next()? {
        "ts" => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        "tsx" => tree_sitter_typescript::LANGUAGE_TSX,
        "js" => tree_sitter_javascript::LANGUAGE,
        "py" => tree_sitter_python::LANGUAGE,
        "go" => tree_sitter_go::LANGUAGE,
        "rs" => tree_sitter_rust::LANGUAGE,
        "java" => tree_sitter_java::LANGUAGE,
        "c" => tree_sitter_c::LANGUAGE,
        "css" => tree_sitter_css::LANGUAGE,
        _ => return None,
    };
    Some(language.into())
}

/// Returns the CPU milliseconds of one run, in the best of several rounds.
fn best(work: &dyn Fn() -> usize) -> f64 {
    (0..20).map(|_| 1e3 * turn(0.04, work)).fold(f64::INFINITY, f64::min)
}
