// Do the fields of a run's spec contradict each other (api.md#refused-specs)?

import { MAX_TASK_SECRETS } from "../../shared/limits.ts";
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
import type { SecretUses, TaskInput } from "./task.ts";

/** Reports a field that breaks a rule: its path, and what is allowed there. */
type Add = (path: (string | number)[], message: string) => void;

/** The fields of a spec that the rules check. */
interface Ruled {
  argv?: string[];
  tasks?: TaskInput[];
  type?: RunType;
  restart?: RestartFields;
  reschedule?: RescheduleFields;
  outputs?: string[];
  env?: Record<string, string>;
  secrets?: SecretUses;
}

/** Reports all broken rules of a spec whose single fields are valid (api.md#refused-specs). */
export function addFaults(spec: Ruled, add: Add): void {
  const { argv, tasks } = spec;
  if (argv !== undefined && tasks !== undefined)
    add(["argv"], "cannot be combined with `tasks`: a run is one command, or a group of tasks");
  if (argv === undefined && tasks === undefined)
    add(["argv"], 'must be a list of strings, such as ["make", "test"]');
  addGroupFaults(tasks ?? [], add);
  addOutputFaults(spec, add);
  addPolicyFaults(spec, add);
  addSecretFaults(spec, add);
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
