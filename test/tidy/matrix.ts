import type { ImportOf, SourceFile } from "./source.ts";

/** The vocabulary that everybody may use: it imports nothing but itself. */
const SHARED = "src/shared/";

/** What the files below a path may import. */
interface Zone {
  /** A folder, ending with a slash, or a file. The longest one that fits counts. */
  of: string;
  /** Our own files, as folders or files. A zone may always import itself. */
  values: string[];
  /** The same, where only types may be taken. */
  types: string[];
  /** Packages; what ends with a colon or a slash means all that begin so. Absent: any. */
  packages?: string[];
}

/**
 * The import matrix (design/README.md#imports). Imports point downwards only, so that each part can be read,
 * tested and simulated without the parts above it.
 */
export const MATRIX: Zone[] = [
  { of: "src/schema/", values: [SHARED], types: [], packages: ["zod", "@hono/zod-openapi", "ipaddr.js"] },
  { of: "src/shared/", values: [], types: [], packages: [] },
  { of: "src/probes/", values: [SHARED], types: ["src/schema/"], packages: [] },
  { of: "src/core/", values: [SHARED, "src/probes/"], types: ["src/schema/"], packages: [] },
  // The library only computes instants from instants: it is given no function that it could call.
  {
    of: "src/core/job/schedule/",
    values: [SHARED, "src/core/"],
    types: ["src/schema/"],
    packages: ["croner"],
  },
  { of: "src/providers/", values: [SHARED, "src/schema/"], types: ["src/core/"] },
  // How hosts and the control plane sign what they say to each other: both do the same.
  { of: "src/signing/", values: [], types: [], packages: ["node:crypto"] },
  {
    of: "src/objects/",
    // The Worker carries the agent: machines are told where to find it, and its digest.
    values: [
      SHARED,
      "src/core/",
      "src/probes/",
      "src/providers/",
      "src/schema/",
      "src/signing/",
      "src/generated/",
    ],
    types: [],
  },
  {
    of: "src/routes/",
    values: [SHARED, "src/schema/", "src/signing/", "src/generated/"],
    types: ["src/objects/rpc.ts"],
  },
  { of: "src/worker.ts", values: ["src/"], types: [] },
  { of: "agent/core/", values: [SHARED], types: ["src/schema/"], packages: [] },
  // What reads and makes archives: the agent and the command do the same with them.
  { of: "archive/", values: [], types: [] },
  // What every writer must know of disks.
  { of: "disk/", values: [], types: [] },
  // Processes, cgroups, locks and files, as a POSIX system has them.
  { of: "posix/", values: [SHARED, "disk/"], types: [] },
  { of: "agent/", values: [SHARED, "archive/", "disk/", "posix/", "src/signing/"], types: ["src/schema/"] },
  // It stands on what is generated from the routes, and on nothing of the server's.
  {
    of: "client/",
    values: [SHARED, "src/generated/api.ts"],
    types: [],
    packages: ["node:crypto", "node:fs", "node:http", "node:net", "node:timers/promises", "undici", "ws"],
  },
  // The command asks Drover by the client and by nothing else. Some verbs are more than a client: `up`, those
  // that call a cloud themselves, and those that read a configuration as the server does.
  {
    of: "cli/",
    values: [SHARED, "client/", "archive/", "disk/", "local/fake-clouds.ts", "local/up-command.ts"],
    types: [],
  },
  {
    of: "cli/provider-test/",
    values: [SHARED, "cli/", "src/providers/", "src/schema/"],
    types: ["src/core/"],
  },
  {
    of: "cli/pool-check/",
    values: [SHARED, "cli/", "client/", "src/providers/", "src/schema/"],
    types: ["src/core/"],
  },
  {
    of: "cli/pool-create/",
    values: [SHARED, "cli/", "client/", "src/providers/", "src/schema/"],
    types: [],
  },
  // The dashboard makes its calls as the client does, and sends them with what a browser has.
  {
    of: "ui/",
    values: [
      SHARED,
      "src/generated/api.ts",
      "client/errors.ts",
      "client/runs/spec-again.ts",
      "client/transport/call.ts",
      "client/transport/call-of.ts",
      "client/transport/server-clock.ts",
    ],
    types: [],
    packages: ["preact", "@preact/signals", "anser", "uplot"],
  },
  {
    of: "local/",
    values: [SHARED, "client/", "disk/", "posix/", "src/schema/", "src/providers/provider.ts"],
    types: [],
  },
  // It measures the built package from outside, as a user would and by the typed client, and how long the
  // core takes to decide, the agent to upload a log, and the command to pack and unpack; and with an engine
  // of its own, what is added to the start of a container.
  {
    of: "bench/",
    values: [
      SHARED,
      "client/",
      "src/core/",
      "src/schema/",
      "src/signing/",
      "agent/core/",
      "agent/exec/",
      "agent/plane/",
      "archive/",
      "cli/snapshot/",
      ...["test/agent/support/busybox.ts", "test/agent/support/podman.ts"],
    ],
    types: [],
  },
  // Its feed stands in for a server: it serves the page by the Worker's routes, and is held to the document.
  {
    of: "bench/page/",
    values: [
      ...[SHARED, "bench/", "src/routes/app.ts", "src/routes/openapi/example-answers.json"],
      ...["src/generated/api.ts", "test/edge/support/document.ts", "test/sim/rng.ts"],
    ],
    types: ["src/routes/edge.ts"],
  },
  { of: "scripts/", values: [], types: [] },
  { of: "bin/", values: ["dist/"], types: [] },
  { of: "demo/", values: [], types: [] },
  { of: "vitest.config.ts", values: ["scripts/", "test/order/"], types: [] },
  { of: "test/", values: [""], types: [] },
];

/** The zone of a file: the one with the longest path that fits. */
export function zoneOf(path: string): Zone | undefined {
  const fitting = MATRIX.filter((zone) => isBelow(path, [zone.of]));
  return fitting.sort((a, b) => b.of.length - a.of.length)[0];
}

function isBelow(path: string, places: string[]): boolean {
  return places.some((place) => path === place || (path.startsWith(place) && /^$|\/$/.test(place)));
}

/** What is wrong with this import by the matrix, and what would be right; undefined if it is allowed. */
export function importFault(file: SourceFile, found: ImportOf): string | undefined {
  const zone = zoneOf(file.path);
  if (zone === undefined) return `${file.path} belongs to no part that the matrix knows`;
  if (found.target === undefined) {
    const allowed =
      zone.packages?.some((name) => found.specifier === name || found.specifier.startsWith(`${name}/`)) ??
      true;
    return allowed
      ? undefined
      : `${zone.of} takes ${list(zone.packages ?? [])} from outside, not ${found.specifier}`;
  }
  if (isBelow(found.target, [zone.of, ...zone.values])) return undefined;
  if (!isBelow(found.target, zone.types)) return `${zone.of} may not import ${found.target}`;
  return found.typeOnly
    ? undefined
    : `${zone.of} may import only types of ${found.target}: say \`import type\``;
}

function list(names: string[]): string {
  return names.length === 0 ? "nothing" : names.join(", ");
}
