//! The address of the admin listener, and the remedy when it does not answer.

use crate::remote;
use crate::values::address;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trefoil_client::{Admin, Client, ClientError};
use trefoil_server::config::{Config, Overrides};
use trefoil_server::server::ADMIN_TOKEN_FILE;
use trefoil_server::tls::CERTIFICATE_FILE;

#[derive(clap::Args)]
pub(crate) struct Place {
    /// The service's configuration file, if it has one.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// The service's data directory, with its certificate and its token.
    #[arg(long, value_name = "DIR", global = true)]
    data_dir: Option<PathBuf>,
    /// The admin API, such as https://127.0.0.1:9443. Absent: as configured.
    #[arg(long, value_name = "URL", value_parser = address, global = true)]
    admin: Option<String>,
    /// The certificate that it must show, or the one that signed it, PEM. Absent: as configured.
    #[arg(long = "ca", value_name = "FILE", global = true)]
    certificate: Option<PathBuf>,
    /// File whose first line is the admin token.
    #[arg(long, value_name = "FILE", global = true)]
    admin_token_file: Option<PathBuf>,
}

/// The API key, which determines the tenant.
#[derive(clap::Args)]
pub(super) struct Caller {
    /// File whose first line is an API key of the tenant.
    #[arg(long, value_name = "FILE")]
    api_key_file: PathBuf,
    /// The public API, such as https://127.0.0.1:8443. Absent: as configured.
    #[arg(long, value_name = "URL", value_parser = address)]
    service: Option<String>,
}

/// The place with every default filled in.
pub(crate) struct Found {
    /// The admin API.
    pub(crate) url: String,
    /// The public API, as configured.
    pub(crate) service: String,
    pub(crate) certificate: PathBuf,
    pub(crate) token: PathBuf,
    pub(crate) data_dir: PathBuf,
}

impl Place {
    /// Makes a call of the admin API.
    pub(crate) fn call<T>(
        &self,
        call: impl AsyncFnOnce(&Admin) -> Result<T, ClientError>,
    ) -> Result<T, String> {
        let found = self.found()?;
        let certificate = found.certificate()?;
        let token =
            remote::first_line(&found.token).map_err(|cause| missing("--admin-token-file", &cause))?;
        let admin = Admin::new(&found.url, &certificate, &token)
            .map_err(|cause| found.unusable(&found.url, &cause))?;
        remote::finished(call(&admin))?.map_err(|cause| found.explain(&cause))
    }

    /// Makes a call of the admin API that needs no token.
    pub(super) fn call_without_token<T>(
        &self,
        call: impl AsyncFnOnce(&Admin) -> Result<T, ClientError>,
    ) -> Result<T, String> {
        let found = self.found()?;
        let admin = Admin::without_token(&found.url, &found.certificate()?)
            .map_err(|cause| found.unusable(&found.url, &cause))?;
        remote::finished(call(&admin))?.map_err(|cause| found.explain(&cause))
    }

    /// Makes a call of the public API with an API key.
    pub(super) fn call_as<T>(
        &self,
        caller: &Caller,
        call: impl AsyncFnOnce(&Client) -> Result<T, ClientError>,
    ) -> Result<T, String> {
        let found = self.found()?;
        let url = caller.service.as_ref().unwrap_or(&found.service);
        let certificate = found.certificate()?;
        let api_key = remote::first_line(&caller.api_key_file)?;
        let client =
            Client::new(url, &certificate, &api_key, 1).map_err(|cause| found.unusable(url, &cause))?;
        let client = client.retrying_for(Duration::ZERO);
        remote::finished(call(&client))?.map_err(|cause| caller.explain(url, &found.certificate, &cause))
    }

    /// Finds the place: flags first, then the configuration.
    pub(crate) fn found(&self) -> Result<Found, String> {
        let overrides = Overrides { data_dir: self.data_dir.clone(), ..Overrides::default() };
        let config = Config::load(self.config.as_deref(), std::env::vars_os(), &overrides)
            .map_err(|cause| cause.to_string())?;
        let data_dir = &config.server.data_dir;
        let configured = match config.tls.certificate.as_os_str().is_empty() {
            true => data_dir.join(CERTIFICATE_FILE),
            false => config.tls.certificate.clone(),
        };
        let or = |given: &Option<PathBuf>, default: PathBuf| given.clone().unwrap_or(default);
        Ok(Found {
            url: self.admin.clone().unwrap_or_else(|| url(config.server.admin_listen)),
            service: match config.server.public_url.as_str() {
                "" => url(config.server.listen),
                public => public.to_owned(),
            },
            data_dir: data_dir.clone(),
            certificate: or(&self.certificate, configured),
            token: or(&self.admin_token_file, data_dir.join(ADMIN_TOKEN_FILE)),
        })
    }
}

impl Caller {
    /// The error, its place, and the next step.
    fn explain(&self, url: &str, certificate: &Path, cause: &ClientError) -> String {
        let step = match cause {
            ClientError::Unreachable { cause, .. } if cause.contains("certificate") => other(certificate),
            ClientError::Unreachable { .. } => {
                "start it with `trefoil serve`, or give --service the address that it prints as `public API`"
                    .to_owned()
            }
            _ => match cause.code() {
                Some("caller-unauthenticated") => format!(
                    "the API key in {} is not accepted; `trefoil admin api-key list --tenant TENANT` shows its state",
                    self.api_key_file.display()
                ),
                Some("scope-missing") => {
                    "subjects need a key with the scope enrol, sessions one with authenticate: `trefoil admin api-key create`"
                        .to_owned()
                }
                Some("route-unknown") => {
                    "give --service the address that `trefoil serve` prints as `public API`".to_owned()
                }
                Some("subject-unknown") => "`trefoil admin subject list` shows the subjects".to_owned(),
                Some("session-unknown") => "`trefoil admin session list` shows the sessions".to_owned(),
                _ => return format!("{url}: {cause}"),
            },
        };
        format!("{url}: {}\n{step}", told(cause))
    }
}

impl Found {
    /// The certificate that the service must show, PEM.
    fn certificate(&self) -> Result<Vec<u8>, String> {
        remote::read(&self.certificate).map_err(|cause| missing("--ca", &cause))
    }

    /// Why there is no client.
    fn unusable(&self, url: &str, cause: &ClientError) -> String {
        match cause {
            ClientError::Certificate(_) => format!("{}: {cause}", self.certificate.display()),
            _ => format!("{url}: {cause}"),
        }
    }

    /// The error, its place, and the next step.
    fn explain(&self, cause: &ClientError) -> String {
        let step = match cause {
            ClientError::Unreachable { cause, .. } if cause.contains("certificate") => {
                other(&self.certificate)
            }
            ClientError::Unreachable { .. } => {
                "start it with `trefoil serve`, or give --admin the address that it prints as `admin API`"
                    .to_owned()
            }
            _ => match cause.code() {
                Some("caller-unauthenticated") => {
                    format!(
                        "the token in {} is not accepted: it is revoked, has expired, or is another service's; give the file of yours with \
                         --admin-token-file",
                        self.token.display()
                    )
                }
                Some("route-unknown") => {
                    "give --admin the address that `trefoil serve` prints as `admin API`".to_owned()
                }
                Some("tenant-unknown") => "`trefoil admin tenant list` shows the tenants".to_owned(),
                Some("policy-overtaken") => {
                    "`trefoil admin policy list TENANT` shows the version in force; look at it, and give its number with --if-version"
                        .to_owned()
                }
                Some("secret-shown") => {
                    "if you did not see its secret, revoke it (`trefoil admin api-key revoke`, `trefoil admin operator revoke`), and create \
                     another one under a fresh key"
                        .to_owned()
                }
                Some("api-key-unknown") => "`trefoil admin api-key list` shows the keys".to_owned(),
                _ => return format!("{}: {cause}", self.url),
            },
        };
        format!("{}: {}\n{step}", self.url, told(cause))
    }
}

/// What the service said, where a next step of this program follows. The service's own is for those who send requests.
fn told(cause: &ClientError) -> String {
    match cause {
        ClientError::Problem(problem) if problem.code == "caller-unauthenticated" => {
            format!("the service answered {} {}", problem.status, problem.code)
        }
        ClientError::Problem(problem) => {
            format!("the service answered {} {}: {}", problem.status, problem.code, problem.detail)
        }
        _ => cause.to_string(),
    }
}

fn missing(flag: &str, cause: &str) -> String {
    format!(
        "{cause}; start the service (`trefoil serve`), name its directory with --data-dir, or the file with {flag}"
    )
}

fn other(certificate: &Path) -> String {
    format!("the service shows another certificate than {}; name its own with --ca", certificate.display())
}

/// The URL of a listener at this address from its own machine.
fn url(mut listen: SocketAddr) -> String {
    match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => listen.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => listen.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("https://{listen}")
}
