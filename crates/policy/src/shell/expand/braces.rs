//! Brace expansion: `a{b,c}` and `{1..3}`, the first expansion the shell does.

use super::lexer::Atom;
use super::{MOST_VALUES, MOST_WORDS};
use crate::shell::syntax::MOST_DEPTH;

/// The words that atoms with braces stand for; one unknown word where there are too many.
pub(crate) fn expand(atoms: &[Atom]) -> Vec<Vec<Atom>> {
    if !atoms.contains(&bare('{')) {
        return vec![atoms.to_vec()];
    }
    match words(atoms, 0) {
        Some(words) => words,
        None => vec![vec![Atom::Unknown]],
    }
}

fn bare(c: char) -> Atom {
    Atom::Char { c, quoted: false }
}

fn words(atoms: &[Atom], depth: usize) -> Option<Vec<Vec<Atom>>> {
    if depth > MOST_DEPTH {
        return None;
    }
    let Some((open, close, choices)) = first_group(atoms) else { return Some(vec![atoms.to_vec()]) };
    let mut middles = Vec::new();
    for choice in choices {
        middles.extend(words(&choice, depth + 1)?);
    }
    let mut out = Vec::new();
    for tail in words(&atoms[close + 1..], depth + 1)? {
        for middle in &middles {
            out.push([&atoms[..open], middle.as_slice(), tail.as_slice()].concat());
        }
    }
    (out.len() <= MOST_WORDS).then_some(out)
}

/// The first group that has a comma or a range: where it opens, where it closes, and what it offers.
fn first_group(atoms: &[Atom]) -> Option<(usize, usize, Vec<Vec<Atom>>)> {
    let opens = (0..atoms.len()).filter(|&at| atoms[at] == bare('{'));
    // Braces that are none would be tried one by one: a few are enough.
    opens.take(MOST_VALUES).find_map(|open| {
        let (range_end, list) = matching(atoms, open);
        let Some((close, commas)) = list else {
            let close = range_end?;
            return Some((open, close, range(&atoms[open + 1..close])?));
        };
        // `{a..b},c}` ends at its first closer, `{a.''.b},c}` at its last, and the quotes left no trace. `{},c}` is a group
        // only where something stands before it, and an empty text would have left no trace either.
        let empty_first = open == 0 && atoms.get(1) == Some(&bare('}'));
        if range_end.is_some() || empty_first {
            return Some((open, close, vec![vec![Atom::Unknown]]));
        }
        Some((open, close, split(&atoms[open + 1..close], open + 1, &commas)))
    })
}

/// Where the brace at `open` closes if it is a range, and where if it is a list, with the commas that are its own. A closer
/// with neither a comma nor two dots before it is text, as in `{a},b}`, which is `a}` and `b`.
fn matching(atoms: &[Atom], open: usize) -> (Option<usize>, Option<(usize, Vec<usize>)>) {
    let (mut depth, mut commas) = (0, Vec::new());
    let (mut dots, mut range_end) = (false, None);
    for (at, atom) in atoms.iter().enumerate().skip(open) {
        let Atom::Char { c, quoted: false } = atom else { continue };
        match c {
            '{' => depth += 1,
            '}' if depth == 1 && !commas.is_empty() => return (range_end, Some((at, commas))),
            '}' if depth == 1 => range_end = range_end.or(dots.then_some(at)),
            '}' => depth -= 1,
            ',' if depth == 1 => commas.push(at),
            '.' if depth == 1 => dots |= atoms.get(at + 1) == Some(atom) && atoms.get(at + 2) != Some(&bare('}')),
            _ => {}
        }
    }
    (range_end, None)
}

fn split(atoms: &[Atom], offset: usize, commas: &[usize]) -> Vec<Vec<Atom>> {
    let ends = commas.iter().map(|at| at - offset).chain([atoms.len()]);
    let mut from = 0;
    ends.map(|end| {
        let choice = atoms[from..end].to_vec();
        from = end + 1;
        choice
    })
    .collect()
}

/// `1..3` or `a..c`, each counted up or down; too many become one unknown word.
fn range(atoms: &[Atom]) -> Option<Vec<Vec<Atom>>> {
    let text: Option<String> = atoms
        .iter()
        .map(|atom| match atom {
            Atom::Char { c, quoted: false } => Some(*c),
            _ => None,
        })
        .collect();
    let text = text?;
    let (first, last) = text.split_once("..")?;
    let (Some(first), Some(last)) = (number(first), number(last)) else { return letters(first, last) };
    let ends: Option<(i32, i32)> = first.parse().ok().zip(last.parse().ok());
    let Some((first, last)) = ends.filter(|(first, last)| first.abs_diff(*last) < MOST_WORDS as u32) else {
        return Some(vec![vec![Atom::Unknown]]);
    };
    let values: Vec<i32> = (first.min(last)..=first.max(last)).collect();
    Some(values.iter().map(|value| value.to_string().chars().map(bare).collect()).collect())
}

fn number(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// `a..c`; anything else that has two dots is left to a run to tell.
fn letters(first: &str, last: &str) -> Option<Vec<Vec<Atom>>> {
    let (&[first], &[last]) = (first.as_bytes(), last.as_bytes()) else {
        return last.contains("..").then(|| vec![vec![Atom::Unknown]]);
    };
    if !first.is_ascii_alphabetic() || !last.is_ascii_alphabetic() {
        return None;
    }
    Some((first.min(last)..=first.max(last)).map(|byte| vec![bare(char::from(byte))]).collect())
}
