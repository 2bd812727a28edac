import { describe, expect, test } from "vitest";
import { straysFrom } from "../../agent/core/attempts/task-environment.ts";
import { PoolConfig } from "../../src/schema/pool.ts";
import { RunSpec } from "../../src/schema/run/run.ts";
import { MAX_TEXT_MAP_BYTES } from "../../src/shared/limits.ts";

// Values that a client may send: each has a bound, also where it is only filled in on the host.

const pool = {
  provider: { kind: "http", url: "http://127.0.0.1:9", secret: "none" },
  instanceTypes: { small: { vcpus: 2, memory: "2GiB" } },
};
const placesOf = (more: object) =>
  (PoolConfig.safeParse({ ...pool, ...more }).error?.issues ?? []).map(({ path }) => path.join("."));

describe("X23: intervals and time-outs of a pool are at least a second", () => {
  test.each([
    ["sync.interval", (value: string) => ({ sync: { interval: value } })],
    ["probe.interval", (value: string) => ({ probe: { interval: value } })],
    ["timeouts.boot", (value: string) => ({ probe: { interval: "1s" }, timeouts: { boot: value } })],
    ["timeouts.probe", (value: string) => ({ probe: { interval: "1s" }, timeouts: { probe: value } })],
    ["timeouts.shutdown", (value: string) => ({ timeouts: { shutdown: value } })],
    ["timeouts.staleRun", (value: string) => ({ timeouts: { staleRun: value } })],
    ["timeouts.unlisted", (value: string) => ({ timeouts: { unlisted: value } })],
  ])("%s", (place, more) => {
    expect(placesOf(more("999ms"))).toContain(place);
    expect(placesOf(more("1ms"))).toContain(place);
    expect(placesOf(more("1s"))).toEqual([]);
  });
});

describe("X26: labels and meta have a bound in all, and not only each of them", () => {
  const half = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`${n}`, "v".repeat(1_023)]));
  const full = { ...half, more: "" };
  test.each(["labels", "meta"])("%s", (field) => {
    expect(Object.entries(half).flat().join("")).toHaveLength(MAX_TEXT_MAP_BYTES);
    expect(RunSpec.safeParse({ argv: ["true"], [field]: half }).success).toBe(true);
    const { error } = RunSpec.safeParse({ argv: ["true"], [field]: full });
    expect(error?.issues.map(({ path }) => path[0])).toEqual([field]);
    // Each of these characters takes three bytes: what is stored and sent is bytes.
    const wide = Object.fromEntries(Array.from({ length: 3 }, (_, n) => [`${n}`, "語".repeat(1_000)]));
    expect(RunSpec.safeParse({ argv: ["true"], [field]: wide }).success).toBe(false);
    const task = { name: "a", argv: ["true"] };
    expect(RunSpec.safeParse({ tasks: [{ ...task, meta: full }] }).success).toBe(false);
  });
});

describe("X20: a directory cannot lead out by what a reference stands for", () => {
  const dirs = {
    alloc: "/s/a/alloc",
    local: "/s/a/main/local",
    secrets: "/s/a/main/secrets",
    tmp: "/s/a/main/tmp",
  };
  test.each([
    [undefined, dirs.local, false],
    ["sub/dir", `${dirs.local}/sub/dir`, false],
    ["${DROVER_ALLOC_DIR}/data", `${dirs.alloc}/data`, false],
    ["${HOME}", "/root", true],
    ["x${meta.up}", "/s/a/other", true],
    ["${DROVER_TASK_DIR}/../../../other", "/s/other", true],
    [dirs.local, `${dirs.local}-else`, false],
    ["sub", `${dirs.local}-else`, true],
    ["/etc", "/etc", false],
  ])("%s as %s", (said, dir, strays) => {
    expect(straysFrom(dirs, said, dir)).toBe(strays);
  });
});
