//! What is to be read, and with what.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of a fleet's file where none is named.
pub const FILE: &str = "farhelm.yaml";

/// The files that are tried, in order, where none is named.
#[must_use]
pub fn default_files(cwd: &Path, config_home: &Path) -> [PathBuf; 2] {
    [cwd.join(FILE), config_home.join("farhelm").join(FILE)]
}

/// What to load, and with what.
#[derive(Debug, Clone, Default)]
pub struct LoadRequest {
    /// Files, directories (their `*.yaml`), or `-` for standard input. None: the default file.
    pub paths: Vec<PathBuf>,
    /// `--var NAME=VALUE`, the last of a name counts.
    pub vars: Vec<(String, String)>,
    /// `--vars FILE`, in order; `vars` beats them.
    pub var_files: Vec<PathBuf>,
    /// The account's home: what `~` means.
    pub home: PathBuf,
    /// The environment: what `${env:NAME}` means.
    pub env: BTreeMap<String, String>,
    /// Where relative paths start.
    pub cwd: PathBuf,
    /// `$XDG_CONFIG_HOME`, or what stands for it.
    pub config_home: PathBuf,
}

impl LoadRequest {
    /// The paths that are asked for, absolute; where none is, those of the default files.
    #[must_use]
    pub fn asked(&self) -> Vec<PathBuf> {
        match self.paths.as_slice() {
            [] => default_files(&self.cwd, &self.config_home).into(),
            paths => paths.iter().map(|path| self.cwd.join(path)).collect(),
        }
    }
}
