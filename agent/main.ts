import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { makeClock } from "./clock.ts";
import { initialHost } from "./core/host.ts";
import type { HostEvent } from "./core/types.ts";
import { AttemptStore } from "./exec/dirs.ts";
import { findAttempt } from "./exec/found.ts";
import { Groups } from "./exec/groups.ts";
import { shellTellsSignals } from "./exec/shim.ts";
import { Supervisor } from "./exec/supervisor.ts";
import { readBootId, readLocalBootId, readResources } from "./facts.ts";
import { errorText, makePrivateDir } from "./files.ts";
import { HostAgent } from "./host-agent.ts";
import { Journal } from "./journal.ts";
import { lockState } from "./lock.ts";
import { Refusal } from "./plane/control-plane.ts";
import { REFUSED_EXIT_CODE } from "./plane/exchange.ts";
import { joinControlPlane } from "./plane/join.ts";
import { say } from "./say.ts";

declare const DROVER_VERSION: string;

const USAGE = `Usage: node drover-agent.mjs --url <control plane> --state <directory> [--code-file <file>]

Makes this machine a host of Drover and runs what it is ordered to run.

  --url        where the control plane is, such as https://drover.example.com
  --state      where this host keeps its secret and the data of its attempts
  --code-file  a file with the enrollment code; needed once
  --version    print the version and exit
`;

const USAGE_EXIT_CODE = 2;
/** Another agent lives on the same state. */
const LOCKED_EXIT_CODE = 4;

// Without it a busy hour leaves the agent with 90 MB that it never gives back: what it makes is small and
// short-lived.
setFlagsFromString("--semi-space-growth-factor=1");

interface Settings {
  url: string;
  stateDir: string;
  codeFile: string | undefined;
}

/** Reads the command line. A number is the exit code of a call that ends right away. */
function readArguments(): Settings | number {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const options = { url: text, state: text, "code-file": text, version: flag, help: flag };
  try {
    const { values } = parseArgs({ options });
    if (values.version || values.help) {
      process.stdout.write(values.help ? USAGE : `${DROVER_VERSION}\n`);
      return 0;
    }
    const { url, state } = values;
    if (!url || !URL.canParse(url)) throw new Error("--url must be the URL of the control plane.");
    if (!state) throw new Error("--state must name a directory.");
    return { url, stateDir: resolve(state), codeFile: values["code-file"] };
  } catch (error) {
    process.stderr.write(`drover-agent: ${errorText(error)}\n\n${USAGE}`);
    return USAGE_EXIT_CODE;
  }
}

function exit(code: number, reason: string): never {
  say(`ends: ${reason}`);
  process.exit(code);
}

async function run({ url, stateDir, codeFile }: Settings): Promise<void> {
  makePrivateDir(stateDir);
  const holder = lockState(stateDir);
  if (holder !== undefined) {
    const why = `the agent with pid ${holder.pid} serves ${stateDir}.`;
    exit(LOCKED_EXIT_CODE, `${why} Stop it first, or name another --state.`);
  }
  const { DROVER_INSTANCE: instance } = process.env;
  const now = makeClock();
  const store = new AttemptStore(stateDir);
  const journal = new Journal(stateDir, readLocalBootId(process.env));
  store.prune();
  const ids = [...new Set([...store.found(), ...journal.begun()])];
  journal.prune(ids);
  const shellTells = await shellTellsSignals(join(stateDir, "shell-check"));
  const groups = new Groups(stateDir);
  groups.prune(ids);
  const traces = { store, journal, groups, shellTells };
  const found = ids.flatMap((id) => findAttempt(id, traces, now()) ?? []);
  const attempts = found.map(({ attempt }) => attempt);
  const lease = journal.readLease();
  const state = initialHost({ attempts, lease, means: groups.means }, now());
  const agent = new HostAgent(state, { now, stateDir, journal, instance, exit });
  const joining = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      joining.abort();
      agent.tell({ type: "shutdown" });
    });
  }
  const tell = (event: HostEvent) => agent.tell(event);
  const supervisor = new Supervisor({ store, groups, now, instance, shellTells, tell });
  for (const one of found) supervisor.adopt(one);
  agent.supervise(supervisor);
  try {
    const facts = { bootId: readBootId(process.env), resources: readResources(process.env, stateDir) };
    const { plane, setup } = await joinControlPlane({ url, stateDir, codeFile, ...facts }, joining.signal);
    say(`is host ${setup.worker}, start ${setup.incarnation}`);
    agent.connect(plane, { type: "joined", setup });
  } catch (error) {
    if (joining.signal.aborted) return;
    const code = error instanceof Refusal ? REFUSED_EXIT_CODE : 1;
    agent.tell({ type: "stale", code, reason: `cannot be a host: ${errorText(error)}` });
  }
}

// Whoever reads what the agent says may be gone; that is no reason to end the tasks.
process.stderr.on("error", () => undefined);

const settings = readArguments();
if (typeof settings === "number") process.exitCode = settings;
else await run(settings);
