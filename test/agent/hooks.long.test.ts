import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { accountOf, parseAccount } from "../../agent/exec/account.ts";
import type { TaskSpec } from "../../src/schema/run/run.ts";
import { type Bench, kill, openBench, run, stop } from "./support/bench.ts";
import { type FileServer, openFileServer, sha256Of } from "./support/file-server.ts";

// What a host does before a task starts (host-protocol.md#hooks), with real processes.

const ID = "build-17/main/1.1";
const SECOND = "build-17/main/1.2";

let bench: Bench;
let server: FileServer;
beforeEach(async () => {
  [bench, server] = await Promise.all([openBench(), openFileServer()]);
});
afterEach(async () => {
  const { faults } = bench.plane;
  await Promise.all([bench.close(), server.close()]);
  expect(faults).toEqual([]);
});

const sh = (id: string, script: string, more: Partial<TaskSpec> = {}) =>
  run(id, ["sh", "-c", script], { name: id.split("/")[1] ?? "", ...more });
const alloc = (...path: string[]) => join(bench.stateDir, "allocs", "build-17_1", ...path);

/** Runs one more attempt, next to those of before, to its end. */
async function runToEnd(id: string, script: string, more: Partial<TaskSpec> = {}) {
  const others = (bench.plane.orders.attempts ?? []).filter((one) => one.id !== id);
  bench.plane.order([...others, sh(id, script, more)]);
  const attempt = await bench.plane.untilStored(id);
  return {
    attempt,
    stdout: bench.plane.stored(id).toString(),
    stderr: bench.plane.stored(id, "stderr").toString(),
  };
}

describe("directories", () => {
  beforeEach(() => void bench.start());

  // tasks.md#prepare-3
  test("a task runs in its own, and nobody else can look into any of them", async () => {
    const { stdout } = await runToEnd(
      ID,
      'pwd; ls -A; echo "$DROVER_TASK_DIR"; echo "$DROVER_SECRETS_DIR"; echo "$TMPDIR"',
    );
    const [local, secrets, tmp] = ["local", "secrets", "tmp"].map((name) => alloc("main", name));
    expect(stdout.trim().split("\n")).toEqual([local, local, secrets, tmp]);
    for (const folder of [local ?? "", secrets ?? "", alloc("main", "private"), alloc("alloc", "data")]) {
      expect(statSync(folder).mode & 0o777).toBe(0o700);
    }
    expect(statSync(bench.stateDir).mode & 0o777).toBe(0o700);
  });

  test("tasks of a group share alloc/{logs,tmp,data} (tasks.md#placement-2)", async () => {
    await runToEnd("build-17/prepare/1.1", 'echo shared >"$DROVER_ALLOC_DIR/data/x"; echo own >x');
    const { stdout } = await runToEnd(ID, 'cat "$DROVER_ALLOC_DIR/data/x"; ls -A . "$DROVER_ALLOC_DIR"');
    expect(stdout).toContain("shared\n");
    expect(stdout.split("\n")).toEqual(expect.arrayContaining(["data", "logs", "tmp"]));
    expect(existsSync(alloc("main", "local", "x"))).toBe(false);
  });

  test("attempts of a task share its own; another placement has others", async () => {
    await runToEnd(ID, "echo first >x");
    expect((await runToEnd(SECOND, "cat x; echo second >>x")).stdout).toBe("first\n");
    bench.plane.order([stop(SECOND), sh("build-17/main/2.1", "ls -A; echo nothing")]);
    await bench.plane.untilStored("build-17/main/2.1");
    expect(bench.plane.stored("build-17/main/2.1").toString()).toBe("nothing\n");
  });

  // tasks.md#hook-6
  test("they go when the orders have let go of all attempts, and not before", async () => {
    await runToEnd(ID, "true");
    bench.plane.order([sh(SECOND, "echo ready; exec sleep 300")]);
    await bench.plane.until("it runs", () => bench.plane.stored(SECOND).includes("ready"));
    const gone = () => existsSync(join(bench.stateDir, "attempts", "build-17_main_1.1"));
    await expect.poll(gone).toBe(false);
    expect(existsSync(alloc("main", "local"))).toBe(true);
    bench.plane.order([]);
    await expect.poll(() => readdirSync(join(bench.stateDir, "allocs"))).toEqual([]);
  });

  test("what a task has deleted is there again for its next attempt", async () => {
    await runToEnd(ID, 'rm -rf "$DROVER_TASK_DIR" "$TMPDIR" "$DROVER_ALLOC_DIR"');
    expect((await runToEnd(SECOND, 'ls -d "$TMPDIR" "$DROVER_ALLOC_DIR/data" | wc -l')).stdout.trim()).toBe(
      "2",
    );
  });
});

test("directories of an earlier start of the agent go when orders omit them", async () => {
  const agent = bench.start();
  await runToEnd(ID, "true");
  await kill(agent);
  for (const folder of ["attempts", "journal"]) {
    rmSync(join(bench.stateDir, folder), { recursive: true });
  }
  expect(existsSync(alloc())).toBe(true);
  bench.plane.order([]);
  bench.start();
  await expect.poll(() => existsSync(alloc())).toBe(false);
});

describe("artifacts", () => {
  const content = Buffer.from("the artifact\n");
  const artifact = (path = "/tool") => ({
    url: `${server.url}${path}`,
    sha256: sha256Of(content),
    to: "in/",
  });

  // tasks.md#hook-1, tasks.md#hook-note-1
  test("are there before the command starts, and are not fetched again for the next attempt", async () => {
    bench.start();
    server.on("/tool", content);
    const more = {
      artifacts: [{ ...artifact(), url: `${server.url}/\${DROVER_META_NAME}` }],
      meta: { name: "tool" },
    };
    expect((await runToEnd(ID, "cat in/tool", more)).stdout).toBe("the artifact\n");
    expect((await runToEnd(SECOND, "cat in/tool", more)).stdout).toBe("the artifact\n");
    expect(server.requests).toEqual(["/tool"]);
  });

  test("a wrong one is a start error, and the command never starts", async () => {
    bench.start();
    server.on("/tool", Buffer.from("another"));
    const { attempt, stdout } = await runToEnd(ID, "echo started", { artifacts: [artifact()] });
    expect(attempt).toMatchObject({
      state: "exited",
      startError: { code: "artifact_failed", recoverable: true },
    });
    expect(attempt.startError?.text).toContain("is not what the run asks for");
    expect(stdout).toBe("");
  });

  test.each([
    ["a stop", () => bench.plane.order([stop(ID)])],
    ["the time limit", () => undefined],
  ])("%s ends a download, and the command never starts", async (how, end) => {
    bench.start();
    let closed = false;
    server.on("/tool", (_, response) => {
      response.on("close", () => {
        closed = true;
      });
      response.write("the");
    });
    const order = sh(ID, "echo started", { artifacts: [artifact()] });
    bench.plane.order([how === "a stop" ? order : { ...order, timeoutMs: 15_000 }]);
    await expect.poll(() => server.requests.length).toBe(1);
    end();
    const attempt = await bench.plane.untilState(ID, "gone");
    expect(attempt.timedOut ?? false).toBe(how !== "a stop");
    await expect.poll(() => closed).toBe(true);
    expect(bench.plane.stored(ID).length).toBe(0);
  });

  test("what was being fetched is gone on with by the next start of the agent", async () => {
    const agent = bench.start();
    const other = { ...artifact("/other"), to: "." };
    server.on("/other", content);
    server.on("/tool", (_, response) => {
      response.writeHead(200, { "content-length": content.length });
      response.write(content.subarray(0, 4));
    });
    const order = sh(ID, "cat in/tool other", { artifacts: [other, artifact()] });
    bench.plane.order([order]);
    const fetched = () => readdirSync(alloc("main", "private"), { withFileTypes: true });
    // What is in its place is noted a moment later.
    const isNoted = () => fetched().some(({ name }) => name.endsWith(".done"));
    await expect.poll(isNoted).toBe(true);
    expect(existsSync(alloc("main", "local", "other"))).toBe(true);
    const sizeOfPart = () => {
      const part = fetched().find(({ name }) => name.endsWith(".part"));
      return part === undefined ? 0 : statSync(join(part.parentPath, part.name)).size;
    };
    await expect.poll(sizeOfPart).toBe(4);
    await kill(agent);
    server.requests.length = 0;
    server.on("/tool", (request, response) => {
      const range = `bytes 4-${content.length - 1}/${content.length}`;
      response.writeHead(206, { "content-range": range }).end(content.subarray(4));
      expect(request.headers.range).toBe("bytes=4-");
    });
    bench.start();
    await bench.plane.untilStored(ID);
    expect(bench.plane.stored(ID).toString()).toBe("the artifact\nthe artifact\n");
    expect(server.requests).toEqual(["/tool bytes=4-"]);
  });
});

const isRoot = process.geteuid?.() === 0;

describe("user", () => {
  // The agent opens what is its own; what is above is the machine's.
  beforeEach(() => chmodSync(bench.dir, 0o711));

  test.runIf(isRoot)(
    "a task runs as its user, with its groups, its home and its own directories",
    async () => {
      bench.start();
      const content = Buffer.from("x");
      server.on("/x", content);
      const script = [
        "id -u; id -g; id -G; echo $HOME $USER",
        'touch own "$DROVER_SECRETS_DIR/s" "$TMPDIR/t" "$DROVER_ALLOC_DIR/data/d"; mv in/x in/y',
        'cd ..; for f in private ../../../attempts; do ls "$f" || echo closed; done',
      ].join("; ");
      const artifacts = [{ url: `${server.url}/x`, sha256: sha256Of(content), to: "in/" }];
      const { stdout, attempt, stderr } = await runToEnd(ID, script, { user: "nobody", artifacts });
      const { uid, gid, home } = await accountOf("nobody");
      expect([stdout, attempt.exit?.code, stderr]).toEqual([
        `${uid}\n${gid}\n${gid} ${statSync(alloc()).gid}\n${home} nobody\nclosed\nclosed\n`,
        0,
        expect.stringContaining("Permission denied"),
      ]);
      expect(statSync(alloc("main", "local", "own")).uid).toBe(uid);
      expect((await runToEnd(SECOND, "ls own in", { user: "nobody" })).attempt.exit?.code).toBe(0);
    },
  );

  test("the agent's own user is one that a task can always run as", async () => {
    bench.start();
    const user = String(process.geteuid?.());
    const { stdout } = await runToEnd(ID, "id -u; ls -ld .. | cut -c 1-10", { user });
    expect(stdout).toBe(`${user}\ndrwx------\n`);
  });

  test.runIf(isRoot)(
    "what an archive has brought is its user's, and what its links lead to is not",
    async () => {
      bench.start();
      const [folder, other] = [join(bench.dir, "tree"), join(bench.dir, "other")];
      mkdirSync(join(folder, "a"), { recursive: true });
      writeFileSync(join(folder, "a", "b"), "");
      symlinkSync("a", join(folder, "loop"));
      symlinkSync("..", join(folder, "a", "up"));
      writeFileSync(other, "");
      const archive = execFileSync("tar", ["-C", folder, "-cf", "-", "."]);
      server.on("/tree.tar", archive);
      const artifacts = [{ url: `${server.url}/tree.tar`, sha256: sha256Of(archive), to: "in/" }];
      const { attempt } = await runToEnd(ID, "echo >in/a/b && echo >in/a/c && rm in/loop", {
        user: "nobody",
        artifacts,
      });
      expect(attempt.exit?.code).toBe(0);
    },
  );

  test.runIf(isRoot)("it is stopped and killed as any other", async () => {
    bench.start();
    bench.plane.order([sh(ID, "trap '' TERM; echo ready; sleep 300 & wait; sleep 300", { user: "nobody" })]);
    await bench.plane.until("it runs", () => bench.plane.stored(ID).includes("ready"));
    bench.plane.order([stop(ID, { timeoutMs: 100 })]);
    expect((await bench.plane.untilState(ID, "exited")).exit?.signal).toBe("SIGKILL");
    expect(bench.processes()).toEqual([]);
  });

  test.runIf(isRoot).each([
    ["nobody has this name", { user: "no-such-user" }, "user_not_found", 'There is no user "no-such-user"'],
    ["an option is no name", { user: "--help" }, "user_not_found", 'There is no user "--help"'],
    [
      "its directory is closed to it",
      { user: "nobody", dir: "/root" },
      "directory_not_found",
      "cannot enter /root",
    ],
    [
      "its command is closed to it",
      { user: "nobody", argv: ["/closed"] },
      "not_executable",
      "may not execute",
    ],
  ])("%s: a start error that says so", async (_, more, code, words) => {
    bench.start();
    const argv = "argv" in more ? { argv: [join(bench.stateDir, "attempts", "tool")] } : {};
    if ("argv" in more) {
      await bench.plane.until("the agent is there", () => existsSync(join(bench.stateDir, "attempts")));
      writeTool();
    }
    const { attempt } = await runToEnd(ID, "true", { ...more, ...argv });
    expect(attempt.startError).toMatchObject({ code, text: expect.stringContaining(words) });
  });

  test.runIf(isRoot).each<[string, string, object]>([
    ["is missing", "#!/no/such/interpreter -x\n", { startError: { code: "command_not_found" } }],
    ["is missing, in a line without an end", "#! /no/such", { startError: { code: "command_not_found" } }],
    ["is a directory", "#!/etc\n", { startError: { code: "not_executable" } }],
    ["is there, and exits with 127", "#!/bin/sh -e\nexit 127\n", { exit: { code: 127 } }],
    ["is not named", "exit 127\n", { exit: { code: 127 } }],
  ])("a script whose interpreter %s is told from one that is not", async (_, text, expected) => {
    bench.start();
    const script = join(bench.dir, "script");
    writeFileSync(script, text);
    chmodSync(script, 0o755);
    const { attempt } = await runToEnd(ID, "", { user: "nobody", argv: [script] });
    expect(attempt).toMatchObject(expected);
    expect("exit" in attempt).toBe("exit" in expected);
  });

  test.runIf(isRoot)(
    "P43: a way to its directories that is closed is named, at the start of the agent and to the run",
    async () => {
      chmodSync(bench.dir, 0o700);
      const agent = bench.start();
      const { attempt } = await runToEnd(ID, "true", { user: "nobody" });
      const closed = `${bench.dir} (mode 0700)`;
      expect(attempt.startError?.code).toBe("directory_not_found");
      expect(attempt.startError?.text).toContain(
        `${closed} is closed to that user. Open it with \`chmod o+x `,
      );
      expect(agent.stderr()).toContain(
        `other users cannot pass through ${closed} to their files. Open it with`,
      );
      chmodSync(bench.dir, 0o711);
      expect((await runToEnd(SECOND, "true", { user: "nobody" })).attempt.exit?.code).toBe(0);
    },
  );

  test.each<[string, Parameters<typeof accountOf>[1], string]>([
    ["does not answer in time", { withinMs: 100 }, "`getent` has not answered within 0.1 s"],
    ["is not waited for any more", { signal: AbortSignal.abort(new Error("stopped")) }, "stopped"],
  ])("a list of users that %s ends the start, and nothing else waits", async (_, limits, said) => {
    const getent = join(dirname(bench.stateDir), "getent");
    writeFileSync(getent, "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
    await expect(accountOf("nobody", { getent, ...limits })).rejects.toThrow(said);
  });

  test("an agent that is not root runs tasks as its own user only", async () => {
    await expect(accountOf("root", {}, 1_000)).rejects.toThrow("The agent of this machine is not root");
    expect((await accountOf("root", {}, 0)).uid).toBe(0);
    const { uid } = await accountOf("nobody", {}, 0);
    expect((await accountOf("nobody", {}, uid)).name).toBe("nobody");
  });

  test.each([
    ["ci:x:1000:100:Name,,:/srv/ci:/bin/sh\n", { name: "ci", uid: 1_000, gid: 100, home: "/srv/ci" }],
    ["ci:x:1000:100:::\n", { name: "ci", uid: 1_000, gid: 100, home: "/" }],
    ["", undefined],
    ["ci:x:one:100::/:", undefined],
  ])("a line of the system's users: %j", (line, account) => {
    expect(parseAccount(line)).toEqual(account);
  });
});

function writeTool(): void {
  const tool = join(bench.stateDir, "attempts", "tool");
  rmSync(tool, { force: true });
  writeFileSync(tool, readFileSync("/bin/true"), { mode: 0o755 });
}
