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

// devices.md#asks
describe("a run asks for a GPU of a self-hosted machine", () => {
  const GIB = 2 ** 30;
  const has = (model: string, gib: number, vendor = "nvidia") => ({ vendor, model, memoryBytes: gib * GIB });
  const A100 = has("NVIDIA A100-SXM4-80GB", 79.2);
  const RTX = has("NVIDIA GeForce RTX 4090", 23.9);
  type Has = ReturnType<typeof has>;

  test.each<[string, MachineAsks["gpu"], Has[], boolean]>([
    ["any", {}, [A100], true],
    ["any, where there is none", {}, [], false],
    ["its vendor, in other letters", { vendor: "NVIDIA" }, [A100], true],
    ["another vendor", { vendor: "amd" }, [A100], false],
    ["a word of its model", { model: "a100" }, [A100], true],
    ["words of its model", { model: "RTX 4090" }, [RTX], true],
    ["words that it has in another order", { model: "4090 RTX" }, [RTX], false],
    ["the beginning of a word", { model: "A10" }, [A100], false],
    ["the whole model", { model: "NVIDIA A100-SXM4-80GB" }, [A100], true],
    ["the memory by which it is sold", { memory: "80GiB" }, [A100], true],
    ["that of a GPU of which the driver keeps most", { memory: "16GiB" }, [has("Tesla T4", 14.76)], true],
    ["more memory", { memory: "12GiB" }, [has("RTX 2080 Ti", 11)], false],
    ["memory, where it is not known", { memory: "1GiB" }, [has("GB10", 0)], false],
    ["what both of two kinds have", { vendor: "nvidia", memory: "20GiB" }, [A100, RTX], true],
    ["what one of two kinds has", { model: "A100" }, [A100, RTX], false],
  ])("%s", (_what, gpu, kinds, suited) => {
    const gpus = { count: kinds.length, kinds };
    expect(suits({ gpu }, kind({}, { isProvided: false, gpus }))).toBe(suited);
  });

  test("but not while nothing is known of its devices", () => {
    expect(suits({ gpu: {} }, kind({}, { isProvided: false }))).toBe(false);
  });

  test("and of a provider's machine the type says what it has", () => {
    const gpus = { count: 1, kinds: [has("Tesla T4", 15)] };
    expect(suits({ gpu: { model: "H100" } }, kind(h100, { gpus }))).toBe(true);
  });
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
