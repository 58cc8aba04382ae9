use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;

/// A frame as (event, data, id).
type Row<'a> = (&'a str, &'a str, &'a str);

/// What the decoder made of a body: the frames as (event, data, id), and how it ended.
#[derive(Debug, PartialEq)]
struct Outcome {
    frames: Vec<(String, String, String)>,
    end: Result<(), SseError>,
    last_event_id: Option<String>,
    retry: Option<Duration>,
    comments: u64,
}

fn decode_with<'a>(mut decoder: SseDecoder, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut frames = Vec::new();
    let mut take = |frame: SseFrame| {
        frames.push((
            frame.event().to_owned(),
            frame.data().into_owned(),
            frame.id().to_owned(),
        ));
    };
    let mut end = Ok(());
    for piece in pieces {
        decoder.push(Bytes::copy_from_slice(piece));
        while let Some(frame) = decoder.next_frame().unwrap_or(None) {
            take(frame);
        }
    }
    loop {
        match decoder.finish() {
            Ok(Some(frame)) => take(frame),
            Ok(None) => break,
            Err(error) => {
                end = Err(error);
                break;
            }
        }
    }
    Outcome {
        frames,
        end,
        last_event_id: decoder.last_event_id().map(str::to_owned),
        retry: decoder.retry(),
        comments: decoder.comments(),
    }
}

fn decode(body: &[u8]) -> Outcome {
    decode_with(SseDecoder::new(), [body])
}

/// Checks the frames of a body, delivered whole, byte by byte, and in two pieces cut anywhere.
#[track_caller]
fn check(body: impl AsRef<[u8]>, end: Result<(), SseError>, frames: &[Row<'_>]) {
    let body = body.as_ref();
    let whole = decode(body);
    let seen: Vec<_> = whole
        .frames
        .iter()
        .map(|(e, d, i)| (&**e, &**d, &**i))
        .collect();
    assert_eq!(seen, frames, "body: {:?}", String::from_utf8_lossy(body));
    assert_eq!(whole.end, end, "body: {:?}", String::from_utf8_lossy(body));
    assert_eq!(
        decode_with(SseDecoder::new(), body.chunks(1)),
        whole,
        "byte by byte"
    );
    for cut in 0..=body.len() {
        let (head, tail) = body.split_at(cut);
        assert_eq!(
            decode_with(SseDecoder::new(), [head, tail]),
            whole,
            "cut at {cut}"
        );
    }
}

#[test]
fn cr_lf_and_crlf_each_end_one_line() {
    let lines = [
        "event: note",
        "data: first",
        "data: second",
        "",
        "data:{\"n\":2}",
        "",
        "",
    ];
    for end in ["\n", "\r", "\r\n"] {
        check(
            lines.join(end),
            Ok(()),
            &[("note", "first\nsecond", ""), ("message", "{\"n\":2}", "")],
        );
    }
    check(
        "data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\n",
        Ok(()),
        &[("message", "a\nb\nc", ""), ("message", "d", "")],
    );
    check(
        "data: a\r\r\ndata: b\n\r",
        Ok(()),
        &[("message", "a", ""), ("message", "b", "")],
    );
}

#[test]
fn fields_are_read_as_the_standard_says() {
    let cases: &[(&str, &[Row<'_>])] = &[
        ("", &[]),
        ("\n\n\n", &[]),
        ("data:x\n\n", &[("message", "x", "")]),
        ("data:  x \n\n", &[("message", " x ", "")]),
        ("data\n\n", &[("message", "", "")]),
        ("data\ndata\n\n", &[("message", "\n", "")]),
        ("data: a:b: c\n\n", &[("message", "a:b: c", "")]),
        ("event: ping\n\ndata: x\n\n", &[("message", "x", "")]),
        ("event: a\nevent:b\ndata: x\n\n", &[("b", "x", "")]),
        ("event: a\nevent\ndata: x\n\n", &[("message", "x", "")]),
        (
            "event: a\ndata: x\n\ndata: y\n\n",
            &[("a", "x", ""), ("message", "y", "")],
        ),
        (
            "Data: a\n data: b\ndatas: c\nfoo\ndata: x\n\n",
            &[("message", "x", "")],
        ),
        (
            ": data: a\n:\n:data: b\ndata: x\n\n",
            &[("message", "x", "")],
        ),
        (
            "data: a\n: between\ndata: b\n\n",
            &[("message", "a\nb", "")],
        ),
        (
            "id: 1\ndata: a\n\ndata: b\n\n",
            &[("message", "a", "1"), ("message", "b", "1")],
        ),
        ("id: 1\n\ndata: b\n\n", &[("message", "b", "1")]),
        ("id: 1\nid: 2\0\ndata: a\n\n", &[("message", "a", "1")]),
        (
            "id: 1\ndata: a\n\nid\ndata: b\n\n",
            &[("message", "a", "1"), ("message", "b", "")],
        ),
    ];
    for (body, frames) in cases {
        check(body, Ok(()), frames);
    }
}

#[test]
fn one_leading_byte_order_mark_is_dropped() {
    check("\u{feff}data: x\n\n", Ok(()), &[("message", "x", "")]);
    check(
        "\u{feff}\u{feff}data: x\n\ndata: y\n\n",
        Ok(()),
        &[("message", "y", "")],
    );
    check(
        "data: x\n\n\u{feff}data: y\n\n",
        Ok(()),
        &[("message", "x", "")],
    );
    check("\u{feff}data: {}", Ok(()), &[("message", "{}", "")]);
    check("\u{feff}", Ok(()), &[]);
}

#[test]
fn retry_counts_only_when_made_of_digits() {
    let cases = [
        ("retry: 10\n", Some(10)),
        ("retry:0\n", Some(0)),
        ("retry: 10\nretry: x\n", Some(10)),
        ("retry: 10\nretry: 20\n", Some(20)),
        ("retry: -1\n", None),
        ("retry: 1.5\n", None),
        ("retry: +1\n", None),
        ("retry\n", None),
        ("retry: 99999999999999999999999\n", None),
    ];
    for (body, milliseconds) in cases {
        assert_eq!(
            decode(body.as_bytes()).retry,
            milliseconds.map(Duration::from_millis),
            "{body}"
        );
    }
}

#[test]
fn invalid_utf_8_is_replaced_and_valid_characters_survive_any_cut() {
    check(
        "data: 修复 🌍 naïve\n\n".as_bytes(),
        Ok(()),
        &[("message", "修复 🌍 naïve", "")],
    );
    check(
        b"event: \xff\nid: \xfe\ndata: a\xf0\x9f\ndata: b\xc3\n\ndata: ok\n\n",
        Ok(()),
        &[
            ("\u{fffd}", "a\u{fffd}\nb\u{fffd}", "\u{fffd}"),
            ("message", "ok", "\u{fffd}"),
        ],
    );
}

#[test]
fn a_last_event_without_blank_line_is_handed_out_when_whole() {
    let cases: &[(&str, &[Row<'_>])] = &[
        ("data: {\"a\":[1]}", &[("message", "{\"a\":[1]}", "")]),
        ("data: {}\n", &[("message", "{}", "")]),
        ("event: e\ndata: {}\r\n", &[("e", "{}", "")]),
        ("data: {\ndata: }", &[("message", "{\n}", "")]),
        ("data: [DONE]", &[("message", "[DONE]", "")]),
        ("data: {}\n: keep-al", &[("message", "{}", "")]),
        ("id: 1\ndata: {}\nid: 2", &[("message", "{}", "1")]),
        ("data: a\n\n: keep-al", &[("message", "a", "")]),
        ("data: a\n\nid: 7\nretry: 1\n: x\n", &[("message", "a", "")]),
        ("data: a\n\nid: 7", &[("message", "a", "")]),
    ];
    for (body, frames) in cases {
        check(body, Ok(()), frames);
    }
}

#[test]
fn an_event_cut_by_the_end_of_the_body_is_reported() {
    let cases = [
        "data: {\"a\":",
        "data: {\"a\":1}\ndata: {",
        "data: {}\nda",
        "data: {}\nevent: respon",
        "data:",
        "data: [DON",
        "event: message_stop",
        "event: message_stop\n",
        "da",
    ];
    for body in cases {
        check(body, Err(SseError::Cut), &[]);
        check(
            format!("data: a\n\n{body}"),
            Err(SseError::Cut),
            &[("message", "a", "")],
        );
    }
}

#[test]
fn the_id_of_a_cut_event_is_not_the_last_event_id() {
    let seen = |body: &[u8]| decode(body).last_event_id;
    assert_eq!(
        seen(b"id: 1\ndata: a\n\nid: 2\ndata: {").as_deref(),
        Some("1")
    );
    assert_eq!(
        seen(b"id: 1\ndata: a\n\nid: 2\ndata: {}").as_deref(),
        Some("2")
    );
    assert_eq!(seen(b"id: 1\n\n").as_deref(), Some("1"));
    assert_eq!(seen(b"id: 1\n"), None);
}

#[test]
fn limits_are_typed_errors_and_hold_for_any_delivery() {
    let decoder = || {
        SseDecoder::new()
            .with_max_line_bytes(12)
            .with_max_event_bytes(8)
    };
    let line = Err(SseError::LineTooLong { limit: 12 });
    let event = Err(SseError::EventTooLong { limit: 8 });
    let cases = [
        ("data: 12345\n\ndata: 123456\n\n", 2, Ok(())),
        ("data: a\n\ndata: 1234567\n\ndata: b\n\n", 1, line),
        ("data: a\n\ndata: 12345678901234567890", 1, line),
        ("data: a\n\n: a comment too long\n\n", 1, line),
        ("data: 1234\ndata: 567\n\n", 1, Ok(())),
        ("data: a\n\ndata: 1234\ndata: 5678\n\ndata: b\n\n", 1, event),
        (
            "data: a\n\ndata\ndata\ndata\ndata\ndata\ndata\ndata\ndata\ndata\ndata",
            1,
            event,
        ),
    ];
    for (body, frames, end) in cases {
        let body = body.as_bytes();
        let whole = decode_with(decoder(), [body]);
        assert_eq!((whole.frames.len(), whole.end), (frames, end));
        for size in 1..body.len() {
            assert_eq!(
                decode_with(decoder(), body.chunks(size)).end,
                end,
                "pieces of {size}"
            );
        }
    }
}

#[test]
fn an_error_lets_go_of_memory_and_stays() {
    let mut decoder = SseDecoder::new().with_max_line_bytes(4);
    let error = SseError::LineTooLong { limit: 4 };
    decoder.push(Bytes::from_static(b"data: x\n\n"));
    assert_eq!(decoder.next_frame(), Err(error));
    decoder.push(Bytes::from_static(b"id\n\n"));
    assert_eq!((decoder.unread.len(), decoder.line.capacity()), (0, 0));
    assert_eq!(decoder.next_frame(), Err(error));
    assert_eq!(decoder.finish(), Err(error));
}

#[test]
fn a_data_line_in_one_piece_is_not_copied() {
    let piece = Bytes::from(b"event: e\ndata: {\"a\":1}\n\n".to_vec());
    let mut decoder = SseDecoder::new();
    decoder.push(piece.clone());
    let frame = decoder.next_frame().unwrap().unwrap();
    assert!(piece.as_ptr_range().contains(&frame.data_bytes().as_ptr()));
    assert!(matches!(frame.data(), Cow::Borrowed("{\"a\":1}")));
}

#[test]
fn comments_alone_can_be_told_from_the_beginning_of_an_event() {
    let mut decoder = SseDecoder::new();
    let mut after = |piece: &'static str| {
        decoder.push(piece.into());
        let frame = decoder.next_frame().unwrap();
        (
            frame.is_some(),
            decoder.comments(),
            decoder.has_partial_event(),
        )
    };
    assert_eq!(after(": ping\n\n: ping\n\n"), (false, 2, false));
    assert_eq!(after("dat"), (false, 2, true));
    assert_eq!(after("a: x\n"), (false, 2, true));
    assert_eq!(after("\n"), (true, 2, false));
    assert_eq!(after("event: x\n"), (false, 2, true));
}

#[test]
fn pieces_pushed_ahead_are_read_in_order() {
    let mut decoder = SseDecoder::new();
    for piece in ["data: a\r", "", "\n\r\nda", "ta: b\n", "\n"] {
        decoder.push(piece.into());
    }
    let mut data = Vec::new();
    while let Some(frame) = decoder.finish().unwrap() {
        data.push(frame.data().into_owned());
    }
    assert_eq!(data, ["a", "b"]);
}

proptest! {
    #[test]
    fn any_split_gives_the_same_as_the_whole(
        parts in vec(
            select(vec![
                &b"\r"[..], b"\n", b"\r\n", b"data", b"event", b"id", b"retry", b":", b" ", b"7",
                b"{}", b"\0", b"\xEF\xBB\xBF", b"\xF0\x9F\x8C\x8D", b"\xC3", b": ping", b"data: x\n\n",
            ]),
            0..40,
        ),
        cuts in vec(any::<Index>(), 0..12),
        limit in 4_usize..64,
    ) {
        let body = parts.concat();
        let decoder = || SseDecoder::new().with_max_line_bytes(limit).with_max_event_bytes(limit);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]);
        prop_assert_eq!(decode_with(decoder(), pieces), decode_with(decoder(), [&*body]));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(body in any::<Vec<u8>>()) {
        prop_assert_eq!(
            decode_with(SseDecoder::new(), body.chunks(3)),
            decode(&body)
        );
    }
}
