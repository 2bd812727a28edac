import { rmSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Delivery, Webhook } from "../../src/schema/webhook/webhook.ts";
import { startDocumented } from "./support/documented-receiver.ts";
import { drover, endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";
import { accept, isSignedBy, Receiver, refuse } from "./support/receiver.ts";

// Webhooks as people use them: a real Drover, and real receivers that are well, broken, or mean harm.

const home = makeHome("webhooks");
let up: RunningDrover;
let receiver: Receiver;
let made = 0;
beforeAll(async () => {
  up = await startDrover(home, {}, [], ["--allow-local-webhooks"]);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});
beforeEach(async () => {
  receiver = new Receiver();
  await receiver.up();
});
afterEach(async () => {
  await receiver.down();
  const { items } = await up.json(200, "GET", "/v1/webhooks");
  for (const { name } of items) await up.call("DELETE", `/v1/webhooks/${name}`);
});

const PATIENT = { timeout: 120_000, interval: 20 };

/** Creates an endpoint of the receiver; answers its name and its secret. */
async function endpoint(more: object = {}): Promise<{ name: string; secret: string }> {
  made += 1;
  const body = { name: `hook-${made}`, url: receiver.url, ...more };
  return up.json(201, "POST", "/v1/webhooks", body);
}

/** Runs a command to its end. The fake driver needs no process. */
async function ended(argv: string[] = ["true"], more: object = {}): Promise<string> {
  const { id } = await up.json(201, "POST", "/v1/runs", { argv, ...more });
  const finished = async () => (await up.json(200, "GET", `/v1/runs/${id}?wait=10s`)).finishedAt;
  await expect.poll(finished, PATIENT).not.toBeNull();
  return id;
}

const read = (name: string): Promise<Webhook> => up.json(200, "GET", `/v1/webhooks/${name}`);
async function deliveries(name: string): Promise<Delivery[]> {
  return (await up.json(200, "GET", `/v1/webhooks/${name}/deliveries`)).items;
}
/** The outcome of the only delivery so far, once it was tried. */
async function firstAttempt(name: string): Promise<Delivery> {
  await expect.poll(async () => (await deliveries(name))[0]?.tries ?? 0, PATIENT).toBeGreaterThan(0);
  const [first] = await deliveries(name);
  if (first === undefined) throw new Error("there is no delivery");
  return first;
}

describe("an endpoint", () => {
  test("is told how each run ended, signed, with ids, state, exit code, labels and links", async () => {
    const { name, secret } = await endpoint();
    const id = await ended(["sh", "-c", "exit 3"], { labels: { team: "x" } });
    await expect.poll(() => receiver.runs(), PATIENT).toEqual([id]);
    const [got] = receiver.got;
    if (got === undefined) throw new Error("nothing arrived");
    expect(isSignedBy(secret, got)).toBe(true);
    expect(Math.abs(got.timestamp - Date.now() / 1_000)).toBeLessThan(60);
    expect(got.event.data).toMatchObject({
      run: id,
      pool: "default",
      state: "complete",
      exitCode: 3,
      labels: { team: "x" },
      links: { run: `${up.url}/v1/runs/${id}` },
    });
    await expect
      .poll(() => deliveries(name), PATIENT)
      .toMatchObject([{ id: got.id, state: "delivered", tries: 1, last: { status: 204, problem: null } }]);
    expect(JSON.stringify(await read(name))).not.toContain(secret);
  });

  test("hears of its types, pools and labels only", async () => {
    await endpoint({ types: ["run.aborted"], labels: { team: "x" }, pools: ["default"] });
    await ended();
    const { id } = await up.json(201, "POST", "/v1/runs", { argv: ["sleep", "600"], labels: { team: "x" } });
    await up.json(200, "POST", `/v1/runs/${id}/abort`, {});
    await expect.poll(() => receiver.runs("run.aborted"), PATIENT).toEqual([id]);
    expect(receiver.got).toHaveLength(1);
  });

  test("that asks for updates hears of a run in the order of its versions, the end last", async () => {
    await endpoint({ types: ["run.updated", "run.completed"] });
    const id = await ended(["sleep", "1.5"]);
    await expect.poll(() => receiver.runs(), PATIENT).toEqual([id]);
    expect(receiver.runs("run.updated").length).toBeGreaterThan(0);
    const versions = receiver.got.map(({ event }) => Number(event.data.version));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(receiver.got.at(-1)?.event.type).toBe("run.completed");
  });

  test("gets each of many ends once, however many come at a time", async () => {
    await endpoint();
    const ids = Array.from({ length: 150 }, (_, n) => `many-${made}-${n}`);
    const runs = ids.map((id) => ({ id, argv: ["true"], tasks: undefined }));
    await up.json(201, "POST", "/v1/runs", { runs });
    await expect.poll(() => new Set(receiver.runs()).size, PATIENT).toBe(ids.length);
    expect(receiver.runs()).toHaveLength(ids.length);
  });
});

describe("a receiver that", () => {
  test("is down, and comes back, gets what it has missed, with the same id in each try", async () => {
    const { name } = await endpoint();
    await receiver.down();
    const id = await ended();
    const first = await firstAttempt(name);
    expect(first).toMatchObject({ state: "waiting", last: { status: null } });
    expect(first.last?.problem).toContain("could not be reached");
    const failing = { failures: expect.any(Number) };
    expect(await read(name)).toMatchObject({ state: "failing", failing });
    await receiver.up();
    // The second attempt comes after 5 s, the third one minutes later: a slow test has missed the second.
    const arrived = async () => {
      const { failing } = await read(name);
      if ((failing?.failures ?? 0) > 1) await up.json(200, "POST", `/v1/webhooks/${name}/enable`, {});
      return receiver.runs();
    };
    await expect.poll(arrived, PATIENT).toEqual([id]);
    expect(receiver.got[0]?.id).toBe(first.id);
    await expect.poll(async () => (await read(name)).state, PATIENT).toBe("active");
  });

  test("redirects is not followed, and the error says what to change", async () => {
    receiver.answer = refuse(302, { location: `${receiver.url}/elsewhere` });
    const { name } = await endpoint();
    await ended();
    const { last } = await firstAttempt(name);
    expect(last).toMatchObject({ status: 302 });
    expect(last?.problem).toContain(`a redirect to ${receiver.url}/elsewhere; redirects are not followed`);
    expect(receiver.got.every(({ path }) => path === "/hook")).toBe(true);
  });

  test("answers with 2 GB is read for 1 KiB, and cut off", async () => {
    let sent = 0;
    let cut = false;
    receiver.answer = (res) => {
      res.writeHead(200, { "content-length": String(2 ** 31) });
      res.on("close", () => {
        cut = true;
      });
      const more = () => {
        while (!cut && res.write(Buffer.alloc(65_536, "x"))) sent += 65_536;
        if (!cut) res.once("drain", more);
      };
      more();
    };
    const { name } = await endpoint();
    await ended();
    const { state, last } = await firstAttempt(name);
    expect(state).toBe("delivered");
    expect(last?.answer).toHaveLength(1_024);
    expect(last?.problem).toContain("its answer has 2147483648 bytes: only 1024 were read");
    await expect.poll(() => cut, PATIENT).toBe(true);
    expect(sent).toBeLessThan(64 * 2 ** 20);
  });

  test("never answers costs 20 s of its own, and neither a run nor another endpoint", async () => {
    receiver.answer = () => undefined;
    const { name } = await endpoint();
    const well = new Receiver();
    await well.up();
    await up.json(201, "POST", "/v1/webhooks", { name: "well", url: well.url });
    const ids = [await ended(), await ended()];
    await expect.poll(() => well.runs(), PATIENT).toEqual(ids);
    const { last } = await firstAttempt(name);
    expect(last).toMatchObject({ status: null, problem: "the receiver did not answer within 20s" });
    await well.down();
  });

  test("takes longer than 20 s has answered if its status came, else gets the same id again", async () => {
    receiver.answer = (res) => void res.writeHead(200).write("so far");
    const { name } = await endpoint();
    const [gone, late] = [new Receiver(), new Receiver()];
    const others = [gone, late];
    await Promise.all(others.map((one) => one.up()));
    gone.answer = (res) => void res.writeHead(410).write("so far");
    const answers: (() => void)[] = [];
    late.answer = (res, got) => void answers.push(() => accept(res, got));
    await endpoint({ name: "gone", url: gone.url });
    await endpoint({ name: "late", url: late.url });
    const id = await ended();
    expect(await firstAttempt(name)).toMatchObject({
      state: "delivered",
      last: { status: 200, answer: "so far", problem: expect.stringContaining("did not end within 20s") },
    });
    await expect.poll(async () => (await read("gone")).disabled?.code, PATIENT).toBe("gone");
    expect((await firstAttempt("late")).last?.problem).toBe("the receiver did not answer within 20s");
    late.answer = accept;
    for (const answer of answers) answer(); // too late: nobody hears it
    await expect.poll(async () => (await deliveries("late"))[0]?.state, PATIENT).toBe("delivered");
    expect(late.runs()).toEqual([id, id]);
    expect(new Set(late.got.map((one) => one.id)).size).toBe(1);
    expect(receiver.runs()).toEqual([id]);
    await Promise.all(others.map((one) => one.down()));
  });

  test("is gone (410) disables its endpoint at once; enabled again, it gets what waits", async () => {
    receiver.answer = refuse(410);
    const { name } = await endpoint();
    const id = await ended();
    await expect.poll(async () => (await read(name)).state, PATIENT).toBe("disabled");
    expect((await read(name)).disabled).toMatchObject({ code: "gone", by: null });
    const entry = async () => {
      const { items } = await up.json(200, "GET", "/v1/audit?actor=drover&action=webhook.disable");
      return items.find(({ target }: { target: { name: string } }) => target.name === name);
    };
    await expect.poll(entry, PATIENT).toMatchObject({ reason: expect.stringContaining("410") });
    const meanwhile = await ended();
    receiver.answer = accept;
    await up.json(200, "POST", `/v1/webhooks/${name}/enable`, {});
    await expect.poll(() => new Set(receiver.runs()), PATIENT).toEqual(new Set([id, meanwhile]));
    expect(await read(name)).toMatchObject({ state: "active", disabled: null });
  });

  test("asks for a pause of a day gets a test all the same, at once (webhooks.md#tests)", async () => {
    receiver.answer = refuse(429, { "retry-after": "86400" });
    const { name } = await endpoint();
    await ended();
    await expect.poll(async () => (await read(name)).pausedUntil, PATIENT).not.toBeNull();
    const test = () => up.json(200, "POST", `/v1/webhooks/${name}/test`);
    expect(await test()).toMatchObject({ state: "failed", last: { status: 429 } });
    receiver.answer = accept;
    expect(await test()).toMatchObject({ state: "delivered", tries: 1, last: { status: 204 } });
    expect(await read(name)).toMatchObject({ waiting: 1, pausedUntil: expect.any(String) });
  });

  test("asks for a pause by 429 gets nothing before it is over", async () => {
    const times: number[] = [];
    receiver.answer = (res, got) => {
      times.push(Date.now());
      (times.length === 1 ? refuse(429, { "retry-after": "30" }) : accept)(res, got);
    };
    const { name } = await endpoint();
    const id = await ended();
    await firstAttempt(name);
    expect((await read(name)).pausedUntil).not.toBeNull();
    const second = await ended();
    await expect.poll(() => new Set(receiver.runs().slice(1)), PATIENT).toEqual(new Set([id, second]));
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(30_000);
  });

  test("refuses once gets the same id and the same bytes again", async () => {
    receiver.answer = (res, got) => (receiver.got.length === 1 ? refuse(500) : accept)(res, got);
    await endpoint();
    await ended();
    await expect.poll(() => receiver.got.length, PATIENT).toBe(2);
    const [one, other] = receiver.got;
    expect(other).toMatchObject({ id: one?.id, body: one?.body });
    expect(other?.timestamp).toBeGreaterThan(one?.timestamp ?? 0);
  });
});

describe("the receiver of the documents", () => {
  test("takes what Drover signs, and nothing else (docs/webhooks.md)", async () => {
    const { secret } = await endpoint();
    await receiver.down(); // its port is free from now on
    const documented = await startDocumented(home, receiver.url, secret);
    try {
      const id = await ended();
      await expect.poll(documented.said, PATIENT).toBe(`run.completed ${id} 0\n`);
    } finally {
      documented.stop();
    }
  });
});

describe("an operator", () => {
  test("rotates under load: each event is signed by a valid secret, for a while by both", async () => {
    const { name, secret } = await endpoint();
    const load = Promise.all(Array.from({ length: 12 }, () => ended()));
    const rotated = await up.json(200, "POST", `/v1/webhooks/${name}/rotate`, { overlap: "1h" });
    expect(rotated.oldSecretUntil).not.toBeNull();
    const ids = await load;
    await expect.poll(() => receiver.runs().length, PATIENT).toBe(ids.length);
    for (const got of receiver.got) expect(isSignedBy(secret, got)).toBe(true);
    await up.json(200, "POST", `/v1/webhooks/${name}/test`);
    const both = receiver.got.at(-1);
    expect(both?.signatures).toHaveLength(2);
    expect(both !== undefined && isSignedBy(rotated.secret, both)).toBe(true);
    const third = await up.json(200, "POST", `/v1/webhooks/${name}/rotate`, { overlap: "0s" });
    await up.json(200, "POST", `/v1/webhooks/${name}/test`);
    const last = receiver.got.at(-1);
    expect(last?.signatures).toHaveLength(1);
    expect(last !== undefined && isSignedBy(third.secret, last)).toBe(true);
  });

  test("deletes an endpoint while an event is on its way: it is gone, and the name is free", async () => {
    let release = () => {};
    receiver.answer = (res, got) => {
      release = () => accept(res, got);
    };
    const { name } = await endpoint();
    await ended();
    await expect.poll(() => receiver.got.length, PATIENT).toBe(1);
    expect((await up.call("DELETE", `/v1/webhooks/${name}`)).status).toBe(204);
    release();
    expect((await up.call("GET", `/v1/webhooks/${name}`)).status).toBe(404);
    receiver.answer = accept;
    await up.json(201, "POST", "/v1/webhooks", { name, url: receiver.url });
    const id = await ended();
    await expect.poll(() => receiver.runs().slice(1), PATIENT).toEqual([id]);
    expect(await deliveries(name)).toHaveLength(1);
  });

  test("replays one event, and those of a time that did not arrive", async () => {
    const { name } = await endpoint();
    await ended();
    await expect.poll(async () => (await deliveries(name))[0]?.state, PATIENT).toBe("delivered");
    const [delivery] = await deliveries(name);
    const replay = (body: object) => up.json(202, "POST", `/v1/webhooks/${name}/replay`, body);
    expect(await replay({ ids: [delivery?.id] })).toEqual({ replayed: 1 });
    await expect.poll(() => receiver.got.length, PATIENT).toBe(2);
    expect(receiver.got[1]?.body).toBe(receiver.got[0]?.body);
    await replay({ since: "2026-01-01T00:00:00Z", all: true });
    await expect.poll(() => receiver.got.length, PATIENT).toBe(3);
    expect(new Set(receiver.got.map(({ id }) => id)).size).toBe(1);
  });

  test("may send only to public https addresses, unless this Drover allows local ones", async () => {
    for (const url of ["http://example.com/", "https://user:pass@example.com/", "https://8.8.8.8/"]) {
      const answer = await up.json(400, "POST", "/v1/webhooks", { name: "bad", url });
      expect(answer.errors).toMatchObject([{ pointer: "/url" }]);
    }
  });

  test("cannot give the scope to a token with limits, since an endpoint shows runs to others", async () => {
    const scopes = ["webhooks:write"];
    for (const limits of [{ pools: ["default"] }, { labels: { team: "x" } }]) {
      const { errors } = await up.json(400, "POST", "/v1/tokens", { name: "limited", scopes, limits });
      expect(errors[0].detail).toContain("webhooks:write");
    }
    const { token } = await up.json(201, "POST", "/v1/tokens", { name: "hooks", scopes });
    const asked = (path: string) => fetch(up.url + path, { headers: { authorization: `Bearer ${token}` } });
    expect([(await asked("/v1/webhooks")).status, (await asked("/v1/runs")).status]).toEqual([200, 403]);
  });

  test("does all of that by `drover webhooks`", async () => {
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await drover(home, ["webhooks", ...args]);
      return { code, text: stdout.toString() + stderr };
    };
    const created = await run("create", receiver.url, "--name", "cli", "--types", "run.completed,run.failed");
    expect(created).toMatchObject({ code: 0, text: expect.stringMatching(/^whsec_[\w+/]{43}=\n$/) });
    expect((await run("list")).text).toMatch(/^cli +active +0 +http.* run\.completed run\.failed/m);
    expect(await run("test", "cli")).toMatchObject({ code: 0, text: expect.stringContaining(": 204") });
    receiver.answer = refuse(500);
    expect(await run("test", "cli")).toMatchObject({ code: 1, text: "the receiver answered 500\n" });
    receiver.answer = accept;
    const { text } = await run("deliveries", "cli", "--state", "failed");
    const id = /msg_\S+/.exec(text)?.[0] ?? "";
    expect((await run("replay", "cli", id)).text).toContain("1 sent again");
    expect((await run("replay", "cli", "--since", "1h")).code).toBe(0);
    expect((await run("disable", "cli")).code).toBe(0);
    expect((await run("enable", "cli", "--from", "now")).code).toBe(0);
    expect((await run("rotate", "cli", "--overlap", "0s")).text).not.toBe(created.text);
    expect(await run("rm", "cli")).toMatchObject({ code: 0 });
    expect((await run("list")).text).not.toContain("cli ");
  });
});
