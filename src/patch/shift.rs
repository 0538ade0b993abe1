//! How the indentation of a hunk's lines differs from that of the file's, and what added lines make of it.
//!
//! Where the lines disagree about that, nothing is made of it: wrongly indented lines may mean something else.

use std::collections::BTreeMap;

/// Bytes of an indentation that something is made of. Of longer ones a short patch would make gigabytes: each added line
/// may get as many spaces for each of its tabs as a line of the file has.
const MOST_INDENT: usize = 256;

/// What the file has for each indentation of the patch; nothing, where it has several.
#[derive(Debug, Clone, Default)]
pub(super) struct Shift<'a> {
    pairs: Vec<(&'a [u8], &'a [u8])>,
    images: BTreeMap<&'a [u8], Option<&'a [u8]>>,
    rule: Rule<'a>,
}

/// One rule for all lines, where there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Rule<'a> {
    #[default]
    None,
    /// As it is: most lines are.
    Same,
    /// The file has this before.
    More(&'a [u8]),
    /// The patch has this before.
    Less(&'a [u8]),
    /// So many spaces of the patch are one tab of the file.
    Tabs(usize),
    /// One tab of the patch is so many spaces of the file.
    Spaces(usize),
    /// So many spaces of the patch are so many of the file.
    Times(usize, usize),
}

impl Rule<'_> {
    fn apply(&self, own: &[u8]) -> Option<Vec<u8>> {
        if own.len() > MOST_INDENT && *self != Rule::Same {
            return None;
        }
        let all = |blank: u8| own.iter().all(|byte| *byte == blank);
        match *self {
            Rule::None => None,
            Rule::Same => Some(own.to_vec()),
            Rule::More(more) => Some([more, own].concat()),
            Rule::Less(less) => own.strip_prefix(less).map(<[u8]>::to_vec),
            Rule::Tabs(width) => all(b' ').then(|| {
                let (tabs, spaces) = (own.len() / width, own.len() % width);
                [vec![b'\t'; tabs], vec![b' '; spaces]].concat()
            }),
            Rule::Spaces(width) => {
                let (tabs, aligned) = steps(own)?;
                Some(vec![b' '; tabs * width + aligned])
            }
            Rule::Times(patch, file) => {
                let steps = all(b' ') && (own.len() * file).is_multiple_of(patch);
                steps.then(|| vec![b' '; own.len() * file / patch])
            }
        }
    }
}

/// A line of the patch, the line of the file it was taken for, and whether it is removed.
pub(super) type Pair<'a> = (&'a [u8], &'a [u8], bool);

/// The blanks at the beginning of a line.
fn indent(line: &[u8]) -> &[u8] {
    &line[..line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()]
}

impl<'a> Shift<'a> {
    /// Of lines that were taken for the same.
    pub(super) fn of(lines: impl Iterator<Item = Pair<'a>>) -> Shift<'a> {
        let filled = lines.filter(|(patch, ..)| !patch.trim_ascii().is_empty());
        let lines: Vec<_> = filled.map(|(patch, file, removed)| (indent(patch), indent(file), removed)).collect();
        let same = lines.iter().filter(|(patch, file, _)| patch == file).count();
        if same == lines.len() {
            return Shift::default();
        }
        let pairs: Vec<_> = lines.iter().map(|(patch, file, _)| (*patch, *file)).collect();
        let too_long = pairs.iter().any(|(patch, file)| patch != file && patch.len().max(file.len()) > MOST_INDENT);
        if too_long {
            let images = pairs.iter().map(|(patch, _)| (*patch, None)).collect();
            return Shift { pairs, images, rule: Rule::None };
        }
        // Lines at the margin are the same whatever an indentation is made of.
        let units = units(&pairs);
        let mostly_same = units.is_none() && 2 * same >= lines.len();
        let mut images: BTreeMap<&[u8], Option<&[u8]>> = BTreeMap::new();
        for (patch, file, removed) in &lines {
            // One line that is off says something only of what replaces it.
            let image = Some(*file).filter(|_| patch == file || *removed || !mostly_same);
            images.entry(patch).and_modify(|known| *known = known.filter(|_| *known == image)).or_insert(image);
        }
        let rule = if mostly_same { Rule::Same } else { units.unwrap_or_else(|| rule(&pairs)) };
        Shift { pairs, images, rule }
    }

    /// What tabs are in the file, or spaces, where some of these say it and all that do say the same.
    pub(super) fn agreed(shifts: &[Shift<'_>]) -> Option<Shift<'a>> {
        let mut units = shifts.iter().filter_map(|shift| match shift.rule {
            Rule::Tabs(width) => Some(Rule::Tabs(width)),
            Rule::Spaces(width) => Some(Rule::Spaces(width)),
            _ => None,
        });
        let rule = units.next()?;
        units.all(|other| other == rule).then(|| Shift { rule, ..Shift::default() })
    }

    /// The indentation an added line gets, and the rest of it; `None` where that is in doubt. `before` is how many of the
    /// lines stood before it.
    pub(super) fn apply<'l>(&self, line: &'l [u8], before: usize) -> Option<(Vec<u8>, &'l [u8])> {
        let (own, rest) = line.split_at(indent(line).len());
        if rest.trim_ascii().is_empty() {
            return Some((own.to_vec(), rest));
        }
        if self.pairs.is_empty() {
            return Some((self.rule.apply(own).unwrap_or_else(|| own.to_vec()), rest));
        }
        let image = match self.images.get(own) {
            Some(image) => image.map(<[u8]>::to_vec)?,
            None => self.rule.apply(own).or_else(|| self.beside(own, before).filter(|_| own.len() <= MOST_INDENT))?,
        };
        Some((image, rest))
    }

    /// As much deeper or less deep than the nearest line as the patch says, unless lines contradict each other.
    fn beside(&self, own: &[u8], before: usize) -> Option<Vec<u8>> {
        if self.images.values().any(Option::is_none) {
            return None;
        }
        let (patch, file) = self.pairs[..before.min(self.pairs.len())].last().or(self.pairs.first())?;
        if let Some(deeper) = own.strip_prefix(*patch) {
            return Some([*file, deeper].concat());
        }
        let less = patch.strip_prefix(own)?;
        file.strip_suffix(less).map(<[u8]>::to_vec)
    }
}

fn rule<'a>(pairs: &[(&'a [u8], &'a [u8])]) -> Rule<'a> {
    let Some((patch, file)) = pairs.first().copied() else { return Rule::None };
    if let Some(more) = file.strip_suffix(patch)
        && pairs.iter().all(|(patch, file)| file.strip_prefix(more) == Some(patch))
    {
        return Rule::More(more);
    }
    if let Some(less) = patch.strip_suffix(file)
        && pairs.iter().all(|(patch, file)| patch.strip_prefix(less) == Some(file))
    {
        return Rule::Less(less);
    }
    times(pairs).unwrap_or_default()
}

/// Tabs on the one side are spaces on the other, of one width in all lines.
fn units<'a>(pairs: &[(&[u8], &[u8])]) -> Option<Rule<'a>> {
    let (patch, file) = pairs.iter().find(|(patch, file)| patch != file)?;
    let rule = width(patch, file).map(Rule::Tabs).or_else(|| width(file, patch).map(Rule::Spaces))?;
    pairs.iter().all(|(patch, file)| rule.apply(patch).as_deref() == Some(*file)).then_some(rule)
}

/// Steps of another width.
fn times<'a>(pairs: &[(&[u8], &[u8])]) -> Option<Rule<'a>> {
    let spaces = |indent: &[u8]| indent.iter().all(|byte| *byte == b' ');
    let (patch, file) = pairs.iter().map(|(patch, file)| (patch.len(), file.len())).find(|lengths| lengths.0 > 0)?;
    let alike = |(one, other): &(&[u8], &[u8])| spaces(one) && spaces(other) && one.len() * file == other.len() * patch;
    (file > 0 && pairs.iter().all(alike)).then_some(Rule::Times(patch, file))
}

/// How many spaces on the one side are a tab on the other. What aligns a line behind its tabs is the same on both sides.
fn width(spaces: &[u8], tabs: &[u8]) -> Option<usize> {
    let (tabs, aligned) = steps(tabs)?;
    let steps = spaces.len().checked_sub(aligned).filter(|_| tabs > 0 && !spaces.contains(&b'\t'))?;
    (steps > 0 && steps.is_multiple_of(tabs)).then(|| steps / tabs)
}

/// How many tabs an indentation has, and how many spaces behind them.
fn steps(indent: &[u8]) -> Option<(usize, usize)> {
    let tabs = indent.iter().take_while(|byte| **byte == b'\t').count();
    let spaces = &indent[tabs..];
    spaces.iter().all(|byte| *byte == b' ').then_some((tabs, spaces.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(pairs: &[(&str, &str)], line: &str, before: usize) -> Option<String> {
        let pairs = pairs.iter().map(|(patch, file)| (patch.as_bytes(), file.as_bytes(), false));
        let (indent, rest) = Shift::of(pairs).apply(line.as_bytes(), before)?;
        Some(String::from_utf8([&indent, rest].concat()).unwrap())
    }

    #[test]
    fn added_lines_follow_the_lines_around_them() {
        for (pairs, line, before, want) in [
            (&[("a", "    a")][..], "  b", 1, "      b"),
            (&[("    a", "a")], "      b", 1, "  b"),
            (&[("    a", "\ta")], "        b", 1, "\t\tb"),
            (&[("    a", "\ta")], "      b", 1, "\t  b"),
            (&[("\ta", "  a"), ("\t\tb", "    b"), ("c", "c")], "\t\t\td", 1, "      d"),
            (&[("\ta", "  a"), ("b", "b"), ("c", "c")], "\t\t d", 1, "     d"),
            (&[("\ta", "    a"), ("\t b", "     b"), (" * c", " * c")], "\t\t d", 1, "         d"),
            (&[("    a", "\ta"), ("     b", "\t b"), (" * c", " * c")], "         d", 1, "\t\t d"),
            (&[("  a", "    a"), ("    b", "        b")], "      c", 1, "            c"),
            (&[("    a", "    a")], " b", 1, " b"),
            (&[("a", "    a")], "", 1, ""),
        ] {
            assert_eq!(shifted(pairs, line, before).as_deref(), Some(want), "{pairs:?}");
        }
    }

    #[test]
    fn lines_that_contradict_each_other_leave_a_doubt() {
        let lines = [("a", "a"), ("b", "    b"), ("    c", "    c")];
        assert_eq!(shifted(&lines, "d", 2), None);
        assert_eq!(shifted(&lines, "    d", 2).as_deref(), Some("    d"));
        assert_eq!(shifted(&lines, "        d", 2).as_deref(), Some("        d"));
        assert_eq!(shifted(&[("a", "    a"), ("b", "  b")], "c", 1), None);
    }

    #[test]
    fn little_text_does_not_become_much() {
        let (tabs, long) = ("\t".repeat(100_000), " ".repeat(100_000));
        assert_eq!(shifted(&[("\ta", &format!("{long}a"))], &format!("{tabs}b"), 1), None);
        assert_eq!(shifted(&[("a", &format!("{long}a"))], "b", 1), None);
        assert_eq!(shifted(&[(" a", "  a")], &format!("{long}b"), 1), None);
        assert_eq!(shifted(&[("\ta", "    a")], &format!("{tabs}b"), 1), None);
    }

    #[test]
    fn a_line_that_replaces_one_goes_where_that_was() {
        let shift = Shift::of([(&b"   a"[..], &b"    a"[..], true), (b"    b", b"    b", false)].into_iter());
        assert_eq!(shift.apply(b"   c", 1), Some((b"    ".to_vec(), &b"c"[..])));
    }
}
