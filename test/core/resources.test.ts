import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accommodates, fitsInto, remaining, reservedBy, subtract } from "../../src/core/resources.ts";
import type { Resources } from "../../src/schema/common.ts";

const NONE: Resources = { vcpus: 0, memoryBytes: 0, diskBytes: 0, gpus: 0 };
const BIG: Resources = { vcpus: 8, memoryBytes: 1_000, diskBytes: 1_000, gpus: 2 };

// The packing table, row by row: runs that ask for no vCPU share a whole one.
describe("zero-vCPU packing (pool.md#fit)", () => {
  test.each([
    { left: 2, shared: false, need: 2, fits: true },
    { left: 2, shared: true, need: 2, fits: false },
    { left: 2, shared: true, need: 1, fits: true },
    { left: 2, shared: true, need: 0, fits: true },
    { left: 1, shared: true, need: 1, fits: false },
    { left: 1, shared: true, need: 0, fits: true },
    { left: 0, shared: true, need: 0, fits: false },
    { left: 0, shared: false, need: 0, fits: false },
    { left: 0.5, shared: false, need: 0.5, fits: true },
    { left: 0.5, shared: false, need: 0.501, fits: false },
    { left: 0.999, shared: false, need: 0, fits: false },
    { left: 1.5, shared: true, need: 0.5, fits: true },
    { left: 1.499, shared: true, need: 0.5, fits: false },
  ])("$left vCPUs left, shared: $shared, asked for $need: fits $fits", ({ left, shared, need, fits }) => {
    expect(accommodates({ ...NONE, vcpus: left, shared }, { ...NONE, vcpus: need })).toBe(fits);
  });

  test("a run without vCPUs makes the machine a shared one, one with vCPUs does not", () => {
    const left = remaining(BIG, []);
    subtract(left, { ...NONE, vcpus: 1 });
    expect(left).toMatchObject({ vcpus: 7, shared: false });
    subtract(left, NONE);
    expect(left).toMatchObject({ vcpus: 7, shared: true });
  });
});

describe("what runs have reserved (pool.md#fit)", () => {
  const some = { vcpus: 0.1, memoryBytes: 100, diskBytes: 10, gpus: 1 };
  test.each<[string, Resources[], Resources]>([
    ["nothing without runs", [], NONE],
    ["the exact sum", [some, { ...some, vcpus: 0.2 }], { ...doubled(some), vcpus: 0.3 }],
    ["one vCPU for all runs that ask for none", [NONE, NONE], { ...NONE, vcpus: 1 }],
    ["that one beside those of others", [some, NONE], { ...some, vcpus: 1.1 }],
  ])("is %s", (_what, needs, reserved) => {
    expect(reservedBy(needs)).toEqual(reserved);
  });

  function doubled({ vcpus, memoryBytes, diskBytes, gpus }: Resources): Resources {
    return { vcpus: 2 * vcpus, memoryBytes: 2 * memoryBytes, diskBytes: 2 * diskBytes, gpus: 2 * gpus };
  }
});

describe("each resource must be enough by itself", () => {
  const room = { ...BIG, memoryBytes: 950 };
  test.each(["vcpus", "memoryBytes", "diskBytes", "gpus"] as const)("%s", (what) => {
    expect(fitsInto(BIG, [], room)).toBe(true);
    expect(fitsInto(BIG, [], { ...room, [what]: room[what] + 1 })).toBe(false);
  });
});

describe("of a machine's memory 95 % can be used (pool.md#usable-memory)", () => {
  test.each([
    { memoryBytes: 1_000, need: 950, fits: true },
    { memoryBytes: 1_000, need: 951, fits: false },
    { memoryBytes: 999, need: 949, fits: true },
    { memoryBytes: 999, need: 950, fits: false },
  ])("$need of $memoryBytes: fits $fits", ({ memoryBytes, need, fits }) => {
    expect(fitsInto({ ...BIG, memoryBytes }, [], { ...NONE, vcpus: 1, memoryBytes: need })).toBe(fits);
  });

  test.each([
    ["nothing is known", undefined, 950],
    ["less than that was measured", 900, 900],
    ["just that was measured", 950, 950],
    ["all that is advertised was measured", 1_000, 950],
    ["more than is advertised was measured", 9_000, 950],
  ])("or what was measured, if that is less: %s", (_what, measured, memoryBytes) => {
    expect(remaining(BIG, [], measured).memoryBytes).toBe(memoryBytes);
    expect(fitsInto(BIG, [], { ...NONE, memoryBytes }, measured)).toBe(true);
    expect(fitsInto(BIG, [], { ...NONE, memoryBytes: memoryBytes + 1 }, measured)).toBe(false);
  });

  test("what is on the machine already counts in full", () => {
    const on = [{ ...NONE, vcpus: 1, memoryBytes: 500 }];
    expect(fitsInto(BIG, on, { ...NONE, vcpus: 1, memoryBytes: 450 })).toBe(true);
    expect(fitsInto(BIG, on, { ...NONE, vcpus: 1, memoryBytes: 451 })).toBe(false);
  });
});

test.each([0.1, 0.2, 0.3, 0.7, 0.001, 1.1])(
  "of parts of %f vCPUs exactly as many fit as there is room for",
  (part) => {
    const left = remaining({ ...BIG, vcpus: Math.round(10_000 * part) / 1_000 }, []);
    for (let n = 1; n <= 10; n += 1) {
      expect(accommodates(left, { ...NONE, vcpus: part })).toBe(true);
      subtract(left, { ...NONE, vcpus: part });
    }
    expect(left.vcpus).toBe(0);
    expect(accommodates(left, { ...NONE, vcpus: part })).toBe(false);
  },
);

const need = fc.record({
  vcpus: fc.oneof(
    fc.nat(4),
    fc.nat(4_000).map((parts) => parts / 1_000),
  ),
  memoryBytes: fc.nat(400),
  diskBytes: fc.nat(400),
  gpus: fc.nat(2),
});

test("whatever is packed while it fits never adds up to more than the machine has (invariant 9)", () => {
  fc.assert(
    fc.property(fc.array(need, { maxLength: 20 }), (needs) => {
      const packed: Resources[] = [];
      for (const one of needs) if (fitsInto(BIG, packed, one)) packed.push(one);
      const sum = (what: keyof Resources) =>
        packed.reduce((all, one) => all + Math.round(1_000 * one[what]), 0) / 1_000;
      const sharing = packed.some((one) => one.vcpus === 0) ? 1 : 0;
      expect(sum("vcpus") + sharing).toBeLessThanOrEqual(BIG.vcpus);
      expect(sum("memoryBytes")).toBeLessThanOrEqual(950);
      expect(sum("diskBytes")).toBeLessThanOrEqual(BIG.diskBytes);
      expect(sum("gpus")).toBeLessThanOrEqual(BIG.gpus);
    }),
  );
});

test("what fits beside others fits without them too", () => {
  fc.assert(
    fc.property(fc.array(need, { maxLength: 5 }), need, (used, one) => {
      expect(fitsInto(BIG, used, one) && !fitsInto(BIG, [], one)).toBe(false);
    }),
  );
});
