// How does `drover up` fail?

/** Why `drover up` cannot start, in words for the user. */
export class UpError extends Error {
  override readonly name = "UpError";
}

/** A port is in use by another program. */
export class PortTaken extends UpError {}
