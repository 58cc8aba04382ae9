use proptest::prelude::*;

use super::*;

/// The type of a string header.
const STRING: u8 = 7;

/// CRC-32 bit by bit, to check against.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (0_u32.wrapping_sub(crc & 1)));
        }
    }
    !crc
}

fn frame_of(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(MIN_FRAME_BYTES + headers.len() + payload.len()).expect("short");
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend(u32::try_from(headers.len()).expect("short").to_be_bytes());
    frame.extend(crc(&frame).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload);
    frame.extend(crc(&frame).to_be_bytes());
    frame
}

fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in headers {
        bytes.push(u8::try_from(name.len()).expect("short"));
        bytes.extend(name.as_bytes());
        bytes.push(STRING);
        bytes.extend(u16::try_from(value.len()).expect("short").to_be_bytes());
        bytes.extend(value.as_bytes());
    }
    frame_of(&bytes, payload.as_bytes())
}

fn event(name: &str, payload: &str) -> Vec<u8> {
    let headers = [
        (":event-type", name),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    frame(&headers, payload)
}

/// The names and data of the frames, and how it ended, of a body that comes in pieces of `size`.
fn decode(body: &[u8], size: usize, limit: usize) -> (Vec<(String, String)>, Result<(), AwsError>) {
    let mut decoder = AwsDecoder::new().with_max_event_bytes(limit);
    let mut frames = Vec::new();
    let mut run = || {
        for piece in body.chunks(size) {
            decoder.push(Bytes::copy_from_slice(piece));
            while let Some(frame) = decoder.next_frame()? {
                frames.push((frame.event().to_owned(), frame.data().into_owned()));
            }
        }
        while let Some(frame) = decoder.finish()? {
            frames.push((frame.event().to_owned(), frame.data().into_owned()));
        }
        Ok(())
    };
    let result = run();
    (frames, result)
}

fn whole(body: &[u8]) -> (Vec<(String, String)>, Result<(), AwsError>) {
    decode(body, body.len().max(1), DEFAULT_LIMIT_BYTES)
}

#[test]
fn events_exceptions_and_errors_have_names_of_their_own() {
    let exception = |payload| {
        let headers = [
            (":exception-type", "throttlingException"),
            (":message-type", "exception"),
        ];
        frame(&headers, payload)
    };
    let error = [
        (":message-type", "error"),
        (":error-code", "InternalError"),
        (":error-message", "it \"broke\""),
    ];
    let body = [
        event("messageStart", r#"{"role":"assistant"}"#),
        event("messageStart", ""),
        exception(r#"{"message":"slow down"}"#),
        exception(""),
        frame(&error, ""),
        frame(&[(":message-type", "event")], "{}"),
        frame(&[], "{}"),
    ];
    let expected = [
        ("messageStart", r#"{"role":"assistant"}"#),
        ("messageStart", ""),
        (
            "exception:throttlingException",
            r#"{"message":"slow down"}"#,
        ),
        ("exception:throttlingException", "{}"),
        ("error:InternalError", r#"{"message":"it \"broke\""}"#),
        ("", "{}"),
        ("", "{}"),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
        .collect();
    assert_eq!(whole(&body.concat()), (expected, Ok(())));
}

#[test]
fn a_broken_frame_is_an_error_behind_those_before_it() {
    let good = event("messageStart", "{}");
    let broken = |at: usize| {
        let mut bad = event("messageStop", "{}");
        if let Some(byte) = bad.get_mut(at) {
            *byte ^= 1;
        }
        whole(&[good.clone(), bad].concat())
    };
    for at in 0..event("messageStop", "{}").len() {
        let (frames, result) = broken(at);
        assert_eq!(frames.len(), 1, "byte {at}");
        assert!(
            matches!(result, Err(AwsError::Broken { .. })),
            "byte {at}: {result:?}"
        );
    }
}

#[test]
fn a_body_that_ends_inside_a_frame_is_cut() {
    let body = [event("messageStart", "{}"), event("messageStop", "{}")].concat();
    let first = event("messageStart", "{}").len();
    for end in 0..=body.len() {
        let (frames, result) = whole(body.get(..end).expect("within"));
        let at_end_of_frame = [0, first, body.len()].contains(&end);
        assert_eq!(result.is_ok(), at_end_of_frame, "{end} bytes");
        assert!(
            result.is_ok() || result == Err(AwsError::Cut),
            "{end} bytes"
        );
        assert_eq!(
            frames.len(),
            usize::from(end >= first) + usize::from(end == body.len())
        );
    }
}

#[test]
fn a_frame_beyond_the_limit_is_refused_at_its_beginning() {
    let body = event("messageStart", &"x".repeat(200));
    assert!(decode(&body, 1, body.len()).1.is_ok());
    let limit = body.len() - 1;
    let head = body.get(..PRELUDE_BYTES).expect("a prelude");
    assert_eq!(
        decode(head, 1, limit),
        (Vec::new(), Err(AwsError::TooLong { limit }))
    );
}

#[test]
fn an_error_stays_and_lets_go_of_memory() {
    let mut decoder = AwsDecoder::new();
    decoder.push(Bytes::from_static(b"this is no event stream"));
    let error = decoder.next_frame().expect_err("no frame");
    decoder.push(event("messageStart", "{}").into());
    assert_eq!(decoder.next_frame(), Err(error.clone()));
    assert_eq!(decoder.finish(), Err(error));
    assert!(decoder.unread.is_empty() && decoder.partial.is_empty());
}

#[test]
fn a_frame_in_small_pieces_takes_linear_time() {
    let body = event("messageStart", &"x".repeat(2 << 20));
    assert_eq!(decode(&body, 7, DEFAULT_LIMIT_BYTES).0.len(), 1);
}

fn any_events() -> impl Strategy<Value = Vec<u8>> {
    let event = ("[a-z]{0,12}", "\\PC{0,40}").prop_map(|(name, data)| event(&name, &data));
    prop::collection::vec(event, 0..5).prop_map(|events| events.concat())
}

proptest! {
    #[test]
    fn f23_any_cuts_give_the_same_frames(body in any_events(), size in 1_usize..40) {
        prop_assert_eq!(decode(&body, size, DEFAULT_LIMIT_BYTES), whole(&body));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(body in prop::collection::vec(any::<u8>(), 0..200), size in 1_usize..40) {
        prop_assert_eq!(decode(&body, size, DEFAULT_LIMIT_BYTES), whole(&body));
    }

    /// Headers come with right checksums here, or nobody would look at them.
    #[test]
    fn any_headers_are_read_without_a_panic(
        headers in prop::collection::vec(any::<u8>(), 0..80),
        payload in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let _ = whole(&frame_of(&headers, &payload));
    }

    /// The lengths are any, and their checksum is right.
    #[test]
    fn any_lengths_are_read_without_a_panic(length in 0_u32..300, headers in any::<u32>(), rest in prop::collection::vec(any::<u8>(), 0..300)) {
        for headers in [headers, headers % 300] {
            let mut body = length.to_be_bytes().to_vec();
            body.extend(headers.to_be_bytes());
            body.extend(crc(&body).to_be_bytes());
            body.extend(&rest);
            let (frames, result) = whole(&body);
            prop_assert!(frames.is_empty() && result.is_err());
        }
    }

    #[test]
    fn a_flipped_bit_never_goes_unseen(body in any_events(), at in any::<prop::sample::Index>(), bit in 0_u32..8) {
        prop_assume!(!body.is_empty());
        let mut flipped = body.clone();
        let at = at.index(body.len());
        if let Some(byte) = flipped.get_mut(at) {
            *byte ^= 1_u8 << bit;
        }
        let (frames, result) = whole(&flipped);
        prop_assert!(result.is_err());
        let before = whole(&body).0;
        prop_assert!(before.starts_with(&frames));
    }
}
