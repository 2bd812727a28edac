import { reset, runInDurableObject } from "cloudflare:test";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { RunSpecInput, RunStatus } from "../../src/schema/run/run.ts";
import type { Concurrency } from "../../src/schema/run/start/concurrency.ts";
import type { AfterOn } from "../../src/shared/after/entries.ts";
import { TestCloud } from "./support/cloud.ts";
import { type PlayedHost, startPlayedHost } from "./support/played-host.ts";
import { askedMachine, bindings, eventually, makePool, objects, submit } from "./support/world.ts";

// Runs that know of each other, through real objects in workerd, on one host that plays them.

let host: PlayedHost;
beforeAll(async () => {
  const cloud = new TestCloud();
  cloud.open();
  await makePool({ allowFakeDriver: true });
  await submit("first", played());
  const { worker, code } = await askedMachine(cloud);
  host = startPlayedHost(worker, code);
});
afterAll(async () => {
  host.end();
  vi.restoreAllMocks();
  await reset();
});

/** A run that is played for so long, and then ends with this exit code. */
function played(runFor = "1ms", exitCode = 0): Partial<RunSpecInput> {
  const resources = { vcpus: 0, memory: "1MiB" };
  const fake = { runFor, exitCode };
  const once = { restart: { attempts: 0 }, reschedule: { attempts: 0 } };
  return { tasks: [{ name: "main", argv: ["play"], driver: "fake", fake, resources }], ...once };
}

const read = (id: string): Promise<RunStatus> => objects.allocation(id).read();
const inState = (id: string, ...states: RunStatus["state"][]) =>
  eventually(async () => {
    const run = await read(id);
    return states.includes(run.state) ? run : undefined;
  });
/** Resets the objects of a run and of the pool: they lose what they remember, and all messages under way. */
async function crash(id: string): Promise<void> {
  for (const stub of [bindings.ALLOCATION.getByName(id), bindings.POOL.getByName("default")])
    await runInDurableObject(stub, (_, state) => state.abort("reset by a test")).catch(() => undefined);
}

describe("a run that starts after others (api.md#after)", () => {
  test("starts when the last of them has ended well, also if what they remember is lost", async () => {
    await submit("build", played("3s"));
    await submit("lint", played());
    await submit("deploy", { ...played(), after: ["build", "lint"] });
    expect(await read("deploy")).toMatchObject({ state: "pending" });
    await crash("build");
    const deploy = await inState("deploy", "complete");
    const build = await inState("build", "complete");
    expect(Date.parse(deploy.startedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(build.finishedAt ?? ""));
  });

  test("ends if one of them does not, and so does what follows it: both name the first cause", async () => {
    await submit("test", played("100ms", 3));
    await submit("image", { ...played(), after: ["test"] });
    await submit("release", { ...played(), after: ["image"] });
    const release = await inState("release", "failed");
    expect((await read("image")).failure).toMatchObject({
      code: "dependency_failed",
      text: "run test, after which it was to start, ended with exit code 3",
    });
    expect(release.failure?.text).toBe(
      "run image, after which it was to start, did not start, since run test ended with exit code 3",
    );
    expect(release.startedAt).toBeNull();
  });

  test("of a chain of five of which the first fails ends, and names the first", async () => {
    await submit("c1", played("1s", 7));
    for (const n of [2, 3, 4, 5]) await submit(`c${n}`, { ...played(), after: [`c${n - 1}`] });
    for (const n of [2, 3, 4, 5]) {
      const { failure, startedAt } = await inState(`c${n}`, "failed");
      expect(failure?.code).toBe("dependency_failed");
      expect(failure?.text).toMatch(
        n === 2 ? /^run c1, .* ended with exit code 7$/ : /since run c1 ended with/,
      );
      expect(startedAt).toBeNull();
    }
  });

  test("ends at once if one of them ended badly before it was submitted, or others never begin", async () => {
    await makePool({ allowFakeDriver: true, maxInstances: 0 }, "never");
    await submit("stuck", { ...played(), pool: "never" });
    await submit("and", { ...played(), after: ["stuck", "c1"] });
    expect((await inState("and", "failed")).failure?.text).toBe(
      "run c1, after which it was to start, ended with exit code 7",
    );
    expect(await read("stuck")).toMatchObject({ state: "pending" });
  });

  test.each<[string, Partial<RunSpecInput>, RunStatus["state"]]>([
    ["failure", played("1ms", 5), "complete"],
    ["timeout", { ...played("10m"), timeout: "1ms" }, "timedout"],
    ["abort", { ...played(), pool: "never" }, "aborted"],
  ])("on any end starts, and on failure too, if the other one ends by: %s", async (what, spec, state) => {
    await submit(`one-${what}`, spec);
    await submit(`any-${what}`, { ...played(), after: [{ run: `one-${what}`, on: "any" }] });
    await submit(`bad-${what}`, { ...played(), after: [{ run: `one-${what}`, on: "failure" }] });
    if (what === "abort") await objects.allocation("one-abort").abort({ reason: "x", by: "ann", waitMs: 0 });
    await inState(`one-${what}`, state);
    await inState(`any-${what}`, "complete");
    await inState(`bad-${what}`, "complete");
  });

  test("on failure ends when that one ends well, since it is not wanted then", async () => {
    await submit("good", played("100ms"));
    await submit("mend", { ...played(), after: [{ run: "good", on: "failure" }] });
    expect((await inState("mend", "failed")).failure).toMatchObject({
      code: "dependency_failed",
      text: "run good, after whose failure it was to start, ended well",
    });
  });

  test("can be in another pool than they are, and a deferred run is checked at once", async () => {
    await makePool({ allowFakeDriver: true, maxInstances: 0 }, "other");
    await submit("elsewhere", { ...played(), pool: "other" });
    await submit("here", { ...played(), after: ["elsewhere"] });
    await objects.allocation("elsewhere").abort({ reason: "enough", by: "ann", waitMs: 0 });
    expect((await inState("here", "failed")).failure?.text).toContain("run elsewhere, after which");
    const huge = { ...played(), tasks: [{ name: "main", argv: ["x"], resources: { vcpus: 99 } }] };
    await expect(submit("huge", { ...huge, after: ["here"] })).rejects.toMatchObject({
      code: "unsatisfiable",
    });
  });
});

describe("a run that starts after an array (pool.md#array-ends)", () => {
  const part = (index: number, size: number, more: object = {}) => ({
    array: { id: "parts", index, size, ...more },
  });
  const on = (how: AfterOn): Partial<RunSpecInput> => ({ after: [{ array: "parts", on: how }] });

  test("starts when all of it has ended so, also if its pool has forgotten how the first ended", async () => {
    await submit("parts-0", { ...played(), ...part(0, 2) });
    await submit("parts-1", { ...played("3s", 3), ...part(1, 2) });
    await inState("parts-0", "complete");
    await submit("join", { ...played(), ...on("success") });
    await submit("tidy", { ...played(), ...on("any") });
    await submit("alarm", { ...played(), ...on("failure") });
    await submit("element", { ...played(), after: ["parts-0"] });
    expect((await read("tidy")).description).toBe("waiting for array parts to end");
    await crash("parts-1");
    expect((await inState("join", "failed")).failure).toMatchObject({
      code: "dependency_failed",
      text:
        "array parts, after which it was to start, has not ended well, since run parts-1 ended with exit " +
        "code 3",
    });
    const last = await read("parts-1");
    for (const name of ["tidy", "alarm"]) {
      const run = await inState(name, "complete");
      expect(Date.parse(run.startedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(last.finishedAt ?? ""));
    }
    await inState("element", "complete");
  });

  test("ends at once if the array had ended otherwise before it was submitted", async () => {
    await submit("late", { ...played(), ...on("success") });
    expect((await inState("late", "failed")).failure?.text).toContain(
      "since run parts-1 ended with exit code 3",
    );
  });

  test("sees a run of the array that was run again as it has ended then", async () => {
    await submit("parts-1b", { ...played(), ...part(1, 2) });
    await inState("parts-1b", "complete");
    await crash("parts-1b");
    await submit("joined", { ...played(), ...on("success") });
    await inState("joined", "complete");
  });
});

describe("an array that ends early (pool.md#fail-at)", () => {
  test("has the rest of it aborted, with which runs have failed, and gives no more places", async () => {
    const of = (index: number) => ({ array: { id: "early", index, size: 4, failAt: "50%" } });
    await submit("early-0", { ...played("10m"), ...of(0) });
    await inState("early-0", "running");
    await submit("early-1", { ...played("1ms", 1), ...of(1) });
    await inState("early-1", "complete");
    expect((await read("early-0")).abort).toBeNull();
    await submit("early-2", { ...played("1ms", 2), ...of(2) });
    await submit("early-3", { ...played("10m"), ...of(3) });
    for (const id of ["early-0", "early-3"])
      expect((await inState(id, "aborted")).abort).toMatchObject({
        by: "drover",
        reason:
          '2 of the 4 runs of its array, "early", have failed, and its `failAt` is 50%: early-1, early-2',
      });
  });
});

describe("a run that replaces others (pool.md#replacing)", () => {
  test("of three in a row the last is left, and starts when the others have ended", async () => {
    const key = { replace: "deploy" };
    await submit("one", { ...played("10m"), ...key });
    await inState("one", "running");
    await submit("two", { ...played("10m"), ...key });
    await submit("three", { ...played("10m"), ...key });
    await crash("one");
    const three = await inState("three", "running");
    const [one, two] = [await inState("one", "aborted"), await inState("two", "aborted")];
    expect(one.abort).toEqual({ reason: "run two replaces it", by: "admin" });
    expect(two).toMatchObject({ abort: { reason: "run three replaces it" }, startedAt: null });
    const startedAt = Date.parse(three.startedAt ?? "");
    for (const { finishedAt } of [one, two])
      expect(startedAt).toBeGreaterThanOrEqual(Date.parse(finishedAt ?? ""));
    await objects.allocation("three").abort({ reason: "enough", by: "ann", waitMs: 0, force: true });
  });
});

describe("runs that share a concurrency key (pool.md#concurrency-keys)", () => {
  const keyed = (key: string, strategy: Concurrency["strategy"], more: Partial<Concurrency> = {}) => ({
    concurrency: { key, strategy, ...more },
  });
  const ended = (id: string, reason = "enough") =>
    objects.allocation(id).abort({ reason, by: "ann", waitMs: 0, force: true });
  const why = (id: string) => objects.allocation(id).why();

  test("case 14: run one after the other, whatever is forgotten (pool.md#case-14)", async () => {
    const key = keyed("site", "queue");
    await submit("site-1", { ...played("2s"), ...key });
    await submit("site-2", { ...played(), ...key });
    await submit("site-3", { ...played(), ...key });
    expect(await why("site-3")).toMatchObject({
      reason: { code: "concurrency_key", key: "site", keyPosition: 2, holders: ["site-1"] },
      next: { code: "place", waitsFor: "command" },
    });
    await crash("site-1");
    const third = await inState("site-3", "complete");
    const [first, second] = [await read("site-1"), await read("site-2")];
    expect([first.state, second.state]).toEqual(["complete", "complete"]);
    for (const [one, next] of [
      [first, second],
      [second, third],
    ])
      expect(Date.parse(next?.startedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(one?.finishedAt ?? ""));
  });

  test("case 15: the replaced run says by which, and one too many is refused (pool.md#case-15)", async () => {
    const key = keyed("one", "queue-one");
    for (const id of ["one-1", "one-2", "one-3"]) await submit(id, { ...played("10m"), ...key });
    const replaced = await inState("one-2", "aborted");
    expect(replaced).toMatchObject({ abort: { reason: "run one-3 replaces it" }, startedAt: null });
    const refused = { ...played(), ...keyed("one", "queue", { queueMax: 1 }) };
    await expect(submit("one-4", refused)).rejects.toMatchObject({
      code: "concurrency_full",
      extra: { runs: ["one-1", "one-3"] },
    });
    await expect(submit("one-4", { ...played(), ...keyed("one", "cancel-new") })).rejects.toMatchObject({
      code: "concurrency_held",
    });
    for (const id of ["one-3", "one-1"]) await ended(id);
    for (const id of ["one-3", "one-1"]) await inState(id, "aborted");
    await submit("one-4", { ...played(), ...keyed("one", "cancel-new") });
    await inState("one-4", "complete");
    // The run is found again, although by now the same submission would find the key free or held.
    expect(await submit("one-4", { ...played(), ...keyed("one", "cancel-new") })).toMatchObject({
      created: false,
    });
  });

  test("case 16: the newest starts when those before it have ended (pool.md#case-16)", async () => {
    const key = keyed("last", "cancel-running");
    await submit("last-1", { ...played("10m"), ...key });
    await inState("last-1", "running");
    await submit("last-2", { ...played("10m"), ...key });
    await submit("last-3", { ...played("10m"), ...key });
    await crash("last-1");
    const third = await inState("last-3", "running");
    const [first, second] = [await inState("last-1", "aborted"), await inState("last-2", "aborted")];
    expect(first.abort).toEqual({ reason: "run last-2 replaces it", by: "admin" });
    expect(second).toMatchObject({ abort: { reason: "run last-3 replaces it" }, startedAt: null });
    expect(Date.parse(third.startedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(first.finishedAt ?? ""));
    await ended("last-3");
  });
});
