//! Tells images by their first bytes.

/// A kind of image that models can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageKind {
    Png,
    Jpeg,
    Gif,
    WebP,
    Bmp,
}

impl ImageKind {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
            Self::Bmp => "image/bmp",
        }
    }
}

/// Tells the kind of an image by the start of its file, 4,100 bytes or more. An animated PNG is
/// none: no provider takes it.
pub(crate) fn sniff(head: &[u8]) -> Option<ImageKind> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => {
            (is_png(head) && !is_animated_png(head)).then_some(ImageKind::Png)
        }
        // The other one is JPEG-LS, which decoders of JPEG do not read.
        [0xff, 0xd8, 0xff, marker, ..] if *marker != 0xf7 => Some(ImageKind::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageKind::Gif),
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
        ] => Some(ImageKind::WebP),
        [b'B', b'M', ..] => is_bmp(head).then_some(ImageKind::Bmp),
        _ => None,
    }
}

fn is_png(head: &[u8]) -> bool {
    png_chunks(head).next() == Some((13, b"IHDR"))
}

/// Returns true if a PNG, as far as it is there, is animated: `acTL` comes before the first `IDAT`.
pub(super) fn is_animated_png(png: &[u8]) -> bool {
    png_chunks(png)
        .take_while(|(_, kind)| *kind != b"IDAT")
        .any(|(_, kind)| kind == b"acTL")
}

/// Lists the length and the kind of each chunk of a PNG.
fn png_chunks(png: &[u8]) -> impl Iterator<Item = (usize, &[u8; 4])> {
    let mut rest = png.get(8..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (len, behind) = rest.split_first_chunk::<4>()?;
        let kind = behind.first_chunk::<4>()?;
        let len = usize::try_from(u32::from_be_bytes(*len)).ok()?;
        // Length, kind and checksum are four bytes each.
        rest = rest.get(len.saturating_add(12)..).unwrap_or_default();
        Some((len, kind))
    })
}

/// Checks the header of a bitmap: its two letters alone also begin many a text.
fn is_bmp(head: &[u8]) -> bool {
    let reserved = head.get(6..10);
    let header = head.get(14..18).and_then(<[u8]>::first_chunk::<4>);
    let header = header.map(|bytes| u32::from_le_bytes(*bytes));
    reserved == Some(&[0; 4]) && matches!(header, Some(12 | 40 | 52 | 56 | 64 | 108 | 124))
}

#[cfg(test)]
mod tests {
    use super::{ImageKind, sniff};

    fn png(chunks: &[(&[u8; 4], usize)]) -> Vec<u8> {
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        for (kind, len) in chunks {
            png.extend((*len as u32).to_be_bytes());
            png.extend(*kind);
            png.extend(vec![0; len + 4]);
        }
        png
    }

    #[test]
    fn images_are_told_by_their_first_bytes() {
        let mut bmp = b"BM\0\x10\0\0\0\0\0\0\x36\0\0\0".to_vec();
        bmp.extend([40, 0, 0, 0]);
        for (head, expected) in [
            (png(&[(b"IHDR", 13), (b"IDAT", 9)]), Some(ImageKind::Png)),
            (b"\xff\xd8\xff\xe0".to_vec(), Some(ImageKind::Jpeg)),
            (b"GIF87a".to_vec(), Some(ImageKind::Gif)),
            (b"GIF89a".to_vec(), Some(ImageKind::Gif)),
            (b"RIFF\x10\0\0\0WEBPVP8L".to_vec(), Some(ImageKind::WebP)),
            (bmp, Some(ImageKind::Bmp)),
            (b"\xff\xd8\xff\xf7".to_vec(), None),
            (b"GIF88a".to_vec(), None),
            (b"RIFF\x10\0\0\0WAVEfmt ".to_vec(), None),
            (b"BM is short for bitmap, and this is text.".to_vec(), None),
            (b"\x89PNG\r\n\x1a\n".to_vec(), None),
            (b"BM".to_vec(), None),
            (Vec::new(), None),
        ] {
            assert_eq!(sniff(&head), expected, "{}", head.escape_ascii());
        }
    }

    #[test]
    fn f65_an_animated_png_is_no_image() {
        let still = [(b"IHDR", 13), (b"gAMA", 4), (b"IDAT", 9), (b"acTL", 8)];
        assert_eq!(sniff(&png(&still)), Some(ImageKind::Png));
        let animated = [(b"IHDR", 13), (b"gAMA", 4), (b"acTL", 8), (b"IDAT", 9)];
        assert_eq!(sniff(&png(&animated)), None);
        let mut endless = png(&animated[..2]);
        endless.extend(u32::MAX.to_be_bytes());
        endless.extend(b"iCCP");
        assert_eq!(sniff(&endless), Some(ImageKind::Png));
    }
}
