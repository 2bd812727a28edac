import { expect, test } from "vitest";
import { objectsOf } from "../../src/objects/messages/stubs.ts";
import type { AttemptReport, Orders } from "../../src/schema/host.ts";
import { RunSpec, type RunSpecInput } from "../../src/schema/run/run.ts";
import { refusal, type TestHost } from "./support/host.ts";
import { bindings, bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();
const outputs = ["dist/**"];
const [FIRST, SECOND] = ["built/main/1.1", "built/main/1.2"];
const EXIT = { code: 0, signal: null, oomKilled: false, message: "" };

/** The attempt as its host reports it, its process being over. */
function over(state: "uploading" | "exited", more: Partial<AttemptReport> = {}, id = FIRST): AttemptReport {
  return { id, state, startedAgoMs: 20, endedAgoMs: 10, exit: EXIT, ...more };
}

const orderOf = ({ attempts }: Orders, id = FIRST) => attempts.find((one) => one.id === id);
const read = () => objects.allocation("built").read();

/** A host of which one run is known to store its outputs. */
async function uploadingRun(more: Partial<RunSpecInput> = {}, exit = EXIT) {
  await makePool({ timeouts: { shutdown: "1s" } });
  await submit("built", { outputs, ...more });
  const { worker, host } = await bootMachine(world.cloud);
  const order = await ordered(host);
  expect(order).toMatchObject({ want: "run", task: { outputs } });
  await say(host, { id: FIRST, state: "running", startedAgoMs: 1 });
  await say(host, over("uploading", { exit }));
  expect(await read()).toMatchObject({ state: "running", tasks: [{ state: "running", phase: "uploading" }] });
  return { worker, host };
}

const ordered = (host: TestHost) => eventually(async () => orderOf(await host.report()));

/** What the host says from now on. */
function say(host: TestHost, ...attempts: AttemptReport[]): Promise<Orders> {
  host.attempts = attempts;
  return host.report();
}

/** Puts an archive into the bucket, as its host does. Resolves with what its report says of it. */
async function upload(text: string) {
  const bytes = new TextEncoder().encode(text);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  await objects.snapshots().put(`sha256:${hex}`, new Blob([bytes]).stream());
  return { snapshot: `sha256:${hex}`, files: 1, bytes: bytes.length };
}

test("complete: the result stands in the status, and is read from the bucket", async () => {
  const { worker, host } = await uploadingRun();
  expect((await objects.worker(worker).read()).state).toBe("running");
  const why = await objects.allocation("built").why();
  expect(why).toMatchObject({ reason: { code: "uploading" }, next: { at: null } });
  const result = await upload("all of it");
  await say(host, over("exited", { outputs: result }));
  const { snapshot } = result;
  expect(await read()).toMatchObject({ state: "complete", exitCode: 0, failure: null, snapshot });
  expect(await new Response(await objects.snapshots().get(snapshot)).text()).toBe("all of it");
  const { items } = await objects.allocation("built").events(0, 0);
  expect(items.find(({ type }) => type === "Outputs Stored")?.details).toMatchObject({ snapshot });
  await eventually(async () => (await say(host)).attempts.length === 0 || undefined);
  expect((await objects.worker(worker).read()).state).toBe("idle");
});

test("aborted: the upload is stopped, though the process had ended (api.md#abort)", async () => {
  const { host } = await uploadingRun();
  const aborted = objects.allocation("built").abort({ reason: "enough", by: "ann", waitMs: 20_000 });
  await eventually(async () => orderOf(await host.report())?.want === "stop" || undefined);
  expect((await read()).state).toBe("running");
  await say(host, over("exited"));
  expect(await aborted).toMatchObject({ state: "aborted", exitCode: null, failure: null, snapshot: null });
});

test("timed out: one deadline over all phases ends the upload, too", async () => {
  const { host } = await uploadingRun();
  const spec = RunSpec.parse({ id: "built", argv: ["true"], outputs, timeout: "1ms" });
  await objects.allocation("built").update({ spec, specIndex: 1, by: "ann" });
  // Its host sees to the limit, and is told that it is over.
  await eventually(async () => {
    const order = orderOf(await host.report());
    return (order?.want === "run" && order.timeoutMs === 0) || undefined;
  });
  await say(host, over("exited", { timedOut: true }));
  expect(await read()).toMatchObject({ state: "timedout", exitCode: null, failure: null, snapshot: null });
});

test("failed: the machinery is to blame, and the exit code is kept (api.md#ends-of-a-command)", async () => {
  const { host } = await uploadingRun({}, { ...EXIT, code: 3 });
  await say(host, over("exited", { exit: { ...EXIT, code: 3 }, outputs: { error: "the disk is full" } }));
  const failure = { class: "infrastructure", code: "outputs_failed" };
  expect(await read()).toMatchObject({ state: "failed", exitCode: 3, failure, snapshot: null });
});

test("restarted: the latest attempt's result counts", async () => {
  const restart = { attempts: 1, delay: "0s" };
  const { host } = await uploadingRun({ restart }, { ...EXIT, code: 1 });
  const first = over("exited", { exit: { ...EXIT, code: 1 }, outputs: await upload("half") });
  expect(orderOf(await say(host, first), SECOND)).toMatchObject({ want: "run", task: { outputs } });
  expect(await read()).toMatchObject({ state: "running", snapshot: null });
  await say(host, first, over("uploading", {}, SECOND));
  const result = await upload("all");
  await say(host, first, over("exited", { outputs: result }, SECOND));
  expect(await read()).toMatchObject({ state: "complete", exitCode: 0, snapshot: result.snapshot });
});

test("its host is lost in the middle: how the command ended is known, its outputs are not", async () => {
  const { worker } = await uploadingRun({}, { ...EXIT, code: 4 });
  await objects.worker(worker).kill({ reason: "test", by: "ann" });
  const run = await objects.allocation("built").wait(["failed"], 20_000);
  const failure = { class: "infrastructure", code: "outputs_failed" };
  expect(run).toMatchObject({ state: "failed", exitCode: 4, failure, placements: [{ outcome: "lost" }] });
  expect(run.failure?.text).toContain(worker);
});

test("its agent begins anew in the middle: the upload goes on as if nothing had been", async () => {
  const { host } = await uploadingRun();
  await host.join();
  await say(host, over("uploading"));
  const { items } = await objects.allocation("built").events(0, 0);
  expect(items.filter(({ type }) => type === "Terminated")).toHaveLength(1);
  await say(host, over("exited", { outputs: await upload("once more") }));
  expect(await read()).toMatchObject({ state: "complete", exitCode: 0 });
});

test("a worker that drains waits for the upload", async () => {
  const { worker, host } = await uploadingRun();
  await objects.worker(worker).setBehavior("drain", "ann");
  await host.report();
  expect(world.cloud.calls.filter((call) => call.startsWith("DELETE"))).toEqual([]);
  await say(host, over("exited", { outputs: await upload("just so") }));
  host.attempts = [];
  await eventually(async () => {
    await refusal(host.report());
    return world.cloud.calls.some((call) => call.startsWith("DELETE")) || undefined;
  });
  expect((await read()).state).toBe("complete");
});

test("a deployment without a bucket says so, of everything", async () => {
  const none = objectsOf({ ...bindings, LOGS: undefined }).snapshots();
  const id = `sha256:${"0".repeat(64)}`;
  for (const call of [none.ready(), none.size(id), none.put(id, null), none.get(id)]) {
    expect((await refusal(call)).code).toBe("no_bucket");
  }
});
