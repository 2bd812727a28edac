import { describe, expect, test } from "vitest";
import { MAX_WAITING } from "../../../src/core/webhook/deliveries.ts";
import { webhookView } from "../../../src/core/webhook/read.ts";
import { endpointOf } from "../../../src/core/webhook/record.ts";
import { DOWN, Endpoint, OK, run, T0 } from "./endpoint.ts";

/** An endpoint whose pool had so many ends before it read any. */
function withEnds(count: number): Endpoint {
  const endpoint = new Endpoint();
  for (let n = 0; n < count; n += 1) endpoint.ended.push(run(`r${n}`));
  return endpoint;
}

function gapOf({ state, now }: Endpoint) {
  const endpoint = endpointOf(state);
  if (endpoint === undefined) throw new Error("there is no endpoint");
  return webhookView(endpoint, now).gap;
}

describe("an end whose run is deleted before it was read (webhooks.md#gap)", () => {
  test("is counted, and the others arrive", () => {
    const endpoint = withEnds(5);
    for (const id of ["r0", "r2", "r4"]) endpoint.deleted.add(id);
    expect(gapOf(endpoint)).toBeNull();
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["r1", "r3"]);
    expect(gapOf(endpoint)).toEqual({ runs: 3, at: new Date(T0).toISOString() });
  });

  test("is counted once, however often a page is answered, and whenever the process dies", () => {
    const endpoint = withEnds(2);
    endpoint.deleted.add("r0");
    const [follow] = endpoint.due();
    if (follow?.kind !== "follow") throw new Error("the pool is not asked");
    const answer = {
      type: "follow_answered",
      sent: follow.body,
      answer: endpoint.page(follow.body),
    } as const;
    endpoint.on(answer);
    endpoint.crash();
    endpoint.on(answer);
    endpoint.settle();
    expect(gapOf(endpoint)?.runs).toBe(1);
  });

  test("is counted once if a page did not fit, and is asked for again from there", () => {
    const endpoint = withEnds(100);
    for (let n = 0; n < 100; n += 3) endpoint.deleted.add(`r${n}`);
    const [follow] = endpoint.due();
    if (follow?.kind !== "follow") throw new Error("the pool is not asked");
    const all = endpoint.page({ ...follow.body, limit: 100 });
    endpoint.on({ type: "follow_answered", sent: follow.body, answer: all });
    expect([...endpoint.state.deliveries.live()]).toHaveLength(MAX_WAITING);
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(endpoint.ended.map(({ id }) => id).filter((_, n) => n % 3 !== 0));
    expect(gapOf(endpoint)?.runs).toBe(34);
  });

  test("is counted when the endpoint comes to it, if its receiver was down for long", () => {
    const endpoint = withEnds(MAX_WAITING + 10);
    endpoint.receiver = () => DOWN;
    endpoint.pass(3_600_000);
    for (const { id } of endpoint.ended) endpoint.deleted.add(id);
    endpoint.receiver = () => OK;
    endpoint.pass(12 * 3_600_000);
    expect(new Set(endpoint.runsGot()).size).toBe(MAX_WAITING);
    expect(gapOf(endpoint)?.runs).toBe(10);
  });

  test("leaves what is delivered already where it is: that was read", () => {
    const endpoint = withEnds(1);
    endpoint.settle();
    endpoint.deleted.add("r0");
    endpoint.ended.push(run("r1"));
    endpoint.news();
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["r0", "r1"]);
    expect(gapOf(endpoint)).toBeNull();
  });
});
