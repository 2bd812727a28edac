// What does podman answer about a container that goes, or that it has removed by half?
import { EngineError } from "../errors.ts";
import { fieldOf, listOf, textOf } from "./read.ts";

/** Podman's answer where a container goes between its look by the name and its look at the rest. */
export function hasGoneMeanwhile({ kind, said }: EngineError): boolean {
  return kind === "server" && /no such container$/i.test(said);
}

/**
 * Whether podman says so of a container that it lists, and of which it has removed files already: to a look
 * at it, and to each list with it (engine.md#half-removed).
 */
export function isHalfRemoved(error: unknown): boolean {
  return (
    error instanceof EngineError &&
    error.kind === "server" &&
    /(?:container|layer) not known$/.test(error.said)
  );
}

/** Podman's own list of containers, which none of them can spoil. Its version is that of podman 4. */
export const PODMAN_LIST = "/v4.0.0/libpod/containers/json";

/** A row of that list. */
export interface PodmanRow {
  id: string;
  names: readonly unknown[];
  isRunning: boolean;
}

/** Reads that list. */
export function podmanRows(answer: unknown): PodmanRow[] {
  return listOf(answer).map((row) => ({
    id: textOf(row, "Id"),
    names: listOf(fieldOf(row, "Names")),
    isRunning: textOf(row, "State") === "running",
  }));
}
