//! Converts the result of a call into text and images for the model.

use crate::image_structure;
use serde_json::{Value, json};
use toolfence_protocol::{ErrorCode, Image, Language, Limits, Output, ToolFailure, clip, text};

/// The longest name or address in the text, in bytes.
const SHOWN: usize = 200;
/// The maximum number of parts of a result that are read. The limit bounds the text, because each part may become a
/// sentence.
const MOST_PARTS: usize = 1000;
/// The bytes of a result that are reserved for the sentences around the output.
const AROUND: u64 = 2000;

/// Returns the text of a result of this tool, with a sentence in place of each part that is not text, and its images.
/// Image numbers continue after `before`, the number of images of earlier calls, because one message can contain the
/// images of several calls.
pub(crate) fn read(result: &Value, tool: &str, before: usize, language: Language) -> (String, Vec<Image>) {
    let content = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut images = Vec::new();
    let read = content.iter().take(MOST_PARTS);
    let mut parts: Vec<String> = read.map(|part| part_of(part, tool, before, &mut images, language)).collect();
    if content.len() > MOST_PARTS {
        let more = content.len() - MOST_PARTS;
        parts.push(
            text!(
                "[{count} more {count|part is|parts are} left out: a result has {most} at most.]",
                most = MOST_PARTS as u64,
                count = more as u64
            )
            .into_string(language),
        );
    }
    let text = match (parts.is_empty(), result.get("structuredContent")) {
        // MCP asks servers to repeat structured content as text, but not all do.
        (true, Some(structured)) => structured.to_string(),
        _ => parts.join("\n"),
    };
    (text, images)
}

fn part_of(part: &Value, tool: &str, before: usize, images: &mut Vec<Image>, language: Language) -> String {
    let field = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let shown = |text: Option<String>| clip::middle(&text.unwrap_or_default(), SHOWN).into_owned();
    let kind = field(part, "type").unwrap_or_default();
    let mut binary = |of: &Value, name: &str| {
        let data = of.get(name).and_then(Value::as_str).unwrap_or_default();
        // The bytes determine the type of an image, not the type that the server reports.
        let image = json!({"name": format!("{tool}-{}", before + images.len() + 1), "data": data});
        match serde_json::from_value::<Image>(image) {
            Ok(image) if images.len() < Image::MOST && !image_structure::is_whole(&image) => {
                text!(
                    "[An image of the type {kind}, {bytes} bytes, is not shown: the file is broken.]",
                    kind = image.media_type(),
                    bytes = image.bytes() as u64
                )
            }
            Ok(image) if images.len() < Image::MOST => {
                let note = text!(
                    "[The image {name}: {kind}, {bytes} bytes]",
                    name = image.name(),
                    kind = image.media_type(),
                    bytes = image.bytes() as u64
                );
                images.push(image);
                note
            }
            _ => text!(
                "[Content of the type {kind}, {bytes} bytes, is left out: only text, PNG, JPEG, GIF and WebP can be \
                 shown, and few images.]",
                kind = shown(field(of, "mimeType")),
                bytes = (data.len() / 4 * 3) as u64
            ),
        }
    };
    let note = match kind.as_str() {
        "text" => return field(part, "text").unwrap_or_default(),
        // The bytes of a sound are not those of an image, so a sentence replaces them.
        "image" | "audio" => binary(part, "data"),
        "resource_link" => {
            text!("[A link to {uri}: {name}]", uri = shown(field(part, "uri")), name = shown(field(part, "name")))
        }
        "resource" => {
            let resource = part.get("resource").unwrap_or(&Value::Null);
            match field(resource, "text") {
                Some(text) => return text,
                None => binary(resource, "blob"),
            }
        }
        _ => text!("[Content of the unknown type {kind} is left out.]", kind = shown(Some(kind))),
    };
    note.into_string(language)
}

/// Returns an output with this text, within the usual limits, and marks it as failed if the server reported that.
pub(crate) fn output(text: &str, images: Vec<Image>, failed: bool, language: Language, limits: &Limits) -> Output {
    let most = usize::try_from(limits.output_bytes.saturating_sub(AROUND)).unwrap_or(usize::MAX);
    let cut = clip::clip(text, most, language);
    let mut output = Output::text(cut.text);
    output.images = images;
    (output.truncated, output.total_bytes) = (cut.truncated, cut.total_bytes);
    output.failure = failed.then(|| {
        ToolFailure::new(
            ErrorCode::ExitStatus,
            text!(
                "The server reported that the call failed. The output gives \
             the reason."
            ),
        )
    });
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_parts_become_a_sentence() {
        let result = json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAAABBBB", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            {"type": "resource", "resource": {"uri": "b", "text": "two"}},
            {"type": "resource", "resource": {"uri": "c", "blob": "AAAA", "mimeType": "x/y"}},
            {"type": "video"}, 7, {},
        ]});
        let (text, images) = read(&result, "t", 0, Language::English);
        assert!(images.is_empty());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[3], lines.len()), ("one", "two", 8), "{text}");
        assert!(lines[1].contains("image/png, 6 bytes") && lines[2].contains("file:///a"), "{text}");
        let text_of = |result| read(&result, "t", 0, Language::English).0;
        assert_eq!(text_of(json!({"content": [], "structuredContent": {"a": 1}})), "{\"a\":1}");
        assert_eq!(text_of(json!(null)), "");
    }

    #[test]
    fn images_are_shown_and_named_in_the_text() {
        let gif = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
        let image = json!({"type": "image", "data": gif, "mimeType": "text/html"});
        let blob = json!({"type": "resource", "resource": {"uri": "c", "blob": gif}});
        let (text, images) = read(&json!({"content": [image, blob]}), "look", 0, Language::English);
        assert_eq!(text, "[The image look-1: image/gif, 42 bytes]\n[The image look-2: image/gif, 42 bytes]");
        assert_eq!(images.iter().map(Image::name).collect::<Vec<_>>(), ["look-1", "look-2"]);
        let (text, images) = read(&json!({"content": vec![image; 20]}), "look", 2, Language::English);
        assert_eq!(images.first().map(Image::name), Some("look-3"));
        assert!(images.len() == Image::MOST && text.matches("is left out").count() == 12, "{text}");
    }

    /// The model's backend would refuse the image, and with it every later request of the conversation.
    #[test]
    fn a_broken_image_is_not_shown() {
        let result = json!({"content": [{"type": "image", "data": "R0lGODlh", "mimeType": "image/gif"}]});
        let (text, images) = read(&result, "look", 0, Language::English);
        assert_eq!(text, "[An image of the type image/gif, 6 bytes, is not shown: the file is broken.]");
        assert!(images.is_empty());
    }

    #[test]
    fn the_number_of_parts_is_bounded() {
        let result = json!({"content": vec![json!({}); 50_000]});
        let (text, _) = read(&result, "look", 0, Language::English);
        assert_eq!(text.lines().count(), MOST_PARTS + 1);
        assert!(
            text.ends_with("[49000 more parts are left out: a result has 1000 at most.]"),
            "{}",
            &text[text.len() - 200..]
        );
    }

    #[test]
    fn a_long_text_is_cut_in_the_middle() {
        let limits = Limits::default();
        let long = "x".repeat(1 << 20);
        let cut = output(&long, Vec::new(), true, Language::English, &limits);
        assert!(cut.truncated && cut.total_bytes == 1 << 20 && cut.failure.is_some());
        assert!(cut.text.to_string().len() < 100_000);
    }
}
