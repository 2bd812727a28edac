import { readFileSync } from "node:fs";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { checkoutEnv } from "./scripts/env.mjs";
import { InTurn, inTurn } from "./test/order/in-turn.ts";

// What test workers inherit, so that `npx vitest` leaves nothing outside the checkout either. The secrets are
// named here as well because wrangler warns of required ones that it finds in no environment.
const secrets = {
  DROVER_ADMIN_TOKEN: "drv_admin_token_of_the_object_tests",
  DROVER_SIGNING_KEY: "signing key of the object tests, long enough",
  DROVER_KEK_1: Buffer.alloc(32, "wrapping key of the object tests").toString("base64"),
};
/** An engine of this machine is nobody's: tests with an engine have their own. */
const engine = { DROVER_ENGINE: "" };
/** Every step of every object is checked (shell.md#assertions). */
const checks = { DROVER_CHECK_EVERY: "1" };
Object.assign(process.env, checkoutEnv(), secrets, checks, engine);

/** Shell scripts are texts, as in the bundles. */
const scripts = {
  name: "shell scripts as texts",
  load: (id: string) =>
    /\.(?:sh|zsh|fish)$/.test(id) ? `export default ${JSON.stringify(readFileSync(id, "utf8"))};` : undefined,
};

// Tests wait for things and not for time: this is how long a thing may take on a busy machine of two cores. A
// wait of its own (`test/local/support/scratch.ts`) is shorter, since it says what it has waited for.
const LONGEST_MS = 300_000;
const patience = {
  testTimeout: LONGEST_MS,
  hookTimeout: LONGEST_MS,
  expect: { poll: { timeout: 120_000 } },
};

/** A run of limited time leaves out what may end after it. */
const inTime = process.env.DROVER_TESTS_UNTIL === undefined ? {} : { runner: "./test/order/in-time.ts" };

/** Files of `npm run test:long` alone, unless one is named (CONTRIBUTING.md, "Tests"). */
const withLongFiles =
  process.env.DROVER_TESTS === "long" || process.argv.some((arg) => arg.includes(".long."));
const exclude = withLongFiles ? [] : ["test/**/*.long.test.ts"];

// What these files do takes both cores and more: beside them, what waits comes near its limits.
const alone = ["test/fuzz/fuzz.long.test.ts", "test/edge/{bench,hard-kills,large-*,many-runs}.long.test.ts"];

// Groups run one after the other: suites that load the machine would take each other's deadlines away. Files
// with the longest time limits run first: later, a run of limited time would leave them out.
const inOrder = ["alone", ...inTurn(["processes", "browser"], (group) => group)];
const orderOf = (group: string) => 2 + inOrder.indexOf(group);

// Files with a Drover, which start processes.
const withProcesses = {
  ...patience,
  ...inTime,
  globalSetup: ["test/support/built.ts"],
  isolate: false,
  setupFiles: ["test/support/surroundings.ts", "test/chance/properties.ts", "test/chance/connections.ts"],
};

export default defineConfig({
  test: {
    sequence: { sequencer: InTurn },
    projects: [
      {
        plugins: [scripts],
        test: {
          ...patience,
          ...inTime,
          name: "node",
          include: ["test/*.test.ts", "test/{compat,core,archive,disk,probes,sim,ui}/**/*.test.ts"],
          // A browser does not belong among pure functions.
          exclude: ["test/ui/**/*.long.test.ts"],
          sequence: { groupOrder: 0 },
          // Half of the files in this group wait for something most of the time.
          maxWorkers: 5,
          // Pure functions: a file leaves nothing behind in the process that the next one could notice.
          isolate: false,
          setupFiles: ["test/chance/properties.ts"],
        },
      },
      {
        plugins: [scripts],
        test: {
          ...patience,
          ...inTime,
          name: "cli",
          include: ["test/cli/**/*.test.ts"],
          exclude,
          globalSetup: ["test/support/built.ts"],
          isolate: false,
          sequence: { groupOrder: 0 },
          maxWorkers: 5,
          setupFiles: ["test/chance/properties.ts"],
        },
      },
      {
        plugins: [
          scripts,
          cloudflareTest({
            // What an object throws on purpose would fill the screen.
            verbose: false,
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: { bindings: { ...secrets, ...checks, DROVER_URL: "http://drover.test" } },
          }),
        ],
        test: {
          ...patience,
          name: "objects",
          setupFiles: ["test/objects/support/violations.ts"],
          include: ["test/objects/**/*.test.ts"],
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
        },
      },
      {
        plugins: [scripts],
        test: {
          ...withProcesses,
          name: "processes",
          include: ["test/{attack,clouds,deploy,edge,agent,local,posix,crash,docs,fuzz}/**/*.test.ts"],
          exclude: [...exclude, ...alone],
          sequence: { groupOrder: orderOf("processes") },
          // Each file has a Drover of its own, and waits for it most of the time: three files at a time use
          // half of two cores (measured), so six use both. Long files have more to do: with six of them,
          // what waits for a reader or a container engine comes near to its time limits.
          maxWorkers: process.env.DROVER_TESTS === "long" ? 4 : 6,
        },
      },
      {
        plugins: [scripts],
        test: {
          ...withProcesses,
          name: "browser",
          include: ["test/ui/**/*.long.test.ts"],
          exclude,
          sequence: { groupOrder: orderOf("browser") },
          maxWorkers: 3,
        },
      },
      {
        plugins: [scripts],
        test: {
          ...withProcesses,
          name: "alone",
          include: alone,
          exclude,
          sequence: { groupOrder: orderOf("alone") },
          maxWorkers: 1,
          // Otherwise one process would run them all, and take the others with it if it crashes.
          isolate: true,
        },
      },
    ],
  },
});
