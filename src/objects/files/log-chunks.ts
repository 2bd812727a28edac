import { logObjectKey } from "../../core/allocation/output/chunks.ts";
import { parseAttemptId } from "../../shared/attempt-id.ts";
import { DroverError, otherBody } from "../../shared/errors.ts";
import { digestField } from "../../signing/mac.ts";
import type { LogBucket, LogObject, Objects, SignedChunk } from "../rpc.ts";

/** The way of log bytes at the edge: from hosts into the bucket, and from there to readers. */
export class LogChunks implements LogBucket {
  readonly #bucket: R2Bucket | undefined;
  readonly #peers: Pick<Objects, "allocation">;

  constructor(bucket: R2Bucket | undefined, peers: Pick<Objects, "allocation">) {
    this.#bucket = bucket;
    this.#peers = peers;
  }

  /**
   * The allocation is asked first: what does not continue the stored bytes costs no write. It is told only
   * when the bytes are in the bucket (rule R1). If nobody lives to tell it, the host sends them again, to the
   * same key.
   */
  async put(chunk: SignedChunk): Promise<number> {
    const bucket = this.#theBucket();
    const { worker, attempt, stream, from, length } = chunk;
    const bytes = await read(length, chunk.body);
    const { run = "" } = parseAttemptId(attempt) ?? {};
    const tell = async (told: number) => {
      const say = { worker, attempt, stream, from, length: told };
      const answer = await this.#peers.allocation(run).storeLog(say);
      if (answer.kind === "stored") return answer.stored;
      const text = `${attempt} is no attempt that was placed on worker ${worker}`;
      throw new DroverError(answer.kind === "foreign" ? "forbidden" : "unknown_attempt", text);
    };
    try {
      if ((await digestOf(bytes)) !== chunk.digest) throw otherBody();
      const stored = await tell(0);
      if (length === 0 || stored !== from) return stored;
      await bucket.put(logObjectKey(chunk), bytes);
    } finally {
      release(bytes);
    }
    return tell(length);
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

/** Gives memory back now. The collector is in no hurry with what lies outside of its heap: 64 MiB pile up. */
function release({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

async function digestOf(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return digestField(btoa(String.fromCharCode(...digest)));
}

/**
 * A body in one buffer that the runtime itself fills: read part by part, a large log leaves as much on our
 * heap
 * as it is long, for a while. Throws `invalid_request` if it is shorter than it says.
 */
async function read(length: number, body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  if (length === 0) return new Uint8Array();
  const reader = body?.getReader({ mode: "byob" });
  const { value } = (await reader?.readAtLeast(length, new Uint8Array(length))) ?? {};
  if (value?.length === length) return value;
  const text = `the body has ${value?.length ?? 0} bytes, and its length says ${length}`;
  throw new DroverError("invalid_request", text);
}
