//! Containers as docker-compose and helm print them. No reader of YAML: docker-compose writes one form, and the chart keeps to one.

/// One container.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    /// Which of the rules it keeps, in words.
    kept: Vec<&'static str>,
}

/// The rules, and the line that shows each in the output of docker-compose and of helm; a line that ends in a colon may go on.
const RULES: [(&str, &str, &str); 5] = [
    ("a user other than root", "user: ", "runAsNonRoot: true"),
    ("a root file system that is read-only", "read_only: true", "readOnlyRootFilesystem: true"),
    ("no capabilities", "- ALL", "capabilities: {drop: [ALL]}"),
    ("no new privileges", "- no-new-privileges:true", "allowPrivilegeEscalation: false"),
    ("a probe", "healthcheck:", "readinessProbe: {"),
];

impl Container {
    /// The rules that it breaks.
    pub(super) fn breaches(&self) -> Vec<String> {
        let broken = RULES.iter().map(|(rule, ..)| *rule).filter(|rule| !self.kept.contains(rule));
        let mut all: Vec<String> = broken.map(|rule| format!("{}: without {rule}", self.name)).collect();
        let version = self.image.rsplit('/').next().unwrap_or_default().split_once(':');
        if !version.is_some_and(|(_, tag)| {
            tag.starts_with(|c: char| c.is_ascii_digit() || c == 'v') && tag.contains('.')
        }) {
            all.push(format!("{}: image {} is not pinned to a version", self.name, self.image));
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
                    _ => container.keep(inner, |rule| rule.1),
                }
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
                           - no-new-privileges:true\n    user: 10001:10001\nvolumes:\n  x: {}\n";
    const CHART: &str = "---\nkind: Service\n---\nkind: StatefulSet\nmetadata: {name: node-1}\nspec:\n        runAsNonRoot: true\n      \
                         initContainers:\n          image: other\n      containers:\n          image: trefoil:0.1.0\n          \
                         args: [serve, --fleet]\n            - {name: A_B, value: \"9\"}\n          readinessProbe: {tcp}\n            \
                         allowPrivilegeEscalation: false\n            readOnlyRootFilesystem: true\n            capabilities: {drop: [ALL]}\n";

    #[test]
    fn both_forms_are_read_as_the_same_container_which_keeps_the_rules() {
        for found in [of_compose(COMPOSE), of_chart(CHART)] {
            let [container] = &found.unwrap()[..] else { panic!("one") };
            assert_eq!((container.name.as_str(), container.image.as_str()), ("node-1", "trefoil:0.1.0"));
            assert_eq!(container.arguments, ["serve", "--fleet"]);
            assert_eq!(container.environment, [("A_B".to_owned(), "9".to_owned())]);
            assert_eq!(container.breaches(), Vec::<String>::new());
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
