//! The address of a key-holder and the fingerprint by which to recognise it.

use std::fmt;
use std::str::FromStr;
use trefoil_host::identity::Fingerprint;

/// `tls://HOST:PORT#FINGERPRINT`: the fingerprint rules out another machine at the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name or IP address, and port.
    pub authority: String,
    /// SHA-256 of the key-holder's certificate.
    pub fingerprint: Fingerprint,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tls://{}#{}", self.authority, self.fingerprint)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let form = "a key-holder's address is tls://HOST:PORT#FINGERPRINT, as `trefoil key-holder` prints it";
        let rest = text.strip_prefix("tls://").ok_or(form)?;
        let (authority, fingerprint) = rest.split_once('#').ok_or(form)?;
        let (host, port) = authority.rsplit_once(':').ok_or(form)?;
        if host.is_empty() || host.contains('@') || port.parse::<u16>().is_err() {
            return Err(form.to_owned());
        }
        Ok(Address { authority: authority.to_owned(), fingerprint: fingerprint.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_as_it_is_written_and_nothing_else_does() {
        let print = "ab".repeat(32);
        for authority in ["127.0.0.1:7443", "[::1]:7443", "keys.example:1"] {
            let text = format!("tls://{authority}#{print}");
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "https://127.0.0.1:7443",
            "tls://127.0.0.1:7443",
            "tls://127.0.0.1#00",
            "tls://127.0.0.1:7443#00",
            &format!("tls://:7443#{print}"),
            &format!("tls://user:secret@127.0.0.1:7443#{print}"),
            &format!("tls://127.0.0.1#{print}"),
            &format!("tls://127.0.0.1:99999#{print}"),
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
