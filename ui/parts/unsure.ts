// How does an act end that was neither done nor refused as a whole?

/** An action on many things has left some of them as they were. */
export class IncompleteError extends Error {
  /** `left`: which, and why. */
  constructor(left: readonly string[]) {
    const more = left.length > MOST_NAMED ? `; and ${left.length - MOST_NAMED} more` : "";
    super(`Not everything could be done: ${left.slice(0, MOST_NAMED).join("; ")}${more}`);
  }
}

/** Nobody has waited for the answer to an action, so it may have happened or not. */
export class UnawaitedError extends Error {
  constructor() {
    super("It was sent, and its answer was not waited for");
  }
}

/** Of more things the number is said. */
const MOST_NAMED = 10;
