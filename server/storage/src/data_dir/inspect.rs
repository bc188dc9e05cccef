//! Inspects a data directory for operators without changing it or taking a lock, also beside a running process.

use super::error::{DataDirError, failed};
use super::private_file::{read_private, refuse_foreign};
use super::record::{self, Record};
use super::unfinished;
use std::fs;
use std::io;
use std::path::Path;

/// Everything in the directory that a process would refuse, or that others may read.
pub fn inspect(path: &Path) -> Vec<DataDirError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => metadata,
        Ok(_) => return vec![DataDirError::NotADirectory { path: path.display().to_string() }],
        Err(cause) => return vec![failed(path, "read the permissions", cause)],
    };
    let mut found = Vec::new();
    found.extend(refuse_foreign(path, &metadata).err());
    found.extend(unfinished(path));
    found.extend(files(path).unwrap_or_else(|cause| vec![failed(path, "list", cause)]));
    found.extend(match path.join(record::FILE).exists() {
        true => recorded(path),
        false => Record::missing(path).into_iter().collect(),
    });
    found
}

/// Files with a wrong owner or mode, and entries that are no files.
fn files(directory: &Path) -> io::Result<Vec<DataDirError>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() || metadata.is_dir() => {
                found.extend(refuse_foreign(&path, &metadata).err());
            }
            Ok(_) => found.push(DataDirError::NotAFile { path: path.display().to_string() }),
            // A running process has removed the file meanwhile.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => found.push(failed(&path, "read the permissions", cause)),
        }
    }
    Ok(found)
}

/// Files of the record that are missing, empty, or replaced.
fn recorded(directory: &Path) -> Vec<DataDirError> {
    let record = match Record::read(directory) {
        Ok(record) => record,
        Err(cause) => return vec![cause],
    };
    record.files().filter_map(|(name, noted)| compared(directory, name, noted).err()).collect()
}

fn compared(directory: &Path, name: &str, noted: &str) -> Result<(), DataDirError> {
    let path = directory.join(name);
    let lost = |how| DataDirError::Lost { path: path.display().to_string(), how, loss: record::loss(name) };
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.len() == 0 => return Err(lost("empty")),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Err(lost("missing")),
        _ if noted.is_empty() => return Ok(()),
        _ => {}
    }
    match read_private(&path) {
        Ok(bytes) if !record::is_noted(noted, &record::fingerprint(name, &bytes)) => {
            Err(DataDirError::Other { path: path.display().to_string() })
        }
        // The check of mode and owner reports why it cannot be read.
        _ => Ok(()),
    }
}
