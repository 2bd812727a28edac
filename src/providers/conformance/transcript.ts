import type { CreateAnswer, DestroyAnswer, ListAnswer, ProviderFailure } from "../../core/messages.ts";
import type { CreateInstance, Instance } from "../../schema/provider.ts";

/** One call to a provider, when it was made, and what came of it. */
export type Call = {
  /** Tries of one wish share it: a call that is put off is made again. */
  wish: number;
  /** On a clock that does not jump, in milliseconds. */
  beganAt: number;
  endedAt: number;
} & (
  | { call: "list"; tag: string; by: "owner" | "stranger"; answer: ListAnswer }
  | { call: "create"; answer: CreateAnswer }
  | { call: "destroy"; instance: string; answer: DestroyAnswer }
);
export type CallOf<Kind extends Call["call"]> = Extract<Call, { call: Kind }>;

/** How long things may take, in milliseconds. */
export interface Patience {
  /** Between two looks. */
  lookMs: number;
  /** Until a machine that was created is listed. */
  listedMs: number;
  /** Until it runs. */
  bootMs: number;
  /** Until a destroy call shows, at the least as `stopping`. */
  heedMs: number;
  /** Until what is being destroyed has ended. */
  endMs: number;
}

/** All that was asked of a provider and what it answered: what is judged, and nothing else. */
export interface Transcript {
  calls: Call[];
  /** The machine that was wished for; null: nothing was to be created. */
  wanted: CreateInstance | null;
  /** `name:value` of the tag by which that machine is found. */
  ownTag: string;
  /** A tag that no machine has. */
  nobodysTag: string;
  /** What no machine is called. */
  nobody: string;
  /** After this a listing must show what was done (`listConsistencyMs` of the capabilities). */
  consistencyMs: number;
  patience: Patience;
}

/** A listing that was answered. */
export type Listing = CallOf<"list"> & { answer: { kind: "listed" } };

/** The listings of the owner that were answered: those of one tag, or all of them. */
export function listingsOf({ calls }: Transcript, tag?: string): Listing[] {
  return calls.filter(
    (call): call is Listing =>
      call.call === "list" &&
      call.by === "owner" &&
      call.answer.kind === "listed" &&
      (tag === undefined || call.tag === tag),
  );
}

/** The calls of one kind, in the order in which they were answered. */
export function callsOf<Kind extends Call["call"]>({ calls }: Transcript, kind: Kind): CallOf<Kind>[] {
  return calls.filter((call): call is CallOf<Kind> => call.call === kind);
}

/** The machine that was made first: as the create call says it, or as a listing shows it if that was lost. */
export function madeMachine(transcript: Transcript): { instance: Instance; at: number } | undefined {
  for (const call of transcript.calls) {
    const { endedAt: at } = call;
    if (call.call === "create" && call.answer.kind === "created")
      return { instance: call.answer.instance, at };
    const shown = call.call === "list" ? shownBy(call, transcript.wanted?.name) : [];
    if (shown[0] !== undefined) return { instance: shown[0], at };
  }
  return undefined;
}

function shownBy({ answer }: CallOf<"list">, name: string | undefined): Instance[] {
  return answer.kind === "listed" ? answer.items.filter((instance) => instance.name === name) : [];
}

/** Whether a refusal is over at some time: the same call is then made again. */
export function isPassing({ class: cls }: ProviderFailure): boolean {
  return cls === "rate_limit" || cls === "temporary";
}

/** Whether a machine may still do something. */
export function isAlive({ state }: Instance): boolean {
  return state !== "terminated";
}
