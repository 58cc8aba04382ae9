//! Addresses as they may be shown: without user info, query and fragment.

use pi_core::{ErrorKind, ProviderError};
use reqwest::Url;

/// Returns an address as it may be shown and logged: without user info, query and fragment, which
/// can hold secrets.
///
/// What cannot be read as an address is not repeated: the text is then `(invalid address)`.
///
/// # Examples
/// ```
/// let shown = pi_http::shown_url("https://me:secret@example.com/v1/models?key=secret#top");
/// assert_eq!(shown, "https://example.com/v1/models");
/// ```
#[must_use]
pub fn shown_url(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) => shown(url),
        Err(_) => "(invalid address)".to_owned(),
    }
}

/// Returns host and port of an address, the port of its scheme where it names none; `None` for what
/// cannot be read as an address of a host.
///
/// # Examples
/// ```
/// let server = pi_http::server_of("https://api.example.com/v1");
/// assert_eq!(server, Some(("api.example.com".to_owned(), 443)));
/// ```
#[must_use]
pub fn server_of(url: &str) -> Option<(String, u16)> {
    let url = Url::parse(url.trim()).ok()?;
    let host = url.host_str()?.to_owned();
    Some((host, url.port_or_known_default()?))
}

/// Reads the address of a call.
pub(crate) fn parse(url: &str) -> Result<Url, ProviderError> {
    let invalid = |why: &dyn std::fmt::Display| {
        let text = format!("the address of the provider is not valid: {why}");
        ProviderError::new(ErrorKind::InvalidRequest, text)
    };
    let url = Url::parse(url.trim()).map_err(|error| invalid(&error))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(invalid(&format!(
            "it must begin with http:// or https://, not {scheme}:"
        ))),
    }
}

/// Returns host and port, which is all that a failed connection needs to name.
pub(crate) fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Returns true if the address is this machine: a loopback address or a name below `localhost`.
///
/// # Examples
/// ```
/// assert!(pi_http::is_loopback("http://localhost:11434/v1"));
/// assert!(!pi_http::is_loopback("https://localhost.example.com"));
/// ```
#[must_use]
pub fn is_loopback(url: &str) -> bool {
    Url::parse(url.trim()).is_ok_and(|url| is_this_machine(&url))
}

/// Returns true if the address is this machine.
pub(crate) fn is_this_machine(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}

/// Returns true if the address is one that no router forwards, as those are by which clouds hand out
/// credentials. No proxy has a way to it.
pub(crate) fn is_link_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.parse::<std::net::Ipv4Addr>();
    address.is_ok_and(|address| address.is_link_local())
}

/// Returns the target of a redirect as it may be shown.
pub(crate) fn shown_target(from: &Url, location: &str) -> String {
    match from.join(location) {
        Ok(url) => shown(url),
        Err(_) => "(invalid address)".to_owned(),
    }
}

fn shown(mut url: Url) -> String {
    url.set_query(None);
    url.set_fragment(None);
    // These fail only where an address cannot have user info, so there is none to hide.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_own_network_are_known() {
        for (url, expected) in [
            ("http://169.254.169.254/latest", true),
            ("http://169.254.170.2/v2", true),
            ("http://169.253.1.1", false),
            ("http://example.com", false),
        ] {
            assert_eq!(is_link_local(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn secrets_of_an_address_are_not_shown() {
        for (url, expected) in [
            ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
            (
                "https://user:pa55@host/v1?api-key=pa55#pa55",
                "https://host/v1",
            ),
            ("pa55", "(invalid address)"),
            ("data:pa55?pa55", "data:pa55"),
        ] {
            assert_eq!(shown_url(url), expected, "{url}");
        }
    }

    #[test]
    fn loopback_is_told_by_name_and_address() {
        for (url, expected) in [
            ("http://localhost:1234/v1", true),
            ("http://api.localhost/v1", true),
            ("http://127.0.0.2", true),
            ("http://[::1]:8080", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example.com", false),
        ] {
            assert_eq!(is_loopback(url), expected, "{url}");
        }
    }

    #[test]
    fn an_address_without_http_is_refused_without_repeating_it() {
        for url in ["", "sk-s3cret", "ftp://sk-s3cret@host", "localhost:8080"] {
            let error = parse(url).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::InvalidRequest);
            assert!(!error.message().contains("s3cret"), "{error}");
        }
    }
}
