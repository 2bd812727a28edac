import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunSpecInput } from "../../src/schema/run/run.ts";
import { sized } from "../chance/length.ts";
import { SEED } from "../chance/seed.ts";
import {
  drover,
  endDrover,
  killIfThere,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";
import { leftOf } from "../local/support/up-process.ts";
import { Chance } from "../sim/rng.ts";
import { acceptedOf, asIfAccepted } from "./support/refused.ts";

// The whole group of `drover up` is killed with SIGKILL at random moments, again and again, while runs go on
// and commands are attached to them. DROVER_CRASH_ROUNDS=100 plays longer; DROVER_SEED=7 chooses the
// moments again.

const ROUNDS = Number(process.env.DROVER_CRASH_ROUNDS ?? sized(1, 4));
/** The latest moment of a crash, counted from when `drover up` said that it is up. */
const CRASH_WITHIN_MS = 2_500;
/** For a round on a busy machine; one takes about four seconds. */
const ROUND_WITHIN_MS = 60_000;
/** Not the default one, which each `drover up` puts anew. */
const POOL = "one";

let home: string;
let effects: string;
let up: RunningDrover | undefined;
beforeAll(() => {
  home = makeHome("go-on");
  effects = join(home, "effects");
  mkdirSync(effects);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** Writes its attempt down, then lines on both streams until a file says that it is enough. */
function talker(name: string, exitCode: number): string[] {
  const script = [
    `echo "$DROVER_ATTEMPT_ID" >>${join(effects, name)}`,
    "i=0",
    `while [ ! -e ${enough(name)} ]; do i=$((i+1)); echo "${name} $i"; echo "err $i" >&2; sleep 0.02; done`,
    `echo $i >${join(home, `${name}.lines`)}`,
    `exit ${exitCode}`,
  ].join("\n");
  return ["sh", "-c", script];
}

/** An array of which one run is placed at a time. Each notes its attempt, and ends with its index. */
const MANY = [
  ...["--id", "many", "--array", "3", "--max-parallel", "1", "--cpus", "0", "--", "sh", "-c"],
  'echo "$DROVER_ATTEMPT_ID" >>"effects/$DROVER_RUN_ID"; sleep 1; exit "$DROVER_ARRAY_INDEX"',
];

const enough = (name: string) => join(home, `${name}.enough`);
const isBegun = (name: string) => readdirSync(effects).includes(name);

function linesOf(name: string, prefix: string): string {
  const count = Number(readFileSync(join(home, `${name}.lines`), "utf8"));
  return Array.from({ length: count }, (_, i) => `${prefix} ${i + 1}\n`).join("");
}

function submit(id: string, argv: string[], more: Partial<RunSpecInput> = {}) {
  return up?.json(201, "POST", "/v1/runs", { id, argv, dir: home, pool: POOL, ...more });
}

test(`runs and attached commands go on over ${ROUNDS} crashes of drover up (seed ${SEED})`, {
  timeout: 60_000 + ROUNDS * ROUND_WITHIN_MS,
}, async () => {
  const chance = new Chance(SEED);
  up = await startDrover(home);
  const { stateDir, url, token } = up;
  await up.json(201, "PUT", `/v1/pools/${POOL}`, { ...(await poolConfigOf(up)), maxInstances: 1 });
  const attached = drover(home, ["run", "--pool", POOL, "--id", "attached", "--", ...talker("attached", 7)]);
  await submit("followed", talker("followed", 3));
  const following = drover(home, ["logs", "-f", "followed"]);
  await until("both have begun", () => isBegun("attached") && isBegun("followed"));
  const waiting = drover(home, ["wait", "--json", "attached", "followed"]);
  const many = drover(home, ["run", "--json", "--pool", POOL, ...MANY]);
  await until("one of the array has begun", () =>
    readdirSync(effects).some((name) => name.startsWith("many-")),
  );
  await submit("after-none", ["true"], { after: ["followed"] });
  await submit("timed", ["sleep", "1000"], { timeout: "4s" });
  // There is one machine, and it has no room for these until all others have ended.
  await submit("queued", ["true"], { resources: { vcpus: 4 } });
  await submit("after-all", ["true"], { after: ["many-0", "queued"], resources: { vcpus: 0 } });
  await submit("hopeless", ["true"], { resources: { vcpus: 4 }, queueTimeout: "3s" });

  for (let round = 1; round <= ROUNDS; round += 1) {
    // Nothing is waited for here: a crash comes when it comes.
    const afterMs = chance.between(0, CRASH_WITHIN_MS);
    await sleep(afterMs);
    killIfThere(-up.pid);
    expect(await up.ended).toBe("SIGKILL");
    up = await startDrover(home);
    expect({ url: up.url, token: up.token }).toEqual({ url, token });
    expect(up.said()).toContain("continues with");
    console.info(`round ${round}: SIGKILL to the group of drover up after ${afterMs} ms`);
  }

  // Output that was written after the last crash must arrive as well.
  for (const name of ["attached", "followed"]) mkdirSync(enough(name));
  const [ran, logs, waited, all] = await Promise.all([attached, following, waiting, many]);
  const problem = `seed ${SEED}: ${ran.stderr.slice(-300)}`;
  expect(ran.code, problem).toBe(7);
  expect(ran.stdout.toString() === linesOf("attached", "attached"), problem).toBe(true);
  expect(withoutNotices(ran.stderr) === linesOf("attached", "err"), problem).toBe(true);
  expect(logs.code, logs.stderr.slice(-300)).toBe(0);
  expect(logs.stdout.toString() === linesOf("followed", "followed")).toBe(true);
  expect(logs.stderr === linesOf("followed", "err")).toBe(true);
  expect(waited.code, waited.stderr.slice(-300)).toBe(7);
  expect(JSON.parse(waited.stdout.toString())).toMatchObject([{ exitCode: 7 }, { exitCode: 3 }]);
  expect(all.code, all.stderr.slice(-300)).toBe(1);
  expect(JSON.parse(all.stdout.toString())).toMatchObject(
    [0, 1, 2].map((index) => ({ id: `many-${index}`, exitCode: index, array: { id: "many", index } })),
  );

  const ends = {
    "after-all": ["complete", 0],
    "after-none": ["failed", null],
    attached: ["complete", 7],
    followed: ["complete", 3],
    queued: ["complete", 0],
    timed: ["timedout", null],
    hopeless: ["failed", null],
  };
  for (const [id, [state, exitCode]] of Object.entries(ends)) {
    const status = await up.json(200, "GET", `/v1/runs/${id}?wait=30s&state=done`);
    expect(status, `${id}, seed ${SEED}`).toMatchObject({ state });
    expect(acceptedOf(status).length).toBe(["hopeless", "after-none"].includes(id) ? 0 : 1);
    if (exitCode !== null) expect(status.exitCode).toBe(exitCode);
  }
  // Nothing was started twice, and no machine was taken for lost or bought in another's place.
  for (const name of readdirSync(effects)) {
    const begun = readFileSync(join(effects, name), "utf8");
    const run = await up.json(200, "GET", `/v1/runs/${name}`);
    expect(asIfAccepted(run, begun), JSON.stringify(run.placements)).toBe(`${name}/main/1.1\n`);
  }
  const { items } = await up.json(200, "GET", "/v1/workers?limit=1000");
  expect(items).toMatchObject([{ state: "idle" }]);
  expect(await up.stop()).toBe(0);
  expect(leftOf(stateDir)).toEqual([]);
});

/** What the command itself had to say is not output of the run. */
function withoutNotices(stderr: string): string {
  return stderr.replaceAll(/^drover: .*\n/gm, "");
}
