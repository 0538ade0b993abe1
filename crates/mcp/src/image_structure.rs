//! Checks that an image file has the parts that every decoder needs. It decodes no pixels.
//!
//! The formats are PNG (RFC 2083), JPEG (ITU-T T.81, annex B), GIF89a and WebP (RFC 9649).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use toolfence_protocol::Image;

/// Returns `true` if the file contains its dimensions and the start of the image data. A backend refuses a whole
/// conversation because of one image without them.
pub(crate) fn is_whole(image: &Image) -> bool {
    let Ok(bytes) = STANDARD.decode(image.base64()) else { return false };
    let found = match image.media_type() {
        "image/png" => png(&bytes),
        "image/jpeg" => jpeg(&bytes),
        "image/gif" => gif(&bytes),
        _ => webp(&bytes),
    };
    found.unwrap_or(false)
}

/// Finds the dimensions in the first chunk, and a chunk of image data. Returns `None` if the file ends before that.
fn png(bytes: &[u8]) -> Option<bool> {
    let mut rest = bytes.get(8..)?;
    let mut has_dimensions = false;
    loop {
        let length = u32::from_be_bytes(*rest.first_chunk()?) as usize;
        let (name, data) = (rest.get(4..8)?, rest.get(8..)?);
        match name {
            // The length of this chunk is fixed. Its width and height are the first two numbers of four bytes.
            b"IHDR" if length == 13 => {
                let [width, height] = [data.get(..4)?, data.get(4..8)?];
                has_dimensions = width != [0; 4] && height != [0; 4];
            }
            b"IDAT" if length > 0 => return Some(has_dimensions && !data.is_empty()),
            _ => {}
        }
        // A checksum of four bytes follows the data.
        rest = data.get(length.checked_add(4)?..)?;
        if !has_dimensions {
            return Some(false);
        }
    }
}

/// Finds a frame with dimensions and the scan that follows. Returns `None` if the file ends before that.
fn jpeg(bytes: &[u8]) -> Option<bool> {
    let mut rest = bytes.get(2..)?;
    let mut has_dimensions = false;
    loop {
        // Any number of fill bytes may precede a marker.
        let (marker, after) = match rest {
            [0xff, 0xff, ..] => {
                rest = &rest[1..];
                continue;
            }
            [0xff, marker, after @ ..] => (*marker, after),
            _ => return Some(false),
        };
        // These markers have no segment.
        if matches!(marker, 0x01 | 0xd0..=0xd8) {
            rest = after;
            continue;
        }
        let length = usize::from(u16::from_be_bytes(*after.first_chunk()?));
        let segment = after.get(2..length)?;
        match marker {
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                has_dimensions = segment.get(1..3)? != [0; 2] && segment.get(3..5)? != [0; 2];
            }
            0xda => return Some(has_dimensions && after.len() > length),
            0xd9 => return Some(false),
            _ => {}
        }
        rest = after.get(length..)?;
    }
}

/// Finds the dimensions of the screen, and an image that has dimensions and data. Returns `None` if the file ends
/// before that.
fn gif(bytes: &[u8]) -> Option<bool> {
    let (screen, flags) = (bytes.get(6..10)?, *bytes.get(10)?);
    let mut rest = bytes.get(13 + colors(flags)..)?;
    if screen[..2] == [0; 2] || screen[2..] == [0; 2] {
        return Some(false);
    }
    loop {
        match rest {
            // An extension has a label, and blocks up to an empty one.
            [0x21, _, blocks @ ..] => {
                let mut blocks = blocks;
                while let Some((&length @ 1.., after)) = blocks.split_first() {
                    blocks = after.get(usize::from(length)..)?;
                }
                rest = blocks.get(1..)?;
            }
            [0x2c, descriptor @ ..] => {
                let (sizes, flags) = (descriptor.get(4..8)?, *descriptor.get(8)?);
                // The color table is followed by the minimum code size and the first data block.
                let data = descriptor.get(9 + colors(flags)..)?;
                let length = usize::from(*data.get(1)?);
                return Some(sizes[..2] != [0; 2] && sizes[2..] != [0; 2] && length > 0 && data.len() > 2);
            }
            _ => return Some(false),
        }
    }
}

/// Returns the size of a color table in bytes, from the flags that describe it.
fn colors(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Finds a chunk of image data within the file. The dimensions of an animation are in the `VP8X` chunk that precedes
/// it, and are not checked. Returns `None` if the file ends before that.
fn webp(bytes: &[u8]) -> Option<bool> {
    let mut rest = bytes.get(12..)?;
    loop {
        let length = u32::from_le_bytes(*rest.get(4..)?.first_chunk()?) as usize;
        let (name, data) = (rest.get(..4)?, rest.get(8..)?);
        // Some encoders omit the padding byte of the last chunk.
        let is_there = length <= data.len() + 2;
        match name {
            b"VP8 " => {
                let [width, height] = [data.get(6..8)?, data.get(8..10)?].map(|size| [size[0], size[1] & 0x3f]);
                let is_frame = data.get(3..6)? == [0x9d, 0x01, 0x2a];
                return Some(is_there && is_frame && width != [0; 2] && height != [0; 2]);
            }
            b"VP8L" => return Some(is_there && length > 5 && *data.first()? == 0x2f),
            b"ANMF" => return Some(is_there && length > 24),
            _ if !is_there => return Some(false),
            // A padding byte follows a chunk of odd size.
            _ => rest = data.get(length.checked_add(length & 1)?..)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{STANDARD, is_whole};
    use base64::Engine;
    use toolfence_protocol::Image;

    const PNG: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
    const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
    const WEBP: &str = "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=";
    const LOSSLESS: &str = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==";

    fn image(data: &str) -> Image {
        serde_json::from_value(serde_json::json!({"name": "x", "data": data})).unwrap()
    }

    fn jpeg() -> Vec<u8> {
        let mut bytes = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00".to_vec();
        bytes.extend(b"\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00");
        bytes.extend(b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x54\xff\xd9");
        bytes
    }

    #[test]
    fn valid_images_are_whole() {
        for data in [PNG, GIF, WEBP, LOSSLESS, &STANDARD.encode(jpeg())] {
            assert!(is_whole(&image(data)), "{data}");
        }
    }

    #[test]
    fn files_that_end_before_the_image_data_are_broken() {
        let mut all = vec![jpeg()];
        all.extend([PNG, GIF, WEBP, LOSSLESS].map(|data| STANDARD.decode(data).unwrap()));
        for bytes in all {
            for end in 12..bytes.len() / 2 {
                let cut = Image::new("x", &bytes[..end]).unwrap();
                assert!(!is_whole(&cut), "{end} of {bytes:?}");
            }
        }
        for bytes in [b"GIF89a".as_slice(), b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\x24\0\0\0WEBPVP8 "] {
            assert!(!is_whole(&Image::new("x", bytes).unwrap()), "{bytes:?}");
        }
    }

    #[test]
    fn images_without_dimensions_are_broken() {
        let png = STANDARD.decode(PNG).unwrap();
        let gif = STANDARD.decode(GIF).unwrap();
        for (mut bytes, at) in [(png, 19), (gif.clone(), 6), (gif, 32), (jpeg(), 26)] {
            bytes[at] = 0;
            assert!(!is_whole(&Image::new("x", &bytes).unwrap()), "{bytes:?}");
        }
    }
}
