//! Renders the Markdown of a reply as HTML without active content.
//!
//! The parser is pulldown-cmark. This module has its own writer, because the usual one passes HTML through. HTML in the
//! Markdown becomes text. Links lead to web pages and mail addresses only, and no image is loaded: it becomes a link
//! with its description as the text. If a link is left out, or its text names another address, its address follows the
//! text.

use super::highlight::{Syntax, highlighted};
use pulldown_cmark::{
    Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream,
};
use std::fmt::Write as _;

/// Schemes that a link may have. Others run code (`javascript:`), contain a page of their own (`data:`), or open
/// programs.
const SCHEMES: &[&str] = &["http:", "https:", "mailto:"];

/// The deepest nesting of quotes and lists. Deeper ones get no elements, because browsers need quadratic time for them.
const MOST_NESTED: usize = 32;

/// The start of a list item.
const ITEM: &str = "<li dir=\"auto\">";

/// Renders `text`, whose control characters are escaped already, for a page whose headings above it have the level
/// `above`.
pub(super) fn rendered(text: &str, above: usize) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page { out: String::with_capacity(text.len() * 2), above, ..Page::default() };
    TextMergeStream::new(Parser::new_ext(text, options)).for_each(|event| page.event(event));
    page.out
}

/// Escapes the characters that could be markup, in a text or in an attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The page so far, and the position in the document.
#[derive(Default)]
struct Page {
    out: String,
    /// The level of the page's headings above the text.
    above: usize,
    /// The levels of the headings in the text that enclose the position.
    headings: Vec<HeadingLevel>,
    /// The number of open quotes and lists.
    nested: usize,
    /// Whether the position is in a code block, whose text has no links.
    in_code: bool,
    /// The syntax of the current code block, if its language is known.
    syntax: Option<Syntax>,
    /// The open links. Links cannot be nested, but images can be in links.
    links: Vec<Link>,
    /// The alignments of the columns of the current table.
    columns: Vec<Alignment>,
    /// The next column of the current row.
    column: usize,
    in_head: bool,
}

/// A link or an image.
struct Link {
    target: String,
    /// Whether the target is rendered as a link.
    active: bool,
    is_image: bool,
    /// The text of the link without markup.
    text: String,
    /// The offset of the text in the output.
    begins: usize,
}

impl Page {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, .. }) => self.link(link_type, &dest_url, false),
            Event::Start(Tag::Image { link_type, dest_url, .. }) => self.link(link_type, &dest_url, true),
            Event::End(TagEnd::Link | TagEnd::Image) => self.end_link(),
            // In a link, an address would become a link within a link; in code it is part of the code.
            Event::Text(text) if self.links.is_empty() && !self.in_code => self.text(&text),
            Event::Text(text) if self.in_code => self.code_block(&text),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.words(&text),
            Event::SoftBreak | Event::HardBreak => self.out.push_str(self.tag("<br>", "\n")),
            Event::Code(code) => self.code(&code),
            Event::TaskListMarker(done) => self.task(done),
            // The description of an image is plain text.
            Event::Start(_) | Event::End(_) | Event::Rule if self.in_image() => {}
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::Start(tag @ (Tag::BlockQuote(_) | Tag::List(_))) => {
                self.nested += 1;
                if self.nested <= MOST_NESTED {
                    self.begin(tag);
                }
            }
            Event::End(tag @ (TagEnd::BlockQuote(_) | TagEnd::List(_))) => {
                if self.nested <= MOST_NESTED {
                    self.end(tag);
                }
                self.nested -= 1;
            }
            Event::Start(Tag::Item) | Event::End(TagEnd::Item) if self.nested > MOST_NESTED => {}
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            // These extensions are off.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.words(&text);
            }
        }
    }

    fn words(&mut self, text: &str) {
        self.links.iter_mut().for_each(|link| link.text.push_str(text));
        self.out.push_str(&escaped(text));
    }

    /// Writes a text and turns addresses of web pages into links.
    fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some((before, url, after)) = split_at_address(rest) {
            self.words(before);
            self.link(LinkType::Autolink, url, false);
            self.words(url);
            self.end_link();
            rest = after;
        }
        self.words(rest);
    }

    fn code_block(&mut self, text: &str) {
        match self.syntax {
            Some(syntax) => self.out.push_str(&highlighted(text, syntax)),
            None => self.words(text),
        }
    }

    fn in_image(&self) -> bool {
        self.links.iter().any(|link| link.is_image)
    }

    /// Returns the tag, or its replacement in the description of an image.
    fn tag(&self, tag: &'static str, instead: &'static str) -> &'static str {
        if self.in_image() { instead } else { tag }
    }

    fn code(&mut self, code: &CowStr<'_>) {
        self.out.push_str(self.tag("<code>", ""));
        self.words(code);
        self.out.push_str(self.tag("</code>", ""));
    }

    /// Writes the box of a task, which replaces the bullet of the item.
    fn task(&mut self, done: bool) {
        if self.out.ends_with(ITEM) {
            self.out.truncate(self.out.len() - ITEM.len());
            self.out.push_str("<li class=\"task\" dir=\"auto\">");
        }
        self.out.push_str(if done { "\u{2611} " } else { "\u{2610} " });
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.out.push_str("<p dir=\"auto\">"),
            Tag::Heading { level, .. } => {
                // Screen readers jump from heading to heading, so no level is left out.
                while self.headings.last().is_some_and(|last| *last >= level) {
                    self.headings.pop();
                }
                self.headings.push(level);
                let _ = write!(self.out, "<h{} dir=\"auto\">", self.level());
            }
            Tag::BlockQuote(_) => self.out.push_str("<blockquote>\n"),
            Tag::CodeBlock(kind) => {
                self.in_code = true;
                let language = match kind {
                    CodeBlockKind::Fenced(info) => Syntax::from_info(&info),
                    CodeBlockKind::Indented => None,
                };
                self.syntax = language.map(|(_, syntax)| syntax);
                self.out.push_str("<pre dir=\"auto\"><code");
                if let Some((name, _)) = language {
                    let _ = write!(self.out, " data-language=\"{name}\"");
                }
                self.out.push('>');
            }
            Tag::HtmlBlock => self.out.push_str("<p class=\"as-written\" dir=\"auto\">"),
            Tag::List(None) => self.out.push_str("<ul>\n"),
            Tag::List(Some(1)) => self.out.push_str("<ol>\n"),
            Tag::List(Some(first)) => {
                let _ = writeln!(self.out, "<ol start=\"{first}\">");
            }
            Tag::Item => self.out.push_str(ITEM),
            Tag::Table(columns) => {
                self.columns = columns;
                // A wide table scrolls by itself.
                self.out.push_str("<div class=\"wide\"><table>\n");
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                self.out.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.out.push_str("<tr>");
            }
            Tag::TableCell => {
                let class = match self.columns.get(self.column) {
                    Some(Alignment::Center) => " class=\"center\"",
                    Some(Alignment::Right) => " class=\"right\"",
                    _ => "",
                };
                self.column += 1;
                let _ = write!(self.out, "<{}{class} dir=\"auto\">", self.cell());
            }
            Tag::Emphasis => self.out.push_str("<em>"),
            Tag::Strong => self.out.push_str("<strong>"),
            Tag::Strikethrough => self.out.push_str("<del>"),
            // Links are handled above, and the others are extensions that are off.
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.out.push_str("</p>\n"),
            TagEnd::Heading(_) => {
                let _ = writeln!(self.out, "</h{}>", self.level());
            }
            TagEnd::BlockQuote(_) => self.out.push_str("</blockquote>\n"),
            TagEnd::CodeBlock => {
                self.in_code = false;
                let whole = self.out.trim_end_matches('\n').len();
                self.out.truncate(whole);
                self.out.push_str("</code></pre>\n");
            }
            TagEnd::List(ordered) => self.out.push_str(if ordered { "</ol>\n" } else { "</ul>\n" }),
            TagEnd::Item => self.out.push_str("</li>\n"),
            TagEnd::Table => self.out.push_str("</tbody></table></div>\n"),
            TagEnd::TableHead => {
                self.in_head = false;
                self.out.push_str("</tr></thead>\n<tbody>\n");
            }
            TagEnd::TableRow => self.out.push_str("</tr>\n"),
            TagEnd::TableCell => {
                let _ = write!(self.out, "</{}>", self.cell());
            }
            TagEnd::Emphasis => self.out.push_str("</em>"),
            TagEnd::Strong => self.out.push_str("</strong>"),
            TagEnd::Strikethrough => self.out.push_str("</del>"),
            _ => {}
        }
    }

    fn cell(&self) -> &'static str {
        if self.in_head { "th" } else { "td" }
    }

    /// Returns the level of the current heading.
    fn level(&self) -> usize {
        (self.above + self.headings.len()).min(6)
    }

    fn link(&mut self, kind: LinkType, target: &str, is_image: bool) {
        let target = match kind {
            LinkType::Email => format!("mailto:{target}"),
            _ => target.to_owned(),
        };
        // Browsers ignore the case of a scheme. Eight bytes hold the longest one of `SCHEMES`.
        let lower = target.get(..8).unwrap_or(&target).to_ascii_lowercase();
        // A link within a link is not HTML.
        let active = self.links.is_empty() && SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
        if active {
            // Print shows the address after each link, except for one whose text is the address.
            let class = if matches!(kind, LinkType::Autolink | LinkType::Email) { " class=\"bare\"" } else { "" };
            // The opened page must not learn where the link was.
            let _ = write!(self.out, "<a{class} href=\"{}\" rel=\"noopener noreferrer\">", escaped(&target));
        }
        self.links.push(Link { target, active, is_image, text: String::new(), begins: self.out.len() });
    }

    fn end_link(&mut self) {
        let Some(Link { target, active, text, begins, .. }) = self.links.pop() else { return };
        // A link with the text `bank.example` may lead to another host, so the real address follows the text.
        let misleads = names_another_address(&text, &target);
        let target = escaped(&target);
        let text = &self.out[begins..];
        // A link without text could not be seen or chosen.
        if active && text.trim().is_empty() {
            self.out.push_str(&target);
        } else if (misleads || !active && !target.is_empty()) && text != target {
            let _ = write!(self.out, " ({target})");
        }
        if active {
            self.out.push_str("</a>");
        }
    }
}

/// Returns the first address of a web page in a text, with the text before and after it.
fn split_at_address(text: &str) -> Option<(&str, &str, &str)> {
    for (at, _) in text.match_indices("http") {
        let (before, from) = text.split_at(at);
        let scheme = if from.starts_with("https://") { "https://" } else { "http://" };
        if !from.starts_with(scheme) || before.ends_with(char::is_alphanumeric) {
            continue;
        }
        let end = from.find(|c: char| c.is_whitespace() || "<>\"'`)]|".contains(c)).unwrap_or(from.len());
        // Punctuation at the end belongs to the sentence.
        let url = from[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '~']);
        if url.len() > scheme.len() {
            return Some((before, url, &from[url.len()..]));
        }
    }
    None
}

/// Returns `true` if the text of a link looks like an address other than the link's own.
fn names_another_address(text: &str, target: &str) -> bool {
    if text == target || target.strip_prefix("mailto:") == Some(text) {
        return false;
    }
    if text.contains("://") || text.contains("www.") {
        return true;
    }
    let target = target.to_lowercase();
    let leads_to = |name: &str| {
        let web = target.strip_prefix("https://").or_else(|| target.strip_prefix("http://"));
        let rest = web.and_then(|web| web.strip_prefix(name));
        // No other character may follow: what looks like a port may be a login before the host.
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
            || target.starts_with("mailto:") && target.ends_with(&format!("@{name}"))
    };
    text.to_lowercase()
        .split(|c: char| c.is_whitespace() || "(\"'<>@".contains(c))
        .filter_map(|part| part.split(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).next())
        .map(|name| name.trim_matches('.'))
        .filter(|name| {
            name.rsplit_once('.').is_some_and(|(_, end)| end.chars().filter(|c| c.is_alphabetic()).count() > 1)
        })
        .any(|name| !leads_to(name))
}

#[cfg(test)]
mod tests {
    use super::rendered;

    #[test]
    fn prose_is_rendered() {
        for (markdown, html) in [
            (
                "**a** *b* ~~c~~ `d<e`",
                "<p dir=\"auto\"><strong>a</strong> <em>b</em> <del>c</del> <code>d&lt;e</code></p>\n",
            ),
            ("one\ntwo", "<p dir=\"auto\">one<br>two</p>\n"),
            ("# a\n###### b", "<h3 dir=\"auto\">a</h3>\n<h4 dir=\"auto\">b</h4>\n"),
            ("- a\n- [x] b", "<ul>\n<li dir=\"auto\">a</li>\n<li class=\"task\" dir=\"auto\">\u{2611} b</li>\n</ul>\n"),
            ("3. a", "<ol start=\"3\">\n<li dir=\"auto\">a</li>\n</ol>\n"),
            ("> a", "<blockquote>\n<p dir=\"auto\">a</p>\n</blockquote>\n"),
            ("```rs\na < b\n\n```", "<pre dir=\"auto\"><code data-language=\"rs\">a &lt; b</code></pre>\n"),
            (
                "~~~ rust\n\"<\" // b\n~~~",
                "<pre dir=\"auto\"><code data-language=\"rust\"><span class=\"string\">&quot;&lt;&quot;</span> <span class=\"comment\">// b</span></code></pre>\n",
            ),
            (
                "```\"><script>\nif\n```\n\n    if",
                "<pre dir=\"auto\"><code>if</code></pre>\n<pre dir=\"auto\"><code>if</code></pre>\n",
            ),
            (
                "|a|b|\n|-|-:|\n|1|2|",
                "<div class=\"wide\"><table>\n<thead><tr><th dir=\"auto\">a</th><th class=\"right\" dir=\"auto\">b</th></tr></thead>\n\
                 <tbody>\n<tr><td dir=\"auto\">1</td><td class=\"right\" dir=\"auto\">2</td></tr>\n</tbody></table></div>\n",
            ),
        ] {
            assert_eq!(rendered(markdown, 2), html, "{markdown}");
        }
    }

    #[test]
    fn only_pages_and_mail_are_links() {
        let link = |target: &str, text: &str| format!("<a href=\"{target}\" rel=\"noopener noreferrer\">{text}</a>");
        for (markdown, html) in [
            ("[a](https://x.example/?b&c)", link("https://x.example/?b&amp;c", "a")),
            ("<HTTP://x.example>", link("HTTP://x.example", "HTTP://x.example").replace("<a ", "<a class=\"bare\" ")),
            ("<a@b.example>", link("mailto:a@b.example", "a@b.example").replace("<a ", "<a class=\"bare\" ")),
            ("[](https://x.example)", link("https://x.example", "https://x.example")),
            ("[a](javascript:alert(1))", "a (javascript:alert(1))".to_owned()),
            ("[a](JavaScript:x \"t\")", "a (JavaScript:x)".to_owned()),
            ("[a](&#106;avascript:x)", "a (javascript:x)".to_owned()),
            ("[a]( java\tscript:x)", "[a]( java\tscript:x)".to_owned()),
            ("<javascript:x>", "javascript:x".to_owned()),
            ("[a](data:text/html,x)", "a (data:text/html,x)".to_owned()),
            ("[a](//x.example)", "a (//x.example)".to_owned()),
            ("[a](src/b.rs)", "a (src/b.rs)".to_owned()),
            ("[a](<https:\"onclick=x>)", link("https:&quot;onclick=x", "a")),
            ("![a *b* [c](d)](https://x.example/p.png)", link("https://x.example/p.png", "a b c (d)")),
            ("![a](p.svg)", "a (p.svg)".to_owned()),
            ("[![a](https://x.example/p)](https://y.example)", link("https://y.example", "a (https://x.example/p)")),
            ("a<img src=x onerror=y>", "a&lt;img src=x onerror=y&gt;".to_owned()),
        ] {
            assert_eq!(rendered(markdown, 2), format!("<p dir=\"auto\">{html}</p>\n"), "{markdown}");
        }
    }

    #[test]
    fn addresses_in_a_text_are_links() {
        let bare = |url: &str| format!("<a class=\"bare\" href=\"{url}\" rel=\"noopener noreferrer\">{url}</a>");
        for (markdown, html) in [
            ("See https://x.example/a_b_c?d=1.", format!("See {}.", bare("https://x.example/a_b_c?d=1"))),
            ("(http://x.example/)", format!("({})", bare("http://x.example/"))),
            (
                "http://x.example&amp;b and http://y.example",
                format!("{} and {}", bare("http://x.example&amp;b"), bare("http://y.example")),
            ),
            ("xhttp://x.example https:// http https", "xhttp://x.example https:// http https".to_owned()),
            ("`http://x.example`", "<code>http://x.example</code>".to_owned()),
        ] {
            assert_eq!(rendered(markdown, 2), format!("<p dir=\"auto\">{html}</p>\n"), "{markdown}");
        }
        assert!(!rendered("```\nhttp://x.example\n```", 2).contains("<a"));
    }

    #[test]
    fn a_link_that_names_another_address_shows_its_address() {
        for (text, target, shows) in [
            ("bank.example", "https://thief.example/", true),
            ("bank.`example`", "https://thief.example/", true),
            ("see (bank.example)", "https://thief.example/", true),
            ("https://bank.example", "https://bank.example/", true),
            ("www.bank.example", "https://thief.example", true),
            ("bank.example", "https://bank.example@thief.example/", true),
            ("bank.example", "https://bank.example:x@thief.example/", true),
            ("bank.example", "https://bank.example.thief.example/", true),
            ("a@bank.example", "mailto:a@thief.example", true),
            ("bank.example/in", "https://Bank.example/", false),
            ("a@bank.example", "mailto:a@bank.example", false),
            ("the page, e.g. this one", "https://bank.example/", false),
            ("version 1.2", "https://bank.example/", false),
        ] {
            let html = rendered(&format!("[{text}](<{target}>)"), 2);
            assert_eq!(html.contains(&format!(" ({target})</a>")), shows, "{html}");
        }
    }

    #[test]
    fn nesting_of_quotes_and_lists_is_limited() {
        for (markdown, element) in [("> ".repeat(5000), "blockquote"), ("1. ".repeat(5000), "ol")] {
            let html = rendered(&format!("{markdown}the end"), 2);
            assert_eq!(html.matches(&format!("<{element}>")).count(), 32);
            assert_eq!(html.matches(&format!("</{element}>")).count(), 32);
            assert!(html.contains("the end"));
        }
    }

    #[test]
    fn heading_levels_have_no_gaps() {
        let levels = |markdown: &str, above| {
            let html = rendered(markdown, above);
            html.split("<h").skip(1).map(|part| part[..1].parse().unwrap()).collect::<Vec<usize>>()
        };
        assert_eq!(levels("### a\n\n# b\n\n### c\n\n###### d\n\n## e", 1), [2, 2, 3, 4, 3]);
        assert_eq!(levels("# a\n## b\n### c\n#### d\n##### e", 2), [3, 4, 5, 6, 6]);
    }
}
