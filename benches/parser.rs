//! Benchmarks only the parser and the JSON reader, to see whether a change makes them faster or slower, and whether the
//! difference is significant.
//!
//! `cargo bench --manifest-path benches/Cargo.toml --bench parser -- --save-baseline before`, then with
//! `--baseline before`. `benches/figures` compares them with other libraries.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use toolfence_benches::{damage, ours, texts};
use toolfence_protocol::json;

const CHUNK: usize = 4;

fn whole(criterion: &mut Criterion) {
    let text = texts::chat(16_000_000);
    let mut group = criterion.benchmark_group("whole message, 16 MB");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(10);
    group.bench_function("for_each", |b| b.iter(|| ours::calls_of(black_box(&text))));
    group.finish();
}

fn chunks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("4-byte chunks, an element is a chunk");
    for (shape, text) in [("chat", texts::chat(100_000)), ("one write_file", texts::write_file(100_000))] {
        let pieces = texts::pieces(&text, CHUNK);
        group.throughput(Throughput::Elements(pieces.len() as u64));
        group.bench_function(shape, |b| b.iter(|| ours::calls(black_box(&pieces))));
    }
    group.finish();
}

fn broken(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a damaged call, 2 KB");
    for (name, damaged) in damage::DAMAGES {
        let (text, _) = damaged(2_000);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| b.iter(|| json::read(black_box(&text), true).is_ok()));
    }
    group.finish();
}

criterion_group!(benches, whole, chunks, broken);
criterion_main!(benches);
