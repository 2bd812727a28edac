import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findHierarchies } from "../../agent/exec/processes/hierarchies.ts";
import { listProcs, lives, type Proc, readProc } from "../../posix/proc.ts";
import { isIdleShim } from "../agent/support/bench.ts";
import { until } from "../local/support/scratch.ts";
import { endDrover, livingOf, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";
import { endOf } from "./support/ends.ts";

// Commands that do not want to end, through the whole system: each is gone, with proof, the run says how, and
// the same machine runs the next one (issue 3, item 6). What could hurt this machine, namely forks and memory
// without end, is only let loose below a cgroup that bounds it.

const hierarchies = findHierarchies();
const can = (control: "memory" | "pids") => hierarchies.some(({ limits }) => limits.includes(control));

/** Becomes a process that has no cgroups: their file systems are hidden from it and its children. */
const NO_CGROUPS = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"];
const [unshare = "", ...hide] = NO_CGROUPS;
const canHide = hierarchies.length === 0 || spawnSync(unshare, [...hide, "true"]).status === 0;

/** Forks as fast as it can; what it has started stays, so that a bound on it stays reached. */
const BOMB = "f() { sleep 300 & f & f & wait; }; : >$DIR/ready; f 2>/dev/null";
/** For as many processes as an attempt may have: out of memory, one of them would end it all too soon. */
const BOMB_MEMORY = "2GiB";
/** A machine of `drover up` has half of this one's memory. */
const canBomb = can("pids") && totalmem() >= 5 * 2 ** 30;
/** A bomb that has come so far is one. */
const BOMB_PROCESSES = 200;
/** Its grandchild in a session of its own, which `$LAST` makes of a shell, goes on without end. */
const TWICE = `(setsid sh -c '(setsid sh -c "$LAST" &)' &)
  while ! [ -s $DIR/far ]; do sleep 0.01; done
  sleep 0.2; : >$DIR/ready; exec sleep 600`;

interface Case {
  what: string;
  script: string;
  /** How the last process of all says which one it is, and goes on. */
  last?: string;
  /** Whether its user aborts it, when it has this many processes; else it dies of what it does. */
  abortAt?: number;
  memory?: string;
  /** Absent: 1 s, for commands that ignore the signal. */
  killTimeout?: string;
  /** How the run ends. */
  end: object;
  exit: object;
}

const DEAF: Case = {
  what: "ignores SIGTERM",
  script: "trap '' TERM; : >$DIR/ready; while :; do sleep 600; done",
  abortAt: 1,
  end: { state: "aborted", exitCode: null },
  exit: { code: null, signal: "SIGKILL", oomKilled: false },
};
const FORKS_TWICE: Case = {
  what: "forks twice, each time into a session of its own",
  script: TWICE,
  last: "echo $$ >$DIR/far; exec sleep 600",
  abortAt: 1,
  killTimeout: "60s",
  end: { state: "aborted", exitCode: null },
  exit: { code: null, signal: "SIGTERM", oomKilled: false },
};
/** Nothing but a cgroup connects it: no parent, no session, no marker. */
const HIDES: Case = {
  ...FORKS_TWICE,
  what: "does that, and drops its environment",
  // The shell leads its session, so `setsid` forks: only what that starts knows its own pid.
  last: "exec env -i setsid sh -c 'echo $$ >$0; exec sleep 600' $DIR/far",
};
const FORKS_ON: Case = {
  what: "forks as fast as it can, below a limit of pids",
  script: BOMB,
  abortAt: BOMB_PROCESSES,
  memory: BOMB_MEMORY,
  end: { state: "aborted", exitCode: null },
  exit: { oomKilled: false },
};
const EATS: Case = {
  what: "eats memory, below a limit of it",
  script: "exec tail /dev/zero",
  memory: "32MiB",
  end: { state: "complete", exitCode: 137, signal: "SIGKILL" },
  exit: { code: null, signal: "SIGKILL", oomKilled: true },
};

const hiding = hierarchies.length > 0 ? [HIDES] : [];
const MEANS = [
  {
    by: hierarchies.length > 0 ? "cgroup" : "processes",
    below: [],
    cases: [DEAF, FORKS_TWICE, ...hiding, ...(canBomb ? [FORKS_ON] : []), ...(can("memory") ? [EATS] : [])],
  },
  ...(canHide && hierarchies.length > 0
    ? [{ by: "processes", below: NO_CGROUPS, cases: [DEAF, FORKS_TWICE] }]
    : []),
];

test("what is not tried on this machine is said", () => {
  const without = [...(canBomb ? [] : ["forks"]), ...(can("memory") ? [] : ["memory"])];
  for (const one of without) console.info(`nothing bounds ${one} here: what uses them up is not let loose`);
  if (!canHide) console.info("cgroups cannot be hidden here: kills by processes alone are not tried");
  expect(MEANS[0]?.cases.length).toBe(4 + hiding.length - without.length);
});

describe.each(MEANS)("a command, by $by, that", ({ by, below, cases }) => {
  let home: string;
  let up: RunningDrover;
  let worker: string;
  beforeAll(async () => {
    home = makeHome("hard-kills");
    up = await startDrover(home, {}, below);
    await submit("first", { argv: ["true"] });
    worker = (await endOf(up, "first")).placements[0].worker;
  });
  afterAll(async () => {
    await endDrover(home, up);
    rmSync(home, { recursive: true, force: true });
  });

  async function submit(id: string, spec: object): Promise<void> {
    await up.json(201, "POST", "/v1/runs", { id, ...spec });
  }

  test.each(cases)("$what, is gone with proof, and its machine goes on", async (one) => {
    const id = `${by}-${cases.indexOf(one)}`;
    const env = { DIR: home, LAST: one.last ?? "" };
    const far = join(home, "far");
    for (const file of [far, join(home, "ready")]) rmSync(file, { force: true });
    const memory = one.memory ?? "256MiB";
    const argv = ["sh", "-c", one.script];
    await submit(id, { argv, env, resources: { memory }, killTimeout: one.killTimeout ?? "1s" });
    let last: Proc | undefined;
    let sessions = new Set<number>();
    let groups: string[] = [];
    if (one.abortAt !== undefined) {
      await until("it is ready", () => existsSync(join(home, "ready")) || undefined);
      await until("it has come so far", () => livingOf(up, id).length >= (one.abortAt ?? 0) || undefined);
      sessions = new Set(livingOf(up, id).map(({ session }) => session));
      groups = groupsOf(up.stateDir, id);
      expect(groups.length > 0).toBe(by === "cgroup");
      last = existsSync(far) ? readProc(Number(readFileSync(far, "utf8"))) : undefined;
      expect(last !== undefined && lives(last)).toBe(one.last !== undefined);
      await up.json(200, "POST", `/v1/runs/${id}/abort`, { reason: "enough" });
    }
    const status = await endOf(up, id);
    expect(status).toMatchObject(one.end);
    expect(status.tasks[0].attempts[0]).toMatchObject({ state: "exited", exit: one.exit });
    expect(livingOf(up, id)).toEqual([]);
    expect(last !== undefined && lives(last)).toBe(false);
    expect(
      listProcs().filter((proc) => !proc.ended && sessions.has(proc.session) && !isIdleShim(proc.pid)),
    ).toEqual([]);
    expect(groups.filter((path) => existsSync(path))).toEqual([]);
    if (one.abortAt !== undefined) {
      const { items } = await up.json(200, "GET", `/v1/runs/${id}/events`);
      const { details } = items.find(({ type }: Json) => type === "Terminated");
      expect(details).toMatchObject({ killed_by: by, tree_gone: "true" });
    }
    await submit(`${id}-next`, { argv: ["sh", "-c", "exit 4"] });
    expect(await endOf(up, `${id}-next`)).toMatchObject({
      state: "complete",
      exitCode: 4,
      placements: [{ worker }],
    });
  });
});

/** The folders of a run's cgroups. */
function groupsOf(stateDir: string, id: string): string[] {
  const instances = join(stateDir, "instances");
  return readdirSync(instances).flatMap((instance) => {
    const file = join(instances, instance, "agent", "groups", `${id}_main_1.1.json`);
    if (!existsSync(file)) return [];
    return JSON.parse(readFileSync(file, "utf8")).folders.map(({ path }: Json) => path);
  });
}
