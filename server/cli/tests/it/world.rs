//! What most tests use, for `use crate::world::*`.

pub(crate) use crate::command::{Ran as _, code, trefoil, words};
pub(crate) use crate::enrolment::{join_all, until};
pub(crate) use crate::http::{Endpoint, Reply};
pub(crate) use crate::key_holder_process::{KeyHolder, listen};
pub(crate) use crate::members::Members;
pub(crate) use crate::program::Program;
pub(crate) use crate::service::{
    self, AUDIENCE, Customer, Person, Service, TestClock, answer, policy, templates_path, with,
};
pub(crate) use crate::store;
pub(crate) use hyper::Method;
pub(crate) use serde_json::{Value, json};
pub(crate) use std::fs::File;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Command, Output, Stdio};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::{Duration, Instant};
pub(crate) use trefoil_api::{AttestationForm, Authentication, Decision, Hex, Vector};
pub(crate) use trefoil_pipeline::Clock as _;
pub(crate) use trefoil_server::config::Config;
pub(crate) use trefoil_testing::volume;
pub(crate) use trefoil_types::Handle;
