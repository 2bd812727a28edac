// How does `drover up` start, run and end?
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "../client/client.ts";
import type { PoolConfig } from "../client/types.ts";
import { freeBelow, fullDiskText, isFull } from "../disk/free.ts";
import { errorCode } from "../posix/errors.ts";
import { formatDuration } from "../src/shared/duration.ts";
import { beat } from "./beat.ts";
import { DroverClock } from "./clock.ts";
import { defaultPool, type PoolChoices, settleDefaultPool } from "./default-pool.ts";
import { endRuns } from "./end-runs.ts";
import { type CloudOptions, LoopbackCloud } from "./loopback/cloud.ts";
import { serveCloud } from "./loopback/server.ts";
import { type Capacity, capacityHere, overcommitText, sizesOf } from "./pool-size.ts";
import { portProblem } from "./ports.ts";
import { endFormerRuntime, startRuntime } from "./runtime/runtime.ts";
import { reportMachineDeath, runtimeReporter } from "./runtime/watch-runtime.ts";
import { isInternal, openWorkerLog } from "./runtime/worker-log.ts";
import { checkRuntimeNeeds } from "./runtime-needs.ts";
import { pathIn } from "./state/names.ts";
import { strangerAbove } from "./state/own-state.ts";
import { keepRoom, makeRoom } from "./state/reserve.ts";
import {
  DEFAULT_STATE_DIR,
  forgetIdentity,
  hasIdentity,
  type Identity,
  identityOf,
  lockStateDir,
  openStateDir,
  prepareFolders,
  readPoolNote,
  removeContext,
  wipe,
  writeContext,
  writePoolNote,
} from "./state/state-dir.ts";
import { makeUndo, type Undo } from "./undo.ts";
import { PortTaken, UpError } from "./up-error.ts";

export interface UpOptions extends PoolChoices {
  /** The port of the control plane on 127.0.0.1. Default: the previous port, else any free port. */
  port?: number;
  /** Default: `.drover` in the current directory. */
  stateDir?: string;
  /** Delete everything in the state directory first. */
  fresh?: boolean;
  /** Called with a sentence about each problem while Drover runs. */
  onProblem?(text: string): void;
  /** Webhooks may go to loopback and private addresses (webhooks.md#addresses). */
  allowLocalWebhooks?: boolean;
  /** Issuers of tokens may have such addresses (oidc.md#keys). */
  allowLocalIssuers?: boolean;
  /**
   * The built Worker, and its options, which are built from `wrangler.toml`. Default: those of this package.
   */
  worker?: { script: string; options: string };
}

/** A control plane with its cloud, running on this machine. */
export interface Up {
  url: string;
  token: string;
  /** The real path of the state directory. */
  stateDir: string;
  /** Where the loopback cloud listens. */
  cloudUrl: string;
  /** How many machines were taken over from a `drover up` that was killed. */
  adopted: number;
  /** How many machines there are now. */
  machines(): number;
  /** Boots no more machines, and aborts all runs on machines. Rejects if that fails or takes too long. */
  endRuns(onRuns: (count: number) => void): Promise<void>;
  /** Ends the control plane, then all machines, with proof, and unlocks the state directory. */
  stop(): Promise<void>;
}

/**
 * Starts Drover on this machine: the loopback cloud, the Worker with its objects in workerd, the pool
 * `default`, and `context.json`, by which commands find the control plane. If the start fails, throws an
 * `UpError` that says why, and leaves nothing running that it has started.
 */
export async function up(options: UpOptions = {}): Promise<Up> {
  checkRuntimeNeeds();
  const worker = options.worker ?? builtWorker();
  const dir = resolve(options.stateDir ?? DEFAULT_STATE_DIR);
  for (let tries = 1; ; tries += 1) {
    const started = await tryUp(dir, { ...options, worker });
    if (!("taken" in started)) return started;
    if (tries === PORT_TRIES) throw started.taken;
  }
}

/** How often ports are chosen if other programs keep taking those that were just chosen. */
const PORT_TRIES = 5;

/** Starts once. `taken`: another program has taken a port that this start had chosen, and nothing is left. */
async function tryUp(
  dir: string,
  options: Omit<ResolvedOptions, "stateDir">,
): Promise<Up | { taken: unknown }> {
  const undo = makeUndo();
  let isFirst = false;
  try {
    makeRoom(dir);
    const stateDir = openStateDir(dir, options.fresh);
    undo.add(lockStateDir(stateDir));
    isFirst = options.port === undefined && !hasIdentity(stateDir);
    return await start({ ...options, stateDir }, undo);
  } catch (error) {
    const free = freeBelow(dir);
    const isRace = isFirst && isPortTaken(error);
    if (isRace) forgetIdentity(dir);
    await undo.run();
    if (free !== undefined && isFull(free)) throw new UpError(fullDiskText(dir, free));
    if (isRace) return { taken: error };
    throw error;
  }
}

/** Whether a start has failed because another program listens on one of its ports. */
function isPortTaken(error: unknown): boolean {
  return error instanceof PortTaken || ["EADDRINUSE", "ERR_ADDRESS_IN_USE"].includes(errorCode(error) ?? "");
}

type ResolvedOptions = UpOptions & { worker: { script: string; options: string }; stateDir: string };

async function start(options: ResolvedOptions, undo: Undo): Promise<Up> {
  const { stateDir, worker } = options;
  const onProblem = options.onProblem ?? (() => {});
  const here = capacityHere(stateDir);
  const sizes = sizesOf(options, here);
  const stranger = strangerAbove(stateDir);
  if (stranger !== undefined) onProblem(strangerText(stateDir, stranger));
  await endFormerRuntime(stateDir);
  let client: Client | undefined;
  const ended = new AbortController();
  const cloud = await openCloud(options, {
    onProblem,
    onDeath: (machine) => void (client && reportMachineDeath(client, machine, onProblem)),
  });
  prepareFolders(stateDir);
  const adopted = cloud.living().length;
  const room = keepRoom({
    dir: stateDir,
    onFull: onProblem,
    onRoom: () => onProblem(`${stateDir} has free space again: Drover continues.`),
  });
  undo.add(room.stop);
  // A failed start must not end machines that ran before: the next start adopts them.
  let endsMachines = adopted === 0;
  undo.add(() => (endsMachines ? cloud.endAll() : cloud.detach()));
  const identity = await identityOf(stateDir, options.port, adopted);
  await portsAreFree(identity);
  const { port, cloudPort, token, providerSecret } = identity;
  const server = await serveCloud({ cloud, port: cloudPort, secret: providerSecret });
  undo.add(() => {
    server.close();
    server.closeAllConnections();
  });
  const log = openWorkerLog(pathIn(stateDir, "worker.log"));
  undo.add(() => log.close());
  undo.add(beat(stateDir, (ms) => log.write("info", `Nothing ran here for ${Math.round(ms / 1_000)} s.`)));
  const url = `http://127.0.0.1:${port}`;
  const ours = createClient({ url, token, userAgent: "drover-up" });
  const clock = new DroverClock(stateDir);
  const runtime = await startRuntime({
    ...worker,
    stateDir,
    port,
    vars: varsOf(identity, url),
    ...permissionsOf(options),
    aheadMs: clock.aheadMs(),
    onLog(level, text) {
      log.write(level, text);
      // While the disk is full, `keepRoom` has reported that already.
      if (level === "error" && !isInternal(text) && !room.isFull()) onProblem(text);
    },
    onDeath: runtimeReporter(ours, onProblem, ended.signal),
  });
  undo.add(() => runtime.dispose());
  undo.add(() => ended.abort());
  undo.add(
    clock.watch({
      wake: runtime.clockWasSet,
      confirm: runtime.clockIs,
      onSet(byMs, aheadMs) {
        log.write("warn", clockText(byMs, aheadMs));
        onProblem(clockText(byMs, aheadMs));
      },
      onFailure: (error) =>
        log.write("error", `Not all objects could be woken after the clock was set. ${String(error)}`),
    }),
  );
  const cloudUrl = `http://127.0.0.1:${cloudPort}`;
  const config = defaultPool({ url: cloudUrl, secret: providerSecret }, sizes, options.idle);
  await putPool(ours, config, options, { here, living: cloud.living().length });
  writeContext(stateDir, { url, token });
  undo.add(() => removeContext(stateDir));
  endsMachines = true;
  client = ours;
  const machines = () => cloud.living().length;
  const endAllRuns = (onRuns: (count: number) => void) => {
    client = undefined;
    cloud.close();
    return endRuns({ client: ours, machines: new Set(cloud.living()), onRuns });
  };
  return { url, token, stateDir, cloudUrl, adopted, machines, endRuns: endAllRuns, stop: undo.run };
}

/** Which of those who are named by users may be on local addresses. */
function permissionsOf({ allowLocalWebhooks = false, allowLocalIssuers = false }: UpOptions) {
  return { allowLocalWebhooks, allowLocalIssuers };
}

/** What the Worker gets as its secrets and settings. */
function varsOf({ token, signingKey, wrappingKey }: Identity, url: string): Record<string, string> {
  return {
    DROVER_ADMIN_TOKEN: token,
    DROVER_SIGNING_KEY: signingKey,
    DROVER_KEK_1: wrappingKey,
    DROVER_URL: url,
  };
}

/** Says that the clock was set, and how Drover's time differs from it now. */
function clockText(byMs: number, aheadMs: number): string {
  const amount = (ms: number) => formatDuration(Math.round(Math.abs(ms) / 1_000) * 1_000);
  const how = `the clock of this machine was set ${byMs < 0 ? "back" : "forward"} by ${amount(byMs)}`;
  const where = `${amount(aheadMs)} ${aheadMs < 0 ? "behind" : "ahead of"} the clock`;
  const since =
    aheadMs === 0 ? "equals the clock again" : `continues as before, ${where} until the machine is rebooted`;
  return `${how}: the control plane was restarted. Drover's time ${since}.`;
}

function strangerText(stateDir: string, stranger: string): string {
  return (
    `${stranger} can replace ${stateDir}, and so run commands as you. ` +
    "If that is not you, choose another directory with --state."
  );
}

const POOL_STAYS =
  "The pool `default` has been changed with `drover apply`, so the flags for its size are ignored. " +
  "Change it with `drover apply`, or start with --fresh.";

const SIZE_WAITS =
  "Machines of an earlier `drover up` still run with another size. The pool keeps that size, so that this " +
  "computer is not counted twice: start `drover up` again once they have ended, or now with --fresh.";

/** Puts the pool `default`, and says what there is to say of its size (loopback.md#size). */
async function putPool(
  client: Client,
  config: PoolConfig,
  options: ResolvedOptions,
  { here, living }: { here: Capacity; living: number },
): Promise<void> {
  const { stateDir, onProblem = () => {} } = options;
  const settled = await settleDefaultPool(client, config, { last: readPoolNote(stateDir), living });
  if (settled === undefined) {
    if (isSized(options)) onProblem(POOL_STAYS);
    return;
  }
  writePoolNote(stateDir, settled.shown);
  const remark = settled.isLater ? SIZE_WAITS : overcommitText(config, here);
  if (remark !== undefined) onProblem(remark);
}

/** Whether a flag sets the size of the pool. */
function isSized({ machines, vcpus, memory }: PoolChoices): boolean {
  return machines !== undefined || vcpus !== undefined || memory !== undefined;
}

/** Opens the cloud of the state directory, and takes over the machines of a `drover up` that was killed. */
async function openCloud(
  { stateDir, fresh }: ResolvedOptions,
  listeners: Omit<CloudOptions, "dir">,
): Promise<LoopbackCloud> {
  const former = new LoopbackCloud({ dir: stateDir, ...listeners });
  if (fresh !== true) {
    await former.adopt();
    return former;
  }
  await former.endAll();
  wipe(stateDir);
  return new LoopbackCloud({ dir: stateDir, ...listeners });
}

async function portsAreFree({ port, cloudPort }: Identity): Promise<void> {
  const problem = await portProblem(port);
  if (problem === "EADDRINUSE") {
    throw new PortTaken(
      `Port ${port} of 127.0.0.1 is in use by another program. ` +
        "Stop that program, or choose another port with --port.",
    );
  }
  if (problem !== undefined) {
    throw new UpError(`Port ${port} of 127.0.0.1 cannot be used (${problem}). Choose another with --port.`);
  }
  const cloudProblem = await portProblem(cloudPort);
  if (cloudProblem === undefined) return;
  const Kind = cloudProblem === "EADDRINUSE" ? PortTaken : UpError;
  throw new Kind(
    `Port ${cloudPort} of 127.0.0.1, which the local cloud had before, cannot be used (${cloudProblem}). ` +
      "Stop the program that uses it, or start over with --fresh.",
  );
}

/** Both this source and the bundle in `dist` are one directory below the package's root. */
function builtWorker(): { script: string; options: string } {
  const script = fileURLToPath(new URL("../dist/worker.js", import.meta.url));
  const options = fileURLToPath(new URL("../dist/worker-options.json", import.meta.url));
  const missing = [script, options].find((path) => !existsSync(path));
  if (missing === undefined) return { script, options };
  throw new UpError(
    `Drover has not been built, or only by an earlier version: ${missing} is missing. ` +
      "Run `npm run build` in its directory.",
  );
}
