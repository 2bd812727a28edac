// How does every call to an object first wait for a check?

/** Wraps an interface: each method first waits for `check`, and rejects if `check` rejects. */
export function guarded<Api extends object>(api: Api, check: () => Promise<void>): Api {
  return new Proxy(api, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...args: unknown[]) => {
        await check();
        return Reflect.apply(method, target, args);
      };
    },
  });
}
