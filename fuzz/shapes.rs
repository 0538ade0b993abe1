//! Hostile texts, each of which made a parser slow: another parser, or this one during its development. `steps.rs`
//! counts the steps for each text and `benches/figures` measures its time, at doubling sizes. A new text needs one line
//! here.

/// A name, and a function that makes the text for a number of repetitions.
pub(crate) type Shape = (&'static str, fn(usize) -> String);

/// Replies, each hostile to a different part of the parser.
pub(crate) const REPLIES: &[Shape] = &[
    ("words", |n| "some words and more\n".repeat(n)),
    ("one long line", |n| "word ".repeat(4 * n)),
    ("calls", |n| "```tool\n{\"name\": \"list_files\", \"args\": {\"path\": \"a\"}}\n```\n".repeat(n)),
    ("calls in one block", |n| format!("```tool\n{}\n```\n", "{\"name\": \"a\"}\n".repeat(n))),
    ("nested quotes", |n| "> ".repeat(8 * n) + "x\n"),
    ("nested quotes, many lines", |n| ("> ".repeat(n / 8) + "x\n").repeat(8)),
    ("nested items, blank lines", |n| "- ".repeat(8 * n) + "x\n" + &"\n".repeat(16 * n)),
    ("nested items, lazy lines", |n| "- ".repeat(8 * n) + "x\n" + &"y\n".repeat(8 * n)),
    ("nested items with a quote, blank lines", |n| "- ".repeat(4 * n) + "> x\n" + &"\n".repeat(8 * n)),
    ("a fence in deep items, blank lines", |n| "- ".repeat(4 * n) + "```tool\n" + &"\n".repeat(8 * n)),
    ("stars", |n| "* ".repeat(8 * n) + "a\n"),
    ("lines that look like rules", |n| "- - - - a\n".repeat(2 * n)),
    ("numbers", |n| "1. ".repeat(8 * n) + "\n"),
    ("blanks", |n| " ".repeat(16 * n)),
    ("blank lines", |n| "\n".repeat(16 * n)),
    ("tabs", |n| "\t".repeat(16 * n) + "x\n"),
    ("items and tabs", |n| "-\t".repeat(8 * n) + "x\n"),
    ("backticks", |n| "`".repeat(16 * n)),
    ("tildes", |n| "~".repeat(16 * n) + "tool\n" + &"~".repeat(8 * n)),
    ("a huge info string", |n| format!("```tool {}", "x".repeat(16 * n))),
    ("a huge info string of backticks", |n| format!("```tool {}\n", "` ".repeat(8 * n))),
    ("carriage returns", |n| "\r".repeat(16 * n)),
    ("carriage returns in a block", |n| format!("```tool\n{}", "\r".repeat(16 * n))),
    ("angle brackets", |n| "<".repeat(16 * n)),
    ("angle brackets, lines", |n| "<\n".repeat(8 * n)),
    ("a tag that never ends", |n| "<x ".to_owned() + &"a='b' ".repeat(4 * n)),
    ("comments", |n| "<!-- x\n".repeat(4 * n)),
    ("half tags of reasoning", |n| "<think".repeat(4 * n)),
    ("half tags of other models", |n| "[THINK◁think".repeat(4 * n)),
    ("reasoning of other models unclosed", |n| "[THINK]".to_owned() + &"[/THIN◁/thin</".repeat(4 * n)),
    ("reasoning", |n| "<think>a</think>".repeat(2 * n)),
    ("reasoning unclosed", |n| "<think>".to_owned() + &"</thin".repeat(4 * n)),
    ("closing tags on one line of code", |n| {
        format!("```tool\n{{\"name\": \"a\"}}\n```\n`{}`\n", "</think> ".repeat(2 * n))
    }),
    ("closing tags in lines of code", |n| {
        format!("```tool\n{{\"name\": \"a\"}}\n```\n`\n{}`\n", "</think> x\n".repeat(2 * n))
    }),
    ("closing tags in code after an open backtick", |n| {
        format!("```tool\n{{\"name\": \"a\"}}\n```\n``\n{}", "`\n</think> `\n".repeat(2 * n))
    }),
    ("closing tags in code in many paragraphs", |n| {
        format!("```tool\n{{\"name\": \"a\"}}\n```\n{}", "` </think>\n`\n\n".repeat(2 * n))
    }),
    ("deep items, then closing tags in code", |n| {
        let block = "```tool\n{\"name\": \"a\"}\n```\n";
        format!("{block}{}``\n{}", "- ".repeat(n), "`\n</think> `\n".repeat(2 * n))
    }),
    ("closing tags in a broken block", |n| format!("```tool\n{{'a': '\n{}", "</think>\n".repeat(4 * n))),
    ("closing tags in code after an object", |n| {
        let line = "`</think>`".repeat(2 * n);
        format!("```tool\n{{\"name\": \"a\"}} x\n{line}\n{}", "`</think>`\n".repeat(2 * n))
    }),
    ("a tag in a paragraph, growing", |n| "x\n<think>".to_owned() + &" ".repeat(16 * n)),
    ("definitions", |n| "[a]: b\n".repeat(4 * n) + "===\n"),
    ("definitions and headings", |n| "[a]: b\n===\n".repeat(2 * n)),
    ("one open definition", |n| "[a]:\n".to_owned() + &"'x\n".repeat(8 * n) + "===\n"),
    ("an open string", |n| format!("```tool\n{{\"name\": \"{}", "a\n".repeat(8 * n))),
    ("candidates", |n| format!("```tool\n{{\"name\": \"{}", "\n```\n".repeat(4 * n))),
    ("candidates that fail", |n| "```tool\n{\"a\": \"\n```\nx\"x\n".repeat(n)),
    ("late failures", |n| ("```tool\n{\"a\": \"\n```\n".to_owned() + &"x\n".repeat(n)).repeat(6) + "\"x\n"),
    ("bodies", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"<<E\"}}}}\n{}", "E1\n```\n".repeat(2 * n))
    }),
    ("glued fences", |n| "```tool\n{\"name\": \"a\"}```\n".repeat(2 * n)),
    ("glued fences and fences in strings", |n| {
        "```tool\n{\"name\": \"a\"}```\n~~~tool\n{\"name\": \"\n~~~\n\"}\n~~~\n".repeat(n)
    }),
    ("lazy lines in deep items after a glued fence", |n| {
        "```tool\n{\"name\": \"a\"}```\n```\n".to_owned() + &"- ".repeat(4 * n) + "x\n" + &"y\n```\n".repeat(2 * n)
    }),
    ("strings that begin like a body", |n| {
        let texts = "\"<<E\\nx\", ".repeat(n);
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": [{texts}1]}}}}\n```\n")
    }),
    ("escaped strings that begin like a body, in broken JSON", |n| {
        let texts: String = (0..n).map(|i| format!("\"\\u003c<E{i}\\nx\", ")).collect();
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": [{texts}]}},}}\n```\n")
    }),
    ("blank lines before a body that is not announced exactly", |n| {
        format!(
            "```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"<<e\"}}}}\n{}x\n{}",
            "\n".repeat(8 * n),
            "```\n".repeat(2 * n)
        )
    }),
    ("many bodies", |n| {
        let tags: String = (0..n).map(|i| format!("\"<<T{i}\",")).collect();
        let ends: String = (0..n).map(|i| format!("a\nT{i}\n")).collect();
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": [{tags} 1]}}}}\n{ends}```\n")
    }),
    ("bodies of many objects", |n| {
        let objects = "{\"name\": \"a\", \"args\": {\"x\": \"<<E\"}}".repeat(n);
        format!("```tool\n{objects}\n{}```\n", "E\n".repeat(n))
    }),
    ("heredoc marks in a body", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"<<E\"}}}}\n{}\nE\n```\n", "<<".repeat(8 * n))
    }),
    ("a body below an indented fence", |n| {
        format!("   ```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"<<E\"}}}}\n{}E\n```\n", "   x\n".repeat(2 * n))
    }),
    ("marked words before lines", |n| {
        let words = "\"<<E> x\", \"E\", ".repeat(n);
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": [{words}1]}}}}\n{}```\n", "E\nF \n".repeat(n))
    }),
    ("arguments twice", |n| {
        let args: String = (0..n).map(|i| format!("\"k{i}\": {i}, ")).collect();
        format!("```tool\n{{\"name\": \"a\", \"args\": {{{args}\"z\": 0}}, {args}\"z\": 0}}\n```\n")
    }),
    ("a long id before many arguments", |n| {
        let args: String = (0..n).map(|i| format!("\"k{i}\": \"x\", ")).collect();
        let id = "i".repeat(8 * n);
        format!("```tool\n{{\"name\": \"a\", \"id\": \"{id}\", \"args\": {{{args}\"z\": 0}}}}\n```\n")
    }),
    ("encoded arguments", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": \"{{{}}}\"}}\n```\n", "\\\"k\\\": 1, ".repeat(n))
    }),
    ("a decoy before bodies", |n| {
        let object = "{\"name\": \"a\", \"args\": {\"x\": \"<<E\"}}";
        format!("````md\n```tool\n{object}\n{}E\n```\n````\n", "{\"x\n".repeat(2 * n))
    }),
    ("nesting", |n| format!("```tool\n{}\n```\n", "[".repeat(16 * n))),
    ("quotes in JSON", |n| format!("```tool\n{}\n```\n", "\"".repeat(16 * n))),
    ("keys", |n| {
        let keys: String = (0..2 * n).map(|i| format!("\"k{i}\": {i}, ")).collect();
        format!("```tool\n{{\"name\": \"a\", \"args\": {{{keys}\"z\": 0}}}}\n```\n")
    }),
    ("deep paths of arguments", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": {}\n", "{\"k\": ".repeat(100) + &"[\"x\",".repeat(n))
    }),
    ("one long line in a block", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"{}", "word ".repeat(4 * n))
    }),
    ("blanks in a block", |n| format!("```tool\n{}", " ".repeat(16 * n))),
    ("blanks, then text in a block", |n| format!("```tool\n{}{}", " ".repeat(8 * n), "x ".repeat(4 * n))),
    ("blanks, then a string in a block", |n| {
        format!("```tool\n{}{{\"name\": \"{}", " ".repeat(8 * n), "x ".repeat(4 * n))
    }),
    ("deep items, then a long line in a block", |n| {
        let indent = " ".repeat(2 * n);
        format!("{}```tool\n{indent}{{\"name\": \"{}", "- ".repeat(n), "x ".repeat(4 * n))
    }),
    ("deep items, then a long tag", |n| format!("{}x\n{}", "- ".repeat(n), "<think> ".repeat(2 * n))),
    ("backticks in a block", |n| format!("```tool\n{}", "`".repeat(16 * n))),
    ("blanks after a closing fence", |n| format!("```tool\n{{\n```{}", " ".repeat(16 * n))),
    ("blanks after an object", |n| format!("```tool\n{{\"name\": \"a\"}}{}", " ".repeat(16 * n))),
    ("text after an object", |n| format!("```tool\n{{\"name\": \"a\"}}\n{}", "x ".repeat(8 * n))),
    ("drift", |n| format!("```tool\n{{'name': 'a', 'args': {{'x': [{}]}}}}\n```\n", "'y', ".repeat(2 * n))),
    ("comments in JSON", |n| format!("```tool\n{{{}}}\n```\n", "/* x */ // y\n".repeat(n))),
    ("text around objects", |n| format!("```tool\n{}\n```\n", "a {} ".repeat(2 * n))),
    ("decoys", |n| "> ```tool\n> {\"name\": \"a\", \"args\": {}}\n> ```\n".repeat(n)),
    ("decoys in decoys", |n| "````md\n```tool\n{\"name\": \"a\"\n".repeat(n)),
    ("an open decoy", |n| "<div>\n```tool\n{\"name\": \"a\"\n".to_owned() + &"x\n".repeat(8 * n)),
    ("indented decoys", |n| "    ```tool\n    {\n\n".repeat(n)),
    ("forged results", |n| "```tool_result\nx\n```\n".repeat(n)),
    ("a forged result", |n| "```tool_result\n".to_owned() + &"\"x\n".repeat(4 * n)),
    ("a long key before many strings", |n| {
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"{}\": [{}", "k".repeat(8 * n), "\"x\",".repeat(2 * n))
    }),
    ("a long name before many bodies", |n| {
        format!("```tool\n{{\"name\": \"{}\", \"args\": {{\"x\": [{}", "k".repeat(8 * n), "\"<<A\",".repeat(2 * n))
    }),
    ("a long id before many calls", |n| {
        let id = "k".repeat(8 * n);
        format!("```tool\n{{\"id\": \"{id}\", \"name\": \"a\"}}\n```\n")
            + &"```tool\n{\"name\": \"a\"}\n```\n".repeat(n)
    }),
    ("a tag that continues", |n| format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"<<{}", "A".repeat(16 * n))),
    ("a long tag and its body", |n| {
        let tag = "A".repeat(8 * n);
        format!("```tool\n{{\"name\": \"a\", \"args\": {{\"x\": \"<<{tag}\"}}}}\n{}", "x\n".repeat(4 * n))
    }),
    ("a repair in each of many calls", |n| {
        format!("```tool\n[{}]\n```\n", "{name: \"a\", \"args\": {\"b\": 1,}},".repeat(n))
    }),
    ("ids that were given", |n| {
        let wanted =
            |i| format!("```tool\n{{\"id\": \"call_{i}\", \"name\": \"a\"}}\n```\n```tool\n{{\"name\": \"\n```\n");
        (0..n / 4).map(wanted).collect()
    }),
];

/// Broken JSON texts, each hostile to a different part of the repairing reader.
pub(crate) const BROKEN_JSON: &[Shape] = &[
    ("arrays in arrays", |n| "[".repeat(16 * n)),
    ("objects in objects", |n| "{'a':".repeat(4 * n)),
    ("closers", |n| format!("{{a: 1{}", "]}".repeat(8 * n))),
    ("quotes", |n| format!("{{\"a\": \"x{}", "\"".repeat(16 * n))),
    ("quotes apart", |n| format!("{{\"a\": \"x{}", " \" ".repeat(8 * n))),
    ("quotes before commas", |n| format!("{{\"a\": \"{}\"}}", "x\", \"y ".repeat(4 * n))),
    ("quotes that may begin a member", |n| format!("{{\"a\": \"{}\"}}", "x \"b\": c, ".repeat(2 * n))),
    ("an open string", |n| format!("{{'a': '{}", "text ".repeat(4 * n))),
    ("other quotes in a string", |n| format!("{{\"a\": \u{201c}{}\u{201d},}}", "' // \", // ".repeat(2 * n))),
    ("apostrophes", |n| format!("{{'a': '{}'}}", "don't ".repeat(4 * n))),
    ("three quotes", |n| format!("[{}", "\"\"\"x\"\"\", ".repeat(2 * n))),
    ("backslashes", |n| format!("{{'a': '{}", "\\".repeat(16 * n))),
    ("commas", |n| format!("{{\"a\": 1{}", ",".repeat(16 * n))),
    ("comments", |n| format!("{{{}", "// x\n".repeat(4 * n))),
    ("open comments", |n| format!("{{{}", "/* */".repeat(4 * n))),
    ("prose before an object", |n| format!("{}{{a: 1}}", "look at it, then more. ".repeat(n))),
    ("numbers without an end", |n| format!("[{}", "1_".repeat(8 * n))),
    ("concatenations", |n| format!("[{}", "'a' + ".repeat(4 * n))),
    ("keys", |n| format!("{{{}}}", (0..2 * n).map(|i| format!("k{i}: 1, ")).collect::<String>())),
    ("objects side by side", |n| "{a: 1} ".repeat(2 * n)),
    ("strings in strings", |n| format!("\"{}", "\\\"".repeat(8 * n))),
    ("quotes before comments", |n| format!("{{'a': '{}'}}", "\" # ".repeat(4 * n))),
    ("quotes before open comments", |n| format!("{{'a': \"{}\"}}", "' /* ".repeat(4 * n))),
    ("quotes before closers", |n| format!("{{'a': \"{}{}\"}}", "' ".repeat(4 * n), "}".repeat(4 * n))),
    ("quotes before words", |n| format!("{{'a': '{}'}}", "\"word ".repeat(2 * n))),
    ("quotes before one long word", |n| format!("{{'a': '{}{}'}}", "\", ".repeat(4 * n), "w".repeat(8 * n))),
    ("doubled quotes", |n| format!("{{\"\"a\"\": \"\"{}\"\"}}", "x \"\"y\"\", ".repeat(2 * n))),
    ("quotes in a key", |n| format!("{{'{}': 1}}", "\"a\", ".repeat(2 * n))),
    ("commas in comments", |n| format!("{{'a': 1, {} 'b': 2}}", "/* x, y */ ".repeat(n))),
    ("a comment with commas", |n| format!("{{'a': 1, /* {} */ 'b': 2}}", "x, ".repeat(4 * n))),
    ("members", |n| format!("{{{}", "\"a\":".repeat(4 * n))),
    ("quotes and words", |n| format!("{{\"a\": \"{}", "a \"b\" c ".repeat(2 * n))),
    ("quotes and keys", |n| format!("{{\"a\": \"{{{}", "x\", \"b\": \"c".repeat(2 * n))),
    ("quotes and commas", |n| format!("{{\"a\": \"x {}", "\" , ".repeat(4 * n))),
    ("quotes in an array", |n| format!("[\"{}", "a\" b \"".repeat(4 * n))),
    ("alternating quotes", |n| format!("{{\"a\": \"{}", "\"'".repeat(8 * n))),
    ("single quotes", |n| format!("{{'a': '{}", "' x ".repeat(4 * n))),
    ("smart quotes", |n| format!("{{\u{201c}a\u{201d}: \u{201c}{}", "\u{201d} x \u{201c}".repeat(2 * n))),
    ("backslashes after a string", |n| format!("{{\"a\": \"x\" y{}", "\\".repeat(16 * n))),
    ("block comments before quotes", |n| format!("{{\"a\": \"b\"{}", "/* \" */ \" /* ".repeat(n))),
    ("comment marks", |n| format!("{{\"a\": \"{}", "\" // ".repeat(4 * n))),
    ("stars in a comment", |n| format!("{{\"a\": \"b\" /*{}", "* \" *".repeat(4 * n))),
    ("closers after a string", |n| format!("{{\"a\": \"b\"{}", "}".repeat(16 * n))),
    ("closers in a string", |n| format!("{{\"a\": \"{}", "\"}]}".repeat(4 * n))),
    ("closers and blanks", |n| format!("{{\"a\": \"{}", "\"}   }   ".repeat(2 * n))),
    ("words between three quotes", |n| format!("{{\"a\": \"\"\"{}", "\"\"\" x ".repeat(2 * n))),
    ("backticks", |n| format!("{{\"a\": `{}", "` x ".repeat(4 * n))),
    ("labels", |n| "[a b ".repeat(4 * n)),
    ("escaped blanks", |n| format!("{{{}", "\\n".repeat(8 * n))),
    ("marks in prose", |n| "a / b # ` ".repeat(2 * n)),
    ("escapes of other languages", |n| format!("{{'a': '{}'}}", "\\x41\\u{41}".repeat(n))),
];

/// A repair of JSON may look ahead from any of `PIECES`. The steps are counted for each pair of them, repeated after
/// each of these beginnings.
#[allow(dead_code, reason = "only the counted steps look at pairs")]
pub(crate) const BEGINNINGS: [&str; 6] = ["", "{\"a\": \"", "{'a': '", "[\"", "{\"a\": \"x \"y", "{\"a\": \"\"\""];
#[allow(dead_code, reason = "only the counted steps look at pairs")]
pub(crate) const PIECES: [&str; 24] = [
    "\"", "'", "\\", "{", "}", "[", "]", ",", ":", "\n", " ", "// ", "/*", "*/", "#", "`", "\u{201c}", "+ ", "=",
    "\"a\":", "a", "1", "...", "\u{a0}",
];

/// Replies in dialects, and texts that look similar.
pub(crate) const DIALECTS: &[Shape] = &[
    ("shell blocks", |n| "```bash\nls\n```\n".repeat(n)),
    ("quotes in a shell block", |n| format!("```bash\n{}\n```\n", "$((\"$(`".repeat(n))),
    ("here-documents in a shell block", |n| format!("```bash\n{}\n{}```\n", "<<a ".repeat(n), "a\n".repeat(n))),
    ("fences in a quote of a shell block", |n| format!("```bash\n'{}", "\n```\n".repeat(n))),
    ("paths before fences", |n| "a\n```\n".repeat(n)),
    ("a long line with a fence", |n| format!("{}```\n{}", "- ".repeat(4 * n), "a".repeat(n))),
    ("marks in fences", |n| "a\n```\n<<<<<<< SEARCH\n```\n".repeat(n)),
    ("calls", |n| {
        "<tool_call>\n{\"name\": \"list_files\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>\n".repeat(n)
    }),
    ("calls of one array", |n| format!("[TOOL_CALLS][{}{{\"name\": \"a\"}}]", "{\"name\": \"a\"}, ".repeat(n))),
    ("objects after one token", |n| format!("<|python_tag|>{}", "{\"name\": \"a\", \"arguments\": {}};".repeat(n))),
    ("openers", |n| "<tool_call>".repeat(4 * n)),
    ("openers, lines", |n| "<tool_call>\n".repeat(4 * n)),
    ("openers and names", |n| "<tool_call>read_file ".repeat(2 * n)),
    ("openers and names, paragraphs", |n| "<tool_call>read_file\n\n".repeat(2 * n)),
    ("openers and names in a long paragraph", |n| format!("<tool_call>read_file {}", "x\n<tool>bash ".repeat(2 * n))),
    ("calls of Python in prose", |n| "read_file(path=1)\n".repeat(2 * n)),
    ("empty literals", |n| format!("<|python_start|>[a(b={}", "'' ".repeat(4 * n))),
    ("literals of a long key", |n| format!("<|python_start|>[a({}={}", "b".repeat(n), "'x' ".repeat(2 * n))),
    ("quotes and escapes in a literal", |n| format!("<|python_start|>[a(b=\"\"\"{}", "\"\" \\\" ".repeat(2 * n))),
    ("literals of many keys", |n| {
        // Above the maximum number of arguments, the parser reads the text a second time. Every size here is above it,
        // because otherwise the steps would double at one size.
        let keys: String = (0..4 * n).map(|key| format!("k{key}='x', ")).collect();
        format!("<|tool_call_start|>[a({keys}")
    }),
    ("openers of names", |n| "<function=".repeat(4 * n)),
    ("openers after prose", |n| "a <tool_call> b [TOOL_CALLS] c ".repeat(2 * n)),
    ("closers in an open string", |n| format!("<tool_call>{{\"name\": \"{}", "</tool_call>".repeat(4 * n))),
    ("closers after a fault", |n| format!("<tool_call>{{]{}", "</tool_cal".repeat(4 * n))),
    ("parameters", |n| format!("<function=a>{}", "<parameter=p>x".repeat(4 * n))),
    ("closers of a parameter", |n| format!("<function=a><parameter=p>{}", "</parameter> x".repeat(4 * n))),
    ("blanks after a parameter", |n| format!("<function=a><parameter=p>x</parameter>{}", " \n".repeat(8 * n))),
    ("parameters that are whole", |n| {
        format!("<function=a>{}", "<parameter=p>x</parameter>\n".repeat(2 * n)) // the second one is a fault
    }),
    ("parameters of many names", |n| {
        let parameters: String = (0..n).map(|i| format!("<parameter=p{i}>x</parameter>\n")).collect();
        format!("<function=a>{parameters}</function>")
    }),
    ("many names after a long text", |n| {
        let parameters: String = (0..n).map(|i| format!("<parameter=p{i}>x</parameter>\n")).collect();
        format!("<function=a><parameter=p>{}</parameter>{parameters}", "x ".repeat(8 * n))
    }),
    ("brackets in a string of a call", |n| {
        format!("<tool_call>{{\"name\": \"a\", \"arguments\": {{\"x\": \"{}", "}]".repeat(8 * n))
    }),
    ("strings of a call", |n| {
        format!("<tool_call>{{\"name\": \"a\", \"arguments\": {{\"x\": [{}", "\"y\", ".repeat(4 * n))
    }),
    ("keys", |n| format!("<tool_call>a{}", "<arg_key>k</arg_key><arg_value>".repeat(2 * n))),
    ("a long list", |n| format!("[f(a=[{}", "1, ".repeat(8 * n))),
    ("lists in lists", |n| format!("[f(a={}", "[".repeat(8 * n))),
    ("strings", |n| format!("[f(a={}", "'' ".repeat(8 * n))),
    ("quotes", |n| format!("[f(a={}", "'".repeat(8 * n))),
    ("backslashes", |n| format!("[f(a='{}", "\\".repeat(8 * n))),
    ("an object", |n| "{\"a\": ".repeat(4 * n)),
    ("objects in prose", |n| "x\n{\"name\": 1}\n\n".repeat(2 * n)),
    ("an object in prose, growing", |n| "x\n".to_owned() + &"{\"name\": 1}\n".repeat(4 * n)),
    ("channels", |n| "<|channel|>analysis<|message|>x<|end|>".repeat(2 * n)),
    ("a channel without a message", |n| "<|channel|>commentary to=functions.a ".to_owned() + &"x ".repeat(8 * n)),
    ("half tokens", |n| "<\u{ff5c}tool\u{2581}calls".repeat(2 * n)),
    ("runs of backticks", |n| (1..n / 8).map(|length| "`".repeat(length % 90) + " ").collect()),
    ("blocks under a wrong word", |n| "```json\n{\"name\": \"list_files\", \"args\": {}}\n```\n".repeat(n)),
    ("texts to all after reasoning", |n| "<think>a</think>all\nx>>".repeat(2 * n)),
    ("marks of recipients", |n| format!("all\n{}", ">>>read_fil".repeat(4 * n))),
    ("elements of elements", |n| format!("<minimax:tool_call><invoke name=\"a\"><b>{}", "<item><b>".repeat(4 * n))),
    ("names of Gemma", |n| format!("<start_function_call>call:a{{{}", "k:<escape>".repeat(4 * n))),
];
