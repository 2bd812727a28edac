import { rmSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DELIVERIES_IN_FLIGHT } from "../../src/core/webhook/deliveries.ts";
import type { Delivery } from "../../src/schema/webhook/webhook.ts";
import { WEBHOOK_TYPES } from "../../src/shared/webhooks/words.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import { accept, type Got, Receiver, refuse } from "./support/receiver.ts";

// The order in which a receiver gets the events of runs that change and end at the same time.

const RUNS = 520;
const PATIENT = { timeout: 150_000, interval: 50 };

const home = makeHome("webhook-order");
let up: RunningDrover;
beforeAll(async () => {
  up = await startDrover(home, {}, [], ["--allow-local-webhooks"]);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

let receiver: Receiver;
beforeEach(async () => {
  receiver = new Receiver();
  await receiver.up();
  await up.json(201, "POST", "/v1/webhooks", { name: "all", url: receiver.url, types: WEBHOOK_TYPES });
});
afterEach(async () => {
  await up.call("DELETE", "/v1/webhooks/all");
  await receiver.down();
});

const runOf = ({ event }: Got) => event.data.run;
const numberOf = ({ id }: Got) => Number(id.split("_").at(-1));
const versionOf = ({ event }: Got) => Number(event.data.version);
const isEnd = ({ event }: Got) => event.type === "run.completed";
const rising = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);

/**
 * Answers the latest of those that are in flight first, and refuses every twentieth delivery once.
 * `accepted`: each delivery once, as a receiver has it that remembers ids, since an answer can be lost.
 */
function answerOutOfOrder() {
  const open: { got: Got; answer: () => void }[] = [];
  const refused = new Set<string>();
  const known = new Set<string>();
  const seen = { most: 0, sameRun: 0, accepted: [] as Got[] };
  receiver.answer = (res, got) => {
    if (open.some((other) => runOf(other.got) === runOf(got))) seen.sameRun += 1;
    const isRefused = numberOf(got) % 20 === 0 && !refused.has(got.id);
    if (isRefused) refused.add(got.id);
    else if (!known.has(got.id)) seen.accepted.push(got);
    if (!isRefused) known.add(got.id);
    open.push({ got, answer: () => (isRefused ? refuse(500) : accept)(res, got) });
    seen.most = Math.max(seen.most, open.length);
    setImmediate(() => open.pop()?.answer());
  };
  return seen;
}

describe("the order of events (webhooks.md#order)", () => {
  test("of many runs is that of the versions of each, one after the other, its end last", async () => {
    const seen = answerOutOfOrder();
    const runs = Array.from({ length: RUNS }, (_, n) => ({ id: `order-${n}`, argv: ["true"] }));
    await up.json(201, "POST", "/v1/runs", { runs });
    await expect.poll(() => seen.accepted.filter(isEnd).length, PATIENT).toBe(RUNS);
    const byRun = Map.groupBy(seen.accepted, runOf);
    expect(byRun.size).toBe(RUNS);
    for (const events of byRun.values()) {
      expect(events.map(numberOf)).toEqual(rising(events.map(numberOf)));
      expect(events.map(versionOf)).toEqual(rising(events.map(versionOf)));
      expect(events.findIndex(isEnd)).toBe(events.length - 1);
    }
    expect(seen.sameRun).toBe(0);
    expect(seen.most).toBeGreaterThan(1);
    expect(seen.most).toBeLessThanOrEqual(DELIVERIES_IN_FLIGHT);
  });

  test("lets an end wait for the update of its run that is in flight, and no other run", async () => {
    // An attempt that is not answered within 20 s comes again: that one is held as well.
    const held: (() => void)[] = [];
    let isReleased = false;
    receiver.answer = (res, got) => {
      if (runOf(got) !== "slow" || isReleased) return accept(res, got);
      held.push(() => accept(res, got));
    };
    await up.json(201, "POST", "/v1/runs", { id: "slow", argv: ["sleep", "600"] });
    await expect.poll(() => held.length, PATIENT).toBeGreaterThan(0);
    await up.json(200, "POST", "/v1/runs/slow/abort", {});
    const waiting = async (): Promise<string[]> => {
      const { items } = await up.json(200, "GET", "/v1/webhooks/all/deliveries?state=waiting");
      return items.map(({ type, run }: Delivery) => `${type} ${run}`);
    };
    await expect.poll(waiting, PATIENT).toContain("run.aborted slow");
    await up.json(201, "POST", "/v1/runs", { id: "other", argv: ["true"] });
    await expect.poll(() => receiver.runs(), PATIENT).toEqual(["other"]);
    const ofSlow = () => {
      const types = receiver.got.filter((got) => runOf(got) === "slow").map(({ event }) => event.type);
      return [...new Set(types)];
    };
    expect(ofSlow()).toEqual(["run.updated"]);
    isReleased = true;
    for (const release of held) release();
    await expect.poll(ofSlow, PATIENT).toEqual(["run.updated", "run.aborted"]);
  });
});
