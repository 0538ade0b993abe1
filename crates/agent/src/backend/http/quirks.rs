//! Peculiarities of servers, known from a preset or learned from an error response.

use super::failure::Failure;
use serde_json::{Map, Value, json};
use toolfence_protocol::{Image, Message, Role};

/// The request member that asks for the usage of the reply.
const COUNTED: &str = "stream_options";

/// The two names of the reply's limit: the common one, and that of OpenAI's newer models.
const LIMIT: &str = "max_tokens";
const NEWER_LIMIT: &str = "max_completion_tokens";

/// Parts of error responses, in lower case, about an unsupported system message. Templates that require alternating
/// roles begin with the user: if no role occurs twice in a row, they refuse the system message.
const NO_SYSTEM: &[&str] = &[
    "system role not supported",         // the templates of Gemma, in llama.cpp, vLLM and others
    "system role is not supported",      // gateways
    "system message is not supported",   // gateways
    "system messages are not supported", // gateways
    "does not support 'system'",         // OpenAI's first models that reason
    "developer instruction is not enabled", // Gemini, of Gemma
    "must alternate",                    // the templates of Llama 2, Mistral and Gemma
    "only user and assistant roles",     // the templates of Mistral
];

/// Parts of error responses, in lower case, about unsupported images, as the named servers write them.
const NO_IMAGES: &[&str] = &[
    "image input is not supported",           // llama.cpp
    "unsupported content part type",          // llama.cpp, older ones
    "unsupported content[].type",             // llama.cpp, older ones
    "not support image",                      // Ollama, LM Studio, gateways
    "missing data required for image input",  // Ollama, older ones
    "is not a multimodal model",              // vLLM
    "at most 0 image(s)",                     // vLLM
    "unknown variant `image_url`",            // DeepSeek, mistral.rs
    "that support image input",               // OpenRouter
    "image_url is only supported by certain", // OpenAI
    "image input is not enabled",             // Mistral
    "content must be a string",               // Groq, Cerebras
    "content should be a valid string",       // gateways in Python
    "input should be a valid string",         // gateways in Python
];

/// The peculiarities of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quirks {
    /// The server refuses requests for the usage of a reply.
    uncounted: bool,
    /// The limit of a reply is named `max_completion_tokens`.
    completion_tokens: bool,
    /// The server accepts no system message, so its text precedes the first message of the user.
    no_system: bool,
    /// The server accepts no images. The request is not repeated without them, because the message may be about them.
    pub(super) no_images: bool,
}

impl Quirks {
    pub(super) const NONE: Quirks =
        Quirks { uncounted: false, completion_tokens: false, no_system: false, no_images: false };
    pub(super) const UNCOUNTED: Quirks = Quirks { uncounted: true, ..Quirks::NONE };
    pub(super) const COMPLETION_TOKENS: Quirks = Quirks { completion_tokens: true, ..Quirks::NONE };

    /// Returns the peculiarities including those that this response reveals. Returns `None` if the response reveals
    /// nothing new, so that a repeated request would fail again.
    pub(super) fn learn_from(self, failure: &Failure, messages: &[Message]) -> Option<Quirks> {
        let Failure::Refused { status, body, .. } = failure else { return None };
        let body = body.to_lowercase();
        let mut now = self;
        let shows = messages.iter().any(|message| !message.images.is_empty());
        let of_images = matches!(status, 400 | 404 | 415 | 422 | 500 | 501) && shows;
        now.no_images |= of_images && NO_IMAGES.iter().any(|sign| body.contains(sign));
        // llama.cpp reports a failed template as an internal error.
        if now.no_images || !matches!(status, 400 | 422 | 500) {
            return (now != self).then_some(now);
        }
        // Servers refuse members with 400 or 422. The status 500 only matters for templates.
        if *status != 500 {
            now.uncounted |= body.contains(COUNTED);
            now.completion_tokens |= body.contains(NEWER_LIMIT) && body.contains(LIMIT);
        }
        let has_system = messages.iter().any(|message| message.role == Role::System);
        // Without a system message the request already has the other form, so the error has another cause.
        now.no_system |= has_system && NO_SYSTEM.iter().any(|sign| body.contains(sign));
        (now != self).then_some(now)
    }

    /// Adds the members of a request that concern the reply: its limit, and the request for its usage.
    pub(super) fn write(self, body: &mut Map<String, Value>, most: Option<u32>) {
        if !self.uncounted {
            body.insert(COUNTED.into(), json!({"include_usage": true}));
        }
        if let Some(most) = most {
            body.insert(if self.completion_tokens { NEWER_LIMIT } else { LIMIT }.into(), most.into());
        }
    }

    /// Returns the messages in the form that this server accepts. Consecutive messages of one role are joined: many
    /// templates refuse them, and for the others it makes no difference. A message with images is a list of parts with
    /// the text first.
    pub(super) fn messages(self, messages: &[Message]) -> Value {
        let mut turns: Vec<(&str, String, Vec<&Image>)> = Vec::new();
        for message in messages {
            let role = match message.role {
                Role::System if self.no_system => "user",
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            match turns.last_mut() {
                Some((last, content, images)) if *last == role => {
                    content.push_str("\n\n");
                    content.push_str(&message.content);
                    images.extend(&message.images);
                }
                _ => turns.push((role, message.content.to_string(), message.images.iter().collect())),
            }
        }
        let turn = |(role, content, images): (&str, String, Vec<&Image>)| {
            if images.is_empty() {
                return json!({"role": role, "content": content});
            }
            let image = |image: &&Image| json!({"type": "image_url", "image_url": {"url": image.data_url()}});
            let text = json!({"type": "text", "text": content});
            let parts: Vec<Value> = [text].into_iter().chain(images.iter().map(image)).collect();
            json!({"role": role, "content": parts})
        };
        turns.into_iter().map(turn).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, body: &str) -> Failure {
        Failure::Refused { status, body: body.to_owned(), retry_after: None }
    }

    #[test]
    fn refusals_reveal_quirks() {
        let talk = [Message::new(Role::System, "s"), Message::new(Role::User, "u")];
        let no_system = Quirks { no_system: true, ..Quirks::NONE };
        for (status, body, want) in [
            (
                422,
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"]}]}"#,
                Some(Quirks::UNCOUNTED),
            ),
            (
                400,
                r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}"#,
                Some(Quirks::COMPLETION_TOKENS),
            ),
            (
                500,
                r#"{"error":{"code":500,"message":"Jinja Exception: System role not supported","type":"server_error"}}"#,
                Some(no_system),
            ),
            (
                400,
                r#"{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}"#,
                Some(no_system),
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it"}}]"#,
                Some(no_system),
            ),
            (400, r#"{"error":{"message":"temperature must be at most 2"}}"#, None),
            (500, r#"{"error":{"message":"stream_options: out of memory"}}"#, None),
            (404, "System role not supported", None),
        ] {
            assert_eq!(Quirks::NONE.learn_from(&refused(status, body), &talk), want, "{body}");
        }
        let mut shown = talk.to_vec();
        shown[1].images.push(Image::new("x.gif", b"GIF89a").unwrap());
        let no_images = Quirks { no_images: true, ..Quirks::NONE };
        for (status, body) in [
            (
                500,
                r#"{"error":{"code":500,"message":"image input is not supported - hint: you may need to provide the mmproj"}}"#,
            ),
            (500, r#"{"error":{"message":"Failed to parse messages: Unsupported content part type: \"image_url\""}}"#),
            (400, r#"{"error":{"message":"messages[1]: unknown variant `image_url`, expected `text` at line 1"}}"#),
            (400, r#"{"error":"this model does not support image input (ref: 1)"}"#),
            (404, r#"{"error":{"message":"No endpoints found that support image input","code":404}}"#),
        ] {
            assert_eq!(Quirks::NONE.learn_from(&refused(status, body), &shown), Some(no_images), "{body}");
            assert_eq!(Quirks::NONE.learn_from(&refused(status, body), &talk), None, "no image was sent: {body}");
        }
        assert_eq!(Quirks::NONE.learn_from(&refused(429, "image input is not supported"), &shown), None);
        assert_eq!(no_system.learn_from(&refused(500, "System role not supported"), &talk), None, "nothing new");
        assert_eq!(
            Quirks::NONE.learn_from(&refused(400, "roles must alternate"), &talk[1..]),
            None,
            "no system message was sent"
        );
    }

    #[test]
    fn roles_alternate_whatever_the_server_takes() {
        let message = |role, text: &str| Message::new(role, text);
        let talk = [
            message(Role::System, "s"),
            message(Role::User, "u"),
            message(Role::Assistant, "a"),
            message(Role::User, "b"),
            message(Role::User, "c"),
        ];
        let most = json!([
            {"role": "system", "content": "s"}, {"role": "user", "content": "u"},
            {"role": "assistant", "content": "a"}, {"role": "user", "content": "b\n\nc"},
        ]);
        assert_eq!(Quirks::NONE.messages(&talk), most);
        let (png, gif) = (b"\x89PNG\r\n\x1a\n0123", b"GIF89a");
        let mut shown = talk.to_vec();
        shown[3].images.push(Image::new("a.png", png).unwrap());
        shown[4].images.push(Image::new("b.gif", gif).unwrap());
        let want = json!({"role": "user", "content": [
            {"type": "text", "text": "b\n\nc"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgowMTIz"}},
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}},
        ]});
        assert_eq!(Quirks::NONE.messages(&shown)[3], want);
        assert_eq!(Quirks::NONE.messages(&shown)[1], most[1], "a text is not a list");
        let strict = Quirks { no_system: true, ..Quirks::NONE };
        let want = json!([
            {"role": "user", "content": "s\n\nu"}, {"role": "assistant", "content": "a"},
            {"role": "user", "content": "b\n\nc"},
        ]);
        assert_eq!(strict.messages(&talk), want);
    }
}
