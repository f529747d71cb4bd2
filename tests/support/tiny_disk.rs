//! A disk that is soon full.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tiny disk at a path; ends with the value.
pub struct TinyDisk(PathBuf);

impl TinyDisk {
    /// None where nothing can be mounted.
    pub fn mount(path: &Path) -> Option<Self> {
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs"]).arg(path).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            super::skipped("a small disk cannot be mounted here (root and mount rights are needed)");
            return None;
        }
        Some(Self(path.to_owned()))
    }

    /// Mounts it anew: `ro`, `rw`.
    pub fn remount(&self, how: &str) {
        let options = format!("remount,{how}");
        let output = Command::new("mount").args(["-o", &options]).arg(&self.0).output().expect("mount can be run");
        assert!(output.status.success(), "{output:?}");
    }

    /// Lets nothing of it be written, also while a file of it is open for writing; or takes that back.
    pub fn protect(&self, on: bool) {
        let flag = if on { "+i" } else { "-i" };
        // A socket has no such flag.
        let kinds = ["(", "-type", "d", "-o", "-type", "f", ")"];
        let mut find = Command::new("find");
        find.arg(&self.0).args(kinds).args(["-exec", "chattr", flag, "{}", "+"]);
        let output = find.output().expect("find can be run");
        assert!(output.status.success(), "{output:?}");
    }

    /// Fills it, to the last byte.
    pub fn fill(&self) {
        let mut filler = fs::File::create(self.0.join("filler")).expect("a file");
        while filler.write_all(&[0; 4096]).is_ok() {}
        while filler.write_all(&[0; 1]).is_ok() {}
    }

    /// Takes away what [`Self::fill`] wrote.
    pub fn empty(&self) {
        fs::remove_file(self.0.join("filler")).expect("our own file");
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}
