import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { errorCode } from "../../posix/errors.ts";
import { MEMORY_ROOTS } from "../../posix/memory-dir.ts";
import { childrenOf, listPids } from "../../posix/proc.ts";
import { until } from "../local/support/scratch.ts";
import type { Json } from "./support/edge.ts";
import { type Server, startServer } from "./support/server.ts";

// Three secrets through the whole system: none of them is found afterwards, in any form, in anything that
// Drover has stored or logged. The search is proved by a value that is no secret, which it does find.

let server: Server;
/** The processes of the Worker. */
let runtime: number[];
beforeAll(async () => {
  const before = runtimes();
  server = await startServer();
  runtime = runtimes().filter((pid) => !before.includes(pid));
  expect(runtime).toHaveLength(1);
});
afterAll(() => server.stop());

const line = () => randomBytes(24).toString("base64");
const SECRETS: Record<string, string> = {
  "file-one": `-----BEGIN KEY-----\n${line()}\n${line()}\n-----END`,
  "env-one": `p"a's$s\\w/${randomBytes(9).toString("hex")}+&<é>`,
  both: `tok_${randomBytes(16).toString("base64url")}`,
};
/** Not a secret: a variable of the run, which is stored and shown. */
const PLAIN = `plain-${randomBytes(12).toString("hex")}`;

/** The forms of a value for which everything is searched: each alone tells the value. */
function formsOf(value: string): Map<string, Buffer> {
  const bytes = Buffer.from(value);
  const forms = new Map<string, Buffer>([["raw", bytes]]);
  for (const line of value.split("\n"))
    if (line.length > 16) forms.set(`line ${line.slice(0, 4)}`, Buffer.from(line));
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    // Without the characters that depend on what stands around.
    const core = encoded.slice(4, 4 + Math.floor((bytes.length - 6) / 3) * 4);
    forms.set(`base64 ${before}`, Buffer.from(core));
    forms.set(`base64url ${before}`, Buffer.from(core.replaceAll("+", "-").replaceAll("/", "_")));
  }
  forms.set("hex", Buffer.from(bytes.toString("hex")));
  forms.set("HEX", Buffer.from(bytes.toString("hex").toUpperCase()));
  forms.set("JSON", Buffer.from(JSON.stringify(value).slice(1, -1)));
  forms.set("JSON twice", Buffer.from(JSON.stringify(JSON.stringify(value).slice(1, -1)).slice(1, -1)));
  forms.set("percent", Buffer.from(encodeURIComponent(value)));
  forms.set("UTF-16", Buffer.from(value, "utf16le"));
  return forms;
}

/** All files below a directory, as they are now, but for those to which a link leads elsewhere. */
function filesIn(dir: string): string[] {
  for (;;) {
    try {
      return readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((one) => one.isFile())
        .map(({ parentPath, name }) => join(parentPath, name))
        .filter((file) => existsSync(file) && realpathSync(file).startsWith(realpathSync(dir)));
    } catch (error) {
      // Something was removed while it was read: again, so that nothing is left out.
      if (errorCode(error) !== "ENOENT") throw error;
      if (!existsSync(dir)) return [];
    }
  }
}

/** Where a value is found, in which form. */
function found(value: string, files: string[]): string[] {
  const forms = [...formsOf(value)];
  return files.flatMap((file) => {
    const content = readIfThere(file);
    return forms.filter(([, form]) => content.includes(form)).map(([name]) => `${name} in ${file}`);
  });
}

function readIfThere(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0); // it has ended, or was removed, meanwhile
  }
}

/** The arguments of all processes. */
const argumentFiles = () => listPids().map((pid) => `/proc/${pid}/cmdline`);

/** The processes of workerd that this process has started. */
const runtimes = () =>
  childrenOf(process.pid)
    .map(({ pid }) => pid)
    .filter((pid) => readIfThere(`/proc/${pid}/cmdline`).includes("workerd"));

/** Directories in memory that belong to Drover. */
const memoryDirs = () =>
  MEMORY_ROOTS.filter((root) => existsSync(root))
    .flatMap((root) => readdirSync(root).map((name) => join(root, name)))
    .filter((path) => /\/drover-\w{6}$/.test(path) && lstatSync(path).isDirectory());

/** The command prints each secret in every usual form, on both streams, and in the middle of much output. */
const SCRIPT = `
import { readFileSync, existsSync, writeFileSync } from "node:fs";
const dir = process.env.DROVER_SECRETS_DIR + "/";
const file = (name) => readFileSync(dir + name, "utf8");
const values = [file("one"), process.env.TWO, file("three"), process.env.FOUR];
for (const stream of [process.stdout, process.stderr]) {
  for (const value of values) {
    const bytes = Buffer.from(value);
    for (const form of [value, bytes.toString("hex"), JSON.stringify(value), encodeURIComponent(value),
      bytes.toString("base64"), Buffer.concat([Buffer.from("x"), bytes]).toString("base64"),
      Buffer.concat([Buffer.from("xy"), bytes]).toString("base64url")]) stream.write("<" + form + ">\\n");
  }
}
for (let n = 0; n < 200; n += 1) process.stdout.write(".".repeat(16_000) + values[n % 4] + "\\n");
writeFileSync("started", "");
while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
console.log("lengths", values.map((value) => value.length).join(" "));`;

async function submit(): Promise<string> {
  for (const [name, value] of Object.entries(SECRETS)) {
    await server.json(200, "PUT", `/v1/secrets/${name}`, { value });
  }
  const secrets = {
    one: { secret: "file-one" },
    TWO: { secret: "env-one", as: "env" },
    three: { secret: "both" },
    FOUR: { secret: "both", as: "env" },
  };
  const script = join(server.stateDir, "..", `secrets-${randomBytes(4).toString("hex")}.mjs`);
  writeFileSync(script, SCRIPT);
  const argv = [process.execPath, script];
  const { id } = await server.json(201, "POST", "/v1/runs", { argv, secrets, env: { PLAIN } });
  return id;
}

test("after a run with three secrets nothing that Drover stores or logs has any form of them", async () => {
  const id = await submit();
  const started = await until("the command has printed", () =>
    filesIn(server.stateDir).find((file) => file.endsWith("/local/started")),
  );
  // While it runs, its secrets are on no disk but in what it has written itself, and in nobody's arguments.
  const isOutput = (file: string) => /\/attempts\/[^/]+\/std(out|err)$/.test(file);
  const during = filesIn(server.stateDir).filter((file) => !isOutput(file));
  // Tests beside this one have such directories, too: its own are those with its values.
  const ownDirs = memoryDirs().filter((dir) =>
    Object.values(SECRETS).some((value) => found(value, filesIn(dir)).length > 0),
  );
  expect(ownDirs.flatMap((dir) => filesIn(dir)).length).toBeGreaterThanOrEqual(2);
  const isJournal = (file: string) => /\/agent\/journal\/[^/]+\.json$/.test(file);
  expect(during.filter(isJournal)).toHaveLength(1);
  for (const value of Object.values(SECRETS))
    expect(found(value, [...during, ...argumentFiles()])).toEqual([]);

  // Between its end and the answer of the control plane, which is suspended, the machine has all of it.
  for (const pid of runtime) process.kill(pid, "SIGSTOP");
  try {
    writeFileSync(join(started, "..", "go"), "");
    const hasExit = (file: string) => isJournal(file) && readIfThere(file).includes('"exit":');
    await until("the end is in the journal", () => filesIn(server.stateDir).some(hasExit) || undefined);
    const ended = filesIn(server.stateDir).filter((file) => !isOutput(file));
    for (const value of Object.values(SECRETS)) expect(found(value, ended)).toEqual([]);
  } finally {
    for (const pid of runtime) process.kill(pid, "SIGCONT");
  }
  const run: Json = await server.json(200, "GET", `/v1/runs/${id}?wait=60s`);
  expect(run).toMatchObject({ state: "complete", exitCode: 0 });

  const texts = [JSON.stringify(run), JSON.stringify(await server.json(200, "GET", `/v1/runs/${id}/why`))];
  texts.push(JSON.stringify(await server.json(200, "GET", "/v1/secrets")));
  for (const stream of ["stdout", "stderr"]) {
    texts.push(await (await server.call("GET", `/v1/runs/${id}/logs/main/${stream}`)).text());
  }
  const lengths = ["file-one", "env-one", "both", "both"].map((name) => SECRETS[name]?.length).join(" ");
  expect(texts.join("\n")).toContain(`lengths ${lengths}\n`); // it had them as they are
  for (const value of Object.values(SECRETS)) {
    for (const [name, form] of formsOf(value))
      expect([name, texts.join("\n").includes(form.toString())]).toEqual([name, false]);
  }

  // What the command has written itself is on its machine until the attempt is forgotten.
  await until("the attempt is forgotten", () => !filesIn(server.stateDir).some(isOutput) || undefined);
  expect(ownDirs.filter((dir) => existsSync(dir))).toEqual([]);
  const files = [...filesIn(server.stateDir), ...memoryDirs().flatMap((dir) => filesIn(dir))];
  expect(files.some((file) => file.endsWith(".sqlite"))).toBe(true);
  expect(files.some((file) => file.endsWith("worker.log"))).toBe(true);
  // The journal of the attempt is gone with it. What else the agent has is still there.
  expect(files.some((file) => file.endsWith("/agent/host-key.json"))).toBe(true);
  for (const value of Object.values(SECRETS))
    expect(found(value, [...files, ...argumentFiles()])).toEqual([]);
  // The search sees what is there: a variable is stored with its run.
  expect(found(PLAIN, files).some((place) => place.startsWith("raw in "))).toBe(true);
});
