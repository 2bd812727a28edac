// What is a secret bound to on its way to a host (secrets.md#sealing)?

/** The context of a value that is sealed for one attempt. The attempt's id has its run and its epoch. */
export function contextOfHanded(worker: string, attempt: string, name: string): string {
  return `drover-handed\n${worker}\n${attempt}\n${name}`;
}

/** What a text is bound to that a wrapping key seals: a secret of an endpoint, or a private signing key. */
export function contextOfSealed(of: "webhook" | "signing_key", id: string): string {
  return `drover-${of}\n${id}`;
}
