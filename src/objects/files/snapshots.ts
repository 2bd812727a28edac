// How are snapshots stored? A snapshot is an archive: an input or a result of a run.
import { DroverError } from "../../shared/errors.ts";
import type { SnapshotStore } from "../rpc.ts";

/** Prefix of the digest in the id of a snapshot. */
const ID_PREFIX = "sha256:";

/** Snapshots in the bucket, named by the digest of their bytes. */
export class Snapshots implements SnapshotStore {
  readonly #bucket: R2Bucket | undefined;

  constructor(bucket: R2Bucket | undefined) {
    this.#bucket = bucket;
  }

  async ready(): Promise<void> {
    this.#theBucket();
  }

  async size(id: string): Promise<number | null> {
    return (await this.#theBucket().head(keyOf(id)))?.size ?? null;
  }

  /**
   * The bucket compares the digest before anybody can read the object. An existing snapshot is not written
   * again, but the digest of the bytes is still compared, so that a wrong archive never passes.
   */
  async put(id: string, body: ReadableStream<Uint8Array> | null): Promise<{ created: boolean }> {
    const bucket = this.#theBucket();
    const sha256 = digestOf(id);
    const there = (await bucket.head(keyOf(id))) !== null;
    if (there) {
      const found = await digest(body);
      if (found !== sha256) throw mismatch(id, `they have ${ID_PREFIX}${found}`);
      return { created: false };
    }
    try {
      await bucket.put(keyOf(id), body ?? new Uint8Array(), { sha256 });
    } catch (error) {
      if (isBadDigest(error)) throw mismatch(id, "they have another digest");
      throw error;
    }
    return { created: true };
  }

  async get(id: string, range?: { offset: number; length: number }): Promise<ReadableStream<Uint8Array>> {
    const object = await this.#theBucket().get(keyOf(id), range === undefined ? {} : { range });
    // The snapshot may have been deleted since its size was read, for example by a rule of the bucket.
    if (object === null) throw new DroverError("unknown_snapshot", `snapshot ${id} no longer exists`);
    return object.body;
  }

  #theBucket(): R2Bucket {
    if (this.#bucket !== undefined) return this.#bucket;
    const text =
      "this deployment has no bucket, and so no snapshots; bind one as LOGS (docs/deploy.md), or do " +
      "without `snapshot` and `outputs`";
    throw new DroverError("no_bucket", text);
  }
}

function digestOf(id: string): string {
  return id.slice(ID_PREFIX.length);
}

function keyOf(id: string): string {
  return `snapshots/${digestOf(id)}`;
}

/** The SHA-256 of a stream in hexadecimal, with constant memory. */
async function digest(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const sink = new crypto.DigestStream("SHA-256");
  await (body ?? new Blob([]).stream()).pipeTo(sink);
  const bytes = new Uint8Array(await sink.digest);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function mismatch(id: string, found: string): DroverError {
  const text = `the bytes are not those of ${id}: ${found}; nothing is stored, send the right ones`;
  return new DroverError("digest_mismatch", text);
}

/** R2 reports a wrong digest (`BadDigest`) only by a number in the error's message. */
function isBadDigest(error: unknown): boolean {
  return error instanceof Error && /\(10037\)|checksum .*did not match/i.test(error.message);
}
