// Can this pool make machines of Compute Engine, by what Google says?
import { keyIn } from "../../../src/providers/gce/key.ts";
import type { GceConfig } from "../../../src/schema/pool/providers/clouds.ts";
import { type Fact, type Refusal, refused } from "../facts.ts";
import { CREDENTIALS, type Finding, missing, ok, unknown } from "../finding.ts";
import { GIB, gib, listed, type Real, type Subject, type Wanted } from "../subject.ts";
import {
  FOR_PUBLIC_IP,
  type GceFacts,
  type GceQuotas,
  gceReaders,
  PERMISSIONS,
  readGce,
  readProject,
  regionOf,
} from "./gce-facts.ts";
import { typeFinding } from "./places.ts";

const NEW_KEY = "Make a key: gcloud iam service-accounts keys create key.json --iam-account ACCOUNT";
const PAGE = "docs/clouds/gce.md";
const QUOTAS = "https://console.cloud.google.com/iam-admin/quotas";

/** Reads what Google says, and judges it. Nothing is created or changed (clouds/gce.md#checks). */
export async function checkGce(
  subject: Subject<GceConfig>,
  credentials: string,
  now: () => number,
): Promise<Finding[]> {
  const read = keyIn(credentials);
  if ("failure" in read) return [missing(CREDENTIALS, read.failure.text, NEW_KEY)];
  const readers = await gceReaders(subject.provider, read.key, now);
  if (readers === undefined) return [missing(CREDENTIALS, "its `private_key` cannot sign", NEW_KEY)];
  const project = await readProject(readers);
  const isRefused = "refusal" in project && project.refusal.code !== "forbidden";
  if (isRefused) return [projectRefused(subject.provider, project.refusal)];
  return judgeGce(subject, await readGce(readers, subject, project));
}

function projectRefused({ project }: GceConfig, refusal: Refusal): Finding {
  if (refusal.status !== 404) return refused(CREDENTIALS, refusal, NEW_KEY);
  return missing(
    CREDENTIALS,
    `there is no project ${project}`,
    "Set `project` to one of: gcloud projects list",
  );
}

/** What these facts say about the pool. */
export function judgeGce(subject: Subject<GceConfig>, facts: GceFacts): Finding[] {
  const { provider, wanted } = subject;
  return [
    ok(CREDENTIALS, "Google takes the key"),
    ...permissionFindings(provider, facts),
    zoneFinding(provider, facts.zones),
    ...wanted.map((one) => typeFindingOf(one, provider, facts.types)),
    ...imageFindings(subject, facts.image),
    networkFinding(provider, facts),
    ...quotaFindings(subject, facts.quotas),
  ];
}

function permissionFindings(provider: GceConfig, { granted, project }: GceFacts): Finding[] {
  const check = "permissions";
  const { project: id } = provider;
  const todo = (lacking: string[]) =>
    `Run: gcloud iam roles update drover --project ${id} --add-permissions ${lacking.join(",")}`;
  const needed = provider.publicIp ? [...PERMISSIONS, FOR_PUBLIC_IP] : PERMISSIONS;
  if ("data" in granted) {
    const lacking = needed.filter((name) => !granted.data.includes(name));
    if (lacking.length === 0) return [ok(check, `the account has all ${needed.length}`)];
    return [missing(check, `the account lacks ${listed(lacking)}`, todo(lacking))];
  }
  const cannot = `Run: gcloud services enable cloudresourcemanager.googleapis.com --project ${id}`;
  const unasked = unknown(check, granted.refusal.text, cannot);
  if ("data" in project) return [unasked];
  return [unasked, missing("compute.instances.list", project.refusal.text, todo(["compute.instances.list"]))];
}

function zoneFinding({ project }: GceConfig, zones: GceFacts["zones"]): Finding {
  const check = "zones";
  const strange = [...zones].filter(([, fact]) => isAbsent(fact)).map(([zone]) => zone);
  if (strange.length > 0) {
    const todo = `Set \`zones\` to some of: gcloud compute zones list --project ${project}`;
    return missing(check, `there is no zone ${listed(strange)}`, todo);
  }
  for (const fact of zones.values()) {
    if ("refusal" in fact) return readRefused(check, fact.refusal, "compute.zones.get");
  }
  return ok(check, listed([...zones.keys()]));
}

function typeFindingOf(wanted: Wanted, { zones }: GceConfig, types: GceFacts["types"]): Finding {
  const facts = (wanted.zones ?? zones).map((zone): [string, Fact<Real> | undefined] => {
    return [zone, types.get(`${wanted.type}@${zone}`)];
  });
  const places: string[] = [];
  let real: Real | undefined;
  for (const [zone, fact] of facts) {
    if (fact === undefined) continue;
    if ("data" in fact) {
      places.push(zone);
      real = fact.data;
    } else if (!isAbsent(fact))
      return readRefused(`type ${wanted.name}`, fact.refusal, "compute.machineTypes.get");
  }
  if (real === undefined) {
    const where = listed(facts.map(([zone]) => zone));
    const todo = `Take one of: gcloud compute machine-types list --zones ${facts[0]?.[0] ?? "ZONE"}`;
    return missing(`type ${wanted.name}`, `${wanted.type} is not offered at ${where}`, todo);
  }
  return typeFinding(wanted, { real, places }, zones, []);
}

function imageFindings({ config, wanted }: Subject<GceConfig>, image: GceFacts["image"]): Finding[] {
  const check = "image";
  const todo = "Set `image` to one of: gcloud compute images list --uri";
  if (isAbsent(image)) return [missing(check, `there is no image ${config.image}`, todo)];
  if ("refusal" in image) return [readRefused(check, image.refusal, "compute.images.useReadOnly")];
  const { name, status = "READY", diskSizeGb, architecture } = image.data;
  if (status !== "READY") return [missing(check, `${name} is ${status}`, todo)];
  const arch = architecture === "ARM64" ? "arm64" : "x64";
  const others = wanted.filter((one) => architecture !== undefined && one.arch !== arch);
  if (others.length > 0) {
    return [missing(check, `${name} is for ${arch}, and ${others[0]?.name} is not`, todo)];
  }
  const least = Number(diskSizeGb ?? 0) * GIB;
  const small = wanted.filter(({ diskBytes }) => diskBytes > 0 && diskBytes < least);
  if (small.length === 0) return [ok(check, name)];
  return [
    missing(
      check,
      `${name} needs a disk of ${gib(least)}`,
      `Set \`disk\` of ${listed(small.map((one) => one.name))}`,
    ),
  ];
}

function networkFinding(provider: GceConfig, { network, zones }: GceFacts): Finding {
  const { project, subnetwork } = provider;
  const check = subnetwork === undefined ? "network" : "subnetwork";
  const path = subnetwork ?? provider.network;
  if (isAbsent(network)) {
    const list = subnetwork === undefined ? "networks list" : "networks subnets list";
    return missing(
      check,
      `there is no ${path}`,
      `Set \`${check}\` to one of: gcloud compute ${list} --project ${project}`,
    );
  }
  if ("refusal" in network) return readRefused(check, network.refusal, `compute.${check}s.get`);
  const region = /^regions\/([^/]+)\//.exec(subnetwork ?? "")?.[1];
  const others = [...zones.keys()].filter((zone) => region !== undefined && regionOf(zone) !== region);
  if (others.length === 0) return ok(check, path);
  return missing(check, `it is in ${region}, and ${listed(others)} is not`, "Take those out of `zones`");
}

/** Whether a region has room for all machines of the pool, by its limits and by what is used of them. */
function quotaFindings(subject: Subject<GceConfig>, quotas: GceFacts["quotas"]): Finding[] {
  return [...quotas].map(([region, fact]) => {
    const check = `quota ${region}`;
    if ("refusal" in fact) return readRefused(check, fact.refusal, "compute.regions.get");
    return roomFinding(check, subject, fact.data);
  });
}

function roomFinding(
  check: string,
  { wanted, provider, config }: Subject<GceConfig>,
  quotas: GceQuotas,
): Finding {
  const needs = new Map<string, number>([["INSTANCES", config.maxInstances]]);
  if (provider.publicIp) needs.set("IN_USE_ADDRESSES", config.maxInstances);
  for (const { type, vcpus, spot } of wanted) {
    const metric = cpuMetric(type, spot, quotas);
    needs.set(metric, Math.max(needs.get(metric) ?? 0, vcpus * config.maxInstances));
  }
  const rows = [...needs].flatMap(([metric, need]) => {
    const quota = quotas.find((one) => one.metric === metric);
    return quota === undefined ? [] : [{ metric, need, limit: quota.limit, usage: quota.usage }];
  });
  const words = (of: typeof rows) =>
    of.map(({ metric, need, limit, usage }) => `${metric} ${need} of ${limit} (${usage} used)`).join(", ");
  const short = rows.filter(({ need, limit }) => need > limit);
  if (short.length > 0)
    return missing(check, words(short), `Lower \`maxInstances\` (--max), or ask for more: ${QUOTAS}`);
  const tight = rows.filter(({ need, limit, usage }) => need > limit - usage);
  if (tight.length > 0)
    return unknown(check, words(tight), `It is enough if the pool's own machines use it: ${QUOTAS}`);
  return ok(check, words(rows));
}

/** The quota that a type counts in: that of its family, if there is one. Spot machines may have their own. */
function cpuMetric(type: string, spot: boolean, quotas: GceQuotas): string {
  const has = (name: string) => quotas.some(({ metric, limit }) => metric === name && limit > 0);
  if (spot && has("PREEMPTIBLE_CPUS")) return "PREEMPTIBLE_CPUS";
  const family = `${type.split("-")[0]?.toUpperCase()}_CPUS`;
  return quotas.some(({ metric }) => metric === family) ? family : "CPUS";
}

function isAbsent(fact: Fact<unknown>): boolean {
  return "refusal" in fact && fact.refusal.status === 404;
}

/** What only a check reads need not be permitted. */
function readRefused(check: string, refusal: Refusal, permission: string): Finding {
  if (refusal.status !== 403) return refused(check, refusal);
  return unknown(check, refusal.text, `Add ${permission} to the role to check this: ${PAGE}`);
}
