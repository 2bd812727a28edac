import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Inside } from "../../agent/exec/processes/inside.ts";
import { Tunnels } from "../../agent/tunnels/tunnels.ts";
import { MAX_CHANNELS, type TunnelFrame } from "../../src/shared/tunnel/frames.ts";
import { MAX_UNHEARD_RESETS } from "../../src/shared/tunnel/link.ts";
import { until } from "../local/support/scratch.ts";

// A client can make a host do only what the control plane has allowed, whatever its frames say
// (tunnels.md#relay).

const ID = "t-0123456789";
const OWN = "own/main/1.1";
const OTHER = "other/main/1.1";

let dir: string;
let tunnels: Tunnels;
let said: TunnelFrame[];
/** The place beside the command of an attempt. */
let place: Inside | undefined;
/** The attempts beside whose commands something was to start. */
let entered: string[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-tunnels-"));
  said = [];
  entered = [];
  place = undefined;
  tunnels = new Tunnels({
    stateDir: dir,
    now: () => performance.now(),
    shellReportsSignals: true,
    isRunning: () => true,
    inside: async (attempt) => {
      entered.push(attempt);
      return place;
    },
  });
  tunnels.connected((text) => said.push(JSON.parse(JSON.parse(text).frame)));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const frame = (content: object) => tunnels.heard({ tunnel: ID, frame: JSON.stringify(content) });
const open = (attempt: string, kind: "exec" | "forward" = "exec") =>
  tunnels.heard({ tunnel: ID, open: { attempt, kind } });
const hello = (ask: object) => frame({ t: "hello", channels: {}, ask });
const PLACE: Inside = { before: [], entrances: [], dir: "/", umask: undefined, env: {}, base: {} };
const SHELL = { kind: "exec", argv: ["sh"], input: false };
const fault = () => until("a fault is told", () => said.find(({ t }) => t === "fault"));

describe("a client", () => {
  test("cannot open a tunnel by itself", async () => {
    frame({ t: "open", attempt: OTHER, kind: "exec" });
    hello(SHELL);
    open(OWN);
    hello(SHELL);
    expect(await fault()).toMatchObject({ code: "not_running" });
    expect(entered).toEqual([OWN]);
  });

  test("cannot lead its tunnel elsewhere", async () => {
    open(OWN);
    frame({ t: "open", attempt: OTHER, kind: "exec" });
    hello(SHELL);
    expect(await fault()).toMatchObject({ code: "not_running" });
    expect(entered).toEqual([OWN]);
  });

  test("gets only the kind of tunnel that was allowed", async () => {
    open(OWN, "forward");
    hello(SHELL);
    expect(await fault()).toMatchObject({
      code: "invalid_request",
      text: expect.stringContaining("something else"),
    });
    expect(entered).toEqual([]);
  });

  test.each([
    ["a wrong greeting", { t: "hello", channels: { 0: { received: "x", used: null } } }],
    ["a channel that is no number", { t: "data", c: "__proto__", at: 0, d: "aGk=" }],
    ["an offset that is no number", { t: "data", c: 0, at: null, d: "aGk=" }],
    ["bytes that are none", { t: "data", c: 0, at: 0, d: 17 }],
    ["a size beyond all terminals", { t: "size", rows: -1, columns: 1e9 }],
    ["a signal that is none", { t: "signal", n: 1, signal: "SIGSEGV" }],
    ["an unknown type", { t: "constructor" }],
  ])("harms nobody with %s", async (_what, content) => {
    open(OWN);
    frame(content);
    hello(SHELL);
    expect(await fault()).toMatchObject({ code: "not_running" });
    expect(readdirSync(join(dir, "tunnels"))).toEqual(["over"]);
  });

  test("that goes on opening connections is told so once, and is not answered then", async () => {
    place = PLACE;
    open(OWN, "forward");
    hello({ kind: "forward", port: 1 });
    await until("the host greets", () => said.find(({ t }) => t === "hello"));
    const most = MAX_CHANNELS + MAX_UNHEARD_RESETS;
    for (let c = 1; c <= most + 100; c += 1) frame({ t: "data", c, at: 0, d: "" });
    expect(await fault()).toMatchObject({ code: "busy", text: expect.stringContaining("refused") });
    expect(said.filter(({ t }) => t === "fault")).toHaveLength(1);
    const resets = said.filter(({ t }) => t === "reset");
    expect(resets.length).toBeLessThanOrEqual(MAX_UNHEARD_RESETS);
    open(OWN, "forward");
    expect(said.at(-1)).toMatchObject({ code: "lost", text: expect.stringContaining("refused") });
  });

  test("is greeted once on each connection, however often it greets", async () => {
    place = PLACE;
    open(OWN, "forward");
    for (let times = 0; times < 50; times += 1) hello({ kind: "forward", port: 1 });
    await until("the host greets", () => said.find(({ t }) => t === "hello"));
    expect(said.filter(({ t }) => t === "hello")).toHaveLength(1);
    open(OWN, "forward");
    hello({ kind: "forward", port: 1 });
    await until(
      "the host greets again",
      () => said.filter(({ t }) => t === "hello").length === 2 || undefined,
    );
  });

  test("that comes back after the end of its tunnel starts nothing again", async () => {
    open(OWN);
    frame({ t: "close" });
    open(OWN);
    expect(await fault()).toMatchObject({ code: "lost", text: expect.stringContaining("closed it") });
    expect(entered).toEqual([]);
  });
});

test.each(["../../etc", "a", "A".repeat(20), "t-0123456789/x"])(
  "%j is no id, and makes no file",
  (tunnel) => {
    tunnels.heard({ tunnel, open: { attempt: OWN, kind: "exec" } });
    tunnels.heard({ tunnel, frame: JSON.stringify({ t: "close" }) });
    expect(readdirSync(join(dir, "tunnels"))).toEqual(["over"]);
  },
);
