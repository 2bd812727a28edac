// How the demo waits and checks, with a clear message for each failure.
import { readdirSync, readFileSync } from "node:fs";
import { createConnection } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const LOOK_EVERY_MS = 100;

/** Something that the demo promises did not happen. */
export class Failure extends Error {
  name = "Failure";
}

/** Fails with `text` unless it holds. */
export function check(holds, text) {
  if (!holds) throw new Failure(text);
}

/** Waits until `look` answers with something true, and returns that. */
export async function until(what, withinMs, look) {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    check(performance.now() < deadline, `In ${withinMs / 1_000} s it did not happen that ${what}.`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** Ids of running processes that have the text in the environment they were started with. */
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

/** Sends SIGKILL to all of these. */
export function killProcessesWith(text) {
  for (const pid of processesWith(text)) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It ended in between.
    }
  }
}

/** Whether somebody listens on a port of 127.0.0.1. */
export function isOpen(port) {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
