// How a large body is answered without a copy of it for each reader.

const PIECE_BYTES = 64 * 1_024;

/**
 * The bytes as a stream of pieces of at most 64 KiB, each of which is made once its reader can take it. The
 * runtime copies bytes that are answered whole, outside of its heap, so that they do not bring on the full
 * collection that would free them: some hundred answers of a megabyte fill its memory. All streams share the
 * bytes, which a stream of the type `bytes` would take away. The answer has no `Content-Length`.
 */
export function inPieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.subarray(at, at + PIECE_BYTES));
        at += PIECE_BYTES;
      },
    },
    { highWaterMark: 0 },
  );
}
