// What stands in the place of a value that a token may not read (access.md#hidden-values)?

/** Replaces a value that the token may not read. */
export const HIDDEN = "[hidden: reading it needs runs:env]";
