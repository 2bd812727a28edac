// Which metrics does an endpoint report (webhooks.md#metrics)?
import type { Sample } from "../../schema/metrics.ts";
import { nameIn } from "../../shared/access/project.ts";
import { WEBHOOK_STATES } from "../../shared/webhooks/words.ts";
import { stateOf } from "./read.ts";
import type { ReadonlyEndpoint } from "./record.ts";

/**
 * The samples of one endpoint. What is owed: the deliveries that wait, and the ends that the endpoint knows
 * of and has not read. Its counters are stored with what they count.
 */
export function webhookMetrics({ record, deliveries }: ReadonlyEndpoint): Sample[] {
  const { project, name } = record.settings;
  const webhook = nameIn(project, name, "/");
  const labels = { webhook };
  const state = stateOf(record);
  const unread = Object.values(record.cursors).map(({ ends, told }) => Math.max(0, told.ends - ends));
  const owed = unread.reduce((sum, ends) => sum + ends, [...deliveries.live()].length);
  return [
    { name: "drover_webhook_up", labels, value: 1 },
    ...WEBHOOK_STATES.map((one): Sample => {
      return { name: "drover_webhook_state", labels: { webhook, state: one }, value: one === state ? 1 : 0 };
    }),
    { name: "drover_webhook_owed", labels, value: owed },
    { name: "drover_webhook_gap_total", labels, value: record.gap?.runs ?? 0 },
    { name: "drover_webhook_failures_total", labels, value: record.failures },
  ];
}
