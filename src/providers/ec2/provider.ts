// How does Drover create, list, find and destroy machines of Amazon EC2?
import type {
  CreateAnswer,
  DestroyAnswer,
  PricesAnswer,
  ProviderFailure,
} from "../../core/provider-answers.ts";
import type { Ec2Config } from "../../schema/pool/providers/clouds.ts";
import type { CreateInstance, Instance } from "../../schema/provider.ts";
import { MAX_TEXT_CHARS } from "../../shared/limits.ts";
import { failing, type KnownMachine, type Provider, userDataFault } from "../provider.ts";
import { CODES, type Veil, veilOf } from "../veil.ts";
import { CALL_TIMEOUT_MS, unreadable, withDeadline } from "../wire.ts";
import { type Account, callEc2 } from "./calls.ts";
import { consoleOf } from "./console.ts";
import { runForm, subnetFor, terminateForm } from "./forms.ts";
import { type AwsKeys, keysIn } from "./keys.ts";
import { type Asking, findMachine, listMachines, machinesIn, UNKNOWN_ID } from "./listing.ts";
import { spotPrices } from "./prices.ts";

/** The longest token of EC2. */
const MAX_TOKEN_CHARS = 64;

/** The codes that say that a token was used before, with other bytes or for a machine that has ended. */
const USED_TOKEN: ReadonlySet<string> = new Set([
  "IdempotentParameterMismatch",
  "IdempotentInstanceTerminated",
]);

/** An account as it is stored: its configuration, and the text of its credentials. */
export interface Ec2Account {
  config: Ec2Config;
  credentials: string;
}

/** Machines of Amazon EC2, in one region of one account (clouds/ec2.md#calls). */
export function ec2Provider(
  { config, credentials }: Ec2Account,
  now: () => number,
  timeoutMs = CALL_TIMEOUT_MS,
): Provider {
  const read = keysIn(credentials);
  if ("failure" in read) return failing(read.failure);
  const account: Account = { config, keys: read.keys, now };
  const veil = veilOf(secretsOf(read.keys));
  const within = <T>(work: (asking: Asking) => Promise<T>): Promise<T> =>
    withDeadline(timeoutMs, (signal) =>
      work({ veil, call: (form) => callEc2(account, form, { veil }, signal) }),
    );
  return {
    create: (wanted) => withDeadline(timeoutMs, (signal) => create(account, wanted, signal)),
    list(tag, known) {
      const zones = Object.keys(config.subnets ?? {});
      return within((asking) => listMachines(asking, tag, known, now(), zones));
    },
    find: (machine) => within((asking) => findMachine(asking, machine)),
    destroy: (machine) => within((asking) => destroy(asking, machine)),
    console: ({ id }) => within((asking) => consoleOf(asking, id)),
    async prices(types): Promise<PricesAnswer> {
      const spot = types.flatMap(({ type, spot: isSpot }) => (isSpot ? [type] : []));
      return within((asking) => spotPrices(asking, [...new Set(spot)], now(), config.subnets));
    },
  };
}

/** What must not be shown. The id of a key is no secret. */
export function secretsOf({ secretAccessKey, sessionToken = "" }: AwsKeys): string[] {
  return [secretAccessKey, sessionToken];
}

/**
 * Makes one machine, by one call (clouds/ec2.md#create). A token that was used before is looked up: its
 * machine may exist, or may have ended (cases 23 and 25).
 */
async function create(account: Account, wanted: CreateInstance, signal: AbortSignal): Promise<CreateAnswer> {
  const fault = faultOf(account.config, wanted);
  if (fault !== undefined) return { kind: "failed", failure: fault };
  const veil = veilOf([...secretsOf(account.keys), ...(wanted.userData.match(CODES) ?? [])]);
  const { instanceType: type, zone } = wanted;
  const called = await callEc2(account, runForm(account.config, wanted), { veil, type, zone }, signal);
  if (!("failure" in called)) return made(called.root, veil);
  const { code, failure } = called;
  if (code === undefined || !USED_TOKEN.has(code)) return { kind: "failed", failure };
  const asking: Asking = { veil, call: (form) => callEc2(account, form, { veil }, signal) };
  return usedBefore(asking, wanted, failure);
}

function made(root: Parameters<typeof machinesIn>[0], veil: Veil): CreateAnswer {
  const { machines, faults } = machinesIn(root, veil);
  const [instance] = machines;
  if (instance !== undefined) return { kind: "created", instance };
  return unreadable("RunInstances", faults[0] ?? "it names no machine");
}

/** The machine that was made with the token before. */
async function usedBefore(
  asking: Asking,
  { token }: CreateInstance,
  failure: ProviderFailure,
): Promise<CreateAnswer> {
  const found = await findMachine(asking, { worker: token, id: null, zone: null });
  if (found.kind === "found") return { kind: "created", instance: found.instance };
  const seen = found.kind === "none" ? "it shows no machine for this token yet" : found.text;
  const text = `${failure.text}; and ${seen}`.slice(0, MAX_TEXT_CHARS);
  return { kind: "failed", failure: { class: "temporary", text } };
}

/** Why EC2 need not be asked at all. */
function faultOf(config: Ec2Config, wanted: CreateInstance): ProviderFailure | undefined {
  const { zone, token, userData } = wanted;
  const invalid = (text: string, scope: ProviderFailure["scope"]): ProviderFailure => ({
    class: "invalid",
    text,
    refused: true,
    scope,
  });
  const { subnets, publicIp } = config;
  if (subnets !== undefined && subnetFor(config, zone) === undefined) {
    const known = Object.keys(subnets).join(", ") || "none";
    return invalid(`\`subnets\` has no subnet for the zone ${zone}; it has: ${known}`, "zone");
  }
  if (subnets === undefined && !publicIp) {
    const why = "in a default subnet, a machine without a public address reaches nothing";
    return invalid(`\`publicIp: false\` needs \`subnets\`: ${why}`, "all");
  }
  if (token.length > MAX_TOKEN_CHARS || !/^[!-~]+$/.test(token)) {
    return invalid(
      `the name ${token} is no token of EC2: at most ${MAX_TOKEN_CHARS} ASCII characters`,
      "all",
    );
  }
  return userDataFault("ec2", userData, "EC2 takes");
}

/**
 * Begins the end of one machine (clouds/ec2.md#destroy). A machine whose id no answer has named is looked up
 * by its token.
 */
async function destroy(asking: Asking, machine: KnownMachine): Promise<DestroyAnswer> {
  const found = machine.id === null ? await findMachine(asking, machine) : undefined;
  if (found?.kind === "none") return { kind: "asked", unknown: true };
  if (found?.kind === "unsure") {
    return { kind: "failed", failure: { class: "temporary", text: found.text, refused: true } };
  }
  const known: Instance["id"] | null = found === undefined ? machine.id : found.instance.id;
  if (known === null || found?.instance.state === "terminated") return { kind: "asked" };
  const called = await asking.call(terminateForm(known));
  if (!("failure" in called)) return { kind: "asked" };
  const { code, failure } = called;
  if (code !== undefined && UNKNOWN_ID.has(code)) return { kind: "asked", unknown: true };
  return { kind: "failed", failure };
}
