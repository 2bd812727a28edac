import { test as base, expect } from "vitest";
import type { Io } from "../../cli/terminal/io.ts";
import { watchProgress } from "../../cli/terminal/progress.ts";
import { createClient } from "../../client/client.ts";
import { ControlPlane, problem, statusOf, TOKEN } from "./support/control-plane.ts";

/** A test with a control plane of its own: they wait side by side. */
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs
const test = base.extend("plane", async ({}, { onCleanup }) => {
  const plane = await new ControlPlane().start();
  onCleanup(() => plane.stop());
  plane.runs.set("r1", statusOf("r1"));
  return plane;
}).concurrent;

const ERASE = "\r\u001b[K";

/** A terminal of 40 columns that remembers what was written to it. */
function terminal() {
  let text = "";
  let heard = () => {};
  const sink = {
    isTerminal: true,
    color: false,
    columns: () => 40,
    rows: () => 24,
    write: async (bytes: Uint8Array | string) => {
      text += bytes;
      heard();
    },
  };
  const io: Io = {
    env: {},
    cwd: "/",
    stdout: sink,
    stderr: sink,
    interactive: true,
    say: (line) => sink.write(`${line}\n`),
  };
  const shows = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      heard = () => {
        if (pattern.test(text)) resolve();
      };
      heard();
    });
  return { io, shows, text: () => text };
}

/** No terminal: what is said, line by line, and one that is waited for. */
function pipe() {
  const { io, shows, text } = terminal();
  return { io: { ...io, interactive: false }, shows, text };
}

const clientOf = ({ url }: ControlPlane) => createClient({ url, token: TOKEN });

test("a terminal shows on one line what is waited for, kept up to date, and erases it", async ({ plane }) => {
  const { io, shows, text } = terminal();
  plane.why.reason.text = "one machine is booting";
  const progress = watchProgress(io, clientOf(plane), "r1");
  await shows(/one machine is booting \(\d+m?s\)$/);
  plane.why.reason.text = "the machine\nis ready";
  await shows(/the machine is ready \(/);
  await progress.stop();
  const last = text();
  expect(last.endsWith(ERASE)).toBe(true);
  expect(last).not.toContain("\n");
  await progress.stop();
  expect(text()).toBe(last);
});

test("P3: a reason that is longer than the terminal is wide is shown whole, and erased whole", async ({
  plane,
}) => {
  const { io, shows, text } = terminal();
  const refusal =
    "no machine is created for now (all), since the latest attempt failed: the provider answered 403: no";
  plane.why.reason.text = refusal;
  const progress = watchProgress(io, clientOf(plane), "r1");
  await shows(/403: no \(\d+m?s\)$/);
  const [, drawn = ""] = text().split(ERASE);
  expect(drawn.replaceAll("\n", " ")).toMatch(new RegExp(`^${refusal.replace(/[()]/g, "\\$&")} \\(`));
  const lines = drawn.split("\n");
  for (const line of lines) expect(line.length).toBeLessThan(40);
  const before = text().length;
  await progress.stop();
  const above = "\u001b[1A\u001b[2K";
  expect(text().endsWith(`${ERASE}${above.repeat(lines.length - 1)}`)).toBe(true);
  expect(text().length).toBeGreaterThan(before);
});

test("what is over before anybody could read it is not shown, and nothing is asked", async ({ plane }) => {
  const { io, text } = terminal();
  const progress = watchProgress(io, clientOf(plane), "r1");
  await progress.stop();
  expect(text()).toBe("");
  expect(plane.seen).toEqual([]);
});

test("a server that does not answer is what is waited for", async ({ plane }) => {
  const { io, shows } = terminal();
  plane.on("GET", /why$/, (_seen, res) => res.destroy());
  const progress = watchProgress(io, clientOf(plane), "r1");
  await shows(/no answer from/);
  await progress.stop();
});

test("a run that is not there yet is waited for without words of an error", async ({ plane }) => {
  const { io, shows } = terminal();
  plane.on("GET", /why$/, (_seen, res) => problem(res, 404, "unknown_run"));
  const progress = watchProgress(io, clientOf(plane), "r1");
  await shows(/it is not accepted yet \(\d+m?s\)$/);
  await progress.stop();
});

test("P13: without a terminal one line says what a long wait is for, and one each other reason", async ({
  plane,
}) => {
  const { io, shows, text } = pipe();
  plane.why = { state: "pending", reason: { code: "hold_off", text: "the cloud refuses, try 1" } };
  const progress = watchProgress(io, clientOf(plane), "r1");
  await shows(/Run r1 waits: the cloud refuses, try 1\n$/);
  // A number that counts is no other reason: the next line is about something else.
  plane.why.reason.text = "the cloud refuses, try 2";
  const looks = plane.seen.length;
  await plane.requests("GET", /why$/, looks + 2);
  plane.why.reason.text = "a machine is booting";
  await shows(/a machine is booting\n$/);
  plane.why = { state: "running", reason: { code: "running", text: "its command is running" } };
  await shows(/running\n$/);
  expect(text().split("\n")).toEqual([
    "Run r1 waits: the cloud refuses, try 1",
    "Run r1 waits: a machine is booting",
    "Run r1: its command is running",
    "",
  ]);
  await progress.stop();
});

test("P13: a server that does not answer is said without a terminal, too", async ({ plane }) => {
  const { io, shows } = pipe();
  plane.on("GET", /why$/, (_seen, res) => res.destroy());
  const progress = watchProgress(io, clientOf(plane), "r1");
  await shows(/Run r1 waits: no answer from .*; trying again\n$/);
  await progress.stop();
});
