//! The arguments of a program, sorted by its profile. Options are exact: nothing is abbreviated.

use super::{Operands, Profile, entry, has, options};
use crate::shell::expand::Word;
use crate::shell::messages;
use crate::shell::shown;
use toolfence_protocol::Text;

/// Arguments sorted by a profile.
#[derive(Default)]
pub(crate) struct Arguments<'a> {
    pub(crate) operands: Vec<&'a Word>,
    /// Whether an option gave the pattern or the program, so that every operand is a path.
    pub(crate) has_pattern: bool,
    /// Whether an option makes it go into folders.
    pub(crate) recursive: bool,
    /// The globs that restrict which files are read.
    pub(crate) only: Vec<&'a str>,
    /// Every option without its dashes and its value.
    pub(crate) names: Vec<&'a str>,
    /// Every option with a value, without its dashes.
    pub(crate) values: Vec<(&'a str, &'a str)>,
    /// The values that are paths, and those that are programs.
    pub(crate) paths: Vec<&'a str>,
    pub(crate) scripts: Vec<&'a str>,
    /// The values that are places to write to.
    pub(crate) outputs: Vec<&'a str>,
    /// The places of the words that are text.
    pub(crate) texts: Vec<usize>,
    /// Whether options pass that are not known to only read.
    others: bool,
    /// Whether the sandbox is around the program: what is harmless there needs no question.
    held: bool,
    /// Whether the option at hand has a value that is text.
    text: bool,
    /// How many operands stand before `--`, where there is one.
    pub(crate) before_dashes: Option<usize>,
    /// Whether only the options in front of the first operand are read, by what each word is or may be.
    leads: bool,
    /// How many words those are.
    pub(crate) leading: usize,
}

type Rest<'a> = std::slice::Iter<'a, Word>;

impl<'a> Arguments<'a> {
    /// `held` says that the sandbox is around it: what is harmless there needs no question.
    pub(crate) fn of(program: &str, profile: &Profile, args: &'a [Word], held: bool) -> Result<Arguments<'a>, Text> {
        let read = Arguments { held, ..Arguments::default() }.sorted(program, profile, args)?;
        let needs = profile.list("needs");
        if !needs.is_empty() && !read.has_any(needs) {
            let dash = |name: &str| if name.len() == 1 || profile.is("one-dash") { "-" } else { "--" };
            let options = needs.split_ascii_whitespace().map(|name| format!("{}{name}", dash(name)));
            return Err(messages::only_with_options(program, options.collect::<Vec<_>>().join(", ")));
        }
        if matches!(profile.operands, Operands::None) && !read.operands.is_empty() {
            return Err(messages::with_operands(program));
        }
        Ok(read)
    }

    /// Sorts arguments by what each of them is, whether or not they make the program do more than read.
    pub(crate) fn sorted_only(profile: &Profile, args: &'a [Word]) -> Option<Arguments<'a>> {
        Arguments { others: true, ..Arguments::default() }.sorted("", profile, args).ok()
    }

    /// Reads the options in front of a subcommand, by the entry `before` of the program; an error where a word is not certain
    /// or not known.
    pub(crate) fn before(program: &str, args: &'a [Word]) -> Result<Arguments<'a>, Text> {
        let Some(profile) = entry(program, "before") else { return Ok(Arguments::default()) };
        let read = Arguments::leading(program, profile, args)?;
        match args[..read.leading].iter().find(|word| word.literal().is_none_or(|text| text == "--")) {
            Some(word) => Err(not_known(program, &word.pattern())),
            None => Ok(read),
        }
    }

    /// Reads the options in front of a command; an error where one is not known.
    pub(crate) fn leading(program: &str, profile: &Profile, args: &'a [Word]) -> Result<Arguments<'a>, Text> {
        Arguments { leads: true, ..Arguments::default() }.sorted(program, profile, args)
    }

    fn sorted(self, program: &str, profile: &Profile, args: &'a [Word]) -> Result<Arguments<'a>, Text> {
        let mut read = self;
        // A name that is an option does no harm where masks hide what no word names.
        let harmless = !read.others && (profile.is("harmless") || profile.reads_only() && read.held);
        let mut rest = args.iter();
        let mut ended = false;
        let mut places = Vec::new();
        while let Some(word) = rest.next() {
            match read.text_of(word) {
                Some("--") if !ended => {
                    ended = true;
                    read.before_dashes = Some(read.operands.len());
                    if read.leads {
                        break;
                    }
                    if profile.is("passes") {
                        read.names.extend(rest.by_ref().filter_map(|word| word.literal()?.strip_prefix("--")));
                        break;
                    }
                }
                Some(text) if !ended && text.len() > 1 && text.starts_with('-') => {
                    let place = args.len() - rest.len() - 1;
                    read.text = false;
                    read.option(program, profile, text, &mut rest)?;
                    // The text stands in the same word, or is the words behind it.
                    let last = args.len() - rest.len();
                    if read.text {
                        read.texts.extend(if place + 1 < last { place + 1..last } else { place..last });
                    }
                }
                Some("-") if read.leads && profile.list("short").contains('-') => read.seen(profile, "-", None),
                _ if read.leads => {
                    rest = args[args.len() - rest.len() - 1..].iter();
                    break;
                }
                // A name that a glob matches may begin with `-` and be an option.
                None if !ended && !harmless && word.may_be_option() => {
                    return Err(messages::could_match_option(shown(&word.pattern(), 80)));
                }
                Some(text) if read.is_misplaced(profile, text, ended) => return Err(not_known(program, text)),
                _ => {
                    places.push(args.len() - rest.len() - 1);
                    read.operands.push(word);
                }
            }
            // What stands behind the file it runs is for that.
            ended |= matches!(profile.operands, Operands::Program) && !read.operands.is_empty();
        }
        read.leading = args.len() - rest.len();
        match profile.operands {
            Operands::Text => read.texts.append(&mut places),
            Operands::PatternThenPaths | Operands::ScriptThenPaths(_) if !read.has_pattern => {
                read.texts.extend(places.first());
            }
            _ => {}
        }
        Ok(read)
    }

    fn text_of(&self, word: &'a Word) -> Option<&'a str> {
        if self.leads { word.guess() } else { word.literal() }
    }

    /// Whether an operand stands where it cannot be one, or where `find` would take it for an action.
    fn is_misplaced(&self, profile: &Profile, text: &str, ended: bool) -> bool {
        let behind = ended || self.names.iter().any(|name| name.len() > 1);
        profile.is("operands-first") && behind && !matches!(text, "(" | ")" | "!" | ",")
    }

    fn option(&mut self, program: &str, profile: &Profile, text: &'a str, rest: &mut Rest<'a>) -> Result<(), Text> {
        let before = rest.clone();
        let known = match text.strip_prefix("--") {
            Some(long) => self.long(profile, long, rest),
            None if profile.is("one-dash") => {
                self.long(profile, &text[1..], rest).or_else(|| self.cluster(profile, &text[1..], rest))
            }
            None => self.cluster(profile, &text[1..], rest),
        };
        let known = known.or_else(|| self.others.then(|| self.other(profile, text, rest)).flatten());
        if known.is_none() && self.held && profile.runs && !matches!(profile.operands, Operands::Program) {
            *rest = before;
            return self.unnamed(program, profile, text, rest);
        }
        known.ok_or_else(|| not_known(program, text))
    }

    /// An option that no table names, of a program that the sandbox holds.
    fn unnamed(&mut self, program: &str, profile: &Profile, text: &'a str, rest: &mut Rest<'a>) -> Result<(), Text> {
        let name = match text.strip_prefix("--") {
            Some(long) => long,
            None if profile.is("one-dash") => &text[1..],
            None => return Err(not_known(program, text)),
        };
        if !options::option(name) {
            return Err(not_known(program, text));
        }
        // Whether the next word is its value cannot be told. Where no operand is known, it only can be that.
        let takes = matches!(profile.operands, Operands::None | Operands::Checked(_));
        let next = rest.clone().next().and_then(Word::literal).filter(|next| takes && !next.starts_with('-'));
        if next.is_some() {
            rest.next();
        }
        let value = name.split_once('=').map(|(_, value)| value).or(next);
        self.paths.extend(value.filter(|value| value.starts_with(['/', '~', '.']) || value.contains("../")));
        Ok(())
    }

    /// `--name` or `--name=value`; `None` where it is not known.
    fn long(&mut self, profile: &Profile, long: &'a str, rest: &mut Rest<'a>) -> Option<()> {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        if value.is_none() && profile.has("pairs", name) {
            self.text = true;
            return rest.next().and(rest.next()).and_then(Word::literal).map(|_| ());
        }
        if value.is_none() && profile.has("path-pairs", name) {
            self.paths.push(rest.next().and(rest.next()).and_then(Word::literal)?);
            return Some(());
        }
        let value = match value {
            // The name of a target may stand behind it, where no other word can.
            None if profile.has("long", name) && profile.has("long-value", name) && profile.runs => {
                let next = rest.clone().next().and_then(Word::literal).filter(|next| !next.starts_with('-'));
                if matches!(profile.operands, Operands::None) && next.is_some() {
                    rest.next();
                }
                None
            }
            None if profile.has("long", name) => None,
            _ if !profile.has("long-value", name) => return None,
            Some(value) => Some(value),
            None => self.value_of(profile, name, rest.next()?)?,
        };
        self.seen(profile, name, value);
        Some(())
    }

    /// `-abc`, where the last letter may take the rest or the next word as its value; `None` where one is not known.
    fn cluster(&mut self, profile: &Profile, cluster: &'a str, rest: &mut Rest<'a>) -> Option<()> {
        if profile.is("number") && cluster.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(());
        }
        for (at, c) in cluster.char_indices() {
            let (name, attached) = cluster[at..].split_at(c.len_utf8());
            // How many jobs may be left open.
            if c == 'j' && profile.runs && attached.is_empty() && profile.list("value").contains(c) {
                let number = |word: &&Word| word.literal().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()));
                if rest.clone().next().filter(number).is_some() {
                    rest.next();
                }
                return Some(());
            }
            if profile.list("value").contains(c) {
                let value =
                    if attached.is_empty() { self.value_of(profile, name, rest.next()?)? } else { Some(attached) };
                self.seen(profile, name, value);
                return Some(());
            }
            if profile.list("attached").contains(c) {
                self.seen(profile, name, Some(attached).filter(|value| !value.is_empty()));
                return Some(());
            }
            if !profile.list("short").contains(c) {
                return None;
            }
            self.seen(profile, name, None);
        }
        Some(())
    }

    /// An option that is not known to only read: what of the next words belongs to it.
    fn other(&mut self, profile: &Profile, text: &str, rest: &mut Rest<'a>) -> Option<()> {
        let (name, attached) = match text.strip_prefix("--") {
            Some(long) => long.split_once('=').map_or((long, false), |(name, _)| (name, true)),
            // The letters before it in the cluster have no value.
            None => {
                let cluster = text[1..].trim_start_matches(|c| profile.list("short").contains(c));
                let (name, value) = cluster.split_at(cluster.chars().next()?.len_utf8());
                (name, !value.is_empty())
            }
        };
        let shape =
            |other: &'static str| other.strip_prefix(name).filter(|shape| matches!(*shape, "" | "?" | ":" | "!"));
        match profile.list("others").split_ascii_whitespace().find_map(shape)? {
            "" if attached => return None,
            ":" if !attached => drop(rest.next().and_then(Word::literal)?),
            "!" => self.has_pattern = true,
            _ => {}
        }
        Some(())
    }

    /// The next word as the value of an option. In the sandbox, what only a run would tell may be text, as long as it is one
    /// word; where no option does harm, it may be any number of them. In front of a command it may be anything.
    fn value_of(&self, profile: &Profile, name: &str, word: &'a Word) -> Option<Option<&'a str>> {
        let matters = profile.has("paths", name) || profile.has("scripts", name) || profile.has("outputs", name);
        let any = profile.reads_only() || !word.is_loose();
        match self.text_of(word) {
            None if self.leads => Some(None),
            None if self.held && word.is_open() && any && !matters && !profile.runs => Some(Some("*")),
            text => text.map(Some),
        }
    }

    fn seen(&mut self, profile: &Profile, name: &'a str, value: Option<&'a str>) {
        self.names.push(name);
        self.values.extend(value.map(|value| (name, value)));
        self.recursive |= profile.has("recursive", name);
        if profile.has("paths", name) || profile.has("folder", name) {
            self.paths.extend(value);
        }
        if profile.has("outputs", name) {
            // `xml:FILE`: a format, and the place behind it.
            let report = name.ends_with("report");
            self.outputs
                .extend(value.and_then(|value| if report { Some(value.split_once(':')?.1) } else { Some(value) }));
        }
        if value.is_some() && (profile.has("texts", name) || profile.has("scripts", name)) {
            self.text = true;
        }
        match profile.operands {
            Operands::PatternThenPaths => self.has_pattern |= matches!(name, "e" | "regexp" | "files" | "type-list"),
            Operands::ScriptThenPaths(_) if profile.has("scripts", name) => {
                self.has_pattern = true;
                self.scripts.extend(value);
            }
            _ => {}
        }
        if profile.has("restricts", name) {
            self.only.extend(value);
        }
    }

    /// The value of the last of these options that has one.
    pub(crate) fn value(&self, options: &str) -> Option<&'a str> {
        self.values.iter().rev().find(|(name, _)| has(options, name)).map(|(_, value)| *value)
    }

    pub(crate) fn has_any(&self, options: &str) -> bool {
        self.names.iter().any(|name| has(options, name))
    }

    /// The operands that are paths.
    pub(crate) fn places(&self, profile: &Profile) -> &[&'a Word] {
        let first = matches!(profile.operands, Operands::PatternThenPaths | Operands::ScriptThenPaths(_));
        self.operands.get(usize::from(first && !self.has_pattern)..).unwrap_or(&[])
    }

    /// Whether it reads files below a folder that it was not told by name, and could meet a blocked one.
    pub(crate) fn goes_down(&self, profile: &Profile) -> bool {
        let down = self.recursive || profile.list("recursive").is_empty();
        let places = self.places(profile);
        let files = !places.is_empty() && places.iter().all(|word| word.literal().is_some_and(is_source));
        let restricted = !self.only.is_empty() && self.only.iter().all(|glob| is_harmless_glob(glob));
        down && !files && !restricted && !self.has_any(profile.list("names-only"))
    }
}

fn not_known(program: &str, text: &str) -> Text {
    messages::argument_not_known(program, shown(text, 40))
}

/// A name that is no pattern and, by its ending, no folder and no secret.
pub(crate) fn is_source(path: &str) -> bool {
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    !path.contains(['*', '?', '[', '\\']) && ending.is_some_and(|(_, ending)| is_harmless_glob(ending))
}

/// Whether a glob such as `*.rs` restricts to names that hold no secrets, in the plainest form there is.
pub(crate) fn is_harmless_glob(glob: &str) -> bool {
    const SOURCES: &str = "c cc cpp cs css go h hpp html java js jsx kt lua md php proto py rb rs rst scala scss sh sql swift \
        ts tsx txt vue zig rust python";
    let name = glob.strip_prefix("*.").unwrap_or(glob);
    name.len() < 8 && has(SOURCES, name)
}
