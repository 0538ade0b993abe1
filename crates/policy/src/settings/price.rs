//! What the tokens of a model cost, as a person writes it into the settings.

use super::super::shell::shown;
use super::messages;
use super::read::kind;
use toml::de::DeValue;
use toolfence_protocol::Text;

/// The most that a million tokens may cost, in any currency.
const MOST: f64 = 1e9;

/// What a million tokens of a model cost. The currency is whatever the person thinks of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PriceRule {
    /// The model, as the backend names it.
    pub model: String,
    /// Tokens that are read, in millionths of the currency.
    pub input: u64,
    /// Tokens that are read and that the server still knew, in millionths of the currency; as much as others where it is not said.
    pub cached: Option<u64>,
    /// Tokens that are written, in millionths of the currency.
    pub output: u64,
}

impl PriceRule {
    /// A table of prices as it may be written.
    pub(super) const EXAMPLE: &str = "{ \"qwen3-coder\" = { input = 0.5, output = 1.5 } }";

    /// # Errors
    /// What it says is none, and what to write.
    pub(super) fn read(model: &str, value: &DeValue<'_>) -> Result<PriceRule, Text> {
        let of = || shown(model, 64);
        let DeValue::Table(table) = value else {
            return Err(messages::wrong_kind(of(), "{ input = 0.5, output = 1.5 }", kind(value)));
        };
        let (mut input, mut cached, mut output) = (None, None, None);
        for (key, value) in table {
            let price = match &**key.get_ref() {
                "input" => &mut input,
                "cached" => &mut cached,
                "output" => &mut output,
                other => return Err(messages::price_has_no(shown(other, 64))),
            };
            *price = Some(
                millionths(value.get_ref()).ok_or_else(|| messages::is_no_price(of(), key.get_ref().to_string()))?,
            );
        }
        let missing = |name: &'static str| move || messages::is_no_price(of(), name);
        Ok(PriceRule {
            model: model.to_owned(),
            input: input.ok_or_else(missing("input"))?,
            cached,
            output: output.ok_or_else(missing("output"))?,
        })
    }
}

fn millionths(value: &DeValue<'_>) -> Option<u64> {
    let number: f64 = match value {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok()? as f64,
        DeValue::Float(number) => number.as_str().parse().ok()?,
        _ => return None,
    };
    (0.0..=MOST).contains(&number).then_some((number * 1e6).round() as u64)
}
