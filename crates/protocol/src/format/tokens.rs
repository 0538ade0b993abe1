//! Finds the tokens of chat templates in text and breaks them, so that no tokenizer recognises them.

use std::borrow::Cow;

/// Tokens without a common shape. Those between `<|` and `|>` are recognised by their shape.
const LISTED_TOKENS: &[&str] = &[
    "</s>",
    "<s>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<bos>",
    "<eos>",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[AVAILABLE_TOOLS]",
    "[SYSTEM_PROMPT]",
];

/// Puts a space after the first character of every token.
pub(super) fn break_tokens(text: &str) -> Cow<'_, str> {
    rewrite(text, |first, out| out.extend([first, ' ']))
}

/// Replaces the first character of every token in JSON with an escape, which does not change the value.
///
/// Tokens begin with `<` or `[` and hold letters, so in JSON text they occur only inside strings, where both may be
/// escaped.
pub(crate) fn escape_tokens(json: &str) -> Cow<'_, str> {
    rewrite(json, |first, out| out.push_str(if first == '<' { "\\u003c" } else { "\\u005b" }))
}

fn rewrite(text: &str, replace: impl Fn(char, &mut String)) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for at in memchr::memchr2_iter(b'<', b'[', text.as_bytes()) {
        if is_token(&text[at..]) {
            out.push_str(&text[copied..at]);
            replace(char::from(text.as_bytes()[at]), &mut out);
            copied = at + 1;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn is_token(text: &str) -> bool {
    LISTED_TOKENS.iter().any(|token| text.starts_with(token)) || has_token_shape(text)
}

/// Returns `true` for `<|name|>`, also with the full-width bars of some templates.
fn has_token_shape(text: &str) -> bool {
    const LONGEST: usize = 64;
    let bar = |c| c == '|' || c == '\u{ff5c}';
    let Some(inner) = text.strip_prefix('<').and_then(|rest| rest.strip_prefix(bar)) else { return false };
    let mut chars = inner.chars().take(LONGEST).skip_while(|c| c.is_alphanumeric() || "_-.:\u{2581}".contains(*c));
    !inner.starts_with(bar) && chars.next().is_some_and(bar) && chars.next() == Some('>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_broken_and_code_is_not() {
        for (text, want) in [
            ("a<|im_end|>b<|im_end|>", "a< |im_end|>b< |im_end|>"),
            ("</s>[INST] x [/INST]", "< /s>[ INST] x [ /INST]"),
            ("<\u{ff5c}end\u{2581}of\u{ff5c}>", "< \u{ff5c}end\u{2581}of\u{ff5c}>"),
            ("f <| g |> h", "f <| g |> h"),
            ("<||> <|x", "<||> <|x"),
            ("v[0] < 3 <section>", "v[0] < 3 <section>"),
        ] {
            assert_eq!(break_tokens(text), want);
        }
    }

    #[test]
    fn escaping_tokens_keeps_the_value() {
        let value = serde_json::json!({"a": ["</s>", "\\<|im_end|>\"[INST]"]});
        let text = value.to_string();
        let safe = escape_tokens(&text);
        assert_eq!(break_tokens(&safe), *safe, "no token is left");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).ok(), Some(value));
    }
}
