//! What of git only reads. Git finds files by itself: in the settings of the repository, which may name programs, and in the
//! history, which holds what is blocked. So the repository must be a plain one, and what prints contents must be told the
//! files by their names.

use super::cwd::below;
use super::files;
use super::git_calls::git_call;
use super::git_words::{GitCall, Reading, reading, split_globals};
use super::inspection::{Checked, Inspection, ask, unknown};
use super::report::{Finding, HISTORY};
use crate::shell::expand::Word;
use crate::shell::programs::arguments::{Arguments, is_harmless_glob, is_source};
use crate::shell::programs::{self, Profile, has, words};
use crate::shell::{messages, shown};
use crate::{HistoryFact, RepositoryFact, Seen};
use toolfence_protocol::Text;

/// Why a git command is not known to only read.
pub(crate) fn check(inspection: &Inspection<'_>, args: &[Word]) -> Checked {
    match split_globals(args).map_err(ask)? {
        (Some(folder), rest) => elsewhere(inspection, folder, rest),
        (None, rest) => subcommand(inspection, rest),
    }
}

/// What is known of the subcommand, and the place from which on its arguments stand.
pub(crate) fn profile(args: &[Word]) -> Option<(&'static Profile, usize)> {
    let (_, rest) = split_globals(args).ok()?;
    let (_, profile, own) = programs::git("git-reads", rest)?;
    Some((profile, args.len() - own.len()))
}

/// The folders that git runs in, with `git -C FOLDER`.
pub(crate) fn in_folder(folders: &[String], folder: Option<&str>) -> Vec<String> {
    folders.iter().map(|place| folder.map_or_else(|| place.clone(), |folder| below(place, folder))).collect()
}

/// `git -C FOLDER`.
fn elsewhere(inspection: &Inspection<'_>, folder: &str, args: &[Word]) -> Checked {
    inspection.path(&Word::text(folder))?;
    let folders = in_folder(inspection.folders.unwrap_or(&[]), Some(folder));
    let mut words = args.iter().filter(|word| excluded(word).is_none());
    if let Some(finding) = words.find_map(|word| files::blocked(inspection.ground, Some(&folders), word)) {
        return Err(finding);
    }
    subcommand(&Inspection::new(inspection.ground, Some(&folders), inspection.fed), args)
}

fn subcommand(inspection: &Inspection<'_>, args: &[Word]) -> Checked {
    if args.is_empty() {
        return Ok(());
    }
    let Reading { name, profile, read } = reading(args).map_err(ask)?;
    inspection.operands("git", profile, &read)?;
    let magic = |word: &&&Word| word.pattern().starts_with(':') && excluded(word).is_none();
    if let Some(word) = read.operands.iter().find(magic) {
        return unknown(messages::magic(shown(&word.pattern(), 80)));
    }
    if !contents_are_named(name, profile, &read) {
        inspection.sandbox(&format!("git {name}"))?;
    }
    history(inspection, name, profile, &read)?;
    repository(inspection, matches!(name, "show" | "cat-file"))
}

/// The operands before `--`, which may be revisions or paths, and those behind it, which are paths.
fn revisions<'a, 'w>(profile: &Profile, read: &'a Arguments<'w>) -> (&'a [&'w Word], &'a [&'w Word]) {
    let places = read.places(profile);
    let before = read.before_dashes.map_or(places.len(), |at| at.saturating_sub(read.operands.len() - places.len()));
    places.split_at(before.min(places.len()))
}

/// Whether contents are printed of no other files than those that stand in the command.
fn contents_are_named(name: &str, profile: &Profile, read: &Arguments<'_>) -> bool {
    let (revisions, paths) = revisions(profile, read);
    let patch = match name {
        "grep" => true,
        "cat-file" => read.has_any("p"),
        // It compares the files of the work tree, which are masked in the sandbox, with what the patch says of them.
        "apply" => return false,
        "diff" | "show" => !read.has_any(words("git-summaries")) || read.has_any(words("git-patches")),
        "log" => read.has_any(words("git-patches")),
        _ => return true,
    };
    let source = |path: &str| is_source(path) || path.starts_with("*.") && is_harmless_glob(path);
    let files = !paths.is_empty() && paths.iter().all(|word| word.literal().is_some_and(source));
    let objects = !revisions.is_empty() && revisions.iter().all(|word| word.literal().is_some_and(is_file_of_commit));
    let commits = revisions.iter().all(|word| word.literal().is_some_and(is_commit));
    match name {
        // What is no commit is printed whole, whatever the options say.
        "cat-file" => !patch || objects && paths.is_empty(),
        "show" => objects && paths.is_empty() || commits && (!patch || files),
        _ => !patch || commits && files,
    }
}

/// What is committed is not masked: a command that prints contents which its words do not name is asked about where blocked
/// names are in the history that it reads.
fn history(inspection: &Inspection<'_>, name: &str, profile: &Profile, read: &Arguments<'_>) -> Checked {
    let places = read.places(profile);
    // A file that is harmless today may have been none, and may have had another name.
    let is_blocked = |text: &str| inspection.ground.paths.judge(text).is_some();
    let of_commit = |text: &str| text.split_once(':').is_some_and(|(_, path)| is_blocked(path));
    let lifted = |word: &&Word| {
        word.literal().is_some_and(|text| is_blocked(text) || excluded(word).is_none() && of_commit(text))
    };
    let contents = read.has_any(words("git-patches"));
    let followed = matches!(name, "log" | "show") && read.has_any("follow") && contents;
    let printed = has(words("git-prints"), name) && (name != "cat-file" || read.has_any("p"));
    if contents_are_named(name, profile, read) && !followed && !(printed && places.iter().any(lifted)) {
        return Ok(());
    }
    let asked = |folder: &String, path: &str| inspection.ground.facts.seen(folder, path);
    let folders = inspection.folders.unwrap_or(&[]);
    let is_path = |word: &&Word| {
        let text = word.literal().unwrap_or_default();
        let there = |folder| matches!(asked(folder, text), Seen::File | Seen::Folder | Seen::Certificates);
        excluded(word).is_some() || !folders.is_empty() && folders.iter().all(there)
    };
    let (revisions, _) = revisions(profile, read);
    let of_index = match name {
        // Files of the work tree, which are masked.
        "apply" => return Ok(()),
        "grep" if !read.has_any("cached") && revisions.iter().all(is_path) => return Ok(()),
        "grep" => revisions.iter().all(is_path),
        "diff" => !read.has_any("cached staged merge-base") && revisions.iter().all(is_path),
        _ => false,
    };
    if folders.is_empty() {
        return Err(Finding::ask("unknown_path", messages::folder_not_known()));
    }
    let commits_only =
        !matches!(name, "show" | "cat-file") || revisions.iter().all(|word| word.literal().is_some_and(is_commit));
    for folder in folders {
        match inspection.ground.facts.history_has_blocked(folder) {
            HistoryFact::Clean => {}
            HistoryFact::Holds { staged: false, .. } if of_index => {}
            HistoryFact::Holds { names, all, prefix, .. } => {
                let left_out = |held: &String| places.iter().any(|word| excludes(word, &prefix, held));
                if !(all && commits_only && names.iter().all(left_out)) {
                    let specs: Vec<String> =
                        names.iter().take(3).map(|held| shown(&exclusion(held, &prefix), 120)).collect();
                    return history_is_asked(messages::prints_blocked(name, some(&names), specs.join(" ")));
                }
            }
            HistoryFact::Unknown => return history_is_asked(messages::prints_untold(name)),
        }
    }
    Ok(())
}

/// A command of git that is not known may print whatever is committed: it is asked about where blocked names are in the
/// history. One that writes the repository and is known to do nothing else prints no contents.
pub(crate) fn unknown_prints(inspection: &Inspection<'_>, args: &[Word]) -> Checked {
    let globals = split_globals(args);
    let subcommand = match &globals {
        Ok((_, rest)) => rest.first(),
        Err(_) => args.iter().find(|word| word.literal().is_none_or(|text| !text.starts_with('-'))),
    };
    let subcommand = subcommand.and_then(Word::literal);
    match git_call(inspection.ground, inspection.folders, args) {
        GitCall::Writes | GitCall::Configures { .. } => return Ok(()),
        GitCall::Reads if !subcommand.is_some_and(|name| has(words("git-prints"), name)) => return Ok(()),
        GitCall::Reads | GitCall::Other(_) => {}
    }
    let what = subcommand.map_or_else(messages::this_command, |name| format!("git {}", shown(name, 40)).into());
    // Options that are not known, or a word that may be one, may choose another repository than that of the folder.
    let chooses = |word: &Word| {
        let options = ["-C", "--git-dir", "--work-tree"];
        word.literal().is_none_or(|text| options.iter().any(|option| text.starts_with(option)))
    };
    let folders: Vec<String> = match (globals, inspection.folders) {
        (Ok((_, [word, ..])), _) if word.literal().is_none() => Vec::new(),
        (Err(_), _) if args.iter().any(chooses) => Vec::new(),
        (globals, places) => in_folder(places.unwrap_or(&[]), globals.ok().and_then(|(folder, _)| folder)),
    };
    let facts: Vec<_> = folders.iter().map(|folder| inspection.ground.facts.history_has_blocked(folder)).collect();
    for fact in &facts {
        if let HistoryFact::Holds { names, .. } = fact {
            return history_is_asked(messages::may_print_blocked(what, some(names)));
        }
    }
    if facts.is_empty() || facts.contains(&HistoryFact::Unknown) {
        return history_is_asked(messages::may_print(what));
    }
    Ok(())
}

fn history_is_asked(reason: Text) -> Checked {
    Err(Finding::ask(HISTORY, reason))
}

/// The first three of the names.
fn some(names: &[String]) -> Text {
    let first = names.iter().take(3).map(|name| shown(name, 80)).collect::<Vec<_>>().join(", ");
    if names.len() > 3 { messages::and_others(first) } else { first.into() }
}

/// The word that makes git leave out a name, for a command in the folder of this prefix.
fn exclusion(name: &str, prefix: &str) -> String {
    match name.strip_prefix(prefix) {
        Some(below) => format!("':(exclude){below}'"),
        None => format!("':(top,exclude){name}'"),
    }
}

/// The path that a word leaves out of what git looks at, and whether it is from the top of the repository: `:(exclude)PATH`.
/// A pattern is none, as it is not matched here.
fn excluded(word: &Word) -> Option<(&str, bool)> {
    const FORMS: &[(&str, bool)] =
        &[(":(exclude)", false), (":(top,exclude)", true), (":(exclude,top)", true), (":!", false), (":^", false)];
    let text = word.literal()?;
    let (path, top) = FORMS.iter().find_map(|(form, top)| Some((text.strip_prefix(form)?, *top)))?;
    let plain = !path.is_empty() && !path.contains(['*', '?', '[', '\\', ':', '(', '!', '^']) && !path.starts_with('/');
    (plain && !path.split('/').any(|name| matches!(name, "" | "." | ".."))).then_some((path, top))
}

/// Whether a word leaves out this name, or a folder that it is in.
fn excludes(word: &Word, prefix: &str, name: &str) -> bool {
    let Some((path, top)) = excluded(word) else { return false };
    let path = if top { path.to_owned() } else { format!("{prefix}{path}") };
    name.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The places of words that only say what git leaves out.
pub(crate) fn left_out(args: &[Word]) -> Vec<usize> {
    (0..args.len()).filter(|&at| excluded(&args[at]).is_some()).collect()
}

/// `REVISION:PATH`, from the top of the repository down.
fn is_file_of_commit(text: &str) -> bool {
    let Some((revision, path)) = text.split_once(':') else { return false };
    let plain = !path.is_empty() && !path.starts_with('/') && !path.split('/').any(|name| name == "..");
    is_name(revision) && plain
}

/// A revision that is surely no blob: a bare number of an object may be one, its parent may not.
fn is_commit(text: &str) -> bool {
    let bare = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let parent = bare.ends_with(['~', '^']);
    let number = |name: &str| name.len() > 3 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name(text)
        && (parent || !text.split(['.', '-']).any(|part| number(part) || number(part.trim_start_matches('g'))))
}

fn is_name(revision: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./~^@-".contains(&byte);
    !revision.is_empty() && revision.bytes().all(plain)
}

/// The repository must make git run nothing; and where it begins above the root, files of a commit may be outside.
fn repository(inspection: &Inspection<'_>, named_from_top: bool) -> Checked {
    if inspection.ground.facts.sandbox_holds() {
        return Ok(());
    }
    let Some(folders) = inspection.folders else {
        return Err(Finding::ask("unknown_path", messages::folder_not_known()));
    };
    for folder in folders {
        match inspection.ground.facts.repository(folder) {
            RepositoryFact::Plain => {}
            RepositoryFact::Above if !named_from_top => {}
            RepositoryFact::Above => {
                return Err(Finding::ask("outside_root", messages::begins_above()));
            }
            RepositoryFact::Special => {
                return Err(Finding::ask("repository_runs", messages::runs_programs()));
            }
            RepositoryFact::Unknown => {
                return Err(Finding::ask("repository_runs", messages::may_run_programs()));
            }
        }
    }
    Ok(())
}
