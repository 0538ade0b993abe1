//! The tests that the authors of JSON Schema publish for validators, held against ours.
//!
//! Runs where `TOOLFENCE_SCHEMA_SUITE` names the folder of their suite; says so where it does not.
#![allow(clippy::disallowed_methods, reason = "the environment names the files of the suite")]

use super::Schema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Where the suite says that a server has the documents in its folder `remotes`.
const REMOTES: &str = "http://localhost:1234/";

/// Parts of the names of cases that ask for what we do not do on purpose.
const LEFT_OUT: [&str; 8] = [
    // Nothing is fetched, not even the schema of schemas.
    "validate definition against metaschema",
    "remote ref, containing refs itself",
    "custom metaschema",
    // The document says that its address is another than the one where it was fetched.
    "retrieved nested refs resolve relative to their URI not $id",
    "remote HTTP ref with different",
    "remote HTTP ref with nested absolute ref",
    "$ref to $ref finds detached $anchor",
    "$ref to $dynamicRef finds detached $dynamicAnchor",
];

#[derive(Deserialize)]
struct Group {
    description: String,
    schema: Value,
    tests: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    description: String,
    data: Value,
    valid: bool,
}

#[test]
fn what_the_authors_of_json_schema_expect_holds() {
    let Some(suite) = std::env::var_os("TOOLFENCE_SCHEMA_SUITE").map(PathBuf::from) else {
        println!("skipped: set TOOLFENCE_SCHEMA_SUITE to the folder of JSON Schema's test suite");
        return;
    };
    let mut remotes = Vec::new();
    collect(&suite.join("remotes"), REMOTES, &mut remotes);
    let mut cases = Vec::new();
    for folder in ["draft2020-12", "draft2020-12/optional"] {
        collect(&suite.join("tests").join(folder), "", &mut cases);
    }
    let (mut held, mut left_out, mut broken) = (0, 0, Vec::new());
    for (file, groups) in cases {
        for group in Vec::<Group>::deserialize(groups).expect("groups of cases") {
            let schema = Schema::new(&with_remotes(&group.schema, &remotes));
            for case in group.tests {
                let allowed = schema.check(&case.data).is_ok();
                let name = format!("{file} | {} | {} | allowed: {allowed}", group.description, case.description);
                match LEFT_OUT.iter().any(|part| name.contains(part)) {
                    true => left_out += 1,
                    false if allowed == case.valid => held += 1,
                    false => broken.push(name),
                }
            }
        }
    }
    println!("{held} cases hold, {left_out} are left out on purpose");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(held > 1000, "the suite is there");
}

/// All JSON below a folder, with its address. Folders inside it have other drafts, or formats, which we tell and do not check.
fn collect(folder: &Path, address: &str, found: &mut Vec<(String, Value)>) {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    names.sort_unstable();
    for path in names {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        if path.is_dir() {
            if !address.is_empty() && (!name.starts_with("draft") || name == "draft2020-12") {
                collect(&path, &format!("{address}{name}/"), found);
            }
        } else {
            let text = std::fs::read_to_string(&path).expect("a file of the suite");
            found.push((format!("{address}{name}"), serde_json::from_str(&text).expect("JSON")));
        }
    }
}

/// The schema with the other documents that it names inside it, each as a resource of its own: a compound document, as section 9.3 of
/// the core specification has it.
fn with_remotes(schema: &Value, remotes: &[(String, Value)]) -> Value {
    if !schema.to_string().contains(REMOTES) {
        return schema.clone();
    }
    let mut documents = Map::new();
    for (address, document) in remotes.iter().filter(|(_, document)| document.is_object()) {
        let mut document = document.clone();
        if document.get("$id").is_none() {
            document["$id"] = json!(address);
        }
        documents.insert(address.clone(), document);
    }
    let mut inner = schema.clone();
    if inner.get("$id").is_none() {
        inner["$id"] = json!("urn:case");
    }
    let id = inner["$id"].clone();
    documents.insert("case".to_owned(), inner);
    json!({"$id": "urn:all", "$ref": id, "$defs": documents})
}
