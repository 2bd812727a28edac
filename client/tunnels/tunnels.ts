// The client's calls that lead into a run.
import type { Target } from "../transport/http.ts";
import { type Exec, type ExecOptions, startExec } from "./exec.ts";
import { type Forward, type ForwardOptions, startForward } from "./forward.ts";

/** Tunnels into a run (tunnels.md). They need the scope `runs:exec`. */
export function tunnelsOf(target: Target) {
  return {
    /**
     * Runs a command beside that of a task: as the same user, in the same directory, with the same variables
     * and limits. It ends with the task, at the latest. After a lost connection it goes on where it was.
     */
    exec: (run: string, options: ExecOptions): Exec => startExec(target, run, options),

    /** Opens a way to a port on the loopback address of the run's machine. */
    forward: (run: string, options: ForwardOptions): Forward => startForward(target, run, options),
  };
}
