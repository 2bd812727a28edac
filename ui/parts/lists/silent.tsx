// Which pools did not answer, so that what they have is missing from a list?
import type { ServiceStatus } from "../../../src/generated/api.ts";

/** The names of the pools that did not answer, each with why, if that is known. */
export function silentPools(service: readonly ServiceStatus[]): string[] {
  return service
    .filter(({ healthy }) => !healthy)
    .map(({ pool, error }) => (error === undefined ? pool : `${pool}: ${error}`));
}

/** Says it above a list. `what`: what is missing from it. */
export function Silent({ what, service }: { what: string; service: readonly ServiceStatus[] }) {
  const silent = silentPools(service);
  if (silent.length === 0) return null;
  return (
    <ul class="trouble" role="alert">
      {silent.map((pool) => (
        <li key={pool}>
          {what} of this pool are missing, since it does not answer: {pool}.
        </li>
      ))}
    </ul>
  );
}
