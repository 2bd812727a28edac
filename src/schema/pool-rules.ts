// Do the fields of a pool's configuration contradict each other?
import { durationMs } from "../shared/duration.ts";

/** A contradiction between two fields: the one to blame, and what is allowed there. */
interface Contradiction {
  path: string[];
  message: string;
}

/** The fields that the rules check. */
export interface Ruled {
  minInstances: number;
  maxInstances: number;
  probe: { interval: string };
  timeouts: Record<"boot" | "probe" | "lease", string>;
  instanceTypes: Record<string, { providerType?: string | undefined; preemptible?: boolean | undefined }>;
}

/** Lists all contradictions in a configuration whose fields are valid one by one. */
export function contradictions(config: Ruled): Contradiction[] {
  return [...instances(config), ...times(config), ...sharedTypes(config)];
}

function instances({ minInstances, maxInstances }: Ruled): Contradiction[] {
  if (minInstances <= Math.max(0, maxInstances)) return [];
  return [{ path: ["minInstances"], message: `must be at most \`maxInstances\`, ${maxInstances}` }];
}

/** A host is judged by its reports, one each interval, so no timeout can be shorter than the interval. */
function times({ probe, timeouts }: Ruled): Contradiction[] {
  const interval = durationMs(probe.interval);
  const faultsOf = (name: "boot" | "probe") => {
    const message = `must be at least \`probe.interval\`, ${probe.interval}`;
    return durationMs(timeouts[name]) < interval ? [{ path: ["timeouts", name], message }] : [];
  };
  const renewed = durationMs(timeouts.lease) >= 2 * interval;
  const message = `must be at least twice \`probe.interval\`, ${probe.interval}, so that reports renew it`;
  return [
    ...faultsOf("boot"),
    ...faultsOf("probe"),
    ...(renewed ? [] : [{ path: ["timeouts", "lease"], message }]),
  ];
}

/** Two types with the same provider type: what is learned about one would not apply to the other. */
function sharedTypes({ instanceTypes }: Ruled): Contradiction[] {
  const names = new Map<string, string>();
  const found: Contradiction[] = [];
  for (const [name, { providerType = name, preemptible }] of Object.entries(instanceTypes)) {
    const kind = `${providerType} ${preemptible === true}`;
    const other = names.get(kind);
    names.set(kind, other ?? name);
    if (other === undefined) continue;
    const message = `is also that of the instance type "${other}"; give each its own`;
    found.push({ path: ["instanceTypes", name, "providerType"], message });
  }
  return found;
}
