import { createHmac } from "node:crypto";
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DocumentedReceiver, sendTo, startDocumented } from "./support/documented-receiver.ts";
import { makeHome } from "./support/drover.ts";
import { Receiver } from "./support/receiver.ts";

// The check of the receiver that docs/webhooks.md shows, without a Drover: messages whose time is off.

const home = makeHome("webhook-receiver");
const key = Buffer.alloc(32, "receiver");
const sign = (text: string) => `v1,${createHmac("sha256", key).update(text).digest("base64")}`;
let url: string;
let documented: DocumentedReceiver | undefined;
beforeAll(async () => {
  const port = new Receiver();
  await port.up();
  await port.down(); // its port is free from now on
  url = port.url;
  documented = await startDocumented(home, url, `whsec_${key.toString("base64")}`);
});
afterAll(() => {
  documented?.stop();
  rmSync(home, { recursive: true, force: true });
});

const MINUTE = 60;

describe("the receiver of the documents (webhooks.md#signature)", () => {
  test.each([
    ["refuses", "six minutes old", -6 * MINUTE, 401],
    ["refuses", "six minutes early", 6 * MINUTE, 401],
    ["takes", "four minutes old", -4 * MINUTE, 204],
    ["takes", "four minutes early", 4 * MINUTE, 204],
  ])("%s a message that is signed and %s", async (_, _how, offSeconds, status) => {
    expect(await sendTo(url, { id: `msg_${offSeconds}`, offSeconds, sign })).toBe(status);
  });

  test("does something only for a message that it takes", async () => {
    const said = () => documented?.said() ?? "";
    const one = "webhook.test undefined undefined\n";
    // It may say what it has done after it has answered: first it says so of the two messages above.
    await expect.poll(said, { timeout: 60_000, interval: 20 }).toBe(one + one);
    expect(await sendTo(url, { id: "msg_old", offSeconds: -6 * MINUTE, sign })).toBe(401);
    expect(await sendTo(url, { id: "msg_new", offSeconds: 0, sign })).toBe(204);
    await expect.poll(said, { timeout: 60_000, interval: 20 }).toBe(one + one + one);
  });
});
