//! Programs whose arguments are a command: what they would run.

mod shells;
mod table;
mod texts;

pub(super) use shells::is_shell;
pub(super) use texts::{is_command_line, texts};

use super::words::Word;
pub(super) use table::has;
use table::{RUNNERS, Wrapper};

/// Variables that change nothing but how output looks.
const HARMLESS: &str = "LC_ALL LANG LANGUAGE LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME TZ NO_COLOR COLUMNS TERM \
    CLICOLOR CLICOLOR_FORCE FORCE_COLOR CI RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR PYTHONUNBUFFERED \
    PYTHONDONTWRITEBYTECODE NODE_ENV";

/// Programs that hand their arguments to a shell, joined by blanks; with the options of theirs that take a value.
const JOINERS: &[(&str, &str, &str)] =
    &[("eval", "", ""), ("watch", "nq", "interval"), ("ssh", "BbcDEeFIiJLlmOopQRSWw", "")];

/// What a wrapper adds to what it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adds {
    /// Nothing.
    Nothing,
    /// The project says what the name of the program means.
    Project,
    /// More than is known.
    Unknown,
}

/// What a program would run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// The words from this place on are a command, in a folder of its own where one is given; `replace` is the text in them
    /// that stands for input.
    Command { from: usize, adds: Adds, folder: Option<String>, replace: Option<String> },
    /// These words of `find -exec` are one.
    Range { from: usize, to: usize },
    /// This text is a script, and `$1` begins the words; whether the program adds nothing of its own.
    Script { text: String, transparent: bool, words: Vec<Word> },
    /// The file that the word at this place names is a script.
    File { at: usize },
    /// Its input is a script.
    Input,
    /// Something that cannot be told.
    Untold,
}

impl Inner {
    fn script(text: impl Into<String>) -> Inner {
        Inner::Script { text: text.into(), transparent: false, words: Vec::new() }
    }
}

/// Whether the variable changes nothing but how output looks.
pub(super) fn is_harmless_variable(name: &str) -> bool {
    HARMLESS.split_ascii_whitespace().any(|known| known == name)
}

/// What the program of `argv` would run, if it is one that runs others.
pub(super) fn inner(program: &str, argv: &[Word]) -> Vec<Inner> {
    if is_shell(program) {
        return shells::inner(argv).into_iter().collect();
    }
    if let Some((_, values, long)) = JOINERS.iter().find(|(name, ..)| *name == program) {
        return vec![joined(program, values, long, argv)];
    }
    if let Some(inners) = special(program, argv) {
        return inners;
    }
    if let Some(runner) = RUNNERS.iter().find(|runner| runner.is(program, argv)) {
        return vec![runner.inner(argv)];
    }
    table::wrapper(program).map(|wrapper| command(wrapper, argv)).into_iter().collect()
}

/// Programs whose arguments fit into no table.
fn special(program: &str, argv: &[Word]) -> Option<Vec<Inner>> {
    match program {
        "find" => Some(executed(argv)),
        "trap" => Some(trapped(argv)),
        "alias" => Some(aliases(argv)),
        "hash" => Some(hashed(argv)),
        "parallel" | "sem" | "env_parallel" => Some(parallel(argv)),
        _ if is_loader(program) => table::wrapper("ld.so").map(|loader| vec![command(loader, argv)]),
        "command" => looks_up(argv).then(Vec::new),
        "env" if argv.len() == 1 => Some(Vec::new()),
        "env" => split_string(argv).map(|text| vec![Inner::script(text)]),
        "su" | "script" => Some(vec![shells::option_c(argv).unwrap_or(Inner::Untold)]),
        "runuser" => shells::option_c(argv).map(|inner| vec![inner]),
        "source" | "." => match argv.get(1) {
            Some(word) if shells::is_input(word) => Some(vec![Inner::Input]),
            // A name without a slash is looked for in PATH first.
            Some(word) if word.literal().is_some_and(|text| text.contains('/')) => Some(vec![Inner::File { at: 1 }]),
            _ => None,
        },
        "at" | "batch" | "crontab" => Some(vec![Inner::Input]),
        _ => None,
    }
}

fn command(wrapper: &Wrapper, argv: &[Word]) -> Inner {
    let Some(mut read) = wrapper.options(argv) else { return Inner::Untold };
    let assigned = argv.get(read.from..).unwrap_or(&[]).iter().map_while(Word::guess).filter(|_| wrapper.assigns);
    for text in assigned.take_while(|text| is_assignment(text)) {
        read.from += 1;
        let name = text.split('=').next().unwrap_or(text);
        read.transparent &= is_harmless_variable(name);
    }
    if read.from >= argv.len() {
        return Inner::Untold;
    }
    let adds = if read.transparent { Adds::Nothing } else { Adds::Unknown };
    Inner::Command { from: read.from, adds, folder: read.folder, replace: read.replace }
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.starts_with('-'))
}

/// `command -v NAME` runs nothing.
fn looks_up(argv: &[Word]) -> bool {
    matches!(argv.get(1).and_then(Word::literal), Some("-v" | "-V" | "-pv" | "-pV"))
}

fn joined(program: &str, values: &str, long: &str, argv: &[Word]) -> Inner {
    let mut at = 1;
    while let Some(option) = argv.get(at).and_then(Word::guess).filter(|text| text.starts_with('-')) {
        if option == "--" {
            at += 1;
            break;
        }
        let short = option.len() == 2 && option.ends_with(|c| values.contains(c));
        let takes_next = short || !long.is_empty() && option.strip_prefix("--") == Some(long);
        at += 1 + usize::from(takes_next);
    }
    if program == "ssh" {
        // The first word is a host.
        at += 1;
        at += usize::from(argv.get(at).and_then(Word::guess) == Some("--"));
        if at >= argv.len() {
            return Inner::Input;
        }
    }
    let words: Option<Vec<&str>> = argv.iter().skip(at).map(Word::guess).collect();
    words.map_or(Inner::Untold, |words| Inner::script(words.join(" ")))
}

/// The commands of `find -exec` and its kin, each up to `;` or `+`.
fn executed(argv: &[Word]) -> Vec<Inner> {
    let starts = ["-exec", "-execdir", "-ok", "-okdir"];
    let mut out = Vec::new();
    let mut at = 1;
    while at < argv.len() {
        if argv[at].guess().is_some_and(|text| starts.contains(&text)) {
            let ends = |word: &Word| matches!(word.guess(), Some(";" | "+"));
            let to = argv[at + 1..].iter().position(ends).map_or(argv.len(), |end| at + 1 + end);
            out.push(Inner::Range { from: at + 1, to });
            at = to;
        }
        at += 1;
    }
    out
}

/// The text behind the names that `alias` gives: it runs when the name is met.
fn aliases(argv: &[Word]) -> Vec<Inner> {
    let texts = argv.iter().skip(1).filter_map(|word| word.guess()?.split_once('='));
    texts.map(|(_, text)| Inner::script(text)).collect()
}

/// What `hash -p PATH NAME` makes of a name: as good as a function that runs the program.
fn hashed(argv: &[Word]) -> Vec<Inner> {
    let mut words = argv.iter().skip(1);
    let given = words.find_map(|word| match word.guess() {
        Some(text) => {
            text.strip_prefix('-')?.split_once('p').map(|(_, attached)| (!attached.is_empty()).then_some(attached))
        }
        None => Some(None),
    });
    let Some(attached) = given else { return Vec::new() };
    let Some(path) = attached.or_else(|| words.next().and_then(Word::guess)) else { return vec![Inner::Untold] };
    let plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    let path = path.replace('\'', "'\\''");
    let defined = words.map(|word| match word.guess().filter(plain) {
        Some(name) => Inner::script(format!("{name}() {{ '{path}' \"$@\"; }}")),
        None => Inner::Untold,
    });
    defined.collect()
}

/// The loader of the system's programs under any of its names: what it is told to load, it runs.
fn is_loader(program: &str) -> bool {
    program.starts_with("ld-linux") || program.starts_with("ld-musl") || program.starts_with("ld64.so")
}

/// What GNU parallel would run: a text of its words for each argument, or the arguments and lines themselves.
fn parallel(argv: &[Word]) -> Vec<Inner> {
    let Some(read) = table::wrapper("parallel").and_then(|wrapper| wrapper.options(argv)) else {
        return vec![Inner::Untold];
    };
    let rest = argv.get(read.from..).unwrap_or(&[]);
    let is_source = |word: &Word| word.guess().is_some_and(|text| has("::: :::+ :::: ::::+", text));
    let end = rest.iter().position(is_source).unwrap_or(rest.len());
    if end == 0 {
        let texts =
            rest.iter().filter(|word| !is_source(word)).map(|word| word.guess().map_or(Inner::Untold, Inner::script));
        let files = rest.iter().any(|word| word.guess().is_some_and(|text| text.starts_with("::::")));
        let input = (rest.is_empty() || files).then_some(Inner::Input);
        return texts.chain(input).collect();
    }
    let words: Option<Vec<&str>> = rest[..end].iter().map(Word::guess).collect();
    let Some(words) = words else { return vec![Inner::Untold] };
    let text = words.join(" ");
    let unknown = "\"$unknown\"";
    let text = if text.contains("{}") { text.replace("{}", unknown) } else { format!("{text} {unknown}") };
    vec![Inner::script(text)]
}

/// What `env -S TEXT` would run: the text stands for arguments of `env` itself, and the rest follows.
fn split_string(argv: &[Word]) -> Option<String> {
    let options = argv.iter().skip(1).map_while(Word::guess).take_while(|text| text.starts_with('-'));
    let (at, text) = options.enumerate().find_map(|(at, text)| Some((at, split_option(text)?)))?;
    let rest = argv.iter().skip(at + 2).map(|word| word.guess().unwrap_or("\"$unknown\""));
    let words: Vec<&str> = ["env", text].into_iter().chain(rest).collect();
    Some(words.join(" "))
}

/// The text that is attached to `-S`, which may be none: then it is the next word.
fn split_option(text: &str) -> Option<&str> {
    if let Some(long) = text.strip_prefix("--split-string") {
        return Some(long.strip_prefix('=').unwrap_or(long));
    }
    let (flags, attached) = text.strip_prefix('-')?.split_once('S')?;
    flags.chars().all(|c| "i0v".contains(c)).then_some(attached)
}

fn trapped(argv: &[Word]) -> Vec<Inner> {
    let action = argv.iter().skip(1).find(|word| word.guess() != Some("--"));
    match action.map(Word::guess) {
        Some(Some(text)) => vec![Inner::script(text)],
        Some(None) => vec![Inner::Untold],
        None => Vec::new(),
    }
}
