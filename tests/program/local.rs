//! Tests the discovery of local servers, API keys, and request settings. Fake servers answer as each kind of real
//! server does.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use toolfence_agent::backend::http::{choose_model, local_servers};
use toolfence_kit::{Program, Project, Ran};

/// A server with these pages that answers every conversation with one word. It records its requests.
struct Stub {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    fn new(pages: Vec<(&'static str, Value)>) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &pages, &noted);
            }
        });
        Stub { url, asked }
    }

    /// A llama.cpp server that is loading its model for this number of requests.
    fn loading(model: &'static str, requests: usize) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = asked.clone();
        std::thread::spawn(move || {
            let pages = [("/v1/models", json!({"data": [{"id": model, "owned_by": "llamacpp"}]}))];
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                if number >= requests {
                    answer(stream, &pages, &noted);
                    continue;
                }
                let _ = stream.read(&mut [0; 65536]);
                let body = r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#;
                let head = format!("HTTP/1.1 503 Service Unavailable\r\ncontent-length: {}\r\n\r\n", body.len());
                let _ = stream.write_all((head + body).as_bytes());
            }
        });
        Stub { url, asked }
    }

    fn llama(model: &str) -> Stub {
        Stub::new(vec![("/v1/models", json!({"data": [{"id": model, "owned_by": "llamacpp"}]}))])
    }

    fn ollama(models: &[&str], running: &[&str]) -> Stub {
        let list: Vec<Value> = models.iter().map(|model| json!({"id": model, "owned_by": "library"})).collect();
        let running: Vec<Value> = running.iter().map(|model| json!({"name": model})).collect();
        Stub::new(vec![("/v1/models", json!({"data": list})), ("/api/ps", json!({"models": running}))])
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, pages: &[(&str, Value)], asked: &Mutex<Vec<String>>) {
    let (mut request, mut buffer) = (Vec::new(), [0; 65536]);
    let text = loop {
        let got = stream.read(&mut buffer).unwrap_or(0);
        request.extend_from_slice(&buffer[..got]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n").filter(|_| got > 0) else { return };
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap_or(0) {
            break text;
        }
    };
    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(text);
    let page = pages.iter().find(|(name, _)| *name == path).map(|(_, page)| page.to_string());
    let (status, kind, body) = match page {
        Some(page) => ("200 OK", "application/json", page),
        None if path.ends_with("/chat/completions") => {
            let said = json!({"choices": [{"delta": {"content": "Found."}, "finish_reason": "stop"}]});
            ("200 OK", "text/event-stream", format!("data: {said}\n\ndata: [DONE]\n\n"))
        }
        None => ("404 Not Found", "text/plain", "no".to_owned()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    let _ = stream.write_all((head + &body).as_bytes()); // fails if the client closed the connection
}

struct Place(Project);

impl Place {
    fn new() -> Place {
        Place(Project::new())
    }

    fn settings(self, text: &str) -> Place {
        self.0.file_at_home("config/toolfence/config.toml", text);
        self
    }

    /// Runs `coder` with the server at this address, the model `m` and these environment variables.
    fn asks(&self, url: &str, variables: &[(&str, &str)], args: &[&str]) -> Ran {
        let mut program = Program::new(env!("CARGO_BIN_EXE_coder"), &self.0.home);
        for (name, value) in variables {
            program = program.env(name, value);
        }
        let program = program.args(&["--base-url", url, "--model", "m", "-p", "hello"]).args(args);
        program.run(&self.0.root, "")
    }

    fn coder(&self, urls: &[&str], args: &[&str]) -> Ran {
        let program = Program::new(env!("CARGO_BIN_EXE_coder"), &self.0.home);
        let program = program.env("TOOLFENCE_LOCAL_SERVERS", urls.join(",")).env("TOOLFENCE_API_KEY", "s3kr1t");
        program.args(args).run(&self.0.root, "")
    }
}

/// An address without a listener.
const NOBODY: &str = "http://127.0.0.1:1/v1";

#[tokio::test]
async fn each_kind_of_server_is_recognised_by_its_pages() {
    let pages = |owner: &str, more: Vec<(&'static str, Value)>| {
        [vec![("/v1/models", json!({"data": [{"id": "m", "owned_by": owner}]}))], more].concat()
    };
    let states = json!({"data": [
        {"id": "m", "state": "not-loaded", "type": "llm"}, {"id": "n", "state": "loaded", "type": "vlm"},
        {"id": "vectors", "state": "loaded", "type": "embeddings"},
    ]});
    let studio = json!({"data": [
        {"id": "m", "owned_by": "organization_owner"}, {"id": "n"}, {"id": "vectors"},
    ]});
    let stubs = [
        (Stub::llama("q.gguf"), Some("llama.cpp"), "q.gguf"),
        (Stub::new(pages("vllm", vec![])), Some("vllm"), "m"),
        (Stub::ollama(&["a", "b"], &["b"]), Some("ollama"), "b"),
        (Stub::new(vec![("/v1/models", studio), ("/api/v0/models", states)]), Some("lmstudio"), "n"),
        // The `owned_by` of these models identifies no server, so the other pages decide.
        (
            Stub::new(pages("me", vec![("/api/tags", json!({"models": []})), ("/api/ps", json!({"models": []}))])),
            Some("ollama"),
            "m",
        ),
        (Stub::new(pages("me", vec![("/props", json!({"default_generation_settings": {}}))])), Some("llama.cpp"), "m"),
        (Stub::new(pages("me", vec![])), None, "m"),
    ];
    let urls: Vec<String> = stubs.iter().map(|(stub, ..)| stub.url.clone()).collect();
    let found = local_servers(&urls).await;
    assert_eq!(found.len(), stubs.len(), "{found:?}");
    for (server, (stub, kind, model)) in found.iter().zip(&stubs) {
        assert_eq!((server.kind, &server.base_url), (*kind, &stub.url));
        assert_eq!(choose_model(&server.models).map(|model| model.name.as_str()), Some(*model), "{server:?}");
        assert!(stub.asked().iter().all(|request| request.starts_with("GET ") && !request.contains("uthorization")));
    }
}

/// A listener that does not answer, or answers something else, does not delay the discovery.
#[tokio::test]
async fn listeners_that_are_no_servers_are_skipped_quickly() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}/v1", silent.local_addr().unwrap());
    let page = Stub::new(vec![("/v1/models", json!("<html>"))]);
    let other = Stub::new(vec![("/v1/models", json!({"data": {"models": 7}}))]);
    let begin = Instant::now();
    assert_eq!(local_servers(&[silent, page.url, other.url, NOBODY.to_owned()]).await, []);
    assert!(begin.elapsed() < Duration::from_millis(900), "{:?}", begin.elapsed());
}

#[test]
fn a_server_that_answers_is_used_and_named() {
    let (place, llama) = (Place::new(), Stub::llama("q.gguf"));
    let ran = place.coder(&[NOBODY, &llama.url], &["-p", "hello"]);
    assert_eq!((ran.status, ran.out.as_str()), (0, "Found.\n"), "{}", ran.err);
    let named = format!("using llama.cpp at {}, model q.gguf", llama.url);
    assert!(ran.err.contains(&named) && !ran.err.contains("also"), "{}", ran.err);
    assert!(ran.err.contains("TOOLFENCE_API_KEY is not sent"), "{}", ran.err);
    let asked = llama.asked();
    assert!(asked.iter().all(|request| !request.contains("s3kr1t")), "a server that was only found gets no key");
    assert!(asked.last().unwrap().contains("\"model\":\"q.gguf\""), "{asked:?}");
}

#[test]
fn a_server_that_is_loading_its_model_is_waited_for() {
    let place = Place::new();
    let loading = Stub::loading("q.gguf", 3);
    let ran = place.coder(&[NOBODY, &loading.url], &["-p", "hello"]);
    assert_eq!((ran.status, ran.out.as_str()), (0, "Found.\n"), "{}", ran.err);
    let message = format!("llama.cpp at {} is loading its model; waiting for it up to 120 s\n", loading.url);
    assert_eq!(ran.err.matches(&message).count(), 1, "{}", ran.err);
    assert!(ran.err.contains(&format!("using llama.cpp at {}, model q.gguf", loading.url)), "{}", ran.err);
    let named = Stub::loading("q.gguf", 1);
    let ran = place.coder(&[], &["--lang", "pt", "--base-url", &named.url, "-p", "hello"]);
    assert!(ran.status == 0 && ran.err.contains("está carregando o modelo; aguardando até 120 s"), "{}", ran.said());
    assert!(named.asked().last().unwrap().contains("\"model\":\"q.gguf\""));
    // If another server is ready, `coder` does not wait for this one.
    let (busy, ready) = (Stub::loading("q.gguf", usize::MAX), Stub::ollama(&["a"], &[]));
    let ran = place.coder(&[&busy.url, &ready.url], &["-p", "hello"]);
    assert!(
        ran.status == 0 && ran.err.contains(&format!("also llama.cpp at {}: it is loading its model", busy.url)),
        "{}",
        ran.err
    );
    let listed = place.coder(&[&busy.url], &["config", "backends"]).out;
    assert!(
        listed.lines().any(|line| line.contains("llama.cpp") && line.contains("it is loading its model")),
        "{listed}"
    );
    let place = place.settings("[http]\nfirst_byte = 1\n");
    let ran = place.coder(&[&busy.url], &["-p", "hello"]);
    assert_eq!(ran.status, 3, "{}", ran.err);
    assert!(ran.err.contains("is still loading its model after 1 s. Try again when its log reports"), "{}", ran.err);
}

#[test]
fn the_server_with_a_loaded_model_is_preferred_and_others_can_be_chosen() {
    let place = Place::new();
    let (studio, ollama) = (
        Stub::new(vec![("/v1/models", json!({"data": [{"id": "idle"}]}))]),
        Stub::ollama(&["a", "b:latest"], &["b:latest"]),
    );
    let urls = [studio.url.as_str(), ollama.url.as_str()];
    let ran = place.coder(&urls, &["-p", "hello"]);
    let named = format!("using Ollama at {}, model b:latest\n", ollama.url);
    assert!(ran.err.contains(&named), "{}", ran.err);
    assert!(ran.err.contains(&format!("also an OpenAI-compatible server at {}: idle", studio.url)), "{}", ran.err);
    assert!(ran.err.contains("choose with --base-url and --model"), "{}", ran.err);
    let ran = place.coder(&urls, &["--model", "idle", "-p", "hello"]);
    assert!(ran.err.contains(&format!("at {}, model idle", studio.url)), "{}", ran.err);
    let ran = place.coder(&urls, &["--model", "b", "-p", "hello"]);
    assert!(ran.err.contains(&format!("using Ollama at {}, model b", ollama.url)), "{}", ran.err);
    let ran = place.coder(&urls, &["--model", "c", "-p", "hello"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err.contains("no model server on this machine has the model \"c\"") && ran.err.contains("a, b:latest"),
        "{}",
        ran.err
    );
}

/// If the user names a server but no model, `coder` requests the list of models, with the key.
#[test]
fn the_model_of_a_named_server_is_looked_up() {
    let (place, ollama) = (Place::new(), Stub::ollama(&["nomic-embed-text", "a", "b"], &["b"]));
    let ran = place.coder(&[], &["--base-url", &ollama.url, "-p", "hello"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(ran.err.contains("using the model b, one of 2; choose with --model"), "{}", ran.err);
    let asked = ollama.asked();
    assert!(asked.last().unwrap().contains("\"model\":\"b\""), "{asked:?}");
    assert!(asked.last().unwrap().to_lowercase().contains("authorization: bearer s3kr1t"), "{asked:?}");
    let bare = Stub::new(vec![]);
    let ran = place.coder(&[], &["--base-url", &bare.url, "-p", "hello"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "a server that lists nothing takes any name");
    assert!(bare.asked().last().unwrap().contains("\"model\":\"default\""));
}

#[test]
fn without_a_server_one_page_says_what_to_do() {
    let place = Place::new();
    let begin = Instant::now();
    let ran = place.coder(&[NOBODY], &["-p", "hello"]);
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!((ran.status, ran.out.as_str()), (2, ""));
    for message in [
        "none answers on this machine (http://127.0.0.1:1/v1)",
        "llama-server -m MODEL.gguf --port 8080",
        "ollama serve",
        "coder --backend provider --model gpt-4o-mini",
        "--base-url https://HOST/v1",
        "`coder prompt`",
        "coder demo",
    ] {
        assert!(ran.err.contains(message), "{message}: {}", ran.err);
    }
    let ran = place.coder(&[NOBODY], &["--model", "gpt-4o", "-p", "hello"]);
    assert!(ran.err.contains("gpt-4o is a model of openai: coder --backend provider --model gpt-4o"), "{}", ran.err);
}

#[test]
fn a_missing_key_is_reported_before_any_request() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::new(env!("CARGO_BIN_EXE_coder"), folder.path()).env("GROQ_API_KEY", "");
    let ran = program.args(&["--backend", "provider", "--model", "groq::x", "-p", "hello"]).run(folder.path(), "");
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("groq needs a key: put it into the variable GROQ_API_KEY"), "{}", ran.err);
}

#[test]
fn backends_are_listed_with_their_keys() {
    let (folder, ollama) = (tempfile::tempdir().unwrap(), Stub::ollama(&["a", "b", "c", "d"], &[]));
    let coder = |args: &[&str]| {
        let program = Program::new(env!("CARGO_BIN_EXE_coder"), folder.path()).env("GROQ_API_KEY", "s3kr1t");
        let program =
            program.env("MISTRAL_API_KEY", "").env("TOOLFENCE_LOCAL_SERVERS", format!("{},{NOBODY}", ollama.url));
        program.args(args).run(folder.path(), "")
    };
    let ran = coder(&["config", "backends"]);
    let row = |name: &str| ran.out.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
    assert!(row("groq ").contains("GROQ_API_KEY         set "), "{}", ran.out);
    assert!(!row("mistral ").contains(" set "), "{}", ran.out);
    assert!(row("ollama ").contains("a, b, c and 1 more"), "{}", ran.out);
    assert!(row("- ").contains("does not answer"), "{}", ran.out);
    assert!(!ran.said().contains("s3kr1t"));
    let listed: Value = serde_json::from_str(&coder(&["config", "backends", "--json"]).out).unwrap();
    assert_eq!(listed["local"][0]["models"][3], json!({"name": "d", "loaded": false}));
    let providers = listed["providers"].as_array().unwrap();
    assert!(providers.iter().any(|provider| provider["name"] == "azure" && provider["base_url"].is_null()));
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn settings_determine_the_requests_to_a_server() {
    let server = Stub::new(vec![]);
    let place = Place::new().settings(
        "temperature = 0.25\ntop_p = 1\nmax_tokens = 9\nstop = [\"END\"]\n[http.headers]\nX-Tenant = \"s3kr1t-value\"\n\
         [http.body]\nseed = 7\nchat_template_kwargs = { enable_thinking = false }\n",
    );
    let ran = place.asks(&server.url, &[], &["--temperature", "0.5", "--max-tokens", "7"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    let request = server.asked().pop().unwrap();
    assert!(request.to_lowercase().contains("x-tenant: s3kr1t-value\r\n"), "{request}");
    let sent = body(&request);
    let of = |name: &str| sent[name].clone();
    assert_eq!(
        [of("temperature"), of("top_p"), of("max_tokens"), of("stop"), of("seed")].map(|v| v.to_string()).join(" "),
        "0.5 1.0 7 [\"END\"] 7"
    );
    assert_eq!(of("chat_template_kwargs"), json!({"enable_thinking": false}));
    let shown = place.coder(&[], &["config", "show"]);
    assert!(shown.out.contains("X-Tenant: ...") && !shown.said().contains("s3kr1t-value"), "{}", shown.said());
    let talk =
        Program::new(env!("CARGO_BIN_EXE_coder"), &place.0.home).args(&["--base-url", &server.url, "--model", "m"]);
    let talk = talk.run(&place.0.root, "/quit\n");
    assert!(talk.out.contains(&format!("answered by m at {}\n", server.url)), "{}", talk.said());
    // A discovered server gets no header either.
    let found = Stub::llama("q");
    assert_eq!(place.coder(&[&found.url], &["-p", "hello"]).status, 0);
    assert!(found.asked().iter().all(|request| !request.contains("s3kr1t-value")));
}

#[test]
fn the_api_key_is_read_once_from_its_configured_source() {
    let (server, place) = (Stub::new(vec![("/v1/models", json!({"data": [{"id": "m"}]}))]), Place::new());
    let sent = || {
        let request = server.asked().pop().unwrap().to_lowercase();
        let line = request.lines().find_map(|line| line.strip_prefix("authorization: bearer "));
        line.unwrap_or_default().to_owned()
    };
    let place = place.settings("api_key_env = \"MY_KEY\"\napi_key_command = \"false\"\n");
    assert_eq!(place.asks(&server.url, &[("MY_KEY", "of-mine")], &[]).status, 0);
    assert_eq!(sent(), "of-mine");
    assert_eq!(place.asks(&server.url, &[("MY_KEY", "of-mine"), ("TOOLFENCE_API_KEY", "meant")], &[]).status, 0);
    assert_eq!(sent(), "meant", "the variable of the program counts over the settings");
    let ran = place.asks(&server.url, &[], &[]);
    assert!(
        ran.status == 2 && ran.err.contains("api_key_env names the variable MY_KEY, which is not set"),
        "{}",
        ran.err
    );

    let count = place.0.home.join("count");
    let script = format!(
        "api_key_command = \"sh -c 'echo x >> \\\"$0\\\"; echo \\\" printed-once \\\"' {}\"\n",
        count.display()
    );
    let place = place.settings(&script);
    // Without a model there are two requests, for the model list and for the reply.
    let program = Program::new(env!("CARGO_BIN_EXE_coder"), &place.0.home);
    let ran = program.args(&["--base-url", &server.url, "-p", "it is printed-once"]).run(&place.0.root, "");
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!((sent().as_str(), std::fs::read_to_string(&count).unwrap().as_str()), ("printed-once", "x\n"));
    let sessions = place.coder(&[], &["sessions", "--json"]).out;
    let session: Value = serde_json::from_str(sessions.lines().next().unwrap()).unwrap();
    let written = std::fs::read_to_string(session["path"].as_str().unwrap()).unwrap();
    assert!(written.contains("it is ") && !written.contains("printed-once"), "{written}");

    for (line, wanted) in [
        ("false", "api_key_command: false ended with exit status: 1"),
        ("true", "true did not print a key"),
        ("printf 'a\\\\nb'", "printf did not print a key"),
        ("./key.sh", "begins with the name of a program in the PATH"),
        ("no-such-program-here x", "cannot run no-such-program-here"),
        ("a 'b", "quote"),
    ] {
        let place = Place::new().settings(&format!("api_key_command = \"{line}\"\n"));
        let ran = place.asks(&server.url, &[], &[]);
        assert!(ran.status == 2 && ran.err.contains(wanted), "{line}: {}", ran.err);
    }
}

#[test]
fn missing_files_are_named_and_proxies_of_the_environment_are_used() {
    let server = Stub::new(vec![]);
    let place = Place::new().settings("[http]\nca_file = \"missing.pem\"\n");
    let ran = place.asks(&server.url, &[], &[]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err.contains("http.ca_file: cannot read") && ran.err.contains("config/toolfence/missing.pem"),
        "{}",
        ran.err
    );

    let proxy = server.url.replace("/v1", "");
    let there = "http://model.example/v1";
    let variables = [("HTTP_PROXY", proxy.as_str()), ("http_proxy", proxy.as_str()), ("NO_PROXY", "other.example")];
    let ran = Place::new().asks(there, &variables, &[]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(server.asked().pop().unwrap().starts_with("POST http://model.example/v1/chat/completions HTTP/1.1"));
    let asked = server.asked().len();
    let place = Place::new().settings("[http]\nproxy = \"none\"\nretries = 0\n");
    assert_eq!(place.asks("http://model.invalid/v1", &variables, &[]).status, 3);
    assert_eq!(server.asked().len(), asked, "no proxy was asked");
}
