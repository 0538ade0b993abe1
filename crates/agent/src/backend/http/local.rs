//! Finds model servers on this machine at their usual addresses, and lists the models of a server.
//!
//! The search contacts only this machine, sends no key, and tries all addresses in parallel for at most 300 ms.

use super::preset::Preset;
use super::{Http, HttpOptions, LONGEST_REFUSAL, failure};
use crate::http::{Route, is_on_this_machine};
use futures_util::future::join_all;
use reqwest::header::HeaderMap;
use reqwest::{Client, StatusCode, Url};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{self, Instant};

/// The maximum time for all addresses together.
const WHOLE: Duration = Duration::from_millis(300);

/// The maximum time for a server that the user named to list its models.
const PATIENCE: Duration = Duration::from_secs(2);

/// The maximum number of bytes in a response; a gateway may list many models.
const LONGEST_ANSWER: usize = 4 << 20;

/// The maximum number of models of one server.
const MOST_MODELS: usize = 1000;

/// The kinds of servers, by the names of their presets. Servers that hold one model come first, because they leave the
/// least to choose.
const KINDS: [&str; 4] = ["llama.cpp", "vllm", "lmstudio", "ollama"];

/// A server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalServer {
    /// The name of its preset, or `None` for another server with an OpenAI-compatible API.
    pub kind: Option<&'static str>,
    /// The base URL of its API.
    pub base_url: String,
    /// The models of the server, in its own order, without those that only embed.
    pub models: Vec<LocalModel>,
    /// Whether the server is still loading its model, so that it lists none yet.
    pub loads: bool,
}

/// A model of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalModel {
    /// The name on the server.
    pub name: String,
    /// Whether the model is in memory now, as far as the server reports it.
    pub loaded: bool,
}

impl LocalServer {
    /// Returns the usual addresses in order of preference.
    pub fn usual_addresses() -> Vec<String> {
        let presets = KINDS.iter().filter_map(|kind| Preset::by_name(kind));
        presets.map(|preset| preset.base_url.to_owned()).collect()
    }
}

/// Returns the servers that respond at these base URLs within 300 ms, in this order. Addresses of other machines are
/// skipped.
pub async fn local_servers(base_urls: &[String]) -> Vec<LocalServer> {
    // One deadline for all addresses, so that several silent ports cost no more time than one.
    let deadline = Instant::now() + WHOLE;
    let looks = base_urls.iter().map(|base_url| look(base_url, deadline));
    join_all(looks).await.into_iter().flatten().collect()
}

/// Returns the default model: one that is loaded, or else the first.
pub fn choose_model(models: &[LocalModel]) -> Option<&LocalModel> {
    models.iter().find(|model| model.loaded).or(models.first())
}

/// Returns the models of the server in these options, using its key. Empty if the server does not list them; `None` if
/// it is loading its model.
pub async fn models(options: HttpOptions) -> Option<Vec<LocalModel>> {
    let Ok(http) = Http::new(options) else { return Some(Vec::new()) };
    let Ok(url) = http.url.join("../models") else { return Some(Vec::new()) };
    let listed = time::timeout(PATIENCE, fetch(&http.client, http.headers.clone(), url)).await;
    let answer = match listed.ok().flatten() {
        None => return Some(Vec::new()),
        Some(ModelsResponse::Loading { .. }) => return None,
        Some(ModelsResponse::Json(answer)) => answer,
    };
    let mut models = parse_models(&answer);
    // Only local kinds of servers report this, so no other server gets the additional request.
    let root = http.url.join("../../").ok().filter(is_on_this_machine);
    if let Some(root) = root {
        let kind = kind_by_owner(&answer);
        let _ = time::timeout(WHOLE, mark_loaded(kind, &http.client, &root, &mut models)).await; // without it none is loaded
    }
    Some(models)
}

/// Returns the base URL with a slash at its end, if it is an address of this machine.
fn local_base(base_url: &str) -> Option<Url> {
    let base: Url = format!("{}/", base_url.trim_end_matches('/')).parse().ok()?;
    is_on_this_machine(&base).then_some(base)
}

/// Returns the server at one address.
async fn look(base_url: &str, deadline: Instant) -> Option<LocalServer> {
    let base = local_base(base_url)?;
    let client = crate::http::client(&base, &Route::default()).ok()?;
    let page = fetch(&client, HeaderMap::new(), base.join("models").ok()?);
    let base_url = base_url.trim_end_matches('/').to_owned();
    let answer = match time::timeout_at(deadline, page).await.ok()?? {
        ModelsResponse::Loading { kind } => {
            return Some(LocalServer { kind, base_url, models: Vec::new(), loads: true });
        }
        ModelsResponse::Json(answer) => answer,
    };
    let mut models = parse_models(&answer);
    answer.get("data")?.as_array()?;
    let mut kind = kind_by_owner(&answer);
    let root = base.join("../").ok()?;
    // If the time is over, the result lacks only the kind of the server and the models that are in memory.
    let _ = time::timeout_at(deadline, async {
        if kind.is_none() {
            kind = kind_by_pages(&client, &root).await;
        }
        mark_loaded(kind, &client, &root, &mut models).await;
    })
    .await;
    Some(LocalServer { kind, base_url, models, loads: false })
}

/// Returns the models of a list in the form of `/v1/models`.
fn parse_models(answer: &Value) -> Vec<LocalModel> {
    let entries = answer.get("data").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let model = |entry: &Value| {
        let name = entry.get("id")?.as_str()?;
        // llama.cpp reports the status if it has several models. vLLM, and llama.cpp with one model, have all listed
        // models in memory.
        let loaded = match entry.pointer("/status/value").and_then(Value::as_str) {
            Some(status) => status == "loaded",
            None => matches!(kind_by_entry(entry), Some("llama.cpp" | "vllm")),
        };
        (!only_embeds(name)).then(|| LocalModel { name: name.to_owned(), loaded })
    };
    entries.iter().take(MOST_MODELS).filter_map(model).collect()
}

/// Returns `true` if the name is that of a model that only embeds.
fn only_embeds(name: &str) -> bool {
    let name = name.to_lowercase();
    ["embed", "rerank", "bge-", "minilm", "whisper"].iter().any(|part| name.contains(part))
}

fn kind_by_owner(answer: &Value) -> Option<&'static str> {
    kind_by_entry(answer.pointer("/data/0")?)
}

/// Identifies a server by the owner of its models.
fn kind_by_entry(entry: &Value) -> Option<&'static str> {
    match entry.get("owned_by")?.as_str()? {
        "llamacpp" => Some("llama.cpp"),
        "vllm" => Some("vllm"),
        "sglang" => Some("sglang"),
        "koboldcpp" => Some("koboldcpp"),
        // Ollama reports the account that published a model, which is `library` for its own ones.
        "library" => Some("ollama"),
        "organization_owner" => Some("lmstudio"),
        _ => None,
    }
}

/// Identifies a server by pages that only one kind has. Ollama reports the account of a model as its owner.
async fn kind_by_pages(client: &Client, root: &Url) -> Option<&'static str> {
    let ask = async |page: &str| get(client, root.join(page).ok()?).await;
    let (props, tags, states) = futures_util::future::join3(ask("props"), ask("api/tags"), ask("api/v0/models")).await;
    if props.is_some_and(|answer| answer.get("default_generation_settings").is_some()) {
        return Some("llama.cpp");
    }
    if tags.is_some_and(|answer| answer.get("models").is_some_and(Value::is_array)) {
        return Some("ollama");
    }
    states.filter(|answer| answer.pointer("/data/0/state").is_some()).map(|_| "lmstudio")
}

/// Marks the models that are in memory, if the server reports that separately.
async fn mark_loaded(kind: Option<&str>, client: &Client, root: &Url, models: &mut Vec<LocalModel>) {
    let page = match kind {
        Some("ollama") => "api/ps",
        Some("lmstudio") => "api/v0/models",
        _ => return,
    };
    let Ok(url) = root.join(page) else { return };
    let Some(answer) = get(client, url).await else { return };
    let text = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = |name: &str| answer.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for entry in list("models") {
        let running = text(entry, "name");
        models.iter_mut().filter(|model| model.name == running).for_each(|model| model.loaded = true);
    }
    for entry in list("data") {
        let name = text(entry, "id");
        if text(entry, "type") == "embeddings" {
            models.retain(|model| model.name != name);
        }
        let is_loaded = text(entry, "state") == "loaded";
        models.iter_mut().filter(|model| model.name == name).for_each(|model| model.loaded = is_loaded);
    }
}

async fn get(client: &Client, url: Url) -> Option<Value> {
    page(client, HeaderMap::new(), url).await
}

/// Returns the JSON of a page, if it is valid and not too long.
pub(super) async fn page(client: &Client, headers: HeaderMap, url: Url) -> Option<Value> {
    match fetch(client, headers, url).await? {
        ModelsResponse::Json(value) => Some(value),
        ModelsResponse::Loading { .. } => None,
    }
}

/// The response of a server at an address.
enum ModelsResponse {
    Json(Value),
    /// The server loads its model; its kind is known if its message shows it.
    Loading {
        kind: Option<&'static str>,
    },
}

async fn fetch(client: &Client, headers: HeaderMap, url: Url) -> Option<ModelsResponse> {
    let mut response = client.get(url).headers(headers).send().await.ok()?;
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        let mut body = Vec::new();
        // The body of an error is bounded, because any program may listen at a usual address.
        while let Some(more) = response.chunk().await.ok()?.filter(|_| body.len() < LONGEST_REFUSAL) {
            body.extend_from_slice(&more);
        }
        let body = String::from_utf8_lossy(&body);
        // llama.cpp answers every request with this message.
        let kind = body.contains("\"Loading model\"").then_some("llama.cpp");
        return failure::says_loading(&body).then_some(ModelsResponse::Loading { kind });
    }
    if !response.status().is_success() {
        return None;
    }
    let mut bytes = Vec::new();
    while let Some(more) = response.chunk().await.ok()? {
        if bytes.len() + more.len() > LONGEST_ANSWER {
            return None;
        }
        bytes.extend_from_slice(&more);
    }
    serde_json::from_slice(&bytes).ok().map(ModelsResponse::Json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn models_are_read_from_lists() {
        let names = |answer: Value| {
            let models = parse_models(&answer).into_iter();
            models.map(|model| format!("{}{}", model.name, if model.loaded { "!" } else { "" })).collect::<Vec<_>>()
        };
        assert_eq!(names(json!({"data": [{"id": "q.gguf", "owned_by": "llamacpp"}]})), ["q.gguf!"]);
        let router = json!({"data": [
            {"id": "a", "owned_by": "llamacpp", "status": {"value": "unloaded"}},
            {"id": "b", "owned_by": "llamacpp", "status": {"value": "loaded"}},
        ]});
        assert_eq!(names(router.clone()), ["a", "b!"]);
        assert_eq!(choose_model(&parse_models(&router)).map(|model| model.name.as_str()), Some("b"));
        let ollama =
            json!({"data": [{"id": "nomic-embed-text:latest", "owned_by": "library"}, {"id": "qwen3:8b"}, {}, 7]});
        assert_eq!(names(ollama), ["qwen3:8b"]);
        assert!(names(json!([1])).is_empty() && names(json!({"data": {}})).is_empty());
    }

    #[test]
    fn the_usual_addresses_are_those_of_presets() {
        let ports: Vec<String> = LocalServer::usual_addresses();
        assert_eq!(ports.len(), KINDS.len());
        assert!(ports.iter().all(|url| url.parse().is_ok_and(|url: Url| is_on_this_machine(&url))), "{ports:?}");
    }

    #[test]
    fn only_addresses_of_this_machine_are_contacted() {
        for elsewhere in ["http://192.0.2.1:8080/v1", "https://example.org/v1", "127.0.0.1", ""] {
            assert_eq!(local_base(elsewhere), None, "{elsewhere}");
        }
        for here in ["http://127.0.0.1:8080/v1", "http://localhost:8080/v1/", "http://[::1]:8080/v1"] {
            assert!(local_base(here).is_some_and(|base| base.path() == "/v1/"), "{here}");
        }
    }
}
