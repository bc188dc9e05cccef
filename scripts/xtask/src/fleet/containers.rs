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
        let name =
            document.lines().find_map(|line| line.strip_prefix("metadata: {name: ")?.strip_suffix('}'));
        let mut container =
            Container { name: name.ok_or("a workload has no name")?.to_owned(), ..Container::default() };
        let (before, main) =
            document.split_once("\n      containers:").ok_or("a workload has no containers")?;
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
                           - no-new-privileges:true\n    user: 10001:10001\n    volumes:\n    - /f/state/node-1:/var/lib:rw\n    - socket:/run:rw\n\
                           volumes:\n  x: {}\n";
    const CHART: &str = "---\nkind: Service\n---\nkind: StatefulSet\nmetadata: {name: node-1}\nspec:\n        runAsNonRoot: true\n      \
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
