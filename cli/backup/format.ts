// What is in a backup: its lines, and what makes a file a whole one (backup.md#archive).
import { createHash } from "node:crypto";
import type {
  AccessBackup,
  AuditEntry,
  JobFields,
  PoolConfig,
  RunSummary,
  ShownPoolConfig,
  StoredSecret,
  WebhookRequest,
} from "../../client/types.ts";

/** The version of the format that this command writes, and the highest that it reads. */
export const FORMAT = 2;

/** The first line. */
export interface Head {
  drover: "backup";
  format: number;
  /** The version of the control plane. */
  version: string;
  url: string;
  madeAt: string;
}

export type TokenLine = AccessBackup["tokens"][number];
export type RuleLine = AccessBackup["trustRules"][number];
/** An endpoint without its secret. */
export interface WebhookLine extends WebhookRequest {
  project: string;
}

/** A pool. `secretProject`: whose secret its provider names; absent: it names none. */
export interface PoolLine<Config = PoolConfig> {
  name: string;
  config: Config;
  secretProject?: string;
}

/** A job, as it is to be stored. */
export interface JobLine {
  name: string;
  project: string;
  paused: boolean;
  fields: JobFields;
}

/** A line of a backup. What restores nothing stands there for people: secrets by name, and the history. */
export type Line =
  | { kind: "project"; name: string }
  | ({ kind: "token" } & TokenLine)
  | ({ kind: "trust_rule" } & RuleLine)
  | ({ kind: "secret" } & Pick<StoredSecret, "name" | "project" | "use">)
  | ({ kind: "pool" } & PoolLine<ShownPoolConfig>)
  | ({ kind: "job" } & JobLine)
  | ({ kind: "webhook" } & WebhookLine)
  | { kind: "run"; run: RunSummary }
  | { kind: "audit"; entry: AuditEntry };

/** The kinds of lines, in their order. */
export const KINDS = [
  "project",
  "token",
  "trust_rule",
  "secret",
  "pool",
  "job",
  "webhook",
  "run",
  "audit",
] as const satisfies Line["kind"][];

/** How many lines there are of each kind. */
export type Counts = Record<Line["kind"], number>;

/** What a backup can restore. */
export interface Contents {
  head: Head;
  projects: string[];
  tokens: TokenLine[];
  trustRules: RuleLine[];
  pools: PoolLine[];
  jobs: JobLine[];
  webhooks: WebhookLine[];
  secrets: Pick<StoredSecret, "name" | "project" | "use">[];
  counts: Counts;
}

/** Why a file is no backup, or no whole one. */
export class BackupFault extends Error {
  override readonly name = "BackupFault";
}

/** The counts before the first line. */
export function noCounts(): Counts {
  return { project: 0, token: 0, trust_rule: 0, secret: 0, pool: 0, job: 0, webhook: 0, run: 0, audit: 0 };
}

/** Adds lines up, so that the last line can say whether all of them are there, unchanged. */
export class Seal {
  readonly #hash = createHash("sha256");
  #lines = 0;

  add(line: string): void {
    this.#hash.update(`${line}\n`);
    this.#lines += 1;
  }

  /** The last line. */
  line(): string {
    return JSON.stringify({ kind: "end", lines: this.#lines, sha256: this.#hash.digest("hex") });
  }
}

/** Reads the lines of a backup one after the other (backup.md#archive). Throws a `BackupFault`. */
export class Reader {
  readonly #seal = new Seal();
  readonly #contents: Omit<Contents, "head"> = {
    ...{ projects: [], tokens: [], trustRules: [], pools: [], jobs: [], webhooks: [], secrets: [] },
    counts: noCounts(),
  };
  #head: Head | undefined;
  #isWhole = false;

  read(text: string): void {
    if (this.#isWhole) throw new BackupFault("something follows its last line");
    if (this.#head === undefined) this.#head = headOf(text);
    else if (this.#isEnd(text)) return;
    else this.#take(lineOf(text));
    this.#seal.add(text);
  }

  /** What it has, once all lines were read. */
  contents(): Contents {
    if (this.#head === undefined) throw new BackupFault("it is empty");
    if (!this.#isWhole) throw new BackupFault("its end is missing: it was cut off");
    return { head: this.#head, ...this.#contents };
  }

  #isEnd(text: string): boolean {
    if (!text.startsWith('{"kind":"end"')) return false;
    if (text !== this.#seal.line()) throw new BackupFault("its lines are not those that were written");
    this.#isWhole = true;
    return true;
  }

  #take(line: Line): void {
    const { projects, tokens, trustRules, pools, jobs, webhooks, secrets, counts } = this.#contents;
    counts[line.kind] += 1;
    switch (line.kind) {
      case "project":
        return void projects.push(line.name);
      case "token":
        return void tokens.push(without(line));
      case "trust_rule":
        return void trustRules.push(without(line));
      case "pool":
        return void pools.push(without(line));
      case "job":
        return void jobs.push(without(line));
      case "webhook":
        return void webhooks.push(without(line));
      case "secret":
        return void secrets.push(without(line));
      case "run":
      case "audit":
        return;
    }
  }
}

function without<Of extends { kind: string }>({ kind: _, ...rest }: Of): Omit<Of, "kind"> {
  return rest;
}

function headOf(text: string): Head {
  const head = parsed(text);
  if (head?.drover !== "backup") throw new BackupFault("it is no backup of Drover");
  const { format } = head;
  if (typeof format !== "number" || format < 1) throw new BackupFault("its first line is damaged");
  if (format > FORMAT) {
    throw new BackupFault(
      `a newer version of Drover wrote it (format ${format}, and this command reads up to ${FORMAT})`,
    );
  }
  return head as unknown as Head; // the command that wrote this format has written these fields
}

function lineOf(text: string): Line {
  const line = parsed(text);
  if (line === undefined) throw new BackupFault("a line of it is no JSON");
  const { kind } = line;
  if (!KINDS.some((one) => one === kind)) throw new BackupFault(`it has a line of an unknown kind: ${kind}`);
  // The last line finds what is cut off or damaged, and the control plane judges each thing.
  return line as unknown as Line;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined; // `JSON.parse` throws only a SyntaxError
  }
}
