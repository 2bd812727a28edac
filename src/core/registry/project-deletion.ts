// What keeps a project from being deleted (projects.md#what-exists)?
import { DEFAULT_PROJECT, projectsServed } from "../../shared/access/project.ts";
import { DroverError } from "../../shared/errors.ts";
import type { JobRow } from "../job/listed.ts";
import type { ReadonlyRows } from "../rows.ts";
import { type PoolsState, poolsOf } from "./pools.ts";
import { hasProject, type ProjectRow, unknownProject } from "./projects.ts";
import type { SecretRow } from "./secrets.ts";
import { isLiveToken, type TokenRow } from "./tokens.ts";
import type { TrustRow } from "./trust.ts";
import type { WebhookRow } from "./webhooks.ts";

/** What a project can own, or what can name it. */
interface Belongings extends Pick<PoolsState, "record"> {
  projects: ReadonlyRows<ProjectRow>;
  tokens: ReadonlyRows<TokenRow>;
  exchanged: ReadonlyRows<TokenRow>;
  trust: ReadonlyRows<TrustRow>;
  secrets: ReadonlyRows<SecretRow>;
  webhooks: ReadonlyRows<WebhookRow>;
  jobs: ReadonlyRows<JobRow>;
}

/** Why a project cannot be deleted: what is left of it (projects.md#what-exists). Null: it can. */
export function refusalOfDeletion(state: Belongings, name: string): DroverError | null {
  if (name === DEFAULT_PROJECT)
    return new DroverError("project_in_use", "the project `default` always exists");
  if (!hasProject(state.projects, name)) return unknownProject(name);
  const left = leftOf(state, name);
  if (left.length === 0) return null;
  const text = `the project "${name}" still has ${left.join(", ")}; revoke or delete those first`;
  return new DroverError("project_in_use", text);
}

function leftOf(state: Belongings, project: string): string[] {
  const isOwn = (row: { project: string }) => row.project === project;
  const living = (rows: ReadonlyRows<TokenRow>) => [...rows.live()].filter((row) => isLiveToken(row));
  const pools = poolsOf(state).filter(([, { wanted, accepted }]) =>
    [wanted, accepted?.config].some((one) => one !== undefined && projectsServed(one).includes(project)),
  );
  const webhooks = [...state.webhooks.live()].filter(isOwn);
  return [
    ...[...living(state.tokens), ...living(state.exchanged)]
      .filter(isOwn)
      .map(({ name, id }) => `the token ${name} (${id})`),
    ...[...state.trust.live()].filter(isOwn).map(({ name }) => `the trust rule ${name}`),
    ...[...state.secrets.live()].filter(isOwn).map(({ name }) => `the secret ${name}`),
    ...webhooks.map(({ name, deletedBy }) => `the webhook ${name}${deletedBy ? ", being deleted" : ""}`),
    ...[...state.jobs.live()].filter(isOwn).map(({ name }) => `the job ${name}`),
    ...pools.map(([name]) => `the pool ${name}, which names it`),
  ];
}
