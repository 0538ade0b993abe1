//! Generates calls of `write_file` with content of any size: the intended call, and its text with the damage that weak
//! models cause.

use serde_json::{Value, json};

/// Makes a damaged text of about this many bytes, and the intended call.
pub type Make = fn(usize) -> (String, Value);

pub const DAMAGES: [(&str, Make); 10] = [
    ("a trailing comma", |bytes| {
        let code = code(bytes);
        (write_call(&in_json(&code)).replace("\"}}", "\",}}"), meant(&code))
    }),
    ("single quotes", |bytes| {
        let code = code(bytes);
        let content = code.replace('\n', "\\n");
        (format!("{{'name': 'write_file', 'args': {{'path': 'a.py', 'content': '{content}'}}}}"), meant(&code))
    }),
    ("keys without quotes", |bytes| {
        let code = code(bytes);
        (format!("{{name: \"write_file\", args: {{path: \"a.py\", content: {}}}}}", in_json(&code)), meant(&code))
    }),
    ("no commas", |bytes| {
        let code = code(bytes);
        (write_call(&in_json(&code)).replace("\", ", "\" "), meant(&code))
    }),
    ("Python's words", |bytes| {
        let code = code(bytes);
        let mut meant = meant(&code);
        meant["args"]["append"] = true.into();
        (write_call(&format!("{}, \"append\": True", in_json(&code))), meant)
    }),
    ("raw line ends", |bytes| {
        let code = code(bytes);
        (write_call(&format!("\"{code}\"")), meant(&code))
    }),
    ("inner quotes", |bytes| {
        let code = lines("    print(\"so far\")\n", bytes);
        (write_call(&format!("\"{}\"", code.replace('\n', "\\n"))), meant(&code))
    }),
    ("escapes JSON does not have", |bytes| {
        let code = lines(r"(\w+) = \[(\d+)\]; ", bytes);
        (write_call(&format!("\"{code}\"")), meant(&code))
    }),
    ("prose around it", |bytes| {
        let code = code(bytes);
        (format!("Here is the call:\n{}\nThen I look at it again.", write_call(&in_json(&code))), meant(&code))
    }),
    ("no last brackets", |bytes| {
        let code = code(bytes);
        (write_call(&in_json(&code)).replace("\"}}", "\""), meant(&code))
    }),
];

fn code(bytes: usize) -> String {
    lines("    total = count + 1  # so far\n", bytes)
}

fn lines(line: &str, bytes: usize) -> String {
    line.repeat(bytes.div_ceil(line.len()))
}

fn in_json(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns the call with its content inserted unchanged.
fn write_call(content: &str) -> String {
    format!("{{\"name\": \"write_file\", \"args\": {{\"path\": \"a.py\", \"content\": {content}}}}}")
}

fn meant(content: &str) -> Value {
    json!({"name": "write_file", "args": {"path": "a.py", "content": content}})
}
