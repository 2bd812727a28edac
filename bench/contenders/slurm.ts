// Slurm with a single node: a job array of `true`.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../profile/inspector.ts";
import type { Contender, Peer } from "./contender.ts";
import { endServer, programAt, startServer, untilSucceeds } from "./programs.ts";

const NODE = "bench";
/** Its controller fills free places every one or two seconds: with eight it would mostly be idle. */
const PLACES = 64;
const BETWEEN_LOOKS_MS = 20;
const PROGRAMS = ["slurmctld", "slurmd", "sbatch", "squeue", "munged"];

/** Slurm as Debian has it. Its daemons need root. */
export const slurm: Peer = {
  name: "Slurm",
  missing() {
    if (PROGRAMS.some((name) => programAt(name) === undefined)) return "apt-get install slurm-wlm munge";
    return process.getuid?.() === 0 ? undefined : "run this as root: slurmd starts jobs as other users";
  },
  start,
};

async function start(dir: string): Promise<Contender> {
  const folder = join(dir, "slurm");
  mkdirSync(join(folder, "spool"), { recursive: true });
  const [socket, key, file] = [join(folder, "munge"), join(folder, "key"), join(folder, "slurm.conf")];
  // The servers are reached on 127.0.0.1 alone, so a key that others could guess would do no harm.
  writeFileSync(key, Buffer.alloc(128, hostname()));
  chmodSync(key, 0o400);
  const files = ["pid", "log", "seed"].flatMap((one) => [`--${one}-file`, join(folder, `munge.${one}`)]);
  const munge = startServer("munged", [
    ...["--foreground", "--force", "--socket", socket, "--key-file", key],
    ...files,
  ]);
  writeFileSync(file, await configuration(folder, socket));
  const env = { SLURM_CONF: file };
  await untilSucceeds("munge", ["--socket", socket, "--no-input"]);
  const controller = startServer("slurmctld", ["-D", "-f", file]);
  const node = startServer("slurmd", ["-D", "-f", file, "-N", NODE]);
  const ask = (name: string, args: string[]) =>
    execFileSync(name, args, { encoding: "utf8", stdio: "pipe", env: { ...process.env, ...env } });
  await untilSucceeds("sh", ["-c", `sinfo -h -o %t | grep -qx idle`], env);
  return {
    name: `Slurm, a job array, ${PLACES} places`,
    async run(count) {
      const beganAt = performance.now();
      const array = `--array=1-${count}`;
      ask("sbatch", [array, "--output=/dev/null", "--chdir=/", "--wrap=true"]);
      while (ask("squeue", ["-h", "-o", "%i"]) !== "") await sleep(BETWEEN_LOOKS_MS);
      return (performance.now() - beganAt) / 1_000;
    },
    async stop() {
      for (const server of [node, controller, munge]) await endServer(server);
    },
  };
}

async function configuration(folder: string, socket: string): Promise<string> {
  const lines = {
    ClusterName: "bench",
    SlurmctldHost: `${hostname()}(127.0.0.1)`,
    SlurmUser: userInfo().username,
    SlurmctldPort: await freePort(),
    SlurmdPort: await freePort(),
    AuthType: "auth/munge",
    AuthInfo: `socket=${socket}`,
    StateSaveLocation: join(folder, "state"),
    SlurmdSpoolDir: join(folder, "spool"),
    SlurmctldPidFile: join(folder, "slurmctld.pid"),
    SlurmdPidFile: join(folder, "slurmd.pid"),
    SlurmctldLogFile: join(folder, "slurmctld.log"),
    SlurmdLogFile: join(folder, "slurmd.log"),
    ProctrackType: "proctrack/linuxproc",
    TaskPlugin: "task/none",
    SwitchType: "switch/none",
    MpiDefault: "none",
    SelectType: "select/cons_tres",
    SelectTypeParameters: "CR_CPU",
    ReturnToService: 2,
    MaxArraySize: 100_001,
    MaxJobCount: 100_000,
    // More processors than the machine has, as Drover's machines have.
    SlurmdParameters: "config_overrides",
  };
  mkdirSync(lines.StateSaveLocation, { recursive: true });
  return [
    ...Object.entries(lines).map(([name, value]) => `${name}=${value}`),
    `NodeName=${NODE} NodeAddr=127.0.0.1 CPUs=${PLACES} State=UNKNOWN`,
    `PartitionName=main Nodes=${NODE} Default=YES MaxTime=INFINITE State=UP`,
    "",
  ].join("\n");
}
