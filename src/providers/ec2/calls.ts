// How is EC2 called: which address, which signature, and is the answer the right one?
import type { ProviderFailure } from "../../core/provider-answers.ts";
import type { Ec2Config } from "../../schema/pool/providers/clouds.ts";
import { formatDuration } from "../../shared/duration.ts";
import { type CloudError, quoted } from "../meanings.ts";
import type { Veil } from "../veil.ts";
import { type Answered, callOnce, pauseOf, retryAfterOf, unreadable } from "../wire.ts";
import { classify } from "./errors.ts";
import { encoded, type Form } from "./forms.ts";
import type { AwsKeys } from "./keys.ts";
import { signed } from "./sign.ts";
import { readXml, textAt, type XmlElement } from "./xml.ts";

/** An account at hand. */
export interface Account {
  config: Ec2Config;
  keys: AwsKeys;
  now: () => number;
}

/** What a call is for. */
export interface Purpose {
  veil: Veil;
  type?: string | undefined;
  zone?: string | undefined;
}

/** A call that failed. `code` and `status`: EC2's own, if it has answered. */
export interface Failed {
  failure: ProviderFailure;
  code?: string | undefined;
  status?: number;
  message?: string;
}

/** The answer's root element, or the failure. */
export type Called = { root: XmlElement } | Failed;

/** Amazon refuses what was signed five minutes ago, or as far in the future. */
const SKEW_MS = 4 * 60_000;

/** The address of EC2 in the region of the configuration (clouds/ec2.md#calls). */
export function endpointOf({ region, endpoint }: Ec2Config): string {
  if (endpoint !== undefined) return endpoint;
  if (region.startsWith("cn-")) return `https://ec2.${region}.amazonaws.com.cn`;
  return `https://ec2.${region}.${region.startsWith("eusc-") ? "amazonaws.eu" : "amazonaws.com"}`;
}

/**
 * Makes one call, and never repeats it (clouds/ec2.md#calls). Resolves with the answer if it is well-formed
 * XML with the root that the action has; anything else is a failure.
 */
export async function callEc2(
  { config, keys, now }: Account,
  form: Form,
  { veil, type, zone }: Purpose,
  signal: AbortSignal,
): Promise<Called> {
  const service = endpointOf(config);
  const url = `${service.replace(/\/$/, "")}/`;
  const body = encoded(form);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const scope = { region: config.region, service: "ec2" };
  const sent = await signed({ method: "POST", url, headers, body }, keys, scope, now());
  const answered = await callOnce({ service, method: "POST", url, headers: sent, body, veil }, signal);
  if ("failure" in answered) return answered;
  if (answered.status !== 200) {
    const error = errorIn(answered, veil);
    const retryAfterMs = retryAfterOf(answered, now());
    const pause = retryAfterMs === undefined ? undefined : pauseOf(retryAfterMs);
    const facts = { veil, type, zone, skew: skewOf(answered, now()), retryAfterMs: pause };
    const { code, message } = error;
    return { failure: classify(error, facts), code, status: answered.status, message };
  }
  const read = readXml(answered.body);
  if ("fault" in read) return { failure: unreadable(form.action, `it ${read.fault}`).failure };
  const wanted = `${form.action}Response`;
  if (read.root.name === wanted) return read;
  const fault = `it is a \`${veil(read.root.name).slice(0, 64)}\``;
  return { failure: unreadable(form.action, fault).failure };
}

/** The code and the message of an error answer. */
function errorIn({ status, body }: Answered, veil: Veil): CloudError {
  const read = readXml(body);
  if ("root" in read) {
    const code = textAt(read.root, "Errors", "Error", "Code") ?? textAt(read.root, "Error", "Code");
    const message =
      textAt(read.root, "Errors", "Error", "Message") ?? textAt(read.root, "Error", "Message") ?? "";
    if (code !== undefined) return { status, code, message };
  }
  return { status, code: undefined, message: quoted(body, veil) };
}

/** How the clock of this Drover differs from Amazon's, which its answers show. Undefined: hardly. */
function skewOf({ headers }: Answered, now: number): string | undefined {
  const ms = now - Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(ms) || Math.abs(ms) <= SKEW_MS) return undefined;
  const minutes = Math.round(Math.abs(ms) / 60_000) * 60_000;
  const way = ms > 0 ? "ahead of" : "behind";
  return `The clock of this Drover is ${formatDuration(minutes)} ${way} Amazon's: set it right`;
}
