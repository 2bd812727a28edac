// Do the fields of a run's spec contradict each other (api.md#refused-specs)?

import { containerOf } from "../../shared/containers/container-of.ts";
import { REGISTRY_SECRET } from "../../shared/containers/registry-secret.ts";
import { MAX_PAYLOAD_BYTES_OF_TASKS } from "../../shared/jobs/limits.ts";
import { payloadBytes } from "../../shared/jobs/payload-bytes.ts";
import { MAX_CONTAINER_VARIABLES, MAX_TASK_SECRETS } from "../../shared/limits.ts";
import {
  type PolicyFault,
  type RescheduleFields,
  type RestartFields,
  type RunType,
  rescheduleFault,
  reschedulePolicy,
  restartFault,
  restartPolicy,
} from "../../shared/policy.ts";
import { resultTaskOf } from "../../shared/result-task.ts";
import { type RetryFields, retryFaults } from "../../shared/retry/policy.ts";
import type { CheckInput, CheckRestartInput } from "./checks.ts";
import type { Container } from "./container.ts";
import type { SecretUses, TaskInput } from "./task.ts";

/** Reports a field that breaks a rule: its path, and what is allowed there. */
type Add = (path: (string | number)[], message: string) => void;

/** The fields of a spec that the rules check. */
interface Ruled {
  argv?: string[];
  container?: Container;
  tasks?: TaskInput[];
  type?: RunType;
  restart?: RestartFields;
  reschedule?: RescheduleFields;
  retry?: RetryFields;
  timeout?: string;
  machine?: { spot?: "never" | "only" };
  resources?: { memory?: string | number };
  outputs?: string[];
  env?: Record<string, string>;
  secrets?: SecretUses;
  umask?: string;
  checks?: CheckInput[];
  checkRestart?: CheckRestartInput;
  keep?: string;
  dir?: string;
  payload?: { content: string };
}

/** Reports all broken rules of a spec whose single fields are valid (api.md#refused-specs). */
export function addFaults(spec: Ruled, add: Add): void {
  const { argv, tasks } = spec;
  if (argv !== undefined && tasks !== undefined)
    add(["argv"], "cannot be combined with `tasks`: a run is one command, or a group of tasks");
  if (argv === undefined && tasks === undefined && spec.container === undefined)
    add(["argv"], 'must be a list of strings, such as ["make", "test"]');
  addGroupFaults(tasks ?? [], add);
  addContainerFaults(spec, add);
  addOutputFaults(spec, add);
  addPolicyFaults(spec, add);
  addRetryFaults(spec, add);
  addSecretFaults(spec, add);
  addCheckFaults(spec, add);
  addPayloadFaults(spec, add);
}

function addGroupFaults(tasks: TaskInput[], addAt: Add): void {
  const names = new Set<string>();
  let leader: string | undefined;
  for (const [i, task] of tasks.entries()) {
    const add: Add = (field, message) => addAt(["tasks", i, ...field], message);
    if (names.has(task.name)) add(["name"], `is used twice in this group: "${task.name}"`);
    names.add(task.name);
    if (task.leader === true && leader !== undefined)
      add(["leader"], `must be true for only one task; "${leader}" is already the leader`);
    if (task.leader === true) leader ??= task.name;
    const hook = task.lifecycle?.hook;
    if (task.lifecycle?.sidecar === true && (hook === undefined || hook === "poststop"))
      add(
        ["lifecycle", "sidecar"],
        `must not be true for a ${hook ?? "main"} task: only prestart and poststart tasks can be sidecars`,
      );
    if (task.fake !== undefined && task.driver !== "fake")
      add(["fake"], 'is only allowed with `driver: "fake"`');
  }
  if (tasks.length > 0 && tasks.every((task) => task.lifecycle?.hook !== undefined))
    addAt(["tasks"], "must have a main task: one whose `lifecycle` has no `hook`");
}

/** A task runs in a container or as a process; only an image can say the command (containers.md#fields). */
function addContainerFaults(spec: Ruled, addAt: Add): void {
  const { container, env = {}, secrets = {}, tasks = [] } = spec;
  addRegistryFaults(secrets, (path, message) => addAt(["secrets", ...path], message));
  const isFull = hasTooMany(env);
  const contained = tasks.map((task) => containerOf(spec, task) !== undefined);
  if (isFull && (tasks.length === 0 ? container !== undefined : contained.includes(true)))
    addAt(["env"], TOO_MANY_VARIABLES);
  const isWhole = tasks.length === 0 ? container !== undefined : !contained.includes(false);
  if (isWhole && spec.umask !== undefined) addAt(["umask"], NO_UMASK);
  if (isWhole && spec.keep !== undefined) addAt(["keep"], NO_KEEP);
  if (isWhole) addDirectoryFaults(spec.dir, addAt);
  if (container !== undefined)
    addSettingFaults(container, (path, message) => addAt(["container", ...path], message));
  addNeedFaults(spec, addAt);
  for (const [i, task] of tasks.entries()) {
    const add: Add = (field, message) => addAt(["tasks", i, ...field], message);
    const own = containerOf(spec, task);
    if (own !== undefined) addDirectoryFaults(task.dir ?? (isWhole ? undefined : spec.dir), add);
    if (task.container !== undefined)
      addSettingFaults(task.container, (path, message) => add(["container", ...path], message));
    if (own !== undefined && task.umask !== undefined) add(["umask"], NO_UMASK);
    if (own !== undefined && !isFull && hasTooMany({ ...env, ...task.env })) add(["env"], TOO_MANY_VARIABLES);
    if (task.container !== undefined && own === undefined)
      add(["container"], `cannot be combined with \`driver: "${task.driver}"\``);
    if (task.driver === "container" && own === undefined)
      add(["container"], 'must name an image with `driver: "container"`, such as {"image": "node:24"}');
    if (task.argv === undefined && own === undefined)
      add(["argv"], 'must be a list of strings, such as ["make", "test"]');
    if (task.user !== undefined && own !== undefined)
      add(["user"], "is a user of the machine; the user in a container is `container.user`");
    addRegistryFaults(task.secrets ?? {}, (path, message) => add(["secrets", ...path], message));
  }
}

const NO_UMASK = 'has no effect in a container: set it in the command, such as ["sh", "-c", "umask 027; …"]';
const NO_KEEP =
  "is not possible in a container yet: what has ended is removed. Keep its files with `outputs`";
const TOO_MANY_VARIABLES =
  `must have at most ${MAX_CONTAINER_VARIABLES} entries in a container, with those of the group: ` +
  "put the others into a file that the command reads";

function hasTooMany(env: Record<string, string>): boolean {
  return Object.keys(env).length > MAX_CONTAINER_VARIABLES;
}

/** The directory of a task is mounted under its own path (containers.md#environment). */
function addDirectoryFaults(dir: string | undefined, add: Add): void {
  if (dir === undefined || !dir.startsWith("/")) return;
  if (plainPath(dir) === "/")
    add(["dir"], "must not be `/` in a container: it would be mounted over the whole image");
  else if (dir.includes(":"))
    add(["dir"], "must not contain a colon in a container, which separates the fields of a mount");
}

/** No engine starts a container with two mounts at one place, or with such limits (containers.md#binds). */
function addSettingFaults({ binds = [], tmpfs = {}, ulimits = {} }: Container, add: Add): void {
  const targets = new Set<string>();
  const addTarget = (target: string, path: (string | number)[]) => {
    const plain = plainPath(target);
    if (targets.has(plain)) add(path, `is the place of two mounts: ${plain}`);
    targets.add(plain);
  };
  for (const [i, { target }] of binds.entries()) addTarget(target, ["binds", i, "target"]);
  for (const target of Object.keys(tmpfs)) addTarget(target, ["tmpfs", target]);
  for (const [name, limit] of Object.entries(ulimits)) {
    if (typeof limit === "number" || limit.hard === -1) continue;
    if (limit.soft === -1 || limit.soft > limit.hard)
      add(["ulimits", name, "soft"], `must be at most the hard limit, ${limit.hard}`);
  }
}

/** What the containers of a run need is sent to its pool, so it is bounded in all (containers.md#allowed). */
function addNeedFaults({ container, tasks = [] }: Ruled, add: Add): void {
  const all = [container, ...tasks.map((task) => task.container)].filter((one) => one !== undefined);
  for (const field of ["binds", "devices", "addCapabilities"] as const) {
    const count = all.reduce((sum, one) => sum + (one[field]?.length ?? 0), 0);
    if (count > MAX_CONTAINER_NEEDS)
      add(["tasks"], `must have at most ${MAX_CONTAINER_NEEDS} \`${field}\` in all, with those of the group`);
  }
}

/** How many paths, devices and capabilities the containers of a run can name in all. */
const MAX_CONTAINER_NEEDS = 64;

/** A path without doubled slashes, `.` and a slash at its end. */
function plainPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return `/${parts.join("/")}`;
}

/** The credentials for a registry are never given to the command, so their name is Drover's. */
function addRegistryFaults(secrets: SecretUses, add: Add): void {
  if (Object.hasOwn(secrets, REGISTRY_SECRET))
    add([REGISTRY_SECRET], "is reserved for the credentials of a registry: use another name");
}

/** The outputs of a run come from one task, so the spec must determine this task. */
function addOutputFaults({ tasks = [], outputs }: Ruled, add: Add): void {
  const mains = tasks.filter(({ lifecycle }) => lifecycle?.hook === undefined);
  if (outputs === undefined || mains.length < 2 || resultTaskOf(tasks) !== undefined) return;
  const names = mains.map(({ name }) => name).join(", ");
  add(["outputs"], `must come from one task: make one of ${names} the leader`);
}

/** A variable has one value, and its name has no dots and dashes; and a task has its group's secrets, too. */
function addSecretFaults({ env = {}, secrets = {}, tasks = [] }: Ruled, add: Add): void {
  addUseFaults(secrets, env, (path, message) => add(["secrets", ...path], message));
  for (const [i, task] of tasks.entries()) {
    const all = { ...secrets, ...task.secrets };
    const addAt: Add = (path, message) => add(["tasks", i, "secrets", ...path], message);
    addUseFaults(task.secrets ?? {}, { ...env, ...task.env }, addAt);
    if (Object.keys(all).length > MAX_TASK_SECRETS)
      addAt([], `must have at most ${MAX_TASK_SECRETS} entries, with those of the group`);
    for (const key of Object.keys(task.env ?? {}))
      if (secrets[key]?.as === "env" && task.secrets?.[key] === undefined)
        add(["tasks", i, "env", key], "is a secret of the group, too: a variable has one value");
  }
}

function addUseFaults(uses: SecretUses, env: Record<string, string>, add: Add): void {
  for (const [key, { as }] of Object.entries(uses)) {
    if (as !== "env") continue;
    if (!/^\w+$/.test(key)) add([key], "has letters, digits and underscores only, since it is a variable");
    if (Object.hasOwn(env, key)) add([key], "is in `env`, too: a variable has one value");
  }
}

/** Each task gets the payload, and a host gets all tasks of a run with one order (jobs.md#payload). */
function addPayloadFaults({ payload, tasks = [] }: Ruled, add: Add): void {
  const bytes = payload === undefined ? 0 : payloadBytes(payload.content);
  if (bytes * tasks.length > MAX_PAYLOAD_BYTES_OF_TASKS)
    add(
      ["payload"],
      `has ${bytes} bytes for each of ${tasks.length} tasks, and may have ${MAX_PAYLOAD_BYTES_OF_TASKS} in ` +
        "all: put it into a snapshot",
    );
}

function addPolicyFaults(spec: Ruled, add: Add): void {
  const { argv, tasks = [], type = "batch", restart, reschedule } = spec;
  const short = argv !== undefined;
  const addAt = (path: (string | number)[], fault: PolicyFault | null) => {
    if (fault !== null) add([...path, fault.field], fault.detail);
  };
  addAt(["reschedule"], rescheduleFault(reschedulePolicy(type, short, reschedule)));
  const ofGroup = restartFault(restartPolicy(type, short, restart, undefined));
  addAt(["restart"], ofGroup);
  // A fault in fields that tasks inherit is reported once, at the group.
  for (const [i, task] of ofGroup === null ? tasks.entries() : []) {
    if (task.restart === undefined) continue;
    addAt(["tasks", i, "restart"], restartFault(restartPolicy(type, short, restart, task.restart)));
  }
}

/** A retry policy fits what it is about (retry.md#refused). */
function addRetryFaults({ retry, tasks, ...spec }: Ruled, add: Add): void {
  if (retry === undefined) return;
  const own = spec.resources?.memory;
  const faults = retryFaults({
    retry,
    isService: spec.type === "service",
    hasReschedule: spec.reschedule !== undefined,
    hasTimeout: spec.timeout !== undefined,
    isSpotOnly: spec.machine?.spot === "only",
    memories: tasks?.map(({ resources }) => resources?.memory ?? own) ?? [own],
  });
  for (const [path, text] of faults) add(path, text);
}

/** Checks belong to one task that goes on running, and have names of their own (health.md#refused). */
function addCheckFaults(spec: Ruled, add: Add): void {
  const { tasks } = spec;
  for (const field of ["checks", "checkRestart"] as const)
    if (tasks !== undefined && spec[field] !== undefined)
      add([field], "belongs to one task: move it into the entry of that task in `tasks`");
  if (tasks === undefined) {
    addFaultsOfChecks(spec, add);
    addNetworkFaults(spec.checks, spec.container, add);
  }
  for (const [i, task] of (tasks ?? []).entries()) {
    const addAt: Add = (field, message) => add(["tasks", i, ...field], message);
    addFaultsOfChecks(task, addAt);
    addNetworkFaults(task.checks, containerOf(spec, task), addAt);
    const { hook, sidecar = false } = task.lifecycle ?? {};
    if (task.checks !== undefined && hook !== undefined && !sidecar)
      addAt(["checks"], `cannot be of a ${hook} task that is to end: check main tasks and sidecars`);
  }
}

function addFaultsOfChecks({ checks, checkRestart }: Pick<Ruled, "checks" | "checkRestart">, add: Add): void {
  if (checkRestart !== undefined && checks === undefined)
    add(["checkRestart"], "needs `checks`: without any, nothing can restart the task");
  const names = new Set<string>();
  for (const [i, { name }] of (checks ?? []).entries()) {
    if (names.has(name)) add(["checks", i, "name"], `is used twice for this task: "${name}"`);
    names.add(name);
  }
}

/** Nothing reaches a container without a network (health.md#refused). */
function addNetworkFaults(checks: CheckInput[] = [], container: Container | undefined, add: Add): void {
  if (container?.network !== "none") return;
  for (const [i, check] of checks.entries())
    for (const kind of ["http", "tcp"] as const)
      if (check[kind] !== undefined)
        add(["checks", i, kind], 'cannot reach a container with `network: "none"`: use `command`');
}
