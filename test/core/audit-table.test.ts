import { describe, expect, test, vi } from "vitest";
import type { AuditRow, NewEntry } from "../../src/core/audit/entry.ts";
import { dayAfter, dayOf, nothingExported } from "../../src/core/audit/export.ts";
import { AuditTable, numberAt, TRIM_EVERY } from "../../src/core/audit/table.ts";
import { registryMachine } from "../../src/core/registry/machine.ts";
import { Rows } from "../../src/core/rows.ts";
import type { AuditAction } from "../../src/schema/access/audit.ts";
import { AUDIT_KEPT_MS } from "../../src/shared/limits.ts";
import { applied } from "./support/applied.ts";
import { MapDisk } from "./support/map-disk.ts";
import { at, configured } from "./support/pool.ts";
import { registryOf } from "./support/registry.ts";

const T0 = Date.UTC(2026, 10, 21, 8, 30);
const TODAY = dayOf(T0);
const BOUNDS = { rows: 10, bytes: 1_000_000 };

const entry = (action: AuditAction, doneAt = T0): NewEntry => {
  const target = { kind: "token", id: "t" } as const;
  return { at: doneAt, by: "admin", action, target, pool: null, run: null, project: null, result: "ok" };
};
/** A table with these bounds, and what it has stored. */
function tableWith(bounds = BOUNDS, disk = new MapDisk<AuditRow>()) {
  const table = new AuditTable(new Rows(disk, () => false), 0, null, bounds);
  const add = (action: AuditAction, count = 1, now = T0) => {
    for (let n = 0; n < count; n += 1) {
      table.add(entry(action, now), now);
      table.rows.flush();
    }
  };
  const trim = (now = T0) => {
    table.trim(now);
    table.rows.flush();
  };
  const exportedBefore = (day: number) => table.noteExported(nothingExported(day));
  const stored = () => [...disk.rows.values()].map(({ row }) => row);
  const count = (action: AuditAction) => stored().filter((row) => row.action === action).length;
  return { table, add, trim, exportedBefore, stored, count };
}

describe("what is exported (audit.md#bounds)", () => {
  test("is kept up to a number, and then the oldest goes", () => {
    const { add, trim, exportedBefore, stored } = tableWith();
    add("token.create", 12);
    const kept = stored().slice(2);
    exportedBefore(dayAfter(TODAY));
    trim();
    expect(stored()).toEqual(kept);
  });

  test("is not pushed out by what programs cause, nor the other way round", () => {
    const { add, trim, exportedBefore, count } = tableWith();
    add("token.create", 3);
    for (const action of ["token.exchange", "secret.hand", "request.denied"] as const) add(action, 9);
    add("token.create", 9);
    exportedBefore(dayAfter(TODAY));
    trim();
    const common = count("token.exchange") + count("secret.hand") + count("request.denied");
    expect([count("token.create"), common, count("log.gap")]).toEqual([10, 10, 0]);
  });

  test("is removed when it is 90 days old, and the table says when that is", () => {
    const { table, add, trim, exportedBefore, count } = tableWith();
    expect(table.trimAt).toBeUndefined();
    add("token.create", 1, T0);
    add("token.revoke", 1, T0 + 1);
    exportedBefore(dayAfter(TODAY));
    trim(T0 + AUDIT_KEPT_MS);
    expect(count("token.create")).toBe(1);
    const due = table.trimAt ?? 0;
    trim(due);
    expect([count("token.create"), count("token.revoke")]).toEqual([0, 1]);
    expect(table.trimAt).toBeGreaterThan(due);
  });
});

describe("what is not exported yet (audit.md#bounds)", () => {
  test("is kept beyond that number and beyond the 90 days", () => {
    const { add, trim, exportedBefore, count } = tableWith();
    add("token.exchange", 30);
    add("token.create", 30);
    exportedBefore(TODAY);
    trim(T0 + 2 * AUDIT_KEPT_MS);
    expect([count("token.exchange"), count("token.create"), count("log.gap")]).toEqual([30, 30, 0]);
  });

  test("goes beyond the bytes of its sort, and an entry counts what went", () => {
    const bytes = 20 * JSON.stringify({ number: numberAt(T0), ...entry("token.exchange") }).length;
    const { add, trim, exportedBefore, count, stored } = tableWith({ rows: 10, bytes });
    add("token.create", 15);
    add("token.exchange", 50);
    exportedBefore(TODAY);
    trim();
    expect([count("token.create"), count("token.exchange")]).toEqual([15, 20]);
    const gap = stored().find(({ action }) => action === "log.gap");
    expect(gap).toMatchObject({ by: "drover", target: { kind: "log", id: "registry" }, result: "ok" });
    expect(gap?.reason).toBe(
      "30 entries were dropped before the export, of: token.exchange, secret.hand, request.denied",
    );
    trim();
    expect(count("log.gap")).toBe(1);
  });

  test("is not counted as lost if it was exported", () => {
    const bytes = 20 * JSON.stringify({ number: numberAt(T0), ...entry("token.exchange") }).length;
    const { add, trim, exportedBefore, count } = tableWith({ rows: 1_000, bytes });
    add("token.exchange", 50);
    exportedBefore(dayAfter(TODAY));
    trim();
    expect([count("token.exchange"), count("log.gap")]).toEqual([20, 0]);
  });
});

test("old entries are looked for now and then (audit.md#bounds)", () => {
  const disk = new MapDisk<AuditRow>();
  const { add, exportedBefore, stored } = tableWith(BOUNDS, disk);
  exportedBefore(dayAfter(TODAY));
  add("token.create", TRIM_EVERY);
  expect(stored().length).toBeGreaterThanOrEqual(TRIM_EVERY);
  add("token.create");
  expect(stored().length).toBeLessThanOrEqual(BOUNDS.rows + 1);
});

test.each([
  ["not if both sorts may have as many", 0, false],
  ["if there are more", 1, true],
])("a process looks for old entries at its first entry: %s (audit.md#bounds)", (_when, more, isTrimmed) => {
  const disk = new MapDisk<AuditRow>();
  const full = 2 * BOUNDS.rows + TRIM_EVERY;
  tableWith({ ...BOUNDS, rows: 10_000 }, disk).add("token.create", full + more);
  const { table, add, exportedBefore } = tableWith(BOUNDS, disk);
  exportedBefore(dayAfter(TODAY));
  const looks = vi.spyOn(table.rows, "beyond");
  add("token.create", 1, T0 + 1_000);
  expect(looks.mock.calls.length > 0).toBe(isTrimmed);
});

describe("after the export of a day, which the cron trigger brings about (audit.md#bounds)", () => {
  const old = entry("token.create", T0);
  const later = T0 + 2 * AUDIT_KEPT_MS;
  const from = nothingExported(TODAY);
  const event = { type: "audit_exported", from, exported: nothingExported(dayOf(later)) } as const;

  test("a pool removes what is too old", () => {
    const state = configured();
    state.audit.add(old, T0);
    state.audit.rows.flush();
    expect(at(state, T0, { type: "tick" }).audit.trimAt).toBe(T0 + AUDIT_KEPT_MS + 1);
    expect(at(state, later, event).audit.trimAt).toBeUndefined();
  });

  test("so does the registry", () => {
    const state = registryOf({ pools: {}, exported: from });
    state.audit.add(old, T0);
    state.audit.rows.flush();
    const next = applied(registryMachine, state, event, later);
    next.audit.rows.flush();
    expect(next.audit.trimAt).toBeUndefined();
  });
});
