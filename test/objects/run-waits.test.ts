import { describe, expect, test } from "vitest";
import type { RunRow } from "../../src/core/pool/record.ts";
import { Changes, MAX_CHANGES_KEPT } from "../../src/core/pool/rows/changes.ts";
import type { PoolState } from "../../src/core/pool/state.ts";
import { RunLists } from "../../src/objects/reads/run-lists.ts";
import { MAX_HELD_WAIT_IDS, MAX_HELD_WAITS, RunWaits } from "../../src/objects/reads/run-waits.ts";
import type { SqlRowDisk } from "../../src/objects/store.ts";
import { MAX_QUERY_IDS } from "../../src/shared/limits.ts";
import type { RunState } from "../../src/shared/run-state.ts";
import { upsert } from "./support/told-pool.ts";

/** As much of a pool as those look at who wait, and who list by id. */
function rowsOf(ids: readonly string[]) {
  const changes = new Changes(0);
  const runs = new Map<string, RunRow>();
  const change = (id: string, version: number, runState: RunState = "running") => {
    const row = upsert(id, runState, version) as unknown as RunRow; // what is looked at is in both
    runs.set(id, changes.run({ ...row, ended: version }, runs.get(id), id, version));
  };
  for (const id of ids) change(id, 1);
  const state = { memo: { changes }, runs } as unknown as PoolState; // as above
  return { state, change, runs };
}

test("who waits reads anew if more has changed at once than is remembered (api.md#waiting)", async () => {
  const ids = Array.from({ length: MAX_CHANGES_KEPT + 1 }, (_, index) => `r${index}`);
  const { state, change } = rowsOf(ids);
  const waits = new RunWaits(() => () => undefined);
  const question = { labels: {}, states: ["complete" as const], all: false };
  const wait = waits.news(state, question, () => [], 60_000, waits.mark(state));
  expect(waits.size).toBe(1);
  for (const id of ids) change(id, 2);
  waits.changed(state);
  expect(waits.size).toBe(0);
  expect(await wait).toBeNull();
});

describe("a pool holds so many waits, and no more (platform.md#limits: an isolate has 128 MB)", () => {
  const filter = (ids?: string[]) => ({ ids, labels: {}, states: ["complete" as const], all: false });
  const full = { code: "unavailable", retryAfterMs: 1_000 };
  const idsOf = (set: string, count: number) => Array.from({ length: count }, (_, at) => `${set}-${at}`);
  const begin = () => {
    const { state, change, runs } = rowsOf(["first"]);
    const waits = new RunWaits(() => () => undefined);
    const rows = [...runs.values()];
    const ask = (ids?: string[]) => waits.news(state, filter(ids), () => rows, 60_000);
    return { state, change, waits, ask };
  };

  test("of all who ask", async () => {
    const { state, change, waits, ask } = begin();
    const held = Array.from({ length: MAX_HELD_WAITS }, () => ask());
    expect(waits.size).toBe(MAX_HELD_WAITS);
    await expect(ask()).rejects.toMatchObject(full);
    change("first", 2, "complete");
    waits.changed(state);
    await Promise.all(held);
    void ask();
    expect(waits.size).toBe(1);
  });

  test("of ids, which those who ask the same have together", async () => {
    const { waits, ask } = begin();
    const sets = MAX_HELD_WAIT_IDS / MAX_QUERY_IDS;
    for (let set = 0; set < sets; set += 1) void ask(idsOf(`${set}`, MAX_QUERY_IDS));
    await expect(ask(["one-more"])).rejects.toMatchObject(full);
    void ask(idsOf("0", MAX_QUERY_IDS));
    void ask();
    expect(waits.size).toBe(sets + 2);
  });
});

test("of the runs that are kept at hand, those go that were heard of the longest ago", () => {
  const none = { readLive: () => [] } as unknown as SqlRowDisk<RunRow>; // nothing else is read by id
  const lists = new RunLists(none);
  const { state } = rowsOf(["first", "second"]);
  const has = (id: string) => lists.rowsOf(state as never, [id]).length === 1;
  for (const id of ["first", "second", "first"]) lists.noteKey(id, id);
  for (let other = 0; has("second"); other += 1) lists.noteKey(`other-${other}`, "");
  expect(has("first")).toBe(true);
});
