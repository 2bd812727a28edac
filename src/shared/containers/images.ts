// Which images does a run name?
import { containerOf } from "./container-of.ts";

interface Contained {
  container?: { image: string } | undefined;
  driver?: string | undefined;
}

/** The images of the containers of a run, each once, as its spec names them. */
export function imagesOf({ container, tasks }: Contained & { tasks?: Contained[] | undefined }): string[] {
  const containers = tasks?.map((task) => containerOf({ container }, task)) ?? [container];
  return [...new Set(containers.flatMap((one) => one?.image ?? []))];
}
