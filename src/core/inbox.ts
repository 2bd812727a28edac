import type { Envelope, Instant } from "../shared/machine.ts";
import type * as messages from "./messages.ts";

/**
 * Which messages each kind of object takes, and what it answers (messages.md#inboxes). A message is written
 * in three places: its types here, the entry in the inbox of its receiver, and `due` of its sender.
 */
export interface Inboxes {
  allocation: {
    place: [messages.Place, messages.PlaceAnswer];
    /** Nothing has been heard of it for long: it says everything again that others may have missed. */
    poke_run: [messages.RunRef, messages.PlaceAnswer];
    end_run: [messages.EndRun, messages.PlaceAnswer];
    /** The run has ended, and is not to be kept any longer. */
    forget: [messages.RunRef, messages.ForgetAnswer];
    observed: [messages.Observed, messages.ObservedAnswer];
    ended: [messages.Ended, messages.EndedAnswer];
  };
  worker: {
    create: [messages.Intent, messages.WorkerAnswer];
    sighting: [messages.Sighting, messages.WorkerAnswer];
    /**
     * No more runs, then it stops: its instance type is configured no more, its pool is deleted, or its
     * machine was not made and is not needed.
     */
    drain_worker: [messages.WorkerRef, messages.WorkerAnswer];
    /** It stands in the way of the first run in the queue: it shall propose to stop, idle or booting. */
    make_room: [messages.WorkerRef, messages.WorkerAnswer];
    turn: [messages.Turn, messages.WorkerAnswer];
    kill_worker: [messages.KillWorker, messages.WorkerAnswer];
    /** As `poke_run`. */
    poke_worker: [messages.WorkerRef, messages.WorkerAnswer];
    order: [messages.Order, messages.OrderAnswer];
  };
  pool: {
    configure: [messages.Configure, messages.ConfigureAnswer];
    run: [messages.RunUpsert, messages.PoolAnswer];
    worker: [messages.WorkerUpsert, messages.WorkerUpsertAnswer];
  };
}

/** An object that takes messages. */
export type Receiver = keyof Inboxes;
/** The kinds of messages that it takes. */
export type Kind<To extends Receiver> = keyof Inboxes[To] & string;

type Body<To extends Receiver, K extends Kind<To>> = Inboxes[To][K] extends [infer B, unknown] ? B : never;
/** What it answers, to messages of these kinds. */
export type Answer<To extends Receiver, K extends Kind<To> = Kind<To>> = Inboxes[To][K] extends [
  unknown,
  infer A,
]
  ? A
  : never;

/** A message as it travels. It is an event of its receiver. */
export type Message<To extends Receiver> = {
  [One in To]: { [K in Kind<One>]: { type: K; body: Body<One, K> } }[Kind<One>];
}[To];

/** A message as its sender owes it. */
export type Letter<To extends Receiver, K extends Kind<To> = Kind<To>> = Envelope &
  {
    [One in K]: { object: To; kind: One; body: Body<To, One> };
  }[K];

/** Any message as its sender owes it. */
export type AnyLetter = { [To in Receiver]: Letter<To> }[Receiver];

/** The answer to a message. It is an event of the sender. */
export type Answered<To extends Receiver, K extends Kind<To> = Kind<To>> = {
  [One in K]: { type: `${One}_answered`; sent: Body<To, One>; answer: Answer<To, One> };
}[K];

/** What an object does with each message, and what it answers from the state after that (rule R6). */
export type Inbox<To extends Receiver, State> = {
  [One in Kind<To>]: {
    fold(state: State, body: Body<To, One>, now: Instant): State;
    answer(state: State, body: Body<To, One>, now: Instant): Answer<To, One>;
  };
};

/** The entry of an inbox for a message. A message has the body that its type says. */
interface Entry<State> {
  fold(state: State, body: unknown, now: Instant): State;
  answer(state: State, body: unknown, now: Instant): unknown;
}

/** Whether an event of an object is a message. */
export function isMessage<To extends Receiver, State>(
  inbox: Inbox<To, State>,
  event: { type: string },
): event is Message<To> {
  return Object.hasOwn(inbox, event.type);
}

/** The state of an object after a message. */
export function foldMessage<To extends Receiver, State>(
  inbox: Inbox<To, State>,
  state: State,
  { type, body }: Message<To>,
  now: Instant,
): State {
  return (inbox[type] as Entry<State>).fold(state, body, now); // see `Entry`
}

/** What an object answers to a message, from the state after it. */
export function answerMessage<To extends Receiver, State>(
  inbox: Inbox<To, State>,
  state: State,
  { type, body }: Message<To>,
  now: Instant,
): Answer<To> {
  return (inbox[type] as Entry<State>).answer(state, body, now) as Answer<To>; // see `Entry`
}
