//! The files that hold application-default credentials.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pi_core::{HookError, SecretString};
use serde::Deserialize;

/// The name of the file that `gcloud` writes.
const NAME: &str = "application_default_credentials.json";

/// What a file holds.
pub(super) enum File {
    User(User),
    /// The whole text of a service account's key.
    Service(SecretString),
}

/// A login of a user.
#[derive(Deserialize)]
pub(super) struct User {
    pub(super) client_id: String,
    pub(super) client_secret: String,
    pub(super) refresh_token: String,
    #[serde(default = "google_tokens")]
    pub(super) token_uri: String,
    pub(super) quota_project_id: Option<String>,
}

#[derive(Deserialize)]
struct Kind {
    r#type: String,
}

impl File {
    /// Reads the file of the environment or that of `gcloud`; `None` if there is neither.
    pub(super) fn find() -> Result<Option<Self>, HookError> {
        if let Some(path) = env::var_os("GOOGLE_APPLICATION_CREDENTIALS").filter(|p| !p.is_empty())
        {
            return Self::read(Path::new(&path)).map(Some);
        }
        match well_known() {
            Some(path) if path.exists() => Self::read(&path).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn read(path: &Path) -> Result<Self, HookError> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => HookError::new(format!("there is no file {shown}")),
            kind => HookError::new(format!("cannot read {shown}: {kind}")),
        })?;
        let read = Self::parse(text);
        read.map_err(|problem| HookError::new(format!("{shown} {problem}")))
    }

    fn parse(text: String) -> Result<Self, String> {
        // The words of the parser may quote the file.
        let invalid = |_| "holds no credentials".to_owned();
        let kind: Kind = serde_json::from_str(&text).map_err(invalid)?;
        match kind.r#type.as_str() {
            "service_account" => Ok(Self::Service(text.into())),
            "authorized_user" => serde_json::from_str(&text).map(Self::User).map_err(invalid),
            other => Err(format!(
                "holds credentials of type {other}, which are not supported: use those of a user \
                 or a service account, or bring tokens by with_credentials()"
            )),
        }
    }
}

fn google_tokens() -> String {
    "https://oauth2.googleapis.com/token".to_owned()
}

/// Returns where `gcloud` keeps its file.
fn well_known() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let folder = match set("CLOUDSDK_CONFIG") {
        Some(folder) => PathBuf::from(folder),
        None if cfg!(windows) => PathBuf::from(set("APPDATA")?).join("gcloud"),
        None => env::home_dir()?.join(".config").join("gcloud"),
    };
    Some(folder.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_users_and_service_accounts_are_told_apart() {
        let user = r#"{"type":"authorized_user","client_id":"i","client_secret":"s",
            "refresh_token":"r","quota_project_id":"q","universe_domain":"x"}"#;
        let Ok(File::User(user)) = File::parse(user.to_owned()) else {
            panic!("it is a user's file");
        };
        assert_eq!(user.token_uri, "https://oauth2.googleapis.com/token");
        assert_eq!(user.quota_project_id.as_deref(), Some("q"));
        let service = r#"{"type":"service_account","private_key":"k"}"#;
        assert!(matches!(
            File::parse(service.to_owned()),
            Ok(File::Service(_))
        ));
    }

    #[test]
    fn a_file_that_is_no_use_says_why_without_its_content() {
        for (text, expected) in [
            ("s3cret", "no credentials"),
            (
                r#"{"type":"authorized_user","client_id":"s3cret"}"#,
                "no credentials",
            ),
            (
                r#"{"type":"external_account","x":"s3cret"}"#,
                "external_account",
            ),
        ] {
            let problem = File::parse(text.to_owned()).err().unwrap_or_default();
            assert!(
                problem.contains(expected) && !problem.contains("s3cret"),
                "{problem}"
            );
        }
        let problem = File::read(Path::new("/nowhere/adc.json")).err().unwrap();
        assert_eq!(problem.to_string(), "there is no file /nowhere/adc.json");
    }
}
