//! A block that broke off with its reply, and the reply that goes on with it.
//!
//! The model repeats the last lines that came, and goes on behind them. Where it repeats them exactly, the two replies are read as
//! one. This module only says where to go on and whether a reply does; it reads no block.

use toolfence_protocol::fence;
use toolfence_protocol::parse::Reasoning;
use toolfence_protocol::reply::LeadingReasoning;

/// Bytes that have to be the same at the seam.
const SHORTEST: usize = 32;
/// Bytes that the model is asked to repeat at most.
const LONGEST: usize = 1 << 10;
/// Lines before the end at which the model may begin.
const MOST_LINES: usize = 32;
/// How often the block is searched for lines that stand in it twice.
const MOST_SEARCHES: usize = 16;

/// A block that broke off, and where it may be taken up.
#[derive(Debug)]
pub(super) struct Broken {
    /// The reply up to where it broke off. Whitespace at its end is left out, for many servers trim it and the model writes it
    /// again, and so is what a decoder made of half a character.
    text: String,
    /// Where the block opens.
    start: usize,
    /// Where the lines behind the opening fence begin.
    content: usize,
    /// Where what is repeated may begin. What stands from there to the end stands nowhere else in the block: lines that occur
    /// twice do not say from which of the two places the model goes on.
    seams: Vec<usize>,
    /// Which of them the model is asked for.
    asked: usize,
}

/// A reply that was asked to go on with a block, as long as it is not known whether it does.
#[derive(Debug)]
pub(super) struct Continuation {
    pub(super) broken: Broken,
    /// What came of it.
    pub(super) said: String,
    reasoning: LeadingReasoning,
}

impl Continuation {
    pub(super) fn new(broken: Broken, reasoning: Reasoning) -> Continuation {
        Continuation { broken, said: String::new(), reasoning: LeadingReasoning::new(reasoning) }
    }

    /// Whether it goes on with the block, by what came so far.
    pub(super) fn push(&mut self, chunk: &str) -> Look {
        self.said.push_str(chunk);
        let Some(begin) = self.reasoning.end(&self.said) else { return Look::Undecided };
        match self.broken.look(&self.said[begin..]) {
            Look::GoesOn(end) => Look::GoesOn(begin + end),
            look => look,
        }
    }
}

/// What the beginning of a reply is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Too little to say.
    Undecided,
    /// It goes on behind so many bytes.
    GoesOn(usize),
    /// Something else.
    Other,
}

impl Broken {
    /// The block that opens at `start` and at whose inside `reply` ended. `None` where too little came to go on from.
    pub(super) fn new(reply: &str, start: usize) -> Option<Broken> {
        let text = reply.trim_end_matches(|c: char| c.is_whitespace() || c == char::REPLACEMENT_CHARACTER);
        let block = text.get(start..)?;
        let content = start + block.find('\n').map_or(0, |end| end + 1);
        let mut broken = Broken { text: text.to_owned(), start, content, seams: Vec::new(), asked: 0 };
        // The last line is whole only where its end came.
        let whole = reply[text.len()..].contains('\n');
        broken.asked = broken.lines(whole).or_else(|| broken.middle_of_line())?;
        Some(broken)
    }

    /// What the model is asked to repeat.
    pub(super) fn repeated(&self) -> &str {
        &self.text[self.asked..]
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Finds the lines from which the model may go on; gives where the last whole line begins, or as many lines before it as
    /// are needed.
    fn lines(&mut self, last_is_whole: bool) -> Option<usize> {
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
            let unique = !self.seams.is_empty() || {
                searches += usize::from(self.text.len() - seam >= SHORTEST);
                searches <= MOST_SEARCHES && self.is_unique(seam)
            };
            if unique {
                self.seams.push(seam);
                if line > 0 || last_is_whole {
                    asked = asked.or(Some(seam));
                }
            }
            end = begin.saturating_sub(1);
        }
        asked
    }

    /// Where the last line is too long to be repeated, as JSON on one line is: a place in it.
    fn middle_of_line(&mut self) -> Option<usize> {
        let mut length = 2 * SHORTEST;
        while length <= LONGEST {
            let from = self.text.len().checked_sub(length).filter(|from| *from >= self.content)?;
            let from = (from..self.text.len()).find(|at| self.text.is_char_boundary(*at))?;
            // Tokens rarely go across a blank, so a model repeats best from behind one.
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

    /// Whether the reply goes on with the block: at its beginning, or behind the opening line of the block written again, stand
    /// the last lines of the block.
    pub(super) fn look(&self, reply: &str) -> Look {
        let begin = reply.len() - reply.trim_start().len();
        if begin > LONGEST {
            return Look::Other;
        }
        let at_once = self.look_from(reply, begin, &self.seams);
        let Some(line) = reply[begin..].split_inclusive('\n').next() else { return Look::Undecided };
        if matches!(at_once, Look::GoesOn(_)) {
            return at_once;
        }
        let behind_fence = if line.ends_with('\n') {
            let opens = fence::opening(line.trim_end()).is_some()
                || line.trim_end() == self.text[self.start..self.content].trim_end();
            // What begins with the block's first line as well is the whole block again.
            let first = self.text[self.content..].trim_start();
            let whole = self.text.len() - first.len();
            let seams = &self.seams[..self.seams.len() - usize::from(self.seams.last() == Some(&whole))];
            let begin = reply.len() - reply[begin + line.len()..].trim_start().len();
            if opens { self.look_from(reply, begin, seams) } else { Look::Other }
        } else if line.len() <= LONGEST {
            Look::Undecided
        } else {
            Look::Other
        };
        match (at_once, behind_fence) {
            (Look::Other, behind_fence) => behind_fence,
            (at_once, Look::Other) => at_once,
            (_, goes_on @ Look::GoesOn(_)) => goes_on,
            _ => Look::Undecided,
        }
    }

    fn look_from(&self, reply: &str, begin: usize, seams: &[usize]) -> Look {
        let said = &reply[begin..];
        let mut look = Look::Other;
        for seam in seams {
            let repeated = &self.text[*seam..];
            if said.starts_with(repeated) {
                return Look::GoesOn(begin + repeated.len());
            }
            if repeated.starts_with(said) {
                look = Look::Undecided;
            }
        }
        look
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
    fn lines_that_stand_twice_are_not_enough() {
        let lines = "    the very same line again and again;\n";
        let one = broken(&format!("```tool\n{{}}\nfirst\n{lines}second\n{lines}"));
        assert_eq!(one.repeated(), "second\n    the very same line again and again;");
        let two = broken(&format!("```tool\n{{}}\nfirst\n{lines}second\n{lines}{lines}"));
        assert_eq!(two.repeated().lines().count(), 2, "{}", two.repeated());
        assert!(Broken::new(&format!("```tool\n{{}}\n{}", lines.repeat(400)), 0).is_none());
        assert!(Broken::new("```tool\n{\"name\": \"a\"", 0).is_none(), "too little");
    }

    #[test]
    fn a_long_line_is_taken_up_in_its_middle() {
        let words: String = (0..900).map(|number| format!("word {number}\\n")).collect();
        let long = broken(&format!("```tool\n{{\"name\": \"write_file\", \"args\": {{\"content\": \"{words}"));
        assert!((32..=64).contains(&long.repeated().len()) && long.repeated().ends_with("899\\n"), "{long:?}");
    }

    #[test]
    fn a_reply_goes_on_only_where_it_repeats_exactly() {
        let broken = broken(HEAD);
        let repeated = broken.repeated();
        let more = format!("{repeated}ond();\n}}\nEOF\n```\n");
        assert_eq!(broken.look(&more), Look::GoesOn(repeated.len()));
        let fenced = format!(" \n```tool\n    {more}");
        assert_eq!(broken.look(&fenced), Look::GoesOn(fenced.len() - more.len() + repeated.len()));
        // More lines than it was asked for.
        assert!(matches!(broken.look(&format!("fn one() {{\n    {more}")), Look::GoesOn(_)));
        for end in 0..more.len() {
            let wanted = if end < repeated.len() { Look::Undecided } else { Look::GoesOn(repeated.len()) };
            assert_eq!(broken.look(&more[..end]), wanted, "{end} bytes");
        }
        for at in 0..repeated.len() {
            let mut changed = more.clone().into_bytes();
            changed[at] ^= 1;
            let changed = String::from_utf8(changed).expect("it is ASCII");
            assert_eq!(broken.look(&changed), Look::Other, "byte {at}");
        }
        assert_eq!(broken.look(&HEAD[4..]), Look::Other, "the whole block again");
        assert_eq!(broken.look("I will do something else then.\n"), Look::Other);
    }
}
