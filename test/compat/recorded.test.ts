// Does today's code go on with what each release has stored and said (compat.md#recorded)?
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadedAllocation } from "../../src/core/allocation/load.ts";
import { allocationMachine } from "../../src/core/allocation/machine.ts";
import { statusOf } from "../../src/core/allocation/read/status.ts";
import { openPlacement } from "../../src/core/allocation/state.ts";
import { poolMachine } from "../../src/core/pool/machine.ts";
import { poolView } from "../../src/core/pool/read/views.ts";
import { registryMachine } from "../../src/core/registry/machine.ts";
import { poolsOf } from "../../src/core/registry/pools.ts";
import { Rows } from "../../src/core/rows.ts";
import { type WorkerEvent, workerMachine } from "../../src/core/worker/machine.ts";
import { statusOf as workerStatusOf } from "../../src/core/worker/read/status.ts";
import {
  type ExistingWorker,
  isLivePlacement,
  loadedWorker,
  type PlacementRow,
  TRACKED_OF_PLACEMENTS,
} from "../../src/core/worker/state.ts";
import { readStored } from "../../src/objects/migrations.ts";
import { EnrollRequest, HostSetup, JoinRequest, Report } from "../../src/schema/host.ts";
import { PoolView, WorkerStatus } from "../../src/schema/pool.ts";
import { RunStatus } from "../../src/schema/run/run.ts";
import { FIELDS, LAYOUTS, PROTOCOL, PROTOCOLS } from "../../src/shared/compat.ts";
import { isTerminal } from "../../src/shared/run-state.ts";
import { Driven, idleHost, SETUP } from "../agent/core/drive.ts";
import * as runs from "../core/support/allocation.ts";
import { MapDisk } from "../core/support/map-disk.ts";
import * as pools from "../core/support/pool.ts";
import { registryOf } from "../core/support/registry.ts";
import * as workers from "../core/support/worker.ts";
import { NOW, type StoredHost, type StoredPool, type StoredWorker, saidNow, storedNow } from "./scenes.ts";

const HOUR = 3_600_000;

/** What a release has recorded. With `DROVER_RECORD=1` this version does, once: a release never changes. */
interface Recorded {
  layout: number;
  protocol: number;
  stored: ReturnType<typeof storedNow>;
  said: ReturnType<typeof saidNow>;
}

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"));
const fileOf = (release: string) => join(import.meta.dirname, release, "recorded.json");

if (process.env.DROVER_RECORD === "1") {
  const recorded: Recorded = {
    layout: LAYOUTS.length,
    protocol: PROTOCOL,
    stored: storedNow(),
    said: saidNow(),
  };
  mkdirSync(join(import.meta.dirname, version), { recursive: true });
  writeFileSync(fileOf(version), `${JSON.stringify(recorded, asJson, 1)}\n`);
}

/** Bytes have no form in JSON. */
function asJson(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value;
}

function fromJson(_key: string, value: unknown): unknown {
  const isBytes = typeof value === "object" && value !== null && "base64" in value;
  return isBytes ? new Uint8Array(Buffer.from(String(value.base64), "base64")) : value;
}

/** Each place in a value, with the type of what is there. */
function* placesIn(value: unknown, place = ""): Generator<[string, string]> {
  if (value === undefined) return;
  const isPlain = typeof value === "object" && value !== null && !(value instanceof Uint8Array);
  yield [place, isPlain || value === null ? "object" : typeof value];
  if (!isPlain) return;
  for (const [key, inner] of Object.entries(value))
    yield* placesIn(inner, Array.isArray(value) ? `${place}[]` : `${place}.${key}`);
}

/** What a value of today has, and this one has not, by place. */
function lackedBy(value: unknown, today: unknown): string[] {
  const known = new Map<string, Set<string>>();
  for (const [place, type] of placesIn(value)) known.set(place, (known.get(place) ?? new Set()).add(type));
  return [...placesIn(today)].flatMap(([place, type]) => {
    const types = known.get(place);
    // Null stands where another scene has an object or a text.
    return types?.has(type) || types?.has("object") || (types && type === "object") ? [] : [place];
  });
}

const workerOf = ({ record, placements }: StoredWorker) => {
  const disk = new MapDisk<PlacementRow>();
  for (const row of placements) disk.write(`${row.run}/${row.epoch}`, row, isLivePlacement(row), NOW);
  return workers.living(loadedWorker(record, new Rows(disk, isLivePlacement, TRACKED_OF_PLACEMENTS)));
};
/** Folds one event in, and commits. */
function step(state: ExistingWorker, now: number, event: WorkerEvent): ExistingWorker {
  const after = workers.living(workerMachine.apply(state, event, now));
  after.placements.flush();
  return after;
}

const poolOf = ({ record, ...tables }: StoredPool) =>
  pools.existing(pools.pool(record, tables.runs, tables.workers));
const hostOf = ({ attempts, lease }: StoredHost) => {
  const found = Object.entries(attempts).map(([id, journal]) => ({
    id,
    journal,
    main: { kind: "running" as const },
  }));
  return new Driven({ attempts: found, lease });
};

const releases = readdirSync(import.meta.dirname).filter((name) => existsSync(fileOf(name)));

test("this release has recorded what it stores and says, and each name in the register has a reason", () => {
  expect(releases).toContain(version);
  for (const { what, since, why } of [...PROTOCOLS, ...LAYOUTS, ...FIELDS]) {
    expect([what, why]).not.toContain("");
    expect(releases).toContain(since);
  }
});

describe.each(releases)("what %s has stored", (release) => {
  const recorded: Recorded = JSON.parse(readFileSync(fileOf(release), "utf8"), fromJson);
  const { said } = recorded;
  const lift = <Value>(value: Value): Value => readStored({ v: recorded.layout, value }) ?? value;
  const { stored } = recorded;
  const today = storedNow();

  test.each(Object.keys(today) as (keyof typeof today)[])(
    "has each field of today, or the register says which it lacks: %s (compat.md#stored)",
    (kind) => {
      const registered = FIELDS.map(({ what }) => what);
      const lacked = lackedBy(lift(stored[kind]), today[kind]).map((place) => `${kind}${place}`);
      expect(lacked.filter((place) => !registered.some((what) => place.startsWith(what)))).toEqual([]);
    },
  );

  test.each(Object.entries(stored.runs))("a run goes on to its end: %s", (_what, record) => {
    const state = runs.existing(loadedAllocation(lift(record), false));
    expect(RunStatus.safeParse(statusOf(state)).error).toBeUndefined();
    expect(statusOf(state).id).toBe(record.id);
    const stopped = runs.runAt(state, NOW, runs.abort());
    const { epoch = 1, worker } = openPlacement(stopped) ?? {};
    const left = runs.runAt(stopped, NOW + HOUR, runs.ended("gone", { epoch, worker }));
    const ended = runs.existing(runs.acknowledged(left, NOW + HOUR));
    expect(isTerminal(statusOf(ended).state)).toBe(true);
    expect(allocationMachine.due(ended, NOW + HOUR)).toEqual([]);
  });

  test.each(Object.entries(stored.workers))("a worker goes on to its end: %s", (_what, record) => {
    const state = workerOf(lift(record));
    expect(WorkerStatus.safeParse(workerStatusOf(state, NOW)).error).toBeUndefined();
    const killed = step(state, NOW, { type: "kill", reason: "enough", by: "ann", force: true });
    let gone = step(killed, NOW, { type: "destroy_answered", answer: { kind: "asked" } });
    for (const at of [NOW + HOUR, NOW + 2 * HOUR]) gone = step(gone, at, { type: "tick" });
    expect(gone.record.phase).toBe("gone");
    const lost = record.placements.filter(({ state: of }) => of === "live").map(({ run }) => run);
    const owed = workerMachine.due(gone, NOW + 2 * HOUR).filter(({ kind }) => kind === "ended");
    expect(owed.map(({ to }) => to)).toEqual(lost);
  });

  test.each(Object.entries(stored.pools))("a pool goes on: %s", (_what, record) => {
    const state = poolOf(lift(record));
    expect(PoolView.safeParse(poolView(state, NOW)).error).toBeUndefined();
    const next = pools.at(state, NOW, { type: "tick" }, pools.run("next"));
    expect([...next.runs.live()]).toHaveLength(record.runs.length + 1);
    expect(pools.answer(next, "next").kind).toMatch(/^(queued|placed)$/);
    expect(poolMachine.due(next, NOW)).not.toEqual([]);
  });

  test.each(Object.entries(stored.hosts))("a host goes on with its journal: %s", (_what, journal) => {
    const host = hostOf(journal).tell({ type: "joined", setup: SETUP });
    const report = host.report();
    expect(Report.safeParse(report).error).toBeUndefined();
    expect(report?.attempts.map(({ id }) => id)).toEqual(Object.keys(journal.attempts));
  });

  test("the registry knows its pools", () => {
    const state = registryOf(lift(stored.registry));
    expect(poolsOf(state).map(([name]) => name)).toEqual(["default", "named"]);
    expect(registryMachine.due(state, NOW)).toHaveLength(2);
  });

  test("what a host says is understood: it enrolls, joins and reports", () => {
    expect(EnrollRequest.safeParse(said.enroll).error).toBeUndefined();
    expect(JoinRequest.safeParse(said.join).error).toBeUndefined();
    const report = Report.parse(said.report);
    const state = workers.at(workers.ready(), NOW, { type: "report", report: { ...report, incarnation: 1 } });
    expect(state.record.protocol).toBe(recorded.protocol);
  });

  test("what a host is told is understood: its setup, and its orders", () => {
    expect(HostSetup.safeParse(said.setup).error).toBeUndefined();
    const host = idleHost().answer(said.orders.attempts, { ...said.orders, incarnation: SETUP.incarnation });
    expect(Object.keys(host.state.attempts)).toEqual(said.orders.attempts.map(({ id }) => id));
  });

  test("what objects say to each other is understood", () => {
    const { run, order, observed, ended, worker, create } = said;
    if (!order || !observed || !ended || !worker || !create) throw new Error("nothing was due");
    const pool = pools.at(pools.configured({}, [], [pools.workerRow(worker.worker, "asked")]), NOW);
    const told = pools.at(pool, NOW, { type: "run", body: run }, { type: "worker", body: worker });
    expect(pools.answer(told, run.run)).toMatchObject({ kind: "placed", worker: worker.worker });
    const born = workers.at(workers.nothing(), NOW, { type: "create", body: create });
    expect(born.record.phase).toBe("booting");
    expect(workers.at(workers.ready(), NOW, { type: "order", body: order }).placements.live()).toBeDefined();
    const placed = runs.runAt(runs.queued({ reschedule: { attempts: 0 } }), NOW, runs.place(observed.worker));
    const seen = runs.runAt(placed, NOW, { type: "observed", body: observed });
    expect(statusOf(seen).state).toBe("running");
    expect(isTerminal(statusOf(runs.runAt(seen, NOW, { type: "ended", body: ended })).state)).toBe(true);
  });
});
