import { describe, expect, test } from "vitest";
import { SIGNATURE_TOLERANCE_MS } from "../../src/shared/limits.ts";
import { readBootToken } from "../../src/signing/boot-token.ts";
import { enrollmentCode } from "../../src/signing/code.ts";
import { type Identity, OTHER_SALT, OTHER_SECRET, refusal, settled, sign, TestHost } from "./support/host.ts";
import { bindings, bootMachine, eventually, freshWorld, makePool, objects, submit } from "./support/world.ts";

const world = freshWorld();

async function askedWorker(): Promise<string> {
  await makePool();
  await submit("first");
  const { id } = await eventually(async () => {
    const workers = await objects.pool("default").workers(["booting"]);
    return workers.find((one) => world.cloud.codeOf(one.id) !== undefined);
  });
  return id;
}

describe("enrolling (host-protocol.md#joining)", () => {
  test("the same code with the same secret gets the same answer, however often", async () => {
    const worker = await askedWorker();
    const code = world.cloud.codeOf(worker) ?? "";
    const first = await new TestHost(() => objects.worker(worker)).enroll(code);
    expect(first).toMatchObject({
      worker,
      incarnation: 1,
      reportUrl: `http://drover.test/v1/hosts/${worker}/reports`,
    });
    expect(await new TestHost(() => objects.worker(worker)).enroll(code)).toEqual(first);
  });

  test.each([["a used code with another secret", "code_used", (code: string) => code]])(
    "%s is refused, and seen in the worker's events",
    async (_name, expected, change) => {
      const worker = await askedWorker();
      const code = world.cloud.codeOf(worker) ?? "";
      await new TestHost(() => objects.worker(worker)).enroll(code);
      const clone = new TestHost(() => objects.worker(worker));
      expect((await refusal(clone.enroll(change(code), OTHER_SALT))).code).toBe(expected);
      const { events } = await objects.worker(worker).read();
      expect(events.at(-1)?.type).toBe("Refused");
    },
  );

  test("an expired code is refused with its own code", async () => {
    const worker = await askedWorker();
    const old = enrollmentCode(worker, Date.now() - 1_000, bindings.DROVER_SIGNING_KEY);
    expect((await refusal(new TestHost(() => objects.worker(worker)).enroll(old))).code).toBe(
      "enrollment_over",
    );
  });

  test("a code that has expired since it was used gives its host the same answer", async () => {
    const worker = await askedWorker();
    const code = world.cloud.codeOf(worker) ?? "";
    const host = new TestHost(() => objects.worker(worker));
    const first = await host.enroll(code);
    const past = Date.now() - 1_000;
    expect(await host.enroll(code, undefined, past)).toEqual(first);
    expect((await refusal(host.enroll(code, OTHER_SALT, past))).code).toBe("enrollment_over");
  });

  test("a worker that is being destroyed takes no host", async () => {
    const worker = await askedWorker();
    await objects.worker(worker).kill({ reason: "test", by: "test" });
    const code = world.cloud.codeOf(worker) ?? "";
    expect((await refusal(new TestHost(() => objects.worker(worker)).enroll(code))).code).toBe(
      "enrollment_over",
    );
  });
});

// clouds.md#boot-record
describe("a machine that boots", () => {
  const record = "boot a\n1.5 begin its script has begun\n2.0 node fetches Node\n3.0 now\n";

  test("reports it to its worker, and the run that waits for it says how far it is", async () => {
    const worker = await askedWorker();
    await objects.worker(worker).reportBoot(record);
    const { boot } = await objects.worker(worker).read();
    expect(boot?.map(({ step }) => step)).toEqual(["begin", "node"]);
    const { chain } = await objects.allocation("first").why();
    expect(chain.at(-1)).toMatchObject({ what: `worker ${worker}`, state: "booting" });
    expect(chain.at(-1)?.text).toContain("fetches Node (since ");
  });

  test("has its token in its user data, and that names its worker", async () => {
    const worker = await askedWorker();
    const token = /drvb_[\w.-]+/.exec(world.cloud.userDataOf(worker) ?? "")?.[0] ?? "";
    expect(readBootToken(token, bindings.DROVER_SIGNING_KEY)).toMatch(new RegExp(`^${worker}\\.\\d+$`));
  });

  test("is told of a record that cannot be read, and of too many", async () => {
    const worker = await askedWorker();
    const report = (text: string) => objects.worker(worker).reportBoot(text);
    expect((await refusal(report("hello"))).code).toBe("invalid_request");
    expect((await refusal(objects.worker("nobody").reportBoot(record))).code).toBe("unknown_worker");
    const reports = Array.from({ length: 200 }, () => refusal(report(record)).then(({ code }) => code));
    expect(await Promise.all(reports.map((one) => one.catch(() => "taken")))).toContain("busy");
  });
});

describe("signed calls (protocol.md#a-signed-call)", () => {
  const body = (more = {}) =>
    JSON.stringify({ incarnation: 1, seq: 9, full: true, ordersSeen: 0, attempts: [], ...more });
  const late = SIGNATURE_TOLERANCE_MS + 2_000;

  test.each<[string, string, (host: Identity) => ReturnType<typeof sign>]>([
    ["another worker's secret", "bad_signature", (host) => sign(body(), { ...host, secret: OTHER_SECRET })],
    ["a time that is too old", "bad_signature", (host) => sign(body(), host, { atMs: Date.now() - late })],
    ["a time in the future", "bad_signature", (host) => sign(body(), host, { atMs: Date.now() + late })],
    ["a changed body", "bad_signature", (host) => ({ ...sign(body(), host), body: body({ seq: 10 }) })],
    ["no JSON", "malformed_json", (host) => sign("{", host)],
    ["a field of a wrong type", "invalid_request", (host) => sign(body({ seq: "9" }), host)],
    ["an incarnation that never was", "stale_incarnation", (host) => sign(body({ incarnation: 2 }), host)],
  ])("a report with %s is refused", async (_name, expected, call) => {
    await makePool();
    await submit("first");
    const { worker, host } = await bootMachine(world.cloud);
    const report = async () => settled(await objects.worker(worker).report(call(host.identity), 0));
    expect((await refusal(report())).code).toBe(expected);
  });

  test("an older start of the agent is told to end, and a doubled join is one join", async () => {
    await makePool();
    await submit("first");
    const { worker, host } = await bootMachine(world.cloud);
    const second = new TestHost(() => objects.worker(worker));
    second.identity = host.identity;
    const start = "the-second-start-of-the-agent";
    expect((await second.join("boot-1", { start })).incarnation).toBe(2);
    expect((await second.join("boot-1", { start })).incarnation).toBe(2);
    expect((await refusal(host.report())).code).toBe("stale_incarnation");
    expect((await refusal(second.report())).code).toBe("accepted");
  });

  test("a replayed report is answered with the current orders, and changes nothing", async () => {
    await makePool();
    await submit("first");
    const { worker, host } = await bootMachine(world.cloud);
    const attempts = [{ id: "ghost/main/1.1", state: "running" as const }];
    const call = sign(JSON.stringify(host.next({ attempts })), host.identity);
    await objects.worker(worker).report(call, 0);
    const before = await objects.worker(worker).read();
    const replayed = settled(await objects.worker(worker).report(call, 20_000));
    expect(replayed.revision).toBe(before.ordersRevision);
    expect((await objects.worker(worker).read()).version).toBe(before.version);
  });
});

test("a held answer comes at once when there is an order (host-protocol.md#webhook)", async () => {
  await makePool();
  await submit("first");
  const { host } = await bootMachine(world.cloud);
  await eventually(async () => ((await host.report()).attempts.length > 0 ? true : undefined));
  const held = host.report(
    { attempts: [{ id: "first/main/1.1", state: "running", startedAgoMs: 1 }] },
    20_000,
  );
  await submit("second");
  const { attempts } = await held;
  expect(attempts.map(({ id }) => id).sort()).toEqual(["first/main/1.1", "second/main/1.1"]);
});

test("a held answer comes at once when a newer report arrives", async () => {
  await makePool();
  await submit("first");
  const { host } = await bootMachine(world.cloud);
  await eventually(async () => ((await host.report()).attempts.length > 0 ? true : undefined));
  const running = [{ id: "first/main/1.1", state: "running" as const, startedAgoMs: 1 }];
  const held = host.report({ attempts: running }, 20_000);
  const newer = host.report({ attempts: running });
  expect((await held).answers).toBeLessThan((await newer).answers);
});
