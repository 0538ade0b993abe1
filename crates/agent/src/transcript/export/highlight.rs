//! Marks keywords, strings, comments and numbers in the code blocks of a reply.
//!
//! One tokenizer serves all languages, which differ in a row of a table. It reads each character once and parses
//! nothing: a block that it misjudges has odd colours and the same text.

use super::rendered::escaped;

/// The maximum number of bytes of a code block that is highlighted. Highlighting makes its HTML up to twelve times as
/// long.
const MOST_BYTES: usize = 64 << 10;

/// How a family of languages writes comments and strings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Syntax {
    line_comment: &'static str,
    /// `/* .. */` is a comment.
    has_block_comments: bool,
    quotes: &'static str,
    /// `'` begins a character, or the name of a lifetime.
    has_lifetimes: bool,
}

const fn syntax(line_comment: &'static str, has_block_comments: bool, quotes: &'static str) -> Syntax {
    Syntax { line_comment, has_block_comments, quotes, has_lifetimes: false }
}

/// Syntaxes, keyed by the first word of the info string.
const SYNTAXES: &[(&str, Syntax)] = &[
    ("rust rs", Syntax { has_lifetimes: true, ..syntax("//", true, "\"'") }),
    (
        "c h cpp c++ cc hpp cs csharp java kotlin kt swift scala dart go zig php js javascript mjs jsx ts typescript tsx json jsonc \
         json5 proto groovy",
        syntax("//", true, "\"'`"),
    ),
    ("css scss less", syntax("", true, "\"'")),
    (
        "python py sh bash shell zsh fish console ruby rb perl pl r elixir nix yaml yml toml ini make makefile dockerfile cmake hcl \
         terraform",
        syntax("#", false, "\"'"),
    ),
    ("sql lua haskell hs elm ada", syntax("--", false, "\"'")),
];

/// The keywords of all languages.
const KEYWORDS: &str = "False None Self True abstract and as assert async await begin bool boolean break case catch char class const \
    continue crate def default defer del do done double dyn echo elif else elsif end enum esac except export extends extern false fi \
    final finally float fn for from func function global if impl implements import in include instanceof int interface is lambda let \
    local long loop match mod module move mut new nil not null object or package pass private protected pub public raise ref return \
    select self short static string struct super switch template then this throw trait true try type typedef typeof union unless \
    unsafe until use using val var virtual void where while with yield";

impl Syntax {
    /// Returns the language that an info string names first, with its syntax.
    pub(super) fn from_info(info: &str) -> Option<(&'static str, Syntax)> {
        let end = info.find(|c: char| c.is_whitespace() || matches!(c, ',' | '{' | ':'));
        let name = info[..end.unwrap_or(info.len())].to_ascii_lowercase();
        SYNTAXES.iter().find_map(|(names, syntax)| {
            let known = names.split(' ').find(|known| *known == name)?;
            Some((known, *syntax))
        })
    }

    /// Returns the class of the token at the start of `rest`, and its length in bytes. `before` is the character before
    /// it.
    fn token(self, rest: &str, before: Option<char>) -> (&'static str, usize) {
        let Some(first) = rest.chars().next() else { return ("", 0) };
        // A shell has `$#` and `a#b`, and addresses have `//`.
        let begins_comment = !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '$' | ':' | '{' | '#'));
        if !self.line_comment.is_empty() && rest.starts_with(self.line_comment) && begins_comment {
            return ("comment", rest.find('\n').unwrap_or(rest.len()));
        }
        if self.has_block_comments && rest.starts_with("/*") {
            return ("comment", rest[2..].find("*/").map_or(rest.len(), |at| at + 4));
        }
        if first == '\'' && self.has_lifetimes {
            return character(rest).map_or(("", 1), |length| ("string", length));
        }
        if self.quotes.contains(first) {
            return ("string", string(rest, first));
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        match first {
            '0'..='9' => {
                let fraction =
                    rest[word..].strip_prefix('.').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
                let more = fraction.map_or(0, |rest| 1 + rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
                ("number", word + more)
            }
            _ if word == 0 => ("", first.len_utf8()),
            _ if KEYWORDS.split(' ').any(|known| known == &rest[..word]) => ("keyword", word),
            _ => ("", word),
        }
    }
}

/// Returns the length of the string at the start of `rest`. A string in triple quotes or backquotes may have several
/// lines; any other ends with its line.
fn string(rest: &str, quote: char) -> usize {
    let triple = [quote; 3].iter().collect::<String>();
    if rest.starts_with(&triple) {
        return rest[3..].find(&triple).map_or(rest.len(), |at| at + 6);
    }
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '\n' if quote != '`' => return at,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of the character literal at the start of `rest`, or `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inner = &rest[1..];
    if inner.starts_with('\\') {
        // The longest is '\u{10ffff}'.
        let end = inner.char_indices().skip(2).take(10).find(|(_, c)| *c == '\'');
        return end.map(|(at, _)| at + 2);
    }
    let first = inner.chars().next()?;
    inner[first.len_utf8()..].starts_with('\'').then(|| first.len_utf8() + 2)
}

/// Renders a code block as HTML with a span around each coloured token.
pub(super) fn highlighted(text: &str, syntax: Syntax) -> String {
    if text.len() > MOST_BYTES {
        return escaped(text);
    }
    let mut out = String::with_capacity(text.len() * 2);
    let (mut rest, mut before) = (text, None);
    while !rest.is_empty() {
        let (class, length) = syntax.token(rest, before);
        let (token, after) = rest.split_at(length);
        match class {
            "" => out.push_str(&escaped(token)),
            class => out.push_str(&format!("<span class=\"{class}\">{}</span>", escaped(token))),
        }
        (rest, before) = (after, token.chars().next_back());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(info: &str, text: &str) -> String {
        let html = highlighted(text, Syntax::from_info(info).unwrap().1);
        ["keyword", "string", "comment", "number"].iter().fold(html.replace("</span>", "]"), |html, class| {
            html.replace(&format!("<span class=\"{class}\">"), &format!("{}[", &class[..1]))
        })
    }

    #[test]
    fn tokens_have_their_class() {
        for (info, text, html) in [
            ("rust", "let x = 1_000.5; // é <b>", "k[let] x = n[1_000.5]; c[// é &lt;b&gt;]"),
            (
                "rs",
                "fn a<'a>(b: &'a str) -> char { '\\'' }",
                "k[fn] a&lt;&#39;a&gt;(b: &amp;&#39;a str) -&gt; k[char] { s[&#39;\\&#39;&#39;] }",
            ),
            ("rust,ignore", "0..9 a1 'x'", "n[0]..n[9] a1 s[&#39;x&#39;]"),
            ("c", "/* a\n * b */ int a; \"x\\\"y", "c[/* a\n * b */] k[int] a; s[&quot;x\\&quot;y]"),
            ("js", "`a\nb` + 'c'\n'open\nnew", "s[`a\nb`] + s[&#39;c&#39;]\ns[&#39;open]\nk[new]"),
            (
                "Python",
                "# c\nx = \"\"\"a\n\"b\"\"\" if None",
                "c[# c]\nx = s[&quot;&quot;&quot;a\n&quot;b&quot;&quot;&quot;] k[if] k[None]",
            ),
            ("sh", "echo $# a#b # c", "k[echo] $# a#b c[# c]"),
            ("sql", "a - 1 -- b", "a - n[1] c[-- b]"),
            (
                "json",
                "{\"a\": \"http://x\", \"b\": true}",
                "{s[&quot;a&quot;]: s[&quot;http://x&quot;], s[&quot;b&quot;]: k[true]}",
            ),
        ] {
            assert_eq!(marked(info, text), html, "{text}");
        }
        assert!(["", "text", "diff", "unknown"].iter().all(|info| Syntax::from_info(info).is_none()));
    }

    #[test]
    fn marks_change_no_character_of_any_text() {
        let pieces = ["'", "\"", "`", "\\", "/*", "*/", "//", "#", "--", "\n", "é", "1.", "if", "<", "\"\"\"", " "];
        for (names, syntax) in SYNTAXES {
            for first in 0..pieces.len().pow(3) {
                let text: String = [first, first / 16, first / 256].iter().map(|at| pieces[at % 16]).collect();
                let html = highlighted(&text, *syntax);
                let mut plain = html.replace("</span>", "");
                for class in ["keyword", "string", "comment", "number"] {
                    plain = plain.replace(&format!("<span class=\"{class}\">"), "");
                }
                assert_eq!(plain, escaped(&text), "{names}");
            }
        }
        let long = "1 ".repeat(MOST_BYTES);
        assert_eq!(highlighted(&long, SYNTAXES[0].1), long);
    }
}
