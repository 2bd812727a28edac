import { describe, expect, it } from "vitest";
import { httpProvider } from "../../src/providers/http.ts";
import { machine } from "../support/provider.ts";
import { creation, SECRET, startCloud } from "./support/cloud.ts";
import { until } from "./support/scratch.ts";

const FOREVER = "sleep 1000\n";
const NO_FAULTS = {
  bootDelayMs: 0,
  deadBoots: 0,
  lostCreateAnswers: 0,
  refusedCreates: { times: 0, class: "temporary" },
  duplicatedCreates: 0,
  refusedCalls: { times: 0, class: "temporary" },
  listDelayMs: 0,
  omittingListings: 0,
  unvouchedListings: 0,
  pageSize: 0,
  shiftingPages: false,
  wedgedState: null,
  clockStepMs: 0,
  ignoredDestroys: 0,
  unfoundDestroys: 0,
  stuckDestroys: 0,
};

/** A loopback cloud with faults, and the provider by which the control plane calls it. */
async function startFaulty(faults: object) {
  const cloud = await startCloud();
  expect(await cloud.call("PUT", "/faults", faults)).toMatchObject({ status: 200, body: faults });
  const url = `http://127.0.0.1:${cloud.port}`;
  const provider = httpProvider({ kind: "http", url, secret: SECRET }, () => Date.now());
  const ids = async () => {
    const answer = await provider.list("drover-pool:p", []);
    return answer.kind === "listed" ? answer.items.map(({ id }) => id) : answer;
  };
  return { ...cloud, provider, ids };
}

const wanted = (token: string, userData = FOREVER) => creation(token, userData, { "drover-pool": "p" });

async function idOf(answer: Promise<{ kind: string; instance?: { id: string } }>): Promise<string> {
  const { instance } = await answer;
  if (instance === undefined) throw new Error(`not created: ${JSON.stringify(await answer)}`);
  return instance.id;
}

describe("the loopback cloud lies and fails as it is told (issue 3, item 7)", () => {
  it("has no faults until it is told to, and none any more after an empty list", async () => {
    const { call } = await startCloud();
    expect(await call("GET", "/faults")).toEqual({ status: 200, body: NO_FAULTS });
    await call("PUT", "/faults", { deadBoots: 2, listDelayMs: 5 });
    expect(await call("PUT", "/faults", {})).toEqual({ status: 200, body: NO_FAULTS });
  });

  it.each([{ deadBoots: -1 }, { deadBoots: "1" }, { slowness: 1 }, { refusedCreates: { class: "mood" } }])(
    "refuses %j",
    async (faults) => {
      const { call } = await startCloud();
      expect(await call("PUT", "/faults", faults)).toMatchObject({ status: 400, body: { class: "invalid" } });
      expect(await call("GET", "/faults")).toEqual({ status: 200, body: NO_FAULTS });
    },
  );

  it("asks who switches faults", async () => {
    const { call } = await startCloud();
    const answer = await call("PUT", "/faults", { deadBoots: 1 }, { authorization: "Bearer wrong" });
    expect(answer.status).toBe(401);
  });

  const refusals = [
    ["rate_limit", 1_500],
    ["capacity", undefined],
    ["quota", undefined],
    ["temporary", 2_000],
    ["invalid", undefined],
  ] as const;
  it.each(refusals)(
    "refuses a create with %s, and says so to the control plane",
    async (cls, retryAfterMs) => {
      const times = 1;
      const refusedCreates = { times, class: cls, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
      const { provider, ids } = await startFaulty({ refusedCreates });
      const failure = {
        class: cls,
        text: expect.stringContaining(cls),
        // The cloud itself has failed: nobody knows what it has made.
        ...(cls !== "temporary" && { refused: true }),
        ...(retryAfterMs && { retryAfterMs }),
      };
      expect(await provider.create(wanted("w1"))).toEqual({ kind: "failed", failure });
      expect(await ids()).toEqual([]);
      expect(await provider.create(wanted("w1"))).toMatchObject({ kind: "created" });
    },
  );

  it("makes a machine and loses the answer: the same token finds the same one", async () => {
    const { provider, ids } = await startFaulty({ lostCreateAnswers: 1 });
    expect(await provider.create(wanted("w1"))).toMatchObject({ failure: { class: "temporary" } });
    const [made, ...others] = [await ids()].flat();
    expect(others).toEqual([]);
    expect(await idOf(provider.create(wanted("w1")))).toBe(made);
  });

  it("boots late, and never", async () => {
    const { call, provider, written, ids } = await startFaulty({ deadBoots: 1, bootDelayMs: 1 });
    const dead = await idOf(provider.create(wanted("w1", "echo booted\n")));
    const late = await idOf(provider.create(wanted("w2", "echo booted; sleep 1000\n")));
    expect(await written(late, "console.log")).toBe("booted");
    // It runs, and has not ended as the script of its user data would have.
    expect(await ids()).toEqual([dead, late]);
    expect((await call("GET", "/instances")).body).toMatchObject({ items: [{ state: "running" }, {}] });
  });

  it("lists late", async () => {
    const { call, provider, ids } = await startFaulty({ listDelayMs: 3_600_000 });
    const id = await idOf(provider.create(wanted("w1")));
    expect(await ids()).toEqual([]);
    await call("PUT", "/faults", { listDelayMs: 1 });
    await until("it is listed", async () => [await ids()].flat().includes(id));
  });

  it("omits what exists as often as it was told", async () => {
    const { provider, ids } = await startFaulty({ omittingListings: 2 });
    const id = await idOf(provider.create(wanted("w1")));
    expect([await ids(), await ids(), await ids()]).toEqual([[], [], [id]]);
  });

  it("destroys nothing as often as it was told", async () => {
    const { provider, state } = await startFaulty({ ignoredDestroys: 1 });
    const id = await idOf(provider.create(wanted("w1")));
    expect(await provider.destroy(machine(id))).toEqual({ kind: "asked" });
    expect(await state(id)).toBe("running");
    await provider.destroy(machine(id));
    await until("it is terminated", async () => (await state(id)) === "terminated");
  });
});
