//! Unified diffs: which lines begin a file, what stands in its head, and where its hunks are.

use super::body;
use super::grammar::{self, HunkHead, Written};
use super::messages;
use super::model::{FilePatch, Hunk, Kind, Name, Patch, Problem, Sign};
use super::names;
use super::prose::{self, Standing};
use super::wrap::Wrappers;

/// Reads every file of the lines from `at` on.
pub(super) fn read<'a>(lines: &[&'a str], at: usize) -> Result<Patch<'a>, Problem> {
    let mut reader = UnifiedReader { lines, at, wrappers: Wrappers::default() };
    let mut patch = Patch::default();
    while reader.at < lines.len() {
        if let Some(file) = reader.file()? {
            patch.files.push(file);
        }
    }
    Ok(patch)
}

/// How the line of git that begins a file starts.
pub(super) const GIT: &str = "diff --git ";

/// Whether a line below git's own says by itself that something is done with the file.
pub(super) fn says_kind(line: &str) -> bool {
    const WORDS: [&str; 7] = [
        "old mode ",
        "new mode ",
        "deleted file mode ",
        "new file mode ",
        "rename from ",
        "copy from ",
        "similarity index ",
    ];
    WORDS.iter().any(|word| line.starts_with(word))
}

/// Whether the lines at a place are `--- name` and `+++ name`.
pub(super) fn is_pair(lines: &[&str], at: usize) -> bool {
    lines[at].starts_with("--- ") && lines.get(at + 1).is_some_and(|line| line.starts_with("+++ "))
}

struct UnifiedReader<'l, 'a> {
    lines: &'l [&'a str],
    at: usize,
    wrappers: Wrappers<'a>,
}

/// What the lines before the hunks say.
#[derive(Debug, Default)]
struct Head {
    line: usize,
    git: Option<(Vec<u8>, Vec<u8>)>,
    old: Option<Written>,
    new: Option<Written>,
    /// What a line of git says is done with the file as a whole: it comes, goes, or gets another name.
    said: Option<Kind>,
    from: Option<Written>,
    to: Option<Written>,
    mode: Option<u32>,
    /// Whether there was a `---` and a `+++` line.
    paired: bool,
}

impl<'a> UnifiedReader<'_, 'a> {
    /// The file that begins here, or nothing where a line of prose was passed.
    fn file(&mut self) -> Result<Option<FilePatch<'a>>, Problem> {
        let line = self.lines[self.at];
        if line.starts_with(GIT) {
            return self.git_file().map(Some);
        }
        if is_pair(self.lines, self.at) {
            let mut head = Head { line: self.at + 1, ..Head::default() };
            self.pair(&mut head);
            return self.finish(head).map(Some);
        }
        prose::refuse_line(self.lines, self.at, Standing::Apart)?;
        self.wrappers.see(line);
        self.at += 1;
        Ok(None)
    }

    fn git_file(&mut self) -> Result<FilePatch<'a>, Problem> {
        let mut head = Head { line: self.at + 1, git: grammar::git_names(self.lines[self.at]), ..Head::default() };
        self.at += 1;
        while let Some(line) = self.lines.get(self.at).copied() {
            if is_pair(self.lines, self.at) {
                self.pair(&mut head);
                break;
            }
            if is_binary(line) {
                return Err(binary(self.at + 1));
            }
            if !head.takes(line, self.at + 1)? {
                break;
            }
            self.at += 1;
        }
        self.finish(head)
    }

    fn pair(&mut self, head: &mut Head) {
        head.old = Some(grammar::file_name(&self.lines[self.at][4..]));
        head.new = Some(grammar::file_name(&self.lines[self.at + 1][4..]));
        head.paired = true;
        self.at += 2;
    }

    fn finish(&mut self, head: Head) -> Result<FilePatch<'a>, Problem> {
        let mut file = head.file()?;
        self.hunks(&mut file, head.paired)?;
        check(&file, &head)?;
        Ok(file)
    }

    fn hunks(&mut self, file: &mut FilePatch<'a>, paired: bool) -> Result<(), Problem> {
        while let Some(line) = self.lines.get(self.at).copied() {
            let begins =
                paired && line.starts_with([' ', '+', '-']) && !is_pair(self.lines, self.at) && file.hunks.is_empty();
            match grammar::hunk_head(line) {
                Some(head) => {
                    self.at += 1;
                    self.hunk(file, head, line.ends_with('\r'))?;
                }
                // A hunk whose head was left out.
                None if begins => self.hunk(file, HunkHead::default(), line.ends_with('\r'))?,
                None if line.trim().is_empty() => self.at += 1,
                None => break,
            }
        }
        Ok(())
    }

    fn hunk(&mut self, file: &mut FilePatch<'a>, head: HunkHead<'a>, strip: bool) -> Result<(), Problem> {
        let end = self.segment_end(head.counts);
        let segment = &self.lines[self.at..end];
        let length = body::length(segment, head.counts);
        let headings = Some(head.heading).filter(|heading| !heading.is_empty()).into_iter().collect();
        let mut hunk = Hunk { stated: head.old_start, headings, line: self.at.max(1), ..Hunk::default() };
        body::fill(&mut hunk, &segment[..length], strip);
        body::settle(&mut hunk, head.counts);
        prose::refuse(self.lines, self.at + length, end, Standing::BehindHunk)?;
        for line in &segment[length..] {
            self.wrappers.see(line);
        }
        self.at = end;
        if hunk.lines.is_empty() {
            return Err(Problem::new(hunk.line, messages::hunk_without_lines()));
        }
        file.hunks.push(hunk);
        Ok(())
    }

    /// Where something else than the body of this hunk begins for certain.
    ///
    /// A removed and an added line can look like the head of another file. The counts tell them apart, if they are right.
    fn segment_end(&self, counts: Option<body::Counts>) -> usize {
        let mut seen = (0, 0);
        let (mut first_head, mut met) = (None, false);
        let mut at = self.at;
        while at < self.lines.len() && !self.ends_body(at) {
            met = met || counts == Some(seen);
            if self.looks_like_head(at) {
                if met || counts.is_none() {
                    return at;
                }
                first_head = first_head.or(Some(at));
            }
            let (old, new) = body::counts_of(self.lines[at]).unwrap_or_default();
            seen = (seen.0 + old, seen.1 + new);
            at += 1;
        }
        if met || counts == Some(seen) { at } else { first_head.unwrap_or(at) }
    }

    fn ends_body(&self, at: usize) -> bool {
        let line = self.lines[at];
        line.starts_with("diff -")
            || line.starts_with("Index: ")
            || (line.starts_with("@@") && (line.starts_with("@@@") || grammar::hunk_head(line).is_some()))
            || grammar::mark(line).is_some()
            || is_binary(line)
            || self.wrappers.close(line)
            || (is_pair(self.lines, at) && self.has_prefixes(at))
    }

    /// Whether a pair names the same file as `a/` and as `b/`: nobody changes such lines into one another. Behind more than
    /// one blank, as no tool writes it, the counts decide: it may be a comment that is removed.
    fn has_prefixes(&self, at: usize) -> bool {
        let written = [at, at + 1].map(|at| &self.lines[at][4..]);
        if written.iter().any(|name| name.starts_with(char::is_whitespace)) {
            return false;
        }
        match &written.map(grammar::file_name) {
            [Written::File(old), Written::File(new)] => {
                old.strip_prefix(b"a/").is_some_and(|rest| new.strip_prefix(b"b/") == Some(rest))
            }
            _ => false,
        }
    }

    fn looks_like_head(&self, at: usize) -> bool {
        if !is_pair(self.lines, at) {
            return false;
        }
        let after = self.lines.get(at + 2).copied().unwrap_or_default();
        let names = [at, at + 1].map(|at| grammar::file_name(&self.lines[at][4..]));
        let named = |name: &Written| matches!(name, Written::File(bytes) if !bytes.contains(&b' '));
        after.starts_with("@@") || names.contains(&Written::Nothing) || names.iter().all(named)
    }
}

pub(super) fn is_binary(line: &str) -> bool {
    line.trim_end() == "GIT binary patch" || (line.starts_with("Binary files ") && line.trim_end().ends_with(" differ"))
}

fn binary(line: usize) -> Problem {
    Problem::new(line, messages::binary_file())
}

impl Head {
    /// Takes a line between `diff --git` and the hunks; false where it is none.
    fn takes(&mut self, line: &str, at: usize) -> Result<bool, Problem> {
        let rest = |word: &str| line.strip_prefix(word);
        if let Some(text) = rest("new file mode ") {
            self.say(Kind::Create, at)?;
            self.mode = Some(file_mode(text, at)?);
        } else if let Some(text) = rest("deleted file mode ") {
            self.say(Kind::Delete, at)?;
            file_mode(text, at)?;
        } else if let Some(text) = rest("new mode ") {
            self.mode = Some(file_mode(text, at)?);
        } else if let Some(text) = rest("rename from ") {
            self.say(Kind::Rename, at)?;
            self.from = Some(unprefixed(text));
        } else if let Some(text) = rest("copy from ") {
            self.say(Kind::Copy, at)?;
            self.from = Some(unprefixed(text));
        } else if let Some(text) = rest("rename to ") {
            self.say(Kind::Rename, at)?;
            self.to = Some(unprefixed(text));
        } else if let Some(text) = rest("copy to ") {
            self.say(Kind::Copy, at)?;
            self.to = Some(unprefixed(text));
        } else {
            let known = ["old mode ", "similarity index ", "dissimilarity index ", "index "];
            return Ok(known.iter().any(|word| line.starts_with(word)));
        }
        Ok(true)
    }

    fn say(&mut self, kind: Kind, at: usize) -> Result<(), Problem> {
        match self.said.replace(kind) {
            Some(before) if before != kind => Err(Problem::new(at, messages::head_contradicts_itself())),
            _ => Ok(()),
        }
    }

    fn file<'a>(&self) -> Result<FilePatch<'a>, Problem> {
        let (old, new) = self.names()?;
        let Some(some) = old.clone().or_else(|| new.clone()) else {
            return Err(Problem::new(self.line, messages::neither_side_has_name()));
        };
        let kind = self.kind(old.is_some(), new.is_some())?;
        // A file that goes has no permissions to set.
        let mode = self.mode.filter(|_| kind != Kind::Delete).map(|mode| mode & 0o777);
        let (old, new) = (old.unwrap_or_else(|| some.clone()), new.unwrap_or(some));
        // A file that comes or goes has one name, whatever stands on the other side.
        let (old, new) = match kind {
            Kind::Create => (new.clone(), new),
            Kind::Delete => (old.clone(), old),
            _ => (old, new),
        };
        Ok(FilePatch { kind, old, new, mode, hunks: Vec::new(), unseen: false, line: self.line })
    }

    /// What is done with the file, by git's lines and by which sides are `/dev/null`. Where these differ nobody knows what is
    /// meant, and one of the two may be a deletion, so such a head is refused.
    fn kind(&self, before: bool, after: bool) -> Result<Kind, Problem> {
        let nothing = |side: &Option<Written>| *side == Some(Written::Nothing);
        let contradicted = match self.said {
            Some(Kind::Create) => !after,
            Some(Kind::Delete) => !before,
            Some(_) => nothing(&self.old) || nothing(&self.new),
            None => false,
        };
        if contradicted {
            return Err(Problem::new(self.line, messages::head_contradicts_itself()));
        }
        Ok(match (before, after) {
            (false, _) => Kind::Create,
            (_, false) => Kind::Delete,
            _ => self.said.unwrap_or(Kind::Modify),
        })
    }

    /// `---` and `+++` where they are, for git's own line cannot always be read.
    fn names(&self) -> Result<(Option<Name>, Option<Name>), Problem> {
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            return Ok((names::plain(from, self.line)?, names::plain(to, self.line)?));
        }
        if matches!(self.said, Some(Kind::Rename | Kind::Copy)) {
            return Err(Problem::new(self.line, messages::one_name_missing()));
        }
        let by_git = self.git.as_ref().map(|(old, new)| (Written::File(old.clone()), Written::File(new.clone())));
        let (old, new) = match (&self.old, &self.new, &by_git) {
            (Some(old), Some(new), _) => (old, new),
            (_, _, Some((old, new))) => (old, new),
            _ => return Err(Problem::new(self.line, messages::names_unreadable())),
        };
        let (mut one, mut other) = names::both(old, new, self.line)?;
        // A name whose other side is `/dev/null` does not tell by itself whether `w/` is a prefix; git's line does.
        if one.is_none() != other.is_none()
            && let Some((before, after)) = &by_git
            && let Ok((Some(before_name), Some(after_name))) = names::both(before, after, self.line)
        {
            let told = |name: &Option<Name>, written: &Written, by_git: (&Written, Name)| {
                (name.is_some() && written == by_git.0 && by_git.1.prefixed.is_some()).then_some(by_git.1)
            };
            one = told(&one, old, (before, before_name)).or(one);
            other = told(&other, new, (after, after_name)).or(other);
        }
        Ok((one, other))
    }
}

/// Names behind `rename` and `copy` have no prefix and no time.
fn unprefixed(text: &str) -> Written {
    match grammar::quoted(text) {
        Ok((_, name)) => Written::File(name),
        Err(_) => Written::File(text.trim_end_matches('\r').as_bytes().to_vec()),
    }
}

fn file_mode(text: &str, line: usize) -> Result<u32, Problem> {
    match grammar::mode(text) {
        Some(mode @ (0o100_644 | 0o100_755 | 0o100_664 | 0o100_600 | 0o100_700 | 0o644 | 0o755)) => Ok(mode),
        Some(0o120_000) => Err(Problem::new(line, messages::symbolic_link())),
        Some(0o160_000) => Err(Problem::new(line, messages::submodule())),
        _ => Err(Problem::new(line, messages::mode_of_no_file(format!("{:?}", text.trim())))),
    }
}

/// Whether the hunks fit what is done with the file.
fn check(file: &FilePatch<'_>, head: &Head) -> Result<(), Problem> {
    let wrong = |sign: Sign| file.hunks.iter().any(|hunk| hunk.lines.iter().any(|line| line.sign != sign));
    match file.kind {
        Kind::Create if wrong(Sign::Add) => Err(Problem::new(
            file.line,
            messages::new_file_only_adds(&file.new.path).then(messages::others_would_be_there()),
        )),
        Kind::Delete if wrong(Sign::Remove) => {
            Err(Problem::new(file.line, messages::deleted_file_only_removes(&file.old.path)))
        }
        kind if head.said == Some(kind) => Ok(()),
        Kind::Modify if head.mode.is_some() => Ok(()),
        _ if file.hunks.is_empty() => Err(no_hunks(file)),
        _ => Ok(()),
    }
}

pub(super) fn no_hunks(file: &FilePatch<'_>) -> Problem {
    Problem::new(file.line, messages::no_hunks(&file.new.path))
}
