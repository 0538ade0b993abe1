//! Renders a conversation as one page of HTML that needs no other file and no script.
//!
//! Texts of models, tools, files and people are content here: every character that could be markup is escaped, and the
//! page's own policy forbids scripts, and images and everything else from other places. An image that was sent to the
//! model is on the page as a `data:` URL of a raster type, determined by its bytes. The prose of the model is Markdown
//! and is [`rendered`](super::rendered); all other text is verbatim.

use super::rendered::{escaped, rendered};
use super::{Parts, arguments, name_of, outcome, part, plain, text_for_model, visible};
use crate::transcript::{Record, Role, StoredSession};
use std::fmt::Write as _;
use toolfence_protocol::{Language, Text, text};

/// Renders the conversation as one page of HTML that needs no other file and no script.
pub fn html(stored: &StoredSession, records: &[&Record], shown: Parts) -> String {
    let words = |text: Text| escaped(&text.render(shown.language));
    let lang = if shown.language == Language::Portuguese { "pt-BR" } else { "en" };
    let title = escaped(&visible(&stored.head.title));
    // The policy of the page allows only images that are part of the page.
    let images = if records.iter().any(|record| !record.images.is_empty()) { "; img-src data:" } else { "" };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"{lang}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{images}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1 dir=\"auto\">{title}</h1>\n<p>{}<br>{}<br>{}</p>\n</header>\n<main>\n",
        words(text!("Conversation {session}", session = plain(&stored.head.id))),
        words(text!("Project: {root}", root = plain(&stored.head.root))),
        words(text!("Began: {time}", time = plain(&stored.began))),
    );
    for record in records {
        let Some(name) = name_of(record) else { continue };
        let class = match record.role {
            Role::User => "user",
            Role::Assistant => "model",
            Role::Tool => "tool",
            _ => "note",
        };
        let id = plain(&record.id);
        let _ = write!(
            out,
            "<article class=\"{class}\" id=\"m{id}\">\n<h2><span>{}</span> <a href=\"#m{id}\">{id}</a> <time>{}</time></h2>\n",
            words(name),
            escaped(&plain(&record.timestamp)),
        );
        if let Some(thoughts) = record.thoughts.as_ref().filter(|_| shown.thoughts) {
            out.push_str(&folded(&words(text!("Thoughts")), thoughts));
        }
        if !record.content.trim().is_empty() {
            let content = record.content.trim_matches('\n');
            out.push_str(&match record.role {
                Role::Assistant => rendered(&visible(content), 2),
                // People paste logs and code without Markdown in mind.
                _ => prose(content),
            });
        }
        for image in &record.images {
            // The type was determined from the bytes, and cannot contain a script.
            let (name, url) = (escaped(&plain(image.name())), image.data_url());
            let _ = writeln!(out, "<p><img alt=\"{name}\" src=\"{url}\"></p>");
        }
        if let (Some(call), Some(result)) = (&record.tool_call, &record.tool_result) {
            let args = arguments(call);
            if !args.is_empty() {
                let _ = writeln!(out, "<pre dir=\"auto\">{}</pre>", escaped(&visible(&args)));
            }
            let good = if result.success { "good" } else { "bad" };
            let _ = writeln!(out, "<p class=\"{good}\">{}</p>", words(outcome(call, result)));
            let (text, left_out) = part(text_for_model(result), shown.results);
            if !text.trim().is_empty() {
                let more = if left_out > 0 {
                    words(text!("({count} {count|line|lines} left out)", count = left_out))
                } else {
                    String::new()
                };
                out.push_str(&folded(&format!("{} {more}", words(text!("Result"))), &text));
            }
        }
        out.push_str("</article>\n");
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Renders a section that can be collapsed, but is visible in print. `summary` is escaped already.
fn folded(summary: &str, text: &str) -> String {
    let text = escaped(&visible(text));
    format!("<details open><summary>{}</summary>\n<pre dir=\"auto\">{text}</pre></details>\n", summary.trim())
}

/// Renders verbatim text as paragraphs, with fenced code as blocks.
fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut code: Option<Vec<&str>> = None;
    let flush = |paragraph: &mut Vec<&str>, out: &mut String| {
        let text = std::mem::take(paragraph).join("\n");
        if !text.trim().is_empty() {
            let _ = writeln!(out, "<p class=\"as-written\" dir=\"auto\">{}</p>", escaped(text.trim_end()));
        }
    };
    let block = |lines: &[&str], out: &mut String| {
        let _ = writeln!(out, "<pre dir=\"auto\">{}</pre>", escaped(&lines.join("\n")));
    };
    let text = visible(text);
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        match &mut code {
            Some(lines) if fence => {
                block(lines, &mut out);
                code = None;
            }
            Some(lines) => lines.push(line),
            None if fence => {
                flush(&mut paragraph, &mut out);
                code = Some(Vec::new());
            }
            None if line.trim().is_empty() => flush(&mut paragraph, &mut out),
            None => paragraph.push(line),
        }
    }
    flush(&mut paragraph, &mut out);
    if let Some(lines) = code {
        block(&lines, &mut out);
    }
    out
}

const STYLE: &str = "\
:root{--ink:#1d2125;--dim:#5d6670;--page:#fff;--user:#eef4fb;--box:#f5f6f7;--line:#d9dde1;--good:#1a7f37;--bad:#b42318;--link:#0b5cad;--keyword:#7b2fa8;--string:#17693a;--number:#9a4300}\
@media (prefers-color-scheme:dark){:root{--ink:#e3e6e9;--dim:#98a1aa;--page:#15181b;--user:#1d2a38;--box:#20252a;--line:#363d44;--good:#4ac26b;--bad:#ff8a7a;--link:#7db8f5;--keyword:#cfa3f5;--string:#7fd6a0;--number:#f0b27a}}\
*{box-sizing:border-box}body{margin:0 auto;padding:1rem;max-width:50rem;background:var(--page);color:var(--ink);font:1rem/1.55 system-ui,sans-serif;overflow-wrap:anywhere}\
a{color:var(--link)}h1{font-size:1.35rem;line-height:1.3;margin:.5rem 0}header p,time,h2 a{color:var(--dim);font-size:.85rem}\
h2{display:flex;flex-wrap:wrap;gap:.5rem;align-items:baseline;font-size:1rem;margin:0 0 .35rem}h2 span{flex:1}h2 a{text-decoration:none;font-weight:400}time{font-weight:400}\
h3,h4,h5,h6{font-size:1rem;line-height:1.35;margin:1.1rem 0 .3rem}h3{font-size:1.2rem}h4{font-size:1.08rem}\
article{padding:.75rem 0;border-top:1px solid var(--line)}article.user{background:var(--user);border:0;border-radius:.6rem;padding:.75rem 1rem;margin:.75rem 0}\
article.tool{padding-left:1rem;border-left:3px solid var(--line);border-top:0;margin:.5rem 0}article.note{color:var(--dim);font-size:.9rem}\
img{max-width:100%;height:auto}p{margin:.4rem 0}.as-written{white-space:pre-wrap}ul,ol{margin:.4rem 0;padding-inline-start:1.5rem}li{margin:.15rem 0}.task{list-style:none;margin-inline-start:-1.2rem}hr{border:0;border-top:1px solid var(--line);margin:1rem 0}\
blockquote{margin:.5rem 0;padding:.1rem 0 .1rem .9rem;border-inline-start:3px solid var(--line);color:var(--dim)}\
pre{margin:.5rem 0;padding:.6rem .75rem;background:var(--box);border-radius:.4rem;font:.85rem/1.45 ui-monospace,monospace;white-space:pre-wrap}\
code{font-family:ui-monospace,monospace;font-size:.875em}p code,li code,td code,th code,h3 code,h4 code,h5 code,h6 code{background:var(--box);border-radius:.25rem;padding:.1em .3em}pre code{font-size:inherit}\
.keyword{color:var(--keyword)}.string{color:var(--string)}.number{color:var(--number)}.comment{color:var(--dim)}\
.wide{overflow-x:auto;margin:.6rem 0}table{border-collapse:collapse;font-size:.93rem;overflow-wrap:normal}th,td{border:1px solid var(--line);padding:.3rem .6rem;text-align:start;vertical-align:top}th{background:var(--box)}\
.center{text-align:center}.right{text-align:end}\
summary{cursor:pointer;color:var(--dim);font-size:.9rem}.good{color:var(--good)}.bad{color:var(--bad)}\
@media print{:root{--ink:#000;--dim:#444;--page:#fff;--user:#f2f2f2;--box:#f6f6f6;--line:#bbb;--good:#060;--bad:#900;--link:#000}body{max-width:none;padding:0;font-size:10.5pt}\
h2,h3,h4,h5,h6{break-after:avoid}tr,li{break-inside:avoid}thead{display:table-header-group}.wide{overflow:visible}a[rel]:not(.bare)::after{content:\" (\" attr(href) \")\";color:var(--dim);font-size:.85em}}";
