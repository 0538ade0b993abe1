//! Tests setting and removing values in a JSON text, with random texts, comments and edits.

use serde_json::{Map, Value, json};
use std::ops::Range;
use toolfence_kit::Random;
use toolfence_patch::{DataEdit, DataProblem, edit_data};

const NAMES: &[&str] = &["a", "b", "c", "a/b", "~", "", "0", "-", "//", "{", "é", "\"", "\\"];
const GAPS: &[&str] = &[
    "",
    "",
    "",
    " ",
    " ",
    "\n",
    "\n  ",
    "\n\t",
    "\r\n",
    " /* , ] */ ",
    "/**/",
    " // } \"\n",
    "\n  // [\n  ",
    "\r// x\r",
];
const SCALARS: &[&str] = &["1", "-0.5", "1e3", "true", "null", "\"\"", "\"x, // \\\"]\"", "\"\\u00e9/*\"", "\"{\""];

/// A random text, and the positions of its values.
#[derive(Default)]
struct Made {
    text: String,
    places: Vec<Placed>,
}

/// A value, its pointer and its position in the text.
#[derive(Clone)]
struct Placed {
    at: String,
    /// The position of the value, or of its key in an object.
    start: usize,
    range: Range<usize>,
}

impl Made {
    fn new(random: &mut Random) -> (Made, Value) {
        let mut made = Made::default();
        // Half of the texts have the usual layout.
        let pretty = random.once_in(2).then_some(0);
        made.gap(random, pretty.is_some());
        let value = made.value(random, String::new(), 3, pretty);
        made.gap(random, pretty.is_some());
        (made, value)
    }

    fn gap(&mut self, random: &mut Random, is_rare: bool) {
        if !is_rare || random.once_in(20) {
            let gap = *random.pick(GAPS);
            self.text.push_str(gap);
        }
    }

    fn value(&mut self, random: &mut Random, at: String, depth: usize, pretty: Option<usize>) -> Value {
        let start = self.text.len();
        let place = self.places.len();
        self.places.push(Placed { at: at.clone(), start, range: start..start });
        let value = match random.below(if depth == 0 { 1 } else { 4 }) {
            0 => {
                let scalar = *random.pick(SCALARS);
                self.text.push_str(scalar);
                serde_json::from_str(scalar).unwrap()
            }
            1 => {
                let mut list = Vec::new();
                self.items(random, pretty, "[]", |made, random, inner| {
                    list.push(made.value(random, format!("{at}/{}", list.len()), depth - 1, inner));
                });
                Value::Array(list)
            }
            _ => {
                let mut object = Map::new();
                self.items(random, pretty, "{}", |made, random, inner| {
                    let mut name = (*random.pick(NAMES)).to_owned();
                    while object.contains_key(&name) {
                        name.push('x');
                    }
                    let (start, place) = (made.text.len(), made.places.len());
                    made.text.push_str(&Value::from(name.as_str()).to_string());
                    made.gap(random, inner.is_some());
                    made.text.push(':');
                    if inner.is_some() {
                        made.text.push(' ');
                    }
                    made.gap(random, inner.is_some());
                    let value = made.value(random, format!("{at}/{}", escaped(&name)), depth - 1, inner);
                    made.places[place].start = start;
                    object.insert(name, value);
                });
                Value::Object(object)
            }
        };
        self.places[place].range.end = self.text.len();
        value
    }

    fn items(
        &mut self,
        random: &mut Random,
        pretty: Option<usize>,
        brackets: &str,
        mut item: impl FnMut(&mut Made, &mut Random, Option<usize>),
    ) {
        let inner = pretty.map(|depth| depth + 1);
        let line = |made: &mut Made, depth: Option<usize>| {
            if let Some(depth) = depth {
                made.text += &format!("\n{}", "    ".repeat(depth));
            }
        };
        self.text.push_str(&brackets[..1]);
        let count = random.below(4);
        for at in 0..count {
            self.gap(random, pretty.is_some());
            line(self, inner);
            item(self, random, inner);
            self.gap(random, pretty.is_some());
            if at + 1 < count || random.once_in(4) {
                self.text.push(',');
            }
            if pretty.is_some() && random.once_in(10) {
                self.text.push_str(" // note");
                line(self, inner);
            }
        }
        self.gap(random, pretty.is_some());
        if count > 0 {
            line(self, pretty);
        }
        self.text.push_str(&brackets[1..]);
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the text without comments and trailing commas, and its comments.
fn plain(text: &str) -> (String, Vec<&str>) {
    let (mut plain, mut comments, mut at) = (String::new(), Vec::new(), 0);
    while at < text.len() {
        let rest = &text[at..];
        let length = if let Some(inside) = rest.strip_prefix('"') {
            let mut escape = false;
            let end = inside.find(|c| {
                let ends = c == '"' && !escape;
                escape = c == '\\' && !escape;
                ends
            });
            end.unwrap() + 2
        } else if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").unwrap() + 2
        } else {
            rest.chars().next().unwrap().len_utf8()
        };
        let token = &rest[..length];
        match token {
            _ if token.starts_with('/') => comments.push(token),
            "}" | "]" if plain.ends_with(',') => {
                plain.pop();
                plain.push_str(token);
            }
            _ if token.trim().is_empty() => {}
            _ => plain.push_str(token),
        }
        at += length;
    }
    (plain, comments)
}

/// Returns `true` if `part` can be made by removing characters from `whole`.
fn is_part_of(part: &str, whole: &str) -> bool {
    let mut chars = whole.chars();
    part.chars().all(|c| chars.any(|other| other == c))
}

/// Applies an edit to the parsed value. Returns `None` if the pointer leads nowhere.
fn changed(document: &Value, at: &str, value: Option<&Value>) -> Option<Value> {
    let mut document = document.clone();
    let Some((parent, last)) = at.rsplit_once('/') else { return value.cloned() };
    let last = last.replace("~1", "/").replace("~0", "~");
    match (document.pointer_mut(parent)?, value) {
        (Value::Object(object), Some(value)) => drop(object.insert(last, value.clone())),
        (Value::Object(object), None) => drop(object.remove(&last)?),
        (Value::Array(list), Some(value)) if last == "-" => list.push(value.clone()),
        (Value::Array(list), Some(value)) => *list.get_mut(last.parse::<usize>().ok()?)? = value.clone(),
        (Value::Array(list), None) => {
            let index = last.parse().ok().filter(|index| *index < list.len())?;
            list.remove(index);
        }
        _ => return None,
    }
    Some(document)
}

#[test]
fn an_edit_changes_only_its_value() {
    let mut random = Random::new(23);
    let values = [json!(7), json!("new"), json!({"k": [1, {"l": "//"}], "m": {}}), json!([[], "x"]), json!(null)];
    let (mut set, mut added, mut removed, mut refused) = (0, 0, 0, 0);
    for _ in 0..30_000 {
        let (made, document) = Made::new(&mut random);
        let text = made.text.as_str();
        let mut at = random.pick(&made.places).at.clone();
        if random.once_in(2) {
            at = format!("{at}/{}", random.pick(&["-", "new", "a", "0", "5"]));
        }
        let value = (!random.once_in(3)).then(|| random.pick(&values).clone());
        let known = made.places.iter().find(|place| place.at == at);
        let want = changed(&document, &at, value.as_ref());
        let edit = [DataEdit { at: &at, value: value.as_ref() }];
        let case = || format!("{text:?} {at} {value:?}");
        let new = match edit_data(text.as_bytes(), &edit) {
            Ok(new) => String::from_utf8(new).unwrap(),
            Err(problem) => {
                assert!(want.is_none(), "{}: {}", case(), problem.text());
                assert!(matches!(problem, DataProblem::Missing(_)) || at.is_empty(), "{}", case());
                refused += 1;
                continue;
            }
        };
        let (strict, comments) = plain(&new);
        let got: Value = serde_json::from_str(&strict).unwrap_or_else(|error| panic!("{}: {error}: {new:?}", case()));
        assert_eq!(Some(&got), want.as_ref(), "{}: {new:?}", case());
        let is_strict = |text: &str| serde_json::from_str::<Value>(text).is_ok();
        assert!(is_strict(&new) || !is_strict(text), "{}: {new:?}", case());
        match (&value, known) {
            (Some(_), Some(Placed { range, .. })) => {
                let (head, tail) = (&text[..range.start], &text[range.end..]);
                assert!(new.starts_with(head) && new.ends_with(tail), "{}: {new:?}", case());
                assert!(head.len() + tail.len() <= new.len(), "{}: {new:?}", case());
                set += 1;
            }
            (Some(_), None) => {
                let bare = |text: &str| text.replace([' ', '\t', '\n', '\r'], "");
                assert!(is_part_of(&bare(text), &bare(&new)), "{}: {new:?}", case());
                assert_eq!(comments, plain(text).1, "{}: {new:?}", case());
                added += 1;
            }
            (None, place) => {
                assert!(is_part_of(&new, text), "{}: {new:?}", case());
                let Placed { start, range, .. } = place.expect("it was there");
                let outside = [plain(&text[..*start]).1, plain(&text[range.end..]).1].concat();
                assert_eq!(comments, outside, "{}: {new:?}", case());
                removed += 1;
            }
        }
    }
    println!("{set} set, {added} added, {removed} removed, {refused} refused");
    assert!(set > 5_000 && added > 3_000 && removed > 2_000 && refused > 2_000);
}

#[test]
fn any_text_is_edited_or_refused() {
    let mut random = Random::new(24);
    let tokens =
        ["{", "}", "[", "]", ",", ":", "\"a\"", "\"", "1", "/", "*", "//", "\n", "\r", "\\", "é", " ", "\u{1}"];
    for _ in 0..30_000 {
        let text = random.text(&tokens, 12);
        for at in ["", "/a", "/0", "/-"] {
            for value in [Some(&json!(1)), None] {
                if let Ok(new) = edit_data(text.as_bytes(), &[DataEdit { at, value }]) {
                    let (strict, _) = plain(std::str::from_utf8(&new).unwrap());
                    assert!(serde_json::from_str::<Value>(&strict).is_ok(), "{text:?} {at}: {new:?}");
                }
            }
        }
    }
}

#[test]
fn hostile_texts_are_refused_or_edited_in_linear_time() {
    let value = json!(1);
    let edit = |text: &str, at: &str| edit_data(text.as_bytes(), &[DataEdit { at, value: Some(&value) }]);
    for deep in ["[".repeat(1 << 20), "{\"a\":".repeat(1 << 20), format!("{}{}", "[".repeat(129), "]".repeat(129))] {
        let Err(problem) = edit(&deep, "/0") else { panic!("{deep:.20}") };
        assert!(problem.text().to_string().contains("nests deeper than 128"));
    }
    assert!(edit(&format!("{}{}", "[".repeat(128), "]".repeat(128)), "/0").is_ok());
    let mut nested = json!(1);
    for _ in 0..127 {
        nested = json!([nested]);
    }
    assert!(edit_data(b"[[0]]", &[DataEdit { at: "/0", value: Some(&nested) }]).is_ok());
    assert!(edit_data(b"[[0]]", &[DataEdit { at: "/0/0", value: Some(&nested) }]).is_err());
    let size = 1 << 20;
    for text in [
        format!("[{}1]", "1,".repeat(size / 2)),
        format!("[{}]", "/**/".repeat(size / 4)),
        format!("[1{}]", " /**/".repeat(size / 5)),
        format!("[1{}]", " ".repeat(size)),
        format!("[\n{}\n]", "//\n".repeat(size / 3)),
        format!("[1, {}2]", "\n".repeat(size)),
    ] {
        assert!(edit(&text, "/-").is_ok(), "{text:.20}");
        assert!(
            edit_data(text.as_bytes(), &[DataEdit { at: "/0", value: None }]).is_ok()
                || text.contains("[/")
                || text.contains("[\n")
        );
    }
    let many: Vec<_> = (0..200).map(|_| DataEdit { at: "/-", value: Some(&value) }).collect();
    let Err(problem) = edit_data(format!("[{}]", " ".repeat(size)).as_bytes(), &many) else { panic!("not refused") };
    assert!(problem.text().to_string().starts_with("200 edits are too many"));
}

#[test]
fn a_byte_order_mark_is_kept() {
    let value = json!(2);
    let edit = [DataEdit { at: "/a", value: Some(&value) }];
    assert_eq!(edit_data("\u{feff}{\"a\":1}".as_bytes(), &edit), Ok("\u{feff}{\"a\":2}".as_bytes().to_vec()));
    assert!(edit_data(b"{\"a\":\"\xff\"}", &edit).is_err());
}
