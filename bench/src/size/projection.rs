//! What follows from the measured bytes and rates for numbers of subjects that no machine of ours has held. Computed, not measured.

use serde_json::{Value, json};

use crate::distribution::rounded;

/// Names of the numbers of subjects, as pointers into the record name them.
const NUMBERS: [(&str, f64); 3] = [("1m", 1e6), ("10m", 1e7), ("1b", 1e9)];
const GIB: f64 = (1_u64 << 30) as f64;
const HOUR_S: f64 = 3600.0;
/// Seals a second of a steady, light load: by default two begin at least 20 ms apart while few logins wait.
const SEALS_PER_S: f64 = 50.0;

/// For each number of subjects, and for the log.
pub(super) fn computed(result: &Value) -> Value {
    let at = |pointer: &str| result.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let lasting = lasting_bytes(&result["postgresql"]["enrolment"]["tables"]);
    let dump_bytes_per_s = at("/postgresql/dump/mb_per_s") * 1e6;
    let mut all = serde_json::Map::new();
    for (name, subjects) in NUMBERS {
        let gib = |bytes: f64| rounded(bytes * subjects / GIB);
        all.insert(
            name.to_owned(),
            json!({
                "subjects": subjects as u64,
                "postgresql_gib": gib(lasting),
                "enrolment_wal_gib": gib(at("/postgresql/enrolment/wal_bytes")),
                "sqlite_gib": gib(at("/sqlite/store_bytes_per_subject")),
                "vault_gib": gib(at("/vault/bytes_per_subject")),
                "key_holder_memory_gib": gib(at("/vault/memory_bytes_per_subject")),
                "key_holder_start_minutes": rounded(at("/vault/start_us_per_subject") * subjects / 1e6 / 60.0),
                "all_templates_in_memory_gib": gib(at("/postgresql/first_login/memory_bytes_per_template")),
                "dump_hours": rounded(lasting * subjects / dump_bytes_per_s / HOUR_S),
                "rotation_hours": rounded(subjects / at("/postgresql/rotation/templates_per_s") / HOUR_S),
            }),
        );
    }
    let seal = at("/postgresql/bytes_per_row/seals/bytes");
    json!({
        "postgresql_bytes_per_subject": rounded(lasting),
        "of_subjects": all,
        "log": {
            "seals_per_s": SEALS_PER_S,
            "gib_of_whole_seals_an_hour": rounded(seal * SEALS_PER_S * HOUR_S / GIB),
        },
    })
}

/// Bytes of a subject in tables where they stay. A row of `idempotency` is deleted after a day.
fn lasting_bytes(tables: &Value) -> f64 {
    let sum = |table: &Value| {
        ["heap", "apart", "indexes"].iter().filter_map(|part| table[part].as_f64()).sum::<f64>()
    };
    ["templates", "template_bytes", "generations"].iter().map(|name| sum(&tables[name])).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_subjects_take_a_million_times_what_stays_of_one() {
        let part = |heap: f64| json!({ "heap": heap, "apart": 0.0, "indexes": 0.0 });
        let tables = json!({
            "templates": part(1000.0), "template_bytes": part(50_000.0), "generations": part(73.741_824),
            "idempotency": part(999.0),
        });
        let result = json!({
            "postgresql": {
                "enrolment": { "tables": tables }, "dump": { "mb_per_s": 51.073_741_824 }, "rotation": { "templates_per_s": 100.0 },
            },
            "vault": { "start_us_per_subject": 6.0 },
        });
        let computed = computed(&result);
        let million = &computed["of_subjects"]["1m"];
        assert_eq!(million["postgresql_gib"], json!(rounded(51_073.741_824 * 1e6 / GIB)));
        assert_eq!(million["dump_hours"], json!(rounded(1000.0 / 3600.0)));
        assert_eq!(million["rotation_hours"], json!(rounded(1e4 / 3600.0)));
        assert_eq!(million["key_holder_start_minutes"], json!(0.1));
    }
}
