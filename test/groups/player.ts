// Plays groups on a `drover up` with real agents, side by side, and looks at how they end.
import { expect, test } from "vitest";
import { environmentOf, type Proc } from "../../posix/proc.ts";
import { killIfThere, livingOf, type RunningDrover } from "../edge/support/drover.ts";
import type { Json } from "../edge/support/edge.ts";
import { agentsOf } from "../edge/support/peaks.ts";
import { until } from "../local/support/scratch.ts";
import { type Driver, expectEnd, mortalsOf, type Scenario, specOf } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

/** The run, once it has ended. Nothing of it lives any more then. */
export async function endOf(up: RunningDrover, id: string): Promise<Json> {
  const ended = await until(`${id} has ended`, async () => {
    const status = await up.json(200, "GET", `/v1/runs/${id}?wait=20s&state=done`);
    return status.finishedAt === null ? undefined : status;
  });
  expect(livingOf(up, id)).toEqual([]);
  return ended;
}

/** Resolves once a task has written these words. */
export async function says(up: RunningDrover, id: string, name: string, words: string): Promise<void> {
  await until(`${name} of ${id} says ${words}`, async () => {
    const answer = await up.call("GET", `/v1/runs/${id}/logs/${name}/stdout`);
    return answer.ok && (await answer.text()).includes(words) ? true : undefined;
  });
}

/** Submits a scenario, does what is done to it, and looks at its end. */
async function play(up: RunningDrover, scenario: Scenario, driver: Driver, pool: string): Promise<void> {
  const number = SCENARIOS.findIndex(({ name }) => name === scenario.name);
  const id = `${driver}-${number}`;
  await up.json(201, "POST", "/v1/runs", { id, pool, ...specOf(scenario, driver) });
  for (const name of scenario.act?.once ?? []) await says(up, id, name, "on");
  if (scenario.act?.what === "abort") await up.json(200, "POST", `/v1/runs/${id}/abort`, {});
  if (scenario.act?.what === "agent dies") killAgents(up, id, mortalsOf(scenario));
  const status = await endOf(up, id);
  const { items: events } = await up.json(200, "GET", `/v1/runs/${id}/events`);
  expectEnd(scenario, { status, events });
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

/** The agents are killed, and with them the supervisors and processes of these tasks, in this order. */
function killAgents(up: RunningDrover, id: string, tasks: string[]): void {
  const marks = tasks.map((name) => `DROVER_ATTEMPT_ID=${id}/${name}/1.1`);
  const isMarked = ({ pid }: Proc) => marks.some((mark) => environmentOf(pid).includes(mark));
  const theirs = livingOf(up, id).filter(isMarked);
  const pids = [...new Set(theirs.flatMap(({ pid, ppid }) => [ppid, pid]))].sort((a, b) => a - b);
  for (const pid of [...agentsOf(up.stateDir), ...pids.filter((pid) => pid > 1)]) killIfThere(pid);
}

/** Plays scenarios side by side, but alone those that kill the agents of all others. */
export function playAll(
  up: () => RunningDrover,
  scenarios: readonly Scenario[],
  driver: Driver,
  pool = "default",
): void {
  const [alone, together] = partition(scenarios, ({ act }) => act?.what === "agent dies");
  test.concurrent.each(together)("$name", (scenario) => play(up(), scenario, driver, pool));
  test.each(alone)("$name", (scenario) => play(up(), scenario, driver, pool));
}
