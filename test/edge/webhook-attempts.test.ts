import { describe, expect, onTestFinished, test } from "vitest";
import { attempt, MAX_ANSWER_BYTES } from "../../src/objects/webhooks/send.ts";
import { accept, Receiver } from "./support/receiver.ts";

// One attempt at a real receiver that takes its time, with a shorter deadline than that of other receivers.

const TIMEOUT_MS = 2_000;

/** A receiver that answers like this, and a way to make an attempt at it. */
async function receiverThat(answer: Receiver["answer"]) {
  const receiver = new Receiver();
  receiver.answer = answer;
  await receiver.up();
  onTestFinished(() => receiver.down());
  const body = JSON.stringify({ type: "run.completed", data: {} });
  const parcel = { id: "msg_1", body, url: receiver.url, secrets: ["whsec_AAAA"], allowLocal: true };
  const attempted = (timeoutMs = TIMEOUT_MS) => attempt(parcel, fetch, Date.now, timeoutMs);
  return { receiver, attempted };
}

/** Answers with a status and the beginning of a body that never ends. */
const endless =
  (status: number, begin: string, headers: Record<string, string> = {}): Receiver["answer"] =>
  (res) => {
    res.writeHead(status, headers).flushHeaders();
    if (begin !== "") res.write(begin);
  };

describe.concurrent("an answer that never ends has a status, which decides (webhooks.md#attempts)", () => {
  test.each([
    [200, {}, null],
    [302, { location: "https://example.com/" }, null],
    [410, {}, null],
    [429, { "retry-after": "7" }, 7_000],
    [500, {}, null],
  ])("%i", async (status, headers, retryAfterMs) => {
    const { attempted } = await receiverThat(endless(status, "so far", headers));
    expect(await attempted()).toMatchObject({ status, retryAfterMs, answer: "so far" });
  });

  test.each([
    [200, "the receiver accepted it, but its answer did not end within 2s: only what came before was read"],
    [500, "the receiver answered 500"],
  ])("%i, and what was odd is said", async (status, problem) => {
    const { attempted } = await receiverThat(endless(status, "so far"));
    expect((await attempted()).problem).toBe(problem);
  });

  test("also if nothing of the body came", async () => {
    const { attempted } = await receiverThat(endless(200, ""));
    expect(await attempted()).toMatchObject({ status: 200, answer: null });
  });

  test.each([
    [MAX_ANSWER_BYTES, "did not end within 2s"],
    [MAX_ANSWER_BYTES + 1, "has more than 1024 bytes: only 1024 were read"],
  ])("and of %i bytes that came, at most 1 KiB is shown", async (bytes, odd) => {
    const { attempted } = await receiverThat(endless(200, "x".repeat(bytes)));
    const { answer, problem } = await attempted();
    expect(answer).toHaveLength(MAX_ANSWER_BYTES);
    expect(problem).toContain(odd);
  });

  test("and so has one whose connection is lost in the middle of its body", async () => {
    const { attempted } = await receiverThat((res) => {
      res.writeHead(200, { "content-length": "100" });
      res.write("so far", () => setImmediate(() => res.destroy()));
    });
    const { status, problem } = await attempted(60_000);
    expect(status).toBe(200);
    expect(problem).toContain("its answer was cut off");
  });
});

describe("a receiver that accepts an event after the deadline (webhooks.md#attempts)", () => {
  test("has not answered, and gets it again with the same id", async () => {
    const late: (() => void)[] = [];
    const { receiver, attempted } = await receiverThat((res, got) => void late.push(() => accept(res, got)));
    const first = await attempted();
    expect(first).toMatchObject({ status: null, problem: "the receiver did not answer within 2s" });
    for (const answer of late) answer();
    receiver.answer = accept;
    expect(await attempted(60_000)).toMatchObject({ status: 204, problem: null });
    expect(receiver.got.map(({ id }) => id)).toEqual(["msg_1", "msg_1"]);
  });
});
