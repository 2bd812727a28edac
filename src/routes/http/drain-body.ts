// How can a client that is still sending a body read a refusal?

/** A refused body that is longer than this is not drained. */
const MAX_DRAINED_BYTES = 64 * 1024 * 1024;

/**
 * Reads the rest of a refused body. Otherwise a client that is still sending would see a broken connection
 * instead of the answer. A body without a length, or with a huge length, is not drained.
 */
export async function drainBody({ headers, body }: Request): Promise<void> {
  const announced = Number(headers.get("content-length") ?? Number.POSITIVE_INFINITY);
  if (body === null || body.locked || announced > MAX_DRAINED_BYTES) return;
  await body.pipeTo(new WritableStream()).catch(() => undefined);
}
