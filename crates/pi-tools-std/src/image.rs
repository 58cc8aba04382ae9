//! Images as the model gets them.

#[cfg(feature = "images")]
mod fit;
#[cfg(feature = "images")]
mod prepare;
mod sniff;

use pi_core::ImageContent;

pub(crate) use self::prepare::prepare;
pub(crate) use self::sniff::{ImageKind, sniff};
use crate::limits::Limits;
use crate::size;

/// An image as the model gets it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prepared {
    /// What is said about it.
    pub(crate) text: String,
    /// The image itself, if it can be shown.
    pub(crate) image: Option<ImageContent>,
}

impl Prepared {
    fn without_image(kind: ImageKind, why: &str) -> Self {
        Self {
            text: format!(
                "Read image file [{}]\n[Image omitted: {why}]",
                kind.media_type()
            ),
            image: None,
        }
    }
}

/// Returns what stands for an image whose file is too large to be read.
pub(crate) fn too_large(kind: ImageKind, file_bytes: u64, limits: &Limits) -> Option<Prepared> {
    let limit = limits.image_file_bytes;
    (file_bytes > limit).then(|| {
        let (file, limit) = (size::shown(file_bytes), size::shown(limit));
        Prepared::without_image(kind, &format!("file is {file}, limit is {limit}."))
    })
}

/// What there is of `prepare` without the feature `images`: no image is shown.
#[cfg(not(feature = "images"))]
mod prepare {
    use pi_core::{CancellationToken, ToolError};

    use super::{ImageKind, Limits, Prepared};

    pub(crate) fn prepare(
        _bytes: &[u8],
        kind: ImageKind,
        _limits: &Limits,
        _auto_resize: bool,
        _abort: &CancellationToken,
    ) -> Result<Prepared, ToolError> {
        let why = "images are not supported by this build.";
        Ok(Prepared::without_image(kind, why))
    }
}
