//! `coder doctor`: which barriers of the sandbox hold here, found out by trying to break each; why the others do not, and what to do. And what
//! looks at changed files.

use crate::args::{DoctorArguments, Options};
use crate::checks;
use crate::config::Layers;
use crate::failure::{Failure, UNSUCCESSFUL};
use crate::messages;
use crate::runtime::cannot_start;
use crate::setup;
use crate::shown::Words;
use crate::terminal::{Style, Terminal, set_colours};
use serde_json::{Value, json};
use std::process::ExitCode;
use toolfence::Text;
use toolfence::program::trial::{self, Finding, Held, Trial};
use toolfence::sandbox::{Kind, Mode, Settings};

/// Tries the sandbox of the settings, and tells.
pub(crate) fn run(options: &Options, arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let (layers, _) = setup::with_persona(Layers::read(options)?)?;
    let config = layers.merged();
    set_colours(config.choice("color")?);
    let settings = setup::sandbox(&config)?;
    let trial = tried(&settings)?;
    let standing = checks::standing(&config, &options.root)?;
    let mut out = Terminal::stdout();
    match arguments.json {
        true => {
            let mut told = told(&trial, &settings);
            told["checks"] = checks::told(&standing);
            out.line(&told.to_string())?;
        }
        false => {
            shown(&trial, &settings, &mut out)?;
            checks::shown(&standing, &mut out)?;
        }
    }
    Ok(if trial.all_held() { ExitCode::SUCCESS } else { UNSUCCESSFUL.into() })
}

fn tried(settings: &Settings) -> Result<Trial, Failure> {
    let scratch =
        tempfile::tempdir().map_err(|error| Failure::broken(messages::no_temporary_folder(error.to_string())))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot_start)?;
    runtime.block_on(trial::sandbox(settings, scratch.path())).map_err(Failure::broken)
}

fn told(trial: &Trial, settings: &Settings) -> Value {
    json!({
        "v": super::SCHEMA, "kind": trial.report.kind, "holds": trial.report.holds && trial.all_held(),
        "why": trial.report.why, "helper": trial.report.helper, "kernel": kernel(),
        "user": rustix::process::geteuid().as_raw(), "findings": trial.findings, "advice": advice(trial, settings),
    })
}

fn shown(trial: &Trial, settings: &Settings, out: &mut Terminal) -> Result<(), Failure> {
    let user = rustix::process::geteuid();
    out.line(&messages::system(kernel(), user.as_raw()))?;
    out.write("\n")?;
    let (style, sentence) = headline(trial, settings);
    out.styled_line(style, &sentence)?;
    trial.report.why.iter().try_for_each(|why| out.line(&format!("  {}", why.words())))?;
    let mut barrier = None;
    for finding in &trial.findings {
        if barrier != Some(&finding.barrier) {
            barrier = Some(&finding.barrier);
            out.line(&format!("\n{}", finding.barrier.words()))?;
        }
        row(finding, out)?;
    }
    advice(trial, settings).iter().try_for_each(|advice| out.line(&format!("\n{}", advice.words())))
}

fn row(finding: &Finding, out: &mut Terminal) -> Result<(), Failure> {
    let (style, word) = match finding.result {
        Held::Yes => (Style::Good, messages::holds()),
        Held::No => (Style::Bad, messages::broken()),
        Held::Open => (Style::Dim, messages::open()),
        _ => (Style::Bad, messages::unknown()),
    };
    out.styled(style, &format!("  {:<8}", word.words()))?;
    out.write(&format!(" {:<44}", finding.attempt.words()))?;
    out.styled_line(Style::Dim, &format!(" {}", finding.said.words()))?;
    finding.advice.iter().try_for_each(|advice| out.line(&format!("           {}", advice.words())))
}

fn headline(trial: &Trial, settings: &Settings) -> (Style, Text) {
    let broken = trial.findings.iter().any(|finding| finding.result == Held::No);
    match trial.report.kind {
        Kind::Nothing if settings.mode == Mode::Off => (Style::Dim, messages::sandbox_off()),
        Kind::Nothing if settings.container.is_some() => (Style::Bad, messages::container_missing()),
        Kind::Nothing => (Style::Bad, messages::no_sandbox_here()),
        Kind::Landlock => (Style::Bad, messages::sandbox_holds_in_part()),
        _ if broken => (Style::Bad, messages::sandbox_broken()),
        _ if !trial.all_held() => (Style::Dim, messages::sandbox_not_all_tried()),
        _ if settings.network => (Style::Dim, messages::sandbox_with_network()),
        _ => (Style::Good, messages::sandbox_holds()),
    }
}

/// What can be done about a sandbox that cannot be set up.
fn advice(trial: &Trial, settings: &Settings) -> Vec<Text> {
    if trial.report.kind > Kind::Landlock || settings.mode == Mode::Off {
        return Vec::new();
    }
    if let Some(container) = &settings.container {
        let (engine, image) = (container.engine(), &container.image);
        return vec![messages::engine_has_to_work(engine, image)];
    }
    let setting = |path: &str| std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let known = [
        (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1), messages::apparmor_restricts()),
        (setting("/proc/sys/kernel/unprivileged_userns_clone") == Some(0), messages::kernel_restricts()),
        (setting("/proc/sys/user/max_user_namespaces") == Some(0), messages::no_user_namespaces()),
        (
            std::path::Path::new("/.dockerenv").exists() || std::path::Path::new("/run/.containerenv").exists(),
            messages::inside_a_container(),
        ),
    ];
    known.into_iter().filter(|(applies, _)| *applies).map(|(_, advice)| advice).collect()
}

fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
