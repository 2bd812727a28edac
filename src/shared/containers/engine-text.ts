// How is the container engine of a machine put into words?

/** An engine as its host reports it. */
interface Engine {
  name: string;
  version: string;
  logs: "exact" | "text";
  state: "usable" | "down" | "refused";
  fault: string | null;
}

/** What runs the containers of a machine, or why nothing does. Undefined: the host has reported no engine. */
export function engineText(engine: Engine | undefined): string | undefined {
  if (engine === undefined) return undefined;
  const { name, version, state, fault, logs } = engine;
  const named = `${name} ${version}`.trim();
  if (state !== "usable") return `none can run: ${fault ?? `${named} is ${state}`}`;
  return logs === "exact" ? named : `${named}, whose output may not be exact to the byte`;
}
