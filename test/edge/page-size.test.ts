import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Metafile } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import { pageOptions, root } from "../../scripts/bundles.mjs";

const KB = 1_000;
/** The most that a view may load, packed as it travels. */
const MOST = { first: 45 * KB, withCharts: 75 * KB, any: 100 * KB };

/** What esbuild made: the graph of imports, and the packed bytes of each file. */
interface Made {
  outputs: Metafile["outputs"];
  bytes: Map<string, number>;
}

async function make(): Promise<Made> {
  const made = await build({ ...pageOptions("/page"), write: false, metafile: true });
  const bytes = new Map(made.outputFiles.map(({ path, contents }) => [path, packed(contents)]));
  const paths = Object.keys(made.metafile.outputs);
  // The graph names files as they are seen from the root of the checkout.
  return {
    outputs: made.metafile.outputs,
    bytes: new Map(paths.map((path) => [path, bytes.get(join(root, path)) ?? 0])),
  };
}

function packed(contents: Uint8Array): number {
  return gzipSync(contents, { level: 9 }).byteLength;
}

/** The files that come with these by imports of some kinds, themselves included. */
function reached({ outputs }: Made, from: Iterable<string>, kinds: readonly string[]): Set<string> {
  const known = new Set<string>();
  const open = [...from];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (known.has(path)) continue;
    known.add(path);
    for (const { path: next, kind } of outputs[path]?.imports ?? [])
      if (kinds.includes(kind)) open.push(next);
  }
  return known;
}

const NOW = ["import-statement"];
const EVER = [...NOW, "dynamic-import"];

describe("the size of the dashboard (ui.md#size)", () => {
  let made: Made;
  let shell: Set<string>;
  let views: { source: string; path: string }[];
  /** What the view of a log starts in a thread of its own: no import leads to it. */
  let thread: string;
  const sum = (paths: Iterable<string>) =>
    [...paths].reduce((all, path) => all + (made.bytes.get(path) ?? 0), 0);
  const whole = (paths: Set<string>) =>
    sum(new Set([...shell, ...paths])) + packed(readFileSync(join(root, "ui/index.html")));
  beforeAll(async () => {
    made = await make();
    const entries = Object.entries(made.outputs);
    const entry = (source: string) => entries.find(([, { entryPoint }]) => entryPoint === source)?.[0] ?? "";
    thread = entry("ui/log/search/worker.ts");
    shell = new Set([...reached(made, [entry("ui/main.tsx")], NOW), entry("ui/style.css")]);
    // A view is what the shell loads when it is shown.
    const later = [...shell].flatMap((path) => made.outputs[path]?.imports ?? []);
    views = later
      .filter(({ kind }) => kind === "dynamic-import")
      .map(({ path }) => ({ path, source: made.outputs[path]?.entryPoint ?? "" }));
  });
  /** The views that miss the measure, with their sizes. */
  const beyond = (most: number, kinds: readonly string[], isMeant = (_: string) => true) =>
    views
      .filter(({ path }) => isMeant(path))
      .map(({ path, source }) => ({ source, bytes: whole(reached(made, [path], kinds)) }))
      .filter(({ bytes }) => bytes > most);
  const hasMore = (path: string) => reached(made, [path], EVER).size > reached(made, [path], NOW).size;

  test("each page is loaded when it is shown, and no file is left over", () => {
    expect(views.map(({ source }) => source)).toEqual(
      expect.arrayContaining(["ui/pages/now.tsx", "ui/pages/pool.tsx", "ui/pages/run/run.tsx"]),
    );
    const all = reached(made, [...shell, ...views.map(({ path }) => path), thread], EVER);
    expect([...all].sort()).toEqual(Object.keys(made.outputs).sort());
  });

  test("a file that has no size would be counted as nothing", () => {
    expect([...made.bytes].filter(([, bytes]) => bytes === 0)).toEqual([]);
  });

  test("the first view has at most 45 kB gzip, whichever page it is", () => {
    expect(beyond(MOST.first, NOW)).toEqual([]);
  });

  test("with its charts, and whatever else it loads later, a view has at most 75 kB", () => {
    expect(views.filter(({ path }) => hasMore(path)).map(({ source }) => source)).toContain(
      "ui/pages/pool.tsx",
    );
    expect(beyond(MOST.withCharts, EVER, hasMore)).toEqual([]);
  });

  test("a view with a thread has at most 75 kB with what the thread loads", () => {
    const log = views.filter(({ source }) => source === "ui/pages/run/run.tsx").map(({ path }) => path);
    expect(log).toHaveLength(1);
    expect(whole(reached(made, [...log, thread], EVER))).toBeLessThanOrEqual(MOST.withCharts);
  });

  test("no view has more than 100 kB", () => {
    expect(beyond(MOST.any, EVER)).toEqual([]);
    expect(beyond(0, EVER)).toHaveLength(views.length);
  });
});
