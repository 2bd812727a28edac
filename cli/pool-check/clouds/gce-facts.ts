// What does Google say about a project, as far as a check of a pool needs it?
import { z } from "zod";
import { apiOf } from "../../../src/providers/gce/api.ts";
import { bearerOf, type ServiceAccountKey } from "../../../src/providers/gce/key.ts";
import { veilOf } from "../../../src/providers/veil.ts";
import type { GceConfig } from "../../../src/schema/pool/providers/clouds.ts";
import { type Fact, type Reader, readerOf } from "../facts.ts";
import type { Real, Subject } from "../subject.ts";
import { askedPlaces } from "./places.ts";

const MIB = 2 ** 20;
const MANAGER = "https://cloudresourcemanager.googleapis.com";

/** What Drover does in a project (docs/clouds/gce.md). */
export const PERMISSIONS = [
  ...["create", "delete", "get", "list", "setLabels", "setMetadata"].map(
    (verb) => `compute.instances.${verb}`,
  ),
  "compute.disks.create",
  "compute.subnetworks.use",
  "compute.zoneOperations.get",
];
/** What it also does, if machines have public addresses. */
export const FOR_PUBLIC_IP = "compute.subnetworks.useExternalIp";

const Zone = z.object({ name: z.string(), status: z.string().optional() });
const MachineType = z.object({
  guestCpus: z.int(),
  memoryMb: z.int(),
  architecture: z.string().optional(),
});
const Image = z.object({
  name: z.string(),
  status: z.string().optional(),
  diskSizeGb: z.string().optional(),
  architecture: z.string().optional(),
});
const Region = z.object({
  quotas: z.array(z.object({ metric: z.string(), limit: z.number(), usage: z.number() })).default([]),
});
export type GceImage = z.infer<typeof Image>;
export type GceQuotas = z.infer<typeof Region>["quotas"];

/** All that a check reads. */
export interface GceFacts {
  /** Whether the project answers a listing of machines. */
  project: Fact<unknown>;
  /** Which of the permissions the account has. */
  granted: Fact<string[]>;
  zones: Map<string, Fact<unknown>>;
  /** By `TYPE@ZONE`. */
  types: Map<string, Fact<Real>>;
  image: Fact<GceImage>;
  network: Fact<unknown>;
  /** By the name of the region. */
  quotas: Map<string, Fact<GceQuotas>>;
}

/** What is read with the key of an account, by where it is. */
export interface GceReaders {
  /** Below the project. */
  project: Reader;
  /** Below `compute/v1`. */
  compute: Reader;
  /** The Resource Manager, which knows what an account may do. */
  manager: Reader;
}

/** Readers for the account of this key. Undefined: its key cannot sign. */
export async function gceReaders(
  config: GceConfig,
  key: ServiceAccountKey,
  now: () => number,
): Promise<GceReaders | undefined> {
  const [bearer, other] = [await bearerOf(key, now()), await bearerOf(key, now(), `${MANAGER}/`)];
  if (bearer === undefined || other === undefined) return undefined;
  const veil = veilOf([bearer.slice("Bearer ".length), other.slice("Bearer ".length), key.private_key]);
  const api = apiOf(config, bearer, now);
  const manager = (config.endpoint ?? MANAGER).replace(/\/$/, "");
  return {
    project: readerOf(api, veil),
    compute: readerOf({ ...api, base: api.base.replace(/\/projects\/[^/]+$/, "") }, veil),
    manager: readerOf({ ...api, base: `${manager}/v1`, authorization: other }, veil),
  };
}

/** Whether the project answers a listing of machines. A refusal says that the key or the project is wrong. */
export function readProject({ project }: GceReaders): Promise<Fact<unknown>> {
  return project(z.object({}), {
    method: "GET",
    path: "/aggregated/instances?maxResults=1&returnPartialSuccess=true",
  });
}

/** Reads the rest of what a check needs. */
export async function readGce(
  readers: GceReaders,
  { provider, config, wanted }: Subject<GceConfig>,
  project: GceFacts["project"],
): Promise<GceFacts> {
  const { project: read } = readers;
  const zones: GceFacts["zones"] = new Map();
  for (const zone of askedPlaces(provider.zones, wanted)) {
    zones.set(zone, await read(Zone, { method: "GET", path: `/zones/${zone}` }));
  }
  const types: GceFacts["types"] = new Map();
  for (const { type, zones: own = provider.zones } of wanted) {
    for (const zone of own) {
      if (!types.has(`${type}@${zone}`))
        types.set(`${type}@${zone}`, await readMachineType(read, type, zone));
    }
  }
  const quotas: GceFacts["quotas"] = new Map();
  for (const region of new Set([...zones.keys()].map(regionOf))) {
    const fact = await read(Region, { method: "GET", path: `/regions/${region}` });
    quotas.set(region, "data" in fact ? { data: fact.data.quotas } : fact);
  }
  return {
    project,
    granted: await readGranted(readers, provider),
    zones,
    types,
    image: await readers.compute(Image, { method: "GET", path: `/${imagePath(config.image, provider)}` }),
    network: await read(z.object({}), { method: "GET", path: `/${provider.subnetwork ?? provider.network}` }),
    quotas,
  };
}

/** What a type has in a zone. */
export async function readMachineType(read: Reader, type: string, zone: string): Promise<Fact<Real>> {
  const path = `/zones/${zone}/machineTypes/${encodeURIComponent(type)}`;
  const fact = await read(MachineType, { method: "GET", path });
  if ("refusal" in fact) return fact;
  const { guestCpus, memoryMb, architecture } = fact.data;
  const arch = architecture === "ARM64" ? "arm64" : "x64";
  return { data: { vcpus: guestCpus, memoryBytes: memoryMb * MIB, arch } };
}

async function readGranted({ manager }: GceReaders, config: GceConfig): Promise<GceFacts["granted"]> {
  const permissions = config.publicIp ? [...PERMISSIONS, FOR_PUBLIC_IP] : PERMISSIONS;
  const fact = await manager(z.object({ permissions: z.array(z.string()).default([]) }), {
    method: "POST",
    path: `/projects/${encodeURIComponent(config.project)}:testIamPermissions`,
    body: { permissions },
  });
  return "data" in fact ? { data: fact.data.permissions } : fact;
}

/** The region of a zone: `europe-west1-b` is in `europe-west1`. */
export function regionOf(zone: string): string {
  return zone.slice(0, zone.lastIndexOf("-"));
}

/** The path of an image below `compute/v1`. One without a project is of the pool's project. */
function imagePath(image: string, { project }: GceConfig): string {
  const path = image.replace(/^https:\/\/[^/]+\/compute\/v1\//, "");
  return path.startsWith("projects/") ? path : `projects/${project}/${path}`;
}
