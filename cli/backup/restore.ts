// How is a backup restored, or shown as what it would do (backup.md#restore)?
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { DEFAULT_PROJECT, nameIn } from "../../src/shared/access/project.ts";
import { MAX_RESTORED } from "../../src/shared/limits.ts";
import { jobsIn, type Within } from "./collect.ts";
import type { Contents, RuleLine, TokenLine } from "./format.ts";
import { fieldsOf, type Plan, type Present, planOf } from "./plan.ts";

/** What came of one thing. `secret`: what an endpoint signs with from now on. */
export interface Outcome {
  kind: "project" | "token" | "trust rule" | "pool" | "job" | "webhook";
  name: string;
  result: "created" | "changed" | "kept" | "skipped";
  reason?: string | undefined;
  secret?: string;
  /** What a token may do, or the tokens that a rule gives. */
  may?: May | undefined;
}

/** What of a token or a rule says how much it may. */
export type May = Pick<TokenLine, "scopes" | "limits"> & Partial<Pick<RuleLine, "issuer" | "claims">>;

function mayOf(thing: TokenLine | RuleLine | undefined): May | undefined {
  if (thing === undefined) return undefined;
  const { scopes, limits } = thing;
  return "claims" in thing
    ? { issuer: thing.issuer, claims: thing.claims, scopes, limits }
    : { scopes, limits };
}

/** What a restore works with. */
export interface Restore {
  client: Client;
  within: Within;
  overwrite: boolean;
  dryRun: boolean;
}

/** What is there (backup.md#restore). */
async function presentIn({ client, within }: Restore, contents: Contents): Promise<Present> {
  await client.deployment.get(); // who may not restore learns it first
  const named = new Set(contents.jobs.map(({ project, name }) => nameIn(project, name, "/")));
  const [projects, pools, jobs, webhooks, secrets] = await Promise.all([
    client.projects.list(),
    client.pools.list(),
    jobsIn(client, within, ({ project, name }) => named.has(nameIn(project, name, "/"))),
    client.webhooks.list(),
    client.secrets.list(),
  ]);
  return {
    projects: projects.items.map(({ name }) => name),
    pools: pools.items,
    jobs,
    webhooks: webhooks.items.map(({ name, project, url, types, pools: only, labels }) => ({
      ...{ name, project, url, types, labels },
      ...(only === null ? {} : { pools: only }),
    })),
    providerSecrets: secrets.items.filter(({ use }) => use === "provider"),
  };
}

/**
 * Restores what is missing, in an order in which each thing finds what it needs. What is refused stands in
 * the outcomes, and stops nothing: a second restore does what could not be done.
 */
export async function* restored(contents: Contents, restore: Restore): AsyncGenerator<Outcome> {
  const { client, overwrite, dryRun } = restore;
  const plan = planOf(contents, await presentIn(restore, contents), overwrite);
  yield* projectsOf(plan, restore);
  const made = plan.projects.filter(({ action }) => action === "create").map(({ name }) => name);
  for (const batch of batches(contents)) {
    const { madeAt } = contents.head;
    // A rehearsal has made no project, so the control plane knows none of those yet.
    const expectedProjects = dryRun ? made.slice(0, MAX_RESTORED) : [];
    const { items } = await client.deployment.restore({ ...batch, madeAt, dryRun, expectedProjects });
    for (const [at, { kind, name, project, result, reason }] of items.entries()) {
      yield {
        kind: kind === "token" ? "token" : "trust rule",
        name: nameIn(project, name, "/"),
        result: result === "created" ? "created" : result === "exists" ? "kept" : "skipped",
        reason: reason ?? undefined,
        may: mayOf(batch.tokens[at] ?? batch.trustRules[at]),
      };
    }
  }
  yield* poolsOf(plan, restore);
  yield* jobsOf(plan, restore);
  yield* webhooksOf(plan, restore);
}

/** The tokens and rules in requests that are not too large. */
function* batches({ tokens, trustRules }: Contents) {
  for (let at = 0; at < tokens.length; at += MAX_RESTORED) {
    yield { tokens: tokens.slice(at, at + MAX_RESTORED), trustRules: [] };
  }
  for (let at = 0; at < trustRules.length; at += MAX_RESTORED) {
    yield { tokens: [], trustRules: trustRules.slice(at, at + MAX_RESTORED) };
  }
}

async function* projectsOf({ projects }: Plan, { client, dryRun }: Restore): AsyncGenerator<Outcome> {
  for (const { name, action } of projects) {
    const make = () => client.projects.create(name);
    yield await done("project", name, action, dryRun, make);
  }
}

async function* poolsOf(
  { pools }: Plan,
  { client, within, dryRun, overwrite }: Restore,
): AsyncGenerator<Outcome> {
  for (const { name, thing, action, reason } of pools) {
    // A list leaves out pools that do not answer. What is only missing in it must not be replaced.
    const obstacle = action === "create" && !overwrite ? await presenceOf(client, name) : undefined;
    if (obstacle !== undefined) {
      yield { kind: "pool", name, result: "skipped", reason: obstacle };
      continue;
    }
    // A project that names a secret of its own gets no secret of another one by this.
    const owner = within(thing.secretProject ?? DEFAULT_PROJECT);
    const store = () => owner.pools.put(thing.name, thing.config);
    yield { reason, ...(await done("pool", name, action, dryRun, store)) };
  }
}

/** Why a pool that no list has shown may be there all the same; undefined: it is not there. */
async function presenceOf(client: Client, name: string): Promise<string | undefined> {
  try {
    await client.pools.get(name);
    return "it is there now, and was not in the list; restore again";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return undefined;
    return `it may be there, and does not answer: ${error.detail}`;
  }
}

async function* jobsOf({ jobs }: Plan, { within, dryRun }: Restore): AsyncGenerator<Outcome> {
  for (const { name, thing, action, reason } of jobs) {
    const { paused, fields } = thing;
    const store = () => within(thing.project).jobs.put(thing.name, { ...fields, paused });
    yield { reason, ...(await done("job", name, action, dryRun, store)) };
  }
}

async function* webhooksOf({ webhooks }: Plan, { within, dryRun }: Restore): AsyncGenerator<Outcome> {
  for (const { name, thing, action, reason } of webhooks) {
    const own = within(thing.project).webhooks;
    let secret: string | undefined;
    const store = async () => {
      if (action === "change") await own.put(thing.name, fieldsOf(thing));
      else ({ secret } = await own.create({ name: thing.name, ...fieldsOf(thing) }));
    };
    const outcome = await done("webhook", name, action, dryRun, store);
    yield { reason, ...outcome, ...(secret === undefined ? {} : { secret }) };
  }
}

const RESULTS = { create: "created", change: "changed", keep: "kept", skip: "skipped" } as const;

/** Does a step. An error of the control plane is an outcome, and says why nothing was done. */
async function done(
  kind: Outcome["kind"],
  name: string,
  action: keyof typeof RESULTS,
  dryRun: boolean,
  act: () => Promise<unknown>,
): Promise<Outcome> {
  const isDone = dryRun || action === "keep" || action === "skip";
  try {
    if (!isDone) await act();
    return { kind, name, result: RESULTS[action] };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= FIRST_FAULT_STATUS || error.status < 400) throw error;
    return { kind, name, result: "skipped", reason: error.detail };
  }
}

/** The first status of answers that do not say whether the request took effect. */
const FIRST_FAULT_STATUS = 500;
