//! The program as a running service, for steps that send it requests.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::clients::{execute, fresh, said};
use crate::repo::Repo;
use crate::steps::shown;

/// The tenant of the examples.
const TENANT: [&str; 5] = ["shop", "--audience", "https://shop.example", "--embedder", "facenet-128"];

/// A running service; ended when dropped.
pub(crate) struct Service {
    child: Child,
    pub(crate) data: PathBuf,
    pub(crate) public: String,
    pub(crate) admin: String,
}

impl Service {
    /// Starts one with a new data directory, in a folder of this name.
    pub(crate) fn start(repo: &Repo, folder: &str) -> Result<Service, String> {
        // It makes its directory itself, readable only by its user.
        let folder = fresh(repo, folder)?;
        let data = folder.join("data");
        let log = fs::File::create(folder.join("service.log")).map_err(|cause| cause.to_string())?;
        let mut command = repo.command(repo.binary("trefoil")?);
        let listen = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data-dir"];
        command.args(listen).arg(&data).env("TREFOIL_KEYS_PRECOMPUTE", "brief");
        command.stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().map_err(|cause| format!("{}: {cause}", shown(&command)))?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no standard output")?).lines();
        let mut address = || {
            let line = lines.next().and_then(Result::ok).unwrap_or_default();
            let at = line.find("https://").ok_or(format!("no address in {line:?}"))?;
            Ok::<_, String>(line[at..].trim().to_owned())
        };
        let (public, admin) = (address(), address());
        // It continues to write output.
        std::thread::spawn(move || lines.for_each(drop));
        let service = Service { child, data, public: public?, admin: admin? };
        Ok(service)
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.data.join("tls-certificate.pem")
    }

    pub(crate) fn token(&self) -> Result<String, String> {
        read(&self.data.join("admin.token"))
    }

    /// A first login, with its files in the folder that is returned.
    pub(crate) fn quickstart(&self, repo: &Repo) -> Result<PathBuf, String> {
        let made = self.data.with_file_name("quickstart");
        let mut command = repo.command(repo.binary("trefoil")?);
        command.arg("quickstart").arg("--directory").arg(&made).args(["--service", &self.public]);
        execute(command.args(["--admin", &self.admin, "--data-dir"]).arg(&self.data))?;
        Ok(made)
    }

    /// A new tenant, and an API key of it.
    pub(crate) fn tenant(&self, repo: &Repo) -> Result<(String, String), String> {
        let said = self.operate(repo, &[&["tenant", "create"], &TENANT[..]].concat())?;
        let tenant = said.split_whitespace().last().unwrap_or_default();
        let file = self.data.join("api.key");
        let scopes = ["--scope", "enrol", "--scope", "authenticate", "--scope", "issue"];
        let output = ["--output", &file.display().to_string()].map(str::to_owned);
        let output = output.each_ref().map(String::as_str);
        self.operate(repo, &[&["api-key", "create", "--tenant", tenant], &scopes[..], &output].concat())?;
        Ok((tenant.to_owned(), read(&file)?))
    }

    fn operate(&self, repo: &Repo, arguments: &[&str]) -> Result<String, String> {
        let mut command: Command = repo.command(repo.binary("trefoil")?);
        command.arg("admin").args(arguments).args(["--admin", &self.admin, "--ca"]).arg(self.certificate());
        command.arg("--admin-token-file").arg(self.data.join("admin.token"));
        Ok(said(&mut command)?.trim().to_owned())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Ok(text.trim().to_owned())
}
