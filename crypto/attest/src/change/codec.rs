//! What was done, on the wire: one table of all kinds and their fields.

use trefoil_types::{ApiKeyId, Handle, IssuerKeyId, OperatorId, SessionId};

use super::What;
use crate::cbor::{Reader, Writer};
use crate::error::{DecodeError, Problem};

/// Of each kind, in the order of the numbers on the wire: the word used in JSON, and the fields of its variant of [`What`] in the order on the
/// wire, with the name that an error gives one where it is not the field's.
macro_rules! kinds {
    (@name $field:ident) => { concat!("what.", stringify!($field)) };
    (@name $field:ident $name:literal) => { concat!("what.", $name) };
    ($($kind:ident $word:literal { $($field:ident $($name:literal)?),* };)*) => {
        /// The kinds of changes: their numbers on the wire.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "each is the variant of `What` with the same name")]
        pub enum Kind {
            $($kind,)*
        }

        impl Kind {
            /// All of them, in the order of their numbers, which count from 1.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$kind),*];

            /// The word used in JSON, such as `erased`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }

            /// How many fields it has.
            const fn fields(self) -> usize {
                match self {
                    $(Self::$kind => <[&str]>::len(&[$(stringify!($field)),*]),)*
                }
            }
        }

        impl What {
            /// Which kind it is.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind { .. } => Kind::$kind,)*
                }
            }

            pub(super) fn write(&self, w: &mut Writer<'_>) {
                w.array(self.kind().fields());
                match self {
                    $(Self::$kind { $($field),* } => { $($field.write(w);)* })*
                }
            }

            pub(super) fn read(kind: u64, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let kind = Kind::of_number(kind).ok_or_else(|| r.error("kind", Problem::OutOfRange))?;
                r.array("what", kind.fields()..=kind.fields())?;
                Ok(match kind {
                    $(Kind::$kind => Self::$kind {
                        $($field: Field::read(r, kinds!(@name $field $($name)?))?),*
                    },)*
                })
            }
        }
    };
}

kinds! {
    Enrolled "enrolled" { handle, generation, consent };
    Erased "erased" { handle, generation };
    RootPublished "root_published" { generation, generation_min, root, head };
    PolicyChanged "policy_changed" { id "policy_id", version "policy_version", digest };
    SessionOpened "session_opened" { session, expires_at };
    SessionEnded "session_ended" { session };
    TenantCreated "tenant_created" { digest };
    TenantDisabled "tenant_disabled" {};
    TenantEnabled "tenant_enabled" {};
    ApiKeyCreated "api_key_created" { key, scopes };
    ApiKeyRevoked "api_key_revoked" { key };
    IssuerKeyRegistered "issuer_key_registered" { key };
    KeyRotationBegun "key_rotation_begun" { epoch };
    KeyRotationEnded "key_rotation_ended" { epoch };
    MalformedReset "malformed_reset" {};
    OperatorCreated "operator_created" { operator, role };
    OperatorRevoked "operator_revoked" { operator };
    OperatorTokenCreated "operator_token_created" { operator, token };
    OperatorTokenRevoked "operator_token_revoked" { operator, token };
    Refused "refused" { action };
    TenantDeleted "tenant_deleted" { templates };
    AttemptsReset "attempts_reset" {};
    Replaced "replaced" { handle, generation, replaced, consent };
    Revoked "revoked" { handle, generation };
}

impl Kind {
    pub(super) const fn number(self) -> u64 {
        self as u64 + 1
    }

    fn of_number(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// A field of a change.
trait Field: Sized {
    fn write(&self, w: &mut Writer<'_>);
    fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError>;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Field for $number {
            fn write(&self, w: &mut Writer<'_>) {
                w.uint(u64::from(*self));
            }

            fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
                r.number(name)
            }
        }
    )*};
}

numbers!(u8 u32 u64);

macro_rules! ids {
    ($($id:ty)*) => {$(
        impl Field for $id {
            fn write(&self, w: &mut Writer<'_>) {
                w.bytes(self.as_bytes());
            }

            fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
                r.fixed(name).map(Self::new)
            }
        }
    )*};
}

ids!(ApiKeyId Handle IssuerKeyId OperatorId SessionId);

impl Field for [u8; 32] {
    fn write(&self, w: &mut Writer<'_>) {
        w.bytes(self);
    }

    fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        r.fixed(name)
    }
}

/// The change that was refused, which is no refusal itself.
impl Field for Kind {
    fn write(&self, w: &mut Writer<'_>) {
        w.uint(self.number());
    }

    fn read(r: &mut Reader<'_>, name: &'static str) -> Result<Self, DecodeError> {
        let start = r.clone();
        let action = Self::of_number(r.uint(name)?).filter(|action| *action != Self::Refused);
        action.ok_or_else(|| start.error(name, Problem::OutOfRange))
    }
}
