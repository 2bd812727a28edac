// What does a process get from this machine: environment, values of the node, markers?
import { arch, availableParallelism, hostname, totalmem, userInfo } from "node:os";

/** This process keeps its user and its machine, and each question to the system opens files. */
let me: { name: string; home: string } | undefined;
const MACHINE = {
  "attr.kernel.name": process.platform,
  "attr.cpu.arch": arch(),
  "attr.cpu.numcores": String(availableParallelism()),
  "attr.memory.totalbytes": String(totalmem()),
};

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * The environment of every process that the agent starts, without the agent's own variables
 * (decisions/tasks.md#environment). `user`: the user of the process, if it is not the agent's.
 */
export function baseEnvironment(user?: { name: string; home: string }): Record<string, string> {
  const { name, home } = user ?? whoAmI();
  return { PATH: DEFAULT_PATH, HOME: home, USER: name, LANG: "C.UTF-8" };
}

function whoAmI(): { name: string; home: string } {
  if (me !== undefined) return me;
  try {
    const { username, homedir } = userInfo();
    me = { name: username, home: homedir };
    return me;
  } catch {
    // The system's list has no entry for this user, as in many containers, or it has none yet.
    return { name: String(process.getuid?.() ?? ""), home: "/" };
  }
}

/** Values of `node.…` and `attr.…` on this machine (tasks.md#environment). */
export function readNode(worker: string | undefined): Record<string, string> {
  return {
    ...(worker === undefined ? {} : { "node.unique.id": worker }),
    "node.unique.name": hostname(),
    ...MACHINE,
  };
}

/** The entries of the environment that identify all processes of an attempt, whatever their parent is. */
export function markersOf(id: string, taskDir: string): string[] {
  return [`DROVER_ATTEMPT_ID=${id}`, `DROVER_TASK_DIR=${taskDir}`];
}
