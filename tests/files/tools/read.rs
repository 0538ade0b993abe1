//! Tests reading: ranges, limits, and files that are not text.

use super::Place;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use toolfence_protocol::ErrorCode::InvalidArgument;
use toolfence_protocol::ToolFailure;
use toolfence_workspace::{FileText, ReadFile, Stop};
use toolfence_workspace::{ReadLimits, Total};

fn read(place: &Place, wanted: &ReadFile) -> Result<FileText, ToolFailure> {
    place.workspace().files().read(wanted, &Stop::default())
}

fn numbered(lines: u64) -> String {
    (1..=lines).map(|number| format!("line {number}\n")).collect()
}

#[test]
fn ranges() {
    let place = Place::new();
    place.file("ten", numbered(10));
    let lines = |start: Option<u64>, end: Option<u64>, count: Option<u64>| {
        let wanted = ReadFile { start_line: start, end_line: end, lines: count, ..ReadFile::new("ten") };
        read(&place, &wanted)
            .map(|file| (file.start_line, file.end_line, file.left_out, file.total))
            .map_err(|f| f.message)
    };
    let all = Total::Exact(10);
    assert_eq!(lines(None, None, None), Ok((1, 10, 0, all)));
    assert_eq!(lines(Some(3), Some(3), None), Ok((3, 3, 0, all)));
    assert_eq!(lines(Some(9), Some(99), None), Ok((9, 10, 0, all)));
    assert_eq!(lines(Some(2), None, Some(4)), Ok((2, 5, 0, all)));
    assert_eq!(lines(None, Some(5), Some(2)), Ok((1, 2, 0, all)));
    assert_eq!(lines(Some(10), None, None), Ok((10, 10, 0, all)));
    let beyond = lines(Some(11), None, None).expect_err("there are ten");
    assert!(beyond.to_string().contains("has 10 lines; start_line 11 is beyond the end"), "{beyond}");
    assert!(lines(Some(4), Some(3), None).is_err() && lines(Some(0), None, None).is_err());
}

#[test]
fn the_last_line_counts_with_and_without_its_ending() {
    let place = Place::new();
    for (content, total) in [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2)] {
        place.file("f", content);
        let file = read(&place, &ReadFile::new("f")).expect("it is text");
        assert_eq!((file.total, file.end_line), (Total::Exact(total), total), "{content:?}");
    }
}

#[test]
fn exactly_the_limit_is_not_truncated() {
    let place = Place::new();
    for (lines, left_out) in [(2000, 0), (2001, 1), (5000, 3000)] {
        place.file("f", numbered(lines));
        let file = read(&place, &ReadFile::new("f")).expect("it is text");
        assert_eq!((file.end_line, file.left_out, file.total), (2000, left_out, Total::Exact(lines)));
    }
}

#[test]
fn bytes_characters_and_long_lines_are_limited() {
    let place = Place::new();
    place.file("wide", "ä".repeat(99).add_newline().repeat(1000));
    let file = read(&place, &ReadFile::new("wide")).expect("it is text");
    assert!(file.text.len() <= 50 << 10 && file.text.len() > (50 << 10) - 200, "{}", file.text.len());
    assert_eq!(file.end_line + file.left_out, 1000);
    let mut limits = ReadLimits::default();
    limits.chars = Some(1000);
    let file = read(&place, &ReadFile { limits, ..ReadFile::new("wide") }).expect("it is text");
    assert_eq!((file.end_line, file.text.chars().count()), (10, 1000));
    place.file("long", "ö".repeat(2000).add_newline() + &"ü".repeat(300_000).add_newline() + "end\n");
    let file = read(&place, &ReadFile::new("long")).expect("it is text");
    let lines: Vec<&str> = file.text.lines().collect();
    assert_eq!(lines[0], "ö".repeat(2000));
    assert_eq!(lines[1], format!("{} [line cut: 2000 of 300000 characters shown]", "ü".repeat(2000)));
    assert_eq!((lines[2], file.cut_lines), ("end", 1));
    let in_portuguese = ReadFile { language: toolfence_protocol::Language::Portuguese, ..ReadFile::new("long") };
    let file = read(&place, &in_portuguese).expect("it is text");
    assert!(file.text.ends_with("ü [linha cortada: 2000 de 300000 caracteres mostrados]\nend\n"));
}

trait AddNewline {
    fn add_newline(self) -> String;
}

impl AddNewline for String {
    fn add_newline(mut self) -> String {
        self.push('\n');
        self
    }
}

#[test]
fn encodings_and_line_ends_are_reported() {
    let place = Place::new();
    place.file("crlf", "a\r\nb\r\n");
    place.file("bom", "\u{FEFF}a\n");
    place.file("latin", b"caf\xE9 is a word in latin one\n");
    let get = |path: &str| read(&place, &ReadFile::new(path)).expect("it is text");
    assert_eq!((get("crlf").text.as_str(), get("crlf").crlf), ("a\nb\n", true));
    assert_eq!((get("bom").text.as_str(), get("bom").bom), ("a\n", true));
    assert_eq!((get("latin").text.as_str(), get("latin").lossy), ("caf\u{FFFD} is a word in latin one\n", true));
}

#[test]
fn files_that_are_not_text_are_described() {
    let place = Place::new();
    place.file("image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    place.file("wide16", b"\xFF\xFEa\0b\0");
    let message = |path: &str| {
        let failure = read(&place, &ReadFile::new(path)).expect_err("it is no text");
        assert_eq!(failure.code, InvalidArgument);
        failure.message
    };
    assert!(message("image").to_string().contains("is a binary file (16 bytes)"), "{}", message("image"));
    assert!(message("wide16").to_string().contains("UTF-16"), "{}", message("wide16"));
}

#[test]
fn a_huge_sparse_file_is_answered_at_once() {
    let place = Place::new();
    let file = File::create(place.at("huge")).expect("a file can be made");
    file.set_len(3 << 30).expect("it can be sparse");
    let started = Instant::now();
    let failure = read(&place, &ReadFile::new("huge")).expect_err("it is NULs");
    assert!(failure.message.to_string().contains("binary file (3,221,225,472 bytes)"), "{}", failure.message);
    file.write_all_at(numbered(4000).as_bytes(), 0).expect("it can be written");
    let text = read(&place, &ReadFile::new("huge")).expect("it begins as text");
    assert_eq!(text.end_line, 2000);
    assert!(matches!(text.total, Total::AtLeast(lines) if lines >= 4000), "{:?}", text.total);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn totals_beyond_64_mb_are_counted_only_when_asked() {
    let place = Place::new();
    let line = format!("{}\n", "x".repeat(1023));
    place.file("big", line.repeat(66 << 10));
    let total =
        |count_lines| read(&place, &ReadFile { count_lines, ..ReadFile::new("big") }).expect("it is text").total;
    assert!(matches!(total(false), Total::AtLeast(_)));
    assert_eq!(total(true), Total::Exact(66 << 10));
    let last = ReadFile { start_line: Some(66 << 10), ..ReadFile::new("big") };
    assert_eq!(read(&place, &last).map(|file| file.total), Ok(Total::Exact(66 << 10)));
}
