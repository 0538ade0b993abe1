//! Access control: the token, the cookie, foreign host names and pages, and unknown paths.

use super::support::*;
use crate::proxy::support::header;
use serde_json::json;

const PROMPT: &str = "{\"prompt\": \"x\"}";

#[tokio::test]
async fn only_the_health_is_answered_without_the_token() {
    let stage = Stage::new([says("Yes.")]).await;
    let host = format!("host: {}\r\ncontent-type: application/json\r\n", stage.address);
    for key in [
        "",
        "authorization: Bearer wrong\r\n",
        "authorization: Bearer\r\n",
        &format!("authorization: Bearer {TOKEN}x\r\n"),
        &format!("authorization: Basic {TOKEN}\r\n"),
        &format!("cookie: token={TOKEN}\r\n"),
        "cookie: toolfence_8765=\r\n",
    ] {
        for (method, path) in toolfence_server::http::ROUTES {
            let path = path.replace("{id}", "abc");
            let answer = stage.ask_with(method, &path, &format!("{host}{key}"), PROMPT).await;
            let open = match path.as_str() {
                "/api/health" => 200,
                "/api/login" => 400,
                _ => 401,
            };
            assert_eq!(answer.status, open, "{method} {path} {key}: {}", answer.body);
        }
        assert_eq!(
            stage.ask_with("GET", "/nothing", &format!("{host}{key}"), "").await.status,
            401,
            "nor what is there"
        );
    }
    assert!(stage.seen.lock().unwrap().messages.is_empty());
}

/// A page exchanges the token for a cookie, which only pages of this server can use.
#[tokio::test]
async fn a_page_gets_a_cookie_for_the_token() {
    let stage = Stage::new([says("Yes.")]).await;
    let host = format!("host: {}\r\ncontent-type: application/json\r\n", stage.address);
    let own = format!("{host}origin: http://{}\r\n", stage.address);
    let wrong = stage.ask_with("POST", "/api/login", &own, "{\"token\": \"wrong\"}").await;
    assert_eq!((wrong.status, header(&wrong.head, "set-cookie")), (401, None));
    let login = json!({"token": TOKEN}).to_string();
    let set = header(&stage.ask_with("POST", "/api/login", &own, &login).await.head, "set-cookie").unwrap();
    assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict") && !set.contains(TOKEN), "{set}");
    let cookie = format!("cookie: other=1; {}\r\n", set.split(';').next().unwrap());
    let key = stage.ask_with("POST", "/api/login", &own, &login).await.json()["data"]["page_key"].clone();
    let key = format!("x-page-key: {}\r\n", key.as_str().unwrap());
    for (headers, method, path, status) in [
        (format!("{host}{cookie}{key}"), "GET", "/api/tools", 200),
        (format!("{own}{cookie}{key}"), "POST", "/api/agent", 200),
        (format!("{host}sec-fetch-site: same-origin\r\n{cookie}{key}"), "POST", "/api/agent", 200),
        // A browser sends the cookie to other ports as well, so their servers know it, but not the page's stored key.
        (format!("{host}{cookie}"), "GET", "/api/tools", 401),
        (format!("{own}{cookie}"), "POST", "/api/agent", 401),
        (format!("{own}{key}"), "POST", "/api/agent", 401),
        (format!("{own}{cookie}{}", key.replace(": ", ": 0")), "POST", "/api/agent", 401),
        // A request that does not name its origin may come from another page, so the cookie counts for GET only.
        (format!("{host}{cookie}{key}"), "POST", "/api/agent", 401),
        (format!("{host}origin: http://127.0.0.1:1\r\n{cookie}{key}"), "POST", "/api/agent", 403),
        (format!("{own}{}{key}", cookie.replace('=', "=0")), "POST", "/api/agent", 401),
    ] {
        let answer = stage.ask_with(method, path, &headers, PROMPT).await;
        assert_eq!(answer.status, status, "{headers}: {}", answer.body);
    }
    let secure = stage.ask_with("POST", "/api/login", &own.replace("http://", "https://"), &login).await;
    assert!(header(&secure.head, "set-cookie").unwrap().ends_with("; Secure"));
}

/// A page of an allowed origin needs the token, and can read only what CORS permits.
#[tokio::test]
async fn a_page_of_an_allowed_origin_needs_the_token() {
    let origin = "https://chat.example";
    let stage = Stage::with([says("Yes.")], |options| options.origins = vec![origin.into()]).await;
    let host = format!("host: {}\r\ncontent-type: application/json\r\n", stage.address);
    let page = format!("{host}origin: {origin}\r\nsec-fetch-site: cross-site\r\n");
    let extension = format!("{host}origin: chrome-extension://0123abcd\r\nsec-fetch-site: none\r\n");
    let key = format!("authorization: Bearer {TOKEN}\r\n");
    let login = json!({"token": TOKEN}).to_string();
    let logged_in = stage.ask_with("POST", "/api/login", &host, &login).await;
    let cookie = header(&logged_in.head, "set-cookie").unwrap();
    let cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
    let page_key = format!("x-page-key: {}\r\n", logged_in.json()["data"]["page_key"].as_str().unwrap());
    for (headers, status, allowed) in [
        (format!("{page}{key}"), 200, Some(origin)),
        (page.clone(), 401, Some(origin)),
        (format!("{page}{cookie}{page_key}"), 401, Some(origin)),
        (format!("{page}origin: {origin}\r\n{key}"), 403, None),
        (format!("{host}origin: {origin}.evil\r\n{key}"), 403, None),
        (format!("{host}origin: http://chat.example\r\n{key}"), 403, None),
        (format!("{host}{key}"), 200, None),
        // A userscript manager sends the origin of its extension, and has no access without the token.
        (format!("{extension}{key}"), 200, None),
        (extension.clone(), 403, None),
        (format!("{extension}{cookie}{page_key}"), 403, None),
        (format!("{extension}authorization: Bearer wrong\r\n"), 403, None),
        (format!("{extension}origin: https://other.example\r\n{key}"), 403, None),
    ] {
        let answer = stage.ask_with("POST", "/api/agent", &headers, PROMPT).await;
        let names = header(&answer.head, "access-control-allow-origin");
        assert_eq!((answer.status, names.as_deref()), (status, allowed), "{headers}: {}", answer.body);
        assert_eq!(header(&answer.head, "access-control-allow-credentials"), None);
    }
    let asked = "access-control-request-method: POST\r\naccess-control-request-headers: authorization,content-type\r\n";
    let answer = stage.ask_with("OPTIONS", "/api/agent", &format!("{page}{asked}"), "").await;
    let allowed = header(&answer.head, "access-control-allow-headers");
    assert_eq!((answer.status, allowed.as_deref()), (204, Some("authorization,content-type")), "{}", answer.head);
    let other = format!("{host}origin: https://other.example\r\n{asked}");
    let answer = stage.ask_with("OPTIONS", "/api/agent", &other, "").await;
    assert_eq!((answer.status, header(&answer.head, "access-control-allow-origin")), (403, None));
}

#[tokio::test]
async fn foreign_host_names_and_pages_are_refused() {
    let mut stage = Stage::with([says("Yes.")], |options| options.hosts = vec!["code.example".into()]).await;
    let port = stage.address.split(':').nth(1).unwrap().to_owned();
    let key = format!("authorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n");
    let own = stage.address.clone();
    for (headers, status) in [
        (format!("host: {own}\r\n"), 200),
        (format!("host: localhost:{port}\r\n"), 200),
        (format!("host: LocalHost:{port}\r\norigin: http://localhost:{port}\r\n"), 200),
        (format!("host: [::1]:{port}\r\n"), 200),
        ("host: code.example\r\n".to_owned(), 200),
        ("host: Code.Example:443\r\norigin: https://code.example:443\r\n".to_owned(), 200),
        (format!("host: {own}\r\nsec-fetch-site: none\r\n"), 200),
        // A foreign name that resolves to this server.
        (format!("host: evil.example:{port}\r\n"), 403),
        (format!("host: 127.0.0.1.evil.example:{port}\r\n"), 403),
        ("host: 10.0.0.1\r\n".to_owned(), 403),
        ("host: \r\n".to_owned(), 403),
        (String::new(), 403),
        (format!("host: {own}\r\nhost: evil.example\r\n"), 403),
        // A foreign page.
        (format!("host: {own}\r\norigin: http://evil.example\r\n"), 403),
        (format!("host: {own}\r\norigin: http://localhost:{port}\r\n"), 403),
        (format!("host: {own}\r\norigin: http://127.0.0.1:1\r\n"), 403),
        (format!("host: {own}\r\norigin: null\r\n"), 403),
        (format!("host: {own}\r\norigin: file://{own}\r\n"), 403),
        (format!("host: {own}\r\norigin: http://{own}.evil.example\r\n"), 403),
        (format!("host: {own}\r\nsec-fetch-site: cross-site\r\n"), 403),
        // All occurrences of a repeated header must be valid.
        (format!("host: {own}\r\norigin: http://{own}\r\norigin: http://{own}\r\n"), 200),
        (format!("host: {own}\r\norigin: http://{own}\r\norigin: http://evil.example\r\n"), 403),
        (format!("host: {own}\r\nsec-fetch-site: none\r\nsec-fetch-site: cross-site\r\n"), 403),
        (format!("host: {own}\r\nsec-fetch-site: same-site\r\n"), 403),
    ] {
        for (method, path) in [("GET", "/api/health"), ("POST", "/api/agent")] {
            let answer = stage.ask_with(method, path, &format!("{headers}{key}"), PROMPT).await;
            assert_eq!(answer.status, status, "{method} {headers}: {}", answer.body);
        }
    }
    let elsewhere = format!("http://{own}/api/health");
    assert_eq!(stage.ask_with("GET", &elsewhere, &stage.headers(), "").await.status, 403);
    stage.end().await;
}

/// The first invalid header determines the refusal, whatever the other headers contain and however they are written.
#[tokio::test]
async fn the_first_invalid_header_refuses_a_request() {
    let stage = Stage::with([says("Yes.")], |options| options.hosts = vec!["code.example".into()]).await;
    let port = stage.address.split(':').nth(1).unwrap();
    let mut random = toolfence_kit::Random::new(28);
    // Header values, and whether each is valid.
    let hosts = [("127.0.0.1", true), ("localhost", true), ("code.example", true), ("x.localhost.", true)]
        .into_iter()
        .chain([
            ("evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil", false),
            ("0.0.0.0", false),
        ])
        .collect::<Vec<_>>();
    let origins =
        [("", true), ("own", true), ("null", false), ("http://evil.example", false), ("http://127.0.0.1:1", false)];
    let sites = [("", true), ("none", true), ("same-origin", true), ("cross-site", false), ("same-site", false)];
    let keys =
        [("Bearer TOKEN", true), ("bearer  TOKEN ", true), ("", false), ("Bearer TOKENx", false), ("TOKEN", false)];
    let kinds =
        [("application/json", true), ("APPLICATION/JSON;charset=utf-8", true), ("text/plain", false), ("", false)];
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..600 {
        // Most values are valid, because otherwise the host would be the reason for nearly every refusal.
        let mut pick = |all: &[(&'static str, bool)]| loop {
            let one = all[random.below(all.len())];
            if one.1 || random.below(4) == 0 {
                return one;
            }
        };
        let (host, origin, site, key, kind) = (pick(&hosts), pick(&origins), pick(&sites), pick(&keys), pick(&kinds));
        let host_text = format!("{}:{port}", host.0);
        let origin_text = if origin.0 == "own" { format!("http://{host_text}") } else { origin.0.to_owned() };
        let mut lines: Vec<String> = [
            ("host", host_text),
            ("origin", origin_text),
            ("sec-fetch-site", site.0.to_owned()),
            ("authorization", key.0.replace("TOKEN", TOKEN)),
            ("content-type", kind.0.to_owned()),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| {
            let name = if random.below(2) == 0 { name.to_uppercase() } else { name.to_owned() };
            format!("{name}:{}{value}{}\r\n", " ".repeat(random.below(3)), "\t".repeat(random.below(2)))
        })
        .collect();
        for at in (1..lines.len()).rev() {
            lines.swap(at, random.below(at + 1));
        }
        let wanted = match (host.1 && origin.1 && site.1, key.1, kind.1) {
            (false, ..) => 403,
            (_, false, _) => 401,
            (.., false) => 415,
            _ => 200,
        };
        let answer = stage.ask_with("POST", "/api/agent", &lines.concat(), PROMPT).await;
        assert_eq!(answer.status, wanted, "{lines:?}: {}", answer.body);
        *seen.entry(wanted).or_insert(0) += 1;
    }
    assert!(seen.len() == 4 && seen.values().all(|count| *count > 20), "{seen:?}");
}

/// The page has no secrets, so it needs no token. It may load only its own files.
#[tokio::test]
async fn the_page_runs_its_own_script_and_no_other() {
    let stage = Stage::new([says("Yes.")]).await;
    let host = format!("host: {}\r\n", stage.address);
    let mut files = Vec::new();
    for (path, kind) in [
        ("/", "text/html"),
        ("/page.css", "text/css"),
        ("/page.js", "text/javascript"),
        ("/calls.js", "text/javascript"),
        ("/composer.js", "text/javascript"),
        ("/diff.js", "text/javascript"),
        ("/markdown.js", "text/javascript"),
        ("/nodes.js", "text/javascript"),
        ("/question.js", "text/javascript"),
        ("/server.js", "text/javascript"),
        ("/sessions.js", "text/javascript"),
        ("/words.js", "text/javascript"),
    ] {
        let file = stage.ask_with("GET", path, &host, "").await;
        assert_eq!(file.status, 200);
        assert!(header(&file.head, "content-type").unwrap().starts_with(kind));
        let policy = header(&file.head, "content-security-policy").unwrap();
        for part in
            ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]
        {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"));
        assert_eq!(stage.ask_with("GET", path, "host: evil.example\r\n", "").await.status, 403);
        files.push(file.body);
    }
    for word in ["<style", "style=", " onclick", " onload", " onerror", "javascript:", "://"] {
        assert!(!files[0].contains(word), "{word}");
    }
    assert_eq!(files[0].matches("<script").count(), 1);
    let scripts = files[2..].concat();
    let lines = |word: &'static str| {
        scripts.lines().filter(move |line| !line.trim_start().starts_with("//") && line.contains(word))
    };
    for word in
        ["outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "setAttribute(\"on", ".href", ".src"]
    {
        assert_eq!(lines(word).next(), None, "{word}");
    }
    assert_eq!(lines("style").next(), None);
    // Only the server's rendered Markdown becomes HTML.
    assert_eq!(lines("createPolicy").count(), 1);
    assert_eq!(lines("innerHTML").collect::<Vec<_>>(), ["  made.innerHTML = policy.createHTML(html);"]);
    // Every text of the page exists in both languages.
    let named = ["data-text=\"", "data-label=\""].into_iter().flat_map(|attribute| files[0].split(attribute).skip(1));
    let texts: std::collections::BTreeSet<&str> = named
        .chain(scripts.split("words.").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap())
        // These strings are names of groups of texts, or the name of the file.
        .filter(|text| !text.is_empty() && !["ends", "choices", "examples", "js"].contains(text))
        .collect();
    let (english, portuguese) = files.last().unwrap().split_once("  pt: {").unwrap();
    let portuguese = portuguese.split_once("\n};").unwrap().0;
    assert!(texts.len() > 40, "{texts:?}");
    for text in texts {
        let entry = format!(" {text}: \"");
        assert!(english.contains(&entry) && portuguese.contains(&entry), "{text}");
    }
}

#[tokio::test]
async fn markdown_is_rendered_without_anything_active() {
    let stage = Stage::new([]).await;
    let text = "# A\n\n<script>x</script> **b**\n\n[c](javascript:x) [d](https://d.example)\n";
    let answer = stage.post("/api/markdown", &json!({ "text": text })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let html = answer.json()["data"]["html"].as_str().unwrap().to_owned();
    assert!(html.starts_with("<h2>A</h2>\n") && html.contains("&lt;script&gt;"), "{html}");
    assert!(html.contains("c (javascript:x) <a href=\"https://d.example\""), "{html}");
    for body in [json!({}), json!({"text": 1}), json!({"text": "a", "more": 1})] {
        assert_eq!(stage.post("/api/markdown", &body).await.status, 400, "{body}");
    }
}

#[tokio::test]
async fn only_exact_paths_of_the_table_are_routed() {
    let stage = Stage::new([says("Yes.")]).await;
    for path in [
        "/api",
        "/api/",
        "/api/tools/",
        "//api/tools",
        "/api//tools",
        "/api/./tools",
        "/api/x/../tools",
        "/api/%74ools",
        "/API/tools",
        "/api/tools;x",
        "/api/sessions/..",
        "/api/sessions/../tools",
        "/api/sessions/..%2f..%2fetc%2fpasswd",
        "/api/sessions/%2e%2e",
        "/api/sessions/a/b/messages",
        "/api/sessions//messages",
        "/api/sessions/a.jsonl",
        "/etc/passwd",
    ] {
        assert_eq!(stage.get(path).await.status, 404, "{path}");
    }
    let long = format!("/api/sessions/{}", "a".repeat(65));
    assert_eq!(stage.get(&long).await.status, 404);
    for (method, path, allowed) in [
        ("GET", "/api/agent", "POST"),
        ("DELETE", "/api/sessions/abc", "GET"),
        ("OPTIONS", "/api/agent", "POST"),
        ("HEAD", "/api/health", "GET"),
    ] {
        let mut stream = stage.send(method, path, &stage.headers(), b"").await;
        let answer = crate::proxy::support::Answer::read(&mut stream).await;
        assert_eq!((answer.status, header(&answer.head, "allow").as_deref()), (405, Some(allowed)), "{method} {path}");
    }
}

/// Errors are in the language of the server, and foreign pages cannot use answers.
#[tokio::test]
async fn answers_have_their_language_and_their_headers() {
    let stage =
        Stage::with([says("Sim.")], |options| options.language = toolfence_protocol::Language::Portuguese).await;
    let answer = stage.turn(&json!({"prompt": ""})).await;
    assert_eq!(answer.json()["message"], "O prompt está em branco.");
    for (name, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(header(&answer.head, name).as_deref(), Some(value));
    }
    assert!(header(&answer.head, "content-security-policy").unwrap().starts_with("default-src 'none'"));
    assert_eq!(header(&answer.head, "access-control-allow-origin"), None);
}
