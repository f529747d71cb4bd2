//! The types of the fleet file: what an operator may write, documented once for the parser, the JSON schema and
//! `explain`.

pub mod duration;
pub mod fleet;
pub mod name;
pub mod schema;
pub mod settings;
pub mod visible;
pub mod words;
