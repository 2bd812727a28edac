// Do the bytes of an answer begin where they were requested? A gap must not go unnoticed.
import { ApiError } from "../errors.ts";
import { asUnreachable, type CallOptions, type Target } from "./http.ts";

/** What is read, and from which offset. */
interface ExpectedRange {
  /** The name of what is read, for errors, such as `the log`. */
  what: string;
  /** The offset of the first byte; undefined: wherever the answer begins. */
  from: number | undefined;
}

/**
 * Yields the bytes of an answer from the expected offset on. Throws if the connection breaks, and before the
 * first byte if the answer begins too late.
 */
export async function* bytesFrom(
  target: Target,
  call: CallOptions,
  response: Response,
  expected: ExpectedRange,
): AsyncGenerator<Uint8Array> {
  const { body } = response;
  if (body === null) return;
  const reader = body.getReader();
  try {
    let surplus = expected.from === undefined ? 0 : surplusOf(response, expected.what, expected.from);
    for (;;) {
      const { done, value } = await asUnreachable(target, call, reader.read());
      if (done) return;
      const skipped = Math.min(surplus, value.length);
      surplus -= skipped;
      if (skipped < value.length) yield value.subarray(skipped);
    }
  } finally {
    // The connection is no longer needed, and nobody is left to report an error to.
    reader.cancel().catch(() => {});
  }
}

/** How many bytes of the body precede the expected offset: some servers and caches ignore `Range`. */
function surplusOf(response: Response, what: string, from: number): number {
  const start = startOf(response);
  if (start !== undefined && start <= from) return from - start;
  const begins = start === undefined ? "at an unknown byte" : `at byte ${start}`;
  throw new ApiError({
    status: response.status,
    code: "unexpected_answer",
    temporary: false,
    detail: `${what} was requested from byte ${from}, but the answer begins ${begins}`,
  });
}

/** The offset of an answer's first byte: 0 for a complete answer, undefined for a part without an offset. */
export function startOf(response: Response): number | undefined {
  const range = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "");
  if (range !== null) return Number(range[1]);
  return response.status === 206 ? undefined : 0;
}
