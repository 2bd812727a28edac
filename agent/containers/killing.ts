// How is a container killed so that nothing of it lives for certain (containers.md#kill)?
import { setTimeout as sleep } from "node:timers/promises";
import { type Group, killGroup, membersOf } from "../../posix/cgroup.ts";
import { lives, type ProcId, sendSignal } from "../../posix/proc.ts";
import type { Instant, Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import type { Engine } from "../engine/engine.ts";
import { retryWhileStarved } from "../exec/processes/retry-while-starved.ts";
import { BRIEF_MS, isAway, within } from "./patience.ts";
import { inCgroupOf } from "./place.ts";
import type { Watching } from "./watching.ts";

/** How long the output of a killed container may stand still before its end is given up. */
const END_MS: Millis = 10_000;
const LOOK_MS: Millis = 20;
/** The pauses between two tries grow up to this. */
const LONGEST_PAUSE_MS: Millis = 2_000;

/** A container that is to be killed. */
export interface Victim {
  /** Undefined: nobody knows any engine. */
  engine: Engine | undefined;
  name: string;
  /** Whether a container with these labels is the attempt's. */
  isOwn: (labels: Readonly<Record<string, string>>) => boolean;
  group: Group | undefined;
  /** The pids of all living processes of the attempt, by their environment. */
  strays: () => number[];
  /** Undefined: this agent has not followed it. */
  watching: Watching | undefined;
  /** Whether the container stays once nothing of it runs: another agent reads what it has written. */
  stays: boolean;
}

/**
 * Whether anything lived, and why something may still live; undefined: nothing does, for certain. `stays`:
 * the container itself could not be removed.
 */
export interface Killed {
  killed: boolean;
  alive?: string;
  stays: boolean;
}

/** Kills a container, and tries again until nothing of it lives for certain or until `until`. */
export async function killContained(victim: Victim, until: Instant, now: () => Instant): Promise<Killed> {
  let wasKilled = false;
  for (let pauseMs = LOOK_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
    const { killed, ...outcome } = await tryOnce(victim, until, now);
    wasKilled ||= killed;
    const leftMs = until - now();
    if (outcome.alive === undefined || leftMs <= 0) return { killed: wasKilled, ...outcome };
    await sleep(Math.min(pauseMs, leftMs));
  }
}

async function tryOnce(victim: Victim, until: Instant, now: () => Instant): Promise<Killed> {
  const { watching, group, strays } = victim;
  const { killed, isHopeless } = await killProcesses(victim, until, now);
  // An end that is known, and its output, go with the container.
  if (!isHopeless) await watching?.told(END_MS);
  const waitMs = Math.max(BRIEF_MS, until - now());
  const removing = removed(victim).catch((error) => couldNot(victim.name, error));
  const removal = (await within(waitMs, removing)) ?? couldNot(victim.name, "the engine does not answer");
  // The kernel ends all processes of a container with its first one, so its end is a proof by itself.
  const isDead = await retryWhileStarved(() => watching?.isMainDead === true);
  const left = await retryWhileStarved(() => (group === undefined ? strays() : membersOf(group)));
  // What an engine does not know that was killed as it started the container.
  if (group === undefined) for (const pid of left) sendSignal(pid, "SIGKILL");
  const stays = removal !== DONE;
  if (left.length > 0) return { killed, stays, alive: `These processes live: ${left.join(", ")}.` };
  return !stays || isDead ? { killed, stays } : { killed, stays, alive: removal };
}

/**
 * Kills what lives, without the engine where possible. `isHopeless`: only the engine could, and it has not.
 */
async function killProcesses({ engine, name, watching, group }: Victim, until: Instant, now: () => Instant) {
  const isAlive = () =>
    retryWhileStarved(
      () => isLiving(watching?.knownMain) || (group !== undefined && membersOf(group).length > 0),
    );
  let killed = false;
  let isHopeless = false;
  if (watching?.isOver === false && !(await isAlive())) {
    // One that has ended is no longer to be killed, and its output is still to be copied.
    const asked = engine?.killContainer(name, "SIGKILL").then(
      () => "killed" as const,
      (error) => (isAway(error) ? "away" : "ended"),
    );
    const waitMs = Math.max(BRIEF_MS, until - now());
    const said = (asked && (await within(waitMs, asked))) ?? "away";
    killed = said !== "ended";
    isHopeless = said === "away" && !(await retryWhileStarved(() => watching.isMainDead));
  }
  while (await isAlive()) {
    killed = true;
    const main = watching?.knownMain;
    // Its pid may be somebody else's by now.
    if (main !== undefined && isLiving(main)) sendSignal(main.pid, "SIGKILL");
    if (group !== undefined) killGroup(group);
    if (now() >= until) break;
    await sleep(LOOK_MS);
  }
  return { killed, isHopeless };
}

const DONE = "";

/** Removes the container. `DONE`: there is none any more; else why that is not certain. */
async function removed({ engine, name, isOwn, stays, group }: Victim): Promise<string> {
  if (engine === undefined)
    return "The container engine is gone, so nobody knows whether the container runs.";
  const made = await engine.inspectContainer(name);
  // What somebody else has given this name is his.
  if (made === undefined || !isOwn(made.labels)) return DONE;
  if (stays) {
    if (made.state.running) await engine.killContainer(made.id, "SIGKILL");
    const { state } = (await engine.inspectContainer(made.id)) ?? {};
    return state?.running === true ? `The container ${name} runs.` : DONE;
  }
  // An engine that was killed as it started the container may not know what its runtime has made.
  if (group === undefined) for (const pid of inCgroupOf(made.id)) sendSignal(pid, "SIGKILL");
  await engine.removeContainer(made.id);
  const left = await engine.inspectContainer(made.id);
  return left === undefined ? DONE : `The engine does not remove the container ${name}.`;
}

function couldNot(name: string, error: unknown): string {
  const why = typeof error === "string" ? `${error}.` : errorText(error);
  return `The container ${name} could not be removed: ${why}`;
}

function isLiving(proc: ProcId | undefined): boolean {
  return proc !== undefined && lives(proc);
}
