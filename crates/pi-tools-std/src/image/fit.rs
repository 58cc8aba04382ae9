//! Decodes an image, scales it and encodes it so that it is small enough.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{
    DynamicImage, ImageDecoder as _, ImageEncoder as _, ImageFormat, ImageReader, ImageResult,
    RgbImage,
};
use pi_core::CancellationToken;

use super::sniff::ImageKind;
use crate::limits::Limits;

/// The qualities of JPEG that are tried, in this order.
const QUALITIES: [u8; 5] = [80, 85, 70, 55, 40];

/// Why there is no image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Nobody waits for it any more.
    Aborted,
    /// It cannot be decoded, or not be made small enough.
    Impossible,
}

impl From<image::ImageError> for Stop {
    fn from(error: image::ImageError) -> Self {
        tracing::debug!(%error, "an image is left out");
        Self::Impossible
    }
}

/// A decoded image, as it is to be looked at.
pub(super) struct Decoded {
    pub(super) image: DynamicImage,
    /// True if the file holds it in another orientation.
    pub(super) is_turned: bool,
}

/// An encoded image.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: ImageKind,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// Decodes an image, of an animation the first frame. It takes no more memory than the limits allow,
/// whatever size the file claims to have.
pub(super) fn decode(
    bytes: &[u8],
    kind: ImageKind,
    limits: &Limits,
    abort: &CancellationToken,
) -> Result<Decoded, Stop> {
    let format = match kind {
        ImageKind::Png => ImageFormat::Png,
        ImageKind::Jpeg => ImageFormat::Jpeg,
        ImageKind::Gif => ImageFormat::Gif,
        ImageKind::WebP => ImageFormat::WebP,
        ImageKind::Bmp => ImageFormat::Bmp,
    };
    check(abort)?;
    let mut bounds = image::Limits::no_limits();
    bounds.max_image_width = Some(limits.image_side);
    bounds.max_image_height = Some(limits.image_side);
    bounds.max_alloc = Some(limits.image_memory);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(bounds.clone());
    let mut decoder = reader.into_decoder()?;
    bounds.reserve(decoder.total_bytes())?;
    decoder.set_limits(bounds)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder)?;
    check(abort)?;
    image.apply_orientation(orientation);
    Ok(Decoded {
        image,
        is_turned: orientation != Orientation::NoTransforms,
    })
}

/// Scales and encodes an image until it is small enough. `kind` is what it was in its file.
pub(super) fn fit(
    image: DynamicImage,
    kind: ImageKind,
    limits: &Limits,
    abort: &CancellationToken,
) -> Result<Encoded, Stop> {
    let max_side = limits.image_shown_side.max(1);
    let is_scaled = image.width().max(image.height()) > max_side;
    let mut image = plain(image);
    if is_scaled {
        check(abort)?;
        image = scaled_to_fit(&image, max_side);
    }
    // Without a need to be smaller, what had no loss stays without.
    let mut keeps_png = !is_scaled && matches!(kind, ImageKind::Png | ImageKind::Bmp);
    loop {
        if let Some((bytes, kind)) = encode(&image, keeps_png, limits, abort)? {
            return Ok(Encoded {
                bytes,
                kind,
                width: image.width(),
                height: image.height(),
            });
        }
        let (width, height) = (image.width(), image.height());
        if width <= 1 && height <= 1 {
            return Err(Stop::Impossible);
        }
        keeps_png = false;
        let smaller = |side: u32| (side / 4 * 3 + side % 4 * 3 / 4).max(1);
        check(abort)?;
        image = image.resize_exact(smaller(width), smaller(height), FilterType::Lanczos3);
    }
}

/// Turns an image into one of 8 bits a channel, in a form that both encoders take.
fn plain(image: DynamicImage) -> DynamicImage {
    let color = image.color();
    match (color.has_alpha(), color.has_color()) {
        (true, _) => DynamicImage::ImageRgba8(image.into_rgba8()),
        (false, true) => DynamicImage::ImageRgb8(image.into_rgb8()),
        (false, false) => DynamicImage::ImageLuma8(image.into_luma8()),
    }
}

fn scaled_to_fit(image: &DynamicImage, max_side: u32) -> DynamicImage {
    let wide = max_side.saturating_mul(2);
    if image.width().max(image.height()) > wide.saturating_mul(2) {
        // Lanczos needs 16 bytes for each pixel of a large image that is not yet narrow; what is
        // lost by a plain average at more than twice the size cannot be seen.
        let image = image.thumbnail(wide, wide);
        return image.resize(max_side, max_side, FilterType::Lanczos3);
    }
    image.resize(max_side, max_side, FilterType::Lanczos3)
}

/// Encodes an image as PNG or JPEG, whichever is smaller, at the first quality that is small enough.
fn encode(
    image: &DynamicImage,
    keeps_png: bool,
    limits: &Limits,
    abort: &CancellationToken,
) -> Result<Option<(Vec<u8>, ImageKind)>, Stop> {
    let fits = |bytes: &[u8]| {
        base64::encoded_len(bytes.len(), true).is_some_and(|len| len <= limits.image_shown_base64)
    };
    check(abort)?;
    let png = png(image)?;
    if keeps_png && fits(&png) {
        return Ok(Some((png, ImageKind::Png)));
    }
    let opaque = on_white(image);
    for quality in QUALITIES {
        check(abort)?;
        let jpeg = jpeg(opaque.as_ref().unwrap_or(image), quality)?;
        if png.len() <= jpeg.len() && fits(&png) {
            return Ok(Some((png, ImageKind::Png)));
        }
        if fits(&jpeg) {
            return Ok(Some((jpeg, ImageKind::Jpeg)));
        }
    }
    Ok(None)
}

fn png(image: &DynamicImage) -> ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes).write_image(
        image.as_bytes(),
        image.width(),
        image.height(),
        image.color().into(),
    )?;
    Ok(bytes)
}

fn jpeg(image: &DynamicImage, quality: u8) -> ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(image)?;
    Ok(bytes)
}

/// Puts an image with an alpha channel, which JPEG lacks, on white.
fn on_white(image: &DynamicImage) -> Option<DynamicImage> {
    let image = image.as_rgba8()?;
    let mut opaque = RgbImage::new(image.width(), image.height());
    for (pixel, shown) in image.pixels().zip(opaque.pixels_mut()) {
        let [red, green, blue, alpha] = pixel.0.map(u32::from);
        let mixed = |channel: u32| ((channel * alpha + 255 * (255 - alpha) + 127) / 255) as u8;
        shown.0 = [mixed(red), mixed(green), mixed(blue)];
    }
    Some(DynamicImage::ImageRgb8(opaque))
}

fn check(abort: &CancellationToken) -> Result<(), Stop> {
    if abort.is_cancelled() {
        return Err(Stop::Aborted);
    }
    Ok(())
}
