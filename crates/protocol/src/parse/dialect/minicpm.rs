//! MiniCPM 5, as SGLang's parser `minicpm5` documents its format. A text with markup stands in a CDATA section.
//!
//! `<function name="read_file"><param name="path">a.txt</param></function>`
//!
//! Hermes models write an object in the same tag.

use super::Row;
use super::parameters::{self, Tags};
use super::scan::{Read, Scan};
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
    parameters::call_named(scan, &TAGS)?;
    for value in scan.drafts.iter_mut().flat_map(|draft| draft.args.values_mut()) {
        let inside = |text: &str| Some(text.trim().strip_prefix(SECTION)?.strip_suffix("]]>")?.to_owned());
        if let Some(text) = value.as_str().and_then(inside) {
            *value = Value::String(text);
        }
    }
    Ok(())
}
