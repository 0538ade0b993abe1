//! Tests with case files, and properties that hold for every text.

use super::{Look, MOST_LINE, Markdown};
use toolfence_kit::{CaseFiles, Comparison, Pieces, Random, Section, signs};

const PLAIN: Look = Look { width: 80, colour: false, signs: false };
const NARROW: Look = Look { width: 40, colour: true, signs: true };

fn rendered(text: &str, look: Look) -> String {
    pieced([text], look)
}

fn pieced<'a>(pieces: impl IntoIterator<Item = &'a str>, look: Look) -> String {
    let mut markdown = Markdown::new(look, false);
    let mut out: String = pieces.into_iter().map(|piece| markdown.feed(look, piece)).collect();
    out.push_str(&markdown.finish(look));
    out
}

fn text_of(case: &Section) -> String {
    signs::read_command(&signs::read(case.part("markdown").expect("a text").text()))
}

/// Replaces escape sequences by readable ones, such as `ESC [ 1 m` by `{1}`.
fn printed(drawn: &str) -> String {
    let mut out = String::new();
    for (index, piece) in drawn.split("\x1b[").enumerate() {
        match piece.split_once('m') {
            Some((code, rest)) if index > 0 => out.push_str(&format!("{{{code}}}{rest}")),
            _ => out.push_str(piece),
        }
    }
    out
}

/// Removes the style codes.
fn uncoloured(drawn: &str) -> String {
    drawn
        .split("\x1b[")
        .enumerate()
        .map(|(index, piece)| if index == 0 { piece } else { piece.split_once('m').unwrap().1 })
        .collect()
}

#[test]
fn cases() {
    let mut comparison = Comparison::new();
    for case in CaseFiles::of("terminal/markdown.txt").sections() {
        let text = text_of(&case);
        comparison.expect_text(&case.optional_part("plain"), &case.title, &rendered(&text, PLAIN));
        comparison.expect_text(&case.optional_part("narrow"), &case.title, &printed(&rendered(&text, NARROW)));
    }
    comparison.finish();
}

/// Returns texts of every kind: those of the case files, and documents of this repository.
fn texts() -> Vec<String> {
    let cases = CaseFiles::of("terminal/markdown.txt").sections();
    let mut texts: Vec<String> = cases.iter().map(text_of).collect();
    texts.extend(
        ["CHANGELOG.md", "docs/coder.md", "README.md"]
            .map(|name| std::fs::read_to_string(toolfence_kit::root().join(name)).expect("it can be read")),
    );
    texts
}

#[test]
fn the_rows_are_the_same_for_any_pieces() {
    let mut random = Random::new(27);
    for text in texts() {
        for look in [PLAIN, NARROW] {
            let whole = rendered(&text, look);
            let chars: Vec<&str> = text.split_inclusive(|_| true).collect();
            assert_eq!(pieced(chars, look), whole, "{text}");
            for most in [4, 17, 200] {
                let pieces = Pieces::by(&text, || 1 + random.below(most));
                assert_eq!(pieced(pieces, look), whole, "{text}");
            }
        }
    }
}

/// No row is wider than the terminal, except lines of code and HTML, which the terminal wraps. The tail always fits.
#[test]
fn nothing_is_wider_than_the_terminal() {
    for text in texts() {
        let mut markdown = Markdown::new(NARROW, false);
        let columns = |row: &str| uncoloured(row).chars().map(super::columns).sum::<usize>();
        for piece in text.split_inclusive(' ') {
            for row in markdown.feed(NARROW, piece).lines().filter(|row| columns(row) > NARROW.width) {
                let shown = uncoloured(row);
                let shown = shown.trim_start_matches([' ', '│', '•']).trim_end();
                let is_line = text.lines().any(|line| line.trim_end().ends_with(shown));
                assert!(is_line || shown.contains("\\u{"), "{row:?}");
            }
            let tail = markdown.tail(NARROW);
            assert!(columns(&tail) <= NARROW.width, "{tail:?}");
        }
    }
}

/// No word of a text is lost, even if a construct is open at the end.
#[test]
fn every_word_is_shown() {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 2);
        words.map(str::to_owned).collect()
    };
    for text in texts().iter().filter(|text| !text.contains("&#") && !text.contains("| one |")) {
        let wide = Look { width: 4000, ..PLAIN };
        let shown = words(&rendered(text, wide));
        for word in words(text) {
            assert!(shown.contains(&word), "{word} of {text}");
        }
    }
}

/// For Markdown marks in any order, nothing panics, no control character is printed, and the rows do not depend on the
/// pieces.
#[test]
fn any_signs_in_any_order() {
    const PARTS: &[&str] = &[
        "*",
        "**",
        "_",
        "`",
        "``",
        "```",
        "~~~",
        "[",
        "](",
        "](<&#13;&#10;a>)",
        "-\u{a0}\n",
        "1.\u{3000}\n",
        ")",
        "<",
        ">",
        "> ",
        "- ",
        "1. ",
        "# ",
        "|",
        "---",
        "===",
        "\n",
        "\n\n",
        "    ",
        "  \n",
        "\\",
        "\t",
        "word ",
        "a",
        "語",
        "\u{301}",
        "👩",
        "❤",
        "\u{200d}",
        "\u{fe0f}",
        "🏽",
        "🇧",
        "\u{1b}[2J",
        "&#27;",
        "\r\n",
        "\u{2028}",
        ":--",
        " | ",
        "!",
        "~",
    ];
    let mut random = Random::new(1);
    for _ in 0..600 {
        let text: String = (0..random.below(120)).map(|_| PARTS[random.below(PARTS.len())]).collect();
        for look in [Look { width: 20, ..NARROW }, Look { width: 1, ..PLAIN }] {
            let whole = rendered(&text, look);
            assert!(
                !uncoloured(&whole).chars().any(|c| c.is_control() && !"\n\t".contains(c)),
                "{whole:?} of {text:?}"
            );
            let chars: Vec<&str> = text.split_inclusive(|_| true).collect();
            assert_eq!(pieced(chars, look), whole, "{text:?}");
        }
    }
}

/// For a text that never ends, whatever construct is open, the memory and the work for each byte are bounded.
#[test]
fn unfinished_markdown_is_written() {
    const PARTS: &[&str] = &[
        "**open ",
        "x",
        "[",
        "`",
        "* ",
        "> ",
        "| a | b ",
        "# ",
        "- a\n",
        "|a|\n|-|\n",
        "<a\n",
        "```\n",
        "語",
        "*a_ ",
        "1. a\n\n  ",
    ];
    let streamed = |text: &str| {
        super::inline::READ.set(0);
        let mut markdown = Markdown::new(NARROW, false);
        let (mut written, mut kept) = (0, 0);
        for piece in Pieces::every(text, 4) {
            written += markdown.feed(NARROW, piece).len();
            kept = kept.max(markdown.buffered_bytes());
        }
        written += markdown.finish(NARROW).len();
        (kept, super::inline::READ.get(), written)
    };
    let check = |text: &str, part: &str| {
        let (kept, read, written) = streamed(text);
        assert!(kept <= 8 * MOST_LINE, "{part:?} keeps {kept}");
        assert!(read <= 12 * text.len(), "{part:?} reads {read} of {}", text.len());
        assert!(written <= 40 * text.len(), "{part:?} writes {written} of {}", text.len());
    };
    PARTS.iter().for_each(|part| check(&part.repeat((1 << 16) / part.len()), part));
    check(&"A word of *many* and `code`. ".repeat((1 << 20) / 29), "a megabyte of words");
}

/// Signs of several characters, with the number of columns that most terminals use.
const SIGNS: &[(&str, usize)] = &[
    ("👨\u{200d}👩\u{200d}👧", 2),
    ("👍🏽", 2),
    ("🇧🇷", 2),
    ("❤\u{fe0f}", 2),
    ("1\u{fe0f}\u{20e3}", 2),
    ("e\u{301}", 1),
    ("語", 2),
];

/// No row ends inside a sign, and no row is too wide in any terminal.
#[test]
fn signs_of_several_characters_stay_whole() {
    for (sign, _) in SIGNS {
        for between in ["", " ", "x"] {
            let text = format!("Words {}.", format!("{sign}{between}").repeat(60));
            for width in 12..44 {
                let shown = rendered(&text, Look { width, ..PLAIN });
                let parts: usize = shown.lines().map(|row| row.matches(sign).count()).sum();
                assert_eq!(parts, 60, "{shown}");
                assert!(shown.lines().all(|row| super::width_of(row) <= width), "{width}: {shown}");
            }
        }
    }
    // Only a sign that is wider than a row is split.
    let long = "👩\u{200d}".repeat(30);
    let shown = rendered(&long, Look { width: 20, ..PLAIN });
    assert!(shown.lines().all(|row| super::width_of(row) <= 20), "{shown}");
    assert_eq!(shown.matches('👩').count(), 30, "{shown}");
}

/// The columns of a table are aligned in a terminal that displays each sign as one.
#[test]
fn tables_are_aligned_by_what_most_terminals_show() {
    let rows: String = SIGNS.iter().map(|(sign, _)| format!("| {sign}{sign} | x |\n")).collect();
    let shown = rendered(&format!("| sign | b |\n|---|---|\n{rows}"), PLAIN);
    let mut drawn = shown.lines().skip(2);
    for (sign, columns) in SIGNS {
        assert_eq!(drawn.next(), Some(format!("{sign}{sign}{} | x", " ".repeat(4 - 2 * columns)).as_str()), "{shown}");
    }
}

/// If terminals disagree about a text, this is detected, and they agree about its parts.
#[test]
fn all_terminals_agree_on_the_rows_of_parts() {
    use super::{in_parts, rows_of};
    assert_eq!((rows_of("", 10), rows_of(&"語".repeat(9), 7)), ((1, true), (3, true)));
    for (sign, columns) in SIGNS {
        let parts = in_parts(sign);
        assert_eq!(parts.len(), sign.len());
        let differs = super::width_of(sign) != super::width_of(&parts) || super::width_of(sign) != *columns;
        assert!(rows_of(&format!("{sign} and a row of it"), 40).1, "a short row is one row for all");
        let line = sign.repeat(30);
        let (fewest, agree) = rows_of(&line, 20);
        assert!(fewest <= 3 * *columns && agree != differs, "{sign}: {fewest}, {agree}");
        assert!(rows_of(&in_parts(&line), 20).1, "{sign}");
    }
}
