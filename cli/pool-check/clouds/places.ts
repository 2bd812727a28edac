// Where does a cloud offer the types that a pool wants?
import { type Finding, missing, ok } from "../finding.ts";
import { gib, listed, type Real, shortagesOf, type Wanted } from "../subject.ts";

/** A type as its cloud knows it. */
export interface Offered {
  real: Real;
  /** Where it is offered. Undefined: the cloud does not say. */
  places: readonly string[] | undefined;
  /** What else to know about it, such as its price, and what to do about that. */
  more?: string;
  todo?: string;
}

/**
 * What a cloud says about a type that a pool wants. A type that is nowhere among the pool's places is
 * missing; one that is at some of them can be had there. `places`: those of the pool, none: all.
 */
export function typeFinding(
  wanted: Wanted,
  offered: Offered | undefined,
  places: readonly string[],
  known: readonly string[],
): Finding {
  const check = `type ${wanted.name}`;
  if (offered === undefined) {
    const some = known.length === 0 ? "" : `: ${listed(known)}`;
    return missing(
      check,
      `there is no type ${wanted.type}`,
      `Set \`providerType\` to one that exists${some}`,
    );
  }
  const faults = shortagesOf(wanted, offered.real);
  if (faults.length > 0) {
    return missing(check, faults.join("; "), `Say what ${wanted.type} has, or take a larger type`);
  }
  const asked = wanted.zones ?? places;
  const has = offered.places;
  const at = has === undefined ? asked : asked.filter((place) => has.includes(place));
  const { vcpus, memoryBytes } = offered.real;
  const size = `${vcpus} vCPUs, ${gib(memoryBytes)}${offered.more ?? ""}`;
  if (has !== undefined && (asked.length === 0 ? has.length === 0 : at.length === 0)) {
    const where = asked.length === 0 ? "anywhere now" : `at ${listed(asked)}`;
    const todo =
      has.length === 0 ? "Take another type" : `Take another type, or one of these places: ${listed(has)}`;
    return missing(check, `${wanted.type} is not offered ${where}`, todo);
  }
  const not = has === undefined ? [] : asked.filter((place) => !has.includes(place));
  if (not.length === 0) return ok(check, size, offered.todo);
  return ok(
    check,
    `${size}; not offered at ${listed(not)}`,
    "Name the other places as the `zones` of this type",
  );
}

/** Whether all places exist. `field`: what names them in the configuration. */
export function placeFinding(
  check: string,
  asked: readonly string[],
  known: readonly string[],
  field: string,
): Finding {
  const strange = asked.filter((place) => !known.includes(place));
  if (strange.length === 0) {
    return ok(check, asked.length === 0 ? "the cloud chooses" : listed(asked));
  }
  return missing(check, `there is no ${listed(strange)}`, `Set ${field} to some of: ${listed(known, 40)}`);
}

/** All places that a pool names, also for single types. */
export function askedPlaces(of: readonly string[], wanted: readonly Wanted[]): string[] {
  return [...new Set([...of, ...wanted.flatMap(({ zones = [] }) => zones)])];
}
