//! Measures broken JSON: every text of the case files, and damaged calls of growing size.

use crate::size;
use serde_json::Value;
use toolfence_benches::cases::{Case, cases};
use toolfence_benches::damage::DAMAGES;
use toolfence_benches::timing::best;
use toolfence_protocol::json;

pub(crate) fn print() {
    cases_table(&cases());
    println!("\n| MB/s, toolfence / llm_json | 200 B | 2 KB | 20 KB | 100 KB |\n|---|---:|---:|---:|---:|");
    for (name, damaged) in DAMAGES {
        let cells = [200, 2_000, 20_000, 100_000].map(|bytes| cell(damaged(bytes)));
        println!("| {name} | {} |", cells.join(" | "));
    }
    println!("\n(x): this one reads something else than was meant, or nothing.");
}

fn cases_table(cases: &[Case]) {
    let bytes: usize = cases.iter().map(|case| case.text.len()).sum();
    let times = best([&|| cases.iter().filter(|case| !ours(&case.text, case.whole).is_empty()).count(), &|| {
        cases.iter().filter(|case| !theirs(&case.text).is_empty()).count()
    }]);
    let title = format!("the {} broken texts of the case files, {}", cases.len(), size(bytes));
    println!("\n| {title} | MB/s | read as meant | refused | read otherwise |\n|---|---:|---:|---:|---:|");
    let read: [fn(&Case) -> Vec<Value>; 2] = [|case| ours(&case.text, case.whole), |case| theirs(&case.text)];
    for (at, name) in ["toolfence_protocol::json::read", "llm_json"].into_iter().enumerate() {
        let right = cases.iter().filter(|case| !case.want.is_empty() && read[at](case) == case.want).count();
        let refused = cases.iter().filter(|case| read[at](case).is_empty()).count();
        let rate = bytes as f64 / times[at] / 1e6;
        println!("| {name} | {rate:.0} | {right} | {refused} | {} |", cases.len() - right - refused);
    }
}

fn cell((text, meant): (String, Value)) -> String {
    let times = best([&|| ours(&text, true).len(), &|| theirs(&text).len()]);
    let [own, other] = times.map(|time| text.len() as f64 / time / 1e6);
    let mark = |read: Vec<Value>| if read == [meant.clone()] { "" } else { " (x)" };
    format!("{own:.0}{} / {other:.0}{}", mark(ours(&text, true)), mark(theirs(&text)))
}

fn ours(text: &str, whole: bool) -> Vec<Value> {
    json::read(text, whole).map_or(Vec::new(), |reading| reading.values)
}

/// Reads a text with the peer. Skips the peer's initial strict reading, which only costs time if the text is broken.
fn theirs(text: &str) -> Vec<Value> {
    let options = llm_json::RepairOptions { skip_json_loads: true, ..Default::default() };
    llm_json::loads(text, &options).into_iter().collect()
}
