import { afterEach, beforeEach, expect, test } from "vitest";
import type { Io } from "../../cli/io.ts";
import { watchProgress } from "../../cli/progress.ts";
import { createClient } from "../../client/client.ts";
import { ControlPlane, problem, statusOf, TOKEN } from "./support/control-plane.ts";

let plane: ControlPlane;
beforeEach(async () => {
  plane = await new ControlPlane().start();
  plane.runs.set("r1", statusOf("r1"));
});
afterEach(() => plane.stop());

const ERASE = "\r\u001b[K";

/** A terminal of 40 columns that remembers what was written to it. */
function terminal() {
  let text = "";
  let heard = () => {};
  const sink = {
    isTerminal: true,
    color: false,
    columns: () => 40,
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

const client = () => createClient({ url: plane.url, token: TOKEN });

test("a terminal shows on one line what is waited for, kept up to date, and erases it", async () => {
  const { io, shows, text } = terminal();
  plane.why.reason.text = "one machine is booting";
  const progress = watchProgress(io, client(), "r1");
  await shows(/one machine is booting \(\d+m?s\)$/);
  plane.why.reason.text = "the machine is ready, and this text is longer than the line\nis";
  await shows(/the machine is ready, and this/);
  await progress.stop();
  const last = text();
  expect(last.endsWith(ERASE)).toBe(true);
  expect(last).not.toContain("\n");
  for (const drawn of last.split(ERASE)) expect(drawn.length).toBeLessThan(40);
  await progress.stop();
  expect(text()).toBe(last);
});

test("what is over before anybody could read it is not shown, and nothing is asked", async () => {
  const { io, text } = terminal();
  const progress = watchProgress(io, client(), "r1");
  await progress.stop();
  expect(text()).toBe("");
  expect(plane.seen).toEqual([]);
});

test("a server that does not answer is what is waited for", async () => {
  const { io, shows } = terminal();
  plane.on("GET", /why$/, (_seen, res) => res.destroy());
  const progress = watchProgress(io, client(), "r1");
  await shows(/no answer from/);
  await progress.stop();
});

test("a run that is not there yet is waited for without words of an error", async () => {
  const { io, shows } = terminal();
  plane.on("GET", /why$/, (_seen, res) => problem(res, 404, "unknown_run"));
  const progress = watchProgress(io, client(), "r1");
  await shows(/it is not accepted yet \(\d+m?s\)$/);
  await progress.stop();
});
