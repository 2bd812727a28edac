// What is cleaned up after a part of a deployment, also if a signal ends it (deploy.md#signals)?

/** The signals that end a command. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Carries out `act`, and then `clean`, however `act` ends. If a signal is to end this process meanwhile,
 * `clean` is carried out first, and nothing follows on `act`. Calls may be nested: each cleans, and the
 * process ends after the last. `clean` may be called twice.
 */
export async function withCleanup<Result>(
  clean: () => void | Promise<void>,
  act: () => Promise<Result>,
): Promise<Result> {
  let ending: Promise<void> | undefined;
  const forget = () => {
    for (const one of SIGNALS) process.removeListener(one, onSignal);
  };
  const end = async (signal: NodeJS.Signals) => {
    try {
      await clean();
    } finally {
      forget();
      process.kill(process.pid, signal);
    }
  };
  const onSignal = (signal: NodeJS.Signals) => {
    ending ??= end(signal);
  };
  for (const one of SIGNALS) process.on(one, onSignal);
  try {
    return await act();
  } finally {
    if (ending !== undefined) await new Promise(() => undefined); // the signal ends this process
    try {
      await clean();
    } finally {
      forget();
    }
  }
}
