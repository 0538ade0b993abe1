//! Programs whose arguments are a command: what they would run.

use super::{Adds, Inner, Profile, entry, fact, has, is, shells};
use crate::shell::expand::Word;

/// Whether the variable changes nothing but how output looks.
pub(crate) fn is_harmless_variable(name: &str) -> bool {
    fact("variable-harmless", "are").is_some_and(|names| has(names, name))
}

/// What the program of `argv` would run, if it is one that runs others.
pub(crate) fn inner(program: &str, argv: &[Word]) -> Vec<Inner> {
    if is(program, "shell") {
        return shells::inner(argv).into_iter().collect();
    }
    if let Some(joins) = entry(program, "joins") {
        return vec![joined(program, joins, argv)];
    }
    if let Some(inners) = special(program, argv) {
        return inners;
    }
    let verb = argv.get(1).and_then(Word::guess).unwrap_or_default();
    let with_verb = entry(&[program, verb].join(":"), "runner").map(|runner| (runner, 2));
    if let Some((runner, from)) = with_verb.or_else(|| entry(program, "runner").map(|runner| (runner, 1))) {
        return vec![installed(runner, argv, from)];
    }
    entry(program, "wraps").map(|wrapper| command(wrapper, argv)).into_iter().collect()
}

/// Programs whose arguments fit into no table.
fn special(program: &str, argv: &[Word]) -> Option<Vec<Inner>> {
    match program {
        "find" => Some(executed(argv)),
        "trap" => Some(trapped(argv)),
        "alias" => Some(aliases(argv)),
        "hash" | "parallel" | "sem" | "env_parallel" => Some(vec![Inner::Untold]),
        _ if is_loader(program) => entry("ld.so", "wraps").map(|loader| vec![command(loader, argv)]),
        "command" => looks_up(argv).then(Vec::new),
        "env" if argv.len() == 1 => Some(Vec::new()),
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

fn command(wrapper: &Profile, argv: &[Word]) -> Inner {
    let Some(mut read) = wrapper.leading(argv) else { return Inner::Untold };
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

/// What a program would run that hands its operands to a shell.
fn joined(program: &str, profile: &Profile, argv: &[Word]) -> Inner {
    let mut at = 1;
    while let Some(option) = argv.get(at).and_then(Word::guess).filter(|text| text.starts_with('-')) {
        if option == "--" {
            at += 1;
            break;
        }
        let short = option.len() == 2 && option.ends_with(|c| profile.short_value.contains(c));
        let takes_next = short || option.strip_prefix("--").is_some_and(|name| has(profile.long_value, name));
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

/// The loader of the system's programs under any of its names: what it is told to load, it runs.
fn is_loader(program: &str) -> bool {
    program.starts_with("ld-linux") || program.starts_with("ld-musl") || program.starts_with("ld64.so")
}

fn trapped(argv: &[Word]) -> Vec<Inner> {
    let action = argv.iter().skip(1).find(|word| word.guess() != Some("--"));
    match action.map(Word::guess) {
        Some(Some(text)) => vec![Inner::script(text)],
        Some(None) => vec![Inner::Untold],
        None => Vec::new(),
    }
}

/// What a program would run that runs what the project has installed: what stands behind the options, which are all known.
fn installed(runner: &Profile, argv: &[Word], from: usize) -> Inner {
    let mut from = from;
    while let Some(text) = argv.get(from).and_then(Word::guess).filter(|text| text.starts_with('-')) {
        if text != "--" && !has(runner.long, text) {
            return Inner::Untold;
        }
        from += 1;
    }
    from += runner.skips;
    // Names of packages hold versions and addresses: those are fetched.
    let fetched = argv.get(from).and_then(Word::guess).is_none_or(|name| name.contains(['@', ':', '/']));
    let adds = if fetched { Adds::Unknown } else { Adds::Project };
    match from < argv.len() {
        true => Inner::Command { from, adds, folder: None, replace: None },
        false => Inner::Untold,
    }
}

/// How the options of a wrapper are read.
impl Profile {
    /// Where the options end; `None` where one is not known.
    fn leading(&self, argv: &[Word]) -> Option<WrapperOptions> {
        let mut read = WrapperOptions { from: 1, transparent: self.transparent, folder: None, replace: None };
        while let Some(text) = argv.get(read.from).and_then(Word::guess) {
            if text == "--" {
                read.from += 1;
                break;
            }
            let Some(count) = self.leading_option(text, argv.get(read.from + 1), &mut read)? else { break };
            read.from += count;
        }
        read.from += self.skips;
        Some(read)
    }

    /// How many words an option takes, or none where it is no option; `None` where it is not known.
    fn leading_option(&self, text: &str, next: Option<&Word>, read: &mut WrapperOptions) -> Option<Option<usize>> {
        if let Some(long) = text.strip_prefix("--") {
            let (name, attached) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let takes = has(self.long_value, name);
            if !takes && !has(self.long, name) {
                return None;
            }
            let next = (takes && attached.is_none() && !has(self.long, name)).then_some(next).flatten();
            self.leads(name, attached.or_else(|| next.and_then(Word::guess)), read);
            return Some(Some(1 + usize::from(next.is_some())));
        }
        let Some(cluster) = text.strip_prefix('-') else { return Some(None) };
        if self.number && cluster.bytes().all(|byte| byte.is_ascii_digit()) && !cluster.is_empty() {
            return Some(Some(1));
        }
        if cluster.is_empty() {
            self.leads("-", None, read);
            return Some(self.short.contains('-').then_some(1));
        }
        self.leading_cluster(cluster, next, read).map(Some)
    }

    fn leading_cluster(&self, cluster: &str, next: Option<&Word>, read: &mut WrapperOptions) -> Option<usize> {
        for (at, c) in cluster.char_indices() {
            let (name, attached) = cluster[at..].split_at(c.len_utf8());
            if self.short_value.contains(c) {
                let value = if attached.is_empty() { next.and_then(Word::guess) } else { Some(attached) };
                self.leads(name, value, read);
                return Some(1 + usize::from(attached.is_empty()));
            }
            if !self.short.contains(c) {
                return None;
            }
            let rest = has(self.replace, name);
            self.leads(name, Some(attached).filter(|text| rest && !text.is_empty()), read);
            if rest {
                return Some(1);
            }
        }
        Some(1)
    }

    fn leads(&self, name: &str, value: Option<&str>, read: &mut WrapperOptions) {
        read.transparent &= !has(self.asks, name);
        if has(self.folder, name) {
            read.folder = value.map(str::to_owned);
        }
        if has(self.replace, name) {
            read.replace = Some(value.unwrap_or("{}").to_owned()).filter(|mark| !mark.is_empty());
            read.transparent &= read.replace.is_some();
        }
    }
}

/// What the options of a wrapper say.
struct WrapperOptions {
    /// Where the command begins.
    from: usize,
    transparent: bool,
    folder: Option<String>,
    replace: Option<String>,
}
