// How is a backup restored, or shown as what it would do (backup.md#restore)?
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { DEFAULT_PROJECT, nameIn } from "../../src/shared/access/project.ts";
import { MAX_RESTORED } from "../../src/shared/limits.ts";
import type { Contents } from "./format.ts";
import { fieldsOf, type Plan, type Present, planOf } from "./plan.ts";

/** What came of one thing. `secret`: what an endpoint signs with from now on. */
export interface Outcome {
  kind: "project" | "token" | "trust rule" | "pool" | "webhook";
  name: string;
  result: "created" | "changed" | "kept" | "skipped";
  reason?: string | undefined;
  secret?: string;
}

/** What a restore works with. `within`: a client that acts in a project. */
export interface Restore {
  client: Client;
  within: (project: string | undefined) => Client;
  overwrite: boolean;
  dryRun: boolean;
}

/** What is there (backup.md#restore). */
export async function presentIn(client: Client): Promise<Present> {
  await client.deployment.get(); // who may not restore learns it first
  const [projects, pools, webhooks, secrets] = await Promise.all([
    client.projects.list(),
    client.pools.list(),
    client.webhooks.list(),
    client.secrets.list(),
  ]);
  return {
    projects: projects.items.map(({ name }) => name),
    pools: pools.items,
    webhooks: webhooks.items.map(({ name, project, url, types, pools: only, labels }) => ({
      ...{ name, project, url, types, labels },
      ...(only === null ? {} : { pools: only }),
    })),
    providerSecrets: secrets.items
      .filter(({ use, project }) => use === "provider" && project === DEFAULT_PROJECT)
      .map(({ name }) => name),
  };
}

/**
 * Restores what is missing, in an order in which each thing finds what it needs. What is refused stands in
 * the outcomes, and stops nothing: a second restore does what could not be done.
 */
export async function* restored(contents: Contents, restore: Restore): AsyncGenerator<Outcome> {
  const { client, overwrite, dryRun } = restore;
  const plan = planOf(contents, await presentIn(client), overwrite);
  yield* projectsOf(plan, restore);
  for (const batch of batches(contents)) {
    const { items } = await client.deployment.restore({ ...batch, dryRun });
    const expected = new Set(
      plan.projects.filter(({ action }) => action === "create").map(({ name }) => name),
    );
    for (const { kind, name, project, result, reason } of items) {
      // A rehearsal has made no project, so the control plane knows none of those yet.
      const willBe = dryRun && result === "refused" && expected.has(project);
      const outcome = willBe || result === "created" ? "created" : result === "exists" ? "kept" : "skipped";
      yield {
        kind: kind === "token" ? "token" : "trust rule",
        name: nameIn(project, name, "/"),
        result: outcome,
        reason: outcome === "skipped" ? (reason ?? undefined) : undefined,
      };
    }
  }
  yield* poolsOf(plan, restore);
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

async function* poolsOf({ pools }: Plan, { client, dryRun }: Restore): AsyncGenerator<Outcome> {
  for (const { name, thing, action, reason } of pools) {
    const store = () => client.pools.put(thing.name, thing.config);
    yield { reason, ...(await done("pool", name, action, dryRun, store)) };
  }
}

async function* webhooksOf({ webhooks }: Plan, { within, dryRun }: Restore): AsyncGenerator<Outcome> {
  for (const { name, thing, action, reason } of webhooks) {
    const own = within(thing.project === DEFAULT_PROJECT ? undefined : thing.project).webhooks;
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
