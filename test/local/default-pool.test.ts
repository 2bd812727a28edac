import { describe, expect, test } from "vitest";
import { defaultPool } from "../../local/default-pool.ts";
import { isSameSize, overcommitText, type Sizes, sizesBeside, sizesOf } from "../../local/pool-size.ts";
import { AllowedContainers } from "../../src/schema/run/container.ts";
import { parseSize } from "../../src/shared/size.ts";

const GIB = 2 ** 30;
const here = (vcpus: number, memory: number, disk = 100) => {
  return { vcpus, memoryBytes: memory * GIB, diskBytes: disk * GIB };
};

describe("P10: by default a pool declares no more than the machine has (loopback.md#size)", () => {
  test.each([
    [1, 1, 5, undefined],
    [2, 24, 100, undefined],
    [16, 64, 900, 4],
    [2, 8, 100, 2],
    [8, 8, 100, 3],
  ])("%i vCPUs, %i GiB, %i GiB of disk, %s machines", (vcpus, memory, disk, machines) => {
    const { maxInstances = 0, instanceTypes } = sizesOf({ machines }, here(vcpus, memory, disk));
    const local = instanceTypes?.local;
    expect(maxInstances).toBe(machines ?? 1);
    const all = (of: number | undefined) => maxInstances * (of ?? Number.POSITIVE_INFINITY);
    expect(all(local?.vcpus)).toBeLessThanOrEqual(vcpus);
    expect(all(parseSize(String(local?.memory)))).toBeLessThanOrEqual(memory * GIB);
    expect(all(parseSize(String(local?.disk)))).toBeLessThanOrEqual(disk * GIB);
    expect(overcommitText({ maxInstances, instanceTypes }, here(vcpus, memory))).toBe(undefined);
    if (machines === undefined) expect(local?.vcpus).toBe(vcpus);
  });

  test("more machines than processors are refused, unless a flag says how large they are", () => {
    expect(() => sizesOf({ machines: 3 }, here(2, 8))).toThrow(
      "This computer has 2 processors, which cannot be divided among 3 machines. Start with --machines 2, " +
        "or with --vcpus 1 as well, to let the machines share.",
    );
    expect(sizesOf({ machines: 3, vcpus: 1 }, here(2, 8)).maxInstances).toBe(3);
  });

  test("the size does not change with each file: the disk is counted in steps", () => {
    const sizes = [100, 95, 90].map((disk) => sizesOf({}, here(2, 8, disk)).instanceTypes?.local?.disk);
    expect(sizes).toEqual(["90GiB", "80GiB", "80GiB"]);
    expect(sizesOf({}, here(2, 8, 5)).instanceTypes?.local?.disk).toBe("4.5GiB");
  });
});

test.each<[flags: object, text: string | undefined]>([
  [{ machines: 3, vcpus: 4, memory: "1GiB" }, "12 processors, and this computer has 2"],
  [{ machines: 2, vcpus: 1, memory: "8GiB" }, "16GiB of memory, and this computer has 8GiB"],
  [
    { vcpus: 4, memory: "9GiB" },
    "4 processors, and this computer has 2; 9GiB of memory, and this computer has 8GiB",
  ],
  [{ machines: 2, vcpus: 1, memory: "4GiB" }, undefined],
])(
  "the flags %j get what they ask for, and that it is too much is said (loopback.md#size)",
  (flags, text) => {
    const sizes = sizesOf(flags, here(2, 8));
    const { machines, ...size } = { machines: 1, ...flags };
    expect(sizes).toMatchObject({ maxInstances: machines, instanceTypes: { local: size } });
    const said = text && `By its flags, the pool \`default\` may have ${text}. Runs share what there is.`;
    expect(overcommitText(sizes, here(2, 8))).toBe(said);
  },
);

describe("machines of an earlier `drover up` that go on (loopback.md#size)", () => {
  const one = sizesOf({}, here(4, 8));
  const two = sizesOf({ machines: 2 }, here(4, 8));
  test.each<[what: string, living: number, earlier: Sizes | undefined, put: Sizes]>([
    ["there are none", 0, one, two],
    ["there is one of another size", 1, one, one],
    ["there is one of this size", 1, two, two],
    ["there is one, and the pool is not known", 1, undefined, two],
  ])("%s", (_what, living, earlier, put) => {
    expect(sizesBeside(living, two, earlier)).toEqual(put);
  });

  test("another disk is no other size, and a size in another unit is none", () => {
    const sizes = (memory: string | number, disk: string): Sizes => {
      return { maxInstances: 1, instanceTypes: { local: { vcpus: 4, memory, disk } } };
    };
    expect(isSameSize(sizes("1GiB", "10GiB"), sizes(GIB, "20GiB"))).toBe(true);
    expect(isSameSize(sizes("1GiB", "10GiB"), sizes("2GiB", "10GiB"))).toBe(false);
    expect(isSameSize(sizes("1GiB", "10GiB"), { maxInstances: 1, instanceTypes: {} })).toBe(false);
  });
});

test("the pool takes the sizes as they are", () => {
  const cloud = { url: "http://127.0.0.1:1", secret: "s" };
  const sizes = sizesOf({ vcpus: 3, memory: "1GiB" }, here(8, 16));
  expect(defaultPool(cloud, sizes)).toMatchObject({ ...sizes, provider: { kind: "http", ...cloud } });
});

test.each<[string, string, string, string[]]>([
  ["both", "/own/ann", "/tmp", ["/own/ann", "/tmp"]],
  ["each once", "/tmp", "/tmp", ["/tmp"]],
  ["not the whole machine", "/", "/tmp", ["/tmp"]],
  ["not what no mount can name", "/own/a:b", "/x/../y", []],
])(
  "containers may have the user's directories: %s (loopback.md#containers)",
  (_what, home, temporary, binds) => {
    const cloud = { url: "http://127.0.0.1:1", secret: "s" };
    const { allowContainers } = defaultPool(cloud, sizesOf({}, here(2, 8)), "1m", { home, temporary });
    expect(allowContainers).toEqual({ binds, hostNetwork: true, gainPrivileges: true });
    expect(AllowedContainers.safeParse(allowContainers).error).toBeUndefined();
  },
);
