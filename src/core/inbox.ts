// Which messages does each kind of object take, and what does it answer (messages.md#inboxes)? A message is
// defined in three places: its types here, the entry in its receiver's inbox, and `due` of its sender.
import type { Envelope, Instant } from "../shared/machine.ts";
import type * as messages from "./messages.ts";
import type * as webhooks from "./webhook/messages.ts";

/** The messages by receiver: [body, answer]. */
export interface Inboxes {
  allocation: {
    place: [messages.Place, messages.PlaceAnswer];
    /** Sent after a long silence: the allocation repeats everything that others may have missed. */
    poke_run: [messages.RunRef, messages.PlaceAnswer];
    end_run: [messages.EndRun, messages.PlaceAnswer];
    /** The run ended and its retention is over. */
    forget: [messages.RunRef, messages.ForgetAnswer];
    /** From a run that starts only after this one has ended well (api.md#after). */
    await_end: [messages.AwaitEnd, messages.AwaitAnswer];
    run_ended: [messages.RunEnded, messages.EndedAnswer];
    /** An array has ended that the run awaits, or can no longer end as the run needs (pool.md#array-ends). */
    array_ended: [messages.ArrayEnded, messages.PlaceAnswer];
    observed: [messages.Observed, messages.ObservedAnswer];
    ended: [messages.Ended, messages.EndedAnswer];
  };
  worker: {
    create: [messages.Intent, messages.WorkerAnswer];
    sighting: [messages.Sighting, messages.WorkerAnswer];
    /**
     * The worker must take no more runs, and then stop: its instance type or pool was deleted, or its machine
     * was not made yet and is no longer needed.
     */
    drain_worker: [messages.WorkerRef, messages.WorkerAnswer];
    /** The worker blocks the first run in the queue: it must propose to stop once it is idle or booting. */
    make_room: [messages.WorkerRef, messages.WorkerAnswer];
    turn: [messages.Turn, messages.WorkerAnswer];
    kill_worker: [messages.KillWorker, messages.WorkerAnswer];
    /** Like `poke_run`. */
    poke_worker: [messages.WorkerRef, messages.WorkerAnswer];
    order: [messages.Order, messages.OrderAnswer];
  };
  pool: {
    configure: [messages.Configure, messages.ConfigureAnswer];
    run: [messages.RunUpsert, messages.PoolAnswer];
    worker: [messages.WorkerUpsert, messages.WorkerUpsertAnswer];
    /** An endpoint of webhooks reads what has changed, and is told of news from then on. */
    follow: [webhooks.Follow, webhooks.FollowAnswer];
  };
  webhook: {
    configure_webhook: [webhooks.ConfigureWebhook, webhooks.ConfigureWebhookAnswer];
    news: [webhooks.News, webhooks.NewsAnswer];
  };
}

/** An object that takes messages. */
export type Receiver = keyof Inboxes;
/** The kinds of messages that a receiver takes. */
export type Kind<To extends Receiver> = keyof Inboxes[To] & string;

type Body<To extends Receiver, K extends Kind<To>> = Inboxes[To][K] extends [infer B, unknown] ? B : never;
/** The answer to messages of these kinds. */
export type Answer<To extends Receiver, K extends Kind<To> = Kind<To>> = Inboxes[To][K] extends [
  unknown,
  infer A,
]
  ? A
  : never;

/** A message in transit. It is an event of its receiver. */
export type Message<To extends Receiver> = {
  [One in To]: { [K in Kind<One>]: { type: K; body: Body<One, K> } }[Kind<One>];
}[To];

/** A message that its sender still owes. */
export type Letter<To extends Receiver, K extends Kind<To> = Kind<To>> = Envelope &
  {
    [One in K]: { object: To; kind: One; body: Body<To, One> };
  }[K];

/** Any message that a sender still owes. */
export type AnyLetter = { [To in Receiver]: Letter<To> }[Receiver];

/** The answer to a message. It is an event of the sender. */
export type Answered<To extends Receiver, K extends Kind<To> = Kind<To>> = {
  [One in K]: { type: `${One}_answered`; sent: Body<To, One>; answer: Answer<To, One> };
}[K];

/** For each message: how it changes the state, and the answer derived from the new state (rule R6). */
export type Inbox<To extends Receiver, State> = {
  [One in Kind<To>]: {
    fold(state: State, body: Body<To, One>, now: Instant): State;
    answer(state: State, body: Body<To, One>, now: Instant): Answer<To, One>;
  };
};

/** An inbox entry without the types of its messages, whose `type` and `body` always match. */
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
