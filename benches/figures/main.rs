//! Compares the parser and the JSON reader with their peers and lower bounds, as tables for docs/figures.md.
//!
//! `cargo bench --manifest-path benches/Cargo.toml --bench figures` prints the tables, and with `-- whole chunks` only
//! the named ones. The long table `shapes` is printed only if it is named. The lower bounds are the minimal work of any
//! parser: searching for newlines, or receiving the pieces.

mod broken;
mod call;
mod chunks;
#[path = "../../fuzz/shapes.rs"]
mod shapes;
mod whole;
mod worst;

/// The name of a table on the command line, and the function that prints it.
type Table = (&'static str, fn());

const TABLES: [Table; 6] = [
    ("whole", whole::print),
    ("chunks", chunks::print),
    ("call", call::print),
    ("broken", broken::print),
    ("worst", worst::print),
    (LONG, worst::print_shapes),
];

/// The table of a hundred lines, which is printed only if it is named.
const LONG: &str = "shapes";

fn main() {
    keep_memory();
    // Cargo adds its own flags, such as `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    for (name, print) in TABLES {
        if (wanted.is_empty() && name != LONG) || wanted.iter().any(|word| word == name) {
            print();
        }
    }
}

/// Makes the allocator keep freed memory, so that the measurement does not depend on earlier tables or on how fast the
/// kernel clears pages.
fn keep_memory() {
    drop(std::hint::black_box(vec![1_u8; 30_000_000]));
}

/// Formats a size.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{} KB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
