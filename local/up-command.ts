import { writeSync } from "node:fs";
import { removeContext } from "./state-dir.ts";
import { type Up, type UpOptions, up } from "./up.ts";
import { UpError } from "./up-error.ts";

/** Drover's own failure, as `docker run` has it. */
const EXIT_FAILURE = 125;
/** A second Ctrl-C: 128 and the number of SIGINT. */
const EXIT_HURRIED = 130;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * `drover up`: starts, says where it listens, and stays until it is told to stop by Ctrl-C, SIGTERM or the end of its
 * terminal. Returns the exit code: 0 after everything was ended with proof, 125 if it could not start or end.
 *
 * A second signal ends the process at once with 130. Nothing stays for long then either: the guard ends workerd, and
 * the next `drover up` on this state directory ends the machines.
 */
export async function upCommand(options: UpOptions): Promise<number> {
  const stopAsked = firstSignal();
  try {
    // A signal that comes while it starts waits until it has started: there is no half of it to be taken back.
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

function greeting({ url, stateDir }: Up): string {
  return [
    `Drover is up at ${url}`,
    `Its state is in ${stateDir}`,
    "Try, in another terminal:  drover run -- uname -a",
    "Ctrl-C stops everything.",
  ].join("\n");
}

async function stop(running: Up): Promise<number> {
  const machines = running.machines();
  say(1, `Stopping the control plane and ${machines === 1 ? "1 machine" : `${machines} machines`} …`);
  removeContext(running.stateDir);
  await running.stop();
  say(1, "Stopped. Nothing is left running.");
  return 0;
}

/** Resolves with the first signal; the second ends the process. */
function firstSignal(): { signal: Promise<void>; forget(): void } {
  let heard = () => {};
  const signal = new Promise<void>((resolve) => {
    heard = resolve;
  });
  let count = 0;
  const onSignal = () => {
    count += 1;
    if (count > 1) process.exit(EXIT_HURRIED);
    heard();
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
