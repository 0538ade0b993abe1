//! The parser and the JSON reader beside their peers and their floors, as tables for docs/figures.md.
//!
//! `cargo bench --manifest-path benches/Cargo.toml --bench figures` prints the tables, with `-- whole chunks` only those named. The long
//! one, `-- shapes`, is printed where it is named. The floors are what any parser must do at least: look for newlines, or
//! take the pieces.

mod broken;
mod call;
mod chunks;
#[path = "../../fuzz/shapes.rs"]
mod shapes;
mod whole;
mod worst;

/// A table: what it is called on the command line, and what prints it.
type Table = (&'static str, fn());

const TABLES: [Table; 6] = [
    ("whole", whole::print),
    ("chunks", chunks::print),
    ("call", call::print),
    ("broken", broken::print),
    ("worst", worst::print),
    (LONG, worst::print_shapes),
];

/// Nobody reads a hundred lines who has not asked for them.
const LONG: &str = "shapes";

fn main() {
    keep_memory();
    // Cargo adds flags of its own.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    for (name, print) in TABLES {
        if (wanted.is_empty() && name != LONG) || wanted.iter().any(|word| word == name) {
            print();
        }
    }
}

/// The allocator keeps as much memory as was once freed. What is measured is then the same whichever tables came before,
/// and not how fast the kernel clears pages.
fn keep_memory() {
    drop(std::hint::black_box(vec![1_u8; 30_000_000]));
}

/// A size as people say it.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{} KB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
