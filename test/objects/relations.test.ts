import { reset, runInDurableObject } from "cloudflare:test";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { RunSpecInput, RunStatus } from "../../src/schema/run/run.ts";
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
      code: "predecessor_failed",
      text: "run test, after which it was to start, ended with exit code 3",
    });
    expect(release.failure?.text).toBe(
      "run image, after which it was to start, did not start, since run test ended with exit code 3",
    );
    expect(release.startedAt).toBeNull();
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
