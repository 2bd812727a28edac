import { createHmac } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../client/client.ts";
import { StrangerError } from "../../client/errors.ts";
import { connectProven } from "../../client/transport/proven-connection.ts";
import { portProblem } from "../../local/ports.ts";
import { proofText } from "../../src/shared/proof.ts";
import {
  drover,
  endDrover,
  killIfThere,
  makeHome,
  type RunningDrover,
  startDrover,
} from "../edge/support/drover.ts";
import { until } from "../local/support/scratch.ts";
import { startStranger } from "./support/stranger.ts";
import { isRoot } from "./support/swapper.ts";

// Another user takes the port of a `drover up`: before, during and after its life.

if (!isRoot) console.warn("In stranger.test.ts the stranger is the same user: only root can play another.");

const TOKEN = "drv_token_of_this_test";
const SECRET = "PASSWORD=of-my-database";

let home: string;
let running: RunningDrover | undefined;
beforeEach(() => {
  home = makeHome("stranger");
  running = undefined;
});
afterEach(async () => {
  await endDrover(home, running);
  rmSync(home, { recursive: true, force: true });
});

/** Ends `drover up` by SIGKILL; then its port is free. */
async function kill({ pid, url, ended }: RunningDrover): Promise<number> {
  killIfThere(pid);
  await ended;
  const port = Number(new URL(url).port);
  await until("the port is free", async () => (await portProblem(port)) === undefined || undefined);
  return port;
}

/**
 * It was asked who it is, by commands and by agents that outlive their control plane, and learned nothing
 * else: a hello has the name of a worker and a nonce (protocol.md#who-has-the-port).
 */
async function expectNothingHeard(heard: readonly string[], token: string): Promise<void> {
  // The stranger is another process, and says later what it has heard.
  await until("the stranger has been asked", () => heard.length > 0 || undefined);
  for (const request of heard) {
    expect(request).toMatch(/^GET \/(proof\?nonce=|v1\/hosts\/[\w-]+\/hello)/);
    expect(request).not.toContain(token);
    expect(request).not.toContain(SECRET);
  }
}

test("X9: after a SIGKILL the port's new owner gets neither token nor run", async () => {
  running = await startDrover(home);
  const { token } = running;
  const stranger = await startStranger(await kill(running));
  for (const args of [["ps"], ["run", "--env", SECRET, "--", "true"], ["logs", "r-1"]]) {
    const ended = await drover(home, args);
    expect(ended).toMatchObject({ code: 125 });
    expect(ended.stderr).toContain(
      `The program listening on 127.0.0.1:${stranger.port} does not know your token`,
    );
    expect(ended.stderr).toContain("Your token was not sent to it.");
    expect(ended.stderr).toContain("drover up");
  }
  await expectNothingHeard(stranger.heard, token);
});

test("X9: a command that waits for its run does not tell the port's new owner what it knows", async () => {
  const up = await startDrover(home);
  running = up;
  const { token } = up;
  const waiting = drover(home, ["run", "--env", SECRET, "--", "sleep", "1000"]);
  await until("the run is there", async () => {
    const { items } = await up.json(200, "GET", "/v1/runs?state=running");
    return items.length > 0 || undefined;
  });
  const stranger = await startStranger(await kill(up));
  expect(await waiting).toMatchObject({ code: 125, stderr: expect.stringContaining("was not sent to it") });
  await expectNothingHeard(stranger.heard, token);
});

describe("X9: before there is a Drover", () => {
  test.each(["127.0.0.1", "localhost"])("the owner of a port that %s names gets no token", async (name) => {
    const stranger = await startStranger();
    const env = { DROVER_URL: `http://${name}:${stranger.port}`, DROVER_TOKEN: TOKEN };
    const ended = await drover(home, ["ps"], env);
    expect(ended).toMatchObject({ code: 125, stderr: expect.stringContaining("was not sent to it") });
    await expectNothingHeard(stranger.heard, TOKEN);
  });
});

test("X9: beside a Drover nobody proves to be it by passing the question on", async () => {
  running = await startDrover(home);
  const { token, url } = running;
  expect(await drover(home, ["ps"])).toMatchObject({ code: 0 });
  const stranger = await startStranger(0, Number(new URL(url).port));
  const env = { DROVER_URL: `http://127.0.0.1:${stranger.port}`, DROVER_TOKEN: token };
  const ended = await drover(home, ["ps"], env);
  expect(ended).toMatchObject({ code: 125, stderr: expect.stringContaining("was not sent to it") });
  await expectNothingHeard(stranger.heard, token);
});

test("X9: a program with the client tells a stranger nothing either", async () => {
  const stranger = await startStranger();
  const client = createClient({ url: `http://localhost:${stranger.port}`, token: TOKEN });
  await expect(client.run({ argv: ["true"], env: { SECRET } })).rejects.toBeInstanceOf(StrangerError);
  await expectNothingHeard(stranger.heard, TOKEN);
});

test("X9: a token is not sent by plain HTTP to another machine", async () => {
  const env = { DROVER_URL: "http://drover.example.com", DROVER_TOKEN: TOKEN };
  const ended = await drover(home, ["ps"], env);
  expect(ended).toMatchObject({ code: 125, stderr: expect.stringContaining("could read your token") });
  expect(ended.stderr).toContain("https:");
});

describe("X9: an answer that proves nothing", () => {
  const proofFor = (address: string, nonce: string, token = TOKEN) =>
    createHmac("sha256", token).update(proofText(address, nonce)).digest("base64url");
  const answer = (proof: string, status = "200 OK", more = "") => {
    const body = JSON.stringify({ proof });
    return `HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\n\r\n${body}${more}`;
  };

  /** Connects to a server that answers so; resolves to how that ended. */
  async function outcomeOf(say: (address: string, nonce: string) => string): Promise<unknown> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket
        .on("error", () => {})
        .once("data", (bytes) => {
          const nonce = /nonce=([\w-]+)/.exec(bytes.toString())?.[1] ?? "";
          socket.write(say(address, nonce));
        });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const bound = server.address();
    const address = `127.0.0.1:${typeof bound === "object" ? bound?.port : 0}`;
    return await connectProven(address, TOKEN).then((socket) => {
      socket.destroy();
      return "proven";
    }, String);
  }

  test("but the true one does", async () => {
    expect(await outcomeOf((address, nonce) => answer(proofFor(address, nonce)))).toBe("proven");
  });

  const FALSE: [string, (address: string, nonce: string) => string][] = [
    ["that of another token", (address, nonce) => answer(proofFor(address, nonce, "drv_other"))],
    ["that of another question", (address) => answer(proofFor(address, "A".repeat(32)))],
    ["that of another address", (_, nonce) => answer(proofFor("127.0.0.1:1", nonce))],
    ["none", () => answer("")],
    ["a refusal", (address, nonce) => answer(proofFor(address, nonce), "404 Not Found")],
    [
      "a second answer behind it",
      (address, nonce) => answer(proofFor(address, nonce), "200 OK", answer("x")),
    ],
    ["no length", (address, nonce) => `HTTP/1.1 200 OK\r\n\r\n${proofFor(address, nonce)}`],
    ["no HTTP", () => "SSH-2.0-OpenSSH_9.6\r\n\r\n"],
    ["no end", () => "HTTP/1.1 200 OK\r\n".padEnd(100_000, "x: y\r\n")],
  ];
  test.each(["429 Too Many Requests", "503 Service Unavailable"])(
    "%s, for which the client asks again (access.md#rate-limits)",
    async (status) => {
      const outcome = outcomeOf((address, nonce) => answer(proofFor(address, nonce), status));
      expect(await outcome).toContain("it answers that it is busy");
    },
  );

  test.each(FALSE)("%s", async (_, say) => {
    expect(await outcomeOf(say)).toContain("does not know your token");
  });
});
