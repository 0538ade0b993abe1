//! MiniCPM 5, as SGLang's parser `minicpm5` documents its format. A text with markup stands in a CDATA section.
//!
//! `<function name="read_file"><param name="path">a.txt</param></function>`
//!
//! Hermes models write an object in the same tag.

use super::Row;
use super::parameters::{self, Tags};
use super::scan::{Read, Scan};
use super::sketch::RawText;
use crate::Dialect;
use serde_json::Value;

const TAGS: Tags = Tags {
    call: "<function name=",
    call_end: "</function>",
    parameter: "<param name=",
    parameter_end: "</param>",
    closers: &[],
};

/// What a CDATA section begins with.
const SECTION: &str = "<![CDATA[";

pub(super) const ROWS: &[Row] =
    &[Row { dialect: Dialect::MiniCpm, opener: TAGS.call, special: false, read: call, closers: &["</function>"] }];

fn call(scan: &mut Scan<'_>) -> Read {
    let read = parameters::call_named(scan, &TAGS);
    // The text that such a section holds is another one than that of the parameter.
    let text = scan.text;
    let may_be_section = |raw: &RawText| {
        let inside = text[raw.start..].trim_start();
        inside.starts_with(SECTION) || SECTION.starts_with(inside)
    };
    if let Some(first) = scan.sketch.texts.iter().position(may_be_section) {
        scan.sketch.texts.truncate(first);
    }
    read?;
    for value in scan.drafts.iter_mut().flat_map(|draft| draft.args.values_mut()) {
        let inside = |text: &str| Some(text.trim().strip_prefix(SECTION)?.strip_suffix("]]>")?.to_owned());
        if let Some(text) = value.as_str().and_then(inside) {
            *value = Value::String(text);
        }
    }
    Ok(())
}
