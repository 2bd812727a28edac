// Which server accepts the chunks of a log as fast as they come? It keeps nothing, and has a process of its
// own, so that its cost is not counted as the agent's (`redaction.ts`).
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { answerKey, signAnswer } from "../src/signing/answer.ts";
import { keyOf } from "../src/signing/mac.ts";
import { claimedRequest } from "../src/signing/request.ts";

const key = keyOf(process.env.SINK_SECRET ?? "");

const server = createServer(async (request, response) => {
  const { pathname, search, searchParams } = new URL(request.url ?? "", `http://${request.headers.host}`);
  let bytes = 0;
  for await (const part of request) bytes += part.length;
  const stored = Number(searchParams.get("offset")) + bytes;
  const body = JSON.stringify({ address: request.headers.host, stored });
  response.writeHead(200, {
    "content-type": "application/json",
    ...proofOf(request, pathname, search, body),
  });
  response.end(body);
});
server.listen(0, "127.0.0.1", () => {
  // A server that listens on a port has such an address.
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once("disconnect", () => process.exit());

function proofOf(
  { method = "", headers }: IncomingMessage,
  path: string,
  query: string,
  body: string,
): object {
  const claim = claimedRequest({ method, path, query }, (name) => headers[name]?.toString());
  if (claim === undefined) return {};
  const more = { created: Math.floor(Date.now() / 1_000), keyid: claim.keyid };
  return { ...signAnswer(answerKey(key, claim.signature), { status: 200, body }, more) };
}
