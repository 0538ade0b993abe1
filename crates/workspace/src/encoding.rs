//! Bytes and paths as text, for files in JSON.

use serde::{Deserialize, Deserializer, Serializer, de::Error};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

pub(crate) fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// Serializes bytes as hexadecimal digits.
pub(crate) mod as_hex {
    use super::{Deserialize, Deserializer, Error, Serializer, bytes_of, hex};

    pub(crate) fn serialize<S: Serializer>(value: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(value))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        bytes_of(&text).ok_or_else(|| D::Error::custom("hexadecimal digits are wanted"))
    }
}

/// Serializes a path as text. A path that is not UTF-8 becomes a NUL, which no path contains, followed by hexadecimal
/// digits.
pub(crate) mod as_text {
    use super::{
        Deserialize, Deserializer, Error, OsStrExt, OsString, OsStringExt, Path, PathBuf, Serializer, bytes_of, hex,
    };

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.serialize_str(&format!("\0{}", hex(path.as_os_str().as_bytes()))),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        let text = String::deserialize(deserializer)?;
        let Some(digits) = text.strip_prefix('\0') else { return Ok(text.into()) };
        let bytes = bytes_of(digits).ok_or_else(|| D::Error::custom("a path in hexadecimal is wanted"))?;
        Ok(OsString::from_vec(bytes).into())
    }
}
