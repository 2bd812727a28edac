import { describe, expect, test } from "vitest";
import { type Kind, suits } from "../../../src/core/pool/plan/asks.ts";
import { plan } from "../../../src/core/pool/plan/plan.ts";
import type { InstanceType, PoolConfigInput } from "../../../src/schema/pool.ts";
import type { MachineAsks } from "../../../src/schema/run/machine-asks.ts";
import { configured, createsOf, placesOf, T0, waiting, workerRow } from "../support/pool.ts";

// What a run asks of its machine besides room (clouds.md#asks).

const plain: InstanceType = { vcpus: 4, memory: "1GiB", disk: "0", gpus: 0 };
const kind = (type: Partial<InstanceType>, more: Partial<Kind> = {}): Kind => ({
  type: { ...plain, ...type },
  zone: "eu-west-1a",
  isProvided: true,
  ...more,
});
const h100 = { gpus: 1, gpu: { vendor: "nvidia", model: "H100", memory: "80GiB" } };

test.each<[string, MachineAsks | undefined, Kind, boolean]>([
  ["nothing", undefined, kind({}), true],
  ["no interruption, of a spot machine", { spot: "never" }, kind({ preemptible: true }), false],
  ["no interruption, of another one", { spot: "never" }, kind({}), true],
  ["spot alone, of another one", { spot: "only" }, kind({}), false],
  ["spot alone, of a spot machine", { spot: "only" }, kind({ preemptible: true }), true],
  ["an architecture, of a type that does not say", { arch: "x64" }, kind({}), true],
  ["another architecture", { arch: "arm64" }, kind({}), false],
  ["its architecture", { arch: "arm64" }, kind({ arch: "arm64" }), true],
  ["its zone", { zones: ["eu-west-1a"] }, kind({}), true],
  ["its region", { zones: ["us-east-1", "eu-west-1"] }, kind({}), true],
  ["a region whose name begins so", { zones: ["eu-west-1"] }, kind({}, { zone: "eu-west-10a" }), false],
  ["another zone", { zones: ["eu-west-1b"] }, kind({}), false],
  ["a zone, where the provider chose", { zones: ["eu-west-1"] }, kind({}, { zone: null }), false],
  ["any GPU", { gpu: {} }, kind(h100), true],
  ["any GPU, where there is none", { gpu: {} }, kind({}), false],
  ["its GPU, in other letters", { gpu: { vendor: "NVIDIA", model: "h100" } }, kind(h100), true],
  ["another GPU", { gpu: { model: "A100" } }, kind(h100), false],
  ["a smaller GPU", { gpu: { memory: "40GiB" } }, kind(h100), true],
  ["a bigger GPU", { gpu: { memory: "141GiB" } }, kind(h100), false],
  ["no interruption, of a self-hosted machine", { spot: "never" }, kind({}, { isProvided: false }), true],
  ["spot alone, of a self-hosted machine", { spot: "only" }, kind({}, { isProvided: false }), false],
  ["an architecture, of a self-hosted machine", { arch: "x64" }, kind({}, { isProvided: false }), false],
])("a run asks for %s", (_what, asks, machine, suited) => {
  expect(suits(asks, machine)).toBe(suited);
});

const TYPES: Partial<PoolConfigInput> = {
  instanceTypes: {
    cheap: { ...plain, price: 1 },
    arm: { ...plain, price: 2, arch: "arm64" },
    gpu: { ...plain, price: 9, ...h100 },
  },
};

describe("a machine that does not suit a run", () => {
  const arm = () => waiting("a", { asks: { arch: "arm64" } });

  test("is not requested for it: the dearer one that does is", () => {
    expect(createsOf(plan(configured(TYPES, [arm()]), T0))).toEqual(["arm"]);
  });

  test("is not used for it, although it is idle", () => {
    const idle = workerRow("w1", "ready", { instanceType: "cheap", type: plain });
    expect(placesOf(configured(TYPES, [arm()], [idle]))).toEqual([]);
  });

  test("does not count as a way to serve it", () => {
    const run = waiting("a", { asks: { gpu: { model: "B200" } } });
    expect(createsOf(plan(configured(TYPES, [run]), T0))).toEqual([]);
  });

  test("serves the runs behind it that ask for nothing", () => {
    const idle = workerRow("w1", "ready", { instanceType: "cheap", type: plain });
    const runs = [waiting("a", { asks: { gpu: { model: "B200" } } }), waiting("b")];
    expect(placesOf(configured(TYPES, runs, [idle]))).toEqual(["b@w1"]);
  });
});
