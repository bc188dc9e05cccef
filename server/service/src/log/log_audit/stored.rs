//! The log in this service's store.

use super::Source;
use crate::log::log_store;
use trefoil_attest::LogEntry;
use trefoil_attest::tree::Hash;
use trefoil_storage::store::SealReader;

impl Source for SealReader {
    fn newest(&self) -> Result<Option<u64>, String> {
        SealReader::newest(self).map_err(|cause| cause.to_string())
    }

    fn entry(&self, number: u64) -> Result<Option<Vec<u8>>, String> {
        SealReader::seal(self, number).map_err(|cause| cause.to_string())
    }

    fn checkpoint(&self) -> Result<Option<String>, String> {
        let Some((size, lines)) = self.cosigned().map_err(|cause| cause.to_string())? else {
            return Ok(None);
        };
        let entry = self.entry(size)?.ok_or_else(|| format!("seal {size} is cosigned and missing"))?;
        let entry = LogEntry::decode(&entry).map_err(|cause| format!("seal {size}: {cause}"))?;
        log_store::note(entry.header(), &lines).map(Some).map_err(|cause| cause.to_string())
    }

    fn consistency(&self, _: u64, _: u64) -> Result<Option<Vec<Hash>>, String> {
        Ok(None)
    }
}
