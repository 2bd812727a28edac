// What a fake server does about a caller that is killed while it sends.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { wholeBody } from "../support/whole-body.ts";

const BODIES: readonly [name: string, sent: string, read: string | undefined][] = [
  ["whole", "12345", "12345"],
  ["cut off by the end of the caller", "123", undefined],
];

test.each(BODIES)("a body that is %s", async (_, sent, read) => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const caller = connect((server.address() as AddressInfo).port, "127.0.0.1");
  caller.write("POST / HTTP/1.1\r\nhost: fake\r\ncontent-length: 5\r\n\r\n");
  const [request]: IncomingMessage[] = await once(server, "request");
  const body = request === undefined ? Promise.reject(new Error("no request")) : wholeBody(request);
  caller.write(sent, () => caller.destroySoon());
  expect((await body)?.toString()).toBe(read);
});
