// What has one request to abort left as it was, and why?
import type { AbortedList } from "../../../../src/generated/api.ts";

/** A line for each run that was refused, and for each pool whose runs are unknown since it did not answer. */
export function leftOf({ failed, service }: Pick<AbortedList, "failed" | "service">): string[] {
  const silent = service.filter(({ healthy }) => !healthy);
  return [
    ...failed.map(({ id, detail }) => `${id}: ${detail}`),
    ...silent.map(({ pool, error = "" }) => `the pool ${pool} does not answer. ${error}`.trimEnd()),
  ];
}
