// Do the fields of a run's spec contradict each other (api.md#refused-specs)?
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
import type { TaskInput } from "./task.ts";

/** A field that breaks a rule: its place, and what is allowed there. */
export interface SpecFault {
  path: (string | number)[];
  message: string;
}

/** The fields of a spec that the rules check. */
interface Ruled {
  argv?: string[];
  tasks?: TaskInput[];
  type?: RunType;
  restart?: RestartFields;
  reschedule?: RescheduleFields;
  outputs?: string[];
}

/** Lists what is wrong with a spec whose fields are valid one by one (api.md#refused-specs). */
export function specFaults(spec: Ruled): SpecFault[] {
  return [
    ...formFaults(spec),
    ...groupFaults(spec.tasks ?? []),
    ...outputFaults(spec),
    ...policyFaults(spec),
  ];
}

function formFaults({ argv, tasks }: Ruled): SpecFault[] {
  if (argv !== undefined && tasks !== undefined) {
    return [
      {
        path: ["argv"],
        message: "cannot be combined with `tasks`: a run is one command, or a group of tasks",
      },
    ];
  }
  if (argv !== undefined || tasks !== undefined) return [];
  return [{ path: ["argv"], message: 'must be a list of strings, such as ["make", "test"]' }];
}

function groupFaults(tasks: TaskInput[]): SpecFault[] {
  const faults: SpecFault[] = [];
  const names = new Set<string>();
  let leader: string | undefined;
  for (const [i, task] of tasks.entries()) {
    const add = (field: (string | number)[], message: string) =>
      faults.push({ path: ["tasks", i, ...field], message });
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
    faults.push({ path: ["tasks"], message: "must have a main task: one whose `lifecycle` has no `hook`" });
  return faults;
}

/** The outputs of a run come from one task, so it must be clear which. */
function outputFaults({ tasks, outputs }: Ruled): SpecFault[] {
  const mains = (tasks ?? []).filter(({ lifecycle }) => lifecycle?.hook === undefined);
  if (outputs === undefined || mains.length < 2 || resultTaskOf(tasks ?? []) !== undefined) return [];
  const names = mains.map(({ name }) => name).join(", ");
  const message = `must come from one task: make one of ${names} the leader`;
  return [{ path: ["outputs"], message }];
}

function policyFaults({ argv, tasks, type = "batch", restart, reschedule }: Ruled): SpecFault[] {
  const short = argv !== undefined;
  const faults: SpecFault[] = [];
  const add = (path: (string | number)[], fault: PolicyFault | null) => {
    if (fault !== null) faults.push({ path: [...path, fault.field], message: fault.detail });
  };
  add(["reschedule"], rescheduleFault(reschedulePolicy(type, short, reschedule)));
  const ofGroup = restartFault(restartPolicy(type, short, restart, undefined));
  add(["restart"], ofGroup);
  // A fault that a task inherits is reported once, at the group.
  for (const [i, task] of ofGroup === null ? (tasks ?? []).entries() : []) {
    if (task.restart === undefined) continue;
    add(["tasks", i, "restart"], restartFault(restartPolicy(type, short, restart, task.restart)));
  }
  return faults;
}
