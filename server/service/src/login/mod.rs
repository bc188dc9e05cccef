//! One login.

pub mod clock;
pub mod door;
pub mod logins;
pub mod outcomes;
pub mod past;
pub mod register;
pub mod replay;
