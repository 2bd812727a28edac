// How is an actor of the audit log named (access.md#actors)?

/** The name that events have, and by which the log is filtered: `admin`, `token:ci`. */
export function actorName({ kind, name }: { kind: string; name: string }): string {
  return kind === name ? name : `${kind}:${name}`;
}
