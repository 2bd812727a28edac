import type {
  Configure,
  ConfigureAnswer,
  Ended,
  EndedAnswer,
  Forget,
  ForgetAnswer,
  Intent,
  Observed,
  ObservedAnswer,
  Order,
  OrderAnswer,
  Place,
  PlaceAnswer,
  PoolAnswer,
  RunUpsert,
  Sighting,
  WorkerAnswer,
  WorkerUpsert,
  WorkerUpsertAnswer,
} from "../../core/messages.ts";
import type { RunUsage } from "../../core/worker/read/usage.ts";
import type { Why } from "../../schema/why.ts";
import type { AbortCall } from "../rpc.ts";

/** What the objects may ask of each other: the messages of `core/messages.ts`, a method for each. */
export interface AllocationPeer {
  place(place: Place): Promise<PlaceAnswer>;
  observed(observed: Observed): Promise<ObservedAnswer>;
  ended(ended: Ended): Promise<EndedAnswer>;
  forget(forget: Forget): Promise<ForgetAnswer>;
  abort(request: AbortCall): Promise<unknown>;
  poke(): Promise<PlaceAnswer>;
}

export interface CloudWorkerPeer {
  create(intent: Intent): Promise<WorkerAnswer>;
  sighting(sighting: Sighting): Promise<WorkerAnswer>;
  order(order: Order): Promise<OrderAnswer>;
  /** It takes no more runs, and stops when it has none: its instance type is configured no more. */
  retire(): Promise<WorkerAnswer>;
  /** It stands in the way of a run: it proposes to stop. */
  makeRoom(): Promise<WorkerAnswer>;
  /** It is its turn to call the provider, as that version of it wanted to. */
  turn(version: number): Promise<WorkerAnswer>;
  /** Its pool is deleted by force: so is its end. */
  forceEnd(by: string): Promise<WorkerAnswer>;
  poke(): Promise<WorkerAnswer>;
  why(run?: string): Promise<Why>;
  /** What a run uses here; null if nothing is known. It waits for a moment if the host must be asked. */
  usage(run: string): Promise<RunUsage | null>;
}

export interface PoolPeer {
  configure(configure: Configure): Promise<ConfigureAnswer>;
  upsertRun(upsert: RunUpsert): Promise<PoolAnswer>;
  upsertWorker(upsert: WorkerUpsert): Promise<WorkerUpsertAnswer>;
  /** `all`: wakes all that lives here, too, since its alarms go by another time. */
  poke(all: boolean): Promise<void>;
  /** Why a run of this pool waits; null if it does not. */
  explain(run: string): Promise<Why | null>;
}
