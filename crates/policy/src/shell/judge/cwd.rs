//! Where the script is after `cd`.

use super::{Walker, reach};
use crate::shell::expand::{Part, Word};
use crate::shell::programs::base_name;

/// The most folders that are followed at once.
const MOST_FOLDERS: usize = 8;

/// After `cd` the script is there if that has succeeded. What only may be the builtin may leave it where it is.
pub(crate) fn follow(walker: &mut Walker<'_>, argv: &[Word]) {
    let program = argv[0].guess().map_or("", base_name);
    if !matches!(program, "cd" | "pushd" | "popd") {
        return;
    }
    let Some(folders) = walker.folders.take() else { return };
    let option = |word: &&Word| matches!(word.guess(), Some("--" | "-P" | "-L" | "-e" | "-@"));
    let target = match argv[1..].iter().find(|word| !option(word)) {
        None if program == "cd" => "~".to_owned(),
        Some(word) if program != "popd" && followed(word) => word.pattern().into_owned(),
        _ => return,
    };
    walker.folders = into(folders, &target, argv[0].literal() != Some("cd"));
}

/// Every folder of two sets; `None` where one of them cannot be known, or there are too many.
pub(crate) fn either(one: Option<Vec<String>>, other: Option<Vec<String>>) -> Option<Vec<String>> {
    let mut both = one?;
    both.extend(other?);
    both.sort_unstable();
    both.dedup();
    (both.len() <= MOST_FOLDERS).then_some(both)
}

/// The folders that `target` is in others, with these where it may `stay`; `None` where there are too many.
pub(crate) fn into(folders: Vec<String>, target: &str, stay: bool) -> Option<Vec<String>> {
    // The shell takes `..` for the folder in the text, the system for the one above where a link has led.
    let both = |folder: &String| {
        let joined = below(folder, target);
        if joined.starts_with('~') { [joined.clone(), joined] } else { [reach::collapsed(&joined), joined] }
    };
    let more = folders.iter().flat_map(both).collect();
    either(Some(if stay { folders } else { Vec::new() }), Some(more))
}

fn followed(word: &Word) -> bool {
    let home = word.parts.first() == Some(&Part::Home);
    let rest = if home { &word.parts[1..] } else { &word.parts[..] };
    let text = matches!(rest, [] | [Part::Text(_)]);
    let plain = word.guess().is_none_or(|target| !target.is_empty() && !target.starts_with(['-', '+']));
    text && plain && (home || word.guess().is_some())
}

/// A folder that `target` names in `folder`.
pub(crate) fn below(folder: &str, target: &str) -> String {
    match (target.starts_with(['/', '~']), folder) {
        (true, _) | (false, "") => target.to_owned(),
        (false, folder) => format!("{folder}/{target}"),
    }
}
