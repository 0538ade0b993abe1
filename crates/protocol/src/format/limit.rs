//! A message to its size: the longest outputs give way first, and say so.

use crate::clip::floor_boundary;
use crate::{Language, Text, ToolFailure, ToolResult, text};

/// Bytes of an id or a tool's name, which a hostile model may write as long as it likes.
const NAME: usize = 200;
/// Bytes of an error's message or of data for the host, once the message is too long.
const DETAIL: usize = 4 << 10;

/// Clips results so that the sizes that `cost` gives sum up to `limit` or less where the headers leave room.
pub(super) fn fit(
    results: &[ToolResult],
    limit: usize,
    language: Language,
    cost: impl Fn(&ToolResult) -> usize,
) -> Vec<ToolResult> {
    let mut results: Vec<ToolResult> = results.iter().map(|result| tightened(result, language)).collect();
    let whole: Vec<String> = results.iter_mut().map(|result| std::mem::take(&mut result.output)).collect();
    let bare = lighten(&mut results, limit, language, &cost);
    let mut room = limit.saturating_sub(bare);
    // An output can cost more than its bytes: escapes in JSON, a longer fence. Few rounds get close; the last one gives up.
    for _ in 0..8 {
        share_out(&mut results, &whole, room, language);
        let spent: usize = results.iter().map(&cost).sum();
        if spent <= limit {
            return results;
        }
        let outputs = (spent - bare.min(spent)).max(1) as u128;
        let wanted = limit.saturating_sub(bare) as u128;
        room = usize::try_from(room as u128 * wanted / outputs * 15 / 16).unwrap_or(0);
    }
    share_out(&mut results, &whole, 0, language);
    results
}

/// Takes data away, the longest first, and then most of each error's words, until what is not output has room; gives
/// the size of that.
fn lighten(
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

/// The parts of a result that are not its output, at a length no limit is afraid of.
fn tightened(result: &ToolResult, language: Language) -> ToolResult {
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

/// Clips a message. Its words are those of the language in which it is written down afterwards.
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

/// Gives every result its output, or as much of it as its share of `room`.
fn share_out(results: &mut [ToolResult], whole: &[String], room: usize, language: Language) {
    let most = level(whole.iter().map(String::len).collect(), room);
    for (result, output) in results.iter_mut().zip(whole) {
        result.output = cut(output, most, language);
        if result.output.len() != output.len() || result.output != *output {
            result.truncated = true;
        }
    }
}

/// The most that each may have so that together they have no more than `room`: the short ones keep all of theirs.
fn level(mut lengths: Vec<usize>, room: usize) -> usize {
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

/// Head and tail of `text` in at most `most` bytes, with a note where it was cut; nothing when even the note has no
/// room.
fn cut(text: &str, most: usize, language: Language) -> String {
    const WORDS: usize = 120; // what the sentence takes, with the rounding of the tail
    if text.len() <= most {
        return text.to_owned();
    }
    let Some(room) = most.checked_sub(WORDS) else { return String::new() };
    let head = &text[..floor_boundary(text, room * 2 / 3)];
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
    fn the_long_ones_give_way() {
        assert_eq!(level(vec![10, 1000, 2000], 110), 50);
        assert_eq!(level(vec![10, 20], 100), usize::MAX);
        assert_eq!(level(Vec::new(), 0), usize::MAX);
    }

    #[test]
    fn a_cut_is_told_and_keeps_to_its_room() {
        let text = "é".repeat(1000);
        for (language, told) in [(Language::English, "[TRUNCATED: "), (Language::Portuguese, "[TRUNCADO: ")] {
            for most in [0, 119, 120, 121, 500, 1999] {
                let short = cut(&text, most, language);
                assert!(short.len() <= most, "{most}: {}", short.len());
                assert!(most < 120 || short.contains(told));
            }
        }
        assert_eq!(cut(&text, 2000, Language::English), text);
    }

    #[test]
    fn data_gives_way_where_the_rest_has_no_room() {
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
    fn names_and_messages_of_any_length_are_tightened() {
        let failure = ToolFailure::new(ErrorCode::UnknownTool, "x".repeat(1 << 20));
        let result = ToolResult::refused("i".repeat(1 << 20), "t".repeat(1 << 20), failure);
        let size = serde_json::to_string(&tightened(&result, Language::English)).map_or(0, |text| text.len());
        assert!(size > 0 && size < 6 << 10, "{size}");
    }
}
