import { describe, expect, test } from "vitest";
import { defaultPool } from "../../local/default-pool.ts";
import { parseSize } from "../../src/shared/size.ts";

const CLOUD = { url: "http://127.0.0.1:1", secret: "s" };
const GIB = 2 ** 30;

describe("P10: by default a pool declares no more than the machine has", () => {
  test.each([
    [1, 1, undefined],
    [2, 24, undefined],
    [16, 64, 4],
    [2, 8, 2],
    [3, 8, 2],
  ])("%i vCPUs, %i GiB, %s machines", (vcpus, memory, machines) => {
    const config = defaultPool(CLOUD, { machines }, { vcpus, memoryBytes: memory * GIB });
    const local = config.instanceTypes?.local;
    const declared = config.maxInstances ?? 0;
    expect(declared).toBe(machines ?? 1);
    expect(declared * (local?.vcpus ?? 0)).toBeLessThanOrEqual(vcpus);
    expect(declared * (parseSize(String(local?.memory)) ?? 0)).toBeLessThanOrEqual(memory * GIB);
    if (machines === undefined) expect(local?.vcpus).toBe(vcpus);
  });

  test("flags say otherwise", () => {
    const config = defaultPool(CLOUD, { machines: 3, vcpus: 4, memory: "1GiB" });
    expect(config).toMatchObject({ maxInstances: 3, instanceTypes: { local: { vcpus: 4, memory: "1GiB" } } });
  });
});
