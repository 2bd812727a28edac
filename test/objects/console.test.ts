import { beforeEach, describe, expect, test, vi } from "vitest";
import { CONSOLE_EVERY_MS } from "../../src/objects/host/console.ts";
import { WorkerConsole } from "../../src/schema/pool/console.ts";
import { bootToken } from "../../src/signing/boot-token.ts";
import { refusal } from "./support/host.ts";
import { askedMachine, freshWorld, makePool, objects, submit } from "./support/world.ts";

// The console of a machine, which is asked for only when somebody asks (clouds.md#console).

const world = freshWorld();
let aheadMs: number;
beforeEach(() => {
  aheadMs = 0;
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
});

/** A worker whose machine was made, with its code. */
async function machine(more: Parameters<typeof makePool>[0] = {}) {
  await makePool(more);
  await submit("a");
  return askedMachine(world.cloud);
}
const looks = () => world.cloud.calls.filter((call) => call.endsWith("/console")).length;

describe("the console of a worker's machine (clouds.md#console)", () => {
  test("is its end, in lines, without what Drover keeps secret of its user data", async () => {
    const { worker, code } = await machine();
    const told = bootToken(code);
    const forms = [
      code,
      told,
      btoa(`x${code}`),
      encodeURIComponent(told),
      `${code.slice(0, 9)}\u001b[0m${code.slice(9)}`,
    ];
    world.cloud.consoles.set(worker, `${"line\r\n".repeat(9_000)}${forms.join("\n")}\nlogin: `);
    const shown = await objects.worker(worker).console();
    expect(WorkerConsole.parse(shown)).toEqual(shown);
    expect(shown).toMatchObject({ worker, truncated: true, updatedAt: null });
    expect(shown.text).toMatch(/^(line\n)+\[secret\]\n\[secret\]\n/);
    expect(shown.text.endsWith("\n[secret]\nlogin: ")).toBe(true);
    for (const secret of [code, told, code.split(".")[2] ?? "", told.split(".")[2] ?? "", "cloud-secret"]) {
      expect(shown.text).not.toContain(secret);
    }
  });

  test("costs one call for all who ask within some seconds, and none of its own accord", async () => {
    const { worker } = await machine();
    world.cloud.consoles.set(worker, "first\n");
    expect(looks()).toBe(0);
    const read = () => objects.worker(worker).console();
    const both = await Promise.all([read(), read()]);
    expect(both.map(({ text }) => text)).toEqual(["first\n", "first\n"]);
    world.cloud.consoles.set(worker, "second\n");
    expect((await read()).text).toBe("first\n");
    expect(looks()).toBe(1);
    aheadMs += CONSOLE_EVERY_MS;
    expect((await read()).text).toBe("second\n");
    expect(looks()).toBe(2);
  });

  test("is refused where there is none, with the reason, and a later question asks again", async () => {
    const { worker } = await machine();
    const read = () => objects.worker(worker).console();
    expect(await refusal(read())).toMatchObject({ code: "no_console" });
    world.cloud.consoles.set(worker, "now\n");
    expect((await read()).text).toBe("now\n");
    const { worker: own } = await objects.pool("default").invite({ ttlMs: 60_000, by: "test" });
    const why = await refusal(objects.worker(own).console());
    expect(why).toMatchObject({ code: "no_console", message: expect.stringContaining("self-hosted") });
    expect(await refusal(objects.worker("nobody").console())).toMatchObject({ code: "unknown_worker" });
  });

  test("waits if the pool may make no more calls, and says for how long", async () => {
    const { worker } = await machine({ maxCloudOpsPerSecond: 1 });
    world.cloud.consoles.set(worker, "text\n");
    aheadMs += 10_000;
    // Listings count, so each is over a second ago now.
    const { peers } = await import("./support/world.ts");
    expect(await peers.pool("default").takeCall()).toBe(0);
    const busy = await refusal(objects.worker(worker).console());
    expect(busy).toMatchObject({ code: "busy", retryAfterMs: expect.any(Number) });
    expect(looks()).toBe(0);
    aheadMs += 1_000;
    expect((await objects.worker(worker).console()).text).toBe("text\n");
  });

  test("that the provider does not show now is asked for again, unlike one that it refuses", async () => {
    const { worker } = await machine();
    world.cloud.secret = "another-secret";
    expect(await refusal(objects.worker(worker).console())).toMatchObject({ code: "unavailable" });
  });
});
