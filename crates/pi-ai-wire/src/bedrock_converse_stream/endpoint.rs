//! Where a request goes, and with which headers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pi_core::Request;

use crate::framing::Framing;
use crate::headers;

/// Returns the address of the endpoint of a model below `base_url`, whose query stays.
///
/// `model` is an id, the id of an inference profile, or an ARN; whatever is not plain in it is
/// escaped.
#[must_use]
pub fn url(base_url: &str, model: &str) -> String {
    let (path, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    let mut url = format!("{}/model/", path.trim_end_matches('/'));
    for byte in model.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                url.push(char::from(byte));
            }
            byte => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    url + "/converse-stream" + query
}

/// Returns the headers of a request, names in lower case: the protocol's own, then those of the
/// model, then those of the options, each replacing the ones before.
///
/// Nothing that signs the request or tells who asks is among them.
#[must_use]
pub fn headers(request: &Request) -> BTreeMap<String, String> {
    let own = [
        ("accept", Framing::AwsEventStream.media_type()),
        ("content-type", "application/json"),
    ];
    headers::collect(request, own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_one_part_of_the_path() {
        let arn = "arn:aws:bedrock:eu-west-1:1:application-inference-profile/a b";
        for (base, model, expected) in [
            (
                "https://a",
                "m-1.x_y",
                "https://a/model/m-1.x_y/converse-stream",
            ),
            (
                "https://a/b/",
                "m:0",
                "https://a/b/model/m%3A0/converse-stream",
            ),
            (
                "https://a?q=1",
                "ü",
                "https://a/model/%C3%BC/converse-stream?q=1",
            ),
            (
                "https://a",
                arn,
                "https://a/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Aapplication-inference-profile%2Fa%20b/converse-stream",
            ),
        ] {
            assert_eq!(url(base, model), expected);
        }
    }
}
