import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asMember } from "../../agent/exec/account.ts";
import type { Inside } from "../../agent/exec/processes/inside.ts";
import { Tunnels } from "../../agent/tunnels/tunnels.ts";
import type { TunnelFrame } from "../../src/shared/tunnel/frames.ts";
import { isRoot, NOBODY } from "../attack/support/swapper.ts";
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

/** A start of the agent, whose runs have this place. */
function agent(place: Partial<Inside> = {}): Tunnels {
  const env = { PATH: process.env.PATH ?? "" };
  const inside: Inside = { before: [], entrances: [], dir, umask: undefined, env, base: env, ...place };
  const tunnels = new Tunnels({
    stateDir: dir,
    now: () => performance.now(),
    shellReportsSignals: true,
    isRunning: () => true,
    enter: async (_, start) => {
      await start(inside);
      return true;
    },
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
    const tunnels = agent({ umask: mask });
    asks(tunnels, `umask >${join(dir, "umask")}`);
    expect(await ended(tunnels)).toMatchObject({ t: "exit", code: 0 });
    expect(Number.parseInt(readFileSync(join(dir, "umask"), "utf8"), 8)).toBe(Number.parseInt(mask, 8));
  },
);

/** What the command has written to this channel. */
const written = (channel: number) => {
  const frames = said.flatMap((frame) => (frame.t === "data" && frame.c === channel ? [frame.d] : []));
  return frames.map((bytes) => Buffer.from(bytes, "base64").toString()).join("");
};

describe("a command runs in the directory of its task (tunnels.md#inside)", () => {
  test("which it finds as it is, by no other name", async () => {
    mkdirSync(join(dir, "a b"));
    symlinkSync("a b", join(dir, "link"));
    const env = { PATH: process.env.PATH ?? "", CDPATH: "/", OLDPWD: "/of-the-task" };
    const tunnels = agent({ dir: join(dir, "link"), env });
    asks(tunnels, 'pwd; echo "$OLDPWD"');
    expect(await ended(tunnels)).toMatchObject({ t: "exit", code: 0 });
    expect(written(0)).toBe(`${realpathSync(dir)}/a b\n/of-the-task\n`);
  });

  test("and nowhere, if that is gone", async () => {
    const tunnels = agent({ dir: join(dir, "gone") });
    asks(tunnels, `: >${join(dir, "ran")}`);
    expect(await ended(tunnels)).toMatchObject({ t: "exit", code: 126 });
    expect(written(1)).toContain("the directory of the task is gone, or its user cannot enter it");
    expect(readdirSync(dir)).not.toContain("ran");
  });

  test.runIf(isRoot)("X2: and nowhere, if the run has led it to another's (needs root)", async () => {
    const victim = join(dir, "victim");
    mkdirSync(join(victim, "inner"), { recursive: true });
    chmodSync(victim, 0o700);
    chmodSync(dir, 0o711);
    symlinkSync(join(victim, "inner"), join(dir, "work"));
    const before = asMember({ ...NOBODY, name: "nobody", home: "/", groups: [NOBODY.gid] });
    const tunnels = agent({ dir: join(dir, "work"), before });
    asks(tunnels, "pwd");
    expect(await ended(tunnels)).toMatchObject({ t: "exit", code: 126 });
    expect(written(0)).toBe("");
  });
});

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
