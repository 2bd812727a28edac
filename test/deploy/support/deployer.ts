import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { makeHome } from "../../edge/support/drover.ts";
import { type FakeAccount, openAccount } from "./cloudflare.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** The built command. */
export const COMMAND = join(ROOT, "bin/drover.mjs");
const WAY = join(import.meta.dirname, "way-to-edge.mjs");

/** How a command ended. */
export interface Ended {
  code: number | NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Somebody with an account, a home directory, and the built command. */
export interface Deployer {
  account: FakeAccount;
  home: string;
  /** The environment of the command. */
  env: NodeJS.ProcessEnv;
  /** Runs the command; `command`: that of another version. */
  drover(args: string[], env?: Record<string, string>, command?: string): Promise<Ended>;
  /** The pid of the command that runs; undefined: none does. */
  pid(): number | undefined;
  close(): Promise<void>;
}

/** Opens an account that is empty, and a home that has nothing of it. */
export async function openDeployer(): Promise<Deployer> {
  const home = makeHome("deploy");
  const account = await openAccount(join(home, "edge"));
  const own = {
    PATH: process.env.PATH,
    HOME: home,
    CLOUDFLARE_API_BASE_URL: account.url,
    CLOUDFLARE_API_TOKEN: "token-of-the-account",
    NODE_OPTIONS: `--import=${WAY}`,
    FAKE_EDGE: account.url,
  };
  let pid: number | undefined;
  return {
    account,
    home,
    env: own,
    async drover(args, env = {}, command = COMMAND) {
      const child = spawn(process.execPath, [command, ...args], {
        cwd: home,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...own, ...env },
      });
      pid = child.pid;
      const said = { stdout: "", stderr: "" };
      child.stdout.setEncoding("utf8").on("data", (text) => (said.stdout += text));
      child.stderr.setEncoding("utf8").on("data", (text) => (said.stderr += text));
      const code = await new Promise<Ended["code"]>((done) =>
        child.once("close", (at, by) => done(at ?? by)),
      );
      pid = undefined;
      return { code, ...said };
    },
    pid: () => pid,
    async close() {
      await account.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
