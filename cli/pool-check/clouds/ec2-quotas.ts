// How many processors may an account of Amazon have? Service Quotas says it, another service of Amazon.
import { z } from "zod";
import type { AwsKeys } from "../../../src/providers/ec2/keys.ts";
import { secretsOf } from "../../../src/providers/ec2/provider.ts";
import { signed } from "../../../src/providers/ec2/sign.ts";
import { veilOf } from "../../../src/providers/veil.ts";
import { CALL_TIMEOUT_MS, callOnce, parsed, withDeadline } from "../../../src/providers/wire.ts";
import type { Ec2Config } from "../../../src/schema/pool/providers/clouds.ts";
import type { Fact } from "../facts.ts";
import type { Wanted } from "../subject.ts";

/** A limit of the processors of some families: on demand, or of spot machines. */
export interface Limit {
  /** Amazon's code of it. */
  code: string;
  name: string;
}

/** The limits by the letters with which a type begins. Those of other families are looked up by nobody. */
const LIMITS: readonly { types: RegExp; onDemand: Limit; spot: Limit }[] = [
  {
    types: /^(?:[acdhimrtz])\d/,
    onDemand: { code: "L-1216C47A", name: "standard machines on demand" },
    spot: { code: "L-34B43A08", name: "standard spot machines" },
  },
  {
    types: /^(?:g|gr|vt)\d/,
    onDemand: { code: "L-DB2E81BA", name: "G and VT machines on demand" },
    spot: { code: "L-3819A6DF", name: "G and VT spot machines" },
  },
  {
    types: /^p\d/,
    onDemand: { code: "L-417A185B", name: "P machines on demand" },
    spot: { code: "L-7212CCBC", name: "P spot machines" },
  },
];

/** What a pool may need of a limit, if all its machines count in it. */
export interface Need extends Limit {
  vcpus: number;
}

/** What the pool may need of each limit, in the order of its types. */
export function needsOf(wanted: readonly Wanted[], maxInstances: number): Need[] {
  const needs = new Map<string, Need>();
  for (const { type, vcpus, spot, onDemand } of wanted) {
    const row = LIMITS.find(({ types }) => types.test(type));
    if (row === undefined) continue;
    for (const limit of [...(onDemand ? [row.onDemand] : []), ...(spot ? [row.spot] : [])]) {
      const most = Math.max(needs.get(limit.code)?.vcpus ?? 0, vcpus * maxInstances);
      needs.set(limit.code, { ...limit, vcpus: most });
    }
  }
  return [...needs.values()];
}

const Answer = z.object({ Quota: z.object({ Value: z.number() }) });
const Problem = z.object({ __type: z.string(), message: z.string().catch("") });

/** The value of a limit in the region, in processors (clouds/ec2.md#checks). */
export async function readLimit(
  { region, endpoint }: Ec2Config,
  keys: AwsKeys,
  code: string,
  now: () => number,
): Promise<Fact<number>> {
  const service = (endpoint ?? `https://servicequotas.${region}.amazonaws.com`).replace(/\/$/, "");
  const url = `${service}/`;
  const headers = {
    "content-type": "application/x-amz-json-1.1",
    "x-amz-target": "ServiceQuotasV20190624.GetServiceQuota",
  };
  const body = JSON.stringify({ ServiceCode: "ec2", QuotaCode: code });
  const veil = veilOf(secretsOf(keys));
  const scope = { region, service: "servicequotas" };
  const sent = await signed({ method: "POST", url, headers, body }, keys, scope, now());
  const answered = await withDeadline(CALL_TIMEOUT_MS, (signal) =>
    callOnce({ service, method: "POST", url, headers: sent, body, veil }, signal),
  );
  const refusal = { code: undefined, status: undefined, class: "temporary", advice: "" } as const;
  if ("failure" in answered) return { refusal: { ...refusal, text: answered.failure.text } };
  if (answered.status === 200) {
    const read = parsed(Answer, answered.body, veil);
    if ("data" in read) return { data: read.data.Quota.Value };
  }
  const problem = parsed(Problem, answered.body, veil);
  if ("fault" in problem) return { refusal: { ...refusal, text: `Service Quotas: ${problem.fault}` } };
  const { __type: type, message } = problem.data;
  const text = veil(`${type}: ${message}`).replace(/\s+/g, " ");
  return { refusal: { ...refusal, code: type.split("#").at(-1), status: answered.status, text } };
}
