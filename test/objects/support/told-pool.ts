import { runInDurableObject } from "cloudflare:test";
import type { RunUpsert } from "../../../src/core/messages.ts";
import type { Mailbox } from "../../../src/objects/messages/post.ts";
import type { RunQuestion } from "../../../src/routes/query/question.ts";
import type { RunState } from "../../../src/schema/run/run.ts";
import { bindings } from "./world.ts";

const SUBMITTED_AT = Date.now();
/** The pool that the tests send runs to. */
export const pool = () => bindings.POOL.getByName("default");

/** A run as its allocation would send it to the pool. There is no allocation: only the pool is tested. */
export function upsert(
  run: string,
  state: RunState,
  version: number,
  labels: Record<string, string> = {},
): RunUpsert {
  return {
    run,
    submittedAt: SUBMITTED_AT,
    by: "admin",
    project: "default",
    budget: null,
    storedBytes: 0,
    version,
    state,
    priority: 50,
    labels,
    command: "true",
    resources: { vcpus: 1, memoryBytes: 1, diskBytes: 0, gpus: 0 },
    hostPaths: false,
    fakes: false,
    protocol: 0,
    exitCode: null,
    startedAt: null,
    finishedAt: null,
    restarts: 0,
    oomKills: 0,
    taskFailures: {},
    startFailures: 0,
    avoid: [],
    prefer: null,
    wants: "nothing",
    epoch: 0,
    ended: 0,
  };
}

/** Sends one run to the pool. */
export async function tellOf(
  run: string,
  state: RunState,
  version: number,
  labels: Record<string, string> = {},
  more: Partial<RunUpsert> = {},
): Promise<void> {
  await tell({ ...upsert(run, state, version, labels), ...more });
}

/** Sends a run to the pool, as its allocation would. */
export async function tell(body: RunUpsert): Promise<void> {
  await runInDurableObject(pool(), async (instance) => {
    const mailbox = instance as unknown as Mailbox<"pool">; // the class implements it
    await mailbox.deliver({ type: "run", body });
  });
}

/** A query as the edge makes it from a request. */
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

/** How many callers wait for the pool's runs. */
export const waiting = () =>
  runInDurableObject(pool(), (instance) => (instance as unknown as { waiting: number }).waiting);
