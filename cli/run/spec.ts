// How flags and a file become a submission, and which flag an error from the server is about.
import { resolve } from "node:path";
import { newRunId } from "../../client/runs/runs.ts";
import type { After, RunSpec } from "../../client/types.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import type { SecretUses } from "../config/config.ts";
import { hereBeside } from "./container/contained.ts";
import { CONTAINER_FIELDS, type ContainerFlags, containerFrom, containerLists } from "./container/flags.ts";
import type { Here } from "./here.ts";
import { afterFlag } from "./many/after.ts";
import { RETRY_FIELDS, RETRY_FLAGS, type RetryFlags, retryFrom } from "./retry/flags.ts";
import { CONCURRENCY_FIELDS, type ConcurrencyFlags, concurrencyFrom } from "./start/concurrency.ts";

/** The flags of `drover run` that describe the run, as parsed. */
export interface SpecFlags extends ContainerFlags, ConcurrencyFlags, RetryFlags {
  dir?: string;
  pool?: string;
  env?: Record<string, string>;
  timeout?: string;
  queueTimeout?: string;
  killTimeout?: string;
  label?: Record<string, string>;
  id?: string;
  cpus?: number;
  memory?: string;
  gpus?: number;
  /** What it asks of its machine besides room (clouds.md#asks). */
  spot?: "never" | "only";
  arch?: "x64" | "arm64";
  zone?: string[];
  gpuModel?: string;
  priority?: number;
  /** A local directory. Once its archive is stored, `snapshot` names the archive. */
  upload?: string;
  snapshot?: string;
  out?: string[];
  /** A local file, or `-`. Once the file is read, `input` holds its content. */
  stdin?: string;
  input?: string;
  /** The command may ask for tokens that say which run it is. */
  identity?: boolean;
  secret?: SecretUses;
  /** The runs, the arrays of its pool, and the jobs that must have ended before it starts. */
  after?: After[];
  afterArray?: After[];
  afterJob?: After[];
  /** For how long it is kept if it fails. */
  keep?: string;
  /** Earlier runs with the same key are ended before it starts. */
  replace?: string;
}

/** A submission with an id that this command has chosen. */
export type NamedSpec = RunSpec & { id: string };

/**
 * Builds the submission. Unset flags stay out of it, so that the server's defaults apply.
 *
 * The command always chooses the id. So a retry after a lost answer never makes a second run, and Ctrl-C can
 * abort a run whose submission is not yet answered.
 *
 * A command on this machine (`here`) gets the umask and the PATH of this process, and by default its
 * directory. For other machines, `--dir` is sent as written, and has no default. A run with a snapshot or
 * with outputs has no default directory either: it works in the task's own directory.
 */
export function specOf(argv: string[], flags: SpecFlags, at: Here | undefined): NamedSpec {
  const container = containerFrom(flags);
  const here = hereBeside({ container }, at);
  const isOwn = flags.snapshot !== undefined || flags.out !== undefined;
  const { pool, timeout, queueTimeout, killTimeout, priority } = flags;
  return {
    id: flags.id ?? newRunId(),
    argv: argv.length === 0 && container !== undefined ? undefined : argv,
    container,
    dir: here === undefined || isOwn ? flags.dir : resolve(here.cwd, flags.dir ?? "."),
    pool,
    env: withPath(flags.env, here),
    secrets: flags.secret,
    umask: here?.umask,
    labels: flags.label,
    timeout,
    queueTimeout,
    killTimeout,
    priority,
    snapshot: flags.snapshot,
    outputs: flags.out,
    stdin: flags.input,
    identity: flags.identity,
    replace: flags.replace,
    concurrency: concurrencyFrom(flags),
    keep: flags.keep,
    retry: retryFrom(flags),
    after: afterOf(flags),
    resources: unlessEmpty({ vcpus: flags.cpus, memory: flags.memory, gpus: flags.gpus }),
    machine: unlessEmpty({
      spot: flags.spot,
      arch: flags.arch,
      zones: flags.zone,
      gpu: unlessEmpty({ model: flags.gpuModel }),
    }),
  };
}

/** All that it starts after: what a file says, and what flags add to that. Undefined: nothing. */
function afterOf(
  { after = [], afterArray = [], afterJob = [] }: SpecFlags,
  inFile?: NamedSpec["after"],
): NamedSpec["after"] {
  const added = [...after, ...afterArray, ...afterJob];
  if (added.length === 0) return inFile;
  const all = [...(Array.isArray(inFile) ? inFile : []), ...added];
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

/** An object without the fields that are not set. Undefined: none is. */
function unlessEmpty<Fields extends object>(fields: Fields): Fields | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
}

/**
 * Builds the submission from a file; flags override its fields. The server validates the rest, and names each
 * wrong field.
 */
export function specOfFile(content: object, flags: SpecFlags, at: Here | undefined): NamedSpec {
  const read: Partial<NamedSpec> = content;
  const container = containerFrom(flags, read.container);
  const inside = container === undefined ? read : { ...read, container };
  const here = hereBeside(inside, at);
  const concurrency = concurrencyFrom(flags, read.concurrency);
  const retry = retryFrom(flags, read.retry);
  const after = afterOf(flags, read.after);
  const { id, argv: _argv, dir, umask, container: _container, ...said } = specOf([], ofRun(flags), here);
  const env = flags.env ?? inside.env;
  const where = flags.dir ?? inside.dir ?? (hasOwnFiles(inside) ? undefined : dir);
  return {
    ...(umask === undefined ? {} : { umask }),
    ...inside,
    ...given({ ...said, concurrency, retry, after }),
    // The server refuses an `env` that is not a map.
    ...(env === undefined || isMap(env) ? { env: withPath(env, here) } : { env }),
    id: flags.id ?? inside.id ?? id,
    ...(where === undefined ? {} : { dir: where }),
  };
}

/** The flags without those of a container, of a concurrency key and of retries. */
function ofRun(flags: SpecFlags): SpecFlags {
  const fields = [...CONTAINER_FIELDS, ...CONCURRENCY_FIELDS].map(([, , flag]) => flag);
  const own: readonly string[] = [...fields, ...RETRY_FLAGS];
  return Object.fromEntries(Object.entries(flags).filter(([name]) => !own.includes(name)));
}

/** The fields of an object that are set. */
export function given<Fields extends object>(fields: Fields): Partial<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Fields>; // some of the fields, as they were
}

/** Adds the PATH of this process, unless the variables already have a PATH. */
function withPath(env: SpecFlags["env"], here: Here | undefined): SpecFlags["env"] {
  return here?.path === undefined ? env : { PATH: here.path, ...env };
}

function isMap(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether snapshots or outputs in the file make a task work in its own directory. */
function hasOwnFiles({ snapshot, outputs, tasks }: Partial<NamedSpec>): boolean {
  const inTasks = Array.isArray(tasks) && tasks.some((task) => task?.snapshot !== undefined);
  return snapshot !== undefined || outputs !== undefined || inTasks;
}

/** The names of a group's tasks; undefined for a lone command. */
export function taskNames({ tasks }: NamedSpec): string[] | undefined {
  return Array.isArray(tasks) ? tasks.map((task) => String(task?.name)) : undefined;
}

/** The flag that each field of the submission comes from, for errors from the server. */
const FLAG_OF_FIELD: [prefix: string, name: string, flag?: keyof SpecFlags][] = [
  ["/resources/vcpus", "--cpus", "cpus"],
  ["/resources/memory", "--memory", "memory"],
  ["/resources/gpus", "--gpus", "gpus"],
  ["/machine/spot", "--spot", "spot"],
  ["/machine/arch", "--arch", "arch"],
  ["/machine/zones", "--zone", "zone"],
  ["/machine/gpu/model", "--gpu-model", "gpuModel"],
  ["/queueTimeout", "--queue-timeout", "queueTimeout"],
  ["/killTimeout", "--kill-timeout", "killTimeout"],
  ["/timeout", "--timeout", "timeout"],
  ["/priority", "--priority", "priority"],
  ["/labels", "--label", "label"],
  ["/argv/0", "the command"],
  ["/argv", "argument"],
  ["/pool", "--pool", "pool"],
  ...CONTAINER_FIELDS,
  ["/env", "--env", "env"],
  ["/secrets", "--secret", "secret"],
  ["/dir", "--dir", "dir"],
  ["/umask", "the umask"],
  ["/snapshot", "--snapshot", "snapshot"],
  ["/outputs", "--out", "out"],
  ["/stdin", "--stdin", "stdin"],
  ["/identity", "--identity", "identity"],
  ["/replace", "--replace", "replace"],
  ...CONCURRENCY_FIELDS,
  ["/keep", "--keep", "keep"],
  ...RETRY_FIELDS,
  ["/after", "--after", "after"],
  ["/array/failAt", "--fail-at"],
  ["/id", "--id", "id"],
];

/**
 * Names a field as the command line does: `/env/A B` → `--env A B`, `/outputs/0` → `--out dist`. `flags` is
 * given only if a file was used. Then a field that no flag has set keeps its pointer.
 */
export function flagOfPointer(pointer: string, spec: RunSpec, flags?: SpecFlags): string {
  if (pointer === "") return "the run";
  for (const [prefix, name, flag] of FLAG_OF_FIELD) {
    if (pointer !== prefix && !pointer.startsWith(`${prefix}/`)) continue;
    if (flags !== undefined && (flag === undefined || flags[flag] === undefined)) return pointer;
    if (prefix === "/after") return flagOfAfter(pointer, spec);
    const rest = pointer
      .slice(prefix.length + 1)
      .replaceAll("~1", "/")
      .replaceAll("~0", "~");
    if (rest === "") return name;
    const lists: Record<string, readonly string[] | undefined> = {
      "/outputs": spec.outputs,
      "/machine/zones": spec.machine?.zones,
      ...containerLists(spec),
    };
    const glob = lists[prefix]?.[Number.parseInt(rest, 10)];
    return `${name} ${glob === "" ? quoteArgv([glob]) : (glob ?? rest)}`;
  }
  return pointer;
}

/** The flag that an entry of `after` comes from, which has a form for runs and one for arrays. */
function flagOfAfter(pointer: string, { after }: RunSpec): string {
  const entry = after?.[Number.parseInt(pointer.split("/")[2] ?? "", 10)];
  return entry === undefined ? "--after" : afterFlag(entry);
}
