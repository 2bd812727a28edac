import type { AllocationEvent, AllocationMessage } from "../../core/allocation/machine.ts";
import type { Env } from "../env.ts";
import { peersOf } from "./stubs.ts";

/**
 * Carries a message of a run to whom it is for, and its reply back as an event. Rejects without one. Its logs
 * are its own: deleting them takes as long as a call to others, and can fail like one.
 */
export async function sendOfAllocation(
  env: Env,
  message: AllocationMessage,
  clearLogs: () => Promise<void>,
): Promise<AllocationEvent> {
  const peers = peersOf(env);
  switch (message.kind) {
    case "upsert": {
      const answer = await peers.pool(message.to).upsertRun(message.body);
      return { type: "pool_answered", version: message.body.version, answer };
    }
    case "order": {
      const answer = await peers.worker(message.to).order(message.body);
      return { type: "order_answered", order: message.body, answer };
    }
    case "clear_logs":
      await clearLogs();
      return { type: "logs_cleared" };
  }
}
