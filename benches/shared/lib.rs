//! What the benches share: the texts that are read, the reading of them, and the clock.

pub mod cases;
pub mod damage;
pub mod envelope;
pub mod ours;
pub mod texts;
pub mod timing;
