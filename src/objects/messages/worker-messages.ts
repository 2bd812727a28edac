import type { WorkerEventIn, WorkerMessage } from "../../core/worker/machine.ts";
import type { Env } from "../env.ts";
import { createInstance, destroyInstance } from "../host/cloud.ts";
import { peersOf } from "./stubs.ts";

/** Carries a message of a worker to whom it is for, and its reply back as an event. Rejects without one. */
export async function sendOfWorker(env: Env, message: WorkerMessage): Promise<WorkerEventIn> {
  const peers = peersOf(env);
  switch (message.kind) {
    case "create":
      return { type: "create_answered", answer: await createInstance(env, message.body) };
    case "destroy":
      return {
        type: "destroy_answered",
        answer: await destroyInstance(message.body.provider, message.body.instance),
      };
    case "upsert": {
      const answer = await peers.pool(message.to).upsertWorker(message.body);
      return { type: "pool_answered", sent: message.body, answer };
    }
    case "observed": {
      const answer = await peers.allocation(message.body.run).observed(message.body);
      return { type: "observed_answered", sent: message.body, answer };
    }
    case "ended": {
      const answer = await peers.allocation(message.body.run).ended(message.body);
      return { type: "ended_answered", sent: message.body, answer };
    }
  }
}
