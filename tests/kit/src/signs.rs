//! Visible signs for characters that are invisible in case files or that editors would change.

use std::collections::HashMap;

/// The signs in a part of a section: `␍` is a carriage return, `␉` a tab, `␠` a space at the end of a line, `⍽` a
/// no-break space, `␂` a byte order mark, `␛` an escape. `␄` at the end of a line removes its line feed, and `␤` is an
/// empty line that belongs to the text.
const SIGNS: [(&str, &str); 8] = [
    ("␄\n", ""),
    ("␤\n", "\n"),
    ("␍", "\r"),
    ("␠", " "),
    ("⍽", "\u{a0}"),
    ("␂", "\u{feff}"),
    ("␉", "\t"),
    ("␛", "\u{1b}"),
];

/// Replaces the signs in a part of a section by their characters.
pub fn read(part: &str) -> String {
    SIGNS.iter().fold(part.to_owned(), |text, (sign, meant)| text.replace(sign, meant))
}

/// Writes a line with signs, without its line feed.
pub fn write_line(line: &str) -> String {
    let mut line = line
        .replace('\r', "␍")
        .replace('\u{a0}', "⍽")
        .replace('\u{feff}', "␂")
        .replace('\t', "␉")
        .replace('\u{1b}', "␛");
    if line.ends_with(' ') {
        line.pop();
        line.push('␠');
    }
    line
}

/// Writes a text with signs. Lines that occur in `like` keep their spelling, so that reading and writing a part again
/// does not change a byte.
pub fn write(text: &str, like: &str) -> String {
    let mut spelled: HashMap<String, &str> = HashMap::new();
    for line in like.split_inclusive('\n') {
        spelled.entry(read(line)).or_insert(line);
    }
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        match spelled.get(line) {
            Some(spelling) => out.push_str(spelling),
            None => {
                out.push_str(&write_line(line.trim_end_matches('\n')));
                out.push_str(if line.ends_with('\n') { "\n" } else { "␄\n" });
            }
        }
    }
    out
}

/// Replaces the signs in the command of a row: `⏎` is a line feed, `⟨1b⟩` the character with this hexadecimal number.
pub fn read_command(cell: &str) -> String {
    let text = cell.replace('⏎', "\n");
    let mut parts = text.split('⟨');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once('⟩').expect("a closing mark");
        let number = u32::from_str_radix(number, 16).expect("a hexadecimal number");
        out.push(char::from_u32(number).expect("a character"));
        out.push_str(rest);
    }
    out
}

/// Replaces the signs in a line of a JSON case: `␤` is a line feed, `␍` a carriage return, `␉` a tab.
pub fn read_line(line: &str) -> String {
    line.replace('␤', "\n").replace('␍', "\r").replace('␉', "\t")
}

/// Replaces the signs in the reply of a parser case: `␍` is a carriage return, `␉` a tab, `␀` a NUL, and `␄` at the
/// very end removes the last line feed.
pub fn read_reply(reply: &str) -> String {
    let reply = reply.replace('␍', "\r").replace('␉', "\t").replace('␀', "\0");
    match reply.strip_suffix("␄\n") {
        Some(open) => open.to_owned(),
        None => reply,
    }
}
