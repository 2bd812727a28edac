// Which file is a run given with its spec (jobs.md#payload)?
import { z } from "zod";
import { HIDDEN } from "../../../shared/access/hidden.ts";
import { MAX_PAYLOAD_BYTES } from "../../../shared/jobs/limits.ts";
import { payloadBytes } from "../../../shared/jobs/payload-bytes.ts";
import { PayloadFile } from "../../job/inputs.ts";

const Base64 = z.base64();

/**
 * The bytes of a payload, in base64. The placeholder of a hidden value is let through: answers have it, and
 * what stores a spec refuses it with a text of its own (access.md#hidden-values).
 */
const Content = z
  .string()
  .refine((text) => text === HIDDEN || Base64.safeParse(text).success, {
    error: "must be bytes in base64",
    abort: true,
  })
  .refine(
    (text) => text === HIDDEN || payloadBytes(text) <= MAX_PAYLOAD_BYTES,
    `must have at most ${MAX_PAYLOAD_BYTES} bytes`,
  )
  .meta({ description: "at most 64 KiB of any bytes, in base64", example: "eyJhIjoxfQ==" });

/** A file, and its bytes in base64. */
export const Payload = z
  .strictObject({
    path: PayloadFile.describe("its path in the directory of each task; what is there is replaced"),
    content: Content,
  })
  .meta({ id: "Payload" });
export type Payload = z.output<typeof Payload>;
