//! Model servers on this machine, found at their usual addresses; and which models a server has.
//!
//! Nothing but this machine is asked, no key is sent, and all addresses are asked side by side within one short time.

use super::preset::Preset;
use super::{Http, HttpOptions, LONGEST_REFUSAL, failure};
use crate::http::{Route, is_on_this_machine};
use futures_util::future::join_all;
use reqwest::header::HeaderMap;
use reqwest::{Client, StatusCode, Url};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{self, Instant};

/// How long looking at all addresses may take.
const WHOLE: Duration = Duration::from_millis(300);

/// How long a server that the person named may take to list its models.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is read of an answer, in bytes: the list of a gateway's models is long.
const LONGEST_ANSWER: usize = 4 << 20;

/// Models of one server that are looked at.
const MOST_MODELS: usize = 1000;

/// The kinds that are looked for, as their presets name them: those first that hold one model, so that there is least to choose.
const KINDS: [&str; 4] = ["llama.cpp", "vllm", "lmstudio", "ollama"];

/// A server on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalServer {
    /// What it is, as the preset of it is named; `None` for another one that speaks the shape of OpenAI.
    pub kind: Option<&'static str>,
    /// Where its API begins.
    pub base_url: String,
    /// The models it can answer with, in its own order. Those that only embed are left out.
    pub models: Vec<LocalModel>,
    /// Whether it is there and loads its model, so that it lists none yet.
    pub loads: bool,
}

/// A model of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalModel {
    /// The name, as the server knows it.
    pub name: String,
    /// Whether it is in memory now, as far as the server tells.
    pub loaded: bool,
}

impl LocalServer {
    /// The usual addresses, in the order in which servers count.
    pub fn usual_addresses() -> Vec<String> {
        let presets = KINDS.iter().filter_map(|kind| Preset::named(kind));
        presets.map(|preset| preset.base_url.to_owned()).collect()
    }
}

/// The servers that answer at these base URLs within 300 ms, in their order. An address that is not this machine's is not
/// asked.
pub async fn local_servers(base_urls: &[String]) -> Vec<LocalServer> {
    let deadline = Instant::now() + WHOLE;
    let looks = base_urls.iter().map(|base_url| look(base_url, deadline));
    join_all(looks).await.into_iter().flatten().collect()
}

/// The model to ask where none is named: one that is loaded, or else the first.
pub fn choose_model(models: &[LocalModel]) -> Option<&LocalModel> {
    models.iter().find(|model| model.loaded).or(models.first())
}

/// The models of the server that these options name, with its key. Empty where it does not tell; `None` where it says that it is
/// loading its model.
pub async fn models(options: HttpOptions) -> Option<Vec<LocalModel>> {
    let Ok(http) = Http::new(options) else { return Some(Vec::new()) };
    let Ok(url) = http.url.join("../models") else { return Some(Vec::new()) };
    let listed = time::timeout(PATIENCE, fetch(&http.client, http.headers.clone(), url)).await;
    let answer = match listed.ok().flatten() {
        None => return Some(Vec::new()),
        Some(Served::Loading { .. }) => return None,
        Some(Served::Json(answer)) => answer,
    };
    let mut models = listed_in(&answer);
    let root = http.url.join("../../").ok().filter(is_on_this_machine);
    if let Some(root) = root {
        let kind = told_by_owner(&answer);
        let _ = time::timeout(WHOLE, mark_loaded(kind, &http.client, &root, &mut models)).await; // without it none is loaded
    }
    Some(models)
}

/// The base URL with a slash at its end, if it is an address of this machine.
fn local_base(base_url: &str) -> Option<Url> {
    let base: Url = format!("{}/", base_url.trim_end_matches('/')).parse().ok()?;
    is_on_this_machine(&base).then_some(base)
}

/// What answers at one address.
async fn look(base_url: &str, deadline: Instant) -> Option<LocalServer> {
    let base = local_base(base_url)?;
    let client = crate::http::client(&base, &Route::default()).ok()?;
    let page = fetch(&client, HeaderMap::new(), base.join("models").ok()?);
    let base_url = base_url.trim_end_matches('/').to_owned();
    let answer = match time::timeout_at(deadline, page).await.ok()?? {
        Served::Loading { kind } => return Some(LocalServer { kind, base_url, models: Vec::new(), loads: true }),
        Served::Json(answer) => answer,
    };
    let mut models = listed_in(&answer);
    answer.get("data")?.as_array()?;
    let mut kind = told_by_owner(&answer);
    let root = base.join("../").ok()?;
    // Without the rest it is known where it is and what it has.
    let _ = time::timeout_at(deadline, async {
        if kind.is_none() {
            kind = told_by_pages(&client, &root).await;
        }
        mark_loaded(kind, &client, &root, &mut models).await;
    })
    .await;
    Some(LocalServer { kind, base_url, models, loads: false })
}

/// The models of a list as `/v1/models` gives it.
fn listed_in(answer: &Value) -> Vec<LocalModel> {
    let entries = answer.get("data").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let model = |entry: &Value| {
        let name = entry.get("id")?.as_str()?;
        // llama.cpp tells it where it has several models; vLLM and llama.cpp with one model have what they list in memory.
        let loaded = match entry.pointer("/status/value").and_then(Value::as_str) {
            Some(status) => status == "loaded",
            None => matches!(told_by(entry), Some("llama.cpp" | "vllm")),
        };
        (!only_embeds(name)).then(|| LocalModel { name: name.to_owned(), loaded })
    };
    entries.iter().take(MOST_MODELS).filter_map(model).collect()
}

/// Whether the name is that of a model that answers nothing.
fn only_embeds(name: &str) -> bool {
    let name = name.to_lowercase();
    ["embed", "rerank", "bge-", "minilm", "whisper"].iter().any(|part| name.contains(part))
}

fn told_by_owner(answer: &Value) -> Option<&'static str> {
    told_by(answer.pointer("/data/0")?)
}

/// What a server is, by what it says who owns its models.
fn told_by(entry: &Value) -> Option<&'static str> {
    match entry.get("owned_by")?.as_str()? {
        "llamacpp" => Some("llama.cpp"),
        "vllm" => Some("vllm"),
        "sglang" => Some("sglang"),
        "koboldcpp" => Some("koboldcpp"),
        "library" => Some("ollama"),
        "organization_owner" => Some("lmstudio"),
        _ => None,
    }
}

/// What a server is, by the pages that only one kind has: Ollama names the account that a model is from as its owner.
async fn told_by_pages(client: &Client, root: &Url) -> Option<&'static str> {
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

/// Marks the models that are in memory, where the server tells that apart.
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

/// The JSON of a page, if it is one and not too long.
pub(super) async fn page(client: &Client, headers: HeaderMap, url: Url) -> Option<Value> {
    match fetch(client, headers, url).await? {
        Served::Json(value) => Some(value),
        Served::Loading { .. } => None,
    }
}

/// What a server has at an address.
enum Served {
    Json(Value),
    /// It loads its model, and is of this kind where its words show that.
    Loading {
        kind: Option<&'static str>,
    },
}

async fn fetch(client: &Client, headers: HeaderMap, url: Url) -> Option<Served> {
    let mut response = client.get(url).headers(headers).send().await.ok()?;
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        let mut body = Vec::new();
        while let Some(more) = response.chunk().await.ok()?.filter(|_| body.len() < LONGEST_REFUSAL) {
            body.extend_from_slice(&more);
        }
        let body = String::from_utf8_lossy(&body);
        // llama.cpp writes it so, and answers every request with it.
        let kind = body.contains("\"Loading model\"").then_some("llama.cpp");
        return failure::says_loading(&body).then_some(Served::Loading { kind });
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
    serde_json::from_slice(&bytes).ok().map(Served::Json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn models_are_read_from_lists() {
        let names = |answer: Value| {
            let models = listed_in(&answer).into_iter();
            models.map(|model| format!("{}{}", model.name, if model.loaded { "!" } else { "" })).collect::<Vec<_>>()
        };
        assert_eq!(names(json!({"data": [{"id": "q.gguf", "owned_by": "llamacpp"}]})), ["q.gguf!"]);
        let router = json!({"data": [
            {"id": "a", "owned_by": "llamacpp", "status": {"value": "unloaded"}},
            {"id": "b", "owned_by": "llamacpp", "status": {"value": "loaded"}},
        ]});
        assert_eq!(names(router.clone()), ["a", "b!"]);
        assert_eq!(choose_model(&listed_in(&router)).map(|model| model.name.as_str()), Some("b"));
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
