import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Inside } from "../../agent/exec/processes/inside.ts";
import { Tunnels } from "../../agent/tunnels/tunnels.ts";
import type { TunnelFrame } from "../../src/shared/tunnel/frames.ts";
import { until } from "../local/support/scratch.ts";

// The commands of tunnels, as real processes (tunnels.md#inside, tunnels.md#survives).

const ID = "t-0123456789";
const ATTEMPT = "run/main/1.1";

let dir: string;
let said: TunnelFrame[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-tunnel-command-"));
  said = [];
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A start of the agent, whose runs have this umask. */
function agent(umask?: string): Tunnels {
  const env = { PATH: process.env.PATH ?? "" };
  const inside: Inside = { before: [], entrances: [], dir, umask, env, base: env };
  const tunnels = new Tunnels({
    stateDir: dir,
    now: () => performance.now(),
    shellReportsSignals: true,
    isRunning: () => true,
    inside: async () => inside,
  });
  tunnels.connected((text) => said.push(JSON.parse(JSON.parse(text).frame)));
  return tunnels;
}

/** A client connects, and asks for a shell with this script. */
function asks(tunnels: Tunnels, script: string): void {
  tunnels.heard({ tunnel: ID, open: { attempt: ATTEMPT, kind: "exec" } });
  const ask = { kind: "exec", argv: ["sh", "-c", script], input: false };
  tunnels.heard({ tunnel: ID, frame: JSON.stringify({ t: "hello", channels: {}, ask }) });
}

/** The end of the command, once all of its output has been confirmed. */
async function ended(tunnels: Tunnels): Promise<TunnelFrame> {
  const confirm = () => {
    for (const frame of said) {
      if (frame.t !== "data" && frame.t !== "end") continue;
      const at = frame.at + (frame.t === "data" ? Buffer.from(frame.d, "base64").length : 0);
      tunnels.heard({ tunnel: ID, frame: JSON.stringify({ t: "ack", c: frame.c, at }) });
    }
    return said.find(({ t }) => t === "exit" || t === "fault");
  };
  const end = await until("it has ended", confirm, () => said);
  tunnels.heard({ tunnel: ID, frame: JSON.stringify({ t: "close" }) });
  await until("nothing of it is left", () => !readdirSync(join(dir, "tunnels")).includes(ID) || undefined);
  return end;
}

test.each(["022", "077", "0007"])(
  "a command has the umask of its task: %s (tunnels.md#inside)",
  async (mask) => {
    const tunnels = agent(mask);
    asks(tunnels, `umask >${join(dir, "umask")}`);
    expect(await ended(tunnels)).toMatchObject({ t: "exit", code: 0 });
    expect(Number.parseInt(readFileSync(join(dir, "umask"), "utf8"), 8)).toBe(Number.parseInt(mask, 8));
  },
);

test("what had not begun when the agent died begins for its client (tunnels.md#survives)", async () => {
  const begun = join(dir, "tunnels", ID);
  mkdirSync(begun, { recursive: true });
  const ask = { kind: "exec", argv: ["false"], input: false };
  writeFileSync(join(begun, "begun.json"), JSON.stringify({ attempt: ATTEMPT, ask }));
  const tunnels = agent();
  // Nothing of the first start is left that could still begin.
  expect(readdirSync(join(dir, "tunnels"))).toEqual(["over"]);
  asks(tunnels, `echo once >>${join(dir, "starts")}`);
  expect(await ended(tunnels)).toMatchObject({ t: "exit", code: 0 });
  expect(readFileSync(join(dir, "starts"), "utf8")).toBe("once\n");
});

test("what had begun when the agent died does not begin again (tunnels.md#survives)", async () => {
  const [starts, go] = [join(dir, "starts"), join(dir, "go")];
  asks(agent(), `echo once >>${starts}; until [ -e ${go} ]; do sleep 0.02; done; exit 4`);
  await until("it has begun", () => readdirSync(dir).includes("starts") || undefined);
  const again = agent();
  said = [];
  asks(again, "exit 5");
  writeFileSync(go, "");
  expect(await ended(again)).toMatchObject({ t: "exit", code: 4 });
  expect(readFileSync(starts, "utf8")).toBe("once\n");
});
