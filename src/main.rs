//! The `farhelm` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    farhelm::cli::main()
}
