import { randomBytes } from "node:crypto";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PUNCH_STEP_BYTES } from "../../agent/core/reports/chunks.ts";
import { CHUNK_FROM_BYTES } from "../../agent/core/reports/logs.ts";
import { type Bench, openBench, run } from "./support/bench.ts";
import type { Call } from "./support/fake-plane.ts";

const ID = "build-17/main/1.1";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
  bench.plane.setup = { logsUrl: `${bench.plane.url}/v1/hosts/w-1/logs` };
});
afterEach(async () => {
  const { faults } = bench.plane;
  await bench.close();
  expect(faults).toEqual([]);
});

const isChunk = ({ path }: Call) => path.includes("/logs/");
const chunks = () => bench.plane.calls.filter(isChunk);

/** A file of random bytes, and the command that writes them to its stdout. */
function randomFile(bytes: number): { content: Buffer; argv: string[] } {
  const content = randomBytes(bytes);
  const file = join(bench.dir, "random");
  writeFileSync(file, content);
  return { content, argv: ["cat", file] };
}

/** Compares without printing megabytes. */
const same = (a: Buffer, b: Buffer) => Buffer.compare(a, b) === 0;

describe("a large log goes by chunks (host-protocol.md#logs)", () => {
  test.each([true, undefined])(
    "with stamps only if the control plane knows them: %s (host-protocol.md#stamps)",
    async (logStamps) => {
      bench.plane.setup = { ...bench.plane.setup, ...(logStamps && { logStamps }) };
      const { content, argv } = randomFile(3_000_000);
      bench.start();
      bench.plane.order([run(ID, argv)]);
      await bench.plane.untilStored(ID);
      expect(same(bench.plane.stored(ID), content)).toBe(true);
      expect(chunks().some(({ query }) => query.includes("&stamps="))).toBe(logStamps === true);
      if (logStamps) {
        const stamped = bench.plane
          .inOrder(ID)
          .reduce((sum, piece) => sum + piece.length - "stdout ".length, 0);
        expect(stamped).toBe(Buffer.from(content.toString()).toString().length);
      }
    },
  );

  test.each([true, undefined])(
    "with the number of its lines only if the control plane knows them: %s (api.md#lines)",
    async (logLines) => {
      bench.plane.setup = { ...bench.plane.setup, ...(logLines && { logLines }) };
      const { content, argv } = randomFile(3_000_000);
      bench.start();
      bench.plane.order([run(ID, argv)]);
      await bench.plane.untilStored(ID);
      expect(same(bench.plane.stored(ID), content)).toBe(true);
      expect(chunks().every(({ query }) => query.includes("&lines=") === (logLines === true))).toBe(true);
    },
  );

  test("whole, byte for byte, and little of it in reports", async () => {
    const { content, argv } = randomFile(20_000_000);
    bench.start();
    bench.plane.order([run(ID, argv)]);
    await bench.plane.untilStored(ID);
    expect(same(bench.plane.stored(ID), content)).toBe(true);
    const sent = chunks().reduce((sum, { raw }) => sum + raw.length, 0);
    expect(sent).toBeGreaterThan(content.length - 4 * CHUNK_FROM_BYTES);
  });

  test.each([500, 503, 400])("after a %d nothing is missing, and nothing is there twice", async (failure) => {
    const { content, argv } = randomFile(12_000_000);
    const statuses = [failure];
    bench.plane.override = (call) => {
      const status = isChunk(call) ? statuses.shift() : undefined;
      return status === undefined ? undefined : { status };
    };
    bench.start();
    bench.plane.order([run(ID, argv)]);
    await bench.plane.untilStored(ID);
    expect(statuses).toEqual([]);
    expect(same(bench.plane.stored(ID), content)).toBe(true);
  });

  test("a control plane that takes none gets all of it by report", async () => {
    const { content, argv } = randomFile(3_000_000);
    bench.plane.override = (call) => (isChunk(call) ? { status: 501 } : undefined);
    const agent = bench.start();
    bench.plane.order([run(ID, argv)]);
    await bench.plane.untilStored(ID);
    expect(same(bench.plane.stored(ID), content)).toBe(true);
    // A refusal is not tried again in a tight loop.
    expect(chunks().length).toBeLessThan(3);
    expect(agent.stderr()).toContain("is refused, so it goes into reports");
  });

  test("an agent that is killed in the middle goes on where the control plane is", async () => {
    const { content, argv } = randomFile(24_000_000);
    const first = bench.start();
    bench.plane.order([run(ID, argv)]);
    await bench.plane.until("a part is stored", () => bench.plane.stored(ID).length > 4_000_000);
    first.child.kill("SIGKILL");
    await first.ended;
    bench.start();
    await bench.plane.untilStored(ID);
    expect(same(bench.plane.stored(ID), content)).toBe(true);
  });

  test("the disk under what is stored is given back, and the file keeps its length", async () => {
    const bytes = 3 * PUNCH_STEP_BYTES;
    const { content, argv } = randomFile(bytes);
    bench.start();
    bench.plane.order([run(ID, ["sh", "-c", `${argv.join(" ")}; exec sleep 600`])]);
    await bench.plane.until("all of it is stored", () => bench.plane.stored(ID).length === bytes);
    const file = join(bench.stateDir, "attempts", ID.replaceAll("/", "_"), "stdout");
    const kept = () => statSync(file).blocks * 512;
    await expect.poll(kept).toBeLessThan(PUNCH_STEP_BYTES);
    expect(statSync(file).size).toBe(bytes);
    expect(same(bench.plane.stored(ID), content)).toBe(true);
  });
});
