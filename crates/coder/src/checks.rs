//! The checkers for changed files on this machine, for `coder doctor`. The tools use the same table.

use crate::config::Config;
use crate::config::places::Places;
use crate::failure::Failure;
use crate::project;
use crate::proposals;
use crate::rules;
use crate::shown::Words;
use crate::terminal::{Style, Terminal};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use toolfence_policy::rules::PathRules;
use toolfence_protocol::text;
use toolfence_tools::Checks;
use toolfence_tools::Standing;
use toolfence_tools::validate::Reads;
use toolfence_tools::validate::syntax::{self, LANGUAGES, Language};

/// Returns the checkers that run around a change below this root, in their order.
pub(crate) fn standing(config: &Config, root: &Path) -> Result<Vec<Standing>, Failure> {
    let workspace = project::workspace(root, PathRules::default())?;
    let commands = project::runner(&Arc::new(workspace), config, None)?;
    Ok(Checks::new(commands).checkers(rules::checkers(config)?).standing())
}

/// Returns the commands for `checks.commands` that the project suggests and the settings lack.
pub(crate) fn proposed(config: &Config, root: &Path) -> Vec<String> {
    let known: Vec<&str> = config.checks.commands.values().map(|rule| &*rule.command).collect();
    proposals::for_project(root).into_iter().filter(|line| !known.contains(&&**line)).collect()
}

/// Prints proposed commands as the lines of a settings file.
pub(crate) fn propose(lines: &[String], places: &Places, out: &mut Terminal) -> Result<(), Failure> {
    if lines.is_empty() {
        return Ok(());
    }
    out.write("\n")?;
    let file = places.project.display().to_string();
    out.line(&text!(
        "Proposed checks of the whole project. To use them, put these lines into {file} and run `coder config trust`:",
        file
    ))?;
    out.line("  [checks]")?;
    out.line(&format!("  {}", proposals::as_setting(lines)))
}

/// Returns the checkers as one JSON value.
pub(crate) fn to_json(all: &[Standing]) -> Value {
    let program = |one: &Standing| {
        let reads = match &one.checker.reads {
            Reads::Project(file) => format!("project:{file}"),
            _ => "text".to_owned(),
        };
        json!({
            "files": one.checker.files().collect::<Vec<_>>(), "program": one.checker.program(), "found": one.program,
            "asked": one.program.is_some() && one.may_run, "reads": reads, "built_in": one.built_in,
            "without": languages(one),
        })
    };
    let language = |one: &Language| json!({"language": one.name, "files": globs(one)});
    json!({
        "programs": all.iter().map(program).collect::<Vec<_>>(),
        "in_process": LANGUAGES.iter().map(language).collect::<Vec<_>>(),
    })
}

/// Prints the checkers as a table.
pub(crate) fn print_table(all: &[Standing], out: &mut Terminal) -> Result<(), Failure> {
    out.write("\n")?;
    out.line(&text!("checks of changed files"))?;
    all.iter().try_for_each(|one| row(one, out))?;
    let asked = |glob: &str| all.iter().any(|one| one.checker.files().any(|known| known == glob));
    let left = LANGUAGES.iter().filter(|language| !globs(language).iter().any(|glob| asked(glob)));
    let left: Vec<&str> = left.map(|language| language.name).collect();
    out.styled(Style::Good, &format!("  {:<8} ", text!("built in").words()))?;
    out.line(&text!("{languages}: read in process", languages = left.join(", ")))
}

fn row(one: &Standing, out: &mut Terminal) -> Result<(), Failure> {
    let (style, word) = match (&one.program, one.may_run) {
        (Some(_), true) => (Style::Good, text!("asked")),
        (Some(_), false) => (Style::Dim, text!("no sandbox")),
        (None, _) => (Style::Dim, text!("missing")),
    };
    let files = one.checker.files().collect::<Vec<_>>().join(" ");
    let checker = match &one.checker.reads {
        Reads::Project(file) if !one.checker.checks_files_alone() => {
            text!("{files}: {program}, if there is a {file}", files, program = one.checker.program(), file)
        }
        _ => text!("{files}: {program}", files, program = one.checker.program()),
    };
    out.styled(style, &format!("  {:<8}", word.words()))?;
    out.write(&format!(" {:<44}", checker.words()))?;
    let said = match (&one.program, &*languages(one)) {
        (Some(path), _) if one.may_run => path.display().to_string().into(),
        (_, []) => text!("not checked"),
        (_, languages) => text!("read in process, as {languages}", languages = languages.join(", ")),
    };
    out.styled_line(Style::Dim, &format!(" {}", said.words()))
}

/// Returns the languages that are parsed in process if the checker is not used.
fn languages(one: &Standing) -> Vec<&'static str> {
    let mut names = Vec::new();
    for glob in one.checker.files() {
        let language = syntax::language(&glob.replace('*', "a"));
        names.extend(language.map(|found| found.name).filter(|name| !names.contains(name)));
    }
    names
}

fn globs(language: &Language) -> Vec<String> {
    language.endings.iter().map(|ending| format!("*.{ending}")).collect()
}
