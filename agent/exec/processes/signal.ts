import { errorCode } from "../../files.ts";

/**
 * Signals a process. One that is gone, or that this user may not signal, changes nothing: a look will tell.
 */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH" && errorCode(error) !== "EPERM") throw error;
  }
}
