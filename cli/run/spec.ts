import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import type { RunSpecInput } from "../../src/schema/run.ts";
import type { Context } from "../context.ts";

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
}

/** A submission with an id of its own. */
export type NamedSpec = RunSpecInput & { id: string };

/**
 * Makes the submission. What is not said stays out of it, so that the server's defaults hold.
 *
 * There is always an id, chosen here: a lost answer then never makes a second run, and Ctrl-C can abort a run
 * whose submission has not been answered yet. Against a local Drover a directory is one of this machine, by
 * default this one; elsewhere it is sent as written, and there is no default.
 */
export function specOf(argv: string[], flags: SpecFlags, context: Context, cwd: string): NamedSpec {
  const local = context.file !== undefined;
  const { pool, env, timeout, queueTimeout, killTimeout, priority } = flags;
  const resources = { vcpus: flags.cpus, memory: flags.memory };
  return {
    id: flags.id ?? newRunId(),
    argv,
    dir: local ? resolve(cwd, flags.dir ?? ".") : flags.dir,
    pool,
    env,
    labels: flags.label,
    timeout,
    queueTimeout,
    killTimeout,
    priority,
    ...(resources.vcpus === undefined && resources.memory === undefined ? {} : { resources }),
  };
}

/**
 * The submission that a file holds, with what the flags say in the place of what the file says. Whether it is
 * one, the server finds out, and names each field that is wrong.
 */
export function specOfFile(content: object, flags: SpecFlags, context: Context, cwd: string): NamedSpec {
  const inside: Partial<NamedSpec> = content;
  const { id, argv: _argv, dir, ...said } = specOf([], flags, context, cwd);
  const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  const where = flags.dir ?? inside.dir ?? dir;
  return {
    ...inside,
    ...given,
    id: flags.id ?? inside.id ?? id,
    ...(where === undefined ? {} : { dir: where }),
  };
}

/** The task whose output stands for that of the run: the leader, or the first main task. */
export function shownTask({ tasks }: NamedSpec): string {
  if (!Array.isArray(tasks)) return "main";
  const shown =
    tasks.find((task) => task.leader === true) ?? tasks.find((task) => task.lifecycle?.hook === undefined);
  return shown?.name ?? "main";
}

/** An id that sorts by time, as the server's own do. */
function newRunId(): string {
  return `r${Date.now().toString(36).padStart(9, "0")}${randomBytes(5).toString("hex")}`;
}

/** Which flag a field of the submission came from, for errors that the server finds. */
const FLAG_OF_FIELD: [prefix: string, name: string][] = [
  ["/resources/vcpus", "--cpus"],
  ["/resources/memory", "--memory"],
  ["/queueTimeout", "--queue-timeout"],
  ["/killTimeout", "--kill-timeout"],
  ["/timeout", "--timeout"],
  ["/priority", "--priority"],
  ["/labels", "--label"],
  ["/argv/0", "the command"],
  ["/argv", "argument"],
  ["/pool", "--pool"],
  ["/env", "--env"],
  ["/dir", "--dir"],
  ["/id", "--id"],
];

/** Names a field as it is written on the command line: `/env/A B` → `--env A B`. */
export function flagOfPointer(pointer: string): string {
  if (pointer === "") return "the run";
  for (const [prefix, name] of FLAG_OF_FIELD) {
    if (pointer !== prefix && !pointer.startsWith(`${prefix}/`)) continue;
    const rest = pointer
      .slice(prefix.length + 1)
      .replaceAll("~1", "/")
      .replaceAll("~0", "~");
    return rest === "" ? name : `${name} ${rest}`;
  }
  return pointer;
}
