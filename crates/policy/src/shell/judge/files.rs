//! Words as names of files: what is blocked, what is outside, what cannot be told.

use super::block_list;
use super::report::Finding;
use crate::shell::Ground;
use crate::shell::expand::{Part, Word};
use crate::shell::{messages, shown};
use crate::{PathFact, Seen};
use toolfence_rules::{Blocked, Harmless};

/// The longest word that is taken for a name of a file.
const LONGEST_NAME: usize = 4096;
/// The most names in one word for which the world is asked, as each question costs.
const MOST_ASKED: usize = 8;

/// What the target of a redirect means.
pub(crate) fn redirect(ground: Ground<'_>, folders: Option<&[String]>, word: &Word, writes: bool) -> Vec<Finding> {
    let pattern = word.pattern();
    if matches!(word.literal(), Some("/dev/null" | "/dev/stdout" | "/dev/stderr")) {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = blocked(ground, folders, word).into_iter().collect();
    if writes {
        findings.extend(block_list::device(&pattern, folders.unwrap_or(&[])));
        findings.extend(block_list::system_file(&pattern));
        findings.extend(protected(ground, folders, word));
        if word.literal().is_some_and(|path| is_private(ground, path)) {
            return findings;
        }
        findings.push(Finding::ask("writes_file", messages::writes_to(shown(&pattern, 80))));
    } else {
        findings.extend(operand(ground, folders, word));
    }
    findings
}

/// A blocked name anywhere in a word: the word itself, what stands behind `=`, `:`, `@` or `,`, what is attached to a
/// short option, and what any of these resolves to.
pub(crate) fn blocked(ground: Ground<'_>, folders: Option<&[String]>, word: &Word) -> Option<Finding> {
    let pattern = word.pattern();
    if let Some(finding) = pieces(&pattern).find_map(|piece| looked_at(ground, folders, piece, piece, &pattern)) {
        return Some(finding);
    }
    if let Some(text) = word.guess() {
        return resolves_to_blocked(ground, folders, text);
    }
    if !word.is_glob() {
        return None;
    }
    let live = |component: &&str| component.contains(['*', '?', '[']);
    let mut components = pieces(&pattern).flat_map(|piece| piece.split('/')).filter(live).peekable();
    let first = components.peek().copied()?;
    let met = components.find_map(|name| Some((name, ground.paths.could_block(name).next()?.0)));
    let (component, rule) = met.or_else(|| Some((first, ground.paths.first_denied()?)))?;
    // What a glob could mean is denied for environment files and the folder of SSH; by all other rules it is asked about.
    let never = |(_, name): &(&str, &str)| {
        *name == ".ssh" || name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(".env"))
    };
    if let Some((rule, _)) = ground.paths.could_block(component).filter(|_| is_aimed(component)).find(never) {
        return Some(deny_blocked(&pattern, rule));
    }
    Some(Finding::ask("blocked_path", messages::could_match_blocked(shown(&pattern, 80), rule)))
}

fn deny_blocked(text: &str, rule: &str) -> Finding {
    Finding::deny("blocked_path", messages::names_blocked(shown(text, 80), rule))
}

/// Whether a pattern for hidden names says enough of one to mean it: `.en*`, `.[e]nv`.
fn is_aimed(component: &str) -> bool {
    let mut bracket = false;
    let written = component.chars().filter(|&c| match c {
        '[' => {
            bracket = true;
            false
        }
        ']' => std::mem::replace(&mut bracket, false),
        '*' | '?' => false,
        _ => !bracket,
    });
    component.starts_with('.') && written.filter(|c| *c != ']').count() >= 3
}

/// Every part of a word that a program could take for a name.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let attached = short.and_then(|rest| rest.get(rest.chars().next()?.len_utf8()..));
    let clustered = short.and_then(|rest| rest.find(['.', '/', '~']).map(|at| &rest[at..]));
    let split = word.split(['=', ':', '@', ',', '\'', '"', '(', ')', '<', '>', '|', ';', '`']);
    // A pattern that the program itself expands: `git log -- '.env*'`.
    let bare = word.trim_end_matches(['*', '?']);
    let hidden = bare.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
    let starred = (hidden && bare.len() < word.len()).then_some(bare);
    [word].into_iter().chain(attached).chain(clustered).chain(starred).chain(split).filter(|piece| !piece.is_empty())
}

fn resolves_to_blocked(ground: Ground<'_>, folders: Option<&[String]>, text: &str) -> Option<Finding> {
    for name in pieces(text).filter(|name| is_name(name)).take(MOST_ASKED) {
        for folder in folders.unwrap_or(&[]) {
            let PathFact::Inside { names } = ask(ground, folder, name) else { continue };
            let folder = Some(std::slice::from_ref(folder));
            if let Some(finding) = names.iter().find_map(|real| looked_at(ground, folder, real, name, text)) {
                return Some(finding);
            }
        }
    }
    None
}

/// What speaks against a name that is a blocked one by its text. Where that does not settle it, the world is asked what
/// `asked` leads to. `word` is what is shown.
fn looked_at(ground: Ground<'_>, folders: Option<&[String]>, name: &str, asked: &str, word: &str) -> Option<Finding> {
    let Blocked { rule, unless } = ground.paths.judge(name)?;
    let seen = |folder: &String| {
        let (folder, asked) = if folder.starts_with('/') {
            ("", format!("{folder}/{asked}"))
        } else {
            (folder.as_str(), asked.to_owned())
        };
        ground.facts.seen(folder, &asked)
    };
    let mut everywhere = folders.unwrap_or(&[]).iter().map(seen);
    let is_known = folders.is_some_and(|folders| !folders.is_empty());
    match unless {
        None => Some(deny_blocked(word, rule)),
        Some(Harmless::Package) => None,
        Some(Harmless::Certificates) if is_known && everywhere.all(|seen| seen == Seen::Certificates) => None,
        Some(Harmless::Certificates) => Some(deny_blocked(word, rule)),
        // Most words like `token` are no names at all: `cargo test token`.
        Some(Harmless::NoFile) if asked.starts_with('-') || !is_name(asked) => None,
        Some(Harmless::NoFile) => {
            let worst = everywhere.find(|seen| matches!(seen, Seen::File | Seen::Certificates | Seen::Unknown));
            match worst.or((!is_known).then_some(Seen::Unknown))? {
                Seen::Unknown => Some(Finding::ask("blocked_path", messages::may_be_blocked(shown(word, 80), rule))),
                _ => Some(deny_blocked(word, rule)),
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_NAME && !text.starts_with('-') && !text.contains(['\n', '\0'])
}

/// A name below `folder`, which is relative to the root or absolute.
pub(crate) fn ask(ground: Ground<'_>, folder: &str, name: &str) -> PathFact {
    if folder.starts_with('~') && !name.starts_with('/') {
        return PathFact::Outside;
    }
    if folder.starts_with('/') && !name.starts_with('/') {
        return ground.facts.path("", &format!("{folder}/{name}"));
    }
    ground.facts.path(folder, name)
}

/// What speaks against reading an operand without a question.
pub(crate) fn operand(ground: Ground<'_>, folders: Option<&[String]>, word: &Word) -> Option<Finding> {
    let pattern = word.pattern();
    let name = match word.literal() {
        Some("-") | Some("/dev/null") => return None,
        Some(text) if is_private(ground, text) => return None,
        Some(text) => text,
        // The folder a pattern starts from; what it matches is judged by the names alone.
        None if word.is_glob() || word.is_found() => fixed_folder(&pattern),
        // What the script says itself counts; what it does not, the sandbox shows no secret of.
        None if ground.facts.sandbox_holds() && !word.is_hidden() && !word.parts.contains(&Part::Home) => {
            word.guess()?
        }
        None => return Some(Finding::ask("unknown_path", messages::path_not_literal(shown(&pattern, 80)))),
    };
    let Some(folders) = folders else {
        return Some(Finding::ask("unknown_path", messages::folder_not_known()));
    };
    let name = if name.is_empty() { "." } else { name };
    folders.iter().find_map(|folder| match ask(ground, folder, name) {
        PathFact::Inside { .. } => None,
        PathFact::Outside => Some(Finding::ask("outside_root", messages::is_outside(shown(name, 80)))),
        PathFact::Unknown => Some(Finding::ask("unknown_path", messages::path_not_told(shown(name, 80)))),
    })
}

/// Whether the path is in the sandbox's private `/tmp`, where nothing is but what the command itself has put there. What of
/// the project or beside it is shown below `/tmp` is not.
pub(crate) fn is_private(ground: Ground<'_>, path: &str) -> bool {
    let Some(names) = path.strip_prefix("/tmp/") else { return false };
    let plain = !names.is_empty() && names.split('/').all(|name| !matches!(name, "" | "." | ".."));
    plain && ground.facts.sandbox_holds() && matches!(ground.facts.path("", path), PathFact::Outside)
}

fn fixed_folder(pattern: &str) -> &str {
    let glob = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    pattern[..glob].rfind('/').map_or("", |slash| &pattern[..slash.max(1)])
}

/// A name that no tool may write.
pub(crate) fn protected(ground: Ground<'_>, folders: Option<&[String]>, word: &Word) -> Option<Finding> {
    let pattern = word.pattern();
    let mut rule = pieces(&pattern).find_map(|piece| ground.paths.protects(piece)).map(str::to_owned);
    if let (None, Some(name)) = (&rule, word.guess().filter(|name| is_name(name))) {
        rule = folders.unwrap_or(&[]).iter().find_map(|folder| match ask(ground, folder, name) {
            PathFact::Inside { names } => names.iter().find_map(|name| ground.paths.protects(name)).map(str::to_owned),
            _ => None,
        });
    }
    Some(Finding::deny("protected_path", messages::is_protected(shown(&pattern, 80), rule?)))
}
