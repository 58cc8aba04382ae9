//! Signatures (SigV4).

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign as signature};
use aws_sigv4::sign::v4::SigningParams;
use pi_core::{ErrorKind, ExposeSecret, ProviderError};
use pi_http::Call;
use tracing::subscriber::{NoSubscriber, with_default};

/// The service that requests are signed for.
const SERVICE: &str = "bedrock";

/// Signs a call: address, body, time, and the headers that AWS wants in the signature. The others may
/// be rewritten on the way.
pub(super) fn sign(
    call: Call,
    credentials: &Credentials,
    region: &str,
    time: SystemTime,
) -> Result<Call, ProviderError> {
    let failed = |error: &dyn std::fmt::Display| {
        let text = format!("the request cannot be signed: {error}");
        ProviderError::new(ErrorKind::InvalidRequest, text)
    };
    let identity = credentials.clone().into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(SERVICE)
        .time(time)
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| failed(&error))?
        .into();
    let is_signed = |name: &str| name == "content-type" || name.starts_with("x-amz-");
    let headers = call
        .headers()
        .filter(|(name, _)| is_signed(name))
        .map(|(name, value)| (name, value.expose_secret()));
    let body = SignableBody::Bytes(call.body());
    let request = SignableRequest::new(call.method(), call.url(), headers, body)
        .map_err(|error| failed(&error))?;
    // The signer logs what it signs, the session token included.
    let signed = with_default(NoSubscriber::new(), || signature(request, &params))
        .map_err(|error| failed(&error))?;
    let (instructions, _) = signed.into_parts();
    let headers: Vec<(String, String)> = instructions
        .headers()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Ok(headers
        .into_iter()
        .fold(call, |call, (name, value)| call.with_header(name, value)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_signature_is_that_of_the_specification() {
        let credentials = Credentials::new(
            "AKIDEXAMPLE",
            "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            Some("token".to_owned()),
            None,
            "test",
        );
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160);
        let call = Call::post(
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/m%3A0/converse-stream",
            "{}",
        )
        .with_header("content-type", "application/json");
        let call = sign(call, &credentials, "us-east-1", time).expect("it can be signed");
        let header = |wanted: &str| {
            let mut headers = call.headers();
            headers
                .find(|(name, _)| *name == wanted)
                .map(|(_, value)| value.expose_secret())
        };
        assert_eq!(header("x-amz-date"), Some("20150830T123600Z"));
        assert_eq!(header("x-amz-security-token"), Some("token"));
        assert_eq!(
            header("authorization"),
            Some(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=c22dc19981ca14b09e262942a2856aa72ccf57ef3bc2ff682effbf45fd013b90"
            )
        );
    }
}
