//! Highlights comments, strings, numbers and keywords in code.
//!
//! It reads each line once and keeps only the open comment or string between lines. A real parser would have to parse
//! the block again with each line, and would treat an open comment as an error.

use super::rows::{Cell, Ink, push};
use crate::theme::Tint;

/// The syntax that is highlighted for a language.
struct Language {
    names: &'static [&'static str],
    /// The marks of comments that extend to the end of the line.
    line: &'static [&'static str],
    /// The start and end marks of comments and strings that may span lines.
    blocks: &'static [(&'static str, &'static str, Part)],
    quotes: &'static str,
    keywords: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Comment,
    String,
}

const C_COMMENT: (&str, &str, Part) = ("/*", "*/", Part::Comment);

const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        line: &["//"],
        blocks: &[C_COMMENT],
        quotes: "\"",
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move \
                   mut pub ref return self Self static struct super trait true type unsafe use where while",
    },
    Language {
        names: &["python", "py", "python3"],
        line: &["#"],
        blocks: &[("\"\"\"", "\"\"\"", Part::String), ("'''", "'''", Part::String)],
        quotes: "\"'",
        keywords: "False None True and as assert async await break class continue def del elif else except finally for from \
                   global if import in is lambda match nonlocal not or pass raise return self try while with yield",
    },
    Language {
        names: &["javascript", "js", "jsx", "mjs", "typescript", "ts", "tsx"],
        line: &["//"],
        blocks: &[C_COMMENT, ("`", "`", Part::String)],
        quotes: "\"'",
        keywords: "as async await break case catch class const continue default delete do else enum export extends false \
                   finally for from function if implements import in instanceof interface let new null of private protected public \
                   readonly return static super switch this throw true try type typeof undefined var void while yield",
    },
    Language {
        names: &["go", "golang"],
        line: &["//"],
        blocks: &[C_COMMENT, ("`", "`", Part::String)],
        quotes: "\"'",
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if import interface map \
                   nil package range return select struct switch true type var",
    },
    Language {
        names: &["java", "kotlin", "kt", "csharp", "cs", "scala", "swift", "dart"],
        line: &["//"],
        blocks: &[("\"\"\"", "\"\"\"", Part::String), C_COMMENT],
        quotes: "\"'",
        keywords: "abstract as async await break case catch class const continue default do else enum extends false final \
                   finally for fun func if implements import in instanceof interface internal is let namespace new null object \
                   override package private protected public record return static super switch this throw throws true try using \
                   val var void when while",
    },
    Language {
        names: &["c", "h", "cpp", "c++", "cc", "hpp", "objc"],
        line: &["//"],
        blocks: &[C_COMMENT],
        quotes: "\"'",
        keywords: "auto bool break case catch char class const constexpr continue default delete do double else enum extern false \
                   float for if include inline int long namespace new nullptr private protected public return short signed sizeof \
                   static struct switch template this throw true try typedef typename union unsigned using virtual void volatile \
                   while",
    },
    Language {
        names: &["bash", "sh", "shell", "zsh", "console", "make", "makefile", "dockerfile"],
        line: &["#"],
        blocks: &[],
        quotes: "\"'",
        keywords: "case do done elif else esac exit export fi for function if in local return set source then until while",
    },
    Language {
        names: &["sql"],
        line: &["--"],
        blocks: &[C_COMMENT],
        quotes: "'\"",
        keywords: "ALTER AND AS ASC BY CASE CREATE DEFAULT DELETE DESC DISTINCT DROP ELSE END EXISTS FROM GROUP HAVING IN INDEX INNER \
                   INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER OUTER PRIMARY SELECT SET TABLE THEN UNION UPDATE \
                   VALUES WHEN WHERE WITH",
    },
    Language {
        names: &["toml", "ini", "yaml", "yml"],
        line: &["#"],
        blocks: &[("\"\"\"", "\"\"\"", Part::String)],
        quotes: "\"'",
        keywords: "false null off on true",
    },
    Language {
        names: &["json", "jsonc", "json5"],
        line: &["//"],
        blocks: &[C_COMMENT],
        quotes: "\"",
        keywords: "false null true",
    },
    Language { names: &["css", "scss"], line: &[], blocks: &[C_COMMENT], quotes: "\"'", keywords: "important" },
    Language {
        names: &["ruby", "rb", "perl", "r", "elixir"],
        line: &["#"],
        blocks: &[],
        quotes: "\"'",
        keywords: "alias and begin break case class def do else elsif end ensure false for if in module my next nil not or redo \
                   require rescue return self sub super then true undef unless until use when while yield",
    },
    Language {
        names: &["html", "xml", "svg", "vue"],
        line: &[],
        blocks: &[("<!--", "-->", Part::Comment)],
        quotes: "\"",
        keywords: "",
    },
];

/// The highlighter of a block of code.
pub(super) struct Highlighter {
    language: Option<&'static Language>,
    is_diff: bool,
    /// The end mark of a comment or string that is open at the end of the last line.
    open: Option<(&'static str, Part)>,
}

impl Highlighter {
    /// Returns a highlighter for a block whose fence has this info string.
    pub(super) fn new(info: &str) -> Highlighter {
        let name = info.trim().split([' ', ',', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
        let name = &*name;
        let language = LANGUAGES.iter().find(|language| language.names.contains(&name));
        Highlighter { language, is_diff: matches!(name, "diff" | "patch"), open: None }
    }

    /// Highlights the next line, which must not contain a newline.
    pub(super) fn line(&mut self, line: &str) -> Vec<Cell> {
        let mut cells = Vec::new();
        if self.is_diff {
            let ink = match line.as_bytes().first() {
                Some(b'+') => Ink::from_tint(Tint::Green),
                Some(b'-') => Ink::from_tint(Tint::Red),
                Some(b'@') => Ink::from_tint(Tint::Cyan),
                _ => Ink::PLAIN,
            };
            code(&mut cells, line, ink);
            return cells;
        }
        let Some(language) = self.language else {
            code(&mut cells, line, Ink::PLAIN);
            return cells;
        };
        let mut rest = line;
        let mut before = ' ';
        while let Some(c) = rest.chars().next() {
            let (length, ink) = self.part(language, rest, c, before);
            let (part, after) = rest.split_at(length);
            code(&mut cells, part, ink);
            before = part.chars().next_back().unwrap_or(' ');
            rest = after;
        }
        cells
    }

    /// Returns the length and the style of the next part of a line. `before` is the preceding character.
    fn part(&mut self, language: &Language, rest: &str, c: char, before: char) -> (usize, Ink) {
        if let Some((end, part)) = self.open {
            let length = rest.find(end).map(|at| at + end.len());
            if length.is_some() {
                self.open = None;
            }
            return (length.unwrap_or(rest.len()), ink_of(part));
        }
        // In a shell, a `#` within a word or after `$` does not begin a comment.
        let begins =
            |mark: &&&str| rest.starts_with(**mark) && (**mark != "#" || !before.is_alphanumeric() && before != '$');
        if language.line.iter().find(begins).is_some() {
            return (rest.len(), ink_of(Part::Comment));
        }
        // Blocks precede quotes, because `"""` would otherwise be an empty string and a quote.
        if let Some((begin, end, part)) = language.blocks.iter().find(|(begin, ..)| rest.starts_with(begin)) {
            let length = rest[begin.len()..].find(end).map(|at| begin.len() + at + end.len());
            if length.is_none() {
                self.open = Some((end, *part));
            }
            return (length.unwrap_or(rest.len()), ink_of(*part));
        }
        if language.quotes.contains(c) {
            return (quoted(rest, c), ink_of(Part::String));
        }
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if word == 0 {
            return (c.len_utf8(), Ink::PLAIN);
        }
        let ink = match &rest[..word] {
            number if number.starts_with(|c: char| c.is_ascii_digit()) => Ink::from_tint(Tint::Yellow),
            word if language.keywords.split(' ').any(|keyword| keyword == word) => Ink::from_tint(Tint::Magenta),
            _ => Ink::PLAIN,
        };
        (word, ink)
    }
}

/// Maximum number of characters of a highlighted string.
const LONGEST_STRING: usize = 1000;

/// Returns the length of a string that ends on its line. An unclosed quote, such as an apostrophe, has length 1.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    // Limit the search, because every unclosed quote starts one.
    for (at, c) in rest.char_indices().skip(1).take(LONGEST_STRING) {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    quote.len_utf8()
}

fn ink_of(part: Part) -> Ink {
    match part {
        Part::Comment => Ink::DIM,
        Part::String => Ink::from_tint(Tint::Green),
    }
}

/// Appends code as cells. A tab stays a tab, so that the code can be copied.
fn code(cells: &mut Vec<Cell>, text: &str, ink: Ink) {
    for (index, piece) in text.split('\t').enumerate() {
        if index > 0 {
            cells.push(Cell { c: '\t', ink: Ink::PLAIN, at: 0, inside: false });
        }
        push(cells, &piece.replace(super::rows::BREAK, "\\u{2028}"), ink);
    }
}
