import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FileServer, openFileServer, sha256Of } from "../agent/support/file-server.ts";
import { sized } from "../chance/length.ts";
import {
  endDrover,
  killIfThere,
  livingOf,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "../edge/support/drover.ts";
import type { Json } from "../edge/support/edge.ts";
import { until } from "../local/support/scratch.ts";
import { PHASES, type Phase, type Stage } from "./support/phases.ts";
import { acceptedOf, asIfAccepted, eventsAsIfAccepted } from "./support/refused.ts";
import { strikeWorkerd } from "./support/strikes.ts";

// The control plane is killed once in each phase of a group's life, and started again on the same state. The
// run must go on and end as the same one did that nobody has struck: state, attempts, events, and what its
// commands have done, each once (shell.md#machine: level, not edge).

const ARTIFACT = Buffer.from("the artifact\n");

let home: string;
let up: RunningDrover;
let server: FileServer;
/** What there is to see of each phase when nobody strikes. */
const undisturbed = new Map<Phase, Json>();
beforeAll(async () => {
  home = makeHome("phases");
  [up, server] = await Promise.all([startDrover(home), openFileServer()]);
  // A machine that is about to stop refuses a run, which is then placed again: another number in each id.
  // `untilHeard` sees to the other reason for that.
  const { timeouts } = await poolConfigOf(up);
  await putPool(200, "default", { timeouts: { ...timeouts, idle: "10m" } });
  const plays = PHASES.map(async (phase) => {
    undisturbed.set(phase, await play(phase, "nobody", async () => undefined));
  });
  await Promise.all(plays);
});
afterAll(async () => {
  await server.close();
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const CRASHES: [at: string, crash: () => Promise<unknown>][] = [
  ["workerd", () => strikeWorkerd(up)],
  ["drover up", strikeUp],
];

async function strikeUp(): Promise<void> {
  killIfThere(-up.pid);
  await up.ended;
  up = await startDrover(home);
}

describe.each(PHASES)("a group $at goes on and ends as if nothing had been", (phase) => {
  // The short run strikes each phase once, and both processes by turns.
  const turn = PHASES.indexOf(phase) % CRASHES.length;
  test.each(sized(CRASHES.slice(turn, turn + 1), CRASHES))("after a SIGKILL to %s", async (at, crash) => {
    const played = await play(phase, at.replace(" ", "-"), crash);
    expect(played.run).toMatchObject(phase.end);
    expect(played.marks).toEqual(phase.marks);
    const { run, events } = undisturbed.get(phase);
    expect(played.run, `undisturbed: ${JSON.stringify(run)}`).toEqual(run);
    expect(played.events, `undisturbed: ${JSON.stringify(events)}`).toEqual(events);
  });
});

/** Leads a run into a phase, strikes there, and lets it go on. Resolves with what there is to see of it. */
async function play(phase: Phase, struck: string, crash: () => Promise<unknown>): Promise<Json> {
  const id = `p${PHASES.indexOf(phase)}-${struck}`;
  const download = Promise.withResolvers<ServerResponse>();
  const stage: Stage = {
    id,
    pool: phase.withoutMachine ? id : "default",
    marks: join(home, `${id}.marks`),
    enough: join(home, `${id}.enough`),
    artifact: { url: `${server.url}/${id}`, sha256: sha256Of(ARTIFACT), to: "." },
  };
  server.on(`/${id}`, (_, response) => {
    response.write(ARTIFACT.subarray(0, 4));
    download.resolve(response);
  });
  if (phase.withoutMachine) await putPool(201, id, { maxInstances: 0 });
  else await untilHeard(`${id}-first`);
  await submit(phase, stage);

  await until(`${id} is ${phase.at}`, async () => {
    const run = await up.json(200, "GET", `/v1/runs/${id}`);
    return phase.reached(run, marksOf(stage)) || undefined;
  });
  await crash();

  if (phase.withoutMachine) await putPool(200, id, { maxInstances: 1 });
  if (phase.at === "preparing") (await download.promise).end(ARTIFACT.subarray(4));
  mkdirSync(stage.enough);
  const run = await endOf(id);
  const marks = marksOf(stage).map((mark) => asIfAccepted(run, mark));
  return { run: seenOf(run), events: await eventsOf(id), marks };
}

async function submit({ spec, abortAfter }: Phase, stage: Stage): Promise<void> {
  const { id, pool } = stage;
  const resources = { vcpus: 0, memory: "16MiB" };
  const body = { id, pool, resources, reschedule: { attempts: 0 }, ...spec(stage) };
  await up.json(201, "POST", "/v1/runs", body);
  if (abortAfter === undefined) return;
  // A start is told up to a second late: only then is the order of events the same each time.
  await until(`${id} has done ${abortAfter}, and said so`, async () => {
    const { state } = await up.json(200, "GET", `/v1/runs/${id}`);
    return (state === "running" && marksOf(stage).includes(abortAfter)) || undefined;
  });
  await up.json(200, "POST", `/v1/runs/${id}/abort`, { reason: "enough" });
}

/**
 * Waits until the machine has been heard since the control plane started: before that its worker counts it as
 * silent, and refuses runs, which are then placed again (workers.md#report-6).
 */
async function untilHeard(id: string): Promise<void> {
  const body = { id, argv: ["true"], resources: { vcpus: 0, memory: "16MiB" } };
  await up.json(201, "POST", "/v1/runs", body);
  await endOf(id);
}

async function putPool(status: number, name: string, more: object): Promise<void> {
  await untilAnswered(async () => {
    const config = await poolConfigOf(up);
    return up.json(status, "PUT", `/v1/pools/${name}`, { ...config, ...more });
  });
}

function endOf(id: string): Promise<Json> {
  const look = async () => {
    const run = await untilAnswered(() => up.json(200, "GET", `/v1/runs/${id}?wait=20s&state=done`));
    return run.finishedAt === null ? undefined : run;
  };
  return until(`${id} has ended`, look, () => whyNot(id));
}

/** What there is to know of a run that does not end, and of the machines. */
async function whyNot(id: string): Promise<Json> {
  const run = await up.json(200, "GET", `/v1/runs/${id}`);
  const { items: events } = await up.json(200, "GET", `/v1/runs/${id}/events`);
  const { items: workers } = await up.json(200, "GET", "/v1/workers");
  return { run, events, workers, living: livingOf(up, id).map(({ pid }) => pid), said: up.said() };
}

/** Asks again while the runtime is being started anew. */
function untilAnswered(ask: () => Promise<Json>): Promise<Json> {
  return until("the control plane answers", () => ask().catch(() => undefined));
}

function marksOf({ marks }: Stage): string[] {
  return existsSync(marks) ? readFileSync(marks, "utf8").split("\n").slice(0, -1) : [];
}

/** All of a run but instants, refused placements, and what is called after it. */
function seenOf(run: Json): Json {
  const { state, exitCode, signal, failure, abort, tasks } = run;
  return {
    ...{ state, exitCode, signal, failure, abort },
    placements: acceptedOf(run).map(({ outcome }) => outcome),
    tasks: tasks.map(({ name, state: its, failed, restarts, attempts }: Json) => ({
      ...{ name, state: its, failed, restarts },
      attempts: attempts.map(({ id, state: end, exit }: Json) => [
        asIfAccepted(run, id.split("/").slice(1).join("/")),
        end,
        exit,
      ]),
    })),
  };
}

/** What the run tells of each task, and of itself, in order: tasks at the same time are in none. */
async function eventsOf(id: string): Promise<Json> {
  const { items, dropped } = await up.json(200, "GET", `/v1/runs/${id}/events`);
  expect(dropped).toBe(0);
  const ofTasks = new Map<string, string[]>();
  for (const { task, type } of eventsAsIfAccepted(items))
    ofTasks.set(task, [...(ofTasks.get(task) ?? []), type]);
  return Object.fromEntries(ofTasks);
}
