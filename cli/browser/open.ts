// How is an address with a secret in it opened in the browser of this user, and shown to nobody else?
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { replaceFile } from "../../disk/atomic.ts";
import { makeDirs } from "../../disk/make-dirs.ts";
import { errorText } from "../../src/shared/words.ts";
import { configPath } from "../config/config-file.ts";
import type { Io } from "../terminal/io.ts";

/** A program that opens a file in the browser. */
export interface Opener {
  program: string;
  args: readonly string[];
}

/** Some openers stay for as long as the browser. One that has not failed by then has opened it. */
const FAILS_WITHIN_MS = 3_000;

/** The folder has the code of a session in it for a minute, and may have tokens. */
const PRIVATE_DIR = 0o700;

/** What opens files in the browser on this system; `why` not, if nobody would see it (cli.md#ui). */
export function openerFor(
  { env, interactive }: Pick<Io, "env" | "interactive">,
  platform = process.platform,
): Opener | { why: string } {
  if (!interactive) return { why: "nobody is at a terminal" };
  if (platform === "darwin") return { program: "open", args: [] };
  if (platform === "win32") return { program: "rundll32", args: ["url.dll,FileProtocolHandler"] };
  const hasDisplay = [env.DISPLAY, env.WAYLAND_DISPLAY].some((one) => (one ?? "") !== "");
  if (!hasDisplay) return { why: "there is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)" };
  return { program: "xdg-open", args: [] };
}

/**
 * Opens an address in the browser; returns why not, if that fails (cli.md#ui). The address is no argument,
 * which every user of this machine could read: the browser is given a file that leads there, and that only
 * this user can read.
 */
export async function openInBrowser(io: Io, address: string): Promise<string | undefined> {
  const opener = openerFor(io);
  if ("why" in opener) return opener.why;
  const config = configPath(io);
  if (config === undefined) return "HOME is not set, so there is no place for a file that leads there";
  const file = join(dirname(config), "open.html");
  try {
    if (!existsSync(dirname(file))) makeDirs(dirname(file), PRIVATE_DIR);
    replaceFile(file, pageTo(address));
  } catch (error) {
    return `a file that leads there cannot be written: ${errorText(error)}`;
  }
  return failureOf(opener, pathToFileURL(file).href);
}

/** A page that leads to an address at once. */
function pageTo(address: string): string {
  const target = address.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  return [
    "<!doctype html>",
    '<meta charset="utf-8">',
    '<meta name="referrer" content="no-referrer">',
    `<meta http-equiv="refresh" content="0; url=${target}">`,
    "<title>Drover</title>",
    `<p><a href="${target}">Drover</a></p>`,
    "",
  ].join("\n");
}

/** Why an opener has not opened a file; undefined if it has. */
async function failureOf({ program, args }: Opener, file: string): Promise<string | undefined> {
  const child = spawn(program, [...args, file], { stdio: "ignore", detached: true });
  child.unref();
  const over = new AbortController();
  const failed = new Promise<string | undefined>((resolve) => {
    child.once("error", (error) => resolve(`${program} cannot be started: ${errorText(error)}`));
    child.once("exit", (code) =>
      resolve(code === 0 ? undefined : `${program} has failed with exit code ${code}`),
    );
  });
  const stays = sleep(FAILS_WITHIN_MS, undefined, { signal: over.signal }).catch(() => undefined);
  try {
    return await Promise.race([failed, stays]);
  } finally {
    over.abort();
  }
}
