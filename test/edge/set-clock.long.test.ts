import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import { drover, endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import type { Json } from "./support/edge.ts";

/** Gives the processes that load it a wall clock that a file sets. No timer and no other clock feels that. */
const SOURCE = join(import.meta.dirname, "support/set-clock.c");
const HAS_COMPILER = spawnSync("cc", ["--version"]).status === 0;
if (!HAS_COMPILER) console.warn("set-clock.long.test.ts is skipped: it needs a C compiler, `cc`.");

const DELAY_MS = 5_000;
/** Hosts and commands come back to a control plane that was started again only after a pause, twice here. */
const WITHIN_MS = 600_000;
const HOUR_MS = 3_600_000;
const HOURS_OF_SECONDS = 3_600;
const resources = { vcpus: 0, memory: "64MiB" };
const restart = { attempts: 0 };

/** A delay of the control plane's own. */
interface Delay {
  what: string;
  spec: object;
  hasBegun(run: Json): boolean;
  /** Makes it begin, where it does not begin by itself. */
  begin?(up: RunningDrover, id: string): Promise<unknown>;
  isOver(run: Json): boolean;
  /** How long it was, by what Drover has recorded. */
  lengthOf(run: Json): number;
}

const between = (from: string, to: string) => Date.parse(to) - Date.parse(from);
const eventAt = (run: Json, type: string): string =>
  run.tasks[0].events.find((event: Json) => event.type === type)?.at;

const DELAYS: Delay[] = [
  {
    what: "stop",
    spec: { shutdownDelay: `${DELAY_MS}ms`, tasks: [{ name: "main", argv: ["sleep", "600"] }] },
    hasBegun: ({ allocStatus }) => allocStatus === "running",
    begin: (up, id) => up.json(200, "POST", `/v1/runs/${id}/abort`, {}),
    isOver: ({ state }) => state === "aborted",
    lengthOf: (run) => between(eventAt(run, "Killing"), eventAt(run, "Killed")),
  },
  {
    what: "reschedule",
    spec: {
      reschedule: { attempts: 1, delay: `${DELAY_MS}ms` },
      // A group: a lone command that fails is not placed again.
      tasks: [
        { name: "main", argv: ["false"], restart },
        { name: "beside", argv: ["sleep", "600"], restart },
      ],
    },
    hasBegun: ({ placements }) => (placements[0]?.outcome ?? null) !== null,
    isOver: ({ placements }) => placements.length > 1,
    lengthOf: ({ tasks: [main], placements }) => between(main.attempts[0].finishedAt, placements[1].from),
  },
];

async function seen(up: RunningDrover, id: string, is: (run: Json) => boolean): Promise<Json> {
  let run: Json;
  const look = async () => {
    run = await up.json(200, "GET", `/v1/runs/${id}`);
    return is(run) || undefined;
  };
  await until(`${id} is as expected`, look).catch((error) => {
    throw new Error(`${String(error)} ${JSON.stringify(run)}`);
  });
  return run;
}

/** What a Drover has in its environment whose clock can be set. */
function settable(home: string): Record<string, string> {
  const library = join(home, "set-clock.so");
  const made = spawnSync("cc", ["-shared", "-fPIC", "-o", library, SOURCE]);
  expect(String(made.stderr)).toBe("");
  writeFileSync(join(home, "clock"), Buffer.alloc(8));
  return { LD_PRELOAD: library, DROVER_TEST_CLOCK: join(home, "clock") };
}

/**
 * Sets the clock to the right time and so many seconds, and waits until Drover has said so. Until then it
 * asks for these runs again and again: at each question their objects look at the clock.
 */
async function setClock(
  { home, up, runs }: { home: string; up: RunningDrover; runs: string[] },
  seconds: number,
  how: string,
): Promise<void> {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(seconds));
  // In place: it is mapped.
  writeFileSync(join(home, "clock"), bytes, { flag: "r+" });
  const log = () => readFileSync(join(home, ".drover/worker.log"), "utf8");
  let isKnown = false;
  const ask = async (id: string) => {
    // The control plane is started again meanwhile.
    while (!isKnown) await up.call("GET", `/v1/runs/${id}`).catch(() => sleep(20));
  };
  const asking = runs.map(ask);
  try {
    await until(`the clock is known to be set ${how}`, () => log().includes(`was set ${how}`) || undefined);
  } finally {
    isKnown = true;
    await Promise.all(asking);
  }
}

describe.skipIf(!HAS_COMPILER)("N10: a wall clock that is set moves no delay of the control plane", () => {
  test(
    "back by two hours, then forward by four, under a command that is watched",
    async () => {
      const home = makeHome("set-clock");
      let up: RunningDrover | undefined;
      try {
        up = await startDrover(home, settable(home));
        const watched = drover(home, [
          "run",
          "--",
          "sh",
          "-c",
          "until [ -e end ]; do sleep 0.1; done; echo seen",
        ]);
        for (const [how, hours] of [["back", -2] as const, ["forward", 2] as const]) {
          for (const { what, spec, hasBegun, begin } of DELAYS) {
            await up.json(201, "POST", "/v1/runs", { id: `${how}-${what}`, resources, ...spec });
            await seen(up, `${how}-${what}`, hasBegun);
            await begin?.(up, `${how}-${what}`);
          }
          const runs = DELAYS.map(({ what }) => `${how}-${what}`);
          await setClock({ home, up, runs }, hours * HOURS_OF_SECONDS, how);
          for (const { what, isOver, lengthOf } of DELAYS) {
            const run = await seen(up, `${how}-${what}`, isOver);
            expect(lengthOf(run), JSON.stringify(run)).toBeGreaterThanOrEqual(DELAY_MS);
            expect(lengthOf(run), JSON.stringify(run)).toBeLessThan(HOUR_MS);
            // The command has the right time, and Drover that from before.
            const { stdout } = await drover(home, ["status", run.id]);
            expect(String(stdout)).toMatch(/^Submitted .* \((\d+m)?[\d.]+s ago\)$/m);
          }
        }
        writeFileSync(join(home, "end"), "");
        expect(await watched).toMatchObject({ code: 0, stdout: Buffer.from("seen\n") });
      } finally {
        await endDrover(home, up);
        rmSync(home, { recursive: true, force: true });
      }
    },
    WITHIN_MS,
  );
});
