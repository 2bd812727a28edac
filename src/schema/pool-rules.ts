import { durationMs } from "../shared/duration.ts";

/** Two fields of a pool that cannot both be meant: the one to blame, and what is allowed there. */
interface Contradiction {
  path: string[];
  message: string;
}

/** What the rules look at. */
export interface Ruled {
  minInstances: number;
  maxInstances: number;
  probe: { interval: string };
  timeouts: Record<"boot" | "probe" | "lease", string>;
  instanceTypes: Record<string, { providerType?: string | undefined; preemptible?: boolean | undefined }>;
}

/** What contradicts itself in a pool's configuration of which each field is right by itself: all of it. */
export function contradictions(config: Ruled): Contradiction[] {
  return [...instances(config), ...times(config), ...sharedTypes(config)];
}

function instances({ minInstances, maxInstances }: Ruled): Contradiction[] {
  if (minInstances <= Math.max(0, maxInstances)) return [];
  return [{ path: ["minInstances"], message: `must be at most \`maxInstances\`, ${maxInstances}` }];
}

/**
 * A host is judged by its reports, of which one is due each interval: nothing can be over before the next.
 */
function times({ probe, timeouts }: Ruled): Contradiction[] {
  const interval = durationMs(probe.interval);
  const of = (name: "boot" | "probe") => {
    const message = `must be at least \`probe.interval\`, ${probe.interval}`;
    return durationMs(timeouts[name]) < interval ? [{ path: ["timeouts", name], message }] : [];
  };
  const renewed = durationMs(timeouts.lease) >= 2 * interval;
  const message = `must be at least twice \`probe.interval\`, ${probe.interval}, so that reports renew it`;
  return [...of("boot"), ...of("probe"), ...(renewed ? [] : [{ path: ["timeouts", "lease"], message }])];
}

/** Two names for one machine of the provider: what is learned of the one would not be known of the other. */
function sharedTypes({ instanceTypes }: Ruled): Contradiction[] {
  const names = new Map<string, string>();
  const found: Contradiction[] = [];
  for (const [name, { providerType = name, preemptible }] of Object.entries(instanceTypes)) {
    const kind = `${providerType} ${preemptible === true}`;
    const other = names.get(kind);
    names.set(kind, other ?? name);
    if (other === undefined) continue;
    const message = `is that of the instance type "${other}", too; give each its own`;
    found.push({ path: ["instanceTypes", name, "providerType"], message });
  }
  return found;
}
