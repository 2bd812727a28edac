import { describe, expect, test } from "vitest";
import { UNSIGNED_PAUSE } from "../../../src/core/webhook/deliveries.ts";
import { webhookView } from "../../../src/core/webhook/read.ts";
import { endpointOf } from "../../../src/core/webhook/record.ts";
import { configure, Endpoint, run, settings, T0 } from "./endpoint.ts";

const PROBLEM = "DROVER_KEK_1 is missing; set it again";

/** An endpoint with as many deliveries as are sent at once, whose secret does not open. */
function keyless(): Endpoint {
  const endpoint = new Endpoint();
  for (let n = 0; n < 5; n += 1) endpoint.ended.push(run(`r${n}`));
  const [follow] = endpoint.due();
  if (follow?.kind !== "follow") throw new Error("the pool is not asked");
  endpoint.on({ type: "follow_answered", sent: follow.body, answer: endpoint.page(follow.body) });
  return endpoint;
}

/** All that is due cannot be signed. */
function refuse(endpoint: Endpoint): void {
  for (const number of endpoint.sending()) endpoint.on({ type: "unsigned", number, problem: PROBLEM });
}

function viewOf({ state, now }: Endpoint) {
  const endpoint = endpointOf(state);
  if (endpoint === undefined) throw new Error("there is no endpoint");
  return webhookView(endpoint, now);
}

describe("an endpoint whose secret cannot be opened (webhooks.md#unsigned)", () => {
  test("says why, and no failure of its receiver is counted", () => {
    const endpoint = keyless();
    refuse(endpoint);
    const at = (ms: number) => new Date(T0 + ms).toISOString();
    expect(viewOf(endpoint)).toMatchObject({
      state: "unsigned",
      unsigned: { since: at(0), text: PROBLEM, nextAt: at(UNSIGNED_PAUSE.firstMs) },
      failing: null,
      waiting: 5,
    });
    expect(endpoint.row(1)).toMatchObject({ state: "waiting", tries: 0, firstTriedAt: null });
  });

  test("tries again after a pause that grows, for as long as it takes, and is never disabled for it", () => {
    const endpoint = keyless();
    for (let rounds = 0; rounds < 1_000; rounds += 1) {
      refuse(endpoint);
      expect(endpoint.sending()).toEqual([]);
      const { nextAt } = endpoint.state.record?.unsigned ?? { nextAt: 0 };
      expect(nextAt - endpoint.now).toBeLessThanOrEqual(UNSIGNED_PAUSE.longestMs);
      endpoint.now = nextAt;
    }
    expect(viewOf(endpoint).disabled).toBeNull();
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["r0", "r1", "r2", "r3", "r4"]);
    expect(viewOf(endpoint)).toMatchObject({ state: "active", unsigned: null, waiting: 0 });
  });

  test("wakes for it by itself", () => {
    const endpoint = keyless();
    refuse(endpoint);
    endpoint.pass(UNSIGNED_PAUSE.firstMs);
    expect(endpoint.runsGot()).toHaveLength(5);
  });

  test.each([
    ["is enabled", { type: "enable", from: "last", by: "admin" } as const],
    ["gets another secret", configure(2, settings({ secrets: [{ sealed: "new", until: null }] }))],
  ])("tries at once when it %s", (_what, event) => {
    const endpoint = keyless();
    refuse(endpoint);
    endpoint.on(event);
    expect(endpoint.sending()).toHaveLength(5);
  });

  test("answers a test at once, with the reason", () => {
    const endpoint = keyless();
    refuse(endpoint);
    endpoint.on({ type: "test", by: "ann" });
    expect(endpoint.sending()).toEqual([6]);
    refuse(endpoint);
    expect(endpoint.row(6)).toMatchObject({ state: "failed", last: { status: null, problem: PROBLEM } });
  });
});
