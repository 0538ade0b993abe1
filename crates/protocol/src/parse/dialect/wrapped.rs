//! Dialects in which calls are JSON between two tokens: a table row each is enough.
//!
//! - Hermes: the chat templates of NousResearch/Hermes-2-Pro and of Qwen/Qwen2.5-7B-Instruct, `tokenizer_config.json`.
//! - Granite: ibm-granite/granite-3.1-8b-instruct and granite-20b-functioncalling; Phi-4: microsoft/Phi-4-mini-instruct.
//! - Functools: the chat templates of microsoft/Phi-4-mini-instruct and fireworks-ai/llama-3-firefunction-v2.
//! - LM Studio: its documentation of tool use, "default tool use support".
//! - InternLM: internlm/internlm2_5-7b-chat. Nemotron: nvidia/NVIDIA-Nemotron-Nano-9B-v2. LongCat:
//!   meituan-longcat/LongCat-Flash-Chat.

use super::Sketch;
use super::python;
use super::scan::{Read, Scan, Stop};
use super::{Forgery, Row};
use crate::Dialect;

pub(super) const ROWS: &[Row] = &[
    Row { dialect: Dialect::Hermes, opener: "<tool_call>", special: true, read: hermes, closers: &["</tool_call>"] },
    loose("<tool>", |scan| loose_call(scan, "</tool>"), &["</tool>"]),
    loose("<tools>", |scan| loose_call(scan, "</tools>"), &["</tools>"]),
    loose("<json>", |scan| loose_call(scan, "</json>"), &["</json>"]),
    loose("<JSON>", |scan| loose_call(scan, "</JSON>"), &["</JSON>"]),
    loose("<xml>", |scan| loose_call(scan, "</xml>"), &["</xml>"]),
    loose("<response>", |scan| loose_call(scan, "</response>"), &["</response>"]),
    Row {
        dialect: Dialect::Granite,
        opener: "<|tool_call|>",
        special: true,
        read: |scan| scan.json_calls_to(&["<|/tool_call|>", "<|end_of_text|>"]),
        closers: &["<|/tool_call|>", "<|end_of_text|>", "]"],
    },
    Row {
        dialect: Dialect::Granite,
        opener: "<function_call>",
        special: true,
        read: |scan| scan.json_calls_to(&["</function_call>", "<|end_of_text|>"]),
        closers: &["</function_call>", "<|end_of_text|>", "}"],
    },
    Row { dialect: Dialect::Functools, opener: "functools[", special: false, read: functools, closers: &["]"] },
    Row {
        dialect: Dialect::InternLm,
        opener: "<|action_start|>",
        special: true,
        read: internlm,
        closers: &["<|action_end|>"],
    },
    Row {
        dialect: Dialect::Nemotron,
        opener: "<TOOLCALL>",
        special: true,
        read: |scan| scan.json_calls(&["</TOOLCALL>"]),
        closers: &["</TOOLCALL>"],
    },
    Row {
        dialect: Dialect::LmStudio,
        opener: "[TOOL_REQUEST]",
        special: true,
        read: |scan| scan.json_calls(&["[END_TOOL_REQUEST]"]),
        closers: &["[END_TOOL_REQUEST]"],
    },
    Row {
        dialect: Dialect::LongCat,
        opener: "<longcat_tool_call>",
        special: true,
        read: |scan| scan.json_calls(&["</longcat_tool_call>"]),
        closers: &["</longcat_tool_call>"],
    },
    Row {
        dialect: Dialect::Pythonic,
        opener: "<|python_start|>",
        special: true,
        read: python_tokens,
        closers: &["<|python_end|>"],
    },
];

pub(super) const FORGERIES: &[Forgery] = &[
    Forgery { dialect: Dialect::Hermes, token: "<tool_response>" },
    Forgery { dialect: Dialect::Hermes, token: "<|im_start|>user" },
    Forgery { dialect: Dialect::Hermes, token: "<|im_start|>tool" },
    Forgery { dialect: Dialect::Granite, token: "<|start_of_role|>user" },
    Forgery { dialect: Dialect::Granite, token: "<|start_of_role|>tool" },
    Forgery { dialect: Dialect::Nemotron, token: "<TOOL_RESPONSE>" },
];

fn hermes(scan: &mut Scan<'_>) -> Read {
    scan.json_calls(&["</tool_call>"])
}

/// A tag that models of the Hermes family write in place of `<tool_call>`. Texts begin with it, too.
const fn loose(opener: &'static str, read: fn(&mut Scan<'_>) -> Read, closers: &'static [&'static str]) -> Row {
    Row { dialect: Dialect::Hermes, opener, special: false, read, closers }
}

/// Calls in such a tag count only where they are valid, closed, and of tools on offer: anything else is an answer in tags.
fn loose_call(scan: &mut Scan<'_>, close: &'static str) -> Read {
    let read = scan.json_calls(&[close]);
    // Nothing is told of it before it is whole.
    scan.sketch = Sketch::default();
    match read {
        Err(Stop::More) => Err(Stop::More),
        Ok(()) if scan.drafts.iter().all(|draft| draft.repairs.is_empty() && scan.offers(&draft.name)) => Ok(()),
        Ok(()) | Err(Stop::Not | Stop::Incomplete | Stop::Bad(_)) => Err(Stop::Not),
    }
}

fn functools(scan: &mut Scan<'_>) -> Read {
    scan.at -= 1; // the bracket is part of the array
    scan.json_calls(&[])
}

/// The plugin is named before the object: `<|plugin|>`, or `<|interpreter|>`, which holds code and is no call.
fn internlm(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    scan.want("<|plugin|>")?;
    scan.json_calls(&["<|action_end|>"])
}

/// Llama 4: meta-llama/Llama-4-Scout-17B-16E-Instruct.
fn python_tokens(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    python::list(scan)?;
    let end = scan.at;
    scan.skip_whitespace();
    if scan.take("<|python_end|>")? { Ok(()) } else { scan.missing_end(end, true) }
}
