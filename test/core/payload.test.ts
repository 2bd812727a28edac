import { describe, expect, test } from "vitest";
import { tasksOf } from "../../src/core/spec.ts";
import { ordersFor } from "../../src/core/worker/host/report.ts";
import { JobRunSpec } from "../../src/schema/job/spec.ts";
import { RunSpec } from "../../src/schema/run/run-spec.ts";
import { Payload } from "../../src/schema/run/start/payload.ts";
import { MAX_TASKS } from "../../src/schema/run/task.ts";
import { MAX_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES_OF_TASKS } from "../../src/shared/jobs/limits.ts";
import { payloadBytes } from "../../src/shared/jobs/payload-bytes.ts";
import { at, attemptOf, order, ready, reloaded, report, runningOf, T0, TASK } from "./support/worker.ts";

// The payload of a run, from its spec to its host: jobs.md#payload.

const base64 = (bytes: number) => Buffer.alloc(bytes, 0xff).toString("base64");
const payload = { path: "in/input.json", content: base64(100) };

describe("a spec with a payload", () => {
  test("gives it to each task", () => {
    const tasks = ["a", "b"].map((name) => ({ name, argv: ["true"] }));
    const spec = RunSpec.parse({ tasks, payload });
    expect(tasksOf(spec).map((task) => task.payload)).toEqual([payload, payload]);
    expect(tasksOf(RunSpec.parse({ argv: ["true"] }))[0]).not.toHaveProperty("payload");
  });

  test.each([0, 1, 2, 3, MAX_PAYLOAD_BYTES - 1, MAX_PAYLOAD_BYTES])("of %s bytes is accepted", (bytes) => {
    expect(payloadBytes(base64(bytes))).toBe(bytes);
    expect(Payload.safeParse({ path: "in", content: base64(bytes) }).success).toBe(true);
  });

  test.each([
    ["one byte too many", base64(MAX_PAYLOAD_BYTES + 1), `must have at most ${MAX_PAYLOAD_BYTES} bytes`],
    ["no base64", "not base64!", "must be bytes in base64"],
    ["half of a quantum", "AAA", "must be bytes in base64"],
  ])("of %s is refused", (_, content, text) => {
    const { error } = Payload.safeParse({ path: "in", content });
    expect(error?.issues.map(({ path, message }) => [path.join("/"), message])).toEqual([["content", text]]);
  });

  test.each([
    ["the largest for 12 tasks", 12, MAX_PAYLOAD_BYTES, undefined],
    ["the largest for one task more", 13, MAX_PAYLOAD_BYTES, "has 65536 bytes for each of 13 tasks"],
    ["a smaller one for all tasks", MAX_TASKS, MAX_PAYLOAD_BYTES_OF_TASKS / MAX_TASKS, undefined],
    ["a byte more for all tasks", MAX_TASKS, MAX_PAYLOAD_BYTES_OF_TASKS / MAX_TASKS + 1, "of 64 tasks"],
  ])("bounds what one order has: %s", (_, count, bytes, text) => {
    const tasks = Array.from({ length: count }, (_task, n) => ({ name: `t${n}`, argv: ["true"] }));
    const { error } = RunSpec.safeParse({ tasks, payload: { path: "in", content: base64(bytes) } });
    const [issue] = error?.issues ?? [];
    if (text === undefined) expect(issue).toBeUndefined();
    else expect([issue?.path, issue?.message]).toEqual([["payload"], expect.stringContaining(text)]);
  });

  test("is no spec of a job, whose runs are given theirs", () => {
    expect(JobRunSpec.safeParse({ argv: ["true"] }).success).toBe(true);
    const { error } = JobRunSpec.safeParse({ argv: ["true"], payload });
    expect(error?.issues).toMatchObject([{ code: "unrecognized_keys", keys: ["payload"] }]);
  });
});

describe("a host gets the payload until the attempt has begun (host-protocol.md#orders)", () => {
  const attempts = [{ id: attemptOf("a"), want: "run" as const, task: { ...TASK, payload } }];
  const placed = () => at(ready(), T0, order("a", { attempts }), { type: "orders_sent" });
  const sent = (state: ReturnType<typeof placed>) => ordersFor(state, 1, T0).attempts;

  test.each([
    ["it has said nothing of it", undefined, true],
    ["it prepares it", "preparing", true],
    ["it runs it", "running", false],
    ["it stores its outputs", "uploading", false],
  ] as const)("%s", (_, state, has) => {
    const said = state === undefined ? [] : [{ ...runningOf("a"), state }];
    const now = at(placed(), T0, report(2, { attempts: said, ordersSeen: said.length }));
    const task = has ? { ...TASK, payload } : TASK;
    expect(sent(now)).toEqual([{ id: attemptOf("a"), want: "run", task }]);
  });

  test("and again when the worker's object has forgotten what it said", () => {
    const now = reloaded(at(placed(), T0, report(2, { attempts: [runningOf("a")], ordersSeen: 1 })));
    expect(sent(now)).toMatchObject([{ task: { payload } }]);
  });
});
