import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkBinds } from "../../../agent/exec/binds.ts";
import { AllocDirs } from "../../../agent/exec/files/alloc-dirs.ts";
import { StartFault } from "../../../agent/exec/start-fault.ts";
import { ID } from "../support/contained.ts";

let dir: string;
let server: Server;
beforeEach(async () => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "drover-binds-")));
  for (const name of ["run", "srv", "srv/data"]) mkdirSync(join(dir, name));
  server = createServer();
  await new Promise<void>((resolve) => server.listen(join(dir, "run/engine.sock"), resolve));
  symlinkSync(join(dir, "run"), join(dir, "var-run"));
  symlinkSync(join(dir, "run"), join(dir, "srv/link"));
  symlinkSync(join(dir, "srv/data"), join(dir, "srv/other"));
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true, force: true });
});

/** Why it is refused, without the directory of the test; undefined: it is not. */
function refusalOf(source: string, socket = "run/engine.sock", shared: string[] = []): string | undefined {
  const binds = [{ source: join(dir, source), target: "/data", writable: true }];
  const seen = { binds, socket: join(dir, socket), shared: shared.map((path) => join(dir, path)) };
  try {
    checkBinds(seen);
    return undefined;
  } catch (error) {
    if (!(error instanceof StartFault)) throw error;
    return error.message.replaceAll(`${dir}/`, "");
  }
}

describe("what of the machine a container may see (containers.md#binds)", () => {
  test.each([
    ["srv/data", "run/engine.sock"],
    ["srv", "run/engine.sock"],
    ["run/engine.sock", "run/engine.sock"],
    // The name by which the engine is known may lead to it by a link.
    ["var-run/engine.sock", "var-run/engine.sock"],
    ["run/engine.sock", "var-run/engine.sock"],
    ["srv/data", "none.sock"],
  ])("%s, with the engine at %s", (source, socket) => {
    expect(refusalOf(source, socket)).toBeUndefined();
  });

  test.each([
    ["srv/none", "This machine has no srv/none", "Create it"],
    ["run", "run leads a container to the engine's socket", "Mount something else"],
    ["srv/link", "srv/link leads a container to the engine's socket", "Mount something else"],
    ["srv/link/engine.sock", "leads a container to the engine's socket", "run/engine.sock itself"],
    ["srv/other", "is srv/data: a link leads there", "Name srv/data"],
  ])("%s is refused: %s", (source, why, help) => {
    expect(refusalOf(source)).toContain(why);
    expect(refusalOf(source)).toContain(help);
  });

  test("a directory of the task that holds the socket is refused as well", () => {
    expect(refusalOf("srv/data", "run/engine.sock", ["run"])).toContain(
      "leads a container to the engine's socket",
    );
  });
});

test.skipIf(process.geteuid?.() !== 0)(
  "a link in place of a shared directory leads the agent nowhere (tasks.md#placement-2)",
  () => {
    const allocs = new AllocDirs(join(dir, "state"));
    const { alloc } = allocs.make(ID);
    const victim = join(dir, "srv/data");
    chmodSync(victim, 0o700);
    rmSync(join(alloc, "logs"), { recursive: true });
    symlinkSync(victim, join(alloc, "logs"));
    allocs.giveTo(ID, { name: "task", home: "/", uid: 1000, gid: 1000 });
    expect(statSync(victim).mode & 0o7777).toBe(0o700);
    allocs.make(ID);
    expect(statSync(join(alloc, "logs")).mode & 0o7777).toBe(0o700);
    expect(realpathSync(join(alloc, "logs"))).toBe(join(alloc, "logs"));
  },
);
