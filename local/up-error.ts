/** Why `drover up` cannot start, in words for the person who typed it. */
export class UpError extends Error {
  override readonly name = "UpError";
}
