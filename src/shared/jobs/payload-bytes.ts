// How many bytes does a payload have?

/** The number of bytes that a valid text in base64 stands for. */
export function payloadBytes(base64: string): number {
  const padding = /=*$/.exec(base64)?.[0].length ?? 0;
  return (base64.length / 4) * 3 - padding;
}
