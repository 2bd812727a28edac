import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import { endDrover, killIfThere, makeHome, type RunningDrover, startDrover } from "./support/drover.ts";

// `drover exec -it` in a real terminal: full-screen programs, its size, its keys (tunnels.md#terminal).

const run = promisify(execFile);
const hasAll = ["tmux", "vi", "top"].every((name) => spawnSync("which", [name]).status === 0);
if (!hasAll) process.stderr.write("tunnel-terminal.test.ts is skipped: it needs tmux, vi and top\n");

let home: string;
/** The terminal of the present test, by the name of its socket. */
let terminal = "";
let up: RunningDrover;
beforeAll(async () => {
  if (!hasAll) return;
  home = makeHome("terminal");
  up = await startDrover(home);
});
afterAll(async () => {
  if (!hasAll) return;
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

/** A shell in a run, in a terminal of 100 × 30. */
async function openShell(id: string): Promise<void> {
  await up.json(201, "POST", "/v1/runs", { id, argv: ["sleep", "1000"], resources: { vcpus: 0 } });
  await up.json(200, "GET", `/v1/runs/${id}?wait=30s&state=running`);
  const command = `${process.execPath} ${join(import.meta.dirname, "../../bin/drover.mjs")}`;
  const shell = `${command} exec -it ${id} -- sh; echo "left with $?"; sleep 1000`;
  if (terminal !== "") await tmux("kill-server").catch(() => undefined);
  terminal = `tmux-${id}`;
  await tmux(
    "new-session",
    "-d",
    "-x",
    "100",
    "-y",
    "30",
    "-c",
    home,
    "-e",
    `DROVER_STATE=${up.stateDir}`,
    shell,
  );
  await shows("the prompt", /^[#$] ?$/m);
}

describe.skipIf(!hasAll)("drover exec -it", () => {
  test("gives the command a terminal, follows its size, and passes on its exit code", async () => {
    await openShell("size");
    await keys("stty size; tty", "Enter");
    await shows("the size", /^30 100\n\/dev\/pts/m);
    await tmux("resize-window", "-x", "120", "-y", "40");
    // The new size is on its way while keys are: so it is asked for until it is there.
    const asked = async () => {
      await keys("stty size", "Enter");
      return /^40 120/m.exec(await screen()) ?? undefined;
    };
    await until("the new size is there", asked, screen);
    await keys("exit 7", "Enter");
    await shows("the exit code", /left with 7/);
  });

  test("Ctrl-C reaches the program, and not the command", async () => {
    await openShell("keys");
    await keys("echo begun; sleep 500", "Enter");
    await shows("its beginning", /^begun$/m);
    await keys("C-c");
    await keys('echo "ended with $?"', "Enter");
    await shows("the shell goes on", /ended with 130/);
  });

  test("full-screen programs work: an editor, and a view that draws itself again", async () => {
    await openShell("screen");
    await keys(`vi ${join(home, "note")}`, "Enter");
    await shows("the editor", /^~/m);
    await keys("ihello from vi", "Escape", ":wq", "Enter");
    await until("the file is written", () => existsSync(join(home, "note")) || undefined);
    expect(readFileSync(join(home, "note"), "utf8")).toBe("hello from vi\n");
    await keys("top", "Enter");
    await shows("the view", /PID +USER/);
    await keys("q");
    await keys("echo back", "Enter");
    await shows("the prompt again", /(^|# )back$/m);
  });

  test("a dropped connection resumes: the shell is the same one afterwards", async () => {
    await openShell("again");
    await keys("MARK=kept", "Enter");
    killIfThere(-up.pid);
    await up.ended;
    up = await startDrover(home);
    await keys('echo "mark is $MARK"', "Enter");
    await shows("what the shell remembers", /mark is kept/);
  });

  test("leaves the terminal as it was", async () => {
    await openShell("tidy");
    await keys("exit", "Enter");
    await shows("its end", /left with 0/);
    const { stdout } = await tmux("display-message", "-p", "#{pane_tty}");
    const { stdout: modes } = await run("stty", ["-F", stdout.trim(), "-a"]);
    expect(modes).toMatch(/ icanon/);
    expect(modes).toMatch(/ echo /);
  });
});
