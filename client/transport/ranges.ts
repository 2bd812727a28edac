import { ApiError } from "../errors.ts";
import { broken, type CallOptions, type Target } from "./http.ts";

/** What is read, and where: both are for the words of an error. */
interface Wanted {
  /** What it is called, such as `the log`. */
  what: string;
  /** The offset of the first byte that is wanted; undefined: whatever comes. */
  from: number | undefined;
}

/**
 * The bytes of an answer from the wanted one on, as they come. Throws if they break, and before the first one
 * if they do not begin early enough: a gap must not pass for what is there.
 */
export async function* bytesFrom(
  target: Target,
  call: CallOptions,
  response: Response,
  wanted: Wanted,
): AsyncGenerator<Uint8Array> {
  const { body } = response;
  if (body === null) return;
  const reader = body.getReader();
  try {
    let surplus = wanted.from === undefined ? 0 : surplusOf(response, wanted.what, wanted.from);
    for (;;) {
      const { done, value } = await broken(target, call, reader.read());
      if (done) return;
      const skipped = Math.min(surplus, value.length);
      surplus -= skipped;
      if (skipped < value.length) yield value.subarray(skipped);
    }
  } finally {
    // A reader that has gone, or a body that has ended, needs no connection. Nothing is left to report an
    // error to.
    reader.cancel().catch(() => {});
  }
}

/** How many bytes of the body come before the wanted one: some servers and caches ignore `Range`. */
function surplusOf(response: Response, what: string, from: number): number {
  const start = startOf(response);
  if (start !== undefined && start <= from) return from - start;
  const came = start === undefined ? "without saying from which" : `from byte ${start}`;
  throw new ApiError({
    status: response.status,
    code: "unexpected_answer",
    temporary: false,
    detail: `${what} was asked for from byte ${from} on, and came ${came}`,
  });
}

/** The offset of the first byte of an answer: 0 for a whole one, undefined for a part that does not say. */
export function startOf(response: Response): number | undefined {
  const range = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "");
  if (range !== null) return Number(range[1]);
  return response.status === 206 ? undefined : 0;
}
