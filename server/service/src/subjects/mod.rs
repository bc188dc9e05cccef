//! Subjects and their templates.

#![expect(clippy::disallowed_types, reason = "for enrolments, off the path of a login")]

pub mod deletion;
pub mod enrolments;
pub mod face;
pub mod leftovers;
pub(crate) mod lockouts;
pub mod revocation;
pub mod rotation;
pub mod templates;

use crate::idempotency::InFlight;
use crate::log::Log;
use crate::node::Node;
use crate::refused::Refused;
use crate::sessions::opening::ProofSessions;
use crate::tenants::directory::Directory;
use crate::tenants::tenant::Tenant;
use leftovers::Leftovers;
use std::sync::{Arc, RwLock};
use templates::Templates;
use trefoil_matching::{Template, TemplateName};
use trefoil_storage::store::{self, wrap};

/// See the module.
pub struct Subjects {
    pub(crate) node: Arc<Node>,
    pub(crate) log: Arc<Log>,
    pub(crate) tenants: Arc<Directory>,
    sessions: Arc<ProofSessions>,
    /// Templates in memory.
    pub templates: Templates,
    /// Keys of enrolments that are running.
    idempotency: InFlight,
    /// Generations that replacements left behind.
    leftovers: Leftovers,
    /// Read-locked from the moment the key-holder encrypts a template until it is stored. At another node of a fleet the store refuses a template whose
    /// keys were replaced in between.
    enrolling: RwLock<()>,
}

impl Subjects {
    /// The subjects in the node's store, of whose templates so many are in memory.
    pub fn new(
        node: Arc<Node>,
        log: Arc<Log>,
        tenants: Arc<Directory>,
        sessions: Arc<ProofSessions>,
        leftovers: Leftovers,
        templates: usize,
    ) -> Subjects {
        let (idempotency, enrolling) = (InFlight::default(), RwLock::default());
        let templates = Templates::new(templates);
        Subjects { node, log, tenants, sessions, templates, idempotency, leftovers, enrolling }
    }

    /// A template from its record.
    ///
    /// # Errors
    /// The record does not open.
    pub fn opened(&self, tenant: &Tenant, record: &store::Template) -> Result<Template, Refused> {
        let store::Template { subject, wrapped } = record;
        let store::Subject { handle, generation, lane, epoch, wrapped_key, .. } = subject;
        let name = TemplateName { tenant: tenant.id, handle: *handle, generation: *generation };
        let place = wrap::TemplatePlace { name, lane: *lane, keys: tenant.structure(), epoch: *epoch };
        let damaged = |cause: &dyn std::fmt::Display| {
            self.node.damaged(format_args!("a template does not open: {cause}"))
        };
        let bytes =
            tenant.key.open_template(&place, wrapped_key, wrapped).map_err(|cause| damaged(&cause))?;
        Template::from_bytes(&bytes).map_err(|cause| damaged(&cause))
    }
}
