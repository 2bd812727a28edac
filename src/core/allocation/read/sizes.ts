// What have the tasks of a run used at most, and should they have asked for more or less?
import type { Peaks, SizeAdvice } from "../../../schema/run/peaks.ts";
import { adviceFor } from "../../run/size-advice.ts";
import type { AllocationRecord, AttemptRecord } from "../state.ts";
import type { Member } from "../tasks/tasks.ts";

/** The most that any of these attempts has used (tasks.md#peaks); undefined if nothing was measured. */
export function peaksOf(attempts: readonly AttemptRecord[]): Peaks | undefined {
  const known = attempts.flatMap(({ peaks }) => peaks ?? []);
  return known.length === 0 ? undefined : known.reduce(together);
}

/** What is said about memory belongs together, so all of it is that of the attempt which has used more. */
function together(a: Peaks, b: Peaks): Peaks {
  const [less, more] = (a.memoryBytes ?? -1) > (b.memoryBytes ?? -1) ? [b, a] : [a, b];
  const { memoryBytes: _m, cacheBytes: _c, memoryIsSampled: _s, ...others } = less;
  const most = (field: "cpuMs" | "cpus" | "diskBytes") => {
    const values = [a[field], b[field]].filter((value) => value !== undefined);
    return values.length === 0 ? {} : { [field]: Math.max(...values) };
  };
  const { diskIsLeast = less.diskIsLeast } = more;
  const disk = diskIsLeast === undefined ? {} : { diskIsLeast };
  return { ...others, ...more, ...most("cpuMs"), ...most("cpus"), ...most("diskBytes"), ...disk };
}

/**
 * What the tasks of an ended run should ask for next time (tasks.md#size-advice). Only a command that has
 * ended with exit code 0 has shown how little it needs, and a run that was aborted says nothing.
 */
export function sizeAdvice({ ended, outcome }: AllocationRecord, members: readonly Member[]): SizeAdvice[] {
  if (!ended || outcome === null || ["aborted", "unknown"].includes(outcome.state)) return [];
  return members.flatMap(({ task, known: { attempts } }) => {
    const latest = attempts.at(-1);
    const peaks = peaksOf(attempts);
    if (latest === undefined || peaks === undefined) return [];
    const { startedAt, finishedAt, exit } = latest;
    return adviceFor({
      task: task.name,
      asked: task.spec.resources,
      hasDefaultMemory: task.spec.memoryLimitBytes !== undefined,
      peaks,
      ranForMs: startedAt === null || finishedAt === null ? 0 : finishedAt - startedAt,
      isDone: outcome.state === "complete" && exit?.code === 0,
      isOutOfMemory: attempts.some((one) => one.exit?.oomKilled === true),
    });
  });
}
