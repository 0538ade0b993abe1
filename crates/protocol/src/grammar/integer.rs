//! Whole numbers of a range, digit by digit.

/// Nine digits are enough where the range has no end of its own.
const ENOUGH: i64 = 999_999_999;

/// An expression for every whole number from `least` to `most`, as JSON writes them. Of a range that goes on beyond
/// nine digits, only as much as nine digits can say, where they can say anything of it.
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
        alike(&digits(least.max(from)), &digits(most.min(to)))
    });
    choices.collect::<Vec<_>>().join(" | ")
}

fn digits(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// Numbers between two that have equally many digits.
fn alike(from: &[u8], to: &[u8]) -> String {
    let (&[first, ref low @ ..], &[last, ref high @ ..]) = (from, to) else { return "\"\"".into() };
    if low.is_empty() {
        return class(first, last);
    }
    if first == last {
        return format!("{} ({})", class(first, first), alike(low, high));
    }
    let mut choices = Vec::new();
    let (mut begin, mut end) = (first, last);
    if low.iter().any(|digit| *digit != b'0') {
        choices.push(format!("{} ({})", class(first, first), alike(low, &vec![b'9'; low.len()])));
        begin += 1;
    }
    if high.iter().any(|digit| *digit != b'9') {
        choices.push(format!("{} ({})", class(last, last), alike(&vec![b'0'; high.len()], high)));
        end -= 1;
    }
    if begin <= end {
        choices.push(format!("{} [0-9]{{{}}}", class(begin, end), low.len()));
    }
    choices.join(" | ")
}

fn class(first: u8, last: u8) -> String {
    let (first, last) = (char::from(first), char::from(last));
    if first == last { format!("\"{first}\"") } else { format!("[{first}-{last}]") }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges() {
        assert_eq!(range(0, 20), r#"([0-9] | "2" ("0") | [1-1] [0-9]{1})"#.replace("[1-1]", "\"1\""));
        assert_eq!(range(1, 600), r#"([1-9] | [1-9] [0-9]{1} | "6" ("0" ("0")) | [1-5] [0-9]{2})"#);
        assert_eq!(range(-3, -2), r#"("-" ([2-3]))"#);
        assert_eq!(range(5, 5), r#"("5")"#);
        assert!(range(1, i64::MAX).ends_with("[1-9] [0-9]{8})"));
        assert!(range(i64::MIN, i64::MIN).contains("\"9\" (\"2\""));
        assert!(range(i64::MAX, i64::MAX).starts_with("(\"9\" (\"2\""));
    }
}
