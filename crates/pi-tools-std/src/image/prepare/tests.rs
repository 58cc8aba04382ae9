use std::io::Cursor;

use image::codecs::gif::{GifEncoder, Repeat};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{
    DynamicImage, ExtendedColorType, Frame, ImageEncoder, ImageFormat, Rgb, RgbImage, Rgba,
    RgbaImage,
};

use super::*;
use crate::image::sniff::sniff;

const OMITTED: &str = "[Image omitted: could not be resized below the inline image size limit.]";

/// A picture without large areas of one colour.
fn picture(width: u32, height: u32) -> DynamicImage {
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, y| {
        let hash =
            (x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35);
        Rgb([(hash >> 24) as u8, (hash >> 16) as u8, x as u8])
    }))
}

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// EXIF data that says how the camera was held.
fn exif(orientation: u8) -> Vec<u8> {
    let mut exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
    exif
}

fn small() -> Limits {
    Limits {
        image_shown_side: 40,
        ..Limits::default()
    }
}

#[track_caller]
fn prepared(bytes: &[u8], limits: &Limits) -> Prepared {
    let kind = sniff(bytes).expect("an image");
    prepare(bytes, kind, limits, true, &CancellationToken::new()).unwrap()
}

/// What the model sees, decoded.
#[track_caller]
fn seen(prepared: &Prepared) -> DynamicImage {
    let image = prepared.image.as_ref().expect("there is an image");
    let bytes = STANDARD.decode(&image.data).unwrap();
    assert_eq!(sniff(&bytes).unwrap().media_type(), image.mime_type);
    image::load_from_memory(&bytes).unwrap()
}

#[track_caller]
fn check_as_it_is(bytes: &[u8], media_type: &str) {
    let prepared = prepared(bytes, &Limits::default());
    assert_eq!(prepared.text, format!("Read image file [{media_type}]"));
    let image = ImageContent::new(STANDARD.encode(bytes), media_type);
    assert_eq!(prepared.image, Some(image));
}

#[track_caller]
fn check_omitted(bytes: &[u8], limits: &Limits) {
    let kind = sniff(bytes).expect("an image");
    let prepared = prepared(bytes, limits);
    let media_type = kind.media_type();
    assert_eq!(
        prepared.text,
        format!("Read image file [{media_type}]\n{OMITTED}")
    );
    assert_eq!(prepared.image, None);
}

#[test]
fn what_needs_no_change_stays_byte_for_byte() {
    let image = picture(30, 20);
    for (format, media_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        check_as_it_is(&encoded(&image, format), media_type);
    }
}

#[test]
fn a_bitmap_becomes_a_png() {
    let image = picture(30, 20);
    let prepared = prepared(&encoded(&image, ImageFormat::Bmp), &Limits::default());
    assert_eq!(
        prepared.text,
        "Read image file [image/png]\n[Image converted from image/bmp to image/png.]"
    );
    assert_eq!(seen(&prepared).to_rgb8(), image.to_rgb8());
}

#[test]
fn a_large_image_is_scaled_to_fit() {
    let prepared = prepared(&encoded(&picture(100, 50), ImageFormat::Jpeg), &small());
    assert_eq!(
        prepared.text,
        "Read image file [image/jpeg]\n[Image: original 100x50, displayed at 40x20. Multiply \
         coordinates by 2.50 to map to original image.]"
    );
    let image = seen(&prepared);
    assert_eq!((image.width(), image.height()), (40, 20));

    let narrow = encoded(&picture(3, 900), ImageFormat::Png);
    let image = seen(&self::prepared(&narrow, &small()));
    assert_eq!((image.width(), image.height()), (1, 40));
}

#[test]
fn an_image_of_many_bytes_is_compressed_and_then_scaled() {
    let png = encoded(&picture(200, 200), ImageFormat::Png);
    for (limit, expected_side) in [(40_000, 200), (9_000, 84)] {
        let limits = Limits {
            image_shown_base64: limit,
            ..Limits::default()
        };
        let prepared = prepared(&png, &limits);
        assert!(prepared.image.as_ref().unwrap().data.len() <= limit);
        let text = &prepared.text;
        assert!(
            text.starts_with(
                "Read image file [image/jpeg]\n[Image converted from image/png to image/jpeg.]"
            ),
            "{text}"
        );
        let image = seen(&prepared);
        assert!(
            image.width() <= 200 && image.width() >= expected_side,
            "{}",
            image.width()
        );
        assert_eq!(text.contains("Multiply"), image.width() != 200);
    }
    let none = Limits {
        image_shown_base64: 10,
        ..Limits::default()
    };
    check_omitted(&png, &none);
}

#[test]
fn transparent_parts_become_white_where_there_is_no_alpha() {
    let image = RgbaImage::from_fn(64, 64, |x, y| {
        let noise = picture(64, 64).to_rgb8().get_pixel(x, y).0;
        Rgba([noise[0], noise[1], noise[2], 0])
    });
    let png = encoded(&DynamicImage::ImageRgba8(image), ImageFormat::Png);
    let limits = Limits {
        image_shown_base64: 4_000,
        ..Limits::default()
    };
    let prepared = prepared(&png, &limits);
    assert!(
        prepared.text.starts_with("Read image file [image/jpeg]"),
        "{}",
        prepared.text
    );
    assert!(
        seen(&prepared)
            .to_rgb8()
            .pixels()
            .all(|pixel| pixel.0 >= [250; 3])
    );
}

#[test]
fn the_image_is_turned_as_the_camera_was_held() {
    let image = picture(30, 20).to_rgb8();
    let mut jpeg = Vec::new();
    let mut encoder = JpegEncoder::new(&mut jpeg);
    encoder.set_exif_metadata(exif(6)).unwrap();
    encoder
        .write_image(&image, 30, 20, ExtendedColorType::Rgb8)
        .unwrap();
    let mut png = Vec::new();
    let mut encoder = PngEncoder::new(&mut png);
    encoder.set_exif_metadata(exif(8)).unwrap();
    encoder
        .write_image(&image, 30, 20, ExtendedColorType::Rgb8)
        .unwrap();
    for (bytes, media_type) in [(&jpeg, "image/jpeg"), (&png, "image/png")] {
        let prepared = prepared(bytes, &Limits::default());
        assert_eq!(prepared.text, format!("Read image file [{media_type}]"));
        let shown = seen(&prepared);
        assert_eq!((shown.width(), shown.height()), (20, 30));
    }
    let turned = seen(&prepared(&png, &Limits::default()));
    assert_eq!(turned.to_rgb8(), image::imageops::rotate270(&image));
    // Sizes are those of the turned image.
    let text = prepared(
        &jpeg,
        &Limits {
            image_shown_side: 15,
            ..Limits::default()
        },
    )
    .text;
    assert!(
        text.contains("original 20x30, displayed at 10x15. Multiply coordinates by 2.00"),
        "{text}"
    );
}

#[test]
fn unscaled_images_are_sent_as_they_are() {
    let bmp = encoded(&picture(100, 50), ImageFormat::Bmp);
    let prepared = prepare(
        &bmp,
        ImageKind::Bmp,
        &small(),
        false,
        &CancellationToken::new(),
    )
    .unwrap();
    assert_eq!(prepared.text, "Read image file [image/bmp]");
    assert_eq!(STANDARD.decode(prepared.image.unwrap().data).unwrap(), bmp);
}

#[test]
fn what_is_broken_is_left_out() {
    let png = encoded(&picture(30, 20), ImageFormat::Png);
    check_omitted(&png[..png.len() / 2], &Limits::default());
    check_omitted(b"GIF89a", &Limits::default());
    check_omitted(b"\xff\xd8\xff\xe0 and so on", &Limits::default());
    check_omitted(b"RIFF\x04\0\0\0WEBP", &Limits::default());
}

#[test]
fn a_file_over_the_limit_is_left_out() {
    let png = encoded(&picture(30, 20), ImageFormat::Png);
    let limits = Limits {
        image_file_bytes: 1024,
        ..Limits::default()
    };
    let prepared = prepared(&png, &limits);
    let file = crate::size::shown(png.len() as u64);
    assert_eq!(
        prepared.text,
        format!("Read image file [image/png]\n[Image omitted: file is {file}, limit is 1.0KB.]")
    );
    assert_eq!(prepared.image, None);
}

#[test]
fn an_abort_ends_the_work() {
    let abort = CancellationToken::new();
    abort.cancel();
    let png = encoded(&picture(30, 20), ImageFormat::Png);
    let result = prepare(&png, ImageKind::Png, &Limits::default(), true, &abort);
    assert_eq!(result.unwrap_err().to_string(), "Operation aborted");
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

/// Files of a few bytes that claim to be images of a huge size.
#[test]
fn f65_a_huge_declared_size_is_left_out_at_once() {
    let image = picture(8, 8);
    let mut png = encoded(&image, ImageFormat::Png);
    png[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
    let sum = crc(&png[12..29]);
    png[29..33].copy_from_slice(&sum.to_be_bytes());
    let mut gif = encoded(&image, ImageFormat::Gif);
    gif[6..10].copy_from_slice(&[0xff; 4]);
    let mut bmp = encoded(&image, ImageFormat::Bmp);
    bmp[18..26].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f]);
    let mut jpeg = encoded(&image, ImageFormat::Jpeg);
    let frame = jpeg
        .windows(2)
        .position(|marker| marker == [0xff, 0xc0])
        .unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff; 4]);
    let mut webp = encoded(&image, ImageFormat::WebP);
    webp[21..24].copy_from_slice(&[0xff; 3]);
    for bytes in [png, gif, bmp, jpeg, webp] {
        check_omitted(&bytes, &Limits::default());
    }
}

/// An image within the largest side can still need more memory than is allowed.
#[test]
fn f65_an_image_that_needs_too_much_memory_is_left_out() {
    let limits = Limits {
        image_memory: 100 * 100 * 3 - 1,
        ..Limits::default()
    };
    let image = picture(100, 100);
    for format in [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Bmp,
        ImageFormat::Gif,
        ImageFormat::WebP,
    ] {
        check_omitted(&encoded(&image, format), &limits);
    }
}

#[test]
fn f65_of_an_endless_animation_the_first_frame_is_shown() {
    let mut gif = Vec::new();
    let mut encoder = GifEncoder::new(&mut gif);
    encoder.set_repeat(Repeat::Infinite).unwrap();
    let frames = (0..200).map(|number| {
        let color = if number == 0 {
            [255, 0, 0, 255]
        } else {
            [0, 0, 255, 255]
        };
        Frame::new(RgbaImage::from_pixel(60, 60, Rgba(color)))
    });
    encoder.encode_frames(frames).unwrap();
    drop(encoder);
    check_as_it_is(&gif, "image/gif");
    let limits = Limits {
        image_shown_base64: gif.len(),
        ..Limits::default()
    };
    for limits in [limits, small()] {
        let prepared = prepared(&gif, &limits);
        assert_eq!(
            prepared.text.lines().nth(1),
            Some("[Image converted from image/gif to image/png.]")
        );
        let shown = seen(&prepared).to_rgb8();
        assert!(shown.pixels().all(|pixel| pixel.0 == [255, 0, 0]));
    }
}

#[test]
fn f65_an_animation_that_is_found_late_becomes_a_still_image() {
    let mut png = encoded(&picture(30, 20), ImageFormat::Png);
    // A chunk that pushes the mark of the animation out of what tells the kind.
    let mut chunks = Vec::new();
    for (kind, data) in [
        (b"teXt", vec![0; 5000]),
        (b"acTL", vec![0, 0, 0, 1, 0, 0, 0, 0]),
    ] {
        chunks.extend((data.len() as u32).to_be_bytes());
        let body = [&kind[..], &data].concat();
        chunks.extend(&body);
        chunks.extend(crc(&body).to_be_bytes());
    }
    png.splice(33..33, chunks);
    assert_eq!(sniff(&png[..4100]), Some(ImageKind::Png));
    let limits = Limits::default();
    let prepared = prepare(
        &png,
        ImageKind::Png,
        &limits,
        true,
        &CancellationToken::new(),
    )
    .unwrap();
    assert_eq!(prepared.text, "Read image file [image/png]");
    let shown = STANDARD.decode(prepared.image.unwrap().data).unwrap();
    assert!(!is_animated_png(&shown));
}
