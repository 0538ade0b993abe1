//! What the documents say of the program, held beside the program; and that their links lead somewhere.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use toolfence_kit::root;

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The documents for users, relative to the root.
fn documents() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs")).expect("the folder of the documents").flatten();
    let pages = entries.map(|entry| Path::new("docs").join(entry.file_name()));
    let pages = pages.filter(|page| page.extension().is_some_and(|ending| ending == "md"));
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
        .iter()
        .map(PathBuf::from)
        .chain(pages)
        .collect()
}

fn events(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// The targets of all links of a document.
fn links(text: &str) -> Vec<String> {
    let target = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    };
    events(text).filter_map(target).collect()
}

/// The anchors of all headings of a document, as GitHub names them.
fn anchors(text: &str) -> HashSet<String> {
    let mut anchors = HashSet::new();
    let mut heading: Option<String> = None;
    for event in events(text) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::Text(text) | Event::Code(text), Some(heading)) => heading.push_str(&text),
            (Event::End(TagEnd::Heading(_)), _) => anchors.extend(heading.take().map(|heading| anchor(&heading))),
            _ => {}
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The cells of the rows of all tables of a document, without their marks.
fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for event in events(text) {
        match event {
            Event::Start(Tag::TableRow) => rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => {
                if let Some(row) = rows.last_mut() {
                    row.push(String::new());
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()) {
                    cell.push_str(&text);
                }
            }
            _ => {}
        }
    }
    rows
}

fn assert_none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 150, "README.md has {lines} lines; details belong to a page in docs/");
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for document in documents() {
        let folder = document.parent().unwrap_or(Path::new(""));
        for link in links(&read(&document)).into_iter().filter(|link| !link.contains("://")) {
            seen += 1;
            let (path, section) = link.split_once('#').map_or((&*link, None), |(path, section)| (path, Some(section)));
            let target = if path.is_empty() { document.clone() } else { folder.join(path) };
            let leads = root().join(&target).exists()
                && section.is_none_or(|section| anchors(&read(&target)).contains(section));
            if !leads {
                wrong.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(seen > 50, "the links are found");
    assert_none(wrong);
}

#[test]
fn every_page_of_the_folder_is_linked_from_the_readme() {
    let linked: HashSet<String> = links(&read("README.md")).into_iter().collect();
    let pages = documents().into_iter().filter(|document| document.starts_with("docs"));
    let missing = pages.map(|page| page.display().to_string()).filter(|page| !linked.contains(page));
    assert_none(missing.collect());
}

mod program {
    use super::*;
    use std::collections::BTreeSet;
    use std::process::{Command, Stdio};
    use toolfence_kit::Program;

    /// What `coder` prints, with a home of its own.
    fn coder(arguments: &[&str]) -> String {
        let home = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_coder"));
        command.args(arguments).current_dir(home.path()).env("HOME", home.path()).stdin(Stdio::null());
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        let output = command.output().expect("coder starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The subcommands that a help text lists.
    fn subcommands(help: &str) -> Vec<String> {
        let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    }

    /// The library, both schemas and the page of the pipe have one list of reasons why a call is ignored.
    #[test]
    fn every_reason_of_an_ignored_call_is_described() {
        let name = |why: &toolfence_protocol::parse::Ignored| serde_json::to_value(why).unwrap();
        let reasons: Vec<_> = toolfence_protocol::parse::Ignored::ALL.iter().map(name).collect();
        // A parser knows nothing of rounds.
        let of_parser: Vec<_> = reasons.iter().filter(|reason| **reason != "last_round").cloned().collect();
        for (schema, reasons) in
            [(read("docs/schemas/parse.json"), &of_parser), (coder(&["pipe", "--schema"]), &reasons)]
        {
            let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
            assert_eq!(reasons_in(&schema), Some(reasons), "{schema}");
        }
        let page = read("docs/pipe.md");
        let row = page.lines().find(|line| line.starts_with("| `ignored` |")).expect("a row");
        let words: Vec<&str> = row.split('`').collect();
        let missing = reasons.iter().filter_map(|reason| reason.as_str()).filter(|reason| !words.contains(reason));
        assert_none(missing.map(|reason| format!("docs/pipe.md does not have {reason}")).collect());
    }

    /// The reasons of the event `ignored`, wherever a schema describes it.
    fn reasons_in(schema: &serde_json::Value) -> Option<&Vec<serde_json::Value>> {
        let here = schema.get("properties").filter(|properties| properties["event"]["const"] == "ignored");
        here.and_then(|properties| properties["why"]["enum"].as_array()).or_else(|| match schema {
            serde_json::Value::Object(members) => members.values().find_map(reasons_in),
            serde_json::Value::Array(items) => items.iter().find_map(reasons_in),
            _ => None,
        })
    }

    #[test]
    fn the_page_of_dialects_has_every_one_and_no_other() {
        let rows = rows(&read("docs/dialects.md"));
        let named: Vec<&str> = rows.iter().filter_map(|row| row.first()).map(String::as_str).collect();
        let known: Vec<&str> = toolfence_protocol::Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        let missing = known.iter().filter(|name| !named.contains(name));
        assert_none(missing.map(|name| format!("docs/dialects.md has no row for {name}")).collect());
        let is_name = |name: &&&str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        let unknown =
            named.iter().filter(is_name).filter(|name| !name.is_empty() && **name != "name" && !known.contains(name));
        assert_none(unknown.map(|name| format!("there is no dialect {name}")).collect());
    }

    /// Every parser of others is read by dialects there are, or the page says why not.
    #[test]
    fn the_page_of_dialects_says_which_one_reads_what_others_read() {
        let rows = rows(&read("docs/dialects.md"));
        let known: HashSet<&str> = toolfence_protocol::Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        let others = ["vLLM", "SGLang", "tool-parser", "llama.cpp"];
        for other in others {
            let of_it = |row: &&Vec<String>| row[0].strip_prefix(other).is_some_and(|rest| rest.starts_with(' '));
            let rows: Vec<&Vec<String>> = rows.iter().filter(|row| !row.is_empty()).filter(of_it).collect();
            assert!(rows.len() > 15, "the parsers of {other} are found");
            for row in rows {
                let unknown: Vec<&str> = row[1].split(", ").filter(|name| !known.contains(name)).collect();
                assert!(unknown.is_empty() || row[1] == "none" && !row[2].is_empty(), "{}: {unknown:?}", row[0]);
            }
        }
    }

    #[test]
    fn the_page_of_coder_has_every_command_and_option() {
        let page = read("docs/coder.md");
        let help = coder(&["--help"]);
        let commands = subcommands(&help);
        assert!(commands.len() > 12, "the commands are found");
        let mut wanted: Vec<String> = commands.iter().map(|name| format!("`coder {name}")).collect();
        wanted.extend(subcommands(&coder(&["policy", "--help"])).iter().map(|name| format!("`coder policy {name}")));
        wanted.extend(subcommands(&coder(&["config", "--help"])).iter().map(|name| format!("`{name}`")));
        wanted.retain(|name| !name.ends_with(" help") && name != "`help`");
        let words = help.split_whitespace().filter_map(|word| word.strip_prefix("--"));
        let options = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        wanted.extend(
            options.filter(|name| !matches!(*name, "help" | "version" | "prompt")).map(|name| format!("--{name}")),
        );
        let missing = wanted.into_iter().filter(|wanted| !page.contains(wanted.as_str()));
        assert_none(missing.map(|wanted| format!("docs/coder.md does not name {wanted}")).collect());
    }

    /// `/help` and the page tell the same commands.
    #[test]
    fn the_page_of_coder_has_every_slash_command() {
        let page = read("docs/coder.md");
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join("replies"), "%%% reply\nHello.\n").expect("it can be written");
        let ran = Program::new(env!("CARGO_BIN_EXE_coder"), home.path())
            .args(&["--backend", "replay", "--replies", "replies"])
            .run(home.path(), "/help\n");
        let listed = ran.out.lines().filter_map(|line| line.trim_start_matches("> ").trim_start().strip_prefix('/'));
        let listed: BTreeSet<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
        assert!(listed.len() > 15, "the commands are found: {}", ran.out);
        let table =
            page.split("| typed | does |").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
        let words = table.split('`').skip(1).step_by(2).filter_map(|word| word.strip_prefix('/'));
        let told: BTreeSet<&str> = words.filter_map(|word| word.split_whitespace().next()).collect();
        let told: BTreeSet<&str> = told.into_iter().filter(|name| !matches!(*name, "NAME" | "exit")).collect();
        assert_eq!(told, listed);
    }

    #[test]
    fn the_pages_of_the_servers_have_every_option() {
        for command in ["proxy", "serve"] {
            let page = if command == "serve" { "docs/http.md" } else { "docs/proxy.md" };
            has_every_option(page, command);
        }
    }

    #[test]
    fn the_page_of_http_has_every_route() {
        let rows = rows(&read("docs/http.md"));
        let missing = toolfence_server::http::ROUTES.iter().map(|(method, path)| format!("{method} {path}"));
        let missing = missing.filter(|route| !rows.iter().any(|row| row[0] == *route));
        assert_none(missing.map(|route| format!("docs/http.md has no row for {route}")).collect());
    }

    fn has_every_option(page: &str, command: &str) {
        let rows = rows(&read(page));
        let help = coder(&[command, "-h"]);
        let own = help.split("Options everywhere").next().unwrap_or_default();
        let words = own.split_whitespace().filter(|word| word.starts_with("--") && *word != "--help");
        let words: Vec<&str> = words.map(|word| word.trim_end_matches(',')).collect();
        assert!(words.len() > 5, "the options are found");
        let has_row = |word: &str| rows.iter().any(|row| row[0].split(' ').next() == Some(word));
        let missing = words.into_iter().filter(|word| !has_row(word));
        assert_none(missing.map(|word| format!("{page} has no row for {word}")).collect());
    }
}

mod pipe {
    use super::*;
    use boon::{Compiler, Schemas};
    use serde_json::Value;

    /// What the schema says of the lines of one side: the name of each, and its required fields.
    fn lines(side: &str) -> Vec<(String, Vec<String>)> {
        let schema: Value = serde_json::from_str(toolfence_server::pipe::SCHEMA).expect("JSON");
        let all = schema["$defs"][side]["oneOf"].as_array().expect("a list").clone();
        let name = |line: &Value| {
            let properties = &line["properties"];
            let name = properties["type"]["const"].as_str().or(properties["event"]["const"].as_str());
            name.expect("a name").to_owned()
        };
        let text = |field: &Value| field.as_str().expect("a name").to_owned();
        let fields = |line: &Value| line["required"].as_array().expect("a list").iter().map(text).collect::<Vec<_>>();
        all.iter().map(|line| (name(line), fields(line))).collect()
    }

    #[test]
    fn the_page_of_the_pipe_has_every_line_with_its_fields_and_an_example() {
        let page = read("docs/pipe.md");
        let rows = rows(&page);
        let mut wrong = Vec::new();
        for (side, tag) in [("in", "type"), ("out", "event")] {
            for (name, fields) in lines(side) {
                match rows.iter().find(|row| row[0] == name) {
                    None => wrong.push(format!("docs/pipe.md has no row for {name}")),
                    Some(row) => {
                        let fields = fields.iter().filter(|field| !matches!(field.as_str(), "v" | "type" | "event"));
                        let missing = fields.filter(|field| !row[1].contains(field.as_str()));
                        wrong.extend(missing.map(|field| format!("docs/pipe.md: {name} has a field {field}")));
                    }
                }
                if !page.contains(&format!("\"{tag}\":\"{name}\"")) {
                    wrong.push(format!("docs/pipe.md has no example of {name}"));
                }
            }
        }
        assert_none(wrong);
    }

    /// Examples that are written out are lines of the protocol.
    #[test]
    fn the_examples_of_the_pipe_are_lines_of_its_schema() {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let schema = serde_json::from_str(toolfence_server::pipe::SCHEMA).expect("JSON");
        compiler.add_resource("pipe.json", schema).expect("a resource");
        let index = compiler.compile("pipe.json", &mut schemas).expect("a schema");
        let mut seen = 0;
        let mut wrong = Vec::new();
        for line in read("docs/pipe.md").lines() {
            let line = line.strip_prefix("> ").or(line.strip_prefix("< ")).unwrap_or(line);
            let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
            seen += 1;
            if schemas.validate(&value, index).is_err() {
                wrong.push(line.to_owned());
            }
        }
        assert!(seen > 25, "{seen} examples are found");
        assert_none(wrong);
    }
}
