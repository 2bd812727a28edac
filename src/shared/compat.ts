// Which formats of other versions does this version understand, since when, until when, and why? Every format
// that the code supports for another version is listed here (docs/design/compat.md).

/** A format of another version that this version understands. `until`: the version that drops it. */
export interface Compatibility {
  what: string;
  since: string;
  until: string | null;
  why: string;
}

/**
 * The protocols of hosts, by number. A higher protocol includes all lower protocols (compat.md#hosts). A
 * change needs a new entry if an older agent would ignore the change although it must not.
 */
export const PROTOCOLS: readonly Compatibility[] = [
  {
    what: "takes commands, starts them at once, and leaves time limits to the control plane",
    since: "0.1.0",
    until: null,
    why: "a shell script can be a host",
  },
  {
    what: "acts on every field of a task, waits for start delays, and enforces time limits",
    since: "0.1.0",
    until: null,
    why: "a host keeps its agent when the control plane is replaced",
  },
  {
    what:
      "runs the checks of tasks, and tasks in containers where the machine has an engine for them, and " +
      "gives tasks their payload",
    since: "0.1.0",
    until: null,
    why:
      "an older agent would run a container's command on the machine itself, and do without checks and " +
      "payloads",
  },
];

/**
 * Layouts of stored records and rows, numbered from 1 (compat.md#stored). A change of meaning adds a layout.
 */
export const LAYOUTS: readonly Compatibility[] = [
  { what: "records and rows as of 0.1.0", since: "0.1.0", until: null, why: "runs outlive a deploy" },
];

/** Fields, such as `runs.timeout`, that an earlier version may not have stored (compat.md#stored). */
export const FIELDS: readonly Compatibility[] = [];

/** The protocol of the agent of this version. */
export const PROTOCOL = PROTOCOLS.length - 1;

/**
 * Fields of a task that only an agent acts on. `umask` is not listed, since a local `drover run` sends
 * `umask` with every command. If it were listed, hosts that are shell scripts would get none of these
 * commands.
 */
const AGENT_FIELDS = [
  "artifacts",
  "compat",
  "fake",
  "identity",
  "keep",
  "outputs",
  "secrets",
  "snapshot",
  "stdin",
  "user",
] as const;

/** The protocol from which on a host knows these fields, and says whether it has a container engine. */
export const SECOND_PROTOCOL = 2;
const SECOND_FIELDS = ["checks", "container", "payload"] as const;

/** All fields of a task that an agent is needed for, of whichever protocol. */
export const FIELDS_OF_HOSTS = [...AGENT_FIELDS, ...SECOND_FIELDS] as const;

type FieldOfHosts = (typeof FIELDS_OF_HOSTS)[number];

/** The lowest protocol that a host must speak to run these tasks (compat.md#hosts). */
export function protocolOf(tasks: Partial<Record<FieldOfHosts, unknown>>[]): number {
  const has = (field: FieldOfHosts) => tasks.some((task) => task[field] !== undefined);
  if (SECOND_FIELDS.some(has)) return SECOND_PROTOCOL;
  return AGENT_FIELDS.some(has) ? 1 : 0;
}

/**
 * Whether hosts that speak this protocol are understood (compat.md#hosts). `hasDropped`: whether a version
 * drops what its entry says. An unknown number is of a newer agent, which speaks the lower ones, too.
 */
export function isUnderstood(
  protocol: number,
  hasDropped: (version: string) => boolean,
  protocols: readonly Compatibility[] = PROTOCOLS,
): boolean {
  const until = protocols[Math.min(protocol, protocols.length - 1)]?.until ?? null;
  return until === null || !hasDropped(until);
}

/** Whether a host with this protocol waits for start delays and enforces time limits by itself. */
export function keepsTime(protocol: number): boolean {
  return protocol >= 1;
}
