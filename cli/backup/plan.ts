// What would a restore do to each thing of a backup, given what is there (backup.md#restore)?
import { isDeepStrictEqual } from "node:util";
import type { PoolConfig, ShownPoolConfig, StoredSecret, WebhookFields } from "../../client/types.ts";
import { DEFAULT_PROJECT, nameIn, projectsServed } from "../../src/shared/access/project.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { inOrder } from "../jobs/in-order.ts";
import type { Contents, JobLine, PoolLine, WebhookLine } from "./format.ts";

/** What is there, as it is shown, and the secrets that pools can name. */
export interface Present {
  projects: readonly string[];
  pools: readonly { name: string; config: ShownPoolConfig }[];
  jobs: readonly JobLine[];
  webhooks: readonly WebhookLine[];
  providerSecrets: readonly Pick<StoredSecret, "name" | "project">[];
}

/** What a restore does to a thing of the backup. `skip`: nothing, for a reason that somebody can end. */
export interface Step<Thing> {
  name: string;
  thing: Thing;
  action: "create" | "change" | "keep" | "skip";
  reason: string | undefined;
}

export interface Plan {
  projects: Step<string>[];
  pools: Step<PoolLine>[];
  jobs: Step<JobLine>[];
  webhooks: Step<WebhookLine>[];
}

/**
 * Plans a restore of projects, pools, jobs and webhooks. What is there as in the backup is kept. What is
 * there and differs is changed with `overwrite` alone, and nothing is ever deleted. Tokens and trust rules
 * are decided by the control plane itself.
 */
export function planOf(contents: Contents, present: Present, overwrite: boolean): Plan {
  const isThere = (project: string) =>
    [DEFAULT_PROJECT, ...present.projects, ...contents.projects].includes(project);
  const obstacleOfProject = (project: string) =>
    isThere(project) ? undefined : `there is no project ${project}`;
  const pools = contents.pools.map((pool) => {
    const there = present.pools.find(({ name }) => name === pool.name)?.config;
    const obstacle = obstacleOf(pool, there !== undefined, present.providerSecrets);
    return stepOf(pool.name, pool, [there, pool.config], { obstacle, overwrite });
  });
  const poolNames = [...present.pools, ...pools.filter(({ action }) => action !== "skip")].map(
    ({ name }) => name,
  );
  return {
    projects: contents.projects.map((name) => ({
      ...{ name, thing: name, reason: undefined },
      action: present.projects.includes(name) ? "keep" : "create",
    })),
    pools,
    jobs: jobsInOrder(contents.jobs).map((job) => {
      const name = nameOf(job);
      const there = present.jobs.find((one) => nameOf(one) === name);
      const obstacle = obstacleOfProject(job.project) ?? obstacleOfJob(job, poolNames);
      return stepOf(name, job, [there, job], { obstacle, overwrite });
    }),
    webhooks: contents.webhooks.map((webhook) => {
      const name = nameOf(webhook);
      const there = present.webhooks.find((one) => nameOf(one) === name);
      const obstacle = obstacleOfProject(webhook.project);
      const compared: [object | undefined, object] = [there && fieldsOf(there), fieldsOf(webhook)];
      return stepOf(name, webhook, compared, { obstacle, overwrite });
    }),
  };
}

function nameOf({ project, name }: { project: string; name: string }): string {
  return nameIn(project, name, "/");
}

/** The jobs, each behind those of its project that it follows. */
function jobsInOrder(jobs: readonly JobLine[]): JobLine[] {
  const projects = [...new Set(jobs.map(({ project }) => project))];
  return projects.flatMap((project) => {
    const own = jobs.filter((job) => job.project === project);
    return inOrder(own.map((line) => ({ name: line.name, content: line.fields, line }))).map(
      ({ line }) => line,
    );
  });
}

/** Why a job cannot be stored. */
function obstacleOfJob({ fields }: JobLine, pools: readonly string[]): string | undefined {
  const { pool } = fields.spec; // what is stored has one
  return pool === undefined || pools.includes(pool) ? undefined : `its pool ${pool} is not there`;
}

function stepOf<Thing>(
  name: string,
  thing: Thing,
  [there, wanted]: [there: object | undefined, wanted: object],
  { obstacle, overwrite }: { obstacle: string | undefined; overwrite: boolean },
): Step<Thing> {
  const step = { name, thing, reason: undefined };
  if (there !== undefined && isDeepStrictEqual(there, wanted)) return { ...step, action: "keep" };
  if (there !== undefined && !overwrite) {
    return { ...step, action: "skip", reason: "it differs from the backup; --overwrite changes it" };
  }
  if (obstacle !== undefined) return { ...step, action: "skip", reason: obstacle };
  return { ...step, action: there === undefined ? "create" : "change" };
}

/**
 * Why a pool cannot be stored (backup.md#secrets): a backup has no values of secrets, and a pool that names
 * the secret of a project is stored within that project alone.
 */
function obstacleOf(
  { config, secretProject }: PoolLine,
  isThere: boolean,
  secrets: Present["providerSecrets"],
): string | undefined {
  const { provider } = config;
  const named = secretOf(provider);
  if (named === undefined) {
    if (provider.kind !== "http" || isThere) return undefined;
    return "the secret of its provider is in no backup: drover apply -f, with the secret";
  }
  if (secretProject === undefined) return `the backup does not say whose secret ${named} is: drover apply -f`;
  const isOwn = secretProject === DEFAULT_PROJECT;
  if (!isOwn && projectsServed(config).some((one) => one !== secretProject)) {
    const why = `it names a secret of ${secretProject}, and serves other projects, too`;
    return `${why}: ${secretProject} must apply it`;
  }
  if (secrets.some(({ name, project }) => name === named && project === secretProject)) return undefined;
  const where = isOwn ? "" : `--project ${secretProject} `;
  const set = `drover ${where}secrets set ${quoteArgv([named])} --use provider --file <path>`;
  const whose = isOwn ? named : `${named} of ${secretProject}`;
  return `the secret ${whose} is missing, and no backup has values: ${set}, then restore again`;
}

/** The name of the secret that a provider gets; undefined: it has a text, a binding or none. */
function secretOf(provider: PoolConfig["provider"]): string | undefined {
  const given = "credentials" in provider ? provider.credentials : "secret" in provider && provider.secret;
  return typeof given === "object" && "secret" in given ? given.secret : undefined;
}

/** What an endpoint receives, and where. */
export function fieldsOf({ url, types, pools, labels }: WebhookLine): WebhookFields {
  return { url, types, ...(pools === undefined ? {} : { pools }), labels };
}
