//! What the check in process takes for a text of 1,000 lines, by language: five milliseconds at the most is the aim.

use criterion::{Criterion, criterion_group, criterion_main};
use toolfence::validate::syntax;

/// A language by the name of a file, and a piece that is right however often it is repeated, `N` being its number.
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

fn text(piece: &str, [head, tail]: [&str; 2]) -> String {
    let pieces = 1000 / piece.lines().count();
    let body: String = (0..pieces).map(|number| piece.replace('N', &number.to_string())).collect();
    format!("{head}{body}{tail}")
}

fn languages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("1,000 lines");
    for (name, piece, around) in PIECES {
        let text = text(piece, *around);
        assert_eq!(syntax::check(name, &text), Some(Vec::new()), "{name}");
        group.bench_function(*name, |bencher| bencher.iter(|| syntax::check(name, &text)));
    }
    group.finish();
}

criterion_group!(benches, languages);
criterion_main!(benches);
