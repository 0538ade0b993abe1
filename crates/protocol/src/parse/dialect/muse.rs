//! Muse Glimmer, whose format ATEM SGLang's parser `muse` documents: the tags of Claude with a prefix.
//!
//! ```text
//! <atem:function_calls>
//! <atem:invoke name="read_file">
//! <atem:parameter name="path">a.txt</atem:parameter>
//! </atem:invoke>
//! </atem:function_calls>
//! ```

use super::Row;
use super::parameters::{self, Tags};
use super::scan::{Read, Scan};
use crate::Dialect;

const TAGS: Tags = Tags {
    call: "<atem:invoke name=",
    call_end: "</atem:invoke>",
    parameter: "<atem:parameter name=",
    parameter_end: "</atem:parameter>",
    closers: &["</atem:function_calls>"],
};

pub(super) const ROWS: &[Row] = &[
    Row { dialect: Dialect::Muse, opener: "<atem:function_calls>", special: true, read: calls, closers: TAGS.closers },
    Row { dialect: Dialect::Muse, opener: TAGS.call, special: true, read: alone, closers: &["</atem:invoke>"] },
];

fn calls(scan: &mut Scan<'_>) -> Read {
    let read = parameters::calls(scan, &TAGS);
    without_namespaces(scan);
    read
}

/// A call without the outer tag.
fn alone(scan: &mut Scan<'_>) -> Read {
    let read = parameters::call_named(scan, &TAGS);
    without_namespaces(scan);
    read
}

/// The template makes every tool a namespace of itself: `read_file.read_file`.
fn without_namespaces(scan: &mut Scan<'_>) {
    for name in scan.drafts.iter_mut().map(|draft| &mut draft.name).chain(&mut scan.sketch.name) {
        if let Some((space, inside)) = name.split_once('.')
            && space == inside
        {
            name.truncate(inside.len());
        }
    }
}
