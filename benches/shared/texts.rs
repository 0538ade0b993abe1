//! Generates replies for measurements. They are ASCII, so that a piece may end at any byte.

/// Returns prose, a list, code and a call, about 2 KB together.
fn section(number: usize) -> String {
    let prose = "The session keeps what was said, and a reader may ask for *any* part of it by its `id`. ".repeat(9);
    let list = "- an entry with a [link](https://example.org/a?b=c) and some words after it\n".repeat(6);
    let code = "    let total = lines.iter().map(|line| line.len()).sum::<usize>();\n".repeat(5);
    let call =
        format!("{{\"name\": \"read_file\", \"args\": {{\"path\": \"src/part_{number}.rs\", \"start_line\": 1}}}}");
    format!("## Part {number}\n\n{prose}\n\n{list}\n```rust\n{code}```\n\n```tool\n{call}\n```\n\n")
}

/// Returns chat Markdown of `bytes` bytes, and up to a section more, with a call per 2 KB.
pub fn chat(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 4096);
    let mut number = 0;
    while text.len() < bytes {
        text.push_str(&section(number));
        number += 1;
    }
    text
}

/// Returns one call that writes a file of about `bytes` bytes.
pub fn write_file(bytes: usize) -> String {
    let line = "    let answer = \\\"forty-two\\\"; // with an escape or two\\n";
    let content = line.repeat(bytes / line.len());
    format!(
        "```tool\n{{\"name\": \"write_file\", \"args\": {{\"path\": \"a.rs\", \"content\": \"{content}\"}}}}\n```\n"
    )
}

/// Splits the text at character boundaries into pieces of about `bytes` bytes. The last piece has the rest. This is
/// done before the measurement, because it is the sender's work.
pub fn pieces(text: &str, bytes: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = (bytes..rest.len()).find(|&end| rest.is_char_boundary(end)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
