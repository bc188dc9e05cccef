//! Trefoil server.
