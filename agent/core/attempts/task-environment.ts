// Which environment and arguments does a task get from its host?
import type { Artifact, TaskSpec } from "../../../src/schema/run/run.ts";
import {
  interpolate,
  interpolateAll,
  interpolateCommand,
  type LookUp,
  lookUpIn,
} from "../../../src/shared/references.ts";
import { nomadVariables } from "./nomad-names.ts";

/** What the host provides for an attempt. */
export interface Surroundings {
  id: string;
  /** `PATH`, `HOME`, `USER` and `LANG`. */
  base: Record<string, string>;
  dirs: { alloc: string; local: string; secrets: string; tmp: string };
  /** Values of `node.…` and `attr.…`. */
  node: Record<string, string>;
  /** Marks every process of this host (`DROVER_INSTANCE`). */
  instance: string | undefined;
  /** Where the attempt gets tokens that say which run it is, and how it asks; undefined: it gets none. */
  identity: { url: string; token: string } | undefined;
  /** The variables of its devices. A task cannot change them: others would be disturbed. */
  devices?: Record<string, string>;
}

/** The fields of a task with all references resolved. */
export interface ReadyTask {
  argv: string[];
  env: Record<string, string>;
  dir: string | undefined;
  user: string | undefined;
  artifacts: Artifact[];
}

/** The variables by which the agent finds the processes of an attempt. */
export const MARKS = ["DROVER_RUN_ID", "DROVER_ATTEMPT_ID", "DROVER_TASK_DIR", "DROVER_INSTANCE"];

const MEBIBYTE = 1024 * 1024;

/**
 * The environment of a task, and its fields with all references resolved. Each layer overrides the previous
 * ones (tasks.md#environment): the base, Drover's variables, `meta`, the task's `env`, and finally the
 * variables of its devices, and those that the agent uses to find the processes of an attempt.
 *
 * A reference is looked up in the environment, then in the values of the node, then in `meta.…`. Values of
 * `meta` and of `env` can refer to previous layers, but not to each other: they have no order.
 */
export function readyTask(task: TaskSpec, surroundings: Surroundings): ReadyTask {
  const { id, base, dirs, node, instance, identity, devices = {} } = surroundings;
  const marks = {
    ...devices,
    DROVER_RUN_ID: id.slice(0, id.indexOf("/")),
    DROVER_ATTEMPT_ID: id,
    DROVER_TASK_DIR: dirs.local,
    ...(instance === undefined ? {} : { DROVER_INSTANCE: instance }),
    ...(identity && { DROVER_OIDC_URL: identity.url, DROVER_OIDC_REQUEST_TOKEN: identity.token }),
  };
  const drover = { ...droverVariables(task, surroundings), ...marks };
  const nomad = task.compat === "nomad" ? nomadVariables(task, marks.DROVER_RUN_ID, drover) : {};
  const variables = { ...base, ...nomad, ...drover };
  const meta = interpolateAll(task.meta, lookUpIn(variables, node));
  const prefixes = task.compat === "nomad" ? ["NOMAD", "DROVER"] : ["DROVER"];
  const below = { ...variables, ...metaEnvironment(meta, prefixes), ...marks };
  const more = Object.fromEntries(Object.entries(meta).map(([key, value]) => [`meta.${key}`, value]));
  const env = { ...below, ...interpolateAll(task.env, lookUpIn(below, node, more)), ...marks };
  return { env, ...interpolatedFields(task, lookUpIn(env, node, more)) };
}

/**
 * Whether a directory, with its references resolved, is outside the task's own directories. `written`: the
 * path as the task gives it. If `written` is absolute, it may lead anywhere: the task's pool allows that.
 */
export function straysFrom(
  { alloc, local, secrets, tmp }: Surroundings["dirs"],
  written: string | undefined,
  dir: string,
): boolean {
  if (written?.startsWith("/")) return false;
  return ![alloc, local, secrets, tmp].some((own) => dir === own || dir.startsWith(`${own}/`));
}

function droverVariables({ name, resources }: TaskSpec, { dirs }: Surroundings): Record<string, string> {
  return {
    TMPDIR: dirs.tmp,
    DROVER_ALLOC_DIR: dirs.alloc,
    DROVER_SECRETS_DIR: dirs.secrets,
    DROVER_TASK_NAME: name,
    DROVER_VCPUS: String(resources.vcpus),
    DROVER_MEMORY_BYTES: String(resources.memoryBytes),
    DROVER_MEMORY_LIMIT: String(Math.floor(resources.memoryBytes / MEBIBYTE)),
  };
}

function interpolatedFields(
  { argv, dir, user, artifacts = [] }: TaskSpec,
  lookUp: LookUp,
): Omit<ReadyTask, "env"> {
  const filled = (text: string) => interpolate(text, lookUp);
  return {
    argv: argv.map((word) => interpolateCommand(word, lookUp)),
    dir: dir === undefined ? undefined : filled(dir),
    user: user === undefined ? undefined : filled(user),
    artifacts: artifacts.map(({ url, sha256, to }) => ({ url: filled(url), sha256, to: filled(to) })),
  };
}

/**
 * Variables for each key: one with the key as written, and one with the key in upper case. Invalid characters
 * become `_` (tasks.md#environment).
 */
function metaEnvironment(meta: Record<string, string>, prefixes: readonly string[]): Record<string, string> {
  const names: Record<string, string> = {};
  for (const [key, value] of Object.entries(meta)) {
    const name = key.replace(/[^A-Za-z0-9_]/g, "_");
    for (const prefix of prefixes) {
      names[`${prefix}_META_${name.toUpperCase()}`] = value;
      names[`${prefix}_META_${name}`] = value;
    }
  }
  return names;
}
