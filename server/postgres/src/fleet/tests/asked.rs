//! Questions to the other nodes.

use super::*;
use trefoil_storage::store::fleet::{Reply, TOLD_MAX};

/// A node that answers so.
fn answering(url: &str, name: &str, reply: Reply) -> Postgres {
    let (store, _) = open(url, name, PATIENCE).unwrap();
    store.fleet().unwrap().follow(Box::new(|_| Ok(())), reply).unwrap();
    store
}

/// Asks until there is an answer: a busy machine may take longer than a node waits.
fn asked(store: &Postgres, question: &[u8]) -> Vec<u8> {
    let answer = Cell::new(None);
    until("an answer", || {
        let told = store.fleet().unwrap().ask(question).unwrap();
        let is_there = told.is_some();
        answer.set(told);
        is_there
    });
    answer.take().unwrap()
}

#[test]
fn a_question_is_answered_by_the_node_that_knows_whichever_asks() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let nodes: Vec<Postgres> = (0..3)
        .map(|own: u8| {
            let reply = move |question: &[u8]| (question[0] == own).then(|| [question, &[own; 9]].concat());
            answering(&url, &format!("node{own}"), Box::new(reply))
        })
        .collect();
    for (from, to) in [(0, 1_u8), (0, 2), (1, 0), (2, 1)] {
        for round in 0..3 {
            let question = [to, round];
            assert_eq!(asked(&nodes[from], &question), [&question[..], &[to; 9]].concat());
        }
    }
    assert_eq!(nodes[0].fleet().unwrap().ask(&[0, 1]), Ok(None), "it asks the others, and they do not know");
    assert_eq!(nodes[0].fleet().unwrap().ask(&[9]), Ok(None), "nobody knows");
    std::thread::scope(|scope| {
        for round in 0..20 {
            let nodes = &nodes;
            scope.spawn(move || assert_eq!(asked(&nodes[0], &[1, round])[..2], [1, round]));
        }
    });
}

#[test]
fn what_is_too_long_or_no_question_is_nothing_and_a_node_hears_on() {
    let Some(server) = Server::shared() else { return };
    let url = server.database();
    let database = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let one = answering(&url, "one", Box::new(|_| None));
    let two = answering(&url, "two", Box::new(|question| Some(vec![7; 300 * usize::from(question[0])])));
    assert_eq!(one.fleet().unwrap().ask(&[1; TOLD_MAX + 1]), Ok(None));
    assert_eq!(one.fleet().unwrap().ask(&[14]), Ok(None), "the answer would be too long");
    for wrong in ["", "question", "question 00 00", "answer \\x", "question 1 2 3"] {
        server.sql(&database, &format!("NOTIFY trefoil_questions, '{wrong}'"));
    }
    assert_eq!(asked(&one, &[13]), vec![7; 3900]);
    // Its connection is gone; the next one listens as well.
    server.sql(&database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
    until("both hear again", || {
        [&one, &two].iter().all(|store| !store.fleet().unwrap().is_stale() && store.unready().is_none())
    });
    assert_eq!(asked(&one, &[2]), vec![7; 600]);
}
