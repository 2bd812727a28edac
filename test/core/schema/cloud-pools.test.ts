import { describe, expect, test } from "vitest";
import { PutPoolConfig } from "../../../src/schema/pool.ts";
import { type ProviderKind, TRAITS } from "../../../src/shared/cloud/kinds.ts";
import { poolNameFault } from "../../../src/shared/cloud/names.ts";

// What a cloud cannot do is refused when the pool is put, by the name of its field (clouds.md).

const credentials = { secret: "cloud" };
const CLOUDS = {
  hetzner: { kind: "hetzner", credentials },
  ec2: { kind: "ec2", credentials, region: "eu-west-1" },
  fly: { kind: "fly", credentials, app: "drover-ci" },
  gce: { kind: "gce", credentials, project: "drover-ci", zones: ["europe-west1-b"] },
} as const;
type Cloud = keyof typeof CLOUDS;

/** What is wrong with a pool: `/field: why`. */
function faultsOf(cloud: Cloud, provider: object = {}, rest: object = {}): string[] {
  const { error } = PutPoolConfig.safeParse({
    provider: { ...CLOUDS[cloud], ...provider },
    image: "debian-12",
    instanceTypes: { small: { vcpus: 2, memory: "4GiB" } },
    ...rest,
  });
  return (error?.issues ?? []).map(({ path, message }) => `/${path.join("/")}: ${message}`);
}

test.each(Object.keys(CLOUDS) as Cloud[])("a pool on %s needs little: what is right is taken", (cloud) => {
  expect(faultsOf(cloud)).toEqual([]);
});

test.each<[string, Cloud, object, object, string]>([
  ["no image", "fly", {}, { image: "" }, "/image: must be set: machines on Fly Machines need an image"],
  ["no type", "gce", {}, { instanceTypes: {} }, "/instanceTypes: must name at least one instance type"],
  [
    "a region that is none",
    "ec2",
    { region: "Ireland" },
    {},
    "/provider/region: must be the name of a region",
  ],
  [
    "a subnet that is none",
    "ec2",
    { subnets: { a: "vpc-1" } },
    {},
    "/provider/subnets/a: must be the id of a",
  ],
  [
    "no way out",
    "ec2",
    { publicIp: false },
    {},
    "/provider/subnets: must be set with `publicIp: false`: a default subnet has no other way out",
  ],
  ["no zone", "gce", { zones: [] }, {}, "/provider/zones: must name a zone"],
  ["a zone twice", "gce", { zones: ["a", "a"] }, {}, "/provider/zones: must not name anything twice"],
  ["no location", "hetzner", { locations: [] }, {}, "/provider/locations: must name a location"],
  ["an app that is none", "fly", { app: "My App" }, {}, "/provider/app: must be the name of an app"],
  [
    "the text of credentials",
    "fly",
    { credentials: "fm2_x" },
    {},
    "/provider/credentials: must name a secret",
  ],
  [
    "a binding of Drover's own",
    "hetzner",
    { credentials: { binding: "DROVER_SIGNING_KEY" } },
    {},
    "/provider/credentials/binding: must be the name of a binding that begins with `CLOUD_`",
  ],
  ["an unknown field", "hetzner", { datacenter: "fsn1-dc14" }, {}, "/provider: "],
])("%s is refused, and named", (_what, cloud, provider, rest, fault) => {
  expect(faultsOf(cloud, provider, rest).join("\n")).toContain(fault);
});

test.each<[Cloud, string[]]>([
  [
    "hetzner",
    ["/instanceTypes/small/preemptible: must be left out: Drover makes no such machines on Hetzner Cloud"],
  ],
  [
    "fly",
    ["/instanceTypes/small/preemptible: must be left out: Drover makes no such machines on Fly Machines"],
  ],
  ["ec2", []],
  ["gce", []],
])("spot machines on %s: %j", (cloud, faults) => {
  const small = { vcpus: 2, memory: "4GiB", preemptible: true };
  expect(faultsOf(cloud, {}, { instanceTypes: { small } })).toEqual(faults);
});

describe("case 73: names that a cloud does not accept", () => {
  test.each<[string, ProviderKind, boolean]>([
    ["ci", "gce", true],
    ["3d", "gce", false],
    ["3d", "hetzner", true],
    ["build-", "gce", false],
    ["build-", "hetzner", false],
    ["build-", "ec2", false],
    ["build-", "fly", false],
    ["build-", "http", true],
  ])("a pool %s on %s: %s", (pool, kind, isTaken) => {
    expect(poolNameFault(kind, pool) === null).toBe(isTaken);
    expect(poolNameFault(kind, pool) ?? TRAITS[kind].title).toContain(TRAITS[kind].title);
  });

  test.each<[Cloud, Record<string, string>, boolean]>([
    ["hetzner", { team: "ci" }, true],
    ["hetzner", { team: "c i" }, false],
    ["hetzner", { team: "ci-" }, false],
    ["hetzner", { team: "" }, true],
    ["ec2", { "cost center": "a b" }, true],
    ["ec2", { "aws:x": "y" }, false],
    ["gce", { team: "Ci" }, false],
    ["gce", { Team: "ci" }, false],
    ["gce", { team: "c_i" }, true],
    ["fly", { team: "a b" }, true],
    ["fly", { team: "a\nb" }, false],
  ])("on %s the tag %j: %s", (cloud, tags, isTaken) => {
    expect(faultsOf(cloud, {}, { tags }).length === 0).toBe(isTaken);
  });
});
