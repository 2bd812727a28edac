// How is a size in bytes written?
const UNIT_BYTES: Record<string, number> = {
  "": 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};
const SIZE = /^(\d+(?:\.\d+)?) ?([KMGT]i?B|B|)$/;

/** Parses a size such as `512MiB`, `2GB` or `1048576` into whole bytes; undefined for any other text. */
export function parseSize(text: string): number | undefined {
  const match = text.length <= 32 ? SIZE.exec(text) : null;
  if (match === null) return undefined;
  const bytes = Math.round(Number(match[1]) * (UNIT_BYTES[match[2] ?? ""] ?? 1));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Formats bytes with binary units and at most one decimal: `536870912` → `512MiB`. */
export function formatSize(bytes: number): string {
  for (const unit of ["TiB", "GiB", "MiB", "KiB"]) {
    const size = UNIT_BYTES[unit] ?? 1;
    if (bytes >= size) return `${Math.round((bytes / size) * 10) / 10}${unit}`;
  }
  return `${bytes}B`;
}

/** The bytes of a size that the schema has validated. */
export function sizeBytes(size: number | string): number {
  return typeof size === "number" ? size : (parseSize(size) ?? 0);
}
