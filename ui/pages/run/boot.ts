// When does the page of a run ask how its machine has booted, and when does it know (ui.md#d13)?
import type { RunStatus } from "../../../src/generated/api.ts";

type Booted = Pick<RunStatus, "id" | "placements" | "boot">;

/** Whether nothing of this boot can change any more: its machine has become ready. */
export function isBootOver({ boot }: Pick<RunStatus, "boot">): boolean {
  return boot !== undefined && boot !== null && boot.readyAt !== null;
}

/**
 * The latest answer, with the boot of an earlier one if that was not asked for again. A run that has moved to
 * another machine has none then, so that the next question asks for it.
 */
export function withBoot<Run extends Booted>(next: Run, before: Booted | undefined): Run {
  const boot = before?.id === next.id ? before.boot : undefined;
  const isSame = boot !== undefined && boot !== null && boot.worker === next.placements.at(-1)?.worker;
  return next.boot === undefined && isSame ? { ...next, boot } : next;
}
