//! Containers as docker-compose and helm print them. No reader of YAML: docker-compose writes one form, and the chart keeps to one.

/// One container.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    /// Files, folders, volumes and secrets that it sees, each with its place if that is known.
    mounts: Vec<(String, String)>,
    /// Seconds between the signal to stop and its end by force.
    grace_s: Option<u64>,
    /// Which of the rules it keeps, in words.
    kept: Vec<&'static str>,
}

const PROBE: &str = "a probe";

/// The rules, and the line that shows each in the output of docker-compose and of helm; a line that ends in a colon may go on.
const RULES: [(&str, &str, &str); 5] = [
    ("a user other than root", "user: ", "runAsNonRoot: true"),
    ("a root file system that is read-only", "read_only: true", "readOnlyRootFilesystem: true"),
    ("no capabilities", "- ALL", "capabilities: {drop: [ALL]}"),
    ("no new privileges", "- no-new-privileges:true", "allowPrivilegeEscalation: false"),
    (PROBE, "healthcheck:", "readinessProbe: {"),
];

/// In place of a probe, for the container that makes the nodes' keys: the rules, and what docker-compose prints.
const OF_KEYS: [(&str, &str); 2] = [("no network", "network_mode: none"), ("a start by hand", "profiles:")];

impl Container {
    /// The rules that it breaks.
    pub(super) fn breaches(&self) -> Vec<String> {
        let own = OF_KEYS.iter().filter(|_| self.makes_keys()).map(|(rule, _)| *rule);
        let all = RULES.iter().map(|(rule, ..)| *rule).filter(|rule| !self.makes_keys() || *rule != PROBE);
        let broken = all.chain(own).filter(|rule| !self.kept.contains(rule));
        let mut all: Vec<String> = broken.map(|rule| format!("{}: without {rule}", self.name)).collect();
        let version = self.image.rsplit('/').next().unwrap_or_default().split_once(':');
        if !version.is_some_and(|(_, tag)| {
            tag.starts_with(|c: char| c.is_ascii_digit() || c == 'v') && tag.contains('.')
        }) {
            all.push(format!("{}: image {} is not pinned to a version", self.name, self.image));
        }
        all
    }

    /// Whether it makes the nodes' keys, and is no service.
    pub(super) fn makes_keys(&self) -> bool {
        self.name == "node-keys"
    }

    /// What it sees of other nodes, or lacks of its own: each has signing keys that no other can read. The one that makes them sees all.
    pub(super) fn shares(&self) -> Vec<String> {
        let is_mounted = |place: &str| self.mounts.iter().any(|(_, at)| at == place);
        if self.makes_keys() {
            let missing = self.arguments.iter().filter(|folder| !is_mounted(folder));
            return missing.map(|folder| format!("{}: {folder} is not mounted", self.name)).collect();
        }
        let sources = || self.mounts.iter().map(|(source, _)| source);
        let others = sources().filter(|source| of_node(source).is_some_and(|node| node != self.name));
        let mut all: Vec<String> = others.map(|source| format!("{}: sees {source}", self.name)).collect();
        if of_node(&self.name).is_some() && !sources().any(|source| of_node(source) == Some(&self.name)) {
            all.push(format!("{}: has no directory of its own", self.name));
        }
        all
    }

    /// The settings that say where it listens, with the ports at which the others look for it.
    pub(super) fn ports(&self) -> Vec<(&'static str, u16)> {
        match self.name.starts_with("node") {
            true => vec![("listen", 8443), ("admin_listen", 9443)],
            false => vec![("listen", 7443)],
        }
    }

    /// What a node lacks to stop without a failed request, by the settings that it starts with.
    pub(super) fn cuts(&self, settings: &str) -> Vec<String> {
        if of_node(&self.name).is_none() {
            return Vec::new();
        }
        let number = |key: &str| {
            settings.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = ")?.parse::<u64>().ok())
        };
        let (Some(leave), Some(drain)) = (number("leave_s"), number("drain_timeout_s")) else {
            return vec![format!("{}: its settings have no leave_s or no drain_timeout_s", self.name)];
        };
        let mut all = Vec::new();
        if leave == 0 {
            all.push(format!(
                "{}: leave_s is 0, so that its balancer does not see that it leaves",
                self.name
            ));
        }
        if self.grace_s.is_none_or(|grace| grace <= leave + drain) {
            let grace = self.grace_s.map_or("a default time".to_owned(), |grace| format!("{grace} s"));
            all.push(format!(
                "{}: is ended by force after {grace}, and leave_s {leave} and drain_timeout_s {drain} take longer",
                self.name
            ));
        }
        all
    }

    fn keep(
        &mut self,
        line: &str,
        marker: impl Fn(&(&'static str, &'static str, &'static str)) -> &'static str,
    ) {
        for rule in &RULES {
            let is_root = line.starts_with("user: 0") || line.starts_with("user: root");
            if line.starts_with(marker(rule)) && !is_root {
                self.kept.push(rule.0);
            }
        }
    }
}

/// The services that `docker-compose config` prints.
pub(super) fn of_compose(text: &str) -> Result<Vec<Container>, String> {
    let mut found: Vec<Container> = Vec::new();
    let mut key = "";
    for line in text.lines().skip_while(|line| *line != "services:").skip(1) {
        let (depth, inner) = (line.len() - line.trim_start().len(), line.trim_start());
        match (depth, found.last_mut()) {
            (0, _) => break,
            (2, _) => {
                found.push(Container { name: inner.trim_end_matches(':').to_owned(), ..Container::default() })
            }
            (_, None) => return Err(format!("a line of no service: {line}")),
            (4, Some(container)) => {
                if !inner.starts_with("- ") {
                    key = inner.split(':').next().unwrap_or_default();
                }
                match (key, inner.strip_prefix("- ")) {
                    ("command", Some(argument)) => container.arguments.push(plain(argument)),
                    ("volumes", Some(volume)) => {
                        let mut parts = volume.split(':');
                        let mut part = || plain(parts.next().unwrap_or_default());
                        container.mounts.push((part(), part()));
                    }
                    _ => container.keep(inner, |rule| rule.1),
                }
                let own = OF_KEYS.iter().filter(|(_, marker)| inner.starts_with(marker));
                container.kept.extend(own.map(|(rule, _)| *rule));
                if let Some(image) = inner.strip_prefix("image: ") {
                    container.image = plain(image);
                }
                if let Some(time) = inner.strip_prefix("stop_grace_period: ") {
                    container.grace_s = seconds(&plain(time));
                }
            }
            (6, Some(container)) if key == "environment" => container.environment.extend(pair(inner)),
            _ => {}
        }
    }
    Ok(found)
}

/// The containers of the workloads that `helm template` prints, without those that only run before them.
pub(super) fn of_chart(text: &str) -> Result<Vec<Container>, String> {
    let mut found = Vec::new();
    for document in text.split("\n---") {
        let is_workload =
            ["kind: StatefulSet", "kind: Deployment"].iter().any(|kind| document.contains(kind));
        if !is_workload {
            continue;
        }
        let name = name(document).ok_or("a workload has no name")?.to_owned();
        let mut container = Container { name, ..Container::default() };
        let (before, main) =
            document.split_once("\n      containers:").ok_or("a workload has no containers")?;
        let grace = |line: &str| line.strip_prefix("      terminationGracePeriodSeconds: ")?.parse().ok();
        container.grace_s = before.lines().find_map(grace);
        for line in before.lines().filter(|line| line.contains("runAsNonRoot")).chain(main.lines()) {
            let inner = line.trim_start();
            container.keep(inner, |rule| rule.2);
            if let Some(image) = inner.strip_prefix("image: ") {
                container.image = plain(image);
            }
            if let Some((_, secret)) = inner.split_once("secret: {secretName: ") {
                let name = secret.split('}').next().unwrap_or_default();
                container.mounts.push((plain(name), String::new()));
            }
            if let Some(list) = inner.strip_prefix("args: [").and_then(|list| list.strip_suffix(']')) {
                container.arguments = list.split(", ").map(plain).collect();
            }
            if let Some((name, value)) = inner
                .strip_prefix("- {name: ")
                .and_then(|rest| rest.strip_suffix('}')?.split_once(", value: "))
            {
                container.environment.push((name.to_owned(), plain(value)));
            }
        }
        found.push(container);
    }
    Ok(found)
}

/// What would take more than one node, or more than one key-holder, away at the same time: an upgrade of the chart, which each set of pods
/// follows at once unless it waits for a hand, and machines that are emptied.
pub(super) fn together(text: &str) -> Vec<String> {
    let of = |kind: &'static str| {
        text.split("\n---").filter(move |document| document.lines().any(|line| line == kind))
    };
    let has = |document: &str, start: &str| document.lines().any(|line| line.starts_with(start));
    let mut all = Vec::new();
    for app in ["node", "key-holder"] {
        let chosen = format!("  selector: {{matchLabels: {{app: {app}");
        let sets = of("kind: StatefulSet").filter(|set| has(set, &format!("{chosen}, ")));
        let at_once = sets.filter(|set| !has(set, "  updateStrategy: {type: OnDelete}"));
        all.extend(at_once.map(|set| {
            let name = name(set).unwrap_or(app);
            format!("{name}: restarts together with the others, without updateStrategy OnDelete")
        }));
        let mut budgets =
            of("kind: PodDisruptionBudget").filter(|budget| has(budget, &format!("{chosen}}}}}")));
        if !budgets.any(|budget| has(budget, "  maxUnavailable: 1")) {
            all.push(format!("{app}: no PodDisruptionBudget has maxUnavailable 1"));
        }
    }
    all
}

fn name(document: &str) -> Option<&str> {
    document.lines().find_map(|line| line.strip_prefix("metadata: {name: ")?.strip_suffix('}'))
}

/// Those of a time such as `48s` or `1m0s`.
fn seconds(time: &str) -> Option<u64> {
    let (minutes, seconds) =
        time.strip_suffix('s')?.split_once('m').unwrap_or(("0", time.strip_suffix('s')?));
    Some(minutes.parse::<u64>().ok()? * 60 + seconds.parse::<u64>().ok()?)
}

/// The node whose directory this is, by the name of a folder or secret: also `state` and `node`, which are of more than one.
fn of_node(source: &str) -> Option<&str> {
    let name = source.rsplit('/').next().unwrap_or_default();
    let is_node = |rest: &str| rest.parse::<u32>().is_ok();
    (["state", "node"].contains(&name) || name.strip_prefix("node-").is_some_and(is_node)).then_some(name)
}

fn pair(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(": ")?;
    Some((name.to_owned(), plain(value)))
}

/// Without the quotation marks around it.
fn plain(word: &str) -> String {
    word.trim_matches(|c| c == '\'' || c == '"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPOSE: &str = "services:\n  node-1:\n    cap_drop:\n    - ALL\n    command:\n    - serve\n    - --fleet\n    environment:\n      \
                           A_B: '9'\n    healthcheck:\n      interval: 10s\n    image: trefoil:0.1.0\n    read_only: true\n    security_opt:\n    \
                           - no-new-privileges:true\n    stop_grace_period: 48s\n    user: 10001:10001\n    volumes:\n    - /f/state/node-1:/var/lib:rw\n    - socket:/run:rw\n\
                           volumes:\n  x: {}\n";
    const CHART: &str = "---\nkind: Service\n---\nkind: StatefulSet\nmetadata: {name: node-1}\nspec:\n      terminationGracePeriodSeconds: 48\n        runAsNonRoot: true\n      \
                         initContainers:\n          image: other\n      containers:\n          image: trefoil:0.1.0\n          \
                         args: [serve, --fleet]\n            - {name: A_B, value: \"9\"}\n          readinessProbe: {tcp}\n            \
                         allowPrivilegeEscalation: false\n            readOnlyRootFilesystem: true\n            capabilities: {drop: [ALL]}\n      volumes:\n        \
                         - {name: prepared, secret: {secretName: node-1}}\n";

    #[test]
    fn both_forms_are_read_as_the_same_container_which_keeps_the_rules() {
        for found in [of_compose(COMPOSE), of_chart(CHART)] {
            let [container] = &found.unwrap()[..] else { panic!("one") };
            assert_eq!((container.name.as_str(), container.image.as_str()), ("node-1", "trefoil:0.1.0"));
            assert_eq!(container.arguments, ["serve", "--fleet"]);
            assert_eq!(container.environment, [("A_B".to_owned(), "9".to_owned())]);
            assert_eq!([container.breaches(), container.shares()].concat(), Vec::<String>::new());
        }
    }

    #[test]
    fn a_node_that_sees_the_directory_of_another_is_named() {
        for (seen, said) in [
            ("node-2", &["sees {}node-2", "has no directory of its own"][..]),
            ("node", &["sees {}node", "has no directory of its own"]),
            ("state", &["sees {}state", "has no directory of its own"]),
            ("node-certificate", &["has no directory of its own"]),
        ] {
            for (text, own, of) in [
                (COMPOSE, "/f/state/", of_compose as fn(&str) -> Result<Vec<Container>, String>),
                (CHART, "", of_chart),
            ] {
                let place = |of: &str| match text == COMPOSE {
                    true => format!("{own}{of}:/"),
                    false => format!("secretName: {of}}}"),
                };
                let found = of(&text.replace(&place("node-1"), &place(seen))).unwrap();
                let expected = said.iter().map(|said| format!("node-1: {}", said.replace("{}", own)));
                assert_eq!(found[0].shares(), expected.collect::<Vec<_>>(), "{seen}");
            }
        }
    }

    #[test]
    fn what_makes_the_keys_of_all_nodes_has_no_network_and_starts_by_hand() {
        let text = COMPOSE.replace("  node-1:", "  node-keys:").replace("- --fleet", "- /var/lib");
        let text = text.replace("- serve", "- /var/lib").replace("healthcheck:", "profiles:");
        let text = text.replace("    user:", "    network_mode: none\n    user:");
        let of = |text: &str| {
            let found = of_compose(text).unwrap().remove(0);
            [found.breaches(), found.shares()].concat()
        };
        assert_eq!(of(&text), Vec::<String>::new());
        for (rule, marker) in OF_KEYS {
            assert_eq!(of(&text.replace(marker, "else: ")), [format!("node-keys: without {rule}")]);
        }
        let unseen = text.replace(":/var/lib:rw", ":/var/lab:rw");
        assert_eq!(of(&unseen), ["node-keys: /var/lib is not mounted"; 2]);
    }

    #[test]
    fn a_node_that_cuts_requests_when_it_stops_is_named() {
        let cuts = |text: &str, of: fn(&str) -> Result<Vec<Container>, String>, settings: &str| {
            of(text).unwrap()[0].cuts(settings).len()
        };
        for (text, of) in
            [(COMPOSE, of_compose as fn(&str) -> Result<Vec<Container>, String>), (CHART, of_chart)]
        {
            for (settings, count) in [
                ("leave_s = 3\ndrain_timeout_s = 30\n", 0),
                ("leave_s = 18\ndrain_timeout_s = 30\n", 1),
                ("leave_s = 3\ndrain_timeout_s = 45\n", 1),
                ("leave_s = 0\ndrain_timeout_s = 30\n", 1),
                ("leave_s = 0\ndrain_timeout_s = 60\n", 2),
                ("drain_timeout_s = 30\n", 1),
                ("leave_s = 3\n", 1),
            ] {
                assert_eq!(cuts(text, of, settings), count, "{settings}");
            }
            let silent = text.replace("stop_grace", "else").replace("terminationGrace", "else");
            assert_eq!(cuts(&silent, of, "leave_s = 3\ndrain_timeout_s = 30\n"), 1);
            let other = text.replace("node-1", "key-holder-1");
            assert_eq!(cuts(&other, of, ""), 0);
        }
        for (time, is) in
            [("48s", Some(48)), ("1m0s", Some(60)), ("2m5s", Some(125)), ("48", None), ("s", None)]
        {
            assert_eq!(seconds(time), is, "{time}");
        }
    }

    #[test]
    fn sets_that_restart_together_and_pods_that_may_all_be_evicted_are_named() {
        let of_app = |app: &str| {
            let set = |number: u32| {
                format!(
                    "---\nkind: StatefulSet\nmetadata: {{name: {app}-{number}}}\nspec:\n  updateStrategy: {{type: OnDelete}}\n  \
                     selector: {{matchLabels: {{app: {app}, it: {number}}}}}\n"
                )
            };
            let budget = "---\nkind: PodDisruptionBudget\nspec:\n  maxUnavailable: 1\n";
            format!("{budget}  selector: {{matchLabels: {{app: {app}}}}}\n{}{}", set(1), set(2))
        };
        for (app, other) in [("node", "key-holder"), ("key-holder", "node")] {
            let with = |from: &str, to: &str| together(&(of_app(app).replacen(from, to, 1) + &of_app(other)));
            assert_eq!(with("", ""), Vec::<String>::new());
            let restarts =
                format!("{app}-1: restarts together with the others, without updateStrategy OnDelete");
            assert_eq!(with("OnDelete", "RollingUpdate"), [restarts.as_str()]);
            assert_eq!(with("  updateStrategy: {type: OnDelete}\n", ""), [restarts]);
            let evicted = [format!("{app}: no PodDisruptionBudget has maxUnavailable 1")];
            for (from, to) in
                [("maxUnavailable: 1", "minAvailable: 1"), ("kind: Pod", "kind: Not"), ("{app: ", "{app: no")]
            {
                assert_eq!(with(from, to), evicted, "{from}");
            }
        }
    }

    #[test]
    fn each_broken_rule_is_named() {
        for (rule, compose, chart) in RULES {
            for (text, marker, of) in [
                (COMPOSE, compose, of_compose as fn(&str) -> Result<Vec<Container>, String>),
                (CHART, chart, of_chart),
            ] {
                let broken = of(&text.replace(marker, "else: ")).unwrap();
                assert_eq!(broken[0].breaches(), [format!("node-1: without {rule}")]);
            }
        }
        for (text, image) in
            [("10001:10001", "0:0"), ("trefoil:0.1.0", "trefoil:latest"), ("trefoil:0.1.0", "trefoil")]
        {
            assert_eq!(of_compose(&COMPOSE.replace(text, image)).unwrap()[0].breaches().len(), 1, "{image}");
        }
    }
}
