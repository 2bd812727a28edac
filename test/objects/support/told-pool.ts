import { runInDurableObject } from "cloudflare:test";
import type { RunUpsert } from "../../../src/core/messages.ts";
import type { Mailbox } from "../../../src/objects/messages/post.ts";
import type { RunQuestion } from "../../../src/routes/query/question.ts";
import type { RunState } from "../../../src/schema/run/run.ts";
import { bindings } from "./world.ts";

const SUBMITTED_AT = Date.now();
/** The pool that is told of runs. */
export const pool = () => bindings.POOL.getByName("default");

/** A run as its allocation tells its pool of it. There is none: what is tried here is the pool alone. */
export function upsert(
  run: string,
  state: RunState,
  version: number,
  labels: Record<string, string> = {},
): RunUpsert {
  return {
    run,
    submittedAt: SUBMITTED_AT,
    version,
    state,
    priority: 50,
    labels,
    command: "true",
    resources: { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 0 },
    hostPaths: false,
    exitCode: null,
    startedAt: null,
    finishedAt: null,
    wants: "nothing",
    epoch: 0,
    ended: 0,
  };
}

/** Tells the pool of one run. */
export async function tellOf(
  run: string,
  state: RunState,
  version: number,
  labels: Record<string, string> = {},
): Promise<void> {
  await runInDurableObject(pool(), async (instance) => {
    const mailbox = instance as unknown as Mailbox<"pool">; // the class implements it
    await mailbox.deliver({ type: "run", body: upsert(run, state, version, labels) });
  });
}

/** A query as the edge makes it of a request. */
export const question = (more: Partial<RunQuestion>): RunQuestion => ({
  states: ["complete"],
  labels: {},
  pools: ["default"],
  onlyThesePools: false,
  all: false,
  waitMs: 60_000,
  limit: 1_000,
  ...more,
});

/** How many wait for the pool's runs. */
export const waiting = () =>
  runInDurableObject(pool(), (instance) => (instance as unknown as { waiting: number }).waiting);
