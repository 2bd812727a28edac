import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { environmentOf, listProcesses, readProcess } from "../../../local/processes.ts";
import { killIfThere, launchDrover, type RunningDrover } from "../../edge/support/drover.ts";
import { until } from "../../local/support/scratch.ts";
import type { Chance } from "../../sim/rng.ts";

/** `drover up` takes about so long to start. */
const STARTS_WITHIN_MS = 1_500;

/** What SIGKILL meets, and whether that ends `drover up`. */
export const STRIKES = [
  { at: "the Node process of up", kills: strikeNode, endsUp: true },
  { at: "workerd", kills: strikeWorkerd, endsUp: false },
  { at: "the process group of up", kills: strikeGroup, endsUp: true },
  { at: "up, and up again while it starts", kills: strikeTwice, endsUp: true },
  { at: "the agent of a machine", kills: strikeAgent, endsUp: false },
  { at: "all of a machine", kills: strikeMachine, endsUp: false },
] as const;

/** The instances that a strike ends. If only the control plane is killed they go on (`loopback.md`). */
type Victims = string[];

async function strikeNode({ pid }: RunningDrover): Promise<Victims> {
  process.kill(pid, "SIGKILL");
  return [];
}

async function strikeGroup({ pid }: RunningDrover): Promise<Victims> {
  process.kill(-pid, "SIGKILL");
  return [];
}

/** Somebody starts it again at once, and that is killed before it is up, or just then. */
async function strikeTwice({ pid, ended, stateDir }: RunningDrover, chance: Chance): Promise<Victims> {
  process.kill(pid, "SIGKILL");
  await ended;
  const again = launchDrover(dirname(stateDir));
  // Nothing is waited for here: a crash comes when it comes.
  await sleep(chance.between(0, STARTS_WITHIN_MS));
  process.kill(-again.pid, "SIGKILL");
  await again.ended;
  return [];
}

/** Of the two processes that carry its mark the other is the watcher, which is a child of workerd. */
async function strikeWorkerd({ pid, stateDir }: RunningDrover): Promise<Victims> {
  const mark = `DROVER_RUNTIME=${stateDir}`;
  const workerd = await until("workerd runs", () =>
    listProcesses().find((one) => one.parent === pid && !one.zombie && environmentOf(one.pid).includes(mark)),
  );
  killIfThere(workerd.pid);
  return [];
}

async function strikeAgent({ stateDir }: RunningDrover, chance: Chance): Promise<Victims> {
  const { id, root } = await someInstance(stateDir, chance);
  killIfThere(root.pid);
  return [id];
}

async function strikeMachine({ stateDir }: RunningDrover, chance: Chance): Promise<Victims> {
  const { id } = await someInstance(stateDir, chance);
  for (const pid of processesOf(stateDir, id)) killIfThere(pid);
  return [id];
}

interface Entry {
  id: string;
  state: string;
  root?: { pid: number; startTicks: number };
}

function someInstance(stateDir: string, chance: Chance) {
  return until("a machine runs", () => {
    const running = instancesOf(stateDir).flatMap(({ id, root }) =>
      root !== undefined && readProcess(root.pid)?.startTicks === root.startTicks ? [{ id, root }] : [],
    );
    return chance.pick(running);
  });
}

/** Processes of one machine that are alive. */
function processesOf(stateDir: string, id: string): number[] {
  const mark = `DROVER_INSTANCE=${join(stateDir, "instances", id)}`;
  return listProcesses()
    .filter(({ pid, zombie }) => !zombie && environmentOf(pid).includes(mark))
    .map(({ pid }) => pid);
}

/** What the cloud has written down: nothing before its first machine. It writes the whole file or nothing. */
export function instancesOf(stateDir: string): Entry[] {
  const ledger = join(stateDir, "instances.json");
  return existsSync(ledger) ? JSON.parse(readFileSync(ledger, "utf8")).instances : [];
}
