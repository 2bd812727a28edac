// Which port is free?
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { errorCode } from "../posix/errors.ts";

/**
 * The range of chosen ports. It is below the range that Linux gives to outgoing connections (32768 and up),
 * so that no connection takes Drover's port between two starts.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 29_999;
const TRIES = 200;

/** Why nobody can listen on a port of 127.0.0.1 now (`EADDRINUSE`, `EACCES` …); undefined if it is free. */
export function portProblem(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error) => resolve(errorCode(error) ?? error.message));
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
}

/** A port of 127.0.0.1 that is free now and not in `except`. */
export async function choosePort(except: number[] = []): Promise<number> {
  for (let n = 0; n < TRIES; n += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (!except.includes(port) && (await portProblem(port)) === undefined) return port;
  }
  throw new Error(`No free port found between ${FIRST_PORT} and ${LAST_PORT} on 127.0.0.1.`);
}
