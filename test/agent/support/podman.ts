// A private rootful podman with an image of busybox, for tests of what only a real engine does.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Engine } from "../../../agent/engine/engine.ts";
import { askJson } from "../../../agent/engine/transport.ts";
import { cacheDir } from "../../../scripts/env.mjs";
import { until } from "../../local/support/scratch.ts";
import { BUSYBOX } from "./busybox.ts";

/** The hierarchies of cgroups, in which a container is everywhere. */
const CGROUPS = "/sys/fs/cgroup";

/** What it needs, and the packages that have it. */
const NEEDED: Record<string, string> = {
  "/usr/bin/podman": "podman",
  "/usr/bin/conmon": "conmon",
  "/usr/sbin/runc": "runc",
  "/usr/lib/podman/netavark": "netavark",
  "/usr/bin/catatonit": "catatonit",
  "/usr/bin/busybox": "busybox-static",
};
const missing = Object.entries(NEEDED).flatMap(([path, name]) => (existsSync(path) ? [] : [name]));
const needs = [
  ...(missing.length > 0 ? [`apt-get install ${missing.join(" ")}`] : []),
  ...(process.getuid?.() === 0 ? [] : ["root"]),
  ...(mayContain() ? [] : ["a kernel that lets them make namespaces and cgroups"]),
];

/** Whether a machine lets anybody make containers: one that is itself a container may not. */
function mayContain(): boolean {
  const trial = join(CGROUPS, "pids", `drover-trial-${process.pid}`);
  try {
    if (existsSync(join(CGROUPS, "pids"))) {
      mkdirSync(trial);
      rmdirSync(trial);
    }
  } catch {
    return false;
  }
  const words = ["--mount", "--pid", "--uts", "--ipc", "--fork", "--mount-proc", "true"];
  return spawnSync("unshare", words, { stdio: "ignore" }).status === 0;
}

/** Whether this machine can run one: `describe.skipIf(!hasPodman)`. */
export const hasPodman = needs.length === 0;
/** What the machine lacks for one. */
export const missingForPodman = needs.join(", and ");
if (!hasPodman) {
  process.stderr.write(`tests with a real container engine are skipped: they need ${missingForPodman}\n`);
}

export { BUSYBOX };

/** A program without any library, which is what its name says: `echo`, `sh` and so on. */
export const BUSYBOX_FILE = "/usr/bin/busybox";

export interface Podman {
  socketPath: string;
  engine: Engine;
  /** A cgroup in all hierarchies that is this engine's alone: `HostConfig.CgroupParent` may be below it. */
  cgroupParent: string;
  /** The directory of all that is the engine's. */
  dir: string;
  /** Sends SIGKILL to the service, and waits for its end. Containers go on. */
  kill(): Promise<void>;
  /** Starts the service again after `kill()`, or ends it first. */
  restart(): Promise<void>;
  /**
   * The names of all containers that it knows, in its own words: also of those that it has half removed,
   * which the engine's client would remove as it looks.
   */
  names(): Promise<string[]>;
  /** Imports busybox, or an archive, under another name, changed by lines of a Dockerfile. */
  importImage(name: string, changes?: readonly string[], tar?: Buffer): Promise<void>;
  /** Removes all containers, and ends all processes. */
  stop(): Promise<void>;
}

/** Starts one. It takes one or two seconds, so a file of tests shares one. */
export async function startPodman(): Promise<Podman> {
  // Sockets have short paths, so it is not in the checkout.
  await sweepForgotten();
  const dir = mkdtempSync(join(shortTmp(), `drover-podman-${process.pid}-`));
  const socketPath = join(dir, "podman.sock");
  const engine = new Engine(socketPath);
  writeConfiguration(dir);
  let service = await serve(dir, socketPath, engine).catch(async (error) => {
    await sweep(dir);
    throw error;
  });
  const end = async () => {
    await ended(service);
    rmSync(socketPath, { force: true });
  };
  const podman: Podman = {
    socketPath,
    engine,
    cgroupParent: cgroupOf(dir),
    dir,
    kill: end,
    async restart() {
      await end();
      service = await serve(dir, socketPath, engine);
    },
    names: () => namesOfAll(socketPath),
    importImage: (name, changes = [], tar = busyboxTar()) => importImage(socketPath, tar, name, changes),
    async stop() {
      if (service.exitCode !== null || service.signalCode !== null) await podman.restart();
      // Podman removes a container that it was killed in making, and leaves its first process and its cgroup.
      const ids = containersIn(dir);
      const containers = await engine.listContainers({});
      await Promise.all(containers.map(({ id }) => engine.removeContainer(id).catch(() => undefined)));
      await end();
      await sweep(dir, ids);
    },
  };
  try {
    await podman.importImage(BUSYBOX);
  } catch (error) {
    await podman.stop();
    throw error;
  }
  return podman;
}

/** The ids of the containers whose files are there. */
function containersIn(dir: string): string[] {
  return namesIn(join(dir, "root", "vfs-containers")).filter((name) => /^[0-9a-f]{64}$/.test(name));
}

/** Ends and removes all that is left of an engine whose service is to be gone, and of its containers. */
async function sweep(dir: string, ids = containersIn(dir)): Promise<void> {
  endAllOf(dir);
  await removeCgroups([cgroupOf(dir), ...ids.map((id) => `/libpod_parent/libpod-${id}`)]);
  unmountAll(dir);
  for (const id of ids) rmSync(join("/run/runc", id), { recursive: true, force: true });
  rmSync(dir, { recursive: true, force: true });
}

/** Sweeps what tests have left that were killed themselves. */
async function sweepForgotten(): Promise<void> {
  for (const name of namesIn(shortTmp())) {
    const [, pid] = /^drover-podman-(\d+)-\w+$/.exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await sweep(join(shortTmp(), name));
  }
}

/** Empty: there is no such folder. */
function namesIn(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir) : [];
}

function cgroupOf(dir: string): string {
  return `/${basename(dir)}`;
}

/** The system's own folder, whatever tests set: the paths of sockets are short. */
function shortTmp(): string {
  return existsSync("/tmp") ? "/tmp" : tmpdir();
}

/** Nothing of it is shared with another podman of this machine, but for the kernel. */
function writeConfiguration(dir: string): void {
  const home = join(dir, "home", ".config", "containers");
  mkdirSync(home, { recursive: true });
  const trust = { default: [{ type: "insecureAcceptAnything" }] };
  writeFileSync(join(home, "policy.json"), JSON.stringify(trust));
  writeFileSync(
    join(dir, "registries.conf"),
    'short-name-mode = "disabled"\n[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n',
  );
  const configuration = [
    "[containers]",
    'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]',
    'netns = "host"',
    "[engine]",
    'cgroup_manager = "cgroupfs"',
    'events_logger = "file"',
    'lock_type = "file"',
    'runtime = "runc"',
    `tmp_dir = "${join(dir, "tmp")}"`,
    "[network]",
    `network_config_dir = "${join(dir, "networks")}"`,
  ];
  writeFileSync(join(dir, "containers.conf"), `${configuration.join("\n")}\n`);
}

/** Starts the service in a group of processes of its own, and waits until it answers. */
async function serve(dir: string, socketPath: string, engine: Engine): Promise<ChildProcess> {
  const own = ["--storage-driver", "vfs", "--root", join(dir, "root"), "--runroot", join(dir, "run")];
  const log = openSync(join(dir, "service.log"), "a");
  const service = spawn("podman", [...own, "system", "service", "--time", "0", `unix://${socketPath}`], {
    // Where memory runs out, conmon leaves a file `oom` in the directory that it was started in.
    cwd: dir,
    detached: true,
    stdio: ["ignore", log, log],
    env: {
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: join(dir, "home"),
      CONTAINERS_CONF: join(dir, "containers.conf"),
      CONTAINERS_REGISTRIES_CONF: join(dir, "registries.conf"),
    },
  });
  service.unref();
  const answers = () =>
    engine.ping().then(
      () => true,
      () => undefined,
    );
  await until("podman answers", answers, () => readFileSync(join(dir, "service.log"), "utf8"));
  return service;
}

/** Ends the service with all processes of its group. */
async function ended(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null || service.signalCode !== null || service.pid === undefined) return;
  const closed = new Promise((resolve) => service.once("exit", resolve));
  process.kill(-service.pid, "SIGKILL");
  await closed;
}

/** Kills what names the engine's directory: what watches a container, and what runs beside one. */
function endAllOf(dir: string): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    if (commandOf(pid).includes(`${dir}/`)) kill(Number(pid));
  }
}

/** Empty: it has ended. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** Unmounts what is below the directory, the deepest first. */
function unmountAll(dir: string): void {
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(`${dir}/`));
  for (const path of mounts.reverse()) spawnSync("umount", ["-l", path]);
}

/** Kills what is left in these cgroups, and removes them in all hierarchies. */
async function removeCgroups(groups: string[]): Promise<void> {
  const hierarchies = [CGROUPS, ...readdirSync(CGROUPS).map((name) => join(CGROUPS, name))];
  const paths = hierarchies.flatMap((hierarchy) => groups.map((group) => join(hierarchy, group)));
  await until("no process of a container is left", () => paths.filter(existsSync).every(isRemoved));
}

/** Kills all processes in a cgroup. Returns whether there was none, and the cgroup is gone. */
function isRemoved(path: string): boolean {
  const children = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const empty = children.map(({ name }) => isRemoved(join(path, name))).every(Boolean);
  for (const pid of readFileSync(join(path, "cgroup.procs"), "utf8").split("\n").filter(Boolean)) {
    kill(Number(pid));
  }
  if (!empty) return false;
  try {
    rmdirSync(path);
    return true;
  } catch {
    return false;
  }
}

/** One that has ended by itself is fine. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

async function namesOfAll(socketPath: string): Promise<string[]> {
  const path = "/v4.0.0/libpod/containers/json?all=true";
  const rows = await askJson(socketPath, { what: "list all", method: "GET", path, timeoutMs: 30_000 });
  return (rows as { Names: string[] }[]).flatMap(({ Names }) => Names);
}

let made: Buffer | undefined;

/** The archive of an image: busybox in all its names, and two users. */
function busyboxTar(): Buffer {
  made ??= archiveOf((dir) => {
    for (const name of ["bin", "etc", "tmp", "root", "proc", "sys", "dev"]) mkdirSync(join(dir, name));
    chmodSync(join(dir, "tmp"), 0o1777);
    const users = "root:x:0:0:root:/root:/bin/sh\ntask:x:1000:1000::/tmp:/bin/sh\n";
    writeFileSync(join(dir, "etc/passwd"), users);
    writeFileSync(join(dir, "etc/group"), "root:x:0:\ntask:x:1000:\n");
    spawnSync("cp", [BUSYBOX_FILE, join(dir, "bin/busybox")]);
    const names = spawnSync(BUSYBOX_FILE, ["--list"], { encoding: "utf8" }).stdout.split("\n");
    for (const name of names.filter((one) => one !== "" && one !== "busybox")) {
      symlinkSync("busybox", join(dir, "bin", name));
    }
  });
  return made;
}

/** The archive of an image whose files `make` puts into a directory. */
export function archiveOf(make: (dir: string) => void): Buffer {
  mkdirSync(cacheDir, { recursive: true });
  const dir = mkdtempSync(join(cacheDir, "image-"));
  try {
    chmodSync(dir, 0o755);
    make(dir);
    return spawnSync("tar", ["-C", dir, "--owner=0", "--group=0", "-cf", "-", "."], {
      maxBuffer: 64 * 1024 * 1024,
    }).stdout;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Without the type of its content podman reads it as a form, and imports nothing. */
function importImage(
  socketPath: string,
  tar: Buffer,
  name: string,
  changes: readonly string[],
): Promise<void> {
  const query = new URLSearchParams({ fromSrc: "-", repo: name });
  for (const change of changes) query.append("changes", change);
  const headers = { "content-type": "application/x-tar", "content-length": tar.length };
  const path = `/v1.41/images/create?${query}`;
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method: "POST", path, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      response.on("end", () => {
        if (response.statusCode === 200 && !text.includes('"error"')) resolve();
        else reject(new Error(`The image was not imported: ${text}`));
      });
    });
    call.on("error", reject);
    call.end(tar);
  });
}
