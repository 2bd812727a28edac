import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../local/support/scratch.ts";
import {
  drover,
  endDrover,
  killIfThere,
  livingOf,
  makeHome,
  type RunningDrover,
  startDrover,
} from "./support/drover.ts";
import { endOf } from "./support/ends.ts";

// Failed runs that their machines keep for a look, through a real Drover and real agents (tasks.md#kept).

let home: string;
let up: RunningDrover;
beforeAll(async () => {
  home = makeHome("hold");
  up = await startDrover(home);
});
afterAll(async () => {
  await endDrover(home, up);
  rmSync(home, { recursive: true, force: true });
});

const statusOf = (id: string) => up.json(200, "GET", `/v1/runs/${id}`);
const exec = (run: string, script: string) => drover(home, ["exec", run, "--", "sh", "-c", script]);

/** A run that has failed with exit code 3, and that its machine keeps. */
async function kept(id: string, more: object = {}): Promise<string> {
  expect(await failed(id, more)).toMatchObject({ kept: { task: "main", releasing: false } });
  return id;
}

/** A run that has failed with exit code 3, and that its machine is to keep. */
async function failed(id: string, more: object = {}) {
  const argv = ["sh", "-c", "echo here >left; sleep 1000 & exit 3"];
  const spec = { id, argv, env: { COLOR: "blue" }, resources: { vcpus: 0 }, keep: "10m" };
  await up.json(201, "POST", "/v1/runs", { ...spec, ...more });
  const run = await endOf(up, id);
  expect(run).toMatchObject({ state: "complete", exitCode: 3 });
  return run;
}

/** The directory of a placement, on this laptop. */
async function dirOf(id: string): Promise<string> {
  return (await exec(id, "pwd")).stdout.toString().trim();
}

/** The pid of the agent on the machine of a run, as its lock says. */
async function agentOf(run: string): Promise<number> {
  const { placements } = await statusOf(run);
  const { instance } = await up.json(200, "GET", `/v1/workers/${placements[0].worker}`);
  const lock = join(up.stateDir, "instances", instance, "agent", "agent.lock");
  return Number(/\d+/.exec(readFileSync(lock, "utf8"))?.[0]);
}

const isFree = async (id: string) => (await statusOf(id)).kept === undefined || undefined;

describe("a kept run", () => {
  test("is entered as it was: its files, variables and marks, and no process of its own", async () => {
    await kept("inside");
    expect(livingOf(up, "inside")).toEqual([]);
    const { code, stdout } = await exec("inside", 'cat left; echo "$COLOR $DROVER_RUN_ID"; exit 7');
    expect([code, stdout.toString()]).toEqual([7, "here\nblue inside\n"]);
    const copied = await drover(home, ["cp", "inside:left", "copy"]);
    expect([copied.code, readFileSync(join(home, "copy"), "utf8")], copied.stderr).toEqual([0, "here\n"]);
  });

  test("of another user is entered as that user, who has its secrets", {
    skip: process.geteuid?.() !== 0,
  }, async () => {
    // The directories of this Drover are closed to other users.
    const argv = ["sh", "-c", "id -un; exit 3"];
    await up.json(200, "PUT", "/v1/secrets/its-key", { value: "battery-staple" });
    const secrets = { file: { secret: "its-key", as: "file" } };
    const tasks = [{ name: "main", argv, user: "nobody", dir: "/", secrets, restart: { attempts: 0 } }];
    await kept("as-nobody", { argv: undefined, tasks, reschedule: { attempts: 0 } });
    const { stdout, stderr } = await exec("as-nobody", "id -un; pwd");
    expect(stdout.toString(), stderr).toBe("nobody\n/\n");
    const again = await exec("as-nobody", 'cat "$DROVER_SECRETS_DIR/file"; ls -l "$DROVER_SECRETS_DIR"');
    expect(again.stdout.toString(), again.stderr).toMatch(/^battery-staple.* nobody /s);
  });

  test("of a group is entered where it failed first, or where one likes (tasks.md#kept-2)", async () => {
    const task = (name: string, script: string) => {
      return { name, argv: ["sh", "-c", `echo ${name} >left; ${script}`], restart: { attempts: 0 } };
    };
    // The failure of one stops the other, which is to have written something by then.
    const on = "$DROVER_ALLOC_DIR/data/on";
    const tasks = [
      task("web", `: >"${on}"; exec sleep 1000`),
      task("db", `until [ -e "${on}" ]; do sleep 0.05; done; exit 3`),
      task("good", "exit 0"),
    ];
    const spec = { argv: undefined, tasks, reschedule: { attempts: 0 }, env: {} };
    await up.json(201, "POST", "/v1/runs", { id: "group", keep: "10m", resources: { vcpus: 0 }, ...spec });
    const run = await endOf(up, "group");
    expect(run).toMatchObject({ state: "failed", kept: { task: "db" } });
    expect((await exec("group", "cat left")).stdout.toString()).toBe("db\n");
    const other = await drover(home, ["exec", "--task", "web", "group", "--", "cat", "left"]);
    expect(other.stdout.toString(), other.stderr).toBe("web\n");
    expect((await drover(home, ["release", "group"])).code).toBe(0);
  });

  test("has its secrets there, too, until it is released", async () => {
    await up.json(200, "PUT", "/v1/secrets/key", { value: "correct-horse" });
    const secrets = { KEY: { secret: "key", as: "env" }, file: { secret: "key", as: "file" } };
    await kept("secrets", { secrets });
    const script = 'echo "$KEY"; cat "$DROVER_SECRETS_DIR/file"; echo; echo "$DROVER_SECRETS_DIR"';
    const [value, file, dir = ""] = (await exec("secrets", script)).stdout.toString().split("\n");
    expect([value, file, existsSync(dir)]).toEqual(["correct-horse", "correct-horse", true]);
    expect((await drover(home, ["release", "secrets"])).code).toBe(0);
    await until("the files of its secrets are gone", () => !existsSync(dir) || undefined);
  });

  test("is released: what runs there is killed, and its directory is deleted (tasks.md#kept-3)", async () => {
    await kept("released");
    const dir = await dirOf("released");
    const going = exec("released", `: >${join(home, "released.begun")}; sleep 1000`);
    await until("the command runs", () => existsSync(join(home, "released.begun")) || undefined);
    const { code, stdout } = await drover(home, ["release", "released"]);
    expect([code, stdout.toString()]).toEqual([0, "released is released\n"]);
    expect((await going).code).not.toBe(0);
    await until("nothing of it lives", () => livingOf(up, "released").length === 0 || undefined);
    await until("its directory is gone", () => !existsSync(dir) || undefined);
    const again = await drover(home, ["release", "released"]);
    expect([again.code, again.stdout.toString()]).toEqual([0, "released was not kept\n"]);
    const refused = await exec("released", "true");
    expect([refused.code, refused.stderr]).toEqual([125, expect.stringContaining("the run has ended")]);
  });

  test("is let go when its time is over, and when it is deleted", async () => {
    // On a slow machine the second may be over before anybody sees the run kept.
    await failed("short", { keep: "1s" });
    const released = async () => {
      const { items } = await up.json(200, "GET", "/v1/runs/short/events");
      return items.find(({ type }: { type: string }) => type === "Released");
    };
    const { message } = await until("it is let go", released);
    expect(message).toContain("its time is over");
    expect(await isFree("short")).toBe(true);
    await kept("deleted");
    expect((await up.call("DELETE", "/v1/runs/deleted")).status).toBe(204);
    expect((await up.call("GET", "/v1/runs/deleted")).status).toBe(410);
  });

  test("its machine says why it is not idle", async () => {
    await kept("said");
    const { kept: held } = await statusOf("said");
    const why = await up.json(200, "GET", `/v1/workers/${held.worker}/why`);
    expect(why.next.action).toMatch(/keep run said until .*: drover release said/);
    const { runs, kept: on } = await up.json(200, "GET", `/v1/workers/${held.worker}`);
    expect([runs, on]).toEqual([
      expect.arrayContaining(["said"]),
      expect.arrayContaining([{ run: "said", until: held.until }]),
    ]);
    const shown = await drover(home, ["workers", held.worker]);
    expect(shown.stdout.toString()).toMatch(/^Kept +.*said until \S+ \(drover release said ends it\)/m);
    expect((await drover(home, ["workers"])).stdout.toString()).toMatch(/ \d+ \(\d+ kept\) /);
    expect((await drover(home, ["ps"])).stdout.toString()).toMatch(/^said +complete \(kept\) +3 /m);
    expect((await drover(home, ["status", "said"])).stdout.toString()).toMatch(
      /^Kept +on worker \S+ until \S+ \(9m\d+s\); drover release said ends it$/m,
    );
  });
});

test("a run that has not ended, or is not there, is not released", async () => {
  await up.json(201, "POST", "/v1/runs", { id: "alive", argv: ["sleep", "1000"], resources: { vcpus: 0 } });
  const alive = await drover(home, ["release", "alive"]);
  expect([alive.code, alive.stderr]).toEqual([125, expect.stringMatching(/nothing of it is kept.*abort/)]);
  const none = await drover(home, ["release", "nobody"]);
  expect([none.code, none.stderr]).toEqual([125, expect.stringContaining('no run "nobody"')]);
  await up.json(200, "POST", "/v1/runs/alive/abort?wait=30s", {});
});

describe("after SIGKILL (tasks.md#kept-5)", () => {
  test("of the agent, the run is still kept, and what runs there goes on", async () => {
    await kept("agent-dies");
    const begun = join(home, "agent.begun");
    const going = exec(
      "agent-dies",
      `: >${begun}; while [ ! -e ${begun}.go ]; do sleep 0.05; done; cat left`,
    );
    await until("the command runs", () => existsSync(begun) || undefined);
    const agent = await agentOf("agent-dies");
    killIfThere(agent);
    // While its lock is taken over, none may be there.
    const agentNow = () => agentOf("agent-dies").catch(() => agent);
    await until("another agent is there", async () => (await agentNow()) !== agent || undefined);
    writeFileSync(`${begun}.go`, "");
    const { code, stdout, stderr } = await going;
    expect([code, stdout.toString()], stderr).toEqual([0, "here\n"]);
    expect((await exec("agent-dies", "cat left")).stdout.toString()).toBe("here\n");
    expect((await drover(home, ["release", "agent-dies"])).code).toBe(0);
  });

  test("of the control plane, the run is still kept, and its time is not over later", async () => {
    await kept("plane-dies");
    const { kept: before } = await statusOf("plane-dies");
    killIfThere(-up.pid);
    await up.ended;
    up = await startDrover(home);
    expect((await statusOf("plane-dies")).kept).toEqual(before);
    expect((await exec("plane-dies", "cat left")).stdout.toString()).toBe("here\n");
    expect((await drover(home, ["release", "plane-dies"])).code).toBe(0);
  });

  test("of both, a run whose time is over meanwhile is let go", async () => {
    await kept("both-die", { keep: "30s" });
    const { kept: held } = await statusOf("both-die");
    const dir = await dirOf("both-die");
    killIfThere(await agentOf("both-die"));
    killIfThere(-up.pid);
    await up.ended;
    await until("its time is over", () => Date.now() > Date.parse(held.until) || undefined);
    up = await startDrover(home);
    await until("it is let go", () => isFree("both-die"));
    await until("its directory is gone", () => !existsSync(dir) || undefined);
  });
});

test("a kill of its machine ends it", async () => {
  await kept("killed");
  const { kept: held } = await statusOf("killed");
  await up.json(200, "POST", `/v1/workers/${held.worker}/kill`, { force: true });
  await until("it is let go", () => isFree("killed"));
  expect((await statusOf("killed")).exitCode).toBe(3);
});
