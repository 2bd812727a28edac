// A fake of Docker's engine on a unix socket: its statuses, its texts, and containers that obey.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { fieldOf } from "../../../agent/engine/answers/read.ts";
import { Engine } from "../../../agent/engine/engine.ts";
import type { ContainerBody, ExecBody } from "../../../agent/engine/types.ts";
import { wholeBody } from "../../support/whole-body.ts";
import {
  bytesOf,
  type ExecPlay,
  FakeContainer,
  type FakeExec,
  type FakeImage,
  fakeImage,
  frameOf,
  type Play,
} from "./fake-containers.ts";

/** A request as it came. */
export interface Recorded {
  method: string;
  /** Without the version. */
  path: string;
  /** Of the path; empty: none. */
  version: string;
  query: Record<string, string>;
  headers: IncomingMessage["headers"];
  /** JSON; undefined: none. */
  body: unknown;
}

/** What a pull does. */
export interface PullPlay {
  /** Of the answer; an error's body is then `message`. */
  status?: number;
  message?: string;
  /** Lines of progress: objects, or text as it is. */
  lines?: readonly (object | string)[];
  /** What comes after the lines: `end` of the answer by default. */
  ending?: "end" | "stall" | "cut";
  /** What a pull that succeeds gives; by default one whose id is made of its name. */
  image?: FakeImage;
}

/** Answers a request instead of the fake. Returns false if the fake shall. */
export type Override = (recorded: Recorded, response: ServerResponse) => boolean;

export interface FakeEngineOptions {
  /** The versions it speaks: 1.44 to 1.52 by default. */
  newest?: string;
  least?: string;
  /** Laid over its answers to `/version` and `/info`. */
  version?: Record<string, unknown>;
  info?: Record<string, unknown>;
}

export interface FakeEngine {
  socketPath: string;
  engine: Engine;
  requests: Recorded[];
  containers: FakeContainer[];
  execs: FakeExec[];
  images: FakeImage[];
  /** What containers do, by name; `*`: all others. Without one they run until they are ended. */
  plays: Map<string, Play>;
  /** What processes beside them do, by their command, joined with spaces; `*`: all others. */
  execPlays: Map<string, ExecPlay>;
  /** What pulls do, by the image's name with its tag: one after the other, the last one for ever. */
  pulls: Map<string, PullPlay[]>;
  /** Asked before the fake answers. */
  override: Override | undefined;
  /** The container of this name or id; fails if there is none. */
  container(nameOrId: string): FakeContainer;
  /** The lines `POST /containers/create` and so on, of what has changed something. */
  changes(): string[];
  /** Stops listening, and cuts all connections. Containers go on. */
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

/** Starts one. */
export async function openFakeEngine(options: FakeEngineOptions = {}): Promise<FakeEngine> {
  // Sockets have short paths, so it is not in the checkout.
  const dir = mkdtempSync(join(process.platform === "linux" ? "/tmp" : tmpdir(), "drover-fake-engine-"));
  const socketPath = join(dir, "docker.sock");
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  const fake: FakeEngine = {
    socketPath,
    engine: new Engine(socketPath),
    requests: [],
    containers: [],
    execs: [],
    images: [],
    plays: new Map(),
    execPlays: new Map(),
    pulls: new Map(),
    override: undefined,
    container(nameOrId) {
      const found = findContainer(fake, nameOrId);
      if (found === undefined) throw new Error(`The fake engine has no container ${nameOrId}.`);
      return found;
    },
    changes: () =>
      fake.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`),
    async down() {
      const closed = new Promise((resolve) => (server === undefined ? resolve(0) : server.close(resolve)));
      for (const socket of sockets) socket.destroy();
      await closed;
      server = undefined;
    },
    async up() {
      rmSync(socketPath, { force: true });
      const one = createServer((request, response) => void serve(fake, options, request, response));
      one.on("connection", (socket) => {
        sockets.add(socket);
        socket.on("close", () => sockets.delete(socket));
        socket.on("error", () => undefined);
      });
      one.on("upgrade", (request, socket, head) => void takeOver(fake, options, request, socket, head));
      await new Promise<void>((resolve) => one.listen(socketPath, resolve));
      server = one;
    },
    async close() {
      await fake.down();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  await fake.up();
  return fake;
}

/** An answer: status, and JSON or nothing. */
interface Said {
  status: number;
  json?: unknown;
}

const said = (status: number, json?: unknown): Said => ({ status, json });
const refused = (status: number, message: string): Said => ({ status, json: { message } });

async function serve(
  fake: FakeEngine,
  options: FakeEngineOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const sent = await wholeBody(request);
  if (sent === undefined) return;
  const recorded = record(fake, request, sent);
  response.setHeader("api-version", options.newest ?? "1.52");
  response.setHeader("server", "Docker/29.0.0 (linux)");
  if (fake.override?.(recorded, response) === true) return;
  const answer = tooFar(recorded, options) ?? answerTo(fake, options, recorded, response);
  if (answer === undefined) return;
  const body = answer.json === undefined ? "" : JSON.stringify(answer.json);
  response.writeHead(answer.status, body === "" ? {} : { "content-type": "application/json" }).end(body);
}

function record(fake: FakeEngine, request: IncomingMessage, body: Buffer): Recorded {
  const url = new URL(request.url ?? "/", "http://engine");
  const [, version = "", path = ""] = /^(?:\/v([\d.]+))?(\/.*)$/.exec(url.pathname) ?? [];
  const text = body.toString("utf8");
  const recorded: Recorded = {
    method: request.method ?? "",
    path: decodeURIComponent(path),
    version,
    query: Object.fromEntries(url.searchParams),
    headers: request.headers,
    body: text === "" ? undefined : JSON.parse(text),
  };
  fake.requests.push(recorded);
  return recorded;
}

/** Docker's words about versions that it does not speak. */
function tooFar({ version }: Recorded, { newest = "1.52", least = "1.44" }: FakeEngineOptions) {
  const minor = (text: string) => Number(text.split(".")[1]);
  if (version === "") return undefined;
  if (minor(version) < minor(least)) {
    const please = "please upgrade your client to a newer version";
    const text = `client version ${version} is too old. Minimum supported API version is ${least}, ${please}`;
    return refused(400, text);
  }
  if (minor(version) <= minor(newest)) return undefined;
  return refused(400, `client version ${version} is too new. Maximum supported API version is ${newest}`);
}

/** The answer; undefined: it is on its way already. */
function answerTo(
  fake: FakeEngine,
  options: FakeEngineOptions,
  asked: Recorded,
  response: ServerResponse,
): Said | undefined {
  const [, kind = "", id = "", verb = ""] = /^\/(\w+)(?:\/(.+?))?(?:\/(\w+))?$/.exec(asked.path) ?? [];
  if (asked.path === "/_ping") return void response.writeHead(200).end("OK");
  if (asked.path === "/version") return said(200, versionOf(options));
  if (asked.path === "/info") return said(200, infoOf(options));
  if (asked.path === "/containers/json") return said(200, listed(fake, asked));
  if (asked.path === "/containers/create") return created(fake, asked);
  if (asked.path === "/images/json") return said(200, fake.images.map(imageRow));
  if (asked.path === "/images/create") return pulled(fake, asked, response);
  if (kind === "images") return imageAnswer(fake, asked);
  if (kind === "exec") return execAnswer(fake, id, verb, asked);
  if (kind !== "containers") return refused(404, "page not found");
  const name = verb === "" ? asked.path.slice("/containers/".length) : id;
  const container = findContainer(fake, name);
  if (container === undefined) return refused(404, `No such container: ${name}`);
  return containerAnswer(fake, container, verb, asked, response);
}

function containerAnswer(
  fake: FakeEngine,
  container: FakeContainer,
  verb: string,
  asked: Recorded,
  response: ServerResponse,
): Said | undefined {
  if (asked.method === "DELETE") return removed(fake, container);
  if (verb === "json") return said(200, container.inspect());
  if (verb === "start") return started(container);
  if (verb === "wait") return void waited(container, response);
  if (verb === "logs") return void logged(container, asked, response);
  if (verb === "exec") return execCreated(fake, container, asked);
  if (verb !== "kill") return refused(404, "page not found");
  if (!container.running) {
    return refused(409, `cannot kill container: ${container.id}: container ${container.id} is not running`);
  }
  container.signal(asked.query.signal ?? "SIGKILL");
  return said(204);
}

function created(fake: FakeEngine, { query, body }: Recorded): Said {
  const name = query.name ?? "";
  const taken = fake.containers.find((one) => one.name === name);
  if (taken !== undefined) {
    const remove = "You have to remove (or rename) that container to be able to reuse that name.";
    const text = `Conflict. The container name "/${name}" is already in use by container "${taken.id}".`;
    return refused(409, `${text} ${remove}`);
  }
  // It is the body that the client was given.
  const wanted = body as ContainerBody;
  const image = findImage(fake, wanted.Image);
  if (image === undefined) return refused(404, `No such image: ${wanted.Image}`);
  const play = fake.plays.get(name) ?? fake.plays.get("*") ?? {};
  const container = new FakeContainer(name, wanted, play, image.id);
  fake.containers.push(container);
  return said(201, { Id: container.id, Warnings: [] });
}

function started(container: FakeContainer): Said {
  if (container.running) return said(304);
  const { startError } = container.play;
  if (startError === undefined) {
    container.start();
    return said(204);
  }
  container.exitCode = startError.exitCode ?? 127;
  container.error = startError.message;
  return refused(startError.status, startError.message);
}

/** Docker begins to answer at once, and says how it ended at the end. */
function waited(container: FakeContainer, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  const tell = () => response.end(`${JSON.stringify({ StatusCode: container.exitCode })}\n`);
  if (container.running) container.once("ended", tell);
  else tell();
}

function logged(container: FakeContainer, { query, version }: Recorded, response: ServerResponse): void {
  const old = Number(version.split(".")[1]) < 42;
  const type = old || container.body.Tty ? "raw-stream" : "multiplexed-stream";
  response.writeHead(200, { "content-type": `application/vnd.docker.${type}` }).flushHeaders();
  const write = (frame: Buffer) => {
    const shown = frame[0] === 2 ? query.stderr === "1" : query.stdout === "1";
    if (shown) response.write(container.body.Tty ? frame.subarray(8) : frame);
  };
  for (const frame of container.frames) write(frame);
  if (query.follow !== "1" || !container.running) {
    response.end();
    return;
  }
  container.on("output", write);
  container.once("ended", () => response.end());
  response.on("close", () => container.off("output", write));
}

function removed(fake: FakeEngine, container: FakeContainer): Said {
  if (container.status === "removing") {
    return refused(409, `removal of container ${container.id} is already in progress`);
  }
  container.end(137);
  fake.containers.splice(fake.containers.indexOf(container), 1);
  return said(204);
}

function listed(fake: FakeEngine, { query }: Recorded): unknown[] {
  const filters: unknown = JSON.parse(query.filters ?? "{}");
  const wanted = fieldOf(filters, "label");
  const labels = Array.isArray(wanted) ? wanted.map(String) : [];
  const fits = (container: FakeContainer) =>
    labels.every((label) => {
      const [name = "", value] = label.split(/=(.*)/s, 2);
      const has = container.body.Labels?.[name];
      return has !== undefined && (value === undefined || has === value);
    });
  const all = query.all === "1";
  return fake.containers.filter((one) => fits(one) && (all || one.running)).map((one) => one.row());
}

function execCreated(fake: FakeEngine, container: FakeContainer, { body }: Recorded): Said {
  if (!container.running) return refused(409, `container ${container.id} is not running`);
  // It is the body that the client was given.
  const wanted = body as ExecBody;
  const play = fake.execPlays.get(wanted.Cmd.join(" ")) ?? fake.execPlays.get("*") ?? { exitCode: 0 };
  const id = randomBytes(32).toString("hex");
  fake.execs.push({ id, container, body: wanted, play, running: false, exitCode: null, size: undefined });
  return said(201, { Id: id });
}

function execAnswer(fake: FakeEngine, id: string, verb: string, { query }: Recorded): Said {
  const exec = fake.execs.find((one) => one.id === id);
  if (exec === undefined) return refused(404, `No such exec instance: ${id}`);
  if (verb === "resize") {
    exec.size = { rows: Number(query.h), columns: Number(query.w) };
    return said(200);
  }
  return said(200, { ID: id, Running: exec.running, ExitCode: exec.exitCode, Pid: exec.running ? 77 : 0 });
}

/** Gives a connection away: the input of a container, or a process beside its main one. */
async function takeOver(
  fake: FakeEngine,
  options: FakeEngineOptions,
  request: IncomingMessage,
  socket: Duplex,
  early: Buffer,
): Promise<void> {
  const content = await contentOf(request, socket, early);
  const recorded = record(fake, request, content);
  const [, kind = "", id = "", verb = ""] = /^\/(\w+)\/([^/]+)\/(\w+)$/.exec(recorded.path) ?? [];
  const container = kind === "containers" && verb === "attach" ? findContainer(fake, id) : undefined;
  const exec = kind === "exec" && verb === "start" ? fake.execs.find((one) => one.id === id) : undefined;
  const no = tooFar(recorded, options);
  if (no !== undefined || (container === undefined && exec === undefined)) {
    const body = JSON.stringify(no?.json ?? { message: `No such ${kind}: ${id}` });
    const head = `HTTP/1.1 ${no?.status ?? 404} Refused\r\nContent-Type: application/json`;
    socket.end(`${head}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
    return;
  }
  const type = exec?.body.Tty ? "raw-stream" : "multiplexed-stream";
  const head = `Content-Type: application/vnd.docker.${type}\r\nConnection: Upgrade\r\nUpgrade: tcp`;
  socket.write(`HTTP/1.1 101 UPGRADED\r\n${head}\r\n\r\n`);
  container?.attach(socket);
  if (exec !== undefined) runExec(exec, socket);
  socket.resume();
}

/** Node leaves the content of an upgrade to its connection, in front of what belongs to the process. */
async function contentOf(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<Buffer> {
  const bytes = Number(request.headers["content-length"] ?? 0);
  let come = head;
  while (come.length < bytes) {
    const [piece] = await once(socket, "data");
    come = Buffer.concat([come, piece]);
  }
  socket.pause();
  if (come.length > bytes) socket.unshift(come.subarray(bytes));
  return come.subarray(0, bytes);
}

function runExec(exec: FakeExec, socket: Duplex): void {
  const encode = exec.body.Tty ? bytesOf : frameOf;
  exec.running = true;
  const end = () => {
    exec.running = false;
    exec.exitCode = exec.play.exitCode;
    socket.end();
  };
  for (const piece of exec.play.output ?? []) socket.write(encode(piece));
  if (exec.play.echo !== true) end();
  socket.on("data", (piece: Buffer) => exec.running && socket.write(encode(piece)));
  socket.on("end", () => exec.running && end());
}

function pulled(fake: FakeEngine, { query }: Recorded, response: ServerResponse): Said | undefined {
  const name = `${query.fromImage}${query.tag?.startsWith("sha256:") ? "@" : ":"}${query.tag}`;
  const plays = fake.pulls.get(name);
  const play = (plays !== undefined && plays.length > 1 ? plays.shift() : plays?.[0]) ?? {};
  const { status = 200, message = "", lines = [], ending = "end", image = fakeImage(name) } = play;
  if (status !== 200) return refused(status, message);
  response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  for (const line of lines) response.write(typeof line === "string" ? line : `${JSON.stringify(line)}\r\n`);
  if (ending === "cut") response.socket?.destroy();
  if (ending !== "end") return undefined;
  const failed = lines.some((line) => typeof line === "object" && "error" in line);
  if (!failed && findImage(fake, name) === undefined) fake.images.push(image);
  response.end();
  return undefined;
}

function imageAnswer(fake: FakeEngine, { method, path }: Recorded): Said {
  const name = path.slice("/images/".length).replace(/\/json$/, "");
  const image = findImage(fake, name);
  if (image === undefined) return refused(404, `No such image: ${name}`);
  if (method === "GET") return said(200, { ...Object(imageRow(image)), Config: image.config });
  const user = fake.containers.find(({ imageId }) => imageId === image.id);
  if (user !== undefined) {
    const text = `conflict: unable to delete ${name} (cannot be forced) - container ${user.id} is using it`;
    return refused(409, text);
  }
  fake.images.splice(fake.images.indexOf(image), 1);
  return said(200, [{ Deleted: image.id }]);
}

function imageRow(image: FakeImage): unknown {
  return {
    Id: image.id,
    RepoTags: image.names,
    RepoDigests: image.digests,
    Architecture: image.architecture,
    Os: "linux",
    Size: image.sizeBytes,
    Created: 1_700_000_000,
  };
}

function findContainer(fake: FakeEngine, nameOrId: string): FakeContainer | undefined {
  return fake.containers.find(({ id, name }) => id === nameOrId || name === nameOrId);
}

function findImage(fake: FakeEngine, name: string): FakeImage | undefined {
  const tagged = /[@:][^/]*$/.test(name) ? name : `${name}:latest`;
  return fake.images.find(
    ({ id, names, digests }) => id === name || names.includes(tagged) || digests.includes(name),
  );
}

function versionOf({ newest = "1.52", least = "1.44", version }: FakeEngineOptions): unknown {
  return {
    Platform: { Name: "Docker Engine - Community" },
    Components: [{ Name: "Engine", Version: "29.0.0" }],
    Version: "29.0.0",
    ApiVersion: newest,
    MinAPIVersion: least,
    Os: "linux",
    Arch: "amd64",
    KernelVersion: release(),
    ...version,
  };
}

function infoOf({ info }: FakeEngineOptions): unknown {
  return {
    OSType: "linux",
    Architecture: "x86_64",
    OperatingSystem: "Debian GNU/Linux 12 (bookworm)",
    KernelVersion: release(),
    CgroupDriver: "systemd",
    CgroupVersion: "2",
    DockerRootDir: "/var/lib/docker",
    InitBinary: "docker-init",
    LiveRestoreEnabled: false,
    SecurityOptions: ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"],
    Plugins: { Log: ["awslogs", "fluentd", "json-file", "journald", "local", "none", "syslog"] },
    ...info,
  };
}
