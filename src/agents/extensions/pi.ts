// Reports the conversation of a Pi or omp terminal to farhelm. Loaded with `-e` for one launch; nothing is installed.
//
// It only ever starts the hook command in FARHELM_HOOK and hands it a small JSON object, and it never throws.

import { spawn, spawnSync } from "node:child_process";

// How long after the end of a model call another may follow by itself (a retry), in milliseconds.
const SETTLE = 2000;

export default function (pi: any) {
  let hook: string[];
  try {
    hook = JSON.parse(process.env.FARHELM_HOOK ?? "[]");
  } catch {
    return;
  }
  if (!Array.isArray(hook) || hook.length === 0 || !process.env.FARHELM_SESSION_TOKEN) return;

  let reported = "";
  let settling: ReturnType<typeof setTimeout> | undefined;

  const where = (ctx: any) => {
    const manager = ctx?.sessionManager;
    return { session_id: manager?.getSessionId?.(), transcript_path: manager?.getSessionFile?.() };
  };

  const report = (ctx: any, event: string, more: object = {}, wait = false) => {
    try {
      const { session_id, transcript_path } = where(ctx);
      if (typeof session_id !== "string" || session_id === "") return;
      const payload = JSON.stringify({ hook_event_name: event, session_id, transcript_path, ...more });
      if (wait) {
        spawnSync(hook[0], hook.slice(1), { input: payload, stdio: ["pipe", "ignore", "ignore"], timeout: 2000 });
        return;
      }
      const child = spawn(hook[0], hook.slice(1), { stdio: ["pipe", "ignore", "ignore"] });
      child.on("error", () => {});
      child.stdin?.on("error", () => {});
      child.stdin?.end(payload);
      child.unref();
    } catch {
      // A report that cannot be made is no trouble of the agent's.
    }
  };

  // One report for each conversation that comes to the fore, whatever brought it there.
  const began = (ctx: any, source: string) => {
    const { session_id } = where(ctx);
    if (typeof session_id !== "string" || session_id === reported) return;
    reported = session_id;
    report(ctx, "SessionStart", { source });
  };

  const settled = (ctx: any) => {
    clearTimeout(settling);
    settling = undefined;
    report(ctx, "Stop");
  };

  const on = (event: string, act: (event: any, ctx: any) => void) => {
    try {
      pi.on(event, async (event: any, ctx: any) => {
        try {
          act(event, ctx);
        } catch {
          // As above.
        }
      });
    } catch {
      // A version without this event.
    }
  };

  on("session_start", (event, ctx) => began(ctx, event?.reason ?? "startup"));
  on("session_switch", (event, ctx) => began(ctx, event?.reason ?? "switch"));
  on("session_fork", (_, ctx) => began(ctx, "fork"));
  on("session_branch", (_, ctx) => began(ctx, "fork"));
  on("before_agent_start", (_, ctx) => {
    began(ctx, "prompt");
    report(ctx, "UserPromptSubmit");
  });
  on("agent_start", (_, ctx) => {
    if (settling === undefined) return;
    clearTimeout(settling);
    settling = undefined;
    report(ctx, "TurnStart");
  });
  on("agent_end", (event, ctx) => {
    if (event?.willContinue === true) return;
    clearTimeout(settling);
    settling = setTimeout(() => settled(ctx), SETTLE);
    (settling as any).unref?.();
  });
  // The true end of a turn, where there is such an event (Pi 1.x).
  on("agent_settled", (_, ctx) => settled(ctx));
  on("session_shutdown", (event, ctx) => {
    clearTimeout(settling);
    report(ctx, "SessionEnd", { reason: event?.reason ?? "quit" }, true);
  });
}
