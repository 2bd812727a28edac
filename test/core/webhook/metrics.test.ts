import { describe, expect, test } from "vitest";
import { webhookMetrics } from "../../../src/core/webhook/metrics.ts";
import { endpointOf } from "../../../src/core/webhook/record.ts";
import { METRICS, metricsText } from "../../../src/schema/metrics.ts";
import { faultsOf } from "../support/exposition.ts";
import { DOWN, Endpoint, OK, run } from "./endpoint.ts";

function samplesOf({ state }: Endpoint) {
  const endpoint = endpointOf(state);
  if (endpoint === undefined) throw new Error("there is no endpoint");
  return webhookMetrics(endpoint);
}
const linesOf = (endpoint: Endpoint) => metricsText(samplesOf(endpoint)).split("\n");

describe("the metrics of an endpoint (webhooks.md#metrics)", () => {
  test("exist from the beginning, as Prometheus reads them", () => {
    const samples = samplesOf(new Endpoint());
    expect(faultsOf(metricsText(samples))).toEqual([]);
    const ofWebhooks = Object.keys(METRICS).filter((name) => name.startsWith("drover_webhook"));
    expect([...new Set(samples.map(({ name }) => name))]).toEqual(ofWebhooks);
  });

  test("say its state, what is owed to it, what it has missed, and each attempt that failed", () => {
    const endpoint = new Endpoint();
    for (let n = 0; n < 100; n += 1) endpoint.ended.push(run(`r${n}`));
    endpoint.deleted.add("r0");
    endpoint.receiver = () => DOWN;
    endpoint.settle();
    expect(linesOf(endpoint)).toEqual(
      expect.arrayContaining([
        'drover_webhook_up{webhook="ci"} 1',
        'drover_webhook_state{webhook="ci",state="active"} 0',
        'drover_webhook_state{webhook="ci",state="failing"} 1',
        'drover_webhook_owed{webhook="ci"} 99',
        'drover_webhook_gap_total{webhook="ci"} 1',
      ]),
    );
    const failed = `drover_webhook_failures_total{webhook="ci"} ${endpoint.got.length}`;
    expect(linesOf(endpoint)).toContain(failed);
    endpoint.receiver = () => OK;
    endpoint.pass(24 * 3_600_000);
    expect(linesOf(endpoint)).toContain('drover_webhook_state{webhook="ci",state="active"} 1');
    expect(linesOf(endpoint)).toContain('drover_webhook_owed{webhook="ci"} 0');
    expect(linesOf(endpoint)).toContain(failed);
  });
});
