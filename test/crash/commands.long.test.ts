import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listProcs } from "../../posix/proc.ts";
import {
  drover,
  type Ended,
  endDrover,
  killIfThere,
  makeHome,
  type RunningDrover,
  startDrover,
} from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";
import { agentsOf, strikeWorkerd } from "./support/strikes.ts";

// SIGKILL in the middle of what a person waits for: `cp` in both directions, `wait`, and an array. Each goes
// on by itself, says what is true, and nothing runs twice (tunnels.md#survives).

const SIZE = 48 * 1024 * 1024;
const MIDDLE = SIZE / 8;
const MEMBERS = 20;

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("commands");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

interface Victim {
  of: string;
  kill(): Promise<unknown>;
}
const VICTIMS: Victim[] = [
  {
    of: "every agent",
    kill: async () => {
      for (const pid of agentsOf(up.stateDir)) killIfThere(pid);
    },
  },
  { of: "workerd", kill: () => strikeWorkerd(up) },
  {
    of: "the control plane",
    async kill() {
      killIfThere(-up.pid);
      await up.ended;
      up = await startDrover(home);
    },
  },
];

const named = (what: string, { of }: Victim) => `${what}-${of.replaceAll(" ", "-")}`;
const digestOf = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");

/** Bytes that do not compress: the same each time, and no two parts alike. */
function writeBytes(file: string): void {
  const part = (n: number) => createHash("sha512").update(`drover ${n}`).digest();
  writeFileSync(file, Buffer.concat(Array.from({ length: SIZE / 64 }, (_, n) => part(n))));
}

/** The directory of a run's task, once the run runs. */
async function running(id: string): Promise<string> {
  const place = join(home, `${id}.place`);
  const argv = ["sh", "-c", `pwd >${place}.new; mv ${place}.new ${place}; exec sleep 100000`];
  await up.json(201, "POST", "/v1/runs", { id, argv, resources: { vcpus: 0 } });
  return await until("it runs", () => (existsSync(place) ? readFileSync(place, "utf8").trim() : undefined));
}

/** The files below a directory whose paths contain a text. */
function filesBelow(dir: string, part: string): string[] {
  const entries = existsSync(dir) ? readdirSync(dir, { withFileTypes: true, recursive: true }) : [];
  const files = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  return files.filter((file) => file.includes(part));
}

function sizeBelow(dir: string, part: string): number {
  const sizes = filesBelow(dir, part).map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

/** A copy has succeeded, and has said no more than how far it is. */
function copied({ code, stderr }: Ended): void {
  expect([code, stderr.replaceAll(/^drover: Copying .*\n/gm, "")]).toEqual([0, ""]);
}

/** Removes what an earlier try has copied, and copies. */
function copyTo(target: string, from: string, to: string, env?: Record<string, string>): Promise<Ended> {
  rmSync(target, { force: true });
  return drover(home, ["cp", from, to], env);
}

/** Copies until a copy is seen in its middle: a quick one may be over before anybody looks. */
async function inTheMiddle(copy: () => Promise<Ended>, size: () => number) {
  for (;;) {
    let isOver = false;
    const copying = copy().finally(() => {
      isOver = true;
    });
    const seen = await until("it is in the middle, or over", () => {
      if (size() > MIDDLE) return "in the middle";
      return isOver ? "over" : undefined;
    });
    if (seen === "in the middle") return { copying };
    copied(await copying);
  }
}

async function over(id: string): Promise<void> {
  await up.json(200, "POST", `/v1/runs/${id}/abort?wait=30s`, {});
}

test.each(VICTIMS)("a copy into a run is whole after SIGKILL to $of (tunnels.md#copies)", async (victim) => {
  const id = named("in", victim);
  const dir = await running(id);
  writeBytes(join(home, "bytes"));
  const { copying } = await inTheMiddle(
    () => copyTo(join(dir, "copy"), "bytes", `${id}:copy`),
    () => sizeBelow(dir, ".drover-cp-"),
  );
  expect(existsSync(join(dir, "copy"))).toBe(false);
  await victim.kill();
  copied(await copying);
  expect(digestOf(join(dir, "copy"))).toBe(digestOf(join(home, "bytes")));
  expect(readdirSync(dir)).toEqual(["copy"]);
  await over(id);
});

test("a copy into a run is sent again if bytes of it are lost (tunnels.md#copies)", async () => {
  const dir = await running("holes");
  writeBytes(join(home, "bytes"));
  const { copying } = await inTheMiddle(
    () => copyTo(join(dir, "copy"), "bytes", "holes:copy"),
    () => sizeBelow(dir, ".drover-cp-"),
  );
  const agents = agentsOf(up.stateDir);
  const roots = [...new Set(listProcs().flatMap(({ pid, ppid }) => (agents.includes(pid) ? [ppid] : [])))];
  for (const root of roots) process.kill(root, "SIGSTOP");
  for (const agent of agents) killIfThere(agent);
  // As if the agents had died after they had counted these bytes, and before they had written them.
  for (const count of filesBelow(join(up.stateDir, "instances"), "/in-count")) {
    writeFileSync(count, String(Number(readFileSync(count, "utf8")) + 1_000).padStart(16));
  }
  for (const root of roots) process.kill(root, "SIGCONT");
  copied(await copying);
  expect(digestOf(join(dir, "copy"))).toBe(digestOf(join(home, "bytes")));
  await over("holes");
});

test.each(VICTIMS)(
  "a copy out of a run is whole after SIGKILL to $of (tunnels.md#copies)",
  async (victim) => {
    const id = named("out", victim);
    writeBytes(join(await running(id), "bytes"));
    const temporary = join(home, `${id}.tmp`);
    mkdirSync(temporary);
    const copy = join(home, `${id}.copy`);
    const { copying } = await inTheMiddle(
      () => copyTo(copy, `${id}:bytes`, `${id}.copy`, { TMPDIR: temporary }),
      () => sizeBelow(temporary, ""),
    );
    await victim.kill();
    copied(await copying);
    writeBytes(join(home, "bytes"));
    expect(digestOf(copy)).toBe(digestOf(join(home, "bytes")));
    expect(readdirSync(temporary)).toEqual([]);
    await over(id);
  },
);

/** Notes each start as a file of its own, and ends with 0, or with 3 for every seventh. */
const script = (starts: string) =>
  [
    `mktemp "${starts}/$DROVER_ARRAY_INDEX.XXXXXX" >/dev/null`,
    "sleep 0.5",
    "exit $((DROVER_ARRAY_INDEX % 7 == 6 ? 3 : 0))",
  ].join("\n");
const codeOf = (index: number) => (index % 7 === 6 ? 3 : 0);

test.each(VICTIMS)(
  "an array and a wait for it go on after SIGKILL to $of (crash.md#commands)",
  async (victim) => {
    const id = named("many", victim);
    const starts = join(home, `${id}.starts`);
    mkdirSync(starts);
    const words = [
      "run",
      "--json",
      "--id",
      id,
      "--array",
      `${MEMBERS}`,
      "--max-parallel",
      "6",
      "--cpus",
      "1",
    ];
    const many = drover(home, [...words, "--", "sh", "-c", script(starts)]);
    const started = () => readdirSync(starts).map((name) => Number(name.split(".")[0]));
    const refused = many.then(({ stderr }) => Promise.reject(new Error(`It ended early: ${stderr}`)));
    const begun = (more: number) => until("more have begun", () => started().length > more || undefined);
    await Promise.race([begun(2), refused]);
    refused.catch(() => undefined);
    const waiting = drover(home, [
      "wait",
      "--json",
      ...Array.from({ length: MEMBERS }, (_, n) => `${id}-${n}`),
    ]);
    await begun(6);
    await victim.kill();
    for (const ended of [many, waiting]) says(await ended);
    expect(started().toSorted((a, b) => a - b)).toEqual(Array.from({ length: MEMBERS }, (_, index) => index));

    function says({ code, stdout, stderr }: Ended): void {
      // The command of each run that did not end with 0 has ended with 3.
      expect(code, stderr).toBe(3);
      expect(JSON.parse(stdout.toString())).toMatchObject(
        Array.from({ length: MEMBERS }, (_, n) => ({
          id: `${id}-${n}`,
          state: "complete",
          exitCode: codeOf(n),
        })),
      );
    }
  },
);
