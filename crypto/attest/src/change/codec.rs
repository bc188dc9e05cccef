//! What was done, on the wire.

use trefoil_types::{ApiKeyId, Handle, IssuerKeyId, OperatorId, SessionId};

use super::{Kind, What};
use crate::cbor::{Reader, Writer};
use crate::error::{DecodeError, Problem};

impl What {
    pub(super) fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::Enrolled { handle, generation, consent } => {
                w.array(3);
                w.bytes(handle.as_bytes());
                w.uint((*generation).into());
                w.bytes(consent);
            }
            Self::Erased { handle, generation } | Self::Revoked { handle, generation } => {
                w.array(2);
                w.bytes(handle.as_bytes());
                w.uint((*generation).into());
            }
            Self::RootPublished { generation, generation_min, root, head } => {
                w.array(4);
                w.uint((*generation).into());
                w.uint((*generation_min).into());
                w.bytes(root);
                w.bytes(head);
            }
            Self::PolicyChanged { id, version, digest } => {
                w.array(3);
                w.uint((*id).into());
                w.uint((*version).into());
                w.bytes(digest);
            }
            Self::SessionOpened { session, expires_at } => {
                w.array(2);
                w.bytes(session.as_bytes());
                w.uint(*expires_at);
            }
            Self::SessionEnded { session } => {
                w.array(1);
                w.bytes(session.as_bytes());
            }
            Self::Replaced { handle, generation, replaced, consent } => {
                w.array(4);
                w.bytes(handle.as_bytes());
                w.uint((*generation).into());
                w.uint((*replaced).into());
                w.bytes(consent);
            }
            administrative => administrative.write_administrative(w),
        }
    }

    pub(super) fn read(kind: u64, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.clone();
        let kind = Kind::of_number(kind).ok_or_else(|| start.error("kind", Problem::OutOfRange))?;
        match kind {
            Kind::Enrolled => {
                array(r, 3)?;
                Ok(Self::Enrolled {
                    handle: Handle::new(r.fixed("what.handle")?),
                    generation: r.number("what.generation")?,
                    consent: r.fixed("what.consent")?,
                })
            }
            Kind::Erased => {
                array(r, 2)?;
                Ok(Self::Erased {
                    handle: Handle::new(r.fixed("what.handle")?),
                    generation: r.number("what.generation")?,
                })
            }
            Kind::RootPublished => {
                array(r, 4)?;
                Ok(Self::RootPublished {
                    generation: r.number("what.generation")?,
                    generation_min: r.number("what.generation_min")?,
                    root: r.fixed("what.root")?,
                    head: r.fixed("what.head")?,
                })
            }
            Kind::PolicyChanged => {
                array(r, 3)?;
                Ok(Self::PolicyChanged {
                    id: r.number("what.policy_id")?,
                    version: r.number("what.policy_version")?,
                    digest: r.fixed("what.digest")?,
                })
            }
            Kind::SessionOpened => {
                array(r, 2)?;
                Ok(Self::SessionOpened {
                    session: SessionId::new(r.fixed("what.session")?),
                    expires_at: r.uint("what.expires_at")?,
                })
            }
            Kind::SessionEnded => {
                array(r, 1)?;
                Ok(Self::SessionEnded { session: SessionId::new(r.fixed("what.session")?) })
            }
            Kind::Replaced => {
                array(r, 4)?;
                Ok(Self::Replaced {
                    handle: Handle::new(r.fixed("what.handle")?),
                    generation: r.number("what.generation")?,
                    replaced: r.number("what.replaced")?,
                    consent: r.fixed("what.consent")?,
                })
            }
            Kind::Revoked => {
                array(r, 2)?;
                Ok(Self::Revoked {
                    handle: Handle::new(r.fixed("what.handle")?),
                    generation: r.number("what.generation")?,
                })
            }
            administrative => Self::read_administrative(administrative, r),
        }
    }

    /// What operators do.
    fn write_administrative(&self, w: &mut Writer<'_>) {
        match self {
            Self::TenantCreated { digest } => {
                w.array(1);
                w.bytes(digest);
            }
            Self::ApiKeyCreated { key, scopes } => {
                w.array(2);
                w.bytes(key.as_bytes());
                w.uint((*scopes).into());
            }
            Self::ApiKeyRevoked { key } => {
                w.array(1);
                w.bytes(key.as_bytes());
            }
            Self::IssuerKeyRegistered { key } => {
                w.array(1);
                w.bytes(key.as_bytes());
            }
            Self::KeyRotationBegun { epoch } | Self::KeyRotationEnded { epoch } => {
                w.array(1);
                w.uint((*epoch).into());
            }
            Self::OperatorCreated { operator, role } => {
                w.array(2);
                w.bytes(operator.as_bytes());
                w.uint((*role).into());
            }
            Self::OperatorRevoked { operator } => {
                w.array(1);
                w.bytes(operator.as_bytes());
            }
            Self::OperatorTokenCreated { operator, token }
            | Self::OperatorTokenRevoked { operator, token } => {
                w.array(2);
                w.bytes(operator.as_bytes());
                w.uint((*token).into());
            }
            Self::TenantDeleted { templates } => {
                w.array(1);
                w.uint(*templates);
            }
            Self::Refused { action } => {
                w.array(1);
                w.uint(action.number());
            }
            _ => w.array(0),
        }
    }

    fn read_administrative(kind: Kind, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let operator = |r: &mut Reader<'_>| r.fixed("what.operator").map(OperatorId::new);
        let key = |r: &mut Reader<'_>| r.fixed("what.key").map(ApiKeyId::new);
        let bare = |r: &mut Reader<'_>, what: Self| array(r, 0).map(|()| what);
        match kind {
            Kind::TenantDisabled => return bare(r, Self::TenantDisabled),
            Kind::TenantEnabled => return bare(r, Self::TenantEnabled),
            Kind::MalformedReset => return bare(r, Self::MalformedReset),
            Kind::AttemptsReset => return bare(r, Self::AttemptsReset),
            Kind::ApiKeyCreated
            | Kind::OperatorCreated
            | Kind::OperatorTokenCreated
            | Kind::OperatorTokenRevoked => array(r, 2)?,
            _ => array(r, 1)?,
        }
        Ok(match kind {
            Kind::TenantDeleted => Self::TenantDeleted { templates: r.uint("what.templates")? },
            Kind::TenantCreated => Self::TenantCreated { digest: r.fixed("what.digest")? },
            Kind::ApiKeyCreated => Self::ApiKeyCreated { key: key(r)?, scopes: r.number("what.scopes")? },
            Kind::ApiKeyRevoked => Self::ApiKeyRevoked { key: key(r)? },
            Kind::IssuerKeyRegistered => {
                Self::IssuerKeyRegistered { key: IssuerKeyId::new(r.fixed("what.key")?) }
            }
            Kind::KeyRotationBegun => Self::KeyRotationBegun { epoch: r.number("what.epoch")? },
            Kind::KeyRotationEnded => Self::KeyRotationEnded { epoch: r.number("what.epoch")? },
            Kind::OperatorCreated => {
                Self::OperatorCreated { operator: operator(r)?, role: r.number("what.role")? }
            }
            Kind::OperatorRevoked => Self::OperatorRevoked { operator: operator(r)? },
            Kind::OperatorTokenCreated => {
                Self::OperatorTokenCreated { operator: operator(r)?, token: r.number("what.token")? }
            }
            Kind::OperatorTokenRevoked => {
                Self::OperatorTokenRevoked { operator: operator(r)?, token: r.number("what.token")? }
            }
            _ => {
                let start = r.clone();
                let action =
                    Kind::of_number(r.uint("what.action")?).filter(|action| *action != Kind::Refused);
                Self::Refused {
                    action: action.ok_or_else(|| start.error("what.action", Problem::OutOfRange))?,
                }
            }
        })
    }
}

fn array(r: &mut Reader<'_>, length: usize) -> Result<(), DecodeError> {
    r.array("what", length..=length).map(drop)
}
