//! Reasons to doubt this machine's numbers, printed before a run and kept in its record.

use trefoil_kernels::Tier;
use trefoil_pipeline::affinity::Placement;

use crate::host;

/// Load of other programs above which they affect the numbers.
const LOAD_MAX: f64 = 0.5;

/// The system's description of itself. Missing values are none.
#[derive(Clone, Debug, Default)]
struct Machine {
    virtual_machine: Option<bool>,
    governor: Option<String>,
    load_average: Option<f64>,
    /// Processors of each memory node, in the kernel's list format.
    nodes: Vec<String>,
}

/// One sentence for each reason to doubt a run with this placement on this machine.
pub(crate) fn warnings(placement: &Placement) -> Vec<String> {
    of(&Machine::here(), placement, cfg!(debug_assertions))
}

impl Machine {
    fn here() -> Machine {
        let host = host::host(None, Tier::detected());
        let nodes =
            (0..).map_while(|node| host::read(&format!("/sys/devices/system/node/node{node}/cpulist")));
        Machine {
            virtual_machine: host["virtual_machine"].as_bool(),
            governor: host["frequency_governor"].as_str().map(str::to_owned),
            load_average: host["load_average_1m"].as_f64(),
            nodes: nodes.filter(|list| !list.is_empty()).collect(),
        }
    }
}

fn of(machine: &Machine, placement: &Placement, debug: bool) -> Vec<String> {
    let Machine { virtual_machine, governor, load_average, nodes } = machine;
    let mut all = Vec::new();
    if debug {
        all.push("a debug build: its times mean nothing; use --release".to_owned());
    }
    match virtual_machine {
        Some(true) => all.push(
            "a virtual machine: its host may give the processors to others, and its clock rate is not known here".to_owned(),
        ),
        Some(false) => {}
        None => all.push("the system does not say whether this is a virtual machine".to_owned()),
    }
    match governor.as_deref() {
        Some("performance") => {}
        Some(other) => all.push(format!(
            "the frequency governor is {other}: the clock rate follows the load; set it to performance"
        )),
        None => {
            all.push("the frequency governor is not known: the clock rate may follow the load".to_owned())
        }
    }
    all.extend(placement.warnings.iter().cloned());
    let floating = placement.cpus.iter().filter(|cpu| cpu.is_none()).count();
    if floating > 0 {
        all.push(format!("{floating} workers are not pinned: the scheduler moves them between cores"));
    }
    if nodes.len() > 1 {
        all.push(format!(
            "{} memory nodes (processors {}): templates lie where they were enrolled, so some workers read them from another node; \
             numactl --interleave=all spreads them",
            nodes.len(),
            nodes.join(" and "),
        ));
    }
    if let Some(load) = load_average.filter(|load| *load > LOAD_MAX) {
        all.push(format!("load average {load} before the run: other programs were computing here"));
    }
    all
}

#[cfg(test)]
mod tests {
    use trefoil_pipeline::affinity::Pin;

    use super::*;

    fn quiet() -> Machine {
        Machine {
            virtual_machine: Some(false),
            governor: Some("performance".to_owned()),
            load_average: Some(0.1),
            nodes: vec!["0-95".to_owned()],
        }
    }

    fn placed() -> Placement {
        Placement {
            cpus: vec![Some(0), Some(1)],
            physical_cores: 2,
            spares_two_cores: false,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_quiet_machine_has_no_warning_and_each_doubt_has_one() {
        assert_eq!(of(&quiet(), &placed(), false), Vec::<String>::new());
        let floating = Placement { cpus: vec![None, Some(1)], ..placed() };
        let crowded = Placement { warnings: vec!["96 workers on 2 physical cores".to_owned()], ..placed() };
        for (machine, placement, debug, says) in [
            (Machine { virtual_machine: Some(true), ..quiet() }, placed(), false, "virtual machine"),
            (Machine { governor: Some("powersave".into()), ..quiet() }, placed(), false, "powersave"),
            (Machine { governor: None, ..quiet() }, placed(), false, "governor is not known"),
            (
                Machine { nodes: vec!["0-47".into(), "48-95".into()], ..quiet() },
                placed(),
                false,
                "2 memory nodes",
            ),
            (Machine { load_average: Some(3.0), ..quiet() }, placed(), false, "load average 3"),
            (quiet(), floating, false, "1 workers are not pinned"),
            (quiet(), crowded, false, "96 workers"),
            (quiet(), placed(), true, "debug build"),
        ] {
            let said = of(&machine, &placement, debug);
            assert!(said.len() == 1 && said[0].contains(says), "{says}: {said:?}");
        }
    }

    #[test]
    fn more_workers_than_cores_are_warned_of_here() {
        let said = warnings(&Placement::new(Some(1_000), Pin::Auto));
        assert!(said.iter().any(|warning| warning.contains("1000 workers on")), "{said:?}");
    }
}
