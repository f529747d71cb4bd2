//! Programs that take an agent out of this host's process table.

use super::kind::base_name;

/// First words behind which marks, hooks and reaping do not reach.
const ELSEWHERE: &[&str] = &[
    "apptainer",
    "autossh",
    "colima",
    "devcontainer",
    "distrobox",
    "distrobox-enter",
    "docker",
    "docker-compose",
    "et",
    "flatpak-spawn",
    "incus",
    "kubectl",
    "lima",
    "limactl",
    "lxc",
    "lxc-attach",
    "machinectl",
    "mosh",
    "multipass",
    "nerdctl",
    "nsenter",
    "oc",
    "podman",
    "podman-compose",
    "singularity",
    "ssh",
    "systemd-nspawn",
    "toolbox",
    "toolbx",
    "vagrant",
];

/// Whether a command that begins with `first_word` runs its agent elsewhere: refused for a kind with an integration,
/// and fine for `generic`.
#[must_use]
pub fn takes_elsewhere(first_word: &str) -> bool {
    ELSEWHERE.contains(&base_name(first_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_exact_base_name() {
        for word in ["ssh", "/usr/bin/docker", "kubectl", "incus", "devcontainer"] {
            assert!(takes_elsewhere(word), "{word}");
        }
        for word in ["claude", "ssh-agent-run", "my-docker", "env", "sh", "", "ssh/"] {
            assert!(!takes_elsewhere(word), "{word}");
        }
    }
}
