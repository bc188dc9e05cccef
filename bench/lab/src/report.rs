//! The result of a benchmark.

use serde_json::Value;

/// The outcome of a benchmark.
pub struct Report {
    /// For people.
    pub summary: String,
    /// For programs: an object.
    pub result: Value,
    /// The problem with the outputs, if there was one. The numbers of such a run are meaningless.
    pub problem: Option<String>,
}

impl Report {
    /// This report with another under `arithmetic`, its memory figures at the top, and the first problem of both.
    pub fn with_arithmetic(mut self, arithmetic: Report) -> Report {
        if let Value::Object(fields) = &mut self.result {
            for figure in MEMORY_FIGURES {
                fields.insert(figure.to_owned(), arithmetic.result[figure].clone());
            }
            fields.insert("arithmetic".to_owned(), arithmetic.result);
        }
        self.summary.push_str("the roles' arithmetic alone:\n");
        self.summary.push_str(&arithmetic.summary);
        self.problem = self.problem.or(arithmetic.problem);
        self
    }
}

const MEMORY_FIGURES: [&str; 4] =
    ["bytes_per_batch", "gb_per_s", "sequential_read_gb_per_s", "share_of_sequential_read"];
