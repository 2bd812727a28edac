import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { CHECKS, judge } from "../../cli/provider-test/checks.ts";
import { type Report, testProvider } from "../../cli/provider-test/suite.ts";
import type { Call, Transcript } from "../../cli/provider-test/transcript.ts";
import type { Cloud } from "../../local/loopback/faults.ts";
import { ProviderError } from "../../local/loopback/provider-error.ts";
import { serveCloud } from "../../local/loopback/server.ts";
import type { ListAnswer } from "../../src/core/provider-answers.ts";
import { httpProvider } from "../../src/providers/http.ts";
import type { Instance } from "../../src/schema/provider.ts";
import { SECRET, startCloud } from "./support/cloud.ts";
import { PaperCloud } from "./support/paper-cloud.ts";

// One suite for any provider, over real HTTP: an honest one passes, and of one that lies just the promise
// that it breaks is named (issue 5, item 7).

const PATIENCE = { lookMs: 10, listedMs: 1_500, bootMs: 300, heedMs: 300, endMs: 900 };
/** For a real machine, which has the time of a busy computer. */
const REAL_PATIENCE = { ...PATIENCE, bootMs: 60_000, heedMs: 60_000, endMs: 60_000 };
const MACHINE = {
  instanceType: "local",
  image: "",
  userData: "sleep 1000\n",
  resources: { vcpus: 1, memoryBytes: 2 ** 30, diskBytes: 0, gpus: 0 },
};

interface Options {
  patience?: typeof PATIENCE;
  creates?: boolean;
  /** Faults from the beginning, and those from the first listing of the new machine that is answered. */
  faults?: object;
  faultsOnceListed?: object;
  strangerSecret?: string;
  /** After this many calls the test is told to end. */
  endsAfter?: number;
}

/** Serves a cloud, tests it, and says what was found and what machines there are at the end. */
async function tested(cloud: Cloud, options: Options): Promise<Report & { alive: string[] }> {
  const server = await serveCloud({ cloud, port: 0, secret: SECRET });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const fault = async (faults: object) => {
    const headers = { authorization: `Bearer ${SECRET}` };
    const { status } = await fetch(`${url}/faults`, { method: "PUT", headers, body: JSON.stringify(faults) });
    expect(status).toBe(200);
  };
  await fault(options.faults ?? {});
  const provider = httpProvider({ kind: "http", url, secret: SECRET }, () => performance.now());
  const { strangerSecret: wrong = "of somebody else" } = options;
  const stranger = httpProvider({ kind: "http", url, secret: wrong }, () => performance.now());
  let calls = 0;
  let listed = false;
  const counted: typeof provider = {
    ...provider,
    list: async (tag) => {
      calls += 1;
      const answer = await provider.list(tag, []);
      const shows = answer.kind === "listed" && answer.items.some(({ name }) => name === "drover-test-1");
      if (shows && !listed && options.faultsOnceListed) await fault(options.faultsOnceListed);
      listed ||= shows;
      return answer;
    },
  };
  let names = 0;
  const means = {
    now: () => performance.now(),
    pause: async (ms: number) => void (await sleep(ms)),
    unique: () => {
      names += 1;
      return String(names);
    },
    interrupted: () => calls >= (options.endsAfter ?? Infinity),
  };
  const machine = options.creates === false ? null : MACHINE;
  const subject = { provider: counted, stranger, tag: "drover-pool:p", machine };
  const report = await testProvider(
    { ...subject, consistencyMs: 200, patience: options.patience ?? PATIENCE },
    means,
  );
  const alive = cloud.list().filter(({ state }) => state !== "terminated");
  return { ...report, alive: alive.map(({ id }) => id) };
}

const brokenOf = ({ findings }: Report) =>
  findings.filter(({ verdict }) => verdict === "broken").map(({ name }) => name);
const unclearOf = ({ findings }: Report) =>
  findings.filter(({ verdict }) => verdict === "unclear").map(({ name }) => name);

describe("a provider that keeps the contract passes", () => {
  it("the loopback cloud, with a machine that is real, and is gone afterwards", async () => {
    const { cloud } = await startCloud();
    const report = await tested(cloud, { patience: REAL_PATIENCE });
    expect(report.findings.filter(({ verdict }) => verdict !== "kept")).toEqual([]);
    expect(report.findings.map(({ name }) => name)).toEqual(CHECKS.map(({ name }) => name));
    expect(report.alive).toEqual([]);
    expect(report.left).toEqual([]);
    expect(report.measures.listConsistencyMs).toBeLessThan(1_000);
  });

  it("without creating anything, if nothing is to be created", async () => {
    const cloud = new PaperCloud();
    const report = await tested(cloud, { creates: false });
    expect(report.findings.filter(({ verdict }) => verdict !== "kept")).toEqual([]);
    expect(cloud.list()).toEqual([]);
  });

  it("in pages, and with a short storm", async () => {
    const cloud = new PaperCloud();
    for (let machine = 0; machine < 51; machine += 1) {
      const tags = { "drover-pool": "p" };
      cloud.create({ ...MACHINE, token: `t${machine}`, name: `m${machine}`, tags });
    }
    const refusedCalls = { times: 2, class: "rate_limit", retryAfterMs: 20 };
    const report = await tested(cloud, { faults: { pageSize: 50, refusedCalls } });
    expect(report.findings.filter(({ verdict }) => verdict !== "kept")).toEqual([]);
    expect(report.alive).toHaveLength(51);
  });
});

const storm = (cls: string) => ({ refusedCalls: { times: 1_000, class: cls, retryAfterMs: 1 } });

describe("of a provider that lies the suite names the promise that it breaks, and no other", () => {
  it.each<[string, string, Options]>([
    ["loses the answer to a create", "create-answered", { faults: { lostCreateAnswers: 1 } }],
    ["knows no tokens", "create-once", { faults: { duplicatedCreates: 2 } }],
    ["lists late", "list-in-time", { faults: { listDelayMs: 700 } }],
    ["never lists what it has made", "list-in-time", { faults: { listDelayMs: 4_000 } }],
    ["omits what exists from a listing", "list-steady", { faultsOnceListed: { omittingListings: 1 } }],
    ["does not vouch for a listing", "list-whole", { faults: { unvouchedListings: 1 } }],
    [
      "has machines that never come to run (pool.md#provider-boots)",
      "boots",
      { faults: { wedgedState: "pending" } },
    ],
    [
      "says of a living machine that it is not there",
      "destroy-known",
      { faultsOnceListed: { unfoundDestroys: 1 } },
    ],
    ["does not destroy", "destroy-heeded", { faultsOnceListed: { ignoredDestroys: 1 } }],
    [
      "has machines that never come to their end (pool.md#provider-ends)",
      "destroy-ends",
      { faultsOnceListed: { stuckDestroys: 1 } },
    ],
    ["has a clock that jumps (pool.md#provider-ids)", "list-fixed", { faults: { clockStepMs: 3_600_000 } }],
    ["refuses all calls for a while that does not end, with 429", "answers", { faults: storm("rate_limit") }],
    ["refuses all calls for a while that does not end, with 503", "answers", { faults: storm("temporary") }],
  ])("%s: %s", async (_lie, promise, options) => {
    const report = await tested(new PaperCloud(), options);
    expect(brokenOf(report), JSON.stringify(report.findings, null, 1)).toEqual([promise]);
    // Whatever it does, nothing is left, or it is said that it is.
    if (options.faults === undefined || !("listDelayMs" in options.faults)) expect(report.alive).toEqual([]);
  });

  const [paper, other, careless] = [new PaperCloud(), new PaperCloud(), new PaperCloud()];
  paper.create({ ...MACHINE, token: "t", name: "m", tags: { "drover-pool": "p" } });
  const like = (honest: Cloud, lies: Partial<Cloud>): Cloud => ({
    create: (request) => honest.create(request),
    list: (tag) => honest.list(tag),
    destroy: (id) => honest.destroy(id),
    retag: (id, tags) => honest.retag(id, tags),
    ...lies,
  });
  const refuse = () => {
    throw new ProviderError(400, "invalid", "no such id");
  };
  it.each<[string, string, Cloud, Options]>([
    ["lets anybody in", "secret", new PaperCloud(), { strangerSecret: SECRET }],
    ["looks at no tag", "list-tag", like(paper, { list: () => paper.list() }), { creates: false }],
    ["refuses to destroy nobody", "destroy-nobody", like(paper, { destroy: refuse }), { creates: false }],
    [
      "knows a token by all that comes with it",
      "create-bound",
      like(other, {
        create: (request) => other.create({ ...request, token: request.token + request.userData }),
      }),
      {},
    ],
    [
      "makes a machine by a call that it refuses",
      "create-refused",
      like(careless, {
        create: (request) => {
          const made = careless.create({ ...request, instanceType: MACHINE.instanceType });
          if (request.instanceType === MACHINE.instanceType) return made;
          throw new ProviderError(400, "invalid", `no type ${request.instanceType}`);
        },
      }),
      {},
    ],
    [
      "gives machines another type",
      "create-as-asked",
      like(paper, { create: (request) => paper.create({ ...request, instanceType: "dearer" }) }),
      {},
    ],
  ])("%s: %s", async (_lie, promise, cloud, options) => {
    expect(brokenOf(await tested(cloud, options))).toEqual([promise]);
  });

  it("pages that shift while machines end (cases.md#case-19)", async () => {
    const cloud = new PaperCloud();
    for (let machine = 0; machine < 500; machine += 1) {
      const tags = { "drover-pool": "p" };
      cloud.create({ ...MACHINE, token: `t${machine}`, name: `m${machine}`, tags });
    }
    const living = () => cloud.list().filter(({ state }) => state !== "terminated");
    const shrinking = like(cloud, { list: (tag) => (tag?.name === "drover-pool" ? living() : []) });
    const report = await tested(shrinking, { creates: false, faults: { pageSize: 50, shiftingPages: true } });
    expect(brokenOf(report)).toEqual(["list-whole"]);
  });

  it("what cannot be judged is not called kept", async () => {
    const report = await tested(new PaperCloud(), { faults: storm("temporary") });
    expect(unclearOf(report)).toEqual(CHECKS.map(({ name }) => name).filter((name) => name !== "answers"));
  });

  it("a create that is refused leaves nothing to judge, and says why", async () => {
    const refusedCreates = { times: 100, class: "quota" };
    const report = await tested(new PaperCloud(), { faults: { refusedCreates } });
    expect(brokenOf(report)).toEqual([]);
    const create = report.findings.find(({ name }) => name === "create-answered");
    expect(create).toMatchObject({ verdict: "unclear", evidence: expect.stringContaining("quota") });
  });
});

const placed = (zone: string): Instance => ({
  id: `of-${zone}`,
  name: "m",
  address: null,
  state: "running",
  instanceType: "local",
  tags: { "drover-pool": "p" },
  createdAt: "2026-01-01T00:00:00Z",
  zone,
});
/** Three listings, of which the middle one lacks the machine in zone b. */
const aroundGap = (partial: object): Transcript => {
  const whole = { kind: "listed" as const, beganAt: 0, items: [placed("a"), placed("b")] };
  const list = (request: number, answer: ListAnswer): Call => {
    return {
      call: "list",
      by: "owner",
      tag: "drover-pool:p",
      request,
      beganAt: request,
      endedAt: request,
      answer,
    };
  };
  const gap = { ...whole, items: [placed("a")], ...partial };
  return {
    calls: [list(1, whole), list(2, gap), list(3, whole)],
    wanted: null,
    ownTag: "drover-provider-test:t",
    unusedTag: "drover-provider-test:nobody",
    missingId: "nobody",
    consistencyMs: 0,
    patience: PATIENCE,
  };
};

describe("a listing that lacks a zone is whole for all other zones", () => {
  it.each([
    ["of all zones lacks a machine", {}, "broken"],
    ["that may lack any machine", { partial: { why: "a page was refused" } }, "kept"],
    ["without the machine's zone", { partial: { why: "b is not reachable", zones: ["b"] } }, "kept"],
    ["without another zone", { partial: { why: "c is not reachable", zones: ["c"] } }, "broken"],
  ])("a listing %s", (_which, partial, verdict) => {
    const steady = judge(aroundGap(partial)).find(({ name }) => name === "list-steady");
    expect(steady).toMatchObject({ verdict });
  });
});

describe("what was made is ended, however the test ends", () => {
  it.each([1, 5, 6, 7, 8, 9])("when it is told to end after %i listings", async (endsAfter) => {
    const report = await tested(new PaperCloud(), { endsAfter });
    expect(report.alive).toEqual([]);
    expect(report.left).toEqual([]);
  });

  it("what is listed in no way that can be read may be left, and that is said", async () => {
    const cloud = new PaperCloud();
    const odd = (tag?: { name: string; value: string }) =>
      cloud.list(tag).map((one) => ({ ...one, state: "hibernating" as "running" }));
    const create: Cloud["create"] = (request) => ({ ...cloud.create(request), state: "odd" as "running" });
    const destroy = () => true;
    const retag = () => true;
    const report = await tested({ create, list: odd, destroy, retag }, {});
    expect(brokenOf(report)).toContain("list-whole");
    expect(report.left).toBeUndefined();
  });

  it("what cannot be ended is named", async () => {
    const report = await tested(new PaperCloud(), { faults: { ignoredDestroys: 1_000 } });
    expect(report.left).toEqual(report.alive);
    expect(report.left).toHaveLength(1);
  });
});

it("each check names its rule and its promise once", () => {
  expect(new Set(CHECKS.map(({ name }) => name)).size).toBe(CHECKS.length);
  for (const { rule, promise } of CHECKS) {
    expect(rule).toMatch(/\w+\.md/);
    expect(promise).not.toBe("");
  }
});
