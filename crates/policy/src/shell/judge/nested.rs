//! What a command runs in turn: the command of a wrapper, the text of a shell, the words of `find -exec` and `xargs`.

use super::report::{Deeds, Finding, HISTORY};
use super::{Input, UNCOUNTED, Walker, command, cwd, deny_rules, inspection};
use crate::shell::expand::Word;
use crate::shell::programs::{Adds, Inner, base_name, wrappers};
use crate::shell::{messages, shown};

/// Judges what the command would run in turn; whether that says all there is to say.
pub(crate) fn judge(walker: &mut Walker<'_>, program: &str, argv: &[Word], input: &Input, inners: Vec<Inner>) -> bool {
    let mut known = false;
    for inner in inners {
        match inner {
            Inner::Command { from, adds, folder, replace } => {
                let own = argv[..from].iter().all(|word| word.literal().is_some());
                if program == "xargs" {
                    walker.looped(UNCOUNTED, |walker| fed(walker, &argv[from..], input, replace.as_deref()));
                } else {
                    let before = walker.folders.clone();
                    in_folder(walker, folder, |walker| command::command(walker, &argv[from..], input));
                    // These two start no process: a `cd` behind them is one of the script itself.
                    walker.folders = match program {
                        "command" | "builtin" => cwd::either(before, walker.folders.take()),
                        _ => before,
                    };
                }
                known = own && adds_nothing(walker, program, adds);
            }
            Inner::Range { from, to } => {
                let inner = found_words(&argv[from..to], roots(argv));
                // It runs in the folder of what was found. The sandbox holds which files it reads there, but for those that are
                // committed, which only git reads, and what runs git in turn.
                let elsewhere = argv[from - 1].guess().is_some_and(|action| action.ends_with("dir"));
                let runs = |word: &Word| !wrappers::inner(word.guess().map_or("", base_name), &inner).is_empty();
                let commits =
                    inner.iter().any(|word| word.pattern().contains("git")) || inner.first().is_some_and(runs);
                if elsewhere && (commits || !walker.ground.facts.sandbox_holds()) {
                    let rule = if commits { HISTORY } else { "unknown_path" };
                    walker.report.note(Finding::ask(rule, messages::folder_not_known()));
                }
                walker.looped(UNCOUNTED, |walker| {
                    walker.deeper(|walker| command::command(walker, &inner, &Input::Unknown));
                });
            }
            Inner::Script { text, transparent } => {
                let before = std::mem::replace(&mut walker.stdin, input.clone());
                walker.script(&text);
                walker.stdin = before;
                known = transparent && argv[0].literal().is_some() && walker.is_system(program);
            }
            Inner::File { at } => known = file(walker, program, argv, at),
            Inner::Input => script(walker, input),
            Inner::Untold => {
                walker.report.note(Finding::ask("unknown_program", messages::runs_untold(shown(program, 40))));
                walker.report.note_any(deny_rules::behind(walker.ground, argv));
            }
        }
    }
    known
}

/// Whether a wrapper changes nothing about what it runs.
fn adds_nothing(walker: &mut Walker<'_>, program: &str, adds: Adds) -> bool {
    match adds {
        Adds::Nothing => walker.is_system(program),
        Adds::Project => {
            match walker.ground.facts.sandbox_holds() {
                true => walker.report.does(Deeds::RUNS),
                false => walker.report.note(inspection::project_code(program)),
            }
            walker.is_system(program)
        }
        Adds::Unknown => false,
    }
}

fn in_folder(walker: &mut Walker<'_>, folder: Option<String>, go: impl FnOnce(&mut Walker<'_>)) {
    if let (Some(folder), Some(folders)) = (folder, walker.folders.clone()) {
        walker.folders = cwd::into(folders, &folder, true);
    }
    walker.deeper(go);
}

/// A shell runs a file: code of the project, if it is in it. What `source` reads runs in the script's own shell: behind it
/// every name may stand for code of the project, which the sandbox holds as it holds that of `bash FILE`, and no earlier answer
/// of a person counts.
fn file(walker: &mut Walker<'_>, program: &str, argv: &[Word], at: usize) -> bool {
    walker.sourced |= matches!(program, "source" | ".");
    let here = walker.folders.clone().unwrap_or_default();
    walker.report.note_any(deny_rules::finding(walker.ground, &here, &argv[at..]));
    walker.report.note_any(deny_rules::among(walker.ground, "", &argv[at..]));
    let inspection = inspection::Inspection::new(walker.ground, walker.folders.as_deref(), false);
    match inspection.program_of_its_own(&argv[at], &argv[1..]) {
        Err(finding) => walker.report.note(finding),
        Ok(()) => walker.report.does(Deeds::RUNS),
    }
    walker.is_system(program)
}

/// What `xargs` runs: its words, and behind them or in place of a mark whatever it reads.
fn fed(walker: &mut Walker<'_>, argv: &[Word], input: &Input, replace: Option<&str>) {
    // Names that another command found are names of the project. What the line itself says may be any, and is not followed: then
    // a setting that asks nobody must not run it.
    let said = matches!(input, Input::Text(_) | Input::Printed);
    if said {
        walker.report.note(Finding::ask_person("unknown_program", messages::runs_printed()));
    }
    let word = if said { Word::unknown() } else { Word::found() };
    let behind = if replace.is_some() { None } else { Some(word.clone()) };
    let argv: Vec<Word> = argv.iter().map(|arg| unknown_in(arg, replace, &word)).chain(behind).collect();
    walker.deeper(|walker| command::command(walker, &argv, &Input::Unknown));
}

fn unknown_in(arg: &Word, replace: Option<&str>, word: &Word) -> Word {
    match (arg.guess(), replace) {
        (Some(text), Some(mark)) if text == mark => word.clone(),
        (Some(text), Some(mark)) if text.contains(mark) => Word::unknown(),
        _ => arg.clone(),
    }
}

/// Where `find` begins to look.
fn roots(argv: &[Word]) -> &[Word] {
    let starts = |prefix: &'static [char]| move |word: &Word| word.guess().is_some_and(|text| text.starts_with(prefix));
    let options = argv.iter().skip(1).take_while(|word| matches!(word.guess(), Some("-H" | "-L" | "-P"))).count();
    let rest = argv.get(1 + options..).unwrap_or(&[]);
    let end = rest.iter().position(starts(&['-', '(', '!'])).unwrap_or(rest.len());
    &rest[..end]
}

/// The words of `find -exec`, where `{}` is one of the roots or any name below them.
fn found_words(words: &[Word], roots: &[Word]) -> Vec<Word> {
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match word.guess() {
            // What is found is the program itself.
            Some(text) if at == 0 && text.contains("{}") => out.push(Word::unknown()),
            Some("{}") if roots.is_empty() => out.extend([Word::text("."), below(&Word::text("."))]),
            Some("{}") => out.extend(roots.iter().flat_map(|root| [root.clone(), below(root)])),
            Some(text) if text.contains("{}") => out.push(Word::unknown()),
            _ => out.push(word.clone()),
        }
    }
    out
}

/// Any name below a folder.
fn below(root: &Word) -> Word {
    let Some(text) = root.literal().filter(|text| !text.is_empty()) else { return Word::unknown() };
    Word::below(text)
}

/// A shell that reads its script from its input.
fn script(walker: &mut Walker<'_>, input: &Input) {
    match input {
        Input::Text(text) => walker.script(text),
        Input::Printed | Input::Unknown => {
            // The line says what runs, and nobody has read it: `echo 'rm -rf /' | sh`.
            let needs_person = *input == Input::Printed;
            let reason = if needs_person { messages::runs_printed() } else { messages::runs_input() };
            walker.report.note(Finding { needs_person, ..Finding::ask("unknown_program", reason) });
            walker.report.note_any(deny_rules::unknown_program(walker.ground));
        }
        Input::Nothing => {}
    }
}
