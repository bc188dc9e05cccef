//! The tables, as each version of the schema had them.

use crate::database::{Apart, Step};

/// The version of the schema.
pub const VERSION: i64 = 9;
pub(super) const SCHEMA: &str = concat!(
    include_str!("../schema.sql"),
    include_str!("../schema_3.sql"),
    include_str!("../schema_4.sql"),
    include_str!("../schema_5.sql"),
    include_str!("../schema_usage.sql"),
    include_str!("../schema_leftovers.sql"),
    include_str!("../schema_operators.sql"),
    include_str!("../schema_revocations.sql")
);
const SCHEMA_8: &str = concat!(
    include_str!("../schema.sql"),
    include_str!("../schema_3.sql"),
    include_str!("../schema_4.sql"),
    include_str!("../schema_5.sql"),
    include_str!("../schema_usage.sql"),
    include_str!("../schema_leftovers.sql"),
    include_str!("../schema_operators.sql")
);
const SCHEMA_7: &str = concat!(
    include_str!("../schema.sql"),
    include_str!("../schema_3.sql"),
    include_str!("../schema_4.sql"),
    include_str!("../schema_5.sql"),
    include_str!("../schema_usage.sql"),
    include_str!("../schema_leftovers.sql")
);
const SCHEMA_6: &str = concat!(
    include_str!("../schema.sql"),
    include_str!("../schema_3.sql"),
    include_str!("../schema_4.sql"),
    include_str!("../schema_5.sql"),
    include_str!("../schema_usage.sql")
);
const SCHEMA_5: &str = concat!(
    include_str!("../schema.sql"),
    include_str!("../schema_3.sql"),
    include_str!("../schema_4.sql"),
    include_str!("../schema_5.sql")
);
const SCHEMA_4: &str =
    concat!(include_str!("../schema.sql"), include_str!("../schema_3.sql"), include_str!("../schema_4.sql"));
const SCHEMA_3: &str = concat!(include_str!("../schema.sql"), include_str!("../schema_3.sql"));

/// Steps from each version to the next. Version 1 has the tables of version 2, but its sum left some out.
pub(super) const STEPS: &[Step] = &[
    Step { from: 1, tables: include_str!("../schema.sql"), apart: APART_IN_1, sql: "" },
    Step { from: 2, tables: include_str!("../schema.sql"), apart: &[], sql: include_str!("../schema_3.sql") },
    Step { from: 3, tables: SCHEMA_3, apart: &[], sql: include_str!("../schema_4.sql") },
    Step { from: 4, tables: SCHEMA_4, apart: &[], sql: include_str!("../schema_5.sql") },
    Step { from: 5, tables: SCHEMA_5, apart: &[], sql: include_str!("../schema_usage.sql") },
    Step { from: 6, tables: SCHEMA_6, apart: &[], sql: include_str!("../schema_leftovers.sql") },
    Step { from: 7, tables: SCHEMA_7, apart: &[], sql: include_str!("../schema_operators.sql") },
    Step { from: 8, tables: SCHEMA_8, apart: &[], sql: include_str!("../schema_revocations.sql") },
];

/// Tables and columns outside the sum of version 1. Damage there was found when it was read, if at all.
pub(crate) const APART_IN_1: &[Apart] =
    &[Apart::Table("seals"), Apart::Table("log_nodes"), Apart::Column("templates", "wrapped")];
