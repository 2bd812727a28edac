// What `drover pools edit` does: opens a pool in an editor, until it is right, or given up.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { PoolConfig } from "../../client/types.ts";
import { quoteArgv } from "../../src/shared/shell-words.ts";
import { connect } from "../context.ts";
import { CliError, EXIT } from "../errors.ts";
import { isAtTerminal, personAtTerminal } from "../terminal/ask.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, cut, printable, table } from "../terminal/text.ts";
import { differencesOf } from "./differences.ts";
import { documentOf, editorIn, type Fault, jsonIn, meantBy } from "./document.ts";

/** Opens a pool in the person's editor. Resolves with the exit code. Throws a `CliError` if it cannot. */
export async function poolEdit(io: Io, name: string): Promise<number> {
  if (!isAtTerminal()) {
    const pool = quoteArgv([name]);
    throw new CliError("There is no terminal for an editor.", [
      `Use a file: drover pools ${pool} --json | jq .config > pool.json`,
      `And then: drover apply --name ${pool} -f pool.json`,
    ]);
  }
  const editor = editorIn(io.env);
  const { client } = connect(io);
  const { config } = await client.pools.get(name);
  const file = join(mkdtempSync(join(tmpdir(), "drover-")), `${printable(name)}.json`);
  const edit: Edit = { io, client, name, before: config, editor, file };
  let isKept = true;
  try {
    const isChanged = await edited(edit, asJson(config));
    isKept = false;
    await io.say(isChanged ? `Pool ${name} is changed` : `Pool ${name} is as it was`);
    return 0;
  } catch (error) {
    if (!(error instanceof GivenUp)) throw error;
    await io.say(`Pool ${name} is as it was`);
    return EXIT.no;
  } finally {
    if (isKept) await io.say(`Your text is kept in ${file}`);
    else rmSync(dirname(file), { recursive: true, force: true });
  }
}

/** The person has left a text that is not put. */
class GivenUp extends Error {}

interface Edit {
  io: Io;
  client: Client;
  name: string;
  before: object;
  editor: string;
  file: string;
}

/** Edits until the pool is changed, or is to stay as it is. Rejects with `GivenUp` if a text is left. */
async function edited(edit: Edit, start: string): Promise<boolean> {
  const { name, before } = edit;
  let [json, faults]: [string, Fault[]] = [start, []];
  for (;;) {
    const opened = documentOf(name, json, faults);
    const saved = await saveOf(edit, opened);
    // The same text once more has the same faults.
    if (faults.length > 0 && saved === opened) throw new GivenUp();
    const meant = meantBy(name, saved, before);
    if (meant.kind === "same") return false;
    if (meant.kind === "empty") {
      writeFileSync(edit.file, json);
      if (faults.length > 0) throw new GivenUp();
      return false;
    }
    [json, faults] = [jsonIn(saved), []];
    if (meant.kind === "faulty") {
      faults = meant.faults;
      continue;
    }
    const answer = await agreed(edit, meant.config);
    if (answer === "n") throw new GivenUp();
    if (answer === "e") continue;
    const refused = await put(edit, meant.config);
    if (refused === undefined) return true;
    faults = refused;
  }
}

/** Opens a text in the editor, and resolves with what the person has saved. */
async function saveOf({ editor, file }: Edit, text: string): Promise<string> {
  writeFileSync(file, text, { mode: 0o600 });
  // `EDITOR` is a command line, as for `git` and `crontab`.
  const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code === 0) return readFileSync(file, "utf8");
  throw new CliError(`The editor has ended with ${code ?? "a signal"}: ${printable(editor)}.`, [
    "Set another one with EDITOR.",
  ]);
}

const MAX_VALUE_CHARS = 60;

/** Shows what is different, and asks. */
async function agreed({ io, name, before }: Edit, config: object): Promise<string> {
  const valueText = (value: unknown) =>
    value === undefined ? "" : cut(JSON.stringify(value), MAX_VALUE_CHARS);
  const rows = differencesOf(before, config).map((one) => {
    return [one.path, valueText(one.before), valueText(one.after)];
  });
  await io.stdout.write(table(["FIELD", "BEFORE", "AFTER"], rows, Infinity));
  const person = personAtTerminal("The question was not answered.");
  try {
    return await person.choose(`Change the pool ${printable(name)}? n: no, y: yes, e: edit again`, "nye");
  } finally {
    person.leave();
  }
}

/** The codes of a refusal that another text can help against. */
const CORRECTABLE: readonly string[] = [
  "invalid_request",
  "pool_in_use",
  "unknown_secret",
  "unknown_project",
];

/**
 * Puts the configuration. Resolves with why it was refused, if another text can help. The API has no revision
 * of a pool, so a change of somebody else is found by a look right before.
 */
async function put({ client, name, before }: Edit, config: object): Promise<Fault[] | undefined> {
  const { config: present } = await client.pools.get(name);
  if (JSON.stringify(present) !== JSON.stringify(before)) {
    throw new CliError(`Somebody has changed the pool ${printable(name)} meanwhile.`, [
      "Edit it again, and take over from your text what is still right.",
    ]);
  }
  try {
    // The server validates the configuration, and names each wrong field.
    await client.pools.put(name, config as PoolConfig);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || !CORRECTABLE.includes(error.code)) throw error;
    const fields = error.errors.map(({ pointer, detail }) => ({ text: `${pointer}: ${detail}` }));
    return fields.length > 0 ? fields : [{ text: error.detail }];
  }
}
