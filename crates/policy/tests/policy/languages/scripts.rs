//! Scripts made at random: by a loose grammar, then with something hostile put in at random places.

use toolfence_kit::Random;

/// What is put between the parts of any script.
const MARKS: &[&str] = &[
    " ", "\t", "\n", ";", "}", "{", "#", "\\", "\\\n", "\\\\\n", "/", "\"", "'", "[", "]", "(", ")", "|", ",", ".",
    ":", "$", "!", "~", "+", "-", "=", "*", "&", "?", "@", "1", "0", "9x", "a", "e", "w", "é", "中", "\u{2028}", "1e",
    "_",
];

fn one<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    random.pick::<&str>(from)
}

fn parts(random: &mut Random, most: usize, from: &[&str]) -> String {
    (0..random.below(most) + 1).map(|_| one(random, from)).collect()
}

/// Puts pieces in at random places, or leaves characters out; often not at all.
fn mutated(random: &mut Random, text: String, hostile: &[&str]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..random.below(4) {
        let at = random.below(chars.len() + 1);
        match random.below(6) {
            0 if at < chars.len() => drop(chars.remove(at)),
            1 => {
                let (from, length) = (random.below(chars.len() + 1), random.below(6));
                let copied: Vec<char> = chars[from..].iter().take(length).copied().collect();
                chars.splice(at..at, copied);
            }
            2 | 3 => drop(chars.splice(at..at, random.pick(hostile).chars())),
            _ => drop(chars.splice(at..at, random.pick(MARKS).chars())),
        }
    }
    chars.into_iter().collect()
}

pub(super) fn sed(random: &mut Random) -> Vec<String> {
    const HOSTILE: &[&str] = &[
        "e touch pwn",
        "e id",
        "1e >pwn",
        "w pwn",
        "W pwn",
        "r secret",
        "R secret",
        " e id",
        " w pwn",
        "w ../pwn",
        "s/o/id/e",
        "s/o/x/w pwn",
        "s//id/ge",
        "y/o/x/w pwn",
        "e",
        "w",
        "a\\",
        "a\\\n",
        "i text\\\n",
        "c\\\ntext\n",
        ":a",
        ":a ",
        "ba",
        "b ",
        "ta;",
        "T a",
        "1~",
        "0,",
        ",+",
        "!",
        "!{",
        "/[/]/",
        "s/[/]/",
        "q5",
        "l 5",
        "v",
        "F",
        "#n\n",
        "e id\n",
        "{e id\n}",
        "}w pwn",
        "b#x ",
        "ba}#",
        "\\cX",
    ];
    const ADDRESSES: &[&str] = &[
        "", "", "", "", "1", "$", "1,2", "/o/", "/o/I", "\\,o,", "1,/o/", "/o/,+1", "0~2", "2,~2", "1!", "/o/!", "$!",
        "//", "0,/o/", "/[a-z]/", "/o\\/p/", "/é/",
    ];
    const COMMANDS: &[&str] = &[
        "p",
        "d",
        "=",
        "l",
        "n",
        "N",
        "h",
        "H",
        "g",
        "G",
        "x",
        "D",
        "P",
        "q",
        "Q",
        "z",
        "F",
        "s/o/x/",
        "s/o/x/g",
        "s/o/x/2p",
        "s|o|x|I",
        "s/o/\\n/",
        "s/\\(o\\)/\\1/",
        "s/o/&&/M",
        "s,o,x\\,y,",
        "s/o/x\\\ny/",
        "y/abc/xyz/",
        "y/\\n/x/",
        "a text",
        "i\\\ntext",
        "a\\\none\\\ntwo",
        "c text",
        ":a",
        ": b",
        "ba",
        "b",
        "b b",
        "ta",
        "tb",
        "T",
        "{p}",
        "{p;d}",
        "{p\n}",
        "{/o/{p}}",
        "# comment",
        "#e id",
        "q1",
        "l 9",
        "s/[/x/",
        "s/[]]/x/",
        "s/[[:alpha:]]/x/",
        "s/e id/w pwn/",
        "s/x/e id/",
    ];
    const BETWEEN: &[&str] = &[";", ";", "\n", "\n", " ;", "; ", "\n\n", "", " ", "}", ";}", "\t"];
    let mut script = || -> String {
        let mut text = String::new();
        for _ in 0..random.below(5) + 1 {
            text.push_str(one(random, ADDRESSES));
            text.push_str(one(random, COMMANDS));
            text.push_str(one(random, BETWEEN));
        }
        mutated(random, text, HOSTILE)
    };
    let pieces = [script(), script(), script()];
    let mut words: Vec<String> = Vec::new();
    for option in ["-n", "-E", "-s", "-z", "-u", "--posix", "--debug"] {
        if random.below(6) == 0 {
            words.push(option.into());
        }
    }
    match random.below(4) {
        0 => words.extend(pieces[..random.below(3) + 1].iter().flat_map(|piece| ["-e".into(), piece.clone()])),
        1 => words.push(format!("--expression={}", pieces[0])),
        _ => words.extend(["--".into(), pieces[0].clone()]),
    }
    words
}

pub(super) fn awk(random: &mut Random) -> Vec<String> {
    const HOSTILE: &[&str] = &[
        "system(\"touch pwn\")",
        "1system(\"id\")",
        "|\"sh\"",
        "| \"id\"",
        ">\"pwn\"",
        "> \"pwn\"",
        ">>\"pwn\"",
        "getline<\"secret\"",
        "1getline",
        "\"touch pwn\"|getline",
        "|getline",
        "ENVIRON[\"CANARY\"]",
        "ARGV[1]=\"secret\"",
        "@include \"x\"",
        "@f()",
        "print>\"pwn\"",
        "print|\"sh\"",
        "printf \"x\">\"pwn\"",
        "|&",
        "/\"",
        "\"/",
        "/[/]/",
        "/#/",
        "a++ /",
        "(1)/",
        "]/",
        "}/",
        "length/",
        "if(1)/",
        "\\\"",
        "sys\\\ntem(\"id\")",
        "1e",
        "0x",
        ".",
        "print /x/ > \"pwn\"",
        "!",
        "$/x/",
        "close(\"x\")",
        "system (\"id\")",
        "x=\"id\"|getline",
        "print \"x\" > \"/dev/stderr\" \"pwn\"",
        "system",
        "getline",
    ];
    const PARTS: &[&str] = &[
        "{print}",
        "{print $1}",
        "{print $1, $2}",
        "/o/",
        "/o/{print}",
        "NR>1",
        "NR==1{print $0}",
        "{s+=$1}",
        "END{print s}",
        "BEGIN{x=1}",
        "{if($1>1)print $2}",
        "{n=split($0,p,/,/);print p[n]}",
        "!seen[$0]++",
        "{gsub(/o/,\"x\");print}",
        "{printf \"%s|%d\\n\",$1,$2}",
        "{print (1>2?\"a\":\"b\")}",
        "{x=$1/2/3}",
        "{print length}",
        "$1~/o/||/b/",
        "{for(i=NF;i>0;i--)printf \"%s \",$i;print \"\"}",
        "function f(a){return a/2}",
        "{print f(3)}",
        "{a[$1]=NR}",
        "END{for(k in a)print k,a[k]}",
        "{x=1e3+.5;y=x++ - --x}",
        "/a/,/b/",
        "{print \"a|b>c\"}",
        "# | \"id\"",
        "{next}",
        "{exit}",
        "{while(i<3)i++}",
        "{print substr($0,1,3) toupper($1)}",
        "{delete a}",
        "{print -1 \" \" -1}",
        "{print !x, x&&y}",
    ];
    const BETWEEN: &[&str] = &["\n", ";", " ", "", "\n\n"];
    let mut text = String::new();
    for _ in 0..random.below(4) + 1 {
        text.push_str(one(random, PARTS));
        text.push_str(one(random, BETWEEN));
    }
    let text = mutated(random, text, HOSTILE);
    let mut words = Vec::new();
    if random.below(6) == 0 {
        words.extend(["-F".into(), one(random, &[",", ":", "\\|"]).into()]);
    }
    if random.below(6) == 0 {
        words.extend(["-v".into(), one(random, &["x=1", "f=system", "OFS=-"]).into()]);
    }
    words.push("--".into());
    words.push(text);
    words
}

pub(super) fn jq(random: &mut Random) -> Vec<String> {
    const HOSTILE: &[&str] = &[
        "env",
        "$ENV",
        "$ENV.CANARY",
        "env.CANARY",
        "|env",
        ",env",
        "\\(env)",
        "\"\\(env)\"",
        "\\($ENV)",
        "{$ENV}",
        "{env}",
        "{a:env}",
        "(env)",
        "[env]",
        "1env",
        "import \"secret\" as $x;",
        "import \"lib\" as l;",
        "include \"lib\";",
        "l::leak",
        "$x::x",
        "leak",
        "modulemeta",
        "get_search_list",
        "$__prog_args",
        "$ ENV",
        "def f: env;",
        "def env(x): x;",
        "# \\\n",
        "#\\\n\"",
        "\"",
        "\\(",
        ")\"",
        "?//",
        " as $x|",
        "as $ENV|",
        "reduce env as $x(",
        "try env catch ",
        "@base64 \"\\(env)\"",
        "..",
        ". env",
        "1.env",
        ".[env]",
        "input",
        "input_filename",
        "if env then ",
        " end",
        "label $f|",
        "-env",
        "//env",
        "; env",
        "$__loc__",
        "env as $x|$x",
        "limit(1;env)",
        "path(env)",
        "getpath([\"a\"])",
        "{(env|tostring):1}",
    ];
    const TERMS: &[&str] = &[
        ".",
        ".a",
        ".a.b",
        ".env",
        ".[0]",
        ".[]?",
        "..",
        ".[\"c d\"]",
        ".\"c d\"",
        ".a[\"b\"]",
        "1",
        "-1",
        "1.5e3",
        "\"x\"",
        "\"a \\(.env) b\"",
        "\"\\(1 + (2|tostring|length))\"",
        "null",
        "true",
        "[.a]",
        "[]",
        "{}",
        "{a: 1, env: 2}",
        "{env, \"c d\"}",
        "{(.env|tostring): 1}",
        "{a: .a|length, b}",
        "(.a)",
        "keys?",
        "length?",
        "map(.)?",
        "to_entries?",
        "tostring",
        "tojson",
        "@base64 \"x\\(.env)\"",
        "@json",
        "if .a? then 1 else 2 end",
        "try error(\"x\") catch .",
        "reduce .[]? as $x (0; 1)",
        "foreach .[]? as $x (0; 1; [$x])",
        "[limit(3; .[]?)]",
        "def f: .; f",
        "def f(g; $h): g, $h; f(1; 2)",
        ". as $x | $x",
        ". as {a: $x} | $x",
        ". as [$x] ?// $x | $x",
        "label $out | (1, break $out)",
        "$__loc__",
        "input_filename",
        "select(.a?)",
        "test(\"x\")?",
        "[paths]",
        "walk(.)",
        "with_entries(.)?",
        "(.a |= 1)?",
        "type",
        "not",
        "empty",
        "first(.[]?)",
    ];
    const BETWEEN: &[&str] = &["|", " | ", ",", ", ", "//", " and ", " or ", "==", "+", "\n| ", " # x\n|", "<"];
    let mut text = one(random, TERMS).to_owned();
    for _ in 0..random.below(4) {
        text.push_str(one(random, BETWEEN));
        text.push_str(one(random, TERMS));
    }
    let text = mutated(random, text, HOSTILE);
    let mut words: Vec<String> = Vec::new();
    for option in ["-n", "-r", "-c", "-s", "-R", "-e", "-S", "-j"] {
        if random.below(8) == 0 {
            words.push(option.into());
        }
    }
    if random.below(8) == 0 {
        words.extend(["--arg".into(), "x".into(), ".env".into()]);
    }
    // One that begins with a dash would be an option.
    words.push(format!(" {text}"));
    words
}

pub(super) fn yq(random: &mut Random) -> Vec<String> {
    const HOSTILE: &[&str] = &[
        "env",
        "$ENV",
        "env(CANARY)",
        "strenv(CANARY)",
        "load(\"secret\")",
        "load_str(\"secret\")",
        "|env",
        "\\(env)",
        "{$ENV}",
        " env ",
        "\"x env(CANARY) \"",
        "+\"x env(CANARY) \"",
        "=",
        "|=",
        "-env",
        ".env",
        "eval(\"env\")",
        "# ",
        "import \"lib\" as l;",
    ];
    const TERMS: &[&str] = &[
        ".",
        ".a",
        ".a.b",
        ".env",
        ".a.b[0]",
        ".[]",
        "..",
        ".a[\"b\"]",
        "keys",
        "length",
        ".a | keys",
        "select(.a)",
        "map(.)",
        "to_entries",
        ".\"a\"",
        "(.a)",
        "[.a]",
        ".env == \"y\"",
        ".a // \"x\"",
        "has(\"a\")",
        "{\"a\": .b}",
        ".a.b | length",
    ];
    let mut text = one(random, TERMS).to_owned();
    for _ in 0..random.below(3) {
        text.push_str(one(random, &[" | ", ", ", " // ", "|"]));
        text.push_str(one(random, TERMS));
    }
    if random.below(3) == 0 {
        text.push_str(&parts(random, 2, HOSTILE));
    }
    let text = mutated(random, text, HOSTILE);
    vec![format!(" {text}")]
}
