import { type ControlPlane, Host } from "../../sim/host.ts";
import { World } from "../../sim/world.ts";
import { settled, sign, TestHost } from "./host.ts";
import { objects } from "./world.ts";

const TICK_MS = 5;

/** A machine that carries out its orders in play. */
export interface PlayedHost {
  /**
   * Kills its agent, and starts it again some seconds later. Returns false, and does nothing, while an
   * attempt is being started, which the kill would lose.
   */
  restartAgent(): boolean;
  /** To be called at the end of a test, so that nothing of the host goes on. */
  end(): void;
}

/**
 * The simulator's host in front of real objects: the agent's own decisions, and its fake driver. Its clock
 * follows the clock of this process, and nothing fails. It works by webhook alone.
 */
export function startPlayedHost(worker: string, code: string): PlayedHost {
  const world = new World(1, []);
  const calls = new TestHost(() => objects.worker(worker));
  const report: ControlPlane["report"] = async (said, waitMs) => {
    const call = sign(JSON.stringify(said), calls.identity);
    return objects
      .worker(worker)
      .report(call, waitMs)
      .then((answered) => settled(answered))
      .catch((error: { code: string }) => {
        if (error.code === "stale_incarnation") return "stale" as const;
        throw error;
      });
  };
  const withoutSocket = async (setup: ReturnType<TestHost["enroll"]>) => {
    const { socketUrl: _, ...rest } = await setup;
    return rest;
  };
  const plane = {
    enroll: () => withoutSocket(calls.enroll(code)),
    join: () => withoutSocket(calls.join()),
    report,
    connect: () => Promise.reject(new Error("no socket was offered")),
    secrets: () => undefined,
  };
  const host = new Host(world, worker, plane, {
    started: () => undefined,
    died: () => undefined,
    signaled: () => undefined,
  });
  const ahead = world.now - Date.now();
  const clock = setInterval(() => world.time.until(Date.now() + ahead), TICK_MS);
  void host.startAgent();
  return {
    restartAgent: () => {
      if (host.isStarting) return false;
      host.restartAgent();
      return true;
    },
    end: () => {
      clearInterval(clock);
      host.die("the test is over");
    },
  };
}
