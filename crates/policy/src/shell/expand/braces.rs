//! Brace expansion: `a{b,c}` and `{1..3}`, the first expansion the shell does.

use super::MOST_WORDS;
use super::lexer::Atom;

/// The words that atoms with braces stand for; one unknown word where there are too many, braces within braces, or where it
/// takes the rules of bash to tell which brace closes.
pub(crate) fn expand(atoms: &[Atom]) -> Vec<Vec<Atom>> {
    let mut words = vec![Vec::new()];
    let mut rest = atoms;
    let merges = names_merge(atoms);
    while let Some(open) = rest.iter().position(|atom| *atom == bare('{')).filter(|open| may_expand(&rest[*open..])) {
        let Some(length) = rest[open..].iter().position(|atom| *atom == bare('}')) else { break };
        let (inside, behind) = (&rest[open + 1..open + length], &rest[open + length + 1..]);
        let list = inside.contains(&bare(','));
        // A closer with neither a comma nor two dots before it is text, as in `{a},b}`, which is `a}` and `b`; and quotes
        // between two dots leave no trace.
        let closes_later = !list && behind.contains(&bare(',')) && behind.contains(&bare('}'));
        let choices = match range(inside) {
            _ if closes_later || inside.contains(&bare('{')) => return vec![vec![Atom::UNKNOWN]],
            _ if list => inside.split(|atom| *atom == bare(',')).map(<[Atom]>::to_vec).collect(),
            Some(range) => range,
            // Braces around something else are only braces.
            None => vec![rest[open..=open + length].to_vec()],
        };
        if merges && choices.len() > 1 || words.len() * choices.len() > MOST_WORDS {
            return vec![vec![Atom::UNKNOWN]];
        }
        let with = |word: &Vec<Atom>, choice: &Vec<Atom>| [word.as_slice(), &rest[..open], choice].concat();
        words = words.iter().flat_map(|word| choices.iter().map(move |choice| with(word, choice))).collect();
        rest = behind;
    }
    words.iter_mut().for_each(|word| word.extend_from_slice(rest));
    words
}

/// Whether the name of a variable may become another one where braces are taken apart, which happens first: `$x{,b}` is `$x` and
/// `$xb`, and `{$x,a}b` is `$xb` and `ab`.
fn names_merge(atoms: &[Atom]) -> bool {
    let open = |atom: &Atom| matches!(atom, Atom::Variable { quoted: false, .. }) || *atom == bare('$');
    atoms.windows(2).any(|pair| open(&pair[0]) && [bare('{'), bare(','), bare('}')].contains(&pair[1]))
}

fn bare(c: char) -> Atom {
    Atom::Char { c, quoted: false }
}

/// Whether there is a comma or are two dots without quotes, without which braces stand for themselves.
fn may_expand(atoms: &[Atom]) -> bool {
    atoms.contains(&bare(',')) || atoms.windows(2).any(|pair| pair == [bare('.'), bare('.')])
}

/// `1..3`; what else has two dots is left to a run to tell.
fn range(atoms: &[Atom]) -> Option<Vec<Vec<Atom>>> {
    if !atoms.windows(2).any(|pair| pair == [bare('.'), bare('.')]) {
        return None;
    }
    let char = |atom: &Atom| if let Atom::Char { c, quoted: false } = atom { Some(*c) } else { None };
    let text = atoms.iter().map(char).collect::<Option<String>>().unwrap_or_default();
    let ends = text.split_once("..").and_then(|(first, last)| first.parse().ok().zip(last.parse().ok()));
    let Some((first, last)) = ends.filter(|(first, last): &(u32, u32)| first.abs_diff(*last) < MOST_WORDS as u32)
    else {
        return Some(vec![vec![Atom::UNKNOWN]]);
    };
    let numbers = first.min(last)..=first.max(last);
    Some(numbers.map(|number| number.to_string().chars().map(bare).collect()).collect())
}
