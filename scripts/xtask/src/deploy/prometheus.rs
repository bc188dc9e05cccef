//! Rules and configuration for Prometheus, and the queries of the dashboard, which are checked as rules.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::silent;

/// What Grafana puts in the place of its variables.
const VARIABLES: [(&str, &str); 3] = [("$__rate_interval", "5m"), ("$__interval", "1m"), ("$__range", "1h")];

/// Checks the files in the folder `scripts/deploy`.
pub(super) fn check(folder: &Path) -> Result<String, String> {
    let promtool = |arguments: &[&str]| {
        let mut command = Command::new("promtool");
        command.args(arguments).current_dir(folder.join("prometheus"));
        silent(command)
    };
    promtool(&["check", "rules", "alerts.yml"])?;
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|cause| format!("{}: {cause}", path.display()))
    };
    let missing = untested(&read("prometheus/alerts.yml")?, &read("prometheus/alerts_test.yml")?);
    if !missing.is_empty() {
        return Err(format!("add to prometheus/alerts_test.yml: {}", missing.join("; ")));
    }
    promtool(&["test", "rules", "alerts_test.yml"])?;
    // The credential files that it names are on the machine that scrapes.
    promtool(&["check", "config", "--syntax-only", "prometheus.yml"])?;
    promtool(&["check", "config", "--syntax-only", "../fleet/prometheus.yml"])?;
    let dashboard = read("grafana-dashboard.json")?;
    let dashboard = serde_json::from_str(&dashboard).map_err(|cause| format!("the dashboard: {cause}"))?;
    let (rules, queries) = as_rules(&dashboard)?;
    let file = std::env::temp_dir().join(format!("trefoil-dashboard-{}.yml", std::process::id()));
    let failed = |cause: std::io::Error| format!("{}: {cause}", file.display());
    fs::write(&file, rules).map_err(failed)?;
    let mut checked = Command::new("promtool");
    checked.args(["check", "rules"]).arg(&file);
    let checked = silent(checked);
    fs::remove_file(&file).map_err(failed)?;
    checked.map(|_| format!("{queries} queries of the dashboard"))
}

/// The alerts that no test shows to fire, or to be silent.
fn untested(rules: &str, tests: &str) -> Vec<String> {
    let named = |word: &str, text: &str| -> Vec<String> {
        let after = text.split(word).skip(1);
        after.map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect()).collect()
    };
    let is_silent = |line: &&str| line.contains("exp_alerts: []");
    let lines = |silent: bool| -> BTreeSet<String> {
        let lines = tests.lines().filter(|line| is_silent(line) == silent);
        lines.flat_map(|line| named("alertname: ", line)).collect()
    };
    let (silent, fires) = (lines(true), lines(false));
    let alerts = named("- alert: ", rules);
    let without = |shown: &BTreeSet<String>, what: &str| -> Vec<String> {
        let missing = alerts.iter().filter(|alert| !shown.contains(*alert));
        missing.map(|alert| format!("a test where {alert} {what}")).collect()
    };
    [without(&fires, "fires"), without(&silent, "is silent")].concat()
}

/// The queries of a dashboard as rules, and how many they are.
fn as_rules(dashboard: &Value) -> Result<(String, usize), String> {
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    let mut rules = "groups:\n  - name: dashboard\n    rules:\n".to_owned();
    let mut count = 0;
    for panel in list(dashboard, "panels") {
        let title = panel["title"].as_str().unwrap_or("without a title");
        let targets = list(&panel, "targets");
        if targets.is_empty() {
            return Err(format!("the panel {title} has no target"));
        }
        for target in targets {
            let query = target["expr"].as_str().ok_or_else(|| format!("a target of {title} has no query"))?;
            let mut query = query.to_owned();
            for (variable, value) in VARIABLES {
                query = query.replace(variable, value);
            }
            if query.contains('$') {
                return Err(format!("the panel {title} has a variable that is not known here: {query}"));
            }
            // JSON is YAML. The label tells the panels apart, because two rules must not be the same.
            let (query, title) = (Value::from(query), Value::from(title));
            let labels = format!("{{panel: {title}, query: \"{count}\"}}");
            // Writing to a String cannot fail.
            let _ = writeln!(rules, "      - {{record: \"panel:query\", expr: {query}, labels: {labels}}}");
            count += 1;
        }
    }
    if count == 0 {
        return Err("the dashboard has no panel".to_owned());
    }
    Ok((rules, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_alert_without_a_test_that_fires_and_one_that_is_silent_is_named() {
        let rules = "  - alert: A\n    expr: a\n  - alert: B\n  - alert: C\n";
        let tests = "- {eval_time: 1m, alertname: A, exp_alerts: []}\n- eval_time: 2m\n  alertname: A\n  exp_alerts:\n\
                     - {eval_time: 1m, alertname: B, exp_alerts: []}\n  alertname: C\n";
        assert_eq!(untested(rules, tests), ["a test where B fires", "a test where C is silent"]);
    }

    #[test]
    fn every_query_of_a_dashboard_is_a_rule_without_a_variable() {
        let panel = |targets: Value| json!({"panels": [{"title": "a \"b\"", "targets": targets}]});
        let two = json!([{"expr": "rate(a{b=\"c\"}[$__rate_interval])"}, {"expr": "d"}]);
        let (rules, count) = as_rules(&panel(two)).unwrap();
        assert_eq!(count, 2);
        let first = r#"      - {record: "panel:query", expr: "rate(a{b=\"c\"}[5m])", labels: {panel: "a \"b\"", query: "0"}}"#;
        assert!(rules.contains(first) && rules.contains("expr: \"d\""), "{rules}");
        for wrong in [json!([]), json!([{"expr": "a"}, {}]), json!([{"expr": "a{b=\"$c\"}"}])] {
            assert!(as_rules(&panel(wrong.clone())).is_err(), "{wrong}");
        }
        assert!(as_rules(&json!({})).is_err());
    }
}
