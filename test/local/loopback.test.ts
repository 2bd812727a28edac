import { existsSync, mkdirSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { makeCgroup } from "../../local/loopback/cgroup.ts";
import { LoopbackCloud } from "../../local/loopback/cloud.ts";
import { killInstancesBelow } from "../../local/loopback/marks.ts";
import { openMemoryDir } from "../../posix/memory-dir.ts";
import { CONSOLE_READ_BYTES } from "../../src/providers/provider.ts";
import { ConsoleText } from "../../src/schema/provider.ts";
import { creation, runs, startCloud } from "./support/cloud.ts";
import { until } from "./support/scratch.ts";

const FOREVER = "sleep 1000\n";

describe("the loopback cloud keeps the provider contract (host-protocol.md#provider-contract)", () => {
  it("boots an instance with the environment of a machine and nothing of ours", async () => {
    const { create, written, dir } = await startCloud();
    process.env.DROVER_TEST_LEAK = "ours";
    const { id } = await create("w1", "env | sort >env.txt; pwd >pwd.txt; sleep 1000\n");
    const home = join(dir, "instances", id);
    expect(await written(id, "pwd.txt")).toBe(home);
    const env = Object.fromEntries(
      (await written(id, "env.txt")).split("\n").map((line) => line.split(/=(.*)/s)),
    );
    expect(env).toMatchObject({
      HOME: home,
      LANG: "C.UTF-8",
      DROVER_INSTANCE: home,
      DROVER_STATE_DIR: join(home, "agent"),
      DROVER_RESOURCES: JSON.stringify(creation("w1", "").resources),
    });
    expect(env.DROVER_BOOT_ID).toMatch(/^[0-9a-f-]{36}$/);
    expect(env).not.toHaveProperty("DROVER_TEST_LEAK");
  });

  it("keeps what the machine prints, readable by its owner alone", async () => {
    const { create, written, dir } = await startCloud();
    const { id } = await create("w1", "echo booting; echo trouble >&2; sleep 1000\n");
    await until("both lines are there", async () => (await written(id, "console.log")).includes("trouble"));
    expect(statSync(join(dir, "instances", id, "user-data")).mode & 0o777).toBe(0o600);
  });

  it("shows the end of what the machine has printed, as long as it is there", async () => {
    const { create, call } = await startCloud();
    const { id } = await create("w1", "yes a line of text | head -n 10000; echo the end; sleep 1000\n");
    const shown = async () => ConsoleText.parse((await call("GET", `/instances/${id}/console`)).body);
    await until("all is printed", async () => (await shown()).text.endsWith("the end\n"));
    expect(await shown()).toMatchObject({ truncated: true });
    expect((await shown()).text).toHaveLength(CONSOLE_READ_BYTES);
    expect(await call("GET", "/instances/lo-nobody/console")).toMatchObject({ status: 404 });
  });

  it("gives the same instance for the same token, however often and at once", async () => {
    const { create, list } = await startCloud();
    const made = await Promise.all(["w1", "w1", "w2", "w1"].map((token) => create(token, FOREVER)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(2);
    expect(await list()).toHaveLength(2);
  });

  it("lists by tag, and replaces tags", async () => {
    const { create, list, call } = await startCloud();
    const { id } = await create("w1", FOREVER, { "drover-pool": "a:b", old: "1" });
    await create("w2", FOREVER, { "drover-pool": "other" });
    expect((await list("drover-pool:a:b")).map((instance) => instance.id)).toEqual([id]);
    expect(await list("drover-pool:nobody")).toEqual([]);
    expect(await call("PUT", `/instances/${id}/tags`, { tags: { new: "2" } })).toMatchObject({ status: 200 });
    expect(await list("old:1")).toEqual([]);
    expect((await list("new:2"))[0]).toMatchObject({ id, tags: { new: "2" }, state: "running" });
  });

  it("says terminated only when no process of it runs, and removes its directory", async () => {
    const { create, written, call, state, dir } = await startCloud();
    // A session of its own, its parent gone: what a daemon does.
    const { id } = await create("w1", "setsid sh -c 'sleep 1000 & echo $! >orphan.pid'\nsleep 1000\n");
    const orphan = Number(await written(id, "orphan.pid"));
    expect(runs(orphan)).toBe(true);
    expect((await call("DELETE", `/instances/${id}`)).status).toBe(200);
    await until("it is terminated", async () => {
      const now = await state(id);
      if (now === "terminated") return true;
      expect(now).toBe("stopping");
      return undefined;
    });
    expect(runs(orphan)).toBe(false);
    await until("its directory is gone", () => !existsSync(join(dir, "instances", id)));
    expect((await call("DELETE", `/instances/${id}`)).status).toBe(200);
  });

  it.each(["destroyed", "killed"])(
    "removes what a machine that is %s has left in memory of its secrets (secrets.md#files)",
    async (end) => {
      const { create, written, call, state, dir } = await startCloud();
      const { id } = await create("w1", "echo $$ >first.pid; sleep 1000\n");
      const first = Number(await written(id, "first.pid"));
      const link = join(dir, "instances", id, "agent", "secrets");
      mkdirSync(join(link, ".."), { recursive: true });
      const { path, onDisk } = openMemoryDir(link);
      onTestFinished(() => rmSync(path, { recursive: true, force: true }));
      expect(onDisk).toBe(false);
      // As an agent leaves them that is killed with its machine.
      mkdirSync(join(path, "build-17_main_1.1", "files"), { recursive: true });
      writeFileSync(join(path, "build-17_main_1.1", "files", "KEY"), "correct-horse", { mode: 0o400 });
      if (end === "killed") process.kill(first, "SIGKILL");
      else await call("DELETE", `/instances/${id}`);
      await until("it is terminated", async () => (await state(id)) === "terminated");
      expect(existsSync(path)).toBe(false);
    },
  );

  it("ends even what forgot its environment and its parents, where the machine has cgroups", async () => {
    const probe = makeCgroup("drover-test-probe");
    if (probe === undefined) return expect(probe).toBeUndefined();
    rmdirSync(probe);
    const { create, written, call, state } = await startCloud();
    const { id } = await create("w1", "env -i setsid sh -c 'sleep 1000 & echo $! >stray.pid'\nsleep 1000\n");
    const stray = Number(await written(id, "stray.pid"));
    expect(runs(stray)).toBe(true);
    await call("DELETE", `/instances/${id}`);
    await until("it is terminated", async () => (await state(id)) === "terminated");
    expect(runs(stray)).toBe(false);
    expect(existsSync(join(probe, `../drover-${id}`))).toBe(false);
  });

  it("takes a machine whose first process ended for one that was switched off: all of it ends", async () => {
    const { create, written, state } = await startCloud();
    const { id } = await create("w1", "sleep 1000 & echo $! >left.pid\n");
    const left = Number(await written(id, "left.pid"));
    await until("it is terminated", async () => (await state(id)) === "terminated");
    expect(runs(left)).toBe(false);
  });

  it("keeps to the end of an instance: its token never boots another", async () => {
    const { create, call, state } = await startCloud();
    const { id } = await create("w1", FOREVER);
    await call("DELETE", `/instances/${id}`);
    await until("it is terminated", async () => (await state(id)) === "terminated");
    expect(await create("w1", FOREVER)).toMatchObject({ id, state: "terminated" });
  });

  it("lists an end for an hour, and remembers its token for a day", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const { create, list, dir } = await startCloud();
    const { id } = await create("w1", "exit 0\n");
    await until("it is terminated", async () => (await list()).some(({ state }) => state === "terminated"));
    const ended = Date.now();
    vi.setSystemTime(ended + 3_600_000 - 60_000);
    expect(await list()).toHaveLength(1);
    vi.setSystemTime(ended + 3_600_000 + 60_000);
    expect(await list()).toEqual([]);
    vi.setSystemTime(ended + 24 * 3_600_000 - 60_000);
    await list();
    expect(existsSync(join(dir, "instances", id, "console.log"))).toBe(true);
    expect((await create("w1", FOREVER)).id).toBe(id);
    vi.setSystemTime(ended + 24 * 3_600_000 + 60_000);
    await list();
    expect(existsSync(join(dir, "instances", id))).toBe(false);
    expect((await create("w1", FOREVER)).id).not.toBe(id);
  });

  it("kills everything at a stroke for who cannot wait", async () => {
    const { create, written, dir } = await startCloud();
    const { id } = await create("w1", "setsid sh -c 'sleep 1000 & echo $! >orphan.pid'\nsleep 1000\n");
    const orphan = Number(await written(id, "orphan.pid"));
    killInstancesBelow(dir);
    await until("it is gone", () => !runs(orphan));
  });

  it("ends what it can no longer name if neither its list nor a machine's own copy can be read", async () => {
    const first = await startCloud();
    const { id } = await first.create("w1", "sleep 1000 & echo $! >left.pid; wait\n");
    const left = Number(await first.written(id, "left.pid"));
    const copy = join(first.dir, "instances.json");
    writeFileSync(copy, "{");
    writeFileSync(join(first.dir, "instances", id, "instance.json"), "");
    const problems: string[] = [];
    const next = new LoopbackCloud({ dir: first.dir, onProblem: (text) => problems.push(text) });
    await next.adopt();
    expect(next.list()).toEqual([]);
    expect(problems).toEqual([expect.stringContaining(copy)]);
    expect(runs(left)).toBe(false);
  });
});

describe("the loopback cloud runs what it is given, so it asks who gives it", () => {
  const rejected: [string, number, Record<string, string | undefined>][] = [
    ["no secret", 401, { authorization: undefined }],
    ["a wrong secret", 401, { authorization: "Bearer wrong" }],
    ["another scheme", 401, { authorization: "Basic c2VjcmV0IG9mIHRoZSBwb29s" }],
    ["a name that resolves to 127.0.0.1", 403, { host: "evil.example" }],
    ["that name with our port", 403, { host: "evil.example:PORT" }],
    ["another port", 403, { host: "127.0.0.1:1" }],
    ["a web page", 403, { origin: "https://evil.example" }],
    ["a web page of this machine", 403, { origin: "http://127.0.0.1:PORT" }],
    ["a sandboxed web page", 403, { origin: "null" }],
  ];
  it.each(rejected)("refuses %s with %i", async (_, status, headers) => {
    const { call, port, list } = await startCloud();
    for (const name of Object.keys(headers)) headers[name] = headers[name]?.replace("PORT", String(port));
    const answer = await call("POST", "/instances", creation("w1", FOREVER), headers);
    expect(answer).toMatchObject({ status, body: { class: "invalid", text: expect.any(String) } });
    expect(await list()).toEqual([]);
  });

  it("lets in localhost by name", async () => {
    const { call, port } = await startCloud();
    expect((await call("GET", "/instances", undefined, { host: `localhost:${port}` })).status).toBe(200);
  });
});

describe("bad requests are classified (host-protocol.md#provider-errors)", () => {
  const good = creation("w1", FOREVER);
  const bad: [string, string, string, unknown, number, RegExp][] = [
    ["no JSON", "POST", "/instances", "{", 400, /not valid JSON/],
    ["nothing", "POST", "/instances", "", 400, /not valid JSON/],
    ["a missing field", "POST", "/instances", { ...good, userData: undefined }, 400, /userData/],
    ["a wrong type", "POST", "/instances", { ...good, tags: "a" }, 400, /tags/],
    ["an unknown field", "POST", "/instances", { ...good, size: 1 }, 400, /size/],
    ["an empty token", "POST", "/instances", { ...good, token: "" }, 400, /token/],
    ["more than 1 MiB", "POST", "/instances", { ...good, userData: "x".repeat(2 ** 20) }, 413, /1 MiB/],
    ["tags that are none", "PUT", "/instances/ID/tags", { tags: { a: 1 } }, 400, /tags/],
    ["tags of nobody", "PUT", "/instances/lo-0/tags", { tags: {} }, 404, /lo-0/],
    ["the end of nobody", "DELETE", "/instances/lo-0", undefined, 404, /lo-0/],
    ["an ill-formed tag", "GET", "/instances?tag=a", undefined, 400, /<name>:<value>/],
    ["another method", "PATCH", "/instances", {}, 404, /PATCH/],
    ["another path", "GET", "/machines", undefined, 404, /machines/],
    ["a path below", "GET", "/instances/ID/tags/x", undefined, 404, /tags/],
  ];
  it.each(bad)("%s", async (_, method, path, body, status, text) => {
    const { create, list, call } = await startCloud();
    const before = await create("w0", FOREVER);
    const answer = await call(method, path.replace("ID", before.id), body);
    expect(answer).toMatchObject({ status, body: { class: "invalid", text: expect.stringMatching(text) } });
    expect(await list()).toEqual([expect.objectContaining({ id: before.id, tags: {} })]);
  });
});
