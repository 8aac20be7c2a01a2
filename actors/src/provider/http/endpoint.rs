//! Where a provider is, and the key that opens it.

use std::fmt;
use std::sync::Arc;

use events::event::model::FailureKind;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::Timeouts;
use crate::provider::Failure;

/// A key. It is shown to its provider and to nobody else.
#[derive(Clone)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    /// Takes a key; an empty one is none. Files end with a line end, and keys do not.
    pub(crate) fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        (!key.is_empty()).then(|| Self(key.into()))
    }

    /// A text without the key.
    pub(crate) fn hide(&self, text: &str) -> String {
        text.replace(&*self.0, "[key]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Where requests of one provider go. What is wrong with it is said when it is used: a pod of
/// another provider must not fail for it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) base_url: String,
    pub(crate) key: Option<Secret>,
    /// The variables that a person sets.
    pub(crate) url_variable: &'static str,
    pub(crate) key_variable: &'static str,
}

/// Where one request goes.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) url: Url,
    pub(crate) host: String,
    pub(crate) is_local: bool,
    pub(crate) headers: HeaderMap,
    pub(crate) key: Option<Secret>,
}

impl Endpoint {
    /// The server is this machine.
    pub(crate) fn is_local(&self) -> bool {
        Url::parse(&self.base_url).is_ok_and(|url| is_local(&url))
    }

    /// The deadlines that fit the place.
    pub(crate) fn timeouts(&self) -> Timeouts {
        if self.is_local() { Timeouts::local() } else { Timeouts::default() }
    }

    /// The address of a path, with the key in this header behind this prefix.
    pub(crate) fn address(&self, path: &str, header: HeaderName, prefix: &str) -> Result<Address, Failure> {
        let url = Url::parse(self.base_url.trim()).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let Some(mut url) = url else {
            let message = format!("{} is no address of an HTTP server", self.url_variable);
            return Err(Failure::new(FailureKind::InvalidRequest, &message));
        };
        // A query of the base, which some gateways want, stays behind the path.
        url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let host = format!("{}{port}", url.host_str().unwrap_or_default());
        let is_local = is_local(&url);
        let mut headers = HeaderMap::new();
        match &self.key {
            Some(key) => {
                headers.insert(header, self.header_value(&format!("{prefix}{}", key.0))?);
            }
            None if is_local => {}
            None => {
                let message = format!("there is no key for {host}: set {}", self.key_variable);
                return Err(Failure::new(FailureKind::Auth, &message));
            }
        }
        Ok(Address { url, host, is_local, headers, key: self.key.clone() })
    }

    fn header_value(&self, text: &str) -> Result<HeaderValue, Failure> {
        let mut value = HeaderValue::from_str(text).map_err(|_| {
            let message = format!("{} has characters that no key has", self.key_variable);
            Failure::new(FailureKind::Auth, &message)
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let name = host.trim_end_matches('.');
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name == "localhost"
        || name.ends_with(".localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use reqwest::header::AUTHORIZATION;

    use super::*;

    fn endpoint(base_url: &str, key: &str) -> Endpoint {
        Endpoint {
            base_url: base_url.to_owned(),
            key: Secret::new(key),
            url_variable: "X_BASE_URL",
            key_variable: "X_API_KEY",
        }
    }

    fn address(base_url: &str, key: &str) -> Result<Address, Failure> {
        endpoint(base_url, key).address("/chat", AUTHORIZATION, "Bearer ")
    }

    #[test]
    fn a_loopback_address_is_known_by_every_name() {
        for url in [
            "http://localhost:1/v1",
            "http://127.3.2.1",
            "https://[::1]:8/",
            "http://a.localhost.",
            "http://[::ffff:127.0.0.1]",
        ] {
            assert!(endpoint(url, "").is_local(), "{url}");
        }
        for url in ["http://localhost.example.com", "http://10.0.0.1", "http://[::2]", "nonsense"] {
            assert!(!endpoint(url, "").is_local(), "{url}");
        }
    }

    #[test]
    fn a_missing_key_is_asked_for_by_its_variable_except_on_loopback() {
        let failure = address("https://api.example.com/v1", " \n").expect_err("no key");
        assert_eq!(failure.kind, FailureKind::Auth);
        assert!(failure.message.contains("set X_API_KEY"), "{failure}");
        assert!(address("http://127.0.0.1:9/v1", "").is_ok());
    }

    #[test]
    fn the_path_follows_the_base_whatever_it_ends_with() {
        for base in ["http://localhost/v1", "http://localhost/v1/", " http://localhost/v1// "] {
            assert_eq!(address(base, "").expect("an address").url.as_str(), "http://localhost/v1/chat");
        }
        let with_query = address("http://localhost/v1?version=2", "").expect("an address");
        assert_eq!(with_query.url.as_str(), "http://localhost/v1/chat?version=2");
    }

    #[test]
    fn an_address_that_is_none_is_refused_by_the_name_of_its_variable() {
        for base in ["", "localhost:8080", "ftp://x", "http://", "/v1"] {
            let failure = address(base, "k").expect_err(base);
            assert!(failure.message.contains("X_BASE_URL"), "{failure}");
        }
    }

    #[test]
    fn a_key_is_trimmed_and_never_shown() {
        let address = address("http://localhost", " secret-key\n").expect("an address");
        assert_eq!(address.headers[AUTHORIZATION], "Bearer secret-key");
        assert!(!format!("{address:?}").contains("secret-key"));
        let failure = self::address("http://localhost", "sec\u{7}ret").expect_err("no key has that");
        assert_eq!((failure.kind, failure.message.contains("ret\"")), (FailureKind::Auth, false));
    }
}
