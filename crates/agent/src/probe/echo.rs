//! The texts that a model is asked to repeat, and what differs in what came back.
//!
//! Each line begins with a word that nothing damages, so a line is found again whatever happened to those around it. A model is
//! no copying machine: a difference only counts in a line whose first and last words came back, where most of the words of the
//! whole text did.

use super::mangling::Mangling::{self, *};

/// The lines around what is to be repeated.
pub(super) const BEGIN: &str = "BEGIN-7319";
pub(super) const END: &str = "END-7319";

/// Of a hundred words, so many must come back in their order.
const MOST_WORDS: usize = 80;

/// Everything that is damaged within a line. The second `café` has its accent apart.
pub(super) const CHARACTERS: &str = "alpha: C:\\new\\temp \\\\server \\d+ \\\"q\\\" \\* stop
bravo: \"double\" 'single' don't -- and then... stop
charlie: a < b && c > d, &lt;e&gt; &amp; f stop
delta: snake_case_name __init__ 2*3*4 **bold** stop
echo: café cafe\u{301} Ω 日本語 🦀 stop
foxtrot: one\ttwo  three   four stop
golf: <b>tag</b> <div> stop
hotel: https://example.com/a_b?x=1&y=2 stop
";

/// The first words of those lines.
const LINES: [&str; 8] = ["alpha:", "bravo:", "charlie:", "delta:", "echo:", "foxtrot:", "golf:", "hotel:"];

/// Everything that is damaged between lines.
pub(super) const STRUCTURE: &str = "india first


juliet after two empty lines
    kilo by four blanks
\tlima by a tab
mike ends in three blanks   
```tool
{\"papa\": \"quebec\"}
```
november is a long line of many plain words that goes on and on without an end of line until it has come so far that a page, \
a terminal or a mail program that breaks lines at eighty or at a hundred and twenty or at two hundred characters would surely \
have broken it somewhere before this word, which is its last one: stop
oscar is the last line
";

/// A reply without what a terminal adds, and with one form of line ending.
pub(super) fn plain(reply: &str) -> String {
    let mut out = String::with_capacity(reply.len());
    let mut rest = reply;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        let sequence = &rest[at + 1..];
        // CSI: parameters up to a letter. Of any other sequence one character goes.
        let end = match sequence.strip_prefix('[') {
            Some(parameters) => parameters.find(|c: char| c.is_ascii_alphabetic()).map_or(sequence.len(), |at| at + 2),
            None => sequence.chars().next().map_or(0, char::len_utf8),
        };
        rest = &sequence[end..];
    }
    out.push_str(rest);
    out.replace("\r\n", "\n")
}

/// What stands between the two lines, and what stands behind the second. A reply without them is all there is.
pub(super) fn between(reply: &str) -> (&str, &str) {
    let (inside, behind) = match reply.rfind(END) {
        Some(at) => (&reply[..at], &reply[at + END.len()..]),
        None => (reply, ""),
    };
    // The last one: where the question stands before the answer, it has the line too.
    (inside.rfind(BEGIN).map_or(inside, |at| &inside[at + BEGIN.len()..]), behind)
}

/// Whether most words of `asked` came back in their order: the longest common subsequence, so that a word more or less moves no
/// other out of its place. `came` is bounded by what is read of a reply, and `asked` is short.
pub(super) fn came_back(asked: &str, came: &str) -> bool {
    let asked: Vec<&str> = words(asked).collect();
    let mut longest = vec![0; asked.len() + 1];
    for word in words(came) {
        let mut diagonal = 0;
        for (at, wanted) in asked.iter().enumerate() {
            let above = longest[at + 1];
            longest[at + 1] = if wanted.eq_ignore_ascii_case(word) { diagonal + 1 } else { above.max(longest[at]) };
            diagonal = above;
        }
    }
    longest[asked.len()] * 100 >= asked.len() * MOST_WORDS
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// What happened to [`CHARACTERS`]; `None` where the model did not repeat it.
pub(super) fn of_characters(came: &str) -> Option<Vec<Mangling>> {
    if !came_back(CHARACTERS, came) {
        return None;
    }
    let mut found = Vec::new();
    let mut rest = came;
    for (number, (first, asked)) in LINES.iter().zip(CHARACTERS.lines()).enumerate() {
        let Some(at) = rest.find(first) else { continue };
        rest = &rest[at..];
        let next = LINES[number + 1..].iter().filter_map(|next| rest.find(next)).min();
        let line = &rest[..next.unwrap_or(rest.len())];
        let Some(end) = line.rfind("stop") else { continue };
        of_line(&line[first.len()..end], &asked[first.len()..], number, &mut found);
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// What happened to one line of the characters, without its first and its last word.
fn of_line(came: &str, asked: &str, number: usize, found: &mut Vec<Mangling>) {
    let count = |text: &str, what: &str| text.matches(what).count();
    let fewer = |what: &str| count(came, what) < count(asked, what);
    let more = |what: &str| count(came, what) > count(asked, what);
    let mut name = |is: bool, mangling| {
        if is {
            found.push(mangling);
        }
    };
    let encoded =
        ["&quot;", "&#39;", "&#x27;", "&amp;amp;", "&amp;lt;", "&amp;&amp;"].iter().any(|what| came.contains(what))
            || more("&lt;");
    name(encoded, EntitiesEncoded);
    let curly = |c: char| matches!(c, '“' | '”' | '„' | '‘' | '’' | '«' | '»');
    name(came.contains(curly), QuotesChanged);
    match number {
        0 => name(fewer("\\"), BackslashesLost),
        1 => name(came.contains(['–', '—', '…']), DashesChanged),
        2 => name(fewer("&lt;") && came.contains("<e>"), EntitiesDecoded),
        3 => name(fewer("_") || fewer("*"), MarkdownRendered),
        4 => {
            let lost = ["caf", "Ω", "日本語", "🦀"].iter().any(|what| !came.contains(what))
                || !(came.contains("café") || came.contains("cafe\u{301}"));
            name(lost, NonAsciiLost);
            name(!lost && !came.contains("e\u{301}"), UnicodeComposed);
        }
        5 => {
            name(!came.contains('\t'), TabsLost);
            name(!came.contains("two  three") && !came.contains("three   four"), BlanksCollapsed);
        }
        6 => name(!encoded && !came.contains("<b>"), TagsLost),
        _ => name(["[https", "](http", "<http", "<a "].iter().any(|what| came.contains(what)), LinksChanged),
    }
    name(more("\\"), BackslashesAdded);
}

/// What happened to [`STRUCTURE`]; `None` where the model did not repeat it.
pub(super) fn of_structure(came: &str) -> Option<Vec<Mangling>> {
    if !came_back(STRUCTURE, came) {
        return None;
    }
    let mut found = Vec::new();
    let mut name = |is: bool, mangling| {
        if is {
            found.push(mangling);
        }
    };
    // What stands between two texts that follow each other.
    let gap = |one: &str, other: &str| {
        let behind = &came[came.find(one)? + one.len()..];
        behind.find(other).map(|at| &behind[..at])
    };
    let lines = |gap: &str| gap.matches('\n').count();
    let close = [gap("empty lines", "kilo"), gap("four blanks", "lima"), gap("a tab", "mike")];
    let joined = close.iter().flatten().all(|gap| lines(gap) == 0);
    name(joined, LinesJoined);
    name(close.iter().flatten().any(|gap| lines(gap) > 1), BlankLinesAdded);
    if !joined && let Some(gap) = gap("india first", "juliet") {
        name(lines(gap) < 3, BlankLinesLost);
    }
    let indented = |gap: Option<&'_ str>| gap.and_then(|gap| Some(gap.rsplit_once('\n')?.1.to_owned()));
    let (blanks, tab) = (indented(close[0]), indented(close[1]));
    let lost = |indented: &Option<String>| indented.as_ref().is_some_and(String::is_empty);
    name(lost(&blanks) || lost(&tab), IndentationLost);
    name(tab.is_some_and(|tab| !tab.is_empty() && !tab.contains('\t')), TabsLost);
    if let Some(gap) = gap("three blanks", "papa") {
        let line = gap.split('\n').next().unwrap_or_default();
        name(!joined && lines(gap) > 0 && !line.starts_with(' '), TrailingBlanksLost);
        // The block itself may be within a fence of the model's own.
        let fence = gap.find("```");
        name(fence.is_none() && gap.contains("~~~"), FencesChanged);
        name(gap.contains("````"), FencesChanged);
        name(fence.is_none() && !gap.contains("~~~"), FencesLost);
        let info = fence.map(|at| gap[at..].trim_start_matches('`').split('\n').next().unwrap_or_default());
        name(info.is_some_and(|info| !info.contains("tool")), InfoWordLost);
    }
    if !joined && let Some(gap) = gap("november", "one:") {
        name(gap.contains('\n'), LinesWrapped);
    }
    if let Some(gap) = gap("papa", "quebec") {
        name(gap.contains("&quot;"), EntitiesEncoded);
        name(gap.contains(['“', '”']), QuotesChanged);
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// Whether what stands behind an answer is of a search that nobody asked for.
pub(super) fn has_citations(behind: &str) -> bool {
    let lower = behind.to_ascii_lowercase();
    ["sources:", "references:", "searched the web", "[1]", "【", "[^1"].iter().any(|what| lower.contains(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_is_not_named() {
        assert_eq!(of_characters(CHARACTERS), Some(Vec::new()));
        assert_eq!(of_structure(STRUCTURE), Some(Vec::new()));
    }

    #[test]
    fn what_did_not_come_back_is_not_known() {
        for reply in ["", "I cannot do that.", "alpha: stop bravo: stop", "india first"] {
            assert_eq!((of_characters(reply), of_structure(reply)), (None, None), "{reply}");
        }
        // A line that the model left out says nothing of its characters.
        let without = CHARACTERS.replace("delta: snake_case_name __init__ 2*3*4 **bold** stop\n", "");
        assert_eq!(of_characters(&without), Some(Vec::new()));
    }

    #[test]
    fn what_a_terminal_adds_goes() {
        assert_eq!(plain("a\u{1b}[1;32mb\u{1b}[0m\r\nc\u{1b}"), "ab\nc");
        assert_eq!(plain("\u{1b}[12"), "");
        assert_eq!(plain("\u{1b}é"), "");
    }

    #[test]
    fn the_answer_stands_between_its_lines() {
        assert_eq!(between("Sure.\nBEGIN-7319\nx\nEND-7319\nbye"), ("\nx\n", "\nbye"));
        assert_eq!(between("x"), ("x", ""));
        assert_eq!(between("BEGIN-7319 q END-7319\nBEGIN-7319 a END-7319"), (" a ", ""));
    }
}
