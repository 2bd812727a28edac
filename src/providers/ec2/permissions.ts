// May these keys do what Drover needs? EC2 says so of a call without making it.
import type { CreateInstance } from "../../schema/provider.ts";
import { CODES, veilOf } from "../veil.ts";
import { CALL_TIMEOUT_MS, withDeadline } from "../wire.ts";
import { type Account, type Called, callEc2 } from "./calls.ts";
import { type Action, describeByFilter, dryRun, type Form, runForm, terminateForm } from "./forms.ts";
import { keysIn } from "./keys.ts";
import { type Asking, machinesOf } from "./listing.ts";
import { type Ec2Account, secretsOf } from "./provider.ts";

/** Whether a call is permitted. `unclear`: EC2 has not said, and `text` says why. */
export interface Permission {
  action: Action;
  verdict: "permitted" | "refused" | "unclear";
  text: string;
}

/** An id that no machine has. */
const NOBODY = "i-00000000000000000";
const ACTIONS = ["DescribeInstances", "RunInstances", "TerminateInstances"] as const;

/**
 * Tries the three calls that Drover makes, as dry runs: nothing is made or ended (clouds/ec2.md#permissions).
 * `wanted`: a machine as the pool would ask for. Whether machines may be ended is tried with one of Drover's,
 * since a policy may allow just those; without one it may stay unclear.
 */
export async function ec2Permissions(
  { config, credentials }: Ec2Account,
  wanted: CreateInstance,
  now: () => number,
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<Permission[]> {
  const read = keysIn(credentials);
  if ("failure" in read) {
    const { text } = read.failure;
    return ACTIONS.map((action) => ({ action, verdict: "refused", text }));
  }
  const account: Account = { config, keys: read.keys, now };
  const veil = veilOf([...secretsOf(read.keys), ...(wanted.userData.match(CODES) ?? [])]);
  return withDeadline(timeoutMs, async (signal) => {
    const asking: Asking = { veil, call: (form) => callEc2(account, form, { veil }, signal) };
    const describes = await tried(asking, describeByFilter("tag-key", "drover-pool"));
    const runs = await tried(asking, runForm(config, wanted));
    return [describes, runs, await triedToEnd(asking)];
  });
}

async function tried({ call }: Asking, form: Form): Promise<Permission> {
  return verdictOn(form.action, await call(dryRun(form)));
}

function verdictOn(action: Action, called: Called): Permission {
  if (!("failure" in called)) return { action, verdict: "unclear", text: "EC2 has made the call" };
  const { code, failure } = called;
  if (code === "DryRunOperation") return { action, verdict: "permitted", text: "" };
  return { action, verdict: failure.class === "auth" ? "refused" : "unclear", text: failure.text };
}

async function triedToEnd(asking: Asking): Promise<Permission> {
  const called = await asking.call(describeByFilter("tag-key", "drover-pool"));
  const machines = "failure" in called ? [] : machinesOf(called.root, asking.veil);
  const one = machines.find(({ state }) => state !== "terminated");
  const permission = await tried(asking, terminateForm(one?.id ?? NOBODY));
  if (one !== undefined || permission.verdict === "permitted") return permission;
  const why = "there is no machine of Drover to try it with, and the policy may allow just those";
  return { ...permission, verdict: "unclear", text: `${why}; EC2 says: ${permission.text}` };
}
