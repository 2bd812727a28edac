// What does a Drover have that belongs into a backup (backup.md#archive)?
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { CliError } from "../errors.ts";
import { saidBy } from "../jobs/said.ts";
import type { Head, JobLine, Line } from "./format.ts";
import { FORMAT } from "./format.ts";
import { type PartialAnswer, silentPool } from "./whole.ts";

/** The most items that one request asks for. */
const PAGE = 1_000;

/** The first line of a backup of this Drover. */
export async function headFor(client: Client, url: string): Promise<Head> {
  const { version } = await client.deployment.get();
  return { drover: "backup", format: FORMAT, version, url, madeAt: new Date(client.now()).toISOString() };
}

/** When a backup was made, as a part of the name of a file. */
export function timeInName({ madeAt }: Head): string {
  return madeAt.replaceAll(/[-:]|\.\d+/g, "");
}

/** A client that acts in a project. */
export type Within = (project: string) => Client;

/** The lines of a backup, in an order in which they can be restored. */
export async function* linesOf(client: Client, within: Within, withHistory: boolean): AsyncGenerator<Line> {
  const projects = await client.projects.list();
  for (const { name, createdAt } of projects.items) if (createdAt !== null) yield { kind: "project", name };
  const { tokens, trustRules, poolSecrets } = await client.deployment.backup();
  for (const token of tokens) yield { kind: "token", ...token };
  for (const rule of trustRules) yield { kind: "trust_rule", ...rule };
  const secrets = await client.secrets.list();
  for (const { name, project, use } of secrets.items) yield { kind: "secret", name, project, use };
  const pools = whole(await client.pools.list());
  for (const { name, config } of pools.items) {
    const secret = poolSecrets.find(({ pool }) => pool === name);
    yield { kind: "pool", name, config, ...(secret === undefined ? {} : { secretProject: secret.project }) };
  }
  for (const job of await jobsIn(client, within)) yield { kind: "job", ...job };
  const webhooks = await client.webhooks.list();
  for (const { name, project, url, types, pools: only, labels } of webhooks.items) {
    const filter = only === null ? {} : { pools: only };
    yield { kind: "webhook", name, project, url, types, labels, ...filter };
  }
  if (withHistory) yield* historyOf(client);
}

/** The jobs of all projects; none where the control plane is older than jobs. `isMeant`: only these. */
export async function jobsIn(
  client: Client,
  within: Within,
  isMeant: (job: { project: string; name: string }) => boolean = () => true,
): Promise<JobLine[]> {
  const lines: JobLine[] = [];
  const { items } = await client.jobs.list().catch(noneIf((error) => error.status === 404, { items: [] }));
  for (const { name, project } of items.filter(isMeant)) {
    const job = await within(project)
      .jobs.get(name)
      .catch(noneIf(({ code }) => code === "unknown_job", undefined)); // it was removed meanwhile
    if (job !== undefined) lines.push({ name, project, paused: job.paused !== null, fields: saidBy(job) });
  }
  return lines;
}

/** What to do about a failed call: `none` is its answer if the error is meant, and else it is thrown. */
function noneIf<None>(isMeant: (error: ApiError) => boolean, none: None): (error: unknown) => None {
  return (error) => {
    if (error instanceof ApiError && isMeant(error)) return none;
    throw error;
  };
}

/** Ended runs, and the audit log, newest first: for people. Nothing of it is restored. */
async function* historyOf(client: Client): AsyncGenerator<Line> {
  for (let cursor: string | undefined; ; ) {
    const page = whole(await client.runs.list({ states: ["done"], limit: PAGE, cursor }));
    for (const run of page.items) yield { kind: "run", run };
    if (page.next === null) break;
    cursor = page.next;
  }
  for (let cursor: string | undefined; ; ) {
    const page = whole(await client.audit.list({ limit: PAGE, cursor }));
    for (const entry of page.items) yield { kind: "audit", entry };
    if (page.next === null) return;
    cursor = page.next;
  }
}

/** An answer for which every pool was asked. Throws a `CliError` if one has not answered. */
function whole<Of extends PartialAnswer>(answer: Of): Of {
  const silent = silentPool(answer);
  if (silent === undefined) return answer;
  throw new CliError(`A backup would not be whole: ${silent}`, [
    "No backup was made, since the pool and its runs would be missing in it. Try again later.",
  ]);
}
