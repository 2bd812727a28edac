// What does `drover up` print, which signals end it, and with which exit code?
import { existsSync, realpathSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { errorText } from "../src/shared/words.ts";
import { countText } from "./end-runs.ts";
import { withFakeCloud } from "./fake-cloud.ts";
import type { FakeCloudName } from "./fake-clouds.ts";
import { linesToTry } from "./greeting.ts";
import { killInstancesBelow } from "./loopback/marks.ts";
import { DEFAULT_STATE_DIR, removeContext } from "./state/state-dir.ts";
import { type Up, type UpOptions, up } from "./up.ts";
import { UpError } from "./up-error.ts";

/** Drover itself has failed: the same exit code as for `docker run`. */
const EXIT_FAILURE = 125;
/** A second Ctrl-C: 128 and the number of SIGINT. */
const EXIT_HURRIED = 130;

/** Under npx a single Ctrl-C arrives twice: from the terminal, and again from npm. */
const ONE_PRESS_MS = 500;

/** The options of `drover up` that are flags of the same name. */
export type UpFlags = Pick<
  UpOptions,
  "port" | "fresh" | "machines" | "vcpus" | "memory" | "allowLocalWebhooks" | "allowLocalIssuers"
> & {
  /** A second pool, on the fake of a cloud. */
  cloud?: FakeCloudName;
};

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * `drover up`: starts, prints its address, and stays until Ctrl-C, SIGTERM or the end of its terminal.
 * Returns the exit code: 0 if everything has verifiably ended, 125 if it could not start or end.
 *
 * Running commands are aborted first, and after seven seconds killed. Queued runs stay queued.
 *
 * A second Ctrl-C exits at once with 130: machines are killed without waiting for proof, the guard ends
 * workerd, and the next `drover up` in this state directory looks for leftovers.
 */
export async function upCommand(options: UpOptions & { cloud?: FakeCloudName }): Promise<number> {
  const stateDir = resolve(options.stateDir ?? DEFAULT_STATE_DIR);
  const stopAsked = firstSignal(() => {
    if (existsSync(stateDir)) killInstancesBelow(realpathSync(stateDir));
  });
  try {
    // A signal during the start waits until the start is over: a start in progress cannot be undone.
    const onProblem = (text: string) => say(2, `drover: ${text}`);
    const { cloud } = options;
    const alone = await up({ ...options, onProblem });
    const running = cloud === undefined ? alone : await withFakeCloud(alone, cloud, onProblem);
    say(1, greeting(running, cloud));
    await stopAsked.signal;
    return await stop(running);
  } catch (error) {
    if (!(error instanceof UpError)) throw error;
    say(2, `drover: ${error.message}`);
    return EXIT_FAILURE;
  } finally {
    stopAsked.forget();
  }
}

function greeting({ url, stateDir, adopted }: Up, fake: string | undefined): string {
  const machines = adopted === 1 ? "1 machine that was" : `${adopted} machines that were`;
  return [
    `Drover is up at ${url}`,
    `Its page is ${url}/ui; \`drover ui\` signs you in.`,
    `Its state is in ${stateDir}`,
    ...(adopted === 0 ? [] : [`It continues with ${machines} still running.`]),
    "Try, in another terminal:",
    ...linesToTry(stateDir, process.argv[1] ?? "drover", process.env.PATH ?? "").map((line) => `  ${line}`),
    ...(fake === undefined ? [] : [`  drover run --pool ${fake} -- uname -a`]),
    "Ctrl-C stops everything.",
  ].join("\n");
}

async function stop(running: Up): Promise<number> {
  removeContext(running.stateDir);
  await endRuns(running);
  const machines = running.machines();
  say(1, `Stopping the control plane and ${machines === 1 ? "1 machine" : `${machines} machines`} …`);
  await running.stop();
  say(1, "Stopped. Nothing is left running.");
  return 0;
}

/** Ends the runs. A run that does not end in time ends with its machine, as `unknown`. */
async function endRuns(running: Up): Promise<void> {
  if (running.machines() === 0) return;
  try {
    await running.endRuns((count) => {
      const are = count === 1 ? "is" : "are";
      say(1, `${countText(count)} ${are} running. Aborting … Press Ctrl-C again to end everything at once.`);
    });
  } catch (error) {
    say(2, `drover: Some runs did not end in time; they end with their machines. ${errorText(error)}`);
  }
}

/**
 * Resolves at the first signal. A later signal calls `hurry` and exits, unless it is the same press of
 * Ctrl-C.
 */
function firstSignal(hurry: () => void): { signal: Promise<void>; forget(): void } {
  let resolveFirst = () => {};
  const signal = new Promise<void>((resolve) => {
    resolveFirst = resolve;
  });
  let first: number | undefined;
  const onSignal = () => {
    first ??= performance.now();
    if (performance.now() - first < ONE_PRESS_MS) return resolveFirst();
    hurry();
    process.exit(EXIT_HURRIED);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    signal,
    forget: () => {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}

/** Prints a line. A terminal that is gone (SIGHUP) must not keep `drover up` from ending. */
function say(file: 1 | 2, text: string): void {
  try {
    writeSync(file, `${text}\n`);
  } catch {
    // The terminal is gone.
  }
}
