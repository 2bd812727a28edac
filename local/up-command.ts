import { existsSync, realpathSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { errorText } from "../src/shared/words.ts";
import { countText } from "./end-runs.ts";
import { linesToTry } from "./greeting.ts";
import { killInstancesBelow } from "./loopback/marks.ts";
import { isNodeNewEnough, runByNodeOfCheckout } from "./runtime-needs.ts";
import { DEFAULT_STATE_DIR, removeContext } from "./state/state-dir.ts";
import { type Up, type UpOptions, up } from "./up.ts";
import { UpError } from "./up-error.ts";

/** Drover's own failure, as `docker run` has it. */
const EXIT_FAILURE = 125;
/** A second Ctrl-C: 128 and the number of SIGINT. */
const EXIT_HURRIED = 130;

/** Below npx a single Ctrl-C arrives twice: from the terminal, and once more handed on by npm. */
const ONE_PRESS_MS = 500;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * `drover up`: starts, says where it listens, and stays until it is told to stop by Ctrl-C, SIGTERM or the
 * end of its terminal. Returns the exit code: 0 after everything was ended with proof, 125 if it could not
 * start or end.
 *
 * What runs is aborted first, and has ten seconds to end; what waits in the queue stays there.
 *
 * A second Ctrl-C ends it at once with 130: machines are killed without waiting for proof, the guard ends
 * workerd, and the next `drover up` on this state directory looks for what may be left.
 */
export async function upCommand(options: UpOptions): Promise<number> {
  if (!isNodeNewEnough()) {
    const code = await runByNodeOfCheckout(SIGNALS);
    if (code !== undefined) return code;
  }
  const stateDir = resolve(options.stateDir ?? DEFAULT_STATE_DIR);
  const stopAsked = firstSignal(() => {
    if (existsSync(stateDir)) killInstancesBelow(realpathSync(stateDir));
  });
  try {
    // A signal that comes while it starts waits until it has started: there is no half of it to be taken
    // back.
    const running = await up({ ...options, onProblem: (text) => say(2, `drover: ${text}`) });
    say(1, greeting(running));
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

function greeting({ url, stateDir, adopted }: Up): string {
  const machines = adopted === 1 ? "1 machine that was" : `${adopted} machines that were`;
  return [
    `Drover is up at ${url}`,
    `Its state is in ${stateDir}`,
    ...(adopted === 0 ? [] : [`It goes on with ${machines} still running.`]),
    "Try, in another terminal:",
    ...linesToTry(stateDir, process.argv[1] ?? "drover", process.env.PATH ?? "").map((line) => `  ${line}`),
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

/** Whatever does not end in time ends with its machine, and as `unknown`. */
async function endRuns(running: Up): Promise<void> {
  if (running.machines() === 0) return;
  try {
    await running.endRuns((count) => {
      const are = count === 1 ? "is" : "are";
      say(1, `${countText(count)} ${are} running, and ${are} being ended. Ctrl-C again: end all at once.`);
    });
  } catch (error) {
    say(2, `drover: Not all runs have ended properly; their machines end with them. ${errorText(error)}`);
  }
}

/** Resolves with the first signal. One that comes well after it hurries, and ends the process. */
function firstSignal(hurry: () => void): { signal: Promise<void>; forget(): void } {
  let heard = () => {};
  const signal = new Promise<void>((resolve) => {
    heard = resolve;
  });
  let first: number | undefined;
  const onSignal = () => {
    first ??= performance.now();
    if (performance.now() - first < ONE_PRESS_MS) return heard();
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

/** A terminal that is gone (SIGHUP) refuses what is said; that must not stop the stopping. */
function say(file: 1 | 2, text: string): void {
  try {
    writeSync(file, `${text}\n`);
  } catch {
    // Nobody listens any more.
  }
}
