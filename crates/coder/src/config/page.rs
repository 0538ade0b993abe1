//! The settings file with every setting explained, and the page `docs/settings-reference.md`.

use super::project;
use super::settings::Settings;
use super::value::Shape;
use std::fmt::Write as _;
use toolfence_protocol::Language;

/// Maximum number of columns of a line of help.
const WIDTH: usize = 118;

/// Returns a settings file in which every setting is explained and none is set.
pub(crate) fn documented(language: Language) -> String {
    let mut out = String::new();
    let mut table = "";
    for row in Settings::default().rows() {
        let (of, name) = row.key.split_once('.').unwrap_or(("", row.key));
        if of != table {
            table = of;
            // Writing to a String cannot fail.
            let _ = writeln!(out, "[{table}]");
        }
        let takes =
            if row.shape == Shape::One { capitalized(&row.takes.render(language)) + ". " } else { String::new() };
        let last = takes + &project::help(row.key).render(language);
        for line in row.help(language).into_iter().chain([last]) {
            wrap(&line, &mut out);
        }
        let value = match row.shape {
            Shape::One if row.default.is_empty() => "\"...\"",
            Shape::One => row.default,
            Shape::List => "[]",
            Shape::Table => "{}",
        };
        let _ = writeln!(out, "#{name} = {value}\n");
    }
    out
}

fn capitalized(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// Writes a line as comments of at most [`WIDTH`] columns.
fn wrap(line: &str, out: &mut String) {
    let mut written = 0;
    for word in line.split(' ') {
        let length = word.chars().count() + 1;
        if written == 0 || written + length > WIDTH {
            out.push_str(if written == 0 { "#" } else { "\n#" });
            written = 1;
        }
        out.push(' ');
        out.push_str(word);
        written += length;
    }
    out.push('\n');
}

/// Returns the reference page of all settings.
#[cfg(test)]
fn reference() -> String {
    let mut out = crate::reference::head("Reference of settings");
    out += "\n[Settings](settings.md) explains the files of settings and the column *in a project file*.\n";
    out +=
        "If a project may set a key, its words are listed from the loosest to the strictest. A relative path in your\n";
    out += "file starts at the folder of that file.\n";
    let mut table = None;
    for row in Settings::default().rows() {
        let of = row.key.split_once('.').map_or("", |(table, _)| table);
        if table != Some(of) {
            table = Some(of);
            let heading = if of.is_empty() { "Keys at the top level".to_owned() } else { format!("`[{of}]`") };
            // Writing to a String cannot fail.
            let _ = write!(
                out,
                "\n## {heading}\n\n| key | value (default) | in a project file | meaning |\n|---|---|---|---|\n"
            );
        }
        let default = if row.default.is_empty() { "none" } else { row.default.trim_matches('"') };
        let project =
            project::in_project(row.key).map_or("never".to_owned(), |rule| format!("{rule:?}").to_lowercase());
        let help = row.help(Language::English).join("<br>").replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | {} (`{default}`) | {project} | {help} |", row.key, row.takes);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::read::read;
    use super::super::value::{Layer, Source};
    use super::*;

    fn source(text: String) -> Source {
        Source { layer: Layer::User, name: "config.toml".into(), text }
    }

    #[test]
    fn the_documented_file_explains_every_setting_and_sets_none() {
        let text = documented(Language::English);
        let read = read(&source(text.clone()), false).expect("it can be read");
        for row in read.rows() {
            assert!(row.values.is_empty(), "{}", row.key);
            let name = row.key.rsplit('.').next().unwrap_or(row.key);
            assert!(text.contains(&format!("\n#{name} = ")), "{name} in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }

    #[test]
    fn the_tables_of_settings_are_current() {
        crate::reference::assert_current("settings-reference.md", &reference());
    }
}
