// How much may a host send? Its Drover counts units, and its agent paces what it only passes on by them.

/** Units are refilled each second, up to the maximum (reports.md). */
export const HOST_UNITS_A_SECOND = 100;
export const MAX_HOST_UNITS = 200;

/** Units for a frame of this many bytes that is only passed on: 2,000 frames or 100 MiB a second. */
export function unitsOfFrame(bytes: number): number {
  return 1 / 20 + bytes / (1024 * 1024);
}
