//! Where requests go.

/// Where requests go that nobody says anything about.
const DEFAULT_REGION: &str = "us-east-1";

/// The address of requests, and the region that they are signed for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) base_url: String,
    pub(super) region: String,
}

impl Target {
    /// Decides by the base URL and the region that was asked for, if one was.
    pub(super) fn new(base_url: &str, asked: Option<&str>) -> Self {
        let host = host(base_url);
        let of_host = region_of_host(host);
        let is_public = host.starts_with("bedrock-runtime");
        let region = asked.or(of_host).unwrap_or(DEFAULT_REGION);
        let is_elsewhere =
            host.is_empty() || (is_public && of_host.is_some_and(|own| own != region));
        Self {
            base_url: match is_elsewhere {
                true => endpoint(region),
                false => base_url.trim().to_owned(),
            },
            region: region.to_owned(),
        }
    }
}

/// Returns the region in the ARN of a model.
pub(super) fn of_model(id: &str) -> Option<&str> {
    let mut parts = id.strip_prefix("arn:")?.split(':');
    parts.nth(2).filter(|region| !region.is_empty())
}

fn endpoint(region: &str) -> String {
    let suffix = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://bedrock-runtime.{region}.amazonaws.com{suffix}")
}

fn host(base_url: &str) -> &str {
    let url = base_url.trim();
    let url = url.split_once("://").map_or(url, |(_, rest)| rest);
    url.split(['/', '?', ':']).next().unwrap_or_default()
}

/// Reads the region of an endpoint of AWS: `bedrock-runtime.eu-west-1.amazonaws.com`, or a private one
/// that has more in front.
fn region_of_host(host: &str) -> Option<&str> {
    if !host.contains(".amazonaws.com") {
        return None;
    }
    let mut parts = host.split('.');
    parts.find(|part| part.starts_with("bedrock-runtime"))?;
    parts.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: &str = "https://bedrock-runtime.eu-central-1.amazonaws.com";
    const PRIVATE: &str = "https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com/x";
    const PROXY: &str = "http://127.0.0.1:8080/bedrock";

    #[test]
    fn the_region_that_is_asked_for_has_its_own_public_endpoint() {
        for (base_url, asked, expected_url, region) in [
            (PUBLIC, None, PUBLIC, "eu-central-1"),
            (PUBLIC, Some("eu-central-1"), PUBLIC, "eu-central-1"),
            (
                PUBLIC,
                Some("cn-north-1"),
                "https://bedrock-runtime.cn-north-1.amazonaws.com.cn",
                "cn-north-1",
            ),
            (PRIVATE, None, PRIVATE, "eu-west-1"),
            (PRIVATE, Some("us-west-2"), PRIVATE, "us-west-2"),
            (PROXY, None, PROXY, "us-east-1"),
            (PROXY, Some("us-west-2"), PROXY, "us-west-2"),
            (
                "",
                None,
                "https://bedrock-runtime.us-east-1.amazonaws.com",
                "us-east-1",
            ),
            (
                "https://bedrock-runtime-fips.us-east-1.amazonaws.com",
                None,
                "https://bedrock-runtime-fips.us-east-1.amazonaws.com",
                "us-east-1",
            ),
        ] {
            let expected = Target {
                base_url: expected_url.to_owned(),
                region: region.to_owned(),
            };
            assert_eq!(
                Target::new(base_url, asked),
                expected,
                "{base_url} {asked:?}"
            );
        }
    }

    #[test]
    fn arns_name_their_region() {
        let arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc";
        assert_eq!(of_model(arn), Some("eu-west-1"));
        assert_eq!(of_model("arn:aws:bedrock::1:x"), None);
        assert_eq!(of_model("amazon.nova-lite-v1:0"), None);
    }
}
