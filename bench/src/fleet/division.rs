//! Processors of each node, and those of everything else.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Failure;

/// Database, key-holder and generator of an installation need at least these.
const OTHERS_LEAST: usize = 3;

/// Which processors a process may use that starts now.
pub(super) struct Division {
    nodes: Vec<Vec<usize>>,
    others: Vec<usize>,
}

impl Division {
    /// So many processors for each of these nodes; what starts without another word has the rest.
    ///
    /// # Errors
    /// When the machine has too few, with the number that it needs.
    pub(super) fn of_machine(nodes: usize, each: usize) -> Result<Division, Failure> {
        let allowed = sched_getaffinity(None).map_err(Failure::in_step("processors"))?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        let division = Division::plan(&allowed, nodes, each)?;
        stay_on(&division.others)?;
        Ok(division)
    }

    fn plan(allowed: &[usize], nodes: usize, each: usize) -> Result<Division, Failure> {
        let needed = nodes * each + OTHERS_LEAST;
        if each == 0 || allowed.len() < needed {
            return Err(Failure::usage(format!(
                "{nodes} nodes with {each} processors each, at least one, need a machine of {needed}: this one has {}",
                allowed.len()
            )));
        }
        let (of_nodes, others) = allowed.split_at(nodes * each);
        Ok(Division {
            nodes: of_nodes.chunks(each).map(<[usize]>::to_vec).collect(),
            others: others.to_vec(),
        })
    }

    /// Starts a node on its processors: a process has those of the thread that starts it.
    pub(super) fn on_its_own<T>(
        &self,
        node: usize,
        start: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        stay_on(&self.nodes[node])?;
        let started = start();
        stay_on(&self.others)?;
        started
    }

    /// Threads of the generator.
    pub(super) fn generators(&self) -> usize {
        self.others.len() / 2
    }
}

fn stay_on(cpus: &[usize]) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    sched_setaffinity(None, &set).map_err(Failure::in_step("processors"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_processor_has_two_owners_and_all_have_one() {
        let allowed: Vec<usize> = (4..20).collect();
        let division = Division::plan(&allowed, 3, 2).unwrap();
        let mut all = division.nodes.concat();
        all.extend(&division.others);
        assert_eq!((division.nodes.len(), all), (3, allowed));
    }

    #[test]
    fn a_machine_with_too_few_is_told_how_many_it_needs() {
        let refused = |each| Division::plan(&[0, 1, 2, 3], 3, each).err().unwrap().to_string();
        assert!(refused(2).contains("need a machine of 9: this one has 4"), "{}", refused(2));
        assert!(refused(0).contains("at least one"), "{}", refused(0));
    }

    #[test]
    fn a_process_that_starts_has_its_processors_and_the_thread_has_the_rest_again() {
        let mine = || sched_getaffinity(None).unwrap();
        let before = mine();
        let own = (0..CpuSet::MAX_CPU).find(|&cpu| before.is_set(cpu)).unwrap();
        let others: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu)).collect();
        let division = Division { nodes: vec![vec![own]], others };
        let seen = division.on_its_own(0, || Ok(mine())).unwrap();
        assert_eq!((seen.count(), seen.is_set(own)), (1, true));
        assert_eq!(mine(), before);
    }
}
