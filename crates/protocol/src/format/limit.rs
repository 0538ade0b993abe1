//! Clips results to the size of a message: the longest outputs are clipped first, with a note.

use crate::clip::floor_boundary;
use crate::{Language, Text, ToolFailure, ToolResult, text};

/// The maximum number of bytes in an id or a tool's name, which a hostile model may write at any length.
const NAME: usize = 200;
/// The maximum number of bytes in an error's message or in data for the host, once the message is too long.
const DETAIL: usize = 4 << 10;

/// Clips results until the sum of their sizes, as `cost` returns them, is at most `limit`, if the headers leave room
/// for that.
pub(super) fn fit(
    results: &[ToolResult],
    limit: usize,
    language: Language,
    cost: impl Fn(&ToolResult) -> usize,
) -> Vec<ToolResult> {
    let mut results: Vec<ToolResult> = results.iter().map(|result| limit_details(result, language)).collect();
    // The outputs are taken out, so that `bare` is the cost of everything else.
    let whole: Vec<String> = results.iter_mut().map(|result| std::mem::take(&mut result.output)).collect();
    let bare = shrink_to_headers(&mut results, limit, language, &cost);
    let mut room = limit.saturating_sub(bare);
    // An output can cost more than its bytes: escapes in JSON, a longer fence. A few rounds get close; after the last
    // one no output remains.
    for _ in 0..8 {
        share_out(&mut results, &whole, room, language);
        let spent: usize = results.iter().map(&cost).sum();
        if spent <= limit {
            return results;
        }
        // The next room is in proportion to the real cost of the outputs, less a sixteenth.
        let outputs = (spent - bare.min(spent)).max(1) as u128;
        let wanted = limit.saturating_sub(bare) as u128;
        room = usize::try_from(room as u128 * wanted / outputs * 15 / 16).unwrap_or(0);
    }
    share_out(&mut results, &whole, 0, language);
    results
}

/// Removes data, the longest first, and then shortens the error messages, until everything except output fits. Returns
/// the size of that.
fn shrink_to_headers(
    results: &mut [ToolResult],
    limit: usize,
    language: Language,
    cost: &impl Fn(&ToolResult) -> usize,
) -> usize {
    let length = |result: &ToolResult| result.data.as_ref().map_or(0, |data| data.to_string().len());
    let mut bare: usize = results.iter().map(cost).sum();
    let mut by_length: Vec<usize> = (0..results.len()).collect();
    by_length.sort_by_cached_key(|index| std::cmp::Reverse(length(&results[*index])));
    for index in by_length {
        if bare <= limit {
            return bare;
        }
        bare -= cost(&results[index]);
        results[index].data = None;
        bare += cost(&results[index]);
    }
    if bare > limit {
        for error in results.iter_mut().filter_map(|result| result.error.as_mut()) {
            clip_text(&mut error.message, NAME, language);
        }
        bare = results.iter().map(cost).sum();
    }
    bare
}

/// Limits the parts of a result other than its output.
fn limit_details(result: &ToolResult, language: Language) -> ToolResult {
    let mut result = result.clone();
    clip(&mut result.id, NAME);
    clip(&mut result.tool, NAME);
    result.data = result.data.filter(|data| data.to_string().len() <= DETAIL);
    if let Some(ToolFailure { message, suggestions, .. }) = &mut result.error {
        clip_text(message, DETAIL, language);
        suggestions.truncate(3);
        suggestions.iter_mut().for_each(|text| clip(text, NAME));
    }
    result
}

/// Clips a message, rendered in the language in which it will be written.
fn clip_text(text: &mut Text, most: usize, language: Language) {
    let mut words = std::mem::take(text).into_string(language);
    clip(&mut words, most);
    *text = words.into();
}

fn clip(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(floor_boundary(text, most));
        text.push_str("...");
    }
}

/// Gives each result its output, clipped to an equal share of `room`.
fn share_out(results: &mut [ToolResult], whole: &[String], room: usize, language: Language) {
    let most = equal_share(whole.iter().map(String::len).collect(), room);
    for (result, output) in results.iter_mut().zip(whole) {
        result.output = clip_output(output, most, language);
        if result.output.len() != output.len() || result.output != *output {
            result.truncated = true;
        }
    }
}

/// Returns the largest length per output for which all together fit into `room`. Outputs that are shorter stay whole.
fn equal_share(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = room;
    for (index, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - index);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

/// Clips `text` to head and tail in at most `most` bytes, with a note between them; returns an empty string if the note
/// does not fit.
fn clip_output(text: &str, most: usize, language: Language) -> String {
    const WORDS: usize = 120; // most bytes of the note, and of rounding at the tail
    if text.len() <= most {
        return text.to_owned();
    }
    let Some(room) = most.checked_sub(WORDS) else { return String::new() };
    let head = &text[..floor_boundary(text, room * 2 / 3)];
    // Three bytes further on, so that rounding down to a character boundary cannot make the tail too long.
    let tail = &text[floor_boundary(text, text.len() - room / 3 + 3)..];
    let lost = text.len() - head.len() - tail.len();
    format!(
        "{head}\n{}\n{tail}",
        text!("[TRUNCATED: {lost} bytes left out here to keep the message small. Ask for less at a time.]", lost)
            .render(language)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    #[test]
    fn long_outputs_are_clipped_first() {
        assert_eq!(equal_share(vec![10, 1000, 2000], 110), 50);
        assert_eq!(equal_share(vec![10, 20], 100), usize::MAX);
        assert_eq!(equal_share(Vec::new(), 0), usize::MAX);
    }

    #[test]
    fn clipped_output_has_a_note_and_fits() {
        let text = "é".repeat(1000);
        for (language, note) in [(Language::English, "[TRUNCATED: "), (Language::Portuguese, "[TRUNCADO: ")] {
            for most in [0, 119, 120, 121, 500, 1999] {
                let short = clip_output(&text, most, language);
                assert!(short.len() <= most, "{most}: {}", short.len());
                assert!(most < 120 || short.contains(note));
            }
        }
        assert_eq!(clip_output(&text, 2000, Language::English), text);
    }

    #[test]
    fn data_is_removed_if_the_rest_does_not_fit() {
        let results: Vec<ToolResult> = (0..64)
            .map(|number: usize| {
                let data = serde_json::json!({ "diff": "`".repeat(50 * number) });
                ToolResult {
                    data: Some(data),
                    ..ToolResult::refused("i", "t", ToolFailure::new(ErrorCode::Denied, "no"))
                }
            })
            .collect();
        let cost = |result: &ToolResult| serde_json::to_string(result).map_or(0, |text| 3 * text.len());
        let fitted = fit(&results, 60_000, Language::English, cost);
        assert!(fitted.iter().map(cost).sum::<usize>() <= 60_000);
        let kept = fitted.iter().take_while(|result| result.data.is_some()).count();
        assert!(kept > 5 && fitted[kept..].iter().all(|result| result.data.is_none()), "{kept}");
    }

    #[test]
    fn long_names_and_messages_are_shortened() {
        let failure = ToolFailure::new(ErrorCode::UnknownTool, "x".repeat(1 << 20));
        let result = ToolResult::refused("i".repeat(1 << 20), "t".repeat(1 << 20), failure);
        let size = serde_json::to_string(&limit_details(&result, Language::English)).map_or(0, |text| text.len());
        assert!(size > 0 && size < 6 << 10, "{size}");
    }
}
