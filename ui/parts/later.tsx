// How is a part of a page loaded that not every reader needs? When it is shown for the first time.
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Trouble } from "./problem.tsx";

/** A component in place of another one, whose code is loaded when it is drawn first. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const loaded = signal<ComponentType<Props> | undefined>(undefined);
  const error = signal<unknown>(undefined);
  const start = () => {
    error.value = undefined;
    load().then(
      (component) => (loaded.value = component),
      (caught) => (error.value = caught),
    );
  };
  return function Later(props: Props) {
    useEffect(() => {
      if (loaded.peek() === undefined) start();
    }, []);
    const Part = loaded.value;
    return Part === undefined ? <Trouble error={error.value} again={start} /> : <Part {...props} />;
  };
}
