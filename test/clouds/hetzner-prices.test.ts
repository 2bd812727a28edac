import { rmSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { makeHome, startDrover } from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";
import { fault, HetznerCloud, serveHetzner, startHetzner, TOKEN } from "./hetzner-fake.ts";
import { providerOf } from "./support/hetzner.ts";

// What servers of Hetzner cost, as Hetzner says (clouds/hetzner.md#prices).

it("each type has a price in each location, net", async () => {
  const fake = await startHetzner();
  const answer = await providerOf(fake).prices?.([
    { type: "cx22", spot: false },
    { type: "cx99", spot: false },
  ]);
  const prices = ["fsn1", "nbg1", "hel1"].map((zone) => ({ type: "cx22", zone, spot: false, price: 0.006 }));
  expect(answer).toMatchObject({ kind: "prices", prices: expect.arrayContaining(prices) });
  expect(JSON.stringify(answer)).not.toContain("cx99");
  expect(fake.cloud.calls.map(({ path }) => path)).toEqual(["/v1/server_types?per_page=50&page=1"]);
});

it("types on later pages have a price, too", async () => {
  const fake = await startHetzner();
  fake.cloud.mostPerPage = 1;
  const answer = await providerOf(fake).prices?.([
    { type: "cx22", spot: false },
    { type: "cax11", spot: false },
  ]);
  expect(answer).toMatchObject({
    kind: "prices",
    prices: expect.arrayContaining([expect.objectContaining({ type: "cax11", zone: "fsn1" })]),
  });
  expect(fake.cloud.calls).toHaveLength(3);
});

it("a failure and an answer that cannot be read name no price", async () => {
  const fake = await startHetzner();
  fake.cloud.faults.errors.push(fault(503, "unavailable"));
  const ask = () => providerOf(fake).prices?.([{ type: "cx22", spot: false }]);
  expect(await ask()).toMatchObject({ kind: "failed", failure: { class: "temporary" } });
  fake.cloud.faults.bodies.push("html");
  expect(await ask()).toMatchObject({ kind: "failed" });
});

it("a pool without prices shows the worst bill by Hetzner's own, before its first machine", async () => {
  const home = makeHome("prices");
  const cloud = new HetznerCloud({ bootMs: 500, endMs: 500 });
  const { url, stop } = await serveHetzner(cloud);
  const up = await startDrover(home);
  onTestFinished(async () => {
    await up.stop();
    stop();
    rmSync(home, { recursive: true, force: true });
  });
  await up.json(200, "PUT", "/v1/secrets/cloud", { value: TOKEN, use: "provider" });
  await up.json(201, "PUT", "/v1/pools/ci", {
    provider: { kind: "hetzner", credentials: { secret: "cloud" }, endpoint: url, locations: ["fsn1"] },
    image: "ubuntu-24.04",
    instanceTypes: {
      cx22: { vcpus: 2, memory: "4GiB" },
      big: { providerType: "cpx31", vcpus: 4, memory: "8GiB" },
    },
    maxInstances: 3,
  });
  const spend = await until("the prices are known", async () => {
    const view = await up.json(200, "GET", "/v1/pools/ci");
    return view.spend.worstPerHour === null ? undefined : view.spend;
  });
  expect(spend).toEqual({ perHour: 0, unpriced: 0, worstPerHour: expect.closeTo(3 * 0.0221) });
});
