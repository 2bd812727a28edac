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

/** How often to look whether the runtime has to be started again by us. */
const LOOK_EVERY_MS = 250;

/** By this name in their environment the runtime's processes are found after a crash. */
const MARK = "DROVER_RUNTIME";

/**
 * The local bucket is written by JavaScript, and each of its small parts leaves objects that only a full
 * collection frees. By default the first of these comes late, and 220 MB pile up under a large log. Beginning
 * with little, and growing slowly, it stays below 200 MB (decisions/local.md#heap-of-workerd).
 */
const V8_FLAGS = "--initial-old-space-size=4 --heap-growing-percent=20 --max-semi-space-size=1";

export interface RuntimeOptions {
  /** The built Worker: one ES module. */
  script: string;
  /** What was built of `wrangler.toml`, the one place that names bindings, classes and crons. */
  options: string;
  /** The state directory: objects, temporary files and caches of the tools go below it. */
  stateDir: string;
  port: number;
  /** Variables and secrets of the Worker. */
  vars: Record<string, string>;
  /** How far Drover's time is ahead of this machine's clock, to begin with. */
  aheadMs: number;
  /** A line that the Worker, or the runtime, has written. */
  onLog(level: string, text: string): void;
  /** workerd has ended, and nobody had told it to: how, in words. It is started again. */
  onDeath(how: string): void;
}

export interface Runtime {
  /**
   * The machine's clock was set, and Drover's time is now so far ahead of it: starts the Worker again with
   * that, and wakes all that lives, since alarms go by another clock. A workerd that goes on would be of no
   * use: while its clock is behind what it has shown an object, no time passes for that object.
   */
  clockWasSet(aheadMs: number): Promise<void>;
  /** The machine's clock shows this, and was not set: the Worker sees no other clock, and may believe it. */
  clockIs(wallMs: number): Promise<void>;
  /** Ends the Worker and whatever belongs to it. */
  dispose(): Promise<void>;
}

/**
 * Runs the built Worker and its objects on this machine; resolves once it answers.
 *
 * This file alone knows what of Miniflare differs between its prereleases (tools.md#one-configuration,
 * platform.md#the-local-runtime). `wrangler dev` is not used: it costs most of the throughput.
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
  let { aheadMs: givenAheadMs } = options;
  const miniflareOptions = () =>
    convertV4MiniflareOptions({
      // At its entry, which only we can open (`entry.ts`).
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
          bindings: { ...worker.bindings, DROVER_CLOCK_AHEAD_MS: String(givenAheadMs) },
          unsafeDirectSockets: [{ host: "127.0.0.1", port: options.port, entrypoint: DOOR }],
        },
      ],
    });
  const miniflare = keepingSignals(() => new Miniflare(miniflareOptions()));
  const dispose = async () => {
    isUp = false;
    await miniflare.dispose();
    await endFormerRuntime(stateDir);
  };
  const fire = (cron: string) => fireCron(stateDir, cron);
  try {
    await miniflare.ready;
    isUp = true;
    const stopTicking = ticker(crons, fire, (text) => onLog("error", text));
    const again = () => miniflare.setOptions(miniflareOptions());
    const stopKeeping = keepRunning(
      () => miniflare.ready,
      again,
      (text) => onLog("error", text),
    );
    return {
      clockWasSet: async (aheadMs) => {
        if (aheadMs !== givenAheadMs) {
          replaced = workerd;
          // From now on it judges nothing by the wrong time.
          workerd?.kill("SIGSTOP");
          givenAheadMs = aheadMs;
          await again();
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
 * Miniflare starts a workerd that has ended again, once: if that one ends while it starts, it gives up, and
 * `drover up` would stay without a control plane. So its word is asked for again and again, and where it is
 * an error the runtime is started anew. Returns what ends that.
 */
function keepRunning(
  ready: () => Promise<unknown>,
  startAgain: () => Promise<void>,
  onProblem: (text: string) => void,
): () => void {
  let asking = false;
  let over = false;
  const timer = setInterval(async () => {
    if (asking) return;
    asking = true;
    try {
      await ready().catch(() => (over ? undefined : startAgain()));
    } catch (error) {
      if (!over) onProblem(`The runtime could not be started again, and is tried again. ${String(error)}`);
    }
    asking = false;
  }, LOOK_EVERY_MS).unref();
  return () => {
    over = true;
    clearInterval(timer);
  };
}

/**
 * Runs `make` and takes away the signal listeners that it adds: Miniflare's end the process at once, machines
 * or not. Whoever starts the runtime decides what a signal means; Miniflare's listener for the exit of the
 * process stays.
 */
function keepingSignals<T>(make: () => T): T {
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
 * Ends what is left of a runtime on this state directory; to be called before another is started. After a
 * SIGKILL of `drover up` the guard needs a moment, and two runtimes would be two live copies of each object.
 */
export async function endFormerRuntime(stateDir: string): Promise<void> {
  const mark = `${MARK}=${stateDir}`;
  await endTree({ isMarked: (environment) => environment.includes(mark), isMarkedOnly: true });
}

/** For developers (CONTRIBUTING.md): who reaches this port of 127.0.0.1 can do all that Drover can. */
function inspectorPort(): number | undefined {
  const port = process.env.DROVER_INSPECTOR_PORT;
  return port === undefined ? undefined : Number(port);
}

/** What `scripts/worker-options.mjs` has written of `wrangler.toml`; paths are those from the package. */
interface BuiltOptions {
  name: string;
  vars: Record<string, string>;
  crons: string[];
  options: V4WorkerOptionsShape & { assets: { directory: string } };
}

/** The Worker as it was built, with our values for its variables. */
function readWorker({ script, options: path, port, vars }: RuntimeOptions) {
  // The build has written it.
  const built = JSON.parse(readFileSync(path, "utf8")) as BuiltOptions;
  const root = dirname(dirname(path));
  const { assets } = built.options;
  const worker = {
    ...built.options,
    rootPath: root,
    assets: { ...assets, directory: join(root, assets.directory) },
    name: built.name,
    // Not what `.dev.vars` or `.env` of the checkout say.
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
 * wrangler, Miniflare and workerd know these as environment variables only, so they are set for this process:
 * where temporary files, logs and caches go, that nothing is reported to anybody, and the guard in workerd's
 * place, whose path is returned. That it died before it had read its input is told from then on, too.
 */
function setToolEnvironment(stateDir: string): string {
  const require = createRequire(import.meta.url);
  // Miniflare's own workerd, not whichever is found from here.
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
