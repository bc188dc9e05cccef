//! The rights of callers of the service.

/// One thing that an API key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Scope {
    /// Create and delete templates.
    Enrol,
    /// Open proof sessions and authenticate.
    Authenticate,
    /// Publish credential roots.
    Issue,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 3] = [Scope::Enrol, Scope::Authenticate, Scope::Issue];

    /// The word used in the API.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Enrol => "enrol",
            Scope::Authenticate => "authenticate",
            Scope::Issue => "issue",
        }
    }
}

/// The role of an operator; each role includes the rights of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Role {
    /// Read everything on the admin listener.
    Viewer = 1,
    /// Change tenants, policies, API keys, issuer keys and template keys.
    Operator = 2,
    /// Manage operators.
    Owner = 3,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Owner];

    /// The word used in the API.
    pub fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Owner => "owner",
        }
    }

    /// Its number in receipts and the store.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The role with this number.
    pub fn of_number(number: u8) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.number() == number)
    }
}
