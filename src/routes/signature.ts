import { z } from "zod";
import { DroverError } from "../core/errors.ts";
import type { Signature } from "../objects/rpc.ts";
import type { EdgeContext } from "./edge.ts";

/** The headers of a signed call as the document shows them. Whether they are there, `signatureOf` says. */
export const SignatureHeaders = z.object({
  "webhook-id": z.string().optional().meta({ description: "required; Standard Webhooks 1.0" }),
  "webhook-timestamp": z.string().optional().meta({ description: "required; seconds" }),
  "webhook-signature": z.string().optional().meta({ description: "required; v1,<base64 HMAC-SHA256>" }),
});

/** The signature of a host's call, not verified yet. Throws `bad_signature` if a part of it is missing. */
export function signatureOf(c: EdgeContext): Signature {
  const id = c.req.header("webhook-id");
  const timestamp = c.req.header("webhook-timestamp");
  const signature = c.req.header("webhook-signature");
  if (id !== undefined && timestamp !== undefined && signature !== undefined) {
    return { id, timestamp, signature };
  }
  throw new DroverError(
    "bad_signature",
    "a host signs what it sends: webhook-id, webhook-timestamp and webhook-signature must all be there",
  );
}
