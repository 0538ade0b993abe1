//! Commands that are known to only read: exact options, operands that are inside the project and not blocked.
//!
//! An option that is not in a table is not known, whatever it does; nothing is abbreviated.

mod git;
mod odd;
mod table;

use super::Ground;
use super::files;
use super::report::{Finding, shown};
use super::rules;
use super::simple::below;
use super::words::Word;
use table::{Operands, PROFILES, Profile, Reads};

/// Holds a command against the profiles.
pub(super) struct Reader<'a> {
    pub(super) ground: Ground<'a>,
    pub(super) folders: Option<&'a [String]>,
    /// Whether something is piped into it: without operands some programs read the folder instead.
    pub(super) fed: bool,
}

type Checked = Result<(), Finding>;

impl Reader<'_> {
    /// Why the command is not known to only read.
    pub(super) fn check(&self, program: &str, args: &[Word]) -> Checked {
        if let Some(word) = args.iter().find(|word| word.literal().is_none() && !word.is_glob()) {
            return unknown(format!("{} is a word that only a run would tell.", shown(&word.pattern(), 80)));
        }
        match program {
            "find" => odd::find(self, args),
            "test" | "[" => odd::test(program, args),
            "printf" => odd::printf(args),
            "echo" | "true" | "false" | ":" => Ok(()),
            "date" => odd::date(args),
            "cd" => odd::cd(self, args),
            "git" => git::check(self, args),
            _ => match PROFILES.iter().find(|profile| profile.names.contains(&program)) {
                Some(profile) => self.profiled(program, profile, args),
                None => unknown(format!("{} is not on the list of commands that only read.", shown(program, 40))),
            },
        }
    }

    fn profiled(&self, program: &str, profile: &Profile, args: &[Word]) -> Checked {
        let read = Arguments::of(program, profile, args)?;
        self.operands(program, profile, &read)?;
        if profile.reads == Reads::Folders && !(self.fed && read.operands.is_empty()) && read.goes_down(profile) {
            self.walls(program)?;
        }
        Ok(())
    }

    fn operands(&self, program: &str, profile: &Profile, read: &Arguments<'_>) -> Checked {
        let mut operands = read.operands.as_slice();
        match profile.operands {
            Operands::None if !operands.is_empty() => return unknown(format!("{program} with operands is not known.")),
            Operands::One if operands.len() > 1 => {
                return unknown(format!("{program} may write to its second operand."));
            }
            Operands::Text => return Ok(()),
            Operands::PatternThenPaths if !read.has_pattern => operands = operands.get(1..).unwrap_or(&[]),
            _ => {}
        }
        for operand in operands {
            self.path(operand)?;
            if operand.is_glob() && profile.reads != Reads::Names {
                self.walls(program)?;
            }
        }
        Ok(())
    }

    /// A path that is inside and not blocked.
    fn path(&self, word: &Word) -> Checked {
        files::operand(self.ground, self.folders, word).map_or(Ok(()), Err)
    }

    /// Where the shell goes if it takes `..` for the folder in the text, and not for the one above where a link has led.
    fn collapsed(&self, target: &str) -> Checked {
        let folders = self.folders.unwrap_or(&[]);
        let mut places = folders.iter().map(|folder| rules::collapsed(&below(folder, target)));
        places.try_for_each(|place| {
            let place = if place.is_empty() { ".".to_owned() } else { place };
            files::operand(self.ground, Some(&[String::new()]), &Word::text(&place)).map_or(Ok(()), Err)
        })
    }

    /// What reads files that no word names is only sure of blocked ones where the walls hide them.
    fn walls(&self, program: &str) -> Checked {
        if self.ground.facts.walls().hold {
            return Ok(());
        }
        let reason =
            format!("{program} would read files that no word names, blocked ones too; only walls could hide those.");
        Err(Finding::ask("unnamed_files", reason))
    }
}

fn unknown(reason: String) -> Checked {
    Err(Finding::ask("not_known_read_only", reason))
}

/// Arguments sorted by a profile.
#[derive(Default)]
struct Arguments<'a> {
    operands: Vec<&'a Word>,
    /// Whether an option gave the pattern, so that every operand is a path.
    has_pattern: bool,
    /// Whether an option makes it go into folders.
    recursive: bool,
    /// The globs that restrict which files are read.
    only: Vec<&'a str>,
    /// Every option without its dashes and its value.
    names: Vec<&'a str>,
    /// How many operands stand before `--`, where there is one.
    before_dashes: Option<usize>,
}

impl<'a> Arguments<'a> {
    fn of(program: &str, profile: &Profile, args: &'a [Word]) -> Result<Arguments<'a>, Finding> {
        let mut read = Arguments::default();
        let mut rest = args.iter();
        let mut ended = false;
        while let Some(word) = rest.next() {
            match word.literal() {
                Some("--") if !ended => {
                    ended = true;
                    read.before_dashes = Some(read.operands.len());
                }
                Some(text) if !ended && text.len() > 1 && text.starts_with('-') => {
                    read.option(program, profile, text, &mut rest)?;
                }
                // A name that a glob matches may begin with `-` and be an option.
                None if !ended && !profile.harmless && starts_with_glob(word) => {
                    let reason = format!("{} could match a name that is an option.", shown(&word.pattern(), 80));
                    return Err(Finding::ask("not_known_read_only", reason));
                }
                _ => read.operands.push(word),
            }
        }
        Ok(read)
    }

    fn option(
        &mut self,
        program: &str,
        profile: &Profile,
        text: &'a str,
        rest: &mut std::slice::Iter<'a, Word>,
    ) -> Result<(), Finding> {
        let known = match text.strip_prefix("--") {
            Some(long) => self.long(profile, long, rest),
            None => self.cluster(profile, &text[1..], rest),
        };
        known.ok_or_else(|| Finding::ask("not_known_read_only", format!("{program} {} is not known.", shown(text, 40))))
    }

    /// `--name` or `--name=value`; `None` where it is not known.
    fn long(&mut self, profile: &Profile, long: &'a str, rest: &mut std::slice::Iter<'a, Word>) -> Option<()> {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let value = match value {
            None if profile.long.contains(&name) => None,
            _ if !profile.long_value.contains(&name) => return None,
            Some(value) => Some(value),
            None => Some(rest.next().and_then(Word::literal)?),
        };
        self.seen(profile, name, value);
        Some(())
    }

    /// `-abc`, where the last letter may take the rest or the next word as its value; `None` where one is not known.
    fn cluster(&mut self, profile: &Profile, cluster: &'a str, rest: &mut std::slice::Iter<'a, Word>) -> Option<()> {
        if profile.number && cluster.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(());
        }
        for (at, c) in cluster.char_indices() {
            let (name, attached) = cluster[at..].split_at(c.len_utf8());
            if profile.short_value.contains(c) {
                let value = if attached.is_empty() { rest.next().and_then(Word::literal)? } else { attached };
                self.seen(profile, name, Some(value));
                return Some(());
            }
            if !profile.short.contains(c) {
                return None;
            }
            self.seen(profile, name, None);
        }
        Some(())
    }

    fn seen(&mut self, profile: &Profile, name: &'a str, value: Option<&'a str>) {
        self.names.push(name);
        self.recursive |= profile.recursive.contains(&name);
        if profile.operands == Operands::PatternThenPaths {
            self.has_pattern |= matches!(name, "e" | "regexp" | "files");
        }
        if profile.restricts.contains(&name) {
            self.only.extend(value);
        }
    }

    fn has_any(&self, options: &[&str]) -> bool {
        self.names.iter().any(|name| options.contains(name))
    }

    /// Whether it reads files below a folder that it was not told by name, and could meet a blocked one.
    fn goes_down(&self, profile: &Profile) -> bool {
        let down = self.recursive || profile.recursive.is_empty();
        down && (self.only.is_empty() || !self.only.iter().all(|glob| is_harmless_glob(glob)))
    }
}

fn starts_with_glob(word: &Word) -> bool {
    word.pattern().starts_with(['*', '?', '['])
}

/// Whether a glob such as `*.rs` restricts to names that hold no secrets, in the plainest form there is.
fn is_harmless_glob(glob: &str) -> bool {
    const SOURCES: &[&str] = &[
        "c", "cc", "cpp", "cs", "css", "go", "h", "hpp", "html", "java", "js", "jsx", "kt", "lua", "md", "php",
        "proto", "py", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "swift", "ts", "tsx", "txt", "vue", "zig",
        "rust", "python",
    ];
    SOURCES.contains(&glob.strip_prefix("*.").unwrap_or(glob))
}

/// Whether a program tells no more than names and sizes of what it is pointed at.
pub(super) fn tells_names_only(program: &str) -> bool {
    PROFILES.iter().any(|profile| profile.names.contains(&program) && profile.reads == Reads::Names)
}

/// The places of words that are text and never a name of a file: what `echo` prints, what `grep` looks for.
pub(super) fn text_words(program: &str, args: &[Word]) -> Vec<usize> {
    match program {
        "echo" | "printf" | "true" | "false" | ":" => (0..args.len()).collect(),
        "grep" | "egrep" | "fgrep" | "rg" => {
            let first = args.iter().position(|word| !word.guess().is_some_and(|text| text.starts_with('-')));
            let sure = first.is_some_and(|first| args[..first].iter().all(takes_no_value));
            first.filter(|_| sure).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Options of grep behind which the next word is surely the pattern.
fn takes_no_value(option: &Word) -> bool {
    let known = |text: &str| {
        text.strip_prefix('-').is_some_and(|cluster| cluster.chars().all(|c| "EFGPinrcolLHhsqvwxz".contains(c)))
    };
    option.guess().is_some_and(known)
}
