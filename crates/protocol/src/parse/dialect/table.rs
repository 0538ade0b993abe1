//! The table of dialects. A row names the token that opens calls, their shape, and the tokens that close them. Adding a
//! family means adding rows here and a case file.

use super::tags::{self, KEYS, Tags, TextForm};
use super::{Row, Shape, deepseek, gemma, harmony, minimax, objects, python};
use crate::Dialect;
use Shape::{Framing, Json, JsonOrEnd, LooseJson, Named, Own, Python, Section, TagAlone, Tagged};

const fn row(dialect: Dialect, opener: &'static str, shape: Shape) -> Row {
    Row { dialect, opener, special: true, shape }
}

/// A row whose opening token also begins ordinary texts: it counts only at the start of a line.
const fn plain(dialect: Dialect, opener: &'static str, shape: Shape) -> Row {
    Row { dialect, opener, special: false, shape }
}

const fn framing(dialect: Dialect, opener: &'static str) -> Row {
    row(dialect, opener, Framing)
}

/// Builds tags: `call` and `parameter` end before a name, and each tag ends with `>`.
const fn tags(
    call: [&'static str; 2],
    parameter: [&'static str; 2],
    closers: &'static [&'static str],
) -> Tags<'static> {
    Tags {
        call: call[0],
        head_end: ">",
        call_end: call[1],
        parameter: parameter[0],
        key_end: ">",
        value: "",
        parameter_end: parameter[1],
        closers,
        text: TextForm::OwnLines,
        ..KEYS
    }
}

/// The tags of Qwen3-Coder.
const fn function_tags(closers: &'static [&'static str]) -> Tags<'static> {
    tags(["<function=", "</function>"], ["<parameter=", "</parameter>"], closers)
}

/// The tags of Claude.
const fn invoke_tags(closers: &'static [&'static str]) -> Tags<'static> {
    tags(["<invoke name=", "</invoke>"], ["<parameter name=", "</parameter>"], closers)
}

const fn dsml_tags(closers: &'static [&'static str]) -> Tags<'static> {
    tags(["<｜DSML｜invoke name=", "</｜DSML｜invoke>"], ["<｜DSML｜parameter name=", "</｜DSML｜parameter>"], closers)
}

/// DeepSeek V4.1 writes a space after the marker.
const SPACED_DSML: Tags<'_> = tags(
    ["<｜DSML｜ invoke name=", "</｜DSML｜ invoke>"],
    ["<｜DSML｜ parameter name=", "</｜DSML｜ parameter>"],
    &["</｜DSML｜ calls>"],
);

const ATEM_TAGS: Tags<'_> = tags(
    ["<atem:invoke name=", "</atem:invoke>"],
    ["<atem:parameter name=", "</atem:parameter>"],
    &["</atem:function_calls>"],
);

const GCML_TAGS: Tags<'_> = tags(
    ["<｜GCML｜invoke name=", "</｜GCML｜invoke>"],
    ["<｜GCML｜parameter name=", "</｜GCML｜parameter>"],
    &["</｜GCML｜tool_calls>"],
);

const STEP_TAGS: Tags<'_> = tags(
    ["<steptml:invoke name=", "</steptml:invoke>"],
    ["<steptml:parameter name=", "</steptml:parameter>"],
    &["<｜tool_call_end｜>"],
);

const MINICPM_TAGS: Tags<'_> =
    Tags { text: TextForm::Cdata, ..tags(["<function name=", "</function>"], ["<param name=", "</param>"], &[]) };

const SOLAR_KEYS: Tags<'_> = Tags {
    call_end: "<|tool_call:end|>",
    parameter: "<|tool_arg:start|>",
    key_end: "<|tool_arg:value|>",
    value: "",
    parameter_end: "<|tool_arg:end|>",
    ..KEYS
};

const K2_KEYS: Tags<'_> = Tags {
    call_end: "</ifm|tool_call>",
    parameter: "<ifm|arg_key>",
    key_end: "</ifm|arg_key>",
    kind: Some(("<ifm|arg_type>", "</ifm|arg_type>")),
    value: "<ifm|arg_value>",
    parameter_end: "</ifm|arg_value>",
    ..KEYS
};

const K3_TAGS: Tags<'_> = Tags {
    head_end: "<|sep|>",
    key_end: "<|sep|>",
    object: Some(("<|open|>json ", "<|close|>json<|sep|>")),
    text: TextForm::Raw,
    ..tags(
        ["<|open|>call tool=", "<|close|>call<|sep|>"],
        ["<|open|>argument key=", "<|close|>argument<|sep|>"],
        &["<|close|>tools<|sep|>"],
    )
};

const KIMI_CALL: Shape = Named { separator: "<|tool_call_argument_begin|>", close: "<|tool_call_end|>" };

const MINIMAX_CALLS: Shape = Section { open: minimax::INVOKE, end: minimax::END, call: &Own(minimax::invoke, &[]) };

/// All rows. Rows that share a token are tried in this order.
pub(super) const ROWS: &[Row] = &[
    // Llama 3: Meta's documentation of the prompt formats of Llama 3.1 to 3.3; Functionary 3.1 writes the first form
    // too.
    plain(Dialect::Llama, "<function=", Named { separator: ">", close: "</function>" }),
    row(Dialect::Llama, "<|python_tag|>", Json(&[])),
    row(Dialect::Llama, "<|python_tag|>", Own(python::built_in, &["}", "]", ")"])),
    // Qwen3-Coder: Qwen/Qwen3-Coder-30B-A3B-Instruct, `chat_template.jinja`. Smaller models leave the outer tag out.
    row(Dialect::Qwen3Coder, "<tool_call>", Tagged(function_tags(&["</tool_call>"]))),
    plain(Dialect::Qwen3Coder, "<function=", TagAlone(function_tags(&["</tool_call>"]))),
    // GLM 4.5 and later: zai-org/GLM-4.5 and GLM-4.7, `chat_template.jinja`; Ling 3, Laguna and Spark 2.5 (the parsers
    // `ling3`, `poolside_v1` and `spark25` of SGLang).
    row(Dialect::Glm, "<tool_call>", TagAlone(KEYS)),
    // Claude: Anthropic's documentation of tool use before function calling, which many models were trained on.
    row(Dialect::Anthropic, "<function_calls>", Tagged(invoke_tags(&["</function_calls>"]))),
    plain(Dialect::Anthropic, "<invoke name=", TagAlone(invoke_tags(&["</function_calls>"]))),
    // OLMo 3: allenai/Olmo-3-7B-Instruct, `chat_template.jinja`: one Python call a line.
    row(Dialect::Olmo, "<function_calls>", Python("</function_calls>")),
    // MiniCPM 5: SGLang's parser `minicpm5`. Hermes models write an object in the same tag.
    plain(Dialect::MiniCpm, "<function name=", TagAlone(MINICPM_TAGS)),
    // Mistral: mistralai/Mistral-7B-Instruct-v0.3 (an array), and tokenizer v11 and v13 of mistral-common (name, id,
    // object).
    row(Dialect::Mistral, "[TOOL_CALLS]", Json(&[])),
    row(Dialect::Mistral, "[TOOL_CALLS]", Own(objects::mistral, &["]", "}"])),
    // DeepSeek V3, R1 and V3.1: `tokenizer_config.json`; V3.2, V4 and V4.1: `encoding/README.md`. Some servers print
    // plain bars, and the distilled models misspell their token, in the ways that llama.cpp has seen.
    row(Dialect::DeepSeek, "<｜tool▁calls▁begin｜>", Own(deepseek::calls, &["<｜tool▁calls▁end｜>"])),
    row(Dialect::DeepSeek, "<|tool▁calls▁begin|>", Own(deepseek::calls, &["<|tool▁calls▁end|>"])),
    row(Dialect::DeepSeek, "<｜tool▁calls｜>", Own(deepseek::calls, &["<｜tool▁calls▁end｜>"])),
    row(Dialect::DeepSeek, "<｜tool calls begin｜>", Own(deepseek::calls, &["<｜tool▁calls▁end｜>"])),
    row(Dialect::DeepSeek, "<｜tool_calls_begin｜>", Own(deepseek::calls, &["<｜tool▁calls▁end｜>"])),
    row(Dialect::DeepSeek, "<｜tool\\_calls\\_begin｜>", Own(deepseek::calls, &["<｜tool▁calls▁end｜>"])),
    row(Dialect::DeepSeek, "<｜DSML｜function_calls>", Tagged(dsml_tags(&["</｜DSML｜function_calls>"]))),
    row(Dialect::DeepSeek, "<｜DSML｜tool_calls>", Tagged(dsml_tags(&["</｜DSML｜tool_calls>"]))),
    row(Dialect::DeepSeek, "<｜DSML｜ calls>", Tagged(SPACED_DSML)),
    row(Dialect::DeepSeek, "<｜DSML｜invoke name=", TagAlone(dsml_tags(&[]))),
    row(Dialect::DeepSeek, "<｜DSML｜ invoke name=", TagAlone(SPACED_DSML)),
    // Kimi K2: moonshotai/Kimi-K2-Instruct, `docs/tool_call_guidance.md`. Kimi K3: `Kimi-K3.jinja` of llama.cpp.
    row(
        Dialect::Kimi,
        "<|tool_calls_section_begin|>",
        Section { open: "<|tool_call_begin|>", end: "<|tool_calls_section_end|>", call: &KIMI_CALL },
    ),
    row(Dialect::Kimi, "<|tool_call_begin|>", KIMI_CALL),
    row(Dialect::Kimi, "<|open|>tools<|sep|>", Tagged(K3_TAGS)),
    framing(Dialect::Kimi, "<|open|>response<|sep|>"),
    framing(Dialect::Kimi, "<|close|>response<|sep|>"),
    framing(Dialect::Kimi, "<|close|>message<|sep|>"),
    framing(Dialect::Kimi, "<|end_of_msg|>"),
    // Gemma: google/functiongemma-270m-it and google/gemma-4-E4B-it, `chat_template.jinja`.
    row(Dialect::Gemma, "<start_function_call>", Own(gemma::function_gemma, &["<end_function_call>"])),
    row(Dialect::Gemma, "<|tool_call>", Own(gemma::gemma_4, &["<tool_call|>"])),
    // LFM2: LiquidAI/LFM2-1.2B, `chat_template.jinja` and its model card. MiniCPM3 writes the same tokens around a
    // fence.
    row(Dialect::Lfm2, "<|tool_call_start|>", Json(&["<|tool_call_end|>"])),
    row(Dialect::Lfm2, "<|tool_call_start|>", Python("<|tool_call_end|>")),
    // Apertus: swiss-ai/Apertus-8B-Instruct-2509, `chat_template.jinja`.
    row(Dialect::Apertus, "<|tools_prefix|>", Own(objects::apertus, &["<|tools_suffix|>"])),
    // Cohere: CohereLabs/c4ai-command-r7b-12-2024 and command-a-03-2025, template `tool_use`.
    row(Dialect::Cohere, "<|START_ACTION|>", Json(&["<|END_ACTION|>"])),
    framing(Dialect::Cohere, "<|START_RESPONSE|>"),
    framing(Dialect::Cohere, "<|END_RESPONSE|>"),
    framing(Dialect::Cohere, "<|START_TEXT|>"),
    framing(Dialect::Cohere, "<|END_TEXT|>"),
    // Step 3: stepfun-ai/step3, `chat_template.json`.
    row(
        Dialect::Step,
        "<｜tool_calls_begin｜>",
        Section {
            open: "<｜tool_call_begin｜>function<｜tool_sep｜>",
            end: "<｜tool_calls_end｜>",
            call: &Tagged(STEP_TAGS),
        },
    ),
    // Seed-OSS: ByteDance-Seed/Seed-OSS-36B-Instruct, `chat_template.jinja`.
    row(Dialect::SeedOss, "<seed:tool_call>", Tagged(function_tags(&["</seed:tool_call>"]))),
    // MiniMax M2: MiniMaxAI/MiniMax-M2, `chat_template.jinja` and its tool calling guide. MiniMax M3: the parser
    // `minimax_m3` of the crate `tool-parser`; the mark before the outer tag is left out at times, or the tag itself.
    row(Dialect::MiniMax, "<minimax:tool_call>", Tagged(invoke_tags(&["</minimax:tool_call>"]))),
    row(Dialect::MiniMax, "]<]minimax[>[<tool_call>", MINIMAX_CALLS),
    row(Dialect::MiniMax, "<tool_call>", MINIMAX_CALLS),
    row(Dialect::MiniMax, minimax::INVOKE, Own(minimax::invoke, &[minimax::INVOKE_END])),
    // gpt-oss: OpenAI's documentation of the harmony response format.
    row(Dialect::Harmony, harmony::CHANNEL, Own(harmony::channel, harmony::ENDS)),
    row(Dialect::Harmony, "<|start|>assistant", Own(harmony::start, harmony::ENDS)),
    framing(Dialect::Harmony, "<|end|>"),
    framing(Dialect::Harmony, "<|return|>"),
    // Hunyuan: tencent/Hunyuan-A13B-Instruct; also ai21labs/AI21-Jamba-1.5-Mini, ServiceNow-AI/Apriel-1.5-15b-Thinker
    // and MiniMaxAI/MiniMax-M1. Hunyuan 3 and 4: the parsers `hy_v3` of vLLM and `hy_v4` of `tool-parser`; all tags may
    // have a suffix.
    row(Dialect::Hunyuan, "<tool_calls>", Json(&["</tool_calls>"])),
    row(Dialect::Hunyuan, "<tool_calls>", Own(tags::without_suffix, &["</tool_calls>"])),
    row(Dialect::Hunyuan, "<tool_calls:", Own(tags::with_suffix, &["</tool_calls:"])),
    // Solar Open 2: vLLM's parser `solar_open2`.
    row(Dialect::Solar, "<|tool_call:start|>", TagAlone(SOLAR_KEYS)),
    // GigaChat 3: `GigaChat3-10B-A1.8B.jinja` of llama.cpp and SGLang's parser `gigachat3`; 3.5: SGLang's parser
    // `gigachat35`.
    framing(Dialect::GigaChat, "<|message_sep|>"),
    plain(Dialect::GigaChat, "function call<|role_sep|>", JsonOrEnd(&["<|message_sep|>"], &["</s>"])),
    row(Dialect::GigaChat, "<|function_call|>", JsonOrEnd(&["<|message_sep|>"], &["</s>"])),
    row(Dialect::GigaChat, "<｜GCML｜tool_calls>", Tagged(GCML_TAGS)),
    // dots: SGLang's parser `dots`.
    row(Dialect::Dots, "<dots_function_call>", Json(&["</dots_function_call>"])),
    row(Dialect::Dots, "<dots_function_call>", Tagged(invoke_tags(&["</dots_function_call>"]))),
    // K2 Horizon: SGLang's parser `k2_horizon`.
    row(
        Dialect::K2Horizon,
        "<ifm|tool_calls>",
        Section { open: "<ifm|tool_call>", end: "</ifm|tool_calls>", call: &Json(&["</ifm|tool_call>"]) },
    ),
    row(
        Dialect::K2Horizon,
        "<ifm|tool_calls>",
        Section { open: "<ifm|tool_call>", end: "</ifm|tool_calls>", call: &TagAlone(K2_KEYS) },
    ),
    row(Dialect::K2Horizon, "<ifm|tool_call>", Json(&["</ifm|tool_call>"])),
    row(Dialect::K2Horizon, "<ifm|tool_call>", TagAlone(K2_KEYS)),
    // Muse Glimmer: SGLang's parser `muse`.
    row(Dialect::Muse, "<atem:function_calls>", Tagged(ATEM_TAGS)),
    row(Dialect::Muse, "<atem:invoke name=", TagAlone(ATEM_TAGS)),
    // Sarashina: the parser `sarashina` of the crate `tool-parser`.
    row(Dialect::Sarashina, "<|tool_calls|>", Own(python::dictionaries, &["]"])),
    // Hermes: the templates of NousResearch/Hermes-2-Pro and Qwen/Qwen2.5-7B-Instruct. Models of this family also write
    // other tags.
    row(Dialect::Hermes, "<tool_call>", Json(&["</tool_call>"])),
    plain(Dialect::Hermes, "<tool>", LooseJson("</tool>")),
    plain(Dialect::Hermes, "<tools>", LooseJson("</tools>")),
    plain(Dialect::Hermes, "<json>", LooseJson("</json>")),
    plain(Dialect::Hermes, "<JSON>", LooseJson("</JSON>")),
    plain(Dialect::Hermes, "<xml>", LooseJson("</xml>")),
    plain(Dialect::Hermes, "<response>", LooseJson("</response>")),
    // Granite: ibm-granite/granite-3.1-8b-instruct and granite-20b-functioncalling; Phi-4:
    // microsoft/Phi-4-mini-instruct.
    row(Dialect::Granite, "<|tool_call|>", JsonOrEnd(&["<|/tool_call|>", "<|end_of_text|>"], &[])),
    row(Dialect::Granite, "<function_call>", JsonOrEnd(&["</function_call>", "<|end_of_text|>"], &[])),
    // Functools: microsoft/Phi-4-mini-instruct and fireworks-ai/llama-3-firefunction-v2. The bracket is part of the
    // array.
    plain(Dialect::Functools, "functools[", Json(&[])),
    // InternLM: internlm/internlm2_5-7b-chat. Other words than `<|plugin|>` begin code, which is not a call.
    row(Dialect::InternLm, "<|action_start|><|plugin|>", Json(&["<|action_end|>"])),
    // Nemotron: nvidia/NVIDIA-Nemotron-Nano-9B-v2.
    row(Dialect::Nemotron, "<TOOLCALL>", Json(&["</TOOLCALL>"])),
    // LM Studio: its documentation of tool use, "default tool use support".
    row(Dialect::LmStudio, "[TOOL_REQUEST]", Json(&["[END_TOOL_REQUEST]"])),
    // LongCat: meituan-longcat/LongCat-Flash-Chat.
    row(Dialect::LongCat, "<longcat_tool_call>", Json(&["</longcat_tool_call>"])),
    // Llama 4: meta-llama/Llama-4-Scout-17B-16E-Instruct.
    row(Dialect::Pythonic, "<|python_start|>", Python("<|python_end|>")),
];

/// The tokens by which a model forges a tool result or a user turn. Everything after one is discarded.
pub(super) const FORGERIES: &[(Dialect, &str)] = &[
    (Dialect::Hermes, "<tool_response>"),
    (Dialect::Hermes, "<|im_start|>user"),
    (Dialect::Hermes, "<|im_start|>tool"),
    (Dialect::Granite, "<|start_of_role|>user"),
    (Dialect::Granite, "<|start_of_role|>tool"),
    (Dialect::Nemotron, "<TOOL_RESPONSE>"),
    (Dialect::Anthropic, "<function_results>"),
    (Dialect::Anthropic, "<function_result>"),
    (Dialect::Cohere, "<|START_TOOL_RESULT|>"),
    (Dialect::Llama, "<|start_header_id|>ipython"),
    (Dialect::Llama, "<|start_header_id|>user"),
    (Dialect::Mistral, "[TOOL_RESULTS]"),
    (Dialect::Mistral, "[INST]"),
    (Dialect::DeepSeek, "<｜tool▁outputs▁begin｜>"),
    (Dialect::DeepSeek, "<｜tool▁output▁begin｜>"),
    (Dialect::DeepSeek, "<｜User｜>"),
    (Dialect::Kimi, "<|im_user|>"),
    (Dialect::Kimi, "<|im_system|>"),
    (Dialect::Glm, "<|observation|>"),
    (Dialect::Glm, "<|user|>"),
    (Dialect::Gemma, "<start_function_response>"),
    (Dialect::Gemma, "<|tool_response>"),
    (Dialect::Gemma, "<start_of_turn>user"),
    (Dialect::Step, "<｜tool_outputs_begin｜>"),
    (Dialect::Hunyuan, "<tool_responses>"),
    (Dialect::GigaChat, "function result<|role_sep|>"),
];
