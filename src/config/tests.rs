use std::path::PathBuf;
use std::time::Duration;

use super::desired::*;
use super::fixture::{errors, files, fleet, kinds, request, stdin};
use super::load::load;

#[test]
fn dump_some() {
    let bad = "policy: {prune: yes, max_reap: -1}\nsessions:\n  api:\n    profle: claude\n    dir: ~\n    restart: {when: alwasy}\n    env: {TOKEN: s3cret, X: 1.5}\n  Web: {profile: clade, dir: x}\n  ok: {profile: clade, dir: x, model: 5}\n  ok2: {profile: clade, dir: x, env: {A: '${env:NOPE}'}}\n";
    println!("{}", fleet(bad).unwrap_err().render(false));
    println!("{}", stdin("farhelm: v1\nfleet: t\nsessions:\n  a: {dir: ~/${x}}\n").unwrap_err().render(false));
    println!("{}", stdin("farhelm: v1\nfleet: t\nsessions:\n  a:\n    env:\n      TOKEN: \"abc\n").unwrap_err().render(false));
}
