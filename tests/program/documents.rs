//! Compares the documents with the program, and checks their links.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use toolfence_kit::root;

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the documents for users, relative to the root.
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

/// Returns the targets of all links in a document.
fn links(text: &str) -> Vec<String> {
    let target = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    };
    events(text).filter_map(target).collect()
}

/// Returns the anchors of all headings in a document, as GitHub generates them.
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

/// Returns the table rows of a document as plain-text cells.
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
fn every_page_can_be_reached_from_the_readme() {
    let mut reached: HashSet<PathBuf> = HashSet::new();
    let mut waiting = vec![PathBuf::from("README.md")];
    while let Some(page) = waiting.pop() {
        let folder = page.parent().unwrap_or(Path::new("")).to_owned();
        for link in links(&read(&page)) {
            let path = link.split('#').next().unwrap_or_default();
            let target = match path.strip_prefix("../") {
                Some(path) => PathBuf::from(path),
                None => folder.join(path),
            };
            let is_page = target.extension().is_some_and(|ending| ending == "md") && root().join(&target).exists();
            if is_page && reached.insert(target.clone()) {
                waiting.push(target);
            }
        }
    }
    let pages = documents().into_iter().filter(|document| document.starts_with("docs") && !reached.contains(document));
    assert_none(pages.map(|page| format!("no page links to {}", page.display())).collect());
}

#[test]
fn pages_have_at_most_200_lines() {
    let pages = documents().into_iter().filter(|document| document.starts_with("docs"));
    let long = pages.filter(|page| read(page).lines().count() > 200);
    assert_none(long.map(|page| format!("{} has more than 200 lines; split it by task", page.display())).collect());
}

mod program {
    use super::*;
    use std::collections::BTreeSet;
    use std::process::{Command, Stdio};
    use toolfence_kit::Program;

    /// Returns the output of `coder`, run with an empty home folder.
    fn coder(arguments: &[&str]) -> String {
        let home = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_coder"));
        command.args(arguments).current_dir(home.path()).env("HOME", home.path()).stdin(Stdio::null());
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        let output = command.output().expect("coder starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The library, both schemas and the page of the pipe list the same reasons for ignored calls.
    #[test]
    fn every_reason_of_an_ignored_call_is_described() {
        let name = |why: &toolfence_protocol::parse::Ignored| serde_json::to_value(why).unwrap();
        let reasons: Vec<_> = toolfence_protocol::parse::Ignored::ALL.iter().map(name).collect();
        // `parse` has no rounds, so it does not report this reason.
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

    /// Returns the reasons of the event `ignored` at any depth of a schema.
    fn reasons_in(schema: &serde_json::Value) -> Option<&Vec<serde_json::Value>> {
        let here = schema.get("properties").filter(|properties| properties["event"]["const"] == "ignored");
        here.and_then(|properties| properties["why"]["enum"].as_array()).or_else(|| match schema {
            serde_json::Value::Object(members) => members.values().find_map(reasons_in),
            serde_json::Value::Array(items) => items.iter().find_map(reasons_in),
            _ => None,
        })
    }

    /// Each row names existing dialects or the reason why the parser has none.
    #[test]
    fn the_page_of_parsers_names_existing_dialects() {
        let rows = rows(&read("docs/dialect-parsers.md"));
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
        let names = words.filter_map(|word| word.split_whitespace().next());
        let documented: BTreeSet<&str> = names.filter(|name| !matches!(*name, "NAME" | "exit")).collect();
        assert_eq!(documented, listed);
    }

    #[test]
    fn the_pages_of_the_servers_have_every_option() {
        for command in ["proxy", "serve"] {
            let page = if command == "serve" { "docs/http.md" } else { "docs/proxy.md" };
            has_every_option(page, command);
        }
    }

    #[test]
    fn the_page_of_the_http_api_has_every_route() {
        let rows = rows(&read("docs/http-api.md"));
        let missing = toolfence_server::http::ROUTES.iter().map(|(method, path)| format!("{method} {path}"));
        let missing = missing.filter(|route| !rows.iter().any(|row| row[0] == *route));
        assert_none(missing.map(|route| format!("docs/http-api.md has no row for {route}")).collect());
    }

    fn has_every_option(page: &str, command: &str) {
        let rows = rows(&read(page));
        let help = coder(&[command, "-h"]);
        let own = help.split("Global options").next().unwrap_or_default();
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

    /// Returns the lines that one side may send: each with its name and its required fields.
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

    /// The complete examples of the page match the schema.
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
