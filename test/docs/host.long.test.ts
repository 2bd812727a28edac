import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeHome } from "../edge/support/drover.ts";
import type { Json } from "../edge/support/edge.ts";
import { endOf } from "../edge/support/ends.ts";
import { OWN_POOL } from "../edge/support/http-host.ts";
import { type Server, startServer } from "../edge/support/server.ts";
import { until } from "../local/support/scratch.ts";
import { openProxy, type Way } from "./support/proxy.ts";

// docs/recipes/host.sh is a host (host-protocol.md#report): here it joins a real Drover, runs what is
// placed on it, and is let go again. What it starts are real processes.

const SCRIPT = join(import.meta.dirname, "../../docs/recipes/host.sh");
/** Where the host keeps what it knows: a name that a shell could misread. */
const STATE = "host's state";

let server: Server;
let home = "";
let worker = "";
let host: Host;
beforeAll(async () => {
  server = await startServer();
  home = makeHome("recipe-host");
  await server.json(201, "PUT", "/v1/pools/own", { ...OWN_POOL, allowHostPaths: true });
  await joins();
});
afterAll(async () => {
  await host?.end();
  for (const pid of commandPids()) killGroup(pid);
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

interface Host {
  ended: Promise<number | null>;
  /** SIGKILL to the script, and to nothing that it has started. */
  end: () => Promise<number | null>;
}

/** Where a host is: its directory, and the address at which it finds its Drover. */
interface Place {
  home: string;
  url: string;
}
const here = (): Place => ({ home, url: server.url });

/** Types the line of the recipe, in the directory in which its state is. */
function startHost(args: string[] = [], at = here()): Host {
  const child = spawn("sh", [SCRIPT, ...args], {
    cwd: at.home,
    env: { PATH: process.env.PATH, HOME: at.home, DROVER_URL: at.url, DROVER_HOST_DIR: STATE },
    stdio: ["ignore", "ignore", "inherit"],
    detached: true,
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const end = async () => {
    killGroup(child.pid);
    const code = await ended;
    // What it ran a moment ago ends after it, and has its lock until then.
    spawnSync("flock", ["--timeout", "20", join(at.home, STATE, "lock"), "true"]);
    return code;
  };
  return { ended, end };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Lets this machine join. */
async function joins(): Promise<void> {
  ({ worker, host } = await joinsPool("own", here()));
}

async function joinsPool(pool: string, at: Place): Promise<{ worker: string; host: Host }> {
  const { worker, code } = await server.json(201, "POST", "/v1/enrollments", { pool });
  const host = startHost([code], at);
  await until("it is ready", async () => (await workerNow(worker)).state === "idle" || undefined);
  return { worker, host };
}

const workerNow = (id = worker): Promise<Json> => server.json(200, "GET", `/v1/workers/${id}`);
const isIn = (id: string, state: string) =>
  until(`${id} is ${state}`, async () => {
    const run = await server.json(200, "GET", `/v1/runs/${id}`);
    return run.state === state ? run : undefined;
  });
const end = (id: string): Promise<Json> => endOf(server, id);
const submit = (id: string, spec: object): Promise<Json> =>
  server.json(201, "POST", "/v1/runs", { id, pool: "own", resources: { vcpus: 0 }, ...spec });
const logOf = async (id: string, stream: string): Promise<string> =>
  (await server.call("GET", `/v1/runs/${id}/logs/main/${stream}`)).text();
/** The process groups of commands that have written theirs down. */
function commandPids(): number[] {
  const file = join(home, "pids");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map(Number) : [];
}
const isAlive = (pid: number) => existsSync(`/proc/${pid}`);
/** Says which process it is, then does not end by itself. */
const stays = (more = "") => ["sh", "-c", `echo $$ >>'${home}/pids'; echo begun; ${more}exec sleep 600`];

/** Both hosts are busy side by side, each with one thing after another where that matters. */
const AFTER_ANOTHER = { concurrent: false };

describe.concurrent("on a way without disturbances", () => {
  test.concurrent("it runs commands as submitted, and reports ends and all output", async () => {
    const argument = 'a\'b "c" \\ \\n \n\t \u001b[1m ,"] ä…';
    const env = { QUOTED: 'it\'s "q" \\ :","', EMPTY: "" };
    const script = 'printf "%s|%s|%s" "$QUOTED" "$EMPTY" "$1"; seq 1 300000 >&2; exit 3';
    // 126 instead of 127 where the path leads through a directory that this user may not enter.
    const notThere = spawnSync("sh", ["-c", "exec no-such-command"]).status;
    const commands: [id: string, spec: object, expected: object][] = [
      ["said", { argv: ["sh", "-c", script, "sh", argument], env }, { exitCode: 3, signal: null }],
      ["well", { argv: ["true"], dir: "." }, { exitCode: 0 }],
      ["by-signal", { argv: ["sh", "-c", "kill -KILL $$"] }, { signal: "SIGKILL" }],
      ["leaves-something", { argv: ["sh", "-c", "sleep 600 & exit 4"] }, { exitCode: 4 }],
      ["not-there", { argv: ["no-such-command"] }, { exitCode: notThere }],
    ];
    const runs = commands.map(([id, spec]) => ({ id, pool: "own", resources: { vcpus: 0 }, ...spec }));
    await server.json(201, "POST", "/v1/runs", { runs });
    for (const [id, , expected] of commands) {
      expect(await end(id), id).toMatchObject({ state: "complete", placements: [{ worker }], ...expected });
    }
    expect(await logOf("said", "stdout")).toBe(`${env.QUOTED}||${argument}`);
    const numbers = Array.from({ length: 300_000 }, (_, i) => `${i + 1}\n`).join("");
    expect((await logOf("said", "stderr")) === numbers).toBe(true);
  });

  test.concurrent("P2: a command has the umask of its order, or the usual one", async () => {
    const cases = [
      ["usual", { env: { umask: "0" } }, "0022"],
      ["own", { umask: "027" }, "0027"],
    ] as const;
    for (const [id, more] of cases) await submit(id, { argv: ["sh", "-c", "umask"], ...more });
    for (const [id, , mask] of cases) {
      expect(await end(id)).toMatchObject({ state: "complete", exitCode: 0 });
      expect(await logOf(id, "stdout")).toBe(`${mask}\n`);
    }
  });

  test.concurrent("a command runs where its task says, whatever its variables are called", async () => {
    const odd = join(home, 'it\'s "here" \\ &');
    mkdirSync(odd);
    const argv = ["sh", "-c", 'pwd; printf "%s" "$dir"'];
    const env = { dir: "/" };
    const cases = [
      ["somewhere", { dir: odd, env, meta: env }, `${odd}\n/`],
      ["nowhere", { env, meta: env }, `${join(home, STATE)}/jobs/nowhere/main/1.1/dir\n/`],
    ] as const;
    for (const [id, more] of cases) await submit(id, { argv, ...more });
    for (const [id, , printed] of cases) {
      expect(await end(id)).toMatchObject({ state: "complete", exitCode: 0 });
      expect(await logOf(id, "stdout")).toBe(printed);
    }
  });

  test.concurrent("an abort stops it: by its signal, or when the kill timeout is over", async () => {
    await submit("polite", { argv: stays() });
    await submit("deaf", { argv: stays("trap '' TERM; "), killTimeout: "1s" });
    await Promise.all([isIn("polite", "running"), isIn("deaf", "running")]);
    const [polite = 0, deaf = 0] = await until("both have begun", () =>
      commandPids().length === 2 ? commandPids() : undefined,
    );
    const ids = ["polite", "deaf"];
    await Promise.all(ids.map((id) => server.json(200, "POST", `/v1/runs/${id}/abort`)));
    for (const id of ids) {
      expect(await end(id)).toMatchObject({ state: "aborted" });
      expect(await logOf(id, "stdout")).toBe("begun\n");
    }
    expect([isAlive(polite), isAlive(deaf)]).toEqual([false, false]);
  });

  test("a command that always has more to send hears of an abort all the same", AFTER_ANOTHER, async () => {
    const ahead = "$(($(wc -c <../stdout) - $(cat ../stdout.stored 2>/dev/null || echo 0)))";
    const more = `[ ${ahead} -gt 3000000 ] && sleep 0.01 || head -c 1048576 /dev/zero`;
    await submit("talks", { argv: ["sh", "-c", `while :; do ${more}; done`], killTimeout: "1s" });
    const stored = join(home, STATE, "jobs/talks/main/1.1/stdout.stored");
    await until("some of it is stored", () => existsSync(stored) || undefined);
    await server.json(200, "POST", "/v1/runs/talks/abort");
    expect(await end("talks")).toMatchObject({ state: "aborted" });
  });

  test(
    "started anew it goes on with what runs, and starts nothing twice; a drain waits for that",
    AFTER_ANOTHER,
    async () => {
      const script = `echo $$ >>'${home}/pids'; until [ -e '${home}/enough' ]; do sleep 0.1; done; exit 5`;
      await submit("goes-on", { argv: ["sh", "-c", script] });
      await isIn("goes-on", "running");
      const begun = commandPids().length;
      const { incarnation } = await workerNow();
      await host.end();
      host = startHost();
      await until(
        "it has joined again",
        async () => (await workerNow()).incarnation > incarnation || undefined,
      );
      expect((await server.json(200, "POST", `/v1/workers/${worker}/drain`)).state).toBe("running");
      writeFileSync(join(home, "enough"), "");
      expect(await end("goes-on")).toMatchObject({
        state: "complete",
        exitCode: 5,
        placements: [{ worker }],
      });
      expect(commandPids().length).toBe(begun);
      expect(await host.ended).toBe(0);
      expect((await workerNow()).state).toBe("gone");
    },
  );

  test(
    "a kill ends it with all that it runs; by a new code the machine becomes another worker",
    AFTER_ANOTHER,
    async () => {
      const before = worker;
      rmSync(join(home, STATE, "worker"));
      await joins();
      expect(worker).not.toBe(before);
      await submit("killed", { argv: stays() });
      await isIn("killed", "running");
      await server.json(200, "POST", `/v1/workers/${worker}/kill`, { reason: "test" });
      expect(await end("killed")).toMatchObject({ state: "unknown", failure: { code: "machine_lost" } });
      expect(await host.ended).toBe(0);
      expect(isAlive(commandPids().at(-1) ?? 0)).toBe(false);
    },
  );
});

describe.concurrent("on a way that can be disturbed", () => {
  let way: Way;
  let place: Place;
  let other: Host;
  beforeAll(async () => {
    way = await openProxy(() => server.url);
    place = { home: makeHome("recipe-host-far"), url: way.url };
    way.secret = () => readFileSync(join(place.home, STATE, "secret"), "utf8").trim();
    await server.json(201, "PUT", "/v1/pools/far", OWN_POOL);
    ({ host: other } = await joinsPool("far", place));
  });
  afterAll(async () => {
    await other?.end();
    for (const id of ["unheard", "left"]) killGroup(pidOf(id));
    await way?.close();
    rmSync(place.home, { recursive: true, force: true });
  });

  /** The process group of a command that has written down its id. */
  function pidOf(id: string): number | undefined {
    const file = join(place.home, id);
    const text = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
    return text === "" ? undefined : Number(text);
  }
  /** Says which process it is, and always more on both streams. */
  async function talks(id: string): Promise<number> {
    const script = `echo $$ >'${join(place.home, id)}'; while echo more; do echo more >&2; sleep 0.1; done`;
    await submit(id, { pool: "far", argv: ["sh", "-c", script], killTimeout: "1s" });
    return until(`${id} has begun`, () => pidOf(id));
  }
  const isDead = (pid: number) => until(`${pid} is dead`, () => !isAlive(pid) || undefined);

  test("whatever JSON shortens arrives as it is", AFTER_ANOTHER, async () => {
    const argument = '\b\f\n\r\t"\\/\u000b\u007f';
    await submit("short", { pool: "far", argv: ["printf", "%s", argument] });
    expect(await end("short")).toMatchObject({ state: "complete", exitCode: 0 });
    expect(await logOf("short", "stdout")).toBe(argument);
  });

  test.each([
    ["no-bucket", 501, { title: "Not Implemented", status: 501, code: "no_bucket" }],
    ["unknown-attempt", 404, { title: "Not Found", status: 404, code: "unknown_attempt" }],
    ["not-one-byte-more", 200, { stored: 0 }],
  ])("output that nobody takes keeps no run from ending: %s", AFTER_ANOTHER, async (id, status, answer) => {
    way.trouble = (request) =>
      request.startsWith("PUT") ? { status, body: JSON.stringify(answer) } : undefined;
    await submit(id, { pool: "far", argv: ["sh", "-c", "echo hi; exit 3"] });
    expect(await end(id)).toMatchObject({ state: "complete", exitCode: 3 });
  });

  test(
    "an abort is heard while all output is lost, and the run ends when that arrives",
    AFTER_ANOTHER,
    async () => {
      way.trouble = (request) => (request.startsWith("PUT") ? "lost" : undefined);
      way.requests.length = 0;
      const pid = await talks("unheard");
      await isIn("unheard", "running");
      await server.json(200, "POST", "/v1/runs/unheard/abort");
      await isDead(pid);
      // Nobody is waited for twice before a report.
      expect(way.requests.join("\n")).not.toMatch(/^PUT.*\nPUT/m);
      expect(way.requests.join("\n")).toMatch(/^PUT/m);
      way.trouble = () => undefined;
      expect(await end("unheard")).toMatchObject({ state: "aborted" });
      expect(await logOf("unheard", "stderr")).toMatch(/^(more\n)+$/);
    },
  );

  test("what an earlier start has left runs on within its lease, and no longer", AFTER_ANOTHER, async () => {
    const pid = await talks("left");
    const lease = join(place.home, STATE, "lease");
    await isIn("left", "running");
    await other.end();
    way.requests.length = 0;
    const lost = () => way.requests.filter((request) => /join|reports/.test(request)).length;
    way.trouble = () => (lost() % 2 === 1 ? "lost" : undefined);
    other = startHost([], place);
    await until("a join and a report were lost, and a report arrived", () => lost() > 3 || undefined);
    expect(isAlive(pid)).toBe(true);
    await other.end();
    way.trouble = () => "lost";
    expect(Number(readFileSync(lease, "utf8")) * 1000).toBeGreaterThan(Date.now());
    writeFileSync(lease, `${Math.floor(Date.now() / 1000) + 59}\n`);
    other = startHost([], place);
    await isDead(pid);
  });
});
