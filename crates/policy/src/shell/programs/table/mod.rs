//! What is known to only read, and what runs the project's own code: one line a program.
//!
//! Lists are names apart by blanks. An option that is not in a table is not known, whatever it does.

mod files;
mod git;
mod project;
mod system;
mod text;

pub(crate) use git::{GIT, GIT_GLOBAL, GIT_WRITES};

use std::collections::HashMap;
use std::sync::LazyLock;

/// What operands are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operands {
    /// There are none.
    None,
    /// At most one path: a second would be written.
    One,
    /// Paths.
    Paths,
    /// A pattern and then paths.
    PatternThenPaths,
    /// A program in a language of its own, held against a reader of it that gets all its pieces, and then paths.
    ScriptThenPaths(fn(&[&str]) -> bool),
    /// A file of the project that is run, and then its own words.
    Program,
    /// Words of which each has to pass.
    Checked(fn(&str) -> bool),
    /// A verb of this list, and then text.
    Verb(&'static str),
    /// Text that names nothing.
    Text,
}

/// What a program tells of the files it is pointed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Names, sizes and dates.
    Names,
    /// The contents of the files its operands name.
    Contents,
    /// The contents of files below the folders its operands name, where an option or its nature makes it go there.
    Folders,
}

/// A program, or a subcommand of one, that is known when it is called like this.
#[derive(Clone, Copy)]
pub(crate) struct Profile {
    pub(crate) names: &'static str,
    /// Short options without a value.
    pub(crate) short: &'static str,
    /// Short options whose value is text.
    pub(crate) short_value: &'static str,
    /// Long options without a value.
    pub(crate) long: &'static str,
    /// Long options whose value is text.
    pub(crate) long_value: &'static str,
    /// Long options with two values, both text.
    pub(crate) pairs: &'static str,
    /// Options among those with a value whose value is a path that is read.
    pub(crate) paths: &'static str,
    /// Options among those with a value whose value is a place to write to: known where that is private.
    pub(crate) outputs: &'static str,
    /// Options with two values, of which the second is a path that is read.
    pub(crate) path_pairs: &'static str,
    /// Options among those with a value whose value is a program in the language of the operand.
    pub(crate) scripts: &'static str,
    /// Options among those with a value whose value is text that neither names a file nor says which ones are read.
    pub(crate) texts: &'static str,
    /// Options that are not known to only read, which tell no more than where the operands are: `n`, or `i?` with a value
    /// that may be attached, `l:` with a value, `f!` with a file that holds the program.
    pub(crate) others: &'static str,
    /// Whether `-5` is an option.
    pub(crate) number: bool,
    /// Whether the long options begin with one dash.
    pub(crate) one_dash: bool,
    pub(crate) operands: Operands,
    pub(crate) reads: Reads,
    /// Options that make it go into folders; empty where it always does.
    pub(crate) recursive: &'static str,
    /// Options that leave nothing but names.
    pub(crate) names_only: &'static str,
    /// Options whose value restricts which files it reads there.
    pub(crate) restricts: &'static str,
    /// Whether no option of the program can do harm, so that a name which happens to be one does not matter.
    pub(crate) harmless: bool,
    /// Whether no option of the program writes or runs anything.
    pub(crate) reads_only: bool,
    /// Whether it runs code of the project, which only walls hold.
    pub(crate) runs: bool,
    /// Whether what stands behind `--` is for what it runs.
    pub(crate) passes: bool,
    /// Whether one of its long options has to be there.
    pub(crate) needs: &'static str,
}

/// A program that reads the contents of the files it names.
pub(crate) const fn tool(names: &'static str) -> Profile {
    Profile {
        names,
        short: "",
        short_value: "",
        long: "",
        long_value: "",
        pairs: "",
        paths: "",
        outputs: "",
        path_pairs: "",
        scripts: "",
        texts: "",
        others: "",
        number: false,
        one_dash: false,
        operands: Operands::Paths,
        reads: Reads::Contents,
        recursive: "",
        names_only: "",
        restricts: "",
        harmless: false,
        reads_only: false,
        runs: false,
        passes: false,
        needs: "",
    }
}

/// A program that runs code of the project.
pub(crate) const fn runs(names: &'static str) -> Profile {
    Profile { runs: true, ..tool(names) }
}

/// Each of these sets one field.
impl Profile {
    pub(crate) const fn short(self, short: &'static str) -> Profile {
        Profile { short, ..self }
    }

    pub(crate) const fn value(self, short_value: &'static str) -> Profile {
        Profile { short_value, ..self }
    }

    pub(crate) const fn long(self, long: &'static str) -> Profile {
        Profile { long, ..self }
    }

    pub(crate) const fn long_value(self, long_value: &'static str) -> Profile {
        Profile { long_value, ..self }
    }

    pub(crate) const fn pairs(self, pairs: &'static str) -> Profile {
        Profile { pairs, ..self }
    }

    pub(crate) const fn paths(self, paths: &'static str) -> Profile {
        Profile { paths, ..self }
    }

    pub(crate) const fn outputs(self, outputs: &'static str) -> Profile {
        Profile { outputs, ..self }
    }

    pub(crate) const fn verb(self, verbs: &'static str) -> Profile {
        Profile { operands: Operands::Verb(verbs), reads: Reads::Names, ..self }
    }

    pub(crate) const fn path_pairs(self, path_pairs: &'static str) -> Profile {
        Profile { path_pairs, ..self }
    }

    pub(crate) const fn texts(self, texts: &'static str) -> Profile {
        Profile { texts, ..self }
    }

    pub(crate) const fn others(self, others: &'static str) -> Profile {
        Profile { others, ..self }
    }

    pub(crate) const fn number(self) -> Profile {
        Profile { number: true, ..self }
    }

    pub(crate) const fn one_dash(self) -> Profile {
        Profile { one_dash: true, ..self }
    }

    pub(crate) const fn operands(self, operands: Operands) -> Profile {
        Profile { operands, ..self }
    }

    pub(crate) const fn text(self) -> Profile {
        Profile { operands: Operands::Text, reads: Reads::Names, ..self }
    }

    pub(crate) const fn checked(self, passes: fn(&str) -> bool) -> Profile {
        Profile { operands: Operands::Checked(passes), reads: Reads::Names, ..self }
    }

    pub(crate) const fn nothing(self) -> Profile {
        Profile { operands: Operands::None, reads: Reads::Names, ..self }
    }

    pub(crate) const fn names(self) -> Profile {
        Profile { reads: Reads::Names, ..self }
    }

    pub(crate) const fn folders(self, recursive: &'static str) -> Profile {
        Profile { reads: Reads::Folders, recursive, ..self }
    }

    pub(crate) const fn names_only(self, names_only: &'static str) -> Profile {
        Profile { names_only, ..self }
    }

    pub(crate) const fn restricts(self, restricts: &'static str) -> Profile {
        Profile { restricts, ..self }
    }

    pub(crate) const fn script(self, reads: fn(&[&str]) -> bool, scripts: &'static str) -> Profile {
        Profile { operands: Operands::ScriptThenPaths(reads), scripts, ..self }
    }

    pub(crate) const fn harmless(self) -> Profile {
        Profile { harmless: true, reads_only: true, ..self }
    }

    pub(crate) const fn reads_only(self) -> Profile {
        Profile { reads_only: true, ..self }
    }

    pub(crate) const fn passes(self) -> Profile {
        Profile { passes: true, ..self }
    }

    pub(crate) const fn needs(self, needs: &'static str) -> Profile {
        Profile { needs, ..self }
    }
}

/// The profiles of every program that has no subcommands, by its names.
static PROGRAMS: LazyLock<HashMap<&'static str, Vec<&'static Profile>>> = LazyLock::new(|| {
    let all = text::TEXT.iter().chain(files::FILES).chain(system::SYSTEM).chain(project::PROGRAMS);
    by_name(all)
});

/// The profiles of subcommands: `cargo test`.
static SUBCOMMANDS: LazyLock<HashMap<&'static str, Vec<&'static Profile>>> =
    LazyLock::new(|| by_name(project::SUBCOMMANDS.iter().chain(text::SUBCOMMANDS)));

fn by_name(profiles: impl Iterator<Item = &'static Profile>) -> HashMap<&'static str, Vec<&'static Profile>> {
    let mut found: HashMap<&str, Vec<&Profile>> = HashMap::new();
    for profile in profiles {
        profile.names.split(',').for_each(|names| {
            names.split_ascii_whitespace().for_each(|name| found.entry(name).or_default().push(profile));
        });
    }
    found
}

/// Every way in which the program is known.
pub(crate) fn programs(name: &str) -> &'static [&'static Profile] {
    PROGRAMS.get(name).map_or(&[], Vec::as_slice)
}

/// Every way in which `program name` is known, written as `program:name` in the table.
pub(crate) fn subcommands(program: &str, name: &str) -> &'static [&'static Profile] {
    let mut key = String::with_capacity(program.len() + 1 + name.len());
    key.push_str(program);
    key.push(':');
    key.push_str(name);
    SUBCOMMANDS.get(key.as_str()).map_or(&[], Vec::as_slice)
}
