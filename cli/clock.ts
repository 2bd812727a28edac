// Which time do verbs that call a cloud themselves go by?

/** Milliseconds since 1970, which clouds check in signatures, on a clock that does not jump. */
export const now = () => performance.timeOrigin + performance.now();
