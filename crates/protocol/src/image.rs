//! An image in a message of the user, with a type that is detected from its first bytes.
//!
//! An image is kept as Base64, the form that servers, transcripts and pages use. This module decodes no pictures, so a
//! file made to attack a decoder does no harm. Everything except PNG, JPEG, GIF and WebP is refused: SVG, for one, can
//! contain scripts.

use crate::{Error, ErrorKind, Text, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The maximum number of characters in a name.
const LONGEST_NAME: usize = 200;

/// A picture for a model that accepts images: PNG, JPEG, GIF or WebP, of at most 10 MiB. Cloning is cheap.
///
/// ```
/// use toolfence_protocol::Image;
///
/// let gif = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,";
/// let image = Image::new("dot.gif", gif)?;
/// assert_eq!((image.name(), image.media_type(), image.bytes()), ("dot.gif", "image/gif", gif.len()));
/// assert!(image.data_url().starts_with("data:image/gif;base64,R0lGODlh"));
/// assert!(Image::new("page.svg", b"<svg/>").is_err());
/// # Ok::<(), toolfence_protocol::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "SerializedImage", try_from = "SerializedImage")]
pub struct Image {
    name: String,
    kind: MediaType,
    base64: Arc<str>,
}

/// The type of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MediaType {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Image {
    /// The maximum number of bytes in an image.
    pub const MOST_BYTES: usize = 10 << 20;

    /// The maximum number of images in a message.
    pub const MOST: usize = 8;

    /// The estimated tokens of an image if the backend reports no count: about the number that most models use for an
    /// image that fills their view.
    pub const TOKENS: usize = 1500;

    /// Creates an image from the content of a file. The first bytes determine its type.
    ///
    /// # Errors
    /// Fails if the bytes are not a PNG, JPEG, GIF or WebP file, or there are too many.
    pub fn new(name: impl AsRef<str>, bytes: &[u8]) -> Result<Image, Error> {
        let name = sanitize_name(name.as_ref());
        let wrong = |message| Err(Error::with_kind(ErrorKind::InvalidInput, message));
        if bytes.len() > Image::MOST_BYTES {
            return wrong(image_too_large(name, (Image::MOST_BYTES >> 20) as u64));
        }
        match MediaType::detect(bytes) {
            Some(kind) => Ok(Image { name, kind, base64: STANDARD.encode(bytes).into() }),
            None => wrong(no_image(name)),
        }
    }

    /// Returns the name of the image's file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns this image under another name.
    #[must_use]
    pub fn named(self, name: impl AsRef<str>) -> Image {
        Image { name: sanitize_name(name.as_ref()), ..self }
    }

    /// Returns `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub fn media_type(&self) -> &'static str {
        match self.kind {
            MediaType::Png => "image/png",
            MediaType::Jpeg => "image/jpeg",
            MediaType::Gif => "image/gif",
            MediaType::Webp => "image/webp",
        }
    }

    /// Returns the content as Base64 (RFC 4648, with padding).
    pub fn base64(&self) -> &str {
        &self.base64
    }

    /// Returns the number of bytes of the content.
    pub fn bytes(&self) -> usize {
        let padding = self.base64.bytes().rev().take(2).filter(|byte| *byte == b'=').count();
        self.base64.len() / 4 * 3 - padding
    }

    /// Returns a `data:` URL with the whole image. It contains no characters that are markup.
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type(), self.base64)
    }
}

impl fmt::Debug for Image {
    /// Formats the image without its content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("bytes", &self.bytes())
            .finish()
    }
}

/// The serialised form of an image.
#[derive(Serialize, Deserialize)]
struct SerializedImage {
    name: String,
    #[serde(rename = "type", default)]
    media_type: String,
    data: Arc<str>,
}

impl From<Image> for SerializedImage {
    fn from(image: Image) -> SerializedImage {
        SerializedImage { media_type: image.media_type().to_owned(), name: image.name, data: image.base64 }
    }
}

impl TryFrom<SerializedImage> for Image {
    type Error = Error;

    /// Determines the type from the bytes; the serialised type is ignored.
    fn try_from(written: SerializedImage) -> Result<Image, Error> {
        let SerializedImage { name, data, .. } = written;
        let name = sanitize_name(&name);
        let wrong = |message| Err(Error::with_kind(ErrorKind::InvalidInput, message));
        // The length of the Base64 text bounds the memory, so it is checked before the text is decoded.
        if data.len() > Image::MOST_BYTES.div_ceil(3) * 4 {
            return wrong(image_too_large(name, (Image::MOST_BYTES >> 20) as u64));
        }
        match STANDARD.decode(&*data).ok().and_then(|bytes| MediaType::detect(&bytes)) {
            Some(kind) => Ok(Image { name, kind, base64: data }),
            None => wrong(no_image(name)),
        }
    }
}

impl MediaType {
    /// Detects the type from the first bytes; `None` for anything that is not an accepted image.
    fn detect(bytes: &[u8]) -> Option<MediaType> {
        Some(match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => MediaType::Png,
            [0xff, 0xd8, 0xff, ..] => MediaType::Jpeg,
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => MediaType::Gif,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => MediaType::Webp,
            _ => return None,
        })
    }
}

/// Makes a name safe for a single line: a line break in it would break the line of the message that mentions the image.
fn sanitize_name(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).take(LONGEST_NAME).collect()
}

fn no_image(name: String) -> Text {
    text!("{name} is no image that can be sent: it does not begin as a PNG, JPEG, GIF or WebP file does", name)
}

fn image_too_large(name: String, most: u64) -> Text {
    text!("the image {name} has more than {most} MiB; send a smaller one", name, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    #[test]
    fn the_first_bytes_determine_the_type() {
        for (bytes, want) in [
            (PNG, Some("image/png")),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Some("image/jpeg")),
            (b"GIF87a\x01\0\x01\0", Some("image/gif")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\x24\0\0\0WAVEfmt ", None),
            (b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", None),
            (b"GIF89", None),
            (b"", None),
        ] {
            let made = Image::new("x", bytes).ok();
            assert_eq!(made.as_ref().map(Image::media_type), want, "{bytes:?}");
            if let Some(image) = made {
                assert_eq!(image.bytes(), bytes.len());
                let read: Image = serde_json::from_str(&serde_json::to_string(&image).unwrap()).unwrap();
                assert_eq!(read, image);
            }
        }
        let large = [PNG, &vec![0; Image::MOST_BYTES]].concat();
        assert!(Image::new("x.png", &large).unwrap_err().to_string().contains("10 MiB"));
        assert!(Image::new("x.png", &large[..Image::MOST_BYTES]).is_ok());
    }

    #[test]
    fn names_have_no_line_breaks() {
        let image = Image::new("a\nUser: b", PNG).unwrap();
        assert_eq!(image.name(), "a\u{fffd}User: b");
        assert_eq!(image.named("x\r".repeat(200)).name().chars().filter(|c| *c == 'x').count(), LONGEST_NAME / 2);
    }

    #[test]
    fn the_serialised_type_is_ignored() {
        let read = |kind: &str, data: &str| {
            serde_json::from_value::<Image>(serde_json::json!({"name": "x", "type": kind, "data": data}))
        };
        let good = STANDARD.encode(PNG);
        assert_eq!(read("image/svg+xml", &good).unwrap().media_type(), "image/png");
        for data in [
            STANDARD.encode(b"<svg onload=alert(1)/>"),
            format!("{good}\"><script>"),
            good[..good.len() - 1].to_owned(),
            good.replace('=', ""),
            format!("{good}===="),
            String::new(),
        ] {
            assert!(read("image/png", &data).is_err(), "{data}");
        }
    }
}
