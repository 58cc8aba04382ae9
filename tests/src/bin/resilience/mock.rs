//! The control interface of the mock server.

use std::fmt;

use anyhow::{Context as _, Result, ensure};
use integration_tests::apis;
use reqwest::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A running server.
pub(crate) struct Mock {
    client: reqwest::Client,
    address: String,
}

/// How the server judges its client.
#[derive(Debug, Deserialize)]
pub(crate) struct Verdict {
    /// What it finds wrong; empty if all is right.
    pub(crate) findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Finding {
    pub(crate) severity: String,
    pub(crate) code: String,
    pub(crate) title: String,
}

impl Mock {
    pub(crate) fn new(address: &str) -> Result<Self> {
        let tls = apis::tls_without_certificates()?;
        let builder = reqwest::Client::builder().no_proxy();
        let client = builder.tls_backend_preconfigured(tls).build()?;
        let address = address.trim_end_matches('/').to_owned();
        Ok(Self { client, address })
    }

    /// Forgets all requests and queues what the next ones meet.
    pub(crate) async fn prepare(&self, behaviors: &[Value]) -> Result<()> {
        let _: Value = self.call(Method::POST, "reset", None).await?;
        if behaviors.is_empty() {
            return Ok(());
        }
        let scenario = json!({ "behaviors": behaviors });
        let _: Value = self.call(Method::POST, "scenario", Some(scenario)).await?;
        Ok(())
    }

    /// Returns the number of requests since the last reset.
    pub(crate) async fn requests(&self) -> Result<usize> {
        #[derive(Deserialize)]
        struct Requests {
            count: usize,
        }
        let requests: Requests = self.call(Method::GET, "requests", None).await?;
        Ok(requests.count)
    }

    pub(crate) async fn verdict(&self) -> Result<Verdict> {
        self.call(Method::GET, "verdict", None).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<T> {
        let url = format!("{}/_llmock/{path}", self.address);
        let mut request = self.client.request(method, &url);
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let response = request.send().await.with_context(|| url.clone())?;
        let status = response.status();
        let body = response.bytes().await.with_context(|| url.clone())?;
        let text = || String::from_utf8_lossy(&body).into_owned();
        ensure!(status.is_success(), "{url} answers {status}: {}", text());
        serde_json::from_slice(&body).with_context(|| format!("{url} answers {}", text()))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.findings.is_empty() {
            return f.write_str("PASS");
        }
        for (place, finding) in self.findings.iter().enumerate() {
            let mark = match finding.severity.as_str() {
                "error" => "FAIL",
                _ => "WARN",
            };
            let gap = if place == 0 { "" } else { ", " };
            write!(f, "{gap}{mark} {}", finding.code)?;
        }
        Ok(())
    }
}
