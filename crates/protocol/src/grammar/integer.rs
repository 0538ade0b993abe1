//! Expressions for the whole numbers of a range, digit by digit.

/// The bound that is used for a range without a bound; nine digits are enough.
const ENOUGH: i64 = 999_999_999;

/// Returns an expression for the whole numbers from `least` to `most` in JSON notation. A range beyond nine digits is
/// cut to them, unless it contains only longer numbers.
pub(super) fn range(least: i64, most: i64) -> String {
    let (least, most) = (least.max(most.min(-ENOUGH)), most.min(least.max(ENOUGH)));
    let mut choices = Vec::new();
    if least < 0 {
        let nearest = most.min(-1).unsigned_abs();
        choices.push(format!("\"-\" ({})", natural(nearest, least.unsigned_abs())));
    }
    if most >= 0 {
        choices.push(natural(least.max(0).unsigned_abs(), most.unsigned_abs()));
    }
    format!("({})", choices.join(" | "))
}

fn natural(least: u64, most: u64) -> String {
    let lengths = digits(least).len()..=digits(most).len();
    let choices = lengths.map(|length| {
        let from = if length == 1 { 0 } else { 10_u64.pow(length as u32 - 1) };
        let to = "9".repeat(length).parse().unwrap_or(u64::MAX);
        same_length_range(&digits(least.max(from)), &digits(most.min(to)))
    });
    choices.collect::<Vec<_>>().join(" | ")
}

fn digits(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// Returns an expression for the numbers between two that have the same number of digits.
fn same_length_range(from: &[u8], to: &[u8]) -> String {
    let (&[first, ref low @ ..], &[last, ref high @ ..]) = (from, to) else { return "\"\"".into() };
    if low.is_empty() {
        return digit_class(first, last);
    }
    if first == last {
        return format!("{} ({})", digit_class(first, first), same_length_range(low, high));
    }
    // The numbers with the first digit of `from`, those with the first digit of `to`, and those between them.
    let mut choices = Vec::new();
    let (mut begin, mut end) = (first, last);
    if low.iter().any(|digit| *digit != b'0') {
        choices.push(format!("{} ({})", digit_class(first, first), same_length_range(low, &vec![b'9'; low.len()])));
        begin += 1;
    }
    if high.iter().any(|digit| *digit != b'9') {
        choices.push(format!("{} ({})", digit_class(last, last), same_length_range(&vec![b'0'; high.len()], high)));
        end -= 1;
    }
    if begin <= end {
        choices.push(format!("{} [0-9]{{{}}}", digit_class(begin, end), low.len()));
    }
    choices.join(" | ")
}

fn digit_class(first: u8, last: u8) -> String {
    let (first, last) = (char::from(first), char::from(last));
    if first == last { format!("\"{first}\"") } else { format!("[{first}-{last}]") }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_become_expressions() {
        assert_eq!(range(0, 20), r#"([0-9] | "2" ("0") | [1-1] [0-9]{1})"#.replace("[1-1]", "\"1\""));
        assert_eq!(range(1, 600), r#"([1-9] | [1-9] [0-9]{1} | "6" ("0" ("0")) | [1-5] [0-9]{2})"#);
        assert_eq!(range(-3, -2), r#"("-" ([2-3]))"#);
        assert_eq!(range(5, 5), r#"("5")"#);
        assert!(range(1, i64::MAX).ends_with("[1-9] [0-9]{8})"));
        assert!(range(i64::MIN, i64::MIN).contains("\"9\" (\"2\""));
        assert!(range(i64::MAX, i64::MAX).starts_with("(\"9\" (\"2\""));
    }
}
