// Can workerd run on this machine?
import { createRequire } from "node:module";
import { UpError } from "./up-error.ts";

/**
 * The oldest Node on which all that Miniflare loads runs. Miniflare itself asks for 22, which npm only warns
 * of; `test/local/package.long.test.ts` holds this Miniflare to 20.
 */
const LEAST_NODE = [20, 18] as const;

/** Throws an `UpError` that says why, if the control plane cannot run here. */
export function checkRuntimeNeeds(): void {
  if (!isNodeNewEnough(process.versions.node)) {
    throw new UpError(
      `\`drover up\` needs Node ${LEAST_NODE.join(".")} or newer, and this is ${process.versions.node}. ` +
        "Install a newer Node. All other verbs work with this one.",
    );
  }
  const missing = missingPart();
  if (missing === undefined) return;
  throw new UpError(
    `\`drover up\` needs the local runtime, and ${missing} is not installed. npm installs it with Drover, ` +
      "unless it is told to omit optional packages or has none for this system. Install Drover again with " +
      "all of its packages. All other verbs work: set DROVER_URL and DROVER_TOKEN to use a Drover elsewhere.",
  );
}

/** The part of the runtime that cannot be found; undefined: there are all. */
function missingPart(): string | undefined {
  try {
    const { resolve } = createRequire(import.meta.url);
    const ofMiniflare = createRequire(resolve("miniflare"));
    try {
      // This finds the program for this system, too, which is a package of its own.
      ofMiniflare("workerd");
      return undefined;
    } catch {
      return "workerd";
    }
  } catch {
    return "miniflare";
  }
}

/** Whether this version of Node can run the control plane. */
export function isNodeNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor, leastMinor] = LEAST_NODE;
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}
