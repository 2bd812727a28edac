import type { LogWish } from "./runs/logs.ts";
import { type SubmitOptions, singleRunsOf, submissionsOf } from "./runs/runs.ts";
import { hasEnded } from "./states.ts";
import type { CallOptions, Target } from "./transport/http.ts";
import type { EndedRun, RunSpec, RunStatus } from "./types.ts";

/** Which output of a run is read. If nothing is said: stdout of the task that stands for it, to its end. */
export type LogsOptions = Partial<LogWish>;

export interface AbortOptions extends CallOptions {
  /** Kept with the run. */
  reason?: string;
  /** Kill at once whatever lives of it, also in a stop that has begun. */
  force?: boolean;
  /** Also wait until the run has ended, however long that takes. */
  wait?: boolean;
}

/** A run that has been submitted. */
export interface RunHandle {
  readonly id: string;
  /** The run as it was when the submission was answered. */
  readonly submitted: RunStatus;
  /** The run when it has ended, however long that takes. */
  wait(options?: CallOptions): Promise<EndedRun>;
  /** What it writes, byte for byte, until it has written its last. */
  logs(options?: LogsOptions): AsyncGenerator<Uint8Array>;
  /** Asks for its end, and with `wait` waits for it. */
  abort(options?: AbortOptions): Promise<RunStatus>;
}

/** The four calls that most programs need (`docs/client.md`). */
export function easyCallsOf(target: Target) {
  const { submit } = submissionsOf(target);
  const runs = singleRunsOf(target);

  /** Waits until the run has ended, however long that takes. */
  const wait = (run: string, options: CallOptions = {}): Promise<EndedRun> => runs.wait(run, options);

  /** The bytes of one stream of a run, as they come, until there can be no more. */
  async function* logs(run: string, options: LogsOptions = {}): AsyncGenerator<Uint8Array> {
    const { task, stream = "stdout", follow = true, ...rest } = options;
    const { signal } = rest;
    const shown = task ?? shownTask((await runs.get(run, signal === undefined ? {} : { signal })).spec);
    yield* runs.logs(run, { ...rest, task: shown, stream, follow });
  }

  /** Asks for the end of a run, and with `wait` waits for it. A run that has ended stays as it is. */
  async function abort(run: string, { wait: toTheEnd, ...options }: AbortOptions = {}): Promise<RunStatus> {
    const asked = await runs.abort(run, options);
    if (toTheEnd !== true || hasEnded(asked)) return asked;
    const { signal, patience } = options;
    return await wait(run, { signal, patience });
  }

  return {
    /**
     * Submits a run. It has a key of its own, so a lost answer never makes two runs of it. `signal` ends the
     * call and not the run.
     */
    async run(spec: RunSpec, options: SubmitOptions = {}): Promise<RunHandle> {
      const { run: submitted } = await submit(spec, options);
      const { id } = submitted;
      return {
        id,
        submitted,
        wait: (more) => wait(id, more),
        logs: (more) => logs(id, more),
        abort: (more) => abort(id, more),
      };
    },
    wait,
    logs,
    abort,
  };
}

/** The task whose output stands for that of the run: the leader, or the first main task. */
export function shownTask({ tasks }: { tasks?: unknown }): string {
  if (!Array.isArray(tasks)) return "main";
  const shown =
    tasks.find((task) => task?.leader === true) ?? tasks.find((task) => task?.lifecycle?.hook === undefined);
  return shown?.name ?? "main";
}
