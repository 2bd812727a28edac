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

/** How messages get from object to object: in the simulator as in production. */

/** What an object takes from others. Rejects if it cannot be reached. */
export interface Mailbox<To extends Receiver> {
  deliver(message: Message<To>): Promise<Answer<To>>;
}

/** The mailbox of each object, by its name. */
export type Mailboxes = { [To in Receiver]: (name: string) => Mailbox<To> };

type AnsweredTo<L> = L extends { object: infer To extends Receiver; kind: infer K }
  ? Answered<To, K & Kind<To>>
  : never;

/** Delivers a message. Its answer comes back as an event of the sender; rejects without one. */
export async function post<L extends AnyLetter>(
  mailboxes: Mailboxes,
  { object, to, kind: type, body }: L,
): Promise<AnsweredTo<L>> {
  // What a letter for a kind of object says is a message that it takes.
  const mailbox = mailboxes[object](to) as { deliver(message: unknown): Promise<unknown> };
  const answer = await mailbox.deliver({ type, body });
  return { type: `${type}_answered`, sent: body, answer } as AnsweredTo<L>; // as its receiver answers
}

/** Takes in a message, and answers it from the state after that. */
export function receive<To extends Receiver, State>(
  inbox: Inbox<To, State>,
  actor: { apply(message: Message<To>): State },
  message: Message<To>,
  now: Instant,
): Answer<To> {
  return answerMessage(inbox, actor.apply(message), message, now);
}
