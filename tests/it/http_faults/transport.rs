//! Faults of TLS, of proxies, of HTTP/2 and of hostile servers.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use integration_tests::fault_server::Script;
use pi_core::{ErrorKind, ProviderError};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::world::{END, OPENAI, World, good, serve, word};

/// A certificate authority of the test.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// The configuration of a server with a certificate for `name`.
    fn server(&self, name: &str, until_year: i32) -> ServerConfig {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(until_year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap()
    }
}

/// A client that trusts an authority.
fn trusting(authority: &Authority) -> reqwest::Client {
    let mut roots = RootCertStore::empty();
    roots.add(authority.0.der().clone()).unwrap();
    let builder = reqwest::Client::builder().no_proxy();
    builder
        .tls_backend_preconfigured(tls_with(roots))
        .build()
        .unwrap()
}

fn tls_with(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// A server over TLS that answers every request well, and counts connections.
async fn serve_tls(config: ServerConfig) -> (u16, Arc<AtomicUsize>, JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let task = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            counted.fetch_add(1, Relaxed);
            // A client that refuses the certificate ends the handshake.
            if let Ok(stream) = acceptor.accept(socket).await {
                answer_well(stream).await;
            }
        }
    });
    (port, connections, task)
}

async fn answer_well(mut stream: tokio_rustls::server::TlsStream<TcpStream>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let mut head = vec![0; 64 * 1024];
    let _ = stream.read(&mut head).await;
    let body = word("hello") + END;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

#[tokio::test]
async fn f18_a_certificate_that_is_not_accepted_is_not_tried_again() {
    let (ours, foreign) = (Authority::new(), Authority::new());
    for (what, config, accepted) in [
        ("good", ours.server("localhost", 2100), true),
        ("expired", ours.server("localhost", 2020), false),
        ("wrong name", ours.server("elsewhere.test", 2100), false),
        ("unknown issuer", foreign.server("localhost", 2100), false),
    ] {
        let (port, connections, task) = serve_tls(config).await;
        let world = World::over(trusting(&ours));
        let mut stream = world.ask_at(OPENAI, &format!("https://localhost:{port}/v1"));
        let ended = world.end_of(&mut stream).await;
        match ended {
            Ok(text) => assert!(accepted && text == "hello", "{what}"),
            Err(error) => {
                assert!(!accepted, "{what}: {error:?}");
                assert_eq!(*error.kind(), ErrorKind::Tls, "{what}: {error:?}");
                assert!(!error.is_retryable(), "{what}");
                let text = error.message();
                assert!(
                    text.contains("localhost") && text.contains("certificate"),
                    "{text}"
                );
            }
        }
        assert_eq!(connections.load(Relaxed), 1, "{what}");
        task.abort();
    }
}

/// Asks for an address of the network through a proxy that answers so.
async fn through_proxy(script: Script, base_url: &str) -> (ProviderError, usize) {
    let proxy = serve([script]).await;
    let address = reqwest::Proxy::all(proxy.url("")).unwrap();
    let builder = reqwest::Client::builder().proxy(address);
    let tls = tls_with(RootCertStore::empty());
    let client = builder.tls_backend_preconfigured(tls).build().unwrap();
    let world = World::over(client);
    let error = world.end_of(&mut world.ask_at(OPENAI, base_url)).await;
    (error.unwrap_err(), proxy.received().len())
}

#[tokio::test]
async fn f19_a_proxy_that_refuses_is_not_asked_again() {
    let denied = |status, headers: &str| Script::on_request().answer(status, headers, "<html>no");
    for (base_url, script) in [
        ("https://model.test/v1", denied(403, "")),
        ("https://model.test/v1", denied(502, "")),
        (
            "https://model.test/v1",
            denied(407, "proxy-authenticate: Basic\n"),
        ),
        (
            "http://model.test/v1",
            denied(407, "proxy-authenticate: Basic\n"),
        ),
    ] {
        let (error, requests) = through_proxy(script, base_url).await;
        assert_eq!(*error.kind(), ErrorKind::Proxy, "{base_url}: {error:?}");
        assert!(!error.is_retryable());
        assert!(error.message().contains("proxy"), "{error}");
        assert_eq!(requests, 1, "{base_url}");
    }
}

/// How an HTTP/2 server treats a request.
#[derive(Clone, Copy)]
enum Treatment {
    Refuse,
    ResetAtOnce,
    ResetAfterAWord,
    GoAway,
    Answer,
}

/// An HTTP/2 server without TLS that treats its requests so, the last way for all further ones.
async fn serve_http2(treatments: Vec<Treatment>) -> (u16, Arc<AtomicUsize>, JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let task = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (counted, treatments) = (Arc::clone(&counted), treatments.clone());
            tokio::spawn(async move {
                let Ok(mut connection) = h2::server::handshake(socket).await else {
                    return;
                };
                while let Some(Ok((_, respond))) = connection.accept().await {
                    let number = counted.fetch_add(1, Relaxed).min(treatments.len() - 1);
                    if matches!(treatments[number], Treatment::GoAway) {
                        connection.abrupt_shutdown(h2::Reason::NO_ERROR);
                    }
                    treat(treatments[number], respond);
                }
            });
        }
    });
    (port, requests, task)
}

fn treat(treatment: Treatment, mut respond: h2::server::SendResponse<Bytes>) {
    let head = || http::Response::builder().body(()).unwrap();
    match treatment {
        Treatment::Refuse => respond.send_reset(h2::Reason::REFUSED_STREAM),
        Treatment::ResetAtOnce => respond.send_reset(h2::Reason::INTERNAL_ERROR),
        Treatment::ResetAfterAWord => {
            let mut body = respond.send_response(head(), false).unwrap();
            body.send_data(word("hel").into(), false).unwrap();
            tokio::spawn(async move {
                // The word is on its way before the stream is reset.
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                body.send_reset(h2::Reason::INTERNAL_ERROR);
            });
        }
        Treatment::GoAway => {}
        Treatment::Answer => {
            let mut body = respond.send_response(head(), false).unwrap();
            body.send_data((word("hello") + END).into(), true).unwrap();
        }
    }
}

#[tokio::test]
async fn f20_an_http2_stream_is_asked_for_again_only_when_that_is_safe() {
    use Treatment::{Answer, GoAway, Refuse, ResetAfterAWord, ResetAtOnce};
    for (what, treatments, expected, sent) in [
        ("refused", vec![Refuse, Answer], Ok("hello"), 2),
        (
            "reset before the head",
            vec![ResetAtOnce, Answer],
            Ok("hello"),
            2,
        ),
        ("going away", vec![GoAway, Answer], Ok("hello"), 2),
        (
            "reset after content",
            vec![ResetAfterAWord, Answer],
            Err("hel"),
            1,
        ),
    ] {
        let (port, requests, task) = serve_http2(treatments).await;
        let client = reqwest::Client::builder()
            .no_proxy()
            .http2_prior_knowledge()
            .tls_backend_preconfigured(tls_with(RootCertStore::empty()))
            .build()
            .unwrap();
        let world = World::over(client);
        let mut stream = world.ask_at(OPENAI, &format!("http://127.0.0.1:{port}/v1"));
        let ended = world.end_of(&mut stream).await;
        match (ended, expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{what}"),
            (Err(error), Err(kept)) => {
                assert_eq!(*error.kind(), ErrorKind::Transport, "{what}: {error:?}");
                assert_eq!(stream.partial().text(), kept, "{what}");
            }
            (ended, _) => panic!("{what}: {ended:?}"),
        }
        assert_eq!(requests.load(Relaxed), sent, "{what}");
        task.abort();
    }
}

#[tokio::test]
async fn f21_a_compressed_body_that_nobody_asked_for_is_an_error() {
    // The header and the first bytes of what could be a bomb.
    let bytes: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xed\xc1\x01\x0d\x00\x00";
    for encoding in ["gzip", "br", "zstd", "gzip, identity"] {
        let headers = format!("content-type: text/event-stream\ncontent-encoding: {encoding}\n");
        let script = Script::on_request().head(200, &headers).send(bytes).hold();
        let (server, world) = (serve([script]).await, World::new(|_| {}));
        let error = world.end_of(&mut world.ask(&server)).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Protocol, "{error:?}");
        assert!(error.message().contains("content-encoding"), "{error}");
        assert!(!error.is_retryable());
        assert_eq!(server.received().len(), 1);
        assert!(!server.received()[0].headers.contains_key("accept-encoding"));
    }
    let headers = "content-encoding: identity\n";
    let plain = Script::on_request().answer(200, headers, &(word("hello") + END));
    let (server, world) = (serve([plain]).await, World::new(|_| {}));
    let text = world.end_of(&mut world.ask(&server)).await.unwrap();
    assert_eq!(text, "hello");
}

#[tokio::test]
async fn f22_a_flood_of_headers_or_trailers_is_an_error() {
    let flood = "x-flood: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
    let flood = flood.repeat(100_000);
    let headers = Script::on_request()
        .send("HTTP/1.1 200 Scripted\r\n")
        .send(flood.clone())
        .hold();
    let (server, world) = (serve([headers, good()]).await, World::new(|_| {}));
    // Nothing was shown, so it is a server that may do better.
    let text = world.end_of(&mut world.ask(&server)).await.unwrap();
    assert_eq!(text, "hello");

    let trailers = Script::on_request()
        .event_stream(&[&word("hel")])
        .send("0\r\n")
        .send(flood)
        .hold();
    let (server, world) = (serve([trailers]).await, World::new(|_| {}));
    let mut stream = world.ask(&server);
    let error = world.end_of(&mut stream).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Transport, "{error:?}");
    assert_eq!(stream.partial().text(), "hel");
    server.closed(1).await;
}
