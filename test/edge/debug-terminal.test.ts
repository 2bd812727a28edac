import { execFile, spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import { drover, endDrover, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";

// `drover debug` in a real terminal: a run that fails again, a shell there, and a question (cli.md#debug).

const run = promisify(execFile);
const hasTmux = spawnSync("which", ["tmux"]).status === 0;
if (!hasTmux) process.stderr.write("debug-terminal.test.ts is skipped: it needs tmux\n");

let home: string;
/** The terminal of the present test, by the name of its socket. */
let terminal = "";
let up: RunningDrover;
beforeAll(async () => {
  if (!hasTmux) return;
  home = makeHome("debug");
  up = await startDrover(home);
});
afterAll(async () => {
  if (!hasTmux) return;
  await tmux("kill-server").catch(() => undefined);
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** Its socket is in the checkout, as everything else of a test. A server that ends takes no new session. */
const tmux = (...words: string[]) => run("tmux", ["-S", join(home, terminal), "-f", "/dev/null", ...words]);
const keys = (...words: string[]) => tmux("send-keys", ...words);
const screen = async () => (await tmux("capture-pane", "-p")).stdout;
const shows = (what: string, text: RegExp) =>
  until(what, async () => text.exec(await screen()) ?? undefined, screen);

const LOOKS = ["sh", "-c", "echo it looks; test -e fixed || { echo trace >dump; exit 3; }"];

/** A run that fails as long as there is no file `fixed` in its directory. */
async function failed(id: string, more: object = {}): Promise<void> {
  const spec = { id, argv: LOOKS, dir: home, resources: { vcpus: 0 }, ...more };
  await up.json(201, "POST", "/v1/runs", spec);
  const { exitCode } = await up.json(200, "GET", `/v1/runs/${id}?wait=30s&state=done`);
  expect(exitCode).toBe(3);
}

/** `drover debug` with these words, in a terminal of 120 × 40. */
async function debug(name: string, words: string): Promise<void> {
  const command = `${process.execPath} ${join(import.meta.dirname, "../../bin/drover.mjs")}`;
  const script = `${command} debug ${words}; echo "left with $?"; sleep 1000`;
  if (terminal !== "") await tmux("kill-server").catch(() => undefined);
  terminal = `tmux-${name}`;
  const size = ["-x", "120", "-y", "40"];
  const env = ["-e", `DROVER_STATE=${up.stateDir}`, "-e", "CI="];
  await tmux("new-session", "-d", ...size, "-c", home, ...env, script);
}

/** The run that repeats a run, as the command says it. */
async function againOf(id: string): Promise<string> {
  const [, again = ""] = await shows("the new run", new RegExp(`Submits run ${id} again as (\\S+),`));
  return again;
}

const keptOf = async (id: string) => (await up.json(200, "GET", `/v1/runs/${id}`)).kept;

describe.skipIf(!hasTmux)("drover debug", () => {
  test("runs it again, opens a shell where it fails, and lets the machine go afterwards", async () => {
    rmSync(join(home, "fixed"), { force: true });
    await failed("breaks");
    await debug("breaks", "breaks");
    const again = await againOf("breaks");
    await shows("its output", /^it looks$/m);
    await shows("the shell", /A shell in run \S+ task main/);
    await keys("cat dump; exit 9", "Enter");
    await shows("what it has left", /^trace$/m);
    await shows("the question", /Release the machine of run \S+\? \[y\/n\]/);
    expect(await keptOf(again)).toBeDefined();
    await keys("Enter");
    await shows("its end", /is released\.\n(.*\n)*left with 0/);
    expect(await keptOf(again)).toBeUndefined();
    expect((await up.json(200, "GET", `/v1/runs/${again}`)).spec.rerunOf).toBe("breaks");
  });

  test("opens the shell in a run that is still kept, and keeps it for who wants that", async () => {
    rmSync(join(home, "fixed"), { force: true });
    await failed("held", { keep: "5m" });
    await debug("held", "held");
    await shows("the shell", /A shell in run held, task main\. It is kept on worker \S+ until/);
    expect(await screen()).not.toContain("Submits");
    await keys("exit", "Enter");
    await shows("the question", /Release the machine/);
    await keys("n", "Enter");
    await shows("how to end it", /drover release held ends it/);
    expect(await keptOf("held")).toBeDefined();
    expect((await drover(home, ["release", "held"])).code).toBe(0);
  });

  test("says so if the run ends well this time", async () => {
    rmSync(join(home, "fixed"), { force: true });
    await failed("mended");
    writeFileSync(join(home, "fixed"), "");
    await debug("mended", "--keep=1h mended");
    const again = await againOf("mended");
    await shows(
      "its end",
      /has ended well this time, so there is nothing to look into\.\n(.*\n)*left with 0/,
    );
    expect([await keptOf(again), existsSync(join(home, "fixed"))]).toEqual([undefined, true]);
  });

  test("refuses a run that has not ended, and says what to do", async () => {
    await up.json(201, "POST", "/v1/runs", { id: "alive", argv: ["sleep", "1000"], resources: { vcpus: 0 } });
    await debug("alive", "alive");
    await shows("the reason", /Run alive has not ended(.*\n)*.*drover exec -it alive -- sh/);
    await shows("its code", /left with 125/);
  });

  test("needs a terminal", async () => {
    const { code, stderr } = await drover(home, ["debug", "breaks"]);
    expect([code, stderr]).toEqual([
      125,
      expect.stringMatching(/no terminal(.*\n)*.*drover rerun --keep breaks/),
    ]);
  });
});
