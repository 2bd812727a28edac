import { expect } from "vitest";
import type { RunEvent, RunSpecInput, RunStatus } from "../../src/schema/run/run.ts";
import { BUSYBOX } from "../agent/support/busybox.ts";

type TaskInput = NonNullable<RunSpecInput["tasks"]>[number];

/** How the tasks of a group run: in the simulation of a host, as processes, or in containers. */
export type Driver = "fake" | "exec" | "container";

/** What a task does: as the fake driver plays it, and as a real command does the same. */
interface Play {
  fake: NonNullable<TaskInput["fake"]>;
  /** For a shell, which has said `on` by then. */
  command?: string;
  /** What it does before it says that. */
  before?: string;
  /** In place of a shell. */
  argv?: string[];
  memory?: string;
}

interface ScenarioTask {
  name: string;
  play: Play;
  more: Partial<TaskInput>;
}

/** What happens once these tasks run. */
export interface Act {
  once: string[];
  what: "abort" | "agent dies";
}

/** How one task has ended. */
interface TaskEnd {
  failed: boolean;
  /** Each attempt's exit code or signal; `none` if there was no exit, or nobody knows it. */
  exits: string[];
  /** The types of all its events, in order. */
  events: string | RegExp;
}

/** How a run has ended. The text of its failure may go on. */
interface End {
  state: RunStatus["state"];
  allocStatus: RunStatus["allocStatus"];
  exitCode: number | null;
  failure: { code: string; text: string } | null;
  tasks: Record<string, TaskEnd>;
}

/** A group, what is done to it, and how it ends: the same on every level. */
export interface Scenario {
  name: string;
  tasks: ScenarioTask[];
  timeout?: string;
  act?: Act;
  /** What a real machine must be able to limit. */
  needs?: "memory";
  end: End;
  /** `<task> <event type>`: of each of these lists one comes after the other, the first of its kind each. */
  order: string[][];
}

/** What an ended run tells. */
export interface Told {
  status: RunStatus;
  events: RunEvent[];
}

/** A task that is not started again, unless `more` says so. */
export function task(name: string, play: Play, more: Partial<TaskInput> = {}): ScenarioTask {
  return { name, play, more: { restart: { attempts: 0 }, ...more } };
}

/** The group as it is submitted: played by the fake driver, or with real commands. */
export function specOf({ tasks, timeout }: Scenario, driver: Driver): RunSpecInput {
  const isDeaf = tasks.some(({ play }) => play.fake.ignoreSignals);
  return {
    ...(driver === "container" ? { container: { image: BUSYBOX, network: "host" as const } } : {}),
    tasks: tasks.map(({ name, play, more }) => ({
      name,
      ...(driver === "fake" ? played(play) : real(play)),
      ...more,
    })),
    resources: { vcpus: 0, memory: "64MiB" },
    reschedule: { attempts: 0 },
    // Only a task that ignores its signal is to be killed, however slow the machine is.
    killTimeout: driver === "fake" || isDeaf ? "2s" : "60s",
    ...(timeout === undefined ? {} : { timeout }),
  };
}

/**
 * The tasks that are lost when the agent of their machine dies: with real processes, somebody kills them
 * then.
 */
export function mortalsOf({ tasks }: Scenario): string[] {
  return tasks.filter(({ play }) => play.fake.dieWithAgent).map(({ name }) => name);
}

function played({ fake }: Play) {
  return { argv: ["play"], driver: "fake" as const, fake: { output: ["on"], ...fake } };
}

function real({ argv, before = ":", command = ":", memory }: Play) {
  const resources = memory === undefined ? {} : { resources: { memory } };
  return { argv: argv ?? ["sh", "-c", `${before}; echo on; ${command}`], ...resources };
}

/** The codes by which an engine says that a signal has ended a container. */
const CODES: Record<string, string> = { SIGTERM: "143", SIGKILL: "137" };

/** An engine takes its time to make a container and to start it, which counts against the times of a run. */
const SLOWER = 10;

/** The same task, which sleeps longer. */
function stretched({ play, ...task }: ScenarioTask): ScenarioTask {
  const { command } = play;
  if (command === undefined) return { play, ...task };
  const slower = command.replace(/^sleep (\d+)/, (_, seconds) => `sleep ${Number(seconds) * SLOWER}`);
  return { ...task, play: { ...play, command: slower } };
}

/**
 * The same group in containers: of a signal an engine says only a code, and the command is looked up in an
 * image.
 */
export function inContainers(scenario: Scenario): Scenario {
  const { end } = scenario;
  // What an engine says, and what was seen, may come too late for a lack of memory (containers.md#oom).
  const coded = (text: string) => {
    const code = text.replace(/^SIG[A-Z]+/, (signal) => CODES[signal] ?? signal);
    const oom = ", out of memory";
    return code.endsWith(oom) ? expect.stringMatching(`^${code.replace(oom, `(${oom})?`)}$`) : code;
  };
  const failure = end.failure && {
    ...end.failure,
    text: end.failure.text
      .replace("failed with SIGKILL", "failed with exit code 137")
      .replace(/: There is no .*$/, ": `no-such-command` could not be started"),
  };
  // The container has started before its first process finds that there is no such command.
  const begun = (events: TaskEnd["events"]) =>
    events === "Driver Failure, Not Restarting" ? /^(Started, )?Driver Failure, Not Restarting$/ : events;
  const tasks = Object.entries(end.tasks).map(([name, one]) => [
    name,
    { ...one, exits: one.exits.map(coded), events: begun(one.events) },
  ]);
  return {
    ...scenario,
    tasks: scenario.tasks.map(stretched),
    ...(scenario.timeout === undefined
      ? {}
      : { timeout: `${Number.parseInt(scenario.timeout, 10) * SLOWER}s` }),
    end: { ...end, failure, tasks: Object.fromEntries(tasks) },
  };
}

/** The run has ended as its scenario says, with everything in its order. */
export function expectEnd({ end, order }: Scenario, { status, events }: Told): void {
  const { state, allocStatus, exitCode, failure } = status;
  const tasks = status.tasks.map(({ name, state, failed, attempts }) => {
    const types = events.filter((one) => one.task === name).map(({ type }) => type);
    return [name, { state, failed, exits: attempts.map(exitOf), events: types.join(", ") }];
  });
  const told = {
    state,
    allocStatus,
    exitCode,
    failure: failure === null ? null : { code: failure.code, text: failure.text },
    tasks: Object.fromEntries(tasks),
  };
  const wanted = Object.entries(end.tasks).map(([name, { events, ...more }]) => [
    name,
    { state: "dead", ...more, events: typeof events === "string" ? events : expect.stringMatching(events) },
  ]);
  expect(told).toEqual({
    ...end,
    failure: end.failure && { ...end.failure, text: expect.stringContaining(end.failure.text) },
    tasks: Object.fromEntries(wanted),
  });
  const all = events.map((event) => `${event.task} ${event.type}`);
  for (const chain of order) {
    const places = chain.map((one) => all.indexOf(one));
    expect(places, `${chain.join(" < ")} in ${all.join(", ")}`).toEqual([...places].sort((a, b) => a - b));
    expect(places).not.toContain(-1);
  }
}

function exitOf({ exit }: RunStatus["tasks"][number]["attempts"][number]): string {
  if (exit === null) return "none";
  const { code, signal, oomKilled } = exit;
  return `${signal ?? code}${oomKilled ? ", out of memory" : ""}`;
}
