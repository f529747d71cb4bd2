//! The plan as text and as JSON, as snapshots.

use std::path::PathBuf;

use crate::observe::observed::{Activity, AgentSeen, Evidence};
use crate::plan::text::{Style, render};
use crate::plan::{Plan, schema};
use crate::state::record::EndedHow;

use super::world::{World, name, shell_tab};

fn text(world: &World) -> String {
    render(&world.plan(), Style::default())
}

/// One session in each of the states that the introduction of the plan shows, and 39 that are as they should be.
fn of_all_sorts() -> World {
    let mut world = World::new();
    for number in 1..40 {
        world.running(&format!("quiet-{number}"), "generic");
    }
    world.want("infra-review", "claude");
    world.running("api", "claude").ended("api", EndedHow::Killed(9));
    world.running("docs", "codex");
    world.wanted("docs").choices.model = Some("gpt-6".to_owned());
    world.record("docs").fields.insert(crate::state::fields::Field::Model, "old".to_owned());
    world.record("docs").shown.insert(crate::state::fields::Field::Model, vec!["gpt-5.5".to_owned()]);
    if let AgentSeen::Alive(pane) = &mut world.seen("docs").agent {
        pane.clients = 1;
    }
    world.running("web", "claude");
    world.wanted("web").choices.model = Some("opus".to_owned());
    world.seen("web").activity = Activity::Working;
    world.running("old-experiment", "claude").unwant("old-experiment");
    world.want("vault", "claude").protect = true;
    world.running("vault", "claude").unwant("vault");
    world.running("mail", "codex");
    world.seen("mail").agent = AgentSeen::Unknown("tmux did not answer within 2s".to_owned());
    world
}

#[test]
fn a_plan_of_all_sorts_reads_like_this() {
    let world = of_all_sorts();
    let mut inputs = world.inputs();
    inputs.revision = Some("a1b2c3d".to_owned());
    let plan = crate::plan::decide::plan(&inputs);
    insta::assert_snapshot!(render(&plan, Style::default()), @r"
    fleet payments · fleet.yaml at a1b2c3d · 44 sessions · tmux -L farhelm

      +    launch            infra-review     claude  ~/src/infra-review
             because it is not running; nothing to resume
      +    launch, resume    api              claude  ~/src/api              conversation kept (004f0eb9, reported 3h ago)
             because it was killed by SIGKILL 12s ago
      -/+  restart, resume   docs             codex   ~/src/docs             conversation kept (e5d0f5b3, reported 3h ago); 1 client attached
             because model changed: gpt-5.5 -> gpt-6
      …    waiting           web              working; restarts when idle (--now: this turn is lost)
      -    reap              old-experiment   claude  7 processes, 412 MB; restorable until 30 Dec
             because it was removed from fleet.yaml
      !    blocked           vault            protected; would be reaped (farhelm unprotect vault)
      ?    unknown           mail             tmux did not answer within 2s; nothing will be done

    Destroys: reap old-experiment
    Plan: 2 to launch (1 resumes), 0 to adjust, 1 to restart (1 resumes, 0 fresh), 1 to reap, 1 waiting, 1 blocked, 1 unknown; 39 unchanged.
    ");
}

#[test]
fn brief_leaves_out_the_causes() {
    insta::assert_snapshot!(render(&of_all_sorts().plan(), Style { brief: true, ..Style::default() }), @r"
    fleet payments · fleet.yaml · 44 sessions · tmux -L farhelm

      +    launch            infra-review     claude  ~/src/infra-review
      +    launch, resume    api              claude  ~/src/api              conversation kept (004f0eb9, reported 3h ago)
      -/+  restart, resume   docs             codex   ~/src/docs             conversation kept (e5d0f5b3, reported 3h ago); 1 client attached
      …    waiting           web              working; restarts when idle (--now: this turn is lost)
      -    reap              old-experiment   claude  7 processes, 412 MB; restorable until 30 Dec
      !    blocked           vault            protected; would be reaped (farhelm unprotect vault)
      ?    unknown           mail             tmux did not answer within 2s; nothing will be done

    Destroys: reap old-experiment
    Plan: 2 to launch (1 resumes), 0 to adjust, 1 to restart (1 resumes, 0 fresh), 1 to reap, 1 waiting, 1 blocked, 1 unknown; 39 unchanged.
    ");
}

#[test]
fn all_shows_what_stays_as_it_is_and_why() {
    let mut world = World::new();
    world.running("api", "claude").running("job", "claude").ended("job", EndedHow::Exited(0));
    world.want("later", "claude").running = false;
    insta::assert_snapshot!(render(&world.plan(), Style { all: true, ..Style::default() }), @r"
    fleet payments · fleet.yaml · 3 sessions · tmux -L farhelm

           unchanged         api     claude  ~/src/api
           unchanged         job     claude  ~/src/job       completed
           unchanged         later   claude  ~/src/later     `desired: stopped`

    Plan: no changes; 3 unchanged.
    ");
}

#[test]
fn the_same_cause_on_many_sessions_is_one_group() {
    let mut world = World::new();
    for number in 1..=25 {
        let session = format!("worker-{number}");
        world.running(&session, "claude").ended(&session, EndedHow::ServerDied);
    }
    for number in 1..=5 {
        let session = format!("stuck-{number}");
        world.running(&session, "claude");
        world.wanted(&session).choices.model = Some("opus".to_owned());
        world.seen(&session).activity = Activity::Unknown;
    }
    world.running("odd", "claude").ended("odd", EndedHow::Killed(11));
    insta::assert_snapshot!(text(&world), @r"
    fleet payments · fleet.yaml · 31 sessions · tmux -L farhelm

      +    launch, resume    odd         claude  ~/src/odd           conversation kept (f8a9cf3c, reported 3h ago)
             because it was killed by SIGSEGV 12s ago
      +    launch, resume    25 sessions   conversations kept
             because its tmux server died
             worker-1, worker-10, worker-11, worker-12, worker-13, worker-14, worker-15, worker-16,
             worker-17, worker-18, worker-19, worker-2, worker-20, worker-21, worker-22, worker-23,
             worker-24, worker-25, worker-3, worker-4, worker-5, worker-6, worker-7, worker-8, worker-9
      …    waiting           5 sessions   activity unknown; restarts when idle (--now)
             stuck-1, stuck-2, stuck-3, stuck-4, stuck-5

    Plan: 26 to launch (26 resumes), 0 to adjust, 0 to restart, 0 to reap, 5 waiting, 0 blocked, 0 unknown; 0 unchanged.
    ");
}

#[test]
fn tabs_moves_adoptions_and_notes_read_like_this() {
    let mut world = World::new();
    world.running("api", "claude").open_tab("api", "logs", "x".to_owned());
    world.wanted("api").tabs.insert(name("logs"), shell_tab());
    world.wanted("api").title = Some("API".to_owned());
    world.wanted("api").prompt = Some("Another one.".to_owned());
    world.running("lost", "claude").unrecord("lost");
    world.want("web", "codex").moved_from = Some(name("site"));
    world.recorded_alive("site", "codex");
    world.record("site").fields = crate::state::fields::hashes(
        &world.desired.sessions[&name("web")],
        "salt-site",
        &crate::state::fields::Contents::new(),
    );
    world.record("site").dir.canonical = PathBuf::from("/home/op/src/web");
    world.observed.unmanaged.insert(name("web"), vec!["claude (pid 12)".to_owned()]);
    insta::assert_snapshot!(text(&world), @r"
    fleet payments · fleet.yaml · 3 sessions · tmux -L farhelm

      >    adopt             lost       claude
             because its record is lost; rebuilt from its stamps
      >    move              web        codex
             because its name was site
             note: unmanaged agent in its directory: claude (pid 12)
      ~    adjust            api        claude
             because title changed
      ~    open tab          api:logs
             because tab logs changed
             note: prompt changed: delivered on the next fresh launch
      -    close tab         api:logs
             because tab logs changed

    Destroys: close tab api:logs
    Plan: 0 to launch, 4 to adjust, 0 to restart, 0 to reap, 1 tab to close, 0 waiting, 0 blocked, 0 unknown; 0 unchanged.
    ");
}

#[test]
fn every_way_out_is_named() {
    let mut world = World::new();
    world.running("broken", "claude").ended("broken", EndedHow::Exited(1));
    world.seen("broken").conversation = Evidence::Missing("~/.claude/projects/-src/4b.jsonl is gone".to_owned());
    world.running("held", "claude").unwant("held");
    world.hold("held", crate::state::record::HoldKind::Paused).why = Some("release \u{1b}[31mday".to_owned());
    world.running("old", "claude").unwant("old");
    world.want("new", "claude");
    let dir = world.observed.dirs.remove(&name("old")).unwrap();
    world.observed.dirs.insert(name("new"), dir);
    world.desired.sources.push(PathBuf::from("/fleets/more.yaml"));
    world.desired.from_environment = vec!["HOME_SRC".to_owned()];
    insta::assert_snapshot!(text(&world), @r"
    fleet payments · fleets (2 files) · 2 sessions · tmux -L farhelm
    from the environment: HOME_SRC

      ~    adjust            broken   claude
             because sources changed
      !    blocked           broken   conversation b075a970 cannot be found: ~/.claude/projects/-src/4b.jsonl is gone; would be launched (--allow-fresh broken)
      !    blocked           held     paused (release \u{1b}[31mday); would be reaped (farhelm unpause held)
      !    blocked           new      in the same directory as old, as if renamed; would be launched (`moved` in the new one, or reap the old one alone with --only)
      !    blocked           old      in the same directory as new, as if renamed; would be reaped (`moved` in the new one, or reap the old one alone with --only)

    Plan: 0 to launch, 1 to adjust, 0 to restart, 0 to reap, 0 waiting, 4 blocked, 0 unknown; 0 unchanged.
    ");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one whole document")]
fn json_says_the_same_in_one_document() {
    let mut world = World::new();
    world.running("docs", "codex");
    world.wanted("docs").choices.model = Some("gpt-6".to_owned());
    world.want("web", "claude").prompt = Some("Fix it.".to_owned());
    world.running("vault", "claude").unwant("vault");
    world.record("vault").protect = true;
    insta::assert_json_snapshot!(world.plan(), @r#"
    {
      "version": 1,
      "header": {
        "fleet": "payments",
        "sources": [
          "/fleets/fleet.yaml"
        ],
        "sources_stand": true,
        "revision": null,
        "sessions": 2,
        "socket": "/tmp/tmux-1000/farhelm",
        "from_environment": [],
        "at": {
          "boot_ms": 90000000,
          "wall_ms": 1796040000000
        }
      },
      "items": [
        {
          "session": "docs",
          "id": "e5d0f5b3-50e8-4ff4-e5d0-f5b350e84ff4",
          "kind": "codex",
          "dir": "~/src/docs",
          "action": {
            "do": "restart",
            "with": {
              "mode": "resume",
              "conversation": "e5d0f5b3-50e8-4ff4-e5d0-f5b350e84ff4"
            }
          },
          "reasons": [
            {
              "code": "changed",
              "field": "model",
              "old": null,
              "new": [
                "gpt-6"
              ]
            }
          ],
          "cost": {
            "conversation": {
              "fate": "kept",
              "words": "e5d0f5b3, reported 3h ago"
            },
            "turn_lost": false,
            "clients": 0,
            "processes": 0,
            "memory": 0,
            "restorable_until_ms": null,
            "destructive": false
          },
          "notes": []
        },
        {
          "session": "vault",
          "id": "29b382b5-cd05-3950-29b3-82b5cd053950",
          "kind": "claude",
          "dir": "~/src/vault",
          "action": {
            "do": "blocked",
            "with": {
              "do": "reap"
            }
          },
          "reasons": [
            {
              "code": "protected"
            },
            {
              "code": "removed"
            }
          ],
          "cost": {
            "conversation": {
              "fate": "not-touched"
            },
            "turn_lost": false,
            "clients": 0,
            "processes": 7,
            "memory": 412000000,
            "restorable_until_ms": 1798632000000,
            "destructive": false
          },
          "notes": []
        },
        {
          "session": "web",
          "id": null,
          "kind": "claude",
          "dir": "~/src/web",
          "action": {
            "do": "launch",
            "with": {
              "mode": "fresh",
              "prompt": true
            }
          },
          "reasons": [
            {
              "code": "not-running"
            }
          ],
          "cost": {
            "conversation": {
              "fate": "not-touched"
            },
            "turn_lost": false,
            "clients": 0,
            "processes": 0,
            "memory": 0,
            "restorable_until_ms": null,
            "destructive": false
          },
          "notes": []
        }
      ],
      "counters": {
        "launch": 1,
        "launch_resume": 0,
        "adjust": 0,
        "restart": 1,
        "restart_resume": 1,
        "restart_fresh": 0,
        "stop": 0,
        "reap": 0,
        "close_tab": 0,
        "waiting": 0,
        "blocked": 1,
        "unknown": 0,
        "destructive": 0,
        "unchanged": 0
      }
    }
    "#);
}

#[test]
fn the_published_schema_is_the_one_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/plan.schema.json");
    if std::env::var_os("FARHELM_BLESS").is_some() {
        std::fs::write(path, schema::plan()).unwrap();
    }
    let equal = std::fs::read_to_string(path).is_ok_and(|published| published == schema::plan());
    assert!(equal, "{path} is not what the types say; FARHELM_BLESS=1 writes it");
}

#[test]
fn every_plan_is_valid_by_the_published_schema() {
    let schema: serde_json::Value = serde_json::from_str(&schema::plan()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let plan: Plan = of_all_sorts().plan();
    let document = serde_json::to_value(&plan).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn every_field_of_the_schema_is_described() {
    let schema: serde_json::Value = serde_json::from_str(&schema::plan()).unwrap();
    let mut bare = Vec::new();
    undescribed(&schema, "", &mut bare);
    assert!(bare.is_empty(), "{bare:?}");
}

fn undescribed(schema: &serde_json::Value, at: &str, bare: &mut Vec<String>) {
    for (key, value) in schema.as_object().into_iter().flatten() {
        let here = format!("{at}/{key}");
        if key == "properties" {
            for (name, field) in value.as_object().into_iter().flatten() {
                let constant = field.get("const").is_some() || name == "with" || name == "words" || name == "mode";
                if !constant && field.get("description").is_none() {
                    bare.push(format!("{here}/{name}"));
                }
            }
        }
        undescribed(value, &here, bare);
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            undescribed(item, &format!("{here}/{index}"), bare);
        }
    }
}
