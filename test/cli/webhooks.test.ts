import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Webhook, WebhookDelivery } from "../../client/types.ts";
import { WebhookFields } from "../../src/schema/webhook/webhook.ts";
import { webhookSample } from "../edge/support/samples.ts";
import { type Bench, openBench } from "./support/command.ts";
import { json } from "./support/control-plane.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

const AT = "2026-11-21T08:30:00.000Z";

const fields = WebhookFields.parse({ url: "https://ci.example.com/hook", types: ["run.failed"] });
const webhook = webhookSample({ id: "wh-1", name: "ci", project: "default", fields });

const delivery = (problem: string | null): WebhookDelivery => ({
  id: "msg_wh-1_1",
  type: "webhook.test",
  run: null,
  pool: null,
  state: "failed",
  tries: 1,
  createdAt: AT,
  nextAt: null,
  last: { at: AT, status: 302, durationMs: 12, problem, answer: null },
});

describe("X21: what a receiver says does not act on the terminal", () => {
  const ACTS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
  const lines = (stdout: Buffer) => stdout.toString().split("\n");

  /** Characters that set titles, move the cursor, clear the screen or reverse text. */
  const EVIL = [
    ["a title by C0", "\u001b]0;title\u0007"],
    ["a title by C1", "\u009d0;title\u009c"],
    ["a cleared screen by C1", "\u009b2J"],
    ["a start of the line", "\r"],
    ["a next line by C1", "\u0085"],
    ["reversed text", "\u202e"],
  ] as const;

  test.each(EVIL)("%s in `webhooks test`", async (_, evil) => {
    bench.plane.on("POST", /^\/v1\/webhooks\/ci\/test$/, (_seen, res) =>
      json(res, 200, delivery(`a redirect to ${evil}`)),
    );
    const { code, stdout } = await bench.run(["webhooks", "test", "ci"]);
    expect(code).toBe(1);
    expect(lines(stdout).filter((line) => ACTS.test(line))).toEqual([]);
    expect(stdout.toString()).toMatch(/^a redirect to \\[xu]/);
  });

  test.each(EVIL)("%s in `webhooks show`", async (_, evil) => {
    const failing = { since: AT, failures: 1, text: `a redirect to ${evil}` };
    const one: Webhook = { ...webhook, state: "failing", failing, createdBy: `oidc:ci/${evil}` };
    bench.plane.on("GET", /^\/v1\/webhooks\/ci$/, (_seen, res) => json(res, 200, one));
    const { code, stdout } = await bench.run(["webhooks", "show", "ci"]);
    expect(code).toBe(0);
    expect(lines(stdout).filter((line) => ACTS.test(line))).toEqual([]);
    expect(stdout.toString()).toMatch(/^why +a redirect to \\[xu]/m);
  });
});

describe("an endpoint that does not answer (webhooks.md#unknown)", () => {
  const text = "the endpoint did not answer: it failed unexpectedly; ask again";
  const unknown: Webhook = { ...webhook, state: "unknown", unknown: { text }, waiting: null };

  test("is shown with the reason, and without what is not known", async () => {
    bench.plane.on("GET", /^\/v1\/webhooks\/ci$/, (_seen, res) => json(res, 200, unknown));
    const shown = (await bench.run(["webhooks", "show", "ci"])).stdout.toString();
    expect(shown).toContain(`why          ${text}\n`);
    expect(shown).not.toContain("waiting");
  });

  test("is listed with the reason", async () => {
    bench.plane.on("GET", /^\/v1\/webhooks$/, (_seen, res) =>
      json(res, 200, { items: [unknown, { ...webhook, name: "well" }], next: null }),
    );
    const listed = (await bench.run(["webhooks", "list"])).stdout.toString();
    expect(listed).toMatch(/^ci +unknown +https:.* the endpoint did not answer: .*; ask again$/m);
    expect(listed).toMatch(/^well +active +0 +https:/m);
  });
});
