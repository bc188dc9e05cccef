//! The nodes of a fleet for callers that reach each of them.

use crate::client::Client;
use sha3::{Digest as _, Sha3_256};
use trefoil_api::Hex;

/// Clients of the nodes of a fleet, each at an address of its own. Every node answers for every subject, and one that has the subject's template in
/// memory answers a little sooner. So each subject has an order of the nodes, the same at every caller that names them alike: ask the first, and
/// the next if it cannot be reached. A node that leaves or joins moves its own subjects only.
///
/// Nothing is sent for it: a balancer does not learn which subject a request names.
///
/// ```no_run
/// use trefoil_api::{Authenticated, Authentication, Hex};
/// use trefoil_client::{Client, ClientError, Nodes};
///
/// # let certificate = b"";
/// # let api_key = "";
/// let client = |address| Client::new(address, certificate, api_key, 1);
/// let names = ["https://a.auth.example", "https://b.auth.example", "https://c.auth.example"];
/// let nodes = Nodes::new(names.map(|name| Ok((name.to_owned(), client(name)?))).into_iter().collect::<Result<_, ClientError>>()?);
/// let handle = Hex([7; 32]);
/// let [warm, second, third] = nodes.in_order(&handle)[..] else { return Ok(()) };
/// # drop((warm, second, third));
/// # Ok::<(), ClientError>(())
/// ```
pub struct Nodes(Vec<(String, Client)>);

impl Nodes {
    /// These nodes; a name is any text that all callers use for the node, such as its address.
    pub fn new(named: Vec<(String, Client)>) -> Nodes {
        Nodes(named)
    }

    /// The clients in the order of this subject.
    pub fn in_order(&self, handle: &Hex<32>) -> Vec<&Client> {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        order(&names, handle).into_iter().map(|place| &self.0[place].1).collect()
    }
}

/// Rendezvous hashing (Thaler and Ravishankar, 1998): places by descending SHA3-256 of domain, length of the name, name and handle.
fn order(names: &[&str], handle: &Hex<32>) -> Vec<usize> {
    let weight = |place: &usize| {
        let name = names[*place];
        let digest = Sha3_256::new()
            .chain_update(b"trefoil/node/1")
            .chain_update((name.len() as u64).to_le_bytes())
            .chain_update(name)
            .chain_update(handle.0)
            .finalize();
        std::cmp::Reverse(<[u8; 32]>::from(digest))
    };
    let mut places: Vec<usize> = (0..names.len()).collect();
    places.sort_by_cached_key(weight);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handles() -> impl Iterator<Item = Hex<32>> {
        (0_u64..3_000).map(|number| Hex(Sha3_256::digest(number.to_le_bytes()).into()))
    }

    /// Made by Python's `hashlib`; the clients for Python and TypeScript agree too.
    #[test]
    fn the_order_is_that_of_the_vectors() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../api/testdata/nodes.json")).unwrap();
        let texts = |case: &serde_json::Value, key: &str| -> Vec<String> {
            case[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        for case in vectors["cases"].as_array().unwrap() {
            let (named, ordered) = (texts(case, "names"), texts(case, "order"));
            let names: Vec<&str> = named.iter().map(String::as_str).collect();
            let handle: Hex<32> = serde_json::from_value(case["handle"].clone()).unwrap();
            let order: Vec<&str> = order(&names, &handle).into_iter().map(|place| names[place]).collect();
            assert_eq!(order, ordered, "{case}");
        }
    }

    /// Claim V137.
    #[test]
    fn each_node_is_the_first_of_its_share_and_a_node_that_leaves_moves_only_its_own() {
        let names = ["a", "b", "c"];
        let mut first = [0; 3];
        for handle in handles() {
            let all = order(&names, &handle);
            first[all[0]] += 1;
            let without_c: Vec<usize> = all.iter().copied().filter(|place| *place != 2).collect();
            assert_eq!(order(&names[..2], &handle), without_c);
            let shown_otherwise: Vec<usize> =
                order(&["c", "b", "a"], &handle).iter().map(|place| 2 - place).collect();
            assert_eq!(all, shown_otherwise, "by name, wherever it stands in the list");
        }
        assert!(first.iter().all(|count| (850..1_150).contains(count)), "{first:?}");
    }
}
