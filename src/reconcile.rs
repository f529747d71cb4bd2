//! Carries plans out.
