//! Generates random documents with everything that can surround a fence.

use toolfence_kit::Random;

const BEFORE: &[&str] = &[
    "",
    "",
    "",
    "> ",
    ">",
    "- ",
    "-",
    "+   ",
    "1. ",
    "2) ",
    "10. ",
    "  ",
    "    ",
    " ",
    "\t",
    "   ",
    "-\t",
    ">\t",
    " \t",
    "* ",
    "-     ",
    "01. ",
    "123456789. ",
    "1234567890. ",
    "  - ",
    "      ",
];

#[rustfmt::skip]
const WHAT: &[&str] = &[
    "", "", "text", "x `y` z", "```tool", "```tool", "```", "```", "~~~tool", "~~~", "````tool", "````", "``` tool x",
    "```rust", "```to`ol", "# head", "#no", "===", "---", "- - -", "* * *", "***", "<div>", "</div>", "<!--", "-->",
    "<x>", "</x>", "<x y='z'>", "<pre>", "</pre>", "<?", "?>", "<!A", ">", "<![CDATA[", "]]>", "[foo]: /url", "'title'",
    "[foo]:", "[a", "\\```tool", "*", "1.", "```tool ```", "<div", "{", "}",
    "```&#116;ool", "```to\\ol", "```tool&amp;", "```\ttool", "```tool\t", "~~~ tool ~~~", "`````", "``````tool", "``", "~~",
    "   ```tool", "    ```tool", "\t```", "  ```", "<script>", "</script>", "<style", "</STYLE>", "<textarea>", "<!---->",
    "<!-->", "<search>", "<source>", "<x", "<x/>", "</x >", "<x y=z w>", "<x y=>", "<a><b>", "<![cdata[", "<!a>", "<?x?>",
    "= =", "=", "--", "__ _", "+", "-", "0.", "1)", "[foo]: <u> 'a", "b'", "(x)", "[foo]: /u (t) x", "[\\]]: x", "[]: x",
    "###### ", "#######", "\u{a0}```tool", "\u{feff}```tool", "a\0b", "```tool\0", "```tool_call", "é", "|", "| - |",
    "\u{2028}```tool", "\u{b}", "\u{c}```", "```tool\u{a0}x", "\\", "a  ", "`", "```\\", "~~~`", "~~~ tool `x`",
];
const ENDS: &[&str] = &["\n", "\n", "\n", "\n", "\n", "\r\n", "\r"];

#[rustfmt::skip]
const CALLS: &[&str] = &[
    "```tool\n{\"name\": \"a\"}", "```tool\n{\"name\": \"a\"}", "```tool\n{\"name\": \"a\"}\n```", "```tool\n{\"name\": \"a\"}\n```\n",
    "~~~tool\n{\"name\": \"a\"}", "````tool\n{\"name\": \"a\"}\n```", "```tool\n{\"name\": \"a\"}```", "```tool\n{\"name\": \"a\"}\n```<|im_end|>",
    "```tool", "~~~tool", "````tool", "```", "```", "```", "~~~", "````", "", "", "text",
    "{\"name\": \"a\"}", "{\"name\": \"a\"}```", "{\"name\": \"a\"}~~~", "{\"name\": \"a\"} ````",
    "{\"name\": \"a\"}```<|im_end|>", "```<|im_end|>", "``` Now I wait.", "~~~ and so on", "```</s>", "```json", "``` sh", "{...}",
    "{\"name\":", "\"a\"}", "{\"name\": \"a\",}", "{\"args\": {}}", "<div>", "<!--", "-->", "> x", "- x", "# x", "    ", "---", "```tool_result",
    "~~~tool_call", "```tool x",
];

/// Texts after which a fence is content of a string or body.
const OPEN: &[&str] = &[
    "{\"name\": \"a\", \"args\": {\"x\": \"",
    "\"}}",
    "{\"name\": \"a\", \"args\": {\"x\": \"<<E\"}}",
    "E",
    "E```",
    "E ~~~",
    "\"}}```",
];

/// Returns a document of tool blocks and texts that models write around them. With `open`, it also has strings and
/// bodies that can contain fences.
pub(crate) fn calls(dice: &mut Random, open: bool) -> String {
    let mut text = String::new();
    let mut before = "";
    let indents: &[&str] = if dice.once_in(3) { &["", "- ", "  ", "> ", "   ", "1. ", "    "] } else { &[""] };
    for _ in 0..4 + dice.below(16) {
        if dice.once_in(2) {
            before = *dice.pick(indents);
        }
        let what = if open && dice.once_in(3) { *dice.pick(OPEN) } else { *dice.pick(CALLS) };
        text += before;
        text += &what.replace('\n', &format!("\n{}", before.replace(|c: char| c != '>', " ")));
        text.push('\n');
    }
    text
}

/// Returns a document of up to thirteen lines or, sometimes, of many. It has one kind of line ending or all kinds.
pub(crate) fn document(dice: &mut Random) -> String {
    let mut text = String::new();
    if dice.once_in(40) {
        text.push('\u{feff}');
    }
    let most = if dice.once_in(50) { 80 } else { 12 };
    let deep = if dice.once_in(10) { 9 } else { 4 };
    let mixed = dice.once_in(3);
    let end = *dice.pick(ENDS);
    let mut before = String::new();
    for _ in 0..=dice.below(most) {
        // The lines of a container are similar, so the marks of the previous line are often repeated or replaced by
        // blanks.
        match dice.below(4) {
            0 => {}
            1 => before = before.chars().map(|c| if matches!(c, '>' | '\t') { c } else { ' ' }).collect(),
            _ => {
                before.clear();
                (0..dice.below(deep)).for_each(|_| before += *dice.pick(BEFORE));
            }
        }
        text += &before;
        text += *dice.pick(WHAT);
        if dice.once_in(8) {
            text += *dice.pick(&[" ", "\t", "  "]);
        }
        text += if mixed { *dice.pick(ENDS) } else { end };
    }
    text
}
