/** How much of a body that is refused is still read, so that the client can read why it is. */
const MAX_READ_AWAY_BYTES = 64 * 1024 * 1024;

/**
 * Reads what a client is still sending. One that is cut off while it sends sees a broken connection, and
 * never the answer; but what has no length, or a huge one, is not waited for.
 */
export async function readAway({ headers, body }: Request): Promise<void> {
  const announced = Number(headers.get("content-length") ?? Number.POSITIVE_INFINITY);
  if (body === null || body.locked || announced > MAX_READ_AWAY_BYTES) return;
  await body.pipeTo(new WritableStream()).catch(() => undefined);
}
