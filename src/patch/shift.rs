//! How the indentation of a hunk's lines differs from that of the file's, and what added lines make of it.

/// Lines above and below an added one whose indentation is looked at.
const MOST_LOOKED_AT: usize = 64;

/// Indentation as the patch has it, and as the file has it, line by line.
#[derive(Debug, Default)]
pub(super) struct Shift<'a> {
    pairs: Vec<(&'a [u8], &'a [u8])>,
    rule: Rule<'a>,
}

/// One rule for all lines, where there is one.
#[derive(Debug, Default, PartialEq, Eq)]
enum Rule<'a> {
    #[default]
    None,
    /// The file has this before.
    More(&'a [u8]),
    /// The patch has this before.
    Less(&'a [u8]),
    /// So many spaces of the patch are one tab of the file.
    Tabs(usize),
    /// One tab of the patch is so many spaces of the file.
    Spaces(usize),
}

/// The blanks at the beginning of a line.
fn indent(line: &[u8]) -> &[u8] {
    &line[..line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()]
}

impl<'a> Shift<'a> {
    /// Of lines that were taken for the same: the patch's and the file's.
    pub(super) fn of(lines: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Shift<'a> {
        let filled = lines.filter(|(patch, _)| !patch.trim_ascii().is_empty());
        let pairs: Vec<_> = filled.map(|(patch, file)| (indent(patch), indent(file))).collect();
        if pairs.iter().all(|(patch, file)| patch == file) {
            return Shift::default();
        }
        let rule = rule(&pairs);
        Shift { pairs, rule }
    }

    /// The indentation an added line gets, and the rest of it. `before` is how many of the lines stood before it.
    pub(super) fn apply<'l>(&self, line: &'l [u8], before: usize) -> (Vec<u8>, &'l [u8]) {
        let (own, rest) = line.split_at(indent(line).len());
        if self.pairs.is_empty() || rest.trim_ascii().is_empty() {
            return (own.to_vec(), rest);
        }
        let indented = self.same_indent(own, before).map(<[u8]>::to_vec).or_else(|| self.by_rule(own));
        (indented.unwrap_or_else(|| self.beside(own, before)), rest)
    }

    /// What the file made of the same indentation in the nearest line.
    fn same_indent(&self, own: &[u8], before: usize) -> Option<&'a [u8]> {
        let (above, below) = self.pairs.split_at(before.min(self.pairs.len()));
        let mut nearest = above.iter().rev().take(MOST_LOOKED_AT).chain(below.iter().take(MOST_LOOKED_AT));
        nearest.find(|(patch, _)| *patch == own).map(|(_, file)| *file)
    }

    fn by_rule(&self, own: &[u8]) -> Option<Vec<u8>> {
        match self.rule {
            Rule::None => None,
            Rule::More(more) => Some([more, own].concat()),
            Rule::Less(less) => own.strip_prefix(less).map(<[u8]>::to_vec),
            Rule::Tabs(width) => own.iter().all(|byte| *byte == b' ').then(|| {
                let (tabs, spaces) = (own.len() / width, own.len() % width);
                [vec![b'\t'; tabs], vec![b' '; spaces]].concat()
            }),
            Rule::Spaces(width) => own.iter().all(|byte| *byte == b'\t').then(|| vec![b' '; own.len() * width]),
        }
    }

    /// As much deeper or less deep than the nearest line as the patch says.
    fn beside(&self, own: &[u8], before: usize) -> Vec<u8> {
        let near = self.pairs[..before.min(self.pairs.len())].last().or(self.pairs.first());
        let Some((patch, file)) = near else { return own.to_vec() };
        if let Some(deeper) = own.strip_prefix(*patch) {
            return [*file, deeper].concat();
        }
        let less = patch.strip_prefix(own).and_then(|less| file.strip_suffix(less));
        less.map_or_else(|| own.to_vec(), <[u8]>::to_vec)
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
    let swapped: Vec<_> = pairs.iter().map(|(patch, file)| (*file, *patch)).collect();
    one_width(pairs).map(Rule::Tabs).or_else(|| one_width(&swapped).map(Rule::Spaces)).unwrap_or_default()
}

/// How many spaces on the one side are a tab on the other, if it is the same in all lines.
fn one_width(pairs: &[(&[u8], &[u8])]) -> Option<usize> {
    let mut widths = pairs.iter().filter(|(one, other)| !one.is_empty() || !other.is_empty()).map(width);
    let first = widths.next()??;
    (first > 0 && widths.all(|width| width == Some(first))).then_some(first)
}

fn width((spaces, tabs): &(&[u8], &[u8])) -> Option<usize> {
    let pure = spaces.iter().all(|byte| *byte == b' ') && tabs.iter().all(|byte| *byte == b'\t');
    (pure && !tabs.is_empty() && spaces.len().is_multiple_of(tabs.len())).then(|| spaces.len() / tabs.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(pairs: &[(&str, &str)], line: &str, before: usize) -> String {
        let pairs = pairs.iter().map(|(patch, file)| (patch.as_bytes(), file.as_bytes()));
        let (indent, rest) = Shift::of(pairs).apply(line.as_bytes(), before);
        String::from_utf8([&indent, rest].concat()).unwrap()
    }

    #[test]
    fn added_lines_follow_the_lines_around_them() {
        assert_eq!(shifted(&[("a", "    a")], "  b", 1), "      b");
        assert_eq!(shifted(&[("    a", "a")], "      b", 1), "  b");
        assert_eq!(shifted(&[("    a", "\ta")], "        b", 1), "\t\tb");
        assert_eq!(shifted(&[("    a", "\ta")], "      b", 1), "\t  b");
        assert_eq!(shifted(&[("\ta", "  a"), ("b", "b")], "\t\tc", 1), "    c");
        assert_eq!(shifted(&[("    a", "    a")], " b", 1), " b");
        assert_eq!(shifted(&[("  a", "  a"), ("  b", "    b")], "  c", 1), "  c");
        assert_eq!(shifted(&[("  a", "  a"), ("  b", "    b")], "  c", 2), "    c");
        assert_eq!(shifted(&[("a", "    a")], "", 1), "");
    }
}
