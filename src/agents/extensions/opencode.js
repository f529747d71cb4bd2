// Reports the conversation of an OpenCode terminal to farhelm. Loaded by OPENCODE_CONFIG_CONTENT for one launch; nothing
// is installed.
//
// It only ever starts the hook command in FARHELM_HOOK and hands it a small JSON object, and it never throws.

import { spawn, spawnSync } from "node:child_process";

const LOADED = Symbol.for("farhelm.hook");
const CONFIG = "OPENCODE_CONFIG_CONTENT";

export const FarhelmHook = async ({ client }) => {
  // OpenCode may load a plugin twice in one start.
  if (globalThis[LOADED]) return {};
  let hook;
  try {
    hook = JSON.parse(process.env.FARHELM_HOOK ?? "[]");
  } catch {
    return {};
  }
  if (!Array.isArray(hook) || hook.length === 0 || !process.env.FARHELM_SESSION_TOKEN) return {};
  globalThis[LOADED] = true;

  const delegated = new Map(); // session id -> whether it has a parent
  let current = "";

  const report = (session_id, event, more = {}, wait = false) => {
    try {
      const payload = JSON.stringify({ hook_event_name: event, session_id, ...more });
      if (wait) {
        spawnSync(hook[0], hook.slice(1), { input: payload, stdio: ["pipe", "ignore", "ignore"], timeout: 2000 });
        return;
      }
      const child = spawn(hook[0], hook.slice(1), { stdio: ["pipe", "ignore", "ignore"] });
      child.on("error", () => {});
      child.stdin.on("error", () => {});
      child.stdin.end(payload);
      child.unref();
    } catch {
      // A report that cannot be made is no trouble of the agent's.
    }
  };

  // A session with a parent is a delegated agent's. One that was resumed was not announced: it is looked up, once.
  const isDelegated = async (id) => {
    if (!delegated.has(id)) {
      let parent;
      try {
        parent = (await client.session.get({ path: { id } }))?.data?.parentID;
      } catch {
        parent = undefined;
      }
      delegated.set(id, Boolean(parent));
    }
    return delegated.get(id);
  };

  const own = (id) => id === current && id !== "";

  const events = {
    "session.created": ({ info }) => info?.id && delegated.set(info.id, Boolean(info.parentID)),
    "session.updated": ({ info }) => info?.id && delegated.set(info.id, Boolean(info.parentID)),
    "session.idle": ({ sessionID }) => own(sessionID) && report(sessionID, "Stop"),
    "permission.asked": ({ sessionID }) => own(sessionID) && report(sessionID, "PermissionRequest"),
    "permission.replied": ({ sessionID }) => own(sessionID) && report(sessionID, "PermissionResult"),
  };

  return {
    event: async ({ event }) => {
      try {
        events[event?.type]?.(event.properties ?? {});
      } catch {
        // As above.
      }
    },
    "chat.message": async ({ sessionID }) => {
      try {
        if (!sessionID || (await isDelegated(sessionID))) return;
        if (sessionID !== current) {
          current = sessionID;
          report(sessionID, "SessionStart", { source: "prompt" });
        }
        report(sessionID, "UserPromptSubmit");
      } catch {
        // As above.
      }
    },
    // A tool that starts another OpenCode must not make it report: it gets the configuration without this plugin.
    "shell.env": async (_, output) => {
      try {
        const config = JSON.parse(process.env[CONFIG] ?? "{}");
        config.plugin = (config.plugin ?? []).filter((plugin) => !import.meta.url.startsWith(plugin));
        output.env[CONFIG] = JSON.stringify(config);
      } catch {
        // As above.
      }
    },
    dispose: async () => {
      if (current !== "") report(current, "SessionEnd", { reason: "exit" }, true);
    },
  };
};
