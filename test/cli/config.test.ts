import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseConfig } from "../../cli/config/config.ts";
import { configPath } from "../../cli/config/config-file.ts";
import { type Bench, openBench } from "./support/command.ts";
import { TOKEN } from "./support/control-plane.ts";
import { makeHome } from "./support/home.ts";

// The config file: what may stand in it, who may read it, and what becomes of one that is wrong.

const isRoot = process.geteuid?.() === 0;
if (!isRoot) console.warn("Some of config.test.ts is skipped: only root can play another user.");

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const work = () => ({ url: bench.plane.url, token: TOKEN });
const config = (more: object = {}) => ({ version: 1, current: "work", contexts: { work: work() }, ...more });

test.each<[string, NodeJS.ProcessEnv, string | undefined]>([
  ["below the home", { HOME: "/h/a" }, "/h/a/.config/drover/config"],
  ["below XDG_CONFIG_HOME", { HOME: "/h/a", XDG_CONFIG_HOME: "/x" }, "/x/drover/config"],
  [
    "below the home, if XDG_CONFIG_HOME is relative",
    { HOME: "/a", XDG_CONFIG_HOME: "x" },
    "/a/.config/drover/config",
  ],
  ["nowhere without a home", {}, undefined],
  ["nowhere with a relative home", { HOME: "a" }, undefined],
])("the file is %s (cli.md#config)", (_where, env, path) => {
  expect(configPath({ env })).toBe(path);
});

test.each<[string, NodeJS.ProcessEnv, string | undefined]>([
  ["below APPDATA", { APPDATA: "C:\\Data", HOME: "C:\\h" }, "C:\\Data\\drover\\config"],
  ["below XDG_CONFIG_HOME", { APPDATA: "C:\\Data", XDG_CONFIG_HOME: "D:\\x" }, "D:\\x\\drover\\config"],
  ["nowhere without APPDATA", { HOME: "C:\\h" }, undefined],
])("on Windows the file is %s (cli.md#config)", (_where, env, path) => {
  expect(configPath({ env }, "win32")).toBe(path);
});

const good = { url: "https://drover.example.com", token: "t" };
const contexts = (context: unknown, name = "work") => ({ version: 1, contexts: { [name]: context } });

test.each<[string, unknown, RegExp]>([
  ["text that ends too soon", '{"version": 1,\n', /^it is not valid JSON: .*\(line 2, column 1\)$/],
  ["no JSON at all", "version = 1", /^it is not valid JSON: .*\(line 1, column 1\)$/],
  ["nothing", "", /^it is not valid JSON: .*\(line 1, column 1\)$/],
  ["a list", [], /^it does not hold one JSON object$/],
  ["no version", { contexts: {} }, /^it has no version, and this command reads version 1$/],
  ["a later version", { version: 2, contexts: {} }, /^it has version 2, and this command reads version 1$/],
  ["a version as a text", { version: "1", contexts: {} }, /^it has version "1", and this command/],
  ["no contexts", { version: 1 }, /^`contexts` is not an object$/],
  [
    "a name with a slash",
    contexts(good, "a/b"),
    /^`contexts.a\/b` is no name of a context, which has 1 to 63/,
  ],
  ["a context that is a text", contexts("x"), /^`contexts.work` is not an object$/],
  [
    "a plain http URL",
    contexts({ ...good, url: "http://a.example.com" }),
    /^`contexts.work.url` is not an https URL/,
  ],
  ["no token", contexts({ url: good.url }), /^`contexts.work.token` is not a token$/],
  [
    "a bad project",
    contexts({ ...good, project: "A B" }),
    /^`contexts.work.project` is no name of a project$/,
  ],
  ["a pool that is a number", contexts({ ...good, pool: 1 }), /^`contexts.work.pool` is not a text$/],
  [
    "a variable that is a number",
    contexts({ ...good, env: { A: 1 } }),
    /^`contexts.work.env` is not an object/,
  ],
  ["a secret that is a text", contexts({ ...good, secrets: { A: "a" } }), /^`contexts.work.secrets` is not/],
  ["a URL for local", contexts(good, "local"), /^`contexts.local.url` is set, but `local` is the Drover of/],
  [
    "an unknown current one",
    { ...contexts(good), current: "home" },
    /^`current` is home, and there is no such/,
  ],
  ["a current one by inheritance", { ...contexts(good), current: "toString" }, /^`current` is toString, and/],
])("%s is no config, and the error says why (cli.md#config)", (_what, content, fault) => {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  expect(parseConfig(text)).toMatchObject({ fault: expect.stringMatching(fault) });
});

describe("a config that cannot be used stops a command before any request, and stays as it is", () => {
  const WRONG: {
    what: string;
    make: (home: ReturnType<typeof makeHome>) => void;
    why: RegExp;
    needsRoot?: boolean;
  }[] = [
    {
      what: "another version",
      make: (home) => home.write(config({ version: 7 })),
      why: /config cannot be used: it has version 7, .*\n {2}Nothing has been changed\. Use the version/,
    },
    {
      what: "bad JSON",
      make: (home) => home.write("{"),
      why: /config cannot be used: it is not valid JSON.*\n {2}Nothing has been changed\. Mend it.*\n {2}mv /,
    },
    {
      what: "a file that others can read",
      make: (home) => home.write(config(), 0o640),
      why: /config is not trusted: others can read it \(mode 640\).*\n.*\n {2}chmod 700 .* && chmod 600 /,
    },
    {
      what: "a folder that others may write to",
      make: (home) => {
        home.write(config());
        chmodSync(join(home.path, ".."), 0o777);
      },
      why: /drover is not trusted: others may write to it \(mode 777\)/,
    },
    {
      what: "a link",
      make: (home) => {
        home.write(config());
        renameSync(home.path, join(home.dir, "else"));
        symlinkSync(join(home.dir, "else"), home.path);
      },
      why: /config is not trusted: it is a link/,
    },
    {
      what: "a directory",
      make: (home) => mkdirSync(home.path, { recursive: true, mode: 0o700 }),
      why: /config is not trusted: it is not a regular file/,
    },
    {
      what: "a file of another user",
      make: (home) => {
        home.write(config());
        chownSync(home.path, 65_534, 65_534);
      },
      why: /config is not trusted: it belongs to user 65534/,
      needsRoot: true,
    },
  ];
  for (const { what, make, why, needsRoot } of WRONG) {
    test.skipIf(needsRoot === true && !isRoot)(`${what} (cli.md#config)`, async () => {
      const home = makeHome(bench);
      make(home);
      const before = what === "a directory" ? "" : readFileSync(home.path, "utf8");
      const asked = bench.plane.seen.length;
      for (const args of [["ps"], ["context", "use", "local"], ["login", bench.plane.url, "--name", "new"]]) {
        const ended = await bench.run(args, { env: home.env() });
        expect(ended).toMatchObject({ code: 125, stderr: expect.stringMatching(why) });
      }
      expect(bench.plane.seen.length).toBe(asked);
      expect(what === "a directory" ? "" : readFileSync(home.path, "utf8")).toBe(before);
      // With a URL and a token of its own, a command does not need the file.
      const env = home.env({ DROVER_URL: bench.plane.url, DROVER_TOKEN: TOKEN });
      expect((await bench.run(["run", "--", "x"], { env })).code).toBe(0);
    });
  }
});

test("what a later command has added to the file stays in it (cli.md#config)", async () => {
  const home = makeHome(bench);
  home.write(config({ theme: "dark", contexts: { work: { ...work(), color: "blue" } } }));
  expect((await bench.run(["context", "set", "--pool", "gpu"], { env: home.env() })).code).toBe(0);
  const expected = { ...work(), color: "blue", pool: "gpu" };
  expect(home.read()).toEqual({ version: 1, current: "work", theme: "dark", contexts: { work: expected } });
  expect(home.modes()).toEqual(["600", "700"]);
});

test("what a crash has left does not stop a change, and is not what is read (cli.md#config)", async () => {
  const home = makeHome(bench);
  home.write(config());
  writeFileSync(`${home.path}.new`, "half", { mode: 0o644 });
  expect((await bench.run(["context", "use", "local"], { env: home.env() })).code).toBe(0);
  expect(home.read()).toEqual({ version: 1, contexts: { work: work() } });
  expect(home.modes()).toEqual(["600", "700"]);
});

test("a folder that cannot be written to is named, and what to set (cli.md#config)", async () => {
  const home = makeHome(bench);
  writeFileSync(join(home.dir, ".config"), "a file");
  const ended = await bench.run(["context", "set", "--pool", "gpu"], { env: home.env() });
  expect(ended.code).toBe(125);
  expect(ended.stderr).toMatch(/Cannot write .*config: .*\n {2}Nothing has changed\. Set XDG_CONFIG_HOME/);
});

test("without a home there is no place for a config, and an error says so (cli.md#config)", async () => {
  const ended = await bench.run(["context", "use", "local"], { env: { PATH: process.env.PATH } });
  expect(ended).toMatchObject({ code: 125, stderr: expect.stringContaining("HOME is not set") });
});
