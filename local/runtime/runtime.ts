// How does the Worker run on this machine?
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { V4WorkerOptionsShape } from "miniflare";
import { CLOCK_WAS_SET, clockIs } from "../../src/shared/time/clock.ts";
import { pathIn } from "../state/names.ts";
import { DOOR, doorPath, doorSource } from "./door.ts";
import { endTree } from "./end-processes.ts";
import { fireCron } from "./entry.ts";
import { ticker } from "./ticker.ts";
import { failUnreadInput, onChildOf } from "./unread-pipe.ts";
import { endText } from "./watch-runtime.ts";
import { writeGuard } from "./workerd-guard.ts";

/** How often to check whether the runtime must be restarted. */
const CHECK_EVERY_MS = 250;

/** The environment variable that marks the runtime's processes, so that they can be found after a crash. */
const MARK = "DROVER_RUNTIME";

/**
 * The heap starts small and grows slowly, since what JavaScript code leaves of each part of the local bucket
 * only a full collection frees. One thread collects: several take more processor time, which the agents need,
 * and free buffers later (decisions/local.md#heap-of-workerd).
 */
const V8_FLAGS = [
  "--initial-old-space-size=4",
  "--heap-growing-percent=50",
  "--max-semi-space-size=8",
  "--single-threaded-gc",
].join(" ");

export interface RuntimeOptions {
  /** The built Worker: one ES module. */
  script: string;
  /** The file that was built from `wrangler.toml`, which defines bindings, classes and crons. */
  options: string;
  /** The state directory, with the objects, and temporary files and caches of the tools. */
  stateDir: string;
  port: number;
  /** Variables and secrets of the Worker. */
  vars: Record<string, string>;
  /** Webhooks may go to loopback and private addresses (webhooks.md#addresses). */
  allowLocalWebhooks: boolean;
  /** Issuers of tokens may have such addresses (oidc.md#keys). */
  allowLocalIssuers: boolean;
  /** How far Drover's time is ahead of this machine's clock at the start. */
  aheadMs: number;
  /** Called with each line that the Worker or the runtime logs. */
  onLog(level: string, text: string): void;
  /** Called when workerd has ended by itself: `how` says in words what happened. workerd is restarted. */
  onDeath(how: string): void;
}

export interface Runtime {
  /**
   * Called after somebody has set the machine's clock, so that Drover's time is now `aheadMs` ahead of the
   * clock. Restarts the Worker with that difference, and wakes all objects, since their alarms go by the old
   * clock. The old workerd cannot continue: while its clock is behind a time that an object has seen, time
   * stands still for that object.
   */
  clockWasSet(aheadMs: number): Promise<void>;
  /** Confirms to the Worker, which sees no other clock, that its clock shows `wallMs` and was not set. */
  clockIs(wallMs: number): Promise<void>;
  /** Ends the Worker and all processes of the runtime. */
  dispose(): Promise<void>;
}

/**
 * Runs the built Worker and its objects on this machine; resolves once it answers.
 *
 * Only this file depends on details that differ between prereleases of Miniflare (tools.md#one-configuration,
 * platform.md#the-local-runtime). `wrangler dev` is not used: it would cost most of the throughput.
 */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { stateDir, onLog } = options;
  const program = setToolEnvironment(stateDir);
  let isUp = false;
  let workerd: ChildProcess | undefined;
  let replaced: ChildProcess | undefined;
  onChildOf(program, (child) => {
    workerd = child;
    child.once("exit", (code, signal) => {
      if (isUp && child !== replaced) options.onDeath(endText(code, signal));
    });
  });
  const { Miniflare, convertV4MiniflareOptions } = await import("miniflare");
  const { worker, crons } = readWorker(options);
  let { aheadMs: currentAheadMs } = options;
  const miniflareOptions = () =>
    convertV4MiniflareOptions({
      // Enables triggers at Miniflare's entry, which only we can open (`entry.ts`).
      unsafeTriggerHandlers: true,
      cf: false,
      logRequests: false,
      inspectorPort: inspectorPort(),
      resourcePersistencePath: pathIn(stateDir, "objects"),
      unsafeRuntimeEnv: { [MARK]: stateDir },
      handleStructuredLogs: ({ level, message }) => onLog(level, message),
      workers: [
        {
          ...worker,
          bindings: {
            ...worker.bindings,
            DROVER_CLOCK_AHEAD_MS: String(currentAheadMs),
            DROVER_ALLOW_LOCAL_WEBHOOKS: options.allowLocalWebhooks ? "1" : "",
            DROVER_ALLOW_LOCAL_ISSUERS: options.allowLocalIssuers ? "1" : "",
            // The tests set this to have each step checked (shell.md#assertions).
            DROVER_CHECK_EVERY: process.env.DROVER_CHECK_EVERY ?? "",
          },
          serviceBindings: {
            ...worker.serviceBindings,
            WEBHOOK_NETWORK: networkOf(options.allowLocalWebhooks),
            ISSUER_NETWORK: networkOf(options.allowLocalIssuers),
          },
          unsafeDirectSockets: [{ host: "127.0.0.1", port: options.port, entrypoint: DOOR }],
        },
      ],
    });
  const miniflare = withoutSignalListeners(() => new Miniflare(miniflareOptions()));
  const dispose = async () => {
    isUp = false;
    await miniflare.dispose();
    await endFormerRuntime(stateDir);
  };
  const fire = (cron: string) => fireCron(stateDir, cron);
  try {
    await miniflare.ready;
    isUp = true;
    const onProblem = (text: string) => onLog("error", text);
    const stopTicking = ticker(crons, fire, onProblem);
    const restart = () => miniflare.setOptions(miniflareOptions());
    const stopKeeping = keepRunning(() => miniflare.ready, restart, onProblem);
    return {
      clockWasSet: async (aheadMs) => {
        if (aheadMs !== currentAheadMs) {
          replaced = workerd;
          // The old workerd must not decide anything more with the wrong time.
          workerd?.kill("SIGSTOP");
          currentAheadMs = aheadMs;
          await restart();
        }
        await fire(CLOCK_WAS_SET);
      },
      clockIs: (wallMs) => fire(clockIs(wallMs)),
      dispose: async () => {
        stopTicking();
        stopKeeping();
        await dispose();
      },
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/**
 * The network for webhooks, and that for issuers. A name may lead to a private address though its text does
 * not say so; workerd refuses that after it has resolved the name.
 */
function networkOf(allowsLocal: boolean) {
  const allow = allowsLocal ? ["public", "private"] : ["public"];
  return { network: { allow, tlsOptions: { trustBrowserCas: true } } };
}

/**
 * Miniflare restarts workerd once. If the new workerd dies while it starts, Miniflare gives up, and no
 * control plane would be left. So Miniflare's state is checked repeatedly, and after an error the runtime is
 * restarted. Returns a function that stops the checks.
 */
function keepRunning(
  ready: () => Promise<unknown>,
  restart: () => Promise<void>,
  onProblem: (text: string) => void,
): () => void {
  let checking = false;
  let over = false;
  const timer = setInterval(async () => {
    if (checking) return;
    checking = true;
    try {
      await ready().catch(() => (over ? undefined : restart()));
    } catch (error) {
      if (!over) onProblem(`The runtime could not be restarted. Trying again. ${String(error)}`);
    }
    checking = false;
  }, CHECK_EVERY_MS).unref();
  return () => {
    over = true;
    clearInterval(timer);
  };
}

/**
 * Runs `make`, and removes the signal listeners that it adds: Miniflare's listeners would end the process at
 * once, and leave its machines behind. The caller decides what a signal means. Miniflare's listener for
 * `exit` stays.
 */
function withoutSignalListeners<T>(make: () => T): T {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const before = new Set(signals.flatMap((signal) => process.listeners(signal)));
  const made = make();
  for (const signal of signals) {
    for (const listener of process.listeners(signal)) {
      if (!before.has(listener)) process.off(signal, listener);
    }
  }
  return made;
}

/**
 * Ends the processes of an earlier runtime of this state directory. Call this before another runtime starts.
 * After a SIGKILL of `drover up` the guard needs a moment, and two runtimes would be two live copies of each
 * object.
 */
export async function endFormerRuntime(stateDir: string): Promise<void> {
  const mark = `${MARK}=${stateDir}`;
  await endTree({ isMarked: (environment) => environment.includes(mark), isMarkedOnly: true });
}

/** The port of the inspector, for developers. A program that reaches it can do everything that Drover can. */
function inspectorPort(): number | undefined {
  const port = process.env.DROVER_INSPECTOR_PORT;
  return port === undefined ? undefined : Number(port);
}

/**
 * The file that `scripts/worker-options.mjs` makes from `wrangler.toml`. Paths are relative to the package.
 */
interface BuiltOptions {
  name: string;
  vars: Record<string, string>;
  crons: string[];
  options: V4WorkerOptionsShape & { assets: { directory: string } };
}

/** The built Worker, with our values for its variables. */
function readWorker({ script, options: path, port, vars }: RuntimeOptions) {
  // The build has written this file.
  const built = JSON.parse(readFileSync(path, "utf8")) as BuiltOptions;
  const root = dirname(dirname(path));
  const { assets } = built.options;
  const worker = {
    ...built.options,
    rootPath: root,
    assets: { ...assets, directory: join(root, assets.directory) },
    name: built.name,
    // The values of `.dev.vars` or `.env` in the checkout are not used.
    bindings: { ...built.vars, ...vars },
    modulesRoot: dirname(script),
    modules: [
      { type: "ESModule" as const, path: doorPath(script), contents: doorSource(script, port) },
      { type: "ESModule" as const, path: script, contents: readFileSync(script, "utf8") },
    ],
  };
  return { worker, crons: built.crons };
}

/**
 * Sets options that wrangler, Miniflare and workerd read only from the environment: where temporary files,
 * logs and caches go, that no metrics are sent, and that the guard runs in place of workerd. Also makes
 * Miniflare notice a workerd that dies before it has read its input. Returns the path of the guard.
 */
function setToolEnvironment(stateDir: string): string {
  const require = createRequire(import.meta.url);
  // The workerd that Miniflare depends on: another version may be installed beside it.
  const { default: workerd } = createRequire(require.resolve("miniflare"))("workerd");
  const guard = pathIn(stateDir, "workerd-guard");
  writeGuard(guard, String(workerd));
  failUnreadInput(guard);
  Object.assign(process.env, {
    MINIFLARE_WORKERD_PATH: guard,
    TMPDIR: pathIn(stateDir, "tmp"),
    XDG_CACHE_HOME: pathIn(stateDir, "cache"),
    XDG_CONFIG_HOME: pathIn(stateDir, "cache"),
    XDG_DATA_HOME: pathIn(stateDir, "cache"),
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_LOG: "none",
    MINIFLARE_WORKERD_V8_FLAGS: V8_FLAGS,
  });
  return guard;
}
