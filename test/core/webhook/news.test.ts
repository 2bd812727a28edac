import { describe, expect, test } from "vitest";
import type { Follow } from "../../../src/core/webhook/messages.ts";
import { configure, Endpoint, run, settings } from "./endpoint.ts";

/** The page that the endpoint asks for now. */
function asked(endpoint: Endpoint): Follow {
  const follow = endpoint.due().find(({ kind }) => kind === "follow");
  if (follow?.kind !== "follow") throw new Error("the pool is not asked");
  return follow.body;
}

/** The pool's answer as it is now, which reaches the endpoint when the result is called. */
function answerOnItsWay(endpoint: Endpoint): () => void {
  const sent = asked(endpoint);
  const answer = endpoint.page(sent);
  return () => endpoint.on({ type: "follow_answered", sent, answer });
}

/** An endpoint that has read everything, and a run that ends while the answer to another page travels. */
function overtaken(wanted = settings()) {
  const endpoint = new Endpoint(wanted);
  endpoint.ended.push(run("first"));
  const arrives = answerOnItsWay(endpoint);
  endpoint.ended.push(run("second"));
  endpoint.news();
  return { endpoint, arrives };
}

describe("news that overtakes the answer to `follow` (webhooks.md#following)", () => {
  test("is not forgotten: the endpoint asks again, without waiting for the next end", () => {
    const { endpoint, arrives } = overtaken();
    arrives();
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["first", "second"]);
    expect(endpoint.due()).toEqual([]);
  });

  test("is not forgotten by an endpoint that had followed the pool for long", () => {
    const endpoint = new Endpoint();
    endpoint.settle();
    endpoint.ended.push(run("first"));
    endpoint.news();
    const arrives = answerOnItsWay(endpoint);
    endpoint.ended.push(run("second"));
    endpoint.news();
    arrives();
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["first", "second"]);
  });

  test("costs nothing to note, and a crash before the answer loses nothing", () => {
    const { endpoint } = overtaken();
    const { record } = endpoint.state;
    endpoint.news();
    expect(endpoint.state.record).toBe(record);
    endpoint.crash();
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["first", "second"]);
  });

  test("a crash after the answer loses nothing either", () => {
    const { endpoint, arrives } = overtaken();
    arrives();
    endpoint.crash();
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["first", "second"]);
  });

  test("keeps a pool that is being left until it is read to its end", () => {
    const { endpoint, arrives } = overtaken();
    endpoint.on(configure(2, settings({ pools: {} })));
    arrives();
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["first", "second"]);
    expect(endpoint.state.record?.cursors).toEqual({});
  });

  test("asks once more at most, even if the pool has lost what it told of", () => {
    const { endpoint, arrives } = overtaken();
    endpoint.ended.pop();
    arrives();
    endpoint.settle();
    expect(endpoint.runsGot()).toEqual(["first"]);
    expect(endpoint.due()).toEqual([]);
  });
});
