import { expect, test } from "vitest";
import { hostMachine } from "../../../agent/core/host.ts";
import type { AttemptState, HostState } from "../../../agent/core/types.ts";
import { check } from "../../../src/shared/machine.ts";
import { gpu } from "./devices/gpus.ts";
import { busyHost, EXIT, ID, idleHost, LEASE_MS, run, stop } from "./drive.ts";

/** What no event can do to a host; each breaks one invariant. */
const BROKEN: [what: string, rule: string, step: () => [HostState, HostState]][] = [
  ["its reports begin anew", "host-protocol.md#report", () => onto({ exchange: idle().exchange })],
  ["it goes back to older orders", "host-protocol.md#orders", () => onto({ ordersSeen: 0 })],
  ["its lease becomes shorter", "host-protocol.md#lease", () => onto({ leaseUntil: LATER / 2 - 1 })],
  ["it forgets an attempt that lives", "host-protocol.md#absence", () => onto({ attempts: {} })],
  ["its lease ends, and nothing is stopped", "rules.md#r4", () => onto({ leaseUntil: LATER })],
  ["what has ended runs again", "rules.md#invariant-2", () => attempt({ main: "over" }, { main: "running" })],
  [
    "what was gone lives again",
    "host-protocol.md#kills",
    () => attempt({ treeGone: true }, { treeGone: false }),
  ],
  ["its exit changes", "rules.md#invariant-9", () => attempt({ exit: EXIT }, { exit: { ...EXIT, code: 1 } })],
  ["it starts twice", "rules.md#invariant-9", () => attempt({ startedAt: 1 }, { startedAt: 2 })],
  ["its stop is undone", "tasks.md#kill", () => attempt({ stop: STOP }, { stop: undefined })],
  ["its grace is longer", "tasks.md#kill", () => attempt({ stop: STOP }, { stop: { ...STOP, killAt: 9e9 } })],
  [
    "a signal is owed again",
    "host-protocol.md#orders",
    () => attempt({ signaledUpTo: 2 }, { signaledUpTo: 1 }),
  ],
  ["a device is given to two", "devices.md#exclusive", () => onto({ attempts: sharing() })],
  ["its devices change", "devices.md#assignment", () => attempt({ devices: [gpu("g0")] }, { devices: [] })],
  ["devices of what lives are freed", "devices.md#freed", () => freeing()],
  ["stored output is lost", "host-protocol.md#logs", () => attempt({ logs: logs(9) }, { logs: logs(8) })],
];

const LATER = 1e7;
const STOP = { signal: "SIGTERM", killAt: 8e9, killing: false, signaled: true } as const;
const idle = () => idleHost().state;
const logs = (acked: number) => ({ stdout: { size: 9, acked }, stderr: { size: 0, acked: 0 } });

/** Its devices are freed while it runs. */
function freeing(): [HostState, HostState] {
  const devices = [gpu("g0")];
  return attempt({ devices }, { devices, freed: true });
}

/** Two attempts with the same device. */
function sharing(): HostState["attempts"] {
  const { attempts } = busyHost().state;
  return Object.fromEntries(
    Object.values(attempts).flatMap((one) => {
      const of = { ...one, devices: [gpu("g0")] };
      return [
        [ID, of],
        ["other/main/1.1", { ...of, id: "other/main/1.1" }],
      ];
    }),
  );
}

/** A host with a running attempt changes in this way. */
function onto(more: Partial<HostState>): [HostState, HostState] {
  const { state } = busyHost();
  const exchange = { ...state.exchange, seq: 100 };
  const before = { ...state, exchange, leaseUntil: LATER / 2 };
  return [before, { ...before, ...more }];
}

/** The running attempt was in one state, and is in another. */
function attempt(was: Partial<AttemptState>, is: Partial<AttemptState>): [HostState, HostState] {
  const { state } = busyHost();
  const known = state.attempts[ID];
  if (known === undefined) throw new Error("it has no attempt");
  const at = (more: Partial<AttemptState>) => ({ ...state, attempts: { [ID]: { ...known, ...more } } });
  return [at(was), at(is)];
}

test.each(BROKEN)("%s (%s)", (_what, rule, step) => {
  const [before, after] = step();
  const found = check(hostMachine, before, after, rule === "rules.md#r4" ? LATER : 1_000);
  expect(found).toEqual([{ machine: "host", rule, what: expect.any(String) }]);
});

test("each invariant is tried above (shell.md#assertions)", () => {
  const tried = BROKEN.flatMap(([, rule, step]) => {
    const [before, after] = step();
    const now = rule === "rules.md#r4" ? LATER : 1_000;
    return hostMachine.invariants.filter(({ broken }) => broken(before, after, now) !== undefined);
  });
  expect(new Set(tried)).toEqual(new Set(hostMachine.invariants));
});

test("a life from start to end breaks none", () => {
  const host = busyHost().order([run(), stop()]).pass(10_000).tell({ type: "exited", id: ID, exit: EXIT });
  host.tell({ type: "tree_gone", id: ID, killed: false }).order([]).tell({ type: "forgotten", id: ID });
  expect(host.pass(LEASE_MS).state.attempts).toEqual({});
});
