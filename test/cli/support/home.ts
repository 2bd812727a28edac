// A home of its own for a test of the command, with a config file in it.
import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bench } from "./command.ts";

/** A home, and what a command in it has as its environment. */
export interface Home {
  dir: string;
  /** The path of the config file. */
  path: string;
  /** The environment of a command that is told of no Drover. */
  env(more?: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  /** Writes the config file, as a text or as an object. */
  write(content: unknown, mode?: number): void;
  /** The content of the config file. */
  read(): Record<string, unknown>;
  /** The modes of the config file and of its folder. */
  modes(): string[];
}

/** Makes a home in the directory of a bench. */
export function makeHome(bench: Bench): Home {
  const dir = mkdtempSync(join(bench.dir, "home-"));
  const folder = join(dir, ".config/drover");
  const path = join(folder, "config");
  const modeOf = (of: string) => (statSync(of).mode & 0o777).toString(8);
  return {
    dir,
    path,
    env: (more = {}) => ({ PATH: process.env.PATH, HOME: dir, ...more }),
    write(content, mode = 0o600) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const text = typeof content === "string" ? content : JSON.stringify(content);
      writeFileSync(path, text, { mode });
    },
    read: () => JSON.parse(readFileSync(path, "utf8")),
    modes: () => [modeOf(path), modeOf(folder)],
  };
}
