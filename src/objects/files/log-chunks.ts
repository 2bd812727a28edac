// How do log bytes get from hosts into the bucket, and from there to readers?
import { logObjectKey } from "../../core/allocation/output/chunks.ts";
import { parseAttemptId } from "../../shared/attempt-id.ts";
import { DroverError, otherBody } from "../../shared/errors.ts";
import { contentDigest } from "../../signing/mac.ts";
import type { LogBucket, LogObject, Objects, SignedChunk } from "../rpc.ts";

/** The log bucket at the edge. */
export class LogChunks implements LogBucket {
  readonly #bucket: R2Bucket | undefined;
  readonly #peers: Pick<Objects, "allocation">;

  constructor(bucket: R2Bucket | undefined, peers: Pick<Objects, "allocation">) {
    this.#bucket = bucket;
    this.#peers = peers;
  }

  /**
   * Asks the allocation first, since a chunk that does not continue the stored bytes need not be written. The
   * allocation notes the chunk only when its bytes are in the bucket (rule R1). After a crash in between, the
   * host sends the bytes again, and they get the same key.
   */
  async put(chunk: SignedChunk): Promise<number> {
    const bucket = this.#theBucket();
    const { worker, attempt, stream, from, length, stamps, lines } = chunk;
    const bytes = await read(length, chunk.body);
    const { run = "" } = parseAttemptId(attempt) ?? {};
    const storeUpTo = async (bytes: number) => {
      const say = { worker, attempt, stream, from, length: bytes, stamps, lines };
      const answer = await this.#peers.allocation(run).storeLog(say);
      if (answer.kind === "stored") return answer.stored;
      const text = `attempt "${attempt}" was never placed on worker "${worker}"`;
      throw new DroverError(answer.kind === "foreign" ? "forbidden" : "unknown_attempt", text);
    };
    try {
      if (contentDigest(bytes) !== chunk.digest) throw otherBody();
      const stored = await storeUpTo(0);
      if (length === 0 || stored !== from) return stored;
      await bucket.put(logObjectKey(chunk), bytes);
    } finally {
      release(bytes);
    }
    return storeUpTo(length);
  }

  async get({ key, offset, length }: LogObject): Promise<ReadableStream<Uint8Array>> {
    const object = await this.#theBucket().get(key, { range: { offset, length } });
    if (object === null) throw new Error(`the bucket for logs has no object ${key}`);
    return object.body;
  }

  #theBucket(): R2Bucket {
    if (this.#bucket !== undefined) return this.#bucket;
    const text = "this deployment has no bucket for logs; send them in reports";
    throw new DroverError("no_bucket", text);
  }
}

/**
 * Frees the bytes at once. The garbage collector would free memory outside its heap so late that 64 MiB pile
 * up.
 */
function release({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Reads a body into one buffer that the runtime fills. Reading the body in parts would leave garbage of the
 * body's size on the heap. Throws `invalid_request` if the body is shorter than announced.
 */
async function read(length: number, body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  if (length === 0) return new Uint8Array();
  const reader = body?.getReader({ mode: "byob" });
  const { value } = (await reader?.readAtLeast(length, new Uint8Array(length))) ?? {};
  if (value?.length === length) return value;
  const text = `the body has ${value?.length ?? 0} bytes, but its length says ${length}`;
  throw new DroverError("invalid_request", text);
}
