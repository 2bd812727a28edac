// What do the words of an engine say about the start and the end of a command (containers.md#ends)?
import type { StartError } from "../../src/schema/host.ts";
import type { StartErrorCode } from "../../src/schema/run/task.ts";
import type { Instant } from "../../src/shared/machine.ts";
import { clause } from "../../src/shared/words.ts";
import type { AttemptJournal, FoundAttempt } from "../core/journal.ts";
import type { TaskEnd } from "../drivers/driver.ts";
import type { EngineError } from "../engine/errors.ts";
import type { ContainerState } from "../engine/types.ts";
import { MAX_ERROR_CHARS } from "../exec/start-fault.ts";

/** What was seen of a container's memory while it ran. */
export interface MemorySeen {
  /** How many of its processes the kernel has killed for lack of memory, at the latest look. */
  kills: number;
  peakBytes: number;
  /** 0: no limit. */
  limitBytes: number;
}

/** Exit code of a command that SIGKILL has ended. */
const KILLED = 137;
/** A peak of more than this part of the limit, with SIGKILL, is taken for a lack of memory. */
const NEARLY = 0.95;

/**
 * How a container that does not run any more has ended. An engine need not say that memory has run out, and
 * removes the counters with the container, so what was seen before counts as well (containers.md#oom).
 */
export function endOf(
  { startedAt, exitCode, oomKilled }: ContainerState,
  memory: MemorySeen,
  wasEngineDown: boolean,
): TaskEnd {
  if (startedAt === undefined) return { lost: true };
  const isFull = memory.limitBytes > 0 && memory.peakBytes >= memory.limitBytes * NEARLY;
  const outOfMemory = exitCode !== 0 && (oomKilled || memory.kills > 0 || (exitCode === KILLED && isFull));
  const ended = { code: exitCode, signal: null };
  if (outOfMemory) return { exit: { ...ended, oomKilled: true, message: "It ran out of memory." } };
  const message =
    wasEngineDown && exitCode !== 0 ? "The container engine was restarted while the command ran." : "";
  return { exit: { ...ended, oomKilled: false, message } };
}

/**
 * What is found of a container that has ended while no agent was there. Its own moment counts, so that no
 * time limit that has passed since makes it a failure. `clockMs`: the time of day, by which engines count.
 */
export function endedState(
  state: ContainerState,
  { startedAt = 0 }: Pick<AttemptJournal, "startedAt">,
  { now, clockMs }: { now: Instant; clockMs: number },
): Extract<FoundAttempt["main"], { kind: "ended" }> | undefined {
  const end = endOf(state, { kills: 0, peakBytes: 0, limitBytes: 0 }, false);
  if (state.finishedAt === undefined || !("exit" in end)) return undefined;
  const agoMs = Math.max(0, clockMs - Date.parse(state.finishedAt));
  return { kind: "ended", at: Math.max(startedAt, Math.round(now - agoMs)), exit: end.exit };
}

/**
 * What the small first process of a container, or the runtime in its place, prints if it cannot start the
 * command: all of stderr.
 */
const OF_INIT = /^(?:ERROR \(catatonit:\d+\): failed to exec pid1|\[FATAL tini \(\d+\)\] .* failed): (.+)\n$/;
const OF_RUNTIME = /^exec \/\S+: (.+)\n$/;
/** What the runtime may say so. */
const RUNTIME_SAYS = /argument list too long|exec format error|no such file or directory|permission denied/i;
/** With which codes they end then. */
const CODES_OF_INIT = [1, 126, 127, 255];
/** Longer texts are not its own. */
export const MAX_INIT_TEXT_BYTES = 512;

/**
 * Whether the first process of a container could not start the command. Only its text says so: its exit code
 * may be the command's own (containers.md#init). `stderr`: all that the container has written there.
 */
export function initFaultOf(
  exitCode: number,
  stderr: string,
  argv: readonly string[],
): StartError | undefined {
  if (!CODES_OF_INIT.includes(exitCode)) return undefined;
  const ofRuntime = OF_RUNTIME.exec(stderr)?.[1] ?? "";
  const reason = RUNTIME_SAYS.test(ofRuntime) ? ofRuntime : OF_INIT.exec(stderr)?.[1];
  return reason === undefined ? undefined : startErrorFrom(reason, argv);
}

/** The first row that fits counts: engines wrap the runtime's text into their own. */
const START_TEXTS: readonly (readonly [StartErrorCode, RegExp])[] = [
  ["user_not_found", /unable to find (?:user|group)|no matching entries in (?:passwd|group)|unknown user/i],
  ["arguments_too_long", /argument list too long/i],
  // What is mounted is not the command, whatever the same words say of it.
  ["start_failed", /statfs |bind source path does not exist|error mounting/i],
  [
    "directory_not_found",
    /(?:chdir|mkdir|cwd|workdir|working directory)[^:]*:? .*(?:no such file|not a dir)/i,
  ],
  ["command_not_found", /executable file .*not found|executable file not found|no such file or directory/i],
  ["not_executable", /permission denied|exec format error|is a directory/i],
];

/** Why a container could not be created or started, in the codes of every other start. */
export function startErrorOfEngine({ said, message }: EngineError, argv: readonly string[]): StartError {
  return startErrorFrom(said === "" ? message : said, argv);
}

function startErrorFrom(text: string, argv: readonly string[]): StartError {
  const code = START_TEXTS.find(([, pattern]) => pattern.test(text))?.[0] ?? "start_failed";
  const command = argv[0] === undefined ? "The image's command" : `\`${argv[0]}\``;
  return { code, text: `${command} could not be started: ${clause(text)}.`.slice(0, MAX_ERROR_CHARS) };
}
