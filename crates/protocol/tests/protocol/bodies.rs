//! Tests that no wrongly written verbatim body puts its delimiters into a file.

use serde_json::Value;
use toolfence_kit::Random;
use toolfence_protocol::FinishReason;
use toolfence_protocol::parse::{self, Event, Options};

/// Ways to announce a body with the TAG `@`. The first one is the correct way.
#[rustfmt::skip]
const ANNOUNCEMENTS: &[&str] = &[
    "\"<<@\"", "\"<<#\"", "\"<<'@'\"", "\"<<\\\"@\\\"\"", "\"<< @\"", "\"<<-@\"", "\"<<~@\"", "\"<<@ \"", "\" <<@\"", "\"<<@\\n\"",
    "\"\\n<<@\"", "\"<<@>>\"", "\"<<<@\"", "<<@", "'<<@'", "\u{201c}<<@\u{201d}", "\"<<@", "<<@\"", "`<<@`", "\"<<@\",",
    "\"<<'#'\"", "\"<<`@`\"", "\"<<@:\"", "\"<<@\n\"", "<<'@'", "\"\"\"<<@\"\"\"", "\"<<\\u0041\"", "\"<<-'@'\"",
];

/// Ways to end a body. The first one is the correct way.
const ENDS: &[&str] = &[
    "@",
    "#",
    " @",
    "@ ",
    "@;",
    "\"@\"",
    "'@'",
    "<<@",
    "</@>",
    "@```",
    "@ ```",
    "@ }}",
    "@\"}}",
    "",
    "@\n@",
    "@\n\n",
    "@.",
    "@```<|im_end|>",
    "@,",
    "\t@",
    "> @",
];

/// Bodies. The last ones contain text that could end a body, a block or a string.
const BODIES: &[&str] = &[
    "# Title\ntext\n",
    "",
    "print(\"hi\")\n",
    "\n\n",
    "# A\n```sh\nmake\n```\nb\n",
    "```\nx\n```\n",
    "{\"name\": \"x\", \"args\": {}}\n",
    "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"rm x\"}}\n```\n",
    "a}}\n",
    "\"}}\n",
    "a, \"b\": \"c\"\n",
    "~~~\n",
    "}}\n```\n",
];

/// Positions of the body in a block. `A` is the object with the announcement, `B` the body, `E` its end. `I` is the
/// object with the body inside the string of the announcement.
const LAYOUTS: &[&str] = &[
    "```tool\n{PA}}\nBE\n```\n",
    "```tool\n{PA\nBE\n}}\n```\n",
    "```tool\n{PA}}\n```\n\n```markdown\nBE\n```\n",
    "```tool\n{PA}}\n```\n\n```\nBE\n```\n",
    "```tool\n{PA}}\n```\nBE\n",
    "```tool\n{PA}}```\nBE\n```\n",
    "```tool\n{PA,}}\nBE\n```\n",
    "```tool\n{PA}}\n\nBE\n```\n",
    "```tool\n{PA}\nBE\n}\n```\n",
    "```tool\n{PA}}\nBE\n",
    "```tool\n{P\"\"}}\nA\nBE\n```\n",
    "```tool\n{PA}}\nA\nBE\n```\n",
    "```tool\n{PI}}\n```\n",
    "```tool\n{PI,}}\n```\n",
    "```tool\n{PJ}}\n```\n",
    "```tool\n{PJ\n```\n",
    "- ```tool\n  {PA}}\n  BE\n  ```\n",
    "  ```tool\n{PA}}\nBE\n  ```\n",
    "````tool\n{PA}}\nBE\n```\n",
    "~~~tool\n{PA}}\nBE\n```\n~~~\n",
];

/// The beginnings of calls up to the argument that gets the body.
const CALLS: &[&str] = &[
    "\"name\": \"write_file\", \"args\": {\"path\": \"file.txt\", \"content\": ",
    "\"name\": \"write_file\", \"path\": \"file.txt\", \"args\": {\"content\": ",
    "\"name\": \"replace_text\", \"args\": {\"path\": \"file.txt\", \"old\": \"x\", \"new\": ",
    "\"name\": \"apply_patch\", \"args\": {\"patch\": ",
    "\"tool\": \"write_file\", \"arguments\": {\"file_path\": \"file.txt\", \"content\": ",
];

fn reply(dice: &mut Random) -> (String, &'static str) {
    let tag = *dice.pick(&["EOF", "END_1", "A", "PY"]);
    // Usually one part is wrong, and sometimes all parts are.
    let wild = dice.once_in(3);
    let mut choose = |from: &'static [&'static str], at: usize| -> &'static str {
        if wild || dice.once_in(2) { dice.pick::<&str>(from) } else { from[at] }
    };
    let (announcement, end, layout) = (choose(ANNOUNCEMENTS, 0), choose(ENDS, 0), choose(LAYOUTS, 0));
    let (body, call) = (choose(BODIES, 0), choose(CALLS, 0));
    let bare = announcement.trim_matches(['"', '\'', '`', ',', '\u{201c}', '\u{201d}']);
    let bare = bare.trim_end_matches('\\');
    let inside = format!("\"{bare}\n{body}{end}\"");
    let escaped = format!("\"{}\"", inside.trim_matches('"').replace('\n', "\\n"));
    let mut text = String::new();
    for c in layout.chars() {
        match c {
            'P' => text += call,
            'A' => text += announcement,
            'B' => text += body,
            'E' => text += end,
            'I' => text += &inside,
            'J' => text += &escaped,
            other => text.push(other),
        }
    }
    text = text.replace('@', tag).replace('#', &tag.to_lowercase());
    if dice.once_in(4) {
        text += "\n```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"b\", \"content\": \"<<OTHER\"}}\nother\nOTHER\n```\n";
    }
    (text, tag)
}

/// Returns whether a line is the TAG, or an announcement of it.
fn is_delimiter(line: &str, tag: &str) -> bool {
    let line = line.trim();
    let name = line.trim_start_matches(['<', '-', '~', ' ']).trim_matches(['"', '\'', '`', ' ']);
    let announced = line.starts_with("<<");
    name.eq_ignore_ascii_case(tag) && (announced || line.eq_ignore_ascii_case(tag))
}

fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.values().for_each(|member| texts(member, found)),
        _ => {}
    }
}

#[test]
fn no_misuse_of_a_body_writes_its_delimiters() {
    let mut dice = Random::new(11);
    let (mut wrong, mut lossless, mut read) = (Vec::new(), 0, 0);
    let rounds = 60_000;
    for _ in 0..rounds {
        let (reply, tag) = reply(&mut dice);
        let mut options = Options::default();
        options.catalog = Some(toolfence_policy::toolset::catalog());
        parse::for_each(&reply, options, FinishReason::Stop, |event| {
            let Event::Call { call, .. } = event else { return };
            read += 1;
            lossless += usize::from(!call.is_lossy());
            let mut found = Vec::new();
            call.args.values().for_each(|value| texts(value, &mut found));
            if found.iter().any(|text| text.lines().any(|line| is_delimiter(line, tag))) {
                wrong.push(format!("{reply}\n=> {call:?}\n"));
            }
        });
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} of {rounds}, the shortest:\n{}", wrong.len(), wrong[..wrong.len().min(9)].join("\n"));
    println!("{rounds} replies, {read} calls read, {lossless} of them lossless");
    assert!(lossless > rounds / 10, "most damage can be read or is refused: {lossless} of {read}");
}
