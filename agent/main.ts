import { spawnSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { makePrivateDir } from "../posix/files.ts";
import { type Lock, takeLock } from "../posix/lock.ts";
import type { Instant, Millis } from "../src/shared/machine.ts";
import { ACTS } from "../src/shared/means.ts";
import { errorText } from "../src/shared/words.ts";
import { makeClock } from "./clock.ts";
import { initialHost } from "./core/host.ts";
import { isLeaseEnding } from "./core/lease.ts";
import { ExecDriver } from "./drivers/exec.ts";
import { FakeDriver } from "./drivers/fake.ts";
import { AllocDirs } from "./exec/files/alloc-dirs.ts";
import { StickyData } from "./exec/files/sticky-data.ts";
import { closedOnWay } from "./exec/files/way.ts";
import { Prestart } from "./exec/prestart.ts";
import { AttemptStore } from "./exec/processes/dirs.ts";
import { Groups } from "./exec/processes/groups.ts";
import { shellTellsSignals } from "./exec/processes/shim.ts";
import { Supervisor } from "./exec/supervisor.ts";
import { readBootId, readLocalBootId, readResources } from "./facts.ts";
import { HostAgent } from "./host-agent.ts";
import { Journal } from "./journal.ts";
import { strangeState } from "./own-state.ts";
import { Refusal } from "./plane/control-plane.ts";
import { REFUSED_EXIT_CODE } from "./plane/exchange.ts";
import { joinControlPlane } from "./plane/join.ts";
import { safeUrl, UnsafeUrl } from "./plane/safe-url.ts";
import { say } from "./say.ts";
import { keepWatchdog, type WatchdogOptions } from "./watchdog.ts";

declare const DROVER_VERSION: string;

const USAGE = `Usage: node drover-agent.mjs --url <control plane> --state <directory> [--code-file <file>]

Makes this machine a host of Drover and runs what it is ordered to run.

  --url        where the control plane is, such as https://drover.example.com
  --state      where this host keeps its secret and the data of its attempts
  --code-file  a file with the enrollment code; needed once
  --power-off  a command that ends this machine, run when it is done for. Not for a self-hosted machine
  --notice     a command that prints a notice when this machine is about to be taken away, or nothing
  --end-lease  only end what an agent has left that is dead, if its lease is about to end
  --version    print the version and exit
`;

const USAGE_EXIT_CODE = 2;
/** Another agent lives on the same state. */
const LOCKED_EXIT_CODE = 4;
/** The lease is not about to end, so nothing was ended. */
const LEASED_EXIT_CODE = 5;
/** How long the command that ends this machine is waited for. */
const POWER_OFF_WITHIN_MS: Millis = 60_000;

// Without it a busy hour leaves the agent with 90 MB that it never gives back: what it makes is small and
// short-lived.
setFlagsFromString("--semi-space-growth-factor=1");

// Node waits at its end for what V8 compiles beside the program, and that may wait for a collection which
// never comes any more: the process would hang for ever (nodejs/node#54918), and still have
// `agent.lock`.
for (const flag of ["--no-concurrent-sparkplug", "--no-concurrent-recompilation"]) setFlagsFromString(flag);

interface Settings {
  /** Absent: only end what runs under a lease that is about to end. */
  url: string | undefined;
  stateDir: string;
  codeFile: string | undefined;
  powerOff: string | undefined;
  notice: string | undefined;
}

/** Reads the command line. A number is the exit code of a call that ends right away. */
function readArguments(): Settings | number {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const modes = { "end-lease": flag, version: flag, help: flag };
  const options = { url: text, state: text, "code-file": text, "power-off": text, notice: text, ...modes };
  try {
    const { values } = parseArgs({ options });
    if (values.version || values.help) {
      process.stdout.write(values.help ? USAGE : `${DROVER_VERSION}\n`);
      return 0;
    }
    const { url, state } = values;
    if (!state) throw new Error("--state must name a directory.");
    const given = {
      stateDir: resolve(state),
      codeFile: values["code-file"],
      powerOff: values["power-off"],
      notice: values.notice,
    };
    if (values["end-lease"]) return { ...given, url: undefined };
    if (!url || !URL.canParse(url)) throw new Error("--url must be the URL of the control plane.");
    safeUrl(url);
    return { ...given, url };
  } catch (error) {
    process.stderr.write(`drover-agent: ${errorText(error)}\n\n${USAGE}`);
    return USAGE_EXIT_CODE;
  }
}

function exit(code: number, reason: string): never {
  say(`ends: ${reason}`);
  process.exit(code);
}

/** Ends this process, and first this machine if that is said and somebody has told how. */
function exitOrPowerOff(command: string | undefined) {
  return (code: number, reason: string, powerOff: boolean): never => {
    if (powerOff && command !== undefined) {
      say(`powers off: ${reason}`);
      spawnSync("/bin/sh", ["-c", command], { stdio: "inherit", timeout: POWER_OFF_WITHIN_MS });
    }
    exit(code, reason);
  };
}

/** The files of a host, and what an earlier start has left in them. */
interface Left {
  store: AttemptStore;
  allocs: AllocDirs;
  /** Names this boot of the machine. */
  boot: string;
  journal: Journal;
  groups: Groups;
  ids: string[];
}

function openLeft(stateDir: string): Left {
  const store = new AttemptStore(stateDir);
  const boot = readLocalBootId(process.env);
  const journal = new Journal(stateDir, boot);
  const allocs = new AllocDirs(stateDir);
  const ids = [...new Set([...store.found(), ...journal.begun()])];
  return { store, allocs, boot, journal, groups: new Groups(stateDir), ids };
}

/** Takes on what was left, as it is. `keep`: who writes down what becomes of it. */
async function takeOn(
  { store, allocs, boot, journal, groups, ids }: Left,
  { stateDir, powerOff, notice }: Settings,
  keep: Journal["keep"],
): Promise<HostAgent> {
  const { DROVER_INSTANCE: instance } = process.env;
  const now = makeClock();
  const shellTells = await shellTellsSignals(join(stateDir, "shell-check"));
  const prestart = new Prestart({
    allocs,
    instance,
    boot,
    worker: () => agent.worker,
    snapshots: () => agent.snapshots,
  });
  const sticky = new StickyData(allocs);
  const supervisor = new Supervisor({
    store,
    allocs,
    sticky,
    prestart,
    // A command is what no other driver has left a trace of: so it comes last.
    drivers: (ended) => ({
      fake: new FakeDriver({ store, now, ended }),
      exec: new ExecDriver({ store, allocs, prestart, groups, now, shellTells, ended }),
    }),
    tell: (event) => agent.tell(event),
  });
  const attempts = ids.flatMap((id) => supervisor.recover(id, journal.read(id)) ?? []);
  const lease = journal.readLease();
  const powersOff = powerOff !== undefined;
  const placements = allocs.found();
  const means = { ...groups.means, acts: [...ACTS] };
  const had = { attempts, placements, sticky: sticky.found(), lease };
  const state = initialHost({ ...had, means, powersOff }, now());
  const exits = exitOrPowerOff(powerOff);
  const ways = { journal: { keep }, noticeCommand: notice, exit: exits };
  const awakeFile = process.env.DROVER_AWAKE_FILE;
  const agent = new HostAgent(state, { now, stateDir, instance, awakeFile, ...ways });
  agent.supervise(supervisor);
  return agent;
}

async function run(settings: Settings & { url: string }): Promise<void> {
  const { url, stateDir, codeFile } = settings;
  makePrivateDir(stateDir);
  const strange = strangeState(stateDir);
  if (strange !== undefined) {
    exit(USAGE_EXIT_CODE, `${stateDir} is no place for its state: ${strange}. Name another --state.`);
  }
  const { holder } = lockState(stateDir);
  if (holder !== undefined) {
    const why = `the agent with pid ${holder.pid} serves ${stateDir}.`;
    exit(LOCKED_EXIT_CODE, `${why} Stop it first, or name another --state.`);
  }
  sayWhatIsClosed(stateDir);
  const watchdog = watchdogOf(settings);
  keepWatchdog(watchdog);
  const left = openLeft(stateDir);
  left.store.prune();
  await left.allocs.prune();
  left.journal.prune(left.ids);
  left.groups.prune(left.ids);
  let guardedUntil: Instant | undefined;
  const agent = await takeOn(left, settings, (state) => {
    const isKept = left.journal.keep(state);
    // Whatever became of it: nothing may run under a lease that nobody guards.
    if (state.leaseUntil !== guardedUntil) keepWatchdog(watchdog);
    guardedUntil = state.leaseUntil;
    return isKept;
  });
  const joining = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      joining.abort();
      agent.tell({ type: "shutdown" });
    });
  }
  try {
    const facts = { bootId: readBootId(process.env), resources: readResources(process.env, stateDir) };
    const options = { url, stateDir, codeFile, ...facts, isFree: () => agent.isFree };
    const { plane, setup } = await joinControlPlane(options, joining.signal);
    say(`is host ${setup.worker}, start ${setup.incarnation}`);
    agent.connect(plane, { type: "joined", setup });
  } catch (error) {
    if (joining.signal.aborted) return;
    const code = error instanceof Refusal || error instanceof UnsafeUrl ? REFUSED_EXIT_CODE : 1;
    agent.tell({ type: "stale", code, reason: `cannot be a host: ${errorText(error)}` });
  }
}

/**
 * Makes this process the one agent of a state directory until it ends. Two of them would end each other's
 * tasks: the one whose incarnation is older stops all that it holds.
 */
function lockState(stateDir: string): Lock {
  return takeLock(join(stateDir, "agent.lock"));
}

/** Only root runs commands as other users, and what is above its state is not the agent's to open. */
function sayWhatIsClosed(stateDir: string): void {
  const closed = process.geteuid?.() === 0 ? closedOnWay(dirname(stateDir)) : undefined;
  if (closed === undefined) return;
  say(
    `runs with \`user\` cannot start here: others may not pass through ${closed.dir} (mode ${closed.mode}) ` +
      `to their files. Open it by \`chmod o+x ${closed.dir}\`, or name another --state.`,
  );
}

function watchdogOf({ stateDir, powerOff }: Settings): WatchdogOptions {
  const { DROVER_INSTANCE, DROVER_BOOT_ID } = process.env;
  const endLease = [process.execPath, resolve(process.argv[1] ?? ""), "--state", stateDir, "--end-lease"];
  return { stateDir, powerOff, endLease, marks: { DROVER_INSTANCE, DROVER_BOOT_ID } };
}

/**
 * What the watchdog starts near the end of the lease: ends what runs, as an agent that is told to end. If the
 * agent is dead it takes its place, so that the next start of it finds what became of each attempt. One that
 * is stopped, or hangs, keeps its place, and its journal: then only the processes are ended.
 */
async function endLease(settings: Settings): Promise<void> {
  const { holder } = lockState(settings.stateDir);
  const left = openLeft(settings.stateDir);
  if (!isLeaseEnding(left.journal.readLease(), makeClock()())) {
    exit(LEASED_EXIT_CODE, "the lease has been extended");
  }
  const keep: Journal["keep"] = (state) => {
    return holder !== undefined || left.journal.keep(state);
  };
  const agent = await takeOn(left, { ...settings, powerOff: undefined }, keep);
  agent.tell({ type: "shutdown", by: "lease" });
}

// Whoever reads what the agent says may be gone; that is no reason to end the tasks.
process.stderr.on("error", () => undefined);

const settings = readArguments();
if (typeof settings === "number") process.exitCode = settings;
else if (settings.url === undefined) await endLease(settings);
else await run({ ...settings, url: settings.url });
