// The four calls that most programs need: `run`, `wait`, `logs` and `abort` (`docs/client.md`).
import type { LogSelection } from "./runs/logs.ts";
import { type SubmitOptions, singleRunsOf, submissionsOf } from "./runs/runs.ts";
import { hasEnded } from "./states.ts";
import type { CallOptions, Target } from "./transport/http.ts";
import type { EndedRun, RunSpec, RunStatus } from "./types.ts";

/** Which output of a run to read. Default: stdout of the run's main task, to its end. */
export type LogsOptions = Partial<LogSelection>;

export interface AbortOptions extends CallOptions {
  /** The reason to store with the run. */
  reason?: string;
  /** Kill at once, even if a graceful stop has begun. */
  force?: boolean;
  /** Also wait until the run has ended, however long that takes. */
  wait?: boolean;
}

/** A run that has been submitted. */
export interface RunHandle {
  readonly id: string;
  /** The run as it was when the submission was answered. */
  readonly submitted: RunStatus;
  /** Resolves with the run when it has ended, however long that takes. */
  wait(options?: CallOptions): Promise<EndedRun>;
  /** Yields the run's output byte for byte, to the last byte. */
  logs(options?: LogsOptions): AsyncGenerator<Uint8Array>;
  /** Asks the run to end; with `wait`, waits until it has ended. */
  abort(options?: AbortOptions): Promise<RunStatus>;
}

/** The four calls that most programs need (`docs/client.md`). */
export function easyCallsOf(target: Target) {
  const { submit } = submissionsOf(target);
  const { wait, ...runs } = singleRunsOf(target);

  /** Yields the bytes of one stream of a run as they come, until no more bytes can follow. */
  async function* logs(run: string, options: LogsOptions = {}): AsyncGenerator<Uint8Array> {
    const { task, stream = "stdout", follow = true, ...rest } = options;
    const shown = task ?? shownTask((await runs.get(run, { signal: rest.signal })).spec);
    yield* runs.logs(run, { ...rest, task: shown, stream, follow });
  }

  /** Asks a run to end; with `wait`, waits until it has ended. An ended run is left as it is. */
  async function abort(run: string, { wait: waits, ...options }: AbortOptions = {}): Promise<RunStatus> {
    const answer = await runs.abort(run, options);
    if (waits !== true || hasEnded(answer)) return answer;
    const { signal, patience } = options;
    return await wait(run, { signal, patience });
  }

  return {
    /**
     * Submits a run. Each submission has an id or a key, so a retry after a lost answer never makes two runs.
     * `signal` ends the call, not the run.
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

    /** Waits until the run has ended, however long that takes. */
    wait,
    logs,
    abort,
  };
}

/** The task whose output counts as the run's output: the leader, or else the first main task. */
export function shownTask({ tasks }: { tasks?: unknown }): string {
  if (!Array.isArray(tasks)) return "main";
  const shown =
    tasks.find((task) => task?.leader === true) ?? tasks.find((task) => task?.lifecycle?.hook === undefined);
  return shown?.name ?? "main";
}
