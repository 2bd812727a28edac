// What is a secret bound to on its way to a host (secrets.md#sealing)?

/** The context of a value that is sealed for one attempt. The attempt's id has its run and its epoch. */
export function contextOfHanded(worker: string, attempt: string, name: string): string {
  return `drover-handed\n${worker}\n${attempt}\n${name}`;
}
