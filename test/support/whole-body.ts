// What a fake server reads of a request.
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";

/** The body; undefined: the caller has gone away before all of it arrived, and waits for no answer. */
export async function wholeBody(request: IncomingMessage): Promise<Buffer | undefined> {
  try {
    return await buffer(request);
  } catch (error) {
    if (request.complete) throw error;
    return undefined;
  }
}
