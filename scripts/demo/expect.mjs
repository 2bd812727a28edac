// How does the demo wait and check, with a clear message for each failure?
import { readdirSync, readFileSync } from "node:fs";
import { createConnection } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const LOOK_EVERY_MS = 100;

/** A failed check of the demo. */
export class Failure extends Error {
  name = "Failure";
}

/** Fails with `text` unless `holds`. */
export function check(holds, text) {
  if (!holds) throw new Failure(text);
}

/** Waits until `look` returns a truthy value, and returns that value. */
export async function until(what, withinMs, look) {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    check(performance.now() < deadline, `Timed out after ${withinMs / 1_000} s, waiting until ${what}.`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** The ids of running processes whose initial environment contains the text. */
export function processesWith(text) {
  return readdirSync("/proc").filter((pid) => {
    try {
      if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
      const isZombie = /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
      return !isZombie && readFileSync(`/proc/${pid}/environ`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
}

/** Sends SIGKILL to the processes whose initial environment contains the text. */
export function killProcessesWith(text) {
  for (const pid of processesWith(text)) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // The process has ended in between.
    }
  }
}

/** Whether a program listens on a port of 127.0.0.1. */
export function isOpen(port) {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
