//! What a response costs between the socket and the message.
//!
//! `cargo bench -p pi-ai-wire --bench wire`. Each group runs two or three sizes: the time for an
//! element must not grow with the size.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pi_ai_wire::codec::Decoder;
use pi_ai_wire::sse::SseDecoder;
use pi_ai_wire::{anthropic_messages, openai_completions, openai_responses};
use pi_core::partial_json::PartialJson;
use pi_core::{Assembler, AssistantEvent, AssistantMessage, Model};

/// The size of the pieces in which a body arrives.
const PIECE: usize = 16 * 1024;

fn completions(deltas: usize) -> Bytes {
    let mut body = String::new();
    for _ in 0..deltas {
        body.push_str(concat!(
            r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","#,
            r#""choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}"#,
            "\n\n",
        ));
    }
    body.push_str(concat!(
        r#"data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "\n\ndata: [DONE]\n\n",
    ));
    Bytes::from(body)
}

fn anthropic(deltas: usize) -> Bytes {
    let mut body = String::from(concat!(
        "event: message_start\ndata: ",
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1,"output_tokens":1}}}"#,
        "\n\nevent: content_block_start\ndata: ",
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        "\n\n",
    ));
    for _ in 0..deltas {
        body.push_str(concat!(
            "event: content_block_delta\ndata: ",
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}"#,
            "\n\n",
        ));
    }
    body.push_str(concat!(
        "event: content_block_stop\ndata: ",
        r#"{"type":"content_block_stop","index":0}"#,
        "\n\nevent: message_delta\ndata: ",
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#,
        "\n\nevent: message_stop\ndata: ",
        r#"{"type":"message_stop"}"#,
        "\n\n",
    ));
    Bytes::from(body)
}

fn responses(deltas: usize) -> Bytes {
    let mut body = String::from(concat!(
        "event: response.output_item.added\ndata: ",
        r#"{"type":"response.output_item.added","output_index":0,"#,
        r#""item":{"type":"message","id":"msg_1","content":[]}}"#,
        "\n\n",
    ));
    for _ in 0..deltas {
        body.push_str(concat!(
            "event: response.output_text.delta\ndata: ",
            r#"{"type":"response.output_text.delta","sequence_number":1,"item_id":"msg_1","#,
            r#""output_index":0,"content_index":0,"delta":"word ","logprobs":[]}"#,
            "\n\n",
        ));
    }
    let text = "word ".repeat(deltas);
    body.push_str(&format!(
        "event: response.output_item.done\ndata: \
         {{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{{\"type\":\"message\",\
         \"id\":\"msg_1\",\"content\":[{{\"type\":\"output_text\",\"text\":\"{text}\"}}]}}}}\n\n",
    ));
    body.push_str(concat!(
        "event: response.completed\ndata: ",
        r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed"}}"#,
        "\n\n",
    ));
    Bytes::from(body)
}

fn frames(body: &Bytes, mut each: impl FnMut(&pi_ai_wire::sse::SseFrame)) {
    let mut decoder = SseDecoder::new();
    let mut rest = body.clone();
    while !rest.is_empty() {
        decoder.push(rest.split_to(PIECE.min(rest.len())));
        while let Some(frame) = decoder.next_frame().expect("the body is well formed") {
            each(&frame);
        }
    }
}

fn model(api: &str) -> Arc<Model> {
    Arc::new(Model::new("m", api, "bench", "http://127.0.0.1"))
}

/// Decodes a body and folds its events.
fn decode(body: &Bytes, model: &Model, mut decoder: impl Decoder) -> Arc<AssistantMessage> {
    let mut assembler = Assembler::new(AssistantMessage::empty(model, 0));
    let mut events = VecDeque::new();
    frames(body, |frame| {
        decoder
            .frame(frame, &mut events)
            .expect("the body is well formed");
        while let Some(event) = events.pop_front() {
            assembler.push(&event).expect("the events fit");
        }
    });
    decoder.finish(&mut events).expect("the reply is complete");
    while let Some(event) = events.pop_front() {
        assembler.push(&event).expect("the events fit");
    }
    assembler.into_message()
}

fn count(frame: &pi_ai_wire::sse::SseFrame) {
    black_box(frame.data_bytes().len());
}

fn framing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("framing, bytes");
    for deltas in [1_000, 100_000] {
        let body = completions(deltas);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(BenchmarkId::new("small events", deltas), |bencher| {
            bencher.iter(|| frames(&body, count));
        });
    }
    for megabytes in [1, 4] {
        let data = "x".repeat(megabytes * 1024 * 1024);
        let body = Bytes::from(format!("data: \"{data}\"\n\n"));
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(BenchmarkId::new("one event, MB", megabytes), |bencher| {
            bencher.iter(|| frames(&body, count));
        });
    }
    group.finish();
}

fn codecs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("codec and fold, deltas");
    for deltas in [1_000, 10_000, 100_000] {
        group.throughput(Throughput::Elements(deltas as u64));
        let body = completions(deltas);
        let openai = model(openai_completions::API);
        group.bench_function(BenchmarkId::new("openai-completions", deltas), |bencher| {
            bencher.iter(|| {
                decode(
                    &body,
                    &openai,
                    openai_completions::Decoder::new(Arc::clone(&openai)),
                )
            });
        });
        let body = responses(deltas);
        let openai = model(openai_responses::API);
        group.bench_function(BenchmarkId::new("openai-responses", deltas), |bencher| {
            bencher.iter(|| {
                decode(
                    &body,
                    &openai,
                    openai_responses::Decoder::new(Arc::clone(&openai)),
                )
            });
        });
        let body = anthropic(deltas);
        let claude = model(anthropic_messages::API);
        group.bench_function(BenchmarkId::new("anthropic-messages", deltas), |bencher| {
            bencher.iter(|| {
                decode(
                    &body,
                    &claude,
                    anthropic_messages::Decoder::new(Arc::clone(&claude)),
                )
            });
        });
    }
    group.finish();
}

fn arguments(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tool arguments in 4-byte deltas, bytes");
    for kilobytes in [100, 1_000] {
        let string = format!(r#"{{"text":"{}"}}"#, "word ".repeat(kilobytes * 200));
        let fields: Vec<String> = (0..kilobytes * 1000 / 15)
            .map(|n| format!(r#""f{n:06}":{n}"#))
            .collect();
        let fields = format!("{{{}}}", fields.join(","));
        for (name, text) in [("one string", &string), ("many fields", &fields)] {
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_function(BenchmarkId::new(name, kilobytes), |bencher| {
                bencher.iter(|| {
                    let mut parser = PartialJson::new();
                    let mut value = serde_json::Map::new();
                    for at in (0..text.len()).step_by(4) {
                        parser.push(&mut value, &text[at..(at + 4).min(text.len())]);
                    }
                    parser.finish(&mut value).expect("the text is complete");
                    value
                });
            });
        }
    }
    group.finish();
}

fn fold(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("assembler, deltas");
    for deltas in [10_000, 250_000] {
        let event = AssistantEvent::TextDelta {
            content_index: 0,
            delta: "word".into(),
        };
        let model = model("bench");
        group.throughput(Throughput::Elements(deltas as u64));
        group.bench_function(BenchmarkId::new("text", deltas), |bencher| {
            bencher.iter(|| {
                let mut assembler = Assembler::new(AssistantMessage::empty(&model, 0));
                let start = AssistantEvent::TextStart { content_index: 0 };
                assembler.push(&start).expect("the events fit");
                for _ in 0..deltas {
                    assembler.push(black_box(&event)).expect("the events fit");
                    black_box(Arc::clone(assembler.message()));
                }
                assembler.into_message()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, framing, codecs, arguments, fold);
criterion_main!(benches);
