// The routes of a backup: tokens and trust rules as they are stored, and their way back (backup.md#access).
import { AccessBackup, RestoredList, RestoreRequest } from "../../schema/access/backup.ts";
import type { EdgeApp } from "../edge.ts";
import type { TrustedIssuers } from "../oidc/trusted-issuers.ts";
import { operation } from "../openapi/operation.ts";
import { jsonAnswer, jsonBody } from "../openapi/params.ts";

const ofBackups = { tag: "Service", access: "admin" } as const;

const read = operation({
  ...ofBackups,
  method: "get",
  path: "/v1/backup",
  operationId: "getBackup",
  summary: "The valid tokens and trust rules, as a backup has them: digests, and no secret",
  description:
    "`drover backup` asks for it, and for everything else by the other routes. A digest says nothing of " +
    "its token, but whoever can restore it makes that token valid at another Drover.",
  responses: { 200: jsonAnswer("tokens and trust rules", AccessBackup) },
});

const restore = operation({
  ...ofBackups,
  method: "post",
  path: "/v1/restore",
  operationId: "restoreBackup",
  summary: "Bring tokens and trust rules of a backup back; what is there stays as it is",
  description:
    "The same tokens are valid again, with their ids, names, scopes, limits and ends. A token that was " +
    "revoked here, or whose time is over, does not come back. Repeating the call is harmless.",
  request: { body: jsonBody(RestoreRequest) },
  responses: { 200: jsonAnswer("what came of each", RestoredList) },
});

/** Adds the routes of backups (backup.md#access). `issuers` forgets all rules if some may have come back. */
export function backupRoutes(app: EdgeApp, issuers: TrustedIssuers): void {
  app.openapi(read, async (c) => c.json(await c.var.objects.registry().accessBackup(), 200));
  app.openapi(restore, async (c) => {
    const request = c.req.valid("json");
    const items = await c.var.objects.registry().restoreAccess(request, c.var.caller.by);
    if (!request.dryRun) {
      // This edge may have learned a moment ago that a token or a rule does not exist.
      c.var.access.tokens.forgetAll();
      issuers.forgetAll();
    }
    return c.json({ items, next: null }, 200);
  });
}
