import { arch, availableParallelism, hostname, totalmem, userInfo } from "node:os";

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * What every process that the agent starts has, and nothing of the agent's own environment
 * (decisions/tasks.md#environment). `user`: another one that it runs as.
 */
export function baseEnvironment(user?: { name: string; home: string }): Record<string, string> {
  const { name, home } = user ?? whoAmI();
  return { PATH: DEFAULT_PATH, HOME: home, USER: name, LANG: "C.UTF-8" };
}

function whoAmI(): { name: string; home: string } {
  try {
    const { username, homedir } = userInfo();
    return { name: username, home: homedir };
  } catch {
    // A user without an entry in the system's list, as in many containers.
    return { name: String(process.getuid?.() ?? ""), home: "/" };
  }
}

/** What `node.…` and `attr.…` stand for on this machine (tasks.md#environment). */
export function readNode(worker: string | undefined): Record<string, string> {
  return {
    ...(worker === undefined ? {} : { "node.unique.id": worker }),
    "node.unique.name": hostname(),
    "attr.kernel.name": process.platform,
    "attr.cpu.arch": arch(),
    "attr.cpu.numcores": String(availableParallelism()),
    "attr.memory.totalbytes": String(totalmem()),
  };
}

/** The entries by which the processes of one attempt are found, wherever they have gone. */
export function markersOf(id: string, taskDir: string): string[] {
  return [`DROVER_ATTEMPT_ID=${id}`, `DROVER_TASK_DIR=${taskDir}`];
}
