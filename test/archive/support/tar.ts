import { Header } from "tar";

const BLOCK = 512;
/** The bytes that end an archive. */
export const END = Buffer.alloc(2 * BLOCK);

type Fields = ConstructorParameters<typeof Header>[0] & { content?: string };

/** An entry as it lies in an archive. Its given size need not be true. */
export function entry(fields: Fields & object): Buffer {
  const { content = "", ...said } = { mode: 0o644, type: "File" as const, ...fields };
  const bytes = Buffer.from(content);
  const header = Buffer.alloc(BLOCK);
  new Header({ size: bytes.length, ...said }).encode(header);
  const body = Buffer.alloc(Math.ceil(bytes.length / BLOCK) * BLOCK);
  bytes.copy(body);
  return Buffer.concat([header, body]);
}
