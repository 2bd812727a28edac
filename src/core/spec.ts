// What does the spec of a run mean, once defaults and inherited fields are filled in?
import type { Resources } from "../schema/common.ts";
import type { InstanceType } from "../schema/pool.ts";
import type {
  CheckInput,
  CheckProbe,
  CheckRestart,
  CheckRestartInput,
  CheckSpec,
} from "../schema/run/checks.ts";
import type { Container, ContainerNeeds } from "../schema/run/container.ts";
import type { RunSpec, TaskSpec } from "../schema/run/run.ts";
import type { FakeScript, TaskInput } from "../schema/run/task.ts";
import { addVcpus } from "../shared/cloud/vcpus.ts";
import { containerOf } from "../shared/containers/container-of.ts";
import { REGISTRY_SECRET } from "../shared/containers/registry-secret.ts";
import { durationMs } from "../shared/duration.ts";
import type { Millis } from "../shared/machine.ts";
import {
  type ReschedulePolicy,
  type RestartPolicy,
  reschedulePolicy,
  restartPolicy,
} from "../shared/policy.ts";
import { resultTaskOf } from "../shared/result-task.ts";
import { type RetryPolicy, retryPolicy } from "../shared/retry/policy.ts";
import { sizeBytes } from "../shared/size.ts";
import { NO_RESOURCES } from "./resources.ts";
import { arrayEnvironment } from "./run/array.ts";

/** The part of a run's life in which a task runs (tasks.md#stages). */
export type Hook = "prestart" | "main" | "poststart" | "poststop";

/** A task with every default and every inherited field filled in. */
export interface GroupTask {
  /** The part that its host needs. */
  spec: TaskSpec;
  name: string;
  hook: Hook;
  sidecar: boolean;
  leader: boolean;
  restart: RestartPolicy;
  shutdownDelayMs: Millis;
}

/** A run as the rules see it. A run of one command is a group with the task `main`. */
export interface Group {
  tasks: readonly GroupTask[];
  /** There is exactly one task, so its exit is the exit of the run (api.md#lone). */
  lone: boolean;
  /** The name of the task that gives the run its result, if there is one (`resultTaskOf`). */
  result: string | undefined;
  /** Submitted as one command, which is started again only if the spec says so. */
  short: boolean;
  shutdownDelayMs: Millis;
  /** With a retry policy there is none (retry.md#reschedule). */
  reschedule: ReschedulePolicy;
  /** When it is tried again, by cause. Absent: never. */
  retry?: RetryPolicy;
}

/** Reads a spec of either form. */
export function groupOf(spec: RunSpec): Group {
  const known = bySpec.get(spec) ?? readGroup(spec);
  bySpec.set(spec, known);
  return known;
}

/** The group of each spec, cached: specs never change, all decisions read groups, and parsing takes time. */
const bySpec = new WeakMap<RunSpec, Group>();

function readGroup(spec: RunSpec): Group {
  const type = spec.type ?? "batch";
  const short = spec.tasks === undefined;
  const inputs = tasksIn(spec);
  const result = resultTaskOf(inputs);
  const tasks = inputs.map((input): GroupTask => {
    const { name, lifecycle, leader = false, restart, shutdownDelay } = input;
    return {
      spec: taskSpec(spec, input, name === result ? spec.outputs : undefined),
      name,
      hook: lifecycle?.hook ?? "main",
      sidecar: lifecycle?.sidecar ?? false,
      leader,
      restart: restartPolicy(type, short, spec.restart, restart),
      shutdownDelayMs: durationMs(shutdownDelay ?? "0s"),
    };
  });
  return {
    tasks,
    lone: tasks.length === 1,
    result,
    short,
    shutdownDelayMs: durationMs(spec.shutdownDelay ?? "0s"),
    reschedule: reschedulePolicy(type, short || spec.retry !== undefined, spec.reschedule),
    ...(spec.retry === undefined ? {} : { retry: retryPolicy(spec.retry) }),
  };
}

function tasksIn({ tasks, argv, checks, checkRestart }: RunSpec): TaskInput[] {
  return tasks ?? [{ name: "main", ...(argv === undefined ? {} : { argv }), checks, checkRestart }];
}

/**
 * A task's `meta`, `env` and `secrets` are added to those of its group. Its other fields replace the
 * fields of the group (tasks.md#environment).
 */
function taskSpec(spec: RunSpec, task: TaskInput, outputs: RunSpec["outputs"]): TaskSpec {
  const dir = task.dir ?? spec.dir;
  const asked = { ...spec.resources, ...task.resources };
  const umask = task.umask ?? spec.umask;
  const snapshot = task.snapshot ?? spec.snapshot;
  const stdin = task.stdin ?? spec.stdin;
  const identity = task.identity ?? spec.identity ?? false;
  const container = containerOf(spec, task);
  const secrets = { ...spec.secrets, ...task.secrets, ...registrySecret(container) };
  return {
    name: task.name,
    argv: task.argv ?? [],
    ...(container === undefined ? {} : { container }),
    env: { ...arrayEnvironment(spec), ...spec.env, ...task.env },
    meta: { ...spec.meta, ...task.meta },
    ...(Object.keys(secrets).length === 0 ? {} : { secrets }),
    ...(dir === undefined ? {} : { dir }),
    resources: inNumbers(asked),
    ...(asked.memory === undefined ? { memoryLimitBytes: 0 } : {}),
    killTimeoutMs: durationMs(task.killTimeout ?? spec.killTimeout),
    killSignal: task.killSignal ?? spec.killSignal,
    ...(task.user === undefined ? {} : { user: task.user }),
    ...(spec.compat === undefined ? {} : { compat: spec.compat }),
    ...(umask === undefined ? {} : { umask }),
    ...(task.artifacts === undefined ? {} : { artifacts: task.artifacts }),
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(stdin === undefined ? {} : { stdin }),
    ...(spec.payload === undefined ? {} : { payload: spec.payload }),
    ...(outputs === undefined ? {} : { outputs }),
    ...(identity ? { identity } : {}),
    ...(spec.keep === undefined ? {} : { keep: true as const }),
    ...(task.driver === "fake" ? { fake: fakeScript(task.fake) } : {}),
    ...(task.checks === undefined ? {} : { checks: task.checks.map(checkSpec) }),
    ...(task.checkRestart === undefined ? {} : { checkRestart: checkRestart(task.checkRestart) }),
  };
}

/** The credentials for the registry are sealed for the host like the secrets of the task. */
function registrySecret(container: Container | undefined): NonNullable<TaskSpec["secrets"]> {
  return container?.auth === undefined ? {} : { [REGISTRY_SECRET]: { secret: container.auth, as: "file" } };
}

/** What the containers of a run need that only some pools allow. Undefined: it has no containers. */
export function containerNeedsOf(spec: RunSpec): ContainerNeeds | undefined {
  const containers = tasksOf(spec).flatMap(({ container }) => container ?? []);
  if (containers.length === 0) return undefined;
  const all = (list: (one: Container) => string[]) => {
    const texts = [...new Set(containers.flatMap(list))];
    return texts.length === 0 ? undefined : texts;
  };
  const any = (has: (one: Container) => boolean | undefined) => (containers.some(has) ? true : undefined);
  const needs = {
    binds: all(({ binds = [] }) => binds.map(({ source }) => source)),
    devices: all(({ devices = [] }) => devices),
    capabilities: all(({ addCapabilities = [] }) => addCapabilities),
    privileged: any(({ privileged }) => privileged),
    hostNetwork: any(({ network }) => network === "host"),
    mayGainPrivileges: any(({ mayGainPrivileges }) => mayGainPrivileges),
  };
  return Object.fromEntries(Object.entries(needs).filter(([, need]) => need !== undefined));
}

function checkSpec({ name, http, tcp, command, ...check }: CheckInput): CheckSpec {
  return {
    name,
    probe: probeOf({ http, tcp, command }),
    intervalMs: durationMs(check.interval),
    timeoutMs: durationMs(check.timeout),
    passAfter: check.passAfter,
    failAfter: check.failAfter,
    startPeriodMs: durationMs(check.startPeriod),
  };
}

/** The schema lets no check pass without exactly one of them. */
function probeOf({ http, tcp, command }: Pick<CheckInput, "http" | "tcp" | "command">): CheckProbe {
  if (http !== undefined) {
    const { headers, ...request } = http;
    return { http: { ...request, ...(headers === undefined ? {} : { headers }) } };
  }
  return tcp === undefined ? { command: { argv: command?.argv ?? [] } } : { tcp };
}

function checkRestart({ limit, grace, ignoreWarnings }: CheckRestartInput): CheckRestart {
  return { limit, graceMs: durationMs(grace), ignoreWarnings };
}

/** The default script ends at once with exit code 0. */
function fakeScript(input: Partial<NonNullable<TaskInput["fake"]>> = {}): FakeScript {
  const { runFor = "0s", blockStart = "0s", ...script } = input;
  const usual = { exitCode: 0, ignoreSignals: false, dieWithAgent: false, output: [] };
  return { ...usual, ...script, runForMs: durationMs(runFor), blockStartMs: durationMs(blockStart) };
}

/** Memory that is reserved for a task whose spec does not name any. */
const DEFAULT_MEMORY = "256MiB";

function inNumbers({ vcpus, memory = DEFAULT_MEMORY, disk, gpus }: RunSpec["resources"]): Resources {
  return { vcpus, memoryBytes: sizeBytes(memory), diskBytes: sizeBytes(disk), gpus };
}

/**
 * The most resources that a run needs at any time. Prestart tasks that end make room for
 * main tasks, and poststop tasks run alone (tasks.md#stages).
 */
export function resourcesOf(spec: RunSpec): Resources {
  const { tasks } = groupOf(spec);
  const add = (...parts: Resources[]) => parts.reduce((sum, part) => sumOf(sum, part), NO_RESOURCES);
  const needs = (hook: Hook, sidecar: boolean) => {
    const stage = tasks.filter((task) => task.hook === hook && task.sidecar === sidecar);
    return add(...stage.map((task) => task.spec.resources));
  };
  const beside = needs("prestart", true);
  const first = add(beside, needs("prestart", false));
  const most = add(beside, needs("main", false), needs("poststart", true), needs("poststart", false));
  return [first, most, needs("poststop", false)].reduce((peak, part) => together(peak, part, Math.max));
}

/** The sum of two requests; that of vCPUs is exact. */
function sumOf(a: Resources, b: Resources): Resources {
  return { ...together(a, b, (one, other) => one + other), vcpus: addVcpus(a.vcpus, b.vcpus) };
}

function together(a: Resources, b: Resources, join: (a: number, b: number) => number): Resources {
  return {
    vcpus: join(a.vcpus, b.vcpus),
    memoryBytes: join(a.memoryBytes, b.memoryBytes),
    diskBytes: join(a.diskBytes, b.diskBytes),
    gpus: join(a.gpus, b.gpus),
  };
}

/** The resources of each type, cached: a plan reads them for every machine, and parsing takes time. */
const byType = new WeakMap<InstanceType, Readonly<Resources>>();

/** Resources of an instance type, as numbers. */
export function resourcesOfType(type: InstanceType): Readonly<Resources> {
  const known = byType.get(type) ?? inNumbers(type);
  byType.set(type, known);
  return known;
}

/** The tasks of a run as its host needs them. */
export function tasksOf(spec: RunSpec): TaskSpec[] {
  return groupOf(spec).tasks.map((task) => task.spec);
}

/** The command of a run for display: the command of its leader, or else of its first main task. */
export function commandOf(spec: RunSpec): string {
  const { tasks } = groupOf(spec);
  const shown = tasks.find((task) => task.leader) ?? tasks.find((task) => task.hook === "main");
  const { argv = [], container } = shown?.spec ?? {};
  return argv.length === 0 && container !== undefined ? `(${container.image})` : argv.join(" ");
}
