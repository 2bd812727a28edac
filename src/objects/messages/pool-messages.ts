import type { WorkerAnswer } from "../../core/messages.ts";
import type { PoolEvent, PoolMessage } from "../../core/pool/machine.ts";
import type { Configured, PoolState } from "../../core/pool/state.ts";
import type { Env } from "../env.ts";
import { providerOf } from "../host/cloud.ts";
import type { CloudWorkerPeer } from "./peers.ts";
import { peersOf } from "./stubs.ts";

/** Carries a message of a pool to whom it is for, and its reply back as an event. Rejects without one. */
export async function sendOfPool(
  env: Env,
  message: PoolMessage,
  configured: () => Configured,
): Promise<PoolEvent> {
  const peers = peersOf(env);
  const { to, kind } = message;
  switch (kind) {
    case "list": {
      const { provider } = configured().record.config;
      return { type: "listed", answer: await providerOf(provider).list(message.tag) };
    }
    case "place":
    case "poke_run": {
      const run = peers.allocation(to);
      const answer = await (kind === "place" ? run.place(message.body) : run.poke());
      return { type: "place_answered", key: message.key, poked: kind === "poke_run", answer };
    }
    case "end_run": {
      const { submittedAt, reason, by } = message.body;
      const run = peers.allocation(to);
      const there = await run.poke();
      const isMeant = there.kind === "run" && there.run.submittedAt === submittedAt;
      if (isMeant) await run.abort({ reason, by, force: true, waitMs: 0 });
      const answer = isMeant ? await run.poke() : there;
      return { type: "end_answered", key: message.key, answer };
    }
    case "forget": {
      const answer = await peers.allocation(to).forget(message.body);
      return { type: "forget_answered", key: message.key, answer };
    }
    default: {
      const answer = await askWorker(peers.worker(to), message);
      return { type: "worker_answered", worker: to, poked: kind === "poke_worker", answer };
    }
  }
}

type ToWorker = Exclude<PoolMessage, { kind: "list" | "place" | "poke_run" | "end_run" | "forget" }>;

function askWorker(worker: CloudWorkerPeer, message: ToWorker): Promise<WorkerAnswer> {
  switch (message.kind) {
    case "create":
      return worker.create(message.body);
    case "sighting":
      return worker.sighting(message.body);
    case "drain_worker":
      return worker.retire();
    case "make_room":
      return worker.makeRoom();
    case "turn":
      return worker.turn(message.version);
    case "kill_worker":
      return worker.forceEnd(message.by);
    case "poke_worker":
      return worker.poke();
  }
}

/** How many are woken together: each that was not in memory is loaded for it. */
const WOKEN_AT_ONCE = 100;

/** Pokes each live run and worker of a pool, since no alarm of theirs can be relied on. */
export async function wakeAll({ runs, workers }: PoolState, env: Env): Promise<void> {
  const { allocation, worker } = peersOf(env);
  const pokes: (() => Promise<unknown>)[] = [
    ...[...workers.live()].map((row) => () => worker(row.worker).poke()),
    ...[...runs.live()].map((row) => () => allocation(row.run).poke()),
  ];
  for (let from = 0; from < pokes.length; from += WOKEN_AT_ONCE) {
    const some = pokes.slice(from, from + WOKEN_AT_ONCE);
    await Promise.allSettled(some.map((poke) => poke())); // whom this does not reach is asked after a lease
  }
}
