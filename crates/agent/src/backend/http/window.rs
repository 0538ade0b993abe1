//! How much the model can read, as the server tells it: no field for it is common to all servers.
//!
//! It is asked for once, of a server that answers already, when a conversation has become long. Whatever goes wrong means that
//! it is not known: then a refusal says it, or the person.

use super::Http;
use super::local::page;
use serde_json::Value;
use std::time::Duration;
use tokio::time;

/// How long all questions together may take.
const PATIENCE: Duration = Duration::from_secs(3);

impl Http {
    /// Tokens of the model's window.
    pub(super) async fn probe(&self) -> Option<u64> {
        time::timeout(PATIENCE, self.ask_all()).await.ok().flatten()
    }

    async fn ask_all(&self) -> Option<u64> {
        // The URL of the completions, three segments of which stand below the server's own root: /v1/chat/completions.
        if let Some(answer) = self.get("../models").await
            && let Some(window) = of_models(&answer, &self.model)
        {
            return Some(window);
        }
        // A provider has neither of the next two.
        self.options.base_url.as_ref()?;
        if let Some(answer) = self.get("../../props").await
            && let Some(window) = answer.pointer("/default_generation_settings/n_ctx").and_then(Value::as_u64)
        {
            return Some(window);
        }
        of_running(&self.get("../../api/ps").await?, &self.model)
    }

    /// What stands at a place relative to the completions.
    async fn get(&self, place: &str) -> Option<Value> {
        page(&self.client, self.headers.clone(), self.url.join(place).ok()?).await
    }
}

/// From the list of models: vLLM and SGLang, OpenRouter and other gateways, Groq, llama.cpp. What a model was trained with
/// (`n_ctx_train`) says nothing of what the server gives it.
fn of_models(answer: &Value, model: &str) -> Option<u64> {
    let models = answer.get("data")?.as_array()?;
    let named = |entry: &&Value| entry.get("id").and_then(Value::as_str) == Some(model);
    let entry = match models.as_slice() {
        [only] => only,
        several => several.iter().find(named)?,
    };
    let fields = ["/max_model_len", "/context_length", "/context_window", "/meta/n_ctx"];
    fields.iter().find_map(|field| entry.pointer(field)?.as_u64()).filter(|window| *window > 0)
}

/// From the models that Ollama runs: it never refuses a conversation, but leaves out its beginning.
fn of_running(answer: &Value, model: &str) -> Option<u64> {
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
    fn what_servers_tell_of_their_models() {
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
            assert_eq!(of_models(&answer, "m"), wanted, "{answer}");
        }
        let running =
            json!({"models": [{"name": "m:latest", "context_length": 4096}, {"name": "n:7b", "context_length": 1}]});
        assert_eq!((of_running(&running, "m"), of_running(&running, "n")), (Some(4096), None));
    }
}
