//! What the head of a response says beside its status.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use pi_core::ResponseHead;
use reqwest::Response;

/// Returns status and headers as plain values. Values of one name are joined as HTTP says.
pub(crate) fn of(response: &Response) -> ResponseHead {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in response.headers() {
        let value = String::from_utf8_lossy(value.as_bytes());
        headers
            .entry(name.as_str().to_owned())
            .and_modify(|joined| {
                joined.push_str(", ");
                joined.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    ResponseHead::new(response.status().as_u16(), headers)
}

/// Returns the provider's id of the request.
pub(crate) fn request_id(head: &ResponseHead) -> Option<&str> {
    ["x-request-id", "request-id"]
        .iter()
        .find_map(|name| head.headers.get(*name))
        .map(String::as_str)
        .filter(|id| !id.is_empty())
}

/// Returns the provider's word on whether to try again.
pub(crate) fn should_retry(head: &ResponseHead) -> Option<bool> {
    head.headers.get("x-should-retry")?.parse().ok()
}

/// Returns how long the provider asks to wait: milliseconds, else seconds, else a date, which is
/// compared with `now` in milliseconds since the epoch. What is not a positive time is none.
pub(crate) fn retry_after(head: &ResponseHead, now: u64) -> Option<Duration> {
    let milliseconds = head
        .headers
        .get("retry-after-ms")
        .and_then(|value| positive(value, 1_000.0));
    if milliseconds.is_some() {
        return milliseconds;
    }
    let value = head.headers.get("retry-after")?;
    positive(value, 1.0).or_else(|| {
        let at = httpdate::parse_http_date(value.trim()).ok()?;
        let now = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(now))?;
        at.duration_since(now).ok().filter(|wait| !wait.is_zero())
    })
}

fn positive(value: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = value.trim().parse().ok()?;
    Duration::try_from_secs_f64(number / per_second)
        .ok()
        .filter(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f11_retry_after_is_read_in_all_its_forms() {
        // 2015-10-21 07:28:00 UTC, less 90 s.
        let now = 1_445_412_480_000 - 90_000;
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        let past = "Wed, 21 Oct 2015 07:00:00 GMT";
        for (headers, expected) in [
            (vec![("retry-after", "3")], Some(3_000)),
            (vec![("retry-after", " 0.5 ")], Some(500)),
            (
                vec![("retry-after-ms", "250"), ("retry-after", "9")],
                Some(250),
            ),
            (
                vec![("retry-after-ms", "soon"), ("retry-after", "9")],
                Some(9_000),
            ),
            (vec![("retry-after", date)], Some(90_000)),
            (vec![("retry-after", past)], None),
            (vec![("retry-after", "1000000000")], Some(1_000_000_000_000)),
            (vec![("retry-after", "1e300")], None),
            (vec![("retry-after", "0")], None),
            (vec![("retry-after", "-1")], None),
            (vec![("retry-after", "NaN")], None),
            (vec![("retry-after", "inf")], None),
            (vec![("retry-after", "")], None),
            (vec![], None),
        ] {
            let map = headers
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()));
            let head = ResponseHead::new(429, map.collect());
            let expected = expected.map(Duration::from_millis);
            assert_eq!(retry_after(&head, now), expected, "{headers:?}");
        }
    }
}
