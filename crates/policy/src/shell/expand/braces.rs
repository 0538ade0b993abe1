//! Brace expansion: `a{b,c}` and `{1..3}`, the first expansion the shell does.

use super::MOST_WORDS;
use super::lexer::Atom;

/// The words that atoms with braces stand for; one unknown word where there are too many, or braces within braces.
pub(crate) fn expand(atoms: &[Atom]) -> Vec<Vec<Atom>> {
    let mut words = vec![Vec::new()];
    let mut rest = atoms;
    while let Some(open) = rest.iter().position(|atom| *atom == bare('{')) {
        let Some(length) = rest[open..].iter().position(|atom| *atom == bare('}')) else { break };
        let (before, inside, behind) = (&rest[..open], &rest[open + 1..open + length], &rest[open + length + 1..]);
        let choices = match inside {
            _ if inside.contains(&bare('{')) => return vec![vec![Atom::UNKNOWN]],
            _ if inside.contains(&bare(',')) => inside.split(|atom| *atom == bare(',')).map(<[Atom]>::to_vec).collect(),
            // Braces around something else are only braces.
            _ => range(inside).unwrap_or_else(|| vec![rest[open..=open + length].to_vec()]),
        };
        if words.len() * choices.len() > MOST_WORDS {
            return vec![vec![Atom::UNKNOWN]];
        }
        words.iter_mut().for_each(|word| word.extend_from_slice(before));
        if let [only] = choices.as_slice() {
            words.iter_mut().for_each(|word| word.extend_from_slice(only));
        } else {
            let with = |word: &Vec<Atom>, choice: &Vec<Atom>| [word.as_slice(), choice].concat();
            words = words.iter().flat_map(|word| choices.iter().map(move |choice| with(word, choice))).collect();
        }
        rest = behind;
    }
    words.iter_mut().for_each(|word| word.extend_from_slice(rest));
    words
}

fn bare(c: char) -> Atom {
    Atom::Char { c, quoted: false }
}

/// `1..3`; what else has two dots is left to a run to tell.
fn range(atoms: &[Atom]) -> Option<Vec<Vec<Atom>>> {
    let char = |atom: &Atom| if let Atom::Char { c, quoted: false } = atom { Some(*c) } else { None };
    let text = atoms.iter().map(char).collect::<Option<String>>()?;
    let (first, last) = text.split_once("..")?;
    let ends: Option<(u32, u32)> = first.parse().ok().zip(last.parse().ok());
    let Some((first, last)) = ends.filter(|(first, last)| first.abs_diff(*last) < MOST_WORDS as u32) else {
        return Some(vec![vec![Atom::UNKNOWN]]);
    };
    let numbers = first.min(last)..=first.max(last);
    Some(numbers.map(|number| number.to_string().chars().map(bare).collect()).collect())
}
