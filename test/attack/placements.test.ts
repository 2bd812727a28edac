import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isPlacementGroup, pickGroup } from "../../agent/exec/files/placement-group.ts";
import { type Bench, openBench, run } from "../agent/support/bench.ts";
import { isRoot } from "./support/swapper.ts";

// Runs of different users on one machine: nobody gets to the directories of another one's run.

describe("X13: placements of different users (needs root)", () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench();
    chmodSync(bench.dir, 0o711);
  });
  afterEach(() => bench.close());

  const rootOf = (placement: string) => join(bench.stateDir, "allocs", placement);
  const order = (id: string, user: string, script: string) =>
    run(id, ["sh", "-c", script], { name: id.split("/")[1] ?? "", user });

  test.skipIf(!isRoot)(
    "are closed to each other, by name, by link and by what the kernel tells",
    async () => {
      bench.start();
      const [victim, other] = ["victim/main/1.1", "other/main/1.1"];
      const shared = join(rootOf("victim_1"), "alloc");
      const hold = 'umask 0; echo secret >"$DROVER_ALLOC_DIR/data/x"; echo ready; exec sleep 300';
      bench.plane.order([order(victim, "daemon", hold)]);
      await bench.plane.until("it runs", () => bench.plane.stored(victim).includes("ready"));
      const script = [
        `for d in data tmp logs; do ls ${shared}/$d; echo evil >${shared}/$d/new; cat ${shared}/$d/x; done`,
        `ln -s ${shared}/data here; ls here/; cd ${shared} || cat ${shared}/data/x`,
        'for p in /proc/[0-9]*; do cat "$p/cwd/../../alloc/data/x"; done',
        "id -G; echo over",
      ].join("; ");
      bench.plane.order([
        order(victim, "daemon", hold),
        order(other, "nobody", `{ ${script}; } 2>/dev/null`),
      ]);
      await bench.plane.untilStored(other);
      const groups = bench.plane.stored(other).toString();
      expect(groups).toMatch(/^[\d ]+\nover\n$/);
      const [own, another] = ["other_1", "victim_1"].map((name) => statSync(rootOf(name)));
      expect(groups).toContain(`${own?.gid}\n`);
      expect(groups).not.toContain(`${another?.gid}`);
      expect([own, another].map((stat) => (stat?.mode ?? 0) & 0o7777)).toEqual([0o710, 0o710]);
    },
  );

  test.skipIf(!isRoot)("are open to the tasks of one run, whoever they run as", async () => {
    bench.start();
    const [first, second] = ["run/first/1.1", "run/second/1.1"];
    bench.plane.order([order(first, "daemon", 'echo shared >"$DROVER_ALLOC_DIR/data/x"')]);
    await bench.plane.untilStored(first);
    const read =
      'cat "$DROVER_ALLOC_DIR/data/x"; ls "$DROVER_ALLOC_DIR/../first/local" 2>/dev/null || echo closed';
    bench.plane.order([order(first, "daemon", "true"), order(second, "nobody", read)]);
    await bench.plane.untilStored(second);
    expect(bench.plane.stored(second).toString()).toBe("shared\nclosed\n");
  });
});

describe("X13: the group of a placement", () => {
  const ALL = "         0          0 4294967295\n";

  test.each<[string, string, number | undefined]>([
    ["a machine", ALL, 1_879_048_192],
    ["a container with a part of its ids", "0 100000 65536\n", 60_706],
    ["a container with several parts", "0 1000 1\n1 100000 65535\n", 60_706],
    ["a container with one", "0 1000 1\n", undefined],
  ])("is one that nobody has: on %s", (_, map, expected) => {
    expect(pickGroup(map, new Set(), () => 0)).toBe(expected);
  });

  test("is none that another placement has, as long as there is one", () => {
    const taken = new Set<number>();
    for (let count = 0; count < 478; count += 1) {
      const gid = pickGroup("0 0 65536", taken, (below) => below - 1) ?? 0;
      expect(isPlacementGroup(gid) && !taken.has(gid)).toBe(true);
      taken.add(gid);
    }
    expect(pickGroup("0 0 65536", taken)).toBeUndefined();
  });
});
