//! Tests how arguments are checked against their tool: which are fitted, which are refused, and how the prompt
//! describes a JSON Schema.
//!
//! A case has a part `schema` (of the tool `t`; without it, the built-in tools), parts `call {..}` with the outcome,
//! and parts `told en` or `told pt` with the description of the tool in the prompt.

use boon::{Compiler, Draft, SchemaIndex, Schemas, UrlLoader};
use serde_json::{Map, Value, json};
use std::error::Error;
use toolfence_kit::{CaseFiles, Comparison, Random, Section};
use toolfence_policy::toolset::catalog;
use toolfence_protocol::parse::parse;
use toolfence_protocol::prompt::instructions;
use toolfence_protocol::{Args, Catalog, Language, Repair, ToolCall, ToolSpec};

fn of_schema(schema: &Value) -> Catalog {
    [ToolSpec::from_json_schema("t", "Does it.", schema)].into_iter().collect()
}

fn schema_of(section: &Section) -> Option<Value> {
    let text = section.part("schema")?.text();
    Some(serde_json::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", section.title)))
}

/// Returns the outcome of a call: its repairs and arguments, or the failure.
fn outcome(catalog: &Catalog, written: &str) -> String {
    let mut call: ToolCall = serde_json::from_str(written).unwrap_or_else(|error| panic!("{written}: {error}"));
    match catalog.resolve(&mut call) {
        Err(failure) => {
            format!("{}: {}", json!(failure.code).as_str().expect("a code"), failure.message.render(Language::English))
        }
        Ok(_) => {
            let mut words: Vec<String> = call.repairs.iter().map(|repair| repair.name().to_owned()).collect();
            words.push(Value::Object(call.args).to_string());
            words.extend(call.reason.map(|reason| format!("because {reason:?}")));
            words.join(" ")
        }
    }
}

#[test]
fn every_case_has_its_outcome() {
    let mut comparison = Comparison::new();
    let sections = CaseFiles::of("arguments").sections();
    assert!(sections.len() > 20, "the case files are there");
    for section in &sections {
        let (builtin, own) = (catalog(), schema_of(section).map(|schema| of_schema(&schema)));
        let catalog = own.as_ref().unwrap_or(&builtin);
        for part in &section.parts {
            match part.word.as_str() {
                "call" => {
                    comparison.expect_lines(&part.body, &section.title, &[outcome(catalog, &with_id(&part.rest))]);
                }
                "told" => {
                    let language = Language::from_tag(&part.rest).expect("a language");
                    let prompt = tool_descriptions(&instructions(catalog, language));
                    let lines: Vec<String> =
                        prompt.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
                    comparison.expect_lines(&part.body, &section.title, &lines);
                }
                "schema" => {}
                other => comparison.wrong(&part.body, &section.title, format!("no part is called {other}")),
            }
        }
    }
    comparison.finish();
}

fn with_id(written: &str) -> String {
    let mut call: Map<String, Value> =
        serde_json::from_str(written).unwrap_or_else(|error| panic!("{written}: {error}"));
    call.entry("id").or_insert_with(|| "1".into());
    call.entry("name").or_insert_with(|| "t".into());
    Value::Object(call).to_string()
}

/// Returns the example of a call, and the list of the tools.
fn tool_descriptions(instructions: &str) -> String {
    let example =
        instructions.split("\n```tool\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap_or_default();
    let list = instructions.find("\n- `t(").map(|at| &instructions[at..]).unwrap_or_default();
    format!("{example}{list}")
}

/// A schema loader that refuses to fetch anything.
struct Offline;

impl UrlLoader for Offline {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("{url} is not here").into())
    }
}

/// An independent validator of the schema, which shares no code with this one.
struct Oracle(Schemas, SchemaIndex);

impl Oracle {
    fn for_schema(schema: &Value, formats: bool) -> Option<Oracle> {
        let mut compiler = Compiler::new();
        compiler.set_default_draft(Draft::V2020_12);
        compiler.use_loader(Box::new(Offline));
        if formats {
            compiler.enable_format_assertions();
        }
        compiler.add_resource("urn:t", schema.clone()).ok()?;
        let mut schemas = Schemas::new();
        let index = compiler.compile("urn:t", &mut schemas).ok()?;
        Some(Oracle(schemas, index))
    }

    fn allows(&self, value: &Value) -> bool {
        self.0.validate(value, self.1).is_ok()
    }
}

/// Returns the calls in the prompt.
fn calls_in_prompt(catalog: &Catalog) -> Vec<ToolCall> {
    let prompt = instructions(catalog, Language::English);
    let parsed = parse(&prompt);
    assert!(parsed.calls.iter().all(|call| call.repairs.is_empty()), "{prompt}");
    parsed.calls
}

/// The schemas of the case files are real ones from clients, and difficult ones. The examples in the prompt fit them,
/// except for rules that are not checked.
#[test]
fn examples_of_real_schemas_are_allowed_by_them() {
    let mut count = 0;
    for section in CaseFiles::of("arguments").sections() {
        let has_example = !section.title.contains("| nothing fits") && !section.title.contains("| not all is checked");
        let Some(schema) = schema_of(&section).filter(|_| has_example) else { continue };
        let Some(oracle) = Oracle::for_schema(&schema, true) else { continue };
        let calls = calls_in_prompt(&of_schema(&schema));
        assert!(!calls.is_empty(), "{}", section.title);
        for call in calls.iter().filter(|call| !call.args.values().any(|value| value == "<<EOF")) {
            count += 1;
            assert!(oracle.allows(&Value::Object(call.args.clone())), "{}: {:?}", section.title, call.args);
        }
    }
    assert!(count > 10, "{count} examples");
}

/// Returns a schema that uses only checked keywords and usually allows some value.
fn any_schema(random: &mut Random, depth: usize) -> Value {
    let mut schema = match random.below(if depth == 0 { 7 } else { 12 }) {
        0 => json!({"type": "string"}),
        1 => json!({"type": "string", "minLength": random.below(4), "maxLength": 4 + random.below(4)}),
        2 => {
            let least = random.below(40) as i64 - 20;
            json!({"type": "integer", "minimum": least, "maximum": least + random.below(9) as i64})
        }
        3 => json!({"type": "number", "exclusiveMinimum": random.below(9) as i64 - 4}),
        4 => json!({"type": "boolean"}),
        5 => json!({"enum": [*random.pick(&["a", "3", "true"]), random.below(9), true, null]}),
        6 => json!({"type": "string", "pattern": *random.pick(&["^[a-z]{4}$", "e", "^\\d", "^(?:3|true)$"])}),
        7 => json!({"type": "array", "items": any_schema(random, depth - 1), "minItems": random.below(3)}),
        8 => json!({"anyOf": [any_schema(random, depth - 1), any_schema(random, depth - 1)]}),
        9 => json!({"oneOf": [any_schema(random, depth - 1), any_schema(random, 0)]}),
        10 => json!({"$ref": format!("#/$defs/d{}", random.below(2))}),
        _ => any_object(random, depth - 1),
    };
    if random.below(8) == 0 {
        schema["description"] = "What it is for.".into();
    }
    if random.below(12) == 0 {
        schema = json!({"allOf": [schema, any_schema(random, 0)]});
    }
    schema
}

fn any_object(random: &mut Random, depth: usize) -> Value {
    let names = ["a", "b", "c"];
    let properties: Map<String, Value> =
        names[..random.below(4)].iter().map(|name| ((*name).to_owned(), any_schema(random, depth))).collect();
    let mut is_required = |name: &&str| random.below(if properties.contains_key(*name) { 3 } else { 24 }) == 0;
    let required: Vec<&str> = names.into_iter().filter(|name| is_required(name)).collect();
    let mut object = json!({"type": "object", "properties": properties, "required": required});
    match random.below(4) {
        0 => object["additionalProperties"] = false.into(),
        1 => object["additionalProperties"] = any_schema(random, 0),
        _ => {}
    }
    object
}

/// Adds keywords that are not checked to some of the nested schemas.
fn add_unchecked(random: &mut Random, schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(|inner| add_unchecked(random, inner));
            if !members.contains_key("type") || random.below(3) > 0 {
                return;
            }
            let (name, rule) = match random.below(9) {
                0 => ("patternProperties", json!({"^b": any_schema(random, 0)})),
                1 => ("unevaluatedProperties", false.into()),
                2 => ("prefixItems", json!([any_schema(random, 0)])),
                3 => ("not", any_schema(random, 0)),
                4 => ("multipleOf", json!(1 + random.below(4))),
                5 => ("uniqueItems", true.into()),
                6 => ("minProperties", json!(random.below(3))),
                7 => ("if", json!({"required": ["a"]})),
                _ => ("dependentRequired", json!({"a": ["b"]})),
            };
            if name == "if" {
                members.insert("then".to_owned(), json!({"required": ["c"]}));
            }
            members.insert(name.to_owned(), rule);
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| add_unchecked(random, inner)),
        _ => {}
    }
}

fn any_root(random: &mut Random) -> Value {
    let mut root = any_object(random, 3);
    root["$defs"] = json!({"d0": any_object(random, 1), "d1": any_object(random, 2)});
    root
}

/// Returns a value that the schema allows, or would allow if its texts and lists had the right types.
fn near(random: &mut Random, root: &Value, schema: &Value, depth: usize) -> Value {
    if let Some(target) = schema["$ref"].as_str().and_then(|pointer| root.pointer(&pointer[1..])) {
        return if depth == 0 { json!({}) } else { near(random, root, target, depth - 1) };
    }
    if let Some(branches) = ["anyOf", "oneOf", "allOf"].into_iter().find_map(|key| schema[key].as_array()) {
        let branch = random.pick(branches);
        return near(random, root, branch, depth);
    }
    let number = |key: &str| schema[key].as_i64();
    let value = match schema["type"].as_str() {
        _ if schema["enum"].is_array() => random.pick(schema["enum"].as_array().expect("it is one")).clone(),
        Some("string") => json!(*random.pick(&["abcd", "true", "3", "[1]", "{}", "..."])),
        Some("integer") => {
            json!(number("minimum").unwrap_or(0) + random.below(5) as i64)
        }
        Some("number") => json!(random.below(40) as f64 / 2.0),
        Some("boolean") => json!(random.below(2) == 0),
        Some("array") => {
            (0..1 + random.below(3)).map(|_| near(random, root, &schema["items"], depth.saturating_sub(1))).collect()
        }
        Some("object") if depth > 0 => near_object(random, root, schema, depth),
        _ => json!({}),
    };
    match random.below(14) {
        0 | 1 => Value::String(value.to_string()),
        2 => value.as_array().filter(|items| items.len() == 1).map_or(value.clone(), |items| items[0].clone()),
        3 => json!(*random.pick(&["x", "True", "1.5", "99999999999999999999"])),
        _ => value,
    }
}

fn near_object(random: &mut Random, root: &Value, schema: &Value, depth: usize) -> Value {
    let mut members = Map::new();
    for name in ["a", "b", "c", "d"] {
        let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name));
        let own = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        if required || random.below(if own.is_some() { 2 } else { 8 }) == 0 {
            members.insert(name.to_owned(), near(random, root, own.unwrap_or(&Value::Null), depth - 1));
        }
    }
    Value::Object(members)
}

fn args_of(value: &Value) -> Args {
    value.as_object().cloned().unwrap_or_default()
}

/// Nulls that mean "absent" are dropped before the check, so they are not tested here.
fn without_nulls(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.values().all(|member| !member.is_null()))
}

/// Fitting keeps valid arguments and makes others valid, and another validator agrees about validity.
#[test]
fn fitting_keeps_valid_calls_and_makes_others_valid() {
    let mut random = Random::new(11);
    let (mut valid, mut fitted, mut refused) = (0, 0, 0);
    for _ in 0..3000 {
        let schema = any_root(&mut random);
        let Some(oracle) = Oracle::for_schema(&schema, false) else { panic!("{schema}") };
        let catalog = of_schema(&schema);
        for _ in 0..8 {
            let value = near_object(&mut random, &schema, &schema, 5);
            if !without_nulls(&value) {
                continue;
            }
            let mut call = ToolCall::new("1", "t", args_of(&value));
            let resolved = catalog.resolve(&mut call).map(|_| ());
            let got = Value::Object(call.args.clone());
            let case = || format!("{schema}\n{value}\n{got}\n{resolved:?}");
            match (oracle.allows(&value), &resolved) {
                (true, Ok(())) => {
                    valid += 1;
                    assert!(got == value && call.repairs.is_empty(), "{}", case());
                }
                (false, Ok(())) => {
                    fitted += 1;
                    assert_eq!(call.repairs, [Repair::Coerced], "{}", case());
                    assert!(oracle.allows(&got), "{}", case());
                    let mut again = ToolCall::new("1", "t", call.args.clone());
                    catalog.resolve(&mut again).unwrap_or_else(|failure| panic!("{}: {}", failure.message, case()));
                    assert!(again.args == call.args && again.repairs.is_empty(), "{}", case());
                }
                (true, Err(_)) => panic!("a valid value is refused: {}", case()),
                (false, Err(_)) => refused += 1,
            }
        }
    }
    println!("{valid} valid, {fitted} fitted, {refused} refused");
    assert!(valid > 1000 && fitted > 300 && refused > 1000, "{valid} valid, {fitted} fitted, {refused} refused");
}

/// A keyword that is not checked never makes the check stricter.
#[test]
fn unchecked_keywords_refuse_nothing_that_is_valid() {
    let mut random = Random::new(13);
    let mut valid = 0;
    for _ in 0..3000 {
        let mut schema = any_root(&mut random);
        add_unchecked(&mut random, &mut schema);
        let oracle = Oracle::for_schema(&schema, false).unwrap_or_else(|| panic!("{schema}"));
        let catalog = of_schema(&schema);
        for _ in 0..8 {
            let value = near_object(&mut random, &schema, &schema, 5);
            if !without_nulls(&value) || !oracle.allows(&value) {
                continue;
            }
            valid += 1;
            let mut call = ToolCall::new("1", "t", args_of(&value));
            catalog.resolve(&mut call).unwrap_or_else(|failure| panic!("{}: {schema}\n{value}", failure.message));
            assert_eq!((call.args, &call.repairs[..]), (args_of(&value), &[][..]), "{schema}");
        }
    }
    assert!(valid > 1000, "{valid} valid values");
}

#[test]
fn examples_of_any_schema_are_allowed_by_it() {
    let mut random = Random::new(12);
    let (mut shown_right, mut none) = (0, 0);
    for _ in 0..1500 {
        let schema = any_root(&mut random);
        let oracle = Oracle::for_schema(&schema, true).unwrap_or_else(|| panic!("{schema}"));
        for call in calls_in_prompt(&of_schema(&schema)) {
            let right = oracle.allows(&Value::Object(call.args.clone()));
            // If no allowed value is known for a schema, the call has no arguments.
            assert!(right || call.args.is_empty(), "{schema}\n{:?}", call.args);
            if right { shown_right += 1 } else { none += 1 }
        }
    }
    println!("{shown_right} examples, {none} schemas without one");
    assert!(shown_right > 10 * none, "{shown_right} examples, {none} schemas without one");
}

/// Hostile schemas try to be slow, or to make the checker fetch a file.
#[test]
fn hostile_schemas_cost_a_bounded_time() {
    let started = std::time::Instant::now();
    let doubling: Map<String, Value> = (0..60)
        .map(|n| {
            (
                format!("d{n}"),
                json!({"allOf": [{"$ref": format!("#/$defs/d{}", n + 1)}, {"$ref": format!("#/$defs/d{}", n + 1)}]}),
            )
        })
        .chain([("d60".to_owned(), json!({"type": "object"}))])
        .collect();
    let chain: Map<String, Value> =
        (0..20_000).map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}))).collect();
    let link = |n: usize| json!({"$ref": format!("#/$defs/d{}", n + 1)});
    let chain_of = |length: usize, rules: &dyn Fn(Value) -> Value| {
        let all: Map<String, Value> = (0..length).map(|n| (format!("d{n}"), rules(link(n)))).collect();
        json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "required": ["a"], "$defs": all})
    };
    let deep =
        (0..120).fold(json!({"type": "string"}), |inner, _| json!({"properties": {"a": inner}, "required": ["a"]}));
    let doubled =
        json!({"$ref": "#", "properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}, "required": ["b"]});
    let wide: Map<String, Value> =
        (0..20_000).map(|n| (format!("p{n}"), json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}))).collect();
    let patterns: Vec<Value> = (0..2000)
        .map(|n| json!({"pattern": format!("(a{{1,90}}){{1,90}}{n}")}))
        .chain([json!({"pattern": "(\\w{9}){200}"})])
        .collect();
    let nested_args = (0..100).fold(json!("x"), |inner, _| json!({"a": inner}));
    let long = json!({"a": "a".repeat(200_000), "b": vec![1; 100_000]});
    for schema in [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/d0", "$defs": doubling}),
        json!({"$ref": "#/$defs/d0", "$defs": chain}),
        chain_of(20_000, &|next| json!({"anyOf": [next]})),
        chain_of(20_000, &|next| json!({"items": next})),
        chain_of(60, &|next| json!({"items": next, "additionalProperties": next, "prefixItems": [next, next]})),
        chain_of(60, &|next| json!({"type": "array", "items": {"anyOf": [next, next]}, "minItems": 2})),
        chain_of(60, &|next| json!({"type": "object", "properties": {"a": next, "b": next}, "required": ["a", "b"]})),
        json!({"anyOf": [{"$ref": "#"}], "allOf": [{"$ref": "#"}], "oneOf": [{"oneOf": [{"$ref": "#"}]}]}),
        deep,
        doubled,
        json!({"properties": wide, "required": (0..20_000).map(|n| format!("p{n}")).collect::<Vec<_>>()}),
        json!({"properties": {"a": {"allOf": patterns}}}),
        json!({"properties": {"a": {"type": "string", "pattern": "^(a+)+$b"}, "b": {"items": {"enum": [1, 2, 3]}}}}),
        json!({"properties": {"a": {"$ref": "file:///etc/passwd"}, "b": {"$ref": "http://127.0.0.1:9/x"}}, "required": ["a"]}),
        json!({"properties": {"a": {"minItems": 1_000_000_000_000_u64, "type": "array"}}, "required": ["a"]}),
        json!({"properties": {"a": {"minLength": 1e300, "type": "string", "pattern": "x{999}{999}"}}, "required": ["a"]}),
        json!({"type": 5, "properties": [], "required": {}, "items": 7, "enum": "x", "anyOf": {}, "minimum": "a"}),
        json!({"properties": {"a": {"$ref": "#/properties/a"}, "b": {"$dynamicRef": "#none"}, "c": {"$ref": 7}}}),
    ] {
        let begun = std::time::Instant::now();
        let catalog = of_schema(&schema);
        for language in [Language::English, Language::Portuguese] {
            let prompt = instructions(&catalog, language);
            assert!(prompt.len() < 300_000, "{} bytes", prompt.len());
        }
        for args in [&nested_args, &long, &json!({}), &json!({"a": "3", "b": ["3"]})] {
            let _ = catalog.resolve(&mut ToolCall::new("1", "t", args_of(args)));
        }
        println!("{:?} {:.80}", begun.elapsed(), schema.to_string());
    }
    println!("{:?}", started.elapsed());
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
