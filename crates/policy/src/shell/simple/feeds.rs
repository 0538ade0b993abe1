//! What a command writes to the next one, where its own words say it.

use super::{Adds, Inner, Input, Simple, Walker, Word, base_name, wrappers};

/// The most bytes of a text that is followed.
const MOST: usize = 4096;

/// What the next command of a pipeline would read.
pub(in crate::shell) fn output(simple: &Simple) -> Input {
    let (argv, adds_nothing) = unwrapped(&simple.argv);
    let words: Option<Vec<&str>> = argv.iter().map(Word::guess).collect();
    let Some(words) = words else { return Input::Unknown };
    let Some((name, args)) = words.split_first() else { return Input::Nothing };
    let certain = adds_nothing && simple.argv.iter().all(|word| word.literal().is_some());
    let output = match (base_name(name), args) {
        ("echo", args) => text(&echoed(args)),
        ("printf", ["--", args @ ..]) => printed(args),
        ("printf", args) => printed(args),
        ("cat", []) | ("cat", ["-"]) | ("tee", _) => match &simple.input {
            Input::Text(text) => Input::Text(text.clone()),
            Input::Guess(text) => Input::Guess(text.clone()),
            _ => Input::Unknown,
        },
        ("cd" | "true" | "false" | ":" | "set" | "export" | "test" | "[", _) => Input::Nothing,
        _ => Input::Unknown,
    };
    match output {
        Input::Text(text) if !certain => Input::Guess(text),
        output => output,
    }
}

/// The words of the command behind all wrappers, which writes what they write; whether these are sure to add nothing.
pub(super) fn unwrapped(argv: &[Word]) -> (&[Word], bool) {
    let (mut argv, mut adds_nothing) = (argv, true);
    while let Some(program) = argv.first().and_then(Word::guess).map(base_name).filter(|name| *name != "xargs") {
        let inners = wrappers::inner(program, argv);
        let [Inner::Command { from, adds, .. }] = inners.as_slice() else { break };
        adds_nothing &= *adds == Adds::Nothing;
        argv = &argv[*from..];
    }
    (argv, adds_nothing)
}

fn text(text: &str) -> Input {
    if text.len() > MOST { Input::Unknown } else { Input::Text(text.into()) }
}

fn echoed(args: &[&str]) -> String {
    let option =
        |word: &&&str| word.len() > 1 && word.strip_prefix('-').is_some_and(|o| o.chars().all(|c| "neE".contains(c)));
    let options = args.iter().take_while(option).count();
    let plain = args[options..].join(" ");
    if args[..options].iter().any(|option| option.contains('e')) { escaped(&plain) } else { plain }
}

/// The format, as often as there are words for it.
fn printed(args: &[&str]) -> Input {
    let Some((format, args)) = args.split_first() else { return Input::Nothing };
    let format = escaped(format);
    let (mut out, mut rest) = (String::new(), args);
    loop {
        let before = rest.len();
        let Some(written) = filled(&format, &mut rest) else { return Input::Unknown };
        out.push_str(&written);
        if rest.is_empty() || rest.len() == before || out.len() > MOST {
            return text(&out);
        }
    }
}

/// The format once; `None` where it has a conversion that is not followed.
fn filled(format: &str, args: &mut &[&str]) -> Option<String> {
    let mut pieces = format.split('%');
    let mut out = pieces.next()?.to_owned();
    while let Some(piece) = pieces.next() {
        let conversion = piece.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #.".contains(c));
        let Some(kind) = conversion.chars().next() else {
            // `%%`
            out.push('%');
            out.push_str(pieces.next().unwrap_or_default());
            continue;
        };
        let value = args.split_off_first().copied().unwrap_or_default();
        match kind {
            's' | 'd' | 'i' | 'c' | 'q' => out.push_str(value),
            'b' => out.push_str(&escaped(value)),
            _ => return None,
        }
        out.push_str(conversion.get(1..)?);
    }
    Some(out)
}

/// The escapes that `echo -e` and `printf` know.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let (radix, most) = match chars.peek() {
            Some('x') => (16, 2),
            Some('0'..='7') => (8, 4),
            _ => {
                out.push_str(&escape(chars.next()));
                continue;
            }
        };
        if radix == 16 {
            chars.next();
        }
        let mut number = 0;
        for _ in 0..most {
            let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
            number = (number * radix + digit) & 0xff;
            chars.next();
        }
        out.extend(char::from_u32(number));
    }
    out
}

fn escape(c: Option<char>) -> String {
    match c {
        Some('n') => "\n".into(),
        Some('t') => "\t".into(),
        Some('r') => "\r".into(),
        Some('\\') => "\\".into(),
        Some(c) => format!("\\{c}"),
        None => "\\".into(),
    }
}

/// `set -- WORDS` and `read NAME`: what variables are afterwards.
pub(super) fn variables(walker: &mut Walker<'_>, program: &str, args: &[Word], input: &Input) {
    match program {
        "set" => {
            let dashes = args.iter().position(|word| word.guess() == Some("--"));
            let from = dashes.map_or(0, |at| at + 1);
            let option = args.first().and_then(Word::guess).is_some_and(|text| text.starts_with(['-', '+']));
            if dashes.is_some() || !option {
                walker.variables.arguments(&args[from..]);
            }
        }
        "read" => {
            let line = match input {
                Input::Text(text) | Input::Guess(text) => text.lines().next(),
                _ => None,
            };
            for name in args.iter().filter_map(Word::guess).filter(|name| !name.starts_with('-')) {
                walker.variables.may_be(name, line);
                // It may read more lines than one, or share one out among several names.
                walker.variables.may_be(name, None);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_known() {
        let printed = |args: &[&str]| match printed(args) {
            Input::Text(text) => text.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(printed(&["rm -rf /\\n"]), "rm -rf /\n");
        assert_eq!(printed(&["%s %s", "a", "b"]), "a b");
        assert_eq!(printed(&["%s\\n", "a", "b"]), "a\nb\n");
        assert_eq!(printed(&["100%% %5s|", "x"]), "100% x|");
        assert_eq!(printed(&["\\162\\x6d"]), "rm");
        assert_eq!(printed(&["%z"]), "Unknown");
        assert_eq!(echoed(&["-n", "a", "b"]), "a b");
        assert_eq!(echoed(&["-e", "rm\\x20x"]), "rm x");
        assert_eq!(echoed(&["a\\nb"]), "a\\nb");
    }
}
