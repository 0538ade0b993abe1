//! The parser beside its peers and its floor.
fn main() {}
