//! What a command of git does to a repository, and whether git runs no other program for it. Structural: the same answer
//! whatever the sandbox, the settings and earlier answers are.

use super::files;
use super::git::in_folder;
use super::git_config;
use super::git_words::{GitCall, person, reading, split_globals};
use crate::PathFact;
use crate::shell::Ground;
use crate::shell::expand::{Part, Word};
use crate::shell::programs::arguments::Arguments;
use crate::shell::programs::{self, Profile, has, words};
use crate::shell::{messages, shown};
use toolfence_protocol::Text;
use toolfence_rules::git_config::{is_network_url, is_relative, is_remote_name};

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
    let (folder, args) = split_globals(args)?;
    let folders = folders.ok_or_else(messages::call_no_folder)?;
    let site = Site { ground, folders: in_folder(folders, folder) };
    if !site.is_outside_git(".") {
        return Err(messages::own_folder());
    }
    let Some(name) = args.first() else { return Ok(GitCall::Reads) };
    if name.literal().ok_or_else(messages::untold_command)? == "config" {
        return Ok(git_config::judged(args));
    }
    let told = |word: &Word| word.literal().is_some() || word.is_glob();
    if args.iter().all(told) && reading(args).is_ok() {
        return Ok(GitCall::Reads);
    }
    site.writes(args)
}

/// Where a command of git runs.
struct Site<'a> {
    ground: Ground<'a>,
    folders: Vec<String>,
}

impl Site<'_> {
    fn writes(&self, args: &[Word]) -> Result<GitCall, Text> {
        let Some((name, profile, args)) = programs::git("git-writes", args) else {
            return Err(messages::call_unknown(shown(&args[0].pattern(), 40)));
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
        if has(words("git-makes"), name) {
            self.places(name, &read)?;
        }
        addresses(name, &read)
    }

    /// The values of options: strategies that are part of git, no files of git's own, a rebase that starts no editor.
    fn values(name: &str, read: &Arguments<'_>) -> Result<(), Text> {
        for (option, value) in &read.values {
            // `-s` of `git restore` is the commit to restore from.
            let strategy =
                name != "restore" && matches!(*option, "s" | "strategy") && !has(words("git-strategies"), value);
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

/// Whether a part of the path is called `.git`, in whatever case.
fn names_git(path: &str) -> bool {
    path.split('/').any(|name| name.eq_ignore_ascii_case(".git"))
}

/// Whether enough is known of a word: literal, or names that are surely no options that matter.
fn is_told(profile: &Profile, word: &Word) -> bool {
    let names = word.is_glob() && (profile.is("harmless") || !word.may_be_option());
    word.literal().is_some() || names || profile.is("harmless") && (is_output(word) || word.is_found())
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
