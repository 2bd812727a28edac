import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FLY_MAIN, FLY_NOTICE } from "../../src/providers/fly/scripts.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";
import { pidOf, until } from "../local/support/scratch.ts";

// The first process of a machine of Fly, run here: it ends with the host's script, and tells of a stop
// (clouds/fly.md#notice).

let dir: string;
const started: ChildProcess[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "fly-"));
});
afterEach(() => {
  for (const { pid } of started.splice(0)) {
    try {
      process.kill(-pidOf({ pid }), "SIGKILL");
    } catch {
      // It has ended.
    }
  }
  rmSync(dir, { recursive: true, force: true });
});

function start(userData: string): Promise<number | string | null> & { child: ChildProcess } {
  writeFileSync(join(dir, "main"), FLY_MAIN);
  writeFileSync(join(dir, "user-data"), userData);
  const env = { PATH: process.env.PATH, DROVER_STATE_DIR: join(dir, "state") };
  const child = spawn("/bin/sh", [join(dir, "main")], { env, detached: true, stdio: "ignore" });
  started.push(child);
  const ended = new Promise<number | string | null>((resolve) =>
    child.once("exit", (code, signal) => resolve(code ?? signal)),
  );
  return Object.assign(ended, { child });
}

async function printed(command: string): Promise<string> {
  const env = { PATH: process.env.PATH, DROVER_STATE_DIR: join(dir, "state") };
  const child = spawn("/bin/sh", ["-c", command], { env });
  let text = "";
  for await (const chunk of child.stdout) text += chunk;
  return text;
}

const lives = (name: string) => until(`${name} is there`, () => existsSync(join(dir, name)) || undefined);

describe("the first process of a machine of Fly", () => {
  it.each([0, 3])("ends with the code of the host's script: %i", async (code) => {
    expect(await start(`exit ${code}`)).toBe(code);
  });

  it("goes on after SIGTERM, and the notice says how long Fly waits", async () => {
    const ended = start(`: > ${dir}/up; while [ ! -e ${dir}/go ]; do sleep 0.05; done; exit 7`);
    await lives("up");
    expect(await printed(FLY_NOTICE)).toBe("");
    ended.child.kill("SIGTERM");
    await lives("state/stops-at");
    expect(await printed(FLY_NOTICE)).toMatch(/^Fly stops this machine\ngone in (29\d|300)s\n$/);
    writeFileSync(join(dir, "go"), "");
    expect(await ended).toBe(7);
  });

  it("is what the command ends that switches a machine off", async () => {
    const ended = start(`: > ${dir}/up; sleep 60`);
    await lives("up");
    await printed(TRAITS.fly.powerOff ?? "");
    expect(await ended).toBe("SIGKILL");
  });
});
