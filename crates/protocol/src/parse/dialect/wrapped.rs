//! Dialects in which calls are JSON between two tokens: a table row each is enough.
//!
//! - Hermes: the chat templates of NousResearch/Hermes-2-Pro and of Qwen/Qwen2.5-7B-Instruct, `tokenizer_config.json`.
//! - Granite: ibm-granite/granite-3.1-8b-instruct and granite-20b-functioncalling; Phi-4: microsoft/Phi-4-mini-instruct.
//! - Functools: the chat templates of microsoft/Phi-4-mini-instruct and fireworks-ai/llama-3-firefunction-v2.
//! - Hunyuan: tencent/Hunyuan-A13B-Instruct; the same tokens are used by ai21labs/AI21-Jamba-1.5-Mini and MiniMaxAI/MiniMax-M1.
//! - InternLM: internlm/internlm2_5-7b-chat. Nemotron: nvidia/NVIDIA-Nemotron-Nano-9B-v2. LongCat:
//!   meituan-longcat/LongCat-Flash-Chat.

use super::python;
use super::scan::{Read, Scan};
use super::{Forgery, Row};
use crate::Dialect;

pub(super) const ROWS: &[Row] = &[
    Row { dialect: Dialect::Hermes, opener: "<tool_call>", special: true, read: hermes, closers: &["</tool_call>"] },
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
        dialect: Dialect::Hunyuan,
        opener: "<tool_calls>",
        special: true,
        read: |scan| scan.json_calls(&["</tool_calls>"]),
        closers: &["</tool_calls>"],
    },
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
    Forgery { dialect: Dialect::Hunyuan, token: "<tool_responses>" },
    Forgery { dialect: Dialect::Nemotron, token: "<TOOL_RESPONSE>" },
];

fn hermes(scan: &mut Scan<'_>) -> Read {
    scan.json_calls(&["</tool_call>"])
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
