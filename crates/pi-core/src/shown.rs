//! How values that can hold secrets are shown in `Debug`.

use std::collections::BTreeMap;
use std::fmt;

/// Headers, by their names only: a value can be a key.
pub(crate) struct Headers<'a>(pub(crate) &'a BTreeMap<String, String>);

impl fmt::Debug for Headers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// An address without user info, query and fragment.
pub(crate) struct Address<'a>(pub(crate) &'a str);

impl fmt::Debug for Address<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.find(['?', '#']).unwrap_or(self.0.len());
        let (address, hidden) = self.0.split_at(end);
        let (scheme, rest) = address.split_at(address.find("//").map_or(0, |start| start + 2));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((_, host)) => ("..@", host),
            None => ("", authority),
        };
        let query = if hidden.is_empty() { "" } else { "?.." };
        write!(f, "\"{scheme}{user}{host}{path}{query}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_secret_is_shown() {
        for (address, expected) in [
            ("https://host/v1", "https://host/v1"),
            ("https://me:s3cret@host:1/v1", "https://..@host:1/v1"),
            ("https://a@s3cret@host", "https://..@host"),
            ("https://host/v1?key=s3cret#s3cret", "https://host/v1?.."),
            ("https://host/v1#s3cret", "https://host/v1?.."),
            ("https://host/a@b", "https://host/a@b"),
            ("s3cret@host", "..@host"),
            ("", ""),
        ] {
            assert_eq!(format!("{:?}", Address(address)), format!("\"{expected}\""));
        }
        let headers = BTreeMap::from([("x-key".to_owned(), "s3cret".to_owned())]);
        assert_eq!(format!("{:?}", Headers(&headers)), r#"["x-key"]"#);
    }
}
