//! What is known of programs: one table, `programs.table`, that every part of the judge asks. Its head says how it is written.

pub(crate) mod arguments;
mod languages;
pub(crate) mod options;
mod shells;
pub(crate) mod wrappers;

use super::expand::Word;
use super::messages;
use languages::{awk, jq, sed, yq};
use memchr::memmem;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;
use toolfence_protocol::Text;

const TABLE: &str = include_str!("programs.table");

/// What operands are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Operands {
    /// There are none.
    None,
    /// At most one path: a second would be written.
    One,
    #[default]
    Paths,
    /// A pattern and then paths.
    PatternThenPaths,
    /// A program in a language of its own, held against a reader of it that gets all its pieces, and then paths.
    ScriptThenPaths(fn(&[&str]) -> bool),
    /// A file of the project that is run, and then its own words.
    Program,
    /// Words of which each has to pass.
    Checked(fn(&str) -> bool),
    /// A verb of this list, and then text.
    Verb(&'static str),
    /// Text that names nothing.
    Text,
    /// Places to write to.
    Places,
}

/// What a program tells of the files it is pointed at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Names, sizes and dates.
    Names,
    /// The contents of the files its operands name.
    #[default]
    Contents,
    /// The contents of files below the folders its operands name, where an option or its nature makes it go there.
    Folders,
}

/// What an entry says in single words, of which several may stand in a line.
const SINGLE: &str = "number one-dash operands-first names goes-down reads-only harmless passes held assigns transparent \
    one-operand pattern-first runs-file no-operands nothing text places";

/// The other keys that an entry can have, but for those that become fields.
const KEYS: &str = "short value attached long long-value pairs path-pairs paths outputs scripts texts others needs recursive \
    names-only restricts asks folder replace never erases stops changes devices reaches suspected builtin \
    subscripts modules at-file advice does runs-others subcommands flags values each-operand joined own nouns \
    same below also tests writable are";

/// An entry of the table, whose head says what each key means. Lists are words apart by blanks.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) kind: &'static str,
    pub(crate) names: &'static str,
    pub(crate) operands: Operands,
    pub(crate) reads: Reads,
    /// Whether it runs code of the project, which only the sandbox holds.
    pub(crate) runs: bool,
    /// How many words stand between the options of a wrapper and its command.
    pub(crate) skips: usize,
    /// What else there is to say of its programs, by its key.
    facts: Vec<(&'static str, &'static str)>,
}

impl Profile {
    /// An entry, read from its lines: each a key with its place in the table, the first of them its kind.
    fn read(lines: &[(&'static str, &'static str)]) -> Profile {
        let (kind, names) = lines.first().copied().unwrap_or_default();
        let mut profile = Profile { kind, names, runs: kind == "runs", ..Profile::default() };
        for (key, text) in lines.iter().skip(1) {
            match *key {
                "operands" => profile.skips = text.parse().unwrap_or_default(),
                "script" => profile.operands = Operands::ScriptThenPaths(language(text)),
                "checked" => profile.names_nothing(Operands::Checked(check(text))),
                "verbs" => profile.names_nothing(Operands::Verb(text)),
                key if has(SINGLE, key) => {
                    [key].into_iter().chain(text.split_ascii_whitespace()).for_each(|word| profile.set(word));
                }
                key => profile.facts.push((key, text)),
            }
        }
        profile
    }

    fn set(&mut self, word: &'static str) {
        match word {
            "names" => self.reads = Reads::Names,
            "goes-down" => self.reads = Reads::Folders,
            "one-operand" => self.operands = Operands::One,
            "pattern-first" => self.operands = Operands::PatternThenPaths,
            "runs-file" => self.operands = Operands::Program,
            "no-operands" => self.operands = Operands::None,
            "nothing" => self.names_nothing(Operands::None),
            "text" => self.names_nothing(Operands::Text),
            "places" => self.operands = Operands::Places,
            _ => self.facts.push((word, "")),
        }
    }

    fn names_nothing(&mut self, operands: Operands) {
        (self.operands, self.reads) = (operands, Reads::Names);
    }

    /// The words that stand under a key.
    pub(crate) fn list(&self, key: &str) -> &'static str {
        debug_assert!(is_key(key), "no entry can have the key {key}, so nothing would ever stand under it");
        self.facts.iter().find(|(known, _)| *known == key).map_or("", |(_, text)| text)
    }

    /// Whether the word is one of those under a key.
    pub(crate) fn has(&self, key: &str, word: &str) -> bool {
        has(self.list(key), word)
    }

    /// Whether the entry says this.
    pub(crate) fn is(&self, key: &str) -> bool {
        debug_assert!(is_key(key), "no entry can have the key {key}, so this would never be said");
        self.facts.iter().any(|(known, _)| *known == key)
    }

    /// Whether no option writes or runs anything.
    pub(crate) fn reads_only(&self) -> bool {
        self.is("reads-only") || self.is("harmless")
    }
}

/// Whether entries can have this key. A key with a mistake in it would read as one that no program has, which makes verdicts milder.
fn is_key(key: &str) -> bool {
    has(KEYS, key) || has(SINGLE, key)
}

/// What a wrapper adds to what it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adds {
    /// Nothing.
    Nothing,
    /// The project says what the name of the program means.
    Project,
    /// More than is known.
    Unknown,
}

/// What a program would run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    /// The words from this place on are a command, in a folder of its own where one is given; `replace` is the text in them
    /// that stands for input.
    Command { from: usize, adds: Adds, folder: Option<String>, replace: Option<String> },
    /// These words of `find -exec` are one.
    Range { from: usize, to: usize },
    /// This text is a script; whether the program adds nothing of its own.
    Script { text: String, transparent: bool },
    /// The file that the word at this place names is a script.
    File { at: usize },
    /// Its input is a script.
    Input,
    /// Something that cannot be told.
    Untold,
}

impl Inner {
    pub(crate) fn script(text: impl Into<String>) -> Inner {
        Inner::Script { text: text.into(), transparent: false }
    }
}

/// The reader of a little language, which passes what only reads.
fn language(name: &str) -> fn(&[&str]) -> bool {
    match name {
        "sed" => sed::only_reads,
        "awk" => awk::only_reads,
        "jq" => jq::only_reads,
        "yq" => yq::only_reads,
        _ => |_| false,
    }
}

/// What operands are held against.
fn check(name: &str) -> fn(&str) -> bool {
    match name {
        "literal" => |_| true,
        "date-format" => |word| word.starts_with('+'),
        "variable" => |word| !options::steers(word),
        "number" => is_number,
        // Keys of the configuration of git that hold no token.
        "git-key" => |word| {
            let sections = "user core remote branch init push pull merge diff rebase color commit";
            word.split_once('.').is_some_and(|(section, _)| has(sections, section))
        },
        "time" => |word| is_number(word.trim_end_matches(['s', 'm'])),
        "process-flags" => |word| is_number(word) || word.bytes().all(|byte| b"afjlmrTuvxw".contains(&byte)),
        "target" => is_target,
        "goal" => is_goal,
        // It asks for a look, and for no change of the project and nothing outside.
        "plain-goal" => |word| is_goal(word) && options::option(word),
        _ => |_| false,
    }
}

fn is_number(word: &str) -> bool {
    word.len() < 10 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// A target of a build file: no assignment that could name a program.
fn is_target(word: &str) -> bool {
    let name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+".contains(&byte);
    let flag = word.split_once('=').is_some_and(|(key, value)| {
        matches!(key, "V" | "VERBOSE" | "DEBUG" | "TEST" | "TESTS" | "NAME") && value.bytes().all(name)
    });
    !word.starts_with('/') && !word.contains("..") && (flag || word.bytes().all(name))
}

/// A target that is no publication.
fn is_goal(word: &str) -> bool {
    let places = ["deploy", "publish", "upload", "release"];
    is_target(word) && !places.iter().any(|name| word.contains(name))
}

/// The last part of a path, or of the name of a program.
pub(crate) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// What the table says of one program, or of a subcommand of one.
#[derive(Default)]
struct Entries {
    /// Every way in which it is known to only read, or to run code of the project.
    ways: Vec<&'static Profile>,
    /// Every entry of it.
    all: Vec<&'static Profile>,
}

static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| entries(TABLE).iter().map(|e| Profile::read(e)).collect());

static PROGRAMS: LazyLock<HashMap<&'static str, Entries>> = LazyLock::new(|| {
    let mut programs: HashMap<&str, Entries> = HashMap::new();
    for profile in PROFILES.iter() {
        // The subcommands of git are told apart by what they do.
        let of_git = profile.kind.starts_with("git-");
        for name in profile.names.split_ascii_whitespace().filter(|_| !of_git) {
            let program = programs.entry(name).or_default();
            program.all.push(profile);
            if matches!(profile.kind, "reads" | "runs") {
                program.ways.push(profile);
            }
        }
    }
    programs
});

/// The subcommands of git in the table, once for each entry that names one.
static OF_GIT: LazyLock<Vec<(&'static str, &'static Profile)>> = LazyLock::new(|| {
    let entries = PROFILES.iter().filter(|profile| profile.kind.starts_with("git-"));
    entries.flat_map(|profile| profile.names.split_ascii_whitespace().map(move |name| (name, profile))).collect()
});

/// The entries of a table, each as its lines: the first word of a line, and the rest with what goes on below it.
fn entries(table: &'static str) -> Vec<Vec<(&'static str, &'static str)>> {
    let mut entries: Vec<Vec<(&str, &str)>> = Vec::new();
    let mut open: Option<usize> = None;
    let mut at = 0;
    for line in table.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let goes_on = line.starts_with("        ");
        let says = !goes_on && !line.starts_with('#') && !line.trim().is_empty();
        let (Some(begun), true) = (if says { Some(start) } else { open }, goes_on || says) else {
            open = None;
            continue;
        };
        let text = table[begun..at].trim();
        let (key, rest) = text.split_once(' ').unwrap_or((text, ""));
        match entries.last_mut() {
            Some(entry) if goes_on => {
                entry.pop();
                entry.push((key, rest));
            }
            Some(entry) if line.starts_with(' ') => entry.push((key, rest)),
            _ => entries.push(vec![(key, rest)]),
        }
        open = Some(begun);
    }
    entries
}

/// Every way in which the program is known to only read, or to run code of the project.
pub(crate) fn ways(name: &str) -> &'static [&'static Profile] {
    PROGRAMS.get(name).map_or(&[], |program| &program.ways)
}

/// Every way in which `program verb` is known.
pub(crate) fn ways_of(program: &str, verb: &str) -> &'static [&'static Profile] {
    ways(&[program, verb].join(":"))
}

/// Whether the table knows subcommands of the program.
pub(crate) fn has_subcommands(program: &str) -> bool {
    static OWNERS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| PROGRAMS.keys().filter_map(|name| Some(name.split_once(':')?.0)).collect());
    is(program, "subcommands") || OWNERS.contains(program)
}

/// The entry of this kind.
pub(crate) fn entry(name: &str, kind: &str) -> Option<&'static Profile> {
    PROGRAMS.get(name)?.all.iter().find(|profile| profile.kind == kind).copied()
}

/// The entry of this kind for a call of git, with its name, and the arguments behind that: `stash pop` before `stash`.
pub(crate) fn git<'a>(kind: &str, args: &'a [Word]) -> Option<(&'static str, &'static Profile, &'a [Word])> {
    let (name, rest) = args.split_first()?;
    let name = name.literal()?;
    let word = rest.first().and_then(Word::literal).unwrap_or_default();
    let names = || OF_GIT.iter().filter(|(_, profile)| profile.kind == kind).copied();
    let behind = |known: &'static str| known.strip_prefix(name)?.strip_prefix('/');
    if let Some((known, profile)) = names().find(|(known, _)| behind(known) == Some(word)) {
        return Some((known, profile, &rest[1..]));
    }
    // A word that is no verb: `git stash create`, were it unknown, must not pass for `git stash`.
    let has_verbs = names().any(|(known, _)| behind(known).is_some_and(|verb| !verb.starts_with('-')));
    if has_verbs && !rest.is_empty() && !word.starts_with('-') {
        return None;
    }
    names().find(|(known, _)| *known == name).map(|(known, profile)| (known, profile, rest))
}

/// What the table says of the program under a key, each time it does.
pub(crate) fn facts(name: &str, key: &str) -> impl Iterator<Item = &'static str> {
    let entries = PROGRAMS.get(name).map_or(&[][..], |program| &program.all);
    let of_entry = move |profile: &&'static Profile| profile.facts.iter();
    entries.iter().flat_map(of_entry).filter(move |(known, _)| *known == key).map(|(_, text)| *text)
}

/// The first thing that the table says of the program under a key.
pub(crate) fn fact(name: &str, key: &str) -> Option<&'static str> {
    facts(name, key).next()
}

/// What the table tells a person or the model of the program under a key whose lines name texts: `advice`, `never`, `does`,
/// `runs-others`.
pub(crate) fn text(name: &str, key: &str) -> Option<Text> {
    messages::of_program(fact(name, key)?)
}

/// What kind of program this is, where it runs what its own words do not say. Neither the folder before its name nor a version
/// behind it matters.
pub(crate) fn runs_others(program: &str) -> Option<Text> {
    let program = base_name(program);
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    text(program, "runs-others").or_else(|| text(bare, "runs-others"))
}

/// Whether the table says this of the program.
pub(crate) fn is(name: &str, key: &str) -> bool {
    fact(name, key).is_some()
}

/// A list of words that stands in the table.
pub(crate) fn words(list: &str) -> &'static str {
    fact(list, "are").unwrap_or_default()
}

/// Whether the name is in a list of names apart by blanks.
pub(crate) fn has(list: &str, name: &str) -> bool {
    // Nearly every step of the judge asks this, and so do its debug assertions: taking each list apart was a fifth of what its
    // tests took.
    let (list, name) = (list.as_bytes(), name.as_bytes());
    let is_blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    let is_word = |at: usize| is_blank(list[..at].last()) && is_blank(list.get(at + name.len()));
    !name.is_empty() && !name.iter().any(u8::is_ascii_whitespace) && memmem::find_iter(list, name).any(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_its_words_and_no_parts_of_them() {
        for list in ["", "a", "aa", " aa a ", "aaa aa", "a-a\ta\nba", "é aé éa", "b a"] {
            for name in ["", " ", "a", "aa", "aaa", "ba", "a-a", "é", "aé", "b a", "a "] {
                assert_eq!(
                    has(list, name),
                    list.split_ascii_whitespace().any(|word| word == name),
                    "{name:?} in {list:?}"
                );
            }
        }
    }

    #[test]
    fn the_table_says_nothing_that_nobody_reads() {
        let kinds = "reads runs wraps runner joins shell before git-reads git-writes git-config about words";
        for profile in PROFILES.iter() {
            assert!(has(kinds, profile.kind), "{} {}", profile.kind, profile.names);
            assert!(!profile.names.is_empty(), "{}", profile.kind);
            for (key, _) in &profile.facts {
                assert!(is_key(key), "{key} of {}", profile.names);
            }
            for (key, name) in &profile.facts {
                let is_text = matches!(*key, "advice" | "never" | "does" | "runs-others");
                assert!(!is_text || messages::of_program(name).is_some(), "{key} {name} of {}", profile.names);
            }
        }
        assert!(PROFILES.len() > 300, "{}", PROFILES.len());
    }

    #[test]
    fn versions_do_not_hide_a_kind() {
        for program in
            ["/usr/bin/python3.12", "python", "bash", "node-20", "pip3", "make", "npx", "sudo", "lua5.4", "7z.9-"]
        {
            assert_eq!(runs_others(program).is_some(), !program.starts_with('7'), "{program}");
        }
        assert_eq!(runs_others("12"), None);
    }

    #[test]
    fn an_entry_is_all_that_is_indented_below_it() {
        let read =
            entries("# x\n\nreads a b\n    short x\n    long one\n        two\n# y\nabout c\n    never it stops\n");
        assert_eq!(read.len(), 2);
        assert_eq!(read[0][0], ("reads", "a b"));
        assert_eq!(read[0][2].1.split_ascii_whitespace().collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(read[1], [("about", "c"), ("never", "it stops")]);
    }
}
