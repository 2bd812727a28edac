import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ProgramRunner } from "../../../agent/devices/program.ts";
import { DeviceSource } from "../../../agent/devices/source.ts";
import { readProc } from "../../../posix/proc.ts";

const UUID = "GPU-4b8e9d6c-1d1a-7f5e-0c3a-52a3c1c9a001";
const LISTING = '{"devices":[{"id":"g0","vendor":"acme","model":"A1"}]}';

let dir: string;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-devices-"));
  mkdirSync(join(dir, "bin"));
  env = { PATH: join(dir, "bin") };
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A program in the directory, as a shell script. */
function program(name: string, script: string, mode = 0o755): string {
  const file = join(dir, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, mode);
  return file;
}
const look = (plugin?: string) => new DeviceSource({ stateDir: dir, program: plugin, env }).look();
const prints = (text: string) => `cat <<'END'\n${text}\nEND`;
/** Whether the process whose pid is in a file has ended. */
const isOver = (name: string) => readProc(Number(readFileSync(join(dir, name), "utf8")))?.ended ?? true;
const devices = (...ids: string[]) => ({ kind: "devices", devices: ids.map((id) => ({ id })) });

describe("what names the devices of a machine (devices.md#source)", () => {
  beforeEach(() => {
    program("bin/nvidia-smi", `echo "$@" >${dir}/asked\n${prints(`0, ${UUID}, Tesla T4, 15360, 550.54.15`)}`);
  });
  const NAMED = prints(LISTING);

  test("nvidia-smi, if nothing else does", async () => {
    expect(await look()).toMatchObject(devices(UUID));
    const asked = "--query-gpu=index,uuid,name,memory.total,driver_version --format=csv,noheader,nounits\n";
    expect(readFileSync(join(dir, "asked"), "utf8")).toBe(asked);
  });

  test("nothing, without it", async () => {
    rmSync(join(dir, "bin/nvidia-smi"));
    expect(await look()).toEqual({ kind: "none" });
  });

  test("nothing, for hosts that share a machine", async () => {
    env.DROVER_RESOURCES = "{}";
    expect(await look()).toEqual({ kind: "none" });
    expect(existsSync(join(dir, "asked"))).toBe(false);
  });

  test.each<[string, () => string | undefined]>([
    ["the plug-in that the agent was called with", () => program("named", NAMED)],
    [
      "the plug-in that its environment names",
      () => {
        env.DROVER_DEVICES_PLUGIN = program("named", NAMED);
        return undefined;
      },
    ],
    [
      "the plug-in in its state directory",
      () => {
        program("devices", NAMED);
        return undefined;
      },
    ],
  ])("%s, rather than nvidia-smi", async (_, plugin) => {
    expect(await look(plugin())).toMatchObject(devices("g0"));
    expect(existsSync(join(dir, "asked"))).toBe(false);
  });

  test("a plug-in gets the marks of its host, and none of the agent's own variables", async () => {
    Object.assign(env, { DROVER_INSTANCE: "here", DROVER_CODE: "drvc_secret" });
    await look(program("named", `env >${dir}/env\n${NAMED}`));
    const got = readFileSync(join(dir, "env"), "utf8");
    expect(got).toMatch(/^DROVER_INSTANCE=here$/m);
    expect(got).not.toContain("drvc_secret");
  });
});

describe("a plug-in that is of no use (devices.md#plug-in)", () => {
  test.each<[string, () => string, RegExp]>([
    ["is not there", () => join(dir, "missing"), /there is no such file/],
    ["is a directory", () => dir, /it is no file/],
    ["may not be executed", () => program("p", prints(LISTING), 0o644), /may not be executed/],
    ["can be written by others", () => program("p", prints(LISTING), 0o777), /others may write to it/],
    [
      "has an interpreter that is not there",
      () => {
        const file = program("p", "");
        writeFileSync(file, "#!/no/such/interpreter\n");
        return file;
      },
      /cannot be run/,
    ],
    ["fails, and says why", () => program("p", "echo no driver >&2; exit 9"), /\(exit code 9\): no driver/],
    ["fails, and says why on its output", () => program("p", "echo no driver; exit 9"), /: no driver/],
    ["is killed", () => program("p", "kill -KILL $$"), /it has failed \(SIGKILL\)/],
    ["prints a page", () => program("p", prints("<html>")), /no JSON: "<html>"/],
    ["prints without an end", () => program("p", "yes '{'"), /printed more than 1MiB/],
  ])("because it %s, is a fault that says so", async (_, plugin, fault) => {
    const file = plugin();
    const seen = await look(file);
    expect(seen).toEqual({ kind: "fault", fault: expect.stringMatching(fault) });
    expect(seen).toEqual({ kind: "fault", fault: expect.stringContaining(file) });
  });

  test("because it hangs, is killed with all that it has started", async () => {
    const file = program("p", `sleep 1000 & echo $! >${dir}/child; sleep 1000`);
    const runner = new ProgramRunner(500);
    const fault = "it has not ended within 500ms";
    expect(await runner.run({ file, args: [], env: {} })).toEqual({ fault });
    await expect.poll(() => isOver("child")).toBe(true);
    await expect.poll(() => runner.run({ file, args: [], env: {} })).toEqual({ fault });
  });

  test("is none if only what it has started goes on: that is ended", async () => {
    const file = program("p", `sleep 1000 & echo $! >${dir}/child\n${prints(LISTING)}`);
    expect(await look(file)).toMatchObject(devices("g0"));
    await expect.poll(() => isOver("child")).toBe(true);
  });
});
