//! The arguments of a program, sorted by its profile. Options are exact: nothing is abbreviated.

use super::table::{Operands, Profile};
use crate::policy::shell::report::{Finding, shown};
use crate::policy::shell::words::Word;
use crate::policy::shell::wrappers::has;

/// Arguments sorted by a profile.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    pub(super) operands: Vec<&'a Word>,
    /// Whether an option gave the pattern or the program, so that every operand is a path.
    pub(super) has_pattern: bool,
    /// Whether an option makes it go into folders.
    pub(super) recursive: bool,
    /// The globs that restrict which files are read.
    pub(super) only: Vec<&'a str>,
    /// Every option without its dashes and its value.
    pub(super) names: Vec<&'a str>,
    /// Every option with a value, without its dashes.
    pub(super) values: Vec<(&'a str, &'a str)>,
    /// The values that are paths, and those that are programs.
    pub(super) paths: Vec<&'a str>,
    pub(super) scripts: Vec<&'a str>,
    /// How many operands stand before `--`, where there is one.
    pub(super) before_dashes: Option<usize>,
}

type Rest<'a> = std::slice::Iter<'a, Word>;

impl<'a> Arguments<'a> {
    /// `harmless` says that a pattern may match a name that is an option.
    pub(super) fn of(
        program: &str,
        profile: &Profile,
        args: &'a [Word],
        harmless: bool,
    ) -> Result<Arguments<'a>, Finding> {
        let mut read = Arguments::default();
        let mut rest = args.iter();
        let mut ended = false;
        while let Some(word) = rest.next() {
            match word.literal() {
                Some("--") if !ended => {
                    ended = true;
                    read.before_dashes = Some(read.operands.len());
                    if profile.passes {
                        read.names.extend(rest.filter_map(|word| word.literal()?.strip_prefix("--")));
                        break;
                    }
                }
                Some(text) if !ended && text.len() > 1 && text.starts_with('-') => {
                    read.option(program, profile, text, &mut rest)?;
                }
                // A name that a glob matches may begin with `-` and be an option.
                None if !ended && !harmless && may_be_option(word) => {
                    let reason = format!("{} could match a name that is an option.", shown(&word.pattern(), 80));
                    return Err(Finding::ask("not_known_read_only", reason));
                }
                _ => read.operands.push(word),
            }
            // What stands behind the file it runs is for that.
            ended |= matches!(profile.operands, Operands::Program) && !read.operands.is_empty();
        }
        Ok(read)
    }

    fn option(&mut self, program: &str, profile: &Profile, text: &'a str, rest: &mut Rest<'a>) -> Result<(), Finding> {
        let known = match text.strip_prefix("--") {
            Some(long) => self.long(profile, long, rest),
            None if profile.one_dash => {
                self.long(profile, &text[1..], rest).or_else(|| self.cluster(profile, &text[1..], rest))
            }
            None => self.cluster(profile, &text[1..], rest),
        };
        known.ok_or_else(|| Finding::ask("not_known_read_only", format!("{program} {} is not known.", shown(text, 40))))
    }

    /// `--name` or `--name=value`; `None` where it is not known.
    fn long(&mut self, profile: &Profile, long: &'a str, rest: &mut Rest<'a>) -> Option<()> {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        if value.is_none() && has(profile.pairs, name) {
            return rest.next().and(rest.next()).and_then(Word::literal).map(|_| ());
        }
        let value = match value {
            None if has(profile.long, name) => None,
            _ if !has(profile.long_value, name) => return None,
            Some(value) => Some(value),
            None => Some(rest.next().and_then(Word::literal)?),
        };
        self.seen(profile, name, value);
        Some(())
    }

    /// `-abc`, where the last letter may take the rest or the next word as its value; `None` where one is not known.
    fn cluster(&mut self, profile: &Profile, cluster: &'a str, rest: &mut Rest<'a>) -> Option<()> {
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
        self.values.extend(value.map(|value| (name, value)));
        self.recursive |= has(profile.recursive, name);
        if has(profile.paths, name) {
            self.paths.extend(value);
        }
        match profile.operands {
            Operands::PatternThenPaths => self.has_pattern |= matches!(name, "e" | "regexp" | "files" | "type-list"),
            Operands::ScriptThenPaths(_) if has(profile.scripts, name) => {
                self.has_pattern = true;
                self.scripts.extend(value);
            }
            _ => {}
        }
        if has(profile.restricts, name) {
            self.only.extend(value);
        }
    }

    pub(super) fn has_any(&self, options: &str) -> bool {
        self.names.iter().any(|name| has(options, name))
    }

    /// The operands that are paths.
    pub(super) fn places(&self, profile: &Profile) -> &[&'a Word] {
        let first = matches!(profile.operands, Operands::PatternThenPaths | Operands::ScriptThenPaths(_));
        self.operands.get(usize::from(first && !self.has_pattern)..).unwrap_or(&[])
    }

    /// Whether it reads files below a folder that it was not told by name, and could meet a blocked one.
    pub(super) fn goes_down(&self, profile: &Profile) -> bool {
        let down = self.recursive || profile.recursive.is_empty();
        let places = self.places(profile);
        let files = !places.is_empty() && places.iter().all(|word| word.literal().is_some_and(is_source));
        let restricted = !self.only.is_empty() && self.only.iter().all(|glob| is_harmless_glob(glob));
        down && !files && !restricted && !self.has_any(profile.names_only)
    }
}

/// Whether a word that is not literal may turn out to be an option.
pub(super) fn may_be_option(word: &Word) -> bool {
    !word.is_found() && word.pattern().starts_with(['*', '?', '[', '-'])
}

/// A name that is no pattern and, by its ending, no folder and no secret.
pub(super) fn is_source(path: &str) -> bool {
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    !path.contains(['*', '?', '[', '\\']) && ending.is_some_and(|(_, ending)| is_harmless_glob(ending))
}

/// Whether a glob such as `*.rs` restricts to names that hold no secrets, in the plainest form there is.
pub(super) fn is_harmless_glob(glob: &str) -> bool {
    const SOURCES: &str = "c cc cpp cs css go h hpp html java js jsx kt lua md php proto py rb rs rst scala scss sh sql swift \
        ts tsx txt vue zig rust python";
    let name = glob.strip_prefix("*.").unwrap_or(glob);
    name.len() < 8 && has(SOURCES, name)
}
