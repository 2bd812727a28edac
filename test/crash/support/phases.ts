import type { Json } from "../../edge/support/edge.ts";

/** Where a group in a phase leaves its marks, and what it fetches. */
export interface Stage {
  id: string;
  pool: string;
  /** A file with a line for each thing that a command does. */
  marks: string;
  /** A folder that exists as soon as the waiting commands may go on. */
  enough: string;
  artifact: { url: string; sha256: string; to: string };
}

/** A group that is led into one phase of its life, struck there, and goes on to its end. */
export interface Phase {
  at: string;
  spec(stage: Stage): object;
  /** Whether the phase is reached, judged by the run as read and by what its commands have done. */
  reached(run: Json, marks: string[]): boolean;
  /** The group is aborted first, when its commands have done this. */
  abortAfter?: string;
  /** The group waits for a machine until the pool may create one. */
  withoutMachine?: true;
  /** How the group ends, and what its commands have done by then, in order. */
  end: object;
  marks: string[];
}

const task = (name: string, script: string, more: object = {}) => ({
  name,
  argv: ["sh", "-c", script],
  restart: { attempts: 0 },
  ...more,
});
const mark = ({ marks }: Stage, what = "") => `echo "\${DROVER_ATTEMPT_ID#*/}${what}" >>${marks}`;
const waits = ({ enough }: Stage) => `while [ ! -e ${enough} ]; do sleep 0.05; done`;
const once = (stage: Stage, name: string, more?: object) => task(name, mark(stage), more);
const held = (stage: Stage, name: string, more?: object) =>
  task(name, `${mark(stage)}; ${waits(stage)}`, more);
const prestart = { lifecycle: { hook: "prestart" } };
const poststop = { lifecycle: { hook: "poststop" } };
const sidecar = { lifecycle: { hook: "prestart", sidecar: true } };

const phaseOf = (run: Json, name: string) => run.tasks.find((one: Json) => one.name === name)?.phase;
const group = (...tasks: object[]) => ({ tasks });
const complete = { state: "complete", exitCode: 0, failure: null };
const aborted = { state: "aborted", exitCode: null, failure: null };

/** A task that, when it is told to end, notes that and goes on. */
const deaf = (stage: Stage) =>
  `trap '${mark(stage, " is deaf").replaceAll("'", "")}' TERM; ${mark(stage)}; while :; do sleep 0.05; done`;

/**
 * Every phase that a task of a group can be in when the control plane dies (tasks.md#changes,
 * tasks.md#reactions).
 */
export const PHASES: Phase[] = [
  {
    at: "queued",
    withoutMachine: true,
    spec: (stage) => group(once(stage, "main"), once(stage, "clean", poststop)),
    reached: (run) => run.state === "pending" && run.placements.length === 0,
    end: complete,
    marks: ["main/1.1", "clean/1.1"],
  },
  {
    at: "waiting at a gate",
    spec: (stage) => group(held(stage, "first", prestart), once(stage, "main")),
    reached: (run, marks) => marks.length === 1 && phaseOf(run, "main") === "waiting",
    end: complete,
    marks: ["first/1.1", "main/1.1"],
  },
  {
    at: "preparing",
    spec: (stage) =>
      group(once(stage, "first", prestart), once(stage, "main", { artifacts: [stage.artifact] })),
    reached: (run) => phaseOf(run, "main") === "preparing",
    end: complete,
    marks: ["first/1.1", "main/1.1"],
  },
  {
    at: "running",
    spec: (stage) => group(held(stage, "main"), task("side", "sleep 600", sidecar)),
    reached: (_, marks) => marks.length === 1,
    end: complete,
    marks: ["main/1.1"],
  },
  {
    at: "waiting in its shutdown delay",
    spec: (stage) =>
      group(
        task("main", `${mark(stage)}; exec sleep 600`, { shutdownDelay: "20s" }),
        once(stage, "clean", poststop),
      ),
    abortAfter: "main/1.1",
    reached: (run) => phaseOf(run, "main") === "stopping",
    end: aborted,
    marks: ["main/1.1", "clean/1.1"],
  },
  {
    at: "stopping",
    spec: (stage) => group(task("main", deaf(stage), { killTimeout: "10s" }), once(stage, "clean", poststop)),
    abortAfter: "main/1.1",
    reached: (_, marks) => marks.includes("main/1.1 is deaf"),
    end: aborted,
    marks: ["main/1.1", "main/1.1 is deaf", "clean/1.1"],
  },
  {
    at: "waiting for its next start",
    spec: (stage) => {
      const restart = { attempts: 1, delay: "20s" };
      const script = `${mark(stage)}; mkdir ${stage.enough}.once || exit 0; exit 1`;
      return group(task("main", script, { restart }), once(stage, "clean", poststop));
    },
    reached: (run) => phaseOf(run, "main") === "backoff",
    end: complete,
    marks: ["main/1.1", "main/1.2", "clean/1.1"],
  },
  {
    at: "in its poststop task",
    spec: (stage) => group(once(stage, "main"), held(stage, "clean", poststop)),
    reached: (_, marks) => marks.length === 2,
    end: complete,
    marks: ["main/1.1", "clean/1.1"],
  },
];
