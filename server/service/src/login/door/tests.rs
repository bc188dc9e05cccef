//! What the door asks of the register of a fleet.

use super::*;
use crate::log::asker::Claim;
use crossbeam_channel::{Sender, unbounded};
use trefoil_matching::{
    AttemptPolicy, DecisionPolicy, Embedding, KeyHolder, KeyStructure, Lane as Seat, MemoryVault, Model,
    Template, TemplateName, split, unblind,
};
use trefoil_pipeline::{Probe, SessionId};
use trefoil_storage::store::{Registered, Spending, Spent, StoreError};
use trefoil_types::{Account, Handle, TenantId};

const TENANT: TenantId = TenantId::new([7; 16]);
const HANDLE: Handle = Handle::new([8; 32]);
const SESSION: SessionId = SessionId::new([9; 32]);
const NOW: u64 = 10_000;

/// A register where everything was used.
struct Used(Sender<Vec<Spending>>);

impl Register for Used {
    fn unready(&self) -> Option<String> {
        None
    }

    fn since(&self) -> u64 {
        0
    }

    fn spend(&self, batch: &[Spending]) -> Result<Registered, StoreError> {
        self.0.send(batch.to_vec()).expect("the test listens");
        Ok(Registered { now: NOW, since: 0, spent: vec![Spent::Repeated; batch.len()] })
    }
}

fn face() -> Embedding {
    Embedding::quantise(&[1.0; 128]).expect("a vector")
}

fn template() -> Template {
    let rng = &mut rand::rng();
    let key_holder = KeyHolder::new(Arc::<MemoryVault>::default(), rng, 0).expect("an empty vault");
    let model = Model::of("model", 128).expect("a width");
    let policy = DecisionPolicy::new(model, 0, AttemptPolicy::default());
    key_holder.create_tenant(TENANT, KeyStructure::PerSubject, policy).expect("new");
    let (blinded, blind) = split(&face(), rng);
    let name = TemplateName { tenant: TENANT, handle: HANDLE, generation: 0 };
    let lane = Seat::new(3).expect("below 32");
    unblind(key_holder.enrol(name, lane, model, &blinded.into(), 0).expect("new"), blind)
}

#[test]
fn the_register_is_asked_once_about_what_was_not_spent_and_never_without_a_fleet() {
    let template = template();
    let in_session = || Backing::Session(InSession { id: SESSION, revived: None });
    let request = |nonce: u8, is_spent: bool, backing| LaneRequest {
        backing,
        template: template.clone(),
        probe: Probe::Plain(face()),
        audience: "shop.example".into(),
        nonce: vec![nonce; 16],
        request_digest: [0; 32],
        reply: Asker::Login(Login {
            claim: Claim::unsigned(NOW),
            is_spent,
            reply: tokio::sync::oneshot::channel().0,
        }),
    };
    let application = || Backing::Application(Account::new([1; 32]));
    let batch =
        [request(1, false, in_session()), request(2, true, in_session()), request(3, false, application())];
    let (note, asked) = unbounded();
    let door = |register| FrontDoor::new(100, register, Arc::default());
    let in_fleet = door(Some(Arc::new(Used(note)) as Arc<dyn Register>));
    // A request that is submitted again after its template was renewed has spent its nonce, and is not refused for that.
    let refused = [(0, Refusal::NonceUsed), (2, Refusal::NonceUsed)];
    assert_eq!(in_fleet.spend_shared(&mut batch.iter(), NOW), refused);
    let subject = NonceScope::subject(&TENANT, &HANDLE);
    let expected = vec![
        Spending { nonce: entry(&NonceScope::session(&SESSION), &[1; 16]), issued_at: NOW },
        Spending { nonce: entry(&subject, &[3; 16]), issued_at: NOW },
    ];
    assert_eq!(asked.try_iter().collect::<Vec<_>>(), [expected]);
    assert_eq!(in_fleet.spend_shared(&mut batch[1..2].iter(), NOW), [], "nothing to ask");
    assert_eq!(door(None).spend_shared(&mut batch.iter(), NOW), []);
    assert_eq!(asked.try_iter().count(), 0);
}
