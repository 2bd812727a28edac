// Which invariants must hold after each step of the host's state machine?
import type { Invariant } from "../../src/shared/machine.ts";
import { sharedDevice } from "./devices/assign.ts";
import { leaseStopAt } from "./lease.ts";
import { STREAMS } from "./reports/logs.ts";
import type { AttemptState, HostState } from "./types.ts";

/** An attempt never returns to a phase of lower rank. */
const ORDER: Record<AttemptState["main"], number> = { waiting: 0, running: 1, over: 2 };

/** The invariants of a host, for `check` (shell.md#assertions). */
export const hostInvariants: readonly Invariant<HostState>[] = [
  grows("host-protocol.md#report", "the number of its report", ({ exchange }) => exchange.seq),
  grows("host-protocol.md#orders", "the revision of its orders", ({ ordersSeen }) => ordersSeen),
  grows("host-protocol.md#lease", "the end of its lease", ({ leaseUntil }) => leaseUntil),
  {
    rule: "host-protocol.md#absence",
    broken({ attempts: before }, { attempts }) {
      const lost = Object.values(before).find(({ id, treeGone }) => attempts[id] === undefined && !treeGone);
      return lost && `${lost.id}: it was forgotten, but may still be alive`;
    },
  },
  {
    rule: "rules.md#r4",
    broken(_before, state, now) {
      const free = Object.values(state.attempts).find((one) => {
        const stopAt = leaseStopAt(state, one) ?? Number.POSITIVE_INFINITY;
        return one.main === "running" && one.stop === undefined && stopAt <= now;
      });
      return free && `${free.id}: it runs on although its lease is about to end`;
    },
  },
  {
    rule: "devices.md#exclusive",
    broken(_before, state) {
      const shared = sharedDevice(state);
      return shared && `${shared} was given to two attempts that may both use it`;
    },
  },
  ofAttempts("devices.md#assignment", ({ devices: before }, { devices: after }) =>
    before !== undefined && after !== before ? "its devices were given for good, and change" : undefined,
  ),
  ofAttempts("devices.md#freed", ({ freed: before }, { freed, treeGone }) => {
    if (before !== undefined)
      return freed === undefined ? "its devices were freed, and are its own again" : undefined;
    return freed !== undefined && !treeGone ? "its devices are freed, and it may be alive" : undefined;
  }),
  ofAttempts("rules.md#invariant-2", ({ main: before }, { main }) =>
    ORDER[main] < ORDER[before] ? `it is ${main} after it was ${before}` : undefined,
  ),
  ofAttempts("host-protocol.md#kills", (before, { treeGone }) =>
    before.treeGone && !treeGone ? "its processes were gone, but may be alive again" : undefined,
  ),
  ofAttempts("rules.md#invariant-9", (before, after) => {
    const fields = ["startedAt", "exit", "startError"] as const;
    const changed = fields.find((one) => before[one] !== undefined && after[one] !== before[one]);
    return changed && `its ${changed} was known, and changes`;
  }),
  ofAttempts("tasks.md#kill", ({ stop: before }, { stop }) =>
    before !== undefined && (stop === undefined || stop.killAt > before.killAt)
      ? `its stop is ${stop === undefined ? "undone" : "put off"}`
      : undefined,
  ),
  ofAttempts("host-protocol.md#orders", ({ signaledUpTo: before = 0 }, { signaledUpTo = 0 }) =>
    signaledUpTo < before ? `signal ${before} was sent, and is owed again` : undefined,
  ),
  ofAttempts("host-protocol.md#logs", ({ logs: before }, { logs }) => {
    const short = STREAMS.find((one) => logs[one].acked < before[one].acked);
    return (
      short &&
      `${before[short].acked} bytes of its ${short} were stored, and now only ${logs[short].acked} are`
    );
  }),
];

/** A number of the host that never falls. */
function grows(
  rule: string,
  what: string,
  numberOf: (state: HostState) => number | undefined,
): Invariant<HostState> {
  return {
    rule,
    broken(before, after) {
      const [was = Number.NEGATIVE_INFINITY, is = Number.NEGATIVE_INFINITY] = [before, after].map(numberOf);
      return is < was ? `${what} was ${was}, and is ${is}` : undefined;
    },
  };
}

/** An invariant of each attempt that the step has changed. */
function ofAttempts(
  rule: string,
  broken: (before: AttemptState, after: AttemptState) => string | undefined,
): Invariant<HostState> {
  return {
    rule,
    broken({ attempts: before }, { attempts }) {
      for (const [id, after] of Object.entries(attempts)) {
        const known = before[id];
        const what = known === undefined || known === after ? undefined : broken(known, after);
        if (what !== undefined) return `${id}: ${what}`;
      }
      return undefined;
    },
  };
}
