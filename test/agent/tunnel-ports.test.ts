import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Link } from "../../src/shared/tunnel/link.ts";
import { Sockets } from "../../src/shared/tunnel/sockets.ts";
import { until } from "../local/support/scratch.ts";

// Real connections through both ends of a tunnel: how one ends at one end is how it ends at the other
// (tunnels.md#forward).

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listening(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    serve(socket);
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return (server.address() as AddressInfo).port; // it listens on TCP
}

/** One end of a tunnel. `peer` gets its frames, one after the other, and never from within a call. */
function endOfTunnel(
  peer: () => Link,
  accept?: (sockets: Sockets, channel: number) => ReturnType<Sockets["attach"]>,
) {
  const link: Link = new Link({
    send: (frame) => void setImmediate(() => peer().heard(JSON.parse(JSON.stringify(frame)))),
    data: (channel, bytes) => sockets.write(channel, bytes),
    end: (channel) => sockets.end(channel),
    reset: (channel) => sockets.reset(channel),
    ...(accept && { accept: (channel: number) => accept(sockets, channel) }),
  });
  const sockets: Sockets = new Sockets({
    changed: () => link.pump(),
    used: (channel, bytes) => link.used(channel, bytes),
    broken: (channel) => link.reset(channel),
  });
  return { link, sockets };
}

/** A tunnel to the port `there`. `port` here leads to it; `open` counts the connections of both ends. */
async function tunnelTo(there: number) {
  const client = endOfTunnel(() => host.link);
  const host = endOfTunnel(
    () => client.link,
    (sockets, channel) =>
      sockets.attach(channel, connect({ host: "127.0.0.1", port: there, allowHalfOpen: true })),
  );
  client.link.greet();
  host.link.greet();
  let channels = 0;
  const port = await listening((socket) => {
    channels += 1;
    client.link.begin(channels, client.sockets.attach(channels, socket));
  });
  const open = () => client.sockets.size + host.sockets.size;
  return { port, open };
}

/** What a connection has heard, and how it has ended: `end`, or the code of its error. */
function watched(socket: Socket) {
  const seen = { heard: "", how: "" };
  socket.on("data", (bytes) => {
    seen.heard += bytes;
  });
  socket.once("end", () => {
    seen.how ||= "end";
  });
  socket.once("error", (error: NodeJS.ErrnoException) => {
    seen.how ||= error.code ?? "error";
  });
  return seen;
}

const nothingLeft = (open: () => number) => until("no connection is left", () => open() === 0 || undefined);

test("a clean end in both directions loses nothing (tunnels.md#forward)", async () => {
  const there = await listening((socket) => {
    const asked = watched(socket);
    socket.once("end", () => socket.end(`you said ${asked.heard}`));
  });
  const { port, open } = await tunnelTo(there);
  const seen = watched(connect({ port, host: "127.0.0.1", allowHalfOpen: true }).end("hello"));
  await until("it has ended", () => seen.how || undefined);
  expect(seen).toEqual({ heard: "you said hello", how: "end" });
  await nothingLeft(open);
});

test("a reset by the server is a reset for the client (tunnels.md#forward)", async () => {
  const there = await listening((socket) => socket.once("data", () => socket.resetAndDestroy()));
  const { port, open } = await tunnelTo(there);
  const seen = watched(
    connect(port, "127.0.0.1")
      .setNoDelay()
      .on("connect", function (this: Socket) {
        this.write("hello");
      }),
  );
  await until("it has ended", () => seen.how || undefined);
  expect(seen.how).toBe("ECONNRESET");
  await nothingLeft(open);
});

test("a reset by the client is one for the server, and frees the channel (tunnels.md#forward)", async () => {
  const server: ReturnType<typeof watched>[] = [];
  const there = await listening((socket) => {
    server.push(watched(socket));
    socket.write("hello");
  });
  const { port, open } = await tunnelTo(there);
  connect(port, "127.0.0.1").once("data", function (this: Socket) {
    this.resetAndDestroy();
  });
  await until("the server knows", () => server[0]?.how || undefined);
  expect(server[0]?.how).toBe("ECONNRESET");
  await nothingLeft(open);
});

test("a client that has gone ends a server that goes on speaking (tunnels.md#forward)", async () => {
  let isOver = false;
  const there = await listening((socket) => {
    const speak = setInterval(() => socket.write("tick\n"), 5);
    socket.once("close", () => {
      clearInterval(speak);
      isOver = true;
    });
  });
  const { port, open } = await tunnelTo(there);
  connect(port, "127.0.0.1").once("data", function (this: Socket) {
    this.destroy();
  });
  await until("the server's connection is over", () => isOver || undefined);
  await nothingLeft(open);
});

test("where nothing listens, a connection is reset (tunnels.md#forward)", async () => {
  const there = await listening(() => undefined);
  await new Promise((closed) => servers.pop()?.close(closed));
  const { port, open } = await tunnelTo(there);
  const seen = watched(connect(port, "127.0.0.1"));
  await until("it has ended", () => seen.how || undefined);
  expect(seen.how).toBe("ECONNRESET");
  await nothingLeft(open);
});
