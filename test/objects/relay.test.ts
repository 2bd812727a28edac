import { expect, test, vi } from "vitest";
import { type ClientEnd, tunnelRequest } from "../../src/shared/tunnel/client-end.ts";
import { CLIENT_UNITS, unitsOfFrame } from "../../src/shared/tunnel/host-units.ts";
import { openSocket } from "./support/socket-host.ts";
import { bindings, bootMachine, eventually, freshWorld, makePool, submit } from "./support/world.ts";

// What the clients of a worker's tunnels may send, all together (tunnels.md#pace), in the runtime.

const world = freshWorld();
/** The frames that may come at once. */
const BURST = CLIENT_UNITS.most / unitsOfFrame(0);
const EMPTY = (channel: number) => JSON.stringify({ t: "data", c: channel, at: 0, d: "" });

/** A machine on which a run's task is to run, connected, and a way to ask it for tunnels. */
async function connected() {
  await makePool();
  await submit("open");
  const { worker, host } = await bootMachine(world.cloud);
  const socket = await openSocket(host);
  await socket.report(host);
  await socket.orders(({ attempts }) => attempts.length > 0);
  socket.frames.length = 0;
  const stub = bindings.CLOUD_WORKER.getByName(worker);
  const ask = (tunnel: string) => {
    const end: ClientEnd = { tunnel, kind: "forward", attempt: "open/main/1.1" };
    return stub.fetch(tunnelRequest(end));
  };
  return { socket, ask };
}

/** A client of a tunnel, and the code with which it is closed. */
async function clientOf(ask: (tunnel: string) => Promise<Response>, tunnel: string) {
  const { webSocket } = await ask(tunnel);
  if (webSocket === null) throw new Error("the worker gave no socket");
  const client: { socket: WebSocket; code?: number } = { socket: webSocket };
  webSocket.accept();
  webSocket.addEventListener("close", ({ code }) => {
    client.code = code;
  });
  return client;
}

test("a client that sends more frames than a host can answer is cut off, and the host is not", async () => {
  const { socket, ask } = await connected();
  // No time passes, so nothing is refilled.
  vi.spyOn(Date, "now").mockReturnValue(Date.now());
  const client = await clientOf(ask, "t-flood");
  for (let channel = 1; channel <= BURST + 50; channel += 1) {
    if (client.code === undefined) client.socket.send(EMPTY(channel));
  }
  expect(await eventually(() => client.code)).toBe(4503);
  expect(socket.closed).toBeUndefined();
  const passed = () => socket.frames.filter((frame) => "tunnel" in frame).length;
  await eventually(() => passed() >= BURST || undefined);
  expect(passed()).toBeLessThanOrEqual(BURST + 1);
  expect((await ask("t-again")).status).toBe(429);
});

test("what was spent is refilled, so that the client goes on (tunnels.md#pace)", async () => {
  const { socket, ask } = await connected();
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now());
  const client = await clientOf(ask, "t-burst");
  for (let channel = 1; channel < BURST; channel += 1) client.socket.send(EMPTY(channel));
  const passed = () => socket.frames.filter((frame) => "tunnel" in frame).length;
  await eventually(() => passed() >= BURST || undefined);
  clock.mockReturnValue(Date.now() + 1_000);
  client.socket.send(EMPTY(BURST));
  await eventually(() => passed() > BURST || undefined);
  expect(client.code).toBeUndefined();
});
