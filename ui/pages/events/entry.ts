// What does an entry of the audit log lead to, and which words does it have?
import type { AuditEntry } from "../../../src/generated/api.ts";
import { actorName } from "../../../src/shared/access/actor.ts";
import { DEFAULT_PROJECT, nameIn } from "../../../src/shared/access/project.ts";
import { adminHref } from "../../router/admin.ts";
import { itemHref } from "../../router/place.ts";

/** The page about what was acted on; undefined: there is none. */
export function targetHref({ target, project }: Pick<AuditEntry, "target" | "project">): string | undefined {
  const { kind, id, name = id } = target;
  const inProject = nameIn(project ?? DEFAULT_PROJECT, name, "/");
  switch (kind) {
    case "run":
      return itemHref("runs", id);
    case "worker":
      return itemHref("workers", id);
    case "pool":
      return itemHref("pools", id);
    case "job":
      return itemHref("jobs", inProject);
    case "token":
      return adminHref("tokens", id);
    case "project":
      return adminHref("projects", id);
    case "secret":
      return adminHref("secrets", inProject);
    case "webhook":
      return adminHref("webhooks", inProject);
    case "trust":
      return adminHref("trust", inProject);
    case "key":
    case "session":
    case "caller":
    case "log":
      return undefined;
  }
}

/** Whether an entry has a text, in whatever case. */
export function hasText(entry: AuditEntry, text: string): boolean {
  const { actor, action, target, pool, run, reason, diff, via } = entry;
  const words = [
    ...[actorName(actor), action, target.id, target.name, pool, run, reason],
    ...(diff ?? []).flatMap(({ field, from, to }) => [field, from, to]),
    ...[via?.requestId, via?.address, via?.userAgent],
  ];
  return words.some((word) => word?.toLowerCase().includes(text.toLowerCase()));
}
