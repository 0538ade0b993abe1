//! What a command of git does to a repository, and whether git runs no other program for it. Structural: the same answer
//! whatever the sandbox, the settings and earlier answers are.

use super::cwd::below;
use super::files;
use super::git_config;
use super::git_words::{GitCall, LISTS, is_exact, person, split_globals, verifies};
use crate::PathFact;
use crate::shell::Ground;
use crate::shell::expand::{Part, Word};
use crate::shell::programs::arguments::Arguments;
use crate::shell::programs::{self, Operands, Profile, has};
use crate::shell::{messages, shown};
use toolfence_protocol::Text;
use toolfence_rules::git_config::{is_network_url, is_relative, is_remote_name};

/// Strategies of merges that are part of git: for another name git runs `git-merge-NAME`.
const STRATEGIES: &str = "ort recursive resolve octopus ours subtree";

/// Commands that make a folder, or move something to a place.
const PLACES: &str = "clone init mv worktree/add worktree/move submodule/add";

/// What a command of git does in one of these folders.
pub(crate) fn git_call(ground: Ground<'_>, folders: Option<&[String]>, args: &[Word]) -> GitCall {
    match judged(ground, folders, args) {
        Ok(call) => call,
        // Whatever stands before it: configuration is only let pass where it is read to the end.
        Err(_)
            if args
                .iter()
                .take_while(|word| word.literal() != Some("--"))
                .any(|word| word.literal() == Some("config")) =>
        {
            person(messages::may_be_set(), false)
        }
        Err(reason) => GitCall::Other(reason),
    }
}

fn judged(ground: Ground<'_>, folders: Option<&[String]>, args: &[Word]) -> Result<GitCall, Text> {
    if matches!(args, [word] if word.literal() == Some("--version")) {
        return Ok(GitCall::Reads);
    }
    let (folder, args) = split_globals(args)?;
    let folders = folders.ok_or_else(messages::call_no_folder)?;
    let folders: Vec<String> = match folder {
        Some(folder) => folders.iter().map(|place| below(place, folder)).collect(),
        None => folders.to_vec(),
    };
    let site = Site { ground, folders };
    if !site.is_outside_git(".") {
        return Err(messages::own_folder());
    }
    let Some((name, rest)) = args.split_first() else { return Ok(GitCall::Reads) };
    let name = name.literal().ok_or_else(messages::untold_command)?;
    if name == "config" {
        return Ok(git_config::judged(rest));
    }
    if only_reads(name, args, rest) {
        return Ok(GitCall::Reads);
    }
    site.writes(name, rest)
}

/// Whether it is one of the commands that are known to only read, whatever they read.
fn only_reads(name: &str, args: &[Word], rest: &[Word]) -> bool {
    is_exact(args)
        || programs::git("git-reads", name).is_some_and(|profile| {
            let lists = |read: &Arguments<'_>| {
                let names = matches!(name, "branch" | "tag") && !read.operands.is_empty();
                (!names || read.has_any(LISTS)) && (profile.needs.is_empty() || read.has_any(profile.needs))
            };
            let none = |read: &Arguments<'_>| !matches!(profile.operands, Operands::None) || read.operands.is_empty();
            let plain = rest.iter().all(|word| word.literal().is_some_and(|text| !verifies(text)) || word.is_glob());
            plain && Arguments::of("git", profile, rest, false).is_ok_and(|read| lists(&read) && none(&read))
        })
}

/// Where a command of git runs.
struct Site<'a> {
    ground: Ground<'a>,
    folders: Vec<String>,
}

impl Site<'_> {
    fn writes(&self, name: &str, args: &[Word]) -> Result<GitCall, Text> {
        let verb = args.first().and_then(Word::literal).map(|verb| format!("{name}/{verb}"));
        let with_verb = verb.as_deref().and_then(|verb| Some((verb, known(verb)?)));
        let (name, profile, args) = match with_verb {
            Some((verb, profile)) => (verb, profile, &args[1..]),
            None => {
                let profile = known(name).ok_or_else(|| messages::call_unknown(shown(name, 40)))?;
                // A word that is no verb: `git stash create`, were it unknown, must not pass for `git stash`.
                let mut verbs =
                    programs::git_entries("git-writes").flat_map(|profile| profile.names.split_ascii_whitespace());
                let has_verbs = verbs.any(|known| known.split_once('/').is_some_and(|(first, _)| first == name));
                if has_verbs
                    && args.first().is_some_and(|word| !word.literal().is_some_and(|text| text.starts_with('-')))
                {
                    return Err(messages::unknown_verb(shown(name, 40)));
                }
                (name, profile, args)
            }
        };
        let args = with_messages(args);
        if let Some(word) = args.iter().find(|word| !is_told(profile, word)) {
            return Err(messages::call_untold_word(shown(&word.pattern(), 80)));
        }
        let read = Arguments::of("git", profile, &args, false)?;
        Self::values(name, &read)?;
        if let Some(word) = read.operands.iter().find(|word| names_git(&word.pattern())) {
            return Err(messages::own_file(shown(&word.pattern(), 80)));
        }
        if has(PLACES, name) {
            self.places(name, &read)?;
        }
        addresses(name, &read)
    }

    /// The values of options: strategies that are part of git, no files of git's own, a rebase that starts no editor.
    fn values(name: &str, read: &Arguments<'_>) -> Result<(), Text> {
        for (option, value) in &read.values {
            // `-s` of `git restore` is the commit to restore from.
            let strategy = name != "restore" && matches!(*option, "s" | "strategy") && !has(STRATEGIES, value);
            let interactive = *option == "rebase" && !matches!(*value, "true" | "false" | "merges");
            let place = matches!(*option, "directory" | "pathspec-from-file" | "name") && names_git(value);
            if strategy || interactive || place {
                return Err(messages::value(shown(value, 80), *option));
            }
        }
        Ok(())
    }

    /// What is made must not be made in a folder of git's own, which a link in the project may lead to.
    fn places(&self, name: &str, read: &Arguments<'_>) -> Result<(), Text> {
        let operands = read.operands.iter().map(|word| word.pattern().into_owned());
        let derived = read.operands.first().filter(|_| matches!(name, "clone" | "submodule/add")).map(|word| {
            let address = word.pattern();
            let last = address.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
            last.strip_suffix(".git").unwrap_or(last).to_owned()
        });
        match operands.chain(derived).find(|place| !self.is_outside_git(place)) {
            Some(place) => Err(messages::place(shown(&place, 80))),
            None => Ok(()),
        }
    }

    /// Whether the place is, as far as names tell, not below a `.git`, links followed.
    fn is_outside_git(&self, place: &str) -> bool {
        self.folders.iter().all(|folder| {
            !names_git(folder)
                && !names_git(place)
                && match files::ask(self.ground, folder, place) {
                    PathFact::Inside { names } => !names.iter().any(|name| names_git(name)),
                    PathFact::Outside => true,
                    PathFact::Unknown => false,
                }
        })
    }
}

fn known(name: &str) -> Option<&'static Profile> {
    programs::git("git-writes", name)
}

/// Whether a part of the path is called `.git`, in whatever case.
fn names_git(path: &str) -> bool {
    path.split('/').any(|name| name.eq_ignore_ascii_case(".git"))
}

/// Whether enough is known of a word: literal, or names that are surely no options that matter.
fn is_told(profile: &Profile, word: &Word) -> bool {
    let names = word.is_glob() && (profile.harmless || !word.may_be_option());
    word.literal().is_some() || names || profile.harmless && (is_output(word) || word.is_found())
}

/// Whether other commands print it. The name of a stream is none of that: it is a file.
fn is_output(word: &Word) -> bool {
    word.is_output() && *word != Word::stream()
}

/// The words with a text in place of each message that other commands print into: `git commit -m "$(git describe)"`.
fn with_messages(args: &[Word]) -> Vec<Word> {
    let mut after = false;
    let replaced = |word: &Word| {
        let message = after && is_output(word) && !word.parts.contains(&Part::Outputs) && !word.is_glob();
        after = word.literal().is_some_and(|text| matches!(text, "-m" | "-am" | "--message"));
        if message { Word::text("message") } else { word.clone() }
    };
    args.iter().map(replaced).collect()
}

/// Addresses that git would reach: names of remotes, and what is reached over the network by git's own transports. A folder
/// of this machine is none of them: git runs the hooks of a repository it pushes to.
fn addresses(name: &str, read: &Arguments<'_>) -> Result<GitCall, Text> {
    let operand = |at: usize| read.operands.get(at).map(|word| word.literal().unwrap_or_default());
    let odd = |address: &str| person(messages::odd_address(shown(address, 80)), true);
    match name {
        "fetch" if read.has_any("multiple") => {
            match read.operands.iter().all(|word| word.literal().is_some_and(is_remote_name)) {
                true => Ok(GitCall::Writes),
                false => Err(messages::no_remotes()),
            }
        }
        "fetch" | "pull" | "push" => match operand(0) {
            Some(remote) if !is_remote_name(remote) && !is_network_url(remote) => {
                Err(messages::no_remote(shown(remote, 80)))
            }
            _ => Ok(GitCall::Writes),
        },
        "clone" => match operand(0) {
            Some(address) if is_network_url(address) => Ok(GitCall::Writes),
            Some(address) => Err(messages::no_address(shown(address, 80))),
            None => Err(messages::missing_address()),
        },
        "remote/set-url" if read.has_any("delete") => Ok(GitCall::Writes),
        "remote/add" | "remote/set-url" => match (operand(0), operand(1)) {
            (Some(remote), _) if !is_remote_name(remote) => Ok(odd(remote)),
            // The third one of `set-url` is a pattern for the address that goes.
            (Some(_), Some(address)) if !is_network_url(address) => Ok(odd(address)),
            _ => Ok(GitCall::Writes),
        },
        "submodule/add" | "submodule/set-url" => match operand(usize::from(name == "submodule/set-url")) {
            Some(address) if !is_network_url(address) && !is_relative(address) => Ok(odd(address)),
            _ => Ok(GitCall::Writes),
        },
        "symbolic-ref" => match operand(1) {
            Some(target) if !target.starts_with("refs/") => Err(messages::outside_refs()),
            _ => Ok(GitCall::Writes),
        },
        _ => Ok(GitCall::Writes),
    }
}
