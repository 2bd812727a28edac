import { createHash } from "node:crypto";
import type { Call, Override } from "./fake-plane.ts";

const PATH = /^\/v1\/hosts\/w-1\/snapshots\/sha256:([0-9a-f]{64})$/;

/** The snapshots of a control plane: an uploaded archive must have the digest in its name. */
export class SnapshotStore {
  readonly #bytes = new Map<string, Buffer>();

  /** Stores an archive; resolves with the name of the snapshot. */
  keep(bytes: Buffer): string {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#bytes.set(sha256, bytes);
    return `sha256:${sha256}`;
  }

  /** The bytes of a snapshot. */
  read(snapshot: string): Buffer | undefined {
    return this.#bytes.get(snapshot.slice("sha256:".length));
  }

  /** Answers a signed call, if it is about snapshots. */
  answer({ method, path, headers, raw }: Call): Override | undefined {
    const sha256 = PATH.exec(path)?.[1];
    if (sha256 === undefined) return undefined;
    if (method !== "PUT") return rangeOf(this.#bytes.get(sha256), headers.range);
    if (headers["content-length"] !== String(raw.length)) return { status: 411 };
    const there = this.#bytes.has(sha256);
    if (this.keep(raw) !== `sha256:${sha256}`) return { status: 422, body: { code: "digest_mismatch" } };
    return { status: there ? 200 : 201, body: { id: `sha256:${sha256}`, bytes: raw.length } };
  }
}

function rangeOf(bytes: Buffer | undefined, range: string | undefined): Override {
  if (bytes === undefined) return { status: 404, body: { code: "unknown_snapshot", detail: "unknown" } };
  if (range === undefined) return { status: 200, raw: bytes };
  const from = Number(/^bytes=(\d+)-$/.exec(range)?.[1]);
  if (from >= bytes.length) return { status: 416, headers: { "content-range": `bytes */${bytes.length}` } };
  const headers = { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` };
  return { status: 206, headers, raw: bytes.subarray(from) };
}
