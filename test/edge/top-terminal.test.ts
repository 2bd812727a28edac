import { execFile, spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import {
  drover,
  endDrover,
  makeHome,
  poolConfigOf,
  type RunningDrover,
  startDrover,
} from "./support/drover.ts";

// `drover top` in a real terminal, and the session that `drover ui` starts (cli.md#top, cli.md#ui).

const run = promisify(execFile);
const hasTmux = spawnSync("tmux", ["-V"]).status === 0;
if (!hasTmux) process.stderr.write("top-terminal.test.ts is skipped in part: it needs tmux\n");

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("top");
  up = await startDrover(home);
  // An error that nobody catches, when it is wanted.
  writeFileSync(
    join(home, "crash.mjs"),
    'process.on("SIGUSR2", () => { throw new Error("planted by the test"); });\n',
  );
  // One machine has room for one of the two.
  await up.json(200, "PUT", "/v1/pools/default", { ...(await poolConfigOf(up)), maxInstances: 1 });
  const half = { argv: ["sh", "-c", "exec sleep 1000"], resources: { vcpus: 3 } };
  await up.json(201, "POST", "/v1/runs", { id: "on", ...half });
  await up.json(200, "GET", "/v1/runs/on?wait=30s&state=running");
  await up.json(201, "POST", "/v1/runs", { id: "beyond", ...half });
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

/** `drover top` in a terminal of this size, below a line that was there before. */
async function top(name: string, [columns, rows]: [number, number], flags = "--interval 1s") {
  const tmux = (...more: string[]) => run("tmux", ["-S", join(home, name), "-f", "/dev/null", ...more]);
  const node = `${process.execPath} --import ${join(home, "crash.mjs")}`;
  const command = `${node} ${join(import.meta.dirname, "../../bin/drover.mjs")} top ${flags}`;
  const pid = join(home, `${name}.pid`);
  const inIt = `echo $$ >${pid}; exec ${command}`;
  const shell = `echo before; sh -c '${inIt}'; echo "left with $?"; stty -a; sleep 1000`;
  const where = ["-c", home, "-e", `DROVER_STATE=${up.stateDir}`, "-e", "CI="];
  await tmux("new-session", "-d", "-x", String(columns), "-y", String(rows), ...where, shell);
  const screen = async () => (await tmux("capture-pane", "-p")).stdout;
  const shows = (what: string, text: RegExp) =>
    until(what, async () => text.exec(await screen()) ?? undefined, screen);
  return {
    screen,
    shows,
    keys: (...keys: string[]) => tmux("send-keys", ...keys),
    resize: (x: number, y: number) => tmux("resize-window", "-x", String(x), "-y", String(y)),
    signal: (signal: string) => run("sh", ["-c", `kill -${signal} $(cat ${pid})`]),
    /** Waits until it has left, and checks that the terminal is as it was before. */
    async isBack(code: number) {
      const all = async () => (await tmux("capture-pane", "-p", "-S", "-")).stdout;
      const end = new RegExp(`left with ${code}\\b[\\s\\S]*lnext`);
      await until("the end", async () => end.test(await all()) || undefined, all);
      const text = await all();
      expect(text).toMatch(/^before$/m);
      expect(text).not.toMatch(/q quit/);
      expect(text).toMatch(/\bicanon\b/);
      expect(text).not.toMatch(/-icanon|-echo\b/);
      const { stdout } = await tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}");
      expect(stdout.trim()).toBe("0 1 1");
    },
    end: () => tmux("kill-server"),
  };
}

describe.skipIf(!hasTmux)("drover top", () => {
  test("shows what runs and why others wait, keeps that up to date, and leaves nothing behind", async () => {
    const one = await top("whole", [120, 40]);
    await one.shows("the run", /RUNNING \(1\).*\n {2}on +\d+\S* +\S+ +sh -c exec sleep 1000/);
    await one.shows("the reason", /PENDING \(1\).*\n {2}beyond +\S+ +1 +max_instances: /);
    await one.shows("the machine", /WORKERS \(1\)[^\n]*\n {2}\S+ +running +1 /);
    await up.json(201, "POST", "/v1/runs", { id: "more", argv: ["true"], resources: { vcpus: 3 } });
    await one.shows("the new run", /PENDING \(2\)[\s\S]*\n {2}more +\S+ +2 /);
    await up.json(200, "POST", "/v1/runs/more/abort", {});
    await one.shows("its end", /PENDING \(1\)/);
    await one.keys("j", "j");
    await one.shows("the choice", /^> beyond/m);
    await one.keys("Enter");
    await one.shows("why", /Run +beyond\n[\s\S]*Why [\s\S]*\(max_instances\)/);
    await one.keys("Enter");
    await one.shows("the lists", /^> beyond/m);
    await one.keys("q");
    await one.isBack(0);
    await one.end();
  });

  test("fits a small screen, and follows its size", async () => {
    const one = await top("small", [60, 10]);
    await one.shows("both lists", /RUNNING \(1\)[\s\S]*PENDING \(1\)[\s\S]*q quit/);
    expect((await one.screen()).split("\n")[0]).toMatch(/^Pool +default: 1 running/);
    await one.resize(100, 30);
    await one.shows("the machines, and the keys in the last line", /WORKERS \(1\)[\s\S]*\n{3,}q quit.*\n$/);
    await one.resize(60, 10);
    await one.shows("the keys in the last line", /^Pool (.*\n){9}q quit.*\n$/);
    await one.keys("C-c");
    await one.isBack(130);
    await one.end();
  });

  test.each([
    ["TERM", 143],
    ["INT", 130],
    ["HUP", 129],
    ["QUIT", 131],
  ])("gives the terminal back at SIG%s", async (signal, code) => {
    const one = await top(`sig${signal}`, [100, 30]);
    await one.shows("the picture", /q quit/);
    await one.signal(signal);
    await one.isBack(code);
    await one.end();
  });

  test("gives the terminal back when it crashes, and the error can be read", async () => {
    const one = await top("crash", [100, 40]);
    await one.shows("the picture", /q quit/);
    await one.signal("USR2");
    await one.shows("the error", /Error: planted by the test/);
    await one.isBack(1);
    await one.end();
  });
});

test("drover ui prints an address whose code starts one session, and no second one", async () => {
  const { code, stdout } = await drover(home, ["ui", "--no-open"], { HOME: home });
  const [, address = "", secret = ""] = /^(\S+\/ui)#code=(\S+)\n$/.exec(stdout.toString()) ?? [];
  expect([code, address]).toEqual([0, `${up.url}/ui`]);
  const signIn = () =>
    fetch(`${up.url}/ui/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: secret }),
    });
  const first = await signIn();
  expect(first.status).toBe(204);
  const cookie = first.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const runs = await fetch(`${up.url}/v1/runs`, { headers: { cookie, "sec-fetch-site": "same-origin" } });
  expect(runs.status).toBe(200);
  expect((await signIn()).status).toBe(401);
});
