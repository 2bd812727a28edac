/** Whether this is `npm run test:long`: more of what chance decides, and larger things. */
export const IS_LONG = process.env.DROVER_TESTS === "long";

/** How often, or how large: the first value in `npm test`, the second one in `npm run test:long`. */
export function sized<Size>(short: Size, long: Size): Size {
  return IS_LONG ? long : short;
}
