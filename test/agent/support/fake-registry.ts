// A registry of images on loopback, with one small image, that fails as it is told.
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

/** How a registry says no: a status, and its own code and text. */
export interface Refusal {
  status: number;
  code: string;
  message: string;
}

export interface FakeRegistry {
  /** `127.0.0.1:4242`: what an image's name begins with. */
  address: string;
  /** `GET /v2/…`, in order. */
  requests: string[];
  /** Says no to manifests: `undefined` ends that. */
  refusal: Refusal | undefined;
  /** Only who sends this value of `Authorization` gets something. */
  authorization: string | undefined;
  /** The architecture of its image; another one than the machine's makes a list without the machine's. */
  architecture: string;
  /** Whether layers begin and then stand still. */
  stalls: boolean;
  close(): Promise<void>;
}

const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
const LIST = "application/vnd.docker.distribution.manifest.list.v2+json";

/** What the file of its image has: it cannot be compressed. */
const CONTENT = randomBytes(60_000);

/** What it serves, by digest. */
interface Blob {
  type: string;
  content: Buffer;
}

/** Opens one. Its images have any name, and the tag `1`. */
export async function openFakeRegistry(): Promise<FakeRegistry> {
  const server = createServer((request, response) => answer(registry, request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // It listens, so it has an address with a port.
  const { port } = server.address() as AddressInfo;
  const registry: FakeRegistry = {
    address: `127.0.0.1:${port}`,
    requests: [],
    refusal: undefined,
    authorization: undefined,
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    stalls: false,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return registry;
}

function answer(registry: FakeRegistry, request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? "";
  registry.requests.push(`${request.method} ${path}`);
  const no = noTo(registry, request, path);
  const blob =
    path === "/v2/" ? { type: "application/json", content: Buffer.from("{}") } : found(registry, path);
  if (no?.status === 401) response.setHeader("www-authenticate", 'Basic realm="fake"');
  if (no !== undefined || blob === undefined) {
    const { status, code, message } = no ?? {
      status: 404,
      code: "MANIFEST_UNKNOWN",
      message: "manifest unknown",
    };
    const errors = json("application/json", { errors: [{ code, message }] });
    response.writeHead(status, { "content-type": errors.type }).end(errors.content);
    return;
  }
  const { type, content } = blob;
  response.setHeader("docker-content-digest", sum(blob));
  response.writeHead(200, { "content-type": type, "content-length": content.length });
  if (registry.stalls && path.includes("/blobs/")) response.write(content.subarray(0, 5));
  else response.end(content);
}

/** Why a request is refused; undefined: it is not. */
function noTo(
  { authorization, refusal }: FakeRegistry,
  request: IncomingMessage,
  path: string,
): Refusal | undefined {
  if (authorization !== undefined && request.headers.authorization !== authorization) {
    return { status: 401, code: "UNAUTHORIZED", message: "authentication required" };
  }
  return path.includes("/manifests/") ? refusal : undefined;
}

function found({ architecture }: FakeRegistry, path: string): Blob | undefined {
  const [, kind, wanted] = /\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
  const blobs = imageOf(architecture);
  return kind === "manifests" && wanted === "1" ? blobs[0] : blobs.find((one) => sum(one) === wanted);
}

/** A list with one image of one file; the list comes first. */
function imageOf(architecture: string): Blob[] {
  const tar = tarOf("hello", CONTENT);
  const layer = { type: "application/vnd.docker.image.rootfs.diff.tar.gzip", content: gzipSync(tar) };
  const config = json("application/vnd.docker.container.image.v1+json", {
    architecture,
    os: "linux",
    config: { Cmd: ["/hello"] },
    rootfs: { type: "layers", diff_ids: [sum({ content: tar })] },
  });
  const manifest = json(MANIFEST, {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: descriptor(config),
    layers: [descriptor(layer)],
  });
  const platform = { architecture, os: "linux" };
  const manifests = [{ ...descriptor(manifest), platform }];
  return [json(LIST, { schemaVersion: 2, mediaType: LIST, manifests }), manifest, config, layer];
}

function json(type: string, value: unknown): Blob {
  return { type, content: Buffer.from(JSON.stringify(value)) };
}

function descriptor(blob: Blob): object {
  return { mediaType: blob.type, size: blob.content.length, digest: sum(blob) };
}

function sum({ content }: { content: Buffer }): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

/** An archive with one file. */
function tarOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(content.length, 11), 124);
  header.write(octal(0, 11), 136);
  header.write("        0", 148);
  header.write("ustar\x0000", 257);
  header.write(
    `${octal(
      header.reduce((total, byte) => total + byte, 0),
      6,
    )} `,
    148,
  );
  return Buffer.concat([header, content, Buffer.alloc(512 - (content.length % 512)), Buffer.alloc(1_024)]);
}
