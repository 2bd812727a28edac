// Which forms of other versions does this one understand, since when, until when, and why? Every form that
// code supports for another version is listed here (docs/design/compat.md).

/** What this version understands besides its own form. The first version that does not is `until`. */
export interface Compatibility {
  what: string;
  since: string;
  until: string | null;
  why: string;
}

/**
 * The protocols of hosts, by number: a higher one includes all lower ones (compat.md#hosts). A change that an
 * older agent would not notice, but must not ignore, adds an entry.
 */
export const PROTOCOLS: readonly Compatibility[] = [
  {
    what: "takes commands, starts them at once, and leaves time limits to the control plane",
    since: "0.1.0",
    until: null,
    why: "a shell script can be a host",
  },
  {
    what: "acts on every field of a task, waits for the delay of a start, and ends what is out of time",
    since: "0.1.0",
    until: null,
    why: "a host keeps its agent when the control plane is replaced",
  },
];

/** Layouts of what objects store, from 1 on (compat.md#stored). A change of meaning adds an entry. */
export const LAYOUTS: readonly Compatibility[] = [
  { what: "records and rows as of 0.1.0", since: "0.1.0", until: null, why: "runs outlive a deploy" },
];

/** Fields, such as `runs.timeout`, that an earlier version may not have stored (compat.md#stored). */
export const FIELDS: readonly Compatibility[] = [];

/** What the agent of this version speaks. */
export const PROTOCOL = PROTOCOLS.length - 1;

/**
 * Fields of a task that only an agent acts on. `umask` is not listed: a local `drover run` sends it with
 * every command, and hosts that are shell scripts would get none of these.
 */
export const AGENT_FIELDS = ["artifacts", "compat", "fake", "outputs", "snapshot", "stdin", "user"] as const;

/** The lowest protocol that a host must speak to run these tasks (compat.md#hosts). */
export function protocolOf(tasks: Partial<Record<(typeof AGENT_FIELDS)[number], unknown>>[]): number {
  return AGENT_FIELDS.some((field) => tasks.some((task) => task[field] !== undefined)) ? 1 : 0;
}

/** Whether a host with this protocol observes start delays and time limits by itself. */
export function keepsTime(protocol: number): boolean {
  return protocol >= 1;
}
