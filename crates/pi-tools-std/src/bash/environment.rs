//! The environment of commands: the host's, without what could be a secret.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Which variables of the host a command inherits, before those are taken out that could be a
/// secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Inherit {
    /// All. The default.
    #[default]
    All,
    /// Those that programs need to find their way: `PATH`, `HOME`, the user, the language, the time
    /// zone, the folder for temporary files.
    Core,
    /// None.
    None,
}

/// What the environment of commands is made of.
///
/// Variables are dropped whose name, in any case, holds `KEY`, `SECRET`, `TOKEN`, `PASSWORD`,
/// `PASSWD` or `CREDENTIAL`, or ends with `_AUTH`; those by which providers find their credentials;
/// and those that make programs load code: `LD_PRELOAD`, `BASH_ENV`, `ENV`, `PROMPT_COMMAND`.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    inherit: Inherit,
    allow: Vec<String>,
    set: Vec<(OsString, OsString)>,
}

impl Environment {
    /// Sets which variables of the host are inherited.
    #[must_use]
    pub fn with_inherit(mut self, inherit: Inherit) -> Self {
        self.inherit = inherit;
        self
    }

    /// Keeps a variable of the host although its name says that it is a secret.
    #[must_use]
    pub fn with_allowed(mut self, name: impl Into<String>) -> Self {
        self.allow.push(name.into());
        self
    }

    /// Sets a variable, whatever its name.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set.push((name.into(), value.into()));
        self
    }

    /// Makes the variables of a command out of those of the host.
    pub(super) fn variables(
        &self,
        host: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<OsString, OsString> {
        let mut variables: BTreeMap<_, _> = host
            .into_iter()
            .filter(|(name, _)| self.passes(name))
            .collect();
        for (name, value) in QUIET {
            variables.insert(name.into(), value.into());
        }
        variables.extend(self.set.iter().cloned());
        variables
    }

    fn passes(&self, name: &OsStr) -> bool {
        let name = &*name.to_string_lossy();
        if self.allow.iter().any(|allowed| allowed == name) {
            return true;
        }
        let inherited = match self.inherit {
            Inherit::All => true,
            Inherit::Core => CORE.contains(&name) || name.starts_with("LC_"),
            Inherit::None => false,
        };
        inherited && !is_secret(name)
    }
}

/// Keeps programs from waiting for a person.
const QUIET: [(&str, &str); 6] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
];

const CORE: [&str; 11] = [
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SYSTEMROOT",
    "TEMP",
    "TMPDIR",
    "TZ",
    "USER",
];

/// Parts of the names of secrets.
const SECRET: [&str; 6] = ["KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// Names that lead providers to credentials, and names that make programs load code.
const DROPPED: [&str; 8] = [
    "AWS_CONFIG_FILE",
    "AWS_PROFILE",
    "AWS_ROLE_ARN",
    "BASH_ENV",
    "CLOUDSDK_CONFIG",
    "ENV",
    "LD_PRELOAD",
    "PROMPT_COMMAND",
];

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET.iter().any(|part| name.contains(part))
        || name.ends_with("_AUTH")
        || DROPPED.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(environment: &Environment, host: &[&str]) -> Vec<String> {
        let host = host.iter().map(|name| (name.into(), "host".into()));
        let variables = environment.variables(host);
        let inherited = variables.iter().filter(|(_, value)| *value == "host");
        inherited
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn f69_what_could_be_a_secret_is_dropped() {
        let secrets = [
            "OPENAI_API_KEY",
            "my_secret",
            "Github_Token",
            "DB_PASSWORD",
            "PASSWD",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "NPM_AUTH",
            "AWS_PROFILE",
            "LD_PRELOAD",
            "BASH_ENV",
            "ENV",
            "PROMPT_COMMAND",
        ];
        for secret in secrets {
            assert_eq!(names(&Environment::default(), &[secret, "PATH"]), ["PATH"]);
        }
        let allowed = Environment::default().with_allowed("Github_Token");
        assert_eq!(names(&allowed, &secrets), ["Github_Token"]);
    }

    #[test]
    fn fewer_variables_are_inherited_on_request() {
        let host = ["PATH", "HOME", "LC_ALL", "EDITOR", "OLD_AUTH"];
        let core = Environment::default().with_inherit(Inherit::Core);
        assert_eq!(names(&core, &host), ["HOME", "LC_ALL", "PATH"]);
        let none = Environment::default().with_inherit(Inherit::None);
        assert!(names(&none, &host).is_empty());
    }

    #[test]
    fn programs_are_kept_from_asking_unless_the_host_says_otherwise() {
        let environment = Environment::default()
            .with("TERM", "xterm")
            .with("MY_TOKEN", "t");
        let variables = environment.variables([("PAGER".into(), "less".into())]);
        let value = |name: &str| {
            variables
                .get(OsStr::new(name))
                .and_then(|value| value.to_str())
        };
        assert_eq!(value("PAGER"), Some("cat"));
        assert_eq!(value("GIT_EDITOR"), Some("true"));
        assert_eq!(value("TERM"), Some("xterm"));
        assert_eq!(value("MY_TOKEN"), Some("t"));
    }
}
