//! The settings that a running service reads again when its configuration file changes, and at SIGHUP: `[limits]` and `log.filter`. All
//! others are read only at the start.

use crate::config::{Config, ConfigError, Limits};
use std::fs::{metadata, read};
use std::path::{Path, PathBuf};
use trefoil_host::logging::Filter;

/// Where the configuration comes from, so that it can be read again.
pub struct Source {
    load: Box<dyn Fn() -> Result<Config, ConfigError> + Send>,
    file: Option<Watched>,
}

/// The configuration file, and what was in it at the last look; `None` if it could not be read.
struct Watched {
    path: PathBuf,
    seen: Option<Vec<u8>>,
}

/// The settings of a running service, and the handles that change those that can change.
pub(crate) struct Settings {
    /// The settings at the start, with the changes since.
    in_force: Config,
    source: Source,
    filter: Filter,
    set_limits: Box<dyn Fn(&Limits) + Send>,
}

/// A setting whose value changed: its name, such as `limits.connections`, and both values.
struct Difference {
    name: String,
    before: String,
    after: String,
}

impl Source {
    /// All layers, which `load` reads. `file` is the layer that is watched for changes from now on, so make this before the first
    /// [`Source::read`]. Without a file nothing is watched, and neither is a pipe, which can be read only once.
    pub fn new(
        file: Option<&Path>,
        load: impl Fn() -> Result<Config, ConfigError> + Send + 'static,
    ) -> Source {
        let file = file.filter(|path| path.is_file());
        let file = file.map(|path| Watched { path: path.to_owned(), seen: read(path).ok() });
        Source { load: Box::new(load), file }
    }

    /// Reads all layers.
    ///
    /// # Errors
    /// [`ConfigError`] names the place, the key and the remedy.
    pub fn read(&self) -> Result<Config, ConfigError> {
        (self.load)()
    }

    /// The configuration file, if its contents are others than at the last look. They are compared, and not the time at which the file
    /// was written, so that contents that cannot be used are reported once.
    fn changed(&mut self) -> Option<&Path> {
        let Watched { path, seen } = self.file.as_mut()?;
        if metadata(path.as_path()).is_ok_and(|about| !about.is_file()) {
            return None;
        }
        let found = read(path.as_path()).ok();
        let is_other = *seen != found;
        *seen = found;
        is_other.then_some(path.as_path())
    }
}

impl Settings {
    pub(crate) fn new(
        in_force: Config,
        source: Source,
        filter: Filter,
        set_limits: impl Fn(&Limits) + Send + 'static,
    ) -> Settings {
        Settings { in_force, source, filter, set_limits: Box::new(set_limits) }
    }

    /// At SIGHUP. `certificate` says what happened to the certificate.
    pub(crate) fn at_signal(&mut self, certificate: &str) {
        // The next look does not find what is read now.
        self.source.changed();
        self.reload("SIGHUP", Some(certificate));
    }

    /// Looks whether the configuration file changed.
    pub(crate) fn at_look(&mut self) {
        if let Some(path) = self.source.changed() {
            let occasion = format!("{} changed", path.display());
            self.reload(&occasion, None);
        }
    }

    /// Reads the settings again and applies all that can change, or none on error. A line of the log says what happened to each difference.
    fn reload(&mut self, occasion: &str, certificate: Option<&str>) {
        if let Err(cause) = self.try_reload(occasion, certificate) {
            tracing::error!(cause, certificate, "{occasion}: the settings cannot be used, those before stay");
        }
    }

    fn try_reload(&mut self, occasion: &str, certificate: Option<&str>) -> Result<(), String> {
        let wanted = self.source.read().map_err(|cause| cause.to_string())?;
        let differences = differences(&self.in_force, &wanted);
        let (now, later): (Vec<_>, Vec<_>) =
            differences.into_iter().partition(|difference| is_live(&difference.name));
        let changed =
            now.iter().map(|Difference { name, before, after }| format!("{name}: {before} -> {after}"));
        let changed = or_nothing(changed.collect());
        let at_next_start = or_nothing(later.into_iter().map(|difference| difference.name).collect());
        let tell = || {
            tracing::info!(certificate, changed, at_next_start, "{occasion}: the settings were read again");
        };
        // The line appears if either filter lets it through.
        let told = tracing::enabled!(tracing::Level::INFO);
        self.filter.check(&wanted.log)?;
        if told {
            tell();
        }
        self.filter.set(&wanted.log)?;
        if !told {
            tell();
        }
        if wanted.limits != self.in_force.limits {
            (self.set_limits)(&wanted.limits);
        }
        self.in_force.limits = wanted.limits;
        self.in_force.log.filter = wanted.log.filter;
        Ok(())
    }
}

/// Whether a setting can change while the service runs.
fn is_live(name: &str) -> bool {
    name.starts_with("limits.") || name == "log.filter"
}

fn or_nothing(names: Vec<String>) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// Every setting that differs, in the order of their names.
fn differences(before: &Config, after: &Config) -> Vec<Difference> {
    let settings = |config: &Config| toml::Table::try_from(config).expect("a configuration is a table");
    let (before, after) = (settings(before), settings(after));
    let mut found = Vec::new();
    for (section, values) in &after {
        let values = values.as_table().expect("a section is a table");
        let old = &before[section];
        for (key, value) in values.iter().filter(|(key, value)| old.get(key.as_str()) != Some(*value)) {
            let before = old.get(key.as_str()).map_or(String::new(), ToString::to_string);
            found.push(Difference { name: format!("{section}.{key}"), before, after: value.to_string() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_noticed_once_for_each_of_its_contents_and_a_pipe_or_no_file_never() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trefoil.toml");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        let none = || Ok(Config::embedded());
        write("a");
        let mut source = Source::new(Some(&path), none);
        let mut noticed = || source.changed() == Some(path.as_path());
        assert!(!noticed(), "nothing changed");
        write("b");
        assert!(noticed() && !noticed());
        write("b");
        assert!(!noticed(), "it was written again with the same contents");
        std::fs::remove_file(&path).unwrap();
        assert!(noticed() && !noticed(), "it went away");
        write("b");
        assert!(noticed() && !noticed(), "it is back");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(!noticed(), "no file is there");
        for other in [None, Some(directory.path())] {
            let mut source = Source::new(other, none);
            assert_eq!(source.changed(), None);
        }
    }
}
