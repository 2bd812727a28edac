// How are the limits of a token said in a line (access.md#limits)?

/** What a token may do at most. Absent: not limited in this respect. */
export interface SaidLimits {
  pools?: readonly string[] | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
  maxPriority?: number | undefined;
  maxCostPerHour?: number | undefined;
  sources?: readonly string[] | undefined;
  secrets?: readonly string[] | undefined;
}

/** The limits in words, separated by commas; empty if there are none. */
export function limitsText(limits: SaidLimits): string {
  const { pools = [], labels = {}, maxPriority, maxCostPerHour, sources = [], secrets = [] } = limits;
  return [
    ...pools.map((pool) => `pool ${pool}`),
    ...Object.entries(labels).map(([name, value]) => `${name}=${value}`),
    ...(maxPriority === undefined ? [] : [`priority ${maxPriority}`]),
    ...(maxCostPerHour === undefined ? [] : [`cost ${maxCostPerHour} per hour`]),
    ...sources.map((source) => `from ${source}`),
    ...secrets.map((secret) => `secret ${secret}`),
  ].join(", ");
}
