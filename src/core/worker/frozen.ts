// What of this version of Drover does a create call contain (clouds.md#same-bytes)?
import type { Message } from "../inbox.ts";
import type { CreateWorker } from "../messages.ts";

/** Adds to an intent what its create call is made of besides the intent itself. Other messages stay. */
export function frozenWith(
  message: Message<"worker">,
  frozen: NonNullable<CreateWorker["frozen"]>,
): Message<"worker"> {
  if (message.type !== "create" || message.body.kind !== "cloud") return message;
  return { ...message, body: { ...message.body, frozen } };
}
