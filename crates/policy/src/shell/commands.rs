//! Lists the commands that a text would run.

use super::parse::{Parsed, ShellWord, SimpleCommand, parse};
use super::wrappers::{Inner, list_inner};
use std::ops::Range;
use std::rc::Rc;

/// Maximum nesting of scripts.
const MAX_SCRIPTS: usize = 8;

/// Maximum number of words to look at. A chain of wrappers repeats the words of its last command for each wrapper.
const MAX_WORDS: usize = 20_000;

/// Every command of a text: its simple commands, those that wrappers run, and those of literal scripts.
#[derive(Debug)]
pub(super) struct CommandList {
    pub(super) commands: Vec<ListedCommand>,
    /// Whether every command and the name of its program could be read.
    pub(super) is_complete: bool,
    pub(super) has_loops: bool,
    /// The construct that the parser does not read, in English.
    pub(super) unreadable: Option<&'static str>,
}

/// A command of a list.
#[derive(Debug)]
pub(super) struct ListedCommand {
    pub(super) words: Vec<ShellWord>,
    /// The parsed command that this one is or that runs it. For a command under a wrapper, its words include the
    /// wrapper.
    pub(super) parsed: Rc<SimpleCommand>,
    /// Whether it is a command of the text itself.
    pub(super) is_outer: bool,
    /// Whether the command runs another one, which is listed with its own words.
    pub(super) is_wrapper: bool,
}

impl ListedCommand {
    /// Returns the byte range of the command in the text.
    pub(super) fn span(&self, text: &str) -> Option<Range<usize>> {
        let span = self.parsed.span.clone().filter(|_| self.is_outer)?;
        let mut kept = text.get(span.clone())?.trim_end_matches([' ', '\t', '\n', ';', '&', '|']);
        // A bracket that ends a subshell is not part of the last command in it.
        if kept.ends_with(')') && kept.matches(')').count() > kept.matches('(').count() {
            kept = kept.trim_end_matches(')').trim_end();
        }
        Some(span.start..span.start + kept.len()).filter(|span| !span.is_empty())
    }
}

impl CommandList {
    /// Lists the commands of a text, in the order of their positions; those that a command runs follow it.
    pub(super) fn read(text: &str) -> CommandList {
        let mut list = CommandList { commands: Vec::new(), is_complete: true, has_loops: false, unreadable: None };
        let mut words_left = MAX_WORDS;
        let mut texts = vec![(text.to_owned(), 0)];
        while let Some((text, depth)) = texts.pop() {
            let Parsed { mut commands, uses_numbers_by_name, has_loops } = match parse(&text) {
                Ok(parsed) => parsed,
                // The other texts are still listed, so that deny rules match what can be read.
                Err(unreadable) => {
                    list.is_complete = false;
                    list.unreadable.get_or_insert(unreadable.construct);
                    continue;
                }
            };
            commands.sort_by_key(|command| command.position);
            // A script inherits variables that this text does not show, and arithmetic evaluates their values.
            list.is_complete &= depth == 0 || !uses_numbers_by_name;
            list.has_loops |= has_loops;
            for command in commands {
                list.add(command, depth, &mut texts, &mut words_left);
            }
        }
        list
    }

    fn add(&mut self, command: SimpleCommand, depth: usize, texts: &mut Vec<(String, usize)>, words_left: &mut usize) {
        // Settings of git in the environment can give a subcommand another name.
        let sets_git = |word: &ShellWord| match word {
            ShellWord::Literal(text) | ShellWord::Pattern(text) | ShellWord::Unknown { prefix: text, .. } => {
                text.starts_with("GIT_CONFIG") && text.contains('=')
            }
            ShellWord::Home(_) => false,
        };
        self.is_complete &= !command.assignments.iter().any(|it| it.name.starts_with("GIT_CONFIG"));
        self.is_complete &= !command.words.iter().any(sets_git);
        let command = Rc::new(command);
        let mut waiting = vec![command.words.clone()];
        let mut is_outer = depth == 0;
        while let Some(words) = waiting.pop() {
            // Each wrapper repeats the words after it, so a chain of them takes quadratic space.
            match words_left.checked_sub(words.len() + 1) {
                Some(left) => *words_left = left,
                None => {
                    self.is_complete = false;
                    return;
                }
            }
            self.is_complete &= words.first().is_none_or(|name| name.literal().is_some());
            let mut is_wrapper = false;
            for inner in list_inner(&words, &command) {
                match inner {
                    Inner::Command(words) => {
                        is_wrapper = true;
                        waiting.push(words);
                    }
                    Inner::Script(text) if depth < MAX_SCRIPTS => texts.push((text, depth + 1)),
                    Inner::Script(_) | Inner::Unknown => self.is_complete = false,
                }
            }
            self.commands.push(ListedCommand { words, parsed: Rc::clone(&command), is_outer, is_wrapper });
            is_outer = false;
        }
    }
}
