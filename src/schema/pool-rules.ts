// Do the fields of a pool's configuration contradict each other?
import { type ProviderKind, TRAITS } from "../shared/cloud/kinds.ts";
import { tagFaults } from "../shared/cloud/names.ts";
import { durationMs } from "../shared/duration.ts";

/** Reports a field that contradicts another field: its path, and what is allowed there. */
type Add = (path: string[], message: string) => void;

/** The fields that the rules check. */
export interface Ruled {
  provider: { kind: ProviderKind; publicIp?: boolean | undefined; subnets?: object | undefined };
  image: string;
  tags: Record<string, string>;
  minInstances: number;
  maxInstances: number;
  probe: { interval: string };
  timeouts: Record<"boot" | "probe" | "lease", string>;
  projects?: Record<string, { maxInstances?: number | undefined }> | undefined;
  shareMachines: boolean;
  instanceTypes: Record<
    string,
    {
      providerType?: string | undefined;
      preemptible?: boolean | undefined;
      fallback?: object | undefined;
      zones?: string[] | undefined;
    }
  >;
}

/** Reports all contradictions in a configuration whose single fields are valid. */
export function addContradictions(config: Ruled, add: Add): void {
  const { minInstances, maxInstances } = config;
  if (minInstances > Math.max(0, maxInstances))
    add(["minInstances"], `must be at most \`maxInstances\`, ${maxInstances}`);
  addProvider(config, add);
  addTimes(config, add);
  addSharedTypes(config, add);
  addSharedMachines(config, add);
}

/** What the kind of the provider demands of the rest (clouds.md#names). */
function addProvider({ provider, image, tags, minInstances, instanceTypes }: Ruled, add: Add): void {
  const { kind } = provider;
  const types = Object.keys(instanceTypes).length;
  if (kind === "none") {
    if (minInstances > 0) add(["minInstances"], "must be 0: the pool has no provider to make machines");
    if (types > 0) add(["instanceTypes"], "must be left out: the pool has no provider to make machines");
    return;
  }
  if (types === 0) add(["instanceTypes"], "must name at least one instance type");
  if (kind === "http") return;
  if (image === "") add(["image"], `must be set: machines on ${TRAITS[kind].title} need an image`);
  for (const [name, text] of tagFaults(kind, tags)) add(["tags", name], text);
  if (kind === "ec2" && provider.publicIp === false && provider.subnets === undefined)
    add(["provider", "subnets"], "must be set with `publicIp: false`: a default subnet has no other way out");
  if (TRAITS[kind].hasSpot !== undefined) return;
  for (const [name, { preemptible }] of Object.entries(instanceTypes)) {
    const message = `must be left out: Drover makes no such machines on ${TRAITS[kind].title}`;
    if (preemptible === true) add(["instanceTypes", name, "preemptible"], message);
  }
}

/** A host reports once in each interval. A timeout must last for one interval, and a lease for two. */
function addTimes({ probe, timeouts }: Ruled, add: Add): void {
  const interval = durationMs(probe.interval);
  for (const name of ["boot", "probe"] as const) {
    if (durationMs(timeouts[name]) < interval)
      add(["timeouts", name], `must be at least \`probe.interval\`, ${probe.interval}`);
  }
  const message = `must be at least twice \`probe.interval\`, ${probe.interval}, so that reports renew it`;
  if (durationMs(timeouts.lease) < 2 * interval) add(["timeouts", "lease"], message);
}

/** Reports instance types that share machines, since Drover learns about each type separately. */
function addSharedTypes({ instanceTypes }: Ruled, add: Add): void {
  const names = new Map<string, string>();
  for (const [name, { providerType = name, preemptible = false, fallback }] of Object.entries(
    instanceTypes,
  )) {
    if (fallback !== undefined && !preemptible)
      add(["instanceTypes", name, "fallback"], "must be left out: the type is not `preemptible`");
    for (const isSpot of fallback === undefined ? [preemptible] : [true, false]) {
      const kind = `${providerType} ${isSpot}`;
      const other = names.get(kind);
      names.set(kind, other ?? name);
      if (other === undefined || other === name) continue;
      const message = `is also that of the instance type "${other}"; give each its own`;
      add(["instanceTypes", name, "providerType"], message);
    }
  }
}

/** A machine that projects share belongs to none of them, so none can have too many. */
function addSharedMachines({ projects = {}, shareMachines }: Ruled, add: Add): void {
  if (!shareMachines) return;
  const message = "must be left out with `shareMachines`: no project has machines of its own; see `maxRuns`";
  for (const [name, { maxInstances }] of Object.entries(projects)) {
    if (maxInstances !== undefined) add(["projects", name, "maxInstances"], message);
  }
}
