// What do the routes of browser sessions accept and answer (sessions.md)?
import { z } from "zod";
import { InstantText } from "../common.ts";
import { TokenId } from "./token.ts";

/** The id of a session, which is not secret. */
export const SessionId = TokenId;

/** `POST /v1/sessions`: a code with which a browser starts a session (sessions.md#codes). */
export const SessionCode = z
  .object({
    code: z.string().describe("starts one session; shown now and never again"),
    expiresAt: InstantText.describe("until when the code can be used"),
  })
  .meta({ id: "SessionCode" });

/** `POST /ui/session`: what a browser sends to start a session. */
export const SignIn = z
  .strictObject({
    code: z.string().max(128).optional().describe("a code that `POST /v1/sessions` made"),
    token: z.string().max(1_024).optional().describe("a token, or the secret of this Drover"),
  })
  .refine(({ code, token }) => (code === undefined) !== (token === undefined), {
    error: "must have either `code` or `token`",
  })
  .meta({ id: "SignIn", minProperties: 1, maxProperties: 1 });

/** An active browser session, without its secret. */
export const Session = z
  .object({
    id: z.string().describe("the part of the session's secret that is not secret"),
    token: z
      .string()
      .nullable()
      .describe("the id of the token that it acts for; null: the Drover's own secret"),
    name: z.string().describe("the name of that token, or `admin`"),
    startedAt: InstantText,
    lastUsedAt: InstantText.describe("to the hour"),
    expiresAt: InstantText.describe("when it ends, unless it is used again"),
  })
  .meta({ id: "Session" });
export type Session = z.infer<typeof Session>;

export const SessionList = z.object({ items: z.array(Session), next: z.null() }).meta({ id: "SessionList" });
