// Which pictures are there? Each is one path in a square of 16, drawn in the color of the text.

const PATHS = {
  wait: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2m0 2v4l3 2",
  run: "M5 3l8 5-8 5z",
  good: "M3 8.5l3.5 3.5L13 4.5",
  bad: "M4 4l8 8M12 4l-8 8",
  stop: "M4 4h8v8H4z",
  late: "M4 2h8M4 14h8M5 2c0 4 6 4 6 6s-6 2-6 6M11 2c0 4-6 4-6 6s6 2 6 6",
  lost: "M5.5 6a2.5 2.5 0 1 1 3.5 2.3c-.7.4-1 .8-1 1.7M8 12.5v.5",
  boot: "M8 2v6M4.5 4.5a5 5 0 1 0 7 0",
  idle: "M12.5 9.5A5 5 0 0 1 6.5 3.5a5 5 0 1 0 6 6",
  gone: "M3 8h10",
} as const;

/** The name of a picture. */
export type IconName = keyof typeof PATHS;

/** A picture beside a word that says the same: people who do not see it miss nothing (ui.md#d16). */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
