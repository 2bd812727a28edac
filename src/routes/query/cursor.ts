// Where does the next page of a list begin?
import { z } from "zod";

/** The position of an item in a list. The list is sorted by instant and then by id, newest first. */
export interface Place {
  at: string;
  id: string;
}

/**
 * Where the previous page ended: its last item, and for each pool the cursor from which the pool is read
 * next.
 */
const Position = z.strictObject({
  at: z.string().max(64),
  id: z.string().max(256),
  pools: z.record(z.string(), z.string()).optional(),
});
export type Position = z.output<typeof Position>;

/** The `cursor` of a list, from the `next` of an earlier answer. Clients must not interpret a cursor. */
export const Cursor = z
  .string()
  .transform((text, ctx): Position => {
    const position = Position.safeParse(decode(text));
    if (position.success) return position.data;
    ctx.addIssue({ code: "custom", message: "must be the `next` of an earlier answer, unchanged" });
    return z.NEVER;
  })
  .meta({ description: "the `next` of an earlier answer" });

/** Writes a position as a `next`. */
export function encodePosition(position: Position): string {
  return encodeText(JSON.stringify(position));
}

function encodeText(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decode(text: string): unknown {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) =>
      c.charCodeAt(0),
    );
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** Sorts newest first. Instants are RFC 3339 in UTC with milliseconds, so they sort as text. */
export function newestFirst(a: Place, b: Place): number {
  if (a.at !== b.at) return a.at < b.at ? 1 : -1;
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

/** Whether a place comes after the end of the previous page. Always true if there was no previous page. */
export function isAfter(place: Place, position: Place | undefined): boolean {
  return position === undefined || newestFirst(position, place) < 0;
}

/** The first page of a sorted list, and the cursor of the next page. */
export function pageOf<Item extends { place: Place }>(
  sorted: readonly Item[],
  limit: number,
): { items: Item[]; next: string | null } {
  const items = sorted.slice(0, limit);
  const last = items.at(-1);
  const more = sorted.length > limit && last !== undefined;
  return { items, next: more ? encodePosition({ at: last.place.at, id: last.place.id }) : null };
}

const Numbers = z.record(z.string(), z.number());

/** Writes numbers by name as a text that clients do not interpret. */
export function encodeNumbers(numbers: Record<string, number>): string {
  return encodeText(JSON.stringify(numbers));
}

/** The numbers of `encodeNumbers`; undefined for any other text. */
export function decodeNumbers(text: string): Record<string, number> | undefined {
  return Numbers.safeParse(decode(text)).data;
}
