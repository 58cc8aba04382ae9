//! Stored responses through the codecs, without any socket.

use std::collections::BTreeMap;

use integration_tests::delivery::Delivery;
use integration_tests::observe::{self, Observation};
use pi_ai_wire::codec::Decoder;
use pi_core::{AssistantEvent, Context, Request};
use proptest::prelude::*;

use crate::fixtures::{self, ALL, Fixture};

fn decoder(fixture: &Fixture) -> (Box<dyn Decoder>, Request) {
    let model = fixtures::model(&fixture.api, "http://127.0.0.1/v1");
    let request = Request::new(model, Context::default());
    ((fixtures::api(fixture).decoder)(&request), request)
}

fn decode(fixture: &Fixture, pieces: &[bytes::Bytes]) -> Observation {
    let (decoder, request) = decoder(fixture);
    Observation::of_decoder(decoder, &request.model, pieces)
}

#[test]
fn each_response_gives_these_events_and_this_message() {
    for fixture in ALL.iter() {
        let observation = decode(fixture, &Delivery::Whole.cut(&fixture.body));
        fixture.assert_snapshot(&observation);
    }
}

#[test]
fn each_reply_has_calls_with_ids_of_their_own() {
    for fixture in ALL.iter() {
        let observation = decode(fixture, &Delivery::Whole.cut(&fixture.body));
        assert_eq!(observation.check_ids(), Ok(()), "{}", fixture.case);
    }
}

#[test]
fn f23_any_delivery_gives_the_same_reply() {
    for fixture in ALL.iter() {
        let whole = fixtures::shown(&decode(fixture, &Delivery::Whole.cut(&fixture.body)));
        for delivery in Delivery::ALL {
            let cut = decode(fixture, &delivery.cut(&fixture.body));
            assert_eq!(fixtures::shown(&cut), whole, "{}, {delivery}", fixture.case);
        }
    }
}

proptest! {
    #[test]
    fn f23_any_cuts_give_the_same_reply(
        place in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let fixture = place.get(&ALL);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(fixture.body.len())).collect();
        cuts.push(fixture.body.len());
        cuts.sort_unstable();
        let mut start = 0;
        let pieces: Vec<_> = cuts
            .into_iter()
            .map(|end| fixture.body.slice(std::mem::replace(&mut start, end)..end))
            .collect();
        let whole = decode(fixture, &Delivery::Whole.cut(&fixture.body));
        prop_assert_eq!(fixtures::shown(&decode(fixture, &pieces)), fixtures::shown(&whole));
    }

    /// P2: what was shown is what is kept, but for the end of a block that has another text.
    #[test]
    fn deltas_add_up_to_the_message(place in any::<prop::sample::Index>()) {
        let fixture = place.get(&ALL);
        let pieces = Delivery::Whole.cut(&fixture.body);
        let framing = integration_tests::apis::framing(&fixture.api);
        let mut texts: BTreeMap<usize, String> = BTreeMap::new();
        for event in observe::fold(framing, decoder(fixture).0, &pieces) {
            match event {
                AssistantEvent::TextDelta { content_index, delta } => {
                    texts.entry(content_index).or_default().push_str(&delta);
                }
                AssistantEvent::TextEnd { content_index, content: Some(whole), .. } => {
                    texts.insert(content_index, whole);
                }
                _ => {}
            }
        }
        let text: String = texts.into_values().collect();
        prop_assert_eq!(text, decode(fixture, &pieces).reply.text());
    }
}
