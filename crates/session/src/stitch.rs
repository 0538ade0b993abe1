//! Stitches a block that broke off to the reply that continues it.
//!
//! The model repeats the last lines that arrived and continues after them. If it repeats them exactly, the two replies
//! are read as one. This module only determines from where to continue and whether a reply does; it parses no block.

use toolfence_protocol::fence;
use toolfence_protocol::parse::Reasoning;
use toolfence_protocol::reply::LeadingReasoning;

/// The minimum number of bytes that must match at the seam.
const SHORTEST: usize = 32;
/// The maximum number of bytes that the model is asked to repeat.
const LONGEST: usize = 1 << 10;
/// The maximum number of lines before the end from which the model may continue.
const MOST_LINES: usize = 32;
/// The maximum number of searches for duplicate lines in the block.
const MOST_SEARCHES: usize = 16;

/// A block that broke off, and the positions from which it may be continued.
#[derive(Debug)]
pub(super) struct Broken {
    /// The reply up to where it broke off. Trailing whitespace is left out, because many servers trim it and the model
    /// writes it again, and so are the replacement characters that a decoder made of half a character.
    text: String,
    /// The offset at which the block opens.
    start: usize,
    /// The offset of the first line after the opening fence.
    content: usize,
    /// Offsets at which the repeated text may begin. The text from there to the end is unique in the block: text that
    /// occurs twice does not determine the place from which the model continues.
    seams: Vec<usize>,
    /// The seam from which the model is asked to continue.
    asked: usize,
}

/// A reply that was asked to continue a block, while it is undecided whether it does.
#[derive(Debug)]
pub(super) struct Continuation {
    pub(super) broken: Broken,
    /// The text received so far.
    pub(super) received: String,
    reasoning: LeadingReasoning,
}

impl Continuation {
    pub(super) fn new(broken: Broken, reasoning: Reasoning) -> Continuation {
        Continuation { broken, received: String::new(), reasoning: LeadingReasoning::new(reasoning) }
    }

    /// Adds a chunk and returns whether the reply continues the block, judged by the text received so far.
    pub(super) fn push(&mut self, chunk: &str) -> SeamMatch {
        self.received.push_str(chunk);
        let Some(begin) = self.reasoning.end(&self.received) else { return SeamMatch::Undecided };
        match self.broken.check(&self.received[begin..]) {
            SeamMatch::EndsAt(end) => SeamMatch::EndsAt(begin + end),
            other => other,
        }
    }
}

/// Whether a reply continues the block, judged by its beginning.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SeamMatch {
    /// Too little was received to decide.
    Undecided,
    /// The reply continues the block after this many bytes.
    EndsAt(usize),
    /// The reply does not continue the block.
    NoMatch,
}

impl Broken {
    /// Creates the block that opens at `start` and inside which `reply` ended. Returns `None` if too little arrived to
    /// continue from.
    pub(super) fn new(reply: &str, start: usize) -> Option<Broken> {
        let text = reply.trim_end_matches(|c: char| c.is_whitespace() || c == char::REPLACEMENT_CHARACTER);
        let block = text.get(start..)?;
        let content = start + block.find('\n').map_or(0, |end| end + 1);
        let mut broken = Broken { text: text.to_owned(), start, content, seams: Vec::new(), asked: 0 };
        // The last line is complete only if its line end arrived.
        let whole = reply[text.len()..].contains('\n');
        broken.asked = broken.find_lines(whole).or_else(|| broken.find_middle_of_line())?;
        Some(broken)
    }

    /// Returns the text that the model is asked to repeat.
    pub(super) fn repeated(&self) -> &str {
        &self.text[self.asked..]
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Finds the lines from which the model may continue. Returns the offset of the last complete line, or of as many
    /// lines before it as are needed.
    fn find_lines(&mut self, last_is_whole: bool) -> Option<usize> {
        let (mut asked, mut searches, mut end) = (None, 0, self.text.len());
        for line in 0..MOST_LINES {
            let begin = self.text[..end].rfind('\n').map_or(0, |at| at + 1);
            if begin < self.content {
                break;
            }
            // Templates and servers trim the beginning of a reply.
            let seam = self.text.len() - self.text[begin..].trim_start().len();
            if self.text.len() - seam >= LONGEST {
                break;
            }
            // A text that ends with a unique text is unique too. The limit on searches keeps the cost linear in the
            // block.
            let unique = !self.seams.is_empty() || {
                searches += usize::from(self.text.len() - seam >= SHORTEST);
                searches <= MOST_SEARCHES && self.is_unique(seam)
            };
            if unique {
                self.seams.push(seam);
                // An incomplete last line is accepted as a seam, but the model is asked to begin with a complete line.
                if line > 0 || last_is_whole {
                    asked = asked.or(Some(seam));
                }
            }
            end = begin.saturating_sub(1);
        }
        asked
    }

    /// Returns an offset in the last line if that is too long to be repeated, such as JSON on one line.
    fn find_middle_of_line(&mut self) -> Option<usize> {
        let mut length = 2 * SHORTEST;
        while length <= LONGEST {
            let from = self.text.len().checked_sub(length).filter(|from| *from >= self.content)?;
            let from = (from..self.text.len()).find(|at| self.text.is_char_boundary(*at))?;
            // Tokens rarely span a blank, so a model repeats text best if it begins after one.
            let blank = self.text.as_bytes()[from..from + length / 2 - 4].iter().position(|byte| *byte == b' ');
            let blank = blank.map_or(0, |at| at + 1);
            let seam = self.text.len() - self.text[from + blank..].trim_start().len();
            if self.is_unique(seam) {
                self.seams.push(seam);
                return Some(seam);
            }
            length *= 2;
        }
        None
    }

    fn is_unique(&self, seam: usize) -> bool {
        let repeated = &self.text[seam..];
        repeated.len() >= SHORTEST && self.text[self.start..].find(repeated) == Some(seam - self.start)
    }

    /// Checks whether the reply continues the block: whether it begins with the last lines of the block, or with the
    /// opening line of the block followed by these lines.
    pub(super) fn check(&self, reply: &str) -> SeamMatch {
        let begin = reply.len() - reply.trim_start().len();
        if begin > LONGEST {
            return SeamMatch::NoMatch;
        }
        let at_once = self.check_from(reply, begin, &self.seams);
        let Some(line) = reply[begin..].split_inclusive('\n').next() else { return SeamMatch::Undecided };
        if matches!(at_once, SeamMatch::EndsAt(_)) {
            return at_once;
        }
        let after_fence = if line.ends_with('\n') {
            let opens = fence::opening(line.trim_end()).is_some()
                || line.trim_end() == self.text[self.start..self.content].trim_end();
            // A reply that also repeats the block's first line sends the whole block again.
            let first = self.text[self.content..].trim_start();
            let whole = self.text.len() - first.len();
            let seams = &self.seams[..self.seams.len() - usize::from(self.seams.last() == Some(&whole))];
            let begin = reply.len() - reply[begin + line.len()..].trim_start().len();
            if opens { self.check_from(reply, begin, seams) } else { SeamMatch::NoMatch }
        } else if line.len() <= LONGEST {
            SeamMatch::Undecided
        } else {
            SeamMatch::NoMatch
        };
        match (at_once, after_fence) {
            (SeamMatch::NoMatch, after_fence) => after_fence,
            (at_once, SeamMatch::NoMatch) => at_once,
            (_, continues @ SeamMatch::EndsAt(_)) => continues,
            _ => SeamMatch::Undecided,
        }
    }

    fn check_from(&self, reply: &str, begin: usize, seams: &[usize]) -> SeamMatch {
        let received = &reply[begin..];
        let mut result = SeamMatch::NoMatch;
        for seam in seams {
            let repeated = &self.text[*seam..];
            if received.starts_with(repeated) {
                return SeamMatch::EndsAt(begin + repeated.len());
            }
            if repeated.starts_with(received) {
                result = SeamMatch::Undecided;
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Hm.\n```tool\n{\"name\": \"write_file\", \"args\": {\"content\": \"<<EOF\"}}\nfn one() {\n    first_thing();\n}\n\nfn two() {\n    sec";

    fn broken(reply: &str) -> Broken {
        Broken::new(reply, reply.find("```").expect("there is a block")).expect("enough of it came")
    }

    #[test]
    fn the_last_whole_lines_are_asked_for() {
        assert_eq!(broken(HEAD).repeated(), "first_thing();\n}\n\nfn two() {\n    sec");
        let whole = broken(&format!("{HEAD}ond(\"a call that is long enough\");\n    \u{fffd}"));
        assert_eq!(whole.repeated(), "second(\"a call that is long enough\");");
        let partial = broken(&format!("{HEAD}ond(\"a call that is long enough\");"));
        assert_eq!(partial.repeated(), "fn two() {\n    second(\"a call that is long enough\");");
    }

    #[test]
    fn duplicate_lines_are_not_enough() {
        let lines = "    the very same line again and again;\n";
        let one = broken(&format!("```tool\n{{}}\nfirst\n{lines}second\n{lines}"));
        assert_eq!(one.repeated(), "second\n    the very same line again and again;");
        let two = broken(&format!("```tool\n{{}}\nfirst\n{lines}second\n{lines}{lines}"));
        assert_eq!(two.repeated().lines().count(), 2, "{}", two.repeated());
        assert!(Broken::new(&format!("```tool\n{{}}\n{}", lines.repeat(400)), 0).is_none());
        assert!(Broken::new("```tool\n{\"name\": \"a\"", 0).is_none(), "too little");
    }

    #[test]
    fn a_long_line_is_continued_from_its_middle() {
        let words: String = (0..900).map(|number| format!("word {number}\\n")).collect();
        let long = broken(&format!("```tool\n{{\"name\": \"write_file\", \"args\": {{\"content\": \"{words}"));
        assert!((32..=64).contains(&long.repeated().len()) && long.repeated().ends_with("899\\n"), "{long:?}");
    }

    #[test]
    fn a_reply_continues_only_if_it_repeats_exactly() {
        let broken = broken(HEAD);
        let repeated = broken.repeated();
        let more = format!("{repeated}ond();\n}}\nEOF\n```\n");
        assert_eq!(broken.check(&more), SeamMatch::EndsAt(repeated.len()));
        let fenced = format!(" \n```tool\n    {more}");
        assert_eq!(broken.check(&fenced), SeamMatch::EndsAt(fenced.len() - more.len() + repeated.len()));
        // The reply may repeat more lines than it was asked for.
        assert!(matches!(broken.check(&format!("fn one() {{\n    {more}")), SeamMatch::EndsAt(_)));
        for end in 0..more.len() {
            let wanted = if end < repeated.len() { SeamMatch::Undecided } else { SeamMatch::EndsAt(repeated.len()) };
            assert_eq!(broken.check(&more[..end]), wanted, "{end} bytes");
        }
        for at in 0..repeated.len() {
            let mut changed = more.clone().into_bytes();
            changed[at] ^= 1;
            let changed = String::from_utf8(changed).expect("it is ASCII");
            assert_eq!(broken.check(&changed), SeamMatch::NoMatch, "byte {at}");
        }
        assert_eq!(broken.check(&HEAD[4..]), SeamMatch::NoMatch, "the whole block again");
        assert_eq!(broken.check("I will do something else then.\n"), SeamMatch::NoMatch);
    }
}
