// By which request was something asked for, and how much of that does an entry keep (audit.md#via)?
import type { AuditVia } from "../../schema/access/audit.ts";

/** The most characters of an address, and of a user agent. */
export const MAX_ADDRESS_CHARS = 64;
export const MAX_AGENT_CHARS = 200;

/** Characters that act on a terminal or hide text. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const HALF = /[\uD800-\uDBFF]$/;

export type Via = AuditVia;

/** An event of an object that a request has caused. Absent: no request of a user did. */
export interface Caused {
  via?: Via | undefined;
}

/** What an entry keeps of a request. `header`: the request's header of this name. */
export function viaOf(requestId: string, header: (name: string) => string | null): Via {
  const bounded = (name: string, chars: number) => {
    // The cut may leave half of a character, which goes, too.
    const text = (header(name) ?? "").replace(UNSEEN, "").trim().slice(0, chars).replace(HALF, "");
    return text === "" ? null : text;
  };
  return {
    requestId,
    address: bounded("CF-Connecting-IP", MAX_ADDRESS_CHARS),
    userAgent: bounded("User-Agent", MAX_AGENT_CHARS),
  };
}

/** The field of an entry. */
export function viaField({ via }: Caused): { via?: Via } {
  return via === undefined ? {} : { via };
}
