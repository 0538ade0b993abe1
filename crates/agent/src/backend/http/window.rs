//! Finds out the model's window from the server, which no common field reports.
//!
//! The server is asked once, when a conversation has become long and the server has already answered. On any failure
//! the window stays unknown, until an error response or the person supplies it.

use super::Http;
use super::local::page;
use serde_json::Value;
use std::time::Duration;
use tokio::time;

/// The maximum time for all requests together.
const PATIENCE: Duration = Duration::from_secs(3);

impl Http {
    /// Returns the model's window in tokens.
    pub(super) async fn probe(&self) -> Option<u64> {
        time::timeout(PATIENCE, self.ask_all()).await.ok().flatten()
    }

    async fn ask_all(&self) -> Option<u64> {
        // The URL of the completions has three segments below the server's root: /v1/chat/completions.
        if let Some(answer) = self.get("../models").await
            && let Some(window) = window_of_listed(&answer, &self.model)
        {
            return Some(window);
        }
        // Providers have neither of the next two pages.
        self.options.base_url.as_ref()?;
        if let Some(answer) = self.get("../../props").await
            && let Some(window) = answer.pointer("/default_generation_settings/n_ctx").and_then(Value::as_u64)
        {
            return Some(window);
        }
        window_of_running(&self.get("../../api/ps").await?, &self.model)
    }

    /// Returns the page at a path relative to the URL of the completions.
    async fn get(&self, path: &str) -> Option<Value> {
        page(&self.client, self.headers.clone(), self.url.join(path).ok()?).await
    }
}

/// Finds the window in the list of models: vLLM and SGLang, OpenRouter and other gateways, Groq, llama.cpp. The length
/// that a model was trained with (`n_ctx_train`) does not determine the server's window.
fn window_of_listed(answer: &Value, model: &str) -> Option<u64> {
    let models = answer.get("data")?.as_array()?;
    let named = |entry: &&Value| entry.get("id").and_then(Value::as_str) == Some(model);
    // Servers with one model accept any name, so the configured name may differ from that of the only entry.
    let entry = match models.as_slice() {
        [only] => only,
        several => several.iter().find(named)?,
    };
    let fields = ["/max_model_len", "/context_length", "/context_window", "/meta/n_ctx"];
    fields.iter().find_map(|field| entry.pointer(field)?.as_u64()).filter(|window| *window > 0)
}

/// Finds the window in the models that Ollama runs. Ollama never refuses a long conversation, but drops its beginning.
fn window_of_running(answer: &Value, model: &str) -> Option<u64> {
    let models = answer.get("models")?.as_array()?;
    let is = |entry: &&Value| {
        let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
        name == model || name.strip_suffix(":latest") == Some(model)
    };
    models.iter().find(is)?.get("context_length")?.as_u64().filter(|window| *window > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn windows_are_found_in_model_lists() {
        for (answer, wanted) in [
            (json!({"data": [{"id": "x", "max_model_len": 8192}]}), Some(8192)),
            (
                json!({"data": [{"id": "a", "context_length": 1}, {"id": "m", "context_length": 131_072}]}),
                Some(131_072),
            ),
            (json!({"data": [{"id": "m", "context_window": 32_768}, {"id": "b"}]}), Some(32_768)),
            (json!({"data": [{"id": "x", "meta": {"n_ctx": 4096, "n_ctx_train": 9}}]}), Some(4096)),
            (json!({"data": [{"id": "x", "meta": {"n_ctx_train": 9}}]}), None),
            (json!({"data": [{"id": "a", "max_model_len": 1}, {"id": "b", "max_model_len": 2}]}), None),
            (json!({"data": [{"id": "m", "max_model_len": 0}]}), None),
            (json!([1]), None),
        ] {
            assert_eq!(window_of_listed(&answer, "m"), wanted, "{answer}");
        }
        let running =
            json!({"models": [{"name": "m:latest", "context_length": 4096}, {"name": "n:7b", "context_length": 1}]});
        assert_eq!((window_of_running(&running, "m"), window_of_running(&running, "n")), (Some(4096), None));
    }
}
