// How many hosts can one pool serve? Measures a thousand hosts that report.
import { retryDelayMs } from "../../agent/core/reports/pace.ts";
import type { Drover } from "../drover.ts";
import { joinAll, LightHost } from "../light-host.ts";
import { residentBytes } from "../memory.ts";
import { percentile, type Row } from "../table.ts";

/**
 * Measures `count` hosts of one pool, each with a socket: the time until each report is answered when all
 * hosts reconnect at the same time (cases.md#case-15), and the memory of an idle host. The hosts reconnect
 * with the full jitter of an agent's first try.
 */
export async function measureHosts(drover: Drover, count: number): Promise<Row[]> {
  const hosts = Array.from({ length: count }, () => new LightHost());
  const before = residentBytes(drover.pid);
  await joinAll(drover, hosts, () => "hosts");
  const perHost = (residentBytes(drover.pid) - before) / count;
  for (const host of hosts) host.cut();
  const cutAt = performance.now();
  const answeredAfter = await Promise.all(
    hosts.map(async (host) => {
      await new Promise((resolve) => setTimeout(resolve, retryDelayMs(0, Math.random())));
      await host.connect();
      return performance.now() - cutAt;
    }),
  );
  for (const host of hosts) host.cut();
  const at = (share: number) => `${Math.round(percentile(answeredAfter, share))} ms`;
  const what = `${count} hosts cut off at once → answered again`;
  const memory = { n: count, p50: `${Math.round(perHost / 1_024)} KiB`, p95: "", max: "", budget: "" };
  return [
    { what, n: count, p50: at(0.5), p95: at(0.95), max: at(1), budget: "" },
    { what: "memory of an idle host", ...memory },
  ];
}
