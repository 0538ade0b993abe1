//! Finds how the indentation of a hunk's lines differs from the file's, and shifts added lines in the same way.
//!
//! If the lines disagree, nothing is shifted: wrongly indented lines may mean something else.

use super::miss::is_hidden;
use std::collections::BTreeMap;

/// The longest indentation in bytes to convert. A short patch could turn longer ones into gigabytes: each added line
/// may get as many spaces for each of its tabs as a line of the file has.
const MOST_INDENT: usize = 256;

/// How to convert indentations of the patch to those of the file. `images` has the pairs that the old lines show, with
/// `None` where they disagree; `rule` is for all others.
#[derive(Debug, Clone, Default)]
pub(super) struct Shift<'a> {
    is_told: bool,
    images: BTreeMap<&'a [u8], Option<&'a [u8]>>,
    rule: Rule<'a>,
}

/// A rule that holds for all lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Rule<'a> {
    #[default]
    None,
    /// The indentation is the same, as for most lines.
    Same,
    /// The file has these blanks in addition.
    More(&'a [u8]),
    /// The patch has these blanks in addition.
    Less(&'a [u8]),
    /// This many spaces of the patch are one tab of the file.
    Tabs(usize),
    /// One tab of the patch is this many spaces of the file.
    Spaces(usize),
    /// The first number of spaces in the patch is the second number in the file.
    Times(usize, usize),
}

impl Rule<'_> {
    /// Returns the file's indentation for one of the patch.
    pub(super) fn apply(&self, own: &[u8]) -> Option<Vec<u8>> {
        if own.len() > MOST_INDENT && *self != Rule::Same {
            return None;
        }
        let all = |blank: u8| own.iter().all(|byte| *byte == blank);
        match *self {
            Rule::None => None,
            Rule::Same => Some(own.to_vec()),
            Rule::More(more) => Some([more, own].concat()),
            Rule::Less(less) => own.strip_prefix(less).map(<[u8]>::to_vec),
            // Lines with tabs are already indented like the file.
            Rule::Tabs(_) if own.starts_with(b"\t") => steps(own).map(|_| own.to_vec()),
            Rule::Tabs(width) => {
                let (tabs, spaces) = (own.len() / width, own.len() % width);
                // With eight spaces to a tab, four may be a step of their own: the line may be one step too deep.
                let is_whole = all(b' ') && !(width == 8 && spaces == 4);
                is_whole.then(|| [vec![b'\t'; tabs], vec![b' '; spaces]].concat())
            }
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

/// A line of the patch, the line of the file it matched, and whether it is removed.
pub(super) type Pair<'a> = (&'a [u8], &'a [u8], bool);

/// Returns the blanks at the beginning of a line.
pub(super) fn indent(line: &[u8]) -> &[u8] {
    &line[..line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()]
}

/// Returns whether the indentation is followed by a blank of another kind: a no-break space, a form feed, and so on.
pub(super) fn is_blind(line: &[u8]) -> bool {
    let rest = &line[indent(line).len()..];
    let first = rest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    first.is_some_and(|c| (c.is_whitespace() && rest != b"\r") || is_hidden(c))
}

impl<'a> Shift<'a> {
    /// Finds the shift between pairs of matching lines.
    pub(super) fn find(lines: impl Iterator<Item = Pair<'a>>) -> Shift<'a> {
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
            return Shift { is_told: true, images, rule: Rule::None };
        }
        // Lines at the margin are equal in every unit, so they say nothing against one.
        let units = units(&pairs);
        let mostly_same = units.is_none() && times(&pairs).is_none() && 2 * same >= lines.len();
        let mut images: BTreeMap<&[u8], Option<&[u8]>> = BTreeMap::new();
        for (patch, file, removed) in &lines {
            // A single shifted line is evidence only for the line that replaces it.
            let image = Some(*file).filter(|_| patch == file || *removed || !mostly_same);
            images.entry(patch).and_modify(|known| *known = known.filter(|_| *known == image)).or_insert(image);
        }
        let rule = if mostly_same { Rule::Same } else { units.unwrap_or_else(|| rule(&pairs)) };
        Shift { is_told: true, images, rule }
    }

    /// Returns the conversion between tabs and spaces that all shifts with such a conversion have in common. `None` if
    /// none has one or if they differ.
    pub(super) fn agreed(shifts: &[Shift<'_>]) -> Option<Shift<'a>> {
        let mut units = shifts.iter().filter_map(|shift| match shift.rule {
            Rule::Tabs(width) => Some(Rule::Tabs(width)),
            Rule::Spaces(width) => Some(Rule::Spaces(width)),
            _ => None,
        });
        let rule = units.next()?;
        units.all(|other| other == rule).then(|| Shift { rule, ..Shift::default() })
    }

    /// Returns whether the shift converts between tabs and spaces.
    pub(super) fn is_of_units(&self) -> bool {
        matches!(self.rule, Rule::Tabs(_) | Rule::Spaces(_))
    }

    /// Returns whether one rule shifts all lines.
    pub(super) fn moves_all(&self) -> bool {
        matches!(self.rule, Rule::More(_) | Rule::Less(_) | Rule::Times(..))
    }

    /// Returns whether lines are shifted by whole steps of `unit` spaces.
    pub(super) fn is_whole(&self, unit: usize) -> bool {
        match self.rule {
            Rule::More(moved) | Rule::Less(moved) => moved.contains(&b'\t') || moved.len().is_multiple_of(unit),
            _ => true,
        }
    }

    /// Returns the indentation for an added line, and the rest of the line; `None` if that is ambiguous.
    pub(super) fn apply<'l>(&self, line: &'l [u8]) -> Option<(Vec<u8>, &'l [u8])> {
        let (own, rest) = line.split_at(indent(line).len());
        // The blanks of a blank line are no indentation, so they stay as written.
        if rest.trim_ascii().is_empty() {
            return Some((own.to_vec(), rest));
        }
        if !self.is_told {
            return Some((self.rule.apply(own).unwrap_or_else(|| own.to_vec()), rest));
        }
        // An old line with the same indentation is the best evidence; the rule is for indentations that no old line
        // has.
        let image = match self.images.get(own) {
            Some(image) => image.map(<[u8]>::to_vec)?,
            None => self.rule.apply(own)?,
        };
        Some((image, rest))
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

/// Finds a conversion between tabs and spaces with one width in all lines.
fn units<'a>(pairs: &[(&[u8], &[u8])]) -> Option<Rule<'a>> {
    let (patch, file) = pairs.iter().find(|(patch, file)| patch != file)?;
    let rule = width(patch, file).map(Rule::Tabs).or_else(|| width(file, patch).map(Rule::Spaces))?;
    pairs.iter().all(|(patch, file)| rule.apply(patch).as_deref() == Some(*file)).then_some(rule)
}

/// Finds a conversion between steps of different widths.
fn times<'a>(pairs: &[(&[u8], &[u8])]) -> Option<Rule<'a>> {
    let spaces = |indent: &[u8]| indent.iter().all(|byte| *byte == b' ');
    let (patch, file) = pairs.iter().map(|(patch, file)| (patch.len(), file.len())).find(|lengths| lengths.0 > 0)?;
    let alike = |(one, other): &(&[u8], &[u8])| spaces(one) && spaces(other) && one.len() * file == other.len() * patch;
    (file > 0 && pairs.iter().all(alike)).then_some(Rule::Times(patch, file))
}

/// Returns the number of spaces on one side per tab on the other. Spaces that align a line after its tabs are the same
/// on both sides.
fn width(spaces: &[u8], tabs: &[u8]) -> Option<usize> {
    let (tabs, aligned) = steps(tabs)?;
    let steps = spaces.len().checked_sub(aligned).filter(|_| tabs > 0 && !spaces.contains(&b'\t'))?;
    (steps > 0 && steps.is_multiple_of(tabs)).then(|| steps / tabs)
}

/// Returns the number of tabs in an indentation, and of spaces after them.
fn steps(indent: &[u8]) -> Option<(usize, usize)> {
    let tabs = indent.iter().take_while(|byte| **byte == b'\t').count();
    let spaces = &indent[tabs..];
    spaces.iter().all(|byte| *byte == b' ').then_some((tabs, spaces.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(pairs: &[(&str, &str)], line: &str) -> Option<String> {
        let pairs = pairs.iter().map(|(patch, file)| (patch.as_bytes(), file.as_bytes(), false));
        let (indent, rest) = Shift::find(pairs).apply(line.as_bytes())?;
        Some(String::from_utf8([&indent, rest].concat()).unwrap())
    }

    #[test]
    fn added_lines_follow_the_lines_around_them() {
        for (pairs, line, want) in [
            (&[("a", "    a")][..], "  b", "      b"),
            (&[("    a", "a")], "      b", "  b"),
            (&[("    a", "\ta")], "        b", "\t\tb"),
            (&[("    a", "\ta")], "      b", "\t  b"),
            (&[("\ta", "  a"), ("\t\tb", "    b"), ("c", "c")], "\t\t\td", "      d"),
            (&[("\ta", "  a"), ("b", "b"), ("c", "c")], "\t\t d", "     d"),
            (&[("\ta", "    a"), ("\t b", "     b"), (" * c", " * c")], "\t\t d", "         d"),
            (&[("    a", "\ta"), ("     b", "\t b"), (" * c", " * c")], "         d", "\t\t d"),
            (&[("  a", "    a"), ("    b", "        b")], "      c", "            c"),
            (&[("    a", "    a")], " b", " b"),
            (&[("a", "    a")], "", ""),
        ] {
            assert_eq!(shifted(pairs, line).as_deref(), Some(want), "{pairs:?}");
        }
    }

    #[test]
    fn contradicting_lines_are_ambiguous() {
        let lines = [("a", "a"), ("b", "    b"), ("    c", "    c")];
        assert_eq!(shifted(&lines, "d"), None);
        assert_eq!(shifted(&lines, "    d").as_deref(), Some("    d"));
        assert_eq!(shifted(&lines, "        d").as_deref(), Some("        d"));
        assert_eq!(shifted(&[("a", "    a"), ("b", "  b")], "c"), None);
    }

    #[test]
    fn short_lines_do_not_grow_large() {
        let (tabs, long) = ("\t".repeat(100_000), " ".repeat(100_000));
        assert_eq!(shifted(&[("\ta", &format!("{long}a"))], &format!("{tabs}b")), None);
        assert_eq!(shifted(&[("a", &format!("{long}a"))], "b"), None);
        assert_eq!(shifted(&[(" a", "  a")], &format!("{long}b")), None);
        assert_eq!(shifted(&[("\ta", "    a")], &format!("{tabs}b")), None);
    }

    #[test]
    fn a_replacement_gets_the_indentation_of_its_line() {
        let shift = Shift::find([(&b"   a"[..], &b"    a"[..], true), (b"    b", b"    b", false)].into_iter());
        assert_eq!(shift.apply(b"   c"), Some((b"    ".to_vec(), &b"c"[..])));
    }
}
