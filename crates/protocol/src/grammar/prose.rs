//! The text around tool blocks: lines that open nothing that could swallow the next block, and complete code blocks.
//!
//! A fence at the left margin leaves every quote and list item, interrupts a paragraph and ends indented code. Only
//! three things could swallow it: another fence, an HTML block, and a section of reasoning. The first characters of a
//! line, after indentation and the delimiters of quotes and list items, identify all three, so the grammar allows no
//! line that begins with them. A byte order mark at the very beginning would hide such characters, so no line may begin
//! with one either.

use super::rules::{Rules, but};
use super::{FENCE, GrammarOptions};

/// Adds `prose`: any number of lines and code blocks within the bounds, each with its line ending.
pub(super) fn write(rules: &mut Rules, options: &GrammarOptions) {
    let (text, lines) = (options.longest_text, options.most_lines);
    let any = but("");
    rules.add("rest", &format!("{any}{}", options.up_to(text)));
    // The mark of a list item counts only with a blank after it, a fence only with at least three marks.
    rules.add("glued", &but(" \\t"));
    rules.add("few-ticks", &format!("\"`\"{{1,2}} {} rest | \"~\"{{1,2}} {} rest", but("`"), but("~")));
    rules.add("number", &format!("[0-9]{{1,9}} ({} rest | [.)] glued rest)?", but("0-9.)")));
    // Tags of reasoning that do not look like HTML begin with `[T`, `[/T` and `◁`.
    rules.add("bracket", &format!("\"[\" ({} rest)?", but("T/")));
    let plain = but("-+* \\t`~<>0-9\\[\\u25C1\\uFEFF");
    rules.add("text", &format!("{plain} rest | [-+*] glued rest | number | few-ticks | bracket"));
    rules.add("mark", "[-+*>] \" \" | \"#\"{1,6} \" \" | [0-9]{1,3} [.)] \" \"");
    rules.add("line", "\" \"{0,8} mark{0,3} text? \"\\n\"");
    code(rules, options);
    rules.add("around", "line | code");
    rules.add("prose", &format!("around{}", options.up_to(lines)));
}

/// Adds a code block whose info word does not belong to the protocol: words that begin with `too` are excluded.
fn code(rules: &mut Rules, options: &GrammarOptions) {
    let inside = format!("({} rest | \"`\"{{1,2}} ({} rest)?)?", but(" `\\t"), but("`"));
    rules.add("code-line", &format!("[ \\t]{{0,40}} {inside} \"\\n\""));
    rules.add("word-end", "[-a-zA-Z0-9+#.]{0,15}");
    rules.add("word", "[a-su-zA-Z] word-end | \"t\" ([a-np-z] word-end | \"o\" ([a-np-z] word-end)?)?");
    let lines = options.up_to(options.most_lines);
    rules.add("code", &format!("\"{FENCE}\" word? \"\\n\" code-line{lines} \"{FENCE}\\n\""));
}
