import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { environmentOf, listProcs } from "../../../posix/proc.ts";
import { killIfThere, launchDrover, type RunningDrover } from "../../edge/support/drover.ts";
import { until } from "../../local/support/scratch.ts";
import type { Chance } from "../../sim/rng.ts";

/** About how long `drover up` takes to start. */
const STARTS_WITHIN_MS = 1_500;

/** What is hit by SIGKILL. */
export interface Strike {
  at: string;
  /** Whether it ends `drover up`, which is then started again. */
  endsUp: boolean;
  /** Resolves with the instances whose runs may be lost with it. */
  kills(up: RunningDrover, chance: Chance): Promise<Victims>;
}

/** Instances whose runs may end `unknown`. None if an agent or a control plane was hit: they come back. */
type Victims = string[];

export const STRIKES: Strike[] = [
  { at: "agent", kills: strikeAgent, endsUp: false },
  { at: "workerd", kills: strikeWorkerd, endsUp: false },
  { at: "control plane", kills: strikeUp, endsUp: true },
  { at: "both", kills: strikeBoth, endsUp: true },
  { at: "machine", kills: strikeMachine, endsUp: false },
];

/** Kills all of `drover up`; or its Node process alone; or all of it, twice in a row. */
async function strikeUp(up: RunningDrover, chance: Chance): Promise<Victims> {
  if (chance.chance(0.25)) killIfThere(up.pid);
  else if (chance.chance(0.3)) await strikeTwice(up, chance);
  else killIfThere(-up.pid);
  return [];
}

/** Kills it, starts it again at once, and kills it before it is up, or just then. */
async function strikeTwice({ pid, ended, stateDir }: RunningDrover, chance: Chance): Promise<void> {
  killIfThere(-pid);
  await ended;
  const again = launchDrover(dirname(stateDir));
  // This sleep waits for nothing: a crash comes at any time.
  await sleep(chance.between(0, STARTS_WITHIN_MS));
  killIfThere(-again.pid);
  await again.ended;
}

/** Kills workerd. The other process that carries its mark is the watcher, a child of workerd. */
export async function strikeWorkerd({
  pid,
  stateDir,
}: Pick<RunningDrover, "pid" | "stateDir">): Promise<Victims> {
  const mark = `DROVER_RUNTIME=${stateDir}`;
  const workerd = await until("workerd runs", () =>
    listProcs().find((one) => one.ppid === pid && !one.ended && environmentOf(one.pid).includes(mark)),
  );
  killIfThere(workerd.pid);
  return [];
}

async function strikeAgent({ stateDir }: RunningDrover, chance: Chance): Promise<Victims> {
  const agents = await until("an agent runs", () => nonEmpty(agentsOf(stateDir)));
  killIfThere(chance.pick(agents) ?? 0);
  return [];
}

async function strikeBoth({ pid, stateDir }: RunningDrover): Promise<Victims> {
  const agents = agentsOf(stateDir);
  for (const one of [-pid, ...agents]) killIfThere(one);
  return [];
}

async function strikeMachine({ stateDir }: RunningDrover, chance: Chance): Promise<Victims> {
  const busy = await until("a machine is busy", () => nonEmpty(machinesOf(runningIn(stateDir))));
  const id = chance.pick(busy) ?? "";
  killMachine(stateDir, id);
  return [id];
}

/** SIGKILL to every process of an instance. */
export function killMachine(stateDir: string, id: string): void {
  for (const { pid } of processesOf(stateDir, id)) killIfThere(pid);
}

function nonEmpty<T>(items: T[]): T[] | undefined {
  return items.length > 0 ? items : undefined;
}

/** A living process of an instance. */
interface Member {
  pid: number;
  parent: number;
  instance: string;
  environment: string[];
}

/** The living processes of the instances of a state directory, or of one of them. */
function processesOf(stateDir: string, id?: string): Member[] {
  const mark = `DROVER_INSTANCE=${join(stateDir, "instances")}/`;
  return listProcs().flatMap(({ pid, ppid: parent, ended }) => {
    const environment = ended ? [] : environmentOf(pid);
    const instance = environment.find((entry) => entry.startsWith(mark))?.slice(mark.length);
    if (instance === undefined || (id !== undefined && instance !== id)) return [];
    return [{ pid, parent, instance, environment }];
  });
}

/** The living agents: the processes that the first process of a machine has started as such. */
export function agentsOf(stateDir: string): number[] {
  const roots = new Set(instancesOf(stateDir).flatMap(({ root }) => root?.pid ?? []));
  return processesOf(stateDir)
    .filter(({ pid, parent }) => roots.has(parent) && isAgent(pid))
    .map(({ pid }) => pid);
}

function isAgent(pid: number): boolean {
  try {
    return (
      readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[1]?.endsWith("/drover-agent.mjs") ?? false
    );
  } catch {
    return false;
  }
}

/** An attempt whose command is alive, and its instance. */
export interface RunningAttempt {
  run: string;
  instance: string;
}

const MARK_OF_A_RUN = "DROVER_RUN_ID=";

/** The commands that are alive at this moment, according to the kernel. */
export function runningIn(stateDir: string): RunningAttempt[] {
  const running = new Map<string, RunningAttempt>();
  for (const { instance, environment } of processesOf(stateDir)) {
    const run = environment.find((entry) => entry.startsWith(MARK_OF_A_RUN))?.slice(MARK_OF_A_RUN.length);
    if (run !== undefined) running.set(run, { run, instance });
  }
  return [...running.values()];
}

function machinesOf(running: RunningAttempt[]): string[] {
  return [...new Set(running.map(({ instance }) => instance))];
}

interface Entry {
  id: string;
  state: string;
  root?: { pid: number; startTime: number };
}

/** The cloud's ledger: nothing before its first machine. The cloud writes the whole file or nothing. */
export function instancesOf(stateDir: string): Entry[] {
  const ledger = join(stateDir, "instances.json");
  return existsSync(ledger) ? JSON.parse(readFileSync(ledger, "utf8")).instances : [];
}

/** Instances with living processes. */
export function instancesAlive(stateDir: string): string[] {
  return [...new Set(processesOf(stateDir).map(({ instance }) => instance))];
}
