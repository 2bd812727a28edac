import { execFile } from "node:child_process";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { readNotice } from "../../agent/core/reports/notice.ts";
import { EC2_NOTICE } from "../../src/providers/ec2/notice.ts";
import { formatDuration } from "../../src/shared/duration.ts";
import { scratchDir } from "../local/support/scratch.ts";
import { startEc2 } from "./ec2-fake.ts";
import { type FakeMetadata, startMetadata } from "./ec2-fake-imds.ts";
import { knownOf, listed, made, providerOf, START, SUBNETS, wanted } from "./support/ec2.ts";

// Spot machines of EC2: their requests, their prices, and the notice of their end (clouds/ec2.md#notice).

const run = promisify(execFile);

/** Where a program is. Undefined: nowhere. */
function which(name: string): string | undefined {
  return (process.env.PATH ?? "").split(":").flatMap((dir) => {
    const file = join(dir, name);
    return existsSync(file) ? [file] : [];
  })[0];
}
const WGET = which("wget");

/** A folder with these programs: a script, or a link to the program. */
function toolsWith(tools: Record<string, string | undefined>): string {
  const dir = scratchDir();
  for (const [name, tool = ""] of Object.entries(tools)) {
    if (tool.startsWith("#!")) writeFileSync(join(dir, name), tool, { mode: 0o755 });
    else symlinkSync(tool, join(dir, name));
  }
  return dir;
}
const started = () => startEc2({ startAt: START });

describe("a spot machine", () => {
  it("case 39: has a request that is used once, and closed when it has ended, however it ends", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const [ours, taken, off] = await Promise.all(
      ["w-1", "w-2", "w-3"].map((token) => made(provider, token, { spot: true })),
    );
    if (ours === undefined || taken === undefined || off === undefined) throw new Error("no machines");
    fake.cloud.advance(30_000);
    const requests = [...fake.cloud.spotRequests.values()];
    expect(requests.map(({ type, state }) => [type, state])).toEqual(Array(3).fill(["one-time", "active"]));
    expect(requests.map(({ tags }) => tags["drover-pool"])).toEqual(["p", "p", "p"]);
    await provider.destroy(knownOf(ours));
    fake.cloud.interrupt(taken.id);
    fake.cloud.powerOff(off.id);
    fake.cloud.advance(300_000);
    expect(requests.map(({ state }) => state)).toEqual(["closed", "closed", "closed"]);
    expect(fake.cloud.leftVolumes).toEqual([]);
  });

  it("that is refused for lack of room leaves no request", async () => {
    const fake = await started();
    fake.cloud.faults.noCapacity.add("m7i.large@eu-west-1a:spot");
    const provider = providerOf(fake);
    const where = { zone: "eu-west-1a" };
    const text = expect.stringContaining("no Spot capacity");
    expect(await provider.create(wanted("w-1", { spot: true, ...where }))).toMatchObject({
      failure: { class: "capacity", scope: "offer", refused: true, text },
    });
    expect(fake.cloud.spotRequests.size).toBe(0);
    // On demand there is room.
    expect(await made(provider, "w-2", where)).toMatchObject({ spot: false });
  });

  it("case 46: that is taken away tells so, while it ends and afterwards", async () => {
    const fake = await started();
    const provider = providerOf(fake);
    const { id } = await made(provider, "w-1", { spot: true });
    fake.cloud.advance(30_000);
    fake.cloud.interrupt(id);
    fake.cloud.advance(110_000);
    expect((await listed(provider)).items).toMatchObject([{ state: "running", spot: true }]);
    const fault = { class: "capacity", scope: "offer", text: expect.stringContaining("Spot interruption") };
    fake.cloud.advance(15_000);
    expect((await listed(provider)).items).toMatchObject([{ state: "stopping", fault }]);
    fake.cloud.advance(60_000);
    expect((await listed(provider)).items).toMatchObject([
      { state: "terminated", fault, endedAt: "2026-11-22T10:13:42Z" },
    ]);
  });
});

describe("spot prices", () => {
  const prices = async (config: object, types: { type: string; spot: boolean }[]) => {
    const fake = await started();
    const answer = await providerOf(fake, config).prices?.(types);
    return { answer, calls: fake.cloud.calls.length };
  };

  it("are the latest for Linux, by type and zone", async () => {
    const { answer, calls } = await prices({}, [
      { type: "m7i.large", spot: true },
      { type: "m7i.large", spot: true },
      { type: "c7g.large", spot: true },
      { type: "m7i.xlarge", spot: false },
    ]);
    const of = (type: string, zone: string, price: number) => ({
      type,
      zone: `eu-west-1${zone}`,
      spot: true,
      price,
    });
    expect(answer).toEqual({
      kind: "prices",
      prices: [
        of("m7i.large", "a", 0.0312),
        of("m7i.large", "b", 0.0279),
        of("m7i.large", "c", 0.0444),
        of("c7g.large", "a", 0.0301),
      ],
    });
    expect(calls).toBe(1);
  });

  it("are those of zones with a subnet", async () => {
    const { answer } = await prices({ subnets: SUBNETS }, [{ type: "m7i.large", spot: true }]);
    const zones = answer?.kind === "prices" ? answer.prices.map(({ zone }) => zone) : [];
    expect(zones).toEqual(["eu-west-1a", "eu-west-1b"]);
  });

  it("are not asked for if no type is a spot one, since EC2 names no other prices", async () => {
    const { answer, calls } = await prices({}, [{ type: "m7i.large", spot: false }]);
    expect([answer, calls]).toEqual([{ kind: "prices", prices: [] }, 0]);
  });
});

describe("the notice of an interruption", () => {
  const machine: { takenAt: number | undefined } = { takenAt: undefined };
  const metadata = (takenAt?: number): Promise<FakeMetadata> => {
    machine.takenAt = takenAt;
    return startMetadata(() => machine);
  };

  /** Runs the command as the agent does. */
  async function look(
    { url }: { url: string },
    path = process.env.PATH,
  ): Promise<{ code: number; notice: string }> {
    const env = { PATH: path, DROVER_IMDS: url, http_proxy: "http://127.0.0.1:1" };
    try {
      return { code: 0, notice: (await run("/bin/sh", ["-c", EC2_NOTICE], { env })).stdout };
    } catch (error) {
      const { code = -1, stdout = "" } = error as { code?: number; stdout?: string };
      return { code, notice: stdout };
    }
  }

  it("is nothing while there is none", async () => {
    const service = await metadata();
    expect(await look(service)).toEqual({ code: 0, notice: "" });
    expect(service.requests).toEqual(["PUT /latest/api/token", "GET /latest/meta-data/spot/instance-action"]);
  });

  it.each([
    ["a usual day", "2026-11-22T10:13:12Z", 118, "1m58s"],
    ["the first of a year", "2027-01-01T00:00:00Z", 90, "1m30s"],
    ["a leap day", "2028-02-29T23:59:59Z", 1, "1s"],
    ["the day after it", "2028-03-01T00:00:08Z", 9, "9s"],
    ["the day after a February without one", "2100-03-01T00:01:00Z", 120, "2m"],
    ["the past", "2026-11-22T10:13:12Z", -60, "0ms"],
    ["a far future, by a clock that is wrong", "2026-11-22T10:13:12Z", 86_400, "2m"],
  ])(
    "says when the machine will be gone, as the agent reads it: %s",
    async (_what, at, inSeconds, goneIn) => {
      const nowSeconds = Date.parse(at) / 1_000 - inSeconds;
      const path = `${toolsWith({ date: `#!/bin/sh\necho ${nowSeconds}\n` })}:${process.env.PATH}`;
      const { code, notice } = await look(await metadata(Date.parse(at)), path);
      const { text, goneInMs = -1 } = readNotice(notice);
      expect([code, text, formatDuration(goneInMs)]).toEqual([
        0,
        `Amazon takes this spot machine away at ${at}`,
        goneIn,
      ]);
    },
  );

  it.runIf(WGET !== undefined)("without `curl` it is asked for by `wget`", async () => {
    const path = toolsWith({ wget: WGET, awk: which("awk"), sed: which("sed"), date: which("date") });
    const service = await metadata();
    expect(await look(service, path)).toEqual({ code: 0, notice: "" });
    machine.takenAt = START;
    const { code, notice } = await look(service, path);
    expect([code, readNotice(notice).text]).toEqual([
      0,
      "Amazon takes this spot machine away at 2026-11-22T10:11:12Z",
    ]);
    service.errors = [500];
    expect(await look(service, path)).toEqual({ code: 1, notice: "" });
  });

  it("without either nothing is said", async () => {
    const path = toolsWith({ awk: which("awk"), sed: which("sed"), date: which("date") });
    expect(await look(await metadata(START), path)).toEqual({ code: 1, notice: "" });
  });

  it("a failure is no notice and no end: the next look takes a new token and goes on", async () => {
    const service = await metadata(START);
    service.errors = [500, 503, 401];
    for (let tries = 0; tries < 3; tries += 1) expect(await look(service)).toEqual({ code: 1, notice: "" });
    service.forget();
    expect((await look(service)).notice).toMatch(/^Amazon takes/);
  });

  it.each([401, 500])("an answer of %i to the look itself is no notice", async (status) => {
    const service = await metadata(START);
    const { errors } = service;
    errors.push(0);
    errors.shift = () => (service.requests.at(-1)?.startsWith("GET") ? status : undefined);
    expect(await look(service)).toEqual({ code: 1, notice: "" });
  });

  it("nobody there is no notice", async () => {
    expect(await look({ url: "http://127.0.0.1:1" })).toEqual({ code: 1, notice: "" });
  });

  it("is the script beside it, and is short enough for user data", () => {
    expect(EC2_NOTICE).toBe(
      readFileSync(join(import.meta.dirname, "../../src/providers/ec2/notice.sh"), "utf8"),
    );
    expect(EC2_NOTICE.length).toBeLessThan(2_048);
  });
});
