// How does a message get from one object to another, in production and in the simulator?
import {
  type Answer,
  type Answered,
  type AnyLetter,
  answerMessage,
  type Inbox,
  type Kind,
  type Message,
  type Receiver,
} from "../../core/inbox.ts";
import type { Instant } from "../../shared/machine.ts";

/** An object that takes messages. `deliver` rejects if the object cannot be reached. */
export interface Mailbox<To extends Receiver> {
  deliver(message: Message<To>): Promise<Answer<To>>;
}

/** The mailboxes by kind of object, then by name. */
export type Mailboxes = { [To in Receiver]: (name: string) => Mailbox<To> };

type AnsweredTo<L> = L extends { object: infer To extends Receiver; kind: infer K }
  ? Answered<To, K & Kind<To>>
  : never;

/** Delivers a message, and returns its answer as an event of the sender. Rejects if there is no answer. */
export async function post<L extends AnyLetter>(
  mailboxes: Mailboxes,
  { object, to, kind: type, body }: L,
): Promise<AnsweredTo<L>> {
  // The mailbox of this kind of object takes every message to such an object.
  const mailbox = mailboxes[object](to) as { deliver(message: unknown): Promise<unknown> };
  const answer = await mailbox.deliver({ type, body });
  return { type: `${type}_answered`, sent: body, answer } as AnsweredTo<L>; // so the receiver answers
}

/**
 * Applies a message, and answers it from the new state, both as of `now` (messages.md#inboxes). What begins
 * at the instant of the step would be missing in an answer of a millisecond before.
 */
export function receive<To extends Receiver, State>(
  inbox: Inbox<To, State>,
  actor: { apply(message: Message<To>, now: Instant): State },
  message: Message<To>,
  now: Instant,
): Answer<To> {
  return answerMessage(inbox, actor.apply(message, now), message, now);
}
