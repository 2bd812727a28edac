// Which version of the API do the agent and a container engine both speak?

/** The oldest version of the API that has all that Drover needs: podman 4 speaks it. */
export const LEAST_API = "1.41";

/** The newest version of the API that Drover was written for. */
export const NEWEST_API = "1.52";

/** The versions that an engine speaks. */
export interface ApiRange {
  least: string;
  newest: string;
}

/**
 * The version that both sides speak: the lower one of our newest and the engine's newest. If there is none:
 * why, and what to do (engine.md#versions).
 */
export function commonApi(engine: ApiRange): { api: string } | { reason: string } {
  if (!isVersion(engine.newest)) {
    return { reason: `The engine names no version of its API that Drover can read: "${engine.newest}".` };
  }
  const api = compare(engine.newest, NEWEST_API) < 0 ? engine.newest : NEWEST_API;
  if (compare(api, LEAST_API) < 0) {
    const reason =
      `The engine speaks version ${engine.newest} of the API at most, and Drover needs ${LEAST_API}: ` +
      "install Docker 20.10 or podman 4, or later ones.";
    return { reason };
  }
  if (isVersion(engine.least) && compare(api, engine.least) < 0) {
    const reason =
      `The engine speaks version ${engine.least} of the API at least, this Drover ${NEWEST_API} at most: ` +
      "update Drover.";
    return { reason };
  }
  return { api };
}

function isVersion(text: string): boolean {
  return /^\d{1,4}\.\d{1,4}$/.test(text);
}

/** Below, at or above zero, as `a` is older than `b`, the same or newer. */
function compare(a: string, b: string): number {
  const [major = 0, minor = 0] = a.split(".").map(Number);
  const [otherMajor = 0, otherMinor = 0] = b.split(".").map(Number);
  return major - otherMajor || minor - otherMinor;
}
