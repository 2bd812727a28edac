import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { AuditRow } from "../../src/core/audit/entry.ts";
import { dayAfter, dayOf, LATE_MS } from "../../src/core/audit/export.ts";
import * as clock from "../../src/objects/clock.ts";
import { objectsOf } from "../../src/objects/messages/stubs.ts";
import { meter } from "../../src/objects/meter.ts";
import type { AuditFilter } from "../../src/objects/rpc.ts";
import { SqlRowDisk } from "../../src/objects/store.ts";
import type { AuditEntry } from "../../src/schema/access/audit.ts";
import { AUDIT_KEPT_MS } from "../../src/shared/limits.ts";
import { hexDigest } from "../../src/signing/mac.ts";
import {
  bindings,
  bootMachine,
  eventually,
  freshWorld,
  makePool,
  named,
  objects,
  submit,
} from "./support/world.ts";

const world = freshWorld();
const pool = () => bindings.POOL.getByName("default");
const by = "token:ci";

const entriesOf = async (filter: AuditFilter = {}) =>
  (await objects.pool("default").audit(filter, { limit: 100 })).items;
const shown = ({ actor, action, target }: AuditEntry) => `${actor.kind}:${actor.name} ${action} ${target.id}`;
const done = async (filter?: AuditFilter) => (await entriesOf(filter)).map(shown).reverse();

const abort = (run: string, more: object = {}) =>
  objects.allocation(run).abort({ reason: "enough", by, waitMs: 0, ...more });

/** The entries without submissions, once there are this many. */
const told = (count: number) =>
  eventually(async () => {
    const items = (await entriesOf()).filter(({ action }) => action !== "run.submit");
    return items.length >= count ? items : undefined;
  });

/**
 * Whether the pool's answer has reached an object, which stores that: after a reset, too, if that is sooner.
 */
function owesNothing(storage: DurableObjectStorage): true | undefined {
  const stored = storage.kv.get<{ value: { audit: { owed: unknown[] } } }>("state");
  return stored?.value.audit.owed.length === 0 || undefined;
}

describe("what is done to runs and workers (audit.md#outbox)", () => {
  test("is in the log of their pool once, with who did it", async () => {
    await makePool();
    await submit("a");
    await abort("a");
    await abort("a"); // changes nothing
    const [entry, ...rest] = await told(1);
    expect(rest).toEqual([]);
    expect(entry).toMatchObject({
      actor: { kind: "token", name: "ci" },
      action: "run.abort",
      target: { kind: "run", id: "a" },
      pool: "default",
      run: "a",
      result: "ok",
      reason: "enough",
    });
    expect(await done({ run: "a" })).toEqual(["admin:admin run.submit a", "token:ci run.abort a"]);
  });

  test("is owed until the pool has answered, also by an object that was evicted in between", async () => {
    await makePool();
    await submit("a");
    const { worker } = await bootMachine(world.cloud);
    await objects.worker(worker).setBehavior("hold", by);
    await objects.worker(worker).setBehavior("run", by);
    await objects.worker(worker).kill({ reason: "old", by });
    await told(3);
    await eventually(() =>
      runInDurableObject(bindings.CLOUD_WORKER.getByName(worker), (_, { storage }) => owesNothing(storage)),
    );
    await evictDurableObject(bindings.CLOUD_WORKER.getByName(worker));
    await objects.worker(worker).read();
    await evictDurableObject(pool());
    expect(await done({ target: worker })).toEqual([
      `token:ci worker.hold ${worker}`,
      `token:ci worker.resume ${worker}`,
      `token:ci worker.kill ${worker}`,
    ]);
  });

  test("has no value of an environment, whatever was changed", async () => {
    await makePool();
    const { status } = await submit("a", { env: { KEY: "hunter2" } });
    const spec = { ...status.spec, priority: 3, env: { KEY: "hunter3" } };
    await objects.allocation("a").update({ spec, specIndex: 1, by });
    const items = await told(1);
    await eventually(() =>
      runInDurableObject(bindings.ALLOCATION.getByName("a"), (_, { storage }) => owesNothing(storage)),
    );
    expect(items[0]?.diff).toEqual([
      { field: "/env/KEY", from: "[secret]", to: "[secret]" },
      { field: "/priority", from: "50", to: "3" },
    ]);
    expect(JSON.stringify(items)).not.toContain("hunter");
  });

  test("says by which request it was asked for, wherever the entry waits (audit.md#via)", async () => {
    const via = { requestId: "r-1", address: "192.0.2.7", userAgent: "curl" };
    const called = objectsOf(bindings, via);
    await makePool();
    await called
      .registry()
      .setSecret({ ...named("token"), value: new TextEncoder().encode("hunter2!"), use: undefined }, by);
    const { spec } = await submit("first").then(({ status }) => status);
    await called.allocation("a").submit({ spec, hash: "h", by, project: "default", budget: null });
    await called
      .allocation("a")
      .signal({ signal: "SIGHUP", by })
      .catch(() => undefined); // it does not run
    await called.allocation("a").abort({ reason: "", by, waitMs: 0 });
    const { worker } = await bootMachine(world.cloud);
    await called.worker(worker).setBehavior("hold", by);
    await called.pool("default").invite({ ttlMs: 60_000, by });
    await told(3);
    const { items: ofRegistry } = await objects.registry().audit({ by }, { limit: 10 });
    const entries = [...(await entriesOf({ by })), ...ofRegistry];
    expect(entries.map(({ action }) => action).sort()).toEqual(
      ["enrollment.create", "run.abort", "run.submit", "secret.set", "worker.hold"].sort(),
    );
    for (const { action, via: known } of entries) expect([action, known]).toEqual([action, via]);
    const others = await entriesOf({ by: "admin" });
    expect(others.map(({ via: known }) => known)).toEqual(others.map(() => null));
    // Neither a secret nor its length.
    expect(JSON.stringify(ofRegistry)).not.toMatch(/hunter|bytes/);
  });

  test("of a deleted run says who had submitted it", async () => {
    await makePool();
    const { status } = await submit("a");
    await objects.allocation("a").abort({ reason: "", by, waitMs: 5_000 });
    await objects.pool("default").forget({ run: "a", submittedAt: Date.parse(status.submittedAt) }, by);
    expect(await done()).toEqual(["token:ci run.abort a", "token:ci run.delete a"]);
    const [entry] = await entriesOf();
    expect(entry?.reason).toBe(`it was submitted by admin at ${status.submittedAt}`);
  });

  test("costs the pool one row more than the change itself", async () => {
    await makePool();
    await submit("first");
    await abort("first");
    await told(1); // makes the table
    await submit("second");
    const before = { ...meter };
    await abort("second");
    await told(2);
    // The run's record twice (the abort; nothing is owed any more), its row, the entry, and an alarm.
    expect(meter.rowsWritten - before.rowsWritten).toBeLessThanOrEqual(6);
  });
});

describe("the registry's part (audit.md#owners)", () => {
  test("has the changes of pools, without the provider's secret", async () => {
    await makePool();
    await makePool({
      maxInstances: 3,
      provider: { kind: "http", url: "http://127.0.0.1:1", secret: "s3cret" },
    });
    await makePool({
      maxInstances: 3,
      provider: { kind: "http", url: "http://127.0.0.1:1", secret: "s4cret" },
    });
    await objects.registry().removePool("default", "empty", { by, project: null });
    const { items } = await objects.registry().audit({ pools: ["default"] }, { limit: 10 });
    expect(items.map(shown).reverse()).toEqual([
      ...["admin:admin pool.put default", "admin:admin pool.put default", "admin:admin pool.put default"],
      "token:ci pool.delete default",
    ]);
    expect(items[1]?.diff).toEqual([{ field: "/provider/secret", from: "[secret]", to: "[secret]" }]);
    expect(JSON.stringify(items)).not.toMatch(/s[34]cret|cloud-secret/);
  });
});

describe("pages and followers (audit.md#reading)", () => {
  test("pages have each entry once, in order, whatever their size", async () => {
    await makePool();
    for (const run of ["a", "b", "c", "d"]) {
      await submit(run);
      await abort(run);
    }
    await told(4);
    const all = (await entriesOf()).map(({ id }) => id);
    expect(all).toHaveLength(8);
    for (const limit of [1, 2, 3]) {
      const ids: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await objects.pool("default").audit({}, { limit, cursor });
        ids.push(...page.items.map(({ id }) => id));
        cursor = page.next ?? undefined;
      } while (cursor !== undefined);
      expect(ids).toEqual(all);
    }
  });

  test("a follower gets what comes, each entry once", async () => {
    await makePool();
    await submit("a");
    const { latest } = await objects.pool("default").audit({}, { limit: 1 });
    const waiting = objects.pool("default").auditAfter({ actions: ["run.abort"] }, latest, 20_000);
    await submit("b");
    await abort("b");
    const { items, next } = await waiting;
    expect(items.map(shown)).toEqual(["token:ci run.abort b"]);
    expect((await objects.pool("default").auditAfter({}, next, 0)).items).toEqual([]);
    const since = await objects.pool("default").auditAfter({}, latest, 0);
    expect(since.items.map(shown)).toEqual(["admin:admin run.submit b", "token:ci run.abort b"]);
  });
});

describe("the export (audit.md#export)", () => {
  afterEach(() => void vi.useRealTimers());

  const fileOf = async (key: string) => (await bindings.LOGS?.get(key))?.text();

  test("writes the lines of a day once it is over, each with the digest of the line before", async () => {
    await makePool();
    await submit("a");
    await abort("a");
    await told(1);
    const today = dayOf(clock.droverNow());
    vi.useFakeTimers({ toFake: ["Date"], now: dayAfter(today) + LATE_MS });
    await pool().poke(false);
    const day = new Date(today).toISOString().slice(0, 10);
    const text = await eventually(() => fileOf(`audit/${day}/pool-default.ndjson`));
    const lines = text.trimEnd().split("\n");
    const entries = lines.map((line) => JSON.parse(line) as AuditEntry & { prev: string }); // as written
    expect(entries.map(shown)).toEqual(["admin:admin run.submit a", "token:ci run.abort a"]);
    expect(entries.map(({ prev }) => prev)).toEqual(["", hexDigest(lines[0] ?? "")]);

    // The next day goes on where this one has ended.
    await submit("b");
    vi.setSystemTime(dayAfter(dayAfter(today)) + LATE_MS);
    await pool().poke(false);
    const next = new Date(dayAfter(today)).toISOString().slice(0, 10);
    const second = await eventually(() => fileOf(`audit/${next}/pool-default.ndjson`));
    expect(JSON.parse(second)).toMatchObject({ prev: hexDigest(lines[1] ?? ""), run: "b" });
  });

  test("writes the same bytes again if it crashed before it noted the file", async () => {
    await makePool();
    await submit("a");
    const today = dayOf(clock.droverNow());
    const day = new Date(today).toISOString().slice(0, 10);
    vi.useFakeTimers({ toFake: ["Date"], now: dayAfter(today) + LATE_MS });
    const stored = () =>
      runInDurableObject(pool(), (_object, { storage }) => storage.kv.get<{ value: object }>("state"));
    const before = await stored();
    await pool().poke(false);
    const first = await eventually(() => fileOf(`audit/${day}/pool-default.ndjson`));
    await runInDurableObject(pool(), (_object, { storage }) => storage.kv.put("state", before));
    await evictDurableObject(pool());
    await bindings.LOGS?.delete(`audit/${day}/pool-default.ndjson`);
    await pool().poke(false);
    expect(await eventually(() => fileOf(`audit/${day}/pool-default.ndjson`))).toBe(first);
  });
});

describe("the bounds in real storage (audit.md#bounds)", () => {
  const entry = {
    at: 0,
    by,
    target: { kind: "token", id: "t" },
    pool: null,
    run: null,
    project: null,
    result: "ok",
  } as const;

  test("each sort of entries is counted by itself, in rows and in bytes", async () => {
    await makePool();
    const found = await runInDurableObject(pool(), (_object, { storage }) => {
      const disk = new SqlRowDisk<AuditRow>(storage.sql, "audit");
      for (let n = 1; n <= 9; n += 1) {
        const action = n % 3 === 0 ? "token.exchange" : "token.create";
        disk.write(`${n}`, { ...entry, action, number: n, reason: n === 4 ? "ü".repeat(500) : "" }, false, 0);
      }
      const common = { field: "action", values: ["token.exchange", "request.denied"], others: false };
      const rest = { ...common, others: true };
      const beyond = [common, rest].map((sort) => disk.beyond(sort, { rows: 2, bytes: 1_000 }));
      const all = { rows: 9, bytes: 1_000_000 };
      const counts = [common, rest].map((sort) => disk.count(sort, "3", "8"));
      const isMore = [disk.hasMoreThan(8), disk.hasMoreThan(9)];
      disk.removeUpTo("6", common);
      disk.removeUpTo("1");
      const left = [...disk.readEnded(10)].map(([key]) => key);
      return { beyond, none: disk.beyond(common, all), counts, isMore, left };
    });
    expect(found).toEqual({
      beyond: [
        { rows: "3", bytes: "" },
        { rows: "5", bytes: "4" },
      ],
      none: { rows: "", bytes: "" },
      counts: [1, 4],
      isMore: [true, false],
      left: ["2", "4", "5", "7", "8", "9"],
    });
  });
});

describe("a deleted pool (audit.md#deleted-pools)", () => {
  afterEach(() => void vi.useRealTimers());

  const alarm = () => runInDurableObject(pool(), (_object, { storage }) => storage.getAlarm());

  test("exports its last day by its own alarm, then sleeps until its entries are 90 days old", async () => {
    await makePool();
    await objects.pool("default").invite({ ttlMs: 1_000, by });
    const [entry] = await told(1);
    await objects.registry().removePool("default", "forced", { by, project: null });
    const today = dayOf(clock.droverNow());
    const day = new Date(today).toISOString().slice(0, 10);
    await eventually(async () => ((await alarm()) === dayAfter(today) + LATE_MS ? true : undefined));
    await evictDurableObject(pool());

    vi.useFakeTimers({ toFake: ["Date"], now: dayAfter(today) + LATE_MS });
    await objects.registry().poke();
    expect(await bindings.LOGS?.get(`audit/${day}/pool-default.ndjson`)).toBeNull();
    await runDurableObjectAlarm(pool());
    await eventually(async () => (await bindings.LOGS?.get(`audit/${day}/pool-default.ndjson`)) ?? undefined);
    const oldAt = Date.parse(entry?.recordedAt ?? "") + AUDIT_KEPT_MS + 1;
    await eventually(async () => ((await alarm()) === oldAt ? true : undefined));

    vi.setSystemTime(oldAt + 1_000);
    await runDurableObjectAlarm(pool());
    await eventually(async () => ((await alarm()) === null ? true : undefined));
    expect((await objects.pool("default").audit({}, { limit: 10 })).items).toEqual([]);
  });
});

test("an entry of the log is stored as it is read (audit.md#entries)", async () => {
  await makePool();
  await objects.pool("default").invite({ ttlMs: 60_000, by });
  const rows = await runInDurableObject(pool(), (_object, { storage }) =>
    storage.sql.exec<{ v: string }>("SELECT v FROM audit").toArray(),
  );
  const [row] = rows.map(({ v }) => JSON.parse(v) as AuditRow); // as written
  expect(row).toMatchObject({ by, action: "enrollment.create", pool: "default", run: null, result: "ok" });
});
