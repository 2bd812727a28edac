import { execFile, spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import { endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";

// Ctrl-C in `drover run` and `drover attach`, in a real terminal (decisions/command.md#interrupts).

const run = promisify(execFile);
const hasTmux = spawnSync("tmux", ["-V"]).status === 0;
if (!hasTmux) process.stderr.write("interrupt-terminal.test.ts is skipped: it needs tmux\n");

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  if (!hasTmux) return;
  home = makeHome("interrupt");
  up = await startDrover(home);
});
afterAll(async () => {
  if (!hasTmux) return;
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** A terminal in which a command runs. */
async function terminal(name: string, words: string) {
  const tmux = (...more: string[]) => run("tmux", ["-S", join(home, name), "-f", "/dev/null", ...more]);
  const command = `${process.execPath} ${join(import.meta.dirname, "../../bin/drover.mjs")} ${words}`;
  const shell = `${command}; echo "left with $?"; sleep 1000`;
  // A person sits at it, also if these tests run in CI.
  const where = ["-c", home, "-e", `DROVER_STATE=${up.stateDir}`, "-e", "CI="];
  await tmux("new-session", "-d", "-x", "120", "-y", "30", ...where, shell);
  const screen = async () => (await tmux("capture-pane", "-p")).stdout;
  return {
    keys: (...keys: string[]) => tmux("send-keys", ...keys),
    shows: (what: string, text: RegExp) =>
      until(what, async () => text.exec(await screen()) ?? undefined, screen),
    end: () => tmux("kill-server"),
  };
}

const stateOf = async (id: string) => (await up.json(200, "GET", `/v1/runs/${id}`)).state;
const running = (id: string) => `run --cpus 0 --id ${id} -- sh -c 'echo on; exec sleep 1000'`;

describe.skipIf(!hasTmux)("Ctrl-C on a terminal", () => {
  test("asks; Enter goes on, and the next one asks again", async () => {
    const one = await terminal("goes-on", running("goes-on"));
    await one.shows("output", /^on$/m);
    await one.keys("C-c");
    await one.shows("the question", /go on, abort it, or detach\?/);
    await one.keys("Enter");
    await until("it still runs", async () => (await stateOf("goes-on")) === "running" || undefined);
    await new Promise((later) => setTimeout(later, 600)); // presses within half a second are one
    await one.keys("C-c");
    await one.shows("the second question", /detach\?[\s\S]*detach\?/);
    await one.keys("a", "Enter");
    await one.shows("its end", /left with 130/);
    await until("it is aborted", async () => (await stateOf("goes-on")) === "aborted" || undefined);
    await one.end();
  });

  test("detaches, and drover attach comes back, where it asks, too", async () => {
    const one = await terminal("leaves", running("leaves"));
    await one.shows("output", /^on$/m);
    await one.keys("C-c");
    await one.shows("the question", /detach\?/);
    await one.keys("d", "Enter");
    await one.shows("how to come back", /drover attach leaves/);
    await one.shows("the end of the command", /left with 130/);
    await one.end();
    const two = await terminal("returns", "attach leaves");
    await two.shows("all of the output", /^on$/m);
    await two.keys("C-c");
    await two.shows("the question", /detach\?/);
    await two.keys("C-c");
    await two.shows("the end of the run", /left with 130/);
    await until("it is aborted", async () => (await stateOf("leaves")) === "aborted" || undefined);
    await two.end();
  });

  test("does not ask if the answer was given in advance", async () => {
    const one = await terminal("told", `run --on-interrupt detach ${running("told").slice(4)}`);
    await one.shows("output", /^on$/m);
    await one.keys("C-c");
    await one.shows("the end of the command", /left with 130/);
    await until("it still runs", async () => (await stateOf("told")) === "running" || undefined);
    await one.end();
  });
});
