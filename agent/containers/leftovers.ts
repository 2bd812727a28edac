// Which containers of this host does no attempt need any more (containers.md#leftovers)?
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import type { Engine } from "../engine/engine.ts";
import type { ListedContainer } from "../engine/types.ts";
import { say } from "../say.ts";
import { type ContainerNames, LABELS } from "./names.ts";

/** A container that is younger may be one that is being started. */
const YOUNG_MS: Millis = 5 * 60_000;

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
