//! What may stand around tool blocks: lines that open nothing which could swallow the next block, and code blocks that
//! close.
//!
//! A fence at the left margin leaves every quote and list item and interrupts a paragraph, and indented code ends
//! before it. So only three things could swallow it: another fence, an HTML block, a section of reasoning. All three
//! are known by the first characters of a line, behind indentation and the delimiters of quotes and list items; no line
//! begins so. A byte order mark at the very beginning would hide such characters, so no line begins with that either.

use super::rules::{Rules, but};
use super::{FENCE, GrammarOptions};

/// Adds `prose`: any number of lines and code blocks within the bounds, each with its line ending.
pub(super) fn write(rules: &mut Rules, options: &GrammarOptions) {
    let (text, lines) = (options.longest_text, options.most_lines);
    let any = but("");
    rules.add("rest", &format!("{any}{}", options.up_to(text)));
    // A mark of a list item only counts with a blank behind it, a fence only with three marks or more.
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

/// A code block whose info word is none of the protocol's: whatever begins with `too` is left out.
fn code(rules: &mut Rules, options: &GrammarOptions) {
    let inside = format!("({} rest | \"`\"{{1,2}} ({} rest)?)?", but(" `\\t"), but("`"));
    rules.add("code-line", &format!("[ \\t]{{0,40}} {inside} \"\\n\""));
    rules.add("word-end", "[-a-zA-Z0-9+#.]{0,15}");
    rules.add("word", "[a-su-zA-Z] word-end | \"t\" ([a-np-z] word-end | \"o\" ([a-np-z] word-end)?)?");
    let lines = options.up_to(options.most_lines);
    rules.add("code", &format!("\"{FENCE}\" word? \"\\n\" code-line{lines} \"{FENCE}\\n\""));
}
