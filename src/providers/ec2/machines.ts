// What does EC2 say about a machine: its state, where it is, and why it ended?
import { type Fault, Instance, type LifecycleState } from "../../schema/provider.ts";
import { clause } from "../../shared/words.ts";
import type { Meaning } from "../meanings.ts";
import type { Veil } from "../veil.ts";
import { checked, type Parsed } from "../wire.ts";
import { meaningOf } from "./errors.ts";
import { itemsAt, textAt, type XmlElement } from "./xml.ts";

/** The states of an instance, by EC2's name (clouds/ec2.md#states). */
const STATES: Readonly<Record<string, LifecycleState>> = {
  pending: "pending",
  running: "running",
  "shutting-down": "stopping",
  stopping: "stopping",
  stopped: "stopped",
  terminated: "terminated",
};

const TAKEN: Meaning = { class: "capacity", concerns: "offer" };
const OUR_DOING = null;

/** Why EC2 changed a state, where its code means something else than the same code of an error. */
const REASONS: Readonly<Record<string, Meaning | typeof OUR_DOING>> = {
  "Client.InstanceInitiatedShutdown": OUR_DOING,
  "Client.UserInitiatedShutdown": OUR_DOING,
  "Client.UserInitiatedHibernate": OUR_DOING,
  "Client.InstanceTerminated": OUR_DOING,
  "Server.SpotInstanceTermination": TAKEN,
  "Server.SpotInstanceShutdown": TAKEN,
  "Server.ScheduledStop": { class: "temporary", concerns: "offer" },
  "Client.InternalError": {
    class: "invalid",
    concerns: "all",
    advice: "Often the machine may not use the key of an encrypted volume: see the key's policy",
  },
  "Client.InvalidSnapshot.NotFound": { class: "invalid", concerns: "all" },
};

/** The instant in a reason such as `User initiated (2026-11-22 10:11:12 GMT)`. */
const SINCE = /\((\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) (?:GMT|UTC)\)/;

/**
 * Reads an `item` of `instancesSet` (clouds/ec2.md#states). The name of a machine is the token with which it
 * was made, since nobody can change that. `fault` says what cannot be read.
 */
export function machineIn(item: XmlElement, veil: Veil): Parsed<Instance> {
  const name = textAt(item, "instanceState", "name") ?? "";
  const state = Object.hasOwn(STATES, name) ? STATES[name] : undefined;
  if (state === undefined) return { fault: `its state is "${veil(name).slice(0, 64)}"` };
  const tags = tagsOf(item);
  const zone = textAt(item, "placement", "availabilityZone");
  const machine = withoutAbsent({
    id: textAt(item, "instanceId"),
    name: textAt(item, "clientToken") ?? tags["drover-worker"] ?? "",
    address: textAt(item, "ipAddress") ?? textAt(item, "privateIpAddress") ?? null,
    state,
    instanceType: textAt(item, "instanceType"),
    tags,
    createdAt: textAt(item, "launchTime"),
    zone,
    spot: textAt(item, "instanceLifecycle") === "spot",
    endedAt: state === "terminated" ? instantIn(textAt(item, "reason") ?? "") : undefined,
    fault: state === "pending" || state === "running" ? undefined : faultOf(item, zone, veil),
  });
  const read = checked(Instance, machine, veil);
  // Parts of a long string keep all of it in memory, and a listing has many pages: so they are copied.
  return "data" in read ? { data: structuredClone(read.data) } : read;
}

/** The fields that EC2 has filled. */
function withoutAbsent(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function tagsOf(item: XmlElement): Record<string, string> {
  const pairs = (itemsAt(item, "tagSet") ?? []).map((tag) => [textAt(tag, "key") ?? "", tagValue(tag)]);
  return Object.fromEntries(pairs);
}

/** The value of a tag as it is: blanks at its ends count. */
function tagValue(tag: XmlElement): string {
  return tag.children.find(({ name }) => name === "value")?.text ?? "";
}

function instantIn(reason: string): string | undefined {
  const [, date, time] = SINCE.exec(reason) ?? [];
  return date === undefined ? undefined : `${date}T${time}Z`;
}

/** Why EC2 ended, or is ending, the machine. Undefined: it was asked to, by whomever. */
function faultOf(item: XmlElement, zone: string | undefined, veil: Veil): Fault | undefined {
  const code = textAt(item, "stateReason", "code");
  if (code === undefined) return undefined;
  const message = textAt(item, "stateReason", "message") ?? "";
  const meaning = reasonOf(code, message);
  if (meaning === OUR_DOING) return undefined;
  const { concerns, advice } = meaning;
  const isLocal = concerns === "offer" || concerns === "zone";
  const said = clause(veil(message.startsWith(code) ? message : `${code}: ${message}`));
  const text = advice === undefined ? said : `${said}. ${advice}`;
  const scope = concerns === "named" ? "all" : isLocal && zone === undefined ? "type" : concerns;
  return { class: meaning.class, scope, text };
}

function reasonOf(code: string, message: string): Meaning | typeof OUR_DOING {
  if (Object.hasOwn(REASONS, code)) return REASONS[code] ?? OUR_DOING;
  const known = meaningOf(code.replace(/^(?:Server|Client)\./, ""), message);
  return known ?? { class: "temporary", concerns: "offer" };
}
