//! How words are held against what the table says of a program: operands that are inside the project and not blocked, and what
//! only the sandbox holds.

use super::cwd::below;
use super::report::{Deeds, Finding};
use super::{files, reach};
use crate::shell::expand::Word;
use crate::shell::programs::arguments::Arguments;
use crate::shell::programs::{self, Operands, Profile, Reads, has};
use crate::shell::{Ground, messages, shown};
use std::cell::Cell;
use toolfence_protocol::Text;

/// A command that is held against what the table says of programs, with what stands around it.
pub(crate) struct Inspection<'a> {
    pub(crate) ground: Ground<'a>,
    pub(crate) folders: Option<&'a [String]>,
    /// Whether something is piped into it: without operands some programs read the folder instead.
    pub(crate) fed: bool,
    /// What the command does beside reading, as far as it was looked at.
    deeds: Cell<Deeds>,
}

pub(crate) type Checked = Result<(), Finding>;

impl<'a> Inspection<'a> {
    pub(crate) fn new(ground: Ground<'a>, folders: Option<&'a [String]>, fed: bool) -> Inspection<'a> {
        Inspection { ground, folders, fed, deeds: Cell::default() }
    }

    pub(crate) fn deeds(&self) -> Deeds {
        self.deeds.get()
    }

    /// The command does this beside reading.
    pub(crate) fn does(&self, deeds: Deeds) {
        self.deeds.set(self.deeds.get().and(deeds));
    }

    pub(crate) fn held(&self) -> bool {
        self.ground.facts.sandbox_holds()
    }

    /// What runs code of the project is held by the sandbox alone.
    pub(crate) fn runs(&self, program: &str) -> Checked {
        self.does(Deeds::RUNS);
        if self.held() { Ok(()) } else { Err(project_code(program)) }
    }

    pub(crate) fn operands(&self, program: &str, profile: &Profile, read: &Arguments<'_>) -> Checked {
        let operands = &read.operands;
        match profile.operands {
            Operands::None | Operands::Text => return Ok(()),
            Operands::Checked(passes) => {
                // What does no harm whatever its words are.
                let harmless = |word: &&&Word| profile.is("harmless") && self.held() && word.is_open();
                let rest: Vec<&Word> = operands.iter().filter(|word| !harmless(word)).copied().collect();
                return checked(program, &rest, passes);
            }
            Operands::Verb(verbs) => {
                return match operands.first() {
                    Some(verb) if verb.literal().is_some_and(|verb| has(verbs, verb)) => Ok(()),
                    Some(verb) if verb.literal().is_some() => {
                        unknown(not_listed(program, verb.literal().unwrap_or_default()))
                    }
                    _ => unknown(messages::only_with_one_of(program, verbs)),
                };
            }
            Operands::One if operands.len() > 1 || operands.iter().any(|word| word.is_open() && word.is_loose()) => {
                return unknown(messages::writes_second_operand(program));
            }
            Operands::ScriptThenPaths(only_reads) => self.script(program, read, only_reads)?,
            Operands::Program => return self.program(program, operands),
            Operands::Places => return self.private(program, operands),
            _ => {}
        }
        read.places(profile).iter().try_for_each(|operand| self.place(program, profile, operand))
    }

    pub(crate) fn place(&self, program: &str, profile: &Profile, operand: &Word) -> Checked {
        if operand.is_found() {
            let below = operand.parts.len() > 1;
            if below && profile.reads == Reads::Names && !profile.runs {
                return self.path(operand);
            }
            if !profile.reads_only() {
                return unknown(messages::with_found_names(program));
            }
            return self.sandbox(program);
        }
        if profile.runs {
            self.code(operand)?;
        }
        if programs::is(program, "at-file") && operand.pattern().starts_with('@') {
            return unknown(messages::takes_options_from(program, shown(&operand.pattern(), 80)));
        }
        self.path(operand)?;
        if (operand.is_glob() || operand.is_open()) && profile.reads != Reads::Names {
            self.sandbox(program)?;
        }
        Ok(())
    }

    /// A program in an argument has to be one that only reads.
    pub(crate) fn script(&self, program: &str, read: &Arguments<'_>, only_reads: fn(&[&str]) -> bool) -> Checked {
        let operand = if read.has_pattern { None } else { read.operands.first().copied() };
        let texts = scripts(read);
        if texts.is_empty() {
            return unknown(messages::only_literal_program(program));
        }
        if !only_reads(&texts) {
            return unknown(messages::no_reading_program(shown(&texts.join("; "), 80), program));
        }
        // The yq in Go takes an expression that is the name of a file for that file.
        let names = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        let may_be_file = |word: &&Word| word.literal().is_some_and(names);
        let blocked = |word: &Word| files::blocked(self.ground, self.folders, word).is_some();
        if program == "yq" && operand.filter(may_be_file).is_some_and(blocked) { self.sandbox(program) } else { Ok(()) }
    }

    /// A program that writes to the places it names, where these are in the sandbox's private `/tmp`. `tee` may be told where
    /// its output goes.
    fn private(&self, program: &str, operands: &[&Word]) -> Checked {
        let stream = |text: &str| program == "tee" && matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr");
        let known = |text: &str| stream(text) || files::is_private(self.ground, text);
        if let Some(word) = operands.iter().find(|word| !word.literal().is_some_and(known)) {
            return unknown(messages::not_known_with(program, shown(&word.pattern(), 80)));
        }
        if program == "mktemp" || !operands.iter().all(|word| word.literal().is_some_and(stream)) {
            self.does(Deeds::STORES);
        }
        Ok(())
    }

    /// An interpreter that runs a file of the project.
    pub(crate) fn program(&self, program: &str, operands: &[&Word]) -> Checked {
        match operands.first() {
            Some(file) if file.literal().is_some_and(|text| text != "-" && !text.contains(['@', ':'])) => {
                self.code(file)?;
                self.path(file)
            }
            _ => unknown(messages::only_project_file(program)),
        }
    }

    /// A path that is inside and not blocked.
    pub(crate) fn path(&self, word: &Word) -> Checked {
        files::operand(self.ground, self.folders, word).map_or(Ok(()), Err)
    }

    /// What a program takes for code of the project has to be of the project. What stands in the private `/tmp`, or comes from
    /// a command beside, is code that the command line itself has made.
    pub(crate) fn code(&self, word: &Word) -> Checked {
        let made = word.literal().is_some_and(|path| files::is_private(self.ground, path)) || *word == Word::stream();
        if made { unknown(messages::no_project_file(shown(&word.pattern(), 80))) } else { Ok(()) }
    }

    /// A path in the project.
    pub(crate) fn inside(&self, path: &str) -> Checked {
        self.code(&Word::text(path))?;
        self.path(&Word::text(path))
    }

    /// Where the shell goes if it takes `..` for the folder in the text, and not for the one above where a link has led.
    pub(crate) fn collapsed(&self, target: &str) -> Checked {
        let folders = self.folders.unwrap_or(&[]);
        let mut places = folders.iter().map(|folder| reach::collapsed(&below(folder, target)));
        places.try_for_each(|place| {
            let place = if place.is_empty() { ".".to_owned() } else { place };
            files::operand(self.ground, Some(&[String::new()]), &Word::text(&place)).map_or(Ok(()), Err)
        })
    }

    /// What reads files that no word names is only sure of blocked ones where the sandbox hides them.
    pub(crate) fn sandbox(&self, program: &str) -> Checked {
        if self.held() {
            return Ok(());
        }
        Err(Finding::ask("unnamed_files", messages::reads_unnamed(program)))
    }
}

/// What the project means by a program is not known, and only the sandbox holds it.
pub(crate) fn project_code(program: &str) -> Finding {
    Finding::ask("project_code", messages::runs_project(shown(program, 80)))
}

pub(crate) fn ask(reason: Text) -> Finding {
    Finding::ask("not_known_read_only", reason)
}

/// The reason that a command, with its subcommand if there is one, is not on the list, with what it does where the table says so.
pub(crate) fn not_listed(program: &str, verb: &str) -> Text {
    let name = format!("{} {}", shown(program, 40), shown(verb, 40));
    let name = name.trim_end();
    match programs::text(&[program, verb].join(":"), "does") {
        Some(does) => messages::not_listed_but_known(name, does),
        None => messages::not_listed(name),
    }
}

pub(crate) fn unknown(reason: Text) -> Checked {
    Err(ask(reason))
}

fn checked(program: &str, operands: &[&Word], passes: fn(&str) -> bool) -> Checked {
    match operands.iter().find(|word| !word.literal().is_some_and(passes)) {
        Some(word) => unknown(messages::argument_not_known(program, shown(&word.pattern(), 40))),
        None => Ok(()),
    }
}

/// The pieces of the program that an interpreter of a little language is given.
pub(crate) fn scripts<'a>(read: &Arguments<'a>) -> Vec<&'a str> {
    let operand = if read.has_pattern { None } else { read.operands.first().copied() };
    operand.and_then(Word::literal).into_iter().chain(read.scripts.iter().copied()).collect()
}
