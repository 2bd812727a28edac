import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { bridgeWords } from "../../../agent/containers/bridge.ts";
import { insideContainer } from "../../../agent/exec/processes/inside.ts";
import { Tunnels } from "../../../agent/tunnels/tunnels.ts";
import type { TunnelFrame } from "../../../src/shared/tunnel/frames.ts";
import { until } from "../../local/support/scratch.ts";
import { BUSYBOX, hasPodman, type Podman, startPodman } from "../support/podman.ts";

const NAME = "drover-inside";

let podman: Podman;
let dir: string;
let said: TunnelFrame[];
/** A tunnel for each test: one that has ended is remembered. */
let tunnel = 0;

const id = () => `t-012345678${tunnel}`;

/** Tunnels into one container that runs. */
function agent(): Tunnels {
  const program = [process.execPath, join(dir, "drover-agent.mjs")];
  const ask = { socket: podman.socketPath, container: NAME };
  const inside = insideContainer(
    (argv, env, terminal) => bridgeWords(program, { ...ask, argv, env, terminal }),
    "127.0.0.1",
    ["DROVER_ATTEMPT_ID=run/main/1.1"],
  );
  const tunnels = new Tunnels({
    stateDir: dir,
    now: () => performance.now(),
    shellReportsSignals: true,
    isRunning: () => true,
    enter: async (_, start) => {
      await start(inside);
      return true;
    },
  });
  tunnels.connected((text) => said.push(JSON.parse(JSON.parse(text).frame)));
  return tunnels;
}

function hears(tunnels: Tunnels, frame: object): void {
  tunnels.heard({ tunnel: id(), frame: JSON.stringify(frame) });
}

/** A client connects, and asks for a command. */
function asks(tunnels: Tunnels, argv: string[], more: object = {}): void {
  tunnels.heard({ tunnel: id(), open: { attempt: "run/main/1.1", kind: "exec" } });
  hears(tunnels, { t: "hello", channels: {}, ask: { kind: "exec", argv, input: false, ...more } });
}

/** What came on a channel so far, confirmed. */
function heardOn(tunnels: Tunnels, channel: number): string {
  let text = "";
  for (const frame of said) {
    if (frame.t !== "data" && frame.t !== "end") continue;
    const bytes = frame.t === "data" ? Buffer.from(frame.d, "base64") : Buffer.alloc(0);
    if (frame.c === channel && frame.at === Buffer.byteLength(text, "latin1"))
      text += bytes.toString("latin1");
    hears(tunnels, { t: "ack", c: frame.c, at: frame.at + bytes.length });
  }
  return text;
}

async function ended(tunnels: Tunnels): Promise<{ end: TunnelFrame; out: string; err: string }> {
  const isOver = () => {
    heardOn(tunnels, 0);
    return said.find(({ t }) => t === "exit" || t === "fault");
  };
  const end = await until("it has ended", isOver, () => said);
  const [out, err] = [heardOn(tunnels, 0), heardOn(tunnels, 1)];
  hears(tunnels, { t: "close" });
  await until("nothing of it is left", () => !readdirSync(join(dir, "tunnels")).includes(id()) || undefined);
  return { end, out, err };
}

/** The commands that run in the container. */
async function processes(): Promise<string> {
  const exec = await podman.engine.createExec(NAME, { Cmd: ["ps", "-o", "args"], AttachStdout: true });
  const pieces: Buffer[] = [];
  for await (const { data } of (await podman.engine.startExec(exec, { tty: false })).output)
    pieces.push(data);
  return Buffer.concat(pieces).toString();
}

describe.skipIf(!hasPodman)(
  "a command beside the first process of a container (containers.md#inside)",
  () => {
    beforeAll(async () => {
      podman = await startPodman();
      dir = mkdtempSync(join(tmpdir(), "drover-inside-"));
      copyFileSync(join(inject("built"), "drover-agent.mjs"), join(dir, "drover-agent.mjs"));
      await podman.engine.createContainer(NAME, {
        Image: BUSYBOX,
        Cmd: ["sleep", "1000"],
        User: "task",
        WorkingDir: "/tmp",
        Env: ["COLOR=blue"],
        HostConfig: { NetworkMode: "host", Init: true },
      });
      await podman.engine.startContainer(NAME);
    });
    afterAll(async () => {
      await podman?.stop();
      rmSync(dir, { recursive: true, force: true });
    });
    beforeEach(() => {
      said = [];
      tunnel += 1;
    });

    test("has the user, directory and variables of the container, and its own exit code", async () => {
      const tunnels = agent();
      asks(tunnels, ["sh", "-c", 'echo "$(id -un) $PWD $COLOR"; echo wrong >&2; exit 7']);
      const { end, out, err } = await ended(tunnels);
      expect([end, out, err]).toEqual([{ t: "exit", code: 7, signal: null }, "task /tmp blue\n", "wrong\n"]);
    });

    test("reads its input to the end", async () => {
      const tunnels = agent();
      asks(tunnels, ["sh", "-c", "wc -c"], { input: true });
      await until("it is greeted", () => said.some(({ t }) => t === "hello") || undefined);
      hears(tunnels, { t: "data", c: 0, at: 0, d: Buffer.from("x".repeat(30_000)).toString("base64") });
      hears(tunnels, { t: "end", c: 0, at: 30_000 });
      const { out } = await ended(tunnels);
      expect(out.trim()).toBe("30000");
    });

    test("has a terminal of the size that the client has, also after a change", async () => {
      const tunnels = agent();
      const terminal = { term: "xterm", rows: 10, columns: 40 };
      const sized = (size: string) => `until [ "$(stty size)" = "${size}" ]; do sleep 0.05; done`;
      const script = `${sized("10 40")}; echo $TERM; ${sized("11 41")}; echo sized`;
      asks(tunnels, ["sh", "-c", script], { terminal });
      await until(
        "it has a size",
        () => heardOn(tunnels, 0).includes("xterm") || undefined,
        () => said,
      );
      hears(tunnels, { t: "size", rows: 11, columns: 41 });
      const { out } = await ended(tunnels);
      expect(out.replaceAll("\r", "")).toMatch(/xterm\nsized\n$/);
    });

    test("a program that the image lacks is an error that names it", async () => {
      const tunnels = agent();
      asks(tunnels, ["no-such-program"]);
      const { end, err } = await ended(tunnels);
      expect(end).toMatchObject({ t: "exit" });
      expect(err).toContain("no-such-program");
    });

    test("ends with its tunnel, with all that it has started", async () => {
      const tunnels = agent();
      asks(tunnels, ["sh", "-c", "sleep 2001 & echo up; sleep 2002"]);
      await until("it is up", () => heardOn(tunnels, 0).includes("up") || undefined);
      hears(tunnels, { t: "close" });
      await until(
        "nothing of it is left",
        () => !readdirSync(join(dir, "tunnels")).includes(id()) || undefined,
      );
      expect(await processes()).not.toContain("200");
    });
  },
);
