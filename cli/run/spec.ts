import { resolve } from "node:path";
import { newRunId } from "../../client/runs/runs.ts";
import type { RunSpec } from "../../client/types.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import type { Here } from "./here.ts";

/** The flags of `drover run` that say what is to be run, as the command line parser gives them. */
export interface SpecFlags {
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
  priority?: number;
  /** A directory of this machine that is packed, and stands for `snapshot` once it is stored. */
  upload?: string;
  snapshot?: string;
  out?: string[];
  /** A file of this machine, or `-`: what it holds is `input` once it is read. */
  stdin?: string;
  input?: string;
}

/** A submission with an id of its own. */
export type NamedSpec = RunSpec & { id: string };

/**
 * Makes the submission. What is not said stays out of it, so that the server's defaults hold.
 *
 * There is always an id, chosen here: a lost answer then never makes a second run, and Ctrl-C can abort a run
 * whose submission has not been answered yet. A command that runs on this machine (`here`) has the umask and
 * the PATH of this command, and a directory is one of this machine, by default this one; elsewhere it is sent
 * as written, and there is no default. Nor is there for a run that has its files from a snapshot, or leaves
 * some as its result: that is all about the task's own directory.
 */
export function specOf(argv: string[], flags: SpecFlags, here: Here | undefined): NamedSpec {
  const isOwn = flags.snapshot !== undefined || flags.out !== undefined;
  const { pool, timeout, queueTimeout, killTimeout, priority } = flags;
  const resources = { vcpus: flags.cpus, memory: flags.memory };
  return {
    id: flags.id ?? newRunId(),
    argv,
    dir: here === undefined || isOwn ? flags.dir : resolve(here.cwd, flags.dir ?? "."),
    pool,
    env: withPath(flags.env, here),
    umask: here?.umask,
    labels: flags.label,
    timeout,
    queueTimeout,
    killTimeout,
    priority,
    snapshot: flags.snapshot,
    outputs: flags.out,
    stdin: flags.input,
    ...(resources.vcpus === undefined && resources.memory === undefined ? {} : { resources }),
  };
}

/**
 * The submission that a file holds, with what the flags say in the place of what the file says. Whether it is
 * one, the server finds out, and names each field that is wrong.
 */
export function specOfFile(content: object, flags: SpecFlags, here: Here | undefined): NamedSpec {
  const inside: Partial<NamedSpec> = content;
  const { id, argv: _argv, dir, umask, ...said } = specOf([], flags, here);
  const env = flags.env ?? inside.env;
  const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  const where = flags.dir ?? inside.dir ?? (hasOwnFiles(inside) ? undefined : dir);
  return {
    ...(umask === undefined ? {} : { umask }),
    ...inside,
    ...given,
    // What is no map of variables is for the server to refuse.
    ...(env === undefined || isMap(env) ? { env: withPath(env, here) } : { env }),
    id: flags.id ?? inside.id ?? id,
    ...(where === undefined ? {} : { dir: where }),
  };
}

/** The variables of a run, with the PATH of this place where they have none. */
function withPath(env: SpecFlags["env"], here: Here | undefined): SpecFlags["env"] {
  return here?.path === undefined ? env : { PATH: here.path, ...env };
}

function isMap(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the file itself speaks of the task's own directory. */
function hasOwnFiles({ snapshot, outputs, tasks }: Partial<NamedSpec>): boolean {
  const inTasks = Array.isArray(tasks) && tasks.some((task) => task?.snapshot !== undefined);
  return snapshot !== undefined || outputs !== undefined || inTasks;
}

/** The names of the tasks of a group; undefined if it is a lone command. */
export function taskNames({ tasks }: NamedSpec): string[] | undefined {
  return Array.isArray(tasks) ? tasks.map((task) => String(task?.name)) : undefined;
}

/** Which flag a field of the submission came from, for errors that the server finds. */
const FLAG_OF_FIELD: [prefix: string, name: string, flag?: keyof SpecFlags][] = [
  ["/resources/vcpus", "--cpus", "cpus"],
  ["/resources/memory", "--memory", "memory"],
  ["/queueTimeout", "--queue-timeout", "queueTimeout"],
  ["/killTimeout", "--kill-timeout", "killTimeout"],
  ["/timeout", "--timeout", "timeout"],
  ["/priority", "--priority", "priority"],
  ["/labels", "--label", "label"],
  ["/argv/0", "the command"],
  ["/argv", "argument"],
  ["/pool", "--pool", "pool"],
  ["/env", "--env", "env"],
  ["/dir", "--dir", "dir"],
  ["/umask", "the umask"],
  ["/snapshot", "--snapshot", "snapshot"],
  ["/outputs", "--out", "out"],
  ["/stdin", "--stdin", "stdin"],
  ["/id", "--id", "id"],
];

/**
 * Names a field as the command line has it: `/env/A B` → `--env A B`, `/outputs/0` → `--out dist`. `flags`: a
 * file says the rest, so what came from none of these flags is named as the file has it.
 */
export function flagOfPointer(
  pointer: string,
  spec?: RunSpec,
  { flags }: { flags?: SpecFlags } = {},
): string {
  if (pointer === "") return "the run";
  for (const [prefix, name, flag] of FLAG_OF_FIELD) {
    if (pointer !== prefix && !pointer.startsWith(`${prefix}/`)) continue;
    if (flags !== undefined && (flag === undefined || flags[flag] === undefined)) return pointer;
    const rest = pointer
      .slice(prefix.length + 1)
      .replaceAll("~1", "/")
      .replaceAll("~0", "~");
    if (rest === "") return name;
    const glob = prefix === "/outputs" ? spec?.outputs?.[Number(rest)] : undefined;
    return `${name} ${glob === "" ? quoteArgv([glob]) : (glob ?? rest)}`;
  }
  return pointer;
}
