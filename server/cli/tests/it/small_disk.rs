//! A small file system that a test fills: a tmpfs in a mount namespace of its own, which goes with the process that holds it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where it is mounted inside.
const MOUNT: &str = "/mnt";

/// See the module.
pub(crate) struct SmallDisk {
    holder: Child,
}

impl SmallDisk {
    /// One of this size. Needs root, or a kernel that gives users namespaces.
    pub(crate) fn new(mib: u64) -> SmallDisk {
        let mount = format!(
            "mount -t tmpfs -o size={mib}m,mode=700 tmpfs {MOUNT} && echo mounted && exec sleep infinity"
        );
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--map-root-user", "sh", "-c", &mount]);
        let mut holder = unshare.stdout(Stdio::piped()).spawn().expect("unshare is part of util-linux");
        let mut said = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "mounted\n", "this test mounts a tmpfs: run it as root, or allow user namespaces");
        SmallDisk { holder }
    }

    /// A path on it, as processes on it see it.
    pub(crate) fn inside(&self, name: &str) -> PathBuf {
        Path::new(MOUNT).join(name)
    }

    /// The same path, as this process sees it.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{MOUNT}", self.holder.id())).join(name)
    }

    /// A command that runs `program` there, its standard error in a file on the disk too.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--user", "--mount", "--preserve-credentials"]);
        command.args(["--target", &self.holder.id().to_string()]);
        command.args(["sh", "-c", "exec \"$0\" \"$@\" 2>>/mnt/log", program]);
        command
    }

    /// Free bytes.
    pub(crate) fn free(&self) -> u64 {
        let found = rustix::fs::statvfs(self.outside("")).unwrap();
        found.f_bavail * found.f_frsize
    }

    /// Leaves about so many bytes free.
    pub(crate) fn fill(&self, left: u64) {
        let mut file =
            std::fs::File::options().create(true).append(true).open(self.outside("filler")).unwrap();
        loop {
            let bytes = self.free().saturating_sub(left).min(1 << 20);
            if bytes == 0 || file.write_all(&vec![0x5a; bytes as usize]).is_err() {
                return;
            }
        }
    }

    /// Gives back what was filled.
    pub(crate) fn empty(&self) {
        std::fs::remove_file(self.outside("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
