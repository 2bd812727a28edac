// Which arguments does the agent take, and how does it start and end?
import { spawnSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { makePrivateDir } from "../posix/files.ts";
import { livingHolder, takeLock } from "../posix/lock.ts";
import { PROTOCOL } from "../src/shared/compat.ts";
import type { Instant, Millis } from "../src/shared/machine.ts";
import { errorText } from "../src/shared/words.ts";
import { makeClock } from "./clock.ts";
import { ENTER, enterContainer } from "./containers/bridge.ts";
import { Containers } from "./containers/containers.ts";
import { initialHost } from "./core/host.ts";
import { isLeaseEnding } from "./core/lease.ts";
import { UPDATED_EXIT_CODE } from "./core/update.ts";
import { DeviceSource } from "./devices/source.ts";
import { ExecDriver } from "./drivers/exec.ts";
import { FakeDriver } from "./drivers/fake.ts";
import { AllocDirs } from "./exec/files/alloc-dirs.ts";
import { closedParent } from "./exec/files/reach.ts";
import { SecretFiles } from "./exec/files/secret-files.ts";
import { StickyData } from "./exec/files/sticky-data.ts";
import { fetchedAgent, OwnFile } from "./exec/own-file.ts";
import { Prestart, type PrestartOptions } from "./exec/prestart.ts";
import { AttemptStore } from "./exec/processes/dirs.ts";
import { Groups } from "./exec/processes/groups.ts";
import { probeShell } from "./exec/shims/shell.ts";
import { Shims } from "./exec/shims/shims.ts";
import { Supervisor } from "./exec/supervisor.ts";
import { TaskSecrets } from "./exec/task-secrets.ts";
import { readBootId, readLocalBootId, readResources } from "./facts.ts";
import { HostAgent, type HostAgentOptions } from "./host-agent.ts";
import { Journal } from "./journal.ts";
import { stateDirFault } from "./own-state.ts";
import { Refusal } from "./plane/control-plane.ts";
import { REFUSED_EXIT_CODE } from "./plane/exchange.ts";
import { Identities, identityIn } from "./plane/identity.ts";
import { joinControlPlane } from "./plane/join.ts";
import { safeUrl, UnsafeUrl } from "./plane/safe-url.ts";
import { say } from "./say.ts";
import { AttemptSecrets, hostKeyIn } from "./secrets.ts";
import { Tunnels } from "./tunnels/tunnels.ts";
import { ensureWatchdog, type WatchdogOptions } from "./watchdog.ts";

declare const DROVER_VERSION: string;

const USAGE = `Usage: node drover-agent.mjs --url <control plane> --state <directory> [--code-file <file>]

Makes this machine a host of Drover, and runs the tasks that Drover places here.

  --url        the URL of the control plane, such as https://drover.example.com
  --state      the directory for this host's secret and the data of its attempts
  --code-file  a file with the enrollment code; needed once
  --power-off  a command that powers off this machine when it is no longer needed, unless it is self-hosted
  --engine     the socket of the container engine; if absent, that of podman or Docker, if there is one; ""
               for none
  --devices    a program that prints the GPUs of this machine as JSON (default: the file "devices" in the
               state directory, or else nvidia-smi)
  --notice     a command that prints a notice if this machine is about to be taken away, else nothing
  --end-lease  only end the attempts of a dead agent if its lease is about to end
  --version    print the version and exit
`;

/**
 * This lock allows a state directory only one agent at a time. If there were two agents, the agent with the
 * older incarnation would stop all attempts.
 */
const LOCK = "agent.lock";
/** Held by a process that ends the attempts beside an agent that seems to hang. */
const BESIDE_LOCK = "end-lease.lock";

const USAGE_EXIT_CODE = 2;
/** Another agent uses the same state directory. */
const LOCKED_EXIT_CODE = 4;
/** The lease is not about to end, so no attempt was ended. */
const LEASED_EXIT_CODE = 5;
/** How long a newer agent may take until it has reported. */
const PROVEN_WITHIN_MS: Millis = 10 * 60_000;
/** How long the command that powers this machine off may take. */
const POWER_OFF_WITHIN_MS: Millis = 60_000;

// Without this flag the young generation grows to 90 MB in a busy hour, and never shrinks again. The agent's
// small, short-lived objects do not need that much.
setFlagsFromString("--semi-space-growth-factor=1");

// When Node exits, it waits for V8's concurrent compilers, which may wait for a garbage collection that never
// comes. The process would then hang forever (nodejs/node#54918) and keep `agent.lock`.
for (const flag of ["--no-concurrent-sparkplug", "--no-concurrent-recompilation"]) setFlagsFromString(flag);

interface Settings {
  /**
   * Undefined with `--end-lease`: the process does not join, but ends all attempts if the lease is about to
   * end.
   */
  url: string | undefined;
  stateDir: string;
  codeFile: string | undefined;
  powerOff: string | undefined;
  notice: string | undefined;
  engine: string | undefined;
  devices: string | undefined;
}

/** Reads the command line. Returns an exit code if the process must exit at once. */
function readArguments(): Settings | number {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const modes = { "end-lease": flag, version: flag, help: flag };
  const commands = { "power-off": text, notice: text, devices: text, engine: text };
  const options = { url: text, state: text, "code-file": text, ...commands, ...modes };
  try {
    const { values } = parseArgs({ options });
    if (values.version || values.help) {
      process.stdout.write(values.help ? USAGE : `${DROVER_VERSION}\n`);
      return 0;
    }
    const { url, state } = values;
    if (!state) throw new Error("--state must name a directory.");
    const settings = {
      stateDir: resolve(state),
      codeFile: values["code-file"],
      powerOff: values["power-off"],
      notice: values.notice,
      engine: values.engine ?? process.env.DROVER_ENGINE,
      devices: values.devices,
    };
    if (values["end-lease"]) return { ...settings, url: undefined };
    if (!url || !URL.canParse(url)) throw new Error("--url must be the URL of the control plane.");
    safeUrl(url);
    return { ...settings, url };
  } catch (error) {
    process.stderr.write(`drover-agent: ${errorText(error)}\n\n${USAGE}`);
    return USAGE_EXIT_CODE;
  }
}

function exit(code: number, reason: string): never {
  say(`ends: ${reason}`);
  process.exit(code);
}

/** The files of a host, and the ids of the attempts in them. */
async function openHostFiles(stateDir: string) {
  const store = new AttemptStore(stateDir);
  const boot = readLocalBootId(process.env);
  const journal = new Journal(stateDir, boot);
  const allocs = new AllocDirs(stateDir);
  const ids = [...new Set([...store.found(), ...journal.begun()])];
  const withSecrets = store.found().filter((id) => journal.hasSecrets(id));
  const secrets = await AttemptSecrets.open(stateDir, await hostKeyIn(stateDir), withSecrets);
  const secretFiles = new SecretFiles(stateDir);
  return { store, allocs, boot, journal, groups: new Groups(stateDir), ids, secrets, secretFiles };
}

interface AgentParts {
  /** Writes the journal. */
  keep: Journal["keep"];
  ownFile?: OwnFile | undefined;
  /** Whether another agent may live beside this one. */
  isBeside: boolean;
}

/** Creates the agent, and recovers the attempts of earlier starts. */
async function startAgent(
  files: Awaited<ReturnType<typeof openHostFiles>>,
  { url, stateDir, powerOff, notice, devices, engine }: Settings,
  { keep, ownFile, isBeside }: AgentParts,
): Promise<HostAgent> {
  const { store, allocs, journal, groups, ids, secrets, secretFiles, boot } = files;
  let isUp = false;
  const { DROVER_INSTANCE: instance, DROVER_AWAKE_FILE: awakeFile } = process.env;
  const now = makeClock();
  const shims = await shimsOf(stateDir, instance);
  const snapshots = () => agent.snapshots;
  const devicesOf = (id: string) => agent.devicesOf(id);
  const givenDevices = (id: string) => agent.givenDevices(id);
  const taskSecrets = new TaskSecrets({ secrets, files: secretFiles, source: () => agent.secrets });
  const containers = await Containers.open({
    stateDir,
    boot,
    socket: engine,
    authOf: (...image) => taskSecrets.registryAuth(...image),
    tell: (id, said) => agent.tell({ type: "preparing", id, ...said }),
    changed: (seen) => isUp && agent.tell({ type: "engine", engine: seen }),
  });
  const identityOf = (id: string) => (url === undefined ? undefined : identityIn(stateDir, url, id));
  const identities = new Identities(identityOf, ids);
  const names = { instance, worker: () => agent.worker, identityOf: identities.give };
  const around = { ...names, devicesOf, snapshots, secrets: taskSecrets };
  const pull: PrestartOptions["pull"] = async (...image) => void (await containers.imageOf(...image));
  const prestart = new Prestart({ ...files, ...around, pull });
  const sticky = new StickyData(allocs);
  const supervisor = new Supervisor({
    store,
    allocs,
    sticky,
    prestart,
    devices: new DeviceSource({ stateDir, program: devices, env: process.env }),
    // `exec` comes last: it recovers every attempt that no other driver recognizes.
    drivers: (ended) => ({
      fake: new FakeDriver({ store, now, ended }),
      container: containers.driver({ ...files, prestart, now, ended, isBeside, devicesOf: givenDevices }),
      exec: new ExecDriver({ store, allocs, prestart, groups, shims, isBeside, now, ended }),
    }),
    snapshots,
    stateDir,
    instance,
    now,
    escapes: groups.means.kill === "processes",
    clockErrorMs: () => agent.clockErrorMs,
    replaceAgent: (sha256) => fetchedAgent(ownFile, url ?? "", sha256),
    noticeCommand: notice,
    secrets: {
      keepRuns: (runs) => taskSecrets.keepRuns(runs),
      ended: (id) => taskSecrets.ended(id),
      forget(id) {
        identities.forget(id);
        return taskSecrets.forget(id);
      },
    },
    secretsOf: (run) => {
      const values = secrets.secretsOf(run);
      const own = identities.secretsOf(run);
      return values === "lost" || own.length === 0 ? values : [...values, ...own];
    },
    tell: (event) => agent.tell(event),
  });
  const found = {
    attempts: ids.flatMap((id) => supervisor.recover(id, journal.read(id)) ?? []),
    placements: allocs.found(),
    sticky: sticky.found(now()),
    lease: journal.readLease(),
  };
  const means = { ...groups.means, protocol: PROTOCOL, engine: containers.shown };
  const state = initialHost({ ...found, means, powersOff: powerOff !== undefined }, now(), ownFile?.sha256);
  const tunnels = new Tunnels({
    stateDir,
    now,
    shellReportsSignals: shims.shell.reportsSignals,
    enter: (attempt, act) => supervisor.enter(attempt, () => agent.keptTask(attempt), act),
    isRunning: (attempt) => agent.isRunning(attempt) || agent.keptTask(attempt) !== undefined,
  });
  const agent = new HostAgent(state, { now, supervisor, tunnels, keep, awakeFile, exit: endWith(powerOff) });
  isUp = true;
  agent.tell({ type: "tick" });
  if (url !== undefined) containers.begin();
  return agent;
}

/** The shims of this host's commands. `instance`: what marks all of its processes. */
async function shimsOf(stateDir: string, instance: string | undefined): Promise<Shims> {
  const shell = await probeShell(join(stateDir, "shell-check"));
  const env: Record<string, string> = instance === undefined ? {} : { DROVER_INSTANCE: instance };
  return new Shims(shell, env, () => livingHolder(join(stateDir, BESIDE_LOCK)) !== undefined);
}

/** How the agent ends. `powerOff`: the command that ends its machine, too. */
function endWith(powerOff: string | undefined): HostAgentOptions["exit"] {
  return (code, reason, powersOff) => {
    if (powersOff && powerOff !== undefined) {
      say(`powers off: ${reason}`);
      spawnSync("/bin/sh", ["-c", powerOff], { stdio: "inherit", timeout: POWER_OFF_WITHIN_MS });
    }
    exit(code, reason);
  };
}

async function run(settings: Settings & { url: string }): Promise<void> {
  const { url, stateDir, codeFile } = settings;
  makePrivateDir(stateDir);
  const fault = stateDirFault(stateDir);
  if (fault !== undefined) {
    exit(USAGE_EXIT_CODE, `${stateDir} is not safe as the state directory: ${fault}. Use another --state.`);
  }
  const { holder } = takeLock(join(stateDir, LOCK));
  if (holder !== undefined) {
    const why = `the agent with pid ${holder.pid} already uses ${stateDir}.`;
    exit(LOCKED_EXIT_CODE, `${why} Stop it first, or use another --state.`);
  }
  warnIfClosed(stateDir);
  const watchdog = watchdogOf(settings);
  ensureWatchdog(watchdog);
  const files = await openHostFiles(stateDir);
  files.secrets.prune(files.ids, [...files.allocs.found(), ...files.allocs.foundKept()]);
  await files.secretFiles.prune(files.ids);
  files.store.prune();
  await files.allocs.prune();
  files.journal.prune(files.ids);
  files.groups.prune(files.ids);
  const ownFile = ownFileOf(process.env);
  endIfUnproven(ownFile);
  let guardedUntil: Instant | undefined;
  const keep: Journal["keep"] = (state) => {
    const isKept = files.journal.keep(state);
    if (state.update.isProven) ownFile?.prove();
    // Start a missing watchdog even if the journal could not be written: nothing may run under a lease
    // without a watchdog.
    if (state.leaseUntil !== guardedUntil) ensureWatchdog(watchdog);
    guardedUntil = state.leaseUntil;
    return isKept;
  };
  const agent = await startAgent(files, settings, { keep, ownFile, isBeside: false });
  const joining = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      joining.abort();
      agent.tell({ type: "shutdown" });
    });
  }
  try {
    const resources = readResources(process.env, stateDir, await agent.countDevices());
    const facts = { bootId: readBootId(process.env), resources };
    const { publicKey } = files.secrets;
    const options = { url, stateDir, codeFile, ...facts, publicKey, isFree: () => agent.isFree };
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
 * The file of this agent, if it may replace it: whatever has started the agent must start it again then.
 * Undefined: it must not.
 */
function ownFileOf({ DROVER_RESTARTS: restarts }: NodeJS.ProcessEnv): OwnFile | undefined {
  const path = process.argv[1];
  return restarts === undefined || path === undefined ? undefined : new OwnFile(resolve(path));
}

/** A newer agent that does not report in time ends: after three such starts the old one takes its place. */
function endIfUnproven(ownFile: OwnFile | undefined): void {
  if (ownFile?.isUnproven !== true) return;
  const late = () => {
    if (ownFile.isUnproven) exit(UPDATED_EXIT_CODE, "this newer agent has not reported in time");
  };
  setTimeout(late, PROVEN_WITHIN_MS).unref();
}

/**
 * Warns if other users cannot reach the state directory: an agent that is root runs commands as other users.
 */
function warnIfClosed(stateDir: string): void {
  const closed = process.geteuid?.() === 0 ? closedParent(dirname(stateDir)) : undefined;
  if (closed === undefined) return;
  const { dir, mode } = closed;
  const text = `runs with \`user\` cannot start here: other users cannot pass through ${dir} (mode ${mode})`;
  say(`${text} to their files. Open it with \`chmod o+x ${dir}\`, or use another --state.`);
}

function watchdogOf({ stateDir, powerOff }: Settings): WatchdogOptions {
  const { DROVER_INSTANCE, DROVER_BOOT_ID } = process.env;
  const endLease = [process.execPath, resolve(process.argv[1] ?? ""), "--state", stateDir, "--end-lease"];
  return { stateDir, powerOff, endLease, marks: { DROVER_INSTANCE, DROVER_BOOT_ID } };
}

/**
 * Ends all attempts for the watchdog if the lease is about to end. If the agent is dead, this process also
 * writes the journal, so that the next start of the agent finds the end of each attempt. If the agent is
 * suspended or hangs, it still holds its lock. Then this process ends the attempts, but does not write the
 * journal.
 */
async function endLease(settings: Settings): Promise<void> {
  const isBeside = takeLock(join(settings.stateDir, LOCK)).holder !== undefined;
  // Before it reads which shims there are (decisions/hosts.md#shims-that-serve).
  const other = isBeside ? takeLock(join(settings.stateDir, BESIDE_LOCK)).holder : undefined;
  if (other !== undefined) exit(LOCKED_EXIT_CODE, `process ${other.pid} already ends the lease`);
  const files = await openHostFiles(settings.stateDir);
  if (!isLeaseEnding(files.journal.readLease(), makeClock()())) {
    exit(LEASED_EXIT_CODE, "the lease has been extended");
  }
  const keep: Journal["keep"] = (state) => isBeside || files.journal.keep(state);
  const agent = await startAgent(files, { ...settings, powerOff: undefined }, { keep, isBeside });
  agent.tell({ type: "shutdown", by: "lease" });
}

// The reader of the log may be gone. That must not end the tasks.
process.stderr.on("error", () => undefined);

const [flag, text] = process.argv.slice(2);
if (flag === ENTER && text !== undefined) process.exit(await enterContainer(text));
const settings = readArguments();
if (typeof settings === "number") process.exitCode = settings;
else if (settings.url === undefined) await endLease(settings);
else await run({ ...settings, url: settings.url });
