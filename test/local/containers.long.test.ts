import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUSYBOX, hasPodman, type Podman, startPodman } from "../agent/support/podman.ts";
import { drover, endDrover, makeHome, type RunningDrover, startDrover } from "../edge/support/drover.ts";
import type { Json } from "../edge/support/edge.ts";
import { until } from "./support/scratch.ts";

// `drover run --image` as a person types it, with a local Drover and a real engine (containers.md#fields).

const HERE = ["--image", BUSYBOX, "--network", "host"];

describe.skipIf(!hasPodman)("a command in a container, with a local Drover", () => {
  let podman: Podman;
  let home = "";
  let up: RunningDrover | undefined;
  beforeAll(async () => {
    podman = await startPodman();
    home = makeHome("containers");
    mkdirSync(join(home, "project"));
    up = await startDrover(home, { DROVER_ENGINE: podman.socketPath });
  });
  afterAll(async () => {
    await endDrover(home, up);
    expect(await podman.engine.listContainers({})).toEqual([]);
    await podman.stop();
    rmSync(home, { recursive: true, force: true });
  });

  const project = () => join(home, "project");
  async function run(args: string[], env: Record<string, string> = {}) {
    const { code, stdout, stderr } = await drover(project(), ["run", ...args], env);
    return { code, stdout: stdout.toString(), stderr };
  }
  const call = (status: number, method: string, path: string, body?: unknown): Promise<Json> => {
    if (up === undefined) throw new Error("there is no Drover");
    return up.json(status, method, path, body);
  };

  test("runs in this directory, by the image's own search path", async () => {
    writeFileSync(join(project(), "given"), "of this machine\n");
    const script = "pwd; cat given; echo made >left; echo $PATH | grep -c /my/bin; exit 7";
    const ended = await run([...HERE, "--quiet", "--", "sh", "-c", script], {
      PATH: `/my/bin:${process.env.PATH}`,
    });
    expect(ended).toEqual({ code: 7, stdout: `${project()}\nof this machine\n0\n`, stderr: "" });
    expect(readFileSync(join(project(), "left"), "utf8")).toBe("made\n");
  });

  test("runs in a copy of a directory, and gives its files back", async () => {
    const args = ["--upload", ".", "--out", "out/*", "--id", "copied", "--quiet"];
    const script = "mkdir out; cp given out/copy; pwd";
    const ended = await run([...HERE, ...args, "--", "sh", "-c", script]);
    expect([ended.code, ended.stdout.trim() === project()]).toEqual([0, false]);
    const pulled = await drover(project(), ["pull", "copied", "--into", "result"]);
    expect([pulled.code, pulled.stderr]).toEqual([0, expect.any(String)]);
    expect(readFileSync(join(project(), "result", "out", "copy"), "utf8")).toBe("of this machine\n");
  });

  test("the command may be the image's", async () => {
    await podman.importImage("localhost/drover/says:1", ['CMD ["echo","by the image"]']);
    const ended = await run(["--image", "localhost/drover/says:1", "--network", "host", "--quiet"]);
    expect(ended).toEqual({ code: 0, stdout: "by the image\n", stderr: "" });
  });

  test("a secret and a variable are there, and the secret is masked", async () => {
    await call(200, "PUT", "/v1/secrets/word", { value: "correct-horse" });
    const script = 'echo "$A $WORD"; test "$WORD" = correct-horse';
    const ended = await run([
      ...HERE,
      "--quiet",
      "--env",
      "A=1",
      "--secret",
      "WORD=word:env",
      "--",
      "sh",
      "-c",
      script,
    ]);
    expect([ended.code, ended.stdout]).toEqual([0, expect.stringMatching(/^1 (?!correct-horse)\S+\n$/)]);
  });

  test("exec and cp lead into it", async () => {
    const server = "mkdir /www; echo a page >/www/index.html; exec httpd -f -p 127.0.0.1:8347 -h /www";
    const args = ["--detach", "--id", "server", "--entrypoint", "sh", "--entrypoint", "-c"];
    expect((await run([...HERE, ...args, "--", server])).code).toBe(0);
    await until("it serves", async () => {
      const asked = await drover(project(), [
        "exec",
        "server",
        "--",
        "wget",
        "-qO-",
        "http://127.0.0.1:8347/",
      ]);
      return asked.stdout.toString() === "a page\n" || undefined;
    });
    const name = await drover(project(), ["exec", "server", "--", "sh", "-c", "cat /etc/passwd | grep task"]);
    expect(name.stdout.toString()).toContain("task:x:1000");
    const copied = await drover(project(), ["cp", "server:/www/index.html", "page.html"]);
    expect([copied.code, readFileSync(join(project(), "page.html"), "utf8")]).toEqual([0, "a page\n"]);
    await drover(project(), ["abort", "server"]);
    await drover(project(), ["wait", "server"]);
  });

  test("status and workers say what it ran in", async () => {
    await run([...HERE, "--quiet", "--id", "shown", "--", "true"]);
    const status = (await drover(project(), ["status", "shown"])).stdout.toString();
    expect(status).toMatch(new RegExp(`^Image +${BUSYBOX}$`, "m"));
    const { items } = await call(200, "GET", "/v1/workers");
    const worker = (await drover(project(), ["workers", items[0].id])).stdout.toString();
    expect(worker).toMatch(/^Containers +podman \d/m);
  });

  test.each<[string, string[], RegExp]>([
    ["what takes root", ["--privileged"], /`allowContainers\.privileged` of the pool/],
    ["a directory that is nobody's home", ["--bind", "/etc:/m"], /mounts \/etc, .*`allowContainers\.binds`/],
    ["the engine's socket", ["--bind", "/run/podman/podman.sock:/s"], /`allowContainers\.binds`/],
    ["a device", ["--device", "/dev/null"], /`allowContainers\.devices`/],
  ])("the pool refuses %s, and names the setting", async (_what, flags, text) => {
    const ended = await run([...HERE, ...flags, "--", "true"]);
    expect([ended.code, ended.stdout]).toEqual([125, ""]);
    expect(ended.stderr).toMatch(text);
  });

  test("an image that is nowhere ends the run with what to do", async () => {
    const args = ["--image", "localhost/drover/nowhere:1", "--pull", "never", "--network", "host"];
    const ended = await run([...args, "--", "true"]);
    expect(ended.code).toBe(125);
    expect(ended.stderr).toContain("This machine has no image localhost/drover/nowhere:1");
  });

  test("a command that is not in the image is one that was not found", async () => {
    const ended = await run([...HERE, "--", "/nope"]);
    expect(ended.code).toBe(127);
  });
});
