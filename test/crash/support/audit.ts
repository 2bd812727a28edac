import type { RunStatus } from "../../../src/schema/run/run.ts";
import type { Json } from "../../edge/support/edge.ts";
import { until } from "../../local/support/scratch.ts";
import type { Batch } from "./batch.ts";
import { effectsOf, type Job } from "./jobs.ts";
import type { System } from "./stream.ts";
import { instancesAlive, instancesOf } from "./strikes.ts";

/** The most placements of one run: a worker that refuses is retried with a back-off, and is seldom alone. */
const MAX_EPOCHS = 20;
/** How many runs are checked at the same time. */
const AT_ONCE = 12;

/** What is wrong with the ends of one batch, in words. */
export async function auditBatch(system: System, batch: Batch): Promise<string[]> {
  const { items } = await system.up.json(200, "GET", `/v1/workers?pool=${system.pool}&limit=1000`);
  const instanceOf = new Map<string, string>(items.map(({ id, instance }: Json) => [id, instance]));
  const found: string[] = [...system.problems];
  for (let from = 0; from < batch.jobs.length; from += AT_ONCE) {
    const audits = batch.jobs.slice(from, from + AT_ONCE).map(async (job) => {
      const status = system.told.statusOf(job.id);
      if (status === undefined) return [`${job.id} has not ended`];
      const texts = [...auditEffects(system, job, status), ...auditState(job, status, batch)];
      if (status.state === "unknown") texts.push(...auditLoss(status, batch, instanceOf));
      if (status.state === "complete") texts.push(...(await auditOutput(system, job)));
      texts.push(...(await system.told.read(system.up, job.id)).changes);
      return texts.map((text) => `${job.id} (${status.state}): ${text}`);
    });
    found.push(...(await Promise.all(audits)).flat());
  }
  return [...found, ...(await auditLists(system, batch))];
}

/** Each attempt leaves one line where it began: there must be at most one, and the run must know of it. */
function auditEffects({ effects }: System, job: Job, status: RunStatus): string[] {
  const begun = effectsOf(effects, job.id);
  if (begun.length > 1) return [`it was started more than once: ${begun.join(", ")}`];
  const last = `${job.id}/main/${status.placements.at(-1)?.epoch}.1`;
  if (begun.length === 1 && begun[0] !== last) return [`${begun[0]} has run, and the run knows ${last}`];
  if (begun.length === 0 && status.state === "complete") return ["it has not run"];
  return [];
}

function auditState(job: Job, status: RunStatus, batch: Batch): string[] {
  const byItself = job.kind !== "aborted";
  const expected = batch.aborted.has(job.id) ? ["aborted"] : byItself ? ["complete", "unknown"] : ["unknown"];
  if (!expected.includes(status.state)) return [`it should be ${expected.join(" or ")}`];
  const { state, exitCode, placements } = status;
  const epochs = placements.at(-1)?.epoch ?? 0;
  if (epochs > MAX_EPOCHS) return [`it was placed ${epochs} times: somebody turns in circles`];
  if (state === "complete" && exitCode !== job.exitCode)
    return [`exit code ${exitCode}, not ${job.exitCode}`];
  return [];
}

/** The end of a run may be unknown only if a machine that was killed had the run on it. */
function auditLoss(status: RunStatus, batch: Batch, instanceOf: Map<string, string>): string[] {
  const { failure, placements } = status;
  const placement = placements.at(-1);
  const instance = instanceOf.get(placement?.worker ?? "");
  const found: string[] = [];
  if (failure?.class !== "infrastructure" || !["machine_lost", "status_lost"].includes(failure.code)) {
    found.push(`its failure is ${JSON.stringify(failure)}`);
  }
  if (placement === undefined || !["lost", "gone"].includes(placement.outcome)) {
    found.push(`its placement is ${JSON.stringify(placement)}`);
  } else if (instance === undefined || !batch.victims.has(instance)) {
    found.push(`nothing was killed on its machine ${instance} but what comes back`);
  }
  return found;
}

/** A run that is complete must have every byte of its output. */
async function auditOutput({ up }: System, job: Job): Promise<string[]> {
  const log = await up.call("GET", `/v1/runs/${job.id}/logs/main/stdout`);
  const text = await log.text();
  return text === job.stdout ? [] : [`its output has ${text.length} bytes, and not ${job.stdout.length}`];
}

/** The lists of the pool say the same as the runs. */
async function auditLists({ up, told }: System, { jobs }: Batch): Promise<string[]> {
  const body = { runs: jobs.map(({ id }) => id), states: ["all"] };
  const { items } = await up.json(200, "POST", "/v1/runs/query", body);
  const found: string[] =
    items.length === jobs.length ? [] : [`${items.length} of ${jobs.length} are listed`];
  for (const { id, state, exitCode } of items) {
    const status = told.statusOf(id);
    if (status?.state !== state || status?.exitCode !== exitCode) {
      found.push(`${id} is ${status?.state} ${status?.exitCode}, and its pool lists ${state} ${exitCode}`);
    }
  }
  return found;
}

/** Waits until the control plane, the cloud and the kernel agree on the machines (invariant 3). */
export async function machinesAgree({ up, pool }: System): Promise<void> {
  let views = "";
  await until("all agree on the machines", async () => {
    const { items } = await up.json(200, "GET", `/v1/workers?pool=${pool}&limit=1000`);
    const known = items.filter(({ state }: Json) => state !== "gone").map(({ instance }: Json) => instance);
    const listed = instancesOf(up.stateDir)
      .filter(({ state }) => state !== "terminated")
      .map(({ id }) => id);
    const all = [known, listed, instancesAlive(up.stateDir)].map((ids) => [...new Set(ids)].sort().join(" "));
    views = all.join(" | ");
    return new Set(all).size === 1 || undefined;
  }).catch((error) => {
    throw new Error(`${error.message} Workers | instances | processes: ${views}`);
  });
}
