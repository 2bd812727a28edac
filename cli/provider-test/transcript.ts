// What is recorded of the calls to a provider?
import type {
  CreateAnswer,
  DestroyAnswer,
  ListAnswer,
  ProviderFailure,
} from "../../src/core/provider-answers.ts";
import type { CreateInstance, Instance } from "../../src/schema/provider.ts";

/** One call to a provider, with its times and its answer. */
export type Call = {
  /** The number of the request: all tries of one request have the same number. */
  request: number;
  /** On a clock that does not jump, in milliseconds. */
  beganAt: number;
  endedAt: number;
} & (
  | { call: "list"; tag: string; by: "owner" | "stranger"; answer: ListAnswer }
  | {
      call: "create";
      /**
       * The call does not ask for the test's machine. `request`: it has its token, and is another request
       * otherwise. `type`: it has a token of its own, and asks for a type that does not exist.
       */
      other?: "request" | "type";
      answer: CreateAnswer;
    }
  | { call: "destroy"; instance: string; answer: DestroyAnswer }
);
export type CallOf<Kind extends Call["call"]> = Extract<Call, { call: Kind }>;

/** How long the test waits, in milliseconds. */
export interface Patience {
  /** Between two listings. */
  lookMs: number;
  /** Until a new machine is listed. */
  listedMs: number;
  /** Until a new machine runs. */
  bootMs: number;
  /** Until a destroy call has an effect, at least the state `stopping`. */
  heedMs: number;
  /** Until a machine that is being destroyed has ended. */
  endMs: number;
}

/** All calls to a provider and their answers: the only input of the checks. */
export interface Transcript {
  calls: Call[];
  /** The requested machine; null if no machine should be created. */
  wanted: CreateInstance | null;
  /** The tag of the requested machine, as `name:value`. */
  ownTag: string;
  /** A tag that no machine has. */
  unusedTag: string;
  /** An id that no machine has. */
  missingId: string;
  /** How soon a listing must show a change (`listConsistencyMs` of the capabilities). */
  consistencyMs: number;
  patience: Patience;
}

/** A listing that was answered. */
export type Listing = CallOf<"list"> & { answer: { kind: "listed" } };

/**
 * The answered listings that were requested with the right secret. With `tag`, only the listings of this tag.
 */
export function listingsOf({ calls }: Transcript, tag?: string): Listing[] {
  return calls.filter(
    (call): call is Listing =>
      call.call === "list" &&
      call.by === "owner" &&
      call.answer.kind === "listed" &&
      (tag === undefined || call.tag === tag),
  );
}

/** The calls of one kind, in the order of their answers. */
export function callsOf<Kind extends Call["call"]>({ calls }: Transcript, kind: Kind): CallOf<Kind>[] {
  return calls.filter((call): call is CallOf<Kind> => call.call === kind);
}

/** The machines that create calls returned, one for each answer. */
export function createdBy(transcript: Transcript): Instance[] {
  return callsOf(transcript, "create").flatMap(({ answer }) =>
    answer.kind === "created" ? [answer.instance] : [],
  );
}

/** The first machine of the test, from a create call's answer, or from a listing if the answer was lost. */
export function madeMachine(transcript: Transcript): { instance: Instance; at: number } | undefined {
  for (const call of transcript.calls) {
    const { endedAt: at } = call;
    if (call.call === "create" && call.answer.kind === "created" && call.other !== "type")
      return { instance: call.answer.instance, at };
    const shown = call.call === "list" ? shownBy(call, transcript.wanted?.name) : [];
    if (shown[0] !== undefined) return { instance: shown[0], at };
  }
  return undefined;
}

function shownBy({ answer }: CallOf<"list">, name: string | undefined): Instance[] {
  return answer.kind === "listed" ? answer.items.filter((instance) => instance.name === name) : [];
}

/** Whether a refusal is temporary, so that the call is repeated. */
export function isPassing({ class: cls }: ProviderFailure): boolean {
  return cls === "rate_limit" || cls === "temporary";
}

/** Whether a machine may still run something. */
export function isAlive({ state }: Instance): boolean {
  return state !== "terminated";
}
