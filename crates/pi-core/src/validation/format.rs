//! Formats that `ajv-formats` reads differently from the engine, or that only it knows.

use jsonschema::ValidationOptions;

/// Registers the formats; all others are the engine's.
pub(super) fn register(options: ValidationOptions<'_>) -> ValidationOptions<'_> {
    options
        .with_format("byte", is_base64)
        .with_format("date-time", |text: &str| is_date_time(text, Zone::Required))
        .with_format("email", is_email)
        .with_format("iso-date-time", |text: &str| {
            is_date_time(text, Zone::Optional)
        })
        .with_format("iso-time", |text: &str| is_time(text, Zone::Optional))
        .with_format("time", |text: &str| is_time(text, Zone::Required))
        .with_format("url", is_url)
        .with_format("uuid", is_uuid)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    Required,
    Optional,
}

/// Accepts RFC 3339, white space in place of the `T`, and offsets without colon or minutes.
fn is_date_time(text: &str, zone: Zone) -> bool {
    let separator = |c: char| c.eq_ignore_ascii_case(&'t') || c.is_whitespace();
    let parts = text.split_once(separator);
    parts.is_some_and(|(date, time)| is_date(date) && is_time(time, zone))
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next(), parts.next(), parts.next());
    let (Some(year), Some(month), Some(day), None) = (
        digits(year, 4),
        digits(month, 2),
        digits(day, 2),
        parts.next(),
    ) else {
        return false;
    };
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap_year => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str, zone: Zone) -> bool {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let offset = match offset {
        "" => (zone == Zone::Optional).then_some(0),
        "Z" | "z" => Some(0),
        _ => offset_minutes(offset),
    };
    let mut parts = clock.split(':');
    let (hour, minute, second) = (parts.next(), parts.next(), parts.next());
    let (second, fraction) = match second.and_then(|second| second.split_once('.')) {
        Some((second, fraction)) => (Some(second), fraction),
        None => (second, "0"),
    };
    let (Some(offset), Some(hour), Some(minute), Some(second), None) = (
        offset,
        digits(hour, 2),
        digits(minute, 2),
        digits(second, 2),
        parts.next(),
    ) else {
        return false;
    };
    let has_fraction = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    // Leap seconds end a day in UTC.
    let utc_minute = (hour * 60 + minute - offset).rem_euclid(24 * 60);
    let last_second = if utc_minute == 24 * 60 - 1 { 60 } else { 59 };
    has_fraction && hour <= 23 && minute <= 59 && second <= last_second
}

fn offset_minutes(text: &str) -> Option<i32> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let text = text.get(1..)?;
    let (hours, minutes) = match text.split_once(':') {
        Some((hours, minutes)) => (hours, minutes),
        None if text.len() == 4 => (text.get(..2)?, text.get(2..)?),
        None => (text, "00"),
    };
    let hours = digits(Some(hours), 2).filter(|hours| *hours <= 23)?;
    let minutes = digits(Some(minutes), 2).filter(|minutes| *minutes <= 59)?;
    Some(sign * (hours * 60 + minutes))
}

fn digits(text: Option<&str>, count: usize) -> Option<i32> {
    let text = text.filter(|text| text.len() == count)?;
    let all = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| all)
}

/// Accepts plain addresses at a domain of two or more labels: no quotes, no comments, no address
/// literals.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else {
        return false;
    };
    let is_atom = |atom: &str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+/=?^_`{|}~-".contains(&b);
        !atom.is_empty() && atom.bytes().all(allowed)
    };
    let is_label = |label: &str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        let hyphen_outside = label.starts_with('-') || label.ends_with('-');
        !label.is_empty() && !hyphen_outside && label.bytes().all(allowed)
    };
    local.split('.').all(is_atom) && domain.contains('.') && domain.split('.').all(is_label)
}

/// Accepts web addresses; more of them than `ajv-formats`, which refuses private hosts.
fn is_url(text: &str) -> bool {
    let schemes = ["http://", "https://", "ftp://"];
    let rest = schemes.iter().find_map(|scheme| {
        let head = text.get(..scheme.len())?;
        let rest = text.get(scheme.len()..)?;
        head.eq_ignore_ascii_case(scheme).then_some(rest)
    });
    rest.is_some_and(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !host.is_empty() && !rest.contains(char::is_whitespace)
    })
}

fn is_uuid(text: &str) -> bool {
    const PREFIX: &str = "urn:uuid:";
    let prefixed = text
        .get(..PREFIX.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(PREFIX));
    let text = if prefixed {
        text.get(PREFIX.len()..)
    } else {
        Some(text)
    };
    let lengths = [8, 4, 4, 4, 12];
    let is_group = |(group, length): (&str, usize)| {
        group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    text.is_some_and(|text| {
        text.split('-').count() == lengths.len() && text.split('-').zip(lengths).all(is_group)
    })
}

fn is_base64(text: &str) -> bool {
    let data = text.trim_end_matches('=');
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    text.len().is_multiple_of(4) && text.len() - data.len() <= 2 && data.bytes().all(allowed)
}
