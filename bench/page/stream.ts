// How does the generated world tell its changes? As the API does: each thing in its latest state.
import type { ServerResponse } from "node:http";
import type { DocumentCheck, Operation } from "../../test/edge/support/document.ts";
import type { Change, World } from "./world.ts";

/** What a stream is made of. */
interface Source {
  world: World;
  check: DocumentCheck;
  operation: Operation;
  query: URLSearchParams;
  /** Hears of a change that does not fit the document; the stream ends with it. */
  fail(error: unknown): void;
}

/** A server gathers what happens in this time: its object wakes a reader once for it. */
const GATHER_MS = 20;
const PLACE = ["responses", "200", "content", "application/json", "schema"];

/** Writes changes until the reader leaves. */
export function streamChanges(
  { world, check, operation, query, fail }: Source,
  response: ServerResponse,
): void {
  const given = query.get("after");
  let after = given === null ? null : Number(given);
  response.writeHead(200, { "content-type": "text/event-stream", date: new Date().toUTCString() });
  response.flushHeaders();
  const tell = () => {
    // A reader that is slow gets less often what is then the latest state.
    if (response.writableNeedDrain) return;
    const items = world.after(after);
    check.validate(operation, PLACE, { items, next: world.number }, "the stream of the feed");
    after = world.number;
    for (const change of items) response.write(eventOf(change));
  };
  const timer = setInterval(() => {
    try {
      tell();
    } catch (error) {
      fail(error);
      response.destroy();
    }
  }, GATHER_MS);
  response.on("close", () => clearInterval(timer));
}

function eventOf(change: Change): string {
  const [event, data] = "run" in change ? ["run", change.run] : ["worker", change.worker];
  return `id: ${change.number}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
