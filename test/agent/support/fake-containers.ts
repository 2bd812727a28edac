// The containers and images of a fake engine: what Docker would have in memory.
import { createHash, randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import type { ContainerBody, ExecBody } from "../../../agent/engine/types.ts";

/** A piece of output: of stdout, unless the stream is named. */
export type Output = string | Buffer | { stderr: string | Buffer };

/** What a container does when it is started. */
export interface Play {
  /** Written at its start. */
  output?: readonly Output[];
  /** It ends at once with this code; undefined: it runs until the test ends it, or somebody kills it. */
  exitCode?: number;
  /** The start is refused so, as Docker does for a command that is not there (400, and 127). */
  startError?: { status: number; message: string; exitCode?: number };
  /** Of its main process. By default one that no system has. */
  pid?: number;
  /** Signals that do not end it; SIGKILL always does. */
  ignores?: readonly string[];
}

/** What a process beside the main one does. */
export interface ExecPlay {
  output?: readonly Output[];
  exitCode: number;
  /** Whether it writes what it reads, and ends when its input ends. */
  echo?: boolean;
}

export interface FakeImage {
  id: string;
  names: string[];
  digests: string[];
  architecture: string;
  sizeBytes: number;
  config: Record<string, unknown>;
}

/** No system gives this number to a process. */
const NO_PID = 4_194_305;

const NEVER = "0001-01-01T00:00:00Z";

/** One container. It emits `output` and `ended`. */
export class FakeContainer extends EventEmitter {
  readonly id = randomBytes(32).toString("hex");
  readonly createdAt = new Date().toISOString();
  readonly name: string;
  readonly body: ContainerBody;
  readonly play: Play;
  readonly imageId: string;
  status: "created" | "running" | "exited" | "removing" = "created";
  exitCode = 0;
  oomKilled = false;
  error = "";
  startedAt = NEVER;
  finishedAt = NEVER;
  /** How often it was started, and what it was sent. */
  starts = 0;
  signals: string[] = [];
  /** All that came to its input, and whether that has ended. */
  input = Buffer.alloc(0);
  inputEnded = false;
  /** What it has written, in frames. */
  frames: Buffer[] = [];

  constructor(name: string, body: ContainerBody, play: Play, imageId: string) {
    super();
    this.setMaxListeners(0);
    this.name = name;
    this.body = body;
    this.play = play;
    this.imageId = imageId;
  }

  get running(): boolean {
    return this.status === "running";
  }

  get pid(): number {
    return this.running ? (this.play.pid ?? NO_PID) : 0;
  }

  start(): void {
    this.starts += 1;
    this.status = "running";
    this.startedAt = new Date().toISOString();
    this.finishedAt = NEVER;
    for (const piece of this.play.output ?? []) this.write(piece);
    if (this.play.exitCode !== undefined) this.end(this.play.exitCode);
  }

  write(piece: Output): void {
    const frame = frameOf(piece);
    this.frames.push(frame);
    this.emit("output", frame);
  }

  end(exitCode: number, { oomKilled = false } = {}): void {
    if (!this.running) return;
    this.status = "exited";
    this.exitCode = exitCode;
    this.oomKilled = oomKilled;
    this.finishedAt = new Date().toISOString();
    this.emit("ended");
  }

  signal(name: string): void {
    this.signals.push(name);
    if (name === "SIGKILL") this.end(137);
    else if (!(this.play.ignores ?? []).includes(name)) this.end(143);
  }

  /** Takes over what comes to its input. */
  attach(connection: Duplex): void {
    connection.on("data", (piece: Buffer) => {
      this.input = Buffer.concat([this.input, piece]);
    });
    connection.on("end", () => {
      this.inputEnded = true;
      this.emit("input-ended");
    });
    this.once("ended", () => connection.end());
  }

  /** As the engine tells of it. */
  inspect(): unknown {
    const { Labels, Tty, OpenStdin, Image, HostConfig } = this.body;
    return {
      Id: this.id,
      Name: `/${this.name}`,
      Created: this.createdAt,
      Image: this.imageId,
      State: {
        Status: this.status,
        Running: this.running,
        Pid: this.pid,
        ExitCode: this.exitCode,
        OOMKilled: this.oomKilled,
        StartedAt: this.startedAt,
        FinishedAt: this.finishedAt,
        Error: this.error,
      },
      Config: { Labels: Labels ?? {}, Tty: Tty ?? false, OpenStdin: OpenStdin ?? false, Image },
      HostConfig: { LogConfig: { Type: "json-file" }, NetworkMode: "bridge", ...HostConfig },
    };
  }

  /** As it stands in the list. */
  row(): unknown {
    return {
      Id: this.id,
      Names: [`/${this.name}`],
      Image: this.body.Image,
      ImageID: this.imageId,
      Labels: this.body.Labels ?? {},
      State: this.status,
      Created: Math.floor(Date.parse(this.createdAt) / 1_000),
    };
  }
}

/** A process beside a container's main one. */
export interface FakeExec {
  id: string;
  container: FakeContainer;
  body: ExecBody;
  play: ExecPlay;
  running: boolean;
  exitCode: number | null;
  size: { rows: number; columns: number } | undefined;
}

/** The image of this name. */
export function fakeImage(name: string, more: Partial<FakeImage> = {}): FakeImage {
  const digest = `sha256:${createHash("sha256").update(name).digest("hex")}`;
  const bare = name.replace(/@.*$/, "").replace(/:[^/:]*$/, "");
  return {
    id: digest,
    names: [name],
    digests: [`${bare}@${digest}`],
    architecture: "amd64",
    sizeBytes: 1_000,
    config: {},
    ...more,
  };
}

/** A frame, as output of containers without a terminal is sent. */
export function frameOf(piece: Output): Buffer {
  const error = typeof piece === "object" && !Buffer.isBuffer(piece);
  const content = Buffer.from(error ? piece.stderr : piece);
  const header = Buffer.alloc(8);
  header.writeUInt8(error ? 2 : 1, 0);
  header.writeUInt32BE(content.length, 4);
  return Buffer.concat([header, content]);
}

/** A piece as a terminal shows it. */
export function bytesOf(piece: Output): Buffer {
  return frameOf(piece).subarray(8);
}
