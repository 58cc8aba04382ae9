//! Images for the model.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_core::{ImageContent, Model};

use crate::exit::usage;

/// The most bytes of a file. No provider takes more for one image.
const MAX_BYTES: u64 = 20 * 1024 * 1024;

/// Reads images; what they are is told by their first bytes, not by their names.
///
/// # Errors
/// The first file that cannot be read, is too large, or no image that models take.
pub(crate) fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<ImageContent>> {
    paths.iter().map(|path| read_one(path)).collect()
}

/// Refuses images for a model that does not take any.
///
/// # Errors
/// If there are images and the model takes text only.
pub(crate) fn check(images: &[ImageContent], model: &Model) -> anyhow::Result<()> {
    if images.is_empty() || model.takes_images() {
        return Ok(());
    }
    Err(usage(format!(
        "the model {} takes no images; pi --list-models shows which do",
        model.id
    )))
}

fn read_one(path: &Path) -> anyhow::Result<ImageContent> {
    let shown = path.display();
    let cannot_read = |error| usage(format!("cannot read the image {shown}: {error}"));
    let file = File::open(path).map_err(cannot_read)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot_read)?;
    if bytes.len() as u64 > MAX_BYTES {
        let limit = MAX_BYTES / (1024 * 1024);
        return Err(usage(format!(
            "the image {shown} is larger than {limit} MiB"
        )));
    }
    let Some(kind) = kind(&bytes) else {
        return Err(usage(format!(
            "{shown} is no image in PNG, JPEG, GIF or WebP"
        )));
    };
    Ok(ImageContent::new(STANDARD.encode(&bytes), kind))
}

/// Tells the MIME type by the first bytes.
fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_tells_the_kind() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF87a", Some("image/gif")),
            (b"GIF89a..", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"\x89PN", None),
            (b"<svg/>", None),
            (b"", None),
        ] {
            assert_eq!(kind(bytes), expected, "{bytes:?}");
        }
    }
}
