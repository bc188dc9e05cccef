//! The settings that a running service reads again at SIGHUP: `[limits]` and `log.filter`. All others are read only at the start.

use crate::config::{Config, ConfigError, Limits};
use trefoil_key_holder::logging::Filter;

/// Reads all layers of the configuration.
pub type ReadConfig = Box<dyn Fn() -> Result<Config, ConfigError> + Send>;

/// The settings of a running service, and the handles that change those that can change.
pub(crate) struct Settings {
    /// The settings at the start, with the changes since.
    in_force: Config,
    read: ReadConfig,
    filter: Filter,
    set_limits: Box<dyn Fn(&Limits) + Send>,
}

/// A setting whose value changed: its name, such as `limits.connections`, and both values.
struct Difference {
    name: String,
    before: String,
    after: String,
}

impl Settings {
    pub(crate) fn new(
        in_force: Config,
        read: ReadConfig,
        filter: Filter,
        set_limits: impl Fn(&Limits) + Send + 'static,
    ) -> Settings {
        Settings { in_force, read, filter, set_limits: Box::new(set_limits) }
    }

    /// Reads the settings again and applies all that can change, or none on error. A line of the log says what happened to each difference.
    /// `certificate` says what happened to the certificate.
    pub(crate) fn reload(&mut self, certificate: &str) {
        if let Err(cause) = self.try_reload(certificate) {
            tracing::error!(cause, certificate, "SIGHUP: the settings cannot be used, those before stay");
        }
    }

    fn try_reload(&mut self, certificate: &str) -> Result<(), String> {
        let wanted = (self.read)().map_err(|cause| cause.to_string())?;
        let differences = differences(&self.in_force, &wanted);
        let (now, later): (Vec<_>, Vec<_>) =
            differences.into_iter().partition(|difference| is_live(&difference.name));
        let changed =
            now.iter().map(|Difference { name, before, after }| format!("{name}: {before} -> {after}"));
        let changed = or_nothing(changed.collect());
        let at_next_start = or_nothing(later.into_iter().map(|difference| difference.name).collect());
        let tell =
            || tracing::info!(certificate, changed, at_next_start, "SIGHUP: the settings were read again");
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
    fn every_setting_that_differs_is_found_and_said_to_be_live_or_not() {
        let before = Config::embedded();
        let mut after = before.clone();
        assert!(differences(&before, &after).is_empty());
        after.limits.idle_timeout_s = 7;
        after.log.filter = "debug".to_owned();
        after.store.templates_in_memory = 3;
        let found: Vec<_> = differences(&before, &after)
            .into_iter()
            .map(|difference| {
                (is_live(&difference.name), format!("{} {}", difference.name, difference.after))
            })
            .collect();
        let expected = [
            (true, "limits.idle_timeout_s 7".to_owned()),
            (true, "log.filter \"debug\"".to_owned()),
            (false, "store.templates_in_memory 3".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}
