//! Recognises error responses which report that the conversation is longer than the model's window, and extracts the
//! numbers.
//!
//! Servers have no common code for it: OpenAI has a code, llama.cpp a type, and most others only a sentence. The
//! sentences are searched in the text of the response, ignoring case. A response that is missed here is an ordinary
//! error for the person.

use serde_json::Value;

/// The numbers in a response about a conversation that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong {
    /// Tokens of the request.
    pub(super) tokens: Option<u64>,
    /// Tokens of the window.
    pub(super) window: Option<u64>,
}

/// Parts of such responses, in lower case, as the named servers write them.
const SIGNS: &[&str] = &[
    "context_length_exceeded",                            // OpenAI, Groq, DeepSeek, gateways
    "exceed_context_size_error",                          // llama.cpp
    "exceeds the available context",                      // llama.cpp, older ones too
    "maximum context length",                             // OpenAI, vLLM, SGLang, OpenRouter, Mistral
    "maximum model length",                               // vLLM
    "model's context length",                             // SGLang
    "exceeds the context length",                         // Ollama
    "exceeds maximum context",                            // Ollama
    "longer than the context",                            // Ollama, older ones
    "context length of only",                             // LM Studio
    "context window exceeded",                            // LiteLLM
    "contextwindowexceedederror",                         // LiteLLM
    "exceeds the context window",                         // OpenAI, of newer models
    "exceed context limit",                               // Anthropic
    "prompt is too long",                                 // Anthropic
    "input is too long",                                  // Bedrock
    "input token count",                                  // Gemini
    "maximum prompt length",                              // xAI
    "tokens_limit_reached",                               // GitHub Models, Azure
    "total number of tokens in the prompt cannot exceed", // Cohere
    "`max_new_tokens` must be <=",                        // text-generation-inference
    "please reduce the length of the messages",           // Groq, OpenAI
];

/// Texts right before the number of the window.
const BEFORE_WINDOW: &[&str] = &[
    "context length is ",
    "context length of only ",
    "context length of ",
    "context length (",
    "available context size (",
    "maximum model length of ",
    "maximum prompt length is ",
    "number of tokens allowed (",
    "max size: ",
    "maximum allowed (",
    "prompt cannot exceed ",
    "must be <= ",
    " > ",
];

/// Texts right before the number of the request.
const BEFORE_TOKENS: &[&str] = &[
    "resulted in ",
    "you requested about ",
    "you requested a total of ",
    "you requested ",
    "request (",
    "prompt is too long: ",
    "input token count (",
    "request contains ",
    "the input (",
    "prompt contains ",
    "prompt (length ",
];

/// Returns the numbers if this response reports a conversation that is too long. Status 429 is about the rate of
/// requests, whatever its text; a wrong key or a wrong name has its own status.
pub(super) fn parse(status: u16, body: &str) -> Option<TooLong> {
    if matches!(status, 300..=399 | 401..=404 | 429) {
        return None;
    }
    let json: Option<Value> = serde_json::from_str(body).ok();
    // JSON is decoded, so that escapes such as \u0027 for an apostrophe do not matter; other text is searched as it is.
    let text = json.as_ref().map_or_else(|| body.to_owned(), strings).to_lowercase();
    if !SIGNS.iter().any(|sign| text.contains(sign)) {
        return None;
    }
    let field = |name: &str| json.as_ref()?.pointer(&format!("/error/{name}"))?.as_u64();
    // llama.cpp has the numbers in fields of the error; other servers only name them in the sentence.
    let tokens = field("n_prompt_tokens").or_else(|| number(&text, BEFORE_TOKENS));
    let window = field("n_ctx").or_else(|| number(&text, BEFORE_WINDOW));
    Some(TooLong { tokens, window })
}

/// Returns every string in the value, one per line.
fn strings(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(strings).collect(),
        Value::Object(fields) => fields.values().map(strings).collect(),
        _ => String::new(),
    }
}

/// Returns the number after the first of these texts that a number follows. Digits may be grouped.
fn number(text: &str, before: &[&str]) -> Option<u64> {
    before.iter().find_map(|before| {
        let (_, after) = text.split_once(before)?;
        let digits = after.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(char::is_ascii_digit);
        // Twelve digits fit into a `u64`, so the text of a server cannot make the conversion fail.
        digits.take(12).collect::<String>().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Error responses of servers, from their sources and from reports of their users.
    const REFUSALS: &[(u16, &str, Option<u64>, Option<u64>)] = &[
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            Some(9001),
            Some(8192),
        ),
        (
            400,
            r#"{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","code":"context_length_exceeded"}}"#,
            None,
            None,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"request (30296 tokens) exceeds the available context size (16384 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":30296,"n_ctx":16384}}"#,
            Some(30296),
            Some(16384),
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}"#,
            None,
            None,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5100 tokens (4100 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","code":400}"#,
            Some(5100),
            Some(4096),
        ),
        (
            400,
            r#"{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.","type":"BadRequestError"}}"#,
            Some(5000),
            Some(4096),
        ),
        (
            400,
            r#"{"error":{"message":"the input length exceeds the context length","type":"invalid_request_error"}}"#,
            None,
            None,
        ),
        (
            400,
            r#"{"error":"Trying to keep the first 5207 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}"#,
            None,
            Some(4096),
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210,000 tokens > 200,000 maximum"}}"#,
            Some(210_000),
            Some(200_000),
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again"}}"#,
            None,
            Some(200_000),
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
            Some(1_200_000),
            Some(1_048_576),
        ),
        (
            400,
            r#"{"error":{"message":"The input (5000 tokens) is longer than the model\u0027s context length (4096 tokens)."}}"#,
            Some(5000),
            Some(4096),
        ),
        (
            413,
            r#"{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}"#,
            None,
            Some(8000),
        ),
        (
            422,
            r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and 100 `max_new_tokens`","error_type":"validation"}"#,
            None,
            Some(4097),
        ),
        (
            400,
            r#"{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}"#,
            Some(537_812),
            Some(131_072),
        ),
        (400, "litellm.ContextWindowExceededError: too much", None, None),
    ];

    #[test]
    fn responses_of_servers_are_recognised() {
        for (status, body, tokens, window) in REFUSALS {
            let wanted = TooLong { tokens: *tokens, window: *window };
            assert_eq!(parse(*status, body), Some(wanted), "{body}");
        }
    }

    #[test]
    fn other_refusals_are_not_overflows() {
        for (status, body) in [
            (400, r#"{"error":{"message":"temperature must be between 0 and 2"}}"#),
            (
                429,
                r#"{"error":{"message":"Request too large, limit 10000 tokens per minute. Please reduce the length of the messages."}}"#,
            ),
            (404, r#"{"error":{"message":"no model of maximum context length"}}"#),
            (400, ""),
            (400, "{"),
        ] {
            assert_eq!(parse(status, body), None, "{body}");
        }
    }
}
