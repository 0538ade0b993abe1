//! Damages calls as models do, and checks how they are read.
//!
//! If a damaged text is still valid, it has another meaning, which no parser can detect. Such texts are counted
//! separately. For all others, a reading without a lossy repair must be the intended call. `DAMAGED_CALLS` sets how
//! many are tried; with `--nocapture`, the test prints the outcomes of each kind of damage.

use crate::parse::events;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use toolfence_kit::Random;
use toolfence_protocol::ToolCall;
use toolfence_protocol::parse::Event;

/// The number of damaged calls in an ordinary run.
const USUAL: usize = 6000;

const TEXTS: [&str; 34] = [
    "ls -la",
    "",
    "cargo test -- --nocapture 2>&1 | tail -20",
    "echo \"hi\"",
    "git commit -m \"fix: a, b\"",
    "grep -rn \"fn main() {\" src",
    "awk '{print $1, \"x\"}' file.txt",
    "find . -name '*.rs' -exec sed -i 's/a/b/' {} \\;",
    "python3 -c \"import json; print(json.dumps({'a': [1, 2]}))\"",
    "cd C:\\Users\\ana && dir",
    "printf '%s\\n' \"$HOME\"",
    "it's",
    "fn main() {\n    println!(\"{}\", 1);\n}\n",
    "def f(a, b=None):\n    \"\"\"Doc.\"\"\"\n    return {\"a\": a, 'b': [b]}\n",
    "# Title\n\nUse `make`, \"just\" or:\n\n```sh\nmake\n```\n",
    "{\n  \"name\": \"x\",\n  \"scripts\": {\"test\": \"jest\", \"lint\": \"eslint .\"}\n}\n",
    "name: \"x\"\non: [\"push\"]\n",
    "<a href=\"x.html\" class='b'>y</a>",
    "let x = a.b[\"c\"]; // not \"d\"\n/* e */\n",
    "\\d+\\s*(\\w+)\\b",
    "a\\nb",
    "tab\there",
    "C:\\new\\docs\\x",
    "ends with \\",
    "a, b: c",
    "\"k\": \"v\", \"l\": [1]",
    "}",
    "]}",
    "say \"",
    "não é “isso” nem ‘aquilo’, João",
    "5\" disk, 6\" pipe",
    "http://x.y/?a=b&c=\"d\"#e",
    "snake_case_name and MY_VAR",
    "true",
];

const PATHS: [&str; 8] =
    ["a.txt", "src/main.rs", "my dir/it's.md", "docs/über.md", "src\\lib.rs", "a_b/c_d.py", ".", "x\"y"];

/// Returns a valid and complete call of a built-in tool.
fn call(dice: &mut Random) -> Value {
    let text = |dice: &mut Random| -> String {
        let first = (*dice.pick(&TEXTS)).to_owned();
        if dice.once_in(4) { first + *dice.pick(&TEXTS) } else { first }
    };
    let path = |dice: &mut Random| Value::from(*dice.pick(&PATHS));
    let (name, mut args) = match dice.below(9) {
        0 => ("bash", json!({"command": text(dice)})),
        1 => ("bash", json!({"command": text(dice), "cwd": path(dice), "timeout": 1 + dice.below(600)})),
        2 => ("read_file", json!({"path": path(dice)})),
        3 => ("read_file", json!({"path": path(dice), "start_line": 1 + dice.below(50), "end_line": 60})),
        4 => ("write_file", json!({"path": path(dice), "content": text(dice)})),
        5 => ("replace_text", json!({"path": path(dice), "old": text(dice), "new": text(dice)})),
        6 => ("search", json!({"pattern": text(dice), "path": path(dice), "glob": "*.{rs,md}"})),
        7 => ("list_files", json!({"path": path(dice), "max_depth": 2, "include_hidden": dice.once_in(2)})),
        _ => {
            let edit = |dice: &mut Random| json!({"start_line": 1, "end_line": 2, "replacement": text(dice)});
            let edits: Vec<Value> = (0..1 + dice.below(2)).map(|_| edit(dice)).collect();
            ("edit_file", json!({"path": path(dice), "edits": edits, "preview": true}))
        }
    };
    if dice.once_in(12) {
        args["more"] = json!({"a": {"b": [null, false, -1.5, text(dice)]}, "c": []});
    }
    match dice.below(4) {
        0 => json!({"name": name, "args": args, "reason": text(dice)}),
        1 => json!({"reason": "why", "name": name, "args": args}),
        _ => json!({"name": name, "args": args}),
    }
}

/// The text of one or more calls, with the positions of its marks and strings.
struct Sample {
    text: String,
    /// Brackets, commas, colons and the quotes of strings.
    marks: Vec<usize>,
    /// The range of each string with its quotes, and whether it is a key.
    strings: Vec<(usize, usize, bool)>,
}

impl Sample {
    fn new(text: String) -> Sample {
        let bytes = text.as_bytes();
        let (mut marks, mut strings) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] == b'"' {
                let start = at;
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                marks.extend([start, at]);
                strings.push((start, at, text[at + 1..].trim_start().starts_with(':')));
            } else if b"{}[],:".contains(&bytes[at]) {
                marks.push(at);
            }
            at += 1;
        }
        Sample { text, marks, strings }
    }

    fn mark(&self, dice: &mut Random, of: &str) -> Option<usize> {
        let fits: Vec<usize> =
            self.marks.iter().copied().filter(|at| of.contains(self.text.as_bytes()[*at] as char)).collect();
        (!fits.is_empty()).then(|| *dice.pick(&fits))
    }

    fn value(&self, dice: &mut Random) -> Option<(usize, usize)> {
        let values: Vec<_> =
            self.strings.iter().filter(|string| !string.2).map(|string| (string.0, string.1)).collect();
        (!values.is_empty()).then(|| *dice.pick(&values))
    }

    fn with(&self, from: usize, to: usize, text: &str) -> String {
        [&self.text[..from], text, &self.text[to..]].concat()
    }

    /// Returns the text with each string, and each text between two strings, spelled differently.
    fn respell(&self, string: impl Fn(&str, bool) -> String, between: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        let mut at = 0;
        for (start, end, key) in &self.strings {
            out += &between(&self.text[at..*start]);
            out += &string(&self.text[start + 1..*end], *key);
            at = end + 1;
        }
        out + &between(&self.text[at..])
    }
}

/// Rewrites each escape inside a string.
fn escapes(inside: &str, spell: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::new();
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => {
                let escaped = chars.next().expect("an escape has a letter");
                match spell(escaped) {
                    Some(text) => out += text,
                    None => out.extend(['\\', escaped]),
                }
            }
            _ => out.push(c),
        }
    }
    out
}

fn raw_newlines(escaped: char) -> Option<&'static str> {
    match escaped {
        'n' => Some("\n"),
        't' => Some("\t"),
        _ => None,
    }
}

fn raw_quotes(escaped: char) -> Option<&'static str> {
    (escaped == '"').then_some("\"")
}

type Damage = fn(&Sample, &mut Random) -> Option<String>;

/// The kinds of damage, by name. Each returns `None` if it does not apply.
const DAMAGES: &[(&str, Damage)] = &[
    ("mark dropped", |sample, dice| sample.mark(dice, "{}[],:\"").map(|at| sample.with(at, at + 1, ""))),
    ("mark doubled", |sample, dice| sample.mark(dice, "{}[],:\"").map(|at| sample.with(at, at, &sample.text[at..=at]))),
    ("mark replaced", |sample, dice| {
        let mark = *dice.pick(&["{", "}", "[", "]", ",", ":", "\"", "'", ";", "=", "("]);
        sample.mark(dice, "{}[],:\"").map(|at| sample.with(at, at + 1, mark))
    }),
    ("mark inserted", |sample, dice| {
        let mark = *dice.pick(&["{", "}", "[", "]", ",", ":", "\"", "'", "}}", "\",", "\": \""]);
        let at = dice.below(sample.text.len() + 1);
        // Between a backslash and its letter, a mark would change the string without damaging the JSON.
        let apart = !sample.text.is_char_boundary(at) || sample.text[..at].ends_with('\\');
        (!apart).then(|| sample.with(at, at, mark))
    }),
    ("two marks dropped", |sample, dice| {
        let once = Sample { text: sample.text.clone(), marks: sample.marks.clone(), strings: Vec::new() };
        let (a, b) = (once.mark(dice, "{}[],:\"")?, once.mark(dice, "{}[],:\"")?);
        let (first, second) = (a.min(b), a.max(b));
        (first < second)
            .then(|| [&sample.text[..first], &sample.text[first + 1..second], &sample.text[second + 1..]].concat())
    }),
    ("closer moved", |sample, dice| {
        let (closer, to) = (sample.mark(dice, "}]")?, sample.mark(dice, ",}]")?);
        let mark = sample.text[closer..=closer].to_owned();
        (to < closer)
            .then(|| [&sample.text[..to], &mark, &sample.text[to..closer], &sample.text[closer + 1..]].concat())
    }),
    ("closers lost at the end", |sample, dice| {
        let kept = (0..=dice.below(3))
            .fold(sample.text.trim_end(), |text, _| text.trim_end().strip_suffix(['}', ']']).unwrap_or(text));
        Some(kept.to_owned())
    }),
    ("closers added at the end", |sample, dice| {
        let more: String = (0..=dice.below(3)).map(|_| *dice.pick(&["}", "]", "\n}", " }"])).collect();
        Some(format!("{}{more}", sample.text))
    }),
    ("newlines raw", |sample, _| {
        Some(sample.respell(|inside, _| format!("\"{}\"", escapes(inside, raw_newlines)), str::to_owned))
    }),
    ("quotes of one string raw", |sample, dice| {
        let (start, end) = sample.value(dice)?;
        Some(sample.with(start + 1, end, &escapes(&sample.text[start + 1..end], raw_quotes)))
    }),
    ("quotes raw", |sample, _| {
        Some(sample.respell(|inside, _| format!("\"{}\"", escapes(inside, raw_quotes)), str::to_owned))
    }),
    ("quotes and newlines raw", |sample, _| {
        let spell = |escaped| raw_quotes(escaped).or_else(|| raw_newlines(escaped));
        Some(sample.respell(|inside, _| format!("\"{}\"", escapes(inside, spell)), str::to_owned))
    }),
    ("backslashes of one string halved", |sample, dice| {
        let (start, end) = sample.value(dice)?;
        let halved = escapes(&sample.text[start + 1..end], |escaped| (escaped == '\\').then_some("\\"));
        Some(sample.with(start + 1, end, &halved))
    }),
    ("a backslash dropped", |sample, dice| {
        let (start, end) = sample.value(dice)?;
        let slashes: Vec<usize> = sample.text[start..end].match_indices('\\').map(|(at, _)| start + at).collect();
        (!slashes.is_empty()).then(|| *dice.pick(&slashes)).map(|at| sample.with(at, at + 1, ""))
    }),
    ("nothing escaped in one string", |sample, dice| {
        let (start, end) = sample.value(dice)?;
        let spell =
            |escaped| raw_quotes(escaped).or_else(|| raw_newlines(escaped)).or((escaped == '\\').then_some("\\"));
        Some(sample.with(start + 1, end, &escapes(&sample.text[start + 1..end], spell)))
    }),
    ("quotes typographic", |sample, _| {
        Some(sample.respell(|inside, _| format!("“{}”", escapes(inside, |_| None)), str::to_owned))
    }),
    ("quotes typographic, inner ones too", |sample, dice| {
        let inner = *dice.pick(&["”", "\\”", "“"]);
        let spell = move |escaped| (escaped == '"').then_some(inner);
        Some(sample.respell(|inside, _| format!("“{}”", escapes(inside, spell)), str::to_owned))
    }),
    ("some quotes typographic", |sample, dice| {
        let at = sample.mark(dice, "\"")?;
        let quote = *dice.pick(&["“", "”", "‘", "’", "„"]);
        Some(sample.with(at, at + 1, quote))
    }),
    ("one string in typographic quotes", |sample, dice| {
        let (start, end) = sample.value(dice)?;
        Some([&sample.text[..start], "“", &sample.text[start + 1..end], "”", &sample.text[end + 1..]].concat())
    }),
    ("as Python writes it", |sample, _| {
        let string = |inside: &str, _| {
            let plain = escapes(inside, raw_quotes);
            if plain.contains('\'') && !plain.contains('"') {
                format!("\"{plain}\"")
            } else {
                format!("'{}'", plain.replace('\'', "\\'"))
            }
        };
        let words = |text: &str| text.replace("true", "True").replace("false", "False").replace("null", "None");
        Some(sample.respell(string, words))
    }),
    ("quotes single, nothing escaped", |sample, _| {
        Some(sample.respell(|inside, _| format!("'{}'", escapes(inside, raw_quotes)), str::to_owned))
    }),
    ("one string in single quotes", |sample, dice| {
        let (start, end) = sample.value(dice)?;
        let inside = escapes(&sample.text[start + 1..end], raw_quotes);
        Some([&sample.text[..start], "'", &inside, "'", &sample.text[end + 1..]].concat())
    }),
    ("one string in three quotes or backticks", |sample, dice| {
        let (start, end) = sample.value(dice)?;
        let quote = *dice.pick(&["\"\"\"", "'''", "`"]);
        let spell = |escaped| raw_quotes(escaped).or_else(|| raw_newlines(escaped));
        let inside = escapes(&sample.text[start + 1..end], spell);
        Some([&sample.text[..start], quote, &inside, quote, &sample.text[end + 1..]].concat())
    }),
    ("a comment", |sample, dice| {
        let comment = *dice.pick(&[
            "// why\n",
            "# why\n",
            "/* why */",
            "// \"path\": \"b\",\n",
            "# {\n",
            "/* \", } */",
            "// it's }\n",
            "# a, b: c\n",
        ]);
        let at = sample.mark(dice, "{}[],:")? + dice.below(2);
        Some(sample.with(at, at, comment))
    }),
    ("a comment without its end", |sample, dice| {
        let at = sample.mark(dice, "{}[],:")?;
        let comment = *dice.pick(&["// why ", "# why ", "/* why ", "//", "#"]);
        Some(sample.with(at, at, comment))
    }),
    ("trailing commas", |sample, _| {
        Some(sample.respell(|inside, _| format!("\"{inside}\""), |text| text.replace('}', ",}").replace(']', ",]")))
    }),
    ("commas lost at line ends", |sample, _| {
        Some(sample.respell(|inside, _| format!("\"{inside}\""), |text| text.replace(",\n", "\n")))
    }),
    ("all commas lost", |sample, _| {
        Some(sample.respell(|inside, _| format!("\"{inside}\""), |text| text.replace(',', "")))
    }),
    ("a comma or colon of another kind", |sample, dice| {
        let at = sample.mark(dice, ",:")?;
        let mark = *dice.pick(&[";", "，", "：", " = ", "=>", ",,", "::", " and "]);
        Some(sample.with(at, at + 1, mark))
    }),
    ("keys bare", |sample, _| {
        Some(sample.respell(|inside, key| if key { inside.to_owned() } else { format!("\"{inside}\"") }, str::to_owned))
    }),
    ("a value bare", |sample, dice| {
        let (start, end) = sample.value(dice).filter(|(start, end)| end - start > 1)?;
        Some([&sample.text[..start], &sample.text[start + 1..end], &sample.text[end + 1..]].concat())
    }),
    ("prose around", |sample, dice| {
        let before = *dice.pick(&["", "Call: ", "Here it is:\n", "json\n", "tool_call = ", "Don't: ", "1. "]);
        let after = *dice.pick(&["", ";", " // done", "\nThat's it.", "\n`ok`", "</tool_call>", ","]);
        Some(format!("{before}{}{after}", sample.text))
    }),
    ("a fence inside", |sample, dice| {
        let fence = *dice.pick(&["```json", "~~~json", "```", "`"]);
        Some(format!("{fence}\n{}\n{}", sample.text, fence.trim_end_matches("json")))
    }),
    ("braces doubled", |sample, _| Some(format!("{{{}}}", sample.text))),
    ("escaped for HTML", |sample, _| Some(sample.text.replace('"', "&quot;"))),
    ("escaped for Markdown", |sample, _| {
        Some(sample.respell(|inside, _| format!("\"{}\"", inside.replace('_', "\\_")), str::to_owned))
    }),
    ("encoded twice", |sample, dice| {
        let twice = Value::from(sample.text.as_str()).to_string();
        Some(if dice.once_in(2) { twice } else { twice[1..twice.len() - 1].to_owned() })
    }),
    ("arguments as a string, not escaped", |sample, dice| {
        let quote = *dice.pick(&["\"", "'", "“"]);
        let start = sample.text.find("\"args\": {").map(|at| at + 8)?;
        let end = sample.text.rfind('}').filter(|end| *end > start)?;
        Some([&sample.text[..start], quote, &sample.text[start..end], quote, &sample.text[end..]].concat())
    }),
    ("blanks of a web page", |sample, _| {
        Some(sample.respell(|inside, _| format!("\"{inside}\""), |text| text.replace(' ', "\u{a0}")))
    }),
    ("numbers of another form", |sample, dice| {
        let form = *dice.pick(&["0$", "+$", "$.", "0x$", "$_0", "$s", "$ lines", "-$.5.1", "$e999"]);
        let at = sample.text.find(": 1").map(|at| at + 2)?;
        let length = sample.text[at..].bytes().take_while(u8::is_ascii_digit).count();
        Some(sample.with(at, at + length, &form.replace('$', &sample.text[at..at + length])))
    }),
    ("end lost inside a token", |sample, dice| {
        let (start, end, _) = *dice.pick(&sample.strings);
        let at = start + 1 + dice.below(end - start);
        sample.text.is_char_boundary(at).then(|| sample.text[..at].to_owned())
    }),
    ("end lost inside a number", |sample, dice| {
        let digits: Vec<usize> = sample
            .text
            .as_bytes()
            .windows(2)
            .enumerate()
            .filter(|(at, pair)| {
                pair.iter().all(u8::is_ascii_digit)
                    && !sample.strings.iter().any(|(start, end, _)| (start..end).contains(&at))
            })
            .map(|(at, _)| at + 1)
            .collect();
        (!digits.is_empty()).then(|| sample.text[..*dice.pick(&digits)].to_owned())
    }),
    ("end lost with the fence", |sample, dice| {
        let at = dice.below(sample.text.len());
        sample.text.is_char_boundary(at).then(|| sample.text[..at].to_owned())
    }),
];

/// Kinds of damage that may change the meaning of a text without making it invalid. No parser can detect that, so a
/// text counts as damaged only if it is invalid for another reason.
const INSIDE: [&str; 8] = [
    "mark inserted",
    "backslashes of one string halved",
    "a backslash dropped",
    "nothing escaped in one string",
    "numbers of another form",
    "a value bare",
    "closer moved",
    "two marks dropped",
];

/// Changes of style that are made before the damage and keep the strings.
const STYLES: &[fn(&str) -> String] = &[
    |text| text.replace('}', ",}"),
    |text| text.replace('{', "{ // first\n"),
    |text| text.replace("true", "True").replace("false", "False").replace("null", "None"),
    |text| text.replace(", ", ",\r\n"),
];

/// The outcome for a damaged text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Valid,
    Same,
    SameByGuess,
    Refused,
    OtherByGuess,
    Other,
}

/// Returns the content of a call, without its id.
fn content_of(call: &ToolCall) -> (String, Value, Option<String>) {
    (call.name.clone(), Value::Object(call.args.clone()), call.reason.clone())
}

fn outcome_of(reply: &str, finish: &str, meant: &[Value], damaged: &str) -> Outcome {
    if serde_json::Deserializer::from_str(damaged)
        .into_iter::<Value>()
        .all(|value| value.is_ok_and(|value| value.is_object() || value.is_array()))
    {
        return Outcome::Valid;
    }
    let meant: Vec<_> = meant
        .iter()
        .map(|call| {
            let text = |key: &str| call[key].as_str().map(str::to_owned);
            (text("name").unwrap_or_default(), call["args"].clone(), text("reason"))
        })
        .collect();
    let (mut calls, mut has_failure) = (Vec::new(), false);
    for event in events(reply, finish, usize::MAX / 2, false) {
        match event {
            Event::Call { call, .. } => calls.push(*call),
            Event::Malformed { .. } | Event::Incomplete { .. } => has_failure = true,
            _ => {}
        }
    }
    let same = calls.iter().map(content_of).eq(meant.iter().cloned());
    let lossy = calls.iter().any(ToolCall::is_lossy);
    // If a text has several calls, some may be refused with a message to the model while others stay intact.
    let sure_ones_meant = calls.iter().filter(|call| !call.is_lossy()).all(|call| meant.contains(&content_of(call)));
    match (same, lossy) {
        (true, false) => Outcome::Same,
        (true, true) => Outcome::SameByGuess,
        _ if calls.is_empty() && has_failure => Outcome::Refused,
        _ if sure_ones_meant && has_failure => Outcome::Refused,
        _ if sure_ones_meant && lossy => Outcome::OtherByGuess,
        _ => Outcome::Other,
    }
}

fn sure_calls(reply: &str, finish: &str) -> Vec<ToolCall> {
    let calls = events(reply, finish, usize::MAX / 2, false).into_iter().filter_map(|event| match event {
        Event::Call { call, .. } => Some(*call),
        _ => None,
    });
    calls.filter(|call| !call.is_lossy()).collect()
}

/// No damage leads to a wrong call that is reported as lossless.
#[test]
fn a_lossless_reading_of_a_damaged_call_is_the_intended_one() {
    let most = std::env::var("DAMAGED_CALLS").map_or(USUAL, |count| count.parse().expect("a number"));
    let mut dice = Random::new(0xda_ba9e);
    let mut table: BTreeMap<&str, BTreeMap<Outcome, usize>> = BTreeMap::new();
    let (mut tried, mut wrong) = (0, Vec::new());
    while tried < most {
        let (name, damage) = DAMAGES[tried % DAMAGES.len()];
        let inside = INSIDE.contains(&name);
        let calls: Vec<Value> = (0..if dice.once_in(6) { 2 } else { 1 }).map(|_| call(&mut dice)).collect();
        let print = |call: &Value| match tried % 2 {
            0 => spaced(&call.to_string()),
            _ => serde_json::to_string_pretty(call).expect("JSON can be printed"),
        };
        let printed: Vec<String> = calls.iter().map(print).collect();
        let text = match (calls.len(), dice.below(3)) {
            (2, 0) => format!("[{}]", printed.join(", ")),
            (2, 1) if !inside => printed.join(",\n"),
            _ => printed.join("\n"),
        };
        let mut sample = Sample::new(text);
        if !inside && dice.once_in(5) {
            let style = *dice.pick(STYLES);
            sample = Sample::new(sample.respell(|inside, _| format!("\"{inside}\""), style));
        }
        tried += 1;
        let Some(damaged) = damage(&sample, &mut dice).filter(|damaged| *damaged != sample.text) else { continue };
        let (reply, finish) = match name {
            "end lost with the fence" => (format!("```tool\n{damaged}"), *dice.pick(&["", "length", "cut"])),
            _ => (format!("```tool\n{damaged}\n```\n"), ""),
        };
        let outcome = outcome_of(&reply, finish, &calls, &damaged);
        *table.entry(name).or_default().entry(outcome).or_default() += 1;
        if outcome == Outcome::Other {
            wrong.push(format!("{name}: {damaged}\n  {:?}", sure_calls(&reply, finish)));
        }
    }
    println!(
        "{:45} {:>6} {:>6} {:>6} {:>8} {:>6} {:>6}",
        "damage", "valid", "same", "guess", "refused", "other?", "OTHER"
    );
    let outcomes =
        [Outcome::Valid, Outcome::Same, Outcome::SameByGuess, Outcome::Refused, Outcome::OtherByGuess, Outcome::Other];
    let mut sums = [0; 6];
    for (name, counts) in &table {
        let row = outcomes.map(|outcome| counts.get(&outcome).copied().unwrap_or_default());
        println!("{name:45} {:>6} {:>6} {:>6} {:>8} {:>6} {:>6}", row[0], row[1], row[2], row[3], row[4], row[5]);
        sums.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
    }
    println!("{:45} {:>6} {:>6} {:>6} {:>8} {:>6} {:>6}", "all", sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]);
    assert_eq!(table.len(), DAMAGES.len(), "every kind of damage was done");
    assert!(sums[1] > most / 20 && sums[3] > most / 20, "some are read and some are refused");
    assert!(
        wrong.is_empty(),
        "{} read for certain as something else:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n\n")
    );
}

/// Returns compact JSON with a blank after commas and colons, as models write it.
fn spaced(text: &str) -> String {
    Sample::new(text.to_owned())
        .respell(|inside, _| format!("\"{inside}\""), |between| between.replace(',', ", ").replace(':', ": "))
}
