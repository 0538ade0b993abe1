//! What a command runs in turn: the command of a wrapper, the text of a shell, the words of `find -exec` and `xargs`.

use super::{Input, command, is_system, moves};
use crate::shell::denied;
use crate::shell::profiles;
use crate::shell::report::{Finding, shown};
use crate::shell::walk::Walker;
use crate::shell::words::Word;
use crate::shell::wrappers::{Adds, Inner};

/// The most words and lines of a known input that `xargs` is followed with.
const MOST_FED: usize = 64;
const MOST_LINES: usize = 4;

/// Judges what the command would run in turn; whether that says all there is to say.
pub(super) fn judge(walker: &mut Walker<'_>, program: &str, argv: &[Word], input: &Input, inners: Vec<Inner>) -> bool {
    let mut known = false;
    for inner in inners {
        match inner {
            Inner::Command { from, adds, folder, replace } => {
                let own = argv[..from].iter().all(|word| word.literal().is_some());
                if program == "xargs" {
                    walker.looped(|walker| fed(walker, &argv[from..], input, replace.as_deref()));
                } else {
                    in_folder(walker, folder, |walker| command(walker, &argv[from..], input));
                }
                known = own && adds_nothing(walker, program, adds);
            }
            Inner::Range { from, to } => {
                let argv = found_words(&argv[from..to], roots(argv));
                walker.looped(|walker| walker.deeper(|walker| command(walker, &argv, &Input::Unknown)));
            }
            Inner::Script { text, transparent, words } => {
                walker.variables.arguments(&words);
                walker.script_on(&text, input);
                known = transparent && argv[0].literal().is_some() && is_system(walker, program);
            }
            Inner::File { at } => known = file(walker, program, argv, at),
            Inner::Input => script(walker, input),
            Inner::Untold => {
                let reason = format!("Nobody can tell what {} would run.", shown(program, 40));
                walker.report.note(Finding::ask("unknown_program", reason));
                denied::behind(walker.ground, argv).into_iter().for_each(|finding| walker.report.note(finding));
            }
        }
    }
    known
}

/// Whether a wrapper changes nothing about what it runs.
fn adds_nothing(walker: &mut Walker<'_>, program: &str, adds: Adds) -> bool {
    match adds {
        Adds::Nothing => is_system(walker, program),
        Adds::Project => {
            match walker.ground.facts.walls().hold {
                true => walker.report.runs(),
                false => walker.report.note(profiles::project_code(program)),
            }
            is_system(walker, program)
        }
        Adds::Unknown => false,
    }
}

fn in_folder(walker: &mut Walker<'_>, folder: Option<String>, go: impl FnOnce(&mut Walker<'_>)) {
    let before = walker.folders.clone();
    if let (Some(folder), Some(folders)) = (folder, before.clone()) {
        walker.folders = moves::into(folders, &folder, true);
    }
    walker.deeper(go);
    walker.folders = before;
}

/// A shell runs a file: code of the project, if it is in it. What `source` reads runs in the script's own shell: behind it
/// every name may stand for code of the project, which the sandbox holds as it holds that of `bash FILE`, and no earlier answer
/// of a person counts.
fn file(walker: &mut Walker<'_>, program: &str, argv: &[Word], at: usize) -> bool {
    walker.sourced |= matches!(program, "source" | ".");
    let here = walker.folders.clone().unwrap_or_default();
    if let Some(finding) = denied::finding(walker.ground, &here, &argv[at..]) {
        walker.report.note(finding);
    }
    if let Some(finding) = denied::among(walker.ground, "", &argv[at..]) {
        walker.report.note(finding);
    }
    let deeds = profiles::Deeds::default();
    let reader = profiles::Reader::new(walker.ground, walker.folders.as_deref(), false, &deeds);
    match reader.program_of_its_own(&argv[at], &argv[1..]) {
        Err(finding) => walker.report.note(finding),
        Ok(()) => walker.report.runs(),
    }
    is_system(walker, program)
}

/// What `xargs` runs, with the words of its input.
fn fed(walker: &mut Walker<'_>, argv: &[Word], input: &Input, replace: Option<&str>) {
    let (text, guessed) = match input {
        Input::Text(text) => (Some(text), false),
        Input::Guess(text) => (Some(text), true),
        _ => (None, true),
    };
    let Some(text) = text else {
        let word = if replace.is_some() { Vec::new() } else { vec![Word::found()] };
        let argv: Vec<Word> = argv.iter().map(|arg| unknown_in(arg, replace)).chain(word).collect();
        return walker.deeper(|walker| command(walker, &argv, &Input::Unknown));
    };
    let Some(mark) = replace else {
        let words = split(text).into_iter().map(|word| if guessed { word.into_guess() } else { word });
        let argv: Vec<Word> = argv.iter().cloned().chain(words).collect();
        return walker.deeper(|walker| command(walker, &argv, &Input::Unknown));
    };
    let lines: Vec<&str> = text.lines().take(MOST_LINES).collect();
    for line in if lines.is_empty() { vec![""] } else { lines } {
        let replaced = |arg: &Word| match arg.guess() {
            Some(text) if text.contains(mark) => Word::text(&text.replace(mark, line)).into_guess(),
            _ => arg.clone(),
        };
        let argv: Vec<Word> = argv.iter().map(replaced).collect();
        walker.deeper(|walker| command(walker, &argv, &Input::Unknown));
    }
}

/// The words of a text; certain where nothing in it could be read in two ways.
fn split(text: &str) -> Vec<Word> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./ \n".contains(&byte);
    let blank = |c: char| c.is_whitespace() || c == '\0';
    let all: Vec<&str> = text.split(blank).filter(|word| !word.is_empty()).take(MOST_FED + 1).collect();
    // However they are shared out among several runs, operands stay operands; options might not.
    let operands = all.iter().all(|word| !word.starts_with('-'));
    let certain = operands && all.len() <= MOST_FED && text.bytes().all(plain);
    let words = all.iter().map(|word| Word::text(word.trim_matches(['\'', '"'])));
    words.map(|word| if certain { word } else { word.into_guess() }).collect()
}

fn unknown_in(arg: &Word, replace: Option<&str>) -> Word {
    match (arg.guess(), replace) {
        (Some(text), Some(mark)) if text == mark => Word::found(),
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
        Input::Guess(text) => {
            walker.suspected(text);
            walker.report.note(Finding::ask("unknown_program", "A shell would run text that only a run would tell."));
        }
        Input::Unknown => {
            walker.report.note(Finding::ask("unknown_program", "A shell would run text that only a run would tell."));
            denied::unknown_program(walker.ground).into_iter().for_each(|finding| walker.report.note(finding));
        }
        Input::Nothing => {}
    }
}
