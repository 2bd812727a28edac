// Which containers of this host does no attempt need any more (containers.md#leftovers)?
import { setTimeout as sleep } from "node:timers/promises";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import type { Engine } from "../engine/engine.ts";
import type { ListedContainer } from "../engine/types.ts";
import { StartFault } from "../exec/start-fault.ts";
import { say } from "../say.ts";
import { type ContainerNames, LABELS } from "./names.ts";

/** A container that is younger may be one that is being started. */
const YOUNG_MS: Millis = 5 * 60_000;

/** How long the removal of a container may take before a start that waits for its name is given up. */
const REMOVAL_MS: Millis = 60_000;
const LOOK_MS: Millis = 100;

/**
 * What an attempt still needs of its container. `removal`: it has ended, but the engine was away when the
 * container was to be removed.
 */
export type Need = "container" | "removal" | "unknown";

/** Whether a container is left over: no attempt here knows it, and none is about to start it. */
export function isLeftOver(
  { labels, createdAtMs }: Pick<ListedContainer, "labels" | "createdAtMs">,
  names: ContainerNames,
  needOf: (attempt: string) => Need,
  nowMs: number,
): boolean {
  const need = needOf(labels[LABELS.attempt] ?? "");
  if (need !== "unknown") return need === "removal";
  return names.isOfEarlierBoot(labels) || nowMs - createdAtMs >= YOUNG_MS;
}

/** Removes what is left over, one at a time. Containers of others are never listed. Never rejects. */
export async function removeLeftovers(
  engine: Engine,
  names: ContainerNames,
  needOf: (attempt: string) => Need,
  nowMs: number,
): Promise<void> {
  try {
    for (const one of await engine.listContainers(names.own)) {
      if (!isLeftOver(one, names, needOf, nowMs)) continue;
      say(`removes the container ${one.name}, which no attempt needs any more`);
      await engine.removeContainer(one.id);
    }
  } catch (error) {
    say(`could not remove containers that are left over: ${errorText(error)}`);
  }
}

/**
 * Removes a container, and waits until it is gone: its name is free only then, and somebody else may be
 * removing it already. `id`: not the name, which may soon be that of another one. Rejects with the engine's
 * error, a `StartFault`, or the reason of `stop`.
 */
export async function removeWhole(engine: Engine, id: string, stop: AbortSignal): Promise<void> {
  const late = performance.now() + REMOVAL_MS;
  await engine.removeContainer(id);
  while ((await engine.inspectContainer(id)) !== undefined) {
    if (performance.now() > late) throw stillGoing(id);
    await sleep(LOOK_MS, undefined, { signal: stop, ref: false });
  }
}

function stillGoing(id: string): StartFault {
  const text = `The container ${id} of an earlier start has been in removal for ${REMOVAL_MS / 1_000} s.`;
  return new StartFault("engine_failed", text, { recoverable: true });
}
