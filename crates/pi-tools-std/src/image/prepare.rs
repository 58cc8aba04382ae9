//! Decides what the model gets of an image, and says what was done to it.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::DynamicImage;
use pi_core::{CancellationToken, ImageContent, ToolError};

use super::fit::{Encoded, Stop, decode, fit};
use super::sniff::{ImageKind, is_animated_png};
use super::{Prepared, too_large};
use crate::abort::aborted;
use crate::limits::Limits;

/// Makes an image ready for the model: turned as its camera was held, and scaled and compressed to
/// what providers take. One that needs none of that stays as it is, byte for byte, and so does any
/// if `auto_resize` is off.
///
/// What cannot be shown is left out; the text says so. It takes long, and looks at the token between
/// its steps.
///
/// # Errors
/// "Operation aborted", and nothing else.
pub(crate) fn prepare(
    bytes: &[u8],
    kind: ImageKind,
    limits: &Limits,
    auto_resize: bool,
    abort: &CancellationToken,
) -> Result<Prepared, ToolError> {
    if let Some(omitted) = too_large(kind, bytes.len() as u64, limits) {
        return Ok(omitted);
    }
    if !auto_resize {
        return Ok(shown(bytes, kind, kind, None));
    }
    match scaled(bytes, kind, limits, abort) {
        Ok(prepared) => Ok(prepared),
        Err(Stop::Aborted) => Err(aborted()),
        Err(Stop::Impossible) => Ok(Prepared::without_image(
            kind,
            "could not be resized below the inline image size limit.",
        )),
    }
}

fn scaled(
    bytes: &[u8],
    kind: ImageKind,
    limits: &Limits,
    abort: &CancellationToken,
) -> Result<Prepared, Stop> {
    let decoded = decode(bytes, kind, limits, abort)?;
    let fits = is_small(&decoded.image, limits)
        && base64::encoded_len(bytes.len(), true)
            .is_some_and(|len| len <= limits.image_shown_base64);
    let is_taken = match kind {
        ImageKind::Bmp => false,
        // The mark of an animation may stand far from the start of the file.
        ImageKind::Png => !is_animated_png(bytes),
        ImageKind::Jpeg | ImageKind::Gif | ImageKind::WebP => true,
    };
    if fits && is_taken && !decoded.is_turned {
        return Ok(shown(bytes, kind, kind, None));
    }
    let original = (decoded.image.width(), decoded.image.height());
    let Encoded {
        bytes,
        kind: new_kind,
        width,
        height,
    } = fit(decoded.image, kind, limits, abort)?;
    let scale = Scale {
        original,
        shown: (width, height),
    };
    Ok(shown(&bytes, kind, new_kind, Some(scale)))
}

fn is_small(image: &DynamicImage, limits: &Limits) -> bool {
    image.width().max(image.height()) <= limits.image_shown_side
}

/// The size of an image and the one at which it is shown.
#[derive(Debug, Clone, Copy)]
struct Scale {
    original: (u32, u32),
    shown: (u32, u32),
}

fn shown(bytes: &[u8], old: ImageKind, new: ImageKind, scale: Option<Scale>) -> Prepared {
    let (from, to) = (old.media_type(), new.media_type());
    let mut text = format!("Read image file [{to}]");
    if from != to {
        text += &format!("\n[Image converted from {from} to {to}.]");
    }
    if let Some(Scale { original, shown }) = scale
        && original != shown
    {
        let factor = f64::from(original.0) / f64::from(shown.0.max(1));
        text += &format!(
            "\n[Image: original {}x{}, displayed at {}x{}. Multiply coordinates by {factor:.2} to map \
             to original image.]",
            original.0, original.1, shown.0, shown.1
        );
    }
    Prepared {
        text,
        image: Some(ImageContent::new(STANDARD.encode(bytes), to)),
    }
}
