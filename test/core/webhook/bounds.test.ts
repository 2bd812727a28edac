import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../src/core/webhook/deliveries.ts";
import { MAX_DELIVERIES, MAX_DELIVERIES_BYTES } from "../../../src/core/webhook/deliveries.ts";
import { BOUND_EACH } from "../../../src/core/webhook/machine.ts";
import { deliveryKey } from "../../../src/core/webhook/record.ts";
import { DOWN, Endpoint, OK, run } from "./endpoint.ts";

/** Lets so many runs end, and delivers them. */
function deliver(endpoint: Endpoint, count: number): void {
  for (let left = count; left > 0; left -= BOUND_EACH) {
    const from = endpoint.ended.length;
    for (let n = 0; n < Math.min(left, BOUND_EACH); n += 1) endpoint.ended.push(run(`r${from + n}`));
    endpoint.news();
    endpoint.settle();
  }
}

describe("the list of deliveries has bounds (webhooks.md#deliveries)", () => {
  test(`of ${MAX_DELIVERIES} deliveries: the oldest go, and what waits stays`, () => {
    const endpoint = new Endpoint();
    endpoint.receiver = ({ number }) => (number === 1 ? DOWN : OK);
    deliver(endpoint, 2);
    const [first, over] = [endpoint.row(1), endpoint.row(2)];
    if (first === undefined || over === undefined || endpoint.state.record === null)
      throw new Error("nothing was delivered");
    for (let number = 3; number < MAX_DELIVERIES + 3; number += 1)
      endpoint.disk.write(deliveryKey(number), { ...over, number }, false, endpoint.now);
    const record = { ...endpoint.state.record, nextNumber: MAX_DELIVERIES + 3 };
    endpoint.state = { ...endpoint.state, record };
    deliver(endpoint, BOUND_EACH);
    expect(endpoint.disk.rows.size).toBeLessThanOrEqual(MAX_DELIVERIES + BOUND_EACH + 1);
    expect(endpoint.row(1)?.state).toBe("waiting");
    expect(endpoint.row(2)).toBeUndefined();
    expect(endpoint.row(MAX_DELIVERIES + BOUND_EACH)?.state).toBe("delivered");
  });

  test(`of ${MAX_DELIVERIES_BYTES} bytes in them`, { timeout: 60_000 }, () => {
    const endpoint = new Endpoint();
    const large: Outcome = { ...OK, answer: "x".repeat(MAX_DELIVERIES_BYTES / BOUND_EACH) };
    endpoint.receiver = () => large;
    deliver(endpoint, 3 * BOUND_EACH);
    const rows = [...endpoint.disk.rows.values()];
    expect(rows.length).toBeLessThan(2 * BOUND_EACH);
    expect(endpoint.row(3 * BOUND_EACH)?.state).toBe("delivered");
  });
});
