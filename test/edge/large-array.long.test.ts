import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../client/client.ts";
import { batchesOf } from "../../client/runs/batches.ts";
import type { RunSpec } from "../../client/types.ts";
import { sized } from "../chance/length.ts";
import { endDrover, makeHome, poolConfigOf, type RunningDrover, startDrover } from "./support/drover.ts";

// Case 21: an array of the largest size on a real `drover up`, in a pool without machines: in batches,
// followed as a whole and by one of its runs (api.md#large-arrays).

const SIZE = Number(process.env.DROVER_ARRAY_RUNS ?? sized(3_000, 10_000));
const LAST = SIZE - 1;
const SILENT_MS = 600_000;
const timeout = 1_800_000;

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("large-array");
  up = await startDrover(home);
  const { provider, instanceTypes } = await poolConfigOf(up);
  // The array alone would fill a queue of the usual length.
  const room = { maxInstances: 0, maxQueue: 2 * SIZE };
  await up.json(201, "PUT", "/v1/pools/patient", { provider, instanceTypes, ...room });
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

test(`case 21: an array of ${SIZE} is followed once all of it is there, by one wait`, {
  timeout,
}, async () => {
  const { url, token } = up;
  const { runs } = createClient({ url, token, patience: { unreachableMs: SILENT_MS } });
  const waits = { argv: ["true"], pool: "patient" };
  const specs = Array.from({ length: SIZE }, (_, index): RunSpec => {
    return { ...waits, id: `parts-${index}`, array: { id: "parts", index, size: SIZE } };
  });
  const join: RunSpec = { ...waits, id: "join", after: [{ array: "parts" }] };
  const batches = batchesOf(specs);
  const beganAt = performance.now();
  for (const batch of batches.slice(0, -1)) await runs.submitBatch(batch);
  await expect(runs.submit(join)).rejects.toMatchObject({
    code: "unknown_run",
    detail: expect.stringContaining(`has ${SIZE - (batches.at(-1)?.length ?? 0)} of ${SIZE} runs`),
  });
  // A batch that is repeated, since its answer was lost, doubles none.
  for (const batch of [...batches.slice(-2), ...batches.slice(-1)]) await runs.submitBatch(batch);
  const submittedMs = performance.now() - beganAt;
  await runs.submit(join);
  await runs.submit({ ...waits, id: "tidy", after: [{ array: "parts", on: "any" }] });
  await runs.submit({ ...waits, id: "one", after: [{ run: `parts-${LAST}`, on: "any" }] });
  const followedMs = performance.now() - beganAt - submittedMs;
  const { all } = await runs.checkAll({ array: "parts", limit: 1 });
  expect(all).toMatchObject({ open: SIZE });

  const reasonOf = async (id: string) => (await runs.why(id)).reason;
  const { reason, chain } = await runs.why("join");
  expect(reason.code).toBe("awaiting");
  expect(JSON.stringify(chain)).toContain(`0 of ${SIZE} ended well, ${SIZE} go on`);
  await runs.abort(`parts-${LAST}`);
  // One that has not ended well decides about a follower that wants all to; another still waits for the rest.
  const ended = await runs.wait("join");
  expect(ended.failure).toMatchObject({
    code: "dependency_failed",
    text: expect.stringContaining(`parts-${LAST}`),
  });
  await expect.poll(async () => (await reasonOf("one")).code).not.toBe("awaiting");
  expect((await reasonOf("tidy")).code).toBe("awaiting");

  const abortedAt = performance.now();
  for (let cursor: string | undefined, isOver = false; !isOver; ) {
    const page = await runs.abortMany({ array: "parts", limit: 1_000, ...(cursor ? { cursor } : {}) });
    cursor = page.next ?? undefined;
    isOver = page.next === null;
  }
  await runs.waitAll({ array: "parts", limit: 1 });
  const abortedMs = performance.now() - abortedAt;
  await expect.poll(async () => (await reasonOf("tidy")).code).not.toBe("awaiting");
  if (process.env.DROVER_MEASURE === "1") {
    const seconds = [submittedMs, followedMs, abortedMs].map((ms) => (ms / 1_000).toFixed(1));
    process.stderr.write(`${SIZE} runs: submitted, followed and ended in ${seconds.join(", ")} s\n`);
  }
});
