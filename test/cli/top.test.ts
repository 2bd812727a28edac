import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { ALL_EVERY, POOL_EVERY, PoolWatch, REASONS_READ } from "../../cli/top/pool-watch.ts";
import { createClient } from "../../client/client.ts";
import { type Bench, environmentFor, openBench } from "./support/command.ts";
import { json, problem, TOKEN } from "./support/control-plane.ts";
import { lookOf, pending, queued, running, worker } from "./support/pool-look.ts";
import { atTerminal, HAS_TERMINAL, NEEDS_TERMINAL } from "./support/terminal.ts";

// `drover top`: how seldom it asks, what it prints without a terminal, and what it does if nobody answers.

let bench: Bench;
/** What changes, as the next answer says it. */
let changes: object[];
let depth: number;
/** The pool whose changes are never answered twice. */
beforeEach(async () => {
  bench = await openBench();
  changes = [
    { number: 1, run: running("a") },
    { number: 2, run: pending("b") },
    { number: 3, worker: worker("w-1") },
  ];
  depth = 1;
  const { plane } = bench;
  plane.on("GET", /^\/v1\/events$/, (_seen, res) => {
    json(res, 200, { items: changes, next: 3 });
    changes = [];
  });
  plane.on("GET", /^\/v1\/pools\/default$/, (_seen, res) => {
    const queue = { depth, oldestAgeMs: depth === 0 ? null : 600_000 };
    json(res, 200, lookOf({ running: [running("a")], pending: [pending("b")], pool: { queue } }).pool);
  });
  plane.on("GET", /^\/v1\/pools\/default\/queue$/, (_seen, res) =>
    json(res, 200, { items: [queued("b", 1)], next: null, queued: 1 }),
  );
});
afterEach(() => bench.close());

/** The requests since the last call, by their last word. */
function asked(): string[] {
  return bench.plane.seen.splice(0).map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
}

describe("a look", () => {
  let watch: PoolWatch;
  beforeEach(() => {
    watch = new PoolWatch(createClient({ url: bench.plane.url, token: TOKEN }), "default");
  });

  test("is one request if nothing has changed, and three if something has (cli.md#top)", async () => {
    await watch.look();
    expect(asked()).toEqual(["events", "default", "queue"]);
    await watch.look();
    expect(asked()).toEqual(["events"]);
    changes = [{ number: 4, run: { ...running("a"), state: "complete", exitCode: 0 } }];
    expect((await watch.look()).running).toEqual([]);
    expect(asked()).toEqual(["events", "default", "queue"]);
    depth = 0;
    changes = [{ number: 5, run: running("b") }];
    expect((await watch.look()).running.map(({ id }) => id)).toEqual(["b"]);
    expect(asked()).toEqual(["events", "default"]);
  });

  test("asks for the pool, whose prices change, now and then all the same (cli.md#top)", async () => {
    for (let look = 0; look < POOL_EVERY; look += 1) await watch.look();
    asked();
    await watch.look();
    expect(asked()).toEqual(["events", "default", "queue"]);
  });

  test("asks for what has changed, and now and then for everything (cli.md#top)", async () => {
    for (let look = 0; look <= ALL_EVERY; look += 1) await watch.look();
    const after = bench.plane.seen
      .filter(({ path }) => path === "/v1/events")
      .map(({ query }) => query.get("after"));
    expect(after).toEqual([null, ...Array.from({ length: ALL_EVERY - 1 }, () => "3"), null]);
    // The last answer had nothing: a run that was deleted is in no list of changes.
    expect((await watch.look()).running).toEqual([]);
  });

  test("asks for no more reasons than fit on a screen (cli.md#top)", async () => {
    await watch.look();
    const queue = bench.plane.seen.find(({ path }) => path.endsWith("/queue"));
    expect(queue?.query.get("limit")).toBe(String(REASONS_READ));
  });

  test("that fails loses nothing: the next one asks for the rest (cli.md#top)", async () => {
    bench.plane.on("GET", /^\/v1\/pools\/default$/, (_seen, res) => problem(res, 404, "unknown_pool"), 1);
    await expect(watch.look()).rejects.toThrow("unknown_pool");
    const look = await watch.look();
    expect([look.running.length, look.pending.length, look.workers.length]).toEqual([1, 1, 1]);
    expect(look.queue.get("b")?.reason.code).toBe("max_instances");
  });

  test("sorts: what runs longest and what comes first in the queue stands first (cli.md#top)", async () => {
    const later = "2026-11-21T08:05:00.000Z";
    changes = [
      { number: 1, run: { ...running("late"), startedAt: later } },
      { number: 2, run: running("early") },
      { number: 3, run: pending("unknown") },
      { number: 4, run: pending("b") },
      { number: 5, run: pending("placed", "w-1") },
    ];
    const look = await watch.look();
    expect(look.running.map(({ id }) => id)).toEqual(["early", "late"]);
    expect(look.pending.map(({ id }) => id)).toEqual(["placed", "b", "unknown"]);
  });
});

test("without a terminal it prints one picture, uncut, and ends (cli.md#top)", async () => {
  const { code, stdout, stderr } = await bench.run(["top"]);
  expect([code, stderr]).toEqual([0, ""]);
  const lines = stdout.toString().split("\n");
  expect(lines[0]).toBe("Pool      default: 1 running, 1 pending");
  expect(lines.join("\n")).toMatch(
    /RUNNING \(1\).*\n {2}a .*\n\nPENDING \(1\).*\n {2}b .*max_instances: no machine/,
  );
  expect(stdout.toString()).not.toContain("\u001b");
  expect(asked()).toEqual(["events", "default", "queue"]);
});

test("an unknown pool is an error like any other (cli.md#top)", async () => {
  const detail = 'there is no pool "nope"';
  bench.plane.on("GET", /^\/v1\/events$/, (_seen, res) => problem(res, 404, "unknown_pool", { detail }));
  const { code, stdout, stderr } = await bench.run(["top", "--pool", "nope"]);
  expect([code, stdout.toString(), stderr]).toEqual([125, "", `drover: ${detail}\n`]);
});

test.each([
  ["0.5s", /must be from 1s to 1d/],
  ["2d", /must be from 1s to 1d/],
  ["2", /needs a unit/],
])("an interval of %s is refused, with the reason (cli.md#top)", async (interval, reason) => {
  const { code, stderr } = await bench.run(["top", "--interval", interval]);
  expect([code, asked()]).toEqual([125, []]);
  expect(stderr).toMatch(reason);
});

const ALTERNATE = "\u001b[?1049h";
const ORDINARY = "\u001b[?1049l";
/** `drover top` at a terminal. */
function atScreen(args: string[], env: NodeJS.ProcessEnv = {}) {
  const argv = [process.execPath, join(inject("built"), "cli.mjs"), "top", ...args];
  return atTerminal(argv, bench.dir, { ...environmentFor(bench.plane), ...env });
}

describe.skipIf(!HAS_TERMINAL)(`at a terminal${HAS_TERMINAL ? "" : `: ${NEEDS_TERMINAL}`}`, () => {
  test.each<[string[], NodeJS.ProcessEnv]>([
    [["--once"], {}],
    [[], { TERM: "dumb" }],
  ])("with %j and %j it prints one picture and ends (cli.md#top)", async (args, env) => {
    const { code, screen } = await atScreen(args, env).ended;
    expect(code).toBe(0);
    expect(screen).toContain("default: 1 running, 1 pending");
    expect(screen).not.toContain(ALTERNATE);
  });

  test("a Drover that is busy or gone is asked again, and the screen says so (cli.md#top)", async () => {
    const one = atScreen(["--interval", "1s"]);
    await one.says(/q quit/);
    const detail = "the pool is too busy";
    bench.plane.on("GET", /^\/v1\/events$/, (_seen, res) => problem(res, 503, "unavailable", { detail }), 1);
    await one.says(/From \S+ ago: the pool is too busy/);
    await one.says(/q quit/);
    await bench.plane.stop();
    await one.says(/From \S+ ago: Drover does not answer/);
    one.type("q");
    expect((await one.ended).code).toBe(0);
  });

  test("any other error gives the terminal back, and is printed there (cli.md#top)", async () => {
    const one = atScreen(["--interval", "1s"]);
    await one.says(/q quit/);
    bench.plane.on("GET", /^\/v1\/events$/, (_seen, res) =>
      problem(res, 401, "unauthorized", { detail: "no" }),
    );
    const { code, screen } = await one.ended;
    expect(code).toBe(125);
    expect(screen.slice(screen.lastIndexOf(ORDINARY))).toContain("Check DROVER_TOKEN.");
  });

  test("p shows the next pool, and says so if there is none (cli.md#top)", async () => {
    let names = ["default"];
    bench.plane.on("GET", /^\/v1\/pools$/, (_seen, res) =>
      json(res, 200, { items: names.map((name) => ({ name })), next: null, service: [] }),
    );
    bench.plane.on("GET", /^\/v1\/pools\/gpu$/, (_seen, res) =>
      json(res, 200, lookOf({ pool: { name: "gpu" } }).pool),
    );
    const one = atScreen(["--interval", "1h"]);
    await one.says(/q quit/);
    one.type("p");
    await one.says(/There is no other pool\./);
    names = ["default", "gpu"];
    one.type("p");
    await one.says(/gpu: 0 running/);
    await one.says(/drover run --pool gpu/);
    one.type("q");
    expect((await one.ended).code).toBe(0);
    const pools = bench.plane.seen
      .filter(({ path }) => path === "/v1/events")
      .map(({ query }) => query.get("pool"));
    expect(pools).toEqual(["default", "gpu"]);
  });

  test("Enter shows why, and a run that is gone is no reason to end (cli.md#top)", async () => {
    bench.plane.on("GET", /^\/v1\/runs\/a\/why$/, (_seen, res) =>
      json(res, 200, {
        ...{ state: "running", reason: { code: "running", text: "its command runs" } },
        ...{ next: { code: "end", action: "end it", at: null, waitsFor: "command" }, chain: [] },
      }),
    );
    const one = atScreen(["--interval", "1h"]);
    await one.says(/q quit/);
    one.type("\r");
    await one.says(/Why +its command runs \(running\)/);
    await one.says(/drover logs a/);
    one.type("\rj\r");
    await one.says(/unknown_run/);
    one.type("\u0003");
    const { code, screen } = await one.ended;
    expect([code, screen.trimEnd().endsWith(ORDINARY)]).toEqual([130, true]);
  });
});
