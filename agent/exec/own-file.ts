// How does the agent replace its own file by a newer agent, and what tells that the newer one works
// (host-protocol.md#self-update)?
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeAtomically } from "../../disk/atomic.ts";
import { readIfThere, tryReadText } from "../../posix/files.ts";
import type { Millis } from "../../src/shared/machine.ts";
import { errorText } from "../../src/shared/words.ts";
import type { EventOf } from "../core/events.ts";
import { say } from "../say.ts";

const FETCH_WITHIN_MS: Millis = 5 * 60_000;
const RUNS_WITHIN_MS: Millis = 30_000;
/** The suffix of the agent that was replaced. */
const OLD = ".old";
/**
 * Beside the agent: the digest of a newer agent that has not reported yet, then a line for each of its
 * starts. Whatever starts the agent goes back to the old one after three starts (`user-data.sh`,
 * `install.sh`), and renames this file to `refused`.
 */
const UPDATING = "updating";
const REFUSED = "refused";

/** The file of a running agent. */
export class OwnFile {
  readonly #path: string;
  #isProven = false;
  /** The SHA-256 of the agent that runs, in hexadecimal. */
  readonly sha256: string;

  constructor(path: string) {
    this.#path = path;
    this.sha256 = digestOf(readFileSync(path));
  }

  /** Whether this agent has replaced another one, and has not reported yet. */
  get isUnproven(): boolean {
    return this.#firstLineOf(UPDATING) === this.sha256;
  }

  /** The agent has reported: the one before it is not needed any more. */
  prove(): void {
    if (this.#isProven) return;
    // Throws if the file cannot be read now: it may name this agent, which must not be taken back then.
    if (this.#firstLineOf(UPDATING, readIfThere) === this.sha256) {
      rmSync(this.#beside(UPDATING), { force: true });
      rmSync(this.#path + OLD, { force: true });
    }
    this.#isProven = true;
  }

  /**
   * Replaces the file by the agent with this digest. The running process is not affected. Rejects if the
   * agent is not there, has another digest, cannot run here, or did not report when it ran here before.
   */
  async replace(url: string, sha256: string): Promise<void> {
    if (this.#firstLineOf(REFUSED) === sha256) throw new Error("it did not report when it ran here before");
    const response = await fetch(`${url}/agent/drover-agent.mjs`, {
      signal: AbortSignal.timeout(FETCH_WITHIN_MS),
    });
    if (!response.ok) throw new Error(`the answer was ${response.status}`);
    const bytes = Buffer.from(await response.arrayBuffer());
    const found = digestOf(bytes);
    if (found !== sha256) throw new Error(`its digest is ${found}, and should be ${sha256}`);
    const fresh = `${this.#path}.new.mjs`;
    writeFileSync(fresh, bytes, { mode: 0o600 });
    const { status, stderr } = spawnSync(process.execPath, [fresh, "--version"], {
      encoding: "utf8",
      timeout: RUNS_WITHIN_MS,
    });
    if (status !== 0) throw new Error(`it does not run here: ${stderr.trim().slice(-1_000)}`);
    rmSync(fresh);
    // Each whole also after a loss of power: an empty agent would end at once, as if it were done.
    writeAtomically(this.#path + OLD, readFileSync(this.#path));
    writeAtomically(this.#beside(UPDATING), `${sha256}\n`);
    writeAtomically(this.#path, bytes);
  }

  #beside(name: string): string {
    return join(dirname(this.#path), name);
  }

  #firstLineOf(name: string, read = tryReadText): string | undefined {
    return read(this.#beside(name))?.split("\n")[0];
  }
}

/** Replaces the agent's file, if it may be. Never rejects: an agent that cannot be replaced goes on. */
export async function fetchedAgent(
  file: OwnFile | undefined,
  url: string,
  sha256: string,
): Promise<EventOf<"agent_fetched">> {
  try {
    await file?.replace(url, sha256);
    return { type: "agent_fetched", sha256, failed: false };
  } catch (error) {
    say(`cannot make room for the newer agent ${sha256}: ${errorText(error)}`);
    return { type: "agent_fetched", sha256, failed: true };
  }
}

function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
