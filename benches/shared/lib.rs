//! Code shared by the benches: the texts, reading them, and the clock.

pub mod cases;
pub mod damage;
pub mod envelope;
pub mod ours;
pub mod texts;
pub mod timing;
